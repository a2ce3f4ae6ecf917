/*
 * Packed changelog records: many rows of one *unit* (a window start and a key group) in one record (K5), with the
 * broker's compaction still doing the deleting.
 *
 *     key     version u8 = 1 | kind u8 | window start be64 | key group be16 | slot be32             16 bytes
 *     value   format u8 = 1 | 3 zero bytes | schema be32 | epoch be64 | count be32 | check be64     28 bytes
 *             count x { varint key length, key, varint value length, value }
 *
 *     kind 0  entries: the rows of the unit that an epoch has changed, in its next slot
 *     kind 1  image: all rows of the unit, in parts that are numbered from 0
 *     null    kind 0, kind 1 behind part 0: the slot is covered by an image. kind 1, part 0: the unit is gone
 *
 * Restore applies records in offset order; the null of part 0 empties the unit. Rows of a unit go together or not at
 * all, so an image, which holds all of them, has nothing to empty: where a log ends within an image, the rows of the
 * missing parts are still those of before. Compaction removes only what a later record of the same key replaces, so
 * whatever it has removed already, the result is the same:
 *
 *     slot 0 {a:1 b:1}  slot 1 {a:2}  image 0 {a:3 b:1}  slot 0 null  slot 1 null  slot 2 {b:2}       -> a:3 b:2
 *     any of the first two and of the nulls may be missing
 *
 * A unit that goes is written as nulls of its slots, then of its image's later parts, then of part 0. This order
 * matters: a cleaner works from the start of the log, so while anything of the unit is left, the last null is too.
 *
 * A row's value: varint zigzag(event time - window start), then per accumulator its kind u8 and: INT a zigzag varint,
 * DOUBLE be64, NONE nothing. `check` is a hash of the key, of the head before it, and of the entries.
 *
 * Threading: pure functions.
 */
#ifndef SF_CORE_STATE_PACKED_H
#define SF_CORE_STATE_PACKED_H

#include "core/io/kafka.h"
#include "core/ops/aggregate.h"

#define SF_PACKED_KEY_BYTES 16u
#define SF_PACKED_HEAD_BYTES 28u
#define SF_PACKED_VALUE_BYTES_MAX (10u + 11u * SF_AGGREGATES_MAX) /* of a row */

enum sf_packed_kind { SF_PACKED_ENTRIES, SF_PACKED_IMAGE };

struct sf_packed_key {
    enum sf_packed_kind kind;
    int64_t start;
    uint32_t group;
    uint32_t slot;
};

void sf_packed_key_write(uint8_t out[SF_PACKED_KEY_BYTES], const struct sf_packed_key *key);
enum sf_status sf_packed_key_read(struct sf_slice key, struct sf_packed_key *out, const char **reason_out);

/* What gives the values their meaning: names, kinds and inputs of the fields. */
uint32_t sf_packed_schema(const struct sf_aggregate_spec *specs, uint32_t count);

/* --- a row's value */

/* Into SF_PACKED_VALUE_BYTES_MAX bytes; how many. */
uint32_t sf_packed_value_write(uint8_t *out, int64_t start, int64_t ts_ms, const struct sf_acc *accs, uint32_t count);
/* SF_E_CORRUPT: `accs` may have been written to. */
enum sf_status sf_packed_value_read(struct sf_slice value, int64_t start, int64_t *ts_ms_out, struct sf_acc *accs,
                                    uint32_t count, const char **reason_out);

/* --- making a record's value */

struct sf_packed_builder {
    uint8_t *data;
    uint32_t capacity;
    uint32_t used;
    uint32_t count;
};

void sf_packed_begin(struct sf_packed_builder *builder, uint8_t *data, uint32_t capacity);
/* False: no room. */
bool sf_packed_add(struct sf_packed_builder *builder, struct sf_slice record_key, struct sf_slice value);
struct sf_slice sf_packed_end(struct sf_packed_builder *builder, const uint8_t key[SF_PACKED_KEY_BYTES],
                              uint32_t schema, uint64_t epoch);
/* The capacity that one entry of these lengths needs at most. */
uint32_t sf_packed_room(uint32_t key_len, uint32_t value_len);

/* --- reading it */

struct sf_packed_reader {
    const uint8_t *at;
    const uint8_t *end;
    uint32_t left;
    uint32_t schema;
    uint64_t epoch;
};

/* A value that is not null. Checks head and hash. */
enum sf_status sf_packed_open(struct sf_packed_reader *reader, struct sf_slice key, struct sf_slice value,
                              const char **reason_out);
/* The same without a check, of a value that one has been made of. */
void sf_packed_resume(struct sf_packed_reader *reader, struct sf_slice value);
/* SF_OK with the next entry, SF_END, SF_E_CORRUPT. */
enum sf_status sf_packed_next(struct sf_packed_reader *reader, struct sf_slice *record_key_out,
                              struct sf_slice *value_out, const char **reason_out);

#endif
