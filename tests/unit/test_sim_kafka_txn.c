/* Transactions: outcomes, fencing, time-outs, answers that are lost before or after the effect, both protocols. */
#include "tests/unit/history.h"

static struct history h;

static void setup_with(const struct sf_sim_kafka_config *config)
{
    history_open(&h, config, 1);
    CHECK_EQ(sf_sim_kafka_create(h.broker, "out", 2, NULL, 0), SF_OK);
    CHECK_EQ(sf_sim_kafka_create(h.broker, "in", 1, NULL, 0), SF_OK);
    CHECK_EQ(sf_sim_kafka_create(h.broker, "owners", 1, NULL, 0), SF_OK);
}

static void setup_exact(bool is_v2)
{
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    config.is_v2 = is_v2;
    setup_with(&config);
}

static void fault(enum sf_sim_kafka_request request, enum sf_sim_kafka_effect effect, uint32_t count, int64_t delay_ms)
{
    sf_sim_kafka_fault(h.broker, &(struct sf_sim_kafka_fault){.transactional_id = "x", .request = request,
                                                              .effect = effect, .count = count,
                                                              .delay_us = delay_ms * 1000});
}

static void records_and_offsets_become_visible_together_b6(void **state)
{
    (void)state;
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    config.fetch = (struct sf_sim_latency){1000, 1000};
    config.produce = (struct sf_sim_latency){4000, 4000};
    config.commit = (struct sf_sim_latency){10000, 10000};
    config.marker = (struct sf_sim_latency){3000, 3000};
    setup_with(&config);
    history_observe(&h);
    struct party *a = history_party(&h, "A");
    party_producer(a, "x", "app");
    party_consumer(a, true);
    sf_producer_track(a->producer, party_tp(a, "out", 1));
    (void)sf_consumer_add(a->consumer, party_tp(a, "out", 0), 0);
    sf_producer_init(a->producer, 1);
    history_run(&h, 10);
    CHECK_EQ(sf_producer_begin(a->producer), SF_OK);
    party_write(a, "out", 0, "a", "1");
    party_write(a, "out", 1, "b", "2");
    party_write(a, "out", 0, "c", "3");
    party_offset(a, 2, "in", 7, "meta");
    sf_producer_commit(a->producer, 3);
    history_run(&h, 100);
    history_log(&h, "out", 0);
    CHECK_STR(h.text, "1ms A out/0 caught up at 0\n"
                      "10ms A init 1 ok\n"
                      "12ms - out/0 append 0+1 by 1.0 txn 1\n"
                      "12ms - out/0 append 1+1 by 1.0 txn 1\n"
                      "12ms - out/1 append 0+1 by 1.0 txn 1\n"
                      "20ms A offsets 2 ok\n"
                      "25ms - x 1.0 txn 1 commits\n"
                      "28ms - out/0 marker 2 txn 1 commit\n"
                      "28ms - out/1 marker 1 txn 1 commit\n"
                      "28ms - app in/0 offset 7 \"meta\" txn 1\n"
                      "29ms A out/0 0 a=1, next 1 end 3\n"
                      "29ms A out/0 1 c=3, next 3 end 3\n"
                      "29ms A out/0 caught up at 3\n"
                      "30ms A commit 3 ok: committed, sends 1, out/1 ends 1\n"
                      "100ms log out/0 0..3 stable 3: | 0 a=1 committed | 1 c=3 committed | 2 commit marker\n");
    history_close(&h);
}

static void answer_of_a_commit_may_come_before_its_markers(void **state)
{
    (void)state;
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    setup_with(&config);
    sf_sim_kafka_markers_delay(h.broker, "x", 5000);
    struct party *a = history_party(&h, "A");
    party_producer(a, "x", "app");
    party_consumer(a, true);
    (void)sf_consumer_add(a->consumer, party_tp(a, "out", 0), 0);
    party_begin_first(a);
    party_write(a, "out", 0, "a", "1");
    sf_producer_commit(a->producer, 2);
    history_run(&h, 1);
    CHECK_EQ(sf_producer_begin(a->producer), SF_OK);
    party_write(a, "out", 0, "b", "2"); /* waits until the last transaction is complete */
    sf_producer_commit(a->producer, 3);
    history_run(&h, 10);
    CHECK_STR(h.text, "0ms A out/0 caught up at 0\n"
                      "0ms A init 1 ok\n"
                      "0ms A commit 2 ok: committed, sends 1\n"
                      "5ms A out/0 0 a=1, next 2 end 2\n"
                      "5ms A out/0 caught up at 2\n"
                      "5ms A out/0 2 b=2, next 4 end 4\n"
                      "5ms A out/0 caught up at 4\n"
                      "5ms A commit 3 ok: committed, sends 1\n");
    history_close(&h);
}

