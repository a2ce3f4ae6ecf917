/* UTF-8: one well-formed character (no overlong form, no surrogate, at most U+10FFFF). */
#ifndef SF_CORE_OPS_UTF8_H
#define SF_CORE_OPS_UTF8_H

#include <stdbool.h>
#include <stdint.h>

static inline bool sfi_utf8_is_tail(char c)
{
    return ((uint8_t)c & 0xc0) == 0x80;
}

/* Bytes of the character at `at` < `end`, 1 … 4; 0: ill-formed. */
static inline unsigned sfi_utf8_length(const char *at, const char *end)
{
    uint8_t first = (uint8_t)at[0];
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    unsigned length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (end - at < (long)length) return 0;
    for (unsigned i = 1; i < length; i++)
        if (!sfi_utf8_is_tail(at[i])) return 0;
    uint8_t second = (uint8_t)at[1];
    if (first == 0xe0 && second < 0xa0) return 0;
    if (first == 0xed && second > 0x9f) return 0;
    if (first == 0xf0 && second < 0x90) return 0;
    if (first == 0xf4 && second > 0x8f) return 0;
    return length;
}

/* The first ill-formed byte, or `end`. */
static inline const char *sfi_utf8_check(const char *at, const char *end)
{
    while (at < end) {
        unsigned length = sfi_utf8_length(at, end);
        if (length == 0) return at;
        at += length;
    }
    return end;
}

#endif
