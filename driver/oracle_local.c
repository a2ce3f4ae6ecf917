/*
 * X9: the local store against the model. What a restart would make of the store (its rows, and behind the positions
 * that it claims what the changelogs hold) is, row by row, what the model says that they hold at the cut.
 *
 *     store      [0,10) a {n: 2}   [10,20) a {n: 1}   counts-changelog/0 @7
 *     changelog  … 6: [0,10) a {n: 2} | 7: [10,20) a {n: 4}   8: [0,10) a gone      (committed; the position is 7)
 *     model      [10,20) a {n: 4}
 *
 * So a row that is missing, stale or too early, a position ahead of its rows, and a row of an epoch that did not commit
 * all show. The layout (docs/formats.md) is read by a decoder of our own.
 *
 * When: where a process ends, however it does, as its disk is then; and where the store has been written, once as much
 * has changed since the last look as the store then held, so that looking costs O(1) per change.
 */
#include <string.h>

#include "core/bytes.h"
#include "core/hash.h"
#include "driver/oracle_parts.h"

#define STORE_NAME "state"
#define VERSION 2u
#define HEAD_BYTES 12u /* store, window start, key group, row or trace */
#define TRACE_BYTES 17u
#define META 0xffffu

struct entry {
    uint64_t id;         /* of step, window and key; 0: free */
    uint64_t value_hash; /* 0: gone */
    uint64_t key_hash;
    int64_t start;
    uint64_t put;        /* what came when */
    uint32_t step;
    bool is_met;         /* the model has it */
};

/* When the rows of a unit (window and key group) were cleared last. */
struct unit {
    uint64_t id;
    uint64_t cleared;
};

struct position {
    uint32_t step;
    int32_t partition;
    int64_t offset;
};

struct local {
    struct sfi_oracle *oracle;
    struct entry *entries; /* open addressing, capacity a power of two */
    uint32_t count;
    uint32_t capacity;
    struct unit *units;
    uint32_t unit_count;
    uint32_t unit_capacity;
    struct position *positions;
    uint32_t position_count;
    uint32_t position_capacity;
    uint64_t clock; /* of puts and clears */
    uint32_t row_count; /* of the store itself */
};

/* ---------------------------------------------------------------- words */

static void add_window(struct sf_text *text, const struct sfi_oracle *oracle, uint32_t step, int64_t start)
{
    sf_text_add(text, "local store, rows of ");
    sf_text_add(text, oracle->world.topology->steps[step].store.name);
    sf_text_add(text, ", window ");
    sf_text_add_int(text, start);
}

static void say_layout(struct sfi_oracle *oracle, const char *expected)
{
    sfi_oracle_say(oracle, "X9", "local store (docs/formats.md)", expected, "something else");
}

/* The model's row in words. */
static void say_row(struct sfi_oracle *oracle, uint32_t index, const struct sfi_model_pane *pane,
                    struct sfi_model_row *row, const char *actual)
{
    const struct sfi_model_step *step = &oracle->model.steps[index];
    char subject[SF_DRIVER_SUBJECT_BYTES], expected[SF_DRIVER_VALUE_BYTES], value[SF_DRIVER_VALUE_BYTES];
    struct sf_text text;
    sf_text_init(&text, subject, sizeof subject);
    add_window(&text, oracle, index, pane->start);
    sf_text_add(&text, ", key ");
    sf_text_add_json(&text, (const char *)row->key, row->key_len);
    sf_text_add(&text, ", with the changelog behind it");
    size_t len = sfi_model_row_text(&step->aggregates, row->ts_ms, sfi_model_row_numbers(row), value, sizeof value);
    sf_text_init(&text, expected, sizeof expected);
    if (len > 8 && len <= sizeof value) {
        sf_text_add(&text, "time ");
        sf_text_add_int(&text, (int64_t)sf_get_be64((const uint8_t *)value));
        sf_text_add(&text, " ");
        sf_text_add_bytes(&text, value + 8, len - 8);
    }
    sfi_oracle_say(oracle, "X9", subject, expected, actual);
}

static void say_window(struct sfi_oracle *oracle, uint32_t step, int64_t start, uint64_t expected, uint64_t actual)
{
    char subject[SF_DRIVER_SUBJECT_BYTES], words[2][SF_TEXT_INT_BYTES];
    struct sf_text text;
    sf_text_init(&text, subject, sizeof subject);
    add_window(&text, oracle, step, start);
    sf_text_add(&text, ", with the changelog behind it; how many");
    sfi_oracle_say(oracle, "X9", subject, sf_text_of_int(words[0], (int64_t)expected),
                   sf_text_of_int(words[1], (int64_t)actual));
}

