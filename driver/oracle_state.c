/* State as the logs hold it at a cut: changelogs (X9), expiry (X10), emit frontiers and stamps (X8). */
#include <string.h>

#include "core/bytes.h"
#include "core/hash.h"
#include "driver/oracle_parts.h"

#define STAMP_HEAD 20u
#define STAMP_BYTES 16u
#define ROW_TEXT_BYTES 4096u

/* ---------------------------------------------------------------- K1: { version, flags, count, incarnation, epoch } */

bool sfi_oracle_stamp_read(const uint8_t *row, uint32_t len, uint64_t *incarnation_out, uint64_t *epoch_out)
{
    if (len < STAMP_HEAD + STAMP_BYTES || row[0] != 1) return false;
    if (len != STAMP_HEAD + STAMP_BYTES * sf_get_be16(row + 2)) return false;
    *incarnation_out = sf_get_be64(row + 4);
    *epoch_out = sf_get_be64(row + 12);
    return true;
}

void sfi_oracle_stamp_check(struct sfi_oracle *oracle, uint64_t epoch, const uint8_t *row, uint32_t len)
{
    const struct sfi_model_ring *ring = &oracle->model.ring;
    uint32_t count = ring->count < ring->depth ? ring->count : ring->depth;
    uint64_t incarnation, newest;
    if (oracle->is_broken) return;
    if (!sfi_oracle_stamp_read(row, len, &incarnation, &newest)) {
        sfi_oracle_say_epoch(oracle, "X8", epoch, "a stamp that can be read (K1); bytes", STAMP_HEAD, len);
        return;
    }
    if (((row[1] & 1) != 0) != ring->is_flushed)
        sfi_oracle_say_epoch(oracle, "X8", epoch, "flushed (K1)", ring->is_flushed, row[1] & 1);
    if (sf_get_be16(row + 2) != count) {
        sfi_oracle_say_epoch(oracle, "X8", epoch, "stamps in the row (K1)", count, sf_get_be16(row + 2));
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct sfi_model_stamp *stamp = &ring->placed[ring->count - count + i];
        const uint8_t *at = row + STAMP_HEAD + i * STAMP_BYTES;
        if (sf_get_be64(at) != stamp->epoch)
            sfi_oracle_say_epoch(oracle, "X8", epoch, "epoch of a stamp in the row (S2)", (int64_t)stamp->epoch,
                                 (int64_t)sf_get_be64(at));
        else if ((int64_t)sf_get_be64(at + 8) != stamp->w)
            sfi_oracle_say_epoch(oracle, "X8", epoch, "a stamp in the row (S2)", stamp->w,
                                 (int64_t)sf_get_be64(at + 8));
    }
}

/* ---------------------------------------------------------------- emit frontiers (K2) */

static void say_step(struct sfi_oracle *oracle, const char *rule, uint32_t step, const char *what, int64_t expected,
                     int64_t actual)
{
    char subject[SF_DRIVER_SUBJECT_BYTES], words[2][48];
    struct sf_text text;
    sf_text_init(&text, subject, sizeof subject);
    sf_text_add(&text, "step ");
    sf_text_add(&text, oracle->world.topology->steps[step].name);
    sf_text_add(&text, ", epoch ");
    sf_text_add_uint(&text, oracle->model.ring.newest.epoch);
    sf_text_add(&text, ": ");
    sf_text_add(&text, what);
    sf_text_init(&text, words[0], sizeof words[0]);
    sfi_oracle_add_time(&text, expected);
    sf_text_init(&text, words[1], sizeof words[1]);
    sfi_oracle_add_time(&text, actual);
    sfi_oracle_say(oracle, rule, subject, words[0], words[1]);
}

