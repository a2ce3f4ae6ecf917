/* The packed changelog of a window store: which rows go together, slots, images, and the way back. */
#include "core/state/packed.h"
#include "core/state/window_store_impl.h"

#define RECORD_BYTES_MAX 49152u /* a record is cut here at the latest: a block of an edge takes it whole */
#define LOOK_AHEAD 8u        /* rows: they lie in order of creation, not of key group */
#define IMAGE_SLOTS_MIN 8u   /* fewer slots than this are no reason for an image */

void sfi_packed_init(struct sf_window_store *store, uint32_t record_bytes_max)
{
    store->record_bytes = RECORD_BYTES_MAX;
    if (record_bytes_max == 0 || record_bytes_max >= RECORD_BYTES_MAX) return;
    store->record_bytes = record_bytes_max > SF_PACKED_KEY_BYTES ? record_bytes_max - SF_PACKED_KEY_BYTES : 1;
}

void sfi_packed_deinit(struct sf_window_store *store)
{
    struct sfi_packed_seal *packed = &store->packed;
    sf_free(store->alloc, packed->rows, packed->row_capacity * sizeof *packed->rows);
    sf_free(store->alloc, packed->listed, packed->listed_capacity * sizeof *packed->listed);
    sf_free(store->alloc, packed->works, packed->work_capacity * sizeof *packed->works);
}

/* ------------------------------------------------------------------ units and their undo */

static struct sfi_unit *unit_for_writing(struct sf_window_store *store, struct sfi_pane *pane, uint32_t group)
{
    struct sfi_unit *unit = &pane->units[group];
    if (unit->mark == store->mark) return unit;
    struct sfi_undo *entry = sfi_undo_append(&store->running->log, &store->undo_pool, sizeof *unit);
    *entry = (struct sfi_undo){.pane = pane, .row = group, .kind = SFI_UNDO_UNIT, .extra = sizeof *unit};
    memcpy(entry + 1, unit, sizeof *unit);
    unit->mark = store->mark;
    return unit;
}

/* `live` too: nothing was touched between sealing, which kept the unit, and now; the rows go after this. */
void sfi_packed_undo(struct sfi_pane *pane, const struct sfi_undo *entry)
{
    memcpy(&pane->units[entry->row], entry + 1, sizeof pane->units[0]);
}

/* ------------------------------------------------------------------ sealing: which rows */

static void reserve_rows(struct sf_window_store *store, uint32_t more)
{
    struct sfi_packed_seal *packed = &store->packed;
    if (packed->row_count + more <= packed->row_capacity) return;
    uint32_t capacity = packed->row_capacity == 0 ? 1024 : packed->row_capacity;
    while (capacity < packed->row_count + more) capacity *= 2;
    packed->rows = sf_regrow(store->alloc, packed->rows, packed->row_capacity * sizeof *packed->rows,
                             packed->row_count * sizeof *packed->rows, capacity * sizeof *packed->rows);
    packed->row_capacity = capacity;
}

static void add_work(struct sf_window_store *store, struct sfi_packed_work work)
{
    struct sfi_packed_seal *packed = &store->packed;
    if (packed->work_count == packed->work_capacity) {
        size_t old = packed->work_capacity * sizeof work;
        packed->work_capacity = packed->work_capacity == 0 ? 128 : packed->work_capacity * 2;
        packed->works = sf_regrow(store->alloc, packed->works, old, old, packed->work_capacity * sizeof work);
    }
    packed->works[packed->work_count] = work;
    packed->work_count++;
}

/* Rows of a list, read in its order: the one some places on comes into the cache meanwhile. */
static void look_ahead(const struct sf_window_store *store, const struct sfi_pane *pane, const uint32_t *rows,
                       uint32_t at, uint32_t count)
{
    if (at + LOOK_AHEAD >= count) return;
    const uint8_t *row = (const uint8_t *)sfi_pane_row(&store->pools, pane, rows[at + LOOK_AHEAD]);
    __builtin_prefetch(row);
    __builtin_prefetch(row + store->pools.stride - 1);
}

static uint32_t group_of(const struct sf_window_store *store, const struct sfi_pane *pane, uint32_t row)
{
    return sf_key_group(sfi_pane_row(&store->pools, pane, row)->hash);
}

/* An image costs the unit's live rows and saves what has been written since the last. */
static bool is_image_due(const struct sfi_unit *unit, uint32_t changed)
{
    return unit->next_slot - unit->first_slot >= IMAGE_SLOTS_MIN && unit->since + changed > unit->live;
}

