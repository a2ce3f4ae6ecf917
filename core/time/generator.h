/*
 * Generator: what one source partition claims about event time, from the records that it has dispatched (W1-W3).
 *
 *     bounded, bound 30:   records 100, 90, 140   ->   70, 70, 110
 *     monotonous:          records 100, 90, 140   ->   99, 99, 139
 *     none:                UNSET for ever
 *
 * The state is the largest event time seen, and that is all: it is what commits with the offset (K7), what a start
 * resumes from (S1), and what an abort goes back to (B12). Between those the claim never goes backwards (W11).
 *
 * Threading: one owner.
 */
#ifndef SF_CORE_TIME_GENERATOR_H
#define SF_CORE_TIME_GENERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/time/event_time.h"

enum sf_generator_kind { SF_GENERATOR_BOUNDED, SF_GENERATOR_MONOTONOUS, SF_GENERATOR_NONE };

struct sf_generator {
    enum sf_generator_kind kind;
    int64_t lag_ms;   /* how far the claim stays behind the largest time, >= 0; NONE: unused */
    int64_t time_max; /* largest event time seen; SF_TIME_UNSET before the first */
};

/* bound_ms >= 0 matters for BOUNDED alone. time_max: as committed, SF_TIME_UNSET if unknown. */
struct sf_generator sf_generator_make(enum sf_generator_kind kind, int64_t bound_ms, int64_t time_max);

/* A record with event time `ts` is dispatched. */
static inline void sf_generator_advance(struct sf_generator *generator, int64_t ts)
{
    if (ts > generator->time_max) generator->time_max = ts;
}

/* The claim once a record of `ts` has gone too (P2); ts SF_TIME_UNSET: the claim now. */
static inline int64_t sf_generator_with(const struct sf_generator *generator, int64_t ts)
{
    if (generator->kind == SF_GENERATOR_NONE) return SF_TIME_UNSET;
    return sf_time_add(sf_time_max(generator->time_max, ts), -generator->lag_ms);
}

static inline int64_t sf_generator_value(const struct sf_generator *generator)
{
    return sf_generator_with(generator, SF_TIME_UNSET);
}

/* P4. */
static inline bool sf_generator_is_previewed(const struct sf_generator *generator)
{
    return generator->kind != SF_GENERATOR_NONE;
}

#endif
