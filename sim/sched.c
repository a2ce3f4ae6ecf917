#include "sim/sched.h"

#include "core/hash.h"
#include "sim/random.h"
#include "sim/sched_parts.h"

#define INDEX_BITS 12u
#define GENERATION_END 0xFFFFFu /* never reached, so that no id is SF_TASK_NONE */

/* ---------------------------------------------------------------- becoming ready */

static uint64_t rank_of(struct sf_sim_sched *sched, const struct sfi_task_slot *slot)
{
    switch (sched->config.choice) {
    case SF_SIM_CHOICE_FIXED: return 0; /* live is in spawn order */
    case SF_SIM_CHOICE_FIFO: return sched->ready_count;
    case SF_SIM_CHOICE_RANDOM: {
        uint64_t draw = sf_sim_draw_nth(slot->order_draws, slot->step_count);
        uint64_t behind = (draw >> 32) % sched->config.window;
        return (sched->step_count + behind) << 20 | (draw & 0xFFFFF);
    }
    case SF_SIM_CHOICE_PRIORITY: return slot->priority;
    }
    return 0;
}

void sfi_sched_make_ready(struct sf_sim_sched *sched, struct sfi_task_slot *slot)
{
    if (slot->is_ready) return;
    slot->is_ready = true;
    slot->rank = rank_of(sched, slot);
    sched->ready_count++;
}

static struct sfi_task_slot *find(struct sf_sim_sched *sched, uint32_t task_id)
{
    struct sfi_task_slot *slot = sched->by_index[task_id & (SF_TASK_COUNT_MAX - 1)];
    return slot != NULL && slot->task->id == task_id ? slot : NULL;
}

static void sched_wake(void *self, uint32_t task_id)
{
    struct sfi_seat *seat = self;
    if (seat->sched == NULL) return;
    struct sfi_task_slot *slot = find(seat->sched, task_id);
    if (slot != NULL) sfi_sched_make_ready(seat->sched, slot);
}

/* ---------------------------------------------------------------- spawning and dropping */

static struct sfi_home *home_of(struct sfi_seat *seat, uint32_t number)
{
    struct sfi_home *home = seat->homes;
    while (home != NULL && home->number != number) home = home->next;
    if (home != NULL) return home;
    home = sf_malloc(seat->alloc, sizeof *home);
    *home = (struct sfi_home){.next = seat->homes, .number = number};
    seat->homes = home;
    return home;
}

static uint64_t entity_of(const struct sfi_seat *seat, const struct sf_task *task)
{
    uint64_t entity = sf_sim_mix(sf_hash64(task->name, strlen(task->name)) + seat->instance->id);
    uint64_t same = 0;
    for (uint32_t i = 0; i < seat->sched->live_count; i++) {
        const struct sfi_task_slot *other = seat->sched->live[i];
        if (other->seat == seat && strcmp(other->task->name, task->name) == 0) same++;
    }
    return entity + same;
}

static uint32_t free_index(struct sf_sim_sched *sched)
{
    assert(sched->live_count < SF_TASK_COUNT_MAX && "more than SF_TASK_COUNT_MAX tasks");
    while (sched->by_index[sched->index_hint] != NULL)
        sched->index_hint = (sched->index_hint + 1) % SF_TASK_COUNT_MAX;
    uint32_t index = sched->index_hint;
    sched->index_hint = (index + 1) % SF_TASK_COUNT_MAX;
    return index;
}

static void set_cost(struct sf_sim_sched *sched, struct sfi_task_slot *slot)
{
    const struct sfi_cost *cost = sfi_rules_cost_of(&sched->rules, slot->seat->instance->id, slot->task->name);
    slot->step_ns = cost != NULL ? cost->step_ns : sched->config.step_ns;
    slot->unit_ns = cost != NULL ? cost->unit_ns : sched->config.unit_ns;
}

static void copy_name(struct sfi_task_slot *slot, const char *name)
{
    size_t len = strlen(name);
    if (len >= sizeof slot->name) len = sizeof slot->name - 1;
    memcpy(slot->name, name, len);
}

static void init_draws(struct sf_sim_sched *sched, struct sfi_task_slot *slot)
{
    uint64_t seed = sched->world->seed;
    slot->priority = sf_sim_draw(seed, SF_SIM_DOMAIN_SCHED_PRIORITY, slot->entity, 0) >> 1;
    slot->order_draws = sf_sim_draws(seed, SF_SIM_DOMAIN_SCHED_ORDER, slot->entity);
    slot->budget_draws = sf_sim_draws(seed, SF_SIM_DOMAIN_SCHED_BUDGET, slot->entity);
    slot->late_draws = sf_sim_draws(seed, SF_SIM_DOMAIN_SCHED_LATE, slot->entity);
    slot->limit_count = sched->config.limit_per_million > 0 ? slot->task->port_count : 0;
    if (slot->limit_count == 0) return;
    slot->limit_draws = sf_calloc(sched->alloc, slot->limit_count, sizeof *slot->limit_draws);
    for (uint32_t i = 0; i < slot->limit_count; i++)
        slot->limit_draws[i] = sf_sim_draws(seed, SF_SIM_DOMAIN_SCHED_LIMIT, slot->entity + sf_sim_mix(i + 1));
}