/* What the epoch has changed in one pane, unit by unit; units that are due are written whole. */
static void plan_pane(struct sf_window_store *store, struct sfi_pane *pane)
{
    const uint32_t *changed = store->packed.listed + pane->plan_from;
    uint32_t counts[SF_KEY_GROUPS] = {0}, next[SF_KEY_GROUPS] = {0};
    bool is_image[SF_KEY_GROUPS] = {false}, has_image = false;
    for (uint32_t i = 0; i < pane->plan_count; i++) {
        look_ahead(store, pane, changed, i, pane->plan_count);
        counts[group_of(store, pane, changed[i])]++;
    }
    uint32_t from = store->packed.row_count;
    for (uint32_t group = 0; group < SF_KEY_GROUPS; group++) {
        if (counts[group] == 0) continue;
        is_image[group] = is_image_due(&pane->units[group], counts[group]);
        if (is_image[group]) counts[group] = pane->units[group].live;
        has_image = has_image || is_image[group];
        add_work(store, (struct sfi_packed_work){.pane = pane,
                                                 .group = group,
                                                 .from = from,
                                                 .count = counts[group],
                                                 .is_image = is_image[group]});
        next[group] = from;
        from += counts[group];
    }
    reserve_rows(store, from - store->packed.row_count);
    store->packed.row_count = from;
    for (uint32_t i = 0; i < pane->plan_count; i++) {
        uint32_t group = group_of(store, pane, changed[i]);
        if (!is_image[group]) store->packed.rows[next[group]++] = changed[i];
    }
    for (uint32_t row = 0; has_image && row < pane->count; row++) {
        uint32_t group = group_of(store, pane, row);
        if (is_image[group]) store->packed.rows[next[group]++] = row;
    }
}

/* The panes that the epoch has touched, in order of first touch, each with how many of its rows. */
static struct sfi_pane *list_panes(struct sf_window_store *store, uint32_t *count_out)
{
    struct sfi_pane *first = NULL, **last = &first;
    struct sfi_undo_cursor cursor = sfi_undo_begin(&store->running->log);
    *count_out = 0;
    for (const struct sfi_undo *entry; (entry = sfi_undo_at(&cursor)) != NULL; sfi_undo_next(&cursor, entry)) {
        struct sfi_pane *pane = entry->pane;
        if (pane->detached != 0) continue; /* expired in this very epoch */
        if (pane->planned != store->mark) {
            pane->planned = store->mark;
            pane->plan_count = 0;
            pane->plan_next = NULL;
            *last = pane;
            last = &pane->plan_next;
        }
        pane->plan_count++;
        (*count_out)++;
    }
    return first;
}

void sfi_packed_seal_begin(struct sf_window_store *store)
{
    struct sfi_packed_seal *packed = &store->packed;
    packed->row_count = 0;
    packed->work_count = 0;
    packed->work_at = 0;
    packed->row_at = 0;
    packed->group = 0;
    uint32_t count, from = 0;
    struct sfi_pane *first = list_panes(store, &count);
    if (count > packed->listed_capacity) {
        packed->listed = sf_regrow(store->alloc, packed->listed, packed->listed_capacity * sizeof *packed->listed, 0,
                                   count * sizeof *packed->listed);
        packed->listed_capacity = count;
    }
    for (struct sfi_pane *pane = first; pane != NULL; pane = pane->plan_next) {
        pane->plan_from = from;
        from += pane->plan_count;
        pane->plan_count = 0;
    }
    struct sfi_undo_cursor cursor = sfi_undo_begin(&store->running->log);
    for (const struct sfi_undo *entry; (entry = sfi_undo_at(&cursor)) != NULL; sfi_undo_next(&cursor, entry)) {
        struct sfi_pane *pane = entry->pane;
        if (pane->detached == 0) packed->listed[pane->plan_from + pane->plan_count++] = entry->row;
    }
    for (struct sfi_pane *pane = first; pane != NULL; pane = pane->plan_next) plan_pane(store, pane);
}

/* ------------------------------------------------------------------ sealing: records */

static void set_change(struct sf_window_store *store, const struct sfi_pane *pane, const struct sf_packed_key *key,
                       struct sf_slice value)
{
    store->seal.change = (struct sf_change){.key = {.data = store->packed.key, .len = SF_PACKED_KEY_BYTES},
                                            .value = value,
                                            .hash = key->group,
                                            .ts_ms = pane->start};
}

static void set_null(struct sf_window_store *store, const struct sfi_pane *pane, struct sf_packed_key key)
{
    sf_packed_key_write(store->packed.key, &key);
    set_change(store, pane, &key, (struct sf_slice){0});
}

static void reserve_value(struct sf_window_store *store, size_t bytes)
{
    struct sfi_seal *seal = &store->seal;
    if (seal->value_bytes >= bytes) return;
    sf_free(store->alloc, seal->value, seal->value_bytes);
    seal->value = sf_malloc(store->alloc, bytes);
    seal->value_bytes = bytes;
}

