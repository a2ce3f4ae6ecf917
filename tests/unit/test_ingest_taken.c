/* Partitions that are taken from a running engine and come back (G4, S8), and a host that pauses it (M2). */
#include "tests/unit/ingest_world.h"

static void taken_partition_leaves_the_minimum_at_once_case11(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    world_start(w);
    world_last(w, 0, 0, 100);
    world_last(w, 1, 0, 10);
    world_run(w);
    world_fix_at(w, 10);
    world_at(w, 20);
    world_host_says(w, SF_MSG_TAKE, 1);
    world_fix_at(w, 300);
    world_host_says(w, SF_MSG_TAKE, 0);
    world_fix_at(w, 600); /* nobody is left: nothing becomes complete */
    CHECK_STR(world_history(w), "0 W 10\n0 run 1 1:10 0:100\n10 B1 10 0:1 1:1\n"
                                "200 W 100\n300 B2 100 0:1\n600 B3 100 0:1\n");
    CHECK_EQ(w->logs[0].removes, 1);
    CHECK_EQ(w->logs[1].removes, 1);
    world_destroy(w);
}

static void running_epoch_commits_before_a_partition_leaves_s8(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    w->is_commit_held = true;
    world_start(w);
    world_last(w, 0, 0, 10);
    world_last(w, 1, 0, 20);
    world_run(w);
    world_at(w, 5);
    world_host_says(w, SF_MSG_TAKE, 0);
    CHECK_STR(world_history(w), "0 W 10\n0 run 1 0:10 1:20\n5 B1 10 0:1 1:1\n"); /* nobody asked for a barrier */
    world_last(w, 1, 1, 30);
    world_run(w);
    CHECK_EQ(w->logs[0].removes, 0); /* and nothing is dispatched meanwhile */
    CHECK_STR(world_history(w), "");
    world_committed(w, 1);
    world_run(w);
    CHECK_EQ(w->logs[0].removes, 1);
    CHECK_STR(world_history(w), "5 run 2 1:30\n");
    world_destroy(w);
}

static void what_is_buffered_of_a_taken_partition_is_read_again_when_it_is_back_case121(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    w->topology->settings.buffered_records_max = 3;
    world_start(w);
    world_run(w);
    for (int64_t offset = 0; offset < 5; offset++) world_put(w, 0, offset, 15); /* waits for partition 1 (D5) */
    world_run(w);
    CHECK(w->logs[0].is_paused);
    world_host_says(w, SF_MSG_TAKE, 0);
    CHECK_EQ(w->logs[0].removes, 1);
    CHECK_EQ(w->batches_out, 0);
    world_host_says(w, SF_MSG_TAKE, 0); /* of what is gone: ignored */
    world_host_says(w, SF_MSG_GIVE, 0);
    world_host_says(w, SF_MSG_GIVE, 0); /* of what is there: ignored */
    CHECK_EQ(w->logs[0].removes, 1);
    CHECK_EQ(w->logs[0].sought, 0);
    world_caught_up(w, 0);
    world_last(w, 1, 0, 12);
    world_run(w);
    CHECK(!w->logs[0].is_paused);
    CHECK_STR(world_history(w), "0 W 12\n0 run 1 1:12 0:15 0:15 0:15\n0 run 1 0:15 0:15\n");
    world_destroy(w);
}

static void abort_leaves_a_taken_partition_alone_b12(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    world_start(w);
    world_last(w, 0, 0, 10);
    world_last(w, 1, 0, 20);
    world_run(w);
    world_fix_at(w, 1);
    world_host_says(w, SF_MSG_TAKE, 0);
    world_last(w, 1, 1, 30);
    world_run(w);
    uint32_t seeks = w->logs[0].seeks;
    world_abort(w, 1, 2);
    CHECK_EQ(w->logs[0].seeks, seeks);
    CHECK_EQ(w->logs[1].sought, 1);
    struct sf_partition_view view;
    sf_ingest_partition_view(w->ingest, 0, (struct sf_wall_ts){0}, &view);
    CHECK(view.is_taken);
    world_destroy(w);
}

static void paused_engine_dispatches_nothing_and_idles_nobody_who_waits_m2_i7(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    w->topology->settings.idleness_timeout_ms = 100;
    world_start(w);
    world_last(w, 0, 0, 10);
    world_last(w, 1, 0, 20);
    world_run(w);
    (void)world_history(w);
    sf_edge_push(world_edge(w, WORLD_FROM_DRIVER), &(struct sf_msg){.kind = SF_MSG_PAUSE, .value = 1});
    world_at(w, 50);
    world_last(w, 0, 1, 11);
    world_run(w);
    world_fix_at(w, 500);
    struct sf_partition_view view[2];
    for (uint32_t i = 0; i < 2; i++) sf_ingest_partition_view(w->ingest, i, (struct sf_wall_ts){0}, &view[i]);
    CHECK(!view[0].is_idle); /* a record waits */
    CHECK(view[1].is_idle);  /* truly silent */
    CHECK_STR(world_history(w), "500 B1 10 0:1 1:1\n");
    sf_edge_push(world_edge(w, WORLD_FROM_DRIVER), &(struct sf_msg){.kind = SF_MSG_PAUSE});
    world_run(w);
    CHECK_STR(world_history(w), "500 W 11\n500 run 2 0:11\n");
    world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taken_partition_leaves_the_minimum_at_once_case11),
        cmocka_unit_test(running_epoch_commits_before_a_partition_leaves_s8),
        cmocka_unit_test(what_is_buffered_of_a_taken_partition_is_read_again_when_it_is_back_case121),
        cmocka_unit_test(abort_leaves_a_taken_partition_alone_b12),
        cmocka_unit_test(paused_engine_dispatches_nothing_and_idles_nobody_who_waits_m2_i7),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