static void aborted_records_stay_hidden_and_take_offsets(void **state)
{
    (void)state;
    setup_exact(false);
    struct party *a = history_party(&h, "A");
    party_producer(a, "x", "app");
    party_begin_first(a);
    party_write(a, "out", 0, "a", "1");
    party_offset(a, 2, "in", 7, NULL);
    history_run(&h, 1);
    party_write(a, "out", 0, "b", "2"); /* not sent any more */
    sf_producer_abort(a->producer, 3);
    history_run(&h, 2);
    CHECK_EQ(sf_producer_begin(a->producer), SF_OK);
    party_write(a, "out", 0, "c", "3");
    sf_producer_commit(a->producer, 4);
    history_run(&h, 3);
    history_log(&h, "out", 0);
    CHECK_EQ(sf_sim_kafka_committed(h.broker, "app", broker_tp(&h, "in", 0)).offset, SF_OFFSET_UNKNOWN);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "0ms A offsets 2 ok\n"
                      "1ms A abort 3 ok, sends 1\n"
                      "2ms A commit 4 ok: committed, sends 1\n"
                      "3ms log out/0 0..4 stable 4: | 0 a=1 aborted | 1 abort marker | 2 c=3 committed"
                      " | 3 commit marker\n");
    history_close(&h);
}

static void transaction_without_writes_costs_no_request(void **state)
{
    (void)state;
    setup_exact(false);
    history_observe(&h);
    struct party *a = history_party(&h, "A");
    party_producer(a, "x", "app");
    party_begin_first(a);
    sf_producer_commit(a->producer, 2);
    history_run(&h, 1);
    CHECK_EQ(sf_producer_begin(a->producer), SF_OK);
    sf_producer_abort(a->producer, 3);
    history_run(&h, 2);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "0ms A commit 2 ok: committed, sends 0\n"
                      "1ms A abort 3 ok, sends 0\n");
    history_close(&h);
}

static void newer_session_fences_the_older_and_aborts_what_it_left_case_92(void **state)
{
    (void)state;
    setup_exact(false);
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_producer(a, "x", "app");
    party_begin_first(a);
    party_write(a, "out", 0, "a", "1");
    history_run(&h, 1);
    party_producer(b, "x", "app");
    party_begin_first(b);
    history_log(&h, "out", 0);
    party_write(a, "out", 0, "zombie", "2");
    history_run(&h, 2);
    sf_producer_commit(a->producer, 3); /* given after the session died: still answered */
    history_run(&h, 3);
    party_write(b, "out", 0, "b", "3");
    sf_producer_commit(b->producer, 4);
    history_run(&h, 4);
    history_log(&h, "out", 0);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "1ms B init 1 ok\n"
                      "1ms log out/0 0..2 stable 2: | 0 a=1 aborted | 1 abort marker\n"
                      "1ms A producer failed SF_E_SESSION\n"
                      "2ms A commit 3 SF_E_SESSION: not committed, sends 0\n"
                      "3ms B commit 4 ok: committed, sends 1\n"
                      "4ms log out/0 0..4 stable 4: | 0 a=1 aborted | 1 abort marker | 2 b=3 committed"
                      " | 3 commit marker\n");
    history_close(&h);
}

static void fenced_at_the_end_is_unknown_to_the_session(void **state)
{
    (void)state;
    setup_exact(false);
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_producer(a, "x", "app");
    party_begin_first(a);
    party_write(a, "out", 0, "a", "1");
    history_run(&h, 1);
    party_producer(b, "x", "app");
    party_begin_first(b);
    sf_producer_commit(a->producer, 2);
    history_run(&h, 2);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "1ms B init 1 ok\n"
                      "1ms A commit 2 SF_E_SESSION: unknown, sends 1\n");
    history_close(&h);
}

