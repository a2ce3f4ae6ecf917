#include "tests/unit/history.h"

#include <stdarg.h>
#include <stdio.h>

enum { CONSUMER, PRODUCER, ADMIN };

__attribute__((format(printf, 2, 0))) static void text_put(struct history *history, const char *format, va_list args)
{
    size_t left = sizeof history->text - history->len;
    int written = vsnprintf(history->text + history->len, left, format, args);
    if (written < 0 || (size_t)written >= left) fail_msg("history is full");
    history->len += (size_t)written;
}

static void put(struct history *history, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct history *history, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_put(history, format, args);
    va_end(args);
}

static void put_time(struct history *history)
{
    int64_t us = sf_sim_world_elapsed_us(&history->world);
    if (us % 1000 == 0)
        put(history, "%" PRId64 "ms ", us / 1000);
    else
        put(history, "%" PRId64 ".%03" PRId64 "ms ", us / 1000, us % 1000);
}

void history_add(struct history *history, const char *format, ...)
{
    put_time(history);
    va_list args;
    va_start(args, format);
    text_put(history, format, args);
    va_end(args);
    put(history, "\n");
}

static const char *status_word(enum sf_status status)
{
    return status == SF_OK ? "ok" : sf_status_name(status);
}

static void put_slice(struct history *history, struct sf_slice slice)
{
    if (slice.data == NULL)
        put(history, "null");
    else
        put(history, "%.*s", (int)slice.len, (const char *)slice.data);
}

static void put_tp(struct party *party, struct sf_tp tp)
{
    put(party->history, "%s/%d", sf_kafka_topic_name(party->kafka, tp.topic), (int)tp.partition);
}

/* ---------------------------------------------------------------- events */

static void put_batch(struct party *party, struct sf_batch *batch)
{
    struct history *history = party->history;
    put_tp(party, batch->tp);
    for (uint32_t i = 0; i < batch->count; i++) {
        put(history, " %" PRId64 " ", batch->records[i].offset);
        put_slice(history, batch->records[i].key);
        put(history, "=");
        put_slice(history, batch->records[i].value);
    }
    put(history, ", next %" PRId64 " end %" PRId64, batch->next_offset, batch->known_end);
    if (!party->keeps_batches) sf_consumer_release(party->consumer, batch);
}

static void put_tps(struct party *party, const struct sf_consumer_event *event)
{
    for (uint32_t i = 0; i < event->tp_count; i++) {
        put(party->history, " ");
        put_tp(party, event->tps[i]);
    }
    if (event->status != SF_OK) put(party->history, " %s", status_word(event->status));
}

static void put_consumer_event(struct party *party, const struct sf_consumer_event *event)
{
    struct history *history = party->history;
    put_time(history);
    put(history, "%s ", party->name);
    switch (event->kind) {
    case SF_CONSUMER_BATCH: put_batch(party, event->batch); break;
    case SF_CONSUMER_CAUGHT_UP:
        put_tp(party, event->tp);
        put(history, " caught up at %" PRId64, event->position);
        break;
    case SF_CONSUMER_OUT_OF_RANGE:
        put_tp(party, event->tp);
        put(history, " out of range: %" PRId64 " not in %" PRId64 "..%" PRId64, event->position, event->log_start,
            event->log_end);
        break;
    case SF_CONSUMER_PARTITION:
        put_tp(party, event->tp);
        put(history, " partition %s", status_word(event->status));
        break;
    case SF_CONSUMER_GRANTED:
        put(history, "granted");
        put_tps(party, event);
        break;
    case SF_CONSUMER_CONFIRMED:
        put(history, "confirmed");
        put_tps(party, event);
        break;
    case SF_CONSUMER_REVOKING:
        put(history, "revoking");
        put_tps(party, event);
        break;
    case SF_CONSUMER_REVOKED:
        put(history, "revoked");
        put_tps(party, event);
        break;
    case SF_CONSUMER_FAILED: put(history, "consumer failed %s", status_word(event->status)); break;
    }
    put(history, "\n");
}

