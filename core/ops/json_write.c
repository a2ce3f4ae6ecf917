#include <string.h>

#include "core/ops/json.h"
#include "core/ops/number.h"

void sf_json_put_raw(struct sf_json_writer *writer, const char *bytes, size_t len)
{
    if (writer->len <= writer->cap && len <= writer->cap - writer->len && len > 0)
        memcpy(writer->buf + writer->len, bytes, len);
    writer->len += len;
}

void sf_json_put_int(struct sf_json_writer *writer, int64_t integer)
{
    if (writer->len <= writer->cap && writer->cap - writer->len >= SF_NUMBER_TEXT_BYTES) {
        writer->len += sf_integer_write(integer, writer->buf + writer->len);
        return;
    }
    char text[SF_NUMBER_TEXT_BYTES];
    sf_json_put_raw(writer, text, sf_integer_write(integer, text));
}

void sf_json_put_double(struct sf_json_writer *writer, double real)
{
    char text[SF_NUMBER_TEXT_BYTES];
    sf_json_put_raw(writer, text, sf_double_write(real, text));
}

static void put_byte(struct sf_json_writer *writer, uint8_t byte)
{
    static const char hex[] = "0123456789abcdef";
    static const char named[] = "\b\f\n\r\t\"\\";
    static const char names[] = "bfnrt\"\\";
    char escape[6] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
    const char *at = memchr(named, byte, sizeof named - 1);
    if (at != NULL) {
        escape[1] = names[at - named];
        sf_json_put_raw(writer, escape, 2);
    } else if (byte < 0x20) {
        sf_json_put_raw(writer, escape, 6);
    } else {
        char plain = (char)byte;
        sf_json_put_raw(writer, &plain, 1);
    }
}

static bool is_plain(char c)
{
    return (uint8_t)c >= 0x20 && c != '"' && c != '\\';
}

void sf_json_put_string(struct sf_json_writer *writer, const char *text, size_t len)
{
    sf_json_put_raw(writer, "\"", 1);
    for (size_t at = 0; at < len;) {
        size_t run = at;
        while (run < len && is_plain(text[run])) run++;
        sf_json_put_raw(writer, text + at, run - at);
        if (run < len) put_byte(writer, (uint8_t)text[run++]);
        at = run;
    }
    sf_json_put_raw(writer, "\"", 1);
}

static void put_escaped_string(struct sf_json_writer *writer, const struct sf_value *value)
{
    struct sf_value_walk walk = sf_value_walk_init(value);
    sf_json_put_raw(writer, "\"", 1);
    for (uint8_t byte; sf_value_walk_next(&walk, &byte);) put_byte(writer, byte);
    sf_json_put_raw(writer, "\"", 1);
}

void sf_json_put_value(struct sf_json_writer *writer, const struct sf_value *value)
{
    switch (value->kind) {
    case SF_VALUE_MISSING:
    case SF_VALUE_NULL:
        sf_json_put_raw(writer, "null", 4);
        break;
    case SF_VALUE_BOOL:
        sf_json_put_raw(writer, value->as.boolean ? "true" : "false", value->as.boolean ? 4 : 5);
        break;
    case SF_VALUE_INT:
        sf_json_put_int(writer, value->as.integer);
        break;
    case SF_VALUE_DOUBLE:
        sf_json_put_double(writer, value->as.real);
        break;
    case SF_VALUE_STRING:
        if (value->has_escapes) {
            put_escaped_string(writer, value);
        } else {
            sf_json_put_string(writer, value->text, value->len);
        }
        break;
    case SF_VALUE_OBJECT:
    case SF_VALUE_ARRAY:
        sf_json_put_raw(writer, value->text, value->len);
        break;
    }
}
