/*
 * One transactional writer through seeded storms of lost and late requests, absent leaders, time-outs, freezes and
 * crashes. Whatever happens, every transaction is seen whole or not at all, as the writer was told, and the committed
 * offset is that of the last one seen (B6, B11). The writer opens a new session after an end that was sent twice; the
 * last test leaves that out and must see a transaction torn.
 */
#include <stdio.h>

#include "tests/check.h"

#include "core/io/kafka.h"
#include "sim/kafka.h"
#include "sim/random.h"
#include "sim/world.h"

#define TXNS_MAX 64u
#define RECORDS_PER_TXN 4u

enum told { TOLD_NOTHING, TOLD_COMMITTED, TOLD_NOT };

struct storm {
    struct sf_sim_world world;
    struct sf_sim_kafka *broker;
    struct sf_sim_instance *instance;
    struct sf_kafka kafka;
    struct sf_producer producer;
    bool has_producer;
    bool is_ready;
    bool is_busy;          /* a commit, abort or init is pending */
    bool is_policy_off;    /* go on after an end sent twice */
    uint32_t txn;          /* the open or last one, from 1 */
    bool is_written[TXNS_MAX];
    enum told told[TXNS_MAX];
    uint64_t ordinal;
    uint32_t fault_count;
};

static uint64_t draw(struct storm *storm)
{
    return sf_sim_draw(storm->world.seed, SF_SIM_DOMAIN_WORKLOAD, 1, storm->ordinal++);
}

static void process_start(struct storm *storm)
{
    storm->instance = sf_sim_instance_new(&storm->world);
    storm->kafka = sf_sim_kafka_handle(storm->broker, storm->instance);
    storm->has_producer = storm->is_ready = storm->is_busy = false;
}

static void session_close(struct storm *storm)
{
    sf_producer_close(storm->producer);
    storm->has_producer = storm->is_ready = storm->is_busy = false;
}

static void session_open(struct storm *storm)
{
    struct sf_error error;
    struct sf_producer_config config = {.transactional_id = "x", .group = "app", .txn_timeout_ms = 10000,
                                        .queue_bytes_max = 1u << 20, .record_bytes_max = 1u << 20};
    CHECK_EQ(sf_kafka_producer_open(storm->kafka, &config, &storm->producer, &error), SF_OK);
    sf_producer_init(storm->producer, 1);
    storm->has_producer = storm->is_busy = true;
}

static void transaction_give(struct storm *storm)
{
    CHECK_EQ(sf_producer_begin(storm->producer), SF_OK);
    uint32_t txn = ++storm->txn;
    storm->is_written[txn] = true;
    char value[16];
    (void)snprintf(value, sizeof value, "%u", (unsigned)txn);
    struct sf_out out = {.value = {(const uint8_t *)value, (uint32_t)strlen(value)}, .ts_ms = 1};
    uint32_t topic = sf_kafka_topic(storm->kafka, "out");
    for (uint32_t i = 0; i < RECORDS_PER_TXN; i++)
        CHECK_EQ(sf_producer_write(storm->producer, (struct sf_tp){topic, (int32_t)(i % 3)}, &out, 1), 1);
    struct sf_offset_commit commit = {.tp = {sf_kafka_topic(storm->kafka, "in"), 0}, .offset = txn};
    sf_producer_offsets(storm->producer, 2, (struct sf_member_token){0}, &commit, 1);
    if (draw(storm) % 6 == 0) {
        storm->told[txn] = TOLD_NOT;
        sf_producer_abort(storm->producer, 3);
    } else {
        sf_producer_commit(storm->producer, 4);
    }
    storm->is_busy = true;
}

static void committed(struct storm *storm, const struct sf_producer_event *event)
{
    if (event->outcome == SF_OUTCOME_COMMITTED) storm->told[storm->txn] = TOLD_COMMITTED;
    if (event->outcome == SF_OUTCOME_NOT_COMMITTED) storm->told[storm->txn] = TOLD_NOT;
    storm->is_busy = false;
    if (event->status != SF_OK && sf_status_class(event->status) == SF_CLASS_ABORT) {
        sf_producer_abort(storm->producer, 5);
        storm->is_busy = true;
    } else if (event->status != SF_OK || (event->end_sends > 1 && !storm->is_policy_off)) {
        session_close(storm);
    }
}

