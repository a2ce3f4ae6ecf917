/* The ingest task alone: what dispatch waits for (D5), pauses (D1), what an operator sees (M1). */
#include "tests/unit/ingest_world.h"

/* Partition 0 has a head of 100; partition 1 is empty. */
static struct world *world_116(int64_t idle_ms_max)
{
    struct world *w = world_new(2);
    w->topology->settings.task_idle_ms_max = idle_ms_max;
    w->is_quiet = false;
    world_start(w);
    return w;
}

static void known_lag_is_waited_for_case116_v1(void **state)
{
    (void)state;
    struct world *w = world_116(0);
    world_put(w, 1, 0, 1);
    w->events[0].batch.known_end = 4; /* three more are known to be there */
    world_last(w, 0, 0, 100);
    world_run(w);
    CHECK_STR(world_history(w), "0 run 1 1:1\n");
    uint32_t polls = w->polls;
    world_at(w, 50);
    for (int64_t k = 1; k <= 3; k++) world_put(w, 1, k, 39 + k);
    world_caught_up(w, 1);
    world_run(w);
    CHECK_STR(world_history(w), "50 W 42\n50 run 1 1:40 1:41 1:42 0:100\n");
    CHECK(w->polls > polls);
    world_destroy(w);
}

static void unknown_lag_is_waited_for_case116_v2(void **state)
{
    (void)state;
    struct world *w = world_116(0);
    world_last(w, 0, 0, 100);
    world_run(w);
    world_at(w, 30);
    CHECK_STR(world_history(w), "");
    world_caught_up(w, 1);
    world_run(w);
    CHECK_STR(world_history(w), "30 run 1 0:100\n");
    world_destroy(w);
}

static void caught_up_partition_is_waited_for_as_asked_case116_v3_v4(void **state)
{
    (void)state;
    for (int64_t delivers = 0; delivers < 2; delivers++) {
        struct world *w = world_116(200);
        world_caught_up(w, 1);
        world_last(w, 0, 0, 100);
        world_run(w);
        if (delivers != 0) {
            world_at(w, 150);
            world_last(w, 1, 0, 40);
            world_run(w);
        }
        world_at(w, 500);
        world_run(w);
        CHECK_STR(world_history(w), delivers != 0 ? "150 run 1 1:40\n350 W 40\n350 run 1 0:100\n"
                                                  : "200 run 1 0:100\n");
        /* waited out: not again until it has delivered */
        world_last(w, 0, 1, 101);
        world_run(w);
        CHECK_STR(world_history(w), "500 run 1 0:101\n");
        world_destroy(w);
    }
}

static void nothing_is_waited_for_with_minus_one_case116_v5(void **state)
{
    (void)state;
    struct world *w = world_116(-1);
    world_last(w, 0, 0, 100);
    world_run(w);
    CHECK_STR(world_history(w), "0 run 1 0:100\n");
    world_destroy(w);
}

static void idle_partition_of_unknown_lag_is_not_waited_for_d5(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    w->topology->settings.idleness_timeout_ms = 1000;
    world_start(w);
    world_last(w, 0, 0, 100);
    world_run(w);
    world_at(w, 3000);
    world_run(w);
    /* the record waited because of the engine: its own partition is not idle (I7) */
    CHECK_STR(world_history(w), "1001 W 100\n1001 run 1 0:100\n");
    world_destroy(w);
}

static void wait_of_more_than_a_minute_is_told_once_d5(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    world_start(w);
    world_last(w, 0, 0, 100);
    world_run(w);
    world_at(w, 200000);
    world_run(w);
    CHECK_STR(world_history(w), "60001 note long-wait 1\n");
    struct sf_watermark_view view;
    sf_ingest_view(w->ingest, (struct sf_wall_ts){0}, &view);
    CHECK_EQ(view.long_waits, 1);
    world_destroy(w);
}

