/*
 * Golden histories: a simulated world with a broker and a few processes, whose events are written down as text, line
 * by line with the virtual time in milliseconds, to be compared as a whole.
 *
 *     history_open(&h, &config);
 *     struct party *a = history_party(&h, "A");
 *     party_producer(a, "txn-1", NULL);  sf_producer_init(a->producer, 1);
 *     history_run(&h, 10);
 *     CHECK_STR(h.text, "0ms A init 1 ok\n");
 *
 * Clients are polled only when their waker was called: a missing wake is a missing line.
 */
#ifndef SF_TESTS_UNIT_HISTORY_H
#define SF_TESTS_UNIT_HISTORY_H

#include "tests/check.h"

#include "core/io/kafka.h"
#include "sim/kafka.h"
#include "sim/world.h"

#define HISTORY_TEXT_BYTES 32768u
#define HISTORY_PARTIES 6u

struct history;

/* One process with at most one client of each kind. */
struct party {
    struct history *history;
    const char *name;
    struct sf_sim_instance *instance;
    struct sf_kafka kafka;
    struct sf_consumer consumer;
    struct sf_producer producer;
    struct sf_admin admin;
    bool is_woken[3];
    bool is_held_back;  /* do not poll */
    bool keeps_batches; /* until close */
};

struct history {
    char text[HISTORY_TEXT_BYTES];
    size_t len;
    struct sf_sim_world world;
    struct sf_sim_kafka *broker;
    struct sf_sim_kafka_observer observer;
    struct party parties[HISTORY_PARTIES];
    uint32_t party_count;
};

void history_open(struct history *history, const struct sf_sim_kafka_config *config, uint64_t seed);
/* Checks that nothing of the models is left. */
void history_close(struct history *history);
/* Write broker-side events down too: appends, decisions, markers, offsets, owners. */
void history_observe(struct history *history);
void history_add(struct history *history, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Run the world up to this many milliseconds from its start. */
void history_run(struct history *history, int64_t until_ms);
/* What is due now. */
void history_settle(struct history *history);
void history_clear(struct history *history);

struct party *history_party(struct history *history, const char *name);
void party_consumer(struct party *party, bool is_read_committed);
/* The same, with bounds. */
void party_consumer_bounded(struct party *party, bool is_read_committed, uint32_t batch_records_max,
                            uint64_t fetch_bytes_max);
/* A member of `group` for the topic "owners". */
void party_member(struct party *party, const char *group, const char *static_id);
void party_producer(struct party *party, const char *transactional_id, const char *group);
void party_admin(struct party *party);
struct sf_tp party_tp(struct party *party, const char *topic, int32_t partition);
/* One record to a partition; checks that it was taken. */
void party_write(struct party *party, const char *topic, int32_t partition, const char *key, const char *value);
void party_offset(struct party *party, uint64_t tag, const char *topic, int64_t offset, const char *metadata);
/* init, begin; settled. */
void party_begin_first(struct party *party);

struct sf_slice slice_of(const char *text);
struct sf_out out_of(const char *key, const char *value, int64_t ts_ms);
struct sf_tp broker_tp(struct history *history, const char *topic, int32_t partition);
void outside_append(struct history *history, const char *topic, int32_t partition, const char *key, const char *value);
/* "0 a=1 | 1 b=2 (txn 1 committed) | 2 commit": the whole log. */
void history_log(struct history *history, const char *topic, int32_t partition);

#endif
