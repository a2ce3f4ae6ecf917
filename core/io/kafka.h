/*
 * Kafka: what core asks of a Kafka client, for reading, for writing and for what surrounds both. A factory opens
 *
 *   a consumer   reads partitions that it is told to read (sources, restore, a standby's view); or is a member of a
 *                group and reads nothing: it is there to know who owns the application (B14)
 *   a producer   writes records, in transactions or without
 *   an admin     makes and describes topics, reads and writes committed offsets, asks for the ends of logs
 *
 * Commands and events. What needs a broker cannot be answered in the call. Such a call is a command: it has no result
 * but carries a tag, and an event with that tag says later how it ended. Example, an epoch's transaction:
 *
 *     sf_producer_begin(p)                                   local: SF_OK
 *     sf_producer_write(p, orders_0, records, 3)             3: all taken
 *     sf_producer_offsets(p, 41, token, commits, 2)
 *     sf_producer_commit(p, 42)
 *     sf_producer_poll(p, events, 8)                         0: nothing yet
 *         ... the waker is called, the task steps ...
 *     sf_producer_poll(p, events, 8)                         OFFSETS, tag 41, SF_OK
 *                                                            COMMITTED, tag 42, SF_OUTCOME_COMMITTED, end_sends 1
 *
 * Invariants
 *   - A command has exactly one event. The exception is close, which is the end of everything: what is pending then
 *     has none, and no event comes after it.
 *   - No command has a time-out. The client repeats what a broker refuses for the moment, for as long as that takes;
 *     whoever has waited long enough closes the client.
 *   - A consumer gives each partition's records by rising offset. A producer's commands end in the order in which they
 *     were given. An admin's may overtake each other: one that has to wait holds up no other. Between partitions and
 *     between clients there is no order.
 *   - Poll never waits. The waker is called when there is something to poll and was nothing before, so a caller polls
 *     until it gets less than `cap`. It may be called for nothing.
 *   - Pointers in events stay valid until the client's next poll; batches until they are released.
 *   - Record times are what the broker has, good or bad (T4 judges them). Keys, values and metadata are bytes.
 *   - A session that has ended says so at least once: by a command's event, by FAILED, or by both.
 *
 * Threading: each client has one task that uses it. Two clients share nothing that one could notice. The factory's
 * functions may be called by no two threads at once.
 *
 * Implemented twice, sim/kafka.h and prod/kafka.h; docs/kafka-model.md says how they are held together and where they
 * differ.
 */
#ifndef SF_CORE_IO_KAFKA_H
#define SF_CORE_IO_KAFKA_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/io/sched.h"
#include "core/status.h"

#define SF_KAFKA_EVENTS_MAX 256u          /* largest `cap` of a poll */
#define SF_KAFKA_METADATA_BYTES_MAX 4096u /* beside one committed offset, a broker's default */
#define SF_OFFSET_UNKNOWN INT64_MIN
#define SF_OFFSET_BEGINNING (-2)          /* wherever the log starts when the client looks */

/* Kafka tells null from empty: a null has data NULL, an empty value has data but len 0. */
struct sf_slice {
    const uint8_t *data;
    uint32_t len;
};

/* Topics are numbered from 0 as sf_kafka_topic first hears of them; a number holds for the life of the factory. Lists
 * of partitions come sorted by these numbers. Ties between records are broken by names instead (D2). */
struct sf_tp {
    uint32_t topic;
    int32_t partition;
};

enum sf_ts_kind { SF_TS_NONE, SF_TS_CREATE, SF_TS_APPEND };

/* A record that was read. Headers are flat: for each a u16 length and the name, then an i32 length (-1: null) and the
 * value, numbers little-endian. NULL where there are none or nobody asked (has_headers). */
struct sf_record {
    struct sf_slice key;
    struct sf_slice value;
    struct sf_slice headers;
    int64_t offset;
    int64_t ts_ms; /* nothing to go by where ts_kind is SF_TS_NONE */
    enum sf_ts_kind ts_kind;
};

