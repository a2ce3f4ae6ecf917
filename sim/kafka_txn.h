/*
 * The transaction coordinator: one entry per transactional id.
 *
 *     empty --first partition or group--> ongoing --end--> preparing --all markers written--> complete --> ongoing …
 *
 * The decision (ongoing → preparing) is the commit; it is answered at once, and the markers follow, one per partition
 * and one for the groups' offsets, each after its own delay. Until they are all written the id is busy: whatever
 * begins anew waits (CONCURRENT_TRANSACTIONS).
 *
 * Two protocols. v1: all transactions of a session share one epoch; an end that arrives late ends whatever is
 * ongoing. v2: each end moves the epoch, so a late one is refused; one repeated for the transaction that ended last
 * is answered as the first time.
 */
#ifndef SF_SIM_KAFKA_TXN_H
#define SF_SIM_KAFKA_TXN_H

#include "sim/kafka_broker.h"

enum sfi_coord_state {
    SFI_COORD_EMPTY,
    SFI_COORD_ONGOING,
    SFI_COORD_PREPARING, /* is_commit says what */
    SFI_COORD_COMPLETE
};

/* A marker under way. `log` NULL: the groups' offsets. */
struct sfi_marker {
    struct sfi_marker *next;     /* of the coordinator */
    struct sfi_marker *log_next; /* of a log without leader */
    struct sfi_coord *coord;
    struct sfi_log *log;
    uint64_t event;
};

struct sfi_coord {
    struct sfi_coord *next;
    struct sf_sim_kafka *broker;
    char *id;
    uint32_t number; /* in order of first use: the entity of its draws */
    uint64_t producer_id;
    int32_t epoch;
    int32_t ended_epoch; /* v2: of the transaction that ended last; -1: none in this session */
    enum sfi_coord_state state;
    bool is_commit; /* preparing, complete */
    bool has_offsets;
    int64_t timeout_us;
    uint64_t timeout_event;
    struct sfi_txn *txn; /* ongoing, preparing; counted */
    struct sfi_log **logs; /* in the order added */
    uint32_t log_count;
    uint32_t log_cap;
    struct sfi_marker *markers;
    int64_t markers_delay_us; /* fault, for the next end; -1: none */
    uint64_t marker_ordinal;
};

/* What a producer client holds. coord NULL: idempotent only. */
struct sfi_session {
    struct sfi_coord *coord;
    uint64_t producer_id;
    int32_t epoch;
};

/* The entry, made at the first call. */
struct sfi_coord *sfi_coord_get(struct sf_sim_kafka *broker, const char *id);
struct sfi_coord *sfi_coord_find(struct sf_sim_kafka *broker, const char *id);
void sfi_coord_free(struct sfi_coord *coord);

/* Fence whoever holds the id, abort what is open; SFI_WAIT until nothing is. */
enum sfi_result sfi_txn_init(struct sfi_coord *coord, int64_t timeout_us, struct sfi_session *session_out);

/* One produce request: chunks in order, linked by `next`; their pins are taken on SFI_OK. A repeated one
 * whose chunks were taken before has none. */
struct sfi_produce {
    struct sfi_session session;
    struct sfi_chunk *chunks;
    uint64_t number;  /* of the request in the session and partition: duplicates are answered, not appended */
    bool is_first;    /* of the transaction in this partition, as the client sees it: adds the partition */
};
enum sfi_result sfi_txn_produce(struct sfi_log *log, const struct sfi_produce *produce, int64_t *end_out);

/* Begin if needed, and make sure that the session may add to the transaction. */
enum sfi_result sfi_txn_touch(const struct sfi_session *session);
/* v2: session->epoch becomes the next transaction's. */
enum sfi_result sfi_txn_end(struct sfi_session *session, bool is_commit);
/* Abort what is open, with a new epoch: the session that opened it is fenced. */
void sfi_txn_fence(struct sfi_coord *coord);
/* Markers of `log` that waited for its leader. */
void sfi_txn_leader_back(struct sfi_log *log);

#endif
