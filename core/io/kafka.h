/*
 * Kafka: commands out, events in. Three clients, each owned and polled by one task:
 *
 *   consumer   batches of records from partitions given by hand (sources, restore, standby), or membership of
 *              a group (who the owner is, B14)
 *   producer   records out, with or without transactions
 *   admin      topics, offsets, log ends
 *
 * Shape. A call that needs the network is a *command*: it returns at once and its outcome arrives later, exactly
 * once, as an event with the caller's tag, also when the session dies (SF_E_SESSION). `close` is the end: what is
 * pending then counts as SF_E_CLOSED and is not reported. `poll` never blocks. When events appear in an empty
 * queue the client's waker is called. Events of one client come in an order that some real broker could have
 * caused: per partition in offset order, commands of one client in the order given. Nothing is promised between
 * clients or partitions.
 *
 * The implementation retries what is retriable for as long as it may; a caller sees only outcomes. No command
 * takes a time-out: giving up is `close`, and deciding when is the engine's.
 *
 * Times are the broker's milliseconds, unjudged (T4 is the engine's). Bytes are bytes. No code or type of a
 * client library appears.
 *
 * Threading: a client is used by one task at a time. Different clients are independent. The factory may be used
 * from any thread before the first client is opened, later from one.
 */
#ifndef SF_CORE_IO_KAFKA_H
#define SF_CORE_IO_KAFKA_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/io/sched.h"
#include "core/status.h"

#define SF_KAFKA_EVENTS_MAX 256u        /* per poll */
#define SF_KAFKA_METADATA_BYTES_MAX 4096u /* what a broker takes with an offset */
#define SF_OFFSET_UNKNOWN INT64_MIN
#define SF_OFFSET_BEGINNING (-2)        /* resolved by the client: log start */

/* data NULL: the Kafka null; data set and len 0: empty. */
struct sf_slice {
    const uint8_t *data;
    uint32_t len;
};

/* A topic is a small number, given by sf_kafka_topic in call order, stable while the factory lives. Answers are
 * ordered by (number, partition); D2's ties go by the bytes of the names. */
struct sf_tp {
    uint32_t topic;
    int32_t partition;
};

enum sf_ts_kind { SF_TS_NONE, SF_TS_CREATE, SF_TS_APPEND };

/* One record as it was read. `headers` is the flat form {u16 name length, name, i32 value length or -1, value}*,
 * little-endian, NULL unless the consumer was opened with them. */
struct sf_record {
    struct sf_slice key;
    struct sf_slice value;
    struct sf_slice headers;
    int64_t offset;
    int64_t ts_ms; /* meaningful unless ts_kind is SF_TS_NONE */
    enum sf_ts_kind ts_kind;
};

/* Records of one partition, offsets rising, gaps possible (control records, aborted data, compaction). The array
 * and all bytes are borrowed until sf_consumer_release; one block, so that releasing is one call. */
struct sf_batch {
    struct sf_tp tp;
    uint32_t generation;          /* of the partition's last add or seek */
    uint32_t count;               /* 1 … batch_records_max */
    const struct sf_record *records;
    int64_t next_offset;          /* position after the batch: beyond skipped control records where known */
    int64_t known_end;            /* largest end a read-committed reader is known to have, or SF_OFFSET_UNKNOWN */
    uint64_t bytes;               /* all that it pins */
    void *impl;
};

/* ------------------------------------------------------------------ consumer */

enum sf_consumer_event_kind {
    SF_CONSUMER_BATCH,        /* batch */
    SF_CONSUMER_CAUGHT_UP,    /* tp, position: a reader of this isolation has everything there was (D6) */
    SF_CONSUMER_OUT_OF_RANGE, /* tp, position, log_start, log_end: nothing more comes until seek (S7, K8) */
    SF_CONSUMER_PARTITION,    /* tp, status: RETRY while it cannot be read (no leader), OK when it can again,
                                 FATAL when it never will */
    SF_CONSUMER_GRANTED,      /* members only: tps are now this member's; token is new */
    SF_CONSUMER_REVOKING,     /* members only: give tps up: commit or abort, then sf_consumer_yield */
    SF_CONSUMER_REVOKED,      /* members only: tps were lost without asking: never commit under the old token */
    SF_CONSUMER_FAILED        /* status FATAL, text; no more events */
};