static void poll(struct storm *storm)
{
    struct sf_producer_event event;
    while (storm->has_producer && sf_producer_poll(storm->producer, &event, 1) > 0) {
        bool is_dead = event.status != SF_OK && sf_status_class(event.status) != SF_CLASS_ABORT;
        switch (event.kind) {
        case SF_PRODUCER_INIT:
            storm->is_busy = false;
            storm->is_ready = event.status == SF_OK;
            break;
        case SF_PRODUCER_COMMITTED: committed(storm, &event); break;
        case SF_PRODUCER_ABORTED:
            storm->is_busy = false;
            if (is_dead || (event.end_sends > 1 && !storm->is_policy_off)) session_close(storm);
            break;
        case SF_PRODUCER_FAILED:
            if (is_dead) session_close(storm);
            break;
        case SF_PRODUCER_OFFSETS:
        case SF_PRODUCER_ROOM:
        case SF_PRODUCER_FLUSHED: break;
        }
    }
}

static void trouble(struct storm *storm)
{
    struct sf_tp tp = {sf_sim_kafka_topic(storm->broker, "out"), (int32_t)(draw(storm) % 3)};
    uint64_t kind = draw(storm) % 12;
    if (kind < 6) {
        sf_sim_kafka_fault(storm->broker, &(struct sf_sim_kafka_fault){
            .request = (enum sf_sim_kafka_request)(draw(storm) % SF_SIM_KAFKA_REQUEST_COUNT),
            .effect = (enum sf_sim_kafka_effect)(draw(storm) % 3), .count = 1 + (uint32_t)(draw(storm) % 2),
            .delay_us = (int64_t)(draw(storm) % 4000000)});
    } else if (kind == 6) {
        sf_sim_kafka_mode(storm->broker, tp, SF_SIM_KAFKA_MODE_NO_LEADER);
    } else if (kind == 7) {
        sf_sim_kafka_mode(storm->broker, tp, SF_SIM_KAFKA_MODE_OK);
    } else if (kind == 8) {
        (void)sf_sim_kafka_txn_timeout(storm->broker, "x");
    } else if (kind == 9) {
        sf_sim_kafka_markers_delay(storm->broker, "x", (int64_t)(draw(storm) % 3000000));
    } else if (kind == 10) {
        sf_sim_instance_freeze(storm->instance, !storm->instance->is_frozen);
    } else if (storm->instance->command_count > 0) {
        sf_sim_instance_crash_at(storm->instance, storm->instance->command_count + 1 + draw(storm) % 8,
                                 (enum sf_sim_crash_stage)(draw(storm) % 3));
    }
    storm->fault_count++;
}

static void calm(struct storm *storm)
{
    for (int32_t i = 0; i < 3; i++)
        sf_sim_kafka_mode(storm->broker, (struct sf_tp){sf_sim_kafka_topic(storm->broker, "out"), i},
                          SF_SIM_KAFKA_MODE_OK);
    sf_sim_instance_freeze(storm->instance, false);
}

static void round_run(struct storm *storm, bool is_stormy)
{
    if (draw(storm) % 3 == 0) calm(storm);
    if (is_stormy && draw(storm) % 3 == 0) trouble(storm);
    sf_sim_world_run_until(&storm->world, storm->world.mono_us + (int64_t)(draw(storm) % 1500000));
    if (storm->instance->is_dead) {
        sf_sim_instance_destroy(storm->instance);
        process_start(storm);
    }
    if (storm->instance->is_frozen) return;
    poll(storm);
    if (storm->is_busy) return;
    if (!storm->has_producer)
        session_open(storm);
    else if (is_stormy && storm->is_ready && storm->txn + 1 < TXNS_MAX)
        transaction_give(storm);
}

/* Records of each transaction that a read-committed reader sees. */
static void count_visible(struct storm *storm, uint32_t *counts_out)
{
    memset(counts_out, 0, TXNS_MAX * sizeof *counts_out);
    for (int32_t i = 0; i < 3; i++) {
        struct sf_tp tp = {sf_sim_kafka_topic(storm->broker, "out"), i};
        struct sf_sim_kafka_entry entry;
        for (int64_t offset = 0; sf_sim_kafka_log_next(storm->broker, tp, &offset, &entry);) {
            if (entry.is_control || entry.state != SF_SIM_KAFKA_COMMITTED) continue;
            uint32_t txn = 0;
            for (uint32_t at = 0; at < entry.record->value.len; at++)
                txn = txn * 10 + (uint32_t)(entry.record->value.data[at] - '0');
            assert_true(txn < TXNS_MAX);
            counts_out[txn]++;
        }
    }
}

