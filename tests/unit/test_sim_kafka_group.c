/* Ownership: a sticky owner, generations in transactional offset commits, static names, sessions, frozen processes. */
#include "tests/unit/history.h"

static struct history h;

static void setup_exact(void)
{
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    history_open(&h, &config, 1);
    CHECK_EQ(sf_sim_kafka_create(h.broker, "out", 1, NULL, 0), SF_OK);
    CHECK_EQ(sf_sim_kafka_create(h.broker, "in", 1, NULL, 0), SF_OK);
    CHECK_EQ(sf_sim_kafka_create(h.broker, "owners", 1, NULL, 0), SF_OK);
    history_observe(&h);
}

static void owner_stays_when_a_standby_joins_but_its_proof_goes_stale_b14(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_member(a, "app", NULL);
    party_producer(a, "x", "app");
    CHECK_EQ(sf_consumer_token(a->consumer).id, 0);
    history_run(&h, 1);
    party_begin_first(a);
    struct sf_member_token stale = sf_consumer_token(a->consumer);
    CHECK(stale.id != 0);
    party_member(b, "app", NULL);
    history_run(&h, 2);
    CHECK(sf_consumer_token(a->consumer).id != stale.id);
    CHECK_EQ(sf_consumer_token(b->consumer).id, 0); /* a standby */
    struct sf_offset_commit commit = {.tp = party_tp(a, "in", 0), .offset = 5};
    sf_producer_offsets(a->producer, 2, stale, &commit, 1);
    sf_producer_commit(a->producer, 3);
    history_run(&h, 3);
    sf_producer_abort(a->producer, 4);
    history_run(&h, 4);
    CHECK_EQ(sf_producer_begin(a->producer), SF_OK);
    party_offset(a, 5, "in", 5, "m");
    sf_producer_commit(a->producer, 6);
    history_run(&h, 5);
    CHECK_STR(h.text, "0ms - app generation 1 owner 1\n"
                      "0ms A granted owners/0\n"
                      "1ms A init 1 ok\n"
                      "1ms - app generation 2 owner 1\n"
                      "2ms A offsets 2 SF_E_TXN\n"
                      "2ms A commit 3 SF_E_TXN: not committed, sends 0\n"
                      "3ms - x 1.0 txn 1 aborts\n"
                      "3ms A abort 4 ok, sends 1\n"
                      "4ms - x 1.0 txn 2 commits\n"
                      "4ms - app in/0 offset 5 \"m\" txn 2\n"
                      "4ms A offsets 5 ok\n"
                      "4ms A commit 6 ok: committed, sends 1\n");
    history_close(&h);
}

static void closing_member_leaves_at_once_and_the_standby_takes_over(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_member(a, "app", NULL);
    history_run(&h, 1);
    party_member(b, "app", NULL);
    history_run(&h, 2);
    sf_consumer_close(a->consumer);
    history_run(&h, 3);
    CHECK_STR(h.text, "0ms - app generation 1 owner 1\n"
                      "0ms A granted owners/0\n"
                      "1ms - app generation 2 owner 1\n"
                      "2ms - app generation 3 owner 2\n"
                      "2ms B granted owners/0\n");
    history_close(&h);
}

static void killed_owner_holds_its_place_until_its_session_ends(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_member(a, "app", NULL);
    history_run(&h, 1);
    party_member(b, "app", NULL);
    history_run(&h, 2);
    sf_sim_instance_kill(a->instance);
    CHECK_EQ(sf_sim_kafka_group(h.broker, "app").owner_instance, 0);
    CHECK_EQ(sf_sim_kafka_group(h.broker, "app").member_count, 2);
    history_run(&h, 20000);
    CHECK_STR(h.text, "0ms - app generation 1 owner 1\n"
                      "0ms A granted owners/0\n"
                      "1ms - app generation 2 owner 1\n"
                      "10002ms - app generation 3 owner 2\n"
                      "10002ms B granted owners/0\n");
    history_close(&h);
}

