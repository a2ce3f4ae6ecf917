#include "tests/unit/json_schema.h"

#include <regex.h>
#include <stdlib.h>

#include "tests/check.h"

static bool is_number(const struct sf_yaml_node *node)
{
    char *end = NULL;
    if (node->kind != SF_YAML_SCALAR || node->is_quoted || node->text_length == 0) return false;
    if (strspn(node->text, "+-.0123456789eE") != node->text_length) return false;
    (void)strtod(node->text, &end);
    return *end == '\0';
}

static bool is_type(const struct sf_yaml_node *node, const char *type)
{
    bool is_scalar = node->kind == SF_YAML_SCALAR;
    bool is_boolean = is_scalar && !node->is_quoted && (sf_yaml_is(node, "true") || sf_yaml_is(node, "false"));
    if (strcmp(type, "object") == 0) return node->kind == SF_YAML_MAPPING;
    if (strcmp(type, "array") == 0) return node->kind == SF_YAML_SEQUENCE;
    if (strcmp(type, "null") == 0) return sf_yaml_is_null(node);
    if (strcmp(type, "boolean") == 0) return is_boolean;
    if (strcmp(type, "number") == 0) return is_number(node);
    if (strcmp(type, "integer") == 0) return is_number(node) && strpbrk(node->text, ".eE") == NULL;
    CHECK_STR(type, "string");
    return is_scalar && !is_boolean && !is_number(node) && !sf_yaml_is_null(node);
}

static bool has_type(const struct sf_yaml_node *types, const struct sf_yaml_node *value)
{
    if (types->kind == SF_YAML_SCALAR) return is_type(value, types->text);
    for (const struct sf_yaml_node *type = types->first; type != NULL; type = type->next)
        if (is_type(value, type->text)) return true;
    return false;
}

static bool matches(const char *pattern, const char *text)
{
    regex_t regex;
    CHECK_EQ(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    bool is_match = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return is_match;
}

static bool is_one_of(const struct sf_yaml_node *list, const struct sf_yaml_node *value)
{
    for (const struct sf_yaml_node *one = list->first; one != NULL; one = one->next)
        if (sf_yaml_is(value, one->text)) return true;
    return false;
}

static bool satisfies_any(const struct sf_yaml_node *schemas, const struct sf_yaml_node *value)
{
    for (const struct sf_yaml_node *schema = schemas->first; schema != NULL; schema = schema->next)
        if (json_schema_accepts(schema, value)) return true;
    return false;
}

static bool has_all(const struct sf_yaml_node *names, const struct sf_yaml_node *value)
{
    for (const struct sf_yaml_node *name = names->first; name != NULL; name = name->next)
        if (value->kind == SF_YAML_MAPPING && sf_yaml_get(value, name->text) == NULL) return false;
    return true;
}

/* `properties`, `patternProperties` and `additionalProperties` together. */
static bool members_are_good(const struct sf_yaml_node *schema, const struct sf_yaml_node *value)
{
    const struct sf_yaml_node *properties = sf_yaml_get(schema, "properties");
    const struct sf_yaml_node *patterns = sf_yaml_get(schema, "patternProperties");
    const struct sf_yaml_node *others = sf_yaml_get(schema, "additionalProperties");
    if (value->kind != SF_YAML_MAPPING) return true;
    for (const struct sf_yaml_node *member = value->first; member != NULL; member = member->next) {
        const struct sf_yaml_node *property = sf_yaml_get(properties, member->key->text);
        bool is_matched = property != NULL;
        if (property != NULL && !json_schema_accepts(property, member)) return false;
        for (const struct sf_yaml_node *one = patterns != NULL ? patterns->first : NULL; one != NULL; one = one->next) {
            if (!matches(one->key->text, member->key->text)) continue;
            is_matched = true;
            if (!json_schema_accepts(one, member)) return false;
        }
        if (is_matched || others == NULL) continue;
        if (sf_yaml_is(others, "false") || !json_schema_accepts(others, member)) return false;
    }
    return true;
}

static bool items_are_good(const struct sf_yaml_node *items, const struct sf_yaml_node *value)
{
    if (value->kind != SF_YAML_SEQUENCE) return true;
    for (const struct sf_yaml_node *item = value->first; item != NULL; item = item->next)
        if (!json_schema_accepts(items, item)) return false;
    return true;
}

static bool is_within(const struct sf_yaml_node *bound, const struct sf_yaml_node *value, bool is_least)
{
    if (!is_number(value)) return true;
    double limit = strtod(bound->text, NULL), number = strtod(value->text, NULL);
    return is_least ? number >= limit : number <= limit;
}

static bool is_long_enough(const struct sf_yaml_node *bound, const struct sf_yaml_node *value, bool is_least)
{
    unsigned long limit = strtoul(bound->text, NULL, 10);
    if (value->kind != SF_YAML_SEQUENCE) return true;
    return is_least ? value->child_count >= limit : value->child_count <= limit;
}

static bool keyword_holds(const struct sf_yaml_node *keyword, const struct sf_yaml_node *schema,
                          const struct sf_yaml_node *value)
{
    const char *name = keyword->key->text;
    if (name[0] == '$' || strcmp(name, "title") == 0 || strcmp(name, "description") == 0) return true;
    if (strcmp(name, "type") == 0) return has_type(keyword, value);
    if (strcmp(name, "enum") == 0) return is_one_of(keyword, value);
    if (strcmp(name, "anyOf") == 0) return satisfies_any(keyword, value);
    if (strcmp(name, "not") == 0) return !json_schema_accepts(keyword, value);
    if (strcmp(name, "required") == 0) return has_all(keyword, value);
    if (strcmp(name, "items") == 0) return items_are_good(keyword, value);
    if (strcmp(name, "minimum") == 0 || strcmp(name, "maximum") == 0) return is_within(keyword, value, name[1] == 'i');
    if (strcmp(name, "minItems") == 0 || strcmp(name, "maxItems") == 0)
        return is_long_enough(keyword, value, name[1] == 'i');
    if (strcmp(name, "pattern") == 0) return !is_type(value, "string") || matches(keyword->text, value->text);
    if (strcmp(name, "properties") == 0) return members_are_good(schema, value);
    if (strcmp(name, "patternProperties") == 0) return true;
    if (strcmp(name, "additionalProperties") == 0)
        return sf_yaml_get(schema, "properties") != NULL || members_are_good(schema, value);
    fail_msg("unknown keyword %s", name);
    return false;
}

bool json_schema_accepts(const struct sf_yaml_node *schema, const struct sf_yaml_node *value)
{
    CHECK_EQ(schema->kind, SF_YAML_MAPPING);
    for (const struct sf_yaml_node *keyword = schema->first; keyword != NULL; keyword = keyword->next)
        if (!keyword_holds(keyword, schema, value)) return false;
    return true;
}
