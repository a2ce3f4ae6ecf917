/* Steps over any Kafka. See kafka_steps.h. */
#include "tests/conformance/kafka_steps.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/check.h"

#define EVENTS 64

/* ------------------------------------------------------------------ the world */

const char *kafka_name(const struct kafka_world *world, const char *base, char buffer[KAFKA_NAME_BYTES])
{
    (void)snprintf(buffer, KAFKA_NAME_BYTES, "%s-%s", base, world->run_id);
    return buffer;
}

struct sf_kafka kafka_process(struct kafka_world *world, uint32_t process)
{
    return world->ops->process(world->ctx, process);
}

uint32_t kafka_topic(struct kafka_world *world, uint32_t process, const char *base)
{
    char name[KAFKA_NAME_BYTES];
    return sf_kafka_topic(kafka_process(world, process), kafka_name(world, base, name));
}

struct sf_tp kafka_tp(struct kafka_world *world, uint32_t process, const char *base, int32_t partition)
{
    return (struct sf_tp){kafka_topic(world, process, base), partition};
}

struct wait {
    struct kafka_world *world;
    bool (*is_done)(void *arg);
    void *arg;
};

static bool wait_step(void *arg)
{
    struct wait *wait = arg;
    for (uint32_t i = 0; i < wait->world->client_count; i++)
        wait->world->clients[i].pump(wait->world->clients[i].client);
    return wait->is_done(wait->arg);
}

void kafka_wait(struct kafka_world *world, bool (*is_done)(void *arg), void *arg, const char *what)
{
    struct wait wait = {world, is_done, arg};
    if (!world->ops->run(world->ctx, wait_step, &wait)) fail_msg("%s: waited in vain for %s", world->label, what);
}

static void client_register(struct kafka_world *world, void (*pump)(void *), void (*close)(void *), void *client)
{
    CHECK(world->client_count < KAFKA_CLIENTS_MAX);
    world->clients[world->client_count++] = (struct kafka_open_client){pump, close, client};
}

static void client_forget(struct kafka_world *world, const void *client)
{
    for (uint32_t i = 0; i < world->client_count; i++) {
        if (world->clients[i].client != client) continue;
        for (uint32_t k = i + 1; k < world->client_count; k++) world->clients[k - 1] = world->clients[k];
        world->client_count--;
        return;
    }
}

void kafka_close_all(struct kafka_world *world)
{
    while (world->client_count > 0) {
        struct kafka_open_client *last = &world->clients[world->client_count - 1];
        last->close(last->client); /* forgets itself */
    }
}

static void *zeroed(size_t bytes)
{
    void *ptr = calloc(1, bytes);
    if (ptr == NULL) abort();
    return ptr;
}

static bool is_same(struct sf_tp a, struct sf_tp b)
{
    return a.topic == b.topic && a.partition == b.partition;
}

/* ------------------------------------------------------------------ reader */

static uint32_t part_index(struct kafka_reader *reader, struct sf_tp tp)
{
    for (uint32_t i = 0; i < reader->part_count; i++)
        if (is_same(reader->parts[i].tp, tp)) return i;
    CHECK(reader->part_count < KAFKA_PARTS_MAX);
    uint32_t index = reader->part_count++;
    reader->parts[index].tp = tp;
    reader->parts[index].caught_up = -1;
    reader->parts[index].next = -1;
    return index;
}

static void text_take(char *to, struct sf_slice from)
{
    uint32_t len = from.len < KAFKA_TEXT_BYTES - 1 ? from.len : KAFKA_TEXT_BYTES - 1;
    if (from.data != NULL) memcpy(to, from.data, len);
    to[len] = '\0';
}

static void headers_take(char *to, struct sf_slice flat)
{
    uint32_t at = 0, used = 0;
    to[0] = '\0';
    while (flat.data != NULL && at + 6 <= flat.len && used < KAFKA_TEXT_BYTES - 1) {
        uint32_t name_len = (uint32_t)flat.data[at] | (uint32_t)flat.data[at + 1] << 8;
        const char *name = (const char *)flat.data + at + 2;
        const uint8_t *len_at = flat.data + at + 2 + name_len;
        uint32_t value_len =
            (uint32_t)len_at[0] | (uint32_t)len_at[1] << 8 | (uint32_t)len_at[2] << 16 | (uint32_t)len_at[3] << 24;
        bool is_null = value_len == UINT32_MAX;
        if (is_null) value_len = 0;
        int wrote = snprintf(to + used, KAFKA_TEXT_BYTES - used, "%.*s=%.*s;", (int)name_len, name,
                             is_null ? 4 : (int)value_len, is_null ? "null" : (const char *)len_at + 4);
        used += wrote > 0 ? (uint32_t)wrote : 0;
        at += 6 + name_len + value_len;
    }
}

