/*
 * Draw: numbers of a distribution from keyed draws, in integers alone, so that they are the same everywhere.
 *
 *     uniform a … b     exponential with mean a     zipf: rank r of n with weight (r + 1)^-s     sequence
 *
 * exponential: -ln(u) × mean, with log2 worked out bit by bit; zipf: a table of running sums of weights.
 *
 * Threading: plain data.
 */
#ifndef SF_DRIVER_DRAW_H
#define SF_DRIVER_DRAW_H

#include "driver/scenario.h"

/* What a distribution needs beside its parameters. */
struct sf_driver_draw {
    const struct sf_scenario_draw *spec; /* borrowed */
    struct sf_alloc alloc;
    uint64_t *sums; /* ZIPF: of weights, by rank */
};

void sf_driver_draw_init(struct sf_driver_draw *draw, const struct sf_scenario_draw *spec, struct sf_alloc alloc);
void sf_driver_draw_deinit(struct sf_driver_draw *draw);
/* The number that belongs to 64 random bits; SEQUENCE takes `ordinal` instead. */
int64_t sf_driver_draw_number(const struct sf_driver_draw *draw, uint64_t bits, uint64_t ordinal);

/* log2(x) × 2^24, rounded down; x > 0. */
uint64_t sf_driver_log2(uint64_t x);
/* 2^-(x / 2^24) × 2^32, rounded. */
uint64_t sf_driver_exp2_neg(uint64_t x);

#endif
