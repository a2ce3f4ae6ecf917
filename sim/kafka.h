/*
 * The simulated Kafka: one faithful broker in a simulated world, and a handle to it for each instance
 * (core/io/kafka.h is what the engine sees; this is what the driver and its oracle see).
 *
 *     broker = sf_sim_kafka_new(&world, &config);
 *     sf_sim_kafka_create(broker, "orders", 3, NULL, 0);
 *     kafka = sf_sim_kafka_handle(broker, instance);               // the engine's
 *     sf_sim_kafka_append(broker, tp, records, count);             // the outside world's producers
 *     sf_sim_kafka_fault(broker, &(struct sf_sim_kafka_fault){...});
 *
 * What is modelled: logs whose control records take offsets, producer ids and epochs, fencing by transactional id,
 * the coordinator's states and time-outs, markers that come after the answer, last stable offsets, aborted ranges,
 * offsets inside transactions, leaders that are away, a group whose members share one partition. Requests of one
 * connection keep their order; nothing else has one: each partition that a producer writes to, the coordinator and
 * each partition that a consumer reads has a connection of its own.
 *
 * Latency. A request takes half a drawn round trip to arrive and half another to be answered. A crash, a close or a
 * freeze in the first half of the way there catches a request before it was sent; later it is on the wire and
 * arrives. Fetches wait at the broker until there is something new, so a world with nothing to do jumps.
 * With all latencies 0 ("exact") what is due at one instant is done at that instant, in the order of commands.
 *
 * The client models keep the contract of core/io/kafka.h and add no prudence of their own: `end_sends` is what they
 * sent, and an end that a fault delays arrives although its repetition was answered long ago. Whoever does not open a
 * new session after it (B11) gets a torn transaction, as with a real broker.
 *
 * Topics are numbered per broker here, and per handle in core/io/kafka.h: `struct sf_tp` in this header has the
 * broker's numbers.
 *
 * Threading: the world's one thread. Nothing here depends on addresses: one seed, one history.
 */
#ifndef SF_SIM_KAFKA_H
#define SF_SIM_KAFKA_H

#include <stdbool.h>
#include <stdint.h>

#include "core/io/kafka.h"
#include "sim/world.h"

struct sf_sim_kafka;
struct sf_sim_kafka_txn; /* a transaction of the outside world */

/* Both ends included; {0, 0}: none. */
struct sf_sim_latency {
    int64_t lo_us;
    int64_t hi_us;
};

struct sf_sim_kafka_config {
    bool is_v2;                     /* an epoch per transaction (KIP-890); else what librdkafka 2.0 speaks */
    struct sf_sim_latency fetch;    /* from visible at the broker to delivered, also of an empty first answer */
    struct sf_sim_latency produce;  /* round trips */
    struct sf_sim_latency commit;   /* init, offsets, end of transaction */
    struct sf_sim_latency admin;
    struct sf_sim_latency group;    /* join, leave, and how long until members hear of a rebalance */
    struct sf_sim_latency marker;   /* from the decision to the marker in a partition */
    uint32_t fetch_records_lo;      /* a fetch answer holds at most a drawn number of records; hi 0: no such bound */
    uint32_t fetch_records_hi;
    uint32_t record_bytes_max;      /* key + value + headers */
    int64_t retry_us;               /* wait before a request that was refused for now is repeated */
    int64_t request_timeout_us;     /* no answer for so long: sent again */
    int64_t delivery_timeout_us;    /* an undelivered record fails after it, or after the transaction time-out */
    int64_t session_timeout_us;     /* group members */
    int64_t heartbeat_us;
    int64_t rebalance_timeout_us;   /* an owner that does not give up when asked is expelled */
};

/* Small latencies of a healthy cluster, v1. */
struct sf_sim_kafka_config sf_sim_kafka_config_default(void);
/* The same without latencies. */
struct sf_sim_kafka_config sf_sim_kafka_config_exact(void);

/* `world` must outlive it. */
struct sf_sim_kafka *sf_sim_kafka_new(struct sf_sim_world *world, const struct sf_sim_kafka_config *config);
/* Also frees every client that is still open: destroy instances first where that matters. */
void sf_sim_kafka_destroy(struct sf_sim_kafka *broker);
/* The instance's factory, made at the first call; lives until the instance or the broker is destroyed. */
struct sf_kafka sf_sim_kafka_handle(struct sf_sim_kafka *broker, struct sf_sim_instance *instance);

/* ------------------------------------------------------------------ topics */

/* The broker's number of a name, whether or not the topic exists. Name copied. */
uint32_t sf_sim_kafka_topic(struct sf_sim_kafka *broker, const char *name);
const char *sf_sim_kafka_topic_name(const struct sf_sim_kafka *broker, uint32_t topic);
/* Numbers are 0 … count - 1. */
uint32_t sf_sim_kafka_topic_count(const struct sf_sim_kafka *broker);
/* SF_OK also where it exists with the same count, SF_E_EXISTS with another. Settings copied. */
enum sf_status sf_sim_kafka_create(struct sf_sim_kafka *broker, const char *name, int32_t partition_count,
                                   const struct sf_topic_setting *settings, uint32_t setting_count);