/* ---------------------------------------------------------------- rows */

static uint64_t mix(uint64_t a, uint64_t b)
{
    a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
    return a ^ a >> 31;
}

static uint64_t nonzero(uint64_t hash)
{
    return hash != 0 ? hash : 1;
}

static struct entry *slot_of(struct entry *entries, uint32_t capacity, uint64_t id)
{
    uint32_t at = (uint32_t)(id >> 13) & (capacity - 1);
    while (entries[at].id != 0 && entries[at].id != id) at = (at + 1) & (capacity - 1);
    return &entries[at];
}

static void grow(struct local *local)
{
    uint32_t capacity = local->capacity == 0 ? 256 : local->capacity * 2;
    struct entry *grown = sf_calloc(local->oracle->alloc, capacity, sizeof *grown);
    for (uint32_t i = 0; i < local->capacity; i++)
        if (local->entries[i].id != 0) *slot_of(grown, capacity, local->entries[i].id) = local->entries[i];
    sf_cfree(local->oracle->alloc, local->entries, local->capacity, sizeof *grown);
    local->entries = grown;
    local->capacity = capacity;
}

static uint64_t id_of(uint32_t step, int64_t start, uint64_t key_hash)
{
    return nonzero(mix(mix(key_hash, (uint64_t)start), step + 1));
}

static void put(struct local *local, uint32_t step, int64_t start, uint64_t key_hash, uint64_t value_hash)
{
    if ((local->count + 1) * 2 > local->capacity) grow(local);
    uint64_t id = id_of(step, start, key_hash);
    struct entry *entry = slot_of(local->entries, local->capacity, id);
    if (entry->id == 0) local->count++;
    *entry = (struct entry){.id = id, .value_hash = value_hash, .key_hash = key_hash, .start = start,
                            .put = ++local->clock, .step = step};
}

static struct unit *unit_slot(struct unit *units, uint32_t capacity, uint64_t id)
{
    uint32_t at = (uint32_t)(id >> 13) & (capacity - 1);
    while (units[at].id != 0 && units[at].id != id) at = (at + 1) & (capacity - 1);
    return &units[at];
}

static uint64_t unit_of(uint32_t step, int64_t start, uint32_t group)
{
    return nonzero(mix(mix(group + 1, (uint64_t)start), step + 1));
}

static void clear_unit(struct local *local, uint32_t step, int64_t start, uint32_t group)
{
    if ((local->unit_count + 1) * 2 > local->unit_capacity) {
        uint32_t capacity = local->unit_capacity == 0 ? 64 : local->unit_capacity * 2;
        struct unit *grown = sf_calloc(local->oracle->alloc, capacity, sizeof *grown);
        for (uint32_t i = 0; i < local->unit_capacity; i++)
            if (local->units[i].id != 0) *unit_slot(grown, capacity, local->units[i].id) = local->units[i];
        sf_cfree(local->oracle->alloc, local->units, local->unit_capacity, sizeof *grown);
        local->units = grown;
        local->unit_capacity = capacity;
    }
    struct unit *unit = unit_slot(local->units, local->unit_capacity, unit_of(step, start, group));
    if (unit->id == 0) local->unit_count++;
    *unit = (struct unit){unit_of(step, start, group), ++local->clock};
}

static bool is_there(const struct local *local, const struct entry *entry)
{
    if (entry->id == 0 || entry->value_hash == 0) return false;
    if (local->unit_capacity == 0) return true;
    uint64_t id = unit_of(entry->step, entry->start, sf_key_group(entry->key_hash));
    const struct unit *unit = unit_slot(local->units, local->unit_capacity, id);
    return unit->id == 0 || unit->cleared < entry->put;
}

/* ---------------------------------------------------------------- the store */