/* Case 80: the coordinator's time-out aborts and takes the epoch away. */
static void timed_out_transaction_loses_the_session_case_80(void **state)
{
    (void)state;
    for (int is_v2 = 0; is_v2 < 2; is_v2++) {
        setup_exact(is_v2 == 1);
        struct party *a = history_party(&h, "A");
        party_producer(a, "x", "app");
        party_begin_first(a);
        party_write(a, "out", 0, "a", "1");
        history_run(&h, 60001);
        history_log(&h, "out", 0);
        sf_producer_commit(a->producer, 2);
        history_run(&h, 60002);
        sf_producer_close(a->producer);
        party_producer(a, "x", "app"); /* a new session goes on */
        party_begin_first(a);
        party_write(a, "out", 0, "a", "1");
        history_run(&h, 60003);
        CHECK(sf_sim_kafka_txn_timeout(h.broker, "x")); /* the same, by fault */
        party_write(a, "out", 0, "b", "2");
        history_run(&h, 60004);
        CHECK_STR(h.text, "0ms A init 1 ok\n"
                          "60001ms log out/0 0..2 stable 2: | 0 a=1 aborted | 1 abort marker\n"
                          "60001ms A commit 2 SF_E_SESSION: unknown, sends 1\n"
                          "60002ms A init 1 ok\n"
                          "60003ms A producer failed SF_E_SESSION\n");
        history_close(&h);
    }
}

static void end_lost_before_its_effect_is_sent_again_case_81_v2(void **state)
{
    (void)state;
    setup_exact(false);
    history_observe(&h);
    struct party *a = history_party(&h, "A");
    party_producer(a, "x", "app");
    party_begin_first(a);
    fault(SF_SIM_KAFKA_REQUEST_END_COMMIT, SF_SIM_KAFKA_LOST, 2, 0);
    party_write(a, "out", 0, "a", "1");
    sf_producer_commit(a->producer, 2);
    history_run(&h, 10000);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "0ms - out/0 append 0+1 by 1.0 txn 1\n"
                      "4000ms - x 1.0 txn 1 commits\n"
                      "4000ms - out/0 marker 1 txn 1 commit\n"
                      "4000ms A commit 2 ok: committed, sends 3\n");
    history_close(&h);
}

static void end_whose_answer_is_lost_commits_once_case_81_v1(void **state)
{
    (void)state;
    for (int is_v2 = 0; is_v2 < 2; is_v2++) {
        setup_exact(is_v2 == 1);
        history_observe(&h);
        struct party *a = history_party(&h, "A");
        party_producer(a, "x", "app");
        party_begin_first(a);
        fault(SF_SIM_KAFKA_REQUEST_END_COMMIT, SF_SIM_KAFKA_ANSWER_LOST, 1, 0);
        party_write(a, "out", 0, "a", "1");
        sf_producer_commit(a->producer, 2);
        history_run(&h, 10000);
        CHECK_STR(h.text, "0ms A init 1 ok\n"
                          "0ms - out/0 append 0+1 by 1.0 txn 1\n"
                          "0ms - x 1.0 txn 1 commits\n"
                          "0ms - out/0 marker 1 txn 1 commit\n"
                          "2000ms A commit 2 ok: committed, sends 2\n");
        history_close(&h);
    }
}

static void end_in_doubt_is_unknown_when_the_session_is_lost_b11(void **state)
{
    (void)state;
    setup_exact(false);
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_producer(a, "x", "app");
    party_begin_first(a);
    fault(SF_SIM_KAFKA_REQUEST_END_COMMIT, SF_SIM_KAFKA_ANSWER_LOST, 1, 0);
    party_write(a, "out", 0, "a", "1");
    sf_producer_commit(a->producer, 2);
    history_run(&h, 1);
    party_producer(b, "x", "app");
    party_begin_first(b);
    history_run(&h, 5000);
    history_log(&h, "out", 0);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "1ms B init 1 ok\n"
                      "2000ms A commit 2 SF_E_SESSION: unknown, sends 2\n"
                      "5000ms log out/0 0..2 stable 2: | 0 a=1 committed | 1 commit marker\n");
    history_close(&h);
}

