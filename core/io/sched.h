/*
 * Scheduler: tasks, their steps, and who runs them.
 *
 * A task is a struct of its own plus a function that makes one step of it. Steps share no memory but the edges between
 * tasks (core/run/edge.h), and they do not wait: reading the local store (core/io/store.h) is the only call in a step
 * that may touch a disk.
 *
 * A loop makes a step by sf_task_run, and that is:
 *
 *     latch    mark in every port how far the task may read this time
 *     clock    one reading of monotonic time, one of wall time
 *     step     the task reads what was latched, up to `budget` units, changes itself, pushes to edges, gives
 *              commands to Kafka and the store, adds notes
 *     after    the loop passes the notes on and does what the result says: again, wait, or done
 *
 * Example: an edge holds 5 messages, the latch limit is 3, the budget 2. The step takes two messages and says
 * SF_NEXT_AGAIN; the next step may take the third and whatever its own latch adds.
 *
 * What the order is for. Nothing but the latched counts, the two times, the budget and the answers of Kafka and the
 * store goes into a step. Sort the steps of a run on threads by their latches: whatever a step reads was pushed by one
 * that stands before it in that order, so the run equals one in which whole steps follow each other on one thread. A
 * loop that draws the next task, the limits and the budget can therefore come to everything that threads can, and a
 * recording is complete when it holds each task's own inputs, without any order between tasks (docs/decisions/0003).
 *
 * What a task owes in return:
 *   - Records and control messages are the units. A step may have to end after any of them: the task keeps a cursor.
 *     Where the cuts fall must not show in what is committed.
 *   - Ports and credit count as latched, also when more has arrived meanwhile.
 *   - SF_NEXT_AGAIN only if the step did some work; else it says what it waits for.
 *
 * Threading: at any time one thread at most is in a task's step, and each step sees all that the one before it wrote.
 * Ports, wakers and sf_sched_wake cross threads; everything else here is used by the task that steps or by the loop.
 *
 * Implemented twice: sim/sched.h (one loop, drawn choices, virtual time) and prod/sched.h (worker threads).
 */
#ifndef SF_CORE_IO_SCHED_H
#define SF_CORE_IO_SCHED_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/io/clock.h"

#define SF_TASK_COUNT_MAX 4096u
#define SF_TASK_NONE UINT32_MAX
#define SF_STEP_BUDGET_MAX 65536u

/* Where one task reads what one other writes: messages of an edge, or the blocks that come back over it. The counters
 * run on for ever and wrap. Listed in sf_task.ports. */
struct sf_port {
    _Atomic uint32_t *written; /* by the producer, on its own cache line: how many it has published (release) */
    uint32_t latched;          /* `consumed` may rise to this; only sf_port_latch moves it */
    uint32_t consumed;         /* by the task: how many it has taken */
};

/* What is left for this step. */
static inline uint32_t sf_port_visible(const struct sf_port *port)
{
    return port->latched - port->consumed;
}

/* Lets the coming step see what is published by now, but no more than `limit`; how many that is. For loops. */
static inline uint32_t sf_port_latch(struct sf_port *port, uint32_t limit)
{
    assert(port->written != NULL);
    uint32_t ready = atomic_load_explicit(port->written, memory_order_acquire) - port->consumed;
    if (ready > limit) ready = limit;
    port->latched = port->consumed + ready;
    return ready;
}

/* Something worth knowing that changes nothing outside: a warning, a state reached, a point of the protocol such as
 * "barrier(4).stamped". It holds numbers; core/note.h has the words for them. */
struct sf_note {
    uint16_t code;     /* enum sf_note_code (core/note.h) */
    uint16_t reserved; /* 0: digests run over whole notes */
    uint32_t subject;  /* what it is about; its meaning depends on the code. SF_SUBJECT_NONE: nothing */
    int64_t args[4];
};

#define SF_NOTES_PER_STEP_MAX 64u

/* The notes of one step; sf_task_run starts with none. A step that has no room for its next note ends and goes on in
 * the following one, so none is dropped. `hook` (NULL in production) is called while a note is added, with the step
 * still under way: the simulator kills an instance there, after one command of a step and before the next. */
struct sf_notes {
    uint32_t count;
    void (*hook)(void *ctx, const struct sf_note *note);
    void *hook_ctx;
    struct sf_note items[SF_NOTES_PER_STEP_MAX];
};

static inline bool sf_notes_has_room(const struct sf_notes *notes, uint32_t count)
{
    return notes->count + count <= SF_NOTES_PER_STEP_MAX;
}