/* Grow to `partition_count` in all (G4: found while running). */
void sf_sim_kafka_add_partitions(struct sf_sim_kafka *broker, uint32_t topic, int32_t partition_count);
/* 0: no such topic. */
int32_t sf_sim_kafka_partition_count(const struct sf_sim_kafka *broker, uint32_t topic);
/* NULL if the topic has no such setting. */
const char *sf_sim_kafka_setting(const struct sf_sim_kafka *broker, uint32_t topic, const char *name);

/* ------------------------------------------------------------------ the outside world's records */

/* Append to one partition, also while its leader is away; the first offset. Bytes copied. ts_ms -1: no timestamp. */
int64_t sf_sim_kafka_append(struct sf_sim_kafka *broker, struct sf_tp tp, const struct sf_out *records, uint32_t count);
/* A foreign transaction: any number of appends, then its end, which writes the markers at once and frees it. */
struct sf_sim_kafka_txn *sf_sim_kafka_foreign_begin(struct sf_sim_kafka *broker);
int64_t sf_sim_kafka_foreign_append(struct sf_sim_kafka *broker, struct sf_sim_kafka_txn *txn, struct sf_tp tp,
                                    const struct sf_out *records, uint32_t count);
void sf_sim_kafka_foreign_end(struct sf_sim_kafka *broker, struct sf_sim_kafka_txn *txn, bool is_commit);

/* Move the log start up to `before`, at most to the end: readers below it are out of range (S7). */
void sf_sim_kafka_truncate(struct sf_sim_kafka *broker, struct sf_tp tp, int64_t before);
/* Free memory below `before` that nobody will read again; the log start stays, and nothing that goes on is changed by
 * it. Whole chunks only, never the newest. A fetch from below gets no answer, and `is_missed` says so from then on. */
void sf_sim_kafka_discard(struct sf_sim_kafka *broker, struct sf_tp tp, int64_t before);
/* Somebody came for what was discarded: from here on the world is not what it would have been. */
bool sf_sim_kafka_is_missed(const struct sf_sim_kafka *broker);
/* Keep the newest record of each key below the last stable offset, of committed and plain records; aborted ones go.
 * Offsets stay. */
struct sf_sim_kafka_compaction {
    bool is_tombstones_dropped; /* null values too, once they are the newest */
    bool is_markers_dropped;    /* control records: their offsets become gaps */
};
void sf_sim_kafka_compact(struct sf_sim_kafka *broker, struct sf_tp tp, const struct sf_sim_kafka_compaction *how);
/* Case 110: topics whose cleanup.policy holds "delete" (the default) and whose retention.ms (7 days) is not negative
 * lose leading chunks in which every record's timestamp is older than now - retention. Records without timestamps
 * count as old. */
void sf_sim_kafka_sweep(struct sf_sim_kafka *broker, int64_t now_ms);

/* ------------------------------------------------------------------ faults */

enum sf_sim_kafka_mode {
    SF_SIM_KAFKA_MODE_OK,
    SF_SIM_KAFKA_MODE_NO_LEADER, /* neither read nor written */
    SF_SIM_KAFKA_MODE_NO_FETCH   /* written, but fetches fail: lag is unknown (D6) */
};
void sf_sim_kafka_mode(struct sf_sim_kafka *broker, struct sf_tp tp, enum sf_sim_kafka_mode mode);

enum sf_sim_kafka_request {
    SF_SIM_KAFKA_REQUEST_INIT,
    SF_SIM_KAFKA_REQUEST_PRODUCE,
    SF_SIM_KAFKA_REQUEST_OFFSETS,
    SF_SIM_KAFKA_REQUEST_END_COMMIT,
    SF_SIM_KAFKA_REQUEST_END_ABORT,
    SF_SIM_KAFKA_REQUEST_COUNT
};

enum sf_sim_kafka_effect {
    SF_SIM_KAFKA_LOST,        /* never arrives */
    SF_SIM_KAFKA_ANSWER_LOST, /* takes effect, unanswered */
    SF_SIM_KAFKA_DELAYED,     /* arrives `delay_us` late; from the request time-out on a duplicate overtakes it */
    SF_SIM_KAFKA_REFUSED      /* produce: not taken, for good. Others: as if lost */
};

/* "The next `count` requests of this kind answer so." Faults of one kind queue up in the order given. */
struct sf_sim_kafka_fault {
    const char *transactional_id; /* copied; NULL: of any producer */
    enum sf_sim_kafka_request request;
    enum sf_sim_kafka_effect effect;
    uint32_t count;
    int64_t delay_us;
    uint32_t *met; /* counts the requests that it met; must outlive the broker; NULL: nobody asks */
};
void sf_sim_kafka_fault(struct sf_sim_kafka *broker, const struct sf_sim_kafka_fault *fault);

