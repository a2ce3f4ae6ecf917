#include "prod/sched.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "prod/os.h"
#include "prod/worker.h"

#define INDEX_BITS 12u
#define GENERATION_END 0xFFFFFu /* never reached, so that no id is SF_TASK_NONE */
static_assert(SF_TASK_COUNT_MAX == 1u << INDEX_BITS, "ids hold the index in their lower bits");
static_assert(sizeof(struct sfi_slot) == 128, "slots keep their distance");

struct sf_prod_sched {
    struct sf_prod_sched_config config;
    struct sfi_slot *slots;     /* SF_TASK_COUNT_MAX of them */
    struct sfi_worker *workers; /* config.worker_count of them */
    uint32_t started_count;     /* threads that run */
    _Atomic uint32_t is_stopping;
    pthread_mutex_t lock;       /* for all below */
    pthread_cond_t done_cond;   /* live_count has become 0 */
    struct sfi_slot *free_slots;
    uint32_t live_count;
    uint64_t spawn_count;
};

struct sf_clock sfi_sched_clock(const struct sf_prod_sched *sched)
{
    return sched->config.clock;
}

uint32_t sfi_sched_budget(const struct sf_prod_sched *sched)
{
    return sched->config.budget;
}

bool sfi_sched_is_stopping(struct sf_prod_sched *sched)
{
    return atomic_load(&sched->is_stopping) != 0;
}

void sfi_sched_tell_notes(struct sf_prod_sched *sched, const struct sf_task *task, const struct sf_notes *notes)
{
    if (sched->config.on_notes != NULL) sched->config.on_notes(sched->config.ctx, task, notes);
}

void sfi_sched_task_done(struct sf_prod_sched *sched)
{
    sfi_os_check(pthread_mutex_lock(&sched->lock));
    assert(sched->live_count > 0);
    sched->live_count--;
    if (sched->live_count == 0) sfi_os_check(pthread_cond_broadcast(&sched->done_cond));
    sfi_os_check(pthread_mutex_unlock(&sched->lock));
}

void sfi_sched_slot_free(struct sf_prod_sched *sched, struct sfi_slot *slot)
{
    sfi_os_check(pthread_mutex_lock(&sched->lock));
    slot->next = sched->free_slots;
    sched->free_slots = slot;
    sfi_os_check(pthread_mutex_unlock(&sched->lock));
}

static void sched_wake(void *self, uint32_t task_id)
{
    struct sf_prod_sched *sched = self;
    struct sfi_slot *slot = &sched->slots[task_id & (SF_TASK_COUNT_MAX - 1)];
    if (atomic_load_explicit(&slot->id, memory_order_acquire) != task_id) return;
    /* An exchange and not a look first: the step that clears the flag must see what every waker published. */
    if (atomic_exchange(&slot->is_queued, 1) == 0) sfi_worker_push(slot->worker, slot);
}

static void sched_spawn(void *self, struct sf_task *task)
{
    struct sf_prod_sched *sched = self;
    sfi_os_check(pthread_mutex_lock(&sched->lock));
    struct sfi_slot *slot = sched->free_slots;
    assert(slot != NULL && "more than SF_TASK_COUNT_MAX tasks");
    sched->free_slots = slot->next;
    sched->live_count++;
    uint64_t order = sched->spawn_count;
    sched->spawn_count++;
    sfi_os_check(pthread_mutex_unlock(&sched->lock));

    slot->generation = (slot->generation + 1) % GENERATION_END;
    slot->timer = (struct sfi_timer){.order = order, .position = SFI_TIMER_NONE};
    slot->worker = &sched->workers[task->home % sched->config.worker_count];
    slot->task = task;
    task->id = slot->generation << INDEX_BITS | (uint32_t)(slot - sched->slots);
    atomic_store_explicit(&slot->id, task->id, memory_order_release);
    sfi_worker_push(slot->worker, slot); /* is_queued is 1 since the slot was freed */
}

static const struct sf_sched_ops sched_ops = {.spawn = sched_spawn, .wake = sched_wake};

