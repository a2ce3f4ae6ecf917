/* Kafka conformance: topics and reading. See kafka_suite.h. */
#include <stdio.h>

#include "tests/check.h"
#include "tests/conformance/kafka_cases.h"
#include "tests/conformance/kafka_steps.h"

/* The usual stage: a topic `t`, a transactional writer that is ready. */
static struct kafka_boss *stage(struct kafka_world *world, int32_t partition_count)
{
    struct kafka_boss *boss = kafka_boss_open(world, 0);
    kafka_boss_create(boss, 0, "t", partition_count, NULL, NULL);
    return boss;
}

static struct kafka_writer *writer_ready(struct kafka_world *world, uint32_t process)
{
    struct kafka_writer *writer = kafka_writer_open(world, process, "tx", (struct kafka_writer_options){0});
    CHECK_EQ(kafka_writer_init(writer).status, SF_OK);
    return writer;
}

/* One committed transaction of values "0", "1", … to partition `tp`. */
static void fill(struct kafka_writer *writer, struct sf_tp tp, uint32_t first, uint32_t count)
{
    char text[16];
    kafka_writer_begin(writer);
    for (uint32_t i = first; i < first + count; i++) {
        (void)snprintf(text, sizeof text, "%u", i);
        kafka_writer_put(writer, tp, "k", text);
    }
    CHECK_EQ(kafka_writer_commit(writer).outcome, SF_OUTCOME_COMMITTED);
}

/* ------------------------------------------------------------------ topics */

void topic_numbers_are_stable_and_names_come_back(void **state)
{
    struct kafka_world *world = *state;
    uint32_t a = kafka_topic(world, 0, "a"), b = kafka_topic(world, 0, "b");
    char name[KAFKA_NAME_BYTES];
    CHECK(a != b);
    CHECK_EQ(kafka_topic(world, 0, "a"), a);
    CHECK_STR(sf_kafka_topic_name(kafka_process(world, 0), b), kafka_name(world, "b", name));
}

void create_is_repeatable_and_refuses_another_partition_count(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = kafka_boss_open(world, 0);
    CHECK_EQ(kafka_boss_create_try(boss, 0, "t", 3), SF_OK);
    CHECK_EQ(kafka_boss_create_try(boss, 0, "t", 3), SF_OK);
    CHECK_EQ(kafka_boss_create_try(boss, 0, "t", 2), SF_E_EXISTS);
    CHECK_EQ(kafka_boss_describe(boss, 0, "t").partition_count, 3);
}

void describe_tells_settings_by_name_and_unknown_topics(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = kafka_boss_open(world, 0);
    CHECK_EQ(kafka_boss_describe(boss, 0, "none").status, SF_E_UNKNOWN_TOPIC);
    kafka_boss_create(boss, 0, "t", 2, "cleanup.policy", "compact");
    struct sf_admin_event event = kafka_boss_describe(boss, 0, "t");
    CHECK_EQ(event.status, SF_OK);
    CHECK_EQ(event.partition_count, 2);
    const char *policy = strstr(boss->settings, "cleanup.policy=compact\n");
    const char *retention = strstr(boss->settings, "retention.ms=-1\n");
    CHECK(policy != NULL);
    CHECK(retention != NULL && retention > policy);
}

void watch_tells_the_count_and_each_change(void **state)
{
    struct kafka_world *world = *state;
    const char *reason = world->ops->cannot(world->ctx, KAFKA_POWER_GROW);
    if (reason != NULL) {
        print_message("skipped: watch_tells_the_count_and_each_change: %s\n", reason);
        skip();
    }
    struct kafka_boss *boss = stage(world, 2);
    char name[KAFKA_NAME_BYTES];
    kafka_boss_watch(boss, 0, "t");
    kafka_boss_wait_watched(boss, 2);
    world->ops->grow(world->ctx, kafka_name(world, "t", name), 5);
    kafka_boss_wait_watched(boss, 5);
}

void truncate_moves_the_log_start(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = stage(world, 1);
    struct kafka_writer *writer = writer_ready(world, 0);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    fill(writer, tp, 0, 10);
    struct kafka_reader *reader = kafka_reader_open(world, 0, (struct kafka_reader_options){0});
    kafka_reader_add(reader, tp, 0);
    kafka_reader_wait_caught_up(reader, tp, 11); /* the marker is there */
    CHECK_EQ(kafka_boss_end(boss, tp, SF_LOG_START), 0);
    CHECK_EQ(kafka_boss_end(boss, tp, SF_LOG_END), 11);
    CHECK_EQ(kafka_boss_end(boss, tp, SF_LOG_STABLE_END), 11);
    CHECK_EQ(kafka_boss_truncate(boss, tp, 4), SF_OK);
    CHECK_EQ(kafka_boss_end(boss, tp, SF_LOG_START), 4);
    CHECK_EQ(kafka_boss_truncate(boss, tp, 4), SF_OK);
    CHECK_EQ(kafka_boss_end(boss, tp, SF_LOG_START), 4);
}

