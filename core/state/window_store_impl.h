/*
 * Window store, inside: what window_store.c, window_seal.c and window_restore.c share.
 *
 *     panes      sorted by start; `starts` beside them is what a search reads
 *     epochs     the open ones, oldest first; the last is the running one: its log takes before-images
 *     expired    of an epoch: panes that it detached, in order of start; freed when it has committed
 *
 * A row carries the mark of the epoch that touched it last. Marks are never used twice, so nothing has to be cleared
 * when an epoch ends or is undone.
 */
#ifndef SF_CORE_STATE_WINDOW_STORE_IMPL_H
#define SF_CORE_STATE_WINDOW_STORE_IMPL_H

#include "core/state/undo.h"
#include "core/state/window_store.h"
#include "core/time/event_time.h"

struct sfi_epoch {
    uint64_t epoch;
    struct sfi_undo_log log;
    struct sfi_pane *expired;
    struct sfi_pane *expired_last;
    uint64_t new_bytes; /* rows and keys that it created */
    uint32_t mark;
};

/* Where sealing stands. */
struct sfi_seal {
    bool is_open;
    bool has_change; /* `change` waits to be accepted */
    struct sfi_undo_cursor cursor;
    struct sfi_pane *expired; /* the pane whose rows become tombstones */
    uint32_t row;
    struct sf_change change;
    uint8_t *key; /* buffers that only grow */
    size_t key_bytes;
    uint8_t *value;
    size_t value_bytes;
};

/* One unit that sealing writes: rows `from` … `from + count` of the list. */
struct sfi_packed_work {
    struct sfi_pane *pane;
    uint32_t group;
    uint32_t from;
    uint32_t count;
    bool is_image;
    uint32_t slot_until; /* image: slots below are covered by it */
    uint32_t part_until; /* image: parts that the one before had */
};

/* Where packed sealing stands. */
struct sfi_packed_seal {
    uint32_t *rows;   /* row numbers, unit by unit */
    uint32_t row_count;
    uint32_t row_capacity;
    uint32_t *listed; /* changed rows, pane by pane */
    uint32_t listed_capacity;
    struct sfi_packed_work *works;
    uint32_t work_count;
    uint32_t work_capacity;
    uint32_t work_at;
    uint32_t row_at;  /* within the work */
    uint32_t group;   /* expired panes: the unit at hand */
    uint8_t key[16];
};

struct sf_window_store {
    struct sf_alloc alloc;
    const struct sf_step_spec *step;
    const struct sf_aggregates *aggregates;
    uint32_t acc_count;
    uint32_t acc_bytes; /* of all accumulators of a row */
    uint32_t mark;      /* of the running epoch */
    struct sfi_epoch *running;
    struct sfi_pane *last;   /* the pane of the last touch, or NULL */
    struct sfi_row *touched; /* the row of the last touch, or NULL */
    struct sfi_pools pools;
    struct sfi_pool undo_pool;
    struct sfi_pane **panes;
    int64_t *starts;
    uint32_t pane_count;
    uint32_t pane_capacity;
    uint64_t row_count;
    int64_t restored_max; /* newest event time of restored rows */
    struct sfi_epoch epochs[SF_EPOCHS_OPEN];
    uint32_t epoch_count;
    struct sfi_seal seal;
    bool is_packed;
    uint32_t record_bytes; /* packed: the value of a record is cut here */
    uint32_t schema; /* packed: of the fields */
    struct sfi_packed_seal packed;
    struct sf_acc *scratch; /* one row's accumulators, for restore */
};

static inline struct sf_acc *sfi_row_accs(const struct sfi_row *row)
{
    return (struct sf_acc *)(void *)(uintptr_t)(row + 1);
}

static inline struct sf_window_row sfi_row_view(struct sfi_row *row, bool is_new)
{
    return (struct sf_window_row){.ts_ms = row->ts_ms,
                                  .accs = sfi_row_accs(row),
                                  .key = sfi_row_key(row),
                                  .key_len = row->key_len,
                                  .hash = row->hash,
                                  .is_new = is_new};
}

/* Packed changelog (window_packed.c): the same as the public functions, for one format. */
void sfi_packed_seal_begin(struct sf_window_store *store);
bool sfi_packed_seal_next(struct sf_window_store *store);
void sfi_packed_undo(struct sfi_pane *pane, const struct sfi_undo *entry);
enum sf_status sfi_packed_restore(struct sf_window_store *store, struct sf_slice key, struct sf_slice value,
                                  const char **reason_out);
enum sf_status sfi_packed_restore_trace(struct sf_window_store *store, const struct sf_packed_key *key,
                                        uint32_t entry_count, const char **reason_out);
void sfi_packed_init(struct sf_window_store *store, uint32_t record_bytes_max);
void sfi_packed_deinit(struct sf_window_store *store);

/* The row of a restored key, with the accumulators in `scratch`. */
void sfi_window_restore_put(struct sf_window_store *store, int64_t start, struct sf_slice record_key, int64_t ts_ms);
/* The attached pane of `start`, or NULL. */
struct sfi_pane *sfi_window_pane(const struct sf_window_store *store, int64_t start);
struct sfi_pane *sfi_window_pane_make(struct sf_window_store *store, int64_t start);
/* Take it out of the table; it lives on. */
void sfi_window_pane_detach(struct sf_window_store *store, struct sfi_pane *pane);
void sfi_window_pane_free(struct sf_window_store *store, struct sfi_pane *pane);

#endif