/* Joined, and dead before it hears that it is the owner: its place is free when its session has run out. */
static void crash_behind_a_join_leaves_a_member_that_nobody_hears_of(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    sf_sim_instance_crash_at(a->instance, 1, SF_SIM_CRASH_APPLIED);
    party_member(a, "app", NULL);
    history_run(&h, 1);
    CHECK(a->instance->is_dead);
    party_member(b, "app", NULL);
    history_run(&h, 20000);
    CHECK_STR(h.text, "0ms - app generation 1 owner 1\n"
                      "1ms - app generation 2 owner 1\n"
                      "10000ms - app generation 3 owner 2\n"
                      "10000ms B granted owners/0\n");
    history_close(&h);
}

/* It has said that it leaves, and dies: nobody waits for its session. */
static void crash_behind_a_leave_that_was_sent_frees_its_place_at_once(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_member(a, "app", NULL);
    history_run(&h, 1);
    party_member(b, "app", NULL);
    history_run(&h, 2);
    sf_sim_instance_crash_at(a->instance, 2, SF_SIM_CRASH_SENT);
    sf_consumer_close(a->consumer);
    CHECK(a->instance->is_dead);
    history_run(&h, 3);
    CHECK_STR(h.text, "0ms - app generation 1 owner 1\n"
                      "0ms A granted owners/0\n"
                      "1ms - app generation 2 owner 1\n"
                      "2ms - app generation 3 owner 2\n"
                      "2ms B granted owners/0\n");
    history_close(&h);
}

static void static_name_takes_its_place_back_in_the_same_generation(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B"), *c = history_party(&h, "C");
    party_member(a, "app", "node-1");
    history_run(&h, 1);
    sf_sim_instance_kill(a->instance);
    history_run(&h, 2);
    party_member(b, "app", "node-1"); /* the restarted process */
    history_run(&h, 3);
    party_producer(b, "x", "app");
    party_begin_first(b);
    struct sf_member_token token = sf_consumer_token(b->consumer);
    party_member(c, "app", "node-1"); /* a second process with the same name wins */
    history_run(&h, 4);
    CHECK_EQ(sf_consumer_token(b->consumer).id, 0);
    struct sf_offset_commit commit = {.tp = party_tp(b, "in", 0), .offset = 5};
    sf_producer_offsets(b->producer, 2, token, &commit, 1);
    history_run(&h, 30000);
    CHECK_STR(h.text, "0ms - app generation 1 owner 1\n"
                      "0ms A granted owners/0\n"
                      "2ms - app generation 1 owner 2\n"
                      "2ms B granted owners/0\n"
                      "3ms B init 1 ok\n"
                      "3ms - app generation 1 owner 3\n"
                      "3ms B revoked owners/0 SF_E_FENCED\n"
                      "3ms C granted owners/0\n"
                      "4ms B offsets 2 SF_E_TXN\n");
    history_close(&h);
}

static void static_member_does_not_leave_on_close(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_member(a, "app", "node-1");
    history_run(&h, 1);
    party_member(b, "app", "node-2");
    history_run(&h, 2);
    sf_consumer_close(a->consumer);
    history_run(&h, 30000);
    CHECK_STR(h.text, "0ms - app generation 1 owner 1\n"
                      "0ms A granted owners/0\n"
                      "1ms - app generation 2 owner 1\n"
                      "10002ms - app generation 3 owner 2\n"
                      "10002ms B granted owners/0\n");
    history_close(&h);
}

static void frozen_owner_learns_of_its_loss_when_it_thaws(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_member(a, "app", NULL);
    party_producer(a, "x", "app");
    history_run(&h, 1);
    party_begin_first(a);
    party_member(b, "app", NULL);
    history_run(&h, 2);
    sf_sim_instance_freeze(a->instance, true);
    history_run(&h, 5000); /* shorter than the session: nothing happens */
    sf_sim_instance_freeze(a->instance, false);
    history_run(&h, 20000);
    struct sf_member_token token = sf_consumer_token(a->consumer);
    sf_sim_instance_freeze(a->instance, true);
    history_run(&h, 40000);
    sf_sim_instance_freeze(a->instance, false);
    struct sf_offset_commit commit = {.tp = party_tp(a, "in", 0), .offset = 5};
    sf_producer_offsets(a->producer, 2, token, &commit, 1); /* before it polls */
    history_run(&h, 40001);
    CHECK_STR(h.text, "0ms - app generation 1 owner 1\n"
                      "0ms A granted owners/0\n"
                      "1ms A init 1 ok\n"
                      "1ms - app generation 2 owner 1\n"
                      "30000ms - app generation 3 owner 2\n"
                      "30000ms B granted owners/0\n"
                      "40000ms - app generation 4 owner 2\n" /* A is back, as a standby, before it is polled */
                      "40000ms A revoked owners/0\n"
                      "40000ms A offsets 2 SF_E_TXN\n");
    CHECK_EQ(sf_consumer_token(a->consumer).id, 0);
    history_close(&h);
}

