/*
 * Tracker: the global watermark and what it is made of: generators, idleness and previews of all source partitions.
 *
 *     partition        claim    counts with
 *     0  active          100    100
 *     1  idle             40    -            left out (I3)
 *     2  head 160 held    90    150          preview: what it will claim once its head is gone (P2), bound 10
 *     3  never received    -    UNSET        counts from its assignment, so nothing moves (G4, G1)
 *
 * What counts stands in a heap, so telling the tracker of k of n partitions costs O(k log n), and the minimum is at
 * hand (G5).
 *
 * Two clocks for silence. A partition whose buffer is empty is silent on the monotonic clock. One with records that
 * wait is silent on *running time*, which stands still while nothing can be dispatched (I6, I7): records that wait
 * because of the engine do not make a partition idle. Each clock has its heap of deadlines, and both are judged in
 * one pass with one reading (I8). `idle` is strict: silence > timeout.
 *
 * Protocol with the owner, within one step: run (time that passed), then reach and lag as news comes in, serve for
 * each partition of the dispatch batch, hold once, then judge; after judge the minimum is what G1 asks for.
 *
 * Threading: one owner (the ingest task), one `now` per step, so no fresh watermark meets a stale liveness clock (I4).
 */
#ifndef SF_CORE_TIME_TRACKER_H
#define SF_CORE_TIME_TRACKER_H

#include "core/io/clock.h"
#include "core/time/generator.h"
#include "core/time/heap.h"

struct sf_tracker_part {
    struct sf_generator generator; /* the owner advances it as it dispatches, then tells by serve */
    int64_t timeout_us;            /* idleness in force; 0: off (I2) */
    int64_t live_us;               /* last sign of life, on the clock that `is_waiting` says */
    int64_t head_time;             /* what the generator will see of the head; while is_waiting */
    struct sf_mono_ts held_since;  /* while is_held (P1) */
    int64_t held_wall_ms;
    bool is_assigned;
    bool is_waiting;   /* has a head */
    bool is_lag_known_above_zero;
    bool is_idle;
    bool is_held;
    bool is_previewing;
    bool is_fresh;     /* its head is on the list of those that nothing was served before yet */
    bool is_changed;   /* on the list of those whose is_idle changed */
};

struct sf_tracker {
    struct sf_tracker_part *parts;
    uint32_t count;
    int64_t preview_delay_us;
    int64_t running_us;         /* running time */
    struct sf_mono_ts ran_to;   /* when `running_us` was last brought forward */
    struct sf_heap counting;    /* by what they count with: assigned and not idle */
    struct sf_heap empty_due;   /* by live + timeout, monotonic */
    struct sf_heap waiting_due; /* by live + timeout, running time */
    struct sf_heap preview_due; /* held, not yet counting with their preview: by held_since + delay */
    uint32_t previewing_count;  /* watermark.preview.partitions (M3) */
    uint32_t *fresh;
    uint32_t fresh_count;
    uint32_t *changed; /* partitions whose is_idle changed since the owner cleared the list */
    uint32_t changed_count;
    struct sf_alloc alloc;
};

/* No partition is assigned yet. */
void sf_tracker_init(struct sf_tracker *tracker, struct sf_alloc alloc, uint32_t count, int64_t preview_delay_us);
void sf_tracker_deinit(struct sf_tracker *tracker);

/* Partition `i` counts from now on, with what its generator claims (G4); its silence begins now (I1). */
void sf_tracker_join(struct sf_tracker *tracker, uint32_t i, struct sf_generator generator, int64_t timeout_us,
                     struct sf_mono_ts now);
/* Room for `count` partitions; the one that was `i` is map[i], in the same order. The new ones are not assigned. */
void sf_tracker_grow(struct sf_tracker *tracker, uint32_t count, const uint32_t *map);
/* It leaves the minimum at once (G4). */
void sf_tracker_leave(struct sf_tracker *tracker, uint32_t i);
/* Back to the cut (B12): generator, no head. `is_anew`: it has records to read again, its silence begins now. */
void sf_tracker_rewind(struct sf_tracker *tracker, uint32_t i, int64_t time_max, bool is_anew, struct sf_mono_ts now);

/* Time has come to `now`; `is_running`: since the last call something could be dispatched (I7). */
void sf_tracker_run(struct sf_tracker *tracker, struct sf_mono_ts now, bool is_running);
/* A record reached the empty buffer of `i` (I1); head_time: what the generator will see of it. */
void sf_tracker_reach(struct sf_tracker *tracker, uint32_t i, int64_t head_time, struct sf_mono_ts now);
/* Records of `i` were dispatched, its generator has advanced. head_time: of the new head, if it has one. */
void sf_tracker_serve(struct sf_tracker *tracker, uint32_t i, bool has_head, int64_t head_time,
                      struct sf_mono_ts now);
/* After the serves of a dispatch batch, `last` being the partition whose record went last: all other heads have had
 * a record served before them, so they are held from now on (P1). */
void sf_tracker_hold(struct sf_tracker *tracker, uint32_t last, struct sf_mono_ts now, struct sf_wall_ts wall);
/* What is known of the lag of `i`: an empty partition with lag known to be above zero is not idle (I7). */
void sf_tracker_lag(struct sf_tracker *tracker, uint32_t i, bool is_known_above_zero);

/* Idleness and previews as of `now`, in one pass (I8). */
void sf_tracker_judge(struct sf_tracker *tracker, struct sf_mono_ts now);

/* The partition that is the minimum, SF_HEAP_OUT if none counts. */
uint32_t sf_tracker_holder(const struct sf_tracker *tracker);
/* What partition `i` counts with while it is not idle. */
int64_t sf_tracker_contribution(const struct sf_tracker *tracker, uint32_t i);
/* G1: the global watermark after `previous`. */
int64_t sf_tracker_candidate(const struct sf_tracker *tracker, int64_t previous);
/* Does a partition other than `i` count with less than `value`? (P6) */
bool sf_tracker_is_other_below(const struct sf_tracker *tracker, uint32_t i, int64_t value);
/* When judge may change something by time alone, running time aside. */
struct sf_mono_ts sf_tracker_wake_at(const struct sf_tracker *tracker);

#endif
