#include "sim/kafka_chunk.h"

#define CHUNK_RECORDS_MAX 512u
#define CHUNK_BYTES_MAX (64u * 1024u)

static size_t chunk_bytes(uint32_t record_cap, uint32_t byte_cap)
{
    return sizeof(struct sfi_chunk) + record_cap * sizeof(struct sf_record) + byte_cap;
}

struct sfi_chunk *sfi_chunk_new(struct sf_alloc alloc, uint32_t record_cap, uint32_t byte_cap)
{
    struct sfi_chunk *chunk = sf_malloc(alloc, chunk_bytes(record_cap, byte_cap));
    *chunk = (struct sfi_chunk){
        .pins = 1, .record_cap = record_cap, .byte_cap = byte_cap, .ts_max_ms = INT64_MIN,
        .bytes = (uint8_t *)(chunk->records + record_cap)};
    return chunk;
}

void sfi_chunk_unpin(struct sf_alloc alloc, struct sfi_chunk *chunk)
{
    assert(chunk->pins > 0);
    if (--chunk->pins > 0) return;
    sfi_txn_unref(alloc, chunk->txn);
    sf_free(alloc, chunk, chunk_bytes(chunk->record_cap, chunk->byte_cap));
}

static struct sf_slice copy_slice(struct sfi_chunk *chunk, struct sf_slice slice)
{
    if (slice.data == NULL) return slice;
    uint8_t *to = chunk->bytes + chunk->byte_count;
    if (slice.len > 0) memcpy(to, slice.data, slice.len);
    chunk->byte_count += slice.len;
    return (struct sf_slice){.data = to, .len = slice.len};
}

bool sfi_chunk_add(struct sfi_chunk *chunk, const struct sf_out *out)
{
    if (chunk->count == chunk->record_cap || sfi_out_bytes(out) > chunk->byte_cap - chunk->byte_count) return false;
    struct sf_record *record = &chunk->records[chunk->count++];
    *record = (struct sf_record){.ts_ms = out->ts_ms, .ts_kind = out->ts_ms == -1 ? SF_TS_NONE : SF_TS_CREATE};
    record->key = copy_slice(chunk, out->key);
    record->value = copy_slice(chunk, out->value);
    record->headers = copy_slice(chunk, out->headers);
    if (out->headers.data != NULL) chunk->has_headers = true;
    if (record->ts_kind != SF_TS_NONE && record->ts_ms > chunk->ts_max_ms) chunk->ts_max_ms = record->ts_ms;
    return true;
}

static uint32_t clamp_size(uint64_t size, uint32_t least, uint32_t most)
{
    if (size > most) size = most;
    return size < least ? least : (uint32_t)size;
}

struct sfi_chunk *sfi_chunk_new_for(struct sf_alloc alloc, const struct sfi_chunk *last, uint32_t record_min,
                                    const struct sf_out *records, uint32_t count)
{
    assert(count > 0);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count && i < CHUNK_RECORDS_MAX; i++) bytes += sfi_out_bytes(&records[i]);
    uint64_t record_cap = count > record_min ? count : record_min;
    uint64_t byte_cap = bytes / (count < CHUNK_RECORDS_MAX ? count : CHUNK_RECORDS_MAX) * record_cap;
    if (byte_cap < bytes) byte_cap = bytes;
    if (last != NULL && record_cap < 2 * (uint64_t)last->record_cap) record_cap = 2 * (uint64_t)last->record_cap;
    if (last != NULL && byte_cap < 2 * (uint64_t)last->byte_cap) byte_cap = 2 * (uint64_t)last->byte_cap;
    uint64_t first_bytes = sfi_out_bytes(&records[0]);
    assert(first_bytes <= UINT32_MAX);
    uint32_t most = first_bytes > CHUNK_BYTES_MAX ? (uint32_t)first_bytes : CHUNK_BYTES_MAX;
    return sfi_chunk_new(alloc, clamp_size(record_cap, 1, CHUNK_RECORDS_MAX),
                         clamp_size(byte_cap, (uint32_t)first_bytes, most));
}

void sfi_txn_ref(struct sfi_txn *txn)
{
    txn->refs++;
}

void sfi_txn_unref(struct sf_alloc alloc, struct sfi_txn *txn)
{
    if (txn == NULL || --txn->refs > 0) return;
    sf_free(alloc, txn, sizeof *txn);
}
