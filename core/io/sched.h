/*
 * Scheduler: who runs which task next. A task is private state and a step function; a step runs to
 * completion, never blocks (a store read, store.h, is the one exception), and shares nothing.
 *
 * One step, always in this order:
 *
 *     1  latch    freeze, for each port of the task, how many messages this step may see
 *     2  clock    read mono and wall once
 *     3  step     the task consumes at most what is latched and at most `budget` units of work, changes its
 *                 own state, pushes to its out-edges, gives commands to the world, writes notes
 *     4  after    the loop drains the notes, records the step if a recorder is on, and obeys the result
 *
 * Why it matters. A step's effects depend on (latched counts, mono, wall, budget, answers of calls into the
 * world) and on nothing else. Order all steps of a threaded run by the moment they latched: a message that a
 * step sees was pushed by a step that latched earlier, so that order is a single-threaded run with the same
 * effects. Hence (a) whatever threads can do, the simulator can do by choosing steps, latch limits and
 * budgets; (b) a recording needs no global order, only each task's own sequence of step inputs.
 *
 * Rules for a task:
 *   - It may be cut after any unit of work: with budget 1 it makes one unit of progress and keeps a cursor.
 *     A unit is one record or one control message. How work is cut must never change what is committed.
 *   - It looks at a port or at credit only through the latched counts.
 *   - It runs on one thread at a time; successive steps happen-after each other.
 *
 * Who implements: one loop over seeded choices, one set of worker threads. Who calls: core/run.
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

/*
 * The reading end of one bounded single-producer edge (core/run/edge.h), or of its return path, which brings
 * credits back. Linked by: sf_task.ports. `written` lives in the producer's cache line.
 */
struct sf_port {
    _Atomic uint32_t *written; /* messages ever published by the producer, wrapping; release order */
    uint32_t latched;          /* the step may consume up to here; set by sf_port_latch alone */
    uint32_t consumed;         /* messages ever consumed; the task's own */
};

/* Messages that the current step may still take from `port`. */
static inline uint32_t sf_port_visible(const struct sf_port *port)
{
    return port->latched - port->consumed;
}

/* Freeze what the next step may see: what is published, at most `limit`. Loops only, before each step. */
static inline uint32_t sf_port_latch(struct sf_port *port, uint32_t limit)
{
    assert(port->written != NULL);
    uint32_t ready = atomic_load_explicit(port->written, memory_order_acquire) - port->consumed;
    if (ready > limit) ready = limit;
    port->latched = port->consumed + ready;
    return ready;
}

/*
 * One observable fact that is not an effect on the world: a log line, a warning, a coverage mark, a
 * protocol point ("barrier(4).stamped"). Numbers only: whoever reads notes turns `code` into words.
 */
struct sf_note {
    uint16_t code;     /* enum sf_note_code, one X-macro list in core/note.h: code, level, words */
    uint16_t reserved; /* 0: notes are hashed */
    uint32_t subject;  /* partition index, lane or store, by code */
    int64_t args[4];
};

#define SF_NOTES_PER_STEP_MAX 64u

/*
 * Emptied by the loop before each step. A step whose sink is full ends (SF_NEXT_AGAIN): no note is ever lost.
 * `hook`, where set, sees each note at the instant it is written, in the middle of the step: that is how a
 * simulated crash falls at a protocol point, between two commands of one step. NULL in production.
 */
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

/* Caller must have made sure of room. Cost: a copy of 40 bytes. */
static inline void sf_notes_add(struct sf_notes *notes, struct sf_note note)
{
    assert(notes->count < SF_NOTES_PER_STEP_MAX);
    notes->items[notes->count] = note;
    notes->count++;
    if (notes->hook != NULL) notes->hook(notes->hook_ctx, &notes->items[notes->count - 1]);
}

/* Everything a step is given beside its ports. Borrowed until the step returns. */
struct sf_step {
    struct sf_mono_ts now;
    struct sf_wall_ts wall;
    uint32_t budget; /* 1 … SF_STEP_BUDGET_MAX units of work */
    struct sf_notes *notes;
};

