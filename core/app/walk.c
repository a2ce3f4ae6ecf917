#include "core/app/walk.h"

#include <assert.h>
#include <string.h>

#include "core/app/expressions.h"
#include "core/app/spelling.h"
#include "core/app/values.h"
#include "core/text.h"

#define SFI_WHERE_BYTES 160u
#define SFI_PREFIX "stoatflow."

struct walker {
    struct sf_findings *findings;
    char where[SFI_WHERE_BYTES]; /* the node looked at: `sources.orders.watermark` */
    size_t where_length;
};

#define REFUSE(w, rule, place, ...)                                                                                    \
    sf_findings_add((w)->findings, SF_FINDING_ERROR, (rule), (place), (const char *const[]){__VA_ARGS__, NULL})

static void walk(struct walker *w, const struct sf_yaml_node *node, const struct sf_schema *schema);

/* ---- where we are ---- */

static size_t enter(struct walker *w, const char *name)
{
    size_t before = w->where_length;
    struct sf_text text = {.data = w->where, .length = before, .capacity = sizeof w->where};
    if (before > 0) sf_text_add(&text, ".");
    sf_text_add(&text, name);
    w->where_length = text.length;
    return before;
}

static void leave(struct walker *w, size_t before)
{
    w->where[before] = '\0';
    w->where_length = before;
}

static const char *where_of(const struct walker *w)
{
    return w->where_length > 0 ? w->where : "the file";
}

/* ---- scalars ---- */

static void refuse_value(struct walker *w, const struct sf_yaml_node *node, const char *expected)
{
    if (node->kind == SF_YAML_SCALAR)
        REFUSE(w, "V8", node->place, where_of(w), " must be ", expected, ", not `", node->text, "`");
    else
        REFUSE(w, "V8", node->place, where_of(w), " must be ", expected, ", not a ",
               node->kind == SF_YAML_MAPPING ? "mapping" : "list");
}

static void refuse_word(struct walker *w, const struct sf_yaml_node *node, const struct sf_schema *schema)
{
    char list[200];
    struct sf_text text;
    sf_text_init(&text, list, sizeof list);
    struct sf_spelling spelling;
    sf_spelling_init(&spelling, node->text);
    uint32_t listed = 0;
    for (uint32_t i = 0; i < schema->word_count; i++) {
        sf_spelling_offer(&spelling, schema->words[i].name);
        if (schema->words[i].flags & SF_KEY_LATER) continue;
        if (listed++ > 0) sf_text_add(&text, ", ");
        sf_text_add(&text, schema->words[i].name);
    }
    if (spelling.best != NULL)
        REFUSE(w, "V8", node->place, where_of(w), " cannot be `", node->text, "`; did you mean `", spelling.best, "`?");
    else
        REFUSE(w, "V8", node->place, where_of(w), " cannot be `", node->text, "`; it is one of ", list);
}

static void walk_word(struct walker *w, const struct sf_yaml_node *node, const struct sf_schema *schema)
{
    for (uint32_t i = 0; i < schema->word_count; i++) {
        if (strcmp(schema->words[i].name, node->text) != 0) continue;
        if (schema->words[i].flags & SF_KEY_LATER)
            REFUSE(w, "later", node->place, "`", node->text, "` (", where_of(w), ") is not yet supported");
        return;
    }
    refuse_word(w, node, schema);
}

static const char *number_text(char buffer[SF_TEXT_DURATION_BYTES], const struct sf_schema *schema, int64_t value)
{
    if (schema->type == SF_SCHEMA_DURATION) return sf_text_of_duration(buffer, value);
    return sf_text_of_int(buffer, schema->type == SF_SCHEMA_DECIMAL ? value / 1000000 : value);
}

static void check_range(struct walker *w, const struct sf_yaml_node *node, const struct sf_schema *schema,
                        int64_t value)
{
    if (value >= schema->min && value <= schema->max) return;
    const char *rule = schema->rule != NULL ? schema->rule : "V8";
    char bound[SF_TEXT_DURATION_BYTES];
    bool is_low = value < schema->min;
    REFUSE(w, rule, node->place, where_of(w), " is ", node->text, " and must be ", is_low ? "at least " : "at most ",
           number_text(bound, schema, is_low ? schema->min : schema->max));
}

