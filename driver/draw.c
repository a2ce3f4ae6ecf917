#include "driver/draw.h"

#include "sim/random.h"

#define FRACTION_BITS 24u
#define LN2_MILLIARDTHS UINT64_C(693147181)

uint64_t sf_driver_log2(uint64_t x)
{
    assert(x > 0);
    uint64_t whole = 0;
    for (uint64_t rest = x; rest > 1; rest >>= 1) whole++;
    /* x = 2^whole × m / 2^31, 2^31 <= m < 2^32; squaring m gives one more bit of its logarithm at a time. */
    uint64_t m = whole >= 31 ? x >> (whole - 31) : x << (31 - whole);
    uint64_t result = whole;
    for (uint32_t i = 0; i < FRACTION_BITS; i++) {
        m = m * m >> 31;
        result <<= 1;
        if (m >= UINT64_C(1) << 32) {
            m >>= 1;
            result |= 1;
        }
    }
    return result;
}

static uint64_t root_of(uint64_t x)
{
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit > 0; bit >>= 1) {
        uint64_t next = root | bit;
        if (next <= x / next) root = next;
    }
    return root;
}

uint64_t sf_driver_exp2_neg(uint64_t x)
{
    uint64_t whole = x >> FRACTION_BITS;
    if (whole >= 32) return 0;
    uint64_t value = UINT64_C(1) << 32;
    uint64_t factor = UINT64_C(1) << 31; /* 2^-1, then its roots: 2^-(1/2), 2^-(1/4) … */
    for (uint32_t i = 0; i < FRACTION_BITS; i++) {
        factor = root_of(factor << 32);
        if ((x >> (FRACTION_BITS - 1 - i) & 1) != 0) value = (value >> 1) * factor >> 31;
    }
    return value >> whole;
}

static void init_zipf(struct sf_driver_draw *draw)
{
    size_t count = (size_t)draw->spec->a;
    draw->sums = sf_calloc(draw->alloc, count, sizeof *draw->sums);
    uint64_t sum = 0;
    for (size_t rank = 0; rank < count; rank++) {
        uint64_t weight = sf_driver_exp2_neg(sf_driver_log2(rank + 1) * (uint64_t)draw->spec->b / 1000000);
        sum += weight > 0 ? weight : 1;
        draw->sums[rank] = sum;
    }
}

void sf_driver_draw_init(struct sf_driver_draw *draw, const struct sf_scenario_draw *spec, struct sf_alloc alloc)
{
    *draw = (struct sf_driver_draw){.spec = spec, .alloc = alloc};
    if (spec->kind == SF_SCENARIO_DRAW_ZIPF) init_zipf(draw);
}

void sf_driver_draw_deinit(struct sf_driver_draw *draw)
{
    if (draw->sums != NULL) sf_cfree(draw->alloc, draw->sums, (size_t)draw->spec->a, sizeof *draw->sums);
    draw->sums = NULL;
}

static int64_t zipf(const struct sf_driver_draw *draw, uint64_t bits)
{
    size_t low = 0, high = (size_t)draw->spec->a - 1;
    uint64_t at = bits % draw->sums[high];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (draw->sums[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return (int64_t)low;
}

/* -ln(u) = (64 - log2(bits)) × ln 2. */
static int64_t exponential(int64_t mean, uint64_t bits)
{
    uint64_t behind = (UINT64_C(64) << FRACTION_BITS) - sf_driver_log2(bits | 1);
    uint64_t milliardths = (behind * LN2_MILLIARDTHS) >> FRACTION_BITS; /* below 45 × 10^9 */
    uint64_t whole = (uint64_t)mean / 1000000 * milliardths / 1000;
    return (int64_t)(whole + (uint64_t)mean % 1000000 * milliardths / 1000000000);
}

int64_t sf_driver_draw_number(const struct sf_driver_draw *draw, uint64_t bits, uint64_t ordinal)
{
    const struct sf_scenario_draw *spec = draw->spec;
    switch (spec->kind) {
    case SF_SCENARIO_DRAW_CONSTANT:
        break;
    case SF_SCENARIO_DRAW_UNIFORM:
        return sf_sim_range(bits, spec->a, spec->b);
    case SF_SCENARIO_DRAW_EXPONENTIAL:
        return exponential(spec->a, bits);
    case SF_SCENARIO_DRAW_ZIPF:
        return zipf(draw, bits);
    case SF_SCENARIO_DRAW_SEQUENCE:
        return (int64_t)ordinal;
    }
    return spec->a;
}
