/* Kafka conformance: writing and transactions. See kafka_suite.h. */
#include <stdio.h>

#include "tests/check.h"
#include "tests/conformance/kafka_cases.h"
#include "tests/conformance/kafka_steps.h"

static struct kafka_boss *stage(struct kafka_world *world, int32_t partition_count)
{
    struct kafka_boss *boss = kafka_boss_open(world, 0);
    kafka_boss_create(boss, 0, "t", partition_count, NULL, NULL);
    return boss;
}

static struct kafka_writer *writer_ready(struct kafka_world *world, uint32_t process,
                                         struct kafka_writer_options options)
{
    struct kafka_writer *writer = kafka_writer_open(world, process, "tx", options);
    CHECK_EQ(kafka_writer_init(writer).status, SF_OK);
    return writer;
}

static struct kafka_writer *plain_ready(struct kafka_world *world)
{
    return writer_ready(world, 0, (struct kafka_writer_options){0});
}

/* A read-uncommitted reader of one partition, from 0: shows what has reached the log. */
static struct kafka_reader *log_reader(struct kafka_world *world, struct sf_tp tp)
{
    struct kafka_reader *reader =
        kafka_reader_open(world, 0, (struct kafka_reader_options){.is_read_uncommitted = true});
    kafka_reader_add(reader, tp, 0);
    return reader;
}

static struct kafka_reader *committed_reader(struct kafka_world *world, struct sf_tp tp)
{
    struct kafka_reader *reader = kafka_reader_open(world, 0, (struct kafka_reader_options){0});
    kafka_reader_add(reader, tp, 0);
    return reader;
}

/* ------------------------------------------------------------------ order, durability, positions */

void writes_keep_their_order_under_room(void **state)
{
    struct kafka_world *world = *state;
    (void)stage(world, 2);
    struct kafka_writer *writer = writer_ready(world, 0, (struct kafka_writer_options){.queue_bytes_max = 3000});
    struct sf_tp tps[2] = {kafka_tp(world, 0, "t", 0), kafka_tp(world, 0, "t", 1)};
    char text[16];
    kafka_writer_begin(writer);
    for (uint32_t i = 0; i < 1000; i++) {
        (void)snprintf(text, sizeof text, "%u", i);
        kafka_writer_put(writer, tps[i % 2], NULL, text); /* waits for room */
    }
    CHECK(writer->room_count > 0);
    CHECK_EQ(kafka_writer_commit(writer).outcome, SF_OUTCOME_COMMITTED);
    struct kafka_reader *reader = kafka_reader_open(world, 0, (struct kafka_reader_options){0});
    kafka_reader_add(reader, tps[0], 0);
    kafka_reader_add(reader, tps[1], 0);
    kafka_reader_wait_seen(reader, 1000);
    int64_t next[2] = {0, 0};
    for (uint32_t i = 0; i < 1000; i++) {
        int32_t partition = reader->seen[i].tp.partition;
        CHECK_EQ(reader->seen[i].offset, next[partition]);
        (void)snprintf(text, sizeof text, "%u", (unsigned)(next[partition] * 2 + partition));
        CHECK_STR(reader->seen[i].value, text);
        next[partition]++;
    }
}

void flush_makes_all_before_it_durable(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_writer *writer = kafka_writer_open(world, 0, NULL, (struct kafka_writer_options){0});
    sf_producer_track(writer->client, tp);
    kafka_writer_put(writer, tp, "k", "a");
    kafka_writer_put(writer, tp, "k", "b");
    struct sf_producer_event event = kafka_writer_flush(writer);
    CHECK_EQ(event.status, SF_OK);
    CHECK_EQ(kafka_boss_end(boss, tp, SF_LOG_STABLE_END), 2);
    CHECK_EQ(writer->position_count, 1);
    CHECK_EQ(writer->positions[0].end, 2);
    CHECK_EQ(kafka_writer_flush(writer).status, SF_OK);
    CHECK_EQ(writer->position_count, 0); /* nothing since */
}

void positions_equal_the_log(void **state)
{
    struct kafka_world *world = *state;
    (void)stage(world, 3);
    struct kafka_writer *writer = plain_ready(world);
    struct sf_tp a = kafka_tp(world, 0, "t", 0), b = kafka_tp(world, 0, "t", 1), c = kafka_tp(world, 0, "t", 2);
    sf_producer_track(writer->client, c);
    sf_producer_track(writer->client, a);
    kafka_writer_begin(writer);
    for (uint32_t i = 0; i < 5; i++) kafka_writer_put(writer, a, "k", "v");
    kafka_writer_put(writer, b, "k", "untracked");
    CHECK_EQ(kafka_writer_commit(writer).outcome, SF_OUTCOME_COMMITTED);
    CHECK_EQ(writer->position_count, 1);
    CHECK_EQ(writer->positions[0].tp.partition, 0);
    CHECK_EQ(writer->positions[0].end, 5);
    kafka_writer_begin(writer);
    kafka_writer_put(writer, c, "k", "v");
    kafka_writer_put(writer, a, "k", "last");
    CHECK_EQ(kafka_writer_commit(writer).outcome, SF_OUTCOME_COMMITTED);
    CHECK_EQ(writer->position_count, 2); /* by partition */
    CHECK_EQ(writer->positions[0].end, 7);
    CHECK_EQ(writer->positions[1].tp.partition, 2);
    CHECK_EQ(writer->positions[1].end, 1);
    struct kafka_reader *reader = committed_reader(world, a);
    kafka_reader_wait_seen(reader, 6);
    CHECK_EQ(reader->seen[5].offset, 6);
}

