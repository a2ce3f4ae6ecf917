/*
 * Random draws, keyed: a draw is a function of (seed, domain, entity, ordinal) and of nothing else, so removing one
 * fault or adding one log line moves no other decision, and a plan can be shrunk.
 *
 *     delay = sf_sim_range(sf_sim_draw(seed, SF_SIM_DOMAIN_KAFKA_SEND, client_id, request_number), 500, 2000);
 *
 * Integers only. Stateless; any thread.
 */
#ifndef SF_SIM_RANDOM_H
#define SF_SIM_RANDOM_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* What is being decided. A number is for ever: plans and seeds of old runs depend on it. Add at the end. */
enum sf_sim_domain {
    SF_SIM_DOMAIN_TIE_RANK = 1,      /* order of what falls on one instant */
    SF_SIM_DOMAIN_MONO_START = 2,
    SF_SIM_DOMAIN_KAFKA_SEND = 3,    /* entity: client and channel; ordinal: request */
    SF_SIM_DOMAIN_KAFKA_ANSWER = 4,
    SF_SIM_DOMAIN_KAFKA_FETCH = 5,   /* delay of a fetch answer */
    SF_SIM_DOMAIN_KAFKA_CUT = 6,     /* records in a fetch answer */
    SF_SIM_DOMAIN_KAFKA_MARKER = 7,  /* delay of a transaction marker */
    SF_SIM_DOMAIN_KAFKA_HEARTBEAT = 8,
    SF_SIM_DOMAIN_SCHED = 16,        /* 16 … 31: scheduler */
    SF_SIM_DOMAIN_STORE = 32,        /* 32 … 47: local store */
    SF_SIM_DOMAIN_FAULT = 48,        /* 48 … 63: fault plans */
    SF_SIM_DOMAIN_WORKLOAD = 64      /* 64 … 79: input */
};

/* One finalising round (splitmix64's). */
static inline uint64_t sf_sim_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* What all draws of one entity have in common; whoever draws often keeps it: sf_sim_draw(seed, domain, entity, n) is
 * sf_sim_draw_nth(sf_sim_draws(seed, domain, entity), n). */
static inline uint64_t sf_sim_draws(uint64_t seed, uint32_t domain, uint64_t entity)
{
    uint64_t hash = sf_sim_mix(seed + UINT64_C(0x9e3779b97f4a7c15));
    hash = sf_sim_mix(hash ^ (domain + UINT64_C(0x2545f4914f6cdd1d)));
    return sf_sim_mix(hash + entity * UINT64_C(0x9e3779b97f4a7c15) + 1);
}

static inline uint64_t sf_sim_draw_nth(uint64_t draws, uint64_t ordinal)
{
    return sf_sim_mix(draws + ordinal * UINT64_C(0xd1342543de82ef95) + 1);
}

static inline uint64_t sf_sim_draw(uint64_t seed, uint32_t domain, uint64_t entity, uint64_t ordinal)
{
    return sf_sim_draw_nth(sf_sim_draws(seed, domain, entity), ordinal);
}

/* A number of lo … hi, both included, from one draw. The bias is below 2^-30 for ranges below 2^34. */
static inline int64_t sf_sim_range(uint64_t draw, int64_t lo, int64_t hi)
{
    assert(lo <= hi);
    uint64_t span = (uint64_t)hi - (uint64_t)lo + 1;
    return span == 0 ? (int64_t)draw : (int64_t)((uint64_t)lo + draw % span);
}

/* True with probability per_million / 10^6. */
static inline bool sf_sim_chance(uint64_t draw, uint32_t per_million)
{
    return draw % 1000000u < per_million;
}

#endif
