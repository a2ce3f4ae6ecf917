#include "core/state/changelog.h"
#include "core/state/window_store_impl.h"

void sf_window_store_seal_begin(struct sf_window_store *store)
{
    struct sfi_seal *seal = &store->seal;
    assert(!seal->is_open);
    seal->is_open = true;
    seal->has_change = false;
    seal->cursor = sfi_undo_begin(&store->running->log);
    seal->expired = store->running->expired;
    seal->row = 0;
    if (store->is_packed) sfi_packed_seal_begin(store);
}

static void change_value(struct sf_window_store *store, const struct sfi_row *row)
{
    struct sfi_seal *seal = &store->seal;
    size_t len = sf_row_encode(store->aggregates, row->ts_ms, sfi_row_accs(row), (char *)seal->value,
                               seal->value_bytes);
    if (len > seal->value_bytes) {
        sf_free(store->alloc, seal->value, seal->value_bytes);
        seal->value_bytes = len * 2;
        seal->value = sf_malloc(store->alloc, seal->value_bytes);
        len = sf_row_encode(store->aggregates, row->ts_ms, sfi_row_accs(row), (char *)seal->value, seal->value_bytes);
    }
    seal->change.value = (struct sf_slice){.data = seal->value, .len = (uint32_t)len};
}

static void change_key(struct sf_window_store *store, const struct sfi_pane *pane, const struct sfi_row *row)
{
    struct sfi_seal *seal = &store->seal;
    size_t need = (size_t)row->key_len + SF_ROW_KEY_TAIL_BYTES;
    if (need > seal->key_bytes) {
        sf_free(store->alloc, seal->key, seal->key_bytes);
        seal->key_bytes = need * 2;
        seal->key = sf_malloc(store->alloc, seal->key_bytes);
    }
    uint32_t len = sf_row_key_write(seal->key, sfi_row_key(row), row->key_len, pane->start);
    seal->change = (struct sf_change){.key = {.data = seal->key, .len = len},
                                      .record_key = {.data = seal->key, .len = row->key_len},
                                      .hash = row->hash,
                                      .ts_ms = row->ts_ms};
}

/* Rows that the epoch touched and that are still there. */
static bool next_row(struct sf_window_store *store)
{
    struct sfi_seal *seal = &store->seal;
    for (const struct sfi_undo *entry; (entry = sfi_undo_at(&seal->cursor)) != NULL;) {
        sfi_undo_next(&seal->cursor, entry);
        if (entry->pane->detached != 0) continue; /* expired in this very epoch */
        const struct sfi_row *row = sfi_pane_row(&store->pools, entry->pane, entry->row);
        assert(row->ts_ms != SF_TIME_UNSET);
        if (entry->row >= entry->pane->sealed) entry->pane->sealed = entry->row + 1;
        change_key(store, entry->pane, row);
        change_value(store, row);
        return true;
    }
    return false;
}

/* Rows of expired panes, as far as the changelog has ever seen them. */
static bool next_tombstone(struct sf_window_store *store)
{
    struct sfi_seal *seal = &store->seal;
    while (seal->expired != NULL && seal->row >= seal->expired->sealed) {
        seal->expired = seal->expired->next;
        seal->row = 0;
    }
    if (seal->expired == NULL) return false;
    change_key(store, seal->expired, sfi_pane_row(&store->pools, seal->expired, seal->row));
    seal->row++;
    return true;
}

bool sf_window_store_seal_next(struct sf_window_store *store, struct sf_change *change_out)
{
    struct sfi_seal *seal = &store->seal;
    assert(seal->is_open);
    if (!seal->has_change)
        seal->has_change = store->is_packed ? sfi_packed_seal_next(store) : next_row(store) || next_tombstone(store);
    if (seal->has_change) *change_out = seal->change;
    return seal->has_change;
}

void sf_window_store_seal_accept(struct sf_window_store *store)
{
    assert(store->seal.is_open && store->seal.has_change);
    store->seal.has_change = false;
}
