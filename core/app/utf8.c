#include "core/app/utf8.h"

#include <stdint.h>

/* Bytes of the character at `text`, 0 where it is malformed: overlong, a surrogate, beyond U+10FFFF or cut short. */
static size_t character_bytes(const unsigned char *text, size_t length, uint32_t *point_out)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = text[0];
    size_t bytes = lead < 0x80 ? 1 : lead >= 0xf0 && lead < 0xf8 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 0;
    if (lead >= 0xf8 || bytes == 0 || bytes > length) return 0;
    uint32_t point = bytes == 1 ? lead : lead & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0u) != 0x80u) return 0;
        point = point << 6 | (text[i] & 0x3fu);
    }
    if (point < least[bytes] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return 0;
    *point_out = point;
    return bytes;
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

bool sfi_utf8_check(const char *text, size_t length, struct sf_place *place_out, const char **why_out)
{
    struct sf_place place = {1, 1};
    for (size_t at = 0; at < length;) {
        uint32_t point = 0;
        size_t bytes = character_bytes((const unsigned char *)text + at, length - at, &point);
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
