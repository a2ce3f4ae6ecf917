#include "core/app/expressions.h"

#include <assert.h>
#include <string.h>

#include "core/app/spelling.h"
#include "core/ops/expression.h"
#include "core/text.h"

struct aggregate_name {
    const char *name;
    enum sf_aggregate_kind kind;
    bool is_later;
};

static const struct aggregate_name aggregate_names[] = {
    {"count", SF_AGGREGATE_COUNT, false}, {"sum", SF_AGGREGATE_SUM, false},    {"min", SF_AGGREGATE_MIN, false},
    {"max", SF_AGGREGATE_MAX, false},     {"average", SF_AGGREGATE_SUM, true}, {"avg", SF_AGGREGATE_SUM, true},
    {"reduce", SF_AGGREGATE_SUM, true},
};
#define SFI_AGGREGATE_NAMES (sizeof aggregate_names / sizeof aggregate_names[0])

static void say(char *why, size_t why_bytes, const char *const *parts)
{
    struct sf_text text;
    sf_text_init(&text, why, why_bytes);
    for (; *parts != NULL; parts++) sf_text_add(&text, *parts);
}
#define SAY(why, why_bytes, ...) say((why), (why_bytes), (const char *const[]){__VA_ARGS__, NULL})

/* `offset` is where the expression stands in the scalar. */
static enum sf_expressions_verdict check(const char *text, size_t length, size_t offset, char *why, size_t why_bytes)
{
    struct sf_expression_error error;
    char position[SF_TEXT_INT_BYTES];
    if (sf_expression_check(text, length, &error)) return SF_EXPRESSIONS_GOOD;
    sf_text_of_int(position, (int64_t)(error.offset + offset) + 1);
    SAY(why, why_bytes, error.text, " at character ", position, " of `", text - offset, "`");
    return SF_EXPRESSIONS_BAD;
}

enum sf_expressions_verdict sf_expressions_check(const char *text, char *why, size_t why_bytes)
{
    return check(text, strlen(text), 0, why, why_bytes);
}

static size_t name_length(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-");
}

static const struct aggregate_name *find_name(const char *text, size_t length)
{
    for (size_t i = 0; i < SFI_AGGREGATE_NAMES; i++)
        if (strlen(aggregate_names[i].name) == length && memcmp(aggregate_names[i].name, text, length) == 0)
            return &aggregate_names[i];
    return NULL;
}

static void refuse_name(const char *text, size_t length, char *why, size_t why_bytes)
{
    char name[32] = {0};
    memcpy(name, text, length < sizeof name - 1 ? length : sizeof name - 1);
    struct sf_spelling spelling;
    sf_spelling_init(&spelling, name);
    for (size_t i = 0; i < SFI_AGGREGATE_NAMES; i++)
        if (!aggregate_names[i].is_later) sf_spelling_offer(&spelling, aggregate_names[i].name);
    if (spelling.best != NULL)
        SAY(why, why_bytes, "unknown aggregation `", name, "`; did you mean `", spelling.best, "`?");
    else
        SAY(why, why_bytes, "unknown aggregation `", name, "`; it is count, sum(...), min(...) or max(...)");
}

enum sf_expressions_verdict sf_expressions_check_aggregate(const char *text, char *why, size_t why_bytes)
{
    size_t length = name_length(text), whole = strlen(text);
    const struct aggregate_name *name = find_name(text, length);
    if (name == NULL) {
        refuse_name(text, length, why, why_bytes);
        return SF_EXPRESSIONS_BAD;
    }
    if (name->is_later) {
        SAY(why, why_bytes, "`", name->name, "` is not yet supported");
        return SF_EXPRESSIONS_LATER;
    }
    if (name->kind == SF_AGGREGATE_COUNT) {
        if (length == whole) return SF_EXPRESSIONS_GOOD;
        SAY(why, why_bytes, "`count` stands alone, without parentheses");
        return SF_EXPRESSIONS_BAD;
    }
    if (whole < length + 2 || text[length] != '(' || text[whole - 1] != ')') {
        SAY(why, why_bytes, "`", name->name, "` needs an expression: ", name->name, "($.field)");
        return SF_EXPRESSIONS_BAD;
    }
    return check(text + length + 1, whole - length - 2, length + 1, why, why_bytes);
}

void sf_expressions_split_aggregate(const char *text, enum sf_aggregate_kind *kind_out, const char **expression_out,
                                    size_t *length_out)
{
    size_t length = name_length(text), whole = strlen(text);
    const struct aggregate_name *name = find_name(text, length);
    assert(name != NULL);
    *kind_out = name->kind;
    *expression_out = NULL;
    *length_out = 0;
    if (name->kind == SF_AGGREGATE_COUNT) return;
    assert(whole >= length + 2);
    *expression_out = text + length + 1;
    *length_out = whole - length - 2;
}