static void sched_spawn(void *self, struct sf_task *task)
{
    struct sfi_seat *seat = self;
    struct sf_sim_sched *sched = seat->sched;
    assert(sched != NULL);
    assert(task->port_count <= SF_SIM_SCHED_PORTS_MAX);
    uint32_t index = free_index(sched);
    sched->generations[index] = (sched->generations[index] + 1) % GENERATION_END;
    task->id = sched->generations[index] << INDEX_BITS | index;
    if (seat->instance->is_dead) return; /* a dead process starts nothing; its step is about to end */

    struct sfi_task_slot *slot = sf_malloc(sched->alloc, sizeof *slot);
    *slot = (struct sfi_task_slot){.task = task,
                          .seat = seat,
                          .home = home_of(seat, task->home),
                          .index = index,
                          .entity = entity_of(seat, task),
                          .wake_us = INT64_MAX,
                          .last_us = sched->world->start_us};
    copy_name(slot, task->name);
    init_draws(sched, slot);
    slot->hold_bits = sfi_rules_holds_of(&sched->rules, seat->instance->id, task->name);
    set_cost(sched, slot);
    sched->by_index[index] = slot;
    sched->live[sched->live_count] = slot;
    sched->live_count++;
    sched->spawn_count++;
    sfi_sched_make_ready(sched, slot);
}

void sfi_sched_drop(struct sf_sim_sched *sched, uint32_t position)
{
    struct sfi_task_slot *slot = sched->live[position];
    assert(slot != sched->running);
    sf_sim_digest_append(&sched->buffer, slot->digest.bytes, sizeof slot->digest.bytes);
    sf_sim_digest_fold(&sched->ended, &sched->buffer);
    if (sched->last == slot) {
        memcpy(sched->last_name, slot->name, sizeof sched->last_name);
        sched->last = NULL;
    }
    sched->by_index[slot->index] = NULL;
    sched->live_count--;
    memmove(&sched->live[position], &sched->live[position + 1],
            (sched->live_count - position) * sizeof(struct sfi_task_slot *));
    sf_cfree(sched->alloc, slot->limit_draws, slot->limit_count, sizeof *slot->limit_draws);
    sf_free(sched->alloc, slot, sizeof *slot);
}

void sfi_sched_drop_all_of(struct sf_sim_sched *sched, const struct sfi_seat *seat)
{
    for (uint32_t i = sched->live_count; i-- > 0;)
        if (sched->live[i]->seat == seat) sfi_sched_drop(sched, i);
}

static bool is_stepping(const struct sfi_seat *seat)
{
    return seat->sched != NULL && seat->sched->running != NULL && seat->sched->running->seat == seat;
}

static void instance_killed(void *ctx, struct sf_sim_instance *instance)
{
    (void)instance;
    struct sfi_seat *seat = ctx;
    if (seat->sched != NULL && !is_stepping(seat)) sfi_sched_drop_all_of(seat->sched, seat);
}

static void free_seat(struct sfi_seat *seat)
{
    while (seat->homes != NULL) {
        struct sfi_home *home = seat->homes;
        seat->homes = home->next;
        sf_free(seat->alloc, home, sizeof *home);
    }
    sf_free(seat->alloc, seat, sizeof *seat);
}

static void instance_destroyed(void *ctx, struct sf_sim_instance *instance)
{
    (void)instance;
    struct sfi_seat *seat = ctx;
    assert(!is_stepping(seat));
    if (seat->sched != NULL) {
        sfi_sched_drop_all_of(seat->sched, seat);
        struct sfi_seat **link = &seat->sched->seats;
        while (*link != seat) link = &(*link)->next;
        *link = seat->next;
    }
    free_seat(seat);
}

static const struct sf_sched_ops sched_ops = {.spawn = sched_spawn, .wake = sched_wake};

struct sf_sched sf_sim_sched_handle(struct sf_sim_sched *sched, struct sf_sim_instance *instance)
{
    static const struct sf_sim_instance_ops hooks = {.killed = instance_killed, .destroyed = instance_destroyed};
    struct sfi_seat *seat = sched->seats;
    while (seat != NULL && seat->instance != instance) seat = seat->next;
    if (seat == NULL) {
        seat = sf_malloc(sched->alloc, sizeof *seat);
        *seat = (struct sfi_seat){.next = sched->seats, .sched = sched, .instance = instance, .alloc = sched->alloc};
        sched->seats = seat;
        sf_sim_instance_hook(instance, &hooks, seat);
    }
    return (struct sf_sched){.ops = &sched_ops, .self = seat};
}