/* Some records that follow each other in a partition. Offsets rise, and skip what a reader does not get: control
 * records, aborted and compacted ones. All that it points to goes with the batch, in one piece, at
 * sf_consumer_release. */
struct sf_batch {
    struct sf_tp tp;
    uint32_t generation; /* as returned by the add or seek that it comes from */
    uint32_t count;      /* at least 1, at most batch_records_max */
    const struct sf_record *records;
    int64_t next_offset; /* where reading goes on: behind the last record and what could be skipped after it */
    int64_t known_end;   /* how far read-committed readers can get, as last heard; or SF_OFFSET_UNKNOWN */
    uint64_t bytes;      /* memory kept alive by it */
    void *impl;          /* the client's */
};

/* ------------------------------------------------------------------ consumer */

enum sf_consumer_event_kind {
    SF_CONSUMER_BATCH,        /* `batch`, the caller's until released */
    SF_CONSUMER_CAUGHT_UP,    /* when the broker was asked, all that this consumer may see lay before `position` (D6).
                                 Also of an empty log, and where only control records were left */
    SF_CONSUMER_OUT_OF_RANGE, /* `position` is not in the log, which goes from `log_start` to `log_end`. The partition
                                 is silent until it is sought or added anew (S7, K8) */
    SF_CONSUMER_PARTITION,    /* `status` of tp has changed: class RETRY, it cannot be read at present; SF_OK, it can
                                 again; class FATAL, it never will */
    SF_CONSUMER_GRANTED,      /* this member owns `tps`, and sf_consumer_token gives its proof */
    SF_CONSUMER_CONFIRMED,    /* sf_consumer_confirm: when the coordinator was asked, it still did */
    SF_CONSUMER_REVOKING,     /* somebody else shall have `tps`: finish or abort what is open, then sf_consumer_yield */
    SF_CONSUMER_REVOKED,      /* `tps` are somebody else's already; old proofs are void. SF_OK: the member stays and may
                                 be granted again. Class FENCED: another process has taken its static name */
    SF_CONSUMER_FAILED        /* `status`, class FATAL or FENCED: nothing follows */
};

/* A static name that another process takes is told by REVOKED, by FAILED, or by REVOKED and then FAILED, each with
 * class FENCED: the first of them is the end. */
struct sf_consumer_event {
    enum sf_consumer_event_kind kind;
    enum sf_status status;
    struct sf_tp tp;
    uint32_t generation;
    int64_t position;
    int64_t log_start;
    int64_t log_end;
    struct sf_batch *batch;
    const struct sf_tp *tps;
    uint32_t tp_count;
    const char *text; /* more about `status`, or NULL */
};

/* Shows the group's coordinator who writes offsets. It stands for a generation of the group: joins and leaves of others
 * bring a new one, with or without an event, so it is fetched right before use. The coordinator refuses an outdated one
 * (class ABORT), which says nothing about ownership (B14). Id 0 is the token of somebody outside: it is refused once
 * the group has members. Valid for all clients of one factory; copy it freely. */
struct sf_member_token {
    uint64_t id;
};

/* Strings are copied. */
struct sf_consumer_config {
    const char *group;            /* to be a member of; otherwise only a name for the broker's eyes, may be NULL */
    const char *purpose;          /* "source", "restore", "owner": shows in logs and client ids */
    const char *const *subscribe; /* NULL: partitions by sf_consumer_add. Else a member of `group`, for these topics;
                                     the list ends with NULL */
    const char *instance;         /* members: a static name. A process that comes back under it within the session
                                     gets its partitions without a rebalance. NULL: none */
    bool is_read_committed;
    bool has_headers;
    uint32_t batch_records_max;   /* 1 … 65536 */
    uint64_t fetch_bytes_max;     /* of all partitions together, fetched and not polled; 0: the client's choice */
    struct sf_waker waker;
};

