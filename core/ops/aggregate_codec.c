/* Rows to text and back. */
#include <string.h>

#include "core/bytes.h"
#include "core/ops/aggregate_fields.h"

#define EVENT_TIME_BYTES 8u

static void put_acc(struct sf_json_writer *writer, const struct sf_acc *acc)
{
    if (acc->kind == SF_ACC_INT) {
        sf_json_put_int(writer, acc->as.integer);
    } else if (acc->kind == SF_ACC_DOUBLE) {
        sf_json_put_double(writer, acc->as.real);
    } else {
        sf_json_put_raw(writer, "null", 4);
    }
}

size_t sf_result_head_write(int64_t start_ms, int64_t end_ms, char head[SF_RESULT_HEAD_BYTES])
{
    struct sf_json_writer writer = sf_json_writer_init(head, SF_RESULT_HEAD_BYTES);
    sf_json_put_raw(&writer, "{\"window\":{\"start\":", 19);
    sf_json_put_int(&writer, start_ms);
    sf_json_put_raw(&writer, ",\"end\":", 7);
    sf_json_put_int(&writer, end_ms);
    sf_json_put_raw(&writer, "}", 1);
    assert(writer.len <= SF_RESULT_HEAD_BYTES);
    return writer.len;
}

size_t sf_result_body_write(const struct sf_aggregates *aggregates, const char *head, size_t head_len,
                            const struct sf_acc *row, char *buf, size_t cap)
{
    struct sf_json_writer writer = sf_json_writer_init(buf, cap);
    sf_json_put_raw(&writer, head, head_len);
    for (uint32_t i = 0; i < aggregates->count; i++) {
        sf_json_put_raw(&writer, aggregates->fields[i].prefix, aggregates->fields[i].prefix_len);
        put_acc(&writer, &row[i]);
    }
    sf_json_put_raw(&writer, "}", 1);
    return writer.len;
}

size_t sf_result_write(const struct sf_aggregates *aggregates, int64_t start_ms, int64_t end_ms,
                       const struct sf_acc *row, char *buf, size_t cap)
{
    char head[SF_RESULT_HEAD_BYTES];
    return sf_result_body_write(aggregates, head, sf_result_head_write(start_ms, end_ms, head), row, buf, cap);
}

size_t sf_row_encode(const struct sf_aggregates *aggregates, int64_t event_time_ms, const struct sf_acc *row, char *buf,
                     size_t cap)
{
    struct sf_json_writer writer = sf_json_writer_init(buf, cap);
    uint8_t time[EVENT_TIME_BYTES];
    sf_put_be64(time, (uint64_t)event_time_ms);
    sf_json_put_raw(&writer, (const char *)time, sizeof time);
    for (uint32_t i = 0; i < aggregates->count; i++) {
        const struct sf_aggregate_field *field = &aggregates->fields[i];
        sf_json_put_raw(&writer, i == 0 ? "{" : ",", 1);
        sf_json_put_raw(&writer, field->prefix + 1, field->prefix_len - 1);
        put_acc(&writer, &row[i]);
    }
    sf_json_put_raw(&writer, "}", 1);
    return writer.len;
}

static bool decode_acc(enum sf_aggregate_kind kind, const struct sf_value *value, struct sf_acc *acc_out)
{
    bool is_extreme = kind == SF_AGGREGATE_MIN || kind == SF_AGGREGATE_MAX;
    *acc_out = (struct sf_acc){.kind = SF_ACC_NONE, .as.integer = 0};
    if (value->kind == SF_VALUE_NULL) return is_extreme;
    if (value->kind == SF_VALUE_INT) {
        *acc_out = (struct sf_acc){.kind = SF_ACC_INT, .as.integer = value->as.integer};
        return kind != SF_AGGREGATE_COUNT || value->as.integer >= 0;
    }
    if (value->kind != SF_VALUE_DOUBLE) return false;
    *acc_out = (struct sf_acc){.kind = SF_ACC_DOUBLE, .as.real = value->as.real};
    return kind != SF_AGGREGATE_COUNT;
}

bool sf_row_decode(const struct sf_aggregates *aggregates, const char *bytes, size_t len, int64_t *event_time_ms_out,
                   struct sf_acc *row, struct sf_fault *fault_out)
{
    struct sf_value values[SF_AGGREGATES_MAX];
    if (len < EVENT_TIME_BYTES)
        return sf_fault_set(fault_out, SF_FAULT_DESERIALIZATION, 0, "a stored row begins with 8 bytes of event time");
    *event_time_ms_out = (int64_t)sf_get_be64((const uint8_t *)bytes);
    if (!sf_json_extract(bytes + EVENT_TIME_BYTES, len - EVENT_TIME_BYTES, aggregates->paths, aggregates->count, values,
                         fault_out)) {
        fault_out->offset += EVENT_TIME_BYTES;
        return false;
    }
    for (uint32_t i = 0; i < aggregates->count; i++)
        if (!decode_acc(aggregates->fields[i].kind, &values[i], &row[i]))
            return sf_fault_set(fault_out, SF_FAULT_DESERIALIZATION, EVENT_TIME_BYTES,
                                "a stored row does not have the aggregation's fields");
    return true;
}