void sfi_oracle_frontiers_check(struct sfi_oracle *oracle, uint64_t epoch, struct sfi_oracle_txn *txn)
{
    (void)epoch;
    if (oracle->is_broken || !oracle->world.topology->settings.is_changelog_enabled) return;
    for (uint32_t i = 0; i < oracle->world.topology->step_count; i++) {
        const struct sfi_model_step *step = &oracle->model.steps[i];
        uint32_t rows = 0;
        if (step->spec->kind != SF_STEP_AGGREGATE || step->spec->emit != SF_EMIT_ON_CLOSE) continue;
        for (uint32_t k = 0; k < txn->raise_count; k++) {
            if (txn->raises[k].step != i) continue;
            rows++;
            if (txn->raises[k].emitted != step->emitted)
                say_step(oracle, "X8", i, "emit frontier in the transaction", step->emitted, txn->raises[k].emitted);
        }
        if (step->is_raised && rows != 1)
            say_step(oracle, "X8", i, "rows for an emit frontier that was raised", 1, rows);
    }
}

/* ---------------------------------------------------------------- changelog rows */

uint64_t sfi_oracle_hash_numbers(struct sfi_oracle *oracle, const struct sfi_model_aggregates *aggregates,
                                 int64_t ts_ms, const struct sfi_model_number *numbers)
{
    char text[ROW_TEXT_BYTES];
    char *buf = text;
    size_t len = sfi_model_row_text(aggregates, ts_ms, numbers, text, sizeof text);
    if (len > sizeof text) {
        buf = sf_malloc(oracle->alloc, len);
        (void)sfi_model_row_text(aggregates, ts_ms, numbers, buf, len);
    }
    uint64_t hash = sf_hash64(buf, len);
    if (buf != text) sf_free(oracle->alloc, buf, len);
    return hash != 0 ? hash : 1;
}

static uint64_t hash_of_row(struct sfi_oracle *oracle, const struct sfi_model_step *step, struct sfi_model_row *row)
{
    return sfi_oracle_hash_numbers(oracle, &step->aggregates, row->ts_ms, sfi_model_row_numbers(row));
}

static bool is_expired(const struct sfi_model_step *step, int64_t start)
{
    return step->expiry != SF_TIME_UNSET && sf_time_add(start, step->spec->store.retention_ms) <= step->expiry;
}

static void add_row(struct sf_text *text, const uint8_t *value, size_t len)
{
    if (len <= 8) return;
    sf_text_add(text, "time ");
    sf_text_add_int(text, (int64_t)sf_get_be64(value));
    sf_text_add(text, " ");
    sf_text_add_bytes(text, (const char *)value + 8, len - 8);
}

/* What the transaction holds of the row. */
static void add_actual(struct sfi_oracle *oracle, const struct sfi_oracle_txn *txn, uint32_t step, int64_t start,
                       uint64_t key_hash, struct sf_text *text)
{
    for (uint32_t i = txn->change_count; i > 0; i--) {
        const struct sfi_oracle_change *change = &txn->changes[i - 1];
        if (change->step != step || change->start != start || change->key_hash != key_hash) continue;
        struct sf_sim_kafka_entry entry;
        int64_t offset = change->offset;
        bool is_there = sf_sim_kafka_log_next(oracle->world.broker, change->tp, &offset, &entry);
        if (oracle->world.topology->settings.is_changelog_packed)
            sf_text_add(text, "another value, packed");
        else if (is_there && entry.record != NULL && entry.record->value.data != NULL)
            add_row(text, entry.record->value.data, entry.record->value.len);
        else
            sf_text_add(text, "a tombstone");
        return;
    }
    sf_text_add(text, "no row in the transaction");
}

/* The model's row in words, and the changelog's. */
static void say_row(struct sfi_oracle *oracle, const struct sfi_oracle_txn *txn, uint32_t step_index,
                    const struct sfi_model_pane *pane, struct sfi_model_row *row)
{
    const struct sfi_model_step *step = &oracle->model.steps[step_index];
    char subject[SF_DRIVER_SUBJECT_BYTES], words[2][SF_DRIVER_VALUE_BYTES], value[SF_DRIVER_VALUE_BYTES];
    struct sf_text text;
    sf_text_init(&text, subject, sizeof subject);
    sf_text_add(&text, "changelog of ");
    sf_text_add(&text, step->spec->store.name);
    sf_text_add(&text, ", epoch ");
    sf_text_add_uint(&text, oracle->model.ring.newest.epoch);
    sf_text_add(&text, ", key ");
    sf_text_add_json(&text, (const char *)row->key, row->key_len);
    sf_text_add(&text, " window ");
    sf_text_add_int(&text, pane->start);
    size_t len = sfi_model_row_text(&step->aggregates, row->ts_ms, sfi_model_row_numbers(row), value, sizeof value);
    sf_text_init(&text, words[0], sizeof words[0]);
    if (len <= sizeof value) add_row(&text, (const uint8_t *)value, len);
    sf_text_init(&text, words[1], sizeof words[1]);
    add_actual(oracle, txn, step_index, pane->start, row->hash, &text);
    sfi_oracle_say(oracle, "X9", subject, words[0], words[1]);
}

