#include "core/state/packed.h"
#include "core/state/window_store_impl.h"

/* ------------------------------------------------------------------ life */

static void epoch_open(struct sf_window_store *store, uint64_t epoch)
{
    assert(store->epoch_count < SF_EPOCHS_OPEN);
    store->mark++;
    assert(store->mark != 0);
    store->running = &store->epochs[store->epoch_count];
    *store->running = (struct sfi_epoch){.epoch = epoch, .mark = store->mark};
    store->epoch_count++;
}

struct sf_window_store *sf_window_store_new(const struct sf_window_store_config *config)
{
    assert(config->step->kind == SF_STEP_AGGREGATE);
    struct sf_window_store *store = sf_calloc(config->alloc, 1, sizeof *store);
    store->alloc = config->alloc;
    store->step = config->step;
    store->restored_max = SF_TIME_UNSET;
    store->aggregates = config->aggregates;
    store->acc_count = sf_aggregates_count(config->aggregates);
    store->acc_bytes = store->acc_count * (uint32_t)sizeof(struct sf_acc);
    store->is_packed = config->is_packed;
    sfi_packed_init(store, config->record_bytes_max);
    store->schema = sf_packed_schema(config->step->aggregates, config->step->aggregate_count);
    sfi_pools_init(&store->pools, store->alloc, store->acc_bytes, store->is_packed);
    sfi_pool_init(&store->undo_pool, store->alloc, SFI_UNDO_BYTES);
    store->scratch = sf_calloc(store->alloc, store->acc_count, sizeof *store->scratch);
    epoch_open(store, config->epoch);
    return store;
}

static void expired_free(struct sf_window_store *store, struct sfi_epoch *epoch)
{
    while (epoch->expired != NULL) {
        struct sfi_pane *pane = epoch->expired;
        epoch->expired = pane->next;
        sfi_window_pane_free(store, pane);
    }
}

void sf_window_store_destroy(struct sf_window_store *store)
{
    if (store == NULL) return;
    for (uint32_t i = 0; i < store->epoch_count; i++) {
        expired_free(store, &store->epochs[i]);
        sfi_undo_clear(&store->epochs[i].log, &store->undo_pool);
    }
    for (uint32_t i = 0; i < store->pane_count; i++) sfi_window_pane_free(store, store->panes[i]);
    sfi_pools_deinit(&store->pools);
    sfi_pool_deinit(&store->undo_pool);
    sf_free(store->alloc, store->panes, store->pane_capacity * sizeof *store->panes);
    sf_free(store->alloc, store->starts, store->pane_capacity * sizeof *store->starts);
    sf_cfree(store->alloc, store->scratch, store->acc_count, sizeof *store->scratch);
    sfi_packed_deinit(store);
    sf_free(store->alloc, store->seal.key, store->seal.key_bytes);
    sf_free(store->alloc, store->seal.value, store->seal.value_bytes);
    sf_cfree(store->alloc, store, 1, sizeof *store);
}

/* ------------------------------------------------------------------ panes by start */