struct sf_consumer_ops {
    /* Reads `tp`, which is not being read, from `offset` or SF_OFFSET_BEGINNING on, not paused. The generation, > 0. */
    uint32_t (*add)(void *self, struct sf_tp tp, int64_t offset);
    /* Ends that. Later polls say nothing of `tp`; batches that were polled remain the caller's. */
    void (*remove)(void *self, struct sf_tp tp);
    /* From `offset` instead, also after OUT_OF_RANGE. A new generation, the only one that later polls speak of. */
    uint32_t (*seek)(void *self, struct sf_tp tp, int64_t offset);
    /* While paused a partition has no events. Its place is kept, and so is what was fetched, which is there at once
     * after resume. Others are read as fast as before. Twice is as good as once. */
    void (*pause)(void *self, struct sf_tp tp);
    void (*resume)(void *self, struct sf_tp tp);
    /* Takes up to `cap` events; how many. To be called after each wake, and once a second without one: of a member it
     * is the sign of life. */
    uint32_t (*poll)(void *self, struct sf_consumer_event *events_out, uint32_t cap);
    /* Of the client that gave the batch, in whatever order. */
    void (*release)(void *self, struct sf_batch *batch);
    /* Id 0 unless this member owns something. */
    struct sf_member_token (*token)(void *self);
    /* Asks the coordinator whether this member still owns what it was granted; CONFIRMED follows if so, once for all
     * requests before it. If not, nothing does: REVOKED is on its way, however late this member hears of it. */
    void (*confirm)(void *self);
    /* Hands over what REVOKING asked for. Without effect if it has been lost meanwhile. */
    void (*yield)(void *self);
    /* Does not wait. Batches not released are gone. A member leaves its group, except under a static name: that one
     * keeps its partitions until the session runs out or somebody comes back as it. */
    void (*close)(void *self);
};

struct sf_consumer {
    const struct sf_consumer_ops *ops;
    void *self;
};

/* ------------------------------------------------------------------ producer */

/* A record to write, the caller's again after the call. Headers as in struct sf_record; data NULL: none. */
struct sf_out {
    struct sf_slice key;
    struct sf_slice value;
    struct sf_slice headers;
    int64_t ts_ms; /* >= 0 */
};

/* "The next record to read of `tp` is `offset`", and what goes with it (K7). The caller's again after the call. */
struct sf_offset_commit {
    struct sf_tp tp;
    int64_t offset;
    struct sf_slice metadata; /* up to SF_KAFKA_METADATA_BYTES_MAX, no NUL byte; data NULL: none */
};

/* One tracked partition: `end` is one above the offset of the last record that went there. */
struct sf_position {
    struct sf_tp tp;
    int64_t end;
};

enum sf_outcome {
    SF_OUTCOME_COMMITTED,     /* for sure */
    SF_OUTCOME_NOT_COMMITTED, /* for sure: the coordinator was not asked, or said no */
    SF_OUTCOME_UNKNOWN        /* the coordinator was asked and its answer is missing: read the log (B11) */
};

enum sf_producer_event_kind {
    SF_PRODUCER_INIT,      /* tag. SF_OK: ready; nothing from an earlier session of this id is open or can be written */
    SF_PRODUCER_ROOM,      /* write may be tried again after it took less than it was given */
    SF_PRODUCER_OFFSETS,   /* tag. Class ABORT: the token is old; abort is all that is left to do */
    SF_PRODUCER_COMMITTED, /* tag. Says that commit is over and not how: `outcome` does, and for the rest `status` */
    SF_PRODUCER_ABORTED,   /* tag */
    SF_PRODUCER_FLUSHED,   /* tag. SF_OK: all that was written before that flush is in the log. Class ABORT: not all */
    SF_PRODUCER_FAILED     /* class ABORT: abort is all that is left to do. LOST, FATAL: the session has ended */
};