struct sf_consumer_event {
    enum sf_consumer_event_kind kind;
    enum sf_status status;
    struct sf_tp tp;
    uint32_t generation;
    int64_t position;
    int64_t log_start;
    int64_t log_end;
    struct sf_batch *batch;
    const struct sf_tp *tps;  /* members; until the next poll */
    uint32_t tp_count;
    const char *text;         /* borrowed until the next poll; may be NULL */
};

/* Proof of membership as of one generation of the group, for sf_producer_offsets. Copied; opaque; known to the
 * factory that gave it; 0 = not a member. Every rebalance makes a new one, also where nothing is granted: take it
 * right before each use. The broker refuses an old one (class ABORT); whether the caller still owns the partition
 * decides what follows (B14). */
struct sf_member_token {
    uint64_t id;
};

struct sf_consumer_config {
    const char *group;          /* whose committed offsets and membership; copied */
    const char *purpose;        /* "source", "restore", "owner": for logs and client ids; copied */
    const char *const *subscribe; /* topic names, NULL-terminated: be a member; NULL: partitions by hand */
    const char *instance;       /* members: name that survives a restart; a later holder of it wins; NULL: none */
    bool is_read_committed;
    bool has_headers;
    uint32_t batch_records_max; /* 1 … 65536 */
    uint64_t fetch_bytes_max;   /* bound on records fetched but not yet polled, over all partitions */
    struct sf_waker waker;
};

struct sf_consumer_ops {
    /* Start reading `tp` at `offset` (or SF_OFFSET_BEGINNING). Returns the new generation, > 0. Partitions start
     * resumed. Caller must not add one twice. */
    uint32_t (*add)(void *self, struct sf_tp tp, int64_t offset);
    /* Stop. After return no event of `tp` is returned by poll; batches already polled stay valid. */
    void (*remove)(void *self, struct sf_tp tp);
    /* Go on at `offset`. After return no event of an earlier generation is returned by poll. */
    uint32_t (*seek)(void *self, struct sf_tp tp, int64_t offset);
    /* Deliver nothing of `tp` until resume; what is fetched is kept. Position and order are untouched; both are
     * no-ops where they change nothing. Implementation must not slow other partitions down, and after
     * resume must deliver what it holds without waiting for a fetch. */
    void (*pause)(void *self, struct sf_tp tp);
    void (*resume)(void *self, struct sf_tp tp);
    /* Up to `cap` events, in order; the number written. Never blocks. Caller must call it again after each
     * wake and, whatever happens, once a second. */
    uint32_t (*poll)(void *self, struct sf_consumer_event *events_out, uint32_t cap);
    /* Give a batch back, in any order, from the owning task. */
    void (*release)(void *self, struct sf_batch *batch);
    /* Members: the current token; id 0 before GRANTED and after REVOKED. */
    struct sf_member_token (*token)(void *self);
    /* Members: done with what REVOKING asked. */
    void (*yield)(void *self);
    /* Frees the client and every batch not yet released. Members leave the group; one with `instance` stays in
     * it until its session has run out. */
    void (*close)(void *self);
};

struct sf_consumer {
    const struct sf_consumer_ops *ops;
    void *self;
};

/* ------------------------------------------------------------------ producer */

/* One record to write; bytes borrowed until the call returns. headers: the flat form, data NULL for none. */
struct sf_out {
    struct sf_slice key;
    struct sf_slice value;
    struct sf_slice headers;
    int64_t ts_ms; /* create time, >= 0 */
};

/* An offset to commit: the next offset to read, with its metadata (K7). Borrowed until the call returns. */
struct sf_offset_commit {
    struct sf_tp tp;
    int64_t offset;
    struct sf_slice metadata;
};

/* Where a tracked partition ends for what this transaction (or flush) wrote: last offset written + 1. */
struct sf_position {
    struct sf_tp tp;
    int64_t end;
};

