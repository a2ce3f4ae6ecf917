#include "core/ops/metadata.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "core/bytes.h"

#define VERSION_WRITTEN 2
#define UNKNOWN_MS (-1)
#define BYTES 9u /* version and time */

static const char alphabet[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

_Static_assert(SF_METADATA_TEXT_BYTES == BYTES / 3 * 4, "nine bytes need no padding");

void sf_metadata_encode(int64_t partition_time_ms, char text_out[SF_METADATA_TEXT_BYTES])
{
    uint8_t bytes[BYTES] = {VERSION_WRITTEN};
    int64_t written = partition_time_ms == SF_TIME_UNSET ? UNKNOWN_MS : partition_time_ms;
    sf_put_be64(bytes + 1, (uint64_t)written);
    for (unsigned i = 0; i < BYTES / 3; i++) {
        uint32_t triple = (uint32_t)bytes[3 * i] << 16 | (uint32_t)bytes[3 * i + 1] << 8 | bytes[3 * i + 2];
        for (unsigned j = 0; j < 4; j++) text_out[4 * i + j] = alphabet[triple >> (18 - 6 * j) & 63];
    }
}

/* Base64 throughout: the alphabet in groups of four, the last perhaps padded. */
static bool is_base64(const char *text, size_t len)
{
    size_t padding = 0;
    if (len == 0 || len % 4 != 0) return false;
    while (padding < 2 && text[len - 1 - padding] == '=') padding++;
    for (size_t i = 0; i < len - padding; i++)
        if (memchr(alphabet, text[i], 64) == NULL) return false;
    return true;
}

int64_t sf_metadata_decode(const char *text, size_t len)
{
    uint8_t bytes[BYTES];
    if (text == NULL || len < SF_METADATA_TEXT_BYTES || !is_base64(text, len)) return SF_TIME_UNSET;
    if (memchr(text, '=', SF_METADATA_TEXT_BYTES) != NULL) return SF_TIME_UNSET; /* fewer than nine bytes */
    for (unsigned i = 0; i < BYTES / 3; i++) {
        uint32_t triple = 0;
        for (unsigned j = 0; j < 4; j++) {
            const char *at = memchr(alphabet, text[4 * i + j], 64);
            assert(at != NULL);
            triple = triple << 6 | (uint32_t)(at - alphabet);
        }
        bytes[3 * i] = (uint8_t)(triple >> 16);
        bytes[3 * i + 1] = (uint8_t)(triple >> 8);
        bytes[3 * i + 2] = (uint8_t)triple;
    }
    int64_t time = (int64_t)sf_get_be64(bytes + 1);
    if ((bytes[0] != 1 && bytes[0] != 2) || !sf_time_is_valid(time)) return SF_TIME_UNSET;
    return time;
}
