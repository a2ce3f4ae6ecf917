#include "core/app/schema_json.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "core/app/schema_table.h"
#include "core/time/event_time.h"

#define SFI_SPAN "([0-9]+(ms|s|m|h|d))+"
#define SFI_CLOCK "[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,3})?)?"
#define SFI_DATE "[0-9]{4}-[0-9]{2}-[0-9]{2}"

/* JSON, one member a line. */
struct writer {
    struct sf_text *text;
    uint32_t depth;
    bool is_empty; /* nothing stands in the innermost object or list yet */
};

static void write_schema(struct writer *w, const struct sf_schema *schema, const char *doc);

static void begin_line(struct writer *w)
{
    if (!w->is_empty) sf_text_add(w->text, ",");
    sf_text_add(w->text, "\n");
    for (uint32_t i = 0; i < w->depth; i++) sf_text_add(w->text, " ");
    w->is_empty = false;
}

static void write_name(struct writer *w, const char *name)
{
    begin_line(w);
    sf_text_add_json(w->text, name, strlen(name));
    sf_text_add(w->text, ": ");
}

static void open(struct writer *w, const char *bracket)
{
    sf_text_add(w->text, bracket);
    w->depth++;
    w->is_empty = true;
}

static void close(struct writer *w, const char *bracket)
{
    w->depth--;
    if (!w->is_empty) {
        sf_text_add(w->text, "\n");
        for (uint32_t i = 0; i < w->depth; i++) sf_text_add(w->text, " ");
    }
    sf_text_add(w->text, bracket);
    w->is_empty = false;
}

static void write_string(struct writer *w, const char *name, const char *value)
{
    write_name(w, name);
    sf_text_add_json(w->text, value, strlen(value));
}

static void write_raw(struct writer *w, const char *name, const char *json)
{
    write_name(w, name);
    sf_text_add(w->text, json);
}

static void write_number(struct writer *w, const char *name, int64_t value)
{
    write_name(w, name);
    sf_text_add_int(w->text, value);
}

/* ---- scalars ---- */

static void write_pattern(struct writer *w, const char *pattern)
{
    write_string(w, "type", "string");
    write_string(w, "pattern", pattern);
}

static void begin_alternative(struct writer *w)
{
    begin_line(w);
    open(w, "{");
}

static void write_times(struct writer *w, enum sf_schema_type type)
{
    write_name(w, "anyOf");
    open(w, "[");
    begin_alternative(w);
    write_string(w, "type", "integer");
    if (type != SF_SCHEMA_STAMP && type != SF_SCHEMA_WATERMARK) write_number(w, "minimum", 0);
    if (type != SF_SCHEMA_STAMP && type != SF_SCHEMA_WATERMARK) write_number(w, "maximum", SF_TIME_VALID_MAX);
    close(w, "}");
    begin_alternative(w);
    write_pattern(w, "^" SFI_DATE "(T" SFI_CLOCK "(Z|[+-][0-9]{2}:[0-9]{2})?)?$");
    close(w, "}");
    if (type != SF_SCHEMA_TIME) {
        begin_alternative(w);
        write_pattern(w, "^([+]" SFI_SPAN "|" SFI_CLOCK ")$");
        close(w, "}");
    }
    if (type == SF_SCHEMA_WATERMARK) {
        begin_alternative(w);
        write_raw(w, "enum", "[\"unset\", \"complete\"]");
        close(w, "}");
    }
    close(w, "]");
}

static void write_words(struct writer *w, const struct sf_schema *schema)
{
    write_name(w, "enum");
    open(w, "[");
    for (uint32_t i = 0; i < schema->word_count; i++) {
        if (schema->words[i].flags & SF_KEY_LATER) continue;
        begin_line(w);
        sf_text_add_json(w->text, schema->words[i].name, strlen(schema->words[i].name));
    }
    close(w, "]");
}