static void take_value(struct sfi_oracle *oracle, const struct sfi_oracle_txn *txn,
                       const struct sfi_oracle_change *change)
{
    struct sfi_model_step *step = &oracle->model.steps[change->step];
    struct sfi_model_pane *pane = sfi_model_pane_find(&step->windows, change->start);
    if (pane == NULL || pane->is_compact) {
        say_step(oracle, pane == NULL ? "X9" : "X7", change->step,
                 pane == NULL ? "row of a window that holds nothing, at" : "row of a closed window, at", SF_TIME_UNSET,
                 change->start);
        return;
    }
    struct sfi_model_row *row = sfi_model_row_by_hash(&step->windows, pane, change->key_hash);
    if (row == NULL) {
        say_step(oracle, "X9", change->step, "row of a key that the window does not hold, window", SF_TIME_UNSET,
                 change->start);
        return;
    }
    if (pane->is_closed && !row->is_dirty && !step->windows.is_packed) { /* an image holds all rows */
        say_step(oracle, "X7", change->step, "row of a closed window, at", SF_TIME_UNSET, change->start);
        return;
    }
    row->changelog = change->value_hash;
    if (!row->is_dirty && oracle->is_step_exact[change->step] && change->value_hash != hash_of_row(oracle, step, row))
        say_row(oracle, txn, change->step, pane, row);
}

static void take_tombstone(struct sfi_oracle *oracle, const struct sfi_oracle_change *change)
{
    struct sfi_model_step *step = &oracle->model.steps[change->step];
    struct sfi_model_pane *pane = sfi_model_pane_find(&step->windows, change->start);
    if (pane == NULL) return;
    if (pane->is_compact) {
        if (pane->left_count == 0) return;
        pane->left_count--;
        pane->left_sum -= change->key_hash;
        return;
    }
    struct sfi_model_row *row = sfi_model_row_by_hash(&step->windows, pane, change->key_hash);
    if (row != NULL) row->changelog = 0;
}

/* All rows of a packed unit go; those of its image, if one begins, follow. */
static void take_unit(struct sfi_oracle *oracle, const struct sfi_oracle_change *change)
{
    struct sfi_model_step *step = &oracle->model.steps[change->step];
    struct sfi_model_pane *pane = sfi_model_pane_find(&step->windows, change->start);
    if (pane == NULL) return;
    if (pane->is_compact) {
        pane->left_count -= pane->left_groups[change->group];
        pane->left_groups[change->group] = 0;
        return;
    }
    for (uint32_t i = 0; i < pane->count; i++) {
        struct sfi_model_row *row = sfi_model_row_at(&step->windows, pane, i);
        if (sf_key_group(row->hash) == change->group) row->changelog = 0;
    }
}

/* An image holds every row of its unit. */
static void check_image(struct sfi_oracle *oracle, const struct sfi_oracle_txn *txn,
                        const struct sfi_oracle_change *change)
{
    struct sfi_model_step *step = &oracle->model.steps[change->step];
    struct sfi_model_pane *pane = sfi_model_pane_find(&step->windows, change->start);
    if (pane == NULL || pane->is_compact || is_expired(step, change->start)) return;
    for (uint32_t i = 0; i < pane->count && !oracle->is_broken; i++) {
        struct sfi_model_row *row = sfi_model_row_at(&step->windows, pane, i);
        if (sf_key_group(row->hash) == change->group && row->changelog == 0)
            say_row(oracle, txn, change->step, pane, row);
    }
}

