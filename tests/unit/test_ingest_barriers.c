/* The ingest task alone: barriers, epochs, positions, faults, and work that is cut into small steps. */
#include "tests/unit/ingest_world.h"

static void barrier_asked_for_while_one_commits_comes_after_it_b1(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    world_start(w);
    w->is_commit_held = true;
    world_last(w, 0, 0, 10);
    world_run(w);
    world_fix_at(w, 1);
    world_at(w, 2);
    world_last(w, 0, 1, 11);
    world_run(w);
    world_fix_at(w, 3);
    world_fix_at(w, 4);
    CHECK_STR(world_history(w), "0 W 10\n0 run 1 0:10\n1 B1 10 0:1\n2 run 2 0:11\n");
    w->is_commit_held = false;
    world_committed(w, 1);
    world_run(w);
    CHECK_STR(world_history(w), "4 B2 11 0:2\n4 B3 11 0:2\n"); /* each FIX one, the empty one too */
    CHECK_EQ(sf_ingest_counts(w->ingest)[0].dispatched, 2);
    world_destroy(w);
}

static void cut_that_moves_nothing_commits_one_offset_unchanged_b14(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    w->partitions[0].offset = 17;
    w->logs[0].end = 17;
    world_start(w);
    world_caught_up(w, 0);
    world_fix_at(w, 1);
    CHECK_STR(world_history(w), "1 B1 unset 0:17\n");
    CHECK_STR((const char *)w->last_metadata, "Av//////////");
    CHECK_EQ(w->last_cut.stamp_row_len, 20 + 16);
    world_destroy(w);
}

static void position_alone_moves_past_control_records_b13(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    world_start(w);
    world_last(w, 0, 0, 10);
    world_last(w, 1, 0, 10);
    world_run(w);
    world_fix_at(w, 1);
    w->logs[1].end = 3;
    world_caught_up(w, 1);
    world_fix_at(w, 2);
    CHECK_STR(world_history(w), "0 W 10\n0 run 1 0:10 1:10\n1 B1 10 0:1 1:1\n2 B2 10 1:3\n");
    world_destroy(w);
}

static void late_is_below_the_watermark_as_last_emitted_g3(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    world_start(w);
    world_put(w, 0, 0, 10);
    world_put(w, 0, 1, 50);
    world_put(w, 0, 2, 20); /* not late: nothing was emitted before its batch */
    world_run(w);
    CHECK_EQ(sf_ingest_counts_running(w->ingest)[0].late, 0);
    world_at(w, 1);
    world_put(w, 0, 3, 50);
    world_put(w, 0, 4, 90);
    world_put(w, 0, 5, 49);
    world_put(w, 0, 6, 80); /* the watermark is still 50 for this batch */
    world_run(w);
    CHECK_EQ(sf_ingest_counts_running(w->ingest)[0].late, 1);
    CHECK_EQ(sf_ingest_counts_running(w->ingest)[0].dispatched, 7);
    world_destroy(w);
}

static void batch_stays_as_long_as_a_lane_may_look_into_it(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    world_start(w);
    w->is_lane_blocked = true;
    world_put(w, 0, 0, 10);
    world_put(w, 1, 0, 20);
    world_last(w, 0, 1, 30);
    world_caught_up(w, 1);
    world_run(w);
    CHECK_EQ(w->batches_out, 3); /* all in one block */
    w->is_lane_blocked = false;
    world_run(w);
    world_run(w);
    CHECK_EQ(w->batches_out, 0);
    world_destroy(w);
}

static struct world *world_cadence(void)
{
    struct world *w = world_new(1);
    w->is_cadence_on = true;
    world_start(w);
    return w;
}

static void cadence_follows_the_last_commit_b2(void **state)
{
    (void)state;
    struct world *w = world_cadence();
    w->is_quiet = true;
    w->is_commit_held = true;
    world_run(w);
    for (int64_t k = 0; k < 60; k++) {
        world_at(w, 20 * k);
        world_last(w, 0, k, 10 + k);
        world_run(w);
        if (w->ms == 600) world_committed(w, 1); /* fixed @500, took 100: 150 ms later the next */
        if (w->ms == 860) world_committed(w, 2); /* fixed @650, took 210: 315 later */
        world_run(w);
    }
    CHECK_STR(world_history(w), "500 B1 35 0:26\n650 B2 42 0:33\n965 B3 58 0:49\n");
    world_destroy(w);
}