enum sf_outcome {
    SF_OUTCOME_COMMITTED,     /* certain */
    SF_OUTCOME_NOT_COMMITTED, /* certain: the end was never asked for, or was refused */
    SF_OUTCOME_UNKNOWN        /* asked for, answer not known: only a reader can tell (B11) */
};

enum sf_producer_event_kind {
    SF_PRODUCER_INIT,     /* tag: session ready; everything older under this id is settled and fenced */
    SF_PRODUCER_ROOM,     /* there is room again after sf_producer_write took less than all */
    SF_PRODUCER_OFFSETS,  /* tag */
    SF_PRODUCER_COMMITTED,/* tag: end of a commit command, however it ended: read outcome, then status */
    SF_PRODUCER_ABORTED,  /* tag */
    SF_PRODUCER_FLUSHED,  /* tag (no transactions): all written before are durable, or status says which not */
    SF_PRODUCER_FAILED    /* status: ABORT: the open transaction can only be aborted. LOST, FENCED, FATAL: the
                             session is over; pending commands end too, then only close is allowed */
};

struct sf_producer_event {
    enum sf_producer_event_kind kind;
    enum sf_status status;
    enum sf_outcome outcome;
    uint64_t tag;
    uint32_t end_sends;       /* COMMITTED, ABORTED: how often the end was put on the wire; 0: never */
    uint32_t position_count;  /* COMMITTED, FLUSHED */
    const struct sf_position *positions; /* tracked partitions written to, by (topic, partition); until next poll */
    const char *text;         /* borrowed until the next poll; may be NULL */
};

struct sf_producer_config {
    const char *transactional_id; /* copied; NULL: no transactions, idempotent */
    const char *group;            /* whose offsets the transactions carry; copied */
    int64_t txn_timeout_ms;       /* > barrier time-out + longest interval + 10 s, checked at start (V8) */
    uint64_t queue_bytes_max;     /* bound on bytes written but not yet delivered */
    uint32_t record_bytes_max;    /* larger ones are the caller's to judge (M5) before writing */
    struct sf_waker waker;
};

/*
 *   closed --init--> ready --begin--> open --commit--> ending --COMMITTED(COMMITTED)--> ready
 *                      ^                |                  |
 *                      +----ABORTED-----+---abort          +--COMMITTED(NOT_COMMITTED, ABORT class)--> open, abort only
 *                                                          +--anything LOST/FENCED/FATAL--> dead: close
 */
struct sf_producer_ops {
    /* Ready and open mean "no command pending". Fences whoever used the id before, and completes or aborts what
     * they left, before INIT. Caller must hold the group (GRANTED) when it calls this. */
    void (*init)(void *self, uint64_t tag);
    /* Local, at once. Ready -> open. */
    enum sf_status (*begin)(void *self);
    /* Copy `count` records to one partition, in order; how many were taken (a prefix). Open, or no transactions.
     * Fewer than all: wait for ROOM. Implementation must keep the order per partition. */
    uint32_t (*write)(void *self, struct sf_tp tp, const struct sf_out *records, uint32_t count);
    /* Ask for end positions of `tp` from now on. */
    void (*track)(void *self, struct sf_tp tp);
    /* Put offsets into the open transaction; may be followed by more writes. Commit waits for it. */
    void (*offsets)(void *self, uint64_t tag, struct sf_member_token token,
                    const struct sf_offset_commit *commits, uint32_t count);
    /* Deliver all, then end the transaction. COMMITTED only if every record was delivered. */
    void (*commit)(void *self, uint64_t tag);
    void (*abort)(void *self, uint64_t tag);
    void (*flush)(void *self, uint64_t tag); /* no transactions */
    uint32_t (*poll)(void *self, struct sf_producer_event *events_out, uint32_t cap);
    /* At once, in any state: nothing that was not yet sent is sent any more; pending commands end SF_E_CLOSED
     * without being reported; an open transaction is left to the coordinator or to the next init. */
    void (*close)(void *self);
};

struct sf_producer {
    const struct sf_producer_ops *ops;
    void *self;
};

