/*
 * Expression: what an application file says about a record's value: `filter: "$.amount >= 100"`, `key-by: $.user`,
 * `sum($.price * $.count)`. docs/expressions.md is the user's page; this is the contract.
 *
 *     or / ||    and / &&    not / !    == != < <= > >= (no chains)    + -    * / %    - (sign)    ( )
 *     $  $.a.b  $.a[0]  $['odd name']    5  1.5  1e3    'text' "text" (no escapes)    true false null
 *
 * Values. An integer is exact; an operation on two integers gives an integer, and one that leaves int64 is a fault.
 * `/` of integers cuts towards zero (7 / 2 is 3, -7 / 2 is -3), `%` takes the sign of the left side; with a double
 * on either side both are doubles. Division by zero, and a double that is not finite, are faults.
 *
 * Null. A missing field is null.
 *   arithmetic            a fault, as on everything that is not a number
 *   == null, != null      true or false, the only comparisons that see null
 *   other comparisons     false, also !=
 *   and, or, not, filter  null counts as false; anything else that is not a boolean is a fault
 *
 * Comparison. Numbers by value, an integer with a double exactly; strings by their bytes; booleans for equality.
 * == between different kinds is false and != true; order between different kinds is a fault, and so is any
 * comparison of an object or an array other than with null.
 *
 * `and` and `or` look at the right side only where the left one does not decide.
 *
 * Faults. A value that is not what its serde says is a DESERIALIZATION fault, with the offset in the value. All
 * others are PROCESSING faults (M5), with the offset in the expression's text. An expression without a path never
 * looks at the value, so it cannot meet a malformed one. A value that is not JSON has only `$`.
 *
 * One program may hold several expressions ("roots") that share one pass over the value: an aggregation's fields,
 * the fields of a map.
 *
 * Threading: a compiled expression does not change and may be used by several tasks at once.
 */
#ifndef SF_CORE_OPS_EXPRESSION_H
#define SF_CORE_OPS_EXPRESSION_H

#include "core/mem.h"
#include "core/ops/json.h"
#include "core/ops/serde.h"
#include "core/ops/value.h"

#define SF_EXPRESSION_ROOTS_MAX 32u
#define SF_EXPRESSION_TEXT_BYTES_MAX 65535u /* over all roots */

struct sf_expression;

/* Why a text is refused: which root, where in its text, and a literal. */
struct sf_expression_error {
    uint32_t root;
    uint32_t offset;
    const char *text;
};

struct sf_expression_text {
    const char *text;
    size_t len;
};

/* One expression. The text is copied. False: *error_out, nothing to destroy. */
bool sf_expression_compile(const char *text, size_t len, struct sf_alloc alloc, struct sf_expression **expression_out,
                           struct sf_expression_error *error_out) SF_MUST_USE;
/* 1 … SF_EXPRESSION_ROOTS_MAX expressions in one program. */
bool sf_expression_compile_many(const struct sf_expression_text *texts, uint32_t count, struct sf_alloc alloc,
                                struct sf_expression **expression_out, struct sf_expression_error *error_out)
    SF_MUST_USE;
/* NULL is fine. */
void sf_expression_destroy(struct sf_expression *expression);

/* Whether it would compile; takes no memory. */
bool sf_expression_check(const char *text, size_t len, struct sf_expression_error *error_out) SF_MUST_USE;

uint32_t sf_expression_root_count(const struct sf_expression *expression);

/* Sets values_out[0 … roots - 1]; strings, objects and arrays point into the input's bytes or the expression. */
bool sf_expression_eval(const struct sf_expression *expression, const struct sf_input_value *input,
                        struct sf_value *values_out, struct sf_fault *fault_out) SF_MUST_USE;
/* A filter (one root): *is_true_out; null is false, what is neither boolean nor null a PROCESSING fault. */
bool sf_expression_test(const struct sf_expression *expression, const struct sf_input_value *input, bool *is_true_out,
                        struct sf_fault *fault_out) SF_MUST_USE;

#endif
