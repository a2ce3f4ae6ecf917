#include "core/state/local_batch.h"

#include "core/bytes.h"
#include "core/state/local_layout.h"
#include "core/state/packed.h"

void sfi_local_batch_init(struct sfi_local_batch *batch, struct sf_alloc alloc)
{
    memset(batch, 0, sizeof *batch);
    batch->alloc = alloc;
    batch->group_at = SF_KEY_GROUPS;
}

static void free_chunks(struct sfi_local_batch *batch, struct sfi_local_chunk *chunk)
{
    while (chunk != NULL) {
        struct sfi_local_chunk *next = chunk->next;
        batch->bytes -= chunk->bytes;
        sf_free(batch->alloc, chunk, chunk->bytes);
        chunk = next;
    }
}

static void free_window(struct sfi_local_batch *batch, struct sfi_local_window *window)
{
    free_chunks(batch, window->chunks);
    size_t bytes = window->capacity * sizeof(struct sfi_local_entry);
    sf_free(batch->alloc, window->entries, bytes);
    batch->bytes -= bytes;
    batch->entry_count -= window->count;
}

void sfi_local_batch_deinit(struct sfi_local_batch *batch)
{
    free_chunks(batch, batch->chunks);
    for (uint32_t i = 0; i < batch->window_count; i++) free_window(batch, &batch->windows[i]);
    sf_free(batch->alloc, batch->windows, batch->window_capacity * sizeof *batch->windows);
    sf_free(batch->alloc, batch->spread, batch->spread_capacity * sizeof *batch->spread);
    sf_free(batch->alloc, batch->rows, batch->row_capacity * sizeof *batch->rows);
    sf_free(batch->alloc, batch->scratch, batch->scratch_capacity * sizeof *batch->scratch);
    sf_free(batch->alloc, batch->ops, batch->op_capacity * sizeof *batch->ops);
    sfi_local_batch_init(batch, batch->alloc);
}

static uint8_t *take(struct sfi_local_batch *batch, struct sfi_local_chunk **chunks, size_t bytes)
{
    struct sfi_local_chunk *chunk = *chunks;
    if (chunk == NULL || chunk->bytes - sizeof *chunk - chunk->used < bytes) {
        size_t whole = chunk == NULL ? SFI_LOCAL_CHUNK_BYTES_MIN : 2 * chunk->bytes;
        if (whole > SFI_LOCAL_CHUNK_BYTES) whole = SFI_LOCAL_CHUNK_BYTES;
        if (whole < sizeof *chunk + bytes) whole = sizeof *chunk + bytes;
        chunk = sf_malloc(batch->alloc, whole);
        *chunk = (struct sfi_local_chunk){.next = *chunks, .bytes = whole};
        *chunks = chunk;
        batch->bytes += whole;
    }
    uint8_t *taken = chunk->data + chunk->used;
    chunk->used += bytes;
    return taken;
}