/* ------------------------------------------------------------------ admin */

struct sf_topic_setting {
    const char *name;  /* "cleanup.policy", "retention.ms", "message.timestamp.type", … */
    const char *value;
};

struct sf_topic_spec {
    uint32_t topic;
    int32_t partition_count; /* > 0 */
    int16_t replication;     /* -1: the broker's default */
    const struct sf_topic_setting *settings;
    uint32_t setting_count;
};

enum sf_log_end {
    SF_LOG_START,
    SF_LOG_STABLE_END, /* end for a read-committed reader: last stable offset */
    SF_LOG_END         /* high watermark */
};

/* One answer per partition asked, in the order asked. */
struct sf_offset_answer {
    struct sf_tp tp;
    enum sf_status status;    /* SF_NOT_FOUND: none committed */
    int64_t offset;
    struct sf_slice metadata; /* committed offsets only; data NULL for none */
};

struct sf_admin_event {
    uint64_t tag;
    enum sf_status status;
    int32_t partition_count;                 /* describe, watch */
    const struct sf_topic_setting *settings; /* describe: all of the topic's, by name */
    uint32_t setting_count;
    const struct sf_offset_answer *answers;  /* committed, ends */
    uint32_t answer_count;
    const char *text;                        /* all pointers: until the next poll */
};

/* Every command here may be repeated without harm. */
struct sf_admin_ops {
    void (*describe)(void *self, uint64_t tag, uint32_t topic); /* SF_E_UNKNOWN_TOPIC if there is none */
    /* SF_OK also when it exists with the same partition count; SF_E_EXISTS with another. */
    void (*create)(void *self, uint64_t tag, const struct sf_topic_spec *spec);
    /* One event now and one after each change of the partition count, until close (G4). */
    void (*watch)(void *self, uint64_t tag, uint32_t topic);
    /* Committed offsets, only stable ones: waits while any is pending in a transaction (case 84). */
    void (*committed)(void *self, uint64_t tag, const char *group, const struct sf_tp *tps, uint32_t count);
    void (*ends)(void *self, uint64_t tag, enum sf_log_end which, const struct sf_tp *tps, uint32_t count);
    /* Outside transactions: at-least-once (B10) with the member's token; reset with id 0, which a broker takes
     * only while the group has no member. */
    void (*commit)(void *self, uint64_t tag, const char *group, struct sf_member_token token,
                   const struct sf_offset_commit *commits, uint32_t count);
    /* Move the log start up to `before`. */
    void (*truncate)(void *self, uint64_t tag, struct sf_tp tp, int64_t before);
    uint32_t (*poll)(void *self, struct sf_admin_event *events_out, uint32_t cap);
    void (*close)(void *self);
};

struct sf_admin {
    const struct sf_admin_ops *ops;
    void *self;
};

/* ------------------------------------------------------------------ factory */

struct sf_kafka_ops {
    /* The number of a topic name; the same for the same name. Name copied. Never fails, never asks a broker. */
    uint32_t (*topic)(void *self, const char *name);
    const char *(*topic_name)(void *self, uint32_t topic);
    /* Local; the network comes later and reports by events. On failure `error` says why. */
    enum sf_status (*consumer_open)(void *self, const struct sf_consumer_config *config,
                                    struct sf_consumer *consumer_out, struct sf_error *error);
    enum sf_status (*producer_open)(void *self, const struct sf_producer_config *config,
                                    struct sf_producer *producer_out, struct sf_error *error);
    enum sf_status (*admin_open)(void *self, struct sf_waker waker, struct sf_admin *admin_out,
                                 struct sf_error *error);
};

struct sf_kafka {
    const struct sf_kafka_ops *ops;
    void *self;
};

/* ------------------------------------------------------------------ wrappers: the only way core calls them. */