/* ------------------------------------------------------------------ records */

void records_come_back_as_written(void **state)
{
    struct kafka_world *world = *state;
    (void)stage(world, 1);
    struct kafka_writer *writer = writer_ready(world, 0);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    static const uint8_t headers[] = "\x01\x00" "a" "\x02\x00\x00\x00" "xy" "\x01\x00" "b" "\xff\xff\xff\xff";
    static const uint8_t byte = 'v';
    struct sf_out outs[] = {
        {.key = {&byte, 1}, .value = {&byte, 1}, .headers = {headers, sizeof headers - 1}, .ts_ms = 0},
        {.key = {NULL, 0}, .value = {&byte, 0}, .ts_ms = 1700000000123},
        {.key = {&byte, 0}, .value = {NULL, 0}, .ts_ms = 5}};
    kafka_writer_begin(writer);
    CHECK_EQ(sf_producer_write(writer->client, tp, outs, 3), 3);
    CHECK_EQ(kafka_writer_commit(writer).outcome, SF_OUTCOME_COMMITTED);
    struct kafka_reader *reader = kafka_reader_open(world, 0, (struct kafka_reader_options){.has_headers = true});
    kafka_reader_add(reader, tp, SF_OFFSET_BEGINNING);
    kafka_reader_wait_seen(reader, 3);
    CHECK_STR(reader->seen[0].key, "v");
    CHECK_STR(reader->seen[0].value, "v");
    CHECK_STR(reader->seen[0].headers, "a=xy;b=null;");
    CHECK_EQ(reader->seen[1].ts_ms, 1700000000123);
    CHECK(reader->seen[1].is_null_key && !reader->seen[1].is_null_value);
    CHECK_STR(reader->seen[1].value, "");
    CHECK_EQ(reader->seen[2].ts_ms, 5);
    CHECK(!reader->seen[2].is_null_key && reader->seen[2].is_null_value);
    CHECK_EQ(reader->seen[2].offset, 2);
}

void read_committed_hides_open_and_aborted(void **state)
{
    struct kafka_world *world = *state;
    (void)stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_reader *all = kafka_reader_open(world, 0, (struct kafka_reader_options){.is_read_uncommitted = true});
    struct kafka_reader *committed = kafka_reader_open(world, 0, (struct kafka_reader_options){0});
    kafka_reader_add(all, tp, 0);
    kafka_reader_add(committed, tp, 0);
    struct kafka_writer *writer = writer_ready(world, 0);
    fill(writer, tp, 0, 2); /* 0 1, marker 2 */
    kafka_writer_begin(writer);
    kafka_writer_put(writer, tp, "k", "aborted");
    kafka_reader_wait_seen(all, 3); /* it is in the log */
    CHECK_EQ(kafka_writer_abort(writer).status, SF_OK);
    kafka_writer_begin(writer);
    kafka_writer_put(writer, tp, "k", "open");
    kafka_reader_wait_seen(all, 4);
    kafka_reader_wait_caught_up(committed, tp, 5); /* the open one begins here */
    kafka_reader_expect(all, "0 1 aborted open");
    kafka_reader_expect(committed, "0 1");
    CHECK_EQ(kafka_writer_commit(writer).outcome, SF_OUTCOME_COMMITTED);
    kafka_reader_wait_seen(committed, 3);
    kafka_reader_expect(committed, "0 1 open");
}

void caught_up_is_told_behind_a_trailing_marker(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_reader *reader = kafka_reader_open(world, 0, (struct kafka_reader_options){0});
    kafka_reader_add(reader, tp, 0);
    kafka_reader_wait_caught_up(reader, tp, 0); /* an empty log too */
    fill(writer_ready(world, 0), tp, 0, 3);
    kafka_reader_wait_caught_up(reader, tp, 4);
    CHECK_EQ(reader->parts[0].caught_up, kafka_boss_end(boss, tp, SF_LOG_STABLE_END));
    kafka_reader_expect(reader, "0 1 2");
}

void caught_up_stops_at_an_open_transaction(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_writer *writer = writer_ready(world, 0);
    fill(writer, tp, 0, 2);
    struct kafka_reader *all = kafka_reader_open(world, 0, (struct kafka_reader_options){.is_read_uncommitted = true});
    kafka_reader_add(all, tp, 0);
    kafka_writer_begin(writer);
    kafka_writer_put(writer, tp, "k", "open");
    kafka_reader_wait_seen(all, 3);
    CHECK_EQ(kafka_boss_end(boss, tp, SF_LOG_STABLE_END), 3);
    CHECK_EQ(kafka_boss_end(boss, tp, SF_LOG_END), 4);
    struct kafka_reader *reader = kafka_reader_open(world, 0, (struct kafka_reader_options){0});
    kafka_reader_add(reader, tp, 3);
    kafka_reader_wait_caught_up(reader, tp, 3);
    CHECK_EQ(reader->parts[0].caught_up, 3);
    CHECK_EQ(reader->seen_count, 0);
}

