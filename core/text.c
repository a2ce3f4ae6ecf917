#include "core/text.h"

#include <assert.h>
#include <string.h>

#define SFI_TEXT_START_BYTES 256u

void sf_text_init(struct sf_text *text, char *data, size_t capacity)
{
    assert(data != NULL && capacity >= 1);
    *text = (struct sf_text){.data = data, .capacity = capacity};
    data[0] = '\0';
}

void sf_text_init_growing(struct sf_text *text, struct sf_alloc alloc)
{
    *text = (struct sf_text){.capacity = SFI_TEXT_START_BYTES, .is_growing = true, .alloc = alloc};
    text->data = sf_malloc(alloc, text->capacity);
    text->data[0] = '\0';
}

void sf_text_deinit(struct sf_text *text)
{
    if (!text->is_growing) return;
    sf_free(text->alloc, text->data, text->capacity);
    text->data = NULL;
    text->length = text->capacity = 0;
}

static bool is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xc0u) == 0x80u;
}

void sf_text_add_bytes(struct sf_text *text, const char *bytes, size_t length)
{
    if (text->is_cut || length == 0) return;
    size_t room = text->capacity - 1 - text->length;
    if (length > room && text->is_growing) {
        assert(length < SIZE_MAX / 4 && text->capacity < SIZE_MAX / 4);
        size_t capacity = text->capacity;
        while (capacity - 1 - text->length < length) capacity *= 2;
        text->data = sf_regrow(text->alloc, text->data, text->capacity, text->length, capacity);
        text->capacity = capacity;
        room = length;
    }
    if (length > room) {
        length = room;
        while (length > 0 && is_inside_character(bytes[length])) length--;
        text->is_cut = true;
    }
    memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void sf_text_add(struct sf_text *text, const char *str)
{
    sf_text_add_bytes(text, str, strlen(str));
}

void sf_text_add_uint(struct sf_text *text, uint64_t value)
{
    char digits[SF_TEXT_INT_BYTES];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    sf_text_add_bytes(text, digits + at, sizeof digits - at);
}

void sf_text_add_int(struct sf_text *text, int64_t value)
{
    if (value < 0) sf_text_add_bytes(text, "-", 1);
    sf_text_add_uint(text, value < 0 ? 0u - (uint64_t)value : (uint64_t)value);
}

void sf_text_add_duration(struct sf_text *text, int64_t ms)
{
    static const struct {
        int64_t ms;
        const char *name;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (ms == 0 || ms % units[i].ms != 0) continue;
        sf_text_add_int(text, ms / units[i].ms);
        sf_text_add(text, units[i].name);
        return;
    }
    sf_text_add_int(text, ms);
    sf_text_add(text, "ms");
}

void sf_text_add_json(struct sf_text *text, const char *bytes, size_t length)
{
    static const char hex[] = "0123456789abcdef";
    sf_text_add_bytes(text, "\"", 1);
    size_t from = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
        sf_text_add_bytes(text, bytes + from, i - from);
        from = i + 1;
        char escape[6] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
        if (byte == '"' || byte == '\\') escape[1] = (char)byte;
        if (byte == '\n') escape[1] = 'n';
        sf_text_add_bytes(text, escape, escape[1] == 'u' ? 6 : 2);
    }
    sf_text_add_bytes(text, bytes + from, length - from);
    sf_text_add_bytes(text, "\"", 1);
}

const char *sf_text_of_int(char buffer[SF_TEXT_INT_BYTES], int64_t value)
{
    struct sf_text text;
    sf_text_init(&text, buffer, SF_TEXT_INT_BYTES);
    sf_text_add_int(&text, value);
    return buffer;
}

const char *sf_text_of_duration(char buffer[SF_TEXT_DURATION_BYTES], int64_t ms)
{
    struct sf_text text;
    sf_text_init(&text, buffer, SF_TEXT_DURATION_BYTES);
    sf_text_add_duration(&text, ms);
    return buffer;
}
