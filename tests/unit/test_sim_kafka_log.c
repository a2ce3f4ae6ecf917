/* Logs as readers see them: latency, control records, last stable offset, aborted ranges, leaders, log start. */
#include "tests/unit/history.h"

static struct history h;

static void setup_exact(void)
{
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    history_open(&h, &config, 1);
    CHECK_EQ(sf_sim_kafka_create(h.broker, "in", 2, NULL, 0), SF_OK);
}

static void empty_partition_is_caught_up_after_the_first_answer_d6(void **state)
{
    (void)state;
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    config.fetch = (struct sf_sim_latency){3000, 3000};
    history_open(&h, &config, 1);
    CHECK_EQ(sf_sim_kafka_create(h.broker, "in", 2, NULL, 0), SF_OK);
    struct party *a = history_party(&h, "A");
    party_consumer(a, true);
    (void)sf_consumer_add(a->consumer, party_tp(a, "in", 0), SF_OFFSET_BEGINNING);
    history_run(&h, 10);
    outside_append(&h, "in", 0, "a", "1");
    history_run(&h, 11);
    outside_append(&h, "in", 0, "b", "2"); /* while the answer with a is on its way */
    history_run(&h, 1000);
    CHECK_EQ(sf_sim_world_next_us(&h.world), INT64_MAX); /* nothing polls */
    CHECK_STR(h.text, "3ms A in/0 caught up at 0\n"
                      "13ms A in/0 0 a=1, next 1 end 1\n"
                      "13ms A in/0 caught up at 1\n"
                      "16ms A in/0 1 b=2, next 2 end 2\n"
                      "16ms A in/0 caught up at 2\n");
    history_close(&h);
}

static void trailing_marker_is_not_lag_case_10(void **state)
{
    (void)state;
    setup_exact();
    struct sf_tp tp = broker_tp(&h, "in", 0);
    struct sf_out outs[3] = {out_of("a", "1", 1), out_of("b", "2", 2), out_of("c", "3", 3)};
    struct sf_sim_kafka_txn *txn = sf_sim_kafka_foreign_begin(h.broker);
    (void)sf_sim_kafka_foreign_append(h.broker, txn, tp, outs, 3);
    sf_sim_kafka_foreign_end(h.broker, txn, true);
    struct party *a = history_party(&h, "A");
    party_consumer(a, true);
    (void)sf_consumer_add(a->consumer, party_tp(a, "in", 0), 0);
    history_run(&h, 1);
    history_log(&h, "in", 0);
    CHECK_STR(h.text, "0ms A in/0 0 a=1 1 b=2 2 c=3, next 4 end 4\n"
                      "0ms A in/0 caught up at 4\n"
                      "1ms log in/0 0..4 stable 4: | 0 a=1 committed | 1 b=2 committed | 2 c=3 committed"
                      " | 3 commit marker\n");
    history_close(&h);
}

static void position_passes_aborted_data_and_markers_case_87(void **state)
{
    (void)state;
    setup_exact();
    struct sf_tp tp = broker_tp(&h, "in", 0);
    struct sf_out outs[2] = {out_of("a", "1", 1), out_of("b", "2", 2)};
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_consumer(a, true);
    party_consumer(b, false);
    struct sf_sim_kafka_txn *txn = sf_sim_kafka_foreign_begin(h.broker);
    (void)sf_sim_kafka_foreign_append(h.broker, txn, tp, outs, 2);
    sf_sim_kafka_foreign_end(h.broker, txn, true);
    (void)sf_consumer_add(a->consumer, party_tp(a, "in", 0), 0);
    (void)sf_consumer_add(b->consumer, party_tp(b, "in", 0), 0);
    history_run(&h, 1);
    txn = sf_sim_kafka_foreign_begin(h.broker);
    (void)sf_sim_kafka_foreign_append(h.broker, txn, tp, outs, 2);
    history_run(&h, 2);
    sf_sim_kafka_foreign_end(h.broker, txn, false);
    history_run(&h, 3);
    CHECK_STR(h.text, "0ms A in/0 0 a=1 1 b=2, next 3 end 3\n"
                      "0ms A in/0 caught up at 3\n"
                      "0ms B in/0 0 a=1 1 b=2, next 3 end 3\n"
                      "0ms B in/0 caught up at 3\n"
                      "1ms B in/0 3 a=1 4 b=2, next 5 end 3\n" /* uncommitted, and known not to be stable */
                      "1ms B in/0 caught up at 5\n"
                      "2ms A in/0 caught up at 6\n"
                      "2ms B in/0 caught up at 6\n");
    history_close(&h);
}