/* B11's last point: a late duplicate of the end meets the next transaction. The old protocol tears it. */
static void late_end_tears_the_next_transaction_under_v1_b11(void **state)
{
    (void)state;
    setup_exact(false);
    history_observe(&h);
    struct party *a = history_party(&h, "A");
    party_producer(a, "x", "app");
    party_begin_first(a);
    fault(SF_SIM_KAFKA_REQUEST_END_COMMIT, SF_SIM_KAFKA_DELAYED, 1, 3000);
    party_write(a, "out", 0, "a", "1");
    sf_producer_commit(a->producer, 2);
    history_run(&h, 2500);
    CHECK_EQ(sf_producer_begin(a->producer), SF_OK);
    party_write(a, "out", 0, "b", "2");
    history_run(&h, 3500); /* at 3000 the stray commits half of the second transaction */
    party_write(a, "out", 0, "c", "3");
    history_run(&h, 3600);
    sf_producer_abort(a->producer, 3); /* too late for b */
    history_run(&h, 4000);
    history_log(&h, "out", 0);
    struct party *b = history_party(&h, "B");
    party_producer(b, "x", "app");
    party_begin_first(b); /* aborts nothing: the coordinator knows of nothing */
    party_write(b, "out", 0, "d", "4");
    sf_producer_commit(b->producer, 4);
    history_run(&h, 5000);
    history_log(&h, "out", 0); /* and its marker brings c along */
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "0ms - out/0 append 0+1 by 1.0 txn 1\n"
                      "2000ms - x 1.0 txn 1 commits\n"
                      "2000ms - out/0 marker 1 txn 1 commit\n"
                      "2000ms A commit 2 ok: committed, sends 2\n"
                      "2500ms - out/0 append 2+1 by 1.0 txn 2\n"
                      "3000ms - x 1.0 txn 2 commits\n"
                      "3000ms - out/0 marker 3 txn 2 commit\n"
                      "3500ms - out/0 append 4+1 by 1.0 txn 3\n" /* an open range that no coordinator knows */
                      "3600ms A abort 3 SF_E_SESSION, sends 1\n"
                      "4000ms log out/0 0..5 stable 4: | 0 a=1 committed | 1 commit marker | 2 b=2 committed"
                      " | 3 commit marker | 4 c=3 open\n"
                      "4000ms B init 1 ok\n"
                      "4000ms - out/0 append 5+1 by 1.1 txn 4\n"
                      "4000ms - x 1.1 txn 4 commits\n"
                      "4000ms - out/0 marker 6 txn 4 commit\n"
                      "4000ms B commit 4 ok: committed, sends 1\n"
                      "5000ms log out/0 0..7 stable 7: | 0 a=1 committed | 1 commit marker | 2 b=2 committed"
                      " | 3 commit marker | 4 c=3 committed | 5 d=4 committed | 6 commit marker\n");
    history_close(&h);
}

static void late_end_is_refused_under_v2_b11(void **state)
{
    (void)state;
    setup_exact(true);
    history_observe(&h);
    struct party *a = history_party(&h, "A");
    party_producer(a, "x", "app");
    party_begin_first(a);
    fault(SF_SIM_KAFKA_REQUEST_END_COMMIT, SF_SIM_KAFKA_DELAYED, 1, 3000);
    party_write(a, "out", 0, "a", "1");
    sf_producer_commit(a->producer, 2);
    history_run(&h, 2500);
    CHECK_EQ(sf_producer_begin(a->producer), SF_OK);
    party_write(a, "out", 0, "b", "2");
    history_run(&h, 3500);
    party_write(a, "out", 0, "c", "3");
    sf_producer_abort(a->producer, 3);
    history_run(&h, 4000);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "0ms - out/0 append 0+1 by 1.0 txn 1\n"
                      "2000ms - x 1.0 txn 1 commits\n"
                      "2000ms - out/0 marker 1 txn 1 commit\n"
                      "2000ms A commit 2 ok: committed, sends 2\n"
                      "2500ms - out/0 append 2+1 by 1.1 txn 2\n"
                      "3500ms - x 1.1 txn 2 aborts\n"
                      "3500ms - out/0 marker 3 txn 2 abort\n"
                      "3500ms A abort 3 ok, sends 1\n");
    history_close(&h);
}

static void end_delayed_for_less_than_the_time_out_is_only_late(void **state)
{
    (void)state;
    setup_exact(false);
    struct party *a = history_party(&h, "A");
    party_producer(a, "x", "app");
    party_begin_first(a);
    fault(SF_SIM_KAFKA_REQUEST_END_COMMIT, SF_SIM_KAFKA_DELAYED, 1, 1500);
    party_write(a, "out", 0, "a", "1");
    sf_producer_commit(a->producer, 2);
    history_run(&h, 10000);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "1500ms A commit 2 ok: committed, sends 1\n");
    history_close(&h);
}

