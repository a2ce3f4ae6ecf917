#include "core/ops/json.h"

#include <string.h>

#include "core/ops/number.h"
#include "core/ops/utf8.h"

struct scan {
    const char *start;
    const char *end;
    const struct sf_json_path *paths;
    struct sf_value *values;
    uint32_t ending[SF_JSON_SEGMENTS_MAX + 1]; /* by depth: the paths that end there, as bits */
    struct sf_fault *fault;
};

static const char *scan_value(struct scan *scan, const char *at, uint32_t active, uint32_t depth);

static const char *refuse(struct scan *scan, const char *at, const char *reason)
{
    (void)sf_fault_set(scan->fault, SF_FAULT_DESERIALIZATION, (size_t)(at - scan->start), reason);
    return NULL;
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) at++;
    return at;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ------------------------------------------------------------------ scalars */

static int hex_digit(char c)
{
    if (is_digit(c)) return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int32_t hex4(const char *at, const char *end)
{
    int32_t code = 0;
    if (end - at < 4) return -1;
    for (unsigned i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0) return -1;
        code = code << 4 | digit;
    }
    return code;
}

/* `at` stands behind the backslash. */
static const char *scan_escape(struct scan *scan, const char *at)
{
    static const char names[] = "\"\\/bfnrt";
    if (at == scan->end) return refuse(scan, at, "the text ends inside a string");
    if (*at != 'u') {
        if (memchr(names, *at, sizeof names - 1) == NULL) return refuse(scan, at, "no such escape");
        return at + 1;
    }
    int32_t code = hex4(at + 1, scan->end);
    if (code < 0) return refuse(scan, at, "\\u needs four hexadecimal digits");
    if (code < 0xd800 || code > 0xdfff) return at + 5;
    int32_t second = -1;
    if (code < 0xdc00 && scan->end - at >= 7 && at[5] == '\\' && at[6] == 'u') second = hex4(at + 7, scan->end);
    if (second < 0xdc00 || second > 0xdfff) return refuse(scan, at, "an unpaired surrogate");
    return at + 11;
}

#define ONES UINT64_C(0x0101010101010101)

/* Bytes at the head of `word` (first byte lowest) that need no look: ASCII, not a control character, quote or
 * backslash. The tests may say too little behind the first hit, never before it. */
static unsigned plain_bytes(uint64_t word)
{
    uint64_t quote = word ^ ONES * '"', backslash = word ^ ONES * '\\';
    uint64_t hits = ((word - ONES * 0x20) | (quote - ONES) | (backslash - ONES) | word) & ONES * 0x80;
    return hits == 0 ? 8 : (unsigned)__builtin_ctzll(hits) / 8;
}

static uint64_t load_le64(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* `at` stands behind the opening quote; gives the place of the closing one. */
static const char *scan_string(struct scan *scan, const char *at, bool *has_escapes_out)
{
    *has_escapes_out = false;
    for (;;) {
        while (scan->end - at >= 8) {
            unsigned plain = plain_bytes(load_le64(at));
            at += plain;
            if (plain < 8) break;
        }
        if (at == scan->end) return refuse(scan, at, "the text ends inside a string");
        if (*at == '"') return at;
        if (*at == '\\') {
            *has_escapes_out = true;
            at = scan_escape(scan, at + 1);
            if (at == NULL) return NULL;
            continue;
        }
        if ((uint8_t)*at < 0x20) return refuse(scan, at, "a control character inside a string");
        unsigned length = sfi_utf8_length(at, scan->end);
        if (length == 0) return refuse(scan, at, "not UTF-8");
        at += length;
    }
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && is_digit(*at)) at++;
    return at;
}

static const char *scan_number(struct scan *scan, const char *at)
{
    const char *end = scan->end;
    if (*at == '-') at++;
    if (at == end || !is_digit(*at)) return refuse(scan, at, "a digit must stand here");
    if (*at == '0') {
        at++;
        if (at < end && is_digit(*at)) return refuse(scan, at, "a number with a leading zero");
    } else {
        at = skip_digits(at, end);
    }
    if (at < end && *at == '.') {
        if (++at == end || !is_digit(*at)) return refuse(scan, at, "a digit must stand here");
        at = skip_digits(at, end);
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        if (at == end || !is_digit(*at)) return refuse(scan, at, "a digit must stand here");
        at = skip_digits(at, end);
    }
    return at;
}