static void batch_take(struct kafka_reader *reader, const struct sf_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct sf_record *record = &batch->records[i];
        CHECK(reader->seen_count < KAFKA_SEEN_MAX);
        struct kafka_seen *seen = &reader->seen[reader->seen_count++];
        seen->tp = batch->tp;
        seen->offset = record->offset;
        seen->ts_ms = record->ts_kind != SF_TS_NONE ? record->ts_ms : -1;
        seen->generation = batch->generation;
        seen->is_null_key = record->key.data == NULL;
        seen->is_null_value = record->value.data == NULL;
        text_take(seen->key, record->key);
        text_take(seen->value, record->value);
        headers_take(seen->headers, record->headers);
    }
}

static void reader_pump(void *client)
{
    struct kafka_reader *reader = client;
    struct sf_consumer_event events[EVENTS];
    uint32_t count = sf_consumer_poll(reader->client, events, EVENTS);
    for (uint32_t i = 0; i < count; i++) {
        const struct sf_consumer_event *event = &events[i];
        if (event->kind == SF_CONSUMER_FAILED) {
            reader->failed = event->status;
            continue;
        }
        struct sf_tp tp = event->kind == SF_CONSUMER_BATCH ? event->batch->tp : event->tp;
        uint32_t p = part_index(reader, tp);
        if (event->kind == SF_CONSUMER_BATCH) {
            batch_take(reader, event->batch);
            reader->parts[p].next = event->batch->next_offset;
            sf_consumer_release(reader->client, event->batch);
        } else if (event->kind == SF_CONSUMER_CAUGHT_UP) {
            reader->parts[p].caught_up = event->position;
        } else if (event->kind == SF_CONSUMER_OUT_OF_RANGE) {
            reader->parts[p].is_out_of_range = true;
            reader->parts[p].lost_position = event->position;
            reader->parts[p].log_start = event->log_start;
            reader->parts[p].log_end = event->log_end;
        } else if (event->kind == SF_CONSUMER_PARTITION) {
            reader->parts[p].status = event->status;
            if (sf_status_class(event->status) == SF_CLASS_RETRY) reader->parts[p].retry_count++;
        }
    }
}

static void reader_close_any(void *client)
{
    kafka_reader_close(client);
}

struct kafka_reader *kafka_reader_open(struct kafka_world *world, uint32_t process, struct kafka_reader_options options)
{
    struct kafka_reader *reader = zeroed(sizeof *reader);
    char group[KAFKA_NAME_BYTES];
    reader->world = world;
    struct sf_consumer_config config = {
        .group = kafka_name(world, "g", group),
        .purpose = "source",
        .is_read_committed = !options.is_read_uncommitted,
        .has_headers = options.has_headers,
        .batch_records_max = options.batch_records_max > 0 ? options.batch_records_max : 500,
        .fetch_bytes_max = 1 << 20,
        .waker = world->ops->waker(world->ctx)};
    struct sf_error error;
    if (sf_kafka_consumer_open(kafka_process(world, process), &config, &reader->client, &error) != SF_OK)
        fail_msg("consumer: %s", error.text);
    client_register(world, reader_pump, reader_close_any, reader);
    return reader;
}

uint32_t kafka_reader_add(struct kafka_reader *reader, struct sf_tp tp, int64_t offset)
{
    (void)part_index(reader, tp);
    return sf_consumer_add(reader->client, tp, offset);
}

uint32_t kafka_reader_seek(struct kafka_reader *reader, struct sf_tp tp, int64_t offset)
{
    uint32_t p = part_index(reader, tp);
    reader->parts[p].caught_up = -1;
    reader->parts[p].next = -1;
    reader->parts[p].is_out_of_range = false;
    return sf_consumer_seek(reader->client, tp, offset);
}

struct reader_wait {
    struct kafka_reader *reader;
    uint32_t part;
    int64_t bound;
};

static bool has_seen(void *arg)
{
    const struct reader_wait *wait = arg;
    return (int64_t)wait->reader->seen_count >= wait->bound;
}

