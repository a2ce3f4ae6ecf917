/* Compaction and retention: what a restore finds afterwards (K9, case 97, case 110). */
#include "tests/unit/history.h"

static struct history h;

static void setup_with(const char *policy, const char *retention_ms)
{
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    history_open(&h, &config, 1);
    struct sf_topic_setting settings[] = {{"cleanup.policy", policy}, {"retention.ms", retention_ms}};
    CHECK_EQ(sf_sim_kafka_create(h.broker, "log", 1, settings, 2), SF_OK);
}

static void read_from(struct party *party, int64_t offset)
{
    party_consumer(party, true);
    (void)sf_consumer_add(party->consumer, party_tp(party, "log", 0), offset);
}

static void compaction_keeps_the_newest_of_each_key_and_all_offsets(void **state)
{
    (void)state;
    setup_with("compact", "-1");
    struct sf_tp tp = broker_tp(&h, "log", 0);
    outside_append(&h, "log", 0, "a", "1");
    outside_append(&h, "log", 0, "b", "2");
    outside_append(&h, "log", 0, "a", "3");
    struct sf_sim_kafka_txn *aborted = sf_sim_kafka_foreign_begin(h.broker);
    struct sf_out out = out_of("b", "aborted", 1);
    (void)sf_sim_kafka_foreign_append(h.broker, aborted, tp, &out, 1);
    sf_sim_kafka_foreign_end(h.broker, aborted, false);
    outside_append(&h, "log", 0, "c", "4");
    outside_append(&h, "log", 0, "c", NULL);
    struct sf_sim_kafka_txn *open = sf_sim_kafka_foreign_begin(h.broker);
    out = out_of("a", "open", 1);
    (void)sf_sim_kafka_foreign_append(h.broker, open, tp, &out, 1);
    history_log(&h, "log", 0);
    sf_sim_kafka_compact(h.broker, tp, &(struct sf_sim_kafka_compaction){0});
    history_log(&h, "log", 0);
    sf_sim_kafka_compact(h.broker, tp, &(struct sf_sim_kafka_compaction){.is_tombstones_dropped = true,
                                                                         .is_markers_dropped = true});
    history_log(&h, "log", 0);
    read_from(history_party(&h, "A"), 0);
    history_run(&h, 1);
    sf_sim_kafka_foreign_end(h.broker, open, true);
    outside_append(&h, "log", 0, "d", "5");
    history_run(&h, 2);
    CHECK_STR(h.text,
              "0ms log log/0 0..8 stable 7: | 0 a=1 | 1 b=2 | 2 a=3 | 3 b=aborted aborted | 4 abort marker | 5 c=4"
              " | 6 c=null | 7 a=open open\n"
              "0ms log log/0 0..8 stable 7: | 1 b=2 | 2 a=3 | 4 abort marker | 6 c=null | 7 a=open open\n"
              "0ms log log/0 0..8 stable 7: | 1 b=2 | 2 a=3 | 7 a=open open\n"
              "0ms A log/0 1 b=2 2 a=3, next 7 end 7\n"
              "0ms A log/0 caught up at 7\n"
              "1ms A log/0 7 a=open, next 9 end 10\n"
              "1ms A log/0 9 d=5, next 10 end 10\n"
              "1ms A log/0 caught up at 10\n");
    history_close(&h);
}

static void trailing_marker_may_be_gone_case_97(void **state)
{
    (void)state;
    for (int is_dropped = 0; is_dropped < 2; is_dropped++) {
        setup_with("compact", "-1");
        struct sf_tp tp = broker_tp(&h, "log", 0);
        struct sf_out outs[3] = {out_of("a", "1", 1), out_of("b", "2", 1), out_of("c", "3", 1)};
        struct sf_sim_kafka_txn *txn = sf_sim_kafka_foreign_begin(h.broker);
        (void)sf_sim_kafka_foreign_append(h.broker, txn, tp, outs, 3);
        sf_sim_kafka_foreign_end(h.broker, txn, true);
        sf_sim_kafka_compact(h.broker, tp, &(struct sf_sim_kafka_compaction){.is_markers_dropped = is_dropped == 1});
        read_from(history_party(&h, "A"), 1);
        history_run(&h, 1);
        CHECK_STR(h.text, "0ms A log/0 1 b=2 2 c=3, next 4 end 4\n"
                          "0ms A log/0 caught up at 4\n");
        history_close(&h);
    }
}