/* The next end of the id's transaction writes its markers `delay_us` after the decision (case 84). */
void sf_sim_kafka_markers_delay(struct sf_sim_kafka *broker, const char *transactional_id, int64_t delay_us);
/* Has the end come that it was for? */
bool sf_sim_kafka_are_markers_delayed(struct sf_sim_kafka *broker, const char *transactional_id);
/* The coordinator's clock jumps: an open transaction of the id is timed out now (case 80). False if none is open. */
bool sf_sim_kafka_txn_timeout(struct sf_sim_kafka *broker, const char *transactional_id);
/* A planned rebalance: the owner is asked to give up (REVOKING), the next member takes over. No-op without both. */
void sf_sim_kafka_group_move(struct sf_sim_kafka *broker, const char *group);
/* The owner's heartbeats are lost for `deaf_us`, its session ends now: the next member takes over, and the old owner
 * hears of it only then (case 78b, zombies). False without owner. */
bool sf_sim_kafka_group_expel(struct sf_sim_kafka *broker, const char *group, int64_t deaf_us);

/* ------------------------------------------------------------------ inspection */

int64_t sf_sim_kafka_log_end(struct sf_sim_kafka *broker, struct sf_tp tp, enum sf_log_end which);

enum sf_sim_kafka_txn_state {
    SF_SIM_KAFKA_PLAIN,     /* no transaction */
    SF_SIM_KAFKA_OPEN,
    SF_SIM_KAFKA_COMMITTED, /* decided; readers see it when the marker is written */
    SF_SIM_KAFKA_ABORTED
};

/* One record, or one control record (then record has only offset and time). */
struct sf_sim_kafka_entry {
    const struct sf_record *record; /* borrowed until the next change of the log */
    int64_t offset;
    uint64_t producer_id; /* 0: outside world */
    int32_t producer_epoch;
    uint64_t txn_serial;  /* 0: none */
    enum sf_sim_kafka_txn_state state;
    bool is_control;
    bool is_commit;       /* control records */
};

/* The first entry at or after `*offset`; moves `*offset` behind it. False at the end. */
bool sf_sim_kafka_log_next(struct sf_sim_kafka *broker, struct sf_tp tp, int64_t *offset,
                           struct sf_sim_kafka_entry *entry_out);

struct sf_sim_kafka_committed {
    int64_t offset; /* SF_OFFSET_UNKNOWN: none */
    struct sf_slice metadata;
    int64_t pending; /* offset in an undecided or unfinished transaction, or SF_OFFSET_UNKNOWN */
};
struct sf_sim_kafka_committed sf_sim_kafka_committed(struct sf_sim_kafka *broker, const char *group, struct sf_tp tp);

/* What an offset tool leaves: the group's committed offsets as they were, without metadata. How many had some. */
uint32_t sf_sim_kafka_metadata_lost(struct sf_sim_kafka *broker, const char *group);

struct sf_sim_kafka_group_view {
    uint32_t owner_instance; /* id of the simulated instance; 0: none, or one that is gone but whose session runs */
    uint32_t generation;
    uint32_t member_count;
};
struct sf_sim_kafka_group_view sf_sim_kafka_group(struct sf_sim_kafka *broker, const char *group);

/* Sees every change at the moment it is made; members may be NULL. Must not change the broker. */
struct sf_sim_kafka_observer {
    /* Consecutive records of one producer, just appended. txn_serial 0: no transaction. */
    void (*appended)(void *ctx, struct sf_tp tp, const struct sf_record *records, uint32_t count,
                     uint64_t producer_id, int32_t producer_epoch, uint64_t txn_serial);
    /* The coordinator has decided: this is the moment at which a transaction commits. */
    void (*decided)(void *ctx, const char *transactional_id, uint64_t producer_id, int32_t producer_epoch,
                    uint64_t txn_serial, bool is_commit);
    /* The marker of a decided transaction is in the partition: read-committed readers see up to there. */
    void (*marked)(void *ctx, struct sf_tp tp, int64_t offset, uint64_t txn_serial, bool is_commit);
    /* A group's offset changed; txn_serial 0: outside transactions. */
    void (*offset_committed)(void *ctx, const char *group, struct sf_tp tp, int64_t offset, struct sf_slice metadata,
                             uint64_t txn_serial);
    /* Ownership changed; instance 0: nobody. */
    void (*owner)(void *ctx, const char *group, uint32_t instance, uint32_t generation);
    void *ctx;
};
/* One; borrowed until replaced; NULL: none. */
void sf_sim_kafka_observe(struct sf_sim_kafka *broker, const struct sf_sim_kafka_observer *observer);

#endif
