/* Aggregates of the model: numbers, how records fold into them, and the texts they become. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/bytes.h"
#include "core/ops/json.h"
#include "driver/model.h"

void sfi_model_aggregates_init(struct sfi_model_aggregates *aggregates, const struct sf_step_spec *step,
                               struct sf_alloc alloc)
{
    struct sf_expression_text texts[SF_AGGREGATES_MAX];
    struct sf_expression_error error;
    uint32_t text_count = 0;
    *aggregates = (struct sfi_model_aggregates){.specs = step->aggregates, .count = step->aggregate_count};
    for (uint32_t i = 0; i < step->aggregate_count; i++) {
        const struct sf_aggregate_spec *spec = &step->aggregates[i];
        if (spec->kind == SF_AGGREGATE_COUNT) continue;
        aggregates->roots[i] = text_count;
        texts[text_count++] = (struct sf_expression_text){spec->expression, strlen(spec->expression)};
    }
    if (text_count == 0) return;
    bool is_fine = sf_expression_compile_many(texts, text_count, alloc, &aggregates->expression, &error);
    assert(is_fine);
    (void)is_fine;
}

void sfi_model_aggregates_deinit(struct sfi_model_aggregates *aggregates)
{
    sf_expression_destroy(aggregates->expression);
    aggregates->expression = NULL;
}

void sfi_model_aggregates_start(const struct sfi_model_aggregates *aggregates, struct sfi_model_number *numbers)
{
    for (uint32_t i = 0; i < aggregates->count; i++) {
        enum sf_aggregate_kind kind = aggregates->specs[i].kind;
        bool is_zero = kind == SF_AGGREGATE_COUNT || kind == SF_AGGREGATE_SUM;
        numbers[i].kind = is_zero ? SFI_MODEL_INT : SFI_MODEL_NOTHING;
        numbers[i].as.integer = 0;
    }
}

static bool refuse(struct sf_fault *fault_out, const char *text)
{
    *fault_out = (struct sf_fault){.kind = SF_FAULT_PROCESSING, .text = text};
    return false;
}

static double as_double(const struct sfi_model_number *number)
{
    return number->kind == SFI_MODEL_INT ? (double)number->as.integer : number->as.real;
}

static bool add_up(struct sfi_model_number *number, const struct sfi_model_number *more, struct sf_fault *fault_out)
{
    if (number->kind == SFI_MODEL_INT && more->kind == SFI_MODEL_INT) {
        int64_t a = number->as.integer, b = more->as.integer;
        if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return refuse(fault_out, "integer overflow");
        number->as.integer = a + b;
        return true;
    }
    double sum = as_double(number) + as_double(more);
    if (!isfinite(sum)) return refuse(fault_out, "not a finite number");
    number->kind = SFI_MODEL_DOUBLE;
    number->as.real = sum;
    return true;
}

/* Exact, whatever the kinds: below 0 where a < b. Of the same value an integer comes first where `is_min`, -0.0 before
 * 0.0: aggregate.h says which one stays. */
static int compare(const struct sfi_model_number *a, const struct sfi_model_number *b)
{
    struct sf_value va = a->kind == SFI_MODEL_INT ? sf_value_of_int(a->as.integer) : sf_value_of_double(a->as.real);
    struct sf_value vb = b->kind == SFI_MODEL_INT ? sf_value_of_int(b->as.integer) : sf_value_of_double(b->as.real);
    return sf_value_compare_numbers(&va, &vb);
}

static void extreme(bool is_min, struct sfi_model_number *number, const struct sfi_model_number *other)
{
    int order = number->kind == SFI_MODEL_NOTHING ? 0 : compare(other, number);
    bool is_taken = number->kind == SFI_MODEL_NOTHING || (is_min ? order < 0 : order > 0);
    if (!is_taken && order == 0) {
        if (number->kind != other->kind) {
            is_taken = other->kind == SFI_MODEL_INT;
        } else if (number->kind == SFI_MODEL_DOUBLE) {
            bool is_other_negative = signbit(other->as.real) != 0, is_negative = signbit(number->as.real) != 0;
            is_taken = is_other_negative != is_negative && is_other_negative == is_min;
        }
    }
    if (is_taken) *number = *other;
}