static void log_of_markers_alone_is_caught_up_case_97(void **state)
{
    (void)state;
    setup_with("compact", "-1");
    struct sf_tp tp = broker_tp(&h, "log", 0);
    struct sf_out out = out_of("a", "1", 1);
    for (int i = 0; i < 4; i++) {
        struct sf_sim_kafka_txn *txn = sf_sim_kafka_foreign_begin(h.broker);
        (void)sf_sim_kafka_foreign_append(h.broker, txn, tp, &out, 1);
        sf_sim_kafka_foreign_end(h.broker, txn, false);
    }
    sf_sim_kafka_truncate(h.broker, tp, 5);
    sf_sim_kafka_compact(h.broker, tp, &(struct sf_sim_kafka_compaction){0});
    read_from(history_party(&h, "A"), SF_OFFSET_BEGINNING);
    history_run(&h, 1);
    history_log(&h, "log", 0);
    CHECK_STR(h.text, "0ms A log/0 caught up at 8\n"
                      "1ms log log/0 5..8 stable 8: | 5 abort marker | 7 abort marker\n");
    history_close(&h);
}

static void sweep_looks_at_record_timestamps_case_110(void **state)
{
    (void)state;
    static const char *const policies[] = {"delete", "compact", "compact,delete"};
    static const char *const expected[] = {"0ms log log/0 1..3 stable 3: | 1 new=2 | 2 old=3\n",
                                           "0ms log log/0 0..3 stable 3: | 0 old=1 | 1 new=2 | 2 old=3\n",
                                           "0ms log log/0 1..3 stable 3: | 1 new=2 | 2 old=3\n"};
    for (int i = 0; i < 3; i++) {
        setup_with(policies[i], "604800000");
        struct sf_tp tp = broker_tp(&h, "log", 0);
        int64_t now_ms = INT64_C(1700000000000), years_ago_ms = now_ms - INT64_C(94608000000);
        struct sf_out outs[] = {out_of("old", "1", years_ago_ms), out_of("new", "2", now_ms - 1000),
                                out_of("old", "3", years_ago_ms)};
        (void)sf_sim_kafka_append(h.broker, tp, &outs[0], 1);
        sf_sim_kafka_compact(h.broker, tp, &(struct sf_sim_kafka_compaction){0}); /* closes the chunk */
        (void)sf_sim_kafka_append(h.broker, tp, &outs[1], 1);
        sf_sim_kafka_compact(h.broker, tp, &(struct sf_sim_kafka_compaction){0});
        (void)sf_sim_kafka_append(h.broker, tp, &outs[2], 1);
        sf_sim_kafka_sweep(h.broker, now_ms);
        history_log(&h, "log", 0);
        CHECK_STR(h.text, expected[i]);
        history_close(&h);
    }
}

static void negative_retention_keeps_everything(void **state)
{
    (void)state;
    setup_with("delete", "-1");
    outside_append(&h, "log", 0, "old", "1");
    sf_sim_kafka_sweep(h.broker, INT64_C(1700000000000));
    history_log(&h, "log", 0);
    CHECK_STR(h.text, "0ms log log/0 0..1 stable 1: | 0 old=1\n");
    history_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compaction_keeps_the_newest_of_each_key_and_all_offsets),
        cmocka_unit_test(trailing_marker_may_be_gone_case_97),
        cmocka_unit_test(log_of_markers_alone_is_caught_up_case_97),
        cmocka_unit_test(sweep_looks_at_record_timestamps_case_110),
        cmocka_unit_test(negative_retention_keeps_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