static bool has_caught_up(void *arg)
{
    const struct reader_wait *wait = arg;
    return wait->reader->parts[wait->part].caught_up >= wait->bound;
}

static bool has_lost_range(void *arg)
{
    const struct reader_wait *wait = arg;
    return wait->reader->parts[wait->part].is_out_of_range;
}

void kafka_reader_wait_seen(struct kafka_reader *reader, uint32_t count)
{
    struct reader_wait wait = {reader, 0, count};
    kafka_wait(reader->world, has_seen, &wait, "records");
}

void kafka_reader_wait_caught_up(struct kafka_reader *reader, struct sf_tp tp, int64_t position)
{
    struct reader_wait wait = {reader, part_index(reader, tp), position};
    kafka_wait(reader->world, has_caught_up, &wait, "CAUGHT_UP");
}

void kafka_reader_wait_out_of_range(struct kafka_reader *reader, struct sf_tp tp)
{
    struct reader_wait wait = {reader, part_index(reader, tp), 0};
    kafka_wait(reader->world, has_lost_range, &wait, "OUT_OF_RANGE");
}

const char *kafka_reader_values(const struct kafka_reader *reader, char *buffer, uint32_t bytes)
{
    uint32_t used = 0;
    buffer[0] = '\0';
    for (uint32_t i = 0; i < reader->seen_count && used < bytes; i++) {
        int wrote = snprintf(buffer + used, bytes - used, "%s%s", i > 0 ? " " : "", reader->seen[i].value);
        used += wrote > 0 ? (uint32_t)wrote : 0;
    }
    return buffer;
}

void kafka_reader_expect(const struct kafka_reader *reader, const char *values)
{
    char text[1024];
    CHECK_STR(kafka_reader_values(reader, text, sizeof text), values);
}

void kafka_reader_close(struct kafka_reader *reader)
{
    client_forget(reader->world, reader);
    sf_consumer_close(reader->client);
    free(reader);
}

/* ------------------------------------------------------------------ owner */

static void owner_pump(void *client)
{
    struct kafka_owner *owner = client;
    struct sf_consumer_event events[EVENTS];
    uint32_t count = sf_consumer_poll(owner->client, events, EVENTS);
    for (uint32_t i = 0; i < count; i++) {
        if (events[i].kind == SF_CONSUMER_GRANTED && events[i].tp_count > 0) {
            owner->is_owner = true;
            owner->granted_count++;
        } else if (events[i].kind == SF_CONSUMER_CONFIRMED) {
            owner->confirmed_count++;
        } else if (events[i].kind == SF_CONSUMER_REVOKING) {
            owner->is_revoking = true;
            owner->revoking_count++;
        } else if (events[i].kind == SF_CONSUMER_REVOKED) {
            owner->is_owner = false;
            owner->lost = events[i].status;
            owner->revoked_count++;
        } else if (events[i].kind == SF_CONSUMER_FAILED) {
            owner->is_owner = false;
            owner->lost = events[i].status;
        }
    }
}

static void owner_close_any(void *client)
{
    kafka_owner_close(client);
}

struct kafka_owner *kafka_owner_open(struct kafka_world *world, uint32_t process, const char *group, const char *topic,
                                     const char *instance)
{
    struct kafka_owner *owner = zeroed(sizeof *owner);
    char group_name[KAFKA_NAME_BYTES], topic_name[KAFKA_NAME_BYTES], instance_name[KAFKA_NAME_BYTES];
    const char *topics[] = {kafka_name(world, topic, topic_name), NULL};
    owner->world = world;
    struct sf_consumer_config config = {
        .group = kafka_name(world, group, group_name),
        .purpose = "owner",
        .subscribe = topics,
        .instance = instance != NULL ? kafka_name(world, instance, instance_name) : NULL,
        .is_read_committed = true,
        .batch_records_max = 1,
        .fetch_bytes_max = 1 << 16,
        .waker = world->ops->waker(world->ctx)};
    struct sf_error error;
    if (sf_kafka_consumer_open(kafka_process(world, process), &config, &owner->client, &error) != SF_OK)
        fail_msg("member: %s", error.text);
    client_register(world, owner_pump, owner_close_any, owner);
    return owner;
}

static bool is_owner(void *arg)
{
    return ((struct kafka_owner *)arg)->is_owner;
}

