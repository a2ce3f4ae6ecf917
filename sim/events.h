/*
 * Events of the simulated world: what will happen when, in one total order.
 *
 * The order is (time, tie rank, sequence). The tie rank is a keyed draw of (rank key, time): events with equal rank
 * key keep the order in which they were scheduled, events with different ones fall in an order that the seed decides
 * anew at every instant. In a queue that is `is_fifo` (an exact world) every rank is 0: what is due at one instant
 * happens in the order in which it was scheduled.
 *
 *     schedule(100, key 1, a)  schedule(100, key 1, b)  schedule(100, key 2, c)  schedule(50, key 9, d)
 *     run:  d, then one of  a b c | c a b          (a before b always; "a c b" is not possible)
 *
 * Re-entrancy: an event may schedule and cancel; what it schedules for the present instant runs in the same
 * run_due. A cancelled event never runs. Cost: O(log n) each; no allocation beyond growth by doubling.
 * Threading: one thread.
 */
#ifndef SF_SIM_EVENTS_H
#define SF_SIM_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/mem.h"

#define SF_SIM_EVENT_NONE 0u
#define SF_SIM_EVENTS_MAX (1u << 24) /* scheduled at once; more is a leak of ours */

typedef void(sf_sim_event_fn)(void *ctx);

/* Sorted by (at_us, rank, sequence); `slot` links to the handle. */
struct sf_sim_event_node {
    int64_t at_us;
    uint64_t rank;
    uint64_t sequence;
    uint32_t slot;
};

/* One per scheduled event, by slot. Reused; `generation` tells an old id. */
struct sf_sim_event_slot {
    sf_sim_event_fn *fn;
    void *ctx;
    uint32_t generation;
    uint32_t heap_index; /* position in the heap, or next free slot */
    bool is_live;
};

struct sf_sim_events {
    struct sf_alloc alloc;
    uint64_t seed;
    bool is_fifo;
    uint64_t sequence;
    uint64_t run_count;
    uint32_t count;
    uint32_t cap;
    uint32_t slot_used;
    uint32_t slot_free; /* head of the free list, UINT32_MAX for none */
    struct sf_sim_event_node *heap;
    struct sf_sim_event_slot *slots;
};

void sf_sim_events_init(struct sf_sim_events *events, struct sf_alloc alloc, uint64_t seed, bool is_fifo);
/* Drops what is still scheduled, unrun. */
void sf_sim_events_deinit(struct sf_sim_events *events);

/* `ctx` borrowed until the event ran or was cancelled. Returns an id, never SF_SIM_EVENT_NONE, never reused. */
uint64_t sf_sim_events_schedule(struct sf_sim_events *events, int64_t at_us, uint64_t rank_key, sf_sim_event_fn *fn,
                                void *ctx);
/* False if it ran or was cancelled before, or id is SF_SIM_EVENT_NONE. */
bool sf_sim_events_cancel(struct sf_sim_events *events, uint64_t id);

/* Time of the next event; INT64_MAX if there is none. */
int64_t sf_sim_events_next_us(const struct sf_sim_events *events);
/* Run the first event if its time is <= now_us. */
bool sf_sim_events_run_one(struct sf_sim_events *events, int64_t now_us);
/* Run all whose time is <= now_us, those included that they schedule; how many. */
uint64_t sf_sim_events_run_due(struct sf_sim_events *events, int64_t now_us);

#endif
