/*
 * Batches: records of one partition, copied out of the library's messages into one block as they come.
 *
 *     block = [ header | struct sf_record × count → …      … ← headers value key | headers value key ]
 *
 * The records' array grows from the front and their bytes from the back, so that nobody has to know beforehand how
 * many of what size there will be. The library's messages are destroyed right after (each pins about 450 bytes and a
 * share of its fetch buffer). Blocks are kept and used again: in a steady state nothing is allocated, and never per
 * record.
 *
 * Owned by one consumer; used by its task alone.
 */
#ifndef SF_PROD_KAFKA_BATCH_H
#define SF_PROD_KAFKA_BATCH_H

#include <librdkafka/rdkafka.h>

#include "core/io/kafka.h"

#define SFI_KAFKA_SPARES_MAX 256u /* free blocks kept */

struct sfi_kafka_block {
    struct sf_batch batch; /* first: a batch is its block */
    struct sfi_kafka_block *prev, *next; /* in `live` or `spare` (next alone) */
    struct sfi_kafka_block *behind;      /* the owner's, while it keeps the batch for later */
    uint8_t *back; /* the bytes of records begin here */
    size_t capacity; /* bytes behind this header */
};

struct sfi_kafka_pool {
    struct sfi_kafka_block *live;
    struct sfi_kafka_block *spare;
    uint32_t spare_count;
};

/* The block that `message`, one without an error, was copied to as its next record: `block` (may be NULL) where that
 * has room and fewer than `records_max`, else a new live one, with nothing but that record. count, next_offset (the
 * record's + 1) and bytes are set. Does not destroy the message. */
struct sfi_kafka_block *sfi_kafka_batch_add(struct sfi_kafka_pool *pool, struct sfi_kafka_block *block,
                                            const rd_kafka_message_t *message, uint32_t records_max,
                                            bool has_headers);
void sfi_kafka_batch_release(struct sfi_kafka_pool *pool, struct sf_batch *batch);
/* Frees all, live ones too. */
void sfi_kafka_pool_deinit(struct sfi_kafka_pool *pool);

/* The flat form of core/io/kafka.h to the library's, NULL when the bytes are not well-formed. */
rd_kafka_headers_t *sfi_kafka_headers_new(struct sf_slice flat);

#endif
