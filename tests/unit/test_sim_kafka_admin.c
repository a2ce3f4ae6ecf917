/* Admin commands: topics, watches, stable offsets, ends, commits outside transactions, truncation. */
#include "tests/unit/history.h"

static struct history h;

static void setup_exact(void)
{
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    history_open(&h, &config, 1);
    CHECK_EQ(sf_sim_kafka_create(h.broker, "in", 2, NULL, 0), SF_OK);
    CHECK_EQ(sf_sim_kafka_create(h.broker, "owners", 1, NULL, 0), SF_OK);
}

static void topics_are_made_once_and_described(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A");
    party_admin(a);
    uint32_t topic = sf_kafka_topic(a->kafka, "changelog");
    struct sf_topic_setting settings[] = {{"retention.ms", "-1"}, {"cleanup.policy", "compact"}};
    struct sf_topic_spec spec = {.topic = topic, .partition_count = 4, .replication = -1, .settings = settings,
                                 .setting_count = 2};
    sf_admin_describe(a->admin, 1, topic);
    sf_admin_create(a->admin, 2, &spec);
    sf_admin_create(a->admin, 3, &spec);
    spec.partition_count = 5;
    sf_admin_create(a->admin, 4, &spec);
    sf_admin_describe(a->admin, 5, topic);
    history_run(&h, 1);
    CHECK_STR(h.text, "0ms A admin 1 SF_E_UNKNOWN_TOPIC\n"
                      "0ms A admin 2 ok, partitions 4\n"
                      "0ms A admin 3 ok, partitions 4\n"
                      "0ms A admin 4 SF_E_EXISTS, partitions 5\n"
                      "0ms A admin 5 ok, partitions 4, cleanup.policy=compact, retention.ms=-1\n");
    history_close(&h);
}

static void watch_tells_each_new_partition_count_g4(void **state)
{
    (void)state;
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    config.admin = (struct sf_sim_latency){4000, 4000};
    history_open(&h, &config, 1);
    struct party *a = history_party(&h, "A");
    party_admin(a);
    sf_admin_watch(a->admin, 1, sf_kafka_topic(a->kafka, "in"));
    history_run(&h, 10);
    CHECK_EQ(sf_sim_kafka_create(h.broker, "in", 2, NULL, 0), SF_OK);
    history_run(&h, 11);
    sf_sim_kafka_add_partitions(h.broker, sf_sim_kafka_topic(h.broker, "in"), 3); /* while the answer is on its way */
    history_run(&h, 30);
    CHECK_STR(h.text, "4ms A admin 1 SF_E_UNKNOWN_TOPIC\n"
                      "12ms A admin 1 ok, partitions 2\n"
                      "14ms A admin 1 ok, partitions 3\n");
    history_close(&h);
}

static void committed_offsets_wait_while_one_is_undecided_case_84(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_producer(a, "x", "app");
    party_begin_first(a);
    party_offset(a, 2, "in", 5, "five");
    sf_producer_commit(a->producer, 3);
    history_run(&h, 1);
    CHECK_EQ(sf_producer_begin(a->producer), SF_OK);
    party_offset(a, 4, "in", 8, "eight");
    sf_sim_kafka_markers_delay(h.broker, "x", 2990000); /* the coordinator completes late */
    sf_producer_commit(a->producer, 5);
    history_run(&h, 10);
    struct sf_tp tps[2] = {party_tp(b, "in", 0), party_tp(b, "in", 1)};
    CHECK_EQ(sf_sim_kafka_committed(h.broker, "app", broker_tp(&h, "in", 0)).offset, 5);
    CHECK_EQ(sf_sim_kafka_committed(h.broker, "app", broker_tp(&h, "in", 0)).pending, 8);
    party_admin(b);
    sf_admin_committed(b->admin, 1, "app", tps, 2);
    sf_admin_ends(b->admin, 2, SF_LOG_END, tps, 2);
    sf_admin_committed(b->admin, 3, "other", tps, 1);
    history_run(&h, 5000);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "0ms A offsets 2 ok\n"
                      "0ms A commit 3 ok: committed, sends 1\n"
                      "1ms A offsets 4 ok\n"
                      "1ms A commit 5 ok: committed, sends 1\n"
                      "10ms B admin 2 ok, in/0 0, in/1 0\n"
                      "10ms B admin 3 ok, in/0 SF_NOT_FOUND\n"
                      "2991ms B admin 1 ok, in/0 8 \"eight\", in/1 SF_NOT_FOUND\n");
    history_close(&h);
}

static void three_ends_of_a_log_differ_case_99(void **state)
{
    (void)state;
    setup_exact();
    struct sf_tp tp = broker_tp(&h, "in", 0);
    for (int i = 0; i < 5; i++) outside_append(&h, "in", 0, "a", "1");
    sf_sim_kafka_truncate(h.broker, tp, 2);
    struct sf_sim_kafka_txn *txn = sf_sim_kafka_foreign_begin(h.broker);
    struct sf_out out = out_of("b", "2", 1);
    (void)sf_sim_kafka_foreign_append(h.broker, txn, tp, &out, 1);
    outside_append(&h, "in", 0, "c", "3");
    struct party *a = history_party(&h, "A");
    party_admin(a);
    struct sf_tp tps[3] = {party_tp(a, "in", 0), party_tp(a, "in", 1), party_tp(a, "in", 9)};
    sf_admin_ends(a->admin, 1, SF_LOG_START, tps, 3);
    sf_admin_ends(a->admin, 2, SF_LOG_STABLE_END, tps, 1);
    sf_admin_ends(a->admin, 3, SF_LOG_END, tps, 1);
    history_run(&h, 1);
    sf_sim_kafka_mode(h.broker, tp, SF_SIM_KAFKA_MODE_NO_LEADER);
    sf_admin_ends(a->admin, 4, SF_LOG_STABLE_END, tps, 2);
    sf_admin_ends(a->admin, 5, SF_LOG_END, &tps[1], 1);
    history_run(&h, 2);
    sf_sim_kafka_foreign_end(h.broker, txn, false);
    sf_sim_kafka_mode(h.broker, tp, SF_SIM_KAFKA_MODE_OK);
    history_run(&h, 3);
    CHECK_STR(h.text, "0ms A admin 1 ok, in/0 2, in/1 0, in/9 SF_E_UNKNOWN_TOPIC\n"
                      "0ms A admin 2 ok, in/0 5\n"
                      "0ms A admin 3 ok, in/0 7\n"
                      "1ms A admin 5 ok, in/1 0\n"
                      "2ms A admin 4 ok, in/0 8, in/1 0\n");
    history_close(&h);
}