static void silent_stream_owes_what_lanes_have_to_emit_b3_case51(void **state)
{
    (void)state;
    struct world *w = world_cadence();
    w->is_quiet = true;
    world_last(w, 0, 0, 5);
    world_run(w);
    world_at(w, 1);
    world_last(w, 0, 1, 10);
    world_run(w);
    world_at(w, 500);
    world_run(w);
    CHECK_STR(world_history(w), "500 B1 10 0:2\n");
    CHECK(sf_ingest_is_settled(w->ingest));
    for (uint64_t epoch = 2; epoch <= 3; epoch++) {
        sf_edge_push(&w->edges[WORLD_LANES],
                     &(struct sf_msg){.kind = SF_MSG_WORK, .flags = SF_WORK_RESULTS, .epoch = epoch});
        world_run(w);
        CHECK(!sf_ingest_is_settled(w->ingest));
        world_at(w, w->ms + 150);
        world_run(w);
    }
    CHECK_STR(world_history(w), "650 B2 10 0:2\n800 B3 10 0:2\n");
    CHECK(sf_ingest_is_settled(w->ingest));
    world_at(w, 3600000);
    world_run(w);
    CHECK_STR(world_history(w), "");
    world_destroy(w);
}

static void watermark_that_idleness_moved_is_content_b13(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    w->is_cadence_on = true;
    w->is_quiet = true;
    w->topology->settings.idleness_timeout_ms = 3000;
    world_start(w);
    world_caught_up(w, 1);
    world_last(w, 0, 0, 10);
    world_run(w);
    world_at(w, 2000);
    world_last(w, 0, 1, 20);
    world_run(w);
    world_at(w, 60000);
    world_run(w);
    CHECK_STR(world_history(w), "500 B1 unset 0:1\n2000 B2 unset 0:2\n3001 B3 20 0:2\n");
    world_destroy(w);
}

static void memory_of_the_epoch_stops_dispatch_and_asks_for_a_barrier_l5(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    w->is_cadence_on = true;
    w->topology->settings.uncommitted_bytes_max = 3 * 65; /* a key of one byte each, and what a record costs */
    world_start(w);
    for (int64_t k = 0; k < 5; k++) world_put(w, 0, k, 10 + k);
    w->is_commit_held = true;
    world_run(w);
    CHECK_STR(world_history(w), "0 W 12\n0 run 1 0:10 0:11 0:12\n0 B1 12 0:3\n");
    w->is_commit_held = false;
    world_committed(w, 1);
    world_at(w, 1);
    world_run(w);
    CHECK_STR(world_history(w), "1 run 2 0:13 0:14\n");
    /* a lane's word counts as much */
    sf_edge_push(&w->edges[WORLD_LANES],
                 &(struct sf_msg){.kind = SF_MSG_WORK, .flags = SF_WORK_MEMORY, .epoch = 2});
    world_run(w);
    CHECK_STR(world_history(w), "1 B2 14 0:5\n");
    world_destroy(w);
}

static void finish_flushes_once_what_was_dispatched_s4(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    world_start(w);
    w->is_commit_held = true;
    world_last(w, 0, 0, 10);
    world_run(w);
    world_fix_at(w, 1);
    world_at(w, 2);
    world_last(w, 0, 1, 20);
    world_run(w);
    world_engine_says(w, (struct sf_msg){.kind = SF_MSG_FINISH});
    world_last(w, 0, 2, 30); /* too late: nothing is read any more */
    world_run(w);
    CHECK_STR(world_history(w), "0 W 10\n0 run 1 0:10\n1 B1 10 0:1\n2 run 2 0:20\n");
    world_committed(w, 1);
    world_run(w);
    world_committed(w, 2);
    world_at(w, 5000);
    world_run(w);
    CHECK_STR(world_history(w), "2 FLUSH2 20 0:2\n");
    world_engine_says(w, (struct sf_msg){.kind = SF_MSG_STOP, .flags = SF_STOP_FOR_GOOD});
    world_step(w);
    CHECK_EQ(w->result.next, SF_NEXT_DONE);
    CHECK_EQ(w->last_to_engine.kind, SF_MSG_STOPPED);
    world_destroy(w);
}

