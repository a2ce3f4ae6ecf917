/*
 * Pane: the rows of one window start, as one lane holds them: dense rows in order of creation, and an index by hash.
 *
 *     index   [tag|2] [  -  ] [tag|1] [  -  ] ...      open addressing, 8 bytes a place, at most half full
 *     rows    row 0, row 1 | row 2 ... row 31 | ...    pieces of 16, 32, 64, ... rows that never move
 *     far     key bytes longer than a row holds        pieces that double
 *
 * A row is found with one probe: the tag (the upper half of the hash) is compared in the index, the whole hash and the
 * key's bytes in the row. Rows are taken away only from the end (undo) or, while nothing is to be undone, by moving the
 * last one into the hole (a tombstone at restore).
 *
 * Threading: one owner. All memory is the pools'.
 */
#ifndef SF_CORE_STATE_PANE_H
#define SF_CORE_STATE_PANE_H

#include <stdbool.h>

#include "core/hash.h"
#include "core/state/pool.h"

#define SFI_ROW_KEY_BYTES 24u        /* longer keys are kept apart */
#define SFI_PANE_FIRST_ROWS 16u
#define SFI_PANE_ROWS_MAX (1u << 30)
#define SFI_FAR_BASE_BYTES 256u
#define SFI_INDEX_BASE_BYTES (SFI_PANE_FIRST_ROWS * 2 * sizeof(struct sfi_place))

/* Followed by the accumulators. */
struct sfi_row {
    uint64_t hash;
    int64_t ts_ms;
    uint32_t key_len;
    uint32_t mark; /* of the epoch that touched it last; 0: none that is open */
    union {
        uint8_t near[SFI_ROW_KEY_BYTES];
        const uint8_t *far;
    } key;
};

struct sfi_place {
    uint32_t tag;
    uint32_t row; /* number + 1; 0: free */
};

/* Key bytes that rows do not hold. */
struct sfi_far {
    struct sfi_far *older;
    uint32_t class;
    size_t capacity;
    size_t used;
    uint8_t data[];
};

struct sfi_pools {
    struct sfi_pool rows;  /* base: SFI_PANE_FIRST_ROWS rows */
    struct sfi_pool index;
    struct sfi_pool far;
    size_t stride;         /* bytes of a row with its accumulators */
    bool has_units;        /* panes keep units */
};

/* Packed changelog: what it holds of one key group of a pane (core/state/packed.h). */
struct sfi_unit {
    uint32_t live;       /* rows of the pane in this group */
    uint32_t first_slot; /* slots [first_slot, next_slot) are in the log */
    uint32_t next_slot;
    uint32_t part_count; /* of the image in the log; 0: none */
    uint32_t since;      /* entries written since that image */
    uint32_t mark;       /* of the epoch that has kept the unit's old state */
};

struct sfi_pane {
    int64_t start;
    struct sfi_place *index;
    uint32_t index_mask;
    uint32_t index_class;
    uint32_t count;
    uint32_t sealed;       /* rows below this have been in the changelog */
    uint32_t undone;       /* rows that an undo is about to take away */
    uint32_t planned;      /* packed changelog: mark of the epoch whose sealing has listed it */
    uint32_t plan_from;    /* its changed rows in that list */
    uint32_t plan_count;
    uint32_t detached;     /* mark of the epoch that expired it; 0: attached */
    struct sfi_pane *next; /* in that epoch's list */
    struct sfi_pane *plan_next;
    struct sfi_far *far;
    struct sfi_unit *units; /* packed changelog: one per key group; else NULL */
    uint8_t *pieces[27];    /* rows: piece k holds SFI_PANE_FIRST_ROWS << k */
};

void sfi_pools_init(struct sfi_pools *pools, struct sf_alloc alloc, size_t acc_bytes, bool has_units);
void sfi_pools_deinit(struct sfi_pools *pools);

struct sfi_pane *sfi_pane_new(struct sfi_pools *pools, int64_t start);
void sfi_pane_destroy(struct sfi_pools *pools, struct sfi_pane *pane);

/* A new row at the end; the key must not be there. Accumulators are not set. */
struct sfi_row *sfi_pane_append(struct sfi_pools *pools, struct sfi_pane *pane, uint64_t hash, const uint8_t *key,
                                uint32_t key_len);
/* Take the rows from `count` on away, newest first. */
void sfi_pane_truncate(struct sfi_pools *pools, struct sfi_pane *pane, uint32_t count);
/* Take one row away; the last one gets its place. */
void sfi_pane_remove(struct sfi_pools *pools, struct sfi_pane *pane, uint32_t number);

static inline uint32_t sfi_pane_piece(uint32_t number)
{
    return 31u - (uint32_t)__builtin_clz(number / SFI_PANE_FIRST_ROWS + 1);
}

static inline struct sfi_row *sfi_pane_row(const struct sfi_pools *pools, const struct sfi_pane *pane, uint32_t number)
{
    uint32_t piece = sfi_pane_piece(number);
    uint32_t first = SFI_PANE_FIRST_ROWS * ((1u << piece) - 1);
    return (struct sfi_row *)(void *)(pane->pieces[piece] + (size_t)(number - first) * pools->stride);
}

static inline const uint8_t *sfi_row_key(const struct sfi_row *row)
{
    return row->key_len <= SFI_ROW_KEY_BYTES ? row->key.near : row->key.far;
}

/* The number of the key's row, UINT32_MAX if there is none. */
static inline uint32_t sfi_pane_find(const struct sfi_pools *pools, const struct sfi_pane *pane, uint64_t hash,
                                     const uint8_t *key, uint32_t key_len)
{
    uint32_t tag = (uint32_t)(hash >> 32);
    for (uint32_t at = tag & pane->index_mask;; at = (at + 1) & pane->index_mask) {
        struct sfi_place place = pane->index[at];
        if (place.row == 0) return UINT32_MAX;
        if (place.tag != tag) continue;
        const struct sfi_row *row = sfi_pane_row(pools, pane, place.row - 1);
        if (row->hash != hash || row->key_len != key_len) continue;
        if (key_len == 0 || memcmp(sfi_row_key(row), key, key_len) == 0) return place.row - 1;
    }
}

/* A hint that sfi_pane_find will look for `hash`: see sf_window_store_expect. */
static inline void sfi_pane_expect(const struct sfi_pools *pools, const struct sfi_pane *pane, uint64_t hash,
                                   bool is_soon)
{
    uint32_t tag = (uint32_t)(hash >> 32);
    if (!is_soon) {
        __builtin_prefetch(&pane->index[tag & pane->index_mask]);
        return;
    }
    for (uint32_t at = tag & pane->index_mask;; at = (at + 1) & pane->index_mask) {
        struct sfi_place place = pane->index[at];
        if (place.row == 0) return;
        if (place.tag != tag) continue;
        const uint8_t *row = (const uint8_t *)sfi_pane_row(pools, pane, place.row - 1);
        __builtin_prefetch(row, 1);
        __builtin_prefetch(row + pools->stride - 1, 1); /* it may lie across two lines */
        return;
    }
}

#endif