static void plain_commits_need_the_members_proof_or_an_empty_group_b10(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_admin(a);
    party_member(a, "app", NULL);
    struct sf_offset_commit commit = {.tp = party_tp(a, "in", 1), .offset = 9, .metadata = slice_of("")};
    sf_admin_commit(a->admin, 1, "app", (struct sf_member_token){0}, &commit, 1);
    history_run(&h, 1);
    sf_admin_commit(a->admin, 2, "app", (struct sf_member_token){0}, &commit, 1);
    struct sf_member_token token = sf_consumer_token(a->consumer);
    commit.offset = 10;
    sf_admin_commit(a->admin, 3, "app", token, &commit, 1);
    history_run(&h, 2);
    party_member(b, "app", NULL);
    history_run(&h, 3);
    sf_admin_commit(a->admin, 4, "app", token, &commit, 1);
    history_run(&h, 4);
    sf_consumer_close(a->consumer);
    sf_consumer_close(b->consumer);
    history_run(&h, 5);
    commit.offset = 0;
    sf_admin_commit(a->admin, 5, "app", (struct sf_member_token){0}, &commit, 1);
    sf_admin_committed(a->admin, 6, "app", &commit.tp, 1);
    history_run(&h, 6);
    CHECK_STR(h.text, "0ms A granted owners/0\n"
                      "0ms A admin 1 SF_E_TXN\n" /* the join came first */
                      "1ms A admin 2 SF_E_TXN\n"
                      "1ms A admin 3 ok\n"
                      "3ms A admin 4 SF_E_TXN\n"
                      "5ms A admin 5 ok\n"
                      "5ms A admin 6 ok, in/1 0 \"\"\n");
    history_close(&h);
}

static void answers_keep_the_order_of_commands(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 10; seed++) {
        struct sf_sim_kafka_config config = sf_sim_kafka_config_default();
        config.admin = (struct sf_sim_latency){0, 50000};
        history_open(&h, &config, seed);
        struct party *a = history_party(&h, "A");
        party_admin(a);
        a->is_held_back = true;
        for (uint64_t tag = 1; tag <= 8; tag++) sf_admin_describe(a->admin, tag, sf_kafka_topic(a->kafka, "in"));
        uint64_t last = 0;
        struct sf_admin_event event;
        for (int64_t ms = 1; ms < 60; ms++) {
            history_run(&h, ms);
            while (sf_admin_poll(a->admin, &event, 1) > 0) CHECK_EQ(event.tag, ++last);
        }
        CHECK_EQ(last, 8);
        history_close(&h);
    }
}

static void truncation_moves_the_log_start(void **state)
{
    (void)state;
    setup_exact();
    for (int i = 0; i < 5; i++) outside_append(&h, "in", 0, "a", "1");
    struct party *a = history_party(&h, "A");
    party_admin(a);
    struct sf_tp tp = party_tp(a, "in", 0), nowhere = party_tp(a, "in", 7);
    sf_admin_truncate(a->admin, 1, tp, 3);
    sf_admin_truncate(a->admin, 2, tp, 2);
    sf_admin_truncate(a->admin, 3, tp, 6);
    sf_admin_truncate(a->admin, 4, nowhere, 0);
    sf_admin_ends(a->admin, 5, SF_LOG_START, &tp, 1);
    history_run(&h, 1);
    CHECK_STR(h.text, "0ms A admin 1 ok\n"
                      "0ms A admin 2 ok\n"
                      "0ms A admin 3 SF_E_RANGE\n"
                      "0ms A admin 4 SF_E_UNKNOWN_TOPIC\n"
                      "0ms A admin 5 ok, in/0 3\n");
    history_close(&h);
}

static void topics_have_numbers_per_handle_in_call_order(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    CHECK_EQ(sf_kafka_topic(a->kafka, "z"), 0);
    CHECK_EQ(sf_kafka_topic(a->kafka, "in"), 1);
    CHECK_EQ(sf_kafka_topic(a->kafka, "z"), 0);
    CHECK_EQ(sf_kafka_topic(b->kafka, "in"), 0);
    CHECK_STR(sf_kafka_topic_name(a->kafka, 1), "in");
    CHECK_STR(sf_kafka_topic_name(b->kafka, 0), "in");
    history_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topics_are_made_once_and_described),
        cmocka_unit_test(watch_tells_each_new_partition_count_g4),
        cmocka_unit_test(committed_offsets_wait_while_one_is_undecided_case_84),
        cmocka_unit_test(three_ends_of_a_log_differ_case_99),
        cmocka_unit_test(plain_commits_need_the_members_proof_or_an_empty_group_b10),
        cmocka_unit_test(answers_keep_the_order_of_commands),
        cmocka_unit_test(truncation_moves_the_log_start),
        cmocka_unit_test(topics_have_numbers_per_handle_in_call_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