static inline uint32_t sf_consumer_poll(struct sf_consumer consumer, struct sf_consumer_event *events_out,
                                        uint32_t cap)
{
    assert(events_out != NULL && cap > 0 && cap <= SF_KAFKA_EVENTS_MAX);
    uint32_t count = consumer.ops->poll(consumer.self, events_out, cap);
    assert(count <= cap);
    for (uint32_t i = 0; i < count; i++) {
        if (events_out[i].kind != SF_CONSUMER_BATCH) continue;
        const struct sf_batch *batch = events_out[i].batch;
        assert(batch != NULL && batch->count > 0);
        assert(batch->records[0].offset <= batch->records[batch->count - 1].offset);
        assert(batch->next_offset > batch->records[batch->count - 1].offset);
    }
    return count;
}

static inline uint32_t sf_consumer_add(struct sf_consumer consumer, struct sf_tp tp, int64_t offset)
{
    assert(tp.partition >= 0 && (offset >= 0 || offset == SF_OFFSET_BEGINNING));
    uint32_t generation = consumer.ops->add(consumer.self, tp, offset);
    assert(generation > 0);
    return generation;
}

static inline uint32_t sf_producer_write(struct sf_producer producer, struct sf_tp tp,
                                         const struct sf_out *records, uint32_t count)
{
    assert(tp.partition >= 0 && records != NULL && count > 0);
    uint32_t taken = producer.ops->write(producer.self, tp, records, count);
    assert(taken <= count);
    return taken;
}

static inline uint32_t sf_producer_poll(struct sf_producer producer, struct sf_producer_event *events_out,
                                        uint32_t cap)
{
    assert(events_out != NULL && cap > 0 && cap <= SF_KAFKA_EVENTS_MAX);
    uint32_t count = producer.ops->poll(producer.self, events_out, cap);
    assert(count <= cap);
    for (uint32_t i = 0; i < count; i++) {
        const struct sf_producer_event *event = &events_out[i];
        if (event->kind != SF_PRODUCER_COMMITTED) continue;
        assert(event->outcome != SF_OUTCOME_COMMITTED || event->status == SF_OK);
        assert(event->outcome != SF_OUTCOME_UNKNOWN || event->end_sends > 0);
    }
    return count;
}

static inline void sf_consumer_remove(struct sf_consumer consumer, struct sf_tp tp)
{
    consumer.ops->remove(consumer.self, tp);
}

static inline uint32_t sf_consumer_seek(struct sf_consumer consumer, struct sf_tp tp, int64_t offset)
{
    assert(tp.partition >= 0 && (offset >= 0 || offset == SF_OFFSET_BEGINNING));
    uint32_t generation = consumer.ops->seek(consumer.self, tp, offset);
    assert(generation > 0);
    return generation;
}

static inline void sf_consumer_pause(struct sf_consumer consumer, struct sf_tp tp)
{
    consumer.ops->pause(consumer.self, tp);
}

static inline void sf_consumer_resume(struct sf_consumer consumer, struct sf_tp tp)
{
    consumer.ops->resume(consumer.self, tp);
}

static inline void sf_consumer_release(struct sf_consumer consumer, struct sf_batch *batch)
{
    assert(batch != NULL);
    consumer.ops->release(consumer.self, batch);
}

static inline struct sf_member_token sf_consumer_token(struct sf_consumer consumer)
{
    return consumer.ops->token(consumer.self);
}

static inline void sf_consumer_yield(struct sf_consumer consumer)
{
    consumer.ops->yield(consumer.self);
}

static inline void sf_consumer_close(struct sf_consumer consumer)
{
    if (consumer.ops != NULL) consumer.ops->close(consumer.self);
}

static inline void sf_producer_init(struct sf_producer producer, uint64_t tag)
{
    producer.ops->init(producer.self, tag);
}

static inline enum sf_status sf_producer_begin(struct sf_producer producer)
{
    return producer.ops->begin(producer.self);
}

static inline void sf_producer_track(struct sf_producer producer, struct sf_tp tp)
{
    producer.ops->track(producer.self, tp);
}

static inline void sf_producer_offsets(struct sf_producer producer, uint64_t tag, struct sf_member_token token,
                                       const struct sf_offset_commit *commits, uint32_t count)
{
    assert(commits != NULL && count > 0);
    producer.ops->offsets(producer.self, tag, token, commits, count);
}

