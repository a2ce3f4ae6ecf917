/* What a crash, a close or a freeze leaves on the wire; seeds. */
#include "tests/unit/history.h"

static struct history h;

/* Round trips of 8 ms: a request is on the wire after 2, at the broker after 4, answered after 8. */
static void setup_slow(void)
{
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    config.produce = (struct sf_sim_latency){8000, 8000};
    config.commit = (struct sf_sim_latency){8000, 8000};
    config.admin = (struct sf_sim_latency){8000, 8000};
    history_open(&h, &config, 1);
    CHECK_EQ(sf_sim_kafka_create(h.broker, "out", 2, NULL, 0), SF_OK);
    CHECK_EQ(sf_sim_kafka_create(h.broker, "in", 1, NULL, 0), SF_OK);
    history_observe(&h);
}

static struct party *party_that_is_open(const char *name)
{
    struct party *a = history_party(&h, name);
    party_producer(a, "x", "app");
    sf_producer_init(a->producer, 1);
    int64_t now_ms = sf_sim_world_elapsed_us(&h.world) / 1000;
    history_run(&h, now_ms + 20);
    CHECK_EQ(sf_producer_begin(a->producer), SF_OK);
    history_clear(&h);
    return a;
}

static void what_was_not_sent_dies_with_the_process(void **state)
{
    (void)state;
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        for (int64_t after_ms = 1; after_ms <= 3; after_ms += 2) {
            setup_slow();
            struct party *a = party_that_is_open("A");
            party_write(a, "out", 0, "a", "1");
            history_run(&h, 20 + after_ms);
            if (is_closed == 1)
                sf_producer_close(a->producer);
            else
                sf_sim_instance_destroy(a->instance); /* its memory too: the request lives on */
            history_run(&h, 100);
            CHECK_STR(h.text, after_ms == 1 ? "" : "24ms - out/0 append 0+1 by 1.0 txn 1\n");
            history_close(&h);
        }
    }
}

static void planned_crash_at_the_commit_falls_at_each_stage(void **state)
{
    (void)state;
    static const char *const expected[] = {
        /* given: swallowed; the record was on its way, and was not sent yet */
        "100ms log out/0 0..0 stable 0:\n",
        /* sent: the end arrives although nobody hears the answer */
        "24ms - out/0 append 0+1 by 1.0 txn 1\n"
        "32ms - x 1.0 txn 1 commits\n"
        "32ms - out/0 marker 1 txn 1 commit\n"
        "100ms log out/0 0..2 stable 2: | 0 a=1 committed | 1 commit marker\n",
        /* applied */
        "24ms - out/0 append 0+1 by 1.0 txn 1\n"
        "32ms - x 1.0 txn 1 commits\n"
        "32ms - out/0 marker 1 txn 1 commit\n"
        "100ms log out/0 0..2 stable 2: | 0 a=1 committed | 1 commit marker\n"};
    static const int64_t dead_since_ms[] = {20, 28, 32};
    for (int stage = SF_SIM_CRASH_GIVEN; stage <= SF_SIM_CRASH_APPLIED; stage++) {
        setup_slow();
        struct party *a = party_that_is_open("A");
        CHECK_EQ(a->instance->command_count, 1); /* init */
        sf_sim_instance_crash_at(a->instance, 3, (enum sf_sim_crash_stage)stage);
        party_write(a, "out", 0, "a", "1");
        sf_producer_commit(a->producer, 2);
        if (dead_since_ms[stage] > 20) {
            history_run(&h, dead_since_ms[stage] - 1);
            CHECK(!a->instance->is_dead);
        }
        history_run(&h, dead_since_ms[stage]);
        CHECK(a->instance->is_dead);
        sf_producer_abort(a->producer, 3); /* swallowed */
        history_run(&h, 100);
        history_log(&h, "out", 0);
        CHECK_STR(h.text, expected[stage]);
        history_close(&h);
    }
}

/* The end of a dead process is on the wire when the restarted one opens its session: whichever comes first wins. */
static void end_on_the_wire_meets_the_next_session(void **state)
{
    (void)state;
    setup_slow();
    struct party *a = party_that_is_open("A");
    sf_sim_instance_crash_at(a->instance, 3, SF_SIM_CRASH_SENT);
    party_write(a, "out", 0, "a", "1");
    sf_producer_commit(a->producer, 2);
    sf_sim_kafka_fault(h.broker, &(struct sf_sim_kafka_fault){.request = SF_SIM_KAFKA_REQUEST_END_COMMIT,
                                                              .effect = SF_SIM_KAFKA_DELAYED, .count = 1,
                                                              .delay_us = 3000000});
    history_run(&h, 50);
    struct party *b = history_party(&h, "B");
    party_producer(b, "x", "app");
    sf_producer_init(b->producer, 1);
    history_run(&h, 5000);
    history_log(&h, "out", 0);
    CHECK_STR(h.text, "24ms - out/0 append 0+1 by 1.0 txn 1\n"
                      "54ms - x 1.0 txn 1 aborts\n"
                      "54ms - out/0 marker 1 txn 1 abort\n"
                      "58ms B init 1 ok\n"
                      "5000ms log out/0 0..2 stable 2: | 0 a=1 aborted | 1 abort marker\n");
    history_close(&h);
}

