/*
 * Local batch: one batch of the local writer, from the first row that is put to the write that has come back.
 *
 *     windows, by (store, start):  entries in the order in which they were put
 *     make:  per window, spread the entries over the key groups; per group, what stands before the last clear falls
 *            away, sort by key, the last entry of a key wins  ->  ops of the store, in key order
 *
 * Threading: the writer's owner.
 */
#ifndef SF_CORE_STATE_LOCAL_BATCH_H
#define SF_CORE_STATE_LOCAL_BATCH_H

#include "core/hash.h"
#include "core/io/store.h"
#include "core/mem.h"

#define SFI_LOCAL_CHUNK_BYTES 65536u
#define SFI_ENTRY_DELETE UINT32_MAX
#define SFI_ENTRY_CLEAR (UINT32_MAX - 1)

/* The local key, then the value. */
struct sfi_local_entry {
    const uint8_t *bytes;
    uint32_t key_len;
    uint32_t value_len; /* or SFI_ENTRY_... */
};

struct sfi_local_window {
    uint32_t store;
    int64_t start;
    struct sfi_local_entry *entries;
    uint32_t count;
    uint32_t capacity;
};

struct sfi_local_chunk {
    struct sfi_local_chunk *next;
    size_t bytes; /* of the whole allocation */
    size_t used;
    uint8_t data[];
};

struct sfi_local_batch {
    struct sf_alloc alloc;
    struct sfi_local_chunk *chunks;
    struct sfi_local_window *windows;
    uint32_t window_count;
    uint32_t window_capacity;
    uint32_t window_last; /* of the last put */
    uint64_t bytes;       /* rows and entries: what counts against the writer's bound */
    uint64_t entry_count;

    /* making */
    uint32_t window_at;
    uint32_t group_at; /* SF_KEY_GROUPS: the window has yet to be spread */
    bool is_put;       /* a row of the window at hand was put */
    uint32_t group_from[SF_KEY_GROUPS + 1];
    struct sfi_local_entry *spread;  /* of one window, by group */
    struct sfi_local_entry *scratch;
    uint32_t scratch_capacity;
    struct sf_store_op *ops;
    uint32_t op_count;
    uint32_t op_capacity;

    uint64_t tag;    /* the writer's caller's */
    uint64_t serial; /* of its write */
};

void sfi_local_batch_init(struct sfi_local_batch *batch, struct sf_alloc alloc);
void sfi_local_batch_deinit(struct sfi_local_batch *batch);

/* Bytes that live as long as the batch. */
uint8_t *sfi_local_batch_take(struct sfi_local_batch *batch, size_t bytes);
/* An entry at the end of its window; `bytes` are of the batch. */
void sfi_local_batch_put(struct sfi_local_batch *batch, uint32_t store, int64_t start, struct sfi_local_entry entry);
void sfi_local_batch_op(struct sfi_local_batch *batch, struct sf_store_op op);

/* Make at most `budget` groups into ops; windows that start behind `written_max[store]` cannot be in the store, and
 * those numbers rise with what is written. True: all is made. */
bool sfi_local_batch_make(struct sfi_local_batch *batch, int64_t *written_max, uint32_t budget, uint32_t *used_out);

#endif