static inline void sf_producer_commit(struct sf_producer producer, uint64_t tag)
{
    producer.ops->commit(producer.self, tag);
}

static inline void sf_producer_abort(struct sf_producer producer, uint64_t tag)
{
    producer.ops->abort(producer.self, tag);
}

static inline void sf_producer_flush(struct sf_producer producer, uint64_t tag)
{
    producer.ops->flush(producer.self, tag);
}

static inline void sf_producer_close(struct sf_producer producer)
{
    if (producer.ops != NULL) producer.ops->close(producer.self);
}

static inline void sf_admin_describe(struct sf_admin admin, uint64_t tag, uint32_t topic)
{
    admin.ops->describe(admin.self, tag, topic);
}

static inline void sf_admin_create(struct sf_admin admin, uint64_t tag, const struct sf_topic_spec *spec)
{
    assert(spec != NULL && spec->partition_count > 0);
    admin.ops->create(admin.self, tag, spec);
}

static inline void sf_admin_watch(struct sf_admin admin, uint64_t tag, uint32_t topic)
{
    admin.ops->watch(admin.self, tag, topic);
}

static inline void sf_admin_committed(struct sf_admin admin, uint64_t tag, const char *group,
                                      const struct sf_tp *tps, uint32_t count)
{
    assert(group != NULL && tps != NULL && count > 0);
    admin.ops->committed(admin.self, tag, group, tps, count);
}

static inline void sf_admin_ends(struct sf_admin admin, uint64_t tag, enum sf_log_end which,
                                 const struct sf_tp *tps, uint32_t count)
{
    assert(tps != NULL && count > 0);
    admin.ops->ends(admin.self, tag, which, tps, count);
}

static inline void sf_admin_commit(struct sf_admin admin, uint64_t tag, const char *group,
                                   struct sf_member_token token, const struct sf_offset_commit *commits,
                                   uint32_t count)
{
    assert(group != NULL && commits != NULL && count > 0);
    admin.ops->commit(admin.self, tag, group, token, commits, count);
}

static inline void sf_admin_truncate(struct sf_admin admin, uint64_t tag, struct sf_tp tp, int64_t before)
{
    admin.ops->truncate(admin.self, tag, tp, before);
}

static inline uint32_t sf_admin_poll(struct sf_admin admin, struct sf_admin_event *events_out, uint32_t cap)
{
    assert(events_out != NULL && cap > 0 && cap <= SF_KAFKA_EVENTS_MAX);
    return admin.ops->poll(admin.self, events_out, cap);
}

static inline void sf_admin_close(struct sf_admin admin)
{
    if (admin.ops != NULL) admin.ops->close(admin.self);
}

static inline uint32_t sf_kafka_topic(struct sf_kafka kafka, const char *name)
{
    assert(name != NULL && name[0] != '\0');
    return kafka.ops->topic(kafka.self, name);
}

static inline const char *sf_kafka_topic_name(struct sf_kafka kafka, uint32_t topic)
{
    return kafka.ops->topic_name(kafka.self, topic);
}

static inline enum sf_status sf_kafka_consumer_open(struct sf_kafka kafka, const struct sf_consumer_config *config,
                                                    struct sf_consumer *consumer_out, struct sf_error *error)
{
    assert(config != NULL && consumer_out != NULL && error != NULL);
    assert(config->batch_records_max > 0 && config->batch_records_max <= 65536);
    return kafka.ops->consumer_open(kafka.self, config, consumer_out, error);
}

static inline enum sf_status sf_kafka_producer_open(struct sf_kafka kafka, const struct sf_producer_config *config,
                                                    struct sf_producer *producer_out, struct sf_error *error)
{
    assert(config != NULL && producer_out != NULL && error != NULL);
    return kafka.ops->producer_open(kafka.self, config, producer_out, error);
}

static inline enum sf_status sf_kafka_admin_open(struct sf_kafka kafka, struct sf_waker waker,
                                                 struct sf_admin *admin_out, struct sf_error *error)
{
    assert(admin_out != NULL && error != NULL);
    return kafka.ops->admin_open(kafka.self, waker, admin_out, error);
}