static bool has_lost(void *arg)
{
    return !((struct kafka_owner *)arg)->is_owner;
}

void kafka_owner_wait_granted(struct kafka_owner *owner)
{
    kafka_wait(owner->world, is_owner, owner, "GRANTED");
}

void kafka_owner_wait_lost(struct kafka_owner *owner)
{
    kafka_wait(owner->world, has_lost, owner, "REVOKED or FAILED");
}

struct confirm_wait {
    struct kafka_owner *owner;
    uint32_t count;
};

static bool has_confirmed(void *arg)
{
    const struct confirm_wait *wait = arg;
    return wait->owner->confirmed_count == wait->count;
}

void kafka_owner_confirm(struct kafka_owner *owner)
{
    struct confirm_wait wait = {owner, owner->confirmed_count + 1};
    sf_consumer_confirm(owner->client);
    kafka_wait(owner->world, has_confirmed, &wait, "CONFIRMED");
}

struct sf_member_token kafka_owner_token(struct kafka_owner *owner)
{
    return sf_consumer_token(owner->client);
}

struct token_wait {
    struct kafka_owner *owner;
    uint64_t old;
};

static bool has_new_token(void *arg)
{
    const struct token_wait *wait = arg;
    uint64_t id = kafka_owner_token(wait->owner).id;
    return id != 0 && id != wait->old;
}

void kafka_owner_wait_token(struct kafka_owner *owner, struct sf_member_token old)
{
    struct token_wait wait = {owner, old.id};
    kafka_wait(owner->world, has_new_token, &wait, "a new generation");
}

void kafka_owner_close(struct kafka_owner *owner)
{
    client_forget(owner->world, owner);
    sf_consumer_close(owner->client);
    free(owner);
}

/* ------------------------------------------------------------------ writer */

static void writer_pump(void *client)
{
    struct kafka_writer *writer = client;
    struct sf_producer_event events[EVENTS];
    uint32_t count = sf_producer_poll(writer->client, events, EVENTS);
    for (uint32_t i = 0; i < count; i++) {
        const struct sf_producer_event *event = &events[i];
        if (event->kind == SF_PRODUCER_ROOM) {
            writer->room_count++;
        } else if (event->kind == SF_PRODUCER_FAILED) {
            writer->failed = event->status;
        } else if (event->tag == writer->tag) {
            writer->has_event = true;
            writer->event = *event;
            writer->position_count = event->position_count;
            CHECK(event->position_count <= KAFKA_PARTS_MAX);
            for (uint32_t k = 0; k < event->position_count; k++) writer->positions[k] = event->positions[k];
            (void)snprintf(writer->text, sizeof writer->text, "%s", event->text != NULL ? event->text : "");
        }
    }
}

static void writer_close_any(void *client)
{
    kafka_writer_close(client);
}

struct kafka_writer *kafka_writer_open(struct kafka_world *world, uint32_t process, const char *id,
                                       struct kafka_writer_options options)
{
    struct kafka_writer *writer = zeroed(sizeof *writer);
    char id_name[KAFKA_NAME_BYTES], group[KAFKA_NAME_BYTES];
    writer->world = world;
    struct sf_producer_config config = {
        .transactional_id = id != NULL ? kafka_name(world, id, id_name) : NULL,
        .group = kafka_name(world, options.group != NULL ? options.group : "g", group),
        .txn_timeout_ms = options.txn_timeout_ms > 0 ? options.txn_timeout_ms : 60000,
        .queue_bytes_max = options.queue_bytes_max > 0 ? options.queue_bytes_max : 1 << 20,
        .record_bytes_max = 1 << 20,
        .waker = world->ops->waker(world->ctx)};
    struct sf_error error;
    if (sf_kafka_producer_open(kafka_process(world, process), &config, &writer->client, &error) != SF_OK)
        fail_msg("producer: %s", error.text);
    client_register(world, writer_pump, writer_close_any, writer);
    return writer;
}

static bool has_writer_event(void *arg)
{
    return ((struct kafka_writer *)arg)->has_event;
}

static struct sf_producer_event writer_wait(struct kafka_writer *writer, const char *what)
{
    kafka_wait(writer->world, has_writer_event, writer, what);
    return writer->event;
}

static uint64_t writer_tag(struct kafka_writer *writer)
{
    writer->has_event = false;
    return ++writer->tag;
}

struct sf_producer_event kafka_writer_init(struct kafka_writer *writer)
{
    sf_producer_init(writer->client, writer_tag(writer));
    return writer_wait(writer, "INIT");
}

