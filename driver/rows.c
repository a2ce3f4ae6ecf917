#include "driver/rows.h"

#include <string.h>

#include "core/bytes.h"
#include "core/ops/number.h"
#include "core/ops/serde.h"
#include "driver/checks.h"
#include "driver/history.h"
#include "driver/json_text.h"
#include "driver/time_text.h"

void sf_driver_rows_init(struct sf_driver_rows *rows, struct sf_alloc alloc)
{
    *rows = (struct sf_driver_rows){.alloc = alloc};
    sf_text_init_growing(&rows->text, alloc);
}

void sf_driver_rows_deinit(struct sf_driver_rows *rows)
{
    sf_cfree(rows->alloc, rows->items, rows->capacity, sizeof *rows->items);
    sf_text_deinit(&rows->text);
}

static bool is_visible(const struct sf_sim_kafka_entry *entry)
{
    return !entry->is_control &&
           (entry->state == SF_SIM_KAFKA_PLAIN || entry->state == SF_SIM_KAFKA_COMMITTED);
}

uint64_t sf_driver_rows_count(struct sf_sim_kafka *broker, struct sf_tp tp, int64_t from, int64_t before)
{
    uint64_t count = 0;
    struct sf_sim_kafka_entry entry;
    while (sf_sim_kafka_log_next(broker, tp, &from, &entry) && entry.offset < before) count += is_visible(&entry);
    return count;
}

/* ---------------------------------------------------------------- reading */

static void add_nul(struct sf_text *text)
{
    sf_text_add_bytes(text, "", 1);
}

static void read_window(struct sf_driver_row *row, const char *json, size_t len)
{
    static const struct sf_json_segment start[] = {{"window", 6, 0}, {"start", 5, 0}};
    static const struct sf_json_segment end[] = {{"window", 6, 0}, {"end", 3, 0}};
    const struct sf_json_path paths[] = {{start, 2}, {end, 2}};
    struct sf_value values[2];
    struct sf_fault fault;
    if (!sf_json_extract(json, len, paths, 2, values, &fault)) return;
    row->has_window = values[0].kind == SF_VALUE_INT && values[1].kind == SF_VALUE_INT;
    if (!row->has_window) return;
    row->window_start_ms = values[0].as.integer;
    row->window_end_ms = values[1].as.integer;
}

#define ESCAPED_BYTES_MAX 6u /* \u0001 */

/* Values of other serdes become the JSON that stands for them. */
static void add_value(struct sf_driver_rows *rows, struct sf_slice value, enum sf_serde serde)
{
    size_t bytes = (size_t)value.len * ESCAPED_BYTES_MAX + SF_NUMBER_TEXT_BYTES;
    char *json = sf_calloc(rows->alloc, bytes, 1);
    struct sf_input_value input = {serde, value};
    struct sf_value read;
    struct sf_fault fault;
    struct sf_json_writer writer = sf_json_writer_init(json, bytes);
    bool is_read = sf_serde_read(&input, &read, &fault);
    if (is_read) sf_json_put_value(&writer, &read);
    if (is_read && sf_json_writer_fits(&writer))
        sf_text_add_bytes(&rows->text, json, writer.len);
    else
        sf_driver_bytes_text(&rows->text, value.data, value.len);
    sf_cfree(rows->alloc, json, bytes, 1);
}

/* As a scenario writes it. */
static void add_key(struct sf_text *text, struct sf_slice key, enum sf_serde serde)
{
    if (serde == SF_SERDE_INT64 && key.len == 8)
        sf_text_add_int(text, (int64_t)sf_get_be64(key.data));
    else
        sf_driver_bytes_text(text, key.data, key.len);
}