static void take_change(struct sfi_oracle *oracle, const struct sfi_oracle_txn *txn,
                        const struct sfi_oracle_change *change)
{
    const struct sfi_model_step *step = &oracle->model.steps[change->step];
    bool is_end = change->kind == SFI_ORACLE_CHANGE_TOMBSTONE || change->kind == SFI_ORACLE_CHANGE_UNIT_GONE;
    if (is_end && !is_expired(step, change->start)) {
        say_step(oracle, "X10", change->step, "a window's row goes when its start + retention is reached (K6); clock",
                 sf_time_add(change->start, step->spec->store.retention_ms), step->expiry);
        return;
    }
    switch (change->kind) {
    case SFI_ORACLE_CHANGE_VALUE: take_value(oracle, txn, change); break;
    case SFI_ORACLE_CHANGE_TOMBSTONE: take_tombstone(oracle, change); break;
    case SFI_ORACLE_CHANGE_UNIT_CLEAR:
    case SFI_ORACLE_CHANGE_UNIT_GONE: take_unit(oracle, change); break;
    }
}

/* How far the model has followed the changelogs. */
static void note_taken(struct sfi_oracle *oracle, const struct sfi_oracle_change *change)
{
    struct sfi_oracle_topic *topic = sfi_oracle_topic_of(oracle, change->tp.topic);
    oracle->local_changes++;
    if (topic->taken == NULL)
        topic->taken = sf_calloc(oracle->alloc, (size_t)topic->partition_count, sizeof *topic->taken);
    int64_t *taken = &topic->taken[change->tp.partition];
    *taken = sf_time_max(*taken, change->offset + 1);
}

static void check_dirty(struct sfi_oracle *oracle, const struct sfi_oracle_txn *txn, uint32_t index)
{
    struct sfi_model_step *step = &oracle->model.steps[index];
    for (uint32_t i = 0; i < step->windows.dirty_count && !oracle->is_broken; i++) {
        const struct sfi_model_pane *pane = step->windows.dirty[i].pane;
        struct sfi_model_row *row = sfi_model_row_at(&step->windows, pane, step->windows.dirty[i].row);
        if (is_expired(step, pane->start)) continue; /* check_gone */
        bool is_right = row->changelog != 0 &&
                        (!oracle->is_step_exact[index] || row->changelog == hash_of_row(oracle, step, row));
        if (!is_right) say_row(oracle, txn, index, pane, row);
    }
}

/* K6: what has expired is gone with the pass that let it expire. */
static void check_gone(struct sfi_oracle *oracle, uint32_t index)
{
    struct sfi_model_step *step = &oracle->model.steps[index];
    for (uint32_t p = 0; p < step->windows.count && !oracle->is_broken; p++) {
        const struct sfi_model_pane *pane = step->windows.panes[p];
        uint64_t left = pane->left_count;
        if (!is_expired(step, pane->start)) break;
        for (uint32_t i = 0; !pane->is_compact && i < pane->count; i++)
            left += sfi_model_row_at(&step->windows, pane, i)->changelog != 0;
        if (left > 0 || pane->left_sum != 0)
            say_step(oracle, "X10", index, "rows of an expired window that the changelog keeps", 0, (int64_t)left);
    }
}

void sfi_oracle_state_check(struct sfi_oracle *oracle, uint64_t epoch, struct sfi_oracle_txn *txn)
{
    const struct sf_settings *settings = &oracle->world.topology->settings;
    (void)epoch;
    if (!settings->is_changelog_enabled) return;
    for (uint32_t i = 0; i < txn->change_count && !oracle->is_broken; i++) {
        take_change(oracle, txn, &txn->changes[i]);
        note_taken(oracle, &txn->changes[i]);
    }
    for (uint32_t i = 0; i < txn->change_count && !oracle->is_broken; i++)
        if (txn->changes[i].kind == SFI_ORACLE_CHANGE_UNIT_CLEAR) check_image(oracle, txn, &txn->changes[i]);
    for (uint32_t i = 0; i < oracle->world.topology->step_count && !oracle->is_broken; i++) {
        if (oracle->world.topology->steps[i].kind != SF_STEP_AGGREGATE) continue;
        check_dirty(oracle, txn, i);
        check_gone(oracle, i);
    }
}