enum sf_next {
    SF_NEXT_AGAIN, /* more to do with what is already latched or pending: run me again soon */
    SF_NEXT_WAIT,  /* run me when a port or client of mine has news, or at `wake_at` */
    SF_NEXT_DONE   /* never again; the loop forgets the task */
};

struct sf_step_result {
    enum sf_next next;
    uint32_t used;             /* units of work done, <= budget */
    struct sf_mono_ts wake_at; /* SF_MONO_NEVER if no deadline; otherwise the step runs at or after it */
};

typedef struct sf_step_result(sf_step_fn)(void *self, const struct sf_step *step);

/* Owned by the spawner; must outlive the task's last step. */
struct sf_task {
    const char *name;             /* "ingest", "lane 1.3": unique in an engine; borrowed for ever */
    sf_step_fn *step;
    void *self;
    struct sf_port *const *ports; /* data and credit ports, fixed order: the order is part of a recording */
    uint32_t port_count;
    uint32_t home;                /* tasks with equal home never run at the same time (one worker) */
    uint32_t id;                  /* set by spawn; unique in the scheduler */
};

/* What a world client (kafka.h, store.h) is given to say "there is news for this task". Copied freely. */
struct sf_waker {
    void (*wake)(void *self, uint32_t task_id);
    void *self;
    uint32_t task_id;
};

struct sf_sched_ops {
    /* Caller must have filled all but `id`. Implementation must step the task at least once.
     * At most SF_TASK_COUNT_MAX tasks live. */
    void (*spawn)(void *self, struct sf_task *task);
    /* Any thread, cheap, idempotent, never lost: a step that latches after this call returns sees whatever
     * was published before the call. Waking an unknown or done task does nothing. */
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

/* The one place that runs a step; both loops and the replayer call it. `limits` NULL: no limits. */
static inline struct sf_step_result sf_task_run(struct sf_task *task, struct sf_clock clock,
                                                uint32_t budget, const uint32_t *limits,
                                                struct sf_notes *notes)
{
    assert(budget > 0 && budget <= SF_STEP_BUDGET_MAX);
    for (uint32_t i = 0; i < task->port_count; i++)
        (void)sf_port_latch(task->ports[i], limits != NULL ? limits[i] : UINT32_MAX);
    notes->count = 0;
    struct sf_step step = {.now = sf_clock_mono(clock), /* after the latch: never older than a sender */
                           .wall = sf_clock_wall(clock),
                           .budget = budget,
                           .notes = notes};
    struct sf_step_result result = task->step(task->self, &step);
    assert(result.used <= budget);
    assert(result.next != SF_NEXT_AGAIN || result.used > 0); /* no spinning */
    return result;
}

/*
 * Notes for implementers.
 *   simulated  One loop. Runnable = news on a port or client, or deadline reached. Choice, budget and latch
 *              limits are keyed draws; a task can be held for a virtual time ("lane blocked @1..@5000") and
 *              given a cost per unit, so that backlog exists. Latched counts that differ from "all" are part
 *              of the plan. Crash = from command k on, every command of that instance is swallowed, the step
 *              returns, the instance is dropped. Two instances (active, standby) = two handles on one loop.
 *   real       Workers, each with a run queue of its homes. wake = set the task's bit, and a futex or eventfd
 *              only if the worker sleeps; a worker sets "sleeping", looks again, then waits. Librdkafka tells
 *              of news by rd_kafka_queue_cb_event_enable (any queue, from its own threads: only wake there).
 *   recorder   Per task: {delta now, delta wall, budget, latched count per port, result}, varints, about 8–16
 *              bytes a step of some hundred records; answers of the world are recorded by wrapping the other
 *              tables. No lock and no atomic beyond those above.
 *   conformance  spawn runs once; a wake before, during and after a step is never lost; equal deadlines run in
 *              spawn order in the simulator; a deadline in the past runs at once; DONE runs no more; two tasks
 *              of one home never overlap; a ping-pong of 10^6 messages loses none; an edge of capacity 1 works.
 */
#endif
