/* Text to number. Three ways to a double, each exact, from cheap to general: one floating-point operation on exact
 * operands, 128-bit integers, big integers. */
#include <assert.h>
#include <string.h>

#include "core/ops/bigint.h"
#include "core/ops/number.h"
#include "core/ops/number_tables.h"

#define HEAD_DIGITS 19u     /* always fit a uint64 */
#define DIGITS_MAX 800u     /* more cannot change the rounding, except by being there at all */
#define EXPONENT_MAX 100000 /* larger ones mean the same */

/* value = head * 10^exponent, plus less than 10^exponent where is_cut */
struct decimal {
    uint64_t head;
    int64_t exponent;
    uint32_t digits; /* significant ones in head */
    bool is_cut;
    bool is_negative;
    bool is_integer; /* neither fraction nor exponent */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int64_t read_exponent(const char *at, const char *end)
{
    bool is_negative = *at == '-';
    int64_t exponent = 0;
    if (*at == '-' || *at == '+') at++;
    for (; at < end; at++)
        if (exponent < EXPONENT_MAX) exponent = exponent * 10 + (*at - '0');
    return is_negative ? -exponent : exponent;
}

static struct decimal read_decimal(const char *text, const char *end)
{
    struct decimal dec = {.is_integer = true};
    const char *at = text;
    if (*at == '-') {
        dec.is_negative = true;
        at++;
    }
    bool is_fraction = false;
    for (; at < end && (is_digit(*at) || *at == '.'); at++) {
        if (*at == '.') {
            is_fraction = true;
            dec.is_integer = false;
            continue;
        }
        if (dec.digits < HEAD_DIGITS) {
            dec.head = dec.head * 10 + (uint64_t)(*at - '0');
            if (dec.head > 0) dec.digits++;
            if (is_fraction) dec.exponent--;
        } else {
            dec.is_cut |= *at != '0';
            if (!is_fraction) dec.exponent++;
        }
    }
    if (at < end) {
        assert(*at == 'e' || *at == 'E');
        dec.is_integer = false;
        dec.exponent += read_exponent(at + 1, end);
    }
    return dec;
}

/* The double nearest to quotient * 2^exponent (plus a trifle where is_cut), top bit of quotient set. False: too
 * large. */
static bool assemble(uint64_t quotient, int exponent, bool is_cut, double *real_out)
{
    assert(quotient >> 63 == 1);
    int top = exponent + 63;
    if (top > 1023) return false;
    int drop = top >= -1022 ? 11 : 11 + (-1022 - top);
    if (drop > 64) {
        *real_out = 0;
        return true;
    }
    uint64_t kept = drop == 64 ? 0 : quotient >> drop;
    bool is_half = (quotient >> (drop - 1) & 1) != 0;
    bool is_more = is_cut || (quotient & ((UINT64_C(1) << (drop - 1)) - 1)) != 0;
    if (is_half && (is_more || (kept & 1) != 0)) kept++;
    /* a carry out of kept moves into the exponent, where it belongs */
    uint64_t bits = top >= -1022 ? ((uint64_t)(top + 1022) << 52) + kept : kept;
    if (bits >= UINT64_C(0x7ff) << 52) return false;
    memcpy(real_out, &bits, sizeof bits);
    return true;
}

static bool multiply_128(uint64_t head, uint32_t power, double *real_out)
{
    sfi_u128 product = (sfi_u128)head * sfi_power_of_5[power];
    int exponent = (int)power;
    uint64_t high = (uint64_t)(product >> 64);
    if (high == 0) {
        uint64_t low = (uint64_t)product;
        int shift = __builtin_clzll(low);
        return assemble(low << shift, exponent - shift, false, real_out);
    }
    int shift = __builtin_clzll(high);
    product <<= shift;
    return assemble((uint64_t)(product >> 64), exponent + 64 - shift, (uint64_t)product != 0, real_out);
}

static bool divide_128(uint64_t head, uint32_t power, double *real_out)
{
    int shift_num = __builtin_clzll(head), shift_den = __builtin_clzll(sfi_power_of_5[power]);
    uint64_t rest = head << shift_num, den = sfi_power_of_5[power] << shift_den, quotient = 0;
    int steps = 64;
    if (rest >= den) {
        rest -= den;
        quotient = 1;
        steps = 63;
    }
    for (int i = 0; i < steps; i++) {
        bool is_carry = rest >> 63 != 0;
        rest <<= 1;
        quotient <<= 1;
        if (is_carry || rest >= den) {
            rest -= den;
            quotient |= 1;
        }
    }
    return assemble(quotient, shift_den - shift_num - steps - (int)power, rest != 0, real_out);
}

/* All significant digits of text, as an integer; the exponent that goes with it. */
static int64_t read_digits(const char *text, const char *end, struct sfi_bigint *digits, bool *is_cut_out)
{
    uint32_t count = 0;
    int64_t exponent = 0;
    bool is_fraction = false;
    sfi_bigint_set(digits, 0);
    *is_cut_out = false;
    const char *at = *text == '-' ? text + 1 : text;
    for (; at < end && (is_digit(*at) || *at == '.'); at++) {
        if (*at == '.') {
            is_fraction = true;
            continue;
        }
        if (count < DIGITS_MAX) {
            sfi_bigint_multiply_add(digits, 10, (uint32_t)(*at - '0'));
            if (digits->count > 0) count++;
            if (is_fraction) exponent--;
        } else {
            *is_cut_out |= *at != '0';
            if (!is_fraction) exponent++;
        }
    }
    return at < end ? exponent + read_exponent(at + 1, end) : exponent;
}

static bool divide_big(const char *text, const char *end, double *real_out)
{
    struct sfi_bigint num, den;
    bool is_cut;
    int64_t power = read_digits(text, end, &num, &is_cut);
    sfi_bigint_set(&den, 1);
    assert(power > -2000 && power < 2000);
    if (power >= 0) {
        sfi_bigint_multiply_power_of_5(&num, (uint32_t)power);
    } else {
        sfi_bigint_multiply_power_of_5(&den, (uint32_t)-power);
    }
    int shift = (int)sfi_bigint_bits(&den) - (int)sfi_bigint_bits(&num);
    if (shift > 0) sfi_bigint_shift_left(&num, (uint32_t)shift);
    if (shift < 0) sfi_bigint_shift_left(&den, (uint32_t)-shift);
    if (sfi_bigint_compare(&num, &den) < 0) {
        sfi_bigint_shift_left(&num, 1);
        shift++;
    }
    uint64_t quotient = sfi_bigint_divide_bits(&num, &den, 64);
    return assemble(quotient, (int)power - shift - 63, is_cut || num.count > 0, real_out);
}

static bool read_double(const char *text, const char *end, const struct decimal *dec, double *real_out)
{
    int64_t magnitude = dec->exponent + dec->digits; /* value < 10^magnitude */
    *real_out = 0;
    if (dec->head == 0 || magnitude < -330) return true;
    if (magnitude > 310) return false;
    if (!dec->is_cut) {
        int64_t power = dec->exponent;
        if (dec->head <= UINT64_C(1) << 53 && power >= -22 && power <= 22) {
            double head = (double)dec->head;
            *real_out = power >= 0 ? head * sfi_power_of_10[power] : head / sfi_power_of_10[-power];
            return true;
        }
        if (power >= 0 && power <= 27) return multiply_128(dec->head, (uint32_t)power, real_out);
        if (power < 0 && power >= -27) return divide_128(dec->head, (uint32_t)-power, real_out);
    }
    return divide_big(text, end, real_out);
}

bool sf_number_read(const char *text, size_t len, struct sf_value *value_out)
{
    assert(len > 0);
    const char *end = text + len;
    struct decimal dec = read_decimal(text, end);
    if (dec.is_integer && dec.exponent == 0 && !dec.is_cut) {
        uint64_t limit = (uint64_t)INT64_MAX + dec.is_negative;
        if (dec.head <= limit) {
            *value_out = sf_value_of_int(dec.is_negative ? (int64_t)(0 - dec.head) : (int64_t)dec.head);
            return true;
        }
    }
    double real;
    if (!read_double(text, end, &dec, &real)) return false;
    *value_out = sf_value_of_double(dec.is_negative ? -real : real);
    return true;
}
