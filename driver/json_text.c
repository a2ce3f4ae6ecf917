#include "driver/json_text.h"

#include <string.h>

#include "core/ops/json.h"

struct member {
    const char *name; /* with its quotes */
    size_t name_len;
    const char *value;
    size_t value_len;
};

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
    return at;
}

/* Behind the string that begins at `at`. The text is well-formed. */
static const char *skip_string(const char *at)
{
    at++;
    while (*at != '"') at += *at == '\\' ? 2 : 1;
    return at + 1;
}

/* Behind the value that begins at `at`. */
static const char *skip_value(const char *at, const char *end)
{
    uint32_t depth = 0;
    while (at < end) {
        if (*at == '"') {
            at = skip_string(at);
            continue;
        }
        if (*at == '{' || *at == '[') depth++;
        bool is_close = *at == '}' || *at == ']';
        if (depth == 0 && (is_close || *at == ',')) break;
        if (is_close) depth--;
        at++;
    }
    return at;
}

static void add_packed(struct sf_text *text, const char *at, size_t len)
{
    const char *end = at + len;
    while (at < end) {
        const char *next = *at == '"' ? skip_string(at) : at + 1;
        bool is_blank = *at == ' ' || *at == '\t' || *at == '\n' || *at == '\r';
        if (!is_blank) sf_text_add_bytes(text, at, (size_t)(next - at));
        at = next;
    }
}

static int compare(const struct member *a, const struct member *b)
{
    size_t common = a->name_len < b->name_len ? a->name_len : b->name_len;
    int order = memcmp(a->name, b->name, common);
    if (order != 0) return order;
    return a->name_len < b->name_len ? -1 : a->name_len > b->name_len;
}

static void insert(struct member *members, uint32_t count, struct member member)
{
    uint32_t at = count;
    while (at > 0 && compare(&members[at - 1], &member) > 0) {
        members[at] = members[at - 1];
        at--;
    }
    members[at] = member;
}

static bool is_named(const struct member *member, const char *name)
{
    return name != NULL && member->name_len == strlen(name) + 2 &&
           memcmp(member->name + 1, name, strlen(name)) == 0;
}

/* UINT32_MAX: too many. `at` stands behind the opening brace of a well-formed object. */
static uint32_t split(const char *at, const char *end, const char *without, struct member *members)
{
    uint32_t count = 0;
    for (at = skip_blanks(at, end); at < end && *at != '}'; at = skip_blanks(at, end)) {
        if (*at == ',') {
            at++;
            continue;
        }
        struct member member = {.name = at};
        at = skip_string(at);
        member.name_len = (size_t)(at - member.name);
        at = skip_blanks(skip_blanks(at, end) + 1, end);
        member.value = at;
        at = skip_value(at, end);
        member.value_len = (size_t)(at - member.value);
        if (is_named(&member, without)) continue;
        if (count == SF_DRIVER_JSON_MEMBERS_MAX) return UINT32_MAX;
        insert(members, count, member);
        count++;
    }
    return count;
}

void sf_driver_json_normal(struct sf_text *text, const char *json, size_t len, const char *without)
{
    struct member members[SF_DRIVER_JSON_MEMBERS_MAX];
    struct sf_fault fault;
    if (!sf_json_check(json, len, &fault)) {
        sf_text_add_bytes(text, json, len);
        return;
    }
    const char *end = json + len;
    const char *at = skip_blanks(json, end);
    uint32_t count = *at == '{' ? split(at + 1, end, without, members) : UINT32_MAX;
    if (count == UINT32_MAX) {
        add_packed(text, json, len);
        return;
    }
    sf_text_add(text, "{");
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) sf_text_add(text, ",");
        sf_text_add_bytes(text, members[i].name, members[i].name_len);
        sf_text_add(text, ":");
        add_packed(text, members[i].value, members[i].value_len);
    }
    sf_text_add(text, "}");
}