/* Asserts that there is room. Copies 40 bytes. */
static inline void sf_notes_add(struct sf_notes *notes, struct sf_note note)
{
    assert(notes->count < SF_NOTES_PER_STEP_MAX);
    notes->items[notes->count] = note;
    notes->count++;
    if (notes->hook != NULL) notes->hook(notes->hook_ctx, &notes->items[notes->count - 1]);
}

/* What a step gets beside its ports; gone when it returns. */
struct sf_step {
    struct sf_mono_ts now;
    struct sf_wall_ts wall;
    uint32_t budget; /* most units to do: 1 … SF_STEP_BUDGET_MAX */
    struct sf_notes *notes;
};

enum sf_next {
    SF_NEXT_AGAIN, /* there is work at hand: another step, soon */
    SF_NEXT_WAIT,  /* nothing to do before a wake, or before `wake_at` */
    SF_NEXT_DONE   /* this was the last step; the loop lets go of the task */
};

struct sf_step_result {
    enum sf_next next;
    uint32_t used;             /* units done, at most the budget */
    struct sf_mono_ts wake_at; /* replaces the last step's deadline; SF_MONO_NEVER: none; past: at once */
};

typedef struct sf_step_result(sf_step_fn)(void *self, const struct sf_step *step);

/* Memory of whoever spawns it, who keeps it until the last step has returned. */
struct sf_task {
    const char *name;             /* such as "lane 1.3"; no other of the engine has it; stays as long as the task */
    sf_step_fn *step;
    void *self;
    struct sf_port *const *ports; /* in an order that never changes: recordings count on it */
    uint32_t port_count;
    uint32_t home;                /* tasks with the same one are never in a step at once */
    uint32_t id;                  /* given by spawn; no other live task has it */
};

/* How a Kafka client, a store or an edge tells a task that something has arrived. A value. All zero: tells nobody. */
struct sf_waker {
    void (*wake)(void *self, uint32_t task_id);
    void *self;
    uint32_t task_id;
};

struct sf_sched_ops {
    /* Takes a task on and sets its `id`; a first step follows without a wake. SF_TASK_COUNT_MAX at a time. */
    void (*spawn)(void *self, struct sf_task *task);
    /* From any thread, at any moment, as often as one likes. A step that is still to come sees what was published
     * before it: an implementation must not lose a wake that meets a step under way, or a worker about to
     * sleep. The id of a task that is done, or never was, has no effect. */
    void (*wake)(void *self, uint32_t task_id);
};

struct sf_sched {
    const struct sf_sched_ops *ops;
    void *self;
};

static inline void sf_sched_spawn(struct sf_sched sched, struct sf_task *task)
{
    assert(sched.ops != NULL && sched.ops->spawn != NULL);
    assert(task->name != NULL && task->step != NULL);
    assert(task->port_count == 0 || task->ports != NULL);
    sched.ops->spawn(sched.self, task);
    assert(task->id != SF_TASK_NONE);
}

static inline void sf_sched_wake(struct sf_sched sched, uint32_t task_id)
{
    assert(sched.ops != NULL && sched.ops->wake != NULL);
    sched.ops->wake(sched.self, task_id);
}

static inline struct sf_waker sf_sched_waker(struct sf_sched sched, uint32_t task_id)
{
    assert(sched.ops != NULL && sched.ops->wake != NULL);
    return (struct sf_waker){sched.ops->wake, sched.self, task_id};
}

static inline void sf_waker_wake(struct sf_waker waker)
{
    if (waker.wake != NULL) waker.wake(waker.self, waker.task_id);
}

/* Makes one step; every loop does it through here. `limits`: of each port's latch, in the order of the ports; NULL: as
 * much as there is. The clock is read after the latch, so that no message is younger than the step that reads it. */
static inline struct sf_step_result sf_task_run(struct sf_task *task, struct sf_clock clock,
                                                uint32_t budget, const uint32_t *limits,
                                                struct sf_notes *notes)
{
    assert(budget > 0 && budget <= SF_STEP_BUDGET_MAX);
    for (uint32_t i = 0; i < task->port_count; i++)
        (void)sf_port_latch(task->ports[i], limits != NULL ? limits[i] : UINT32_MAX);
    notes->count = 0;
    struct sf_step step = {.now = sf_clock_mono(clock),
                           .wall = sf_clock_wall(clock),
                           .budget = budget,
                           .notes = notes};
    struct sf_step_result result = task->step(task->self, &step);
    assert(result.used <= budget);
    assert(result.next != SF_NEXT_AGAIN || result.used > 0);
    return result;
}

#endif