static void put_producer_event(struct party *party, const struct sf_producer_event *event)
{
    static const char *const outcomes[] = {"committed", "not committed", "unknown"};
    struct history *history = party->history;
    put_time(history);
    put(history, "%s ", party->name);
    switch (event->kind) {
    case SF_PRODUCER_INIT: put(history, "init %" PRIu64 " %s", event->tag, status_word(event->status)); break;
    case SF_PRODUCER_ROOM: put(history, "room"); break;
    case SF_PRODUCER_OFFSETS: put(history, "offsets %" PRIu64 " %s", event->tag, status_word(event->status)); break;
    case SF_PRODUCER_COMMITTED:
        put(history, "commit %" PRIu64 " %s: %s, sends %u", event->tag, status_word(event->status),
            outcomes[event->outcome], (unsigned)event->end_sends);
        break;
    case SF_PRODUCER_ABORTED:
        put(history, "abort %" PRIu64 " %s, sends %u", event->tag, status_word(event->status),
            (unsigned)event->end_sends);
        break;
    case SF_PRODUCER_FLUSHED: put(history, "flush %" PRIu64 " %s", event->tag, status_word(event->status)); break;
    case SF_PRODUCER_FAILED: put(history, "producer failed %s", status_word(event->status)); break;
    }
    for (uint32_t i = 0; i < event->position_count; i++) {
        put(history, ", ");
        put_tp(party, event->positions[i].tp);
        put(history, " ends %" PRId64, event->positions[i].end);
    }
    put(history, "\n");
}

static void put_admin_event(struct party *party, const struct sf_admin_event *event)
{
    struct history *history = party->history;
    put_time(history);
    put(history, "%s admin %" PRIu64 " %s", party->name, event->tag, status_word(event->status));
    if (event->partition_count > 0) put(history, ", partitions %d", (int)event->partition_count);
    for (uint32_t i = 0; i < event->setting_count; i++)
        put(history, ", %s=%s", event->settings[i].name, event->settings[i].value);
    for (uint32_t i = 0; i < event->answer_count; i++) {
        const struct sf_offset_answer *answer = &event->answers[i];
        put(history, ", ");
        put_tp(party, answer->tp);
        if (answer->status != SF_OK) {
            put(history, " %s", status_word(answer->status));
            continue;
        }
        put(history, " %" PRId64, answer->offset);
        if (answer->metadata.data != NULL) {
            put(history, " \"");
            put_slice(history, answer->metadata);
            put(history, "\"");
        }
    }
    put(history, "\n");
}

static bool party_poll(struct party *party)
{
    bool has_news = false;
    if (party->is_woken[CONSUMER]) {
        struct sf_consumer_event events[4];
        party->is_woken[CONSUMER] = false;
        for (uint32_t count; (count = sf_consumer_poll(party->consumer, events, 4)) > 0; has_news = true)
            for (uint32_t i = 0; i < count; i++) put_consumer_event(party, &events[i]);
    }
    if (party->is_woken[PRODUCER]) {
        struct sf_producer_event events[4];
        party->is_woken[PRODUCER] = false;
        for (uint32_t count; (count = sf_producer_poll(party->producer, events, 4)) > 0; has_news = true)
            for (uint32_t i = 0; i < count; i++) put_producer_event(party, &events[i]);
    }
    if (party->is_woken[ADMIN]) {
        struct sf_admin_event events[4];
        party->is_woken[ADMIN] = false;
        for (uint32_t count; (count = sf_admin_poll(party->admin, events, 4)) > 0; has_news = true)
            for (uint32_t i = 0; i < count; i++) put_admin_event(party, &events[i]);
    }
    return has_news;
}

void history_settle(struct history *history)
{
    for (;;) {
        bool has_news = sf_sim_world_run_due(&history->world) > 0;
        for (uint32_t i = 0; i < history->party_count; i++)
            if (!history->parties[i].is_held_back) has_news |= party_poll(&history->parties[i]);
        if (!has_news) return;
    }
}

void history_run(struct history *history, int64_t until_ms)
{
    int64_t until_us = history->world.start_us + until_ms * 1000;
    assert_true(until_us >= history->world.mono_us);
    do {
        history_settle(history);
    } while (sf_sim_world_advance(&history->world, until_us));
}

void history_clear(struct history *history)
{
    history->len = 0;
    history->text[0] = '\0';
}

/* ---------------------------------------------------------------- the broker's side */

static void put_broker_tp(struct history *history, struct sf_tp tp)
{
    put(history, "%s/%d", sf_sim_kafka_topic_name(history->broker, tp.topic), (int)tp.partition);
}