static void add_row(struct sf_driver_rows *rows, const struct sf_record *record, struct sf_driver_row_serdes serdes)
{
    if (rows->count == rows->capacity) {
        uint32_t capacity = rows->capacity == 0 ? 64 : rows->capacity * 2;
        struct sf_driver_row *items = sf_calloc(rows->alloc, capacity, sizeof *items);
        if (rows->count > 0) memcpy(items, rows->items, rows->count * sizeof *items);
        sf_cfree(rows->alloc, rows->items, rows->capacity, sizeof *rows->items);
        rows->items = items;
        rows->capacity = capacity;
    }
    struct sf_driver_row *row = &rows->items[rows->count++];
    *row = (struct sf_driver_row){.key = rows->text.length,
                                  .has_key = record->key.data != NULL,
                                  .ts_ms = record->ts_kind == SF_TS_NONE ? SF_SCENARIO_UNUSED : record->ts_ms};
    if (row->has_key) add_key(&rows->text, record->key, serdes.key);
    add_nul(&rows->text);
    row->value = rows->text.length;
    if (record->value.data == NULL) {
        sf_text_add(&rows->text, "null");
    } else if (serdes.value == SF_SERDE_JSON) {
        const char *json = (const char *)record->value.data;
        read_window(row, json, record->value.len);
        sf_driver_json_normal(&rows->text, json, record->value.len, row->has_window ? "window" : NULL);
    } else {
        add_value(rows, record->value, serdes.value);
    }
    add_nul(&rows->text);
}

void sf_driver_rows_read(struct sf_driver_rows *rows, struct sf_sim_kafka *broker, const char *topic,
                         struct sf_driver_row_serdes serdes)
{
    uint32_t number = sf_sim_kafka_topic(broker, topic);
    int32_t partitions = sf_sim_kafka_partition_count(broker, number);
    for (int32_t i = 0; i < partitions; i++) {
        struct sf_sim_kafka_entry entry;
        int64_t offset = 0;
        while (sf_sim_kafka_log_next(broker, (struct sf_tp){number, i}, &offset, &entry)) {
            if (is_visible(&entry)) add_row(rows, entry.record, serdes);
        }
    }
}

/* ---------------------------------------------------------------- comparing */

/* An expected row in the same form. */
struct wanted {
    const struct sf_scenario_row *spec;
    struct sf_text key, value;
    bool has_key;
};

static void want_key(struct sf_text *text_out, const struct sf_scenario_row *spec, struct sf_alloc alloc)
{
    struct sf_text key;
    sf_text_init_growing(&key, alloc);
    for (uint32_t i = 0; i < spec->key.piece_count; i++) sf_text_add(&key, spec->key.pieces[i].text);
    sf_driver_bytes_text(text_out, (const uint8_t *)key.data, (uint32_t)key.length);
    sf_text_deinit(&key);
}

static void want(struct wanted *wanted, const struct sf_scenario_row *spec, struct sf_alloc alloc)
{
    *wanted = (struct wanted){.spec = spec, .has_key = spec->key.piece_count > 0};
    sf_text_init_growing(&wanted->key, alloc);
    sf_text_init_growing(&wanted->value, alloc);
    if (wanted->has_key) want_key(&wanted->key, spec, alloc);
    if (!spec->has_value) return;
    if (spec->value == NULL)
        sf_text_add(&wanted->value, "null");
    else
        sf_driver_json_normal(&wanted->value, spec->value, strlen(spec->value), spec->has_window ? "window" : NULL);
}

static void unwant(struct wanted *wanted)
{
    sf_text_deinit(&wanted->key);
    sf_text_deinit(&wanted->value);
}

static bool is_same_key(const struct sf_driver_rows *rows, const struct sf_driver_row *row,
                        const struct wanted *wanted)
{
    if (row->has_key != wanted->has_key) return false;
    return !row->has_key || strcmp(rows->text.data + row->key, wanted->key.data) == 0;
}

static bool is_match(const struct sf_driver_rows *rows, const struct sf_driver_row *row, const struct wanted *wanted)
{
    const struct sf_scenario_row *spec = wanted->spec;
    if (spec->has_window && (!row->has_window || row->window_start_ms != spec->window_start_ms ||
                             row->window_end_ms != spec->window_end_ms))
        return false;
    if (spec->ts_ms != SF_SCENARIO_UNUSED && row->ts_ms != spec->ts_ms) return false;
    return !spec->has_value || strcmp(rows->text.data + row->value, wanted->value.data) == 0;
}

static void add_window(struct sf_text *text, int64_t start_ms, int64_t end_ms)
{
    sf_text_add(text, "window [");
    sf_driver_text_time(text, start_ms);
    sf_text_add(text, ", ");
    sf_driver_text_time(text, end_ms);
    sf_text_add(text, ") ");
}

