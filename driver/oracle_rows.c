/* Rows for sinks, expected and actual, compared by sums of hashes; looked at one by one only where the sums differ. */
#include <string.h>

#include "core/hash.h"
#include "driver/oracle_parts.h"

void sfi_oracle_rows_init(struct sfi_oracle *oracle, struct sfi_oracle_rows *rows)
{
    uint32_t sinks = oracle->world.topology->sink_count;
    *rows = (struct sfi_oracle_rows){.sums = sf_calloc(oracle->alloc, sinks, sizeof *rows->sums),
                                     .counts = sf_calloc(oracle->alloc, sinks, sizeof *rows->counts)};
}

void sfi_oracle_rows_deinit(struct sfi_oracle *oracle, struct sfi_oracle_rows *rows)
{
    uint32_t sinks = oracle->world.topology->sink_count;
    sf_free(oracle->alloc, rows->items, rows->capacity * sizeof *rows->items);
    sf_free(oracle->alloc, rows->keys, rows->key_capacity * sizeof *rows->keys);
    sf_free(oracle->alloc, rows->ordinals, rows->key_capacity * sizeof *rows->ordinals);
    sf_cfree(oracle->alloc, rows->sums, sinks, sizeof *rows->sums);
    sf_cfree(oracle->alloc, rows->counts, sinks, sizeof *rows->counts);
    *rows = (struct sfi_oracle_rows){0};
}

void sfi_oracle_rows_clear(const struct sfi_oracle *oracle, struct sfi_oracle_rows *rows)
{
    uint32_t sinks = oracle->world.topology->sink_count;
    rows->count = 0;
    if (rows->key_count > 0) memset(rows->keys, 0, rows->key_capacity * sizeof *rows->keys);
    rows->key_count = 0;
    memset(rows->sums, 0, sinks * sizeof *rows->sums);
    memset(rows->counts, 0, sinks * sizeof *rows->counts);
}

/* ---------------------------------------------------------------- hashes */

static uint64_t fold(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static void grow_keys(struct sfi_oracle *oracle, struct sfi_oracle_rows *rows)
{
    uint32_t capacity = rows->key_capacity == 0 ? 256 : rows->key_capacity * 2;
    uint64_t *keys = sf_calloc(oracle->alloc, capacity, sizeof *keys);
    uint32_t *ordinals = sf_calloc(oracle->alloc, capacity, sizeof *ordinals);
    for (uint32_t i = 0; i < rows->key_capacity; i++) {
        if (rows->keys[i] == 0) continue;
        uint32_t at = (uint32_t)(rows->keys[i] >> 20) & (capacity - 1);
        while (keys[at] != 0) at = (at + 1) & (capacity - 1);
        keys[at] = rows->keys[i];
        ordinals[at] = rows->ordinals[i];
    }
    sf_free(oracle->alloc, rows->keys, rows->key_capacity * sizeof *rows->keys);
    sf_free(oracle->alloc, rows->ordinals, rows->key_capacity * sizeof *rows->ordinals);
    rows->keys = keys;
    rows->ordinals = ordinals;
    rows->key_capacity = capacity;
}

/* How many rows of this topic and key came before. */
static uint32_t ordinal_of(struct sfi_oracle *oracle, struct sfi_oracle_rows *rows, uint32_t topic, uint64_t key_hash)
{
    if ((rows->key_count + 1) * 2 > rows->key_capacity) grow_keys(oracle, rows);
    uint64_t key = fold(key_hash, topic + 1);
    if (key == 0) key = 1;
    uint32_t at = (uint32_t)(key >> 20) & (rows->key_capacity - 1);
    while (rows->keys[at] != 0 && rows->keys[at] != key) at = (at + 1) & (rows->key_capacity - 1);
    if (rows->keys[at] == 0) {
        rows->keys[at] = key;
        rows->ordinals[at] = 0;
        rows->key_count++;
    }
    return rows->ordinals[at]++;
}

static uint64_t hash_of(struct sf_slice slice)
{
    return slice.data != NULL ? sf_hash64(slice.data, slice.len) : UINT64_C(0xfeedface);
}

void sfi_oracle_rows_add(struct sfi_oracle *oracle, struct sfi_oracle_rows *rows, uint32_t topic, int32_t partition,
                         int64_t offset, const struct sfi_oracle_content *content)
{
    uint64_t key = hash_of(content->key);
    int32_t place = content->key.data != NULL ? partition : -1; /* K12: a null key may lie anywhere */
    bool is_ordered = oracle->sinks[topic].is_ordered && content->key.data != NULL;
    uint64_t words[] = {key,
                        hash_of(content->value),
                        content->headers.len > 0 ? hash_of(content->headers) : 0,
                        (uint64_t)content->ts_ms,
                        (uint64_t)(int64_t)place,
                        is_ordered ? ordinal_of(oracle, rows, topic, key) : 0};
    struct sfi_oracle_hash hash = {UINT64_C(0x243f6a8885a308d3), UINT64_C(0x13198a2e03707344)};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        hash.a = fold(hash.a, words[i]);
        hash.b = fold(hash.b + i, ~words[i]);
    }
    if (rows->count == rows->capacity) {
        uint32_t capacity = rows->capacity == 0 ? 256 : rows->capacity * 2;
        rows->items = sf_regrow(oracle->alloc, rows->items, rows->capacity * sizeof *rows->items,
                                rows->count * sizeof *rows->items, capacity * sizeof *rows->items);
        rows->capacity = capacity;
    }
    rows->items[rows->count++] =
        (struct sfi_oracle_row){.hash = hash, .topic = topic, .partition = partition, .offset = offset};
    rows->sums[topic].a += hash.a;
    rows->sums[topic].b += hash.b;
    rows->counts[topic]++;
}