static void walk_number(struct walker *w, const struct sf_yaml_node *node, const struct sf_schema *schema)
{
    int64_t value = 0;
    bool is_read = false;
    const char *expected = "a whole number";
    if (schema->type == SF_SCHEMA_INT) is_read = !node->is_quoted && sf_value_int(node->text, &value);
    if (schema->type == SF_SCHEMA_DECIMAL) {
        is_read = !node->is_quoted && sf_value_decimal(node->text, &value);
        expected = "a number such as 1.5";
    }
    if (schema->type == SF_SCHEMA_DURATION) {
        bool is_sign_odd = node->text[0] == '+' && schema->min >= 0; /* `+1h` is one where `-1h` is */
        is_read = !is_sign_odd && sf_value_duration(node->text, &value);
        expected = "a duration such as 250ms, 30s, 5m, 1h or 7d";
    }
    if (is_read)
        check_range(w, node, schema, value);
    else
        refuse_value(w, node, expected);
}

/* What the text must be; NULL where it is. */
static const char *expected_of(const struct sf_yaml_node *node, enum sf_schema_type type)
{
    int64_t ms = 0;
    bool is_true = false;
    enum sf_moment_kind kind;
    if (type == SF_SCHEMA_NAME)
        return sf_topology_is_name(node->text) ? NULL : "a name of the characters a-z A-Z 0-9 . _ -";
    if (type == SF_SCHEMA_BOOL)
        return !node->is_quoted && sf_value_bool(node->text, &is_true) ? NULL : "true or false";
    if (type == SF_SCHEMA_TIME)
        return sf_value_time(node->text, &ms) ? NULL : "a time such as 2026-09-22T10:00:00Z, or epoch milliseconds";
    if ((type == SF_SCHEMA_STAMP || type == SF_SCHEMA_WATERMARK) && sf_value_int(node->text, &ms)) return NULL;
    if (type == SF_SCHEMA_WATERMARK && (sf_yaml_is(node, "unset") || sf_yaml_is(node, "complete"))) return NULL;
    if (type == SF_SCHEMA_MOMENT || type == SF_SCHEMA_STAMP || type == SF_SCHEMA_WATERMARK)
        return sf_value_moment(node->text, &kind, &ms)
                   ? NULL
                   : "a time such as 2026-09-22T10:00:00Z, +90s (from the start), 10:05 or epoch milliseconds";
    if (type == SF_SCHEMA_PATH) return sf_value_is_path(node->text) ? NULL : "a path such as $.event_time";
    return NULL;
}

static void walk_expression(struct walker *w, const struct sf_yaml_node *node, enum sf_schema_type type)
{
    char why[160];
    enum sf_expressions_verdict verdict = type == SF_SCHEMA_AGGREGATE
                                              ? sf_expressions_check_aggregate(node->text, why, sizeof why)
                                              : sf_expressions_check(node->text, why, sizeof why);
    if (verdict == SF_EXPRESSIONS_GOOD) return;
    REFUSE(w, verdict == SF_EXPRESSIONS_LATER ? "later" : "V8", node->place, where_of(w), ": ", why);
}

static bool is_scalar_type(enum sf_schema_type type)
{
    return type <= SF_SCHEMA_AGGREGATE;
}

static void walk_scalar(struct walker *w, const struct sf_yaml_node *node, const struct sf_schema *schema)
{
    static const char *const names[] = {"a name",
                                        "a text",
                                        "one word",
                                        "true or false",
                                        "a whole number",
                                        "a number",
                                        "a duration",
                                        "a time",
                                        "a time",
                                        "a time",
                                        "a time, unset or complete",
                                        "a path such as $.event_time",
                                        "an expression",
                                        "count, sum(...), min(...) or max(...)"};
    if (node->kind != SF_YAML_SCALAR) {
        refuse_value(w, node, names[schema->type]);
        return;
    }
    if (sf_yaml_is_null(node)) {
        REFUSE(w, "V8", sf_yaml_place(node), where_of(w), " is empty; it must be ", names[schema->type]);
        return;
    }
    if (schema->type == SF_SCHEMA_WORD) {
        walk_word(w, node, schema);
    } else if (schema->type == SF_SCHEMA_INT || schema->type == SF_SCHEMA_DECIMAL ||
               schema->type == SF_SCHEMA_DURATION) {
        walk_number(w, node, schema);
    } else if (schema->type == SF_SCHEMA_EXPRESSION || schema->type == SF_SCHEMA_AGGREGATE) {
        walk_expression(w, node, schema->type);
    } else {
        const char *expected = expected_of(node, schema->type);
        if (expected != NULL) refuse_value(w, node, expected);
    }
}

