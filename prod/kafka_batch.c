/* Kafka adapter: batches in blocks, headers in the flat form. See kafka_batch.h. */
#include "prod/kafka_batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "prod/kafka_impl.h"

#define BLOCK_BYTES_MIN 65536u
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

static struct sf_slice slice_copy(uint8_t **at, const void *data, size_t len)
{
    if (data == NULL) return (struct sf_slice){NULL, 0};
    uint8_t *to = *at;
    memcpy(to, data, len);
    *at = to + len;
    return (struct sf_slice){to, (uint32_t)len};
}

static void record_copy(struct sf_record *record, const rd_kafka_message_t *message, uint8_t **at, bool has_headers)
{
    rd_kafka_timestamp_type_t type;
    record->ts_ms = rd_kafka_message_timestamp(message, &type);
    record->ts_kind = type == RD_KAFKA_TIMESTAMP_CREATE_TIME       ? SF_TS_CREATE
                      : type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME ? SF_TS_APPEND
                                                                   : SF_TS_NONE;
    record->offset = message->offset;
    record->key = slice_copy(at, message->key, message->key_len);
    record->value = slice_copy(at, message->payload, message->len);
    record->headers = (struct sf_slice){NULL, 0};
    if (!has_headers) return;
    size_t len = headers_flatten(message, *at);
    record->headers = (struct sf_slice){*at, (uint32_t)len};
    *at += len;
}

struct sf_batch *sfi_kafka_batch_new(struct sfi_kafka_pool *pool, rd_kafka_message_t *const *messages,
                                     uint32_t message_count, uint32_t record_count, bool has_headers)
{
    assert(record_count > 0 && record_count <= message_count);
    size_t bytes = 0;
    for (uint32_t i = 0; i < message_count; i++) {
        if (messages[i]->err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
        bytes += messages[i]->key_len + messages[i]->len;
        if (has_headers) bytes += headers_flatten(messages[i], NULL);
    }
    size_t array_bytes = record_count * sizeof(struct sf_record);
    struct sfi_kafka_block *block = block_take(pool, array_bytes + bytes + 1); /* + 1: an empty tail has an address */
    struct sf_record *records = (struct sf_record *)(block + 1);
    uint8_t *at = (uint8_t *)(records + record_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < message_count; i++)
        if (messages[i]->err == RD_KAFKA_RESP_ERR_NO_ERROR)
            record_copy(&records[count++], messages[i], &at, has_headers);
    assert(count == record_count && at <= (uint8_t *)(block + 1) + block->capacity);
    block->batch = (struct sf_batch){.count = count,
                                     .records = records,
                                     .next_offset = records[count - 1].offset + 1,
                                     .known_end = SF_OFFSET_UNKNOWN,
                                     .bytes = sizeof *block + block->capacity,
                                     .impl = block};
    return &block->batch;
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
