/*
 * Order: the steps of a topology sorted so that inputs come first, and where its key changes force a cut (L1).
 *
 * A *level* counts the cuts above a step. A key is *changed* where a record may have left the lane its key belongs
 * to: behind a key-by, until the next cut. A keyed operation with a changed input stands one level below it; any
 * other step stands as low as the lowest of its inputs. An edge that goes down in level is a hop between lanes.
 *
 *     orders(0) -> big(0) -> by-user(0, changed) | counts(1)
 *
 * Private to core/topo. Results depend on the topology alone; ties go by place in the file.
 */
#ifndef SF_CORE_TOPO_ORDER_H
#define SF_CORE_TOPO_ORDER_H

#include "core/topo/topology.h"

struct sfi_order {
    uint32_t steps[SF_TOPOLOGY_STEPS_MAX]; /* step indexes, inputs first */
    uint32_t step_count;                   /* less than the topology's where there is a cycle */
    bool is_placed[SF_TOPOLOGY_STEPS_MAX]; /* by step: not on or behind a cycle */
    uint32_t level[SF_TOPOLOGY_STEPS_MAX];
    bool is_key_changed[SF_TOPOLOGY_STEPS_MAX];
};

/* Fills order; true where every step was placed (no cycle). Inputs must be in range. */
bool sfi_order_find(const struct sf_topology *topology, struct sfi_order *order_out);

/* An operator that emits by F5 and so adds a hop (F8). */
bool sfi_step_is_closing(const struct sf_step_spec *step);
/* D7: a source says something about watermarks, or an operator of V1 needs event time. */
bool sfi_topology_is_event_time(const struct sf_topology *topology);

#endif