void kafka_writer_begin(struct kafka_writer *writer)
{
    CHECK_EQ(sf_producer_begin(writer->client), SF_OK);
}

static struct sf_slice slice(const char *text)
{
    return (struct sf_slice){(const uint8_t *)text, text != NULL ? (uint32_t)strlen(text) : 0};
}

struct put_wait {
    struct kafka_writer *writer;
    struct sf_tp tp;
    struct sf_out out;
};

static bool has_put(void *arg)
{
    struct put_wait *wait = arg;
    return sf_producer_write(wait->writer->client, wait->tp, &wait->out, 1) == 1;
}

void kafka_writer_put(struct kafka_writer *writer, struct sf_tp tp, const char *key, const char *value)
{
    struct put_wait wait = {writer, tp, {.key = slice(key), .value = slice(value), .ts_ms = 1700000000000}};
    if (!has_put(&wait)) kafka_wait(writer->world, has_put, &wait, "room");
}

struct sf_producer_event kafka_writer_offsets(struct kafka_writer *writer, struct sf_member_token token,
                                              struct sf_tp tp, int64_t offset, const char *metadata)
{
    struct sf_offset_commit commit = {.tp = tp, .offset = offset, .metadata = slice(metadata)};
    sf_producer_offsets(writer->client, writer_tag(writer), token, &commit, 1);
    return writer_wait(writer, "OFFSETS");
}

struct sf_producer_event kafka_writer_commit(struct kafka_writer *writer)
{
    sf_producer_commit(writer->client, writer_tag(writer));
    return writer_wait(writer, "COMMITTED");
}

struct sf_producer_event kafka_writer_abort(struct kafka_writer *writer)
{
    sf_producer_abort(writer->client, writer_tag(writer));
    return writer_wait(writer, "ABORTED");
}

struct sf_producer_event kafka_writer_flush(struct kafka_writer *writer)
{
    sf_producer_flush(writer->client, writer_tag(writer));
    return writer_wait(writer, "FLUSHED");
}

void kafka_writer_close(struct kafka_writer *writer)
{
    client_forget(writer->world, writer);
    sf_producer_close(writer->client);
    free(writer);
}

/* ------------------------------------------------------------------ boss */

static void answers_take(struct kafka_boss *boss, const struct sf_admin_event *event)
{
    boss->has_event = true;
    boss->event = *event;
    CHECK(event->answer_count <= KAFKA_PARTS_MAX);
    for (uint32_t i = 0; i < event->answer_count; i++) {
        boss->answers[i] = event->answers[i];
        text_take(boss->metadata[i], event->answers[i].metadata);
        boss->answers[i].metadata.data = event->answers[i].metadata.data != NULL ? (uint8_t *)boss->metadata[i] : NULL;
    }
    uint32_t used = 0;
    boss->settings[0] = '\0';
    for (uint32_t i = 0; i < event->setting_count && used < sizeof boss->settings; i++) {
        int wrote = snprintf(boss->settings + used, sizeof boss->settings - used, "%s=%s\n", event->settings[i].name,
                             event->settings[i].value);
        used += wrote > 0 ? (uint32_t)wrote : 0;
    }
}

static void boss_pump(void *client)
{
    struct kafka_boss *boss = client;
    struct sf_admin_event events[EVENTS];
    uint32_t count = sf_admin_poll(boss->client, events, EVENTS);
    for (uint32_t i = 0; i < count; i++) {
        if (boss->watch_tag != 0 && events[i].tag == boss->watch_tag) boss->watched = events[i].partition_count;
        else if (events[i].tag == boss->tag) answers_take(boss, &events[i]);
    }
}

static void boss_close_any(void *client)
{
    kafka_boss_close(client);
}

struct kafka_boss *kafka_boss_open(struct kafka_world *world, uint32_t process)
{
    struct kafka_boss *boss = zeroed(sizeof *boss);
    boss->world = world;
    boss->watched = -1;
    struct sf_error error;
    if (sf_kafka_admin_open(kafka_process(world, process), world->ops->waker(world->ctx), &boss->client, &error) !=
        SF_OK)
        fail_msg("admin: %s", error.text);
    client_register(world, boss_pump, boss_close_any, boss);
    return boss;
}

static bool has_boss_event(void *arg)
{
    return ((struct kafka_boss *)arg)->has_event;
}

