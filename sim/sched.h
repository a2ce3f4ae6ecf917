/*
 * Scheduler of the simulated world: core/io/sched.h with one loop, a seed, and virtual time.
 *
 *     run_until(T):  at each instant up to T:  what is due in the world happens (sim/events.h);
 *                                              then one runnable task steps; and so on until nothing is left
 *                    then time jumps to the next event, deadline, end of a cost or end of a hold
 *
 * A task is runnable if it has news (a wake, a first step, AGAIN, or messages that a latch limit kept from it) or its
 * deadline has come; and its home is not busy, no hold stands on it, and its instance is alive and not frozen.
 *
 * Choice among runnable tasks, by rank, smallest first:
 *
 *     FIXED      spawn order: the exact world's
 *     FIFO       in the order in which they became runnable; equal deadlines in spawn order
 *     RANDOM     like FIFO, but each time a task becomes runnable it may be overtaken by what becomes runnable within
 *                the next `window` steps: a keyed draw of (task, step). Never unfair for ever.
 *     PRIORITY   each task has a drawn priority; at depth - 1 drawn steps the task that is about to run gets the lowest
 *                instead ("probabilistic concurrency testing": a bug that needs d orderings is found with a known
 *                probability)
 *
 * A step sees less than there is where a latch limit is drawn, and has a drawn budget; so what threads can do, this
 * loop can do.
 *
 * Cost. A step of `used` units takes step_ns + used × unit_ns of virtual time: its effects are there at its instant,
 * and its home is busy until the end of the cost. Two homes, or two instances, are busy independently. Parts of a
 * microsecond are carried over. Without cost no backlog would ever form.
 *
 *     @100  lane 0 steps, 3 units at 500 ns   -> its home is busy until @101, 500 ns carried
 *     @101  lane 0 steps, 3 units             -> busy until @103
 *
 * Instances. A task belongs to the instance whose handle spawned it. Of a dead instance no task steps again: the
 * tasks are dropped at once, or, when it dies in the middle of a step, when that step returns. A frozen one's tasks
 * wait, deadlines too.
 *
 * Draws are keyed by (instance, task name, how many of that name are there, step of the task): they do not move when
 * another task makes one step more. Digest: X14, sim/sched_digest.h.
 *
 * Threading: one thread. Steps must not call run_until or step_one.
 */
#ifndef SF_SIM_SCHED_H
#define SF_SIM_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/io/sched.h"
#include "sim/sched_digest.h"
#include "sim/world.h"

#define SF_SIM_DOMAIN_SCHED_ORDER 16u
#define SF_SIM_DOMAIN_SCHED_BUDGET 17u
#define SF_SIM_DOMAIN_SCHED_LIMIT 18u
#define SF_SIM_DOMAIN_SCHED_LATE 19u
#define SF_SIM_DOMAIN_SCHED_PRIORITY 20u
#define SF_SIM_DOMAIN_SCHED_CHANGE 21u
#define SF_SIM_DOMAIN_SCHED_KNOBS 22u

#define SF_SIM_SCHED_DEPTH_MAX 16u
#define SF_SIM_SCHED_PORTS_MAX 1024u

enum sf_sim_choice { SF_SIM_CHOICE_FIXED, SF_SIM_CHOICE_FIFO, SF_SIM_CHOICE_RANDOM, SF_SIM_CHOICE_PRIORITY };

/* One step that was made; the callback may kill or freeze, not destroy. Everything is borrowed until it returns. */
struct sf_sim_step_record {
    uint64_t number; /* of the run, from 1 */
    const struct sf_sim_instance *instance;
    const struct sf_task *task; /* its ports still show what was latched and consumed */
    struct sf_mono_ts now;
    uint32_t budget;
    struct sf_step_result result;
    const struct sf_notes *notes;
    const struct sf_sim_digest *digest; /* the task's, this step included */
};

typedef void(sf_sim_on_step_fn)(void *ctx, const struct sf_sim_step_record *record);
/* At the instant the note is written. May kill, freeze or jump the wall clock; a kill ends the instance when the step
 * returns, and its commands are swallowed from here on. */
typedef void(sf_sim_on_note_fn)(void *ctx, struct sf_sim_instance *instance, const struct sf_task *task,
                                const struct sf_note *note);