/* Commits may be refused for long: a former owner's are, until it hears of its loss. */
static void final_barrier_that_was_aborted_is_not_repeated_at_once_b2(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    world_start(w);
    w->is_commit_held = true;
    world_last(w, 0, 0, 10);
    world_run(w);
    world_at(w, 1000);
    world_engine_says(w, (struct sf_msg){.kind = SF_MSG_FINISH});
    world_run(w);
    CHECK_STR(world_history(w), "0 W 10\n0 run 1 0:10\n1000 FLUSH1 10 0:1\n");
    world_abort(w, 0, 2);
    world_run(w);
    CHECK_STR(world_history(w), "");
    world_at(w, 1149);
    world_run(w);
    CHECK_STR(world_history(w), "");
    world_at(w, 1150);
    world_run(w);
    CHECK_STR(world_history(w), "1150 FLUSH2 unset 0:0\n");
    world_destroy(w);
}

/* The stop may overtake the news of the commit that it follows. */
static void what_the_last_epoch_counted_is_in_the_totals_after_a_stop_m6(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    world_start(w);
    world_last(w, 0, 0, 10);
    world_run(w);
    w->is_commit_held = true;
    world_fix_at(w, 1);
    CHECK_EQ(sf_ingest_counts(w->ingest)[0].dispatched, 0);
    w->budget = 1;
    world_engine_says(w, (struct sf_msg){.kind = SF_MSG_STOP, .flags = SF_STOP_FOR_GOOD, .epoch = 1});
    world_committed(w, 1);
    world_step(w);
    CHECK_EQ(sf_ingest_counts(w->ingest)[0].dispatched, 1);
    CHECK_EQ(w->last_to_engine.kind, SF_MSG_STOPPED);
    world_destroy(w);
}

static void stopped_task_reads_and_sends_nothing_until_reset_b9(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    world_start(w);
    world_engine_says(w, (struct sf_msg){.kind = SF_MSG_STOP});
    world_last(w, 0, 0, 10);
    world_run(w);
    world_fix_at(w, 10000);
    CHECK_STR(world_history(w), "");
    CHECK_EQ(w->polls, 0);
    w->generation = 3;
    world_engine_says(w, (struct sf_msg){.kind = SF_MSG_RESET, .epoch = 0, .value = 5, .value2 = 3});
    world_run(w);
    CHECK_STR(world_history(w), "10000 W 10\n10000 run 5 0:10\n10000 B5 10 0:1\n");
    world_destroy(w);
}

static void commit_that_only_the_engine_knew_of_is_kept_b11(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    world_start(w);
    w->is_commit_held = true;
    world_last(w, 0, 0, 10);
    world_run(w);
    world_fix_at(w, 1);
    world_abort(w, 1, 2);
    CHECK_EQ(w->logs[0].sought, 1);
    CHECK_EQ(sf_ingest_counts(w->ingest)[0].dispatched, 1);
    world_destroy(w);
}