/* ---- engine keys ---- */

static const struct sf_schema_key *find_key(const struct sf_schema *schema, const char *name)
{
    for (uint32_t i = 0; i < schema->key_count; i++)
        if (strcmp(schema->keys[i].name, name) == 0) return &schema->keys[i];
    return NULL;
}

/* Whether `name.` begins an engine key. */
static bool is_group(const struct sf_schema *engine, const char *name)
{
    size_t length = strlen(name);
    for (uint32_t i = 0; i < engine->key_count; i++)
        if (strncmp(engine->keys[i].name, name, length) == 0 && engine->keys[i].name[length] == '.') return true;
    return false;
}

static void refuse_unknown(struct walker *w, const struct sf_yaml_node *node, const char *name,
                           const struct sf_spelling *spelling)
{
    if (spelling->best != NULL)
        REFUSE(w, "V8", node->key->place, "unknown key `", name, "` in ", where_of(w), "; did you mean `",
               spelling->best, "`?");
    else
        REFUSE(w, "V8", node->key->place, "unknown key `", name, "` in ", where_of(w));
}

static void refuse_later(struct walker *w, const struct sf_yaml_node *node, const char *name)
{
    REFUSE(w, "later", node->key->place, "`", name, "` (", where_of(w), ") is not yet supported");
}

/* Engine keys found so far, to see one that is set in two spellings. */
struct engine_walk {
    const struct sf_schema *schema;
    bool is_set[64];
};

static void walk_engine_value(struct walker *w, struct engine_walk *e, const struct sf_yaml_node *node,
                              const struct sf_schema_key *key)
{
    size_t index = (size_t)(key - e->schema->keys);
    assert(index < sizeof e->is_set);
    size_t before = enter(w, key->name);
    if (e->is_set[index])
        REFUSE(w, "V8", node->key->place, "`", w->where, "` is set twice, in two spellings");
    e->is_set[index] = true;
    if (key->flags & SF_KEY_LATER)
        refuse_later(w, node, key->name);
    else
        walk(w, node, key->type);
    leave(w, before);
}

static void refuse_unknown_engine(struct walker *w, const struct engine_walk *e, const struct sf_yaml_node *node,
                                  const char *path)
{
    char groups[64][24];
    uint32_t group_count = 0;
    struct sf_spelling spelling;
    sf_spelling_init(&spelling, path);
    for (uint32_t i = 0; i < e->schema->key_count; i++) {
        const char *name = e->schema->keys[i].name;
        size_t length = strcspn(name, ".");
        sf_spelling_offer(&spelling, name);
        if (name[length] == '\0' || length >= sizeof groups[0] || group_count >= 64) continue;
        memcpy(groups[group_count], name, length);
        groups[group_count][length] = '\0';
        sf_spelling_offer(&spelling, groups[group_count++]);
    }
    refuse_unknown(w, node, path, &spelling);
}

