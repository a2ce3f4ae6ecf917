/*
 * Scheduler of the real world: core/io/sched.h with worker threads.
 *
 *     home h  ->  worker h % worker_count, for the life of the task
 *
 *     worker  inbox   tasks that were woken by other threads (a lock-free stack, taken whole)
 *             queue   tasks to run, first come first served
 *             timers  tasks that wait with a deadline, by (deadline, spawn order)
 *
 * A home belongs to one worker, so two tasks of one home never overlap, and a task's state needs no lock: the
 * thread that runs it is always the same.
 *
 * Never lost: a task has one flag, `is_queued`. Who sets it (by an exchange, so that the setters are chained) puts
 * the task into the inbox; the worker clears it, by an exchange too, right before it latches. So a wake either finds
 * the flag clear and queues the task, or finds it set, and then the step that will clear it latches later and
 * sees what was published. A worker that finds nothing to do says so in `is_asleep`, looks into its inbox once more,
 * and only then waits; a waker pushes first and looks at `is_asleep` afterwards.
 *
 * Deadlines: a step's `wake_at` replaces the one before it. Sleeps are at most SF_PROD_SLEEP_US_MAX long, because
 * condition variables do not count the time of a suspend and the engine's clock does.
 *
 * Threading: spawn and wake from any thread; new, start, stop and destroy from one.
 */
#ifndef SF_PROD_SCHED_H
#define SF_PROD_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/io/clock.h"
#include "core/io/sched.h"
#include "core/mem.h"
#include "core/status.h"

#define SF_PROD_WORKER_COUNT_MAX 64u
#define SF_PROD_SLEEP_US_MAX 1000000

/* Called on the worker's thread after each step that wrote notes; notes are borrowed until return. */
typedef void(sf_prod_notes_fn)(void *ctx, const struct sf_task *task, const struct sf_notes *notes);

struct sf_prod_sched_config {
    struct sf_alloc alloc;
    struct sf_clock clock;
    uint32_t worker_count; /* 1 … SF_PROD_WORKER_COUNT_MAX */
    uint32_t budget;       /* of each step, 1 … SF_STEP_BUDGET_MAX */
    sf_prod_notes_fn *on_notes; /* NULL: notes are dropped */
    void *ctx;
};

struct sf_prod_sched;

/* No thread yet. Tasks may be spawned at once; they run after start. */
struct sf_prod_sched *sf_prod_sched_new(const struct sf_prod_sched_config *config);

/* Starts the workers, with all signals blocked in them. SF_E_IO: the system gives no thread; none is left
 * running, only destroy is allowed. Once. */
SF_MUST_USE enum sf_status sf_prod_sched_start(struct sf_prod_sched *sched, struct sf_error *error);

/* Waits until no task is left (all have said SF_NEXT_DONE), at most `timeout_us`. True if so. */
bool sf_prod_sched_wait_done(struct sf_prod_sched *sched, int64_t timeout_us);

/* Each worker ends after the step it is in; then they are joined. Tasks that are left are forgotten, tasks spawned
 * from here on never run, wakes do nothing. Not from a step. Repeating it does nothing. */
void sf_prod_sched_stop(struct sf_prod_sched *sched);

/* Stops, if that has not happened, and frees. Nobody may hold a handle or waker any more. */
void sf_prod_sched_destroy(struct sf_prod_sched *sched);

struct sf_sched sf_prod_sched_handle(struct sf_prod_sched *sched);

#endif
