/*
 * Ingest: the task that polls the sources, buffers per partition, orders, tracks time, dispatches to lanes, and fixes
 * barriers. All of it is one task: one step, one `now`, one owner, so that no fresh watermark can meet a stale liveness
 * clock (I4).
 *
 * One step, in this order:
 *     control   messages of engine, commit, lanes (STOP, RESET, FINISH, FIX; COMMITTED; WORK; blocks that came back)
 *     poll      consumer events: batches into buffers, lag, pauses (D1)
 *     dispatch  while there is budget and credit: heads judged (T4, T5), smallest first (D2), D5's waits; runs of refs
 *               to the lanes by key hash; generators advance per dispatch batch, late arrivals counted (G3)
 *     tick      idleness in one pass (I8), previews (P2), watermark (G1, G2a)
 *     barrier   due? (B2, B3, WORK, memory) and COMMITTED(n-1) seen: recompute, stamp, fix offsets, CUT, BARRIER (B4)
 *
 * Cut state. Per partition three positions: running, fixed (by the barrier under way), committed. RESET goes back to
 * committed: every partition is sought, buffers and held heads are thrown away, generators restored (B12).
 *
 * Parts, each with tests of its own: core/time (generators, tracker: heap of contributions, idleness, preview),
 * core/ingest/buffer.h (spans of batches), judge.h (one record's time), wait.h (D5), cadence.h (when a barrier is due).
 *
 * Threading: a task (core/io/sched.h); new, destroy and what is asked of it from outside while it does not run.
 */
#ifndef SF_CORE_INGEST_INGEST_H
#define SF_CORE_INGEST_INGEST_H

#include "core/note.h"
#include "core/run/observer.h"
#include "core/run/ring.h"
#include "core/topo/plan.h"

/* A partition as the engine found it at start (S1, S8). */
struct sf_ingest_partition {
    struct sf_tp tp;
    uint32_t source;
    int64_t offset;      /* where to read from: committed, or where the start policy put it */
    bool is_committed;   /* false: none was committed; an abort still rewinds to `offset` (S8) */
    int64_t time_max;    /* committed partition time (K7), SF_TIME_UNSET if unknown */
};

/* Partitions found while running, of one source, by partition (G4). Numbered on from those before, in this order. */
struct sf_ingest_growth {
    const struct sf_ingest_partition *partitions;
    uint32_t count;
};

struct sf_ingest_config {
    const struct sf_topology *topology; /* borrowed, as all pointers here, until destroy */
    const struct sf_plan *plan;
    struct sf_alloc alloc;
    struct sf_kafka kafka;         /* opens its consumer; names of topics */
    struct sf_sched sched;
    const struct sf_observer *observer; /* NULL: none */
    bool is_barrier_manual;        /* barriers only on FIX and FINISH */

    /* What the start found (S1). */
    const struct sf_ingest_partition *partitions; /* any order; copied */
    uint32_t partition_count;
    const struct sf_ring *ring;    /* as restored: fallen back or flushed (S2); copied */
    uint64_t epoch;                /* c: the newest committed epoch; the first barrier is c + 1 */
    uint64_t incarnation;

    /* Edges. Lanes are flat over all sub-topologies: lane i of sub s is lane_base[s] + i. */
    uint32_t lane_count;           /* lanes per sub-topology */
    struct sf_edge *to_lanes;      /* [sub_count * lane_count]; those of subs without sources stay unused */
    struct sf_edge *from_lanes;    /* [sub_count * lane_count]: WORK */
    struct sf_edge *to_commit;     /* CUT */
    struct sf_edge *from_commit;   /* COMMITTED */
    struct sf_edge *to_engine;     /* STOPPED, RESUMED, FAULT */
    struct sf_edge *from_engine;   /* STOP, RESET, FINISH, FIX; edges of engine and driver: generation 0 both ways */
    struct sf_edge *from_driver;   /* FIX, PAUSE, TAKE, GIVE; NULL: none */
};

struct sf_ingest;

/* Opens the consumer and seeks every partition; fails with what the factory said. The task is filled in (name, step,
 * self, ports, home) and not yet spawned; its edges' wakers are set by whoever spawns. */
struct sf_ingest *sf_ingest_new(const struct sf_ingest_config *config, struct sf_task *task, struct sf_error *error);
/* After spawn has given the task its id: lets the consumer's news wake it. Must be called before its first step. */
void sf_ingest_attach(struct sf_ingest *ingest);
void sf_ingest_destroy(struct sf_ingest *ingest);

/* --- what an operator sees (M1), as of now. Only while the task does not run. */

struct sf_partition_view {
    struct sf_tp tp;
    int64_t watermark;       /* SF_TIME_UNSET: nothing claimed */
    bool is_idle;
    int64_t last_wall_ms;    /* wall clock when it last delivered; SF_TIME_UNSET before */
    int64_t idleness_ms;     /* in force; 0: off */
    bool is_held;            /* a head is held: the next two hold */
    int64_t preview;         /* SF_TIME_UNSET while it does not count yet */
    int64_t held_since_ms;   /* wall clock */
    uint32_t buffered;
    bool is_paused;
    bool is_leaving;         /* as soon as what it gave has committed */
    bool is_taken;           /* it is not read (S8) and counts nowhere */
    int64_t next_offset;     /* next undispatched */
};

enum sf_hold_why { SF_HOLD_NONE, SF_HOLD_UNSET, SF_HOLD_SLOWEST };

struct sf_watermark_view {
    int64_t global;
    uint32_t partition_count;
    uint32_t holder;         /* index of the partition that is the minimum; UINT32_MAX: none counts */
    enum sf_hold_why why;
    int64_t holder_since_ms; /* wall clock; SF_TIME_UNSET without a holder */
    uint32_t previewing_count; /* partitions that count with a preview (M3) */
    uint64_t long_waits;       /* waits of D5 that took more than a minute */
};

void sf_ingest_view(const struct sf_ingest *ingest, struct sf_wall_ts wall, struct sf_watermark_view *view_out);
/* Partition `index` in order of (topic bytes, partition). */
void sf_ingest_partition_view(const struct sf_ingest *ingest, uint32_t index, struct sf_wall_ts wall,
                              struct sf_partition_view *view_out);
/* Totals of committed epochs, by source index (M6). */
const struct sf_source_counts *sf_ingest_counts(const struct sf_ingest *ingest);
/* What the running epoch has on top; a barrier under way is in neither. */
const struct sf_source_counts *sf_ingest_counts_running(const struct sf_ingest *ingest);
/* Everything is dispatched that was polled, every partition is caught up, no barrier is under way or owed (B3). */
bool sf_ingest_is_settled(const struct sf_ingest *ingest);

#endif
