/*
 * Flow: the steps of one sub-topology in one lane, and the walk of a record along them. A record enters, passes from
 * step to step by calls, and leaves into outboxes: to sinks, or over a key change to the next sub-topology's lanes.
 *
 *     enter(record) -> filter -> key-by -> hop(lane of new key)
 *     enter(record) -> aggregate: floor? window row, on update -> sink
 *     pass(frontier) -> aggregate: finals of due windows -> sink
 *
 * The flow owns the state of its keys (window stores) and knows epochs only as the lane tells it: rotate, committed,
 * fall back. Errors in records follow the step's policy (M5); with `fail` the walk stops and `failure` says where and
 * why.
 *
 * Threading: one owner, the lane.
 */
#ifndef SF_CORE_RUN_FLOW_H
#define SF_CORE_RUN_FLOW_H

#include "core/ops/expression.h"
#include "core/ops/map.h"
#include "core/run/outbox.h"
#include "core/run/ring.h"
#include "core/run/target.h"
#include "core/state/window_store.h"

/* A record on its way. All bytes are borrowed for the walk. */
struct sf_flow_record {
    struct sf_slice key;
    struct sf_slice value;
    struct sf_slice headers;
    int64_t ts_ms;
    int64_t watermark; /* global, at the dispatch of the record it comes from (F10) */
    uint64_t hash;     /* L2 */
    enum sf_serde value_serde;
    struct sf_tp tp;   /* the polled record it comes from; topic UINT32_MAX: a window's result */
    int64_t offset;
};

/* One step as this lane runs it, by rank. */
struct sf_flow_step {
    const struct sf_step_spec *spec;
    const struct sf_plan_step *plan;
    struct sf_expression *expression;  /* FILTER, KEY_BY */
    struct sf_map *map;                /* MAP_VALUES */
    struct sf_aggregates *aggregates;  /* AGGREGATE */
    struct sf_window_store *store;     /* AGGREGATE */
    int64_t start;                     /* AGGREGATE: of the window that a record was last in */
    char head[SF_RESULT_HEAD_BYTES];   /* what results of the window `head_start` begin with */
    uint32_t head_len;                 /* 0: of none yet */
    uint32_t key_bytes_max;            /* AGGREGATE: a longer key makes a row that its changelog cannot take */
    int64_t head_start;
    int64_t floor;                     /* of the running epoch */
    int64_t emitted;                   /* AGGREGATE, on close: the emit frontier */
    struct sf_stamp emitted_at[SF_EPOCHS_OPEN + 1]; /* its last values with the epoch that raised it, newest last */
    uint32_t emitted_count;
    int64_t expired;                   /* the clock that expiry has run to */
};

struct sf_flow_config {
    const struct sf_plan *plan; /* borrowed */
    const struct sf_targets *targets;
    struct sf_alloc alloc;
    struct sf_kafka kafka; /* names for messages only */
    uint32_t sub;
    uint32_t lane;
    uint32_t lane_count;
    struct sf_edge *to_commit;
    struct sf_edge *to_lanes; /* edges to lanes downstream: [downstream index * lane_count + lane]; NULL: none */
    uint64_t epoch;
    uint32_t generation;
};

struct sf_flow {
    struct sf_flow_config config;
    const struct sf_plan_sub *plan_sub;
    struct sf_flow_step *steps;
    uint32_t step_count;
    struct sf_flow_step **expected; /* by source: the aggregation that its records meet first; NULL: not known before */
    struct sf_outbox commit;
    struct sf_outbox *hops; /* downstream_count * lane_count */
    uint32_t hop_count;
    struct sf_step_counts *counts;  /* of the running epoch, by rank */
    struct sf_step_counts *halves[2];
    struct sf_sink_counts *sink_counts; /* of the running epoch, by sink */
    struct sf_sink_counts *sink_halves[2];
    struct sf_lane_counts frozen;   /* of the epoch that commits */
    uint64_t epoch;
    uint32_t spread;        /* next partition for null keys */
    bool has_failed;
    struct sf_failure failure;
    char *scratch;          /* values on their way to a sink; grows */
    size_t scratch_bytes;

    /* cursors of work that may be cut */
    uint32_t pass_rank;
    int64_t pass_start;     /* window being emitted; SF_TIME_UNSET: look for the next */
    uint32_t pass_row;
    uint64_t pass_results;
    uint32_t seal_rank;
    bool is_seal_begun;
    bool is_sealed;         /* all is encoded; what has spilled is still to go */
};

/* False where an expression does not compile (the loader checks, so only for topologies made by hand). */
bool sf_flow_init(struct sf_flow *flow, const struct sf_flow_config *config, struct sf_error *error);
void sf_flow_deinit(struct sf_flow *flow);

/* One record from source `source` (routes of the plan), or over a hop into step `step`. False: it failed (M5). */
bool sf_flow_enter_source(struct sf_flow *flow, uint32_t source, struct sf_flow_record *record);
bool sf_flow_enter_step(struct sf_flow *flow, uint32_t step, struct sf_flow_record *record);

/* A record that is to enter from `source`: see sf_window_store_expect. */
void sf_flow_expect(struct sf_flow *flow, uint32_t source, int64_t ts_ms, uint64_t hash, bool is_soon);

/* Every outbox has room for the next unit. Sends what waits. */
bool sf_flow_drain(struct sf_flow *flow);
/* Send open blocks. */
void sf_flow_push(struct sf_flow *flow);

/* --- F5: emit what is due up to each operator's clock, in rank order, then expire (K6). Resumable: called with the
 * same ring until it is true. `flush_stamp`: SF_TIME_UNSET, or the final barrier's stamp: then up to that - δ (S4). */
bool sf_flow_pass(struct sf_flow *flow, const struct sf_ring *ring, int64_t flush_stamp, uint32_t budget,
                  uint32_t *used_out);
/* B3: results emitted by the last pass, or due once the newest stamp has rolled through. */
bool sf_flow_has_work(const struct sf_flow *flow, const struct sf_ring *ring);

/* --- epochs */

/* Encode the epoch's changes into the commit outbox; resumable until true. */
bool sf_flow_seal(struct sf_flow *flow, uint32_t budget, uint32_t *used_out);
/* The epoch is sealed and sent; `epoch` runs. Floors follow the ring. Returns the counts of the epoch that ended; they
 * stay until the next rotate. */
const struct sf_lane_counts *sf_flow_rotate(struct sf_flow *flow, uint64_t epoch, const struct sf_ring *ring);
void sf_flow_committed(struct sf_flow *flow, uint64_t epoch);
void sf_flow_fall_back(struct sf_flow *flow, uint64_t cut, uint64_t epoch, uint32_t generation,
                       const struct sf_ring *ring);
uint64_t sf_flow_uncommitted_bytes(const struct sf_flow *flow);

/* --- start (S1): emit frontier of a step, before anything enters. */
void sf_flow_seed(struct sf_flow *flow, uint32_t step, int64_t emitted);
/* Floors from a restored ring. */
void sf_flow_set_floors(struct sf_flow *flow, const struct sf_ring *ring);

#endif