/* ---------------------------------------------------------------- what the model gives */

struct kept {
    int64_t ts_ms;
    uint32_t key_len; /* UINT32_MAX: null */
    uint32_t value_len;
};

static size_t keep_text(struct sfi_oracle *oracle, const struct sfi_oracle_content *content)
{
    struct kept kept = {content->ts_ms, content->key.data != NULL ? content->key.len : UINT32_MAX,
                        content->value.data != NULL ? content->value.len : UINT32_MAX};
    size_t bytes = (sizeof kept + content->key.len + content->value.len + 7) & ~(size_t)7;
    if (oracle->text_used + bytes > oracle->text_capacity) {
        size_t capacity = oracle->text_capacity == 0 ? 65536 : oracle->text_capacity * 2;
        while (capacity < oracle->text_used + bytes) capacity *= 2;
        oracle->text = sf_regrow(oracle->alloc, oracle->text, oracle->text_capacity, oracle->text_used, capacity);
        oracle->text_capacity = capacity;
    }
    size_t at = oracle->text_used;
    uint8_t *out = oracle->text + at;
    memcpy(out, &kept, sizeof kept);
    if (content->key.len > 0) memcpy(out + sizeof kept, content->key.data, content->key.len);
    if (content->value.len > 0)
        memcpy(out + sizeof kept + content->key.len, content->value.data, content->value.len);
    oracle->text_used += bytes;
    return at;
}

/* M5: a value as the sink's serde has it. False: it cannot be; *is_dropped_out says whether it is left out. */
static bool as_serde(const struct sf_sink_spec *spec, const struct sfi_model_record *record, char *buf, size_t cap,
                     struct sf_slice *value_out)
{
    struct sf_input_value input = {.serde = record->serde, .bytes = record->value};
    struct sf_fault fault;
    struct sf_value value;
    bool is_null;
    struct sf_json_writer writer = sf_json_writer_init(buf, cap);
    *value_out = record->value;
    if (record->value.data == NULL || spec->value == record->serde || spec->value == SF_SERDE_BYTES) return true;
    if (!sf_serde_read(&input, &value, &fault) || !sf_serde_write(spec->value, &value, &writer, &is_null, &fault))
        return false;
    *value_out = is_null ? (struct sf_slice){NULL, 0} : (struct sf_slice){(const uint8_t *)buf, (uint32_t)writer.len};
    return sf_json_writer_fits(&writer);
}

void sfi_oracle_expect(void *ctx, uint32_t sink, const struct sfi_model_record *record)
{
    struct sfi_oracle *oracle = ctx;
    const struct sf_sink_spec *spec = &oracle->world.topology->sinks[sink];
    uint32_t topic = oracle->sinks[sink].stands_for;
    struct sfi_oracle_content content = {
        .key = record->key, .value = record->value, .headers = record->headers, .ts_ms = record->ts_ms};
    size_t room = (size_t)record->value.len * 6 + 64;
    char *buf = spec->value != record->serde ? sf_malloc(oracle->alloc, room) : NULL;
    if (as_serde(spec, record, buf, buf != NULL ? room : 0, &content.value)) {
        int32_t partitions = sf_sim_kafka_partition_count(oracle->world.broker,
                                                          sf_sim_kafka_topic(oracle->world.broker, spec->topic));
        int32_t partition = record->key.data != NULL && partitions > 0
                                ? sf_partition_of_key(record->key.data, record->key.len, partitions)
                                : -1;
        size_t text = keep_text(oracle, &content);
        sfi_oracle_rows_add(oracle, &oracle->expected, topic, partition, (int64_t)text, &content);
        sfi_oracle_least_owe(oracle, topic, &content);
    } else if (spec->on_production_error != SF_ERROR_CONTINUE) {
        oracle->model.failed_step = sink;
    }
    sf_free(oracle->alloc, buf, room);
}

/* ---------------------------------------------------------------- where sums differ */

