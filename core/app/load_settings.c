#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/app/load.h"
#include "core/app/schema_table.h"
#include "core/app/values.h"
#include "core/app/walk.h"
#include "core/text.h"
#include "core/time/event_time.h"

enum field_type { FIELD_INT64, FIELD_UINT32, FIELD_UINT64, FIELD_PERCENT, FIELD_BOOL, FIELD_TEXT };

struct field {
    const char *key;
    enum field_type type;
    size_t offset;
};
#define FIELD(key, type, member) {key, type, offsetof(struct sf_settings, member)}

static const struct field fields[] = {
    FIELD("watermark.max-out-of-orderness-ms", FIELD_INT64, max_out_of_orderness_ms),
    FIELD("watermark.idleness-timeout-ms", FIELD_INT64, idleness_timeout_ms),
    FIELD("watermark.auto-interval-ms", FIELD_INT64, auto_interval_ms),
    FIELD("watermark.preview-delay-ms", FIELD_INT64, preview_delay_ms),
    FIELD("processing.lanes", FIELD_UINT32, lanes),
    FIELD("processing.buffered-records-per-partition", FIELD_UINT32, buffered_records_max),
    FIELD("processing.max-poll-records", FIELD_UINT32, poll_records_max),
    FIELD("processing.max-task-idle-ms", FIELD_INT64, task_idle_ms_max),
    FIELD("processing.uncommitted-bytes-max", FIELD_UINT64, uncommitted_bytes_max),
    FIELD("commit-barrier.interval-ms", FIELD_INT64, barrier_interval_ms),
    FIELD("commit-barrier.interval-factor", FIELD_PERCENT, barrier_factor_percent),
    FIELD("commit-barrier.min-interval-ms", FIELD_INT64, barrier_interval_ms_min),
    FIELD("commit-barrier.max-interval-ms", FIELD_INT64, barrier_interval_ms_max),
    FIELD("commit-barrier.timeout-ms", FIELD_INT64, barrier_timeout_ms),
    FIELD("transaction-timeout-ms", FIELD_INT64, transaction_timeout_ms),
    FIELD("changelog.enabled", FIELD_BOOL, is_changelog_enabled),
    FIELD("instance", FIELD_TEXT, instance),
    FIELD("session-timeout-ms", FIELD_INT64, session_timeout_ms),
    FIELD("state.dir", FIELD_TEXT, state_dir),
    FIELD("output.buffer-bytes", FIELD_UINT64, output_buffer_bytes),
};

static const struct sfi_word dispatch_words[] = {
    {"auto", SF_DISPATCH_AUTO}, {"ordered", SF_DISPATCH_ORDERED}, {"direct", SF_DISPATCH_DIRECT}, {NULL, 0}};

static const struct sfi_word format_words[] = {{"rows", 0}, {"packed", 1}, {NULL, 0}};

static const struct sf_schema_key *schema_key(const char *name)
{
    const struct sf_schema *engine = sf_schema_application.engine->type;
    for (uint32_t i = 0; i < engine->key_count; i++)
        if (strcmp(engine->keys[i].name, name) == 0) return &engine->keys[i];
    assert(false && "the key of a field stands in the schema table");
    return NULL;
}

/* Numbers out of range have been reported; the default stays. */
static void load_number(const struct field *field, const char *text, unsigned char *at)
{
    const struct sf_schema *schema = schema_key(field->key)->type;
    int64_t value = 0;
    bool is_read = field->type == FIELD_PERCENT ? sf_value_decimal(text, &value) : sf_value_int(text, &value);
    if (!is_read || value < schema->min || value > schema->max) return;
    if (field->type == FIELD_INT64) memcpy(at, &value, sizeof value);
    if (field->type == FIELD_UINT64) memcpy(at, &(uint64_t){(uint64_t)value}, sizeof(uint64_t));
    if (field->type == FIELD_UINT32) memcpy(at, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
    if (field->type == FIELD_PERCENT) memcpy(at, &(uint32_t){(uint32_t)(value / 10000)}, sizeof(uint32_t));
}

static void load_field(struct sfi_loader *l, const struct field *field, const struct sf_yaml_node *node)
{
    unsigned char *at = (unsigned char *)&l->topology->settings + field->offset;
    if (node->kind != SF_YAML_SCALAR) return;
    if (field->type == FIELD_TEXT) {
        const char *text = sfi_read_text(l, node, NULL);
        memcpy(at, &text, sizeof text);
    } else if (field->type == FIELD_BOOL) {
        bool value = sfi_read_bool(node, true);
        memcpy(at, &value, sizeof value);
    } else {
        load_number(field, node->text, at);
    }
}

void sfi_load_settings(struct sfi_loader *l, const struct sf_yaml_node *root)
{
    struct sf_settings *settings = &l->topology->settings;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const struct sf_yaml_node *node = sf_walk_engine_value(root, fields[i].key);
        if (node != NULL) load_field(l, &fields[i], node);
    }
    const struct sf_yaml_node *dispatch = sf_walk_engine_value(root, "processing.dispatch");
    settings->dispatch = (enum sf_dispatch)sfi_read_word(dispatch, dispatch_words);
    settings->is_changelog_packed =
        sfi_read_word(sf_walk_engine_value(root, "changelog.format"), format_words) == 1;
    if (sf_walk_engine_value(root, "transaction-timeout-ms") == NULL)
        settings->transaction_timeout_ms =
            sf_time_add(sf_time_add(settings->barrier_timeout_ms, settings->barrier_interval_ms_max), 20000);
}

void sfi_place_settings(const struct sf_yaml_node *root, struct sf_findings *findings, uint32_t from)
{
    static const char prefix[] = "stoatflow.";
    const struct sf_schema *engine = sf_schema_application.engine->type;
    for (uint32_t i = from; i < findings->count; i++) {
        struct sf_finding *finding = &findings->items[i];
        if (finding->place.line != 0 || strncmp(finding->text, prefix, sizeof prefix - 1) != 0) continue;
        for (uint32_t k = 0; k < engine->key_count; k++) {
            const char *name = engine->keys[k].name;
            const struct sf_yaml_node *node = sf_walk_engine_value(root, name);
            if (node != NULL && strncmp(finding->text + sizeof prefix - 1, name, strlen(name)) == 0)
                finding->place = sf_yaml_place(node);
        }
    }
}