void reading_from_the_beginning_starts_at_the_log_start(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    fill(writer_ready(world, 0), tp, 0, 5);
    CHECK_EQ(kafka_boss_truncate(boss, tp, 2), SF_OK);
    struct kafka_reader *reader = kafka_reader_open(world, 0, (struct kafka_reader_options){0});
    kafka_reader_add(reader, tp, SF_OFFSET_BEGINNING);
    kafka_reader_wait_seen(reader, 3);
    kafka_reader_expect(reader, "2 3 4");
    CHECK_EQ(reader->seen[0].offset, 2);
}

void out_of_range_is_told_with_both_ends_and_seek_recovers(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    fill(writer_ready(world, 0), tp, 0, 6);
    struct kafka_reader *first = kafka_reader_open(world, 0, (struct kafka_reader_options){0});
    kafka_reader_add(first, tp, 0);
    kafka_reader_wait_caught_up(first, tp, 7);
    CHECK_EQ(kafka_boss_truncate(boss, tp, 3), SF_OK);
    struct kafka_reader *reader = kafka_reader_open(world, 0, (struct kafka_reader_options){0});
    kafka_reader_add(reader, tp, 1); /* below */
    kafka_reader_wait_out_of_range(reader, tp);
    CHECK_EQ(reader->parts[0].lost_position, 1);
    CHECK_EQ(reader->parts[0].log_start, 3);
    CHECK_EQ(reader->parts[0].log_end, 7);
    CHECK_EQ(reader->seen_count, 0);
    kafka_reader_seek(reader, tp, 99); /* above */
    kafka_reader_wait_out_of_range(reader, tp);
    CHECK_EQ(reader->parts[0].lost_position, 99);
    kafka_reader_seek(reader, tp, 4);
    kafka_reader_wait_seen(reader, 2);
    kafka_reader_expect(reader, "4 5");
}

void seek_drops_what_was_read_before(void **state)
{
    struct kafka_world *world = *state;
    (void)stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    fill(writer_ready(world, 0), tp, 0, 200);
    struct kafka_reader *reader = kafka_reader_open(world, 0, (struct kafka_reader_options){.batch_records_max = 10});
    uint32_t before = kafka_reader_add(reader, tp, 0);
    kafka_reader_wait_seen(reader, 1);
    uint32_t seen = reader->seen_count;
    uint32_t after = kafka_reader_seek(reader, tp, 7);
    CHECK(after != before);
    kafka_reader_wait_caught_up(reader, tp, 201);
    for (uint32_t i = seen; i < reader->seen_count; i++) {
        CHECK_EQ(reader->seen[i].generation, after);
        CHECK_EQ(reader->seen[i].offset, 7 + (i - seen));
    }
    CHECK_EQ(reader->seen_count - seen, 193);
}

void removed_partition_is_silent_and_can_be_added_again(void **state)
{
    struct kafka_world *world = *state;
    (void)stage(world, 2);
    struct sf_tp a = kafka_tp(world, 0, "t", 0), b = kafka_tp(world, 0, "t", 1);
    struct kafka_writer *writer = writer_ready(world, 0);
    fill(writer, a, 0, 20);
    fill(writer, b, 100, 20);
    struct kafka_reader *reader = kafka_reader_open(world, 0, (struct kafka_reader_options){.batch_records_max = 1});
    kafka_reader_add(reader, a, 0);
    kafka_reader_add(reader, b, 0);
    kafka_reader_wait_seen(reader, 1);
    sf_consumer_remove(reader->client, a);
    uint32_t seen = reader->seen_count;
    kafka_reader_wait_caught_up(reader, b, 21);
    for (uint32_t i = seen; i < reader->seen_count; i++) CHECK_EQ(reader->seen[i].tp.partition, 1);
    seen = reader->seen_count;
    reader->parts[0].caught_up = -1;
    kafka_reader_add(reader, a, 15);
    kafka_reader_wait_caught_up(reader, a, 21);
    CHECK_EQ(reader->seen_count - seen, 5);
    CHECK_STR(reader->seen[seen].value, "15");
}

