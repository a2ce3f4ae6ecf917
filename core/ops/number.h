/*
 * Numbers and their text: exact both ways, without a locale, the same for every compiler.
 *
 * Reading: a JSON number without fraction and exponent that fits is an int64, anything else the nearest double
 * (ties to even). Writing a double: the fewest digits that read back to the same double, and of those the nearest;
 * always with a point or an exponent, so that it is read back as a double.
 *
 *     1 -> INT 1    9223372036854775808 -> DOUBLE    1e2 -> DOUBLE 100.0    -0 -> INT 0    -0.0 -> DOUBLE -0.0
 *     0.1 + 0.2 -> 0.30000000000000004    100.0 -> 100.0    1e16 -> 1e16    0.00001 -> 1e-5
 *
 * Plain notation from 0.0001 to below 1e16, else an exponent.
 *
 * Threading: pure functions.
 */
#ifndef SF_CORE_OPS_NUMBER_H
#define SF_CORE_OPS_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ops/value.h"

#define SF_NUMBER_TEXT_BYTES 32u /* room for any number's text */

/* The number in `text`, which must be a JSON number and nothing else. False: its magnitude is beyond a double. */
bool sf_number_read(const char *text, size_t len, struct sf_value *value_out) SF_MUST_USE;

/* Decimal text into `buf` (20 bytes suffice), not terminated; its length. */
size_t sf_integer_write(int64_t integer, char *buf);

/* Into SF_NUMBER_TEXT_BYTES bytes, not terminated; its length. `real` must be finite. */
size_t sf_double_write(double real, char *buf);

static inline bool sf_double_is_finite(double real)
{
    return real - real == 0.0;
}

#endif
