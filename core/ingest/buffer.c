#include "core/ingest/buffer.h"

#define CHUNK_ITEMS 64u

struct sf_held_chunk {
    struct sf_held_chunk *next;
    struct sf_held items[CHUNK_ITEMS];
};

void sf_held_pool_init(struct sf_held_pool *pool, struct sf_alloc alloc, struct sf_consumer consumer)
{
    *pool = (struct sf_held_pool){.alloc = alloc, .consumer = consumer};
}

void sf_held_pool_deinit(struct sf_held_pool *pool)
{
    while (pool->chunks != NULL) {
        struct sf_held_chunk *chunk = pool->chunks;
        pool->chunks = chunk->next;
        sf_free(pool->alloc, chunk, sizeof *chunk);
    }
    pool->free = NULL;
}

static struct sf_held *take(struct sf_held_pool *pool, struct sf_batch *batch)
{
    if (pool->free == NULL) {
        struct sf_held_chunk *chunk = sf_malloc(pool->alloc, sizeof *chunk);
        chunk->next = pool->chunks;
        pool->chunks = chunk;
        for (uint32_t i = 0; i < CHUNK_ITEMS; i++) {
            chunk->items[i].next = pool->free;
            pool->free = &chunk->items[i];
        }
    }
    struct sf_held *held = pool->free;
    pool->free = held->next;
    *held = (struct sf_held){.batch = batch, .pins = 1};
    pool->held_count++;
    pool->held_bytes += batch->bytes;
    return held;
}

void sf_held_unpin(struct sf_held_pool *pool, struct sf_held *held)
{
    assert(held->pins > 0);
    held->pins--;
    if (held->pins > 0) return;
    pool->held_count--;
    pool->held_bytes -= held->batch->bytes;
    sf_consumer_release(pool->consumer, held->batch);
    held->batch = NULL;
    held->next = pool->free;
    pool->free = held;
}

void sf_buffer_deinit(struct sf_buffer *buffer, struct sf_alloc alloc)
{
    if (buffer->spans != NULL) sf_cfree(alloc, buffer->spans, buffer->capacity, sizeof *buffer->spans);
    *buffer = (struct sf_buffer){0};
}

static void grow(struct sf_buffer *buffer, struct sf_alloc alloc)
{
    uint32_t capacity = buffer->capacity == 0 ? 4 : buffer->capacity * 2;
    struct sf_span *spans = sf_calloc(alloc, capacity, sizeof *spans);
    for (uint32_t i = 0; i < buffer->count; i++)
        spans[i] = buffer->spans[(buffer->first + i) & (buffer->capacity - 1)];
    if (buffer->spans != NULL) sf_cfree(alloc, buffer->spans, buffer->capacity, sizeof *spans);
    buffer->spans = spans;
    buffer->first = 0;
    buffer->capacity = capacity;
}

void sf_buffer_push(struct sf_buffer *buffer, struct sf_held_pool *pool, struct sf_batch *batch, uint64_t arrival)
{
    assert(batch->count > 0);
    if (buffer->count == buffer->capacity) grow(buffer, pool->alloc);
    buffer->spans[(buffer->first + buffer->count) & (buffer->capacity - 1)] =
        (struct sf_span){.held = take(pool, batch), .arrival = arrival};
    buffer->count++;
    buffer->waiting += batch->count;
}

static void drop_first(struct sf_buffer *buffer, struct sf_held_pool *pool)
{
    sf_held_unpin(pool, sf_buffer_span(buffer)->held);
    buffer->first = (buffer->first + 1) & (buffer->capacity - 1);
    buffer->count--;
}

void sf_buffer_advance(struct sf_buffer *buffer, struct sf_held_pool *pool)
{
    struct sf_span *span = &buffer->spans[buffer->first & (buffer->capacity - 1)];
    assert(buffer->count > 0 && buffer->waiting > 0);
    span->at++;
    buffer->waiting--;
    if (span->at == span->held->batch->count) drop_first(buffer, pool);
}

void sf_buffer_clear(struct sf_buffer *buffer, struct sf_held_pool *pool)
{
    while (buffer->count > 0) drop_first(buffer, pool);
    buffer->waiting = 0;
}