static uint32_t step_of_topic(const struct sfi_oracle *oracle, const char *topic, size_t len)
{
    const struct sf_topology *topology = oracle->world.topology;
    char name[SF_SIM_STORE_NAME_BYTES * 2];
    for (uint32_t i = 0; i < topology->step_count; i++) {
        struct sf_text text;
        if (topology->steps[i].kind != SF_STEP_AGGREGATE) continue;
        sf_text_init(&text, name, sizeof name);
        sf_text_add(&text, topology->application_id);
        sf_text_add(&text, "-");
        sf_text_add(&text, topology->steps[i].store.name);
        sf_text_add(&text, "-changelog");
        if (strlen(name) == len && memcmp(name, topic, len) == 0) return i;
    }
    return SFI_ORACLE_NONE;
}

/* FF FF "pos" topic 00 partition be32 -> offset be64 */
static bool take_position(struct local *local, struct sf_store_slice key, struct sf_store_slice value)
{
    const uint8_t *name = key.data + 5;
    const uint8_t *end = key.len > 9 ? memchr(name, 0, key.len - 5) : NULL;
    if (end == NULL || key.data + key.len - end != 5 || value.len != 8) return false;
    struct position position = {.step = step_of_topic(local->oracle, (const char *)name, (size_t)(end - name)),
                                .partition = (int32_t)sf_get_be32(end + 1),
                                .offset = (int64_t)sf_get_be64(value.data)};
    if (position.step == SFI_ORACLE_NONE) return false;
    if (local->position_count == local->position_capacity) {
        uint32_t capacity = local->position_capacity == 0 ? 16 : local->position_capacity * 2;
        size_t item = sizeof position;
        local->positions = sf_regrow(local->oracle->alloc, local->positions, local->position_capacity * item,
                                     local->position_count * item, capacity * item);
        local->position_capacity = capacity;
    }
    local->positions[local->position_count++] = position;
    return true;
}

static bool take_meta(struct local *local, struct sf_store_slice key, struct sf_store_slice value)
{
    if (key.len == 8 && memcmp(key.data + 2, "format", 6) == 0) return value.len == 9 && value.data[0] == VERSION;
    return key.len > 5 && memcmp(key.data + 2, "pos", 3) == 0 && take_position(local, key, value);
}

/* … 01 | kind u8 | slot be32 -> count be32: the changelog holds that record of the unit */
static bool is_trace(const struct local *local, struct sf_store_slice key, struct sf_store_slice value)
{
    return local->oracle->world.topology->settings.is_changelog_packed && key.len == TRACE_BYTES &&
           key.data[10] < SF_KEY_GROUPS && key.data[12] <= 1 && value.len == 4;
}

/* store be16 | window start be64 | key group u8 | 00 | record key -> the changelog's value */
static bool take_row(struct local *local, struct sf_store_slice key, struct sf_store_slice value)
{
    uint32_t step = sf_get_be16(key.data);
    const struct sf_topology *topology = local->oracle->world.topology;
    if (key.len < HEAD_BYTES || step >= topology->step_count) return false;
    uint64_t start = sf_get_be64(key.data + 2);
    uint64_t hash = sf_hash64(key.data + HEAD_BYTES, key.len - HEAD_BYTES);
    if (topology->steps[step].kind != SF_STEP_AGGREGATE || start > INT64_MAX) return false;
    if (key.data[11] != 0) return key.data[11] == 1 && is_trace(local, key, value);
    if (key.data[10] != sf_key_group(hash)) return false;
    uint64_t value_hash = nonzero(sf_hash64(value.data, value.len));
    struct sf_slice packed = {.data = value.data, .len = value.len};
    if (topology->settings.is_changelog_packed &&
        !sfi_oracle_packed_value_hash(local->oracle, step, (int64_t)start, packed, &value_hash))
        return false;
    local->row_count++;
    put(local, step, (int64_t)start, hash, value_hash);
    return true;
}

static void on_row(void *ctx, struct sf_store_slice key, struct sf_store_slice value)
{
    struct local *local = ctx;
    if (local->oracle->is_broken) return;
    bool is_fine = key.len >= 2 && (sf_get_be16(key.data) == META ? take_meta(local, key, value)
                                                                  : take_row(local, key, value));
    if (!is_fine) say_layout(local->oracle, "a row, a position or the format");
}

/* ---------------------------------------------------------------- the changelog behind it */

static int64_t position_of(const struct local *local, uint32_t step, int32_t partition)
{
    for (uint32_t i = 0; i < local->position_count; i++)
        if (local->positions[i].step == step && local->positions[i].partition == partition)
            return local->positions[i].offset;
    return 0;
}