static void open_transaction_holds_back_what_committed_behind_it_case_99(void **state)
{
    (void)state;
    setup_exact();
    struct sf_tp tp = broker_tp(&h, "in", 0);
    struct sf_out one = out_of("old", "1", 1), two = out_of("new", "2", 2);
    struct party *a = history_party(&h, "A");
    party_consumer(a, true);
    (void)sf_consumer_add(a->consumer, party_tp(a, "in", 0), 0);
    struct sf_sim_kafka_txn *open = sf_sim_kafka_foreign_begin(h.broker), *next = sf_sim_kafka_foreign_begin(h.broker);
    (void)sf_sim_kafka_foreign_append(h.broker, open, tp, &one, 1);
    (void)sf_sim_kafka_foreign_append(h.broker, next, tp, &two, 1);
    sf_sim_kafka_foreign_end(h.broker, next, true);
    history_run(&h, 5);
    history_log(&h, "in", 0);
    sf_sim_kafka_foreign_end(h.broker, open, false);
    history_run(&h, 6);
    history_log(&h, "in", 0);
    CHECK_STR(h.text, "0ms A in/0 caught up at 0\n"
                      "5ms log in/0 0..3 stable 0: | 0 old=1 open | 1 new=2 committed | 2 commit marker\n"
                      "5ms A in/0 1 new=2, next 4 end 4\n"
                      "5ms A in/0 caught up at 4\n"
                      "6ms log in/0 0..4 stable 4: | 0 old=1 aborted | 1 new=2 committed | 2 commit marker"
                      " | 3 abort marker\n");
    history_close(&h);
}

static void lag_is_unknown_while_nobody_leads_d6(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A");
    party_consumer(a, true);
    (void)sf_consumer_add(a->consumer, party_tp(a, "in", 0), 0);
    history_run(&h, 1);
    sf_sim_kafka_mode(h.broker, broker_tp(&h, "in", 0), SF_SIM_KAFKA_MODE_NO_LEADER);
    outside_append(&h, "in", 0, "a", "1");
    history_run(&h, 5);
    sf_sim_kafka_mode(h.broker, broker_tp(&h, "in", 0), SF_SIM_KAFKA_MODE_OK);
    history_run(&h, 6);
    sf_sim_kafka_mode(h.broker, broker_tp(&h, "in", 0), SF_SIM_KAFKA_MODE_NO_FETCH);
    history_run(&h, 8);
    sf_sim_kafka_mode(h.broker, broker_tp(&h, "in", 0), SF_SIM_KAFKA_MODE_OK);
    history_run(&h, 9);
    CHECK_STR(h.text, "0ms A in/0 caught up at 0\n"
                      "1ms A in/0 partition SF_E_UNAVAILABLE\n"
                      "5ms A in/0 partition ok\n"
                      "5ms A in/0 0 a=1, next 1 end 1\n"
                      "5ms A in/0 caught up at 1\n"
                      "6ms A in/0 partition SF_E_UNAVAILABLE\n"
                      "8ms A in/0 partition ok\n"
                      "8ms A in/0 caught up at 1\n");
    history_close(&h);
}

