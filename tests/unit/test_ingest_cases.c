/* The ingest task alone: the watermark cases, as histories with virtual times. */
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


static void order_of_going_idle_is_no_race_case4(void **state)
{
    (void)state;
    /* V1: both at once; V2: partition 0 first; V3: partition 1 first */
    static const struct {
        int64_t at[2];
        int64_t fix[3];
        const char *history;
    } variants[] = {
        {{0, 0}, {50, 300, 400}, "0 W 15\n0 run 1 0:15 1:42\n50 B1 15 0:1 1:1\n300 B2 15 0:1\n400 B3 15 0:1\n"},
        {{0, 50},
         {60, 120, 130},
         "0 run 1 0:15\n50 W 15\n50 run 1 1:42\n60 B1 15 0:1 1:1\n120 B2 42 0:1\n130 B3 42 0:1\n"},
        {{50, 0},
         {60, 120, 130},
         "0 run 1 1:42\n50 W 15\n50 run 1 0:15\n60 B1 15 0:1 1:1\n120 B2 15 0:1\n130 B3 15 0:1\n"},
    };
    for (uint32_t v = 0; v < 3; v++) {
        struct world *w = world_new(2);
        w->topology->settings.idleness_timeout_ms = 100;
        world_start(w);
        world_caught_up(w, 0);
        world_caught_up(w, 1);
        world_run(w);
        uint32_t first = variants[v].at[1] < variants[v].at[0];
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t i = k == 0 ? first : 1 - first;
            world_at(w, variants[v].at[i]);
            world_last(w, i, 0, i == 0 ? 15 : 42);
            if (k == 1 || variants[v].at[0] != variants[v].at[1]) world_run(w);
        }
        for (uint32_t b = 0; b < 3; b++) world_fix_at(w, variants[v].fix[b]);
        CHECK_STR(world_history(w), variants[v].history);
        world_destroy(w);
    }
}

/* Two topics p and q of one partition each; indexes 0 and 1. */
static struct world *world_p_q(int64_t idle_p, int64_t idle_q)
{
    struct world *w = world_new(2);
    w->topology->source_count = 2;
    w->topology->sources[0].watermark.idleness_ms = idle_p;
    w->topology->sources[1].watermark.idleness_ms = idle_q;
    for (uint32_t i = 0; i < 2; i++) {
        w->partitions[i] = (struct sf_ingest_partition){.tp = {1 + i, 0}, .source = i, .time_max = UNSET};
        w->logs[i].tp = w->partitions[i].tp;
    }
    return w;
}

static void records_that_wait_for_a_full_lane_are_no_silence_case7(void **state)
{
    (void)state;
    struct world *w = world_p_q(1000, 60000);
    w->lane_blocks = 1;
    w->block_refs = 2;
    world_start(w);
    world_last(w, 0, 0, 10);
    world_last(w, 1, 0, 50);
    world_run(w);
    world_at(w, 1);
    w->is_lane_blocked = true;
    world_last(w, 1, 1, 51); /* fills the lane's only block */
    world_run(w);
    world_at(w, 10);
    world_last(w, 0, 1, 12);
    world_last(w, 1, 2, 60);
    world_run(w);
    world_fix_at(w, 3000);
    world_at(w, 5000);
    w->is_lane_blocked = false;
    world_run(w);
    world_run(w);
    CHECK_STR(world_history(w), "0 W 10\n"
                                "0 run 1 0:10 1:50\n"
                                "3000 B1 10 0:1 1:2\n"
                                "5000 run 1 1:51\n"
                                "5000 W 12\n"
                                "5000 run 2 0:12 1:60\n");
    CHECK_EQ(sf_ingest_counts_running(w->ingest)[0].late, 0);
    world_destroy(w);
}

static void trailing_marker_is_no_lag_case10(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    world_start(w);
    world_caught_up(w, 0);
    for (int64_t k = 0; k < 3; k++) world_put(w, 1, k, k + 1);
    w->logs[1].end = 4; /* the marker at 3 */
    world_run(w);
    world_caught_up(w, 1);
    world_run(w);
    (void)world_history(w);
    world_at(w, 10);
    world_last(w, 0, 0, 100);
    world_run(w);
    world_fix_at(w, 20);
    CHECK_STR(world_history(w), "10 W 3\n10 run 1 0:100\n20 B1 3 0:1 1:4\n");
    world_destroy(w);
}

