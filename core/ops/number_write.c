/* Number to text. A double is scaled to 17 or 18 digits by an exact power of ten, together with the two ends of the
 * interval that reads back to it; the shortest decimal is then a matter of 64-bit integers. */
#include <assert.h>
#include <string.h>

#include "core/ops/bigint.h"
#include "core/ops/number.h"
#include "core/ops/number_tables.h"

static const char pairs[201] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                               "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                               "8081828384858687888990919293949596979899";

static size_t write_unsigned(uint64_t value, char *buf)
{
    char digits[20];
    size_t at = sizeof digits;
    while (value >= 100) {
        at -= 2;
        memcpy(digits + at, pairs + 2 * (value % 100), 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(digits + at, pairs + 2 * value, 2);
    } else {
        digits[--at] = (char)('0' + value);
    }
    memcpy(buf, digits + at, sizeof digits - at);
    return sizeof digits - at;
}

size_t sf_integer_write(int64_t integer, char *buf)
{
    if (integer >= 0) return write_unsigned((uint64_t)integer, buf);
    *buf = '-';
    return 1 + write_unsigned(0 - (uint64_t)integer, buf + 1);
}

/* fraction * 2^exponent, fraction < 2^53 */
struct binary {
    uint64_t fraction;
    int exponent;
    bool is_power_of_2; /* the double below is half as far away as the one above */
};

/* A double scaled by 10^power. */
struct scaled {
    uint64_t low, high; /* integers in between, ends included, read back to the double */
    uint64_t whole;     /* 10^16 … 10^18, rounded down */
    bool is_half;       /* at least a half was cut off whole */
    bool is_more;       /* something beyond 0 or the half was cut off */
    int power;
};

static struct binary split(uint64_t bits)
{
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    int biased = (int)(bits >> 52 & 0x7ff);
    assert(biased != 0x7ff);
    if (biased == 0) return (struct binary){.fraction = fraction, .exponent = -1074};
    return (struct binary){.fraction = fraction | UINT64_C(1) << 52, .exponent = biased - 1075,
                           .is_power_of_2 = fraction == 0 && biased > 1};
}

/* floor(quarters * 2^(exponent - 2) * 10^power); 10 = 5 * 2. */
static uint64_t scale_128(uint64_t quarters, const struct binary *bin, int power, int extra, bool *is_cut_out)
{
    sfi_u128 product = (sfi_u128)quarters * sfi_power_of_5[power];
    int shift = 2 - bin->exponent - power - extra;
    *is_cut_out = false;
    if (shift <= 0) return (uint64_t)(product << -shift);
    assert(shift < 128);
    sfi_u128 whole = product >> shift;
    *is_cut_out = whole << shift != product;
    return (uint64_t)whole;
}

static uint64_t scale_big(uint64_t quarters, const struct binary *bin, int power, int extra, bool *is_cut_out)
{
    struct sfi_bigint num, den;
    int shift = bin->exponent - 2 + power + extra;
    sfi_bigint_set(&num, quarters);
    if (power >= 0) {
        sfi_bigint_multiply_power_of_5(&num, (uint32_t)power);
        assert(shift < 0); /* only small numbers come here with a power >= 0 */
        return sfi_bigint_shift_right_u64(&num, (uint32_t)-shift, is_cut_out);
    }
    sfi_bigint_set(&den, 1);
    sfi_bigint_multiply_power_of_5(&den, (uint32_t)-power);
    if (shift >= 0) sfi_bigint_shift_left(&num, (uint32_t)shift);
    if (shift < 0) sfi_bigint_shift_left(&den, (uint32_t)-shift);
    int steps = (int)sfi_bigint_bits(&num) - (int)sfi_bigint_bits(&den);
    assert(steps >= 0 && steps < 64);
    sfi_bigint_shift_left(&den, (uint32_t)steps);
    uint64_t quotient = sfi_bigint_divide_bits(&num, &den, (uint32_t)steps + 1);
    *is_cut_out = num.count > 0;
    return quotient;
}

static struct scaled scale(const struct binary *bin)
{
    int top = bin->exponent + 63 - __builtin_clzll(bin->fraction); /* floor(log2) */
    int power = 16 - (int)((int64_t)top * 315653 >> 20);           /* floor(log10(2^top)): whole has 17 or 18 digits */
    uint64_t (*by)(uint64_t, const struct binary *, int, int, bool *) =
        power >= 0 && power < (int)SFI_POWERS_OF_5 ? scale_128 : scale_big;
    bool is_closed = (bin->fraction & 1) == 0; /* a tie is read as the even one */
    bool is_low_cut, is_high_cut, is_cut;
    uint64_t low = by(4 * bin->fraction - (bin->is_power_of_2 ? 1 : 2), bin, power, 0, &is_low_cut);
    uint64_t high = by(4 * bin->fraction + 2, bin, power, 0, &is_high_cut);
    uint64_t twice = by(4 * bin->fraction, bin, power, 1, &is_cut);
    if (is_low_cut || !is_closed) low++;
    if (!is_high_cut && !is_closed) high--;
    assert(low <= high);
    return (struct scaled){.low = low, .high = high, .whole = twice >> 1, .is_half = (twice & 1) != 0,
                           .is_more = is_cut, .power = power};
}

/* Drops as many digits as the interval allows; what is left is rounded to the nearest, ties to even. */
static uint64_t shorten(const struct scaled *scaled, int *exponent_out)
{
    uint64_t low = scaled->low, high = scaled->high, unit = 1;
    int dropped = 0;
    while (high / 10 >= (low + 9) / 10) {
        high /= 10;
        low = (low + 9) / 10;
        unit *= 10;
        dropped++;
    }
    uint64_t digits = scaled->whole / unit, rest = scaled->whole % unit;
    bool is_up;
    if (unit == 1) {
        is_up = scaled->is_half && (scaled->is_more || (digits & 1) != 0);
    } else {
        bool is_tie = rest == unit / 2 && !scaled->is_half && !scaled->is_more;
        is_up = is_tie ? (digits & 1) != 0 : rest >= unit / 2;
    }
    digits += is_up;
    if (digits < low) digits = low;
    assert(digits <= high); /* the upper end is never the nearer one */
    *exponent_out = dropped - scaled->power;
    return digits;
}

/* digits * 10^exponent; the decimal point belongs behind `point` digits. */
static size_t layout(uint64_t digits, int exponent, char *buf)
{
    char text[20];
    int count = (int)write_unsigned(digits, text), point = count + exponent;
    char *out = buf;
    if (point > 16 || point < -3) {
        *out++ = text[0];
        if (count > 1) {
            *out++ = '.';
            memcpy(out, text + 1, (size_t)count - 1);
            out += count - 1;
        }
        *out++ = 'e';
        return (size_t)(out - buf) + sf_integer_write(point - 1, out);
    }
    if (point <= 0) {
        memcpy(out, "0.000", (size_t)(2 - point));
        out += 2 - point;
        memcpy(out, text, (size_t)count);
        return (size_t)(out - buf) + (size_t)count;
    }
    int before = point < count ? point : count;
    memcpy(out, text, (size_t)before);
    out += before;
    for (int i = count; i < point; i++) *out++ = '0';
    *out++ = '.';
    if (before == count) {
        *out++ = '0';
    } else {
        memcpy(out, text + before, (size_t)(count - before));
        out += count - before;
    }
    return (size_t)(out - buf);
}

size_t sf_double_write(double real, char *buf)
{
    uint64_t bits;
    char *out = buf;
    assert(sf_double_is_finite(real));
    memcpy(&bits, &real, sizeof bits);
    if (bits >> 63 != 0) *out++ = '-';
    bits &= UINT64_MAX >> 1;
    if (bits == 0) {
        memcpy(out, "0.0", 3);
        return (size_t)(out - buf) + 3;
    }
    struct binary bin = split(bits);
    struct scaled scaled = scale(&bin);
    int exponent;
    uint64_t digits = shorten(&scaled, &exponent);
    return (size_t)(out - buf) + layout(digits, exponent, out);
}
