#include "sim/world.h"

#include "sim/random.h"

#define MONO_START_MIN_US INT64_C(1000000000000)      /* eleven days */
#define MONO_START_MAX_US INT64_C(1000000000000000)   /* thirty-one years */

const char *sf_sim_command_word(enum sf_sim_command_kind kind)
{
    static const char *const words[SF_SIM_COMMAND_COUNT] = {
#define SF_SIM_COMMAND_WORD(code, word) word,
        SF_SIM_COMMAND_LIST(SF_SIM_COMMAND_WORD)
#undef SF_SIM_COMMAND_WORD
    };
    assert(kind < SF_SIM_COMMAND_COUNT);
    return words[kind];
}

void sf_sim_world_init(struct sf_sim_world *world, const struct sf_sim_world_config *config)
{
    *world = (struct sf_sim_world){.config = *config, .seed = config->seed};
    sf_sim_heap_init(&world->heap);
    world->alloc = sf_sim_heap_alloc(&world->heap);
    uint64_t draw = sf_sim_draw(config->seed, SF_SIM_DOMAIN_MONO_START, 0, 0);
    /* a whole number of milliseconds, so that wall and mono milliseconds turn over together */
    world->start_us = sf_sim_range(draw, MONO_START_MIN_US, MONO_START_MAX_US) / 1000 * 1000;
    world->mono_us = world->start_us;
    world->wall_offset_us = config->wall_start_ms * 1000 - world->start_us;
    sf_sim_events_init(&world->events, world->alloc, config->seed, config->is_fifo);
}

void sf_sim_world_deinit(struct sf_sim_world *world)
{
    while (world->instances != NULL) sf_sim_instance_destroy(world->instances);
    sf_sim_events_deinit(&world->events);
    assert(world->heap.blocks == 0);
}

static struct sf_mono_ts world_mono(void *self)
{
    const struct sf_sim_world *world = self;
    return (struct sf_mono_ts){world->mono_us};
}

static struct sf_wall_ts world_wall(void *self)
{
    return (struct sf_wall_ts){sf_sim_world_wall_ms(self)};
}

struct sf_clock sf_sim_world_clock(struct sf_sim_world *world)
{
    static const struct sf_clock_ops ops = {.mono = world_mono, .wall = world_wall};
    return (struct sf_clock){.ops = &ops, .self = world};
}

void sf_sim_world_wall_jump(struct sf_sim_world *world, int64_t delta_us)
{
    world->wall_offset_us += delta_us;
}

uint64_t sf_sim_world_after(struct sf_sim_world *world, int64_t delay_us, uint64_t rank_key, sf_sim_event_fn *fn,
                            void *ctx)
{
    assert(delay_us >= 0);
    int64_t at_us = sf_mono_add((struct sf_mono_ts){world->mono_us}, delay_us).us;
    return sf_sim_events_schedule(&world->events, at_us, rank_key, fn, ctx);
}

bool sf_sim_world_cancel(struct sf_sim_world *world, uint64_t event_id)
{
    return sf_sim_events_cancel(&world->events, event_id);
}

int64_t sf_sim_world_next_us(const struct sf_sim_world *world)
{
    return sf_sim_events_next_us(&world->events);
}

uint64_t sf_sim_world_run_due(struct sf_sim_world *world)
{
    return sf_sim_events_run_due(&world->events, world->mono_us);
}

bool sf_sim_world_advance(struct sf_sim_world *world, int64_t limit_us)
{
    int64_t to_us = sf_sim_events_next_us(&world->events);
    if (limit_us < to_us) to_us = limit_us;
    if (to_us <= world->mono_us || to_us == INT64_MAX) return false;
    world->mono_us = to_us;
    return true;
}

void sf_sim_world_run_until(struct sf_sim_world *world, int64_t until_us)
{
    assert(until_us >= world->mono_us && until_us < INT64_MAX);
    do {
        (void)sf_sim_world_run_due(world);
    } while (sf_sim_world_advance(world, until_us));
}