static const char *scan_word(struct scan *scan, const char *at, const char *word, size_t len)
{
    if ((size_t)(scan->end - at) < len || memcmp(at, word, len) != 0) return refuse(scan, at, "not a JSON value");
    return at + len;
}

/* ------------------------------------------------------------------ containers */

static bool is_name(const char *text, size_t len, bool has_escapes, const struct sf_json_segment *segment)
{
    if (!has_escapes) return len == segment->name_len && memcmp(text, segment->name, len) == 0;
    struct sf_value name = sf_value_of_string(text, len);
    struct sf_value wanted = sf_value_of_string(segment->name, segment->name_len);
    name.has_escapes = true;
    return sf_value_compare_strings(&name, &wanted) == 0;
}

/* The paths among `active` that want a member of this object (`is_object`) or an element of this array. */
static uint32_t wanting(const struct scan *scan, uint32_t active, uint32_t depth, bool is_object)
{
    uint32_t wanted = 0;
    active &= ~(depth <= SF_JSON_SEGMENTS_MAX ? scan->ending[depth] : 0);
    for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        if ((scan->paths[i].segments[depth].name != NULL) == is_object) wanted |= 1u << i;
    }
    return wanted;
}

static const char *scan_object(struct scan *scan, const char *at, uint32_t active, uint32_t depth)
{
    uint32_t pending = active == 0 ? 0 : wanting(scan, active, depth, true);
    if (depth == SF_JSON_DEPTH_MAX) return refuse(scan, at, "nested too deeply");
    at = skip_space(at + 1, scan->end);
    if (at < scan->end && *at == '}') return at + 1;
    for (;;) {
        if (at == scan->end || *at != '"') return refuse(scan, at, "a name in quotes must stand here");
        bool has_escapes;
        const char *name = at + 1, *name_end = scan_string(scan, name, &has_escapes);
        if (name_end == NULL) return NULL;
        uint32_t matched = 0;
        for (uint32_t rest = pending; rest != 0; rest &= rest - 1) {
            uint32_t i = (uint32_t)__builtin_ctz(rest);
            if (is_name(name, (size_t)(name_end - name), has_escapes, &scan->paths[i].segments[depth]))
                matched |= 1u << i;
        }
        pending &= ~matched; /* of duplicates the first counts */
        at = skip_space(name_end + 1, scan->end);
        if (at == scan->end || *at != ':') return refuse(scan, at, "a colon must stand here");
        at = scan_value(scan, skip_space(at + 1, scan->end), matched, depth + 1);
        if (at == NULL) return NULL;
        at = skip_space(at, scan->end);
        if (at < scan->end && *at == '}') return at + 1;
        if (at == scan->end || *at != ',') return refuse(scan, at, "a comma or a closing brace must stand here");
        at = skip_space(at + 1, scan->end);
    }
}

static const char *scan_array(struct scan *scan, const char *at, uint32_t active, uint32_t depth)
{
    uint32_t pending = active == 0 ? 0 : wanting(scan, active, depth, false);
    if (depth == SF_JSON_DEPTH_MAX) return refuse(scan, at, "nested too deeply");
    at = skip_space(at + 1, scan->end);
    if (at < scan->end && *at == ']') return at + 1;
    for (uint32_t index = 0;; index++) {
        uint32_t matched = 0;
        for (uint32_t rest = pending; rest != 0; rest &= rest - 1) {
            uint32_t i = (uint32_t)__builtin_ctz(rest);
            if (scan->paths[i].segments[depth].index == index) matched |= 1u << i;
        }
        at = scan_value(scan, at, matched, depth + 1);
        if (at == NULL) return NULL;
        at = skip_space(at, scan->end);
        if (at < scan->end && *at == ']') return at + 1;
        if (at == scan->end || *at != ',') return refuse(scan, at, "a comma or a closing bracket must stand here");
        at = skip_space(at + 1, scan->end);
    }
}

/* ------------------------------------------------------------------ values */

static struct sf_value text_value(enum sf_value_kind kind, const char *text, const char *end)
{
    return (struct sf_value){.kind = kind, .text = text, .len = (uint32_t)(end - text)};
}