static void pack_rows(struct sf_window_store *store, const struct sfi_packed_work *work, struct sf_packed_key key)
{
    struct sfi_packed_seal *packed = &store->packed;
    struct sf_packed_builder builder;
    const struct sfi_row *row = sfi_pane_row(&store->pools, work->pane, packed->rows[work->from + packed->row_at]);
    uint32_t least = sf_packed_room(row->key_len, SF_PACKED_VALUE_BYTES_MAX);
    uint32_t bytes = least > store->record_bytes ? least : store->record_bytes;
    reserve_value(store, bytes);
    sf_packed_begin(&builder, store->seal.value, bytes);
    while (packed->row_at < work->count) {
        look_ahead(store, work->pane, packed->rows + work->from, packed->row_at, work->count);
        row = sfi_pane_row(&store->pools, work->pane, packed->rows[work->from + packed->row_at]);
        assert(row->ts_ms != SF_TIME_UNSET);
        uint8_t value[SF_PACKED_VALUE_BYTES_MAX];
        uint32_t len = sf_packed_value_write(value, work->pane->start, row->ts_ms, sfi_row_accs(row),
                                             store->acc_count);
        if (!sf_packed_add(&builder, (struct sf_slice){.data = sfi_row_key(row), .len = row->key_len},
                           (struct sf_slice){.data = value, .len = len}))
            break;
        packed->row_at++;
    }
    sf_packed_key_write(packed->key, &key);
    set_change(store, work->pane, &key,
               sf_packed_end(&builder, packed->key, store->schema, store->running->epoch));
}

/* The next record of one unit: its rows, then, behind an image, nulls of what that covers. */
static bool next_of_work(struct sf_window_store *store, struct sfi_packed_work *work)
{
    struct sfi_unit *unit = unit_for_writing(store, work->pane, work->group);
    struct sf_packed_key key = {.start = work->pane->start, .group = work->group};
    if (store->packed.row_at < work->count) {
        if (work->is_image) {
            if (store->packed.row_at == 0) {
                work->slot_until = unit->next_slot;
                work->part_until = unit->part_count;
                unit->part_count = 0;
                unit->since = 0;
            }
            key.kind = SF_PACKED_IMAGE;
            key.slot = unit->part_count++;
        } else {
            key.slot = unit->next_slot++;
            unit->since += work->count - store->packed.row_at;
        }
        uint32_t before = store->packed.row_at;
        pack_rows(store, work, key);
        if (!work->is_image) unit->since -= work->count - store->packed.row_at;
        assert(store->packed.row_at > before);
        return true;
    }
    if (!work->is_image) return false;
    if (unit->first_slot < work->slot_until) {
        key.slot = unit->first_slot++;
        set_null(store, work->pane, key);
        return true;
    }
    if (work->part_until > unit->part_count) {
        key.kind = SF_PACKED_IMAGE;
        key.slot = --work->part_until;
        set_null(store, work->pane, key);
        return true;
    }
    return false;
}

/* Nulls of one unit of an expired pane, part 0 last; false: all of it is said. */
static bool next_of_expired(struct sf_window_store *store, struct sfi_pane *pane, uint32_t group)
{
    struct sfi_unit *unit = &pane->units[group];
    if (unit->next_slot == 0 && unit->part_count == 0) return false; /* the log has never seen it */
    unit = unit_for_writing(store, pane, group);
    struct sf_packed_key key = {.start = pane->start, .group = group};
    if (unit->first_slot < unit->next_slot) {
        key.slot = unit->first_slot++;
    } else {
        key.kind = SF_PACKED_IMAGE;
        key.slot = unit->part_count > 1 ? --unit->part_count : 0;
        if (key.slot == 0) {
            unit->part_count = 0;
            unit->next_slot = 0;
            unit->first_slot = 0;
        }
    }
    set_null(store, pane, key);
    return true;
}

bool sfi_packed_seal_next(struct sf_window_store *store)
{
    struct sfi_packed_seal *packed = &store->packed;
    for (; packed->work_at < packed->work_count; packed->work_at++) {
        if (next_of_work(store, &packed->works[packed->work_at])) return true;
        packed->row_at = 0;
    }
    while (store->seal.expired != NULL) {
        for (; packed->group < SF_KEY_GROUPS; packed->group++)
            if (next_of_expired(store, store->seal.expired, packed->group)) return true;
        store->seal.expired = store->seal.expired->next;
        packed->group = 0;
    }
    return false;
}

/* ------------------------------------------------------------------ restore */

/* Rows of a key group go; the pane stays, even without rows. */
static void clear_group(struct sf_window_store *store, struct sfi_pane *pane, uint32_t group)
{
    for (uint32_t row = pane->count; row-- > 0 && pane->units[group].live > 0;) {
        if (group_of(store, pane, row) != group) continue;
        sfi_pane_remove(&store->pools, pane, row);
        store->row_count--;
    }
}