/* The place of the first pane that starts at or after `start`. */
static uint32_t place_of(const struct sf_window_store *store, int64_t start)
{
    uint32_t low = 0, high = store->pane_count;
    if (high > 0 && store->starts[high - 1] < start) return high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (store->starts[middle] < start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct sfi_pane *sfi_window_pane(const struct sf_window_store *store, int64_t start)
{
    if (store->last != NULL && store->last->start == start) return store->last;
    uint32_t at = place_of(store, start);
    return at < store->pane_count && store->starts[at] == start ? store->panes[at] : NULL;
}

static void pane_attach(struct sf_window_store *store, struct sfi_pane *pane)
{
    if (store->pane_count == store->pane_capacity) {
        uint32_t old = store->pane_capacity, more = old == 0 ? 16 : old * 2;
        store->panes = sf_regrow(store->alloc, store->panes, old * sizeof *store->panes, old * sizeof *store->panes,
                                 more * sizeof *store->panes);
        store->starts = sf_regrow(store->alloc, store->starts, old * sizeof *store->starts,
                                  old * sizeof *store->starts, more * sizeof *store->starts);
        store->pane_capacity = more;
    }
    uint32_t at = place_of(store, pane->start), behind = store->pane_count - at;
    assert(behind == 0 || store->starts[at] != pane->start);
    memmove(store->panes + at + 1, store->panes + at, behind * sizeof *store->panes);
    memmove(store->starts + at + 1, store->starts + at, behind * sizeof *store->starts);
    store->panes[at] = pane;
    store->starts[at] = pane->start;
    store->pane_count++;
    store->row_count += pane->count;
}

struct sfi_pane *sfi_window_pane_make(struct sf_window_store *store, int64_t start)
{
    for (uint32_t i = 0; i < store->epoch_count; i++)
        for (struct sfi_pane *gone = store->epochs[i].expired; gone != NULL; gone = gone->next)
            assert(gone->start != start); /* what has expired is below every floor */
    struct sfi_pane *pane = sfi_pane_new(&store->pools, start);
    pane_attach(store, pane);
    return pane;
}

void sfi_window_pane_detach(struct sf_window_store *store, struct sfi_pane *pane)
{
    uint32_t at = place_of(store, pane->start), behind = store->pane_count - at - 1;
    assert(at < store->pane_count && store->panes[at] == pane);
    memmove(store->panes + at, store->panes + at + 1, behind * sizeof *store->panes);
    memmove(store->starts + at, store->starts + at + 1, behind * sizeof *store->starts);
    store->pane_count--;
    store->row_count -= pane->count;
    if (store->last == pane) store->last = NULL;
}

void sfi_window_pane_free(struct sf_window_store *store, struct sfi_pane *pane)
{
    sfi_pane_destroy(&store->pools, pane);
}

/* Keep the first `count` rows of an attached pane; one without rows goes. */
static void drop_rows(struct sf_window_store *store, struct sfi_pane *pane, uint32_t count)
{
    store->row_count -= pane->count - count;
    sfi_pane_truncate(&store->pools, pane, count);
    if (count > 0) return;
    sfi_window_pane_detach(store, pane);
    sfi_window_pane_free(store, pane);
}

/* ------------------------------------------------------------------ touch */

static void keep_image(struct sf_window_store *store, struct sfi_pane *pane, uint32_t number,
                       const struct sfi_row *row)
{
    uint32_t extra = (uint32_t)sizeof row->ts_ms + store->acc_bytes;
    struct sfi_undo *entry = sfi_undo_append(&store->running->log, &store->undo_pool, extra);
    *entry = (struct sfi_undo){.pane = pane, .row = number, .kind = SFI_UNDO_IMAGE, .extra = (uint16_t)extra};
    int64_t *ts_ms = (int64_t *)(void *)(entry + 1);
    *ts_ms = row->ts_ms;
    memcpy(ts_ms + 1, row + 1, store->acc_bytes);
}

static uint64_t new_row_bytes(const struct sf_window_store *store, uint32_t key_len)
{
    return store->pools.stride + (key_len > SFI_ROW_KEY_BYTES ? key_len : 0);
}

static struct sfi_row *create(struct sf_window_store *store, struct sfi_pane *pane, uint64_t hash, const uint8_t *key,
                              uint32_t key_len)
{
    struct sfi_row *row = sfi_pane_append(&store->pools, pane, hash, key, key_len);
    row->ts_ms = SF_TIME_UNSET;
    row->mark = store->mark;
    sf_aggregates_init(store->aggregates, sfi_row_accs(row));
    struct sfi_undo *entry = sfi_undo_append(&store->running->log, &store->undo_pool, 0);
    *entry = (struct sfi_undo){.pane = pane, .row = pane->count - 1, .kind = SFI_UNDO_CREATED};
    store->running->new_bytes += new_row_bytes(store, key_len);
    store->row_count++;
    return row;
}

struct sf_window_row sf_window_store_touch(struct sf_window_store *store, int64_t start, uint64_t hash,
                                           const uint8_t *key, uint32_t key_len)
{
    assert(!store->seal.is_open);
    struct sfi_pane *pane = store->last;
    if (pane == NULL || pane->start != start) {
        pane = sfi_window_pane(store, start);
        if (pane == NULL) pane = sfi_window_pane_make(store, start);
        store->last = pane;
    }
    uint32_t number = sfi_pane_find(&store->pools, pane, hash, key, key_len);
    if (number == UINT32_MAX) {
        store->touched = create(store, pane, hash, key, key_len);
        return sfi_row_view(store->touched, true);
    }
    struct sfi_row *row = sfi_pane_row(&store->pools, pane, number);
    store->touched = row;
    if (row->mark != store->mark) {
        keep_image(store, pane, number, row);
        row->mark = store->mark;
    }
    return sfi_row_view(row, false);
}

void sf_window_store_expect(const struct sf_window_store *store, int64_t start, uint64_t hash, bool is_soon)
{
    const struct sfi_pane *pane = sfi_window_pane(store, start);
    if (pane != NULL) sfi_pane_expect(&store->pools, pane, hash, is_soon);
}

void sf_window_store_set_ts(struct sf_window_store *store, int64_t ts_ms)
{
    assert(store->touched != NULL && ts_ms != SF_TIME_UNSET);
    store->touched->ts_ms = ts_ms;
}

void sf_window_store_untouch(struct sf_window_store *store)
{
    struct sfi_pane *pane = store->last;
    uint32_t number = pane->count - 1;
    assert(store->touched == sfi_pane_row(&store->pools, pane, number) && store->touched->ts_ms == SF_TIME_UNSET);
    store->running->new_bytes -= new_row_bytes(store, store->touched->key_len);
    store->touched = NULL;
    sfi_undo_pop(&store->running->log, 0);
    drop_rows(store, pane, number);
}

/* ------------------------------------------------------------------ emission */

static int64_t close_of(const struct sf_window_store *store, int64_t start)
{
    const struct sf_window_spec *window = &store->step->window;
    return sf_time_add(sf_time_add(start, window->size_ms), window->grace_ms);
}

bool sf_window_store_due(const struct sf_window_store *store, int64_t after, int64_t upto, int64_t *start_out)
{
    uint32_t low = 0, high = store->pane_count; /* the first that closes after `after`: closes rise with starts */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (close_of(store, store->starts[middle]) <= after) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == store->pane_count || close_of(store, store->starts[low]) > upto) return false;
    *start_out = store->starts[low];
    return true;
}

uint32_t sf_window_store_count(const struct sf_window_store *store, int64_t start)
{
    const struct sfi_pane *pane = sfi_window_pane(store, start);
    return pane == NULL ? 0 : pane->count;
}

struct sf_window_row sf_window_store_row(const struct sf_window_store *store, int64_t start, uint32_t index)
{
    const struct sfi_pane *pane = sfi_window_pane(store, start);
    assert(pane != NULL && index < pane->count);
    return sfi_row_view(sfi_pane_row(&store->pools, pane, index), false);
}

void sf_window_store_expire(struct sf_window_store *store, int64_t clock)
{
    assert(!store->seal.is_open);
    store->touched = NULL;
    struct sfi_epoch *epoch = store->running;
    while (store->pane_count > 0 && sf_time_add(store->starts[0], store->step->store.retention_ms) <= clock) {
        struct sfi_pane *pane = store->panes[0];
        sfi_window_pane_detach(store, pane);
        pane->detached = store->mark;
        pane->next = NULL;
        if (epoch->expired_last == NULL) {
            epoch->expired = pane;
        } else {
            epoch->expired_last->next = pane;
        }
        epoch->expired_last = pane;
    }
}

/* ------------------------------------------------------------------ epochs */

uint64_t sf_window_store_uncommitted_bytes(const struct sf_window_store *store)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < store->epoch_count; i++) bytes += store->epochs[i].log.bytes + store->epochs[i].new_bytes;
    return bytes;
}

