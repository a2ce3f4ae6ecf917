#include "core/ops/aggregate.h"

#include <string.h>

#include "core/ops/aggregate_fields.h"
#include "core/ops/number.h"

static bool over(struct sf_fault *fault_out, const char *text)
{
    return sf_fault_set(fault_out, SF_FAULT_PROCESSING, 0, text);
}

uint32_t sf_aggregates_count(const struct sf_aggregates *aggregates)
{
    return aggregates->count;
}

void sf_aggregates_init(const struct sf_aggregates *aggregates, struct sf_acc *row)
{
    for (uint32_t i = 0; i < aggregates->count; i++) {
        enum sf_aggregate_kind kind = aggregates->fields[i].kind;
        bool is_number = kind == SF_AGGREGATE_COUNT || kind == SF_AGGREGATE_SUM;
        row[i] = (struct sf_acc){.kind = is_number ? SF_ACC_INT : SF_ACC_NONE, .as.integer = 0};
    }
}

static double real_of(const struct sf_acc *acc)
{
    return acc->kind == SF_ACC_INT ? (double)acc->as.integer : acc->as.real;
}

static bool add_sum(struct sf_acc *acc, const struct sf_acc *other, struct sf_fault *fault_out)
{
    if (acc->kind == SF_ACC_INT && other->kind == SF_ACC_INT) {
        if (__builtin_add_overflow(acc->as.integer, other->as.integer, &acc->as.integer))
            return over(fault_out, "the integer sum does not fit 64 bits");
        return true;
    }
    double sum = real_of(acc) + real_of(other);
    if (!sf_double_is_finite(sum)) return over(fault_out, "the sum is beyond a double");
    *acc = (struct sf_acc){.kind = SF_ACC_DOUBLE, .as.real = sum};
    return true;
}

static struct sf_value value_of(const struct sf_acc *acc)
{
    return acc->kind == SF_ACC_INT ? sf_value_of_int(acc->as.integer) : sf_value_of_double(acc->as.real);
}

static bool is_negative_zero(const struct sf_acc *acc)
{
    uint64_t bits;
    memcpy(&bits, &acc->as.real, sizeof bits);
    return acc->kind == SF_ACC_DOUBLE && bits == UINT64_C(1) << 63;
}

/* Whether `other` takes the place of `acc`: a total order, so that the order of records decides nothing. */
static bool is_better(enum sf_aggregate_kind kind, const struct sf_acc *acc, const struct sf_acc *other)
{
    if (other->kind == SF_ACC_NONE) return false;
    if (acc->kind == SF_ACC_NONE) return true;
    struct sf_value a = value_of(acc), b = value_of(other);
    int order = sf_value_compare_numbers(&b, &a);
    if (order != 0) return (kind == SF_AGGREGATE_MIN) == (order < 0);
    if (acc->kind != other->kind) return other->kind == SF_ACC_INT;
    return (kind == SF_AGGREGATE_MIN ? is_negative_zero(other) : is_negative_zero(acc));
}

static bool fold(enum sf_aggregate_kind kind, struct sf_acc *acc, const struct sf_acc *other,
                 struct sf_fault *fault_out)
{
    if (kind == SF_AGGREGATE_COUNT || kind == SF_AGGREGATE_SUM) return add_sum(acc, other, fault_out);
    if (is_better(kind, acc, other)) *acc = *other;
    return true;
}

/* One input as an accumulator; NONE: nothing to fold in. */
static bool input_of(const struct sf_value *value, struct sf_acc *input_out, struct sf_fault *fault_out)
{
    *input_out = (struct sf_acc){.kind = SF_ACC_NONE, .as.integer = 0};
    if (value->kind == SF_VALUE_INT) {
        *input_out = (struct sf_acc){.kind = SF_ACC_INT, .as.integer = value->as.integer};
    } else if (value->kind == SF_VALUE_DOUBLE) {
        *input_out = (struct sf_acc){.kind = SF_ACC_DOUBLE, .as.real = value->as.real};
    } else if (!sf_value_is_null(value)) {
        return over(fault_out, "an aggregate needs numbers");
    }
    return true;
}

static bool add_values(const struct sf_aggregates *aggregates, const struct sf_value *values, struct sf_acc *row,
                       struct sf_fault *fault_out)
{
    static const struct sf_acc one = {.kind = SF_ACC_INT, .as.integer = 1};
    for (uint32_t i = 0; i < aggregates->count; i++) {
        const struct sf_aggregate_field *field = &aggregates->fields[i];
        struct sf_acc input = one;
        if (field->kind != SF_AGGREGATE_COUNT && !input_of(&values[field->root], &input, fault_out)) return false;
        if (input.kind != SF_ACC_NONE && !fold(field->kind, &row[i], &input, fault_out)) return false;
    }
    return true;
}

bool sf_aggregates_add(const struct sf_aggregates *aggregates, const struct sf_input_value *input, struct sf_acc *row,
                       struct sf_fault *fault_out)
{
    struct sf_value values[SF_AGGREGATES_MAX];
    struct sf_acc folded[SF_AGGREGATES_MAX];
    uint32_t count = aggregates->count;
    if (count == 1 && aggregates->expression == NULL) {
        if (row->as.integer == INT64_MAX) return over(fault_out, "the count does not fit 64 bits");
        row->as.integer++;
        return true;
    }
    if (aggregates->expression != NULL && !sf_expression_eval(aggregates->expression, input, values, fault_out))
        return false;
    memcpy(folded, row, count * sizeof row[0]);
    if (!add_values(aggregates, values, folded, fault_out)) return false;
    memcpy(row, folded, count * sizeof row[0]);
    return true;
}
