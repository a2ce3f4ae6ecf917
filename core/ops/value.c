#include "core/ops/value.h"

#include <string.h>

#include "core/ops/number.h"

static int compare_ints(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_doubles(double a, double b)
{
    return a < b ? -1 : a > b;
}

static int compare_int_double(int64_t a, double b)
{
    if (b >= 9223372036854775808.0) return -1;
    if (b < -9223372036854775808.0) return 1;
    int64_t whole = (int64_t)b;
    if (a != whole) return a < whole ? -1 : 1;
    /* whole is what is left of b without its fraction, so the difference is exact */
    return compare_doubles((double)whole, b);
}

int sf_value_compare_numbers(const struct sf_value *a, const struct sf_value *b)
{
    assert(sf_value_is_number(a) && sf_value_is_number(b));
    if (a->kind == SF_VALUE_INT) {
        if (b->kind == SF_VALUE_INT) return compare_ints(a->as.integer, b->as.integer);
        return compare_int_double(a->as.integer, b->as.real);
    }
    if (b->kind == SF_VALUE_INT) return -compare_int_double(b->as.integer, a->as.real);
    return compare_doubles(a->as.real, b->as.real);
}

struct sf_value_walk sf_value_walk_init(const struct sf_value *value)
{
    assert(value->kind == SF_VALUE_STRING);
    return (struct sf_value_walk){.at = value->text, .end = value->text + value->len,
                                  .has_escapes = value->has_escapes};
}

static uint32_t hex4(const char *at)
{
    uint32_t code = 0;
    for (unsigned i = 0; i < 4; i++) {
        char c = at[i];
        uint32_t digit = c <= '9' ? (uint32_t)(c - '0') : (uint32_t)((c | 0x20) - 'a') + 10;
        assert(digit < 16);
        code = code << 4 | digit;
    }
    return code;
}

static void push_utf8(struct sf_value_walk *walk, uint32_t code)
{
    uint8_t *out = walk->pending;
    walk->pending_next = 0;
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        walk->pending_count = 1;
    } else if (code < 0x800) {
        out[0] = (uint8_t)(0xc0 | code >> 6);
        out[1] = (uint8_t)(0x80 | (code & 0x3f));
        walk->pending_count = 2;
    } else if (code < 0x10000) {
        out[0] = (uint8_t)(0xe0 | code >> 12);
        out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
        out[2] = (uint8_t)(0x80 | (code & 0x3f));
        walk->pending_count = 3;
    } else {
        out[0] = (uint8_t)(0xf0 | code >> 18);
        out[1] = (uint8_t)(0x80 | (code >> 12 & 0x3f));
        out[2] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
        out[3] = (uint8_t)(0x80 | (code & 0x3f));
        walk->pending_count = 4;
    }
}

/* walk->at stands behind the backslash. The scanner has checked the escape. */
static void take_escape(struct sf_value_walk *walk)
{
    static const char names[] = "bfnrt";
    static const char meant[] = "\b\f\n\r\t";
    char c = *walk->at++;
    if (c != 'u') {
        const char *at = memchr(names, c, 5);
        push_utf8(walk, at != NULL ? (uint32_t)meant[at - names] : (uint32_t)(uint8_t)c);
        return;
    }
    uint32_t code = hex4(walk->at);
    walk->at += 4;
    if (code >= 0xd800 && code < 0xdc00) {
        assert(walk->end - walk->at >= 6);
        code = 0x10000 + ((code - 0xd800) << 10) + (hex4(walk->at + 2) - 0xdc00);
        walk->at += 6;
    }
    push_utf8(walk, code);
}

bool sf_value_walk_next(struct sf_value_walk *walk, uint8_t *byte_out)
{
    if (walk->pending_next == walk->pending_count) {
        if (walk->at == walk->end) return false;
        char c = *walk->at++;
        if (!walk->has_escapes || c != '\\') {
            *byte_out = (uint8_t)c;
            return true;
        }
        take_escape(walk);
    }
    *byte_out = walk->pending[walk->pending_next++];
    return true;
}

int sf_value_compare_strings(const struct sf_value *a, const struct sf_value *b)
{
    assert(a->kind == SF_VALUE_STRING && b->kind == SF_VALUE_STRING);
    if (!a->has_escapes && !b->has_escapes) {
        uint32_t common = a->len < b->len ? a->len : b->len;
        int order = common > 0 ? memcmp(a->text, b->text, common) : 0;
        if (order != 0) return order < 0 ? -1 : 1;
        return a->len < b->len ? -1 : a->len > b->len;
    }
    struct sf_value_walk walk_a = sf_value_walk_init(a), walk_b = sf_value_walk_init(b);
    for (;;) {
        uint8_t byte_a = 0, byte_b = 0;
        bool has_a = sf_value_walk_next(&walk_a, &byte_a), has_b = sf_value_walk_next(&walk_b, &byte_b);
        if (!has_a || !has_b) return (int)has_a - (int)has_b;
        if (byte_a != byte_b) return byte_a < byte_b ? -1 : 1;
    }
}

size_t sf_value_text(const struct sf_value *value, char *buf, size_t cap)
{
    struct sf_value_walk walk = sf_value_walk_init(value);
    size_t len = 0;
    for (uint8_t byte; sf_value_walk_next(&walk, &byte); len++)
        if (len < cap) buf[len] = (char)byte;
    return len;
}

size_t sf_value_key_room(const struct sf_value *value)
{
    if (value->kind == SF_VALUE_STRING && value->has_escapes) return value->len;
    return SF_NUMBER_TEXT_BYTES;
}

bool sf_value_key(const struct sf_value *value, char *buf, size_t cap, struct sf_slice *key_out,
                  struct sf_fault *fault_out)
{
    const char *text = buf;
    size_t len = 0;
    assert(cap >= sf_value_key_room(value));
    switch (value->kind) {
    case SF_VALUE_MISSING:
    case SF_VALUE_NULL:
        *key_out = (struct sf_slice){.data = NULL, .len = 0};
        return true;
    case SF_VALUE_BOOL:
        text = value->as.boolean ? "true" : "false";
        len = value->as.boolean ? 4 : 5;
        break;
    case SF_VALUE_INT:
        len = sf_integer_write(value->as.integer, buf);
        break;
    case SF_VALUE_DOUBLE:
        len = sf_double_write(value->as.real, buf);
        break;
    case SF_VALUE_STRING:
        if (value->has_escapes) {
            len = sf_value_text(value, buf, cap);
        } else {
            text = value->text;
            len = value->len;
        }
        break;
    case SF_VALUE_OBJECT:
    case SF_VALUE_ARRAY:
        return sf_fault_set(fault_out, SF_FAULT_PROCESSING, 0, "an object or an array cannot be a key");
    }
    *key_out = (struct sf_slice){.data = (const uint8_t *)text, .len = (uint32_t)len};
    return true;
}
