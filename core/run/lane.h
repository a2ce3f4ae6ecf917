/*
 * Lane: the task that owns the keys of one lane of one sub-topology: their records, their state, their closing passes
 * (L1). Judging records by the floor and closing windows by the frontier are one task, since both move at the same
 * points of the protocol.
 *
 * Around a barrier N, in this order, each part resumable:
 *
 *     BARRIER N at the head of every in-edge, COMMITTED(N-1) read
 *       1  flush only: the pass up to W(N) - δ, into epoch N
 *       2  seal: encode the epoch's changes, after its results
 *       3  CROSSED(N); BARRIER N to the lanes downstream
 *       4  the ring takes W(N): floors; epoch N+1
 *       5  the pass up to the frontier, into epoch N+1
 *       6  WORK(N+1) if there is any; next records
 *
 * Threading: a task (core/io/sched.h); new and destroy while it does not run.
 */
#ifndef SF_CORE_RUN_LANE_H
#define SF_CORE_RUN_LANE_H

#include "core/note.h"
#include "core/run/flow.h"
#include "core/run/observer.h"

struct sf_lane_config {
    const struct sf_topology *topology; /* borrowed until destroy, as all pointers here */
    const struct sf_plan *plan;
    const struct sf_targets *targets;
    struct sf_alloc alloc;
    struct sf_kafka kafka;
    const struct sf_observer *observer;
    uint32_t sub;
    uint32_t lane;
    uint32_t lane_count;
    uint64_t epoch;              /* the first to run */
    const struct sf_ring *ring;  /* copied */
    const struct sf_tp *tps;     /* by ingest's partition index: where refs come from */
    struct sf_edge *from_ingest; /* RUN, BARRIER; NULL: fed by lanes only */
    struct sf_edge **from_lanes; /* RECORDS, BARRIER */
    uint32_t from_lane_count;
    struct sf_edge *to_lanes;    /* as in struct sf_flow_config */
    uint32_t to_lane_count;
    struct sf_edge *to_ingest;   /* WORK */
    struct sf_edge *to_commit;   /* OUT, CROSSED */
    struct sf_edge *from_commit; /* COMMITTED */
    struct sf_edge *to_engine;
    struct sf_edge *from_engine;
};

struct sf_lane;

struct sf_lane *sf_lane_new(const struct sf_lane_config *config, struct sf_task *task, struct sf_error *error);
void sf_lane_destroy(struct sf_lane *lane);

/* For the start: the state that restore fills. */
struct sf_flow *sf_lane_flow(struct sf_lane *lane);

#endif