static void stale_lag_lets_a_head_go_but_never_the_watermark_case117(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    world_start(w);
    world_caught_up(w, 0);
    world_caught_up(w, 1);
    world_run(w);
    world_at(w, 20);
    world_last(w, 0, 0, 100);
    world_run(w);
    world_fix_at(w, 30);
    world_at(w, 60);
    world_last(w, 1, 0, 40);
    world_run(w);
    world_fix_at(w, 70);
    CHECK_STR(world_history(w), "20 run 1 0:100\n30 B1 unset 0:1\n60 W 40\n60 run 2 1:40\n70 B2 40 1:1\n");
    CHECK_EQ(sf_ingest_counts(w->ingest)[0].late, 0);
    world_destroy(w);
}

static void partition_at_its_end_after_a_restart_is_no_stall_case117(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    w->partitions[1].offset = 5;
    w->partitions[1].is_committed = true;
    w->partitions[1].time_max = 40;
    w->logs[1].end = 5;
    w->epoch = 7;
    sf_ring_push(&w->ring, 7, 30, false);
    sf_ring_fall_back(&w->ring, 7);
    world_start(w);
    world_last(w, 0, 0, 100);
    world_caught_up(w, 1);
    world_run(w);
    world_fix_at(w, 1);
    CHECK_STR(world_history(w), "0 W 40\n0 run 8 0:100\n1 B8 40 0:1\n");
    world_destroy(w);
}

static void full_buffer_pauses_and_half_of_it_resumes_d1_case121(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    w->topology->settings.buffered_records_max = 4;
    w->topology->settings.poll_records_max = 4;
    w->lane_blocks = 1;
    w->block_refs = 1;
    w->is_lane_blocked = true;
    world_start(w);
    for (int64_t k = 0; k < 8; k++) world_put(w, 0, k, 10 + k);
    world_run(w);
    /* D5 waits for partition 1: nothing went, nothing more than 4 came */
    struct sf_partition_view view;
    sf_ingest_partition_view(w->ingest, 0, (struct sf_wall_ts){0}, &view);
    CHECK(view.is_paused);
    CHECK_EQ(view.buffered, 4);
    CHECK(w->logs[0].is_paused);
    /* a pause of 0 never keeps 1 from being read */
    world_at(w, 10);
    world_last(w, 1, 0, 5);
    world_run(w); /* 1:5 takes the lane's only block */
    sf_ingest_partition_view(w->ingest, 1, (struct sf_wall_ts){0}, &view);
    CHECK_EQ(view.buffered, 0);
    w->is_lane_blocked = false;
    world_run(w);
    world_run(w);
    sf_ingest_partition_view(w->ingest, 0, (struct sf_wall_ts){0}, &view);
    CHECK(!view.is_paused);
    CHECK(!w->logs[0].is_paused);
    CHECK_STR(world_history(w), "10 run 1 1:5\n10 W 5\n10 run 1 0:10\n10 run 1 0:11\n10 run 1 0:12\n10 run 1 0:13\n"
                                "10 run 1 0:14\n10 run 1 0:15\n10 run 1 0:16\n10 run 1 0:17\n");
    world_destroy(w);
}

static void paused_partition_that_falls_back_reads_again_case121(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    w->topology->settings.buffered_records_max = 3;
    w->topology->settings.poll_records_max = 4;
    world_start(w);
    for (int64_t k = 0; k < 5; k++) world_put(w, 0, k, 10 + k);
    world_run(w);
    CHECK(w->logs[0].is_paused);
    world_abort(w, 0, 1);
    CHECK_EQ(w->logs[0].sought, 0);
    struct sf_partition_view view;
    sf_ingest_partition_view(w->ingest, 0, (struct sf_wall_ts){0}, &view);
    CHECK_EQ(view.next_offset, 0);
    CHECK_EQ(view.buffered, 3); /* it was resumed, and filled anew */
    CHECK(view.is_paused);
    world_destroy(w);
}

