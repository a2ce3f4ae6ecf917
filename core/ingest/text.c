#include "core/ingest/text.h"

#include <assert.h>
#include <string.h>

struct sf_text sf_text_in(char *buffer, uint32_t capacity)
{
    assert(capacity > 0);
    buffer[0] = '\0';
    return (struct sf_text){.at = buffer, .capacity = capacity};
}

void sf_text_words(struct sf_text *text, const char *words)
{
    size_t len = strlen(words);
    size_t room = text->capacity - text->len - 1;
    if (len > room) len = room;
    memcpy(text->at + text->len, words, len);
    text->len += (uint32_t)len;
    text->at[text->len] = '\0';
}

void sf_text_number(struct sf_text *text, int64_t number)
{
    char digits[24];
    uint32_t at = sizeof digits - 1;
    uint64_t left = number < 0 ? 0u - (uint64_t)number : (uint64_t)number;
    digits[at] = '\0';
    do {
        at--;
        digits[at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (number < 0) {
        at--;
        digits[at] = '-';
    }
    sf_text_words(text, digits + at);
}
