/* Windows of the model: a pane per window start, rows in order of creation, an index by hash. */
#include <assert.h>
#include <string.h>

#include "core/hash.h"
#include "driver/model.h"

#define KEY_CHUNK_BYTES 4096u
#define INDEX_LEAST 16u

struct sfi_model_key_chunk {
    struct sfi_model_key_chunk *next;
    size_t used;
    size_t bytes; /* behind the struct */
};

void sfi_model_windows_init(struct sfi_model_windows *windows, struct sf_alloc alloc, uint32_t number_count)
{
    size_t stride = sizeof(struct sfi_model_row) + number_count * sizeof(struct sfi_model_number);
    *windows = (struct sfi_model_windows){.alloc = alloc, .stride = (uint32_t)stride};
}

static void free_rows(struct sfi_model_windows *windows, struct sfi_model_pane *pane)
{
    struct sf_alloc alloc = windows->alloc;
    sf_free(alloc, pane->rows, (size_t)pane->capacity * windows->stride);
    sf_free(alloc, pane->index, pane->index_capacity * sizeof *pane->index);
    while (pane->keys != NULL) {
        struct sfi_model_key_chunk *chunk = pane->keys;
        pane->keys = chunk->next;
        sf_free(alloc, chunk, sizeof *chunk + chunk->bytes);
    }
    windows->row_count -= pane->count;
    pane->rows = NULL;
    pane->index = NULL;
    pane->count = pane->capacity = pane->index_capacity = 0;
}

static void free_pane(const struct sfi_model_windows *windows, struct sfi_model_pane *pane)
{
    sf_free(windows->alloc, pane->left_groups, SF_KEY_GROUPS * sizeof *pane->left_groups);
    sf_free(windows->alloc, pane, sizeof *pane);
}

void sfi_model_windows_clear(struct sfi_model_windows *windows)
{
    for (uint32_t i = 0; i < windows->count; i++) {
        free_rows(windows, windows->panes[i]);
        free_pane(windows, windows->panes[i]);
    }
    windows->count = 0;
    windows->dirty_count = 0;
    windows->last = NULL;
}

void sfi_model_windows_deinit(struct sfi_model_windows *windows)
{
    if (windows->stride == 0) return;
    sfi_model_windows_clear(windows);
    sf_free(windows->alloc, windows->panes, windows->capacity * sizeof *windows->panes);
    sf_free(windows->alloc, windows->dirty, windows->dirty_capacity * sizeof *windows->dirty);
    *windows = (struct sfi_model_windows){0};
}