/*
 * Notes for implementers (to move beside the implementations when adopted).
 *
 * simulated: a client model in front of the broker model. Commands enter a client queue, are sent after a drawn
 * delay, applied by the broker, answered after another; a crash drops what was not sent. Connections order,
 * nothing else does. `end_sends` counts what the client model really sent. The model obeys the same contract, so
 * that the policy "new session after an end sent twice" is in core and can be tested with it switched off.
 *
 * librdkafka 2.0.2:
 *   consumer   rd_kafka_assign/incremental_assign by hand; per-partition queues (get_partition + forward NULL,
 *              before assign); rd_kafka_consume_batch_queue(q, 0, …) from poll; key, value and headers are copied
 *              into one block at once and the messages destroyed on the same thread (450 bytes and a cross-thread
 *              free each, otherwise). pause = do not read that queue (rd_kafka_pause throws the prefetch away).
 *              A full prefetch queue is not looked at again for up to 1 s: pacemaker partition or a watermark
 *              poke, fetch.wait.max.ms 10. seek: rd_kafka_seek_partitions with time-out 0; outdated messages are
 *              dropped by the library's version barrier, ours by the generation.
 *   CAUGHT_UP  RD_KAFKA_RESP_ERR__PARTITION_EOF (enable.partition.eof; end = LSO under read_committed), or cached
 *              high watermark <= position. No getter for the LSO: statistics only, once a second.
 *   members    a second, tiny consumer, subscribed to one one-partition topic, cooperative-sticky (an eager assignor
 *              revokes the owner whenever somebody joins), group.instance.id = instance; rebalance_cb -> GRANTED,
 *              REVOKING, REVOKED (assignment_lost); yield = rd_kafka_incremental_unassign. token -> a kept
 *              rd_kafka_consumer_group_metadata(). Must be polled within max.poll.interval.ms.
 *   producer   init, offsets, commit, abort block and exclude each other (RD_KAFKA_RESP_ERR__CONFLICT): one thread
 *              per producer runs them in order and posts events. rd_kafka_produceva(F_COPY) from write: one malloc
 *              each, payload inside. Writes beside offsets are fine; writes after commit was called are refused
 *              (_STATE): the next epoch's output waits in the engine (B7). commit flushes (linger is overridden),
 *              resumes after its own time-out when called again, and re-sends EndTxn for ever.
 *   end_sends  rd_kafka_interceptor_add_on_request_sent, ApiKey 26, counted between call and outcome.
 *   positions  rd_kafka_interceptor_add_on_acknowledgement, on the broker thread, changelog topics only; no
 *              delivery-report callback at all (saves about 100 ns a record); -1 for an implicit ack: then keep the
 *              lower bound. Failed deliveries: the library refuses the commit by itself (txn_dr_fails).
 *   outcome    see the table in design.md, section 4.3. Missing in 2.0.2: DescribeTransactions,
 *              InitProducerId with the previous (id, epoch) from a new client (so init never says "fenced": it
 *              fences), transactions with an epoch of their own (KIP-890), offset-fetch and commit callbacks for
 *              the transactional calls.
 *   timing     retry.backoff.ms 5 … 10 (default 100: AddOffsetsToTxn and EndTxn wait that long on
 *              CONCURRENT_TRANSACTIONS; AddPartitionsToTxn waits a fixed 20 ms, TxnOffsetCommit a fixed 500 ms).
 *   admin      CreateTopics, DescribeConfigs + metadata, ListConsumerGroupOffsets(require_stable_offsets),
 *              AlterConsumerGroupOffsets, DeleteRecords: asynchronous. commit with a token: rd_kafka_commit_queue on
 *              the member consumer (generation -1 is refused while the group has a member). ListOffsets is not
 *              there yet: watermark queries on a helper thread, from a consumer of the isolation wanted. watch:
 *              metadata every 30 s on that thread. Metadata of an offset is a C string: no NUL in it.
 *   also missing  leader epochs (2.1): a truncated log is not noticed; raw record batches: one object per record.
 */
#endif
