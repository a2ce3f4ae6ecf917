/*
 * Buffer: the records of one partition that were polled and not yet dispatched (D1), where the consumer put them.
 * Nothing is copied: a buffer is a queue of batches with a place in the first one.
 *
 *     batches  [7 8 9] [12 13]      at: 8 next, 4 wait
 *
 * A batch belongs to the consumer and goes back to it when nothing points into it any more. Who points is counted in
 * `pins`: one while it stands in its buffer, one for each RUN block that holds a ref into it (core/ingest/dispatch.c).
 *
 * Threading: the ingest task's.
 */
#ifndef SF_CORE_INGEST_BUFFER_H
#define SF_CORE_INGEST_BUFFER_H

#include "core/io/kafka.h"
#include "core/mem.h"

/* A polled batch until it goes back. */
struct sf_held {
    struct sf_batch *batch;
    uint32_t pins;
    struct sf_held *next; /* in the pool's free list */
};

struct sf_held_chunk;

/* Where `struct sf_held` come from, and the consumer that batches go back to. One for all buffers. */
struct sf_held_pool {
    struct sf_consumer consumer;
    struct sf_held *free;
    struct sf_held_chunk *chunks;
    uint32_t held_count; /* batches that are with us */
    uint64_t held_bytes;
    struct sf_alloc alloc;
};

void sf_held_pool_init(struct sf_held_pool *pool, struct sf_alloc alloc, struct sf_consumer consumer);
/* Gives nothing back: closing the consumer frees its batches. */
void sf_held_pool_deinit(struct sf_held_pool *pool);
/* One that points less; the last one gives the batch back. */
void sf_held_unpin(struct sf_held_pool *pool, struct sf_held *held);

struct sf_span {
    struct sf_held *held;
    uint32_t at;      /* next record of the batch */
    uint64_t arrival; /* which batch of all this was (D4: arrival order) */
};

struct sf_buffer {
    struct sf_span *spans; /* ring of `capacity`, a power of two or 0 */
    uint32_t first;
    uint32_t count;
    uint32_t capacity;
    uint32_t waiting; /* records */
};

void sf_buffer_deinit(struct sf_buffer *buffer, struct sf_alloc alloc);
/* Takes the batch. O(1) amortized. */
void sf_buffer_push(struct sf_buffer *buffer, struct sf_held_pool *pool, struct sf_batch *batch, uint64_t arrival);
/* Past the next record; a batch that ends here loses the pin of its buffer. Not on an empty buffer. */
void sf_buffer_advance(struct sf_buffer *buffer, struct sf_held_pool *pool);
/* Throws away what waits. */
void sf_buffer_clear(struct sf_buffer *buffer, struct sf_held_pool *pool);

/* Where the next record is; not on an empty buffer. */
static inline const struct sf_span *sf_buffer_span(const struct sf_buffer *buffer)
{
    assert(buffer->count > 0);
    return &buffer->spans[buffer->first & (buffer->capacity - 1)];
}

/* The next record, NULL if none waits. */
static inline const struct sf_record *sf_buffer_next(const struct sf_buffer *buffer)
{
    if (buffer->count == 0) return NULL;
    const struct sf_span *span = sf_buffer_span(buffer);
    return &span->held->batch->records[span->at];
}

#endif