/* `path` is the dotted name so far, "" at the top; nesting is as deep as the file's at most. */
static void walk_engine_map(struct walker *w, struct engine_walk *e, const struct sf_yaml_node *map, const char *path)
{
    for (const struct sf_yaml_node *node = map->first; node != NULL; node = node->next) {
        const char *name = node->key->text;
        if (path[0] == '\0' && strncmp(name, SFI_PREFIX, strlen(SFI_PREFIX)) == 0) name += strlen(SFI_PREFIX);
        char full[96];
        struct sf_text text;
        sf_text_init(&text, full, sizeof full);
        sf_text_add(&text, path);
        if (path[0] != '\0') sf_text_add(&text, ".");
        sf_text_add(&text, name);
        const struct sf_schema_key *key = find_key(e->schema, full);
        if (key != NULL)
            walk_engine_value(w, e, node, key);
        else if (is_group(e->schema, full) && node->kind == SF_YAML_MAPPING)
            walk_engine_map(w, e, node, full);
        else if (is_group(e->schema, full))
            REFUSE(w, "V8", node->place, "stoatflow.", full, " must be a mapping of keys");
        else
            refuse_unknown_engine(w, e, node, full);
    }
}

static bool is_engine_key(const struct sf_schema *schema, const char *name)
{
    return schema->engine != NULL && strncmp(name, SFI_PREFIX, strlen(SFI_PREFIX)) == 0;
}

static void walk_engine(struct walker *w, const struct sf_yaml_node *root, const struct sf_schema *schema)
{
    struct engine_walk e = {.schema = schema->engine->type};
    size_t before = enter(w, "stoatflow");
    const struct sf_yaml_node *section = sf_yaml_get(root, "stoatflow");
    if (section != NULL && section->kind == SF_YAML_MAPPING)
        walk_engine_map(w, &e, section, "");
    else if (section != NULL && !sf_yaml_is_null(section))
        refuse_value(w, section, "a mapping of engine keys");
    for (const struct sf_yaml_node *node = root->first; node != NULL; node = node->next) {
        if (!is_engine_key(schema, node->key->text)) continue;
        const char *name = node->key->text + strlen(SFI_PREFIX);
        const struct sf_schema_key *key = find_key(schema->engine->type, name);
        if (key != NULL)
            walk_engine_value(w, &e, node, key);
        else
            refuse_unknown_engine(w, &e, node, name);
    }
    leave(w, before);
}

static const struct sf_yaml_node *engine_value_in(const struct sf_yaml_node *map, const char *key)
{
    if (map == NULL || map->kind != SF_YAML_MAPPING) return NULL;
    for (const struct sf_yaml_node *node = map->first; node != NULL; node = node->next) {
        size_t length = node->key->text_length;
        if (length == 0 || strncmp(node->key->text, key, length) != 0) continue;
        if (key[length] == '\0') return node;
        if (key[length] != '.') continue;
        const struct sf_yaml_node *found = engine_value_in(node, key + length + 1);
        if (found != NULL) return found;
    }
    return NULL;
}

const struct sf_yaml_node *sf_walk_engine_value(const struct sf_yaml_node *root, const char *key)
{
    char full[96];
    struct sf_text text;
    sf_text_init(&text, full, sizeof full);
    sf_text_add(&text, SFI_PREFIX);
    sf_text_add(&text, key);
    const struct sf_yaml_node *section = sf_yaml_get(root, "stoatflow");
    const struct sf_yaml_node *found = engine_value_in(section, key);
    if (found == NULL) found = sf_yaml_get(section, full);
    return found != NULL ? found : sf_yaml_get(root, full);
}

/* ---- collections ---- */

static void walk_entry(struct walker *w, const struct sf_yaml_node *node, const struct sf_schema *schema)
{
    const char *name = node->key->text;
    if (is_engine_key(schema, name)) return;
    const struct sf_schema_key *key = find_key(schema, name);
    if (key == NULL && schema->item != NULL && strchr(name, '/') != NULL) {
        size_t before = enter(w, name);
        walk(w, node, schema->item);
        leave(w, before);
    } else if (key == NULL) {
        struct sf_spelling spelling;
        sf_spelling_init(&spelling, name);
        for (uint32_t i = 0; i < schema->key_count; i++) sf_spelling_offer(&spelling, schema->keys[i].name);
        refuse_unknown(w, node, name, &spelling);
    } else if (key->flags & SF_KEY_LATER) {
        refuse_later(w, node, name);
    } else if (key != schema->engine) {
        size_t before = enter(w, name);
        walk(w, node, key->type);
        leave(w, before);
    }
}

