/* The scheduler's conformance suite against the simulated one: in every way of choosing, over some seeds. */
#include "tests/conformance/sched_suite.h"

#include <stdlib.h>

#include "sim/sched.h"

#define PATIENCE_US INT64_C(3600000000)
#define SEED_COUNT 8u

struct virtual_world {
    struct sf_sim_world world;
    struct sf_sim_sched *sched;
};

static struct sched_world open_with(uint64_t seed, const struct sf_sim_sched_config *config)
{
    struct virtual_world *virtual = calloc(1, sizeof(*virtual));
    CHECK(virtual != NULL);
    struct sf_sim_world_config world_config = {.seed = seed,
                                               .wall_start_ms = 1790071200000,
                                               .is_fifo = config->choice == SF_SIM_CHOICE_FIXED};
    sf_sim_world_init(&virtual->world, &world_config);
    virtual->sched = sf_sim_sched_new(&virtual->world, config);
    struct sf_sim_instance *instance = sf_sim_instance_new(&virtual->world);
    return (struct sched_world){.sched = sf_sim_sched_handle(virtual->sched, instance),
                                .clock = sf_sim_world_clock(&virtual->world),
                                .self = virtual};
}

static bool run_until_done(void *self)
{
    struct virtual_world *virtual = self;
    return sf_sim_sched_run_until(virtual->sched, virtual->world.mono_us + PATIENCE_US) &&
           sf_sim_sched_task_count(virtual->sched) == 0;
}

static void close_world(void *self)
{
    struct virtual_world *virtual = self;
    sf_sim_sched_destroy(virtual->sched);
    sf_sim_world_deinit(&virtual->world);
    free(virtual);
}

static struct sched_world open_exact(void)
{
    struct sf_sim_sched_config config = sf_sim_sched_config_exact();
    return open_with(1, &config);
}

static struct sched_world open_fifo(void)
{
    struct sf_sim_sched_config config = sf_sim_sched_config_exact();
    config.choice = SF_SIM_CHOICE_FIFO;
    config.budget_max = config.budget_min = 1;
    config.step_ns = 1300;
    config.unit_ns = 700;
    config.wake_grain_us = 1;
    return open_with(1, &config);
}

static uint64_t next_seed; /* the world's of the next test: each test of a drawn suite meets another one */

static struct sched_world open_random(void)
{
    next_seed++;
    struct sf_sim_sched_config config = sf_sim_sched_config_drawn(next_seed);
    config.choice = SF_SIM_CHOICE_RANDOM;
    config.limit_per_million = 300000;
    return open_with(next_seed, &config);
}

static struct sched_world open_priority(void)
{
    next_seed++;
    struct sf_sim_sched_config config = sf_sim_sched_config_drawn(next_seed);
    config.choice = SF_SIM_CHOICE_PRIORITY;
    return open_with(next_seed, &config);
}

int main(void)
{
    struct sched_suite exact = {.open = open_exact,
                                .run_until_done = run_until_done,
                                .close = close_world,
                                .ping_count = 100000,
                                .is_order_of_equal_deadlines_fixed = true};
    struct sched_suite fifo = exact, random = exact, priority = exact;
    fifo.open = open_fifo;
    random.open = open_random;
    priority.open = open_priority;
    random.is_order_of_equal_deadlines_fixed = priority.is_order_of_equal_deadlines_fixed = false;
    random.ping_count = priority.ping_count = 20000;
    const struct CMUnitTest fixed_tests[] = {SF_SCHED_SUITE(&exact), SF_SCHED_SUITE(&fifo)};
    int failed = cmocka_run_group_tests_name("fixed and fifo", fixed_tests, NULL, NULL);
    for (uint32_t i = 0; i < SEED_COUNT; i++) {
        const struct CMUnitTest drawn_tests[] = {SF_SCHED_SUITE(&random), SF_SCHED_SUITE(&priority)};
        failed += cmocka_run_group_tests_name("drawn", drawn_tests, NULL, NULL);
    }
    return failed;
}