/* The first pane that starts at or after `start`. */
static uint32_t lower_bound(const struct sfi_model_windows *windows, int64_t start)
{
    uint32_t low = 0, high = windows->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (windows->panes[middle]->start < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct sfi_model_pane *sfi_model_pane_find(struct sfi_model_windows *windows, int64_t start)
{
    if (windows->last != NULL && windows->last->start == start) return windows->last;
    uint32_t at = lower_bound(windows, start);
    if (at == windows->count || windows->panes[at]->start != start) return NULL;
    windows->last = windows->panes[at];
    return windows->last;
}

struct sfi_model_pane *sfi_model_pane_get(struct sfi_model_windows *windows, int64_t start)
{
    struct sfi_model_pane *pane = sfi_model_pane_find(windows, start);
    if (pane != NULL) return pane;
    if (windows->count == windows->capacity) {
        uint32_t capacity = windows->capacity == 0 ? 16 : windows->capacity * 2;
        windows->panes = sf_regrow(windows->alloc, windows->panes, windows->capacity * sizeof *windows->panes,
                                   windows->count * sizeof *windows->panes, capacity * sizeof *windows->panes);
        windows->capacity = capacity;
    }
    uint32_t at = lower_bound(windows, start);
    memmove(windows->panes + at + 1, windows->panes + at, (windows->count - at) * sizeof *windows->panes);
    pane = sf_malloc(windows->alloc, sizeof *pane);
    *pane = (struct sfi_model_pane){.start = start};
    windows->panes[at] = pane;
    windows->count++;
    windows->last = pane;
    return pane;
}

/* ---------------------------------------------------------------- rows */

static uint32_t slot_of(const struct sfi_model_pane *pane, uint64_t hash)
{
    return (uint32_t)(hash >> 7) & (pane->index_capacity - 1);
}

static void rehash(const struct sfi_model_windows *windows, struct sfi_model_pane *pane)
{
    uint32_t capacity = pane->index_capacity == 0 ? INDEX_LEAST : pane->index_capacity * 2;
    sf_free(windows->alloc, pane->index, pane->index_capacity * sizeof *pane->index);
    pane->index = sf_calloc(windows->alloc, capacity, sizeof *pane->index);
    pane->index_capacity = capacity;
    for (uint32_t i = 0; i < pane->count; i++) {
        uint32_t slot = slot_of(pane, sfi_model_row_at(windows, pane, i)->hash);
        while (pane->index[slot] != 0) slot = (slot + 1) & (capacity - 1);
        pane->index[slot] = i + 1;
    }
}

struct sfi_model_row *sfi_model_row_by_hash(const struct sfi_model_windows *windows, const struct sfi_model_pane *pane,
                                            uint64_t hash)
{
    if (pane->index_capacity == 0) return NULL;
    uint32_t slot = slot_of(pane, hash);
    for (; pane->index[slot] != 0; slot = (slot + 1) & (pane->index_capacity - 1)) {
        struct sfi_model_row *row = sfi_model_row_at(windows, pane, pane->index[slot] - 1);
        if (row->hash == hash) return row;
    }
    return NULL;
}

static const uint8_t *copy_key(const struct sfi_model_windows *windows, struct sfi_model_pane *pane,
                               struct sf_slice key)
{
    struct sfi_model_key_chunk *chunk = pane->keys;
    if (chunk == NULL || chunk->bytes - chunk->used < key.len) {
        size_t bytes = key.len > KEY_CHUNK_BYTES ? key.len : KEY_CHUNK_BYTES;
        chunk = sf_malloc(windows->alloc, sizeof *chunk + bytes);
        *chunk = (struct sfi_model_key_chunk){.next = pane->keys, .bytes = bytes};
        pane->keys = chunk;
    }
    uint8_t *copy = (uint8_t *)(chunk + 1) + chunk->used;
    if (key.len > 0) memcpy(copy, key.data, key.len);
    chunk->used += key.len;
    return copy;
}

static void mark_dirty(struct sfi_model_windows *windows, struct sfi_model_pane *pane, uint32_t row)
{
    struct sfi_model_row *at = sfi_model_row_at(windows, pane, row);
    if (at->is_dirty) return;
    at->is_dirty = true;
    if (windows->dirty_count == windows->dirty_capacity) {
        uint32_t capacity = windows->dirty_capacity == 0 ? 64 : windows->dirty_capacity * 2;
        windows->dirty = sf_regrow(windows->alloc, windows->dirty, windows->dirty_capacity * sizeof *windows->dirty,
                                   windows->dirty_count * sizeof *windows->dirty, capacity * sizeof *windows->dirty);
        windows->dirty_capacity = capacity;
    }
    windows->dirty[windows->dirty_count++] = (struct sfi_model_dirty){.pane = pane, .row = row};
}

static bool is_key_of(const struct sfi_model_row *row, uint64_t hash, struct sf_slice key)
{
    return row->hash == hash && row->key_len == key.len && (key.len == 0 || memcmp(row->key, key.data, key.len) == 0);
}

struct sfi_model_row *sfi_model_row_touch(struct sfi_model_windows *windows, struct sfi_model_pane *pane, uint64_t hash,
                                          struct sf_slice key, bool *is_new_out)
{
    assert(!pane->is_compact);
    if ((pane->count + 1) * 2 > pane->index_capacity) rehash(windows, pane);
    uint32_t slot = slot_of(pane, hash);
    for (; pane->index[slot] != 0; slot = (slot + 1) & (pane->index_capacity - 1)) {
        uint32_t number = pane->index[slot] - 1;
        struct sfi_model_row *row = sfi_model_row_at(windows, pane, number);
        if (!is_key_of(row, hash, key)) continue;
        *is_new_out = false;
        mark_dirty(windows, pane, number);
        return row;
    }
    if (pane->count == pane->capacity) {
        uint32_t capacity = pane->capacity == 0 ? 8 : pane->capacity * 2;
        size_t stride = windows->stride;
        pane->rows =
            sf_regrow(windows->alloc, pane->rows, pane->capacity * stride, pane->count * stride, capacity * stride);
        pane->capacity = capacity;
    }
    pane->index[slot] = pane->count + 1;
    struct sfi_model_row *row = sfi_model_row_at(windows, pane, pane->count);
    memset(row, 0, windows->stride);
    row->hash = hash;
    row->ts_ms = SF_TIME_UNSET;
    row->key = copy_key(windows, pane, key);
    row->key_len = key.len;
    pane->count++;
    windows->row_count++;
    *is_new_out = true;
    mark_dirty(windows, pane, pane->count - 1);
    return row;
}

void sfi_model_row_untouch(struct sfi_model_windows *windows, struct sfi_model_pane *pane)
{
    assert(pane->count > 0 && windows->dirty_count > 0);
    pane->count--;
    windows->row_count--;
    windows->dirty_count--;
    /* the newest row is at the end of its probe chain: nothing behind it depends on its slot */
    uint32_t slot = slot_of(pane, sfi_model_row_at(windows, pane, pane->count)->hash);
    while (pane->index[slot] != pane->count + 1) slot = (slot + 1) & (pane->index_capacity - 1);
    pane->index[slot] = 0;
}

/* ---------------------------------------------------------------- verified */

static void compact(struct sfi_model_windows *windows, struct sfi_model_pane *pane)
{
    if (windows->is_packed) pane->left_groups = sf_calloc(windows->alloc, SF_KEY_GROUPS, sizeof *pane->left_groups);
    for (uint32_t i = 0; i < pane->count; i++) {
        const struct sfi_model_row *row = sfi_model_row_at(windows, pane, i);
        if (row->changelog == 0) continue;
        pane->left_count++;
        if (windows->is_packed)
            pane->left_groups[sf_key_group(row->hash)]++;
        else
            pane->left_sum += row->hash;
    }
    free_rows(windows, pane);
    pane->is_compact = true;
}

void sfi_model_windows_settle(struct sfi_model_windows *windows)
{
    for (uint32_t i = 0; i < windows->dirty_count; i++)
        sfi_model_row_at(windows, windows->dirty[i].pane, windows->dirty[i].row)->is_dirty = false;
    windows->dirty_count = 0;
    windows->last = NULL;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < windows->count; i++) {
        struct sfi_model_pane *pane = windows->panes[i];
        if (pane->is_closed && !pane->is_compact) compact(windows, pane);
        if (pane->is_compact && pane->left_count == 0) {
            free_pane(windows, pane);
            continue;
        }
        windows->panes[kept++] = pane;
    }
    windows->count = kept;
}
