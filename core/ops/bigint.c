#include "core/ops/bigint.h"

#include <assert.h>
#include <string.h>

static void trim(struct sfi_bigint *big)
{
    while (big->count > 0 && big->words[big->count - 1] == 0) big->count--;
}

void sfi_bigint_set(struct sfi_bigint *big, uint64_t value)
{
    big->words[0] = (uint32_t)value;
    big->words[1] = (uint32_t)(value >> 32);
    big->count = 2;
    trim(big);
}

void sfi_bigint_multiply_add(struct sfi_bigint *big, uint32_t factor, uint32_t addend)
{
    uint64_t carry = addend;
    for (uint32_t i = 0; i < big->count; i++) {
        carry += (uint64_t)big->words[i] * factor;
        big->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry == 0) return;
    assert(big->count < SFI_BIGINT_WORDS);
    big->words[big->count++] = (uint32_t)carry;
}

void sfi_bigint_multiply_power_of_5(struct sfi_bigint *big, uint32_t exponent)
{
    for (; exponent >= 13; exponent -= 13) sfi_bigint_multiply_add(big, 1220703125u, 0);
    for (; exponent > 0; exponent--) sfi_bigint_multiply_add(big, 5, 0);
}

void sfi_bigint_shift_left(struct sfi_bigint *big, uint32_t bits)
{
    uint32_t words = bits / 32, rest = bits % 32;
    if (big->count == 0 || bits == 0) return;
    assert(big->count + words + 1 <= SFI_BIGINT_WORDS);
    if (rest > 0) {
        uint32_t carry = 0;
        for (uint32_t i = 0; i < big->count; i++) {
            uint32_t word = big->words[i];
            big->words[i] = word << rest | carry;
            carry = word >> (32 - rest);
        }
        if (carry > 0) big->words[big->count++] = carry;
    }
    if (words > 0) {
        memmove(big->words + words, big->words, big->count * sizeof big->words[0]);
        memset(big->words, 0, words * sizeof big->words[0]);
        big->count += words;
    }
}

uint32_t sfi_bigint_bits(const struct sfi_bigint *big)
{
    if (big->count == 0) return 0;
    return big->count * 32 - (uint32_t)__builtin_clz(big->words[big->count - 1]);
}

int sfi_bigint_compare(const struct sfi_bigint *a, const struct sfi_bigint *b)
{
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    for (uint32_t i = a->count; i-- > 0;)
        if (a->words[i] != b->words[i]) return a->words[i] < b->words[i] ? -1 : 1;
    return 0;
}

uint64_t sfi_bigint_shift_right_u64(const struct sfi_bigint *big, uint32_t bits, bool *is_cut_out)
{
    uint32_t words = bits / 32, rest = bits % 32;
    uint64_t result = 0;
    *is_cut_out = false;
    for (uint32_t i = 0; i < words && i < big->count; i++) *is_cut_out |= big->words[i] != 0;
    if (words >= big->count) return 0;
    *is_cut_out |= (big->words[words] & ((1u << rest) - 1)) != 0;
    for (uint32_t i = big->count; i-- > words;) {
        assert(result >> 32 == 0 || i == words);
        if (i == words) return result << (32 - rest) | big->words[i] >> rest;
        result = result << 32 | big->words[i];
    }
    return result;
}

static void subtract(struct sfi_bigint *a, const struct sfi_bigint *b)
{
    uint64_t borrow = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        uint64_t take = borrow + (i < b->count ? b->words[i] : 0);
        borrow = a->words[i] < take;
        a->words[i] = (uint32_t)(a->words[i] - take);
    }
    assert(borrow == 0);
    trim(a);
}

uint64_t sfi_bigint_divide_bits(struct sfi_bigint *num, const struct sfi_bigint *den, uint32_t steps)
{
    uint64_t quotient = 0;
    assert(steps <= 64);
    for (uint32_t i = 0; i < steps; i++) {
        quotient <<= 1;
        if (sfi_bigint_compare(num, den) >= 0) {
            subtract(num, den);
            quotient |= 1;
        }
        sfi_bigint_shift_left(num, 1);
    }
    return quotient;
}