static void write_scalar(struct writer *w, const struct sf_schema *schema)
{
    if (schema->type == SF_SCHEMA_NAME) {
        write_raw(w, "type", "[\"string\", \"number\", \"boolean\"]");
        write_string(w, "pattern", "^[A-Za-z0-9._-]{1,200}$");
    }
    if (schema->type == SF_SCHEMA_TEXT || schema->type == SF_SCHEMA_EXPRESSION)
        write_raw(w, "type", "[\"string\", \"number\", \"boolean\"]");
    if (schema->type == SF_SCHEMA_WORD) write_words(w, schema);
    if (schema->type == SF_SCHEMA_BOOL) write_string(w, "type", "boolean");
    if (schema->type == SF_SCHEMA_INT) {
        write_string(w, "type", "integer");
        write_number(w, "minimum", schema->min);
        write_number(w, "maximum", schema->max);
    }
    if (schema->type == SF_SCHEMA_DECIMAL) {
        assert(schema->min % 1000000 == 0 && schema->max % 1000000 == 0);
        write_string(w, "type", "number");
        write_number(w, "minimum", schema->min / 1000000);
        write_number(w, "maximum", schema->max / 1000000);
    }
    if (schema->type == SF_SCHEMA_DURATION)
        write_pattern(w, schema->min < 0 ? "^[+-]?" SFI_SPAN "$" : "^" SFI_SPAN "$");
    if (schema->type >= SF_SCHEMA_TIME && schema->type <= SF_SCHEMA_WATERMARK) write_times(w, schema->type);
    if (schema->type == SF_SCHEMA_PATH) write_pattern(w, "^[$]([.][A-Za-z0-9_-]+)+$");
    if (schema->type == SF_SCHEMA_AGGREGATE) write_pattern(w, "^(count|(sum|min|max)[(].+[)])$");
}

/* ---- engine keys ---- */

/* Members of one level: the keys that begin with `prefix`, dotted from there, and their groups as objects. */
static void write_engine_level(struct writer *w, const struct sf_schema *engine, const char *prefix,
                               const char *spelling)
{
    size_t length = strlen(prefix);
    char seen[64] = "";
    for (uint32_t i = 0; i < engine->key_count; i++) {
        const struct sf_schema_key *key = &engine->keys[i];
        if (strncmp(key->name, prefix, length) != 0) continue;
        const char *rest = key->name + length, *dot = strchr(rest, '.');
        char name[128];
        struct sf_text text;
        sf_text_init(&text, name, sizeof name);
        sf_text_add(&text, spelling);
        sf_text_add(&text, rest);
        write_name(w, name);
        open(w, "{");
        if (key->flags & SF_KEY_LATER) write_raw(w, "not", "{}");
        write_string(w, "description", key->doc);
        if (!(key->flags & SF_KEY_LATER)) write_scalar(w, key->type);
        close(w, "}");
        if (dot == NULL || spelling[0] != '\0') continue;
        char group[64];
        sf_text_init(&text, group, sizeof group);
        sf_text_add(&text, prefix);
        sf_text_add_bytes(&text, rest, (size_t)(dot - rest) + 1);
        if (strcmp(group, seen) == 0) continue; /* keys of a group stand together in the table */
        memcpy(seen, group, sizeof seen);
        name[dot - rest] = '\0';
        write_name(w, name);
        open(w, "{");
        write_string(w, "type", "object");
        write_raw(w, "additionalProperties", "false");
        write_name(w, "properties");
        open(w, "{");
        write_engine_level(w, engine, group, "");
        close(w, "}");
        close(w, "}");
    }
}

static void write_engine(struct writer *w, const struct sf_schema *engine)
{
    write_raw(w, "type", "[\"object\", \"null\"]");
    write_raw(w, "additionalProperties", "false");
    write_name(w, "properties");
    open(w, "{");
    write_engine_level(w, engine, "", "");
    write_engine_level(w, engine, "", "stoatflow.");
    close(w, "}");
}

/* ---- collections ---- */