static void on_appended(void *ctx, struct sf_tp tp, const struct sf_record *records, uint32_t count,
                        uint64_t producer_id, int32_t producer_epoch, uint64_t txn_serial)
{
    struct history *history = ctx;
    put_time(history);
    put(history, "- ");
    put_broker_tp(history, tp);
    put(history, " append %" PRId64 "+%u by %" PRIu64 ".%d txn %" PRIu64 "\n", records[0].offset, (unsigned)count,
        producer_id, (int)producer_epoch, txn_serial);
}

static void on_decided(void *ctx, const char *id, uint64_t producer_id, int32_t producer_epoch, uint64_t txn_serial,
                       bool is_commit)
{
    history_add(ctx, "- %s %" PRIu64 ".%d txn %" PRIu64 " %s", id, producer_id, (int)producer_epoch, txn_serial,
                is_commit ? "commits" : "aborts");
}

static void on_marked(void *ctx, struct sf_tp tp, int64_t offset, uint64_t txn_serial, bool is_commit)
{
    struct history *history = ctx;
    put_time(history);
    put(history, "- ");
    put_broker_tp(history, tp);
    put(history, " marker %" PRId64 " txn %" PRIu64 " %s\n", offset, txn_serial, is_commit ? "commit" : "abort");
}

static void on_offset(void *ctx, const char *group, struct sf_tp tp, int64_t offset, struct sf_slice metadata,
                      uint64_t txn_serial)
{
    struct history *history = ctx;
    put_time(history);
    put(history, "- %s ", group);
    put_broker_tp(history, tp);
    put(history, " offset %" PRId64 " \"", offset);
    put_slice(history, metadata);
    put(history, "\" txn %" PRIu64 "\n", txn_serial);
}

static void on_owner(void *ctx, const char *group, uint32_t instance, uint32_t generation)
{
    history_add(ctx, "- %s generation %u owner %u", group, (unsigned)generation, (unsigned)instance);
}

void history_observe(struct history *history)
{
    history->observer = (struct sf_sim_kafka_observer){.appended = on_appended, .decided = on_decided,
                                                       .marked = on_marked, .offset_committed = on_offset,
                                                       .owner = on_owner, .ctx = history};
    sf_sim_kafka_observe(history->broker, &history->observer);
}

void history_log(struct history *history, const char *topic, int32_t partition)
{
    static const char *const states[] = {"", " open", " committed", " aborted"};
    struct sf_tp tp = broker_tp(history, topic, partition);
    put_time(history);
    put(history, "log %s/%d %" PRId64 "..%" PRId64 " stable %" PRId64 ":", topic, (int)partition,
        sf_sim_kafka_log_end(history->broker, tp, SF_LOG_START), sf_sim_kafka_log_end(history->broker, tp, SF_LOG_END),
        sf_sim_kafka_log_end(history->broker, tp, SF_LOG_STABLE_END));
    struct sf_sim_kafka_entry entry;
    for (int64_t offset = 0; sf_sim_kafka_log_next(history->broker, tp, &offset, &entry);) {
        put(history, " | %" PRId64 " ", entry.offset);
        if (entry.is_control) {
            put(history, "%s marker", entry.is_commit ? "commit" : "abort");
            continue;
        }
        put_slice(history, entry.record->key);
        put(history, "=");
        put_slice(history, entry.record->value);
        put(history, "%s", states[entry.state]);
    }
    put(history, "\n");
}

/* ---------------------------------------------------------------- set-up */

void history_open(struct history *history, const struct sf_sim_kafka_config *config, uint64_t seed)
{
    memset(history, 0, sizeof *history);
    bool is_fifo = config->fetch.hi_us == 0;
    sf_sim_world_init(&history->world, &(struct sf_sim_world_config){
        .seed = seed, .wall_start_ms = 1000000, .is_fifo = is_fifo});
    history->broker = sf_sim_kafka_new(&history->world, config);
}

void history_close(struct history *history)
{
    sf_sim_kafka_destroy(history->broker);
    sf_sim_world_deinit(&history->world);
}

static void party_wake(void *self, uint32_t task_id)
{
    struct party *party = self;
    party->is_woken[task_id] = true;
}

static struct sf_waker waker_of(struct party *party, uint32_t kind)
{
    return (struct sf_waker){.wake = party_wake, .self = party, .task_id = kind};
}