static void walk_object(struct walker *w, const struct sf_yaml_node *node, const struct sf_schema *schema)
{
    if (node->kind != SF_YAML_MAPPING) {
        refuse_value(w, node, "a mapping of keys");
        return;
    }
    for (const struct sf_yaml_node *child = node->first; child != NULL; child = child->next)
        walk_entry(w, child, schema);
    for (uint32_t i = 0; i < schema->key_count; i++)
        if ((schema->keys[i].flags & SF_KEY_REQUIRED) && sf_yaml_get(node, schema->keys[i].name) == NULL)
            REFUSE(w, "V8", sf_yaml_place(node), where_of(w), " has no `", schema->keys[i].name,
                   "`: ", schema->keys[i].doc);
    if (schema->engine != NULL) walk_engine(w, node, schema);
}

static void walk_map(struct walker *w, const struct sf_yaml_node *node, const struct sf_schema *schema)
{
    if (node->kind != SF_YAML_MAPPING) {
        refuse_value(w, node, "a mapping of names");
        return;
    }
    for (const struct sf_yaml_node *child = node->first; child != NULL; child = child->next) {
        size_t before = enter(w, child->key->text);
        walk(w, child, schema->item);
        leave(w, before);
    }
}

/* An item is called by its name where it has one: `streams.counts`, else by its place: `sinks[2]`. */
static void walk_list(struct walker *w, const struct sf_yaml_node *node, const struct sf_schema *schema)
{
    if (node->kind != SF_YAML_SEQUENCE) {
        refuse_value(w, node, "a list");
        return;
    }
    int64_t count = node->child_count, position = 0;
    char least[SF_TEXT_INT_BYTES], most[SF_TEXT_INT_BYTES];
    if (schema->max > 0 && (count < schema->min || count > schema->max))
        REFUSE(w, "V8", sf_yaml_place(node), where_of(w), " must be a list of ", sf_text_of_int(least, schema->min),
               schema->min == schema->max ? "" : " to ",
               schema->min == schema->max ? "" : sf_text_of_int(most, schema->max), " values");
    for (const struct sf_yaml_node *child = node->first; child != NULL; child = child->next) {
        char label[64];
        struct sf_text text;
        sf_text_init(&text, label, sizeof label);
        const struct sf_yaml_node *name = sf_yaml_get(child, "name");
        position++;
        if (name != NULL && name->kind == SF_YAML_SCALAR && name->text_length > 0 && name->text_length < sizeof label) {
            sf_text_add(&text, name->text);
        } else {
            sf_text_add(&text, "#");
            sf_text_add_int(&text, position);
        }
        size_t before = enter(w, label);
        walk(w, child, schema->item);
        leave(w, before);
    }
}

static void walk_choice(struct walker *w, const struct sf_yaml_node *node, const struct sf_schema *schema)
{
    const struct sf_schema *chosen = schema->scalar;
    if (node->kind == SF_YAML_SEQUENCE) chosen = schema->list;
    if (node->kind == SF_YAML_MAPPING) chosen = schema->object;
    if (chosen == NULL) chosen = schema->scalar != NULL ? schema->scalar : schema->object;
    if (chosen == NULL) chosen = schema->list;
    walk(w, node, chosen);
}

static void walk(struct walker *w, const struct sf_yaml_node *node, const struct sf_schema *schema)
{
    if (w->findings->count >= SF_FINDINGS_MAX) return;
    if (is_scalar_type(schema->type)) {
        walk_scalar(w, node, schema);
        return;
    }
    if (schema->type == SF_SCHEMA_OBJECT) walk_object(w, node, schema);
    if (schema->type == SF_SCHEMA_MAP) walk_map(w, node, schema);
    if (schema->type == SF_SCHEMA_LIST) walk_list(w, node, schema);
    if (schema->type == SF_SCHEMA_CHOICE) walk_choice(w, node, schema);
}

bool sf_walk(const struct sf_yaml_node *node, const struct sf_schema *schema, const char *where,
             struct sf_findings *findings)
{
    uint32_t before = findings->error_count;
    struct walker w = {.findings = findings};
    (void)enter(&w, where);
    walk(&w, node, schema);
    return findings->error_count == before;
}
