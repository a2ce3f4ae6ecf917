#include "core/ops/serde.h"

#include <string.h>

#include "core/bytes.h"
#include "core/ops/number.h"
#include "core/ops/utf8.h"

static bool refuse(struct sf_fault *fault_out, size_t offset, const char *reason)
{
    return sf_fault_set(fault_out, SF_FAULT_DESERIALIZATION, offset, reason);
}

static bool read_string(const char *text, uint32_t len, struct sf_value *value_out, struct sf_fault *fault_out)
{
    const char *bad = sfi_utf8_check(text, text + len);
    if (bad != text + len) return refuse(fault_out, (size_t)(bad - text), "not UTF-8");
    *value_out = sf_value_of_string(text, len);
    return true;
}

static bool read_int64(const struct sf_slice *bytes, struct sf_value *value_out, struct sf_fault *fault_out)
{
    if (bytes->len != 8) return refuse(fault_out, 0, "an int64 has 8 bytes");
    *value_out = sf_value_of_int((int64_t)sf_get_be64(bytes->data));
    return true;
}

static bool read_double(const struct sf_slice *bytes, struct sf_value *value_out, struct sf_fault *fault_out)
{
    double real;
    if (bytes->len != 8) return refuse(fault_out, 0, "a double has 8 bytes");
    uint64_t bits = sf_get_be64(bytes->data);
    memcpy(&real, &bits, sizeof real);
    if (!sf_double_is_finite(real)) return refuse(fault_out, 0, "the double is not finite");
    *value_out = sf_value_of_double(real);
    return true;
}

bool sf_serde_read(const struct sf_input_value *input, struct sf_value *value_out, struct sf_fault *fault_out)
{
    static const struct sf_json_path whole = {.segments = NULL, .count = 0};
    const struct sf_slice *bytes = &input->bytes;
    const char *text = (const char *)bytes->data;
    if (text == NULL) {
        *value_out = (struct sf_value){.kind = SF_VALUE_NULL};
        return true;
    }
    switch (input->serde) {
    case SF_SERDE_BYTES:
        *value_out = sf_value_of_string(text, bytes->len);
        return true;
    case SF_SERDE_STRING:
        return read_string(text, bytes->len, value_out, fault_out);
    case SF_SERDE_INT64:
        return read_int64(bytes, value_out, fault_out);
    case SF_SERDE_DOUBLE:
        return read_double(bytes, value_out, fault_out);
    case SF_SERDE_JSON:
        return sf_json_extract(text, bytes->len, &whole, 1, value_out, fault_out);
    }
    assert(false);
    return false;
}

bool sf_serde_check(const struct sf_input_value *input, struct sf_fault *fault_out)
{
    struct sf_value value;
    return sf_serde_read(input, &value, fault_out);
}

static void put_be64(struct sf_json_writer *writer, uint64_t bits)
{
    uint8_t bytes[8];
    sf_put_be64(bytes, bits);
    sf_json_put_raw(writer, (const char *)bytes, sizeof bytes);
}

static bool write_text(const struct sf_value *value, struct sf_json_writer *writer, struct sf_fault *fault_out)
{
    if (value->kind == SF_VALUE_STRING && value->has_escapes) {
        struct sf_value_walk walk = sf_value_walk_init(value);
        for (uint8_t byte; sf_value_walk_next(&walk, &byte);) sf_json_put_raw(writer, (const char *)&byte, 1);
        return true;
    }
    char buf[SF_NUMBER_TEXT_BYTES];
    struct sf_slice text;
    if (!sf_value_key(value, buf, sizeof buf, &text, fault_out))
        return sf_fault_set(fault_out, SF_FAULT_PROCESSING, 0, "an object or an array is not a string");
    sf_json_put_raw(writer, (const char *)text.data, text.len);
    return true;
}

static bool write_double(const struct sf_value *value, struct sf_json_writer *writer, struct sf_fault *fault_out)
{
    if (!sf_value_is_number(value)) return sf_fault_set(fault_out, SF_FAULT_PROCESSING, 0, "not a number");
    double real = value->kind == SF_VALUE_INT ? (double)value->as.integer : value->as.real;
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    put_be64(writer, bits);
    return true;
}

/* A string that came as bytes was never checked. */
static bool write_json(const struct sf_value *value, struct sf_json_writer *writer, struct sf_fault *fault_out)
{
    if (value->kind == SF_VALUE_STRING) {
        const char *end = value->text + value->len;
        if (sfi_utf8_check(value->text, end) != end)
            return sf_fault_set(fault_out, SF_FAULT_PROCESSING, 0, "a string in JSON must be UTF-8");
    }
    sf_json_put_value(writer, value);
    return true;
}

bool sf_serde_write(enum sf_serde serde, const struct sf_value *value, struct sf_json_writer *writer,
                    bool *is_null_out, struct sf_fault *fault_out)
{
    *is_null_out = serde != SF_SERDE_JSON && sf_value_is_null(value);
    if (*is_null_out) return true;
    switch (serde) {
    case SF_SERDE_JSON:
        return write_json(value, writer, fault_out);
    case SF_SERDE_BYTES:
    case SF_SERDE_STRING:
        return write_text(value, writer, fault_out);
    case SF_SERDE_INT64:
        if (value->kind != SF_VALUE_INT) return sf_fault_set(fault_out, SF_FAULT_PROCESSING, 0, "not an integer");
        put_be64(writer, (uint64_t)value->as.integer);
        return true;
    case SF_SERDE_DOUBLE:
        return write_double(value, writer, fault_out);
    }
    assert(false);
    return false;
}