static void pop_front(struct sf_window_store *store)
{
    memmove(&store->epochs[0], &store->epochs[1], (store->epoch_count - 1) * sizeof store->epochs[0]);
    store->epoch_count--;
    store->running = &store->epochs[store->epoch_count - 1];
}

void sf_window_store_rotate(struct sf_window_store *store, uint64_t epoch)
{
    assert(epoch > store->running->epoch);
    store->seal.is_open = false;
    epoch_open(store, epoch);
}

void sf_window_store_committed(struct sf_window_store *store, uint64_t epoch)
{
    assert(epoch < store->running->epoch);
    while (store->epoch_count > 1 && store->epochs[0].epoch <= epoch) {
        expired_free(store, &store->epochs[0]);
        sfi_undo_clear(&store->epochs[0].log, &store->undo_pool);
        pop_front(store);
    }
}

/* Images go back. Created rows are the last ones of their pane: count them, then cut. */
static void undo_rows(struct sf_window_store *store, struct sfi_epoch *epoch)
{
    struct sfi_pane *shrinking = NULL;
    struct sfi_undo_cursor cursor = sfi_undo_begin(&epoch->log);
    for (const struct sfi_undo *entry; (entry = sfi_undo_at(&cursor)) != NULL; sfi_undo_next(&cursor, entry)) {
        struct sfi_pane *pane = entry->pane;
        if (entry->kind == SFI_UNDO_CREATED) {
            if (pane->undone == 0) {
                pane->next = shrinking;
                shrinking = pane;
            }
            pane->undone++;
        } else if (entry->kind == SFI_UNDO_UNIT) {
            sfi_packed_undo(pane, entry);
        } else {
            struct sfi_row *row = sfi_pane_row(&store->pools, pane, entry->row);
            const int64_t *ts_ms = (const int64_t *)(const void *)(entry + 1);
            row->ts_ms = *ts_ms;
            memcpy(row + 1, ts_ms + 1, store->acc_bytes);
        }
    }
    while (shrinking != NULL) {
        struct sfi_pane *pane = shrinking;
        shrinking = pane->next;
        uint32_t undone = pane->undone;
        pane->undone = 0;
        drop_rows(store, pane, pane->count - undone);
    }
}

