#include "core/state/local_batch.h"

#include "core/state/local_layout.h"

void sfi_local_batch_init(struct sfi_local_batch *batch, struct sf_alloc alloc)
{
    memset(batch, 0, sizeof *batch);
    batch->alloc = alloc;
    batch->group_at = SF_KEY_GROUPS;
}

void sfi_local_batch_deinit(struct sfi_local_batch *batch)
{
    while (batch->chunks != NULL) {
        struct sfi_local_chunk *chunk = batch->chunks;
        batch->chunks = chunk->next;
        sf_free(batch->alloc, chunk, chunk->bytes);
    }
    for (uint32_t i = 0; i < batch->window_count; i++)
        sf_free(batch->alloc, batch->windows[i].entries, batch->windows[i].capacity * sizeof(struct sfi_local_entry));
    sf_free(batch->alloc, batch->windows, batch->window_capacity * sizeof *batch->windows);
    sf_free(batch->alloc, batch->spread, batch->scratch_capacity * sizeof *batch->spread);
    sf_free(batch->alloc, batch->scratch, batch->scratch_capacity * sizeof *batch->scratch);
    sf_free(batch->alloc, batch->ops, batch->op_capacity * sizeof *batch->ops);
    sfi_local_batch_init(batch, batch->alloc);
}

uint8_t *sfi_local_batch_take(struct sfi_local_batch *batch, size_t bytes)
{
    struct sfi_local_chunk *chunk = batch->chunks;
    if (chunk == NULL || chunk->bytes - sizeof *chunk - chunk->used < bytes) {
        size_t whole = sizeof *chunk + bytes;
        if (whole < SFI_LOCAL_CHUNK_BYTES) whole = SFI_LOCAL_CHUNK_BYTES;
        chunk = sf_malloc(batch->alloc, whole);
        *chunk = (struct sfi_local_chunk){.next = batch->chunks, .bytes = whole};
        batch->chunks = chunk;
        batch->bytes += whole;
    }
    uint8_t *taken = chunk->data + chunk->used;
    chunk->used += bytes;
    return taken;
}

/* ------------------------------------------------------------------ gathering */

static bool is_before(const struct sfi_local_window *window, uint32_t store, int64_t start)
{
    return window->store != store ? window->store < store : window->start < start;
}