static void crash_between_two_commands_of_one_step_loses_the_second(void **state)
{
    (void)state;
    setup_slow();
    struct party *a = party_that_is_open("A");
    sf_sim_instance_crash_at(a->instance, 2, SF_SIM_CRASH_SENT);
    party_write(a, "out", 0, "a", "1"); /* on the wire, and dead */
    CHECK(a->instance->is_dead);
    party_write(a, "out", 1, "b", "2");
    sf_producer_commit(a->producer, 2);
    history_run(&h, 100);
    CHECK_STR(h.text, "24ms - out/0 append 0+1 by 1.0 txn 1\n");
    CHECK_EQ(a->instance->command_count, 2);
    history_close(&h);
}

static void frozen_process_sends_nothing_and_hears_nothing(void **state)
{
    (void)state;
    setup_slow();
    struct party *a = party_that_is_open("A");
    party_write(a, "out", 0, "a", "1");
    history_run(&h, 23);
    party_write(a, "out", 1, "b", "2");
    sf_sim_instance_freeze(a->instance, true); /* a is on the wire, b is not */
    history_run(&h, 1000);
    sf_sim_instance_freeze(a->instance, false);
    sf_producer_commit(a->producer, 2);
    history_run(&h, 2000);
    CHECK_STR(h.text, "24ms - out/0 append 0+1 by 1.0 txn 1\n"
                      "1000ms - out/1 append 0+1 by 1.0 txn 1\n"
                      "1008ms - x 1.0 txn 1 commits\n"
                      "1008ms - out/0 marker 1 txn 1 commit\n"
                      "1008ms - out/1 marker 1 txn 1 commit\n"
                      "1012ms A commit 2 ok: committed, sends 1\n");
    history_close(&h);
}

static void process_is_woken_again_for_what_it_had_not_read_when_it_froze(void **state)
{
    (void)state;
    setup_slow();
    struct party *a = history_party(&h, "A");
    party_producer(a, "x", "app");
    a->is_held_back = true;
    sf_producer_init(a->producer, 1);
    history_run(&h, 10);
    sf_sim_instance_freeze(a->instance, true);
    a->is_held_back = false;
    history_run(&h, 11); /* polls: nothing comes */
    sf_sim_instance_freeze(a->instance, false);
    history_run(&h, 12);
    CHECK_STR(h.text, "11ms A init 1 ok\n");
    history_close(&h);
}

/* A small life under realistic latencies. */
static void live(struct history *history, uint64_t seed)
{
    struct sf_sim_kafka_config config = sf_sim_kafka_config_default();
    config.is_v2 = seed % 2 == 1;
    config.fetch_records_hi = 3;
    history_open(history, &config, seed);
    history_observe(history);
    CHECK_EQ(sf_sim_kafka_create(history->broker, "out", 3, NULL, 0), SF_OK);
    CHECK_EQ(sf_sim_kafka_create(history->broker, "in", 1, NULL, 0), SF_OK);
    CHECK_EQ(sf_sim_kafka_create(history->broker, "owners", 1, NULL, 0), SF_OK);
    struct party *a = history_party(history, "A"), *b = history_party(history, "B"), *c = history_party(history, "C");
    party_member(b, "app", NULL);
    party_member(c, "app", NULL);
    party_consumer(a, true);
    for (int32_t i = 0; i < 3; i++) (void)sf_consumer_add(a->consumer, party_tp(a, "out", i), 0);
    party_producer(b, "x", "app");
    sf_producer_init(b->producer, 1);
    history_run(history, 100);
    for (int txn = 0; txn < 5; txn++) {
        CHECK_EQ(sf_producer_begin(b->producer), SF_OK);
        for (int i = 0; i < 7; i++) party_write(b, "out", i % 3, "k", "v");
        sf_producer_commit(b->producer, 10 + (uint64_t)txn);
        history_run(history, 200 + txn * 100);
    }
    sf_sim_instance_kill(b->instance);
    history_run(history, 20000);
}

static void one_seed_makes_one_history_x14(void **state)
{
    (void)state;
    static struct history other;
    uint32_t different = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        live(&h, seed);
        live(&other, seed);
        CHECK_STR(h.text, other.text);
        CHECK(strstr(h.text, "caught up at 18") != NULL || strstr(h.text, "caught up at 20") != NULL);
        history_close(&other);
        live(&other, seed + 100);
        if (strcmp(h.text, other.text) != 0) different++;
        history_close(&other);
        history_close(&h);
    }
    CHECK_EQ(different, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_sent_dies_with_the_process),
        cmocka_unit_test(planned_crash_at_the_commit_falls_at_each_stage),
        cmocka_unit_test(end_on_the_wire_meets_the_next_session),
        cmocka_unit_test(crash_between_two_commands_of_one_step_loses_the_second),
        cmocka_unit_test(frozen_process_sends_nothing_and_hears_nothing),
        cmocka_unit_test(process_is_woken_again_for_what_it_had_not_read_when_it_froze),
        cmocka_unit_test(one_seed_makes_one_history_x14),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
