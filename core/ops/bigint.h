/*
 * Bigint: just enough of unsigned big integers for exact conversion between decimal and binary (number.h), in
 * fixed memory. The largest that arise are 800 decimal digits (2,658 bits) and 5^1130 (2,624 bits).
 *
 * Words are little-endian; `count` excludes leading zero words, so 0 has count 0.
 */
#ifndef SF_CORE_OPS_BIGINT_H
#define SF_CORE_OPS_BIGINT_H

#include <stdbool.h>
#include <stdint.h>

#define SFI_BIGINT_WORDS 96u

struct sfi_bigint {
    uint32_t count;
    uint32_t words[SFI_BIGINT_WORDS];
};

void sfi_bigint_set(struct sfi_bigint *big, uint64_t value);
/* big = big * factor + addend */
void sfi_bigint_multiply_add(struct sfi_bigint *big, uint32_t factor, uint32_t addend);
void sfi_bigint_multiply_power_of_5(struct sfi_bigint *big, uint32_t exponent);
void sfi_bigint_shift_left(struct sfi_bigint *big, uint32_t bits);
uint32_t sfi_bigint_bits(const struct sfi_bigint *big);
/* -1, 0, 1 */
int sfi_bigint_compare(const struct sfi_bigint *a, const struct sfi_bigint *b);
/* floor(big / 2^bits), which must fit 64 bits; whether something was cut off. */
uint64_t sfi_bigint_shift_right_u64(const struct sfi_bigint *big, uint32_t bits, bool *is_cut_out);
/* The next `steps` <= 64 quotient bits of num / den, the first standing for den itself: num < 2 * den must hold.
 * num becomes what is left, times 2^steps. */
uint64_t sfi_bigint_divide_bits(struct sfi_bigint *num, const struct sfi_bigint *den, uint32_t steps);

#endif