static void apply(struct local *local, const struct sfi_oracle_change *change)
{
    switch (change->kind) {
    case SFI_ORACLE_CHANGE_VALUE: put(local, change->step, change->start, change->key_hash, change->value_hash); break;
    case SFI_ORACLE_CHANGE_TOMBSTONE: put(local, change->step, change->start, change->key_hash, 0); break;
    case SFI_ORACLE_CHANGE_UNIT_CLEAR:
    case SFI_ORACLE_CHANGE_UNIT_GONE: clear_unit(local, change->step, change->start, change->group); break;
    }
}

/* How far a changelog has committed: to where its transactions are decided, though their markers may be to come. */
static int64_t decided_end(const struct sfi_oracle *oracle, struct sf_tp tp, int64_t taken)
{
    int64_t end = sf_time_max(sf_sim_kafka_log_end(oracle->world.broker, tp, SF_LOG_STABLE_END), taken);
    int64_t next = end;
    struct sf_sim_kafka_entry entry;
    while (sf_sim_kafka_log_next(oracle->world.broker, tp, &next, &entry) && entry.state != SF_SIM_KAFKA_OPEN)
        end = next;
    return end;
}

/* What has committed from the store's position on, up to what the model has taken. */
static void replay(struct local *local, const struct sfi_oracle_topic *topic, struct sf_tp tp)
{
    struct sfi_oracle *oracle = local->oracle;
    int64_t offset = position_of(local, topic->index, tp.partition);
    topic->looked[tp.partition] = offset;
    int64_t taken = topic->taken != NULL ? topic->taken[tp.partition] : 0;
    int64_t end = decided_end(oracle, tp, taken);
    struct sf_sim_kafka_entry entry;
    struct sfi_oracle_txn changes = {0};
    if (offset > end) {
        char words[2][SF_TEXT_INT_BYTES];
        sfi_oracle_say(oracle, "X9", "local store: position in a changelog, not ahead of what has committed (B8)",
                       sf_text_of_int(words[0], end), sf_text_of_int(words[1], offset));
        return;
    }
    while (sf_sim_kafka_log_next(oracle->world.broker, tp, &offset, &entry) && entry.offset < taken) {
        if (entry.is_control || entry.state == SF_SIM_KAFKA_ABORTED) continue;
        sfi_oracle_change_read(oracle, &changes, topic, tp, entry.record);
        for (uint32_t i = 0; i < changes.change_count; i++) apply(local, &changes.changes[i]);
        changes.change_count = 0;
    }
    sf_free(oracle->alloc, changes.changes, changes.change_capacity * sizeof *changes.changes);
}

/* K8: what was kept of a store is worth nothing where its changelog no longer reaches back to it. */
static void forget_truncated(struct local *local, const struct sfi_oracle_topic *topic, uint32_t number)
{
    bool is_gone = false;
    for (uint32_t i = 0; i < local->position_count; i++) {
        const struct position *position = &local->positions[i];
        struct sf_tp tp = {number, position->partition};
        is_gone = is_gone || (position->step == topic->index &&
                              position->offset < sf_sim_kafka_log_end(local->oracle->world.broker, tp, SF_LOG_START));
    }
    for (uint32_t i = 0; i < local->position_count && is_gone; i++)
        if (local->positions[i].step == topic->index) local->positions[i].offset = 0;
    for (uint32_t i = 0; i < local->capacity && is_gone; i++)
        if (local->entries[i].step == topic->index) local->entries[i].value_hash = 0;
}

static void replay_all(struct local *local)
{
    struct sfi_oracle *oracle = local->oracle;
    for (uint32_t t = 0; t < oracle->topic_capacity; t++) {
        struct sfi_oracle_topic *topic = &oracle->topics[t];
        if (topic->kind != SFI_ORACLE_TOPIC_CHANGELOG) continue;
        forget_truncated(local, topic, t);
        if (topic->looked == NULL)
            topic->looked = sf_calloc(oracle->alloc, (size_t)topic->partition_count, sizeof *topic->looked);
        for (int32_t p = 0; p < topic->partition_count && !oracle->is_broken; p++)
            replay(local, topic, (struct sf_tp){t, p});
    }
}

/* ---------------------------------------------------------------- the model */

