#include "sim/random.h"
#include "sim/sched_parts.h"

/* ---------------------------------------------------------------- one step */

static void pass_note(void *ctx, const struct sf_note *note)
{
    struct sf_sim_sched *sched = ctx;
    const struct sfi_task_slot *slot = sched->running;
    sched->config.on_note(sched->config.ctx, slot->seat->instance, slot->task, note);
}

static void draw_inputs(struct sf_sim_sched *sched, const struct sfi_task_slot *slot)
{
    const struct sf_sim_sched_config *config = &sched->config;
    sched->budget = config->budget_max;
    if (config->budget_min < config->budget_max) {
        uint64_t draw = sf_sim_draw_nth(slot->budget_draws, slot->step_count);
        uint32_t hi = config->budget_max >> (draw >> 56) % 16; /* small budgets as often as large ones */
        if (hi < config->budget_min) hi = config->budget_min;
        sched->budget = (uint32_t)sf_sim_range(draw & 0xFFFFFFFF, config->budget_min, hi);
    }
    for (uint32_t i = 0; i < slot->task->port_count; i++) {
        sched->limits[i] = UINT32_MAX;
        if (i >= slot->limit_count) continue;
        uint64_t draw = sf_sim_draw_nth(slot->limit_draws[i], slot->step_count);
        if (sf_sim_chance(draw, config->limit_per_million))
            sched->limits[i] = (uint32_t)((draw >> 32) % ((uint64_t)config->limit_max + 1));
    }
}

static void digest_notes(struct sf_sim_digest_buffer *buffer, const struct sf_notes *notes)
{
    sf_sim_digest_append_u64(buffer, notes->count);
    for (uint32_t i = 0; i < notes->count; i++) {
        const struct sf_note *note = &notes->items[i];
        sf_sim_digest_append_u64(buffer, (uint64_t)note->subject << 32 | note->code);
        for (uint32_t j = 0; j < 4; j++) sf_sim_digest_append_u64(buffer, (uint64_t)note->args[j]);
    }
}

/* X14. The latched counts were appended before the step: it may end with its ports moved. */
static void digest_step(struct sf_sim_sched *sched, struct sfi_task_slot *slot, struct sf_step_result result,
                        int64_t wall_ms)
{
    struct sf_sim_digest_buffer *buffer = &sched->buffer;
    int64_t now_us = sched->world->mono_us;
    bool has_deadline = result.next == SF_NEXT_WAIT && result.wake_at.us != SF_MONO_NEVER.us;
    sf_sim_digest_append_u64(buffer, slot->entity);
    sf_sim_digest_append_u64(buffer, sched->budget);
    sf_sim_digest_append_u64(buffer, (uint64_t)(now_us - slot->last_us));
    sf_sim_digest_append_u64(buffer, (uint64_t)(wall_ms - slot->last_wall_ms));
    sf_sim_digest_append_u64(buffer, (uint64_t)result.next << 32 | result.used);
    sf_sim_digest_append_u64(buffer, has_deadline ? (uint64_t)(result.wake_at.us - now_us) : UINT64_MAX);
    digest_notes(buffer, &sched->notes);
    sf_sim_digest_fold(&slot->digest, buffer);
    slot->last_us = now_us;
    slot->last_wall_ms = wall_ms;
}

static void charge(struct sfi_task_slot *slot, uint32_t used, int64_t now_us)
{
    struct sfi_home *home = slot->home;
    int64_t cost_ns = home->carried_ns + slot->step_ns + slot->unit_ns * (int64_t)used;
    home->busy_until_us = now_us + cost_ns / 1000;
    home->carried_ns = cost_ns % 1000;
}

static int64_t deadline_of(const struct sf_sim_sched *sched, const struct sfi_task_slot *slot,
                           struct sf_step_result result)
{
    const struct sf_sim_sched_config *config = &sched->config;
    int64_t now_us = sched->world->mono_us;
    if (result.wake_at.us == SF_MONO_NEVER.us) return INT64_MAX;
    if (result.wake_at.us <= now_us) return now_us;
    int64_t at_us = result.wake_at.us;
    if (at_us % config->wake_grain_us != 0)
        at_us = sf_mono_add((struct sf_mono_ts){at_us}, config->wake_grain_us - at_us % config->wake_grain_us).us;
    if (config->wake_late_us_max > 0) {
        uint64_t draw = sf_sim_draw_nth(slot->late_draws, slot->step_count);
        at_us = sf_mono_add((struct sf_mono_ts){at_us}, sf_sim_range(draw, 0, config->wake_late_us_max)).us;
    }
    return at_us;
}

/* Messages that a limit, or this very step, left beyond the latch. */
static bool has_unlatched(const struct sf_task *task)
{
    for (uint32_t i = 0; i < task->port_count; i++) {
        const struct sf_port *port = task->ports[i];
        if (atomic_load_explicit(port->written, memory_order_acquire) != port->latched) return true;
    }
    return false;
}

static uint32_t position_of(const struct sf_sim_sched *sched, const struct sfi_task_slot *slot)
{
    uint32_t position = 0;
    while (sched->live[position] != slot) position++;
    return position;
}

static void obey(struct sf_sim_sched *sched, struct sfi_task_slot *slot, struct sf_step_result result)
{
    if (slot->seat->instance->is_dead) {
        sfi_sched_drop_all_of(sched, slot->seat);
        return;
    }
    charge(slot, result.used, sched->world->mono_us);
    if (result.next == SF_NEXT_DONE) {
        sfi_sched_drop(sched, position_of(sched, slot));
        return;
    }
    slot->wake_us = deadline_of(sched, slot, result);
    if (result.next == SF_NEXT_AGAIN || has_unlatched(slot->task)) sfi_sched_make_ready(sched, slot);
}

