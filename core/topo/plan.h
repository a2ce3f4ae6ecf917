/*
 * Plan: a checked topology cut into sub-topologies (L1), as the engine runs it.
 *
 * A sub-topology starts at sources, or at a keyed operation that key changes lead to: the cut lies right before that
 * operation, so filters behind a key change thin out what has to hop. Inside it records pass from step to step by a
 * call. Steps of a sub-topology are in topological order, ties by their order in the file. A key change that no keyed
 * operation follows stays in its sub-topology. Every hop goes from a sub-topology to one with a larger index.
 *
 *     orders -> big (filter) -> by-user (key-by) | counts (aggregate) -> sink
 *               sub-topology 0                    |  sub-topology 1
 *
 * `hops` and `delta_ms` are F8's h and δ of a step: both 0 with nothing that closes upstream.
 *
 * Threading: constant once made; any thread reads it.
 */
#ifndef SF_CORE_TOPO_PLAN_H
#define SF_CORE_TOPO_PLAN_H

#include "core/topo/topology.h"

/* A record leaves a step (or enters from a source) along these, in this order. */
enum sf_route_kind {
    SF_ROUTE_STEP, /* a step of the same sub-topology */
    SF_ROUTE_HOP,  /* a step of another sub-topology: over a lane-to-lane edge, by the new key (L3) */
    SF_ROUTE_SINK
};

struct sf_route {
    enum sf_route_kind kind;
    uint32_t target; /* step index, or sink index */
};

struct sf_plan_step {
    uint32_t step; /* index in the topology */
    uint32_t sub;  /* its sub-topology */
    uint32_t rank; /* place in topological order within the sub-topology */
    uint32_t hops; /* F8: h */
    int64_t delta_ms; /* F8: δ */
    const struct sf_route *routes;
    uint32_t route_count;
};

struct sf_plan_sub {
    const uint32_t *steps; /* topology step indexes in topological order */
    uint32_t step_count;
    const uint32_t *sources; /* topology source indexes that feed it directly */
    uint32_t source_count;
    const uint32_t *upstream; /* sub-topologies that feed it by hops, ascending */
    uint32_t upstream_count;
    const uint32_t *downstream;
    uint32_t downstream_count;
};

struct sf_plan_source {
    uint32_t sub; /* the sub-topology its records enter */
    const struct sf_route *routes; /* never HOP */
    uint32_t route_count;
};

struct sf_plan {
    const struct sf_topology *topology; /* borrowed */
    struct sf_plan_sub *subs;           /* upstream before downstream */
    uint32_t sub_count;
    struct sf_plan_step *steps;         /* by topology step index */
    struct sf_plan_source *sources;     /* by topology source index */
    uint32_t hops_max;                  /* deepest h: rings hold 2h + 3 stamps (K1) */
    bool is_event_time;                 /* D7 */
    bool has_headers_out;               /* some record reaches a sink with the headers it came with */
};

/* In the topology's own memory: lives as long as it. The topology must have passed sf_topology_check. */
struct sf_plan *sf_plan_new(struct sf_topology *topology);

#endif