struct sf_producer_event {
    enum sf_producer_event_kind kind;
    enum sf_status status;
    enum sf_outcome outcome;
    uint64_t tag;
    uint32_t end_sends;      /* COMMITTED, ABORTED: requests to end that left this process. 0: the broker was not
                                asked, since the transaction was empty or could not commit. More than 1: a copy may
                                still arrive and end a later transaction of this session, so open a new one (B11) */
    uint32_t position_count; /* COMMITTED that did commit, FLUSHED: tracked partitions with new records */
    const struct sf_position *positions; /* of these, sorted */
    const char *text;        /* more about `status`, or NULL */
};

/* Strings are copied. */
struct sf_producer_config {
    const char *transactional_id; /* NULL: no transactions; ready from the start, without init */
    const char *group;            /* that sf_producer_offsets is about; NULL: never called */
    int64_t txn_timeout_ms;       /* the coordinator aborts what stays open for longer, and the session is LOST. V8
                                     has the least that it may be */
    uint64_t queue_bytes_max;     /* written and not yet delivered. A larger record still goes, alone */
    uint32_t record_bytes_max;    /* the client takes records of this size (key, value, headers); a larger one may
                                     count as undelivered */
    uint32_t batch_bytes_max;     /* records are sent in batches that no topic they go to refuses: at most these bytes,
                                     a larger record alone; 0: the client's choice */
    struct sf_waker waker;
};

/*
 * A session:
 *
 *     closed  -- init -->  ready  -- begin -->  open  -- commit or abort -->  ending
 *
 *     from ending to     ready   COMMITTED with SF_OUTCOME_COMMITTED; ABORTED with SF_OK
 *                        open    COMMITTED with class ABORT: give abort next
 *     from anywhere to   over    an event of class LOST or FATAL: give close next
 *
 * Commands that were given before that event was heard end as well, without effect; write then takes everything and
 * none of it goes anywhere. A producer does not say FENCED: that a session was taken over looks like any other loss of
 * it, and only membership tells them apart (B14).
 */
struct sf_producer_ops {
    /* Closed to ready. Shuts out every other session of the transactional id, aborts or completes its transaction, and
     * waits until that is finished everywhere, so it may take as long as a broker is away. To be called as the owner
     * only, and right after that was confirmed: a former owner that has not heard yet would shut out the new one. Once.
     */
    void (*init)(void *self, uint64_t tag);
    /* Ready to open, locally; the coordinator hears of it with the first write or offsets. Class LOST, FATAL: over. */
    enum sf_status (*begin)(void *self);
    /* Takes the first so many of `count` records for one partition and copies them; how many. Fewer than all: the queue
     * is full, ROOM will follow. What is taken arrives in order, or the transaction fails: a record that the client or
     * the broker will never take counts as taken, and as undelivered. In open; without transactions always. */
    uint32_t (*write)(void *self, struct sf_tp tp, const struct sf_out *records, uint32_t count);
    /* From here on positions include `tp`. Once for a partition, before it is written to. */
    void (*track)(void *self, struct sf_tp tp);
    /* Makes offsets of the group part of the open transaction: readable when and only when it commits. Writes may
     * follow; a commit or abort that follows waits for it. */
    void (*offsets)(void *self, uint64_t tag, struct sf_member_token token,
                    const struct sf_offset_commit *commits, uint32_t count);
    /* Waits for every record and for offsets, then asks for the end. One that failed keeps it from being asked for. */
    void (*commit)(void *self, uint64_t tag);
    /* Drops what has not been sent, then asks for the end. */
    void (*abort)(void *self, uint64_t tag);
    /* Without transactions only; writes go on meanwhile. At most 3 may be pending. */
    void (*flush)(void *self, uint64_t tag);
    uint32_t (*poll)(void *self, struct sf_producer_event *events_out, uint32_t cap);
    /* In any state, without waiting. What has not left the process stays here, a request to end included; what has may
     * take effect. An open transaction stays open until its time-out or until the next init of the id. */
    void (*close)(void *self);
};

struct sf_producer {
    const struct sf_producer_ops *ops;
    void *self;
};

/* ------------------------------------------------------------------ admin */

/* As a broker spells them: { "cleanup.policy", "compact" }. */
struct sf_topic_setting {
    const char *name;
    const char *value;
};

