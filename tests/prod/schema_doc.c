#include "tests/prod/schema_doc.h"

#include <stdio.h>

static void add_words(const struct sf_schema *schema, struct sf_text *text)
{
    bool has_one = false;
    for (uint32_t i = 0; i < schema->word_count; i++) {
        if ((schema->words[i].flags & SF_KEY_LATER) != 0) continue;
        sf_text_add(text, has_one ? ", " : "");
        sf_text_add(text, schema->words[i].name);
        has_one = true;
    }
}

static void add_range(const struct sf_schema *schema, struct sf_text *text)
{
    sf_text_add(text, "integer from ");
    sf_text_add_int(text, schema->min);
    if (schema->max >= INT64_C(253402300799999)) return;
    sf_text_add(text, " to ");
    sf_text_add_int(text, schema->max);
}

static void add_type(const struct sf_schema *schema, struct sf_text *text)
{
    switch (schema->type) {
    case SF_SCHEMA_NAME: sf_text_add(text, "name"); return;
    case SF_SCHEMA_TEXT: sf_text_add(text, "text"); return;
    case SF_SCHEMA_WORD: add_words(schema, text); return;
    case SF_SCHEMA_BOOL: sf_text_add(text, "true, false"); return;
    case SF_SCHEMA_INT: add_range(schema, text); return;
    case SF_SCHEMA_DECIMAL:
        sf_text_add(text, "number from ");
        sf_text_add_int(text, schema->min / 1000000);
        sf_text_add(text, " to ");
        sf_text_add_int(text, schema->max / 1000000);
        return;
    case SF_SCHEMA_DURATION: sf_text_add(text, "duration"); return;
    case SF_SCHEMA_TIME: sf_text_add(text, "time"); return;
    case SF_SCHEMA_MOMENT: sf_text_add(text, "moment"); return;
    case SF_SCHEMA_PATH: sf_text_add(text, "path"); return;
    case SF_SCHEMA_EXPRESSION: sf_text_add(text, "expression"); return;
    case SF_SCHEMA_AGGREGATE: sf_text_add(text, "aggregate"); return;
    case SF_SCHEMA_ANY: sf_text_add(text, "anything"); return;
    case SF_SCHEMA_STAMP:
    case SF_SCHEMA_WATERMARK:
    case SF_SCHEMA_APPLICATION: sf_text_add(text, "of scenarios only"); return;
    case SF_SCHEMA_OBJECT:
    case SF_SCHEMA_ENGINE: sf_text_add(text, "section"); return;
    case SF_SCHEMA_MAP:
        sf_text_add(text, "by name: ");
        add_type(schema->item, text);
        return;
    case SF_SCHEMA_LIST:
        sf_text_add(text, "list of ");
        add_type(schema->item, text);
        return;
    case SF_SCHEMA_CHOICE:
        if (schema->scalar != NULL) add_type(schema->scalar, text);
        if (schema->scalar != NULL && (schema->list != NULL || schema->object != NULL)) sf_text_add(text, ", or ");
        if (schema->list != NULL) add_type(schema->list, text);
        if (schema->list != NULL && schema->object != NULL) sf_text_add(text, ", or ");
        if (schema->object != NULL) add_type(schema->object, text);
        return;
    }
}

static void add_row(const struct sf_schema_key *key, const char *prefix, struct sf_text *text)
{
    sf_text_add(text, "| `");
    sf_text_add(text, prefix);
    sf_text_add(text, key->name);
    sf_text_add(text, "` | ");
    add_type(key->type, text);
    sf_text_add(text, " | ");
    sf_text_add(text, (key->flags & SF_KEY_REQUIRED) != 0 ? "required: " : "");
    sf_text_add(text, key->doc);
    sf_text_add(text, " |\n");
}

static void add_section(const struct sf_schema *schema, const char *path, struct sf_text *text);

/* What stands below a key: the sections in it. */
static void add_inner(const struct sf_schema *schema, const char *path, struct sf_text *text)
{
    char inner[256];
    if (schema->type == SF_SCHEMA_OBJECT || schema->type == SF_SCHEMA_ENGINE) {
        add_section(schema, path, text);
        return;
    }
    if (schema->type != SF_SCHEMA_MAP && schema->type != SF_SCHEMA_LIST) return;
    (void)snprintf(inner, sizeof inner, schema->type == SF_SCHEMA_MAP ? "%s.NAME" : "%s[]", path);
    add_inner(schema->item, inner, text);
}

static void add_section(const struct sf_schema *schema, const char *path, struct sf_text *text)
{
    char inner[256];
    const char *dot = path[0] != '\0' ? "." : "";
    sf_text_add(text, "\n### ");
    sf_text_add(text, path[0] != '\0' ? path : "The file");
    sf_text_add(text, "\n\n| key | takes | what it is; default |\n|---|---|---|\n");
    for (uint32_t i = 0; i < schema->key_count; i++)
        if ((schema->keys[i].flags & SF_KEY_LATER) == 0)
            add_row(&schema->keys[i], schema->type == SF_SCHEMA_ENGINE ? "stoatflow." : "", text);
    for (uint32_t i = 0; i < schema->key_count; i++) {
        if ((schema->keys[i].flags & SF_KEY_LATER) != 0) continue;
        (void)snprintf(inner, sizeof inner, "%s%s%s", path, dot, schema->keys[i].name);
        add_inner(schema->keys[i].type, inner, text);
    }
}

void schema_doc_write(const struct sf_schema *root, struct sf_text *text)
{
    add_section(root, "", text);
}
