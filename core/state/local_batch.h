/*
 * Local batch: one batch of the local writer, from the first row that is put to the write that has come back.
 *
 *     windows, by (store, start):  entries in the order in which they were put: rows, deletes, clears of a key group,
 *                                  and records of the packed changelog as they are
 *     make:  per window, spread the entries over the key groups; per group, what stands before the last clear falls
 *            away, packed records are unpacked into rows and a trace, sort by key, the last entry of a key wins
 *            ->  ops of the store, in key order
 *
 * A window whose last row is cleared, and that cannot be in the store, goes at once: a window that lives shorter than
 * the time between two batches costs the copy of its packed records and nothing else.
 *
 * Threading: the writer's owner.
 */
#ifndef SF_CORE_STATE_LOCAL_BATCH_H
#define SF_CORE_STATE_LOCAL_BATCH_H

#include "core/hash.h"
#include "core/io/store.h"
#include "core/mem.h"

#define SFI_LOCAL_CHUNK_BYTES_MIN 1024u /* the first; they double */
#define SFI_LOCAL_CHUNK_BYTES 65536u

enum sfi_entry_kind {
    SFI_ENTRY_PUT,
    SFI_ENTRY_DELETE,
    SFI_ENTRY_CLEAR, /* of the key group: what its keys begin with */
    SFI_ENTRY_PACKED /* key of its trace, then a packed record's value */
};

#define SFI_ENTRY_KEY_LEN_MAX 0x3fffffffu

/* The local key, then the value. */
struct sfi_local_entry {
    const uint8_t *bytes;
    uint32_t key_len : 30;
    uint32_t kind : 2; /* enum sfi_entry_kind */
    uint32_t value_len;
};

struct sfi_local_window {
    uint32_t store;
    int64_t start;
    struct sfi_local_entry *entries;
    uint32_t count;
    uint32_t capacity;
    struct sfi_local_chunk *chunks;
    uint64_t live[SF_KEY_GROUPS / 64]; /* bit per key group: something was put since it was cleared */
};

struct sfi_local_chunk {
    struct sfi_local_chunk *next;
    size_t bytes; /* of the whole allocation */
    size_t used;
    uint8_t data[];
};

struct sfi_local_batch {
    struct sf_alloc alloc;
    struct sfi_local_chunk *chunks; /* of ops; entries' are the windows' */
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
    struct sfi_local_entry *spread; /* of one window, by group */
    uint32_t spread_capacity;
    struct sfi_local_entry *rows;   /* of one group, unpacked */
    uint32_t row_count;
    uint32_t row_capacity;
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
/* Bytes that the caller fills with a local key and a value of these lengths: the last entry of its window. */
uint8_t *sfi_local_batch_put(struct sfi_local_batch *batch, uint32_t store, int64_t start, uint32_t group,
                             struct sfi_local_entry entry);
/* The same for a clear. `can_go`: the window cannot be in the store; where this leaves nothing of it, NULL is returned
 * and it is gone. */
uint8_t *sfi_local_batch_clear(struct sfi_local_batch *batch, uint32_t store, int64_t start, uint32_t group,
                               bool can_go);
void sfi_local_batch_op(struct sfi_local_batch *batch, struct sf_store_op op);

/* Make at most `budget` groups into ops; windows that start behind `written_max[store]` cannot be in the store, and
 * those numbers rise with what is written. True: all is made. */
bool sfi_local_batch_make(struct sfi_local_batch *batch, int64_t *written_max, uint32_t budget, uint32_t *used_out);

#endif