static void known_end_beyond_the_batch_is_lag_d6(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    world_start(w);
    world_last(w, 0, 0, 100);
    world_put(w, 1, 0, 1);
    w->events[w->event_count - 1].batch.known_end = 2;
    world_run(w);
    CHECK_STR(world_history(w), "0 run 1 1:1\n"); /* one more is known to be there: 100 waits */
    world_put(w, 1, 1, 2);
    w->events[w->event_count - 1].batch.known_end = 2;
    world_run(w);
    CHECK_STR(world_history(w), "0 W 2\n0 run 1 1:2 0:100\n"); /* the known end is reached */
    world_destroy(w);
}

static void future_record_of_one_partition_moves_everything_case14(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    world_start(w);
    world_put(w, 0, 0, 1000);
    world_run(w);
    world_at(w, 1);
    world_put(w, 0, 1, 86401000);
    world_run(w);
    world_fix_at(w, 2);
    world_at(w, 3);
    world_put(w, 0, 2, 1005);
    world_run(w);
    world_at(w, 4);
    world_put(w, 0, 3, 1011);
    world_run(w);
    world_fix_at(w, 5);
    CHECK_STR(world_history(w), "0 W 1000\n"
                                "0 run 1 0:1000\n"
                                "1 note future-head 0\n"
                                "1 run 1 0:86401000\n"
                                "2 B1 86401000 0:2\n"
                                "3 run 2 0:1005\n"
                                "4 run 2 0:1011\n"
                                "5 B2 86401000 0:4\n");
    CHECK_EQ(sf_ingest_counts(w->ingest)[0].late, 2);
    CHECK_EQ(sf_ingest_counts(w->ingest)[0].dispatched, 4);
    world_destroy(w);
}

static void clamped_future_record_goes_but_moves_no_further_case14_t5(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    w->topology->sources[0].max_future_skew_ms = 3600000;
    w->topology->sources[0].on_future = SF_FUTURE_CLAMP;
    world_start(w);
    world_put(w, 0, 0, 1000);
    world_at(w, 1);
    world_put(w, 0, 1, 86401000);
    world_run(w);
    world_fix_at(w, 2);
    CHECK_STR(world_history(w), "1 W 3600001\n"
                                "1 note future-head 0\n"
                                "1 run 1 0:1000 0:86401000\n"
                                "2 B1 3600001 0:2\n");
    CHECK_STR((const char *)w->last_metadata, "AgAAAAAANu6B"); /* the committed time is clamped too */
    world_destroy(w);
}

static void held_future_head_counts_with_its_preview_case15(void **state)
{
    (void)state;
    struct world *w = world_p_q(SF_SPAN_NONE, 60000);
    world_start(w);
    world_last(w, 0, 0, 100);
    world_last(w, 1, 0, 101);
    world_run(w);
    world_at(w, 10);
    world_put(w, 0, 1, 1000000);
    world_put(w, 0, 2, 112);
    world_caught_up(w, 0);
    world_put(w, 1, 1, 105);
    w->events[w->event_count - 1].batch.known_end = 3;
    world_run(w);
    struct sf_partition_view view;
    sf_ingest_partition_view(w->ingest, 0, (struct sf_wall_ts){10}, &view);
    CHECK(view.is_held);
    CHECK_EQ(view.held_since_ms, 10);
    CHECK_EQ(view.preview, UNSET);
    world_at(w, 1009);
    world_run(w);
    CHECK_STR(world_history(w), "0 W 100\n0 run 1 0:100 1:101\n10 note future-head 0\n10 run 1 1:105\n");
    world_fix_at(w, 2000);
    sf_ingest_partition_view(w->ingest, 0, (struct sf_wall_ts){10}, &view);
    CHECK_EQ(view.preview, 1000000);
    CHECK_EQ(view.watermark, 100);
    CHECK_STR(world_history(w), "1010 W 105\n2000 B1 105 0:1 1:2\n");
    world_at(w, 2010);
    world_last(w, 1, 2, 111);
    world_run(w);
    world_fix_at(w, 2020);
    world_fix_at(w, 70000);
    world_at(w, 70010);
    world_last(w, 1, 3, 130);
    world_run(w);
    CHECK_STR(world_history(w), "2010 W 111\n"
                                "2010 run 2 1:111 0:1000000 0:112\n"
                                "2020 B2 111 0:3 1:3\n"
                                "62011 W 1000000\n"
                                "70000 B3 1000000 0:3\n"
                                "70010 run 4 1:130\n");
    CHECK_EQ(sf_ingest_counts_running(w->ingest)[1].late, 1);
    world_destroy(w);
}