static void repeated_produce_is_not_appended_twice(void **state)
{
    (void)state;
    setup_exact(false);
    history_observe(&h);
    struct party *a = history_party(&h, "A");
    party_producer(a, "x", "app");
    party_begin_first(a);
    fault(SF_SIM_KAFKA_REQUEST_PRODUCE, SF_SIM_KAFKA_ANSWER_LOST, 1, 0);
    fault(SF_SIM_KAFKA_REQUEST_PRODUCE, SF_SIM_KAFKA_LOST, 1, 0);
    sf_producer_track(a->producer, party_tp(a, "out", 0));
    party_write(a, "out", 0, "a", "1");
    history_run(&h, 1);
    party_write(a, "out", 0, "b", "2");
    sf_producer_commit(a->producer, 2);
    history_run(&h, 10000);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "0ms - out/0 append 0+1 by 1.0 txn 1\n"
                      "4000ms - out/0 append 1+1 by 1.0 txn 1\n"
                      "4000ms - x 1.0 txn 1 commits\n"
                      "4000ms - out/0 marker 2 txn 1 commit\n"
                      "4000ms A commit 2 ok: committed, sends 1, out/0 ends 2\n");
    history_close(&h);
}

static void repeated_produce_is_answered_with_its_own_end(void **state)
{
    (void)state;
    setup_exact(false);
    struct party *a = history_party(&h, "A");
    party_producer(a, NULL, NULL);
    sf_producer_track(a->producer, party_tp(a, "out", 0));
    sf_sim_kafka_fault(h.broker, &(struct sf_sim_kafka_fault){.request = SF_SIM_KAFKA_REQUEST_PRODUCE,
                                                              .effect = SF_SIM_KAFKA_ANSWER_LOST, .count = 1});
    party_write(a, "out", 0, "a", "1");
    sf_producer_flush(a->producer, 1);
    history_run(&h, 1);
    outside_append(&h, "out", 0, "b", "2");
    history_run(&h, 5000);
    CHECK_STR(h.text, "2000ms A flush 1 ok, out/0 ends 1\n");
    history_close(&h);
}

static void writes_wait_for_the_answer_of_the_request_before(void **state)
{
    (void)state;
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    config.produce = (struct sf_sim_latency){8000, 8000};
    setup_with(&config);
    history_observe(&h);
    struct party *a = history_party(&h, "A");
    party_producer(a, NULL, NULL);
    party_write(a, "out", 0, "a", "1");
    history_run(&h, 1);
    party_write(a, "out", 0, "b", "2"); /* goes along */
    history_run(&h, 5);
    party_write(a, "out", 0, "c", "3");
    sf_producer_flush(a->producer, 1);
    history_run(&h, 100);
    CHECK_STR(h.text, "4ms - out/0 append 0+1 by 1.0 txn 0\n"
                      "4ms - out/0 append 1+1 by 1.0 txn 0\n"
                      "12ms - out/0 append 2+1 by 1.0 txn 0\n"
                      "16ms A flush 1 ok\n");
    history_close(&h);
}

static void record_on_the_wire_is_aborted_with_the_rest(void **state)
{
    (void)state;
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    config.produce = (struct sf_sim_latency){8000, 8000};
    setup_with(&config);
    history_observe(&h);
    struct party *a = history_party(&h, "A");
    party_producer(a, "x", "app");
    party_begin_first(a);
    party_write(a, "out", 0, "a", "1");
    history_run(&h, 2);
    party_write(a, "out", 1, "b", "2"); /* not sent when the abort is asked for */
    history_run(&h, 3);
    sf_producer_abort(a->producer, 2);
    history_run(&h, 100);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "4ms - out/0 append 0+1 by 1.0 txn 1\n"
                      "8ms - x 1.0 txn 1 aborts\n"
                      "8ms - out/0 marker 1 txn 1 abort\n"
                      "8ms A abort 2 ok, sends 1\n");
    history_close(&h);
}

static void record_larger_than_the_broker_takes_is_not_delivered(void **state)
{
    (void)state;
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    config.record_bytes_max = 10;
    setup_with(&config);
    struct party *a = history_party(&h, "A");
    party_producer(a, "x", "app");
    party_begin_first(a);
    party_write(a, "out", 0, "12345", "67890");
    history_run(&h, 1);
    party_write(a, "out", 1, "12345", "678901");
    sf_producer_commit(a->producer, 2);
    history_run(&h, 2);
    sf_producer_abort(a->producer, 3);
    history_run(&h, 3);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "1ms A commit 2 SF_E_DELIVERY: not committed, sends 0\n"
                      "2ms A abort 3 ok, sends 1\n");
    history_close(&h);
}