static void drop_if_empty(struct sf_window_store *store, struct sfi_pane *pane)
{
    if (pane->count > 0) return;
    sfi_window_pane_detach(store, pane);
    sfi_window_pane_free(store, pane);
}

/* Nulls of slots come in rising order, those of parts in falling order. */
static void restore_null(struct sf_window_store *store, const struct sf_packed_key *key)
{
    struct sfi_pane *pane = sfi_window_pane(store, key->start);
    if (pane == NULL) return;
    struct sfi_unit *unit = &pane->units[key->group];
    if (key->kind == SF_PACKED_ENTRIES) {
        if (unit->first_slot < unit->next_slot && key->slot == unit->first_slot) unit->first_slot++;
    } else if (key->slot > 0) {
        if (key->slot + 1 == unit->part_count) unit->part_count--;
    } else {
        clear_group(store, pane, key->group);
        *unit = (struct sfi_unit){0};
        drop_if_empty(store, pane);
    }
}

/* Every entry is looked at before any is applied. */
static enum sf_status check_entries(struct sf_window_store *store, const struct sf_packed_key *key,
                                    struct sf_packed_reader reader, uint32_t *count_out, const char **reason_out)
{
    struct sf_slice record_key, value;
    enum sf_status status;
    *count_out = 0;
    while ((status = sf_packed_next(&reader, &record_key, &value, reason_out)) == SF_OK) {
        int64_t ts_ms;
        status = sf_packed_value_read(value, key->start, &ts_ms, store->scratch, store->acc_count, reason_out);
        if (status != SF_OK) return status;
        if (sf_key_group(sf_hash64(record_key.data, record_key.len)) != key->group) {
            *reason_out = "an entry of another key group";
            return SF_E_CORRUPT;
        }
        (*count_out)++;
    }
    return status == SF_END ? SF_OK : status;
}

/* That the log holds the record. What an image covers stays noted until its null says that it is gone: where a
 * changelog is written without a transaction (B10), the log may end between the two. */
static void note_record(struct sfi_unit *unit, const struct sf_packed_key *key, uint32_t count)
{
    if (key->kind == SF_PACKED_IMAGE) {
        if (unit->part_count <= key->slot) unit->part_count = key->slot + 1;
        return;
    }
    if (unit->first_slot == unit->next_slot) {
        unit->first_slot = key->slot;
        unit->next_slot = key->slot;
    }
    if (unit->next_slot <= key->slot) unit->next_slot = key->slot + 1;
    unit->since += count;
}

enum sf_status sfi_packed_restore_trace(struct sf_window_store *store, const struct sf_packed_key *key,
                                        uint32_t entry_count, const char **reason_out)
{
    struct sfi_pane *pane = sfi_window_pane(store, key->start);
    if (pane == NULL || pane->units[key->group].live == 0) {
        *reason_out = "the trace of a unit that has no rows";
        return SF_E_CORRUPT;
    }
    note_record(&pane->units[key->group], key, entry_count);
    return SF_OK;
}

enum sf_status sfi_packed_restore(struct sf_window_store *store, struct sf_slice key, struct sf_slice value,
                                  const char **reason_out)
{
    struct sf_packed_key at;
    enum sf_status status = sf_packed_key_read(key, &at, reason_out);
    if (status != SF_OK) return status;
    if (at.start % store->step->window.size_ms != 0) {
        *reason_out = "window start in the key is none of these windows";
        return SF_E_CORRUPT;
    }
    if (value.data == NULL) {
        restore_null(store, &at);
        return SF_OK;
    }
    struct sf_packed_reader reader;
    uint32_t count;
    status = sf_packed_open(&reader, key, value, reason_out);
    if (status != SF_OK) return status;
    if (reader.schema != store->schema) {
        *reason_out = "written by an aggregate with other fields";
        return SF_E_CORRUPT;
    }
    status = check_entries(store, &at, reader, &count, reason_out);
    if (status != SF_OK) return status;
    struct sfi_pane *pane = sfi_window_pane(store, at.start);
    if (pane == NULL) pane = sfi_window_pane_make(store, at.start);
    if (at.kind == SF_PACKED_IMAGE && at.slot == 0) pane->units[at.group].since = 0;
    note_record(&pane->units[at.group], &at, count);
    struct sf_slice record_key, row;
    while (sf_packed_next(&reader, &record_key, &row, reason_out) == SF_OK) {
        int64_t ts_ms;
        status = sf_packed_value_read(row, at.start, &ts_ms, store->scratch, store->acc_count, reason_out);
        assert(status == SF_OK);
        sfi_window_restore_put(store, at.start, record_key, ts_ms);
    }
    drop_if_empty(store, pane);
    return SF_OK;
}