static struct sfi_local_window *window_of(struct sfi_local_batch *batch, uint32_t store, int64_t start)
{
    if (batch->window_last < batch->window_count) {
        struct sfi_local_window *last = &batch->windows[batch->window_last];
        if (last->store == store && last->start == start) return last;
    }
    uint32_t low = 0, high = batch->window_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (is_before(&batch->windows[middle], store, start)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    batch->window_last = low;
    struct sfi_local_window *window = batch->windows + low;
    if (low < batch->window_count && window->store == store && window->start == start) return window;
    if (batch->window_count == batch->window_capacity) {
        size_t old = batch->window_capacity * sizeof *batch->windows;
        batch->window_capacity = batch->window_capacity == 0 ? 16 : batch->window_capacity * 2;
        batch->windows =
            sf_regrow(batch->alloc, batch->windows, old, old, batch->window_capacity * sizeof *batch->windows);
    }
    window = batch->windows + low;
    memmove(window + 1, window, (batch->window_count - low) * sizeof *window);
    batch->window_count++;
    *window = (struct sfi_local_window){.store = store, .start = start};
    return window;
}

void sfi_local_batch_put(struct sfi_local_batch *batch, uint32_t store, int64_t start, struct sfi_local_entry entry)
{
    struct sfi_local_window *window = window_of(batch, store, start);
    if (window->count == window->capacity) {
        size_t old = window->capacity * sizeof entry;
        window->capacity = window->capacity == 0 ? 16 : window->capacity * 2;
        window->entries = sf_regrow(batch->alloc, window->entries, old, old, window->capacity * sizeof entry);
        batch->bytes += window->capacity * sizeof entry - old;
    }
    window->entries[window->count] = entry;
    window->count++;
    batch->entry_count++;
}

/* ------------------------------------------------------------------ making */

void sfi_local_batch_op(struct sfi_local_batch *batch, struct sf_store_op op)
{
    if (batch->op_count == batch->op_capacity) {
        size_t old = batch->op_capacity * sizeof op;
        batch->op_capacity = batch->op_capacity == 0 ? 256 : batch->op_capacity * 2;
        batch->ops = sf_regrow(batch->alloc, batch->ops, old, old, batch->op_capacity * sizeof op);
    }
    batch->ops[batch->op_count] = op;
    batch->op_count++;
}

static uint32_t group_of(const struct sfi_local_entry *entry)
{
    return entry->bytes[SF_LOCAL_ROW_HEAD_BYTES - 1];
}

/* Counting sort by key group; the order of putting stays within a group. */
static void spread(struct sfi_local_batch *batch, const struct sfi_local_window *window)
{
    if (batch->scratch_capacity < window->count) {
        size_t old = batch->scratch_capacity * sizeof *batch->spread, grown = window->count * sizeof *batch->spread;
        batch->spread = sf_regrow(batch->alloc, batch->spread, old, 0, grown);
        batch->scratch = sf_regrow(batch->alloc, batch->scratch, old, 0, grown);
        batch->scratch_capacity = window->count;
    }
    uint32_t next[SF_KEY_GROUPS] = {0}, from = 0;
    for (uint32_t i = 0; i < window->count; i++) next[group_of(&window->entries[i])]++;
    for (uint32_t group = 0; group < SF_KEY_GROUPS; group++) {
        uint32_t count = next[group];
        batch->group_from[group] = from;
        next[group] = from;
        from += count;
    }
    batch->group_from[SF_KEY_GROUPS] = from;
    for (uint32_t i = 0; i < window->count; i++) {
        uint32_t group = group_of(&window->entries[i]);
        batch->spread[next[group]] = window->entries[i];
        next[group]++;
    }
}

static int compare(const struct sfi_local_entry *a, const struct sfi_local_entry *b)
{
    uint32_t least = a->key_len < b->key_len ? a->key_len : b->key_len;
    int order = memcmp(a->bytes + SF_LOCAL_ROW_HEAD_BYTES, b->bytes + SF_LOCAL_ROW_HEAD_BYTES,
                       least - SF_LOCAL_ROW_HEAD_BYTES);
    if (order != 0) return order;
    return a->key_len < b->key_len ? -1 : a->key_len > b->key_len;
}

static void merge_runs(const struct sfi_local_entry *from, struct sfi_local_entry *to, uint32_t left, uint32_t right,
                       uint32_t end)
{
    uint32_t a = left, b = right;
    for (uint32_t at = left; at < end; at++) {
        bool take_a = a < right && (b == end || compare(&from[a], &from[b]) <= 0);
        to[at] = take_a ? from[a++] : from[b++];
    }
}

/* Stable; the sorted entries stand in the returned array, `entries` or `scratch`. */
static struct sfi_local_entry *sort(struct sfi_local_entry *entries, struct sfi_local_entry *scratch, uint32_t count)
{
    for (uint32_t width = 1; width < count; width *= 2) {
        for (uint32_t left = 0; left < count; left += 2 * width) {
            uint32_t right = count - left > width ? left + width : count;
            uint32_t end = count - left > 2 * width ? left + 2 * width : count;
            merge_runs(entries, scratch, left, right, end);
        }
        struct sfi_local_entry *swap = entries;
        entries = scratch;
        scratch = swap;
    }
    return entries;
}

static struct sf_store_slice slice(const uint8_t *data, uint32_t len)
{
    return (struct sf_store_slice){.data = data, .len = len};
}

static void clear_group(struct sfi_local_batch *batch, const struct sfi_local_window *window, uint32_t group)
{
    struct sf_local_range range = sf_local_group_range(window->store, window->start, group);
    uint8_t *ends = sfi_local_batch_take(batch, 2 * (size_t)range.len);
    memcpy(ends, range.from, range.len);
    memcpy(ends + range.len, range.until, range.len);
    sfi_local_batch_op(batch, (struct sf_store_op){.kind = SF_STORE_DELETE_RANGE,
                                             .key = slice(ends, range.len),
                                             .value = slice(ends + range.len, range.len)});
}

/* One key group of a window; whether any row of it was put. */
static bool make_group(struct sfi_local_batch *batch, const struct sfi_local_window *window, uint32_t group,
                       bool can_be_stored)
{
    uint32_t from = batch->group_from[group], until = batch->group_from[group + 1];
    bool is_cleared = false, is_put = false;
    for (uint32_t i = from; i < until; i++) {
        if (batch->spread[i].value_len != SFI_ENTRY_CLEAR) continue;
        from = i + 1;
        is_cleared = true;
    }
    if (is_cleared && can_be_stored) clear_group(batch, window, group);
    const struct sfi_local_entry *sorted = sort(batch->spread + from, batch->scratch + from, until - from);
    for (uint32_t i = 0; i < until - from; i++) {
        const struct sfi_local_entry *entry = &sorted[i];
        if (i + 1 < until - from && compare(entry, entry + 1) == 0) continue; /* overwritten later */
        if (entry->value_len != SFI_ENTRY_DELETE) {
            sfi_local_batch_op(batch, (struct sf_store_op){.kind = SF_STORE_PUT,
                                                     .key = slice(entry->bytes, entry->key_len),
                                                     .value = slice(entry->bytes + entry->key_len, entry->value_len)});
            is_put = true;
        } else if (can_be_stored && !is_cleared) {
            sfi_local_batch_op(batch, (struct sf_store_op){.kind = SF_STORE_DELETE,
                                                     .key = slice(entry->bytes, entry->key_len)});
        }
    }
    return is_put;
}

bool sfi_local_batch_make(struct sfi_local_batch *batch, int64_t *written_max, uint32_t budget, uint32_t *used_out)
{
    uint32_t used = 0;
    while (batch->window_at < batch->window_count) {
        const struct sfi_local_window *window = &batch->windows[batch->window_at];
        if (batch->group_at == SF_KEY_GROUPS) {
            spread(batch, window);
            batch->group_at = 0;
            batch->is_put = false;
        }
        while (batch->group_at < SF_KEY_GROUPS) {
            uint32_t group = batch->group_at;
            if (batch->group_from[group] == batch->group_from[group + 1]) {
                batch->group_at++;
                continue;
            }
            if (used == budget) {
                *used_out = used;
                return false;
            }
            used++;
            batch->group_at++;
            if (make_group(batch, window, group, window->start <= written_max[window->store])) batch->is_put = true;
        }
        if (batch->is_put && window->start > written_max[window->store]) written_max[window->store] = window->start;
        batch->group_at = SF_KEY_GROUPS;
        batch->window_at++;
    }
    *used_out = used;
    return true;
}
