/*
 * Changelog rows: a row of a window store as one Kafka record, in Kafka Streams' window layout (K5), both ways.
 *
 *     key     record key | window start be64 | sequence be32 = 0
 *     value   event time be64 (F7) | the aggregate's fields as JSON        null: the row is gone
 *
 *     key "a", window 10, count 3 at time 12:
 *         61  00 00 00 00 00 00 00 0a  00 00 00 00      00 00 00 00 00 00 00 0c  {"n":3}
 *
 * Reading is strict: what is not exactly such a record is refused with a reason, and nothing has been changed. The
 * value layout has no version of its own; a store's format is fixed when its topic is made.
 *
 * Threading: pure functions.
 */
#ifndef SF_CORE_STATE_CHANGELOG_H
#define SF_CORE_STATE_CHANGELOG_H

#include "core/io/kafka.h"
#include "core/ops/aggregate.h"

#define SF_ROW_KEY_TAIL_BYTES 12u

/* What a row key says; `record_key` points into it. */
struct sf_row_key {
    struct sf_slice record_key; /* data never NULL */
    int64_t start;
};

/* Where a key of `key_len` bytes must have room for key_len + SF_ROW_KEY_TAIL_BYTES. Returns the bytes written. */
uint32_t sf_row_key_write(uint8_t *out, const uint8_t *record_key, uint32_t key_len, int64_t start);
/* SF_E_CORRUPT with `reason_out` where it is no row key of a window of `size_ms`. */
enum sf_status sf_row_key_read(struct sf_slice key, int64_t size_ms, struct sf_row_key *out, const char **reason_out);

/* A value that is not null (core/ops/aggregate.h: sf_row_encode). SF_E_CORRUPT: `accs` may have been written to. */
enum sf_status sf_row_value_read(struct sf_slice value, const struct sf_aggregates *aggregates, int64_t *ts_ms_out,
                                 struct sf_acc *accs, const char **reason_out);

#endif