void sf_window_store_fall_back(struct sf_window_store *store, uint64_t cut, uint64_t epoch)
{
    assert(epoch > cut);
    store->seal.is_open = false;
    store->touched = NULL;
    while (store->epoch_count > 0 && store->epochs[store->epoch_count - 1].epoch > cut) {
        struct sfi_epoch *undone = &store->epochs[store->epoch_count - 1];
        while (undone->expired != NULL) {
            struct sfi_pane *pane = undone->expired;
            undone->expired = pane->next;
            pane->detached = 0;
            pane_attach(store, pane);
        }
        undo_rows(store, undone);
        sfi_undo_clear(&undone->log, &store->undo_pool);
        store->epoch_count--;
    }
    for (uint32_t i = 0; i < store->epoch_count; i++) { /* what is left has committed */
        expired_free(store, &store->epochs[i]);
        sfi_undo_clear(&store->epochs[i].log, &store->undo_pool);
    }
    store->epoch_count = 0;
    epoch_open(store, epoch);
}

/* ------------------------------------------------------------------ what is there */

uint64_t sf_window_store_rows(const struct sf_window_store *store)
{
    return store->row_count;
}

uint32_t sf_window_store_panes(const struct sf_window_store *store)
{
    return store->pane_count;
}

int64_t sf_window_store_restored_max(const struct sf_window_store *store)
{
    return store->restored_max;
}

int64_t sf_window_store_oldest(const struct sf_window_store *store)
{
    return store->pane_count == 0 ? SF_TIME_COMPLETE : store->starts[0];
}