struct sf_topic_spec {
    uint32_t topic;
    int32_t partition_count; /* > 0 */
    int16_t replication;     /* -1: as the broker is configured */
    const struct sf_topic_setting *settings;
    uint32_t setting_count;
};

enum sf_log_end {
    SF_LOG_START,
    SF_LOG_STABLE_END, /* where read-committed readers have to stop: the last stable offset */
    SF_LOG_END         /* where all readers have to stop: the high watermark */
};

struct sf_offset_answer {
    struct sf_tp tp;
    enum sf_status status;    /* of this partition. SF_NOT_FOUND: no offset committed; SF_E_UNKNOWN_TOPIC */
    int64_t offset;           /* SF_OFFSET_UNKNOWN unless SF_OK */
    struct sf_slice metadata; /* of a committed offset; data NULL: none */
};

struct sf_admin_event {
    uint64_t tag;
    enum sf_status status;
    int32_t partition_count;                 /* describe, create, watch */
    const struct sf_topic_setting *settings; /* describe: sorted by name */
    uint32_t setting_count;
    const struct sf_offset_answer *answers;  /* committed, ends: one for each partition asked about, in that order */
    uint32_t answer_count;
    const char *text;                        /* more about `status`, or NULL */
};

/* What commands point to is copied. Giving one of them twice does no harm. */
struct sf_admin_ops {
    /* Partition count and settings. SF_E_UNKNOWN_TOPIC. Settings left at the broker's default may be missing. */
    void (*describe)(void *self, uint64_t tag, uint32_t topic);
    /* SF_OK: it is there and can be used, now or since before, with that many partitions. SF_E_EXISTS: with another
     * number. Settings are those of whoever made it. */
    void (*create)(void *self, uint64_t tag, const struct sf_topic_spec *spec);
    /* The partition count now, and again whenever it is another, until close (G4): the one command with more than one
     * event. SF_E_UNKNOWN_TOPIC, count 0, while there is no such topic. */
    void (*watch)(void *self, uint64_t tag, uint32_t topic);
    /* The group's offsets. Waits while a transaction that holds one of them is undecided (case 84). */
    void (*committed)(void *self, uint64_t tag, const char *group, const struct sf_tp *tps, uint32_t count);
    void (*ends)(void *self, uint64_t tag, enum sf_log_end which, const struct sf_tp *tps, uint32_t count);
    /* Commits offsets outside any transaction (at-least-once, B10). Class ABORT, nothing committed: the token is not
     * the current one; or it is id 0 and the group has members. */
    void (*commit)(void *self, uint64_t tag, const char *group, struct sf_member_token token,
                   const struct sf_offset_commit *commits, uint32_t count);
    /* Records of `tp` below `before` are deleted. SF_E_RANGE: the log ends before it. */
    void (*truncate)(void *self, uint64_t tag, struct sf_tp tp, int64_t before);
    uint32_t (*poll)(void *self, struct sf_admin_event *events_out, uint32_t cap);
    /* Does not wait. A command under way may still take effect. */
    void (*close)(void *self);
};

struct sf_admin {
    const struct sf_admin_ops *ops;
    void *self;
};

/* ------------------------------------------------------------------ factory */

struct sf_kafka_ops {
    /* Local. The same name has the same number; a topic need not exist to have one. The name is copied. */
    uint32_t (*topic)(void *self, const char *name);
    /* Of a number from above; stays as long as the factory. */
    const char *(*topic_name)(void *self, uint32_t topic);
    /* No broker is asked: that one is away, or refuses the client, comes as events. SF_E_ARG, SF_E_UNSUPPORTED: the
     * configuration cannot be used, and `error` says which part. */
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

/* ------------------------------------------------------------------ wrappers */

/* Core calls clients through these alone: they check what each side has promised the other. */

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

static inline void sf_consumer_confirm(struct sf_consumer consumer)
{
    consumer.ops->confirm(consumer.self);
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

#endif