static void init_slots(struct sf_prod_sched *sched)
{
    sched->slots = sf_calloc(sched->config.alloc, SF_TASK_COUNT_MAX, sizeof(struct sfi_slot));
    for (uint32_t i = SF_TASK_COUNT_MAX; i-- > 0;) {
        struct sfi_slot *slot = &sched->slots[i];
        atomic_init(&slot->id, SF_TASK_NONE);
        atomic_init(&slot->is_queued, 1);
        slot->next = sched->free_slots;
        sched->free_slots = slot;
    }
}

struct sf_prod_sched *sf_prod_sched_new(const struct sf_prod_sched_config *config)
{
    assert(config->worker_count >= 1 && config->worker_count <= SF_PROD_WORKER_COUNT_MAX);
    assert(config->budget >= 1 && config->budget <= SF_STEP_BUDGET_MAX);
    struct sf_prod_sched *sched = sf_calloc(config->alloc, 1, sizeof(*sched));
    sched->config = *config;
    atomic_init(&sched->is_stopping, 0);
    sfi_os_check(pthread_mutex_init(&sched->lock, NULL));
    sfi_os_cond_init(&sched->done_cond);
    init_slots(sched);
    sched->workers = sf_calloc(config->alloc, config->worker_count, sizeof(struct sfi_worker));
    for (uint32_t i = 0; i < config->worker_count; i++) sfi_worker_init(&sched->workers[i], sched, config->alloc);
    return sched;
}

enum sf_status sf_prod_sched_start(struct sf_prod_sched *sched, struct sf_error *error)
{
    assert(sched->started_count == 0 && !sfi_sched_is_stopping(sched));
    sigset_t all, old;
    (void)sigfillset(&all);
    sfi_os_check(pthread_sigmask(SIG_SETMASK, &all, &old));
    int rc = 0;
    while (rc == 0 && sched->started_count < sched->config.worker_count) {
        struct sfi_worker *worker = &sched->workers[sched->started_count];
        rc = pthread_create(&worker->thread, NULL, sfi_worker_main, worker);
        if (rc == 0) sched->started_count++;
    }
    sfi_os_check(pthread_sigmask(SIG_SETMASK, &old, NULL));
    if (rc == 0) return SF_OK;
    sf_prod_sched_stop(sched);
    error->status = SF_E_IO;
    (void)snprintf(error->text, sizeof(error->text), "no thread for a worker: error %d", rc);
    return SF_E_IO;
}

bool sf_prod_sched_wait_done(struct sf_prod_sched *sched, int64_t timeout_us)
{
    assert(timeout_us >= 0);
    struct timespec until = sfi_os_time_in(timeout_us);
    sfi_os_check(pthread_mutex_lock(&sched->lock));
    int rc = 0;
    while (sched->live_count > 0 && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&sched->done_cond, &sched->lock, &until);
    bool is_done = sched->live_count == 0;
    sfi_os_check(pthread_mutex_unlock(&sched->lock));
    return is_done;
}

void sf_prod_sched_stop(struct sf_prod_sched *sched)
{
    atomic_store(&sched->is_stopping, 1);
    for (uint32_t i = 0; i < sched->started_count; i++) sfi_worker_rouse(&sched->workers[i]);
    for (uint32_t i = 0; i < sched->started_count; i++) sfi_os_check(pthread_join(sched->workers[i].thread, NULL));
    sched->started_count = 0;
}

void sf_prod_sched_destroy(struct sf_prod_sched *sched)
{
    sf_prod_sched_stop(sched);
    struct sf_alloc alloc = sched->config.alloc;
    for (uint32_t i = 0; i < sched->config.worker_count; i++) sfi_worker_deinit(&sched->workers[i], alloc);
    sf_cfree(alloc, sched->workers, sched->config.worker_count, sizeof(struct sfi_worker));
    sf_cfree(alloc, sched->slots, SF_TASK_COUNT_MAX, sizeof(struct sfi_slot));
    sfi_os_check(pthread_cond_destroy(&sched->done_cond));
    sfi_os_check(pthread_mutex_destroy(&sched->lock));
    sf_cfree(alloc, sched, 1, sizeof(*sched));
}

struct sf_sched sf_prod_sched_handle(struct sf_prod_sched *sched)
{
    return (struct sf_sched){.ops = &sched_ops, .self = sched};
}
