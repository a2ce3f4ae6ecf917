/*
 * Text: joins strings and integers into bytes, without stdio and without a locale.
 *
 * A text is either bounded (caller's memory, cut at its end and marked as cut) or growing (its allocator's memory).
 * Both stay NUL-terminated. A cut never falls inside a UTF-8 character, given well-formed pieces.
 *
 *     char line[64];
 *     struct sf_text text;
 *     sf_text_init(&text, line, sizeof line);
 *     sf_text_add(&text, "lanes is ");
 *     sf_text_add_int(&text, 200);               line holds "lanes is 200"
 *
 * Threading: none; a text belongs to whoever inits it.
 */
#ifndef SF_CORE_TEXT_H
#define SF_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/mem.h"

#define SF_TEXT_INT_BYTES 21u      /* "-9223372036854775808" and a NUL */
#define SF_TEXT_DURATION_BYTES 24u /* an integer, a unit and a NUL */

struct sf_text {
    char *data;            /* NUL-terminated */
    size_t length;         /* without the NUL */
    size_t capacity;       /* with the NUL */
    bool is_cut;           /* bounded only: something did not fit; nothing is added after that */
    bool is_growing;
    struct sf_alloc alloc; /* growing only */
};

/* Bounded, in the caller's memory; capacity >= 1. */
void sf_text_init(struct sf_text *text, char *data, size_t capacity);
/* Growing; data stays valid until the next call that adds. */
void sf_text_init_growing(struct sf_text *text, struct sf_alloc alloc);
/* Frees a growing text's memory; does nothing to a bounded one. May be called twice. */
void sf_text_deinit(struct sf_text *text);

void sf_text_add(struct sf_text *text, const char *str);
void sf_text_add_bytes(struct sf_text *text, const char *bytes, size_t length);
void sf_text_add_int(struct sf_text *text, int64_t value);
void sf_text_add_uint(struct sf_text *text, uint64_t value);
/* In the largest unit that is exact: 90000 is "90s", 60000 is "1m", 0 is "0ms". */
void sf_text_add_duration(struct sf_text *text, int64_t ms);
/* A JSON string with its quotes. */
void sf_text_add_json(struct sf_text *text, const char *bytes, size_t length);

/* The same into a caller's array, which is also returned. */
const char *sf_text_of_int(char buffer[SF_TEXT_INT_BYTES], int64_t value);
const char *sf_text_of_duration(char buffer[SF_TEXT_DURATION_BYTES], int64_t ms);

#endif
