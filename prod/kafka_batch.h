/*
 * Batches: what one poll took from one partition, copied out of the library's messages into one block.
 *
 *     block = [ header | struct sf_record × count | key value headers key value headers … ]
 *
 * The library's messages are destroyed on the polling thread at once (each pins about 450 bytes and a share of its
 * fetch buffer). Blocks are kept and used again: in a steady state nothing is allocated, and never per record.
 *
 * Owned by one consumer; used by its task alone.
 */
#ifndef SF_PROD_KAFKA_BATCH_H
#define SF_PROD_KAFKA_BATCH_H

#include <librdkafka/rdkafka.h>

#include "core/io/kafka.h"

#define SFI_KAFKA_SPARES_MAX 64u /* free blocks kept */

struct sfi_kafka_block {
    struct sf_batch batch; /* first: a batch is its block */
    struct sfi_kafka_block *prev, *next; /* in `live` or `spare` (next alone) */
    size_t capacity; /* bytes behind this header */
};

struct sfi_kafka_pool {
    struct sfi_kafka_block *live;
    struct sfi_kafka_block *spare;
    uint32_t spare_count;
};

/* The records among `messages` (those without an error), at least one, all of one partition, as a live batch with
 * records, count, next_offset (last + 1) and bytes set. Destroys no message. */
struct sf_batch *sfi_kafka_batch_new(struct sfi_kafka_pool *pool, rd_kafka_message_t *const *messages,
                                     uint32_t message_count, uint32_t record_count, bool has_headers);
void sfi_kafka_batch_release(struct sfi_kafka_pool *pool, struct sf_batch *batch);
/* Frees all, live ones too. */
void sfi_kafka_pool_deinit(struct sfi_kafka_pool *pool);

/* The flat form of core/io/kafka.h to the library's, NULL when the bytes are not well-formed. */
rd_kafka_headers_t *sfi_kafka_headers_new(struct sf_slice flat);

#endif
