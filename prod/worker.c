#include "prod/worker.h"

#include <errno.h>

#include "prod/os.h"

void sfi_worker_init(struct sfi_worker *worker, struct sf_prod_sched *sched, struct sf_alloc alloc)
{
    atomic_init(&worker->inbox, NULL);
    atomic_init(&worker->is_asleep, 0);
    worker->queue_head = worker->queue_tail = NULL;
    worker->sched = sched;
    sfi_timers_init(&worker->timers, alloc, SF_TASK_COUNT_MAX);
    sfi_os_check(pthread_mutex_init(&worker->lock, NULL));
    sfi_os_cond_init(&worker->cond);
}

void sfi_worker_deinit(struct sfi_worker *worker, struct sf_alloc alloc)
{
    sfi_os_check(pthread_cond_destroy(&worker->cond));
    sfi_os_check(pthread_mutex_destroy(&worker->lock));
    sfi_timers_deinit(&worker->timers, alloc);
}

void sfi_worker_push(struct sfi_worker *worker, struct sfi_slot *slot)
{
    struct sfi_slot *head = atomic_load_explicit(&worker->inbox, memory_order_relaxed);
    do {
        slot->next = head;
    } while (!atomic_compare_exchange_weak(&worker->inbox, &head, slot));
    sfi_worker_rouse(worker);
}

void sfi_worker_rouse(struct sfi_worker *worker)
{
    if (atomic_load(&worker->is_asleep) == 0) return;
    if (atomic_exchange(&worker->is_asleep, 0) == 0) return;
    sfi_os_check(pthread_mutex_lock(&worker->lock));
    sfi_os_check(pthread_cond_signal(&worker->cond));
    sfi_os_check(pthread_mutex_unlock(&worker->lock));
}

static void queue_push(struct sfi_worker *worker, struct sfi_slot *slot)
{
    slot->next = NULL;
    if (worker->queue_tail != NULL)
        worker->queue_tail->next = slot;
    else
        worker->queue_head = slot;
    worker->queue_tail = slot;
}

static struct sfi_slot *queue_pop(struct sfi_worker *worker)
{
    struct sfi_slot *slot = worker->queue_head;
    if (slot == NULL) return NULL;
    worker->queue_head = slot->next;
    if (worker->queue_head == NULL) worker->queue_tail = NULL;
    return slot;
}

/* The inbox is newest first; the queue is served oldest first. */
static void take_inbox(struct sfi_worker *worker)
{
    if (atomic_load_explicit(&worker->inbox, memory_order_relaxed) == NULL) return;
    struct sfi_slot *slot = atomic_exchange(&worker->inbox, NULL);
    struct sfi_slot *oldest = NULL;
    while (slot != NULL) {
        struct sfi_slot *next = slot->next;
        slot->next = oldest;
        oldest = slot;
        slot = next;
    }
    while (oldest != NULL) {
        struct sfi_slot *next = oldest->next;
        queue_push(worker, oldest);
        oldest = next;
    }
}

static struct sfi_slot *slot_of_timer(struct sfi_timer *timer)
{
    return (struct sfi_slot *)(void *)((uint8_t *)timer - offsetof(struct sfi_slot, timer));
}

/* The worker's own way to make a task run again: no inbox. */
static void queue_unless_queued(struct sfi_worker *worker, struct sfi_slot *slot)
{
    if (atomic_exchange(&slot->is_queued, 1) == 0) queue_push(worker, slot);
}

static void take_due(struct sfi_worker *worker)
{
    struct sfi_timer *first = sfi_timers_first(&worker->timers);
    if (first == NULL) return;
    struct sf_mono_ts now = sf_clock_mono(sfi_sched_clock(worker->sched));
    while (first != NULL && first->due_us <= now.us) {
        sfi_timers_clear(&worker->timers, first);
        queue_unless_queued(worker, slot_of_timer(first));
        first = sfi_timers_first(&worker->timers);
    }
}

/* No code may touch the task after this: its owner may free it. */
static void finish_task(struct sfi_worker *worker, struct sfi_slot *slot)
{
    sfi_timers_clear(&worker->timers, &slot->timer);
    slot->task = NULL;
    atomic_store(&slot->id, SF_TASK_NONE);
    bool is_ours = atomic_exchange(&slot->is_queued, 1) == 0;
    if (is_ours) sfi_sched_slot_free(worker->sched, slot);
    sfi_sched_task_done(worker->sched);
}

static void run_slot(struct sfi_worker *worker, struct sfi_slot *slot)
{
    struct sf_task *task = slot->task;
    if (task == NULL) {
        sfi_sched_slot_free(worker->sched, slot);
        return;
    }
    (void)atomic_exchange(&slot->is_queued, 0); /* before the latch: a later wake means a later step */
    struct sf_step_result result = sf_task_run(task, sfi_sched_clock(worker->sched),
                                               sfi_sched_budget(worker->sched), NULL, &worker->notes);
    if (worker->notes.count > 0) sfi_sched_tell_notes(worker->sched, task, &worker->notes);
    if (result.next == SF_NEXT_DONE) {
        finish_task(worker, slot);
        return;
    }
    if (result.wake_at.us == SF_MONO_NEVER.us)
        sfi_timers_clear(&worker->timers, &slot->timer);
    else
        sfi_timers_set(&worker->timers, &slot->timer, result.wake_at.us);
    if (result.next == SF_NEXT_AGAIN) queue_unless_queued(worker, slot);
}

static int64_t nap_us(struct sfi_worker *worker)
{
    const struct sfi_timer *first = sfi_timers_first(&worker->timers);
    if (first == NULL) return SF_PROD_SLEEP_US_MAX;
    int64_t now_us = sf_clock_mono(sfi_sched_clock(worker->sched)).us;
    if (first->due_us <= now_us) return 0;
    return first->due_us - now_us < SF_PROD_SLEEP_US_MAX ? first->due_us - now_us : SF_PROD_SLEEP_US_MAX;
}

static void nap(struct sfi_worker *worker)
{
    atomic_store(&worker->is_asleep, 1); /* then look once more: see sfi_worker_push */
    int64_t us = nap_us(worker);
    if (us > 0 && atomic_load(&worker->inbox) == NULL && !sfi_sched_is_stopping(worker->sched)) {
        struct timespec until = sfi_os_time_in(us);
        sfi_os_check(pthread_mutex_lock(&worker->lock));
        int rc = 0;
        while (rc != ETIMEDOUT && atomic_load(&worker->is_asleep) != 0)
            rc = pthread_cond_timedwait(&worker->cond, &worker->lock, &until);
        sfi_os_check(pthread_mutex_unlock(&worker->lock));
    }
    atomic_store(&worker->is_asleep, 0);
}

void *sfi_worker_main(void *arg)
{
    struct sfi_worker *worker = arg;
    while (!sfi_sched_is_stopping(worker->sched)) {
        take_inbox(worker);
        take_due(worker);
        struct sfi_slot *slot = queue_pop(worker);
        if (slot != NULL)
            run_slot(worker, slot);
        else
            nap(worker);
    }
    return NULL;
}