static void log_that_starts_later_stops_or_is_counted_as_asked_s7(void **state)
{
    (void)state;
    for (uint32_t may_skip = 0; may_skip < 2; may_skip++) {
        struct world *w = world_new(1);
        w->topology->sources[0].on_missing_offset = may_skip ? SF_MISSING_LOG_START : SF_MISSING_FAIL;
        w->partitions[0].offset = 3;
        world_start(w);
        world_push_event(w, 0, (struct sf_consumer_event){.kind = SF_CONSUMER_OUT_OF_RANGE,
                                                          .position = 3,
                                                          .log_start = 10,
                                                          .log_end = 20});
        world_run(w);
        world_fix_at(w, 1);
        if (may_skip) {
            CHECK_EQ(w->logs[0].sought, 10);
            CHECK_STR(world_history(w), "0 note offset-gap 0\n1 B1 unset 0:10\n");
            CHECK_EQ(sf_ingest_counts(w->ingest)[0].gap, 7);
        } else {
            const struct sf_failure *failure = w->last_to_engine.ptr;
            CHECK_EQ(w->last_to_engine.kind, SF_MSG_FAULT);
            CHECK_EQ(w->last_to_engine.value, SF_E_RANGE);
            CHECK_STR(failure->text, "topic in partition 0: offset 3 is not in the log, which starts at 10 and ends "
                                     "at 20");
            CHECK_STR(world_history(w), "");
        }
        world_destroy(w);
    }
}

static void log_that_ends_before_our_offset_is_never_guessed_at_s7(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    w->topology->sources[0].on_missing_offset = SF_MISSING_LOG_START;
    w->partitions[0].offset = 30;
    world_start(w);
    world_push_event(w, 0, (struct sf_consumer_event){.kind = SF_CONSUMER_OUT_OF_RANGE,
                                                      .position = 30,
                                                      .log_start = 10,
                                                      .log_end = 20});
    world_run(w);
    CHECK_EQ(w->last_to_engine.kind, SF_MSG_FAULT);
    world_destroy(w);
}

static void partition_that_cannot_be_read_has_unknown_lag_d6(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    world_start(w);
    world_caught_up(w, 0);
    world_caught_up(w, 1);
    world_run(w);
    world_push_event(w, 1, (struct sf_consumer_event){.kind = SF_CONSUMER_PARTITION, .status = SF_E_UNAVAILABLE});
    world_last(w, 0, 0, 10);
    world_run(w);
    CHECK_STR(world_history(w), "0 note unavailable 1\n");
    world_push_event(w, 1, (struct sf_consumer_event){.kind = SF_CONSUMER_PARTITION, .status = SF_OK});
    world_run(w);
    CHECK_STR(world_history(w), ""); /* unknown until the next fetch answer */
    world_caught_up(w, 1);
    world_run(w);
    CHECK_STR(world_history(w), "0 run 1 0:10\n");
    world_push_event(w, 1, (struct sf_consumer_event){.kind = SF_CONSUMER_PARTITION, .status = SF_E_AUTH});
    world_run(w);
    CHECK_EQ(w->last_to_engine.kind, SF_MSG_FAULT);
    CHECK_EQ(w->last_to_engine.value, SF_E_AUTH);
    world_destroy(w);
}

/* Event time from the value (W6), and values that do not read (M5). */
static void world_value(struct world *w, const char *json)
{
    struct world_log *log = &w->logs[0];
    int64_t offset = log->count;
    world_put(w, 0, offset, 999);
    log->records[log->count - 1].value = (struct sf_slice){(const uint8_t *)json, (uint32_t)strlen(json)};
}

static void assigned_time_orders_and_bad_values_are_skipped_w6_m5(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    w->topology->sources[0].value = SF_SERDE_JSON;
    w->topology->sources[0].watermark.timestamp_path = "$.at";
    w->topology->sources[0].on_invalid = SF_INVALID_PARTITION_TIME;
    w->topology->sources[0].on_deserialization_error = SF_ERROR_CONTINUE;
    world_start(w);
    world_value(w, "{}");        /* no time, and none before: skipped */
    world_value(w, "{\"at\":5}");
    world_value(w, "{\"at\":");  /* does not read */
    world_value(w, "{\"at\":-7}"); /* takes the partition's time */
    world_run(w);
    CHECK_STR(world_history(w), "0 skip 0:0 1\n0 skip 0:2 5\n0 W 5\n"
                                "0 note invalid-timestamp 0\n0 note bad-value 0\n0 run 1 0:5 0:5\n");
    world_destroy(w);
}

