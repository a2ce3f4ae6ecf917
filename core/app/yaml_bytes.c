#include "core/app/yaml_bytes.h"

#include <stdint.h>

#include "core/ops/utf8.h"

/* The code point of a well-formed character of so many bytes. */
static uint32_t point_of(const char *character, unsigned bytes)
{
    uint32_t point = bytes == 1 ? (uint8_t)character[0] : (uint8_t)character[0] & (0x7fu >> bytes);
    for (unsigned i = 1; i < bytes; i++) point = point << 6 | ((uint8_t)character[i] & 0x3fu);
    return point;
}

static const char *complaint(uint32_t point, size_t at)
{
    if (point == 0) return "a NUL byte";
    if (point == '\n' || point == '\t' || point == '\r') return NULL;
    if (point < 0x20 || point == 0x7f || (point >= 0x80 && point < 0xa0 && point != 0x85)) return "a control character";
    if (point == 0xfeff && at > 0) return "a byte order mark inside the text";
    if ((point & 0xfffe) == 0xfffe) return "a character that is none (U+..FFFE, U+..FFFF)";
    return NULL;
}

bool sfi_yaml_bytes_check(const char *text, size_t length, struct sf_place *place_out, const char **why_out)
{
    struct sf_place place = {1, 1};
    for (size_t at = 0; at < length;) {
        unsigned bytes = sfi_utf8_length(text + at, text + length);
        uint32_t point = point_of(text + at, bytes);
        const char *why = bytes == 0 ? "bytes that are not UTF-8" : complaint(point, at);
        if (why != NULL) {
            *place_out = place;
            *why_out = why;
            return false;
        }
        at += bytes;
        if (point == '\n') {
            place.line++;
            place.column = 1;
        } else {
            place.column++;
        }
    }
    return true;
}
