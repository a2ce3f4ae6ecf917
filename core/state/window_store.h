/*
 * Window store: all windows of one aggregation that one lane holds, in memory, one table per window start ("pane").
 *
 *     pane [10:00, 10:05)   dense rows in order of creation + an index by key hash
 *     pane [10:05, 10:10)   ...
 *
 * Epoch layering (K3, B12). The first touch of a row in an epoch keeps a before-image; a row that was created keeps
 * just that. Falling back undoes the epochs above the cut, newest first; a commit drops the images. A pane that
 * expires is detached, and freed only when the epoch that expired it has committed. At most SF_EPOCHS_OPEN epochs are
 * open: the one that commits and the one that runs.
 *
 * The rows touched in an epoch are also what the changelog gets: sealing walks them in order of first touch. Rows of
 * an expired pane become tombstones.
 *
 *     touch(ws, 600000, hash, key) -> row; fold the record into row.accs; set_ts(ws, ...)
 *     seal_begin(ws); while (seal_next(ws, &change)) write it ...; rotate(ws, epoch + 1)
 *     ... COMMITTED(epoch): committed(ws, epoch)      or RESET(c): fall_back(ws, c)
 *
 * Cost: a touch is one hash probe; nothing is allocated but tables that double and undo chunks. Walking a pane goes in
 * order of creation, which is deterministic.
 *
 * Threading: one owner, the lane.
 */
#ifndef SF_CORE_STATE_WINDOW_STORE_H
#define SF_CORE_STATE_WINDOW_STORE_H

#include "core/hash.h"
#include "core/io/kafka.h"
#include "core/ops/aggregate.h"
#include "core/state/packed.h"
#include "core/topo/topology.h"

#define SF_EPOCHS_OPEN 3u

struct sf_window_store_config {
    struct sf_alloc alloc;
    const struct sf_step_spec *step;        /* window and store; borrowed */
    const struct sf_aggregates *aggregates; /* the step's, compiled; borrowed */
    bool is_packed;                         /* changelog format (K5): packed, else rows */
    uint32_t record_bytes_max;              /* of a packed record, key and value; 0: as comes. One row always fits */
    uint64_t epoch;                         /* the running epoch */
};

/* A row. `accs` are the caller's to change after a touch, and only then; pointers are valid until the next touch or
 * restore. */
struct sf_window_row {
    int64_t ts_ms;       /* latest record's time (F7); SF_TIME_UNSET in a new row */
    struct sf_acc *accs; /* as many as the step has aggregates; initial in a new row */
    const uint8_t *key;
    uint32_t key_len;
    bool is_new;         /* created by this touch */
    uint64_t hash;
};

/* One changelog record: bytes valid until the next call. value.data NULL: a tombstone. */
struct sf_change {
    struct sf_slice key;
    struct sf_slice value;
    struct sf_slice record_key; /* data NULL: a packed record, of many rows of one key group */
    uint64_t hash;              /* of the record key, or any of the key group */
    int64_t ts_ms;
};

/* K13: its partition among those of the changelog. */
static inline int32_t sf_change_partition(const struct sf_change *change, int32_t partition_count)
{
    if (change->record_key.data == NULL) return (int32_t)(sf_key_group(change->hash) % (uint32_t)partition_count);
    return sf_partition_of_key(change->record_key.data, change->record_key.len, partition_count);
}

struct sf_window_store;

struct sf_window_store *sf_window_store_new(const struct sf_window_store_config *config);
void sf_window_store_destroy(struct sf_window_store *store);

/* The row of `key` in the window that starts at `start`, made if absent, marked dirty in the running epoch. The key is
 * copied when it is new. */
struct sf_window_row sf_window_store_touch(struct sf_window_store *store, int64_t start, uint64_t hash,
                                           const uint8_t *key, uint32_t key_len);
/* A touch of that key is to come: fetches what it will look at into the processor's cache, first its place in the
 * index, then, asked again some records later with `is_soon`, its row. A hint: nothing changes. */
void sf_window_store_expect(const struct sf_window_store *store, int64_t start, uint64_t hash, bool is_soon);
/* The time of the row that was touched last; every new row needs one before the epoch is sealed. */
void sf_window_store_set_ts(struct sf_window_store *store, int64_t ts_ms);
/* Take back the touch that has just made a new row, as if the row had never been. */
void sf_window_store_untouch(struct sf_window_store *store);

/* --- emission (F5) */

/* The start of the first window whose close lies in (after, upto]; false if there is none. By close, ascending. */
bool sf_window_store_due(const struct sf_window_store *store, int64_t after, int64_t upto, int64_t *start_out);
/* Rows of a window, in order of creation. */
uint32_t sf_window_store_count(const struct sf_window_store *store, int64_t start);
struct sf_window_row sf_window_store_row(const struct sf_window_store *store, int64_t start, uint32_t index);
/* Detach every pane with start + retention <= clock (K6); its rows become tombstones of the running epoch. */
void sf_window_store_expire(struct sf_window_store *store, int64_t clock);

/* --- epochs */

/* Bytes that the open epochs hold beyond the committed state: undo and dirty (L5). */
uint64_t sf_window_store_uncommitted_bytes(const struct sf_window_store *store);
/* Encode what the running epoch has touched, one change after the other; false: no more. A change that the caller
 * could not place stays next until sf_window_store_seal_accept. Nothing may be touched or expired from seal_begin to
 * rotate or fall_back. Without a changelog (S3) sealing is left out. */
void sf_window_store_seal_begin(struct sf_window_store *store);
bool sf_window_store_seal_next(struct sf_window_store *store, struct sf_change *change_out);
void sf_window_store_seal_accept(struct sf_window_store *store);
/* The running epoch is over, `epoch` runs now. */
void sf_window_store_rotate(struct sf_window_store *store, uint64_t epoch);
void sf_window_store_committed(struct sf_window_store *store, uint64_t epoch);
/* Undo everything above `cut`; `epoch` runs now. */
void sf_window_store_fall_back(struct sf_window_store *store, uint64_t cut, uint64_t epoch);

/* --- restore (K4, K9): one changelog record, into the committed state. SF_E_CORRUPT: not a row of this store,
 * `reason_out` says why; nothing has changed. A tombstone removes. Later records win. */
enum sf_status sf_window_store_restore(struct sf_window_store *store, struct sf_slice key, struct sf_slice value,
                                       const char **reason_out);
/* The same of a row from the local store: the key as in the `rows` format, the value in that of the store. */
enum sf_status sf_window_store_restore_local(struct sf_window_store *store, struct sf_slice key, struct sf_slice value,
                                             const char **reason_out);
/* The trace of a packed record in the local store (core/state/local_layout.h): the record's key, and its count of
 * entries. A unit's rows have been restored before. */
enum sf_status sf_window_store_restore_trace(struct sf_window_store *store, const struct sf_packed_key *key,
                                             uint32_t entry_count, const char **reason_out);

uint64_t sf_window_store_rows(const struct sf_window_store *store);
uint32_t sf_window_store_panes(const struct sf_window_store *store);
/* The oldest open start, SF_TIME_COMPLETE if none (M3, X10). */
int64_t sf_window_store_oldest(const struct sf_window_store *store);
/* Newest event time of the rows that were restored, SF_TIME_UNSET: none (S3). */
int64_t sf_window_store_restored_max(const struct sf_window_store *store);

#endif
