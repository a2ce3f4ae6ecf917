/*
 * Value: what a path or an expression gives, and the fault that reading one may end in.
 *
 * A value does not own text: a string, an object or an array is a range of the text it was read from, so it lives
 * as long as that text. A string read from JSON keeps its escapes (`has_escapes`); the bytes behind them come from
 * sf_value_text, or one by one.
 *
 *     {"user":"z\u00fc","amount":1.50,"tags":[1]}
 *     $.user    STRING  text -> z\u00fc (7 bytes), has_escapes
 *     $.amount  DOUBLE  1.5
 *     $.tags    ARRAY   text -> [1]
 *     $.other   MISSING
 *
 * MISSING (no such field) and NULL (a field that is null) differ only here: every operation treats them alike.
 * A DOUBLE is always finite.
 *
 * Threading: values are plain data.
 */
#ifndef SF_CORE_OPS_VALUE_H
#define SF_CORE_OPS_VALUE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/io/kafka.h"
#include "core/status.h"

enum sf_value_kind {
    SF_VALUE_MISSING,
    SF_VALUE_NULL,
    SF_VALUE_BOOL,
    SF_VALUE_INT,
    SF_VALUE_DOUBLE,
    SF_VALUE_STRING,
    SF_VALUE_OBJECT,
    SF_VALUE_ARRAY
};

struct sf_value {
    enum sf_value_kind kind;
    uint32_t len;       /* STRING, OBJECT, ARRAY: bytes at text */
    const char *text;   /* STRING: without the quotes; borrowed from what was read */
    union {
        bool boolean;
        int64_t integer;
        double real;
    } as;
    bool has_escapes;   /* STRING: text holds valid JSON escapes */
};

/* M5's two kinds that arise in `core`: a value that is not what its serde says, and a step that cannot go on. */
enum sf_fault_kind { SF_FAULT_NONE, SF_FAULT_DESERIALIZATION, SF_FAULT_PROCESSING };

/* `offset`: DESERIALIZATION: byte of the value; PROCESSING: byte of the expression. `text`: a literal, never NULL
 * after a fault. */
struct sf_fault {
    enum sf_fault_kind kind;
    uint32_t offset;
    const char *text;
};

static inline bool sf_fault_set(struct sf_fault *fault_out, enum sf_fault_kind kind, size_t offset, const char *text)
{
    fault_out->kind = kind;
    fault_out->offset = (uint32_t)offset;
    fault_out->text = text;
    return false;
}

static inline bool sf_value_is_null(const struct sf_value *value)
{
    return value->kind == SF_VALUE_NULL || value->kind == SF_VALUE_MISSING;
}

static inline bool sf_value_is_number(const struct sf_value *value)
{
    return value->kind == SF_VALUE_INT || value->kind == SF_VALUE_DOUBLE;
}

static inline struct sf_value sf_value_of_int(int64_t integer)
{
    return (struct sf_value){.kind = SF_VALUE_INT, .as.integer = integer};
}

static inline struct sf_value sf_value_of_double(double real)
{
    return (struct sf_value){.kind = SF_VALUE_DOUBLE, .as.real = real};
}

static inline struct sf_value sf_value_of_bool(bool boolean)
{
    return (struct sf_value){.kind = SF_VALUE_BOOL, .as.boolean = boolean};
}

/* Plain bytes, no escapes; borrowed. */
static inline struct sf_value sf_value_of_string(const char *text, size_t len)
{
    assert(len <= UINT32_MAX);
    return (struct sf_value){.kind = SF_VALUE_STRING, .len = (uint32_t)len, .text = text};
}

/* -1, 0, 1; exact, also between an integer and a double. Both must be numbers. */
int sf_value_compare_numbers(const struct sf_value *a, const struct sf_value *b);

/* -1, 0, 1 by the bytes behind the escapes. Both must be strings. */
int sf_value_compare_strings(const struct sf_value *a, const struct sf_value *b);

/* The bytes behind a string's escapes into `buf`, as much as fits; the full length, never more than value->len. */
size_t sf_value_text(const struct sf_value *value, char *buf, size_t cap);

/* How many bytes sf_value_key may need in its buffer for this value. */
size_t sf_value_key_room(const struct sf_value *value);

/*
 * The record key that a value becomes (`key-by`):
 *
 *   string          its UTF-8 bytes         integer   its decimal text          bool    true or false
 *   double          its shortest text       null, missing   the null key (data NULL)
 *   object, array   false: a processing fault
 *
 * `key_out` points into `buf` (sf_value_key_room bytes) or, for a string without escapes, into value->text.
 */
bool sf_value_key(const struct sf_value *value, char *buf, size_t cap, struct sf_slice *key_out,
                  struct sf_fault *fault_out) SF_MUST_USE;

/* Walks the bytes behind a string's escapes: false at the end. `at` starts at value->text; `pending` holds what is
 * left of an escape that gave several bytes and starts zeroed. */
struct sf_value_walk {
    const char *at;
    const char *end;
    bool has_escapes;
    uint8_t pending[4];
    uint8_t pending_count;
    uint8_t pending_next;
};

struct sf_value_walk sf_value_walk_init(const struct sf_value *value);
bool sf_value_walk_next(struct sf_value_walk *walk, uint8_t *byte_out);

#endif