static void old_epoch_is_refused_by_coordinator_and_leader_x12(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++) {
        setup_exact(false);
        struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
        party_producer(a, "x", "app");
        party_begin_first(a);
        party_producer(b, "x", "app");
        party_begin_first(b);
        if (how == 0)
            party_write(a, "out", 1, "zombie", "1"); /* its first to the partition */
        else
            party_offset(a, 7, "in", 5, NULL);
        history_run(&h, 1);
        history_log(&h, "out", 1);
        CHECK_EQ(sf_sim_kafka_committed(h.broker, "app", broker_tp(&h, "in", 0)).pending, SF_OFFSET_UNKNOWN);
        CHECK_STR(h.text, how == 0 ? "0ms A init 1 ok\n"
                                     "0ms B init 1 ok\n"
                                     "0ms A producer failed SF_E_SESSION\n"
                                     "1ms log out/1 0..0 stable 0:\n"
                                   : "0ms A init 1 ok\n"
                                     "0ms B init 1 ok\n"
                                     "0ms A offsets 7 SF_E_SESSION\n"
                                     "0ms A producer failed SF_E_SESSION\n"
                                     "1ms log out/1 0..0 stable 0:\n");
        history_close(&h);
    }
}

/* A leader hears of the new epoch by the marker. What it takes from a zombie until then goes with the rest. */
static void zombies_record_before_the_marker_is_aborted_with_it_x12(void **state)
{
    (void)state;
    setup_exact(false);
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_producer(a, "x", "app");
    party_begin_first(a);
    party_write(a, "out", 0, "a", "1");
    history_run(&h, 1);
    sf_sim_kafka_markers_delay(h.broker, "x", 10000);
    party_producer(b, "x", "app");
    sf_producer_init(b->producer, 1);
    history_run(&h, 5);
    party_write(a, "out", 0, "zombie", "2");
    history_run(&h, 12);
    party_write(a, "out", 0, "zombie", "3");
    history_run(&h, 20);
    history_log(&h, "out", 0);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "11ms B init 1 ok\n"
                      "12ms A producer failed SF_E_SESSION\n"
                      "20ms log out/0 0..3 stable 3: | 0 a=1 aborted | 1 zombie=2 aborted | 2 abort marker\n");
    history_close(&h);
}

static void session_opens_when_what_the_older_left_is_settled_case_84(void **state)
{
    (void)state;
    setup_exact(false);
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_producer(a, "x", "app");
    party_begin_first(a);
    sf_sim_kafka_markers_delay(h.broker, "x", 3000000);
    fault(SF_SIM_KAFKA_REQUEST_END_COMMIT, SF_SIM_KAFKA_ANSWER_LOST, 1, 0);
    party_write(a, "out", 0, "a", "1");
    sf_producer_commit(a->producer, 2);
    history_run(&h, 10);
    party_producer(b, "x", "app");
    sf_producer_init(b->producer, 1);
    history_run(&h, 5000);
    history_log(&h, "out", 0);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "3000ms A commit 2 SF_E_SESSION: unknown, sends 3\n"
                      "3000ms B init 1 ok\n"
                      "5000ms log out/0 0..2 stable 2: | 0 a=1 committed | 1 commit marker\n");
    history_close(&h);
}

static void repeated_end_waits_for_the_markers(void **state)
{
    (void)state;
    for (int is_v2 = 0; is_v2 < 2; is_v2++) {
        setup_exact(is_v2 == 1);
        struct party *a = history_party(&h, "A");
        party_producer(a, "x", "app");
        party_begin_first(a);
        sf_sim_kafka_markers_delay(h.broker, "x", 3000000);
        fault(SF_SIM_KAFKA_REQUEST_END_COMMIT, SF_SIM_KAFKA_ANSWER_LOST, 1, 0);
        party_write(a, "out", 0, "a", "1");
        sf_producer_commit(a->producer, 2);
        history_run(&h, 5000);
        CHECK_STR(h.text, "0ms A init 1 ok\n"
                          "3000ms A commit 2 ok: committed, sends 3\n");
        history_close(&h);
    }
}

static void failed_delivery_refuses_the_commit_b14(void **state)
{
    (void)state;
    setup_exact(false);
    struct party *a = history_party(&h, "A");
    party_producer(a, "x", "app");
    party_begin_first(a);
    fault(SF_SIM_KAFKA_REQUEST_PRODUCE, SF_SIM_KAFKA_REFUSED, 1, 0);
    party_write(a, "out", 0, "a", "1");
    party_write(a, "out", 1, "b", "2");
    history_run(&h, 1);
    sf_producer_commit(a->producer, 2);
    history_run(&h, 2);
    sf_producer_abort(a->producer, 3);
    history_run(&h, 3);
    CHECK_EQ(sf_producer_begin(a->producer), SF_OK);
    party_write(a, "out", 0, "a", "1");
    sf_producer_commit(a->producer, 4);
    history_run(&h, 4);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "0ms A producer failed SF_E_DELIVERY\n"
                      "1ms A commit 2 SF_E_DELIVERY: not committed, sends 0\n"
                      "2ms A abort 3 ok, sends 1\n"
                      "3ms A commit 4 ok: committed, sends 1\n");
    history_close(&h);
}