static void view_names_the_holder_and_hides_nothing_case134(void **state)
{
    (void)state;
    struct world *w = world_new(4);
    w->topology->source_count = 4;
    w->topology->sources[1].watermark.idleness_ms = 100;
    w->topology->sources[2].watermark.idleness_ms = 5000;
    w->topology->sources[3].watermark.idleness_ms = 100;
    for (uint32_t i = 0; i < 4; i++) w->partitions[i].source = i;
    world_start(w);
    world_last(w, 0, 0, 100);
    world_last(w, 1, 0, 40);
    world_caught_up(w, 2);
    world_caught_up(w, 3);
    world_run(w);
    world_at(w, 900);
    world_last(w, 0, 1, 100);
    world_run(w);
    struct sf_watermark_view view;
    sf_ingest_view(w->ingest, (struct sf_wall_ts){0}, &view);
    CHECK_EQ(view.global, UNSET);
    CHECK_EQ(view.holder, 2);
    CHECK_EQ(view.why, SF_HOLD_UNSET);
    static const int64_t watermarks[] = {100, 40, UNSET, UNSET};
    static const bool idle[] = {false, true, false, true};
    for (uint32_t i = 0; i < 4; i++) {
        struct sf_partition_view partition;
        sf_ingest_partition_view(w->ingest, i, (struct sf_wall_ts){0}, &partition);
        CHECK_EQ(partition.watermark, watermarks[i]);
        CHECK_EQ(partition.is_idle, idle[i]);
        CHECK_EQ(partition.last_wall_ms, i == 0 ? 900 : i == 1 ? 0 : UNSET);
    }
    world_at(w, 5001);
    world_run(w);
    sf_ingest_view(w->ingest, (struct sf_wall_ts){0}, &view);
    CHECK_EQ(view.global, 100);
    CHECK_EQ(view.holder, 0);
    CHECK_EQ(view.why, SF_HOLD_SLOWEST);
    world_destroy(w);
}

/* Nothing has been emitted since 0 ms when the partition goes idle, and yet what it had reached by then counts. */
static void what_was_reached_before_the_last_partition_idled_is_emitted_g2_case13(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    w->topology->settings.idleness_timeout_ms = 100;
    w->topology->settings.auto_interval_ms = 200;
    world_start(w);
    world_last(w, 0, 0, 15);
    world_run(w);
    world_at(w, 10);
    world_last(w, 0, 1, 22);
    world_run(w);
    world_at(w, 300);
    CHECK_STR(world_history(w), "0 W 15\n0 run 1 0:15\n10 run 1 0:22\n200 W 22\n");
    world_destroy(w);
}

static void after_a_gap_of_our_own_nothing_is_judged_before_all_is_polled_i7(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    w->topology->settings.idleness_timeout_ms = 1000;
    w->topology->settings.poll_records_max = 8;
    w->topology->settings.auto_interval_ms = 0;
    world_start(w);
    world_last(w, 0, 0, 10);
    world_last(w, 1, 0, 20);
    world_run(w);
    w->ms = 5000; /* the whole process was frozen */
    for (int64_t k = 1; k < 30; k++) world_put(w, 0, k, 100 + k);
    world_last(w, 1, 1, 30);
    world_run(w);
    CHECK_STR(world_history(w), "0 W 10\n0 run 1 0:10 1:20\n"
                                "5000 W 20\n5000 run 1 0:101 0:102 0:103 0:104 0:105 0:106 0:107\n"
                                "5000 run 1 0:108 0:109 0:110 0:111 0:112 0:113 0:114\n"
                                "5000 run 1 0:115 0:116 0:117 0:118 0:119 0:120 0:121\n"
                                "5000 run 1 0:122 0:123 0:124 0:125 0:126 0:127 0:128\n"
                                "5000 W 30\n5000 run 1 1:30 0:129\n");
    world_destroy(w);
}

/* A poll that small budgets cut is still one poll: what it brings is put in order before any of it goes. */
static void poll_is_whole_before_its_records_go_d2(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    w->budget = 1;
    world_start(w);
    world_caught_up(w, 0);
    world_caught_up(w, 1);
    world_run(w);
    world_at(w, 5);
    world_last(w, 0, 0, 100);
    world_last(w, 1, 0, 40);
    world_run(w);
    CHECK_STR(world_history(w), "5 run 1 1:40\n5 W 40\n5 run 1 0:100\n");
    world_destroy(w);
}

