/* Kafka adapter: batches in blocks, headers in the flat form. See kafka_batch.h. */
#include "prod/kafka_batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "prod/kafka_impl.h"

#define BLOCK_BYTES_MIN 32768u
#define SPARES_LOOKED_AT 8u

/* ------------------------------------------------------------------ headers */

static void put_le(uint8_t *at, uint32_t value, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get_le(const uint8_t *at, uint32_t bytes)
{
    uint32_t value = 0;
    for (uint32_t i = 0; i < bytes; i++) value |= (uint32_t)at[i] << (8 * i);
    return value;
}

/* Bytes of the flat form of `message`'s headers; written to `out` unless it is NULL. */
static size_t headers_flatten(const rd_kafka_message_t *message, uint8_t *out)
{
    rd_kafka_headers_t *headers;
    if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return 0;
    size_t used = 0;
    const char *name;
    const void *value;
    size_t value_len;
    for (size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &value_len) == RD_KAFKA_RESP_ERR_NO_ERROR;
         i++) {
        size_t name_len = strlen(name);
        if (name_len > UINT16_MAX) name_len = UINT16_MAX;
        if (out != NULL) {
            put_le(out + used, (uint32_t)name_len, 2);
            memcpy(out + used + 2, name, name_len);
            put_le(out + used + 2 + name_len, value != NULL ? (uint32_t)value_len : UINT32_MAX, 4);
            if (value != NULL) memcpy(out + used + 6 + name_len, value, value_len);
        }
        used += 6 + name_len + (value != NULL ? value_len : 0);
    }
    return used;
}

rd_kafka_headers_t *sfi_kafka_headers_new(struct sf_slice flat)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(8);
    const uint8_t *at = flat.data;
    size_t left = flat.len;
    bool is_good = true;
    while (left > 0 && is_good) {
        size_t name_len = left >= 6 ? get_le(at, 2) : left;
        is_good = left >= 6 && left - 6 >= name_len;
        if (!is_good) break;
        const uint8_t *name = at + 2;
        uint32_t value_len = get_le(name + name_len, 4);
        const uint8_t *value = name + name_len + 4;
        at += 6 + name_len;
        left -= 6 + name_len;
        bool is_null = value_len == UINT32_MAX;
        if (is_null) value_len = 0;
        is_good = left >= value_len;
        if (!is_good) break;
        (void)rd_kafka_header_add(headers, (const char *)name, (ssize_t)name_len, is_null ? NULL : value,
                                  (ssize_t)value_len);
        at += value_len;
        left -= value_len;
    }
    if (is_good) return headers;
    rd_kafka_headers_destroy(headers);
    return NULL;
}

/* ------------------------------------------------------------------ blocks */

static struct sfi_kafka_block *block_take(struct sfi_kafka_pool *pool, size_t capacity)
{
    struct sfi_kafka_block **at = &pool->spare, *block;
    for (uint32_t i = 0; i < SPARES_LOOKED_AT && *at != NULL && (*at)->capacity < capacity; i++) at = &(*at)->next;
    if (*at != NULL && (*at)->capacity >= capacity) {
        block = *at;
        *at = block->next;
        pool->spare_count--;
    } else {
        size_t rounded = BLOCK_BYTES_MIN;
        while (rounded < capacity) rounded *= 2;
        block = sfi_kafka_grow(NULL, sizeof *block + rounded);
        block->capacity = rounded;
    }
    block->prev = NULL;
    block->next = pool->live;
    if (block->next != NULL) block->next->prev = block;
    pool->live = block;
    return block;
}

static struct sf_slice slice_copy(uint8_t **back, const void *data, size_t len)
{
    if (data == NULL) return (struct sf_slice){NULL, 0};
    *back -= len;
    memcpy(*back, data, len);
    return (struct sf_slice){*back, (uint32_t)len};
}

static void record_copy(struct sf_record *record, const rd_kafka_message_t *message, size_t headers_len,
                        bool has_headers, uint8_t **back)
{
    rd_kafka_timestamp_type_t type;
    record->ts_ms = rd_kafka_message_timestamp(message, &type);
    record->ts_kind = type == RD_KAFKA_TIMESTAMP_CREATE_TIME       ? SF_TS_CREATE
                      : type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME ? SF_TS_APPEND
                                                                   : SF_TS_NONE;
    record->offset = message->offset;
    record->key = slice_copy(back, message->key, message->key_len);
    record->value = slice_copy(back, message->payload, message->len);
    record->headers = (struct sf_slice){NULL, 0};
    if (!has_headers) return;
    *back -= headers_len;
    (void)headers_flatten(message, *back);
    record->headers = (struct sf_slice){*back, (uint32_t)headers_len};
}

static struct sfi_kafka_block *block_begin(struct sfi_kafka_pool *pool, size_t bytes)
{
    struct sfi_kafka_block *block = block_take(pool, bytes);
    block->batch = (struct sf_batch){.records = (struct sf_record *)(block + 1),
                                     .known_end = SF_OFFSET_UNKNOWN,
                                     .bytes = sizeof *block + block->capacity,
                                     .impl = block};
    block->behind = NULL;
    block->back = (uint8_t *)(block + 1) + block->capacity - 1; /* - 1: an empty tail has an address of its own */
    return block;
}

struct sfi_kafka_block *sfi_kafka_batch_add(struct sfi_kafka_pool *pool, struct sfi_kafka_block *block,
                                            const rd_kafka_message_t *message, uint32_t records_max,
                                            bool has_headers)
{
    assert(message->err == RD_KAFKA_RESP_ERR_NO_ERROR);
    size_t headers_len = has_headers ? headers_flatten(message, NULL) : 0;
    size_t bytes = sizeof(struct sf_record) + message->key_len + message->len + headers_len;
    bool is_full = block == NULL || block->batch.count == records_max ||
                   (size_t)(block->back - (uint8_t *)((struct sf_record *)(block + 1) + block->batch.count)) < bytes;
    if (is_full) block = block_begin(pool, bytes + 1);
    struct sf_record *record = (struct sf_record *)(block + 1) + block->batch.count;
    record_copy(record, message, headers_len, has_headers, &block->back);
    block->batch.count++;
    block->batch.next_offset = record->offset + 1;
    assert((uint8_t *)(record + 1) <= block->back);
    return block;
}

void sfi_kafka_batch_release(struct sfi_kafka_pool *pool, struct sf_batch *batch)
{
    struct sfi_kafka_block *block = batch->impl;
    assert(&block->batch == batch);
    if (block->next != NULL) block->next->prev = block->prev;
    if (block->prev != NULL) block->prev->next = block->next;
    else pool->live = block->next;
    if (pool->spare_count == SFI_KAFKA_SPARES_MAX) { /* the newest spare has to go: small ones must not fill the list */
        struct sfi_kafka_block *old = pool->spare;
        pool->spare = old->next;
        pool->spare_count--;
        free(old);
    }
    block->next = pool->spare;
    pool->spare = block;
    pool->spare_count++;
}

static void list_free(struct sfi_kafka_block *block)
{
    while (block != NULL) {
        struct sfi_kafka_block *next = block->next;
        free(block);
        block = next;
    }
}

void sfi_kafka_pool_deinit(struct sfi_kafka_pool *pool)
{
    list_free(pool->live);
    list_free(pool->spare);
    *pool = (struct sfi_kafka_pool){0};
}