/* ------------------------------------------------------------------ offsets in transactions */

void offsets_are_visible_only_after_commit(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_writer *writer = plain_ready(world);
    CHECK_EQ(kafka_boss_committed(boss, "g", tp).status, SF_NOT_FOUND);
    kafka_writer_begin(writer);
    kafka_writer_put(writer, tp, "k", "v");
    CHECK_EQ(kafka_writer_offsets(writer, (struct sf_member_token){0}, tp, 7, "meta").status, SF_OK);
    kafka_boss_ask_committed(boss, "g", tp);  /* has to wait: the offset is not stable */
    kafka_writer_put(writer, tp, "k", "more"); /* offsets may be followed by writes */
    CHECK_EQ(kafka_writer_commit(writer).outcome, SF_OUTCOME_COMMITTED);
    CHECK_EQ(kafka_boss_wait(boss, "committed").answers != NULL, true);
    CHECK_EQ(boss->answers[0].status, SF_OK);
    CHECK_EQ(boss->answers[0].offset, 7);
    CHECK_STR(boss->metadata[0], "meta");
}

void offsets_of_an_aborted_transaction_are_not_committed(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_writer *writer = plain_ready(world);
    kafka_writer_begin(writer);
    CHECK_EQ(kafka_writer_offsets(writer, (struct sf_member_token){0}, tp, 3, NULL).status, SF_OK);
    CHECK_EQ(kafka_writer_commit(writer).outcome, SF_OUTCOME_COMMITTED);
    kafka_writer_begin(writer);
    CHECK_EQ(kafka_writer_offsets(writer, (struct sf_member_token){0}, tp, 9, "x").status, SF_OK);
    CHECK_EQ(kafka_writer_abort(writer).status, SF_OK);
    struct sf_offset_answer answer = kafka_boss_committed(boss, "g", tp);
    CHECK_EQ(answer.status, SF_OK);
    CHECK_EQ(answer.offset, 3);
    CHECK_EQ(answer.metadata.len, 0);
}

/* ------------------------------------------------------------------ endings */

void commit_with_an_undeliverable_record_is_refused(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = kafka_boss_open(world, 0);
    kafka_boss_create(boss, 0, "t", 1, "max.message.bytes", "2000");
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_writer *writer = plain_ready(world);
    static char large[5001];
    for (uint32_t i = 0; i < 5000; i++) large[i] = (char)('a' + (i * 7919u + i / 13u) % 26u);
    kafka_writer_begin(writer);
    kafka_writer_put(writer, tp, "k", large);
    struct sf_producer_event event = kafka_writer_commit(writer);
    CHECK_EQ(event.outcome, SF_OUTCOME_NOT_COMMITTED);
    CHECK_EQ(sf_status_class(event.status), SF_CLASS_ABORT);
    CHECK_EQ(event.end_sends, 0);
    CHECK_EQ(kafka_writer_abort(writer).status, SF_OK);
    /* librdkafka notices the hole in the sequence numbers only at the next record, and wants one abort more. */
    uint32_t tries = 0;
    for (; tries < 2; tries++) {
        kafka_writer_begin(writer);
        kafka_writer_put(writer, tp, "k", "small");
        event = kafka_writer_commit(writer);
        if (event.outcome == SF_OUTCOME_COMMITTED) break;
        CHECK_EQ(sf_status_class(event.status), SF_CLASS_ABORT);
        CHECK_EQ(kafka_writer_abort(writer).status, SF_OK);
    }
    CHECK(tries < 2);
    struct kafka_reader *reader = committed_reader(world, tp);
    kafka_reader_wait_seen(reader, 1);
    kafka_reader_expect(reader, "small");
}

void init_settles_and_fences(void **state)
{
    struct kafka_world *world = *state;
    (void)stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0), tp1 = kafka_tp(world, 1, "t", 0);
    struct kafka_reader *log = log_reader(world, tp), *reader = committed_reader(world, tp);
    struct kafka_writer *old = plain_ready(world);
    kafka_writer_begin(old);
    kafka_writer_put(old, tp, "k", "old");
    kafka_reader_wait_seen(log, 1);
    struct kafka_writer *new = writer_ready(world, 1, (struct kafka_writer_options){0});
    kafka_writer_begin(new);
    kafka_writer_put(new, tp1, "k", "new");
    CHECK_EQ(kafka_writer_commit(new).outcome, SF_OUTCOME_COMMITTED);
    struct sf_producer_event event = kafka_writer_commit(old);
    CHECK(event.outcome != SF_OUTCOME_COMMITTED);
    CHECK_EQ(sf_status_class(event.status), SF_CLASS_LOST);
    kafka_reader_wait_seen(reader, 1);
    kafka_reader_expect(reader, "new");
}

