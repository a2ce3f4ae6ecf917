/*
 * A chunk: consecutive records of one producer and one transaction, in one block of memory. A producer fills it, the
 * log adopts it, a reader's batch points into it; it is freed with its last pin. A control record is a chunk without
 * records. Nothing is copied after the first time.
 *
 *     [ header | struct sf_record × record_cap | bytes: key, value, headers of each record, in order ]
 *
 * Offsets rise within a chunk; where compaction removed records they have gaps.
 */
#ifndef SF_SIM_KAFKA_CHUNK_H
#define SF_SIM_KAFKA_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/io/kafka.h"
#include "core/mem.h"
#include "sim/kafka.h"

/* One transaction as readers know it. Counted: coordinator, open ranges and chunks refer to it. */
struct sfi_txn {
    uint32_t refs;
    enum sf_sim_kafka_txn_state state;
    uint64_t serial; /* from 1, in order of begin */
    uint64_t producer_id;
    int32_t producer_epoch;
};

struct sfi_chunk {
    struct sfi_chunk *next;  /* in a producer's queue */
    struct sfi_txn *txn;     /* NULL: none */
    uint64_t producer_id;
    int32_t producer_epoch;
    uint32_t pins;
    uint32_t count;
    uint32_t record_cap;
    uint32_t byte_count;
    uint32_t byte_cap;
    int64_t base_offset;
    int64_t next_offset; /* behind the chunk; compaction may leave a gap before it */
    int64_t ts_max_ms;   /* INT64_MIN: no record has a timestamp */
    bool is_control;
    bool is_commit;      /* control */
    bool has_headers;
    uint8_t *bytes;
    struct sf_record records[];
};

/* One pin, the caller's. */
struct sfi_chunk *sfi_chunk_new(struct sf_alloc alloc, uint32_t record_cap, uint32_t byte_cap);
void sfi_chunk_unpin(struct sf_alloc alloc, struct sfi_chunk *chunk);
static inline struct sfi_chunk *sfi_chunk_pin(struct sfi_chunk *chunk)
{
    chunk->pins++;
    return chunk;
}

static inline uint64_t sfi_out_bytes(const struct sf_out *out)
{
    return (uint64_t)out->key.len + out->value.len + out->headers.len;
}

/* Copy one record to the end; false, and nothing done, where it does not fit. Offsets are the log's to set. */
bool sfi_chunk_add(struct sfi_chunk *chunk, const struct sf_out *out);
/* A new chunk that is to hold `records` next: their size, at least `record_min` records, at least twice the last
 * chunk's (NULL: none), within bounds. Room for the first record in any case. */
struct sfi_chunk *sfi_chunk_new_for(struct sf_alloc alloc, const struct sfi_chunk *last, uint32_t record_min,
                                    const struct sf_out *records, uint32_t count);

void sfi_txn_ref(struct sfi_txn *txn);
void sfi_txn_unref(struct sf_alloc alloc, struct sfi_txn *txn);

#endif