struct sf_sim_sched_config {
    enum sf_sim_choice choice;
    uint32_t window;            /* RANDOM: >= 1; 1 shuffles only what one step or instant made runnable */
    uint32_t depth;             /* PRIORITY: 1 … SF_SIM_SCHED_DEPTH_MAX */
    uint32_t depth_steps;       /* PRIORITY: the changes fall within this many steps; >= 1 */
    uint32_t budget_min;        /* of a step; both equal: fixed */
    uint32_t budget_max;
    uint32_t limit_per_million; /* how often a port's latch is limited; 0: never */
    uint32_t limit_max;         /* then to 0 … this many messages */
    int64_t step_ns;            /* cost, where sf_sim_sched_cost gives no other */
    int64_t unit_ns;
    int64_t wake_grain_us;      /* deadlines are rounded up to a multiple; 1: not at all */
    int64_t wake_late_us_max;   /* and come later by a draw of 0 … this */
    uint64_t instant_steps_max; /* more steps at one instant are a run that goes nowhere (X3) */
    sf_sim_on_step_fn *on_step; /* NULL for none */
    sf_sim_on_note_fn *on_note; /* NULL for none */
    void *ctx;
};

/* The exact world: fixed order, no cost, no limits, whole milliseconds, a budget that cuts nothing in small cases. */
struct sf_sim_sched_config sf_sim_sched_config_exact(void);
/* A realistic world: every knob drawn from the seed. */
struct sf_sim_sched_config sf_sim_sched_config_drawn(uint64_t seed);

struct sf_sim_sched;

/* Memory is the world's. `config` is copied. */
struct sf_sim_sched *sf_sim_sched_new(struct sf_sim_world *world, const struct sf_sim_sched_config *config);
/* Instances that used it may live on, without tasks. Not from a step. */
void sf_sim_sched_destroy(struct sf_sim_sched *sched);

/* The scheduler as `instance` sees it; valid until either is destroyed. Repeating it gives the same handle. */
struct sf_sched sf_sim_sched_handle(struct sf_sim_sched *sched, struct sf_sim_instance *instance);

/* Names: a task's name, or a beginning of it with '*' at the end. instance_id 0: any.
 * A rule holds for tasks that are there and for those to come; among costs the last one given wins. */

/* Tasks so named do not step at from_us <= mono < until_us. At most SF_SIM_HOLDS_MAX that have not ended. */
void sf_sim_sched_hold(struct sf_sim_sched *sched, uint32_t instance_id, const char *name, int64_t from_us,
                       int64_t until_us);
/* At most SF_SIM_COSTS_MAX. */
void sf_sim_sched_cost(struct sf_sim_sched *sched, uint32_t instance_id, const char *name, int64_t step_ns,
                       int64_t unit_ns);

/* Lets happen what is due in the world now, then makes one step of a runnable task. False: nothing is runnable at this
 * instant (is quiescent). */
bool sf_sim_sched_step_one(struct sf_sim_sched *sched);
/* Steps and jumps until nothing is left to do at or before `until_us`, which is >= now; then it is until_us.
 * False: it stopped earlier, after instant_steps_max steps at one instant; `stuck_on` says who made the last. */
bool sf_sim_sched_run_until(struct sf_sim_sched *sched, int64_t until_us);
/* Nothing is due or runnable at this instant. */
bool sf_sim_sched_is_quiescent(struct sf_sim_sched *sched);
/* The next instant at which there is something to do, now included; INT64_MAX: never again. */
int64_t sf_sim_sched_next_us(struct sf_sim_sched *sched);

uint32_t sf_sim_sched_task_count(const struct sf_sim_sched *sched);
uint64_t sf_sim_sched_step_count(const struct sf_sim_sched *sched);
/* The task that is stepping, NULL between steps. */
const struct sf_task *sf_sim_sched_running(const struct sf_sim_sched *sched);
/* The name of the task that made the last step; "" before the first. Valid until the next step. */
const char *sf_sim_sched_stuck_on(const struct sf_sim_sched *sched);

/* X14: effects that a step has beside its record (commands given, bytes sent) belong into its task's digest. Between
 * steps it goes into the run's. */
void sf_sim_sched_mix(struct sf_sim_sched *sched, const void *bytes, size_t len);
/* Over the digests of all tasks that were, in the order in which they ended, and of those that are, in spawn order. */
struct sf_sim_digest sf_sim_sched_digest(const struct sf_sim_sched *sched);

#endif