void pause_holds_one_partition_and_no_other(void **state)
{
    struct kafka_world *world = *state;
    (void)stage(world, 2);
    struct sf_tp a = kafka_tp(world, 0, "t", 0), b = kafka_tp(world, 0, "t", 1);
    struct kafka_writer *writer = writer_ready(world, 0);
    fill(writer, a, 0, 50);
    fill(writer, b, 100, 50);
    struct kafka_reader *reader = kafka_reader_open(world, 0, (struct kafka_reader_options){0});
    kafka_reader_add(reader, a, 0);
    kafka_reader_add(reader, b, 0);
    sf_consumer_pause(reader->client, a);
    sf_consumer_pause(reader->client, a);
    kafka_reader_wait_caught_up(reader, b, 51);
    for (uint32_t i = 0; i < reader->seen_count; i++) CHECK_EQ(reader->seen[i].tp.partition, 1);
    CHECK_EQ(reader->seen_count, 50);
    sf_consumer_resume(reader->client, a);
    sf_consumer_resume(reader->client, a);
    kafka_reader_wait_caught_up(reader, a, 51);
    CHECK_EQ(reader->seen_count, 100);
    for (uint32_t i = 50; i < 100; i++) CHECK_EQ(reader->seen[i].offset, i - 50);
}

struct batch_wait {
    struct sf_consumer client;
    struct sf_batch *batches[4];
    uint32_t count;
};

static bool has_batches(void *arg)
{
    struct batch_wait *wait = arg;
    struct sf_consumer_event event;
    while (wait->count < 4 && sf_consumer_poll(wait->client, &event, 1) == 1)
        if (event.kind == SF_CONSUMER_BATCH) wait->batches[wait->count++] = event.batch;
    return wait->count == 4;
}

void batches_stay_valid_until_released(void **state)
{
    struct kafka_world *world = *state;
    (void)stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    fill(writer_ready(world, 0), tp, 0, 40);
    struct sf_consumer_config config = {.group = "g",
                                        .purpose = "source",
                                        .is_read_committed = true,
                                        .batch_records_max = 10,
                                        .fetch_bytes_max = 1 << 20,
                                        .waker = world->ops->waker(world->ctx)};
    struct sf_error error;
    struct batch_wait wait = {.count = 0};
    CHECK_EQ(sf_kafka_consumer_open(kafka_process(world, 0), &config, &wait.client, &error), SF_OK);
    (void)sf_consumer_add(wait.client, tp, 0);
    kafka_wait(world, has_batches, &wait, "four batches");
    int64_t next = 0;
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_EQ(wait.batches[i]->records[0].offset, next);
        CHECK(wait.batches[i]->count <= 10 && wait.batches[i]->bytes > 0);
        next = wait.batches[i]->next_offset;
    }
    char text[16];
    const struct sf_record *last = &wait.batches[3]->records[wait.batches[3]->count - 1];
    (void)snprintf(text, sizeof text, "%u", (unsigned)last->offset);
    CHECK(last->value.len == strlen(text) && memcmp(last->value.data, text, last->value.len) == 0);
    sf_consumer_release(wait.client, wait.batches[2]); /* in any order, and not all of them */
    sf_consumer_release(wait.client, wait.batches[0]);
    sf_consumer_close(wait.client);
}

struct health_wait {
    struct kafka_reader *reader;
    enum sf_class class;
};

static bool has_health(void *arg)
{
    const struct health_wait *wait = arg;
    return sf_status_class(wait->reader->parts[0].status) == wait->class &&
           (wait->class != SF_CLASS_OK || wait->reader->parts[0].retry_count > 0);
}

void partition_without_leader_is_told_and_recovers(void **state)
{
    struct kafka_world *world = *state;
    const char *reason = world->ops->cannot(world->ctx, KAFKA_POWER_LEADER_AWAY);
    if (reason != NULL) {
        print_message("skipped: partition_without_leader_is_told_and_recovers: %s\n", reason);
        skip();
    }
    (void)stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_writer *writer = writer_ready(world, 0);
    fill(writer, tp, 0, 2);
    struct kafka_reader *reader = kafka_reader_open(world, 0, (struct kafka_reader_options){0});
    kafka_reader_add(reader, tp, 0);
    kafka_reader_wait_caught_up(reader, tp, 3);
    char name[KAFKA_NAME_BYTES];
    struct health_wait wait = {reader, SF_CLASS_RETRY};
    world->ops->leader_away(world->ctx, kafka_name(world, "t", name), 0, true);
    kafka_wait(world, has_health, &wait, "PARTITION, retry");
    world->ops->leader_away(world->ctx, kafka_name(world, "t", name), 0, false);
    wait.class = SF_CLASS_OK;
    kafka_wait(world, has_health, &wait, "PARTITION, ok");
    fill(writer, tp, 2, 2);
    kafka_reader_wait_seen(reader, 4);
    kafka_reader_expect(reader, "0 1 2 3");
}