uint8_t *sfi_local_batch_take(struct sfi_local_batch *batch, size_t bytes)
{
    return take(batch, &batch->chunks, bytes);
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

static uint8_t *append(struct sfi_local_batch *batch, struct sfi_local_window *window, struct sfi_local_entry entry)
{
    if (window->count == window->capacity) {
        size_t old = window->capacity * sizeof entry;
        window->capacity = window->capacity == 0 ? 16 : window->capacity * 2;
        window->entries = sf_regrow(batch->alloc, window->entries, old, old, window->capacity * sizeof entry);
        batch->bytes += window->capacity * sizeof entry - old;
    }
    uint8_t *bytes = take(batch, &window->chunks, (size_t)entry.key_len + entry.value_len);
    entry.bytes = bytes;
    window->entries[window->count] = entry;
    window->count++;
    batch->entry_count++;
    return bytes;
}

uint8_t *sfi_local_batch_put(struct sfi_local_batch *batch, uint32_t store, int64_t start, uint32_t group,
                             struct sfi_local_entry entry)
{
    struct sfi_local_window *window = window_of(batch, store, start);
    window->live[group / 64] |= UINT64_C(1) << group % 64;
    return append(batch, window, entry);
}

uint8_t *sfi_local_batch_clear(struct sfi_local_batch *batch, uint32_t store, int64_t start, uint32_t group,
                               bool can_go)
{
    struct sfi_local_window *window = window_of(batch, store, start);
    uint64_t live = 0;
    window->live[group / 64] &= ~(UINT64_C(1) << group % 64);
    for (uint32_t i = 0; i < SF_KEY_GROUPS / 64; i++) live |= window->live[i];
    if (live != 0 || !can_go)
        return append(batch, window,
                      (struct sfi_local_entry){.kind = SFI_ENTRY_CLEAR, .key_len = SF_LOCAL_UNIT_BYTES});
    free_window(batch, window);
    uint32_t at = (uint32_t)(window - batch->windows);
    memmove(window, window + 1, (batch->window_count - at - 1) * sizeof *window);
    batch->window_count--;
    batch->window_last = 0;
    return NULL;
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
    return entry->bytes[SF_LOCAL_UNIT_BYTES - 1];
}

/* Counting sort by key group; the order of putting stays within a group. */
static void spread(struct sfi_local_batch *batch, const struct sfi_local_window *window)
{
    if (batch->spread_capacity < window->count) {
        batch->spread = sf_regrow(batch->alloc, batch->spread, batch->spread_capacity * sizeof *batch->spread, 0,
                                  window->count * sizeof *batch->spread);
        batch->spread_capacity = window->count;
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
    int order =
        memcmp(a->bytes + SF_LOCAL_UNIT_BYTES, b->bytes + SF_LOCAL_UNIT_BYTES, least - SF_LOCAL_UNIT_BYTES);
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

static void add_row(struct sfi_local_batch *batch, struct sfi_local_entry row)
{
    if (batch->row_count == batch->row_capacity) {
        size_t old = batch->row_capacity * sizeof row;
        batch->row_capacity = batch->row_capacity == 0 ? 256 : batch->row_capacity * 2;
        batch->rows = sf_regrow(batch->alloc, batch->rows, old, old, batch->row_capacity * sizeof row);
    }
    batch->rows[batch->row_count] = row;
    batch->row_count++;
}

static void add_put(struct sfi_local_batch *batch, uint8_t *bytes, uint32_t key_len, uint32_t value_len)
{
    add_row(batch, (struct sfi_local_entry){
                       .bytes = bytes, .key_len = key_len & SFI_ENTRY_KEY_LEN_MAX, .value_len = value_len});
}

/* Its rows, and its trace. */
static void unpack(struct sfi_local_batch *batch, const struct sfi_local_window *window, uint32_t group,
                   const struct sfi_local_entry *entry)
{
    struct sf_packed_reader reader;
    struct sf_slice key, value;
    const char *reason;
    enum sf_status status;
    sf_packed_resume(&reader, (struct sf_slice){.data = entry->bytes + entry->key_len, .len = entry->value_len});
    uint8_t *trace = sfi_local_batch_take(batch, SF_LOCAL_TRACE_KEY_BYTES + SF_LOCAL_TRACE_BYTES);
    memcpy(trace, entry->bytes, SF_LOCAL_TRACE_KEY_BYTES);
    sf_put_be32(trace + SF_LOCAL_TRACE_KEY_BYTES, reader.left);
    add_put(batch, trace, SF_LOCAL_TRACE_KEY_BYTES, SF_LOCAL_TRACE_BYTES);
    while ((status = sf_packed_next(&reader, &key, &value, &reason)) == SF_OK) {
        uint32_t key_len = SF_LOCAL_ROW_HEAD_BYTES + key.len;
        uint8_t *bytes = sfi_local_batch_take(batch, (size_t)key_len + value.len);
        (void)sf_local_row_key_write(bytes, window->store, window->start, group, key.data, key.len);
        memcpy(bytes + key_len, value.data, value.len);
        add_put(batch, bytes, key_len, value.len);
    }
    assert(status == SF_END); /* it was whole when it was put */
}

/* The entries of one key group behind its last clear, unpacked, in `rows`; whether there is a clear. */
static bool gather(struct sfi_local_batch *batch, const struct sfi_local_window *window, uint32_t group)
{
    uint32_t from = batch->group_from[group], until = batch->group_from[group + 1];
    bool is_cleared = false;
    for (uint32_t i = from; i < until; i++) {
        if (batch->spread[i].kind != SFI_ENTRY_CLEAR) continue;
        from = i + 1;
        is_cleared = true;
    }
    batch->row_count = 0;
    for (uint32_t i = from; i < until; i++) {
        if (batch->spread[i].kind == SFI_ENTRY_PACKED) unpack(batch, window, group, &batch->spread[i]);
        else add_row(batch, batch->spread[i]);
    }
    if (batch->scratch_capacity < batch->row_capacity) {
        batch->scratch = sf_regrow(batch->alloc, batch->scratch, batch->scratch_capacity * sizeof *batch->scratch, 0,
                                   batch->row_capacity * sizeof *batch->scratch);
        batch->scratch_capacity = batch->row_capacity;
    }
    return is_cleared;
}

/* One key group of a window; whether any row of it was put. */
static bool make_group(struct sfi_local_batch *batch, const struct sfi_local_window *window, uint32_t group,
                       bool can_be_stored)
{
    bool is_cleared = gather(batch, window, group), is_put = false;
    if (is_cleared && can_be_stored) clear_group(batch, window, group);
    const struct sfi_local_entry *sorted = sort(batch->rows, batch->scratch, batch->row_count);
    for (uint32_t i = 0; i < batch->row_count; i++) {
        const struct sfi_local_entry *entry = &sorted[i];
        if (i + 1 < batch->row_count && compare(entry, entry + 1) == 0) continue; /* overwritten later */
        if (entry->kind != SFI_ENTRY_DELETE) {
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