static void invalid_time_is_skipped_once_case16(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    w->topology->sources[0].on_invalid = SF_INVALID_SKIP;
    world_start(w);
    world_put(w, 0, 0, 10);
    world_run(w);
    world_at(w, 1);
    world_put(w, 0, 1, -1);
    world_run(w);
    world_at(w, 2);
    world_put(w, 0, 2, 20);
    world_run(w);
    world_fix_at(w, 3);
    CHECK_STR(world_history(w), "0 W 10\n"
                                "0 run 1 0:10\n"
                                "1 skip 0:1 1\n"
                                "1 note invalid-timestamp 0\n"
                                "2 run 1 0:20\n"
                                "3 B1 20 0:3\n");
    CHECK_EQ(sf_ingest_counts(w->ingest)[0].skipped[SF_DROP_INVALID_TIMESTAMP], 1);
    world_destroy(w);
}

static void warnings_of_a_partition_come_once_a_minute_t4(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    w->topology->sources[0].on_invalid = SF_INVALID_SKIP;
    world_start(w);
    static const int64_t at[] = {0, 1, 59999, 60000, 60001};
    for (int64_t k = 0; k < 5; k++) {
        world_at(w, at[k]);
        world_put(w, 0, k, -1);
        world_run(w);
    }
    CHECK_STR(world_history(w), "0 skip 0:0 1\n0 note invalid-timestamp 0\n1 skip 0:1 1\n59999 skip 0:2 1\n"
                                "60000 skip 0:3 1\n60000 note invalid-timestamp 0\n60001 skip 0:4 1\n");
    world_destroy(w);
}

static void invalid_time_stops_the_engine_case16(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    world_start(w);
    world_put(w, 0, 0, 10);
    world_put(w, 0, 1, -1);
    world_put(w, 0, 2, 20);
    world_run(w);
    world_fix_at(w, 3);
    CHECK_STR(world_history(w), "0 W 10\n0 run 1 0:10\n"); /* no barrier any more */
    CHECK_EQ(w->last_to_engine.kind, SF_MSG_FAULT);
    CHECK_EQ(w->last_to_engine.value2, SF_TROUBLE_RECORD);
    const struct sf_failure *failure = w->last_to_engine.ptr;
    CHECK_EQ(failure->offset, 1);
    CHECK_STR(failure->text, "topic in partition 0 offset 1: invalid event time -1 (the producer gave none); "
                             "on-invalid-timestamp of the source is fail");
    world_destroy(w);
}

static void unset_is_no_number_case20(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    w->topology->sources[0].watermark.strategy = SF_STRATEGY_BOUNDED;
    w->topology->sources[0].watermark.bound_ms = 30000;
    world_start(w);
    world_caught_up(w, 0);
    world_fix_at(w, 10);
    world_at(w, 20);
    world_put(w, 0, 0, 5);
    world_run(w);
    world_fix_at(w, 30);
    world_at(w, 40);
    world_put(w, 0, 1, 3);
    world_run(w);
    world_fix_at(w, 50);
    CHECK_STR(world_history(w), "10 B1 unset 0:0\n"
                                "20 W -29995\n"
                                "20 run 2 0:5\n"
                                "30 B2 -29995 0:1\n"
                                "40 run 3 0:3\n"
                                "50 B3 -29995 0:2\n");
    CHECK_EQ(sf_ingest_counts(w->ingest)[0].late, 0);
    world_destroy(w);
}