static void leader_away_delays_delivery_or_fails_it(void **state)
{
    (void)state;
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    config.delivery_timeout_us = 5000000;
    setup_with(&config);
    struct party *a = history_party(&h, "A");
    party_producer(a, "x", "app");
    party_begin_first(a);
    struct sf_tp tp = broker_tp(&h, "out", 0);
    sf_sim_kafka_mode(h.broker, tp, SF_SIM_KAFKA_MODE_NO_LEADER);
    party_write(a, "out", 0, "a", "1");
    sf_producer_commit(a->producer, 2);
    history_run(&h, 3000);
    sf_sim_kafka_mode(h.broker, tp, SF_SIM_KAFKA_MODE_OK);
    history_run(&h, 4000);
    sf_sim_kafka_mode(h.broker, tp, SF_SIM_KAFKA_MODE_NO_LEADER);
    CHECK_EQ(sf_producer_begin(a->producer), SF_OK);
    party_write(a, "out", 0, "b", "2");
    sf_producer_commit(a->producer, 3);
    history_run(&h, 20000);
    sf_producer_abort(a->producer, 4);
    history_run(&h, 20001);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "3000ms A commit 2 ok: committed, sends 1\n"
                      "9000ms A commit 3 SF_E_DELIVERY: not committed, sends 0\n"
                      "20000ms A abort 4 ok, sends 0\n");
    history_close(&h);
}

static void delivery_fails_at_the_latest_with_the_transaction_time_out(void **state)
{
    (void)state;
    setup_exact(false); /* delivery time-out 120 s, transaction time-out 60 s */
    struct party *a = history_party(&h, "A");
    party_producer(a, "x", "app");
    party_begin_first(a);
    sf_sim_kafka_mode(h.broker, broker_tp(&h, "out", 0), SF_SIM_KAFKA_MODE_NO_LEADER);
    party_write(a, "out", 0, "a", "1");
    history_run(&h, 200000);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "60000ms A producer failed SF_E_DELIVERY\n");
    history_close(&h);
}

static void marker_waits_for_its_leader(void **state)
{
    (void)state;
    setup_exact(false);
    struct party *a = history_party(&h, "A");
    party_producer(a, "x", "app");
    party_begin_first(a);
    party_write(a, "out", 0, "a", "1");
    party_write(a, "out", 1, "b", "2");
    history_run(&h, 1);
    sf_sim_kafka_mode(h.broker, broker_tp(&h, "out", 0), SF_SIM_KAFKA_MODE_NO_LEADER);
    sf_producer_commit(a->producer, 2);
    history_run(&h, 2);
    history_log(&h, "out", 0);
    history_log(&h, "out", 1);
    sf_sim_kafka_mode(h.broker, broker_tp(&h, "out", 0), SF_SIM_KAFKA_MODE_OK);
    history_run(&h, 3);
    history_log(&h, "out", 0);
    CHECK_STR(h.text, "0ms A init 1 ok\n"
                      "1ms A commit 2 ok: committed, sends 1\n"
                      "2ms log out/0 0..1 stable 0: | 0 a=1 committed\n"
                      "2ms log out/1 0..2 stable 2: | 0 b=2 committed | 1 commit marker\n"
                      "3ms log out/0 0..2 stable 2: | 0 a=1 committed | 1 commit marker\n");
    history_close(&h);
}

static void idempotent_producer_flushes_without_transactions_b10(void **state)
{
    (void)state;
    setup_exact(false);
    struct party *a = history_party(&h, "A");
    party_producer(a, NULL, NULL);
    sf_producer_track(a->producer, party_tp(a, "out", 1));
    party_write(a, "out", 0, "a", "1");
    party_write(a, "out", 1, "b", "2");
    sf_producer_flush(a->producer, 1);
    history_run(&h, 1);
    sf_sim_kafka_fault(h.broker, &(struct sf_sim_kafka_fault){.request = SF_SIM_KAFKA_REQUEST_PRODUCE,
                                                              .effect = SF_SIM_KAFKA_REFUSED, .count = 1});
    party_write(a, "out", 0, "c", "3");
    sf_producer_flush(a->producer, 2);
    history_run(&h, 2);
    sf_producer_flush(a->producer, 3);
    history_run(&h, 3);
    history_log(&h, "out", 0);
    CHECK_STR(h.text, "0ms A flush 1 ok, out/1 ends 1\n"
                      "1ms A flush 2 SF_E_DELIVERY\n"
                      "2ms A flush 3 ok\n"
                      "3ms log out/0 0..1 stable 1: | 0 a=1\n");
    history_close(&h);
}