static void value_that_does_not_read_stops_the_engine_m5(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    w->topology->sources[0].value = SF_SERDE_INT64;
    w->topology->sources[0].is_validated = true;
    world_start(w);
    world_value(w, "short");
    world_run(w);
    const struct sf_failure *failure = w->last_to_engine.ptr;
    CHECK_EQ(w->last_to_engine.kind, SF_MSG_FAULT);
    CHECK(strstr(failure->text, "topic in partition 0 offset 0: the value cannot be read: ") == failure->text);
    CHECK(strstr(failure->text, "on-deserialization-error") != NULL);
    world_destroy(w);
}

/* How work is cut into steps changes nothing that is committed. */
static void budget_of_one_gives_the_same_cuts(void **state)
{
    (void)state;
    static char histories[3][WORLD_HISTORY];
    static const uint32_t budgets[] = {1, 3, 1024};
    for (uint32_t b = 0; b < 3; b++) {
        struct world *w = world_new(3);
        w->lane_count = 3;
        w->topology->sources[0].on_invalid = SF_INVALID_SKIP;
        w->budget = budgets[b];
        w->is_quiet = true;
        world_start(w);
        world_run(w);
        for (int64_t k = 0; k < 30; k++) {
            world_at(w, 10 * k);
            for (uint32_t i = 0; i < 3; i++)
                for (int64_t n = 0; n < 4; n++) {
                    int64_t offset = 4 * k + n;
                    world_put(w, i, offset, offset % 7 == 3 ? -1 : 100 * k + (int64_t)i * 13 + n * 7);
                    w->logs[i].records[offset].key.data = (const uint8_t *)"abcdefghijkl" + (offset + i) % 12;
                }
            for (uint32_t i = 0; i < 3; i++) world_caught_up(w, i);
            if (k % 3 == 0) world_fix(w); /* comes after all that falls on its instant */
            world_run(w);
        }
        /* skips are told as they come: compare the cuts */
        char *to = histories[b];
        for (const char *line = world_history(w); *line != '\0';) {
            const char *end = strchr(line, '\n') + 1;
            if (strstr(line, " B") != NULL && strstr(line, " B") < end) {
                memcpy(to, line, (size_t)(end - line));
                to += end - line;
            }
            line = end;
        }
        CHECK_EQ(w->last_cut.epoch, 10);
        world_destroy(w);
    }
    CHECK_STR(histories[0], histories[2]);
    CHECK_STR(histories[1], histories[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barrier_asked_for_while_one_commits_comes_after_it_b1),
        cmocka_unit_test(cut_that_moves_nothing_commits_one_offset_unchanged_b14),
        cmocka_unit_test(position_alone_moves_past_control_records_b13),
        cmocka_unit_test(late_is_below_the_watermark_as_last_emitted_g3),
        cmocka_unit_test(batch_stays_as_long_as_a_lane_may_look_into_it),
        cmocka_unit_test(cadence_follows_the_last_commit_b2),
        cmocka_unit_test(silent_stream_owes_what_lanes_have_to_emit_b3_case51),
        cmocka_unit_test(watermark_that_idleness_moved_is_content_b13),
        cmocka_unit_test(memory_of_the_epoch_stops_dispatch_and_asks_for_a_barrier_l5),
        cmocka_unit_test(finish_flushes_once_what_was_dispatched_s4),
        cmocka_unit_test(final_barrier_that_was_aborted_is_not_repeated_at_once_b2),
        cmocka_unit_test(what_the_last_epoch_counted_is_in_the_totals_after_a_stop_m6),
        cmocka_unit_test(stopped_task_reads_and_sends_nothing_until_reset_b9),
        cmocka_unit_test(commit_that_only_the_engine_knew_of_is_kept_b11),
        cmocka_unit_test(log_that_starts_later_stops_or_is_counted_as_asked_s7),
        cmocka_unit_test(log_that_ends_before_our_offset_is_never_guessed_at_s7),
        cmocka_unit_test(partition_that_cannot_be_read_has_unknown_lag_d6),
        cmocka_unit_test(assigned_time_orders_and_bad_values_are_skipped_w6_m5),
        cmocka_unit_test(value_that_does_not_read_stops_the_engine_m5),
        cmocka_unit_test(budget_of_one_gives_the_same_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