static void lone_frozen_owner_is_revoked_and_then_granted_anew(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A");
    party_member(a, "app", NULL);
    history_run(&h, 1);
    sf_sim_instance_freeze(a->instance, true);
    history_run(&h, 15000);
    sf_sim_instance_freeze(a->instance, false);
    history_run(&h, 15001);
    CHECK_STR(h.text, "0ms - app generation 1 owner 1\n"
                      "0ms A granted owners/0\n"
                      "10001ms - app generation 2 owner 0\n"
                      "15000ms - app generation 3 owner 1\n"
                      "15000ms A revoked owners/0\n"
                      "15000ms A granted owners/0\n");
    history_close(&h);
}

static void planned_move_asks_first_case_78a(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_member(a, "app", NULL);
    party_producer(a, "x", "app");
    history_run(&h, 1);
    party_begin_first(a);
    party_member(b, "app", NULL);
    history_run(&h, 2);
    sf_sim_kafka_group_move(h.broker, "app");
    history_run(&h, 3);
    party_offset(a, 2, "in", 5, NULL); /* still the owner: the running epoch may commit */
    sf_producer_commit(a->producer, 3);
    history_run(&h, 4);
    sf_consumer_yield(a->consumer);
    CHECK_EQ(sf_consumer_token(a->consumer).id, 0);
    history_run(&h, 5);
    CHECK_STR(h.text, "0ms - app generation 1 owner 1\n"
                      "0ms A granted owners/0\n"
                      "1ms A init 1 ok\n"
                      "1ms - app generation 2 owner 1\n"
                      "2ms A revoking owners/0\n"
                      "3ms - x 1.0 txn 1 commits\n"
                      "3ms - app in/0 offset 5 \"null\" txn 1\n"
                      "3ms A offsets 2 ok\n"
                      "3ms A commit 3 ok: committed, sends 1\n"
                      "4ms - app generation 3 owner 2\n"
                      "4ms B granted owners/0\n");
    history_close(&h);
}

/* What it gave way to has the application, whether it lives to hear so or not. */
static void crash_behind_a_yield_hands_over_all_the_same(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_member(a, "app", NULL);
    history_run(&h, 1);
    party_member(b, "app", NULL);
    history_run(&h, 2);
    sf_sim_kafka_group_move(h.broker, "app");
    history_run(&h, 3);
    sf_sim_instance_crash_at(a->instance, 2, SF_SIM_CRASH_APPLIED);
    sf_consumer_yield(a->consumer);
    CHECK(!a->instance->is_dead);
    history_run(&h, 4);
    CHECK(a->instance->is_dead);
    CHECK_STR(h.text, "0ms - app generation 1 owner 1\n"
                      "0ms A granted owners/0\n"
                      "1ms - app generation 2 owner 1\n"
                      "2ms A revoking owners/0\n"
                      "3ms - app generation 3 owner 2\n"
                      "3ms B granted owners/0\n");
    history_close(&h);
}

static void owner_that_yielded_is_not_granted_by_older_news(void **state)
{
    (void)state;
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    config.group = (struct sf_sim_latency){8000, 8000};
    history_open(&h, &config, 1);
    CHECK_EQ(sf_sim_kafka_create(h.broker, "owners", 1, NULL, 0), SF_OK);
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B"), *c = history_party(&h, "C");
    party_member(a, "app", NULL);
    history_run(&h, 10);
    party_member(b, "app", NULL);
    history_run(&h, 20);
    sf_sim_kafka_group_move(h.broker, "app");
    history_run(&h, 25);
    party_member(c, "app", NULL); /* joins at 29, A hears of it at 33 */
    history_run(&h, 31);
    sf_consumer_yield(a->consumer); /* arrives at 35 */
    history_run(&h, 100);
    CHECK_STR(h.text, "8ms A granted owners/0\n"
                      "24ms A revoking owners/0\n"
                      "39ms B granted owners/0\n");
    history_close(&h);
}