static void full_queue_takes_a_prefix_and_tells_of_room(void **state)
{
    (void)state;
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    config.produce = (struct sf_sim_latency){4000, 4000};
    setup_with(&config);
    struct party *a = history_party(&h, "A");
    struct sf_error error;
    struct sf_producer_config producer_config = {.queue_bytes_max = 250, .record_bytes_max = 1000};
    CHECK_EQ(sf_kafka_producer_open(a->kafka, &producer_config, &a->producer, &error), SF_OK);
    struct sf_out outs[5];
    for (uint32_t i = 0; i < 5; i++) outs[i] = out_of("k", "v", 1);
    uint32_t taken = sf_producer_write(a->producer, party_tp(a, "out", 0), outs, 5);
    CHECK(taken > 0 && taken < 5);
    CHECK_EQ(sf_producer_write(a->producer, party_tp(a, "out", 1), outs, 1), 0);
    struct sf_producer_event event;
    history_run(&h, 3);
    CHECK_EQ(sf_producer_poll(a->producer, &event, 1), 0);
    history_run(&h, 4);
    CHECK_EQ(sf_producer_poll(a->producer, &event, 1), 1);
    CHECK_EQ(event.kind, SF_PRODUCER_ROOM);
    CHECK_EQ(sf_producer_write(a->producer, party_tp(a, "out", 0), outs + taken, 5 - taken), 5 - taken);
    struct sf_out large = {.value = {(const uint8_t *)h.text, 1000}, .ts_ms = 1};
    history_run(&h, 20);
    CHECK_EQ(sf_producer_write(a->producer, party_tp(a, "out", 0), &large, 1), 1); /* alone, it must go */
    history_run(&h, 30);
    CHECK_EQ(sf_sim_kafka_log_end(h.broker, broker_tp(&h, "out", 0), SF_LOG_END), 6);
    history_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_and_offsets_become_visible_together_b6),
        cmocka_unit_test(answer_of_a_commit_may_come_before_its_markers),
        cmocka_unit_test(aborted_records_stay_hidden_and_take_offsets),
        cmocka_unit_test(transaction_without_writes_costs_no_request),
        cmocka_unit_test(newer_session_fences_the_older_and_aborts_what_it_left_case_92),
        cmocka_unit_test(fenced_at_the_end_is_unknown_to_the_session),
        cmocka_unit_test(timed_out_transaction_loses_the_session_case_80),
        cmocka_unit_test(end_lost_before_its_effect_is_sent_again_case_81_v2),
        cmocka_unit_test(end_whose_answer_is_lost_commits_once_case_81_v1),
        cmocka_unit_test(end_in_doubt_is_unknown_when_the_session_is_lost_b11),
        cmocka_unit_test(late_end_tears_the_next_transaction_under_v1_b11),
        cmocka_unit_test(late_end_is_refused_under_v2_b11),
        cmocka_unit_test(end_delayed_for_less_than_the_time_out_is_only_late),
        cmocka_unit_test(repeated_produce_is_not_appended_twice),
        cmocka_unit_test(repeated_produce_is_answered_with_its_own_end),
        cmocka_unit_test(writes_wait_for_the_answer_of_the_request_before),
        cmocka_unit_test(record_on_the_wire_is_aborted_with_the_rest),
        cmocka_unit_test(record_larger_than_the_broker_takes_is_not_delivered),
        cmocka_unit_test(old_epoch_is_refused_by_coordinator_and_leader_x12),
        cmocka_unit_test(zombies_record_before_the_marker_is_aborted_with_it_x12),
        cmocka_unit_test(session_opens_when_what_the_older_left_is_settled_case_84),
        cmocka_unit_test(repeated_end_waits_for_the_markers),
        cmocka_unit_test(delivery_fails_at_the_latest_with_the_transaction_time_out),
        cmocka_unit_test(failed_delivery_refuses_the_commit_b14),
        cmocka_unit_test(leader_away_delays_delivery_or_fails_it),
        cmocka_unit_test(marker_waits_for_its_leader),
        cmocka_unit_test(idempotent_producer_flushes_without_transactions_b10),
        cmocka_unit_test(full_queue_takes_a_prefix_and_tells_of_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
