/*
 * JSON: checks a text and picks values out of it, in one pass, without a tree and without memory.
 *
 *     text   {"user":"ann","amount":5,"pos":{"at":[10,20]}}
 *     paths  $.user  $.pos.at[1]  $.none
 *     gives  STRING ann, INT 20, MISSING
 *
 * The whole text is checked whatever is asked for (RFC 8259; UTF-8; a byte order mark, a raw control character in a
 * string, an unpaired surrogate escape and anything behind the value are refused; depth at most SF_JSON_DEPTH_MAX).
 * So whether a value is malformed does not depend on which step looks at it first.
 *
 * Of duplicate keys the first counts, also where the path goes on below it. Names compare by the bytes behind their
 * escapes. A number beyond the range of a double is a fault only where it is picked out.
 *
 * Threading: pure functions.
 */
#ifndef SF_CORE_OPS_JSON_H
#define SF_CORE_OPS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ops/value.h"

#define SF_JSON_DEPTH_MAX 64u
#define SF_JSON_PATHS_MAX 32u     /* in one pass */
#define SF_JSON_SEGMENTS_MAX 16u  /* in one path */
#define SF_JSON_TEXT_BYTES_MAX UINT32_MAX

/* One step down: a member (`name` set, without escapes, may hold any bytes) or an element (`name` NULL). */
struct sf_json_segment {
    const char *name;
    uint32_t name_len;
    uint32_t index;
};

/* `$` is the path without segments. Borrowed wherever it is passed. */
struct sf_json_path {
    const struct sf_json_segment *segments;
    uint32_t count;
};

/*
 * Checks `text` and sets values_out[i] to what stands at paths[i], MISSING if nothing does. Values point into `text`.
 * False: a DESERIALIZATION fault with the offset of the first byte that is wrong; values_out is then meaningless.
 * O(len), plus the paths per member of the objects they lead through.
 */
bool sf_json_extract(const char *text, size_t len, const struct sf_json_path *paths, uint32_t path_count,
                     struct sf_value *values_out, struct sf_fault *fault_out) SF_MUST_USE;

/* Only checks. */
bool sf_json_check(const char *text, size_t len, struct sf_fault *fault_out) SF_MUST_USE;

/*
 * Reads a path: `$`, `.name` (a letter, `_` or a byte beyond ASCII, then also digits), `[3]`, `['odd name']`,
 * `["odd name"]` (no escapes inside). Segments point into `text`. `segments_out` has room for SF_JSON_SEGMENTS_MAX.
 * False: `error_out` tells offset and reason. On success *len_out bytes belong to the path; what follows is the
 * caller's to judge.
 */
bool sf_json_path_read(const char *text, size_t len, struct sf_json_segment *segments_out, uint32_t *count_out,
                       size_t *len_out, struct sf_fault *error_out) SF_MUST_USE;

/*
 * Writer: appends JSON to a caller's buffer. `len` is what is needed, also beyond `cap`; then the buffer holds
 * nothing useful and the caller comes again with more.
 */
struct sf_json_writer {
    char *buf;
    size_t cap;
    size_t len;
};

static inline struct sf_json_writer sf_json_writer_init(char *buf, size_t cap)
{
    return (struct sf_json_writer){.buf = buf, .cap = cap, .len = 0};
}

static inline bool sf_json_writer_fits(const struct sf_json_writer *writer)
{
    return writer->len <= writer->cap;
}

void sf_json_put_raw(struct sf_json_writer *writer, const char *bytes, size_t len);
void sf_json_put_int(struct sf_json_writer *writer, int64_t integer);
void sf_json_put_double(struct sf_json_writer *writer, double real);
/* With quotes; escapes only what must be: quote, backslash, control characters. `text` must be UTF-8. */
void sf_json_put_string(struct sf_json_writer *writer, const char *text, size_t len);
/* Any value; MISSING as null; objects and arrays as they stood in their text; strings with the fewest escapes,
 * however they were written. A string must be UTF-8. */
void sf_json_put_value(struct sf_json_writer *writer, const struct sf_value *value);

#endif
