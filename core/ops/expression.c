/* Running a program. */
#include "core/ops/expression.h"

#include <string.h>

#include "core/ops/expression_program.h"
#include "core/ops/number.h"

static bool fault(struct sf_fault *fault_out, const struct sfi_op *op, const char *text)
{
    return sf_fault_set(fault_out, SF_FAULT_PROCESSING, op->offset, text);
}

uint32_t sf_expression_root_count(const struct sf_expression *expression)
{
    return expression->root_count;
}

/* ------------------------------------------------------------------ arithmetic */

static bool int_arithmetic(const struct sfi_op *op, int64_t a, int64_t b, struct sf_value *out,
                           struct sf_fault *fault_out)
{
    bool is_over = false;
    int64_t result = 0;
    switch (op->code) {
    case SFI_OP_ADD:
        is_over = __builtin_add_overflow(a, b, &result);
        break;
    case SFI_OP_SUBTRACT:
        is_over = __builtin_sub_overflow(a, b, &result);
        break;
    case SFI_OP_MULTIPLY:
        is_over = __builtin_mul_overflow(a, b, &result);
        break;
    default:
        if (b == 0) return fault(fault_out, op, "division by zero");
        is_over = op->code == SFI_OP_DIVIDE && a == INT64_MIN && b == -1;
        if (is_over || b == -1) {
            result = op->code == SFI_OP_DIVIDE && !is_over ? -a : 0;
        } else {
            result = op->code == SFI_OP_DIVIDE ? a / b : a % b;
        }
        break;
    }
    if (is_over) return fault(fault_out, op, "the integer result does not fit 64 bits");
    *out = sf_value_of_int(result);
    return true;
}

static int exponent_of(double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    int biased = (int)(bits >> 52 & 0x7ff);
    return biased == 0 ? 1 : biased;
}

static uint64_t fraction_of(double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    return (bits >> 52 & 0x7ff) == 0 ? fraction : fraction | UINT64_C(1) << 52;
}

