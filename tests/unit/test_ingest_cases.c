/* The ingest task alone: watermark cases from cases.md, as histories with virtual times. */
#include "tests/unit/ingest_world.h"

static void partition_that_never_received_idles_out_case1(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    w->topology->settings.idleness_timeout_ms = 1000;
    world_start(w);
    world_caught_up(w, 1);
    world_last(w, 0, 0, 10);
    world_run(w);
    world_at(w, 100);
    world_last(w, 0, 1, 120);
    world_run(w);
    world_fix_at(w, 500);
    world_at(w, 900);
    world_last(w, 0, 2, 130);
    world_run(w);
    world_fix_at(w, 1000);
    world_fix_at(w, 1001);
    CHECK_STR(world_history(w), "0 run 1 0:10\n"
                                "100 run 1 0:120\n"
                                "500 B1 unset 0:2\n"
                                "900 run 2 0:130\n"
                                "1000 B2 unset 0:3\n"
                                "1001 W 130\n"
                                "1001 B3 130 0:3\n");
    world_destroy(w);
}

static void partition_counts_from_its_assignment_case3(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    w->topology->settings.task_idle_ms_max = -1;
    world_start(w);
    world_put(w, 0, 0, 100);
    world_run(w);
    world_fix_at(w, 10);
    world_fix_at(w, 20);
    world_at(w, 30);
    world_put(w, 1, 0, 10);
    world_put(w, 1, 1, 25);
    world_run(w);
    world_fix_at(w, 40);
    CHECK_STR(world_history(w), "0 run 1 0:100\n"
                                "10 B1 unset 0:1\n"
                                "20 B2 unset 0:1\n"
                                "30 W 25\n"
                                "30 run 3 1:10 1:25\n"
                                "40 B3 25 1:2\n");
    CHECK_EQ(sf_ingest_counts_running(w->ingest)[0].late, 0);
    world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partition_that_never_received_idles_out_case1),
        cmocka_unit_test(partition_counts_from_its_assignment_case3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