static bool number_of(const struct sf_value *value, struct sfi_model_number *number_out, struct sf_fault *fault_out)
{
    number_out->kind = SFI_MODEL_NOTHING;
    number_out->as.integer = 0;
    if (sf_value_is_null(value)) return true;
    if (!sf_value_is_number(value)) return refuse(fault_out, "not a number");
    if (value->kind == SF_VALUE_INT) {
        number_out->kind = SFI_MODEL_INT;
        number_out->as.integer = value->as.integer;
    } else {
        number_out->kind = SFI_MODEL_DOUBLE;
        number_out->as.real = value->as.real;
    }
    return true;
}

bool sfi_model_aggregates_add(const struct sfi_model_aggregates *aggregates, const struct sf_input_value *input,
                              struct sfi_model_number *numbers, struct sf_fault *fault_out)
{
    static const struct sfi_model_number one = {.kind = SFI_MODEL_INT, .as.integer = 1};
    struct sf_value values[SF_AGGREGATES_MAX];
    struct sfi_model_number next[SF_AGGREGATES_MAX];
    if (aggregates->expression != NULL && !sf_expression_eval(aggregates->expression, input, values, fault_out))
        return false;
    memcpy(next, numbers, aggregates->count * sizeof next[0]);
    for (uint32_t i = 0; i < aggregates->count; i++) {
        enum sf_aggregate_kind kind = aggregates->specs[i].kind;
        struct sfi_model_number more = one;
        if (kind != SF_AGGREGATE_COUNT && !number_of(&values[aggregates->roots[i]], &more, fault_out)) return false;
        if (more.kind == SFI_MODEL_NOTHING) continue;
        if (kind == SF_AGGREGATE_MIN || kind == SF_AGGREGATE_MAX)
            extreme(kind == SF_AGGREGATE_MIN, &next[i], &more);
        else if (!add_up(&next[i], &more, fault_out))
            return false;
    }
    memcpy(numbers, next, aggregates->count * sizeof next[0]);
    return true;
}

/* `"name":number` for each field, separated. */
static void put_fields(const struct sfi_model_aggregates *aggregates, const struct sfi_model_number *numbers,
                       struct sf_json_writer *writer)
{
    for (uint32_t i = 0; i < aggregates->count; i++) {
        if (i > 0) sf_json_put_raw(writer, ",", 1);
        sf_json_put_string(writer, aggregates->specs[i].name, strlen(aggregates->specs[i].name));
        sf_json_put_raw(writer, ":", 1);
        switch (numbers[i].kind) {
        case SFI_MODEL_NOTHING: sf_json_put_raw(writer, "null", 4); break;
        case SFI_MODEL_INT: sf_json_put_int(writer, numbers[i].as.integer); break;
        case SFI_MODEL_DOUBLE: sf_json_put_double(writer, numbers[i].as.real); break;
        }
    }
}

size_t sfi_model_result_text(const struct sfi_model_aggregates *aggregates, int64_t start, int64_t end,
                             const struct sfi_model_number *numbers, char *buf, size_t cap)
{
    struct sf_json_writer writer = sf_json_writer_init(buf, cap);
    sf_json_put_raw(&writer, "{\"window\":{\"start\":", 19);
    sf_json_put_int(&writer, start);
    sf_json_put_raw(&writer, ",\"end\":", 7);
    sf_json_put_int(&writer, end);
    sf_json_put_raw(&writer, "},", 2);
    put_fields(aggregates, numbers, &writer);
    sf_json_put_raw(&writer, "}", 1);
    return writer.len;
}

size_t sfi_model_row_text(const struct sfi_model_aggregates *aggregates, int64_t ts_ms,
                          const struct sfi_model_number *numbers, char *buf, size_t cap)
{
    uint8_t time[8];
    struct sf_json_writer writer = sf_json_writer_init(buf, cap);
    sf_put_be64(time, (uint64_t)ts_ms);
    sf_json_put_raw(&writer, (const char *)time, sizeof time);
    sf_json_put_raw(&writer, "{", 1);
    put_fields(aggregates, numbers, &writer);
    sf_json_put_raw(&writer, "}", 1);
    return writer.len;
}