struct sf_admin_event kafka_boss_wait(struct kafka_boss *boss, const char *what)
{
    kafka_wait(boss->world, has_boss_event, boss, what);
    return boss->event;
}

static uint64_t boss_tag(struct kafka_boss *boss)
{
    boss->has_event = false;
    boss->tag += 2;
    return boss->tag;
}

static enum sf_status create(struct kafka_boss *boss, uint32_t process, const char *topic, int32_t partition_count,
                             const struct sf_topic_setting *settings, uint32_t setting_count)
{
    struct sf_topic_spec spec = {.topic = kafka_topic(boss->world, process, topic),
                                 .partition_count = partition_count,
                                 .replication = -1,
                                 .settings = settings,
                                 .setting_count = setting_count};
    sf_admin_create(boss->client, boss_tag(boss), &spec);
    return kafka_boss_wait(boss, "create").status;
}

void kafka_boss_create(struct kafka_boss *boss, uint32_t process, const char *topic, int32_t partition_count,
                       const char *setting, const char *value)
{
    struct sf_topic_setting settings[2] = {{"retention.ms", "-1"}, {setting, value}};
    CHECK_EQ(create(boss, process, topic, partition_count, settings, setting != NULL ? 2 : 1), SF_OK);
}

enum sf_status kafka_boss_create_try(struct kafka_boss *boss, uint32_t process, const char *topic,
                                     int32_t partition_count)
{
    return create(boss, process, topic, partition_count, NULL, 0);
}

struct sf_admin_event kafka_boss_describe(struct kafka_boss *boss, uint32_t process, const char *topic)
{
    sf_admin_describe(boss->client, boss_tag(boss), kafka_topic(boss->world, process, topic));
    return kafka_boss_wait(boss, "describe");
}

void kafka_boss_ask_committed(struct kafka_boss *boss, const char *group, struct sf_tp tp)
{
    char name[KAFKA_NAME_BYTES];
    sf_admin_committed(boss->client, boss_tag(boss), kafka_name(boss->world, group, name), &tp, 1);
}

struct sf_offset_answer kafka_boss_committed(struct kafka_boss *boss, const char *group, struct sf_tp tp)
{
    kafka_boss_ask_committed(boss, group, tp);
    CHECK_EQ(kafka_boss_wait(boss, "committed").status, SF_OK);
    return boss->answers[0];
}

int64_t kafka_boss_end(struct kafka_boss *boss, struct sf_tp tp, enum sf_log_end which)
{
    sf_admin_ends(boss->client, boss_tag(boss), which, &tp, 1);
    CHECK_EQ(kafka_boss_wait(boss, "ends").status, SF_OK);
    CHECK_EQ(boss->answers[0].status, SF_OK);
    return boss->answers[0].offset;
}

enum sf_status kafka_boss_commit(struct kafka_boss *boss, const char *group, struct sf_member_token token,
                                 struct sf_tp tp, int64_t offset)
{
    char name[KAFKA_NAME_BYTES];
    struct sf_offset_commit commit = {.tp = tp, .offset = offset};
    sf_admin_commit(boss->client, boss_tag(boss), kafka_name(boss->world, group, name), token, &commit, 1);
    return kafka_boss_wait(boss, "commit of offsets").status;
}

enum sf_status kafka_boss_truncate(struct kafka_boss *boss, struct sf_tp tp, int64_t before)
{
    sf_admin_truncate(boss->client, boss_tag(boss), tp, before);
    return kafka_boss_wait(boss, "truncate").status;
}

void kafka_boss_watch(struct kafka_boss *boss, uint32_t process, const char *topic)
{
    boss->watch_tag = 1; /* commands have even tags */
    sf_admin_watch(boss->client, boss->watch_tag, kafka_topic(boss->world, process, topic));
}

struct watch_wait {
    struct kafka_boss *boss;
    int32_t count;
};

static bool has_watched(void *arg)
{
    const struct watch_wait *wait = arg;
    return wait->boss->watched == wait->count;
}

void kafka_boss_wait_watched(struct kafka_boss *boss, int32_t count)
{
    struct watch_wait wait = {boss, count};
    kafka_wait(boss->world, has_watched, &wait, "the watched partition count");
}

void kafka_boss_close(struct kafka_boss *boss)
{
    client_forget(boss->world, boss);
    sf_admin_close(boss->client);
    free(boss);
}
