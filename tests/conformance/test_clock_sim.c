/* The clock's conformance suite against virtual time. */
#include "tests/conformance/clock_suite.h"

#include "sim/world.h"

static void jump_wall(void *self, int64_t delta_ms)
{
    sf_sim_world_wall_jump(self, delta_ms * 1000);
}

int main(void)
{
    struct sf_sim_world world;
    struct sf_sim_world_config config = {.seed = 7, .wall_start_ms = 1790071200000};
    sf_sim_world_init(&world, &config);
    struct clock_fixture fixture = {.clock = sf_sim_world_clock(&world), .jump_wall = jump_wall, .self = &world};
    const struct CMUnitTest tests[] = {SF_CLOCK_SUITE(&fixture)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sf_sim_world_deinit(&world);
    return failed;
}
