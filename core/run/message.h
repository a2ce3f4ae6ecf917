/*
 * What travels on edges (core/run/edge.h): the payloads of blocks and the structures behind control messages.
 *
 * Three forms of a record:
 *   struct sf_ref   a record as it was polled, by reference: bytes stay in the consumer's batch, which ingest
 *                   releases when every RUN that points into it has come back
 *   wire record     a record that a lane made, by value, in a block (sf_wire_*)
 *   struct sf_out   a record on its way to the producer (core/io/kafka.h), made from the wire form by commit
 */
#ifndef SF_CORE_RUN_MESSAGE_H
#define SF_CORE_RUN_MESSAGE_H

#include "core/io/kafka.h"
#include "core/run/edge.h"

#define SF_BARRIER_FLUSH 1u /* flags of BARRIER, CUT: final barrier of a graceful stop (S4) */

/* flags of OUT: what the block holds, in the order in which a lane sends them within an epoch (B10) */
#define SF_OUT_RESULTS 0u
#define SF_OUT_CHANGES 1u
#define SF_OUT_FRONTIERS 2u
/* commit -> persist only: block of struct sf_position; ends of changelog partitions as of the epochs that the next
 * COMMITTED names. Left out when there is no credit: older positions stay true lower bounds (K4). */
#define SF_OUT_POSITIONS 3u

/* flags of WORK: why */
#define SF_WORK_RESULTS 1u /* results were emitted or are due (B3) */
#define SF_WORK_MEMORY 2u  /* the lane's share of uncommitted-bytes-max is used up (L5) */

/* flags of STOP, and of the STOPPED that answers it */
#define SF_STOP_FOR_GOOD 1u /* answer STOPPED and be done; msg.epoch: the newest that is committed */

/* flags of RESET */
#define SF_RESET_NO_STORE 1u /* to commit: there is no persist task behind its edge */

/* flags of SESSION to commit: what to do before it answers */
#define SF_SESSION_OPEN 1u      /* close the producer if there is one, open a new one, init */
#define SF_SESSION_ABORT 2u     /* abort the open transaction */
#define SF_SESSION_COMMITTED 3u /* the commit in doubt, of `epoch`, has proved committed: publish it, go on */
#define SF_SESSION_JOIN 4u      /* become a member of the group: OWNER follows when it is the owner */

/* flags of OWNER from commit */
#define SF_OWNER_GRANTED 1u
#define SF_OWNER_REVOKING 2u /* another member shall have it: stop gracefully, then yield (case 78a) */
#define SF_OWNER_LOST 3u     /* gone without asking (case 78b) */

/* One dispatched record in a RUN block. The block's msg.value is the global watermark at dispatch (F10, G3). */
struct sf_ref {
    const struct sf_record *record; /* borrowed until the block is given back */
    uint64_t hash;                  /* sf_hash64 of the key; of the partition for a null key (L2) */
    int64_t ts_ms;                  /* event time as judged (T4, W6) */
    uint32_t partition;             /* index in ingest's list of partitions */
    uint32_t source;                /* index in the topology's sources */
};

static inline struct sf_ref *sf_run_refs(struct sf_block *block)
{
    return (struct sf_ref *)(void *)block->data;
}

/* --- wire records: { header, key, value, headers, padding to 8 } */

#define SF_WIRE_NULL UINT32_MAX

struct sf_wire {
    int64_t ts_ms;
    int64_t watermark;    /* global watermark when the record it came from was dispatched */
    uint64_t hash;        /* of the key; RECORDS only */
    uint32_t target;      /* OUT: index in the engine's table of targets; RECORDS: sf_wire_hop_target */
    uint32_t key_len;     /* SF_WIRE_NULL: null */
    uint32_t value_len;   /* SF_WIRE_NULL: null */
    uint32_t headers_len; /* SF_WIRE_NULL: none */
};

static inline uint32_t sf_wire_len(uint32_t len)
{
    return len == SF_WIRE_NULL ? 0 : len;
}

static inline uint32_t sf_wire_bytes(uint32_t key_len, uint32_t value_len, uint32_t headers_len)
{
    uint32_t bytes = (uint32_t)sizeof(struct sf_wire) + sf_wire_len(key_len) + sf_wire_len(value_len) +
                     sf_wire_len(headers_len);
    return (bytes + 7u) & ~7u;
}

static inline const uint8_t *sf_wire_key(const struct sf_wire *wire)
{
    return wire->key_len == SF_WIRE_NULL ? NULL : (const uint8_t *)(wire + 1);
}

static inline const uint8_t *sf_wire_value(const struct sf_wire *wire)
{
    if (wire->value_len == SF_WIRE_NULL) return NULL;
    return (const uint8_t *)(wire + 1) + sf_wire_len(wire->key_len);
}

static inline const uint8_t *sf_wire_headers(const struct sf_wire *wire)
{
    if (wire->headers_len == SF_WIRE_NULL) return NULL;
    return (const uint8_t *)(wire + 1) + sf_wire_len(wire->key_len) + sf_wire_len(wire->value_len);
}

