/*
 * Worker: one thread that runs the tasks of its homes, and the slots that the scheduler keeps tasks in. Private to
 * prod; the model is in prod/sched.h.
 *
 *     slot.is_queued   0 -> 1  by whoever wants the task to run; that one pushes the slot: nobody else touches `next`
 *                      1 -> 0  by the worker, right before the step latches
 *
 * A slot is in one list at a time: an inbox, a queue, or the free list, with is_queued 1 in each of them.
 * A task that ends while its slot lies in the inbox leaves `task` NULL behind; the worker frees the slot when it
 * comes to it.
 */
#ifndef SF_PROD_WORKER_H
#define SF_PROD_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/io/sched.h"
#include "prod/sched.h"
#include "prod/timers.h"

struct sfi_worker;

struct sfi_slot {
    _Atomic uint32_t id;        /* SF_TASK_NONE: free or done */
    _Atomic uint32_t is_queued;
    struct sfi_slot *next;      /* in the list that the slot is in */
    struct sf_task *task;       /* NULL: done */
    struct sfi_worker *worker;  /* set by spawn */
    struct sfi_timer timer;
    uint32_t generation;        /* how often the slot was used: upper bits of the id */
    uint8_t apart[68];          /* two slots share no 128 bytes that two threads write */
};

struct sfi_worker {
    _Atomic(struct sfi_slot *) inbox; /* newest first */
    _Atomic uint32_t is_asleep;
    uint8_t apart[112];
    struct sfi_slot *queue_head; /* oldest first */
    struct sfi_slot *queue_tail;
    struct sfi_timers timers;
    struct sf_prod_sched *sched;
    pthread_t thread;
    pthread_mutex_t lock; /* for `cond` alone */
    pthread_cond_t cond;
    struct sf_notes notes;
};

void sfi_worker_init(struct sfi_worker *worker, struct sf_prod_sched *sched, struct sf_alloc alloc);
void sfi_worker_deinit(struct sfi_worker *worker, struct sf_alloc alloc);

/* The thread's main function; `arg` is the worker. Returns when the scheduler is stopping. */
void *sfi_worker_main(void *arg);

/* Any thread. The caller has set is_queued from 0 to 1 (or owns a new slot). */
void sfi_worker_push(struct sfi_worker *worker, struct sfi_slot *slot);

/* Any thread. Ends a nap; does nothing if the worker is awake. */
void sfi_worker_rouse(struct sfi_worker *worker);

/* What a worker needs of its scheduler. */
struct sf_clock sfi_sched_clock(const struct sf_prod_sched *sched);
uint32_t sfi_sched_budget(const struct sf_prod_sched *sched);
bool sfi_sched_is_stopping(struct sf_prod_sched *sched);
void sfi_sched_tell_notes(struct sf_prod_sched *sched, const struct sf_task *task, const struct sf_notes *notes);
void sfi_sched_task_done(struct sf_prod_sched *sched);
void sfi_sched_slot_free(struct sf_prod_sched *sched, struct sfi_slot *slot);

#endif