static void meet_rows(struct local *local, uint32_t index, const struct sfi_model_pane *pane)
{
    struct sfi_oracle *oracle = local->oracle;
    const struct sfi_model_windows *windows = &oracle->model.steps[index].windows;
    for (uint32_t i = 0; i < pane->count && !oracle->is_broken; i++) {
        struct sfi_model_row *row = sfi_model_row_at(windows, pane, i);
        if (row->changelog == 0) continue;
        struct entry *entry = local->capacity > 0
                                  ? slot_of(local->entries, local->capacity, id_of(index, pane->start, row->hash))
                                  : NULL;
        if (entry == NULL || !is_there(local, entry)) {
            say_row(oracle, index, pane, row, "no such row");
        } else if (entry->value_hash != row->changelog) {
            say_row(oracle, index, pane, row, "another value");
        } else {
            entry->is_met = true;
        }
    }
}

/* Rows of a window that the model has verified and forgotten are known by their number and the sum of their keys. */
struct left {
    uint64_t count;
    uint64_t sum;
};

static void count_left(struct local *local, struct left *lefts)
{
    struct sfi_oracle *oracle = local->oracle;
    uint32_t base = 0, bases[SF_TOPOLOGY_STEPS_MAX];
    for (uint32_t i = 0; i < oracle->world.topology->step_count; i++) {
        bases[i] = base;
        base += oracle->model.steps[i].windows.count;
    }
    for (uint32_t i = 0; i < local->capacity && !oracle->is_broken; i++) {
        struct entry *entry = &local->entries[i];
        if (entry->is_met || !is_there(local, entry)) continue;
        struct sfi_model_windows *windows = &oracle->model.steps[entry->step].windows;
        const struct sfi_model_pane *pane = sfi_model_pane_find(windows, entry->start);
        if (pane == NULL || !pane->is_compact) {
            say_window(oracle, entry->step, entry->start, 0, 1);
            return;
        }
        uint32_t at = 0;
        while (windows->panes[at] != pane) at++;
        lefts[bases[entry->step] + at].count++;
        lefts[bases[entry->step] + at].sum += entry->key_hash;
    }
}

static void meet_left(struct local *local)
{
    struct sfi_oracle *oracle = local->oracle;
    uint32_t total = 0, at = 0;
    for (uint32_t i = 0; i < oracle->world.topology->step_count; i++) total += oracle->model.steps[i].windows.count;
    struct left *lefts = sf_calloc(oracle->alloc, total + 1, sizeof *lefts);
    count_left(local, lefts);
    for (uint32_t i = 0; i < oracle->world.topology->step_count; i++) {
        const struct sfi_model_windows *windows = &oracle->model.steps[i].windows;
        for (uint32_t p = 0; p < windows->count && !oracle->is_broken; p++, at++) {
            const struct sfi_model_pane *pane = windows->panes[p];
            bool is_same = lefts[at].count == pane->left_count &&
                           (windows->is_packed || lefts[at].sum == pane->left_sum);
            if (pane->is_compact && !is_same)
                say_window(oracle, i, pane->start, pane->left_count, lefts[at].count);
        }
    }
    sf_cfree(oracle->alloc, lefts, total + 1, sizeof *lefts);
}

static void meet(struct local *local)
{
    struct sfi_oracle *oracle = local->oracle;
    for (uint32_t i = 0; i < oracle->world.topology->step_count; i++) {
        const struct sfi_model_windows *windows = &oracle->model.steps[i].windows;
        for (uint32_t p = 0; p < windows->count && !oracle->is_broken; p++)
            if (!windows->panes[p]->is_compact) meet_rows(local, i, windows->panes[p]);
    }
    if (!oracle->is_broken) meet_left(local);
}

void sfi_oracle_local_check(struct sfi_oracle *oracle, struct sf_sim_disk *disk)
{
    struct local local = {.oracle = oracle};
    struct sf_alloc alloc = oracle->alloc;
    if (oracle->is_broken || oracle->is_loose || disk == NULL) return;
    if (!oracle->world.topology->settings.is_changelog_enabled) return;
    if (sf_sim_disk_each(disk, STORE_NAME, on_row, &local)) {
        if (!oracle->is_broken) replay_all(&local);
        if (!oracle->is_broken) meet(&local);
    }
    oracle->local_rows = local.row_count;
    oracle->local_changes = 0;
    sf_cfree(alloc, local.entries, local.capacity, sizeof *local.entries);
    sf_cfree(alloc, local.units, local.unit_capacity, sizeof *local.units);
    sf_free(alloc, local.positions, local.position_capacity * sizeof *local.positions);
}