static inline uint32_t sf_wire_size(const struct sf_wire *wire)
{
    return sf_wire_bytes(wire->key_len, wire->value_len, wire->headers_len);
}

/* Over a hop: the step that takes the record, and how its value is encoded on the way. */
static inline uint32_t sf_wire_hop_target(uint32_t step, uint32_t value_serde)
{
    assert(step < (1u << 24) && value_serde < (1u << 8));
    return value_serde << 24 | step;
}

static inline uint32_t sf_wire_hop_step(const struct sf_wire *wire)
{
    return wire->target & ((1u << 24) - 1);
}

static inline uint32_t sf_wire_hop_serde(const struct sf_wire *wire)
{
    return wire->target >> 24;
}

/* The first wire record of a block; the next one stands sf_wire_size behind it; block->count of them. */
static inline const struct sf_wire *sf_wire_first(const struct sf_block *block)
{
    return (const struct sf_wire *)(const void *)block->data;
}

static inline const struct sf_wire *sf_wire_next(const struct sf_wire *wire)
{
    return (const struct sf_wire *)(const void *)((const uint8_t *)wire + sf_wire_size(wire));
}

/* Room for one more record of these lengths at the end of `block`, header filled in; the caller writes the bytes
 * (sf_wire_key_at …). NULL: does not fit. */
struct sf_wire *sf_wire_append(struct sf_block *block, uint32_t key_len, uint32_t value_len, uint32_t headers_len);

/* --- counters that are part of the cut (M6): deltas of one epoch, published when it has committed */

enum sf_drop {
    SF_DROP_LATE_WINDOW, /* counted per window (F2) */
    SF_DROP_INVALID_TIMESTAMP,
    SF_DROP_FUTURE_TIMESTAMP,
    SF_DROP_NULL_KEY,
    SF_DROP_NULL_VALUE,
    SF_DROP_DESERIALIZATION,
    SF_DROP_PROCESSING,
    SF_DROP_PRODUCTION, /* counted per sink, not per step */
    SF_DROP_COUNT
};

/* Per source, by ingest. polled = dispatched + skipped + buffered (M6). */
struct sf_source_counts {
    uint64_t dispatched;
    uint64_t skipped[SF_DROP_COUNT];
    uint64_t late;       /* late arrivals (G3) */
    uint64_t gap;        /* records that the broker no longer had (S7) */
};

/* Per step, by a lane. For an aggregate: in = taken + none[late] + none[null key] + none[null value] (M6). */
struct sf_step_counts {
    uint64_t in;
    uint64_t out;
    uint64_t taken;
    uint64_t none_late; /* records that no window took because all were closed */
    uint64_t drops[SF_DROP_COUNT];
};

/* Per sink, by a lane. What came to it = written + dropped (M6). */
struct sf_sink_counts {
    uint64_t written;
    uint64_t dropped; /* could not be written; on-production-error: continue (M5) */
};

/* The counts of one lane for one epoch, behind CROSSED. */
struct sf_lane_counts {
    struct sf_step_counts *steps; /* by rank in the sub-topology */
    uint32_t step_count;
    struct sf_sink_counts *sinks; /* by sink of the topology */
};

/* --- the cut of one epoch, behind CUT (B4). Ingest's memory, untouched until COMMITTED or RESET. */

#define SF_OFFSET_METADATA_BYTES 64u

struct sf_cut_offset {
    struct sf_tp tp;
    int64_t offset;
    uint8_t metadata[SF_OFFSET_METADATA_BYTES]; /* K7 */
    uint32_t metadata_len;
};

struct sf_cut {
    uint64_t epoch;
    int64_t stamp;      /* W(epoch) */
    bool is_flush;      /* S4 */
    const struct sf_cut_offset *offsets; /* partitions that moved; at least one (B14), by (topic, partition) */
    uint32_t offset_count;
    const uint8_t *stamp_row; /* value for the watermark topic (K1) */
    uint32_t stamp_row_len;
    const struct sf_source_counts *sources; /* by source index: this epoch's */
    uint32_t source_count;
};

/* --- troubles, behind FAULT: value2 is one of these, value a status, ptr as said */

enum sf_trouble {
    SF_TROUBLE_TXN,            /* commit: the transaction can only be aborted (status class ABORT) */
    SF_TROUBLE_SESSION,        /* commit: session lost; flags bit 0: outcome of `epoch` unknown (B11) */
    SF_TROUBLE_OWNERSHIP,      /* commit: revoked or fenced (B14) */
    SF_TROUBLE_BARRIER,        /* commit: not crossed within the barrier time-out (B9) */
    SF_TROUBLE_RECORD          /* ingest or lane: policy `fail`; ptr: struct sf_failure (M5, T4) */
};

#define SF_FAILURE_TEXT_BYTES 400

/* Where and why a record stopped the engine. Owned by the task that found it. */
struct sf_failure {
    enum sf_status status; /* a lane's; ingest's goes with the message */
    struct sf_tp tp;  /* topic UINT32_MAX: not of a polled record */
    int64_t offset;
    char text[SF_FAILURE_TEXT_BYTES];
};

#endif