struct party *history_party(struct history *history, const char *name)
{
    assert_true(history->party_count < HISTORY_PARTIES);
    struct party *party = &history->parties[history->party_count++];
    party->history = history;
    party->name = name;
    party->instance = sf_sim_instance_new(&history->world);
    party->kafka = sf_sim_kafka_handle(history->broker, party->instance);
    return party;
}

void party_consumer_bounded(struct party *party, bool is_read_committed, uint32_t batch_records_max,
                            uint64_t fetch_bytes_max)
{
    struct sf_error error;
    struct sf_consumer_config config = {.group = "app", .purpose = "source", .is_read_committed = is_read_committed,
                                        .batch_records_max = batch_records_max, .fetch_bytes_max = fetch_bytes_max,
                                        .waker = waker_of(party, CONSUMER)};
    CHECK_EQ(sf_kafka_consumer_open(party->kafka, &config, &party->consumer, &error), SF_OK);
}

void party_consumer(struct party *party, bool is_read_committed)
{
    party_consumer_bounded(party, is_read_committed, 100, 1u << 20);
}

void party_member(struct party *party, const char *group, const char *static_id)
{
    struct sf_error error;
    const char *const topics[] = {"owners", NULL};
    struct sf_consumer_config config = {.group = group, .purpose = "owner", .subscribe = topics, .instance = static_id,
                                        .batch_records_max = 1, .fetch_bytes_max = 1,
                                        .waker = waker_of(party, CONSUMER)};
    CHECK_EQ(sf_kafka_consumer_open(party->kafka, &config, &party->consumer, &error), SF_OK);
}

void party_producer(struct party *party, const char *transactional_id, const char *group)
{
    struct sf_error error;
    struct sf_producer_config config = {.transactional_id = transactional_id, .group = group, .txn_timeout_ms = 60000,
                                        .queue_bytes_max = 1u << 20, .record_bytes_max = 1u << 20,
                                        .waker = waker_of(party, PRODUCER)};
    CHECK_EQ(sf_kafka_producer_open(party->kafka, &config, &party->producer, &error), SF_OK);
}

void party_admin(struct party *party)
{
    struct sf_error error;
    CHECK_EQ(sf_kafka_admin_open(party->kafka, waker_of(party, ADMIN), &party->admin, &error), SF_OK);
}

struct sf_tp party_tp(struct party *party, const char *topic, int32_t partition)
{
    return (struct sf_tp){.topic = sf_kafka_topic(party->kafka, topic), .partition = partition};
}

void party_write(struct party *party, const char *topic, int32_t partition, const char *key, const char *value)
{
    struct sf_out out = out_of(key, value, 1);
    CHECK_EQ(sf_producer_write(party->producer, party_tp(party, topic, partition), &out, 1), 1);
}

void party_offset(struct party *party, uint64_t tag, const char *topic, int64_t offset, const char *metadata)
{
    struct sf_offset_commit commit = {.tp = party_tp(party, topic, 0), .offset = offset,
                                      .metadata = slice_of(metadata)};
    struct sf_member_token token = {0};
    if (party->consumer.ops != NULL) token = sf_consumer_token(party->consumer);
    sf_producer_offsets(party->producer, tag, token, &commit, 1);
}

void party_begin_first(struct party *party)
{
    sf_producer_init(party->producer, 1);
    history_settle(party->history);
    CHECK_EQ(sf_producer_begin(party->producer), SF_OK);
}

struct sf_slice slice_of(const char *text)
{
    if (text == NULL) return (struct sf_slice){0};
    return (struct sf_slice){.data = (const uint8_t *)text, .len = (uint32_t)strlen(text)};
}

struct sf_out out_of(const char *key, const char *value, int64_t ts_ms)
{
    return (struct sf_out){.key = slice_of(key), .value = slice_of(value), .ts_ms = ts_ms};
}

struct sf_tp broker_tp(struct history *history, const char *topic, int32_t partition)
{
    return (struct sf_tp){.topic = sf_sim_kafka_topic(history->broker, topic), .partition = partition};
}

void outside_append(struct history *history, const char *topic, int32_t partition, const char *key, const char *value)
{
    struct sf_out out = out_of(key, value, 1);
    (void)sf_sim_kafka_append(history->broker, broker_tp(history, topic, partition), &out, 1);
}