static void abort_rolls_back_time_case79(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    world_start(w);
    world_last(w, 0, 0, 10);
    world_run(w);
    world_fix_at(w, 1);
    world_fix_at(w, 2);
    w->is_commit_held = true;
    for (int64_t k = 1; k <= 3; k++) {
        world_at(w, 2 + k);
        world_put(w, 0, k, k == 1 ? 12 : k == 2 ? 40 : 15);
        world_run(w);
    }
    world_fix_at(w, 6);
    CHECK_STR(world_history(w), "0 W 10\n0 run 1 0:10\n1 B1 10 0:1\n2 B2 10 0:1\n"
                                "3 run 3 0:12\n4 run 3 0:40\n5 run 3 0:15\n6 B3 40 0:4\n");
    world_at(w, 7);
    w->is_commit_held = false;
    world_abort(w, 2, 4);
    CHECK_EQ(w->logs[0].sought, 1);
    world_fix_at(w, 8);
    CHECK_STR(world_history(w), "7 run 4 0:12 0:40 0:15\n8 B4 40 0:4\n");
    CHECK_EQ(w->last_cut.sources[0].dispatched, 3);
    CHECK_EQ(w->last_cut.sources[0].late, 0);
    CHECK_EQ(sf_ingest_counts(w->ingest)[0].dispatched, 4); /* what the aborted attempt counted is taken back */
    CHECK_EQ(w->batches_out, 0);
    world_destroy(w);
}

static void abort_starts_the_silence_of_what_is_read_again_anew_case79_b12(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    w->topology->settings.idleness_timeout_ms = 1000;
    w->topology->settings.auto_interval_ms = 1;
    world_start(w);
    world_last(w, 0, 0, 10);
    world_last(w, 1, 0, 20);
    world_run(w);
    world_fix_at(w, 1);
    world_at(w, 500);
    world_last(w, 1, 1, 30);
    world_run(w);
    world_at(w, 900);
    (void)world_history(w);
    w->logs[1].count = 1; /* what is to be read again comes late */
    world_abort(w, 1, 2);
    struct sf_partition_view view[2];
    world_at(w, 1002); /* partition 0: silent since 0; partition 1 anew since 900 */
    world_run(w);
    for (uint32_t i = 0; i < 2; i++) sf_ingest_partition_view(w->ingest, i, (struct sf_wall_ts){0}, &view[i]);
    CHECK(view[0].is_idle);
    CHECK(!view[1].is_idle);
    CHECK_EQ(view[1].watermark, 20);
    world_at(w, 1901);
    world_run(w);
    sf_ingest_partition_view(w->ingest, 1, (struct sf_wall_ts){0}, &view[1]);
    CHECK(view[1].is_idle);
    world_destroy(w);
}

static void committed_position_is_past_control_records_case87(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    w->lane_blocks = 1;
    w->block_refs = 1;
    world_start(w);
    world_put(w, 0, 0, 10);
    world_put(w, 0, 1, 11);
    w->logs[0].end = 6; /* 2: marker, 3 and 4: aborted, 5: marker */
    world_caught_up(w, 0);
    w->is_lane_blocked = true;
    world_run(w);
    world_fix_at(w, 1); /* 1 is still buffered */
    w->is_lane_blocked = false;
    world_run(w);
    world_run(w);
    world_fix_at(w, 2);
    CHECK_STR(world_history(w), "0 W 10\n1 B1 10 0:1\n1 run 1 0:10\n1 run 2 0:11\n2 B2 11 0:6\n");
    world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partition_that_never_received_idles_out_case1),
        cmocka_unit_test(partition_counts_from_its_assignment_case3),
        cmocka_unit_test(order_of_going_idle_is_no_race_case4),
        cmocka_unit_test(records_that_wait_for_a_full_lane_are_no_silence_case7),
        cmocka_unit_test(trailing_marker_is_no_lag_case10),
        cmocka_unit_test(known_end_beyond_the_batch_is_lag_d6),
        cmocka_unit_test(future_record_of_one_partition_moves_everything_case14),
        cmocka_unit_test(clamped_future_record_goes_but_moves_no_further_case14_t5),
        cmocka_unit_test(held_future_head_counts_with_its_preview_case15),
        cmocka_unit_test(invalid_time_is_skipped_once_case16),
        cmocka_unit_test(warnings_of_a_partition_come_once_a_minute_t4),
        cmocka_unit_test(invalid_time_stops_the_engine_case16),
        cmocka_unit_test(unset_is_no_number_case20),
        cmocka_unit_test(abort_rolls_back_time_case79),
        cmocka_unit_test(abort_starts_the_silence_of_what_is_read_again_anew_case79_b12),
        cmocka_unit_test(committed_position_is_past_control_records_case87),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
