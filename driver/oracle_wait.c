/*
 * Waits: how long dispatch may stand, and how long it must (D5, X4, X3).
 *
 *     max-task-idle 200     in/0 empty and caught up @1,000     in/1 has a head
 *     @1,100  in/1 goes                   too soon (X4): in/0 is waited for until @1,200
 *     @1,100  ingest sleeps until @1,300  too long (X3)
 *
 * A wait begins when its partition is empty and caught up, both; one that has run out is not begun again before the
 * partition has delivered. Whether it had run out is known for certain only where somebody had looked, so a wait that
 * may have is taken for either.
 */
#include "driver/oracle_heads.h"
#include "driver/oracle_time.h"

#define STAND_US 100000 /* news of credit may come with a later step */

static int64_t idle_us(const struct sfi_oracle_instance *instance)
{
    int64_t ms = instance->oracle->world.topology->settings.task_idle_ms_max;
    return ms > INT64_MAX / 1000 ? INT64_MAX : ms * 1000;
}

static int64_t now_us(const struct sfi_oracle_instance *instance)
{
    return instance->oracle->world.world->mono_us;
}

static bool is_waited(const struct sfi_oracle_live *live)
{
    return live->is_assigned && !live->is_leaving && live->waiting == 0 && live->is_lag_known && live->is_caught_up;
}

/* Does dispatch wait for it, or may it: it has nothing, and either may have more or is waited for by time. */
static bool is_listed(const struct sfi_oracle_instance *instance, const struct sfi_oracle_live *live)
{
    if (!live->is_assigned || live->waiting > 0) return false;
    return !live->is_timed || (idle_us(instance) > 0 && !live->is_waited_out);
}

static void list(struct sfi_oracle_instance *instance, uint32_t p)
{
    struct sfi_oracle_live *live = &instance->live[p];
    if (is_listed(instance, live) == (live->wait_at != SFI_ORACLE_NONE)) return;
    if (live->wait_at != SFI_ORACLE_NONE) {
        uint32_t last = instance->waits[--instance->wait_count];
        instance->waits[live->wait_at] = last;
        instance->live[last].wait_at = live->wait_at;
        live->wait_at = SFI_ORACLE_NONE;
        return;
    }
    if (instance->wait_count == instance->wait_capacity) {
        uint32_t capacity = instance->wait_capacity == 0 ? 16 : instance->wait_capacity * 2;
        size_t item = sizeof *instance->waits;
        instance->waits = sf_regrow(instance->oracle->alloc, instance->waits, instance->wait_capacity * item,
                                    instance->wait_count * item, capacity * item);
        instance->wait_capacity = capacity;
    }
    live->wait_at = instance->wait_count;
    instance->waits[instance->wait_count++] = p;
}

void sfi_oracle_wait_update(struct sfi_oracle_instance *instance, uint32_t p)
{
    struct sfi_oracle_live *live = &instance->live[p];
    if (live->waiting > 0) live->is_waited_out = false;
    if (is_waited(live) != live->is_timed) {
        bool has_run_out = live->is_timed && now_us(instance) - live->timed_us >= idle_us(instance);
        if (has_run_out && live->waiting == 0) live->is_waited_out = true;
        live->is_timed = !live->is_timed;
        live->timed_us = now_us(instance);
    }
    list(instance, p);
}

bool sfi_oracle_wait_may_dispatch(struct sfi_oracle_instance *instance)
{
    struct sfi_oracle *oracle = instance->oracle;
    if (oracle->world.topology->settings.task_idle_ms_max <= 0) return true;
    uint32_t first = SFI_ORACLE_NONE;
    for (uint32_t i = instance->wait_count; i-- > 0;) {
        uint32_t p = instance->waits[i];
        struct sfi_oracle_live *live = &instance->live[p];
        if (!live->is_timed) continue;
        if (now_us(instance) - live->timed_us < idle_us(instance)) {
            if (p < first) first = p;
            continue;
        }
        live->is_waited_out = true;
        list(instance, p);
    }
    if (first == SFI_ORACLE_NONE) return true;
    sfi_oracle_say_partition(oracle, "X4", &oracle->partitions[first],
                             "us that dispatch waits for a partition that is caught up (D5), at least",
                             idle_us(instance), now_us(instance) - instance->live[first].timed_us);
    return false;
}

/* ---------------------------------------------------------------- not longer than that */

static bool has_credit(const struct sfi_oracle_instance *instance)
{
    uint32_t lanes = instance->oracle->world.plan->sub_count * instance->oracle->world.lanes;
    for (uint32_t i = 0; i < lanes; i++)
        if (instance->lanes[i].count > 0) return false;
    return instance->oracle->world.topology->settings.uncommitted_bytes_max >= UINT64_C(1) << 20;
}

static bool is_one_leaving(const struct sfi_oracle_instance *instance)
{
    for (uint32_t p = 0; p < instance->oracle->partition_count; p++)
        if (instance->live[p].is_leaving) return true;
    return false;
}

/* When the last wait ends by time alone; INT64_MAX: it takes news, INT64_MIN: nothing is waited for. */
static int64_t waits_until(const struct sfi_oracle_instance *instance)
{
    int64_t idle = idle_us(instance), until = INT64_MIN;
    if (idle < 0) return until;
    for (uint32_t p = 0; p < instance->oracle->partition_count; p++) {
        const struct sfi_oracle_live *live = &instance->live[p];
        if (!live->is_assigned || live->waiting > 0) continue;
        if (!live->is_lag_known && live->is_idle && !live->is_idle_open) continue;
        if (!live->is_timed) return INT64_MAX;
        if (idle > 0 && !live->is_waited_out) until = sf_time_max(until, sf_time_add(live->timed_us, idle));
    }
    return until;
}

void sfi_oracle_wait_stepped(struct sfi_oracle_instance *instance, int64_t wake_us)
{
    struct sfi_oracle_time *time = &instance->time;
    bool may_stand = instance->head_count == 0 || time->is_paused || is_one_leaving(instance) ||
                     !has_credit(instance) || !sfi_oracle_is_ordered(instance->oracle);
    int64_t until = may_stand ? INT64_MAX : waits_until(instance);
    const struct sfi_oracle_partition *first =
        instance->head_count > 0 ? &instance->oracle->partitions[instance->heads[0].partition] : NULL;
    if (until == INT64_MAX || (until > now_us(instance) && wake_us <= until)) {
        time->stands_us = -1;
        return;
    }
    if (until > now_us(instance)) {
        sfi_oracle_say_partition(instance->oracle, "X3", first, "us until the head goes (D5), at most",
                                 until - now_us(instance), wake_us - now_us(instance));
        return;
    }
    if (time->stands_us < 0) time->stands_us = now_us(instance);
    if (now_us(instance) - time->stands_us > STAND_US)
        sfi_oracle_say_partition(instance->oracle, "X3", first,
                                 "us that a head stands though nothing is waited for (D5), at most", STAND_US,
                                 now_us(instance) - time->stands_us);
}