static const char *scan_into(struct scan *scan, const char *at, uint32_t active, uint32_t depth,
                             struct sf_value *value_out)
{
    const char *end = NULL;
    bool has_escapes;
    if (at == scan->end) return refuse(scan, at, "the text ends where a value must stand");
    switch (*at) {
    case '{':
        end = scan_object(scan, at, active, depth);
        if (end != NULL) *value_out = text_value(SF_VALUE_OBJECT, at, end);
        return end;
    case '[':
        end = scan_array(scan, at, active, depth);
        if (end != NULL) *value_out = text_value(SF_VALUE_ARRAY, at, end);
        return end;
    case '"':
        end = scan_string(scan, at + 1, &has_escapes);
        if (end == NULL) return NULL;
        *value_out = text_value(SF_VALUE_STRING, at + 1, end);
        value_out->has_escapes = has_escapes;
        return end + 1;
    case 't':
        *value_out = sf_value_of_bool(true);
        return scan_word(scan, at, "true", 4);
    case 'f':
        *value_out = sf_value_of_bool(false);
        return scan_word(scan, at, "false", 5);
    case 'n':
        *value_out = (struct sf_value){.kind = SF_VALUE_NULL};
        return scan_word(scan, at, "null", 4);
    case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        end = scan_number(scan, at);
        if (end == NULL) return NULL;
        if (!sf_number_read(at, (size_t)(end - at), value_out)) return refuse(scan, at, "a number beyond a double");
        return end;
    default:
        return refuse(scan, at, "not a JSON value");
    }
}

/* What nobody asked for: the same checks, nothing kept. */
static const char *skip_value(struct scan *scan, const char *at, uint32_t depth)
{
    bool has_escapes;
    if (at == scan->end) return refuse(scan, at, "the text ends where a value must stand");
    switch (*at) {
    case '{':
        return scan_object(scan, at, 0, depth);
    case '[':
        return scan_array(scan, at, 0, depth);
    case '"':
        at = scan_string(scan, at + 1, &has_escapes);
        return at == NULL ? NULL : at + 1;
    case 't':
        return scan_word(scan, at, "true", 4);
    case 'f':
        return scan_word(scan, at, "false", 5);
    case 'n':
        return scan_word(scan, at, "null", 4);
    case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        return scan_number(scan, at);
    default:
        return refuse(scan, at, "not a JSON value");
    }
}

/* `active`: the paths that lead here, as bits. */
static const char *scan_value(struct scan *scan, const char *at, uint32_t active, uint32_t depth)
{
    if (active == 0) return skip_value(scan, at, depth);
    assert(depth <= SF_JSON_SEGMENTS_MAX);
    uint32_t here = active & scan->ending[depth];
    if (here == 0 && at < scan->end && *at != '{' && *at != '[') return skip_value(scan, at, depth);
    struct sf_value value;
    const char *end = scan_into(scan, at, active, depth, &value);
    if (end == NULL) return NULL;
    for (; here != 0; here &= here - 1) scan->values[__builtin_ctz(here)] = value;
    return end;
}

bool sf_json_extract(const char *text, size_t len, const struct sf_json_path *paths, uint32_t path_count,
                     struct sf_value *values_out, struct sf_fault *fault_out)
{
    struct scan scan = {.start = text, .end = text + len, .paths = paths, .values = values_out, .fault = fault_out};
    assert(text != NULL && len < SF_JSON_TEXT_BYTES_MAX && path_count <= SF_JSON_PATHS_MAX);
    for (uint32_t i = 0; i < path_count; i++) {
        assert(paths[i].count <= SF_JSON_SEGMENTS_MAX);
        scan.ending[paths[i].count] |= 1u << i;
        values_out[i] = (struct sf_value){.kind = SF_VALUE_MISSING};
    }
    uint32_t active = path_count == 0 ? 0 : UINT32_MAX >> (SF_JSON_PATHS_MAX - path_count);
    const char *at = scan_value(&scan, skip_space(text, scan.end), active, 0);
    if (at == NULL) return false;
    at = skip_space(at, scan.end);
    if (at != scan.end) return refuse(&scan, at, "something stands behind the value") != NULL;
    return true;
}

bool sf_json_check(const char *text, size_t len, struct sf_fault *fault_out)
{
    return sf_json_extract(text, len, NULL, 0, NULL, fault_out);
}
