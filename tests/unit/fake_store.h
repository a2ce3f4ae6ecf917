/*
 * A store for unit tests: a sorted array, a list of the batches it was given, and switches. Writes are applied when the
 * test says so, or at once; a crash keeps a prefix of the applied batches.
 *
 * Threading: one.
 */
#ifndef SF_TESTS_UNIT_FAKE_STORE_H
#define SF_TESTS_UNIT_FAKE_STORE_H

#include "core/io/store.h"

struct fake_row {
    uint8_t *key;
    uint32_t key_len;
    uint8_t *value;
    uint32_t value_len;
};

struct fake_op {
    enum sf_store_op_kind kind;
    struct fake_row row; /* DELETE_RANGE: value is the end */
};

struct fake_batch {
    struct fake_op *ops;
    uint32_t count;
};

#define FAKE_EVENTS_MAX 64u
#define FAKE_BATCHES_MAX 256u

struct fake_store {
    struct fake_row *rows;
    uint32_t row_count;
    uint32_t row_capacity;
    struct fake_batch batches[FAKE_BATCHES_MAX];
    uint32_t batch_count;
    struct sf_store_event events[FAKE_EVENTS_MAX]; /* not yet told */
    uint32_t event_count;
    uint32_t told_max; /* how many of them poll may tell now; UINT32_MAX: all */
    uint32_t open_iters;
    uint32_t sync_count;
    enum sf_status write_status; /* of the writes to come */
    enum sf_status read_status;
};

void fake_store_init(struct fake_store *fake);
void fake_store_deinit(struct fake_store *fake);
struct sf_store fake_store(struct fake_store *fake);
/* As if only the first `kept` batches had ever been applied. */
void fake_store_crash(struct fake_store *fake, uint32_t kept);

#endif
