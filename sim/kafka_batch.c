/* Batches handed out: views into pinned chunks, pooled by their consumer. */
#include "sim/kafka_consumer.h"

uint64_t sfi_records_bytes(const struct sfi_chunk *chunk, uint32_t first, uint32_t count)
{
    if (count == chunk->count) return chunk->byte_count + (uint64_t)count * sizeof(struct sf_record);
    uint64_t bytes = (uint64_t)count * sizeof(struct sf_record);
    for (uint32_t i = first; i < first + count; i++) {
        const struct sf_record *record = &chunk->records[i];
        bytes += (uint64_t)record->key.len + record->value.len + record->headers.len;
    }
    return bytes;
}

struct sfi_batch *sfi_batch_get(struct sfi_consumer *consumer, struct sfi_chunk *chunk, uint32_t first, uint32_t count)
{
    struct sf_alloc alloc = consumer->client.broker->alloc;
    struct sfi_batch *batch = consumer->batches_free;
    if (batch != NULL)
        consumer->batches_free = batch->next;
    else
        batch = sf_malloc(alloc, sizeof *batch);
    *batch = (struct sfi_batch){.next = consumer->batches, .chunk = sfi_chunk_pin(chunk)};
    if (consumer->batches != NULL) consumer->batches->prev = batch;
    consumer->batches = batch;
    batch->pub.count = count;
    batch->pub.records = &chunk->records[first];
    batch->pub.bytes = sfi_records_bytes(chunk, first, count);
    batch->pub.impl = batch;
    if (chunk->has_headers && !consumer->has_headers) {
        batch->copies = sf_malloc(alloc, count * sizeof *batch->copies);
        memcpy(batch->copies, batch->pub.records, count * sizeof *batch->copies);
        for (uint32_t i = 0; i < count; i++) batch->copies[i].headers = (struct sf_slice){0};
        batch->pub.records = batch->copies;
    }
    return batch;
}

static void batch_clear(struct sfi_consumer *consumer, struct sfi_batch *batch)
{
    struct sf_alloc alloc = consumer->client.broker->alloc;
    sf_free(alloc, batch->copies, batch->pub.count * sizeof *batch->copies);
    sfi_chunk_unpin(alloc, batch->chunk);
}

void sfi_batch_put(struct sfi_consumer *consumer, struct sfi_batch *batch)
{
    batch_clear(consumer, batch);
    if (batch->prev != NULL)
        batch->prev->next = batch->next;
    else
        consumer->batches = batch->next;
    if (batch->next != NULL) batch->next->prev = batch->prev;
    batch->next = consumer->batches_free;
    consumer->batches_free = batch;
}

void sfi_batches_free(struct sfi_consumer *consumer)
{
    struct sf_alloc alloc = consumer->client.broker->alloc;
    while (consumer->batches != NULL) sfi_batch_put(consumer, consumer->batches);
    while (consumer->batches_free != NULL) {
        struct sfi_batch *next = consumer->batches_free->next;
        sf_free(alloc, consumer->batches_free, sizeof *consumer->batches_free);
        consumer->batches_free = next;
    }
}