/* ---------------------------------------------------------------- life */

static void draw_changes(struct sf_sim_sched *sched)
{
    for (uint32_t i = 0; i + 1 < sched->config.depth; i++) {
        uint64_t draw = sf_sim_draw(sched->world->seed, SF_SIM_DOMAIN_SCHED_CHANGE, i, 0);
        sched->change_at[i] = 1 + draw % sched->config.depth_steps;
    }
}

struct sf_sim_sched *sf_sim_sched_new(struct sf_sim_world *world, const struct sf_sim_sched_config *config)
{
    assert(config->budget_min >= 1 && config->budget_min <= config->budget_max);
    assert(config->budget_max <= SF_STEP_BUDGET_MAX && config->wake_grain_us >= 1 && config->wake_late_us_max >= 0);
    assert(config->step_ns >= 0 && config->unit_ns >= 0 && config->instant_steps_max >= 1);
    assert(config->choice != SF_SIM_CHOICE_RANDOM || config->window >= 1);
    assert(config->choice != SF_SIM_CHOICE_PRIORITY ||
           (config->depth >= 1 && config->depth <= SF_SIM_SCHED_DEPTH_MAX && config->depth_steps >= 1));
    struct sf_sim_sched *sched = sf_calloc(world->alloc, 1, sizeof *sched);
    sched->world = world;
    sched->config = *config;
    sched->alloc = world->alloc;
    sf_sim_digest_buffer_init(&sched->buffer, world->alloc);
    if (config->choice == SF_SIM_CHOICE_PRIORITY) draw_changes(sched);
    return sched;
}

void sf_sim_sched_destroy(struct sf_sim_sched *sched)
{
    assert(sched->running == NULL);
    while (sched->live_count > 0) sfi_sched_drop(sched, sched->live_count - 1);
    for (struct sfi_seat *seat = sched->seats; seat != NULL; seat = seat->next) seat->sched = NULL;
    sf_sim_digest_buffer_deinit(&sched->buffer);
    sf_cfree(sched->alloc, sched, 1, sizeof *sched);
}

void sf_sim_sched_hold(struct sf_sim_sched *sched, uint32_t instance_id, const char *name, int64_t from_us,
                       int64_t until_us)
{
    (void)sfi_rules_add_hold(&sched->rules, instance_id, name, from_us, until_us, sched->world->mono_us);
    for (uint32_t i = 0; i < sched->live_count; i++) {
        struct sfi_task_slot *slot = sched->live[i];
        slot->hold_bits = sfi_rules_holds_of(&sched->rules, slot->seat->instance->id, slot->task->name);
    }
}

void sf_sim_sched_cost(struct sf_sim_sched *sched, uint32_t instance_id, const char *name, int64_t step_ns,
                       int64_t unit_ns)
{
    sfi_rules_add_cost(&sched->rules, instance_id, name, step_ns, unit_ns);
    for (uint32_t i = 0; i < sched->live_count; i++) set_cost(sched, sched->live[i]);
}

/* ---------------------------------------------------------------- what can be asked */

uint32_t sf_sim_sched_task_count(const struct sf_sim_sched *sched)
{
    return sched->live_count;
}

uint64_t sf_sim_sched_step_count(const struct sf_sim_sched *sched)
{
    return sched->step_count;
}

const struct sf_task *sf_sim_sched_running(const struct sf_sim_sched *sched)
{
    return sched->running != NULL ? sched->running->task : NULL;
}

const char *sf_sim_sched_stuck_on(const struct sf_sim_sched *sched)
{
    return sched->last != NULL ? sched->last->name : sched->last_name;
}

void sf_sim_sched_mix(struct sf_sim_sched *sched, const void *bytes, size_t len)
{
    sf_sim_digest_append(&sched->buffer, bytes, len);
    if (!sched->is_in_step) sf_sim_digest_fold(&sched->ended, &sched->buffer);
}

struct sf_sim_digest sf_sim_sched_digest(const struct sf_sim_sched *sched)
{
    struct sf_sim_digest all = sched->ended;
    struct sf_sim_digest_buffer buffer;
    sf_sim_digest_buffer_init(&buffer, sched->alloc);
    for (uint32_t i = 0; i < sched->live_count; i++)
        sf_sim_digest_append(&buffer, sched->live[i]->digest.bytes, sizeof(struct sf_sim_digest));
    sf_sim_digest_fold(&all, &buffer);
    sf_sim_digest_buffer_deinit(&buffer);
    return all;
}