static void add_row(struct sf_text *text, struct sf_slice key, struct sf_slice value, int64_t ts_ms)
{
    if (key.data != NULL)
        sf_text_add_json(text, (const char *)key.data, key.len);
    else
        sf_text_add(text, "null");
    sf_text_add(text, " ");
    if (value.data != NULL)
        sf_text_add_bytes(text, (const char *)value.data, value.len);
    else
        sf_text_add(text, "null");
    sf_text_add(text, " at ");
    sf_text_add_int(text, ts_ms);
}

static void describe_expected(const struct sfi_oracle *oracle, const struct sfi_oracle_row *row, struct sf_text *text)
{
    struct kept kept;
    const uint8_t *at = oracle->text + row->offset;
    memcpy(&kept, at, sizeof kept);
    at += sizeof kept;
    struct sf_slice key = {kept.key_len != UINT32_MAX ? at : NULL, kept.key_len != UINT32_MAX ? kept.key_len : 0};
    at += key.len;
    struct sf_slice value = {kept.value_len != UINT32_MAX ? at : NULL,
                             kept.value_len != UINT32_MAX ? kept.value_len : 0};
    add_row(text, key, value, kept.ts_ms);
    sf_text_add(text, " in partition ");
    sf_text_add_int(text, row->partition);
}

static void describe_actual(struct sfi_oracle *oracle, const struct sfi_oracle_row *row, struct sf_text *text)
{
    const char *name = oracle->world.topology->sinks[row->topic].topic;
    struct sf_tp tp = {sf_sim_kafka_topic(oracle->world.broker, name), row->partition};
    struct sf_sim_kafka_entry entry;
    int64_t offset = row->offset;
    bool is_there = row->partition < sf_sim_kafka_partition_count(oracle->world.broker, tp.topic) &&
                    sf_sim_kafka_log_next(oracle->world.broker, tp, &offset, &entry);
    if (is_there && entry.record != NULL)
        add_row(text, entry.record->key, entry.record->value, entry.record->ts_ms);
    sf_text_add(text, " in partition ");
    sf_text_add_int(text, row->partition);
    sf_text_add(text, " offset ");
    sf_text_add_int(text, row->offset);
}

/* The first row of `rows` that `others` do not have as often; NULL: none. Only for a failure: quadratic. */
static const struct sfi_oracle_row *unmatched(const struct sfi_oracle_rows *rows, const struct sfi_oracle_rows *others,
                                              uint32_t topic)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct sfi_oracle_row *row = &rows->items[i];
        uint32_t here = 0, there = 0;
        if (row->topic != topic) continue;
        for (uint32_t k = 0; k <= i; k++) here += memcmp(&rows->items[k].hash, &row->hash, sizeof row->hash) == 0;
        for (uint32_t k = 0; k < others->count && there < here; k++)
            there += memcmp(&others->items[k].hash, &row->hash, sizeof row->hash) == 0;
        if (there < here) return row;
    }
    return NULL;
}

static void say_difference(struct sfi_oracle *oracle, uint64_t epoch, uint32_t topic,
                           const struct sfi_oracle_rows *actual)
{
    char subject[SF_DRIVER_SUBJECT_BYTES], words[2][SF_DRIVER_VALUE_BYTES];
    struct sf_text text;
    const struct sfi_oracle_row *missing = unmatched(&oracle->expected, actual, topic);
    const struct sfi_oracle_row *extra = unmatched(actual, &oracle->expected, topic);
    sf_text_init(&text, subject, sizeof subject);
    sf_text_add(&text, oracle->world.topology->sinks[topic].topic);
    sf_text_add(&text, ", epoch ");
    sf_text_add_uint(&text, epoch);
    sf_text_init(&text, words[0], sizeof words[0]);
    sf_text_add_uint(&text, oracle->expected.counts[topic]);
    sf_text_add(&text, missing != NULL ? " rows, with " : " rows");
    if (missing != NULL) describe_expected(oracle, missing, &text);
    sf_text_init(&text, words[1], sizeof words[1]);
    sf_text_add_uint(&text, actual->counts[topic]);
    sf_text_add(&text, extra != NULL ? " rows, with " : " rows");
    if (extra != NULL) describe_actual(oracle, extra, &text);
    sfi_oracle_say(oracle, "X6", subject, words[0], words[1]);
}

void sfi_oracle_rows_check(struct sfi_oracle *oracle, uint64_t epoch, const struct sfi_oracle_txn *txn)
{
    for (uint32_t i = 0; i < oracle->world.topology->sink_count && !oracle->is_broken; i++) {
        if (oracle->sinks[i].stands_for != i || !oracle->sinks[i].is_exact) continue;
        const struct sfi_oracle_hash *expected = &oracle->expected.sums[i], *actual = &txn->rows.sums[i];
        if (expected->a != actual->a || expected->b != actual->b ||
            oracle->expected.counts[i] != txn->rows.counts[i])
            say_difference(oracle, epoch, i, &txn->rows);
    }
}