/* 0: all holds; else the number of a transaction for which it does not. */
static uint32_t judge(struct storm *storm)
{
    uint32_t counts[TXNS_MAX], last = 0;
    count_visible(storm, counts);
    for (uint32_t txn = 1; txn <= storm->txn; txn++) {
        if (counts[txn] != 0 && counts[txn] != RECORDS_PER_TXN) return txn;
        if (storm->told[txn] == TOLD_COMMITTED && counts[txn] == 0) return txn;
        if (storm->told[txn] == TOLD_NOT && counts[txn] != 0) return txn;
        if (counts[txn] != 0) last = txn;
    }
    int64_t offset = sf_sim_kafka_committed(storm->broker, "app",
                                            (struct sf_tp){sf_sim_kafka_topic(storm->broker, "in"), 0}).offset;
    return offset == (last == 0 ? SF_OFFSET_UNKNOWN : (int64_t)last) ? 0 : last;
}

static uint32_t storm_run(uint64_t seed, bool is_v2, bool is_policy_off, bool *is_settled_out)
{
    struct storm storm = {.is_policy_off = is_policy_off};
    sf_sim_world_init(&storm.world, &(struct sf_sim_world_config){.seed = seed});
    struct sf_sim_kafka_config config = sf_sim_kafka_config_default();
    config.is_v2 = is_v2;
    config.delivery_timeout_us = 5000000;
    storm.broker = sf_sim_kafka_new(&storm.world, &config);
    CHECK_EQ(sf_sim_kafka_create(storm.broker, "out", 3, NULL, 0), SF_OK);
    CHECK_EQ(sf_sim_kafka_create(storm.broker, "in", 1, NULL, 0), SF_OK);
    process_start(&storm);
    for (uint32_t i = 0; i < 150; i++) round_run(&storm, true);
    calm(&storm);
    for (uint32_t i = 0; i < 40; i++) round_run(&storm, false);
    if (storm.has_producer) session_close(&storm); /* the last session settles what the one before left */
    session_open(&storm);
    for (uint32_t i = 0; i < 40; i++) round_run(&storm, false);
    CHECK(storm.fault_count > 10);
    CHECK(storm.txn > 10);
    *is_settled_out = true;
    for (int32_t i = 0; i < 3; i++) {
        struct sf_tp tp = {sf_sim_kafka_topic(storm.broker, "out"), i};
        if (sf_sim_kafka_log_end(storm.broker, tp, SF_LOG_STABLE_END) !=
            sf_sim_kafka_log_end(storm.broker, tp, SF_LOG_END))
            *is_settled_out = false;
    }
    uint32_t wrong = judge(&storm);
    sf_sim_instance_destroy(storm.instance);
    sf_sim_kafka_destroy(storm.broker);
    sf_sim_world_deinit(&storm.world);
    return wrong;
}

static void transactions_are_whole_and_as_told_b6_b11(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        bool is_settled;
        uint32_t wrong = storm_run(seed, seed % 2 == 0, false, &is_settled);
        if (wrong != 0) fail_msg("seed %u: transaction %u", (unsigned)seed, (unsigned)wrong);
        if (!is_settled) fail_msg("seed %u: a range is open for ever", (unsigned)seed);
    }
}

/* The canary: this world does tear transactions of a writer that goes on after an end sent twice, under v1 only. */
static void going_on_after_an_end_sent_twice_tears_a_transaction_under_v1_b11(void **state)
{
    (void)state;
    uint32_t torn[2] = {0, 0};
    for (uint64_t seed = 1; seed <= 150; seed++)
        for (int is_v2 = 0; is_v2 < 2; is_v2++) {
            bool is_settled;
            if (storm_run(seed, is_v2 == 1, true, &is_settled) != 0 || !is_settled) torn[is_v2]++;
        }
    CHECK(torn[0] > 0);
    CHECK_EQ(torn[1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transactions_are_whole_and_as_told_b6_b11),
        cmocka_unit_test(going_on_after_an_end_sent_twice_tears_a_transaction_under_v1_b11),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