static void owner_that_does_not_yield_is_expelled(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_member(a, "app", NULL);
    history_run(&h, 1);
    party_member(b, "app", NULL);
    history_run(&h, 2);
    sf_sim_kafka_group_move(h.broker, "app");
    history_run(&h, 400000);
    CHECK_STR(h.text, "0ms - app generation 1 owner 1\n"
                      "0ms A granted owners/0\n"
                      "1ms - app generation 2 owner 1\n"
                      "2ms A revoking owners/0\n"
                      "300002ms - app generation 3 owner 2\n"
                      "300002ms - app generation 4 owner 2\n"
                      "300002ms A revoked owners/0\n"
                      "300002ms B granted owners/0\n");
    history_close(&h);
}

static void expelled_owner_is_a_zombie_until_it_hears_case_78b(void **state)
{
    (void)state;
    setup_exact();
    struct party *a = history_party(&h, "A"), *b = history_party(&h, "B");
    party_member(a, "app", NULL);
    party_producer(a, "x", "app");
    history_run(&h, 1);
    party_begin_first(a);
    party_member(b, "app", NULL);
    history_run(&h, 2);
    CHECK(sf_sim_kafka_group_expel(h.broker, "app", 5000000));
    history_run(&h, 3);
    CHECK(sf_consumer_token(a->consumer).id != 0); /* it believes */
    party_write(a, "out", 0, "a", "1");
    party_offset(a, 2, "in", 5, NULL);
    sf_producer_commit(a->producer, 3);
    history_run(&h, 10000);
    CHECK_STR(h.text, "0ms - app generation 1 owner 1\n"
                      "0ms A granted owners/0\n"
                      "1ms A init 1 ok\n"
                      "1ms - app generation 2 owner 1\n"
                      "2ms - app generation 3 owner 2\n"
                      "2ms B granted owners/0\n"
                      "3ms - out/0 append 0+1 by 1.0 txn 1\n"
                      "3ms A offsets 2 SF_E_TXN\n"
                      "3ms A commit 3 SF_E_TXN: not committed, sends 0\n"
                      "5002ms - app generation 4 owner 2\n"
                      "5002ms A revoked owners/0\n");
    history_close(&h);
}

static void member_waits_for_its_topic(void **state)
{
    (void)state;
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    history_open(&h, &config, 1);
    struct party *a = history_party(&h, "A");
    party_member(a, "app", NULL);
    history_run(&h, 5);
    CHECK_EQ(sf_sim_kafka_create(h.broker, "owners", 1, NULL, 0), SF_OK);
    history_run(&h, 6);
    CHECK_STR(h.text, "5ms A granted owners/0\n");
    history_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owner_stays_when_a_standby_joins_but_its_proof_goes_stale_b14),
        cmocka_unit_test(closing_member_leaves_at_once_and_the_standby_takes_over),
        cmocka_unit_test(killed_owner_holds_its_place_until_its_session_ends),
        cmocka_unit_test(crash_behind_a_join_leaves_a_member_that_nobody_hears_of),
        cmocka_unit_test(crash_behind_a_leave_that_was_sent_frees_its_place_at_once),
        cmocka_unit_test(static_name_takes_its_place_back_in_the_same_generation),
        cmocka_unit_test(static_member_does_not_leave_on_close),
        cmocka_unit_test(frozen_owner_learns_of_its_loss_when_it_thaws),
        cmocka_unit_test(lone_frozen_owner_is_revoked_and_then_granted_anew),
        cmocka_unit_test(planned_move_asks_first_case_78a),
        cmocka_unit_test(crash_behind_a_yield_hands_over_all_the_same),
        cmocka_unit_test(owner_that_yielded_is_not_granted_by_older_news),
        cmocka_unit_test(owner_that_does_not_yield_is_expelled),
        cmocka_unit_test(expelled_owner_is_a_zombie_until_it_hears_case_78b),
        cmocka_unit_test(member_waits_for_its_topic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