static void reader_below_the_log_start_is_told_and_gets_nothing_until_seek_s7(void **state)
{
    (void)state;
    setup_exact();
    for (int i = 0; i < 5; i++) outside_append(&h, "in", 0, "a", "1");
    struct sf_tp tp = broker_tp(&h, "in", 0);
    sf_sim_kafka_truncate(h.broker, tp, 3);
    struct party *a = history_party(&h, "A");
    party_consumer(a, true);
    struct sf_tp mine = party_tp(a, "in", 0), other = party_tp(a, "in", 1);
    (void)sf_consumer_add(a->consumer, mine, 2);
    (void)sf_consumer_add(a->consumer, other, 7);
    history_run(&h, 1);
    outside_append(&h, "in", 0, "b", "2");
    history_run(&h, 2);
    (void)sf_consumer_seek(a->consumer, mine, 3);
    (void)sf_consumer_seek(a->consumer, other, SF_OFFSET_BEGINNING);
    history_run(&h, 3);
    sf_sim_kafka_truncate(h.broker, tp, 99); /* at most to the end: who is there is in range */
    history_run(&h, 4);
    history_log(&h, "in", 0);
    CHECK_STR(h.text, "0ms A in/0 out of range: 2 not in 3..5\n"
                      "0ms A in/1 out of range: 7 not in 0..0\n"
                      "2ms A in/0 3 a=1 4 a=1 5 b=2, next 6 end 6\n"
                      "2ms A in/1 caught up at 0\n"
                      "2ms A in/0 caught up at 6\n"
                      "4ms log in/0 6..6 stable 6:\n");
    history_close(&h);
}

static void unknown_partition_is_fatal(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A");
    party_consumer(a, true);
    (void)sf_consumer_add(a->consumer, party_tp(a, "in", 2), 0);
    (void)sf_consumer_add(a->consumer, party_tp(a, "nowhere", 0), 0);
    history_run(&h, 1);
    CHECK_STR(h.text, "0ms A in/2 partition SF_E_UNKNOWN_TOPIC\n"
                      "0ms A nowhere/0 partition SF_E_UNKNOWN_TOPIC\n");
    CHECK_EQ(sf_status_class(SF_E_UNKNOWN_TOPIC), SF_CLASS_FATAL);
    history_close(&h);
}

static void paused_partition_keeps_what_it_has_and_holds_up_nobody(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A");
    party_consumer_bounded(a, true, 2, 2000); /* a share is 1000 bytes: some ten records */
    struct sf_tp zero = party_tp(a, "in", 0), one = party_tp(a, "in", 1);
    (void)sf_consumer_add(a->consumer, zero, 0);
    (void)sf_consumer_add(a->consumer, one, 0);
    history_run(&h, 1);
    sf_consumer_pause(a->consumer, zero);
    for (int i = 0; i < 40; i++) outside_append(&h, "in", 0, "a", "1");
    for (int i = 0; i < 3; i++) outside_append(&h, "in", 1, "b", "2");
    history_run(&h, 2);
    history_add(&h, "resume");
    a->is_held_back = true;
    sf_consumer_resume(a->consumer, zero);
    struct sf_consumer_event events[2];
    CHECK_EQ(sf_consumer_poll(a->consumer, events, 1), 1); /* at once, without a fetch */
    CHECK_EQ(events[0].kind, SF_CONSUMER_BATCH);
    CHECK_EQ(events[0].batch->records[0].offset, 0);
    CHECK_EQ(events[0].batch->count, 2);
    CHECK_EQ(events[0].batch->next_offset, 2);
    sf_consumer_release(a->consumer, events[0].batch);
    CHECK_STR(h.text, "0ms A in/0 caught up at 0\n"
                      "0ms A in/1 caught up at 0\n"
                      "1ms A in/1 0 b=2 1 b=2, next 2 end 3\n"
                      "1ms A in/1 2 b=2, next 3 end 3\n"
                      "1ms A in/1 caught up at 3\n"
                      "2ms resume\n");
    history_close(&h);
}

static uint32_t poll_records(struct party *party, uint64_t *bytes_out)
{
    struct sf_consumer_event event;
    uint32_t records = 0;
    *bytes_out = 0;
    while (sf_consumer_poll(party->consumer, &event, 1) > 0) {
        if (event.kind != SF_CONSUMER_BATCH) continue;
        records += event.batch->count;
        *bytes_out += event.batch->bytes;
        CHECK_EQ(event.batch->next_offset, event.batch->records[event.batch->count - 1].offset + 1);
        sf_consumer_release(party->consumer, event.batch);
    }
    return records;
}