/* A partition that idled with a record waiting (P5), and has just delivered it, is waited for again. */
static void partition_that_has_just_delivered_is_not_idle_for_a_wait_d5_p5(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    struct sf_partition_view view;
    w->topology->settings.idleness_timeout_ms = 1000;
    world_start(w);
    for (int64_t k = 0; k < 8; k++) world_put(w, 0, k, k);
    world_put(w, 0, 8, 1000);
    world_put(w, 1, 0, 500); /* and who knows what comes behind it */
    w->budget = 11;
    world_step(w); /* all is polled, one record goes */
    w->budget = 2;
    for (uint32_t k = 0; k < 3; k++) { /* others are dispatched, slowly: the held head's clock runs */
        w->ms += 500;
        world_step(w);
    }
    sf_ingest_partition_view(w->ingest, 1, (struct sf_wall_ts){0}, &view);
    CHECK(view.is_idle);
    CHECK_EQ(view.buffered, 1);
    w->budget = 1024;
    world_step(w);
    sf_ingest_partition_view(w->ingest, 1, (struct sf_wall_ts){0}, &view);
    CHECK(!view.is_idle);
    CHECK_EQ(view.buffered, 0);
    sf_ingest_partition_view(w->ingest, 0, (struct sf_wall_ts){0}, &view);
    CHECK_EQ(view.buffered, 1); /* 1000 waits for what may be behind 500 */
    world_destroy(w);
}

static void news_without_end_never_starves_dispatch(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    w->topology->settings.poll_records_max = 4; /* what one poll returns, news included */
    w->budget = 1;
    world_start(w);
    world_put(w, 0, 0, 10);
    for (uint32_t k = 0; k < 6; k++) {
        world_caught_up(w, 0);
        world_step(w);
    }
    CHECK_STR(world_history(w), "0 W 10\n0 run 1 0:10\n");
    world_destroy(w);
}

static void without_event_time_records_leave_as_they_came_d4(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    w->topology->settings.dispatch = SF_DISPATCH_DIRECT;
    w->is_cadence_on = true;
    world_start(w);
    world_put(w, 0, 0, 100);
    world_put(w, 1, 0, 10);
    world_put(w, 0, 1, 5);
    world_run(w); /* nobody is waited for */
    world_at(w, 500);
    world_run(w);
    CHECK_STR(world_history(w), "0 run 1 0:100 1:10 0:5\n500 B1 unset 0:2 1:1\n");
    CHECK_EQ(sf_ingest_counts(w->ingest)[0].late, 0);
    world_at(w, 20000);
    world_run(w);
    CHECK_STR(world_history(w), "");
    world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_lag_is_waited_for_case116_v1),
        cmocka_unit_test(unknown_lag_is_waited_for_case116_v2),
        cmocka_unit_test(caught_up_partition_is_waited_for_as_asked_case116_v3_v4),
        cmocka_unit_test(nothing_is_waited_for_with_minus_one_case116_v5),
        cmocka_unit_test(idle_partition_of_unknown_lag_is_not_waited_for_d5),
        cmocka_unit_test(wait_of_more_than_a_minute_is_told_once_d5),
        cmocka_unit_test(stale_lag_lets_a_head_go_but_never_the_watermark_case117),
        cmocka_unit_test(partition_at_its_end_after_a_restart_is_no_stall_case117),
        cmocka_unit_test(full_buffer_pauses_and_half_of_it_resumes_d1_case121),
        cmocka_unit_test(paused_partition_that_falls_back_reads_again_case121),
        cmocka_unit_test(what_was_reached_before_the_last_partition_idled_is_emitted_g2_case13),
        cmocka_unit_test(after_a_gap_of_our_own_nothing_is_judged_before_all_is_polled_i7),
        cmocka_unit_test(poll_is_whole_before_its_records_go_d2),
        cmocka_unit_test(partition_that_has_just_delivered_is_not_idle_for_a_wait_d5_p5),
        cmocka_unit_test(news_without_end_never_starves_dispatch),
        cmocka_unit_test(without_event_time_records_leave_as_they_came_d4),
        cmocka_unit_test(view_names_the_holder_and_hides_nothing_case134),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
