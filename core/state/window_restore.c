#include "core/hash.h"
#include "core/state/changelog.h"
#include "core/state/packed.h"
#include "core/state/window_store_impl.h"

static void remove_row(struct sf_window_store *store, struct sfi_pane *pane, uint32_t number)
{
    sfi_pane_remove(&store->pools, pane, number);
    store->row_count--;
    if (pane->count > 0) return;
    sfi_window_pane_detach(store, pane);
    sfi_window_pane_free(store, pane);
}

void sfi_window_restore_put(struct sf_window_store *store, int64_t start, struct sf_slice record_key, int64_t ts_ms)
{
    struct sfi_pane *pane = sfi_window_pane(store, start);
    if (pane == NULL) pane = sfi_window_pane_make(store, start);
    store->last = pane;
    uint64_t hash = sf_hash64(record_key.data, record_key.len);
    uint32_t number = sfi_pane_find(&store->pools, pane, hash, record_key.data, record_key.len);
    struct sfi_row *row;
    if (number == UINT32_MAX) {
        row = sfi_pane_append(&store->pools, pane, hash, record_key.data, record_key.len);
        pane->sealed = pane->count;
        store->row_count++;
    } else {
        row = sfi_pane_row(&store->pools, pane, number);
    }
    row->ts_ms = ts_ms;
    store->restored_max = sf_time_max(store->restored_max, ts_ms);
    memcpy(row + 1, store->scratch, store->acc_bytes);
}

static void assert_nothing_open(struct sf_window_store *store)
{
    assert(store->epoch_count == 1 && store->running->log.bytes == 0 && store->running->expired == NULL);
    store->touched = NULL;
}

static void remove_key(struct sf_window_store *store, const struct sf_row_key *key)
{
    struct sfi_pane *pane = sfi_window_pane(store, key->start);
    if (pane == NULL) return;
    uint64_t hash = sf_hash64(key->record_key.data, key->record_key.len);
    uint32_t number = sfi_pane_find(&store->pools, pane, hash, key->record_key.data, key->record_key.len);
    if (number != UINT32_MAX) remove_row(store, pane, number);
}

enum sf_status sf_window_store_restore(struct sf_window_store *store, struct sf_slice key, struct sf_slice value,
                                       const char **reason_out)
{
    if (!store->is_packed) return sf_window_store_restore_local(store, key, value, reason_out);
    assert_nothing_open(store);
    return sfi_packed_restore(store, key, value, reason_out);
}

enum sf_status sf_window_store_restore_local(struct sf_window_store *store, struct sf_slice key, struct sf_slice value,
                                             const char **reason_out)
{
    assert_nothing_open(store);
    struct sf_row_key row_key;
    enum sf_status status = sf_row_key_read(key, store->step->window.size_ms, &row_key, reason_out);
    if (status != SF_OK) return status;
    if (value.data == NULL) {
        remove_key(store, &row_key);
        return SF_OK;
    }
    int64_t ts_ms;
    status = store->is_packed ? sf_packed_value_read(value, row_key.start, &ts_ms, store->scratch, store->acc_count,
                                                     reason_out)
                              : sf_row_value_read(value, store->aggregates, &ts_ms, store->scratch, reason_out);
    if (status != SF_OK) return status;
    sfi_window_restore_put(store, row_key.start, row_key.record_key, ts_ms);
    return SF_OK;
}

enum sf_status sf_window_store_restore_trace(struct sf_window_store *store, const struct sf_packed_key *key,
                                             uint32_t entry_count, const char **reason_out)
{
    assert_nothing_open(store);
    if (store->is_packed) return sfi_packed_restore_trace(store, key, entry_count, reason_out);
    *reason_out = "a trace of the other changelog format";
    return SF_E_CORRUPT;
}