/* Exact, as C's fmod: the sign of a. */
static double double_remainder(double a, double b)
{
    uint64_t rest = fraction_of(a), unit = fraction_of(b);
    int exponent = exponent_of(a), exponent_b = exponent_of(b);
    assert(unit > 0);
    if (exponent < exponent_b) return a;
    for (; exponent > exponent_b; exponent--) rest = rest % unit << 1;
    rest %= unit;
    /* rest < 2^53, in units of b's last place */
    uint64_t bits = 0, sign;
    if (rest > 0) {
        int shift = __builtin_clzll(rest) - 11;
        if (shift > exponent - 1) shift = exponent - 1;
        rest <<= shift;
        exponent -= shift;
        bits = (rest >> 52 != 0 ? (uint64_t)exponent << 52 : 0) | (rest & ((UINT64_C(1) << 52) - 1));
    }
    memcpy(&sign, &a, sizeof sign);
    bits |= sign & UINT64_C(1) << 63;
    double result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

static double as_double(const struct sf_value *value)
{
    return value->kind == SF_VALUE_INT ? (double)value->as.integer : value->as.real;
}

static bool arithmetic(const struct sfi_op *op, const struct sf_value *a, const struct sf_value *b,
                       struct sf_value *out, struct sf_fault *fault_out)
{
    if (!sf_value_is_number(a) || !sf_value_is_number(b)) {
        bool is_null = sf_value_is_null(a) || sf_value_is_null(b);
        return fault(fault_out, op, is_null ? "arithmetic on null or a missing field" : "arithmetic needs numbers");
    }
    if (a->kind == SF_VALUE_INT && b->kind == SF_VALUE_INT)
        return int_arithmetic(op, a->as.integer, b->as.integer, out, fault_out);
    double x = as_double(a), y = as_double(b), result;
    if (op->code == SFI_OP_ADD) {
        result = x + y;
    } else if (op->code == SFI_OP_SUBTRACT) {
        result = x - y;
    } else if (op->code == SFI_OP_MULTIPLY) {
        result = x * y;
    } else if (fraction_of(y) == 0) {
        return fault(fault_out, op, "division by zero");
    } else {
        result = op->code == SFI_OP_DIVIDE ? x / y : double_remainder(x, y);
    }
    if (!sf_double_is_finite(result)) return fault(fault_out, op, "the result is beyond a double");
    *out = sf_value_of_double(result);
    return true;
}

static bool negate(const struct sfi_op *op, struct sf_value *value, struct sf_fault *fault_out)
{
    if (!sf_value_is_number(value))
        return fault(fault_out, op, sf_value_is_null(value) ? "arithmetic on null or a missing field"
                                                            : "arithmetic needs numbers");
    if (value->kind == SF_VALUE_DOUBLE) {
        value->as.real = -value->as.real;
        return true;
    }
    if (value->as.integer == INT64_MIN) return fault(fault_out, op, "the integer result does not fit 64 bits");
    value->as.integer = -value->as.integer;
    return true;
}

/* ------------------------------------------------------------------ comparison and logic */

static bool is_container(const struct sf_value *value)
{
    return value->kind == SF_VALUE_OBJECT || value->kind == SF_VALUE_ARRAY;
}

static bool holds(enum sfi_op_code code, int order)
{
    switch ((int)code) {
    case SFI_OP_EQ: return order == 0;
    case SFI_OP_NE: return order != 0;
    case SFI_OP_LT: return order < 0;
    case SFI_OP_LE: return order <= 0;
    case SFI_OP_GT: return order > 0;
    default: return order >= 0;
    }
}

static bool compare(const struct sfi_op *op, const struct sf_value *a, const struct sf_value *b, struct sf_value *out,
                    struct sf_fault *fault_out)
{
    enum sfi_op_code code = (enum sfi_op_code)op->code;
    bool is_equality = code == SFI_OP_EQ || code == SFI_OP_NE;
    *out = sf_value_of_bool(false);
    if (is_container(a) || is_container(b)) return fault(fault_out, op, "an object or an array cannot be compared");
    if (sf_value_is_null(a) || sf_value_is_null(b)) return true;
    if (sf_value_is_number(a) && sf_value_is_number(b)) {
        out->as.boolean = holds(code, sf_value_compare_numbers(a, b));
    } else if (a->kind == SF_VALUE_STRING && b->kind == SF_VALUE_STRING) {
        out->as.boolean = holds(code, sf_value_compare_strings(a, b));
    } else if (!is_equality) {
        return fault(fault_out, op, "only two numbers or two strings have an order");
    } else {
        bool is_equal = a->kind == b->kind && a->as.boolean == b->as.boolean;
        out->as.boolean = is_equal == (code == SFI_OP_EQ);
    }
    return true;
}

/* A condition: null is false. */
static bool condition(const struct sfi_op *op, struct sf_value *value, struct sf_fault *fault_out)
{
    if (value->kind == SF_VALUE_BOOL) return true;
    if (!sf_value_is_null(value)) return fault(fault_out, op, "a condition must be true, false or null");
    *value = sf_value_of_bool(false);
    return true;
}

/* ------------------------------------------------------------------ the machine */

struct machine {
    const struct sf_expression *program;
    const struct sf_value *path_values;
    struct sf_value stack[SFI_STACK_MAX];
    uint32_t depth;
    struct sf_fault *fault;
};

static bool step_unary(struct machine *machine, const struct sfi_op *op)
{
    struct sf_value *top = &machine->stack[machine->depth - 1];
    switch (op->code) {
    case SFI_OP_NEGATE:
        return negate(op, top, machine->fault);
    case SFI_OP_IS_NULL:
        *top = sf_value_of_bool(sf_value_is_null(top));
        return true;
    case SFI_OP_IS_NOT_NULL:
        *top = sf_value_of_bool(!sf_value_is_null(top));
        return true;
    case SFI_OP_NOT:
        if (!condition(op, top, machine->fault)) return false;
        top->as.boolean = !top->as.boolean;
        return true;
    default:
        return condition(op, top, machine->fault);
    }
}

static bool step_binary(struct machine *machine, const struct sfi_op *op)
{
    struct sf_value *a = &machine->stack[machine->depth - 2], *b = &machine->stack[machine->depth - 1], result;
    bool is_compare = op->code >= SFI_OP_EQ;
    if (!(is_compare ? compare : arithmetic)(op, a, b, &result, machine->fault)) return false;
    *a = result;
    machine->depth--;
    return true;
}

/* The operations of one root; its value. */
static bool run_root(struct machine *machine, uint32_t at, uint32_t end, struct sf_value *value_out)
{
    machine->depth = 0;
    while (at < end) {
        const struct sfi_op *op = &machine->program->ops[at++];
        if (op->code == SFI_OP_PATH) {
            machine->stack[machine->depth++] = machine->path_values[op->arg];
        } else if (op->code == SFI_OP_CONSTANT) {
            machine->stack[machine->depth++] = machine->program->constants[op->arg];
        } else if (op->code == SFI_OP_AND || op->code == SFI_OP_OR) {
            struct sf_value *top = &machine->stack[machine->depth - 1];
            if (!condition(op, top, machine->fault)) return false;
            if (top->as.boolean == (op->code == SFI_OP_OR)) {
                at = op->arg;
            } else {
                machine->depth--;
            }
        } else if (op->code >= SFI_OP_ADD && op->code <= SFI_OP_GE) {
            if (!step_binary(machine, op)) return false;
        } else if (!step_unary(machine, op)) {
            return false;
        }
    }
    assert(machine->depth == 1);
    *value_out = machine->stack[0];
    return true;
}

static bool run_all(const struct sf_expression *expression, const struct sf_value *path_values,
                       struct sf_value *values_out, struct sf_fault *fault_out)
{
    struct machine machine;
    machine.program = expression;
    machine.path_values = path_values;
    machine.fault = fault_out;
    uint32_t at = 0;
    for (uint32_t root = 0; root < expression->root_count; root++) {
        uint32_t end = expression->root_ends[root];
        const struct sfi_op *op = &expression->ops[at];
        if (end == at + 1 && op->code == SFI_OP_PATH) {
            values_out[root] = path_values[op->arg];
        } else if (!run_root(&machine, at, end, &values_out[root])) {
            return false;
        }
        at = end;
    }
    return true;
}

/* The offset of the first use of a path that has segments. */
static uint32_t deep_path_offset(const struct sf_expression *expression)
{
    for (uint32_t i = 0; i < expression->op_count; i++) {
        const struct sfi_op *op = &expression->ops[i];
        if (op->code == SFI_OP_PATH && expression->paths[op->arg].count > 0) return op->offset;
    }
    return 0;
}

static bool read_paths(const struct sf_expression *expression, const struct sf_input_value *input,
                       struct sf_value *path_values_out, struct sf_fault *fault_out)
{
    if (input->bytes.data == NULL) {
        for (uint32_t i = 0; i < expression->path_count; i++)
            path_values_out[i] = (struct sf_value){.kind = SF_VALUE_NULL};
        return true;
    }
    if (input->serde == SF_SERDE_JSON)
        return sf_json_extract((const char *)input->bytes.data, input->bytes.len, expression->paths,
                               expression->path_count, path_values_out, fault_out);
    for (uint32_t i = 0; i < expression->path_count; i++)
        if (expression->paths[i].count > 0)
            return sf_fault_set(fault_out, SF_FAULT_PROCESSING, deep_path_offset(expression),
                                "a value that is not JSON has only $");
    return sf_serde_read(input, path_values_out, fault_out);
}

bool sf_expression_eval(const struct sf_expression *expression, const struct sf_input_value *input,
                        struct sf_value *values_out, struct sf_fault *fault_out)
{
    struct sf_value path_values[SF_JSON_PATHS_MAX];
    if (expression->path_count > 0 && !read_paths(expression, input, path_values, fault_out)) return false;
    return run_all(expression, path_values, values_out, fault_out);
}

bool sf_expression_test(const struct sf_expression *expression, const struct sf_input_value *input, bool *is_true_out,
                        struct sf_fault *fault_out)
{
    static const struct sfi_op whole = {.code = SFI_OP_BOOL};
    struct sf_value value;
    assert(expression->root_count == 1);
    if (!sf_expression_eval(expression, input, &value, fault_out)) return false;
    if (!condition(&whole, &value, fault_out)) return false;
    *is_true_out = value.as.boolean;
    return true;
}