static void row_text(struct sf_text *text, const struct sf_driver_rows *rows, const struct sf_driver_row *row)
{
    if (row == NULL) {
        sf_text_add(text, "no such row");
        return;
    }
    if (row->has_window) add_window(text, row->window_start_ms, row->window_end_ms);
    sf_text_add(text, rows->text.data + row->value);
    if (row->ts_ms == SF_SCENARIO_UNUSED) return;
    sf_text_add(text, " at ");
    sf_driver_text_time(text, row->ts_ms);
}

static void wanted_text(struct sf_text *text, const struct wanted *wanted)
{
    const struct sf_scenario_row *spec = wanted->spec;
    if (spec->has_window) add_window(text, spec->window_start_ms, spec->window_end_ms);
    sf_text_add(text, spec->has_value ? wanted->value.data : "any value");
    if (spec->ts_ms == SF_SCENARIO_UNUSED) return;
    sf_text_add(text, " at ");
    sf_driver_text_time(text, spec->ts_ms);
}

static void subject_text(struct sf_text *text, const char *topic, bool has_key, const char *key)
{
    sf_text_add(text, topic);
    sf_text_add(text, has_key ? " key " : " without key");
    if (has_key) sf_text_add(text, key);
}

static void add_place(struct sf_text *text, struct sf_place place)
{
    sf_text_add(text, " (expected in line ");
    sf_text_add_uint(text, place.line);
    sf_text_add(text, ")");
}

/* Claims the row that answers `wanted`. On failure *other_out is what stands in its place, or NULL.
 * exactly: the key's next row must match; contains, and without a key: any later or any row may. */
static bool claim(struct sf_driver_rows *rows, const struct wanted *wanted, bool is_exact,
                  const struct sf_driver_row **other_out)
{
    uint32_t from = 0;
    *other_out = NULL;
    for (uint32_t i = 0; wanted->has_key && !is_exact && i < rows->count; i++) {
        if (rows->items[i].is_taken && is_same_key(rows, &rows->items[i], wanted)) from = i + 1;
    }
    for (uint32_t i = from; i < rows->count; i++) {
        struct sf_driver_row *row = &rows->items[i];
        if (row->is_taken || !is_same_key(rows, row, wanted)) continue;
        bool is_next = is_exact && wanted->has_key;
        if (is_match(rows, row, wanted)) {
            row->is_taken = true;
            return true;
        }
        if (*other_out == NULL) *other_out = row;
        if (!is_next) continue;
        row->is_taken = true; /* it was this one's turn: the next expected row meets the next actual one */
        return false;
    }
    return false;
}

struct words {
    char subject[SF_DRIVER_SUBJECT_BYTES];
    char expected[SF_DRIVER_VALUE_BYTES];
    char actual[SF_DRIVER_VALUE_BYTES];
};

static void compare_row(struct sf_driver_rows *rows, const struct sf_scenario_output *output, uint32_t index,
                        sf_driver_differs_fn *differs, void *ctx)
{
    struct wanted wanted;
    const struct sf_driver_row *other;
    want(&wanted, &output->rows[index], rows->alloc);
    if (!claim(rows, &wanted, output->is_exact, &other)) {
        struct words words;
        struct sf_text text;
        sf_text_init(&text, words.subject, sizeof words.subject);
        subject_text(&text, output->topic, wanted.has_key, wanted.key.data);
        add_place(&text, wanted.spec->place);
        sf_text_init(&text, words.expected, sizeof words.expected);
        wanted_text(&text, &wanted);
        sf_text_init(&text, words.actual, sizeof words.actual);
        row_text(&text, rows, other);
        differs(ctx, words.subject, words.expected, words.actual);
    }
    unwant(&wanted);
}

void sf_driver_rows_compare(struct sf_driver_rows *rows, const struct sf_scenario_output *output,
                            sf_driver_differs_fn *differs, void *ctx)
{
    for (uint32_t i = 0; i < output->row_count; i++) compare_row(rows, output, i, differs, ctx);
    for (uint32_t i = 0; output->is_exact && i < rows->count; i++) {
        const struct sf_driver_row *row = &rows->items[i];
        if (row->is_taken) continue;
        struct words words;
        struct sf_text text;
        sf_text_init(&text, words.subject, sizeof words.subject);
        subject_text(&text, output->topic, row->has_key, rows->text.data + row->key);
        sf_text_init(&text, words.actual, sizeof words.actual);
        row_text(&text, rows, row);
        differs(ctx, words.subject, "nothing more", words.actual);
    }
}