static void what_is_fetched_ahead_is_bounded_l5(void **state)
{
    (void)state;
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    config.fetch = (struct sf_sim_latency){1000, 1000};
    history_open(&h, &config, 1);
    CHECK_EQ(sf_sim_kafka_create(h.broker, "in", 2, NULL, 0), SF_OK);
    for (int i = 0; i < 100; i++) outside_append(&h, "in", 0, "a", "1");
    struct party *a = history_party(&h, "A");
    a->is_held_back = true;
    party_consumer_bounded(a, true, 3, 2000);
    (void)sf_consumer_add(a->consumer, party_tp(a, "in", 0), 0);
    (void)sf_consumer_add(a->consumer, party_tp(a, "in", 1), 0);
    uint32_t records = 0;
    for (int64_t ms = 50; records < 100; ms += 50) {
        history_run(&h, ms);
        uint64_t bytes;
        uint32_t count = poll_records(a, &bytes);
        CHECK(count > 0);
        CHECK(bytes <= 1000); /* its share */
        records += count;
    }
    CHECK_EQ(records, 100);
    history_close(&h);
}

static void seek_and_remove_forget_what_was_fetched_before(void **state)
{
    (void)state;
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    config.fetch = (struct sf_sim_latency){2000, 2000};
    history_open(&h, &config, 1);
    CHECK_EQ(sf_sim_kafka_create(h.broker, "in", 1, NULL, 0), SF_OK);
    outside_append(&h, "in", 0, "a", "1");
    outside_append(&h, "in", 0, "b", "2");
    struct party *a = history_party(&h, "A");
    party_consumer(a, true);
    struct sf_tp tp = party_tp(a, "in", 0);
    uint32_t first = sf_consumer_add(a->consumer, tp, 0);
    a->is_held_back = true;
    history_run(&h, 3); /* fetched, not polled */
    uint32_t second = sf_consumer_seek(a->consumer, tp, 1);
    CHECK(second > first);
    struct sf_consumer_event event;
    CHECK_EQ(sf_consumer_poll(a->consumer, &event, 1), 0);
    history_run(&h, 6);
    CHECK_EQ(sf_consumer_poll(a->consumer, &event, 1), 1);
    CHECK_EQ(event.batch->records[0].offset, 1);
    CHECK_EQ(event.batch->generation, second);
    struct sf_batch *batch = event.batch;
    sf_consumer_remove(a->consumer, tp);
    CHECK_EQ(sf_consumer_poll(a->consumer, &event, 1), 0);
    sf_sim_kafka_truncate(h.broker, broker_tp(&h, "in", 0), 2); /* the log forgets it, the batch does not */
    CHECK_EQ(batch->records[0].value.data[0], '2');
    sf_consumer_release(a->consumer, batch);
    CHECK(sf_consumer_add(a->consumer, tp, 2) > second);
    history_close(&h);
}

static void headers_and_nulls_come_as_they_were_written(void **state)
{
    (void)state;
    setup_exact();
    static const uint8_t headers[] = {1, 0, 'h', 2, 0, 0, 0, 'x', 'y'};
    struct sf_out outs[2] = {{.key = {0}, .value = slice_of(""), .headers = {headers, sizeof headers}, .ts_ms = 77},
                             {.key = slice_of("k"), .value = {0}, .ts_ms = -1}};
    (void)sf_sim_kafka_append(h.broker, broker_tp(&h, "in", 0), outs, 2);
    struct party *a = history_party(&h, "A");
    a->is_held_back = true;
    for (int wants_headers = 0; wants_headers < 2; wants_headers++) {
        struct sf_error error;
        struct sf_consumer_config config = {.group = "app", .has_headers = wants_headers == 1, .batch_records_max = 10,
                                            .fetch_bytes_max = 1000};
        CHECK_EQ(sf_kafka_consumer_open(a->kafka, &config, &a->consumer, &error), SF_OK);
        (void)sf_consumer_add(a->consumer, party_tp(a, "in", 0), 0);
        history_settle(&h);
        struct sf_consumer_event event;
        CHECK_EQ(sf_consumer_poll(a->consumer, &event, 1), 1);
        const struct sf_record *records = event.batch->records;
        CHECK(records[0].key.data == NULL);
        CHECK(records[0].value.data != NULL && records[0].value.len == 0);
        CHECK_EQ(records[0].ts_ms, 77);
        CHECK_EQ(records[0].ts_kind, SF_TS_CREATE);
        CHECK(records[1].value.data == NULL);
        CHECK_EQ(records[1].ts_kind, SF_TS_NONE);
        CHECK_EQ(records[0].headers.len, wants_headers == 1 ? sizeof headers : 0);
        CHECK((records[0].headers.data != NULL) == (wants_headers == 1));
        sf_consumer_close(a->consumer); /* frees the batch too */
    }
    history_close(&h);
}