static void write_property(struct writer *w, const struct sf_schema_key *key)
{
    write_name(w, key->name);
    if (!(key->flags & SF_KEY_LATER)) {
        write_schema(w, key->type, key->doc);
        return;
    }
    open(w, "{");
    write_raw(w, "not", "{}");
    char doc[160];
    struct sf_text text;
    sf_text_init(&text, doc, sizeof doc);
    sf_text_add(&text, "not yet supported: ");
    sf_text_add(&text, key->doc);
    write_string(w, "description", doc);
    close(w, "}");
}

static void write_object(struct writer *w, const struct sf_schema *schema)
{
    write_string(w, "type", "object");
    write_raw(w, "additionalProperties", "false");
    write_name(w, "required");
    open(w, "[");
    for (uint32_t i = 0; i < schema->key_count; i++) {
        if (!(schema->keys[i].flags & SF_KEY_REQUIRED)) continue;
        begin_line(w);
        sf_text_add_json(w->text, schema->keys[i].name, strlen(schema->keys[i].name));
    }
    close(w, "]");
    write_name(w, "properties");
    open(w, "{");
    for (uint32_t i = 0; i < schema->key_count; i++) write_property(w, &schema->keys[i]);
    if (schema->engine != NULL) write_engine_level(w, schema->engine->type, "", "stoatflow.");
    close(w, "}");
    if (schema->item == NULL) return;
    write_name(w, "patternProperties");
    open(w, "{");
    write_name(w, "/");
    write_schema(w, schema->item, NULL);
    close(w, "}");
}

static void write_list(struct writer *w, const struct sf_schema *schema)
{
    write_string(w, "type", "array");
    if (schema->max > 0) write_number(w, "minItems", schema->min);
    if (schema->max > 0) write_number(w, "maxItems", schema->max);
    write_name(w, "items");
    write_schema(w, schema->item, NULL);
}

static void write_choice(struct writer *w, const struct sf_schema *schema)
{
    const struct sf_schema *const forms[] = {schema->scalar, schema->list, schema->object};
    write_name(w, "anyOf");
    open(w, "[");
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (forms[i] == NULL) continue;
        begin_line(w);
        if (forms[i] == schema->scalar && forms[i]->type == SF_SCHEMA_ANY)
            sf_text_add(w->text, "{\"type\": [\"string\", \"number\", \"boolean\", \"null\"]}");
        else
            write_schema(w, forms[i], NULL);
    }
    close(w, "]");
}

static void write_members(struct writer *w, const struct sf_schema *schema)
{
    if (schema->type <= SF_SCHEMA_AGGREGATE) write_scalar(w, schema);
    if (schema->type == SF_SCHEMA_OBJECT) write_object(w, schema);
    if (schema->type == SF_SCHEMA_APPLICATION) write_object(w, &sf_schema_application);
    if (schema->type == SF_SCHEMA_LIST) write_list(w, schema);
    if (schema->type == SF_SCHEMA_CHOICE) write_choice(w, schema);
    if (schema->type == SF_SCHEMA_ENGINE) write_engine(w, schema);
    if (schema->type == SF_SCHEMA_MAP) {
        write_string(w, "type", "object");
        write_name(w, "additionalProperties");
        write_schema(w, schema->item, NULL);
    }
}

static void write_schema(struct writer *w, const struct sf_schema *schema, const char *doc)
{
    open(w, "{");
    if (doc != NULL) write_string(w, "description", doc);
    write_members(w, schema);
    close(w, "}");
}

void sf_app_schema_write(enum sf_app_schema_kind kind, struct sf_text *text)
{
    bool is_scenario = kind == SF_APP_SCHEMA_SCENARIO;
    struct writer w = {.text = text};
    open(&w, "{");
    write_string(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    write_string(&w, "title", is_scenario ? "Scenario" : "Application");
    write_members(&w, is_scenario ? &sf_schema_scenario : &sf_schema_application);
    close(&w, "}");
    sf_text_add(text, "\n");
}