void init_decides_an_end_that_was_asked_for(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_writer *old = plain_ready(world);
    kafka_writer_begin(old);
    kafka_writer_put(old, tp, "k", "a");
    CHECK_EQ(kafka_writer_offsets(old, (struct sf_member_token){0}, tp, 5, NULL).status, SF_OK);
    sf_producer_commit(old->client, 99); /* nobody hears how it ends */
    kafka_writer_close(old);
    (void)writer_ready(world, 1, (struct kafka_writer_options){0});
    /* Now it is decided, one way or the other, and both halves the same way. */
    struct sf_offset_answer answer = kafka_boss_committed(boss, "g", tp);
    struct kafka_reader *reader = committed_reader(world, tp);
    kafka_reader_wait_caught_up(reader, tp, kafka_boss_end(boss, tp, SF_LOG_STABLE_END));
    CHECK_EQ(kafka_boss_end(boss, tp, SF_LOG_STABLE_END), kafka_boss_end(boss, tp, SF_LOG_END));
    kafka_reader_expect(reader, answer.status == SF_OK ? "a" : "");
}

enum close_state { OPENED, INIT_PENDING, READY, OPEN, OFFSETS_PENDING, COMMIT_PENDING, ABORT_PENDING, STATES };

static void writer_bring_to(struct kafka_writer *writer, struct sf_tp tp, enum close_state to)
{
    if (to == OPENED) return;
    if (to == INIT_PENDING) {
        sf_producer_init(writer->client, 1);
        return;
    }
    CHECK_EQ(kafka_writer_init(writer).status, SF_OK);
    if (to == READY) return;
    kafka_writer_begin(writer);
    kafka_writer_put(writer, tp, "k", "x");
    kafka_writer_put(writer, tp, "k", "y");
    struct sf_offset_commit commit = {.tp = tp, .offset = 1};
    if (to == OFFSETS_PENDING) sf_producer_offsets(writer->client, 50, (struct sf_member_token){0}, &commit, 1);
    if (to == COMMIT_PENDING) sf_producer_commit(writer->client, 51);
    if (to == ABORT_PENDING) sf_producer_abort(writer->client, 52);
}

void close_in_every_state_returns_and_leaves_whole_transactions(void **state)
{
    struct kafka_world *world = *state;
    struct kafka_boss *boss = stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    for (uint32_t to = OPENED; to < STATES; to++) {
        struct kafka_writer *writer = kafka_writer_open(world, 0, "tx", (struct kafka_writer_options){0});
        writer_bring_to(writer, tp, (enum close_state)to);
        kafka_writer_close(writer);
    }
    struct kafka_writer *last = writer_ready(world, 1, (struct kafka_writer_options){0});
    kafka_writer_begin(last);
    kafka_writer_put(last, kafka_tp(world, 1, "t", 0), "k", "end");
    CHECK_EQ(kafka_writer_commit(last).outcome, SF_OUTCOME_COMMITTED);
    struct kafka_reader *reader = committed_reader(world, tp);
    kafka_reader_wait_caught_up(reader, tp, kafka_boss_end(boss, tp, SF_LOG_END));
    char text[256];
    const char *values = kafka_reader_values(reader, text, sizeof text);
    CHECK(strcmp(values, "end") == 0 || strcmp(values, "x y end") == 0);
}

void transaction_timed_out_by_the_coordinator_is_lost(void **state)
{
    struct kafka_world *world = *state;
    (void)stage(world, 1);
    struct sf_tp tp = kafka_tp(world, 0, "t", 0);
    struct kafka_reader *log = log_reader(world, tp), *reader = committed_reader(world, tp);
    struct kafka_writer *writer = writer_ready(world, 0, (struct kafka_writer_options){.txn_timeout_ms = 1000});
    kafka_writer_begin(writer);
    kafka_writer_put(writer, tp, "k", "old");
    kafka_reader_wait_seen(log, 1);
    kafka_reader_wait_caught_up(reader, tp, 2); /* the coordinator's abort marker is behind the record */
    struct sf_producer_event event = kafka_writer_commit(writer);
    CHECK(event.outcome != SF_OUTCOME_COMMITTED);
    CHECK_EQ(sf_status_class(event.status), SF_CLASS_LOST);
    kafka_writer_close(writer);
    writer = writer_ready(world, 0, (struct kafka_writer_options){0}); /* a new session goes on */
    kafka_writer_begin(writer);
    kafka_writer_put(writer, tp, "k", "new");
    CHECK_EQ(kafka_writer_commit(writer).outcome, SF_OUTCOME_COMMITTED);
    kafka_reader_wait_seen(reader, 1);
    kafka_reader_expect(reader, "new");
}