struct sf_sim_instance *sf_sim_instance_new(struct sf_sim_world *world)
{
    struct sf_sim_instance *instance = sf_malloc(world->alloc, sizeof *instance);
    *instance = (struct sf_sim_instance){.world = world, .id = ++world->instance_count};
    sf_sim_heap_init(&instance->heap);
    struct sf_sim_instance **link = &world->instances;
    while (*link != NULL) link = &(*link)->next;
    *link = instance;
    return instance;
}

void sf_sim_instance_destroy(struct sf_sim_instance *instance)
{
    sf_sim_instance_kill(instance);
    for (uint32_t i = 0; i < instance->hook_count; i++) {
        const struct sf_sim_instance_hook *hook = &instance->hooks[i];
        if (hook->ops->destroyed != NULL) hook->ops->destroyed(hook->ctx, instance);
    }
    sf_sim_heap_drop(&instance->heap);
    struct sf_sim_instance **link = &instance->world->instances;
    while (*link != instance) link = &(*link)->next;
    *link = instance->next;
    sf_free(instance->world->alloc, instance, sizeof *instance);
}

void sf_sim_instance_hook(struct sf_sim_instance *instance, const struct sf_sim_instance_ops *ops, void *ctx)
{
    assert(instance->hook_count < SF_SIM_INSTANCE_HOOKS_MAX);
    instance->hooks[instance->hook_count++] = (struct sf_sim_instance_hook){.ops = ops, .ctx = ctx};
}

void sf_sim_instance_unhook(struct sf_sim_instance *instance, const void *ctx)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < instance->hook_count; i++)
        if (instance->hooks[i].ctx != ctx) instance->hooks[kept++] = instance->hooks[i];
    instance->hook_count = kept;
}

struct sf_alloc sf_sim_instance_alloc(struct sf_sim_instance *instance)
{
    return sf_sim_heap_alloc(&instance->heap);
}

void sf_sim_instance_kill(struct sf_sim_instance *instance)
{
    if (instance->is_dead) return;
    instance->is_dead = true;
    for (uint32_t i = 0; i < instance->hook_count; i++) {
        const struct sf_sim_instance_hook *hook = &instance->hooks[i];
        if (hook->ops->killed != NULL) hook->ops->killed(hook->ctx, instance);
    }
}

void sf_sim_instance_freeze(struct sf_sim_instance *instance, bool is_frozen)
{
    if (instance->is_dead || instance->is_frozen == is_frozen) return;
    instance->is_frozen = is_frozen;
    if (is_frozen) instance->frozen_at_us = instance->world->mono_us;
    for (uint32_t i = 0; i < instance->hook_count; i++) {
        const struct sf_sim_instance_hook *hook = &instance->hooks[i];
        if (hook->ops->frozen != NULL) hook->ops->frozen(hook->ctx, instance, is_frozen);
    }
}

void sf_sim_instance_crash_at(struct sf_sim_instance *instance, uint64_t command, enum sf_sim_crash_stage stage)
{
    assert(command > instance->command_count);
    instance->crash_command = command;
    instance->crash_stage = stage;
}

enum sf_sim_fate sf_sim_command(struct sf_sim_instance *instance, enum sf_sim_command_kind kind)
{
    if (instance->is_dead) return SF_SIM_FATE_SWALLOW;
    uint64_t number = ++instance->command_count;
    const struct sf_sim_world_config *config = &instance->world->config;
    if (config->on_command != NULL) config->on_command(config->on_command_ctx, instance, number, kind);
    if (instance->is_dead) return SF_SIM_FATE_SWALLOW;
    if (number != instance->crash_command) return SF_SIM_FATE_NORMAL;
    if (instance->crash_stage == SF_SIM_CRASH_SENT) return SF_SIM_FATE_DIE_SENT;
    if (instance->crash_stage == SF_SIM_CRASH_APPLIED) return SF_SIM_FATE_DIE_APPLIED;
    sf_sim_instance_kill(instance);
    return SF_SIM_FATE_SWALLOW;
}