static void append_time_topics_stamp_with_the_brokers_wall_clock(void **state)
{
    (void)state;
    setup_exact();
    struct sf_topic_setting setting = {.name = "message.timestamp.type", .value = "LogAppendTime"};
    CHECK_EQ(sf_sim_kafka_create(h.broker, "stamped", 1, &setting, 1), SF_OK);
    history_run(&h, 250);
    outside_append(&h, "stamped", 0, "a", "1");
    struct sf_sim_kafka_entry entry;
    int64_t offset = 0;
    CHECK(sf_sim_kafka_log_next(h.broker, broker_tp(&h, "stamped", 0), &offset, &entry));
    CHECK_EQ(entry.record->ts_kind, SF_TS_APPEND);
    CHECK_EQ(entry.record->ts_ms, 1000250);
    history_close(&h);
}

static void discard_frees_memory_and_changes_nothing_for_later_offsets(void **state)
{
    (void)state;
    setup_exact();
    struct sf_tp tp = broker_tp(&h, "in", 0);
    struct sf_out out = out_of("key", "a value of some length", 1);
    for (int i = 0; i < 10000; i++) (void)sf_sim_kafka_append(h.broker, tp, &out, 1);
    uint64_t before = h.world.heap.bytes;
    sf_sim_kafka_discard(h.broker, tp, 10000); /* the newest chunk stays */
    CHECK(h.world.heap.bytes < before / 4);
    CHECK_EQ(sf_sim_kafka_log_end(h.broker, tp, SF_LOG_START), 0);
    struct party *a = history_party(&h, "A");
    party_consumer_bounded(a, true, 65536, 1u << 30);
    (void)sf_consumer_add(a->consumer, party_tp(a, "in", 0), 9998);
    history_run(&h, 1);
    CHECK_STR(h.text, "0ms A in/0 9998 key=a value of some length 9999 key=a value of some length,"
                      " next 10000 end 10000\n"
                      "0ms A in/0 caught up at 10000\n");
    CHECK(!sf_sim_kafka_is_missed(h.broker));
    (void)sf_consumer_seek(a->consumer, party_tp(a, "in", 0), 1);
    history_run(&h, 1);
    CHECK(sf_sim_kafka_is_missed(h.broker));
    history_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_partition_is_caught_up_after_the_first_answer_d6),
        cmocka_unit_test(trailing_marker_is_not_lag_case_10),
        cmocka_unit_test(position_passes_aborted_data_and_markers_case_87),
        cmocka_unit_test(open_transaction_holds_back_what_committed_behind_it_case_99),
        cmocka_unit_test(lag_is_unknown_while_nobody_leads_d6),
        cmocka_unit_test(reader_below_the_log_start_is_told_and_gets_nothing_until_seek_s7),
        cmocka_unit_test(unknown_partition_is_fatal),
        cmocka_unit_test(paused_partition_keeps_what_it_has_and_holds_up_nobody),
        cmocka_unit_test(what_is_fetched_ahead_is_bounded_l5),
        cmocka_unit_test(seek_and_remove_forget_what_was_fetched_before),
        cmocka_unit_test(headers_and_nulls_come_as_they_were_written),
        cmocka_unit_test(append_time_topics_stamp_with_the_brokers_wall_clock),
        cmocka_unit_test(discard_frees_memory_and_changes_nothing_for_later_offsets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