static void run(struct sf_sim_sched *sched, struct sfi_task_slot *slot)
{
    struct sf_sim_world *world = sched->world;
    struct sf_task *task = slot->task;
    int64_t wall_ms = sf_sim_world_wall_ms(world);
    draw_inputs(sched, slot);
    slot->is_ready = false;
    slot->step_count++;
    sched->step_count++;
    sched->last = slot;
    for (uint32_t i = 0; i < task->port_count; i++) {
        (void)sf_port_latch(task->ports[i], sched->limits[i]);
        sf_sim_digest_append_u64(&sched->buffer, sf_port_visible(task->ports[i]));
    }
    sched->running = slot;
    sched->is_in_step = true;
    sched->notes.hook = sched->config.on_note != NULL ? pass_note : NULL;
    sched->notes.hook_ctx = sched;
    struct sf_step_result result =
        sf_task_run(task, sf_sim_world_clock(world), sched->budget, sched->limits, &sched->notes);
    sched->is_in_step = false;
    digest_step(sched, slot, result, wall_ms);
    if (sched->config.on_step != NULL) {
        struct sf_sim_step_record record = {.number = sched->step_count,
                                            .instance = slot->seat->instance,
                                            .task = task,
                                            .now = {world->mono_us},
                                            .budget = sched->budget,
                                            .result = result,
                                            .notes = &sched->notes,
                                            .digest = &slot->digest};
        sched->config.on_step(sched->config.ctx, &record);
    }
    sched->running = NULL;
    obey(sched, slot, result);
}

/* ---------------------------------------------------------------- the loop */

/* When the task can step, given that nothing else happens: now if it is runnable; INT64_MAX if only news helps. */
static int64_t runs_at_us(const struct sf_sim_sched *sched, const struct sfi_task_slot *slot)
{
    if (slot->seat->instance->is_frozen) return INT64_MAX;
    int64_t now_us = sched->world->mono_us;
    int64_t at_us = slot->is_ready ? now_us : slot->wake_us;
    if (at_us == INT64_MAX) return INT64_MAX;
    if (at_us < now_us) at_us = now_us;
    if (at_us < slot->home->busy_until_us) at_us = slot->home->busy_until_us;
    if (slot->hold_bits == 0) return at_us;
    int64_t held_us = sfi_rules_held_until(&sched->rules, slot->hold_bits, at_us);
    return held_us > at_us ? held_us : at_us;
}

static bool is_runnable(const struct sf_sim_sched *sched, const struct sfi_task_slot *slot)
{
    int64_t now_us = sched->world->mono_us;
    if (slot->seat->instance->is_frozen || slot->home->busy_until_us > now_us) return false;
    return slot->hold_bits == 0 || sfi_rules_held_until(&sched->rules, slot->hold_bits, now_us) <= now_us;
}

/* Deadlines that have come make their tasks ready, in spawn order. */
static struct sfi_task_slot *first_runnable(struct sf_sim_sched *sched)
{
    struct sfi_task_slot *first = NULL;
    for (uint32_t i = 0; i < sched->live_count; i++) {
        struct sfi_task_slot *slot = sched->live[i];
        if (!slot->is_ready) {
            if (slot->wake_us > sched->world->mono_us) continue;
            sfi_sched_make_ready(sched, slot);
        }
        if ((first == NULL || slot->rank < first->rank) && is_runnable(sched, slot)) first = slot;
    }
    return first;
}

/* PRIORITY: at a drawn step whoever is about to run becomes the last, behind those that became so before. */
static struct sfi_task_slot *change_priority(struct sf_sim_sched *sched, struct sfi_task_slot *slot)
{
    for (uint32_t i = 0; i + 1 < sched->config.depth && slot != NULL; i++) {
        if (sched->change_at[i] != sched->step_count + 1) continue;
        slot->priority = UINT64_MAX - SF_SIM_SCHED_DEPTH_MAX + i;
        slot->rank = slot->priority;
        slot = first_runnable(sched);
    }
    return slot;
}

bool sf_sim_sched_step_one(struct sf_sim_sched *sched)
{
    assert(sched->running == NULL);
    (void)sf_sim_world_run_due(sched->world);
    struct sfi_task_slot *slot = first_runnable(sched);
    if (sched->config.choice == SF_SIM_CHOICE_PRIORITY) slot = change_priority(sched, slot);
    if (slot == NULL) return false;
    run(sched, slot);
    return true;
}

static int64_t next_step_us(const struct sf_sim_sched *sched)
{
    int64_t next_us = INT64_MAX;
    for (uint32_t i = 0; i < sched->live_count; i++) {
        int64_t at_us = runs_at_us(sched, sched->live[i]);
        if (at_us < next_us) next_us = at_us;
    }
    return next_us;
}

int64_t sf_sim_sched_next_us(struct sf_sim_sched *sched)
{
    int64_t step_us = next_step_us(sched);
    int64_t event_us = sf_sim_world_next_us(sched->world);
    return step_us < event_us ? step_us : event_us;
}

bool sf_sim_sched_is_quiescent(struct sf_sim_sched *sched)
{
    return sf_sim_sched_next_us(sched) > sched->world->mono_us;
}

bool sf_sim_sched_run_until(struct sf_sim_sched *sched, int64_t until_us)
{
    assert(until_us >= sched->world->mono_us && until_us < INT64_MAX);
    int64_t next_us;
    do {
        uint64_t steps = 0;
        while (sf_sim_sched_step_one(sched)) {
            steps++;
            if (steps > sched->config.instant_steps_max) return false;
        }
        next_us = next_step_us(sched);
    } while (sf_sim_world_advance(sched->world, next_us < until_us ? next_us : until_us));
    return true;
}
