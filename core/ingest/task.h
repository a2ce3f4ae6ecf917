/*
 * The ingest task from inside: its state, and what its files offer to each other. See ingest.h for what it does.
 *
 *     life.c      made, attached, destroyed
 *     ingest.c    the step and when to wake
 *     control.c   messages: engine, driver, commit, lanes; falling back (B12)
 *     poll.c      consumer events, buffers, lag, pauses; heads are judged
 *     dispatch.c  records to lanes; batches that come back
 *     barrier.c   what makes one due, fixing it, its commit
 *     grow.c      partitions found while running (G4)
 *     leave.c     partitions that are taken, and come back (S8)
 *     view.c      what an operator sees
 *
 * Positions of a partition:
 *
 *     committed <= fixed (by the barrier under way) <= running (next undispatched) <= position (the consumer's)
 *
 * Partitions are numbered in order of (topic bytes, partition): D2's ties are then a comparison of numbers.
 */
#ifndef SF_CORE_INGEST_TASK_H
#define SF_CORE_INGEST_TASK_H

#include "core/hash.h"
#include "core/ingest/buffer.h"
#include "core/ingest/cadence.h"
#include "core/ingest/ingest.h"
#include "core/ingest/judge.h"
#include "core/ingest/wait.h"
#include "core/run/edge.h"
#include "core/time/tracker.h"

#define SFI_MINUTE_US (INT64_C(60) * 1000 * 1000)
#define SFI_SECOND_US (INT64_C(1000) * 1000)
#define SFI_NOTES_PER_UNIT 8u    /* most that one record or event can make us say */
#define SFI_NOTES_KEPT 16u       /* left for what a step says once: watermark, barrier, waits */
#define SFI_RECORD_OVERHEAD 64u  /* bytes of an uncommitted record beside key and value (L5), an estimate */

/* What was last said about a partition, for notes that come at most once a minute (T4, P6). */
enum sfi_warning {
    SFI_WARN_INVALID,
    SFI_WARN_SKIPPED,
    SFI_WARN_VALUE,
    SFI_WARN_SECONDS,
    SFI_WARN_FUTURE, /* and two more: the cases of P6 */
    SFI_WARN_COUNT = SFI_WARN_FUTURE + 3
};

struct sfi_partition {
    /* dispatch */
    const struct sf_record *head; /* judged; NULL: nothing waits */
    int64_t head_ts;              /* its event time */
    int64_t head_time;            /* what the generator will see (T5) */
    struct sf_buffer buffer;
    uint64_t null_key_hash;
    uint32_t number;              /* what lanes know it by: as it came, where ours follow D2's order */
    uint32_t source;
    uint32_t lane_first;          /* of its sub-topology */
    bool is_touched;              /* on the list of those served in this dispatch batch */
    bool is_unplaced;             /* read from where `start: latest` or its discovery put it, which nobody knows until
                                     a cut with it is committed (S8) */
    /* reading */
    struct sf_tp tp;
    uint32_t generation;          /* of the consumer's add or seek */
    int64_t position;             /* the consumer's */
    bool is_paused;
    bool is_leaving;              /* as soon as what it gave has committed */
    bool is_taken;                /* it is not read and counts nowhere */
    bool is_unavailable;
    bool is_lag_known;
    bool is_caught_up;
    bool is_to_note;              /* on the list of those whose idleness or pause has a note to come */
    bool noted_idle;
    bool noted_paused;
    /* the cut */
    int64_t fixed;
    int64_t fixed_time;
    int64_t committed;
    int64_t committed_time;
    /* for people */
    int64_t delivered_wall_ms;
    int64_t warned_us[SFI_WARN_COUNT]; /* 0: never */
};

/* The partitions of one topic, by their numbers. */
struct sfi_topic {
    uint32_t first;
    uint32_t end;
};

/* One edge to a lane that we feed. */
struct sfi_lane {
    struct sf_edge *edge;
    struct sf_block *open;      /* being filled; NULL: none */
    struct sf_held **open_pins; /* of the open block */
    struct sf_held *open_last;  /* the newest of them */
    uint32_t open_pin_count;
    uint32_t refs_max;          /* per block */
    struct sf_held **pins;      /* [data_blocks * refs_max]: batches that each block points into */
    uint32_t *pin_counts;       /* [data_blocks] */
    bool is_open_listed;
};

/* Why dispatch ended. */
enum sfi_stall {
    SFI_STALL_NONE,   /* nothing waits */
    SFI_STALL_BUDGET, /* the step's budget, or its notes, are used up */
    SFI_STALL_WAIT,   /* D5 */
    SFI_STALL_CREDIT, /* a lane is full (L5) */
    SFI_STALL_MEMORY, /* the uncommitted epoch is too large (L5) */
    SFI_STALL_PAUSED, /* by the host (M2), or until a partition has left (S8) */
    SFI_STALL_END     /* finishing or failed: nothing is read or dispatched any more */
};

struct sf_ingest {
    struct sf_ingest_config config;
    struct sf_task *task;
    struct sf_consumer consumer;
    struct sf_waker waker;      /* the task's; read once is_attached */
    _Atomic bool is_attached;
    struct sf_held_pool held;
    struct sf_port **ports;
    uint32_t port_count;
    uint32_t generation;        /* of data edges */
    bool has_started;           /* first step done */
    struct sf_mono_ts stepped_at; /* the last step's now */
    bool is_tracking;           /* event time is tracked (D7) */
    bool is_ordered;            /* D2; false: arrival order (D4) */

    /* partitions */
    struct sfi_partition *partitions;
    uint32_t partition_count;
    struct sfi_topic *topics;   /* by topic number */
    uint32_t topic_count;
    struct sf_judge *judges;    /* by source */
    struct sf_tracker tracker;
    struct sf_heap order;       /* heads by event time, or arrival */
    struct sf_wait wait;
    uint32_t *touched;
    uint32_t touched_count;
    uint32_t *to_note;
    uint32_t to_note_count;
    uint64_t *moved;            /* bit per partition: moved since the last fixing */
    uint64_t arrivals;
    uint32_t batch_records_max; /* of one batch: several fit into one poll (D1) */

    /* lanes: sub_count * lane_count, edge NULL where not fed */
    struct sfi_lane *lanes;
    uint32_t lane_total;
    uint8_t lane_of_group[SF_KEY_GROUPS];
    uint32_t *open_lanes;
    uint32_t open_lane_count;

    /* time */
    struct sf_mono_ts now;      /* of this step */
    struct sf_wall_ts wall;
    int64_t watermark;          /* global, as last emitted */
    int64_t reached;            /* global, as last recomputed: the next emission's, at least */
    struct sf_mono_ts emitted_at;
    bool has_emitted;

    /* dispatch */
    enum sfi_stall stall;       /* how the last dispatch ended */
    struct sf_mono_ts wait_since; /* while stall is WAIT */
    bool is_wait_noted;
    uint32_t holder;            /* whose contribution is the least (M1); SF_HEAP_OUT: nobody's */
    int64_t holder_wall_ms;     /* since then */
    uint64_t long_waits;        /* D5 */
    bool must_poll;             /* poll until nothing is left before idleness is judged (I7) */
    bool is_drained;            /* the last poll found nothing more */
    bool is_dispatch_owed;      /* polling took the whole budget: this step dispatches first */
    uint32_t poll_records;      /* of a poll that budgets have cut, so far (D1) */
    uint32_t poll_units;
    bool is_watched;            /* the observer wants dispatch batches */
    struct sf_ref *seen;        /* for it: the batch in order */
    struct sf_tp *seen_tps;
    uint32_t seen_count;
    uint32_t seen_capacity;

    /* epochs */
    struct sf_ring ring;
    struct sf_cadence cadence;
    uint64_t epoch;             /* running */
    uint64_t committed_epoch;
    uint64_t committing;        /* the barrier under way; 0: none */
    uint64_t records;           /* dispatched or skipped in the running epoch */
    uint64_t bytes;             /* of the running epoch's records */
    uint64_t committing_bytes;
    bool has_work;              /* a lane said so (B3) */
    bool is_memory_full;        /* a lane said so (L5) */
    bool is_due_noted;
    uint32_t fixes_owed;        /* FIX messages to answer */
    struct sf_mono_ts fix_seen;
    struct sf_source_counts *counts;       /* running epoch, by source */
    struct sf_source_counts *counts_fixed; /* of the cut under way */
    struct sf_source_counts *counts_total; /* committed */
    struct sf_cut cut;
    struct sf_cut_offset *cut_offsets;     /* [partition_count] */
    uint32_t *cut_partitions;              /* [partition_count] */
    uint8_t stamp_row[SF_RING_ROW_BYTES_MAX];

    /* life */
    bool is_finishing;
    bool is_final_fixed;
    bool is_final_again;        /* one was aborted: the next keeps the shortest interval from it (B2) */
    bool is_stopped;            /* STOP came, RESET did not yet */
    bool is_stopped_for_good;
    bool is_paused;             /* by the host (M2) */
    uint32_t leaving_count;     /* partitions */
    const struct sf_ingest_growth *growth; /* partitions to take at the next chance; the engine's until GROWN */
    bool has_failed;            /* FAULT was sent: nothing is dispatched or fixed any more */
    struct sf_failure failure;
};

static inline struct sf_topology const *sfi_topology(const struct sf_ingest *ingest)
{
    return ingest->config.topology;
}

static inline int64_t sfi_us(int64_t ms)
{
    return ms > INT64_MAX / 1000 ? INT64_MAX : ms * 1000;
}

static inline bool sfi_has_note_room(const struct sf_step *step)
{
    return sf_notes_has_room(step->notes, SFI_NOTES_PER_UNIT + SFI_NOTES_KEPT);
}

/* Next undispatched, or the consumer's position where nothing waits (B13). */
static inline int64_t sfi_running(const struct sfi_partition *partition)
{
    return partition->head != NULL ? partition->head->offset : partition->position;
}

static inline uint32_t sfi_index(const struct sf_ingest *ingest, const struct sfi_partition *partition)
{
    return (uint32_t)(partition - ingest->partitions);
}

static inline void sfi_set_moved(struct sf_ingest *ingest, uint32_t i)
{
    ingest->moved[i / 64] |= UINT64_C(1) << (i % 64);
}

/* ingest.c: the task's step. */
struct sf_step_result sfi_step(void *self, const struct sf_step *step);

/* life.c */
bool sfi_comes_before(struct sf_kafka kafka, struct sf_tp a, struct sf_tp b);
/* Partition `i` as `from` says; nothing is read yet. */
void sfi_take_partition(struct sf_ingest *ingest, uint32_t i, const struct sf_ingest_partition *from, uint32_t number);
/* Where the partitions of each topic stand. */
void sfi_list_topics(struct sf_ingest *ingest);
/* Read it from its committed position on, and say so. */
void sfi_assign(struct sf_ingest *ingest, struct sfi_partition *partition);

/* ingest.c: it counts from now on (G4). */
void sfi_join(struct sf_ingest *ingest, uint32_t i);

/* grow.c: takes the partitions of ingest->growth. No barrier is under way, no dispatch batch begun. */
void sfi_grow(struct sf_ingest *ingest, const struct sf_step *step);

/* leave.c. `is_taken`: it is to leave, else it is back. */
void sfi_move(struct sf_ingest *ingest, struct sf_tp tp, bool is_taken);
/* Those that leave do so now, if what they gave has committed. */
void sfi_leave(struct sf_ingest *ingest);

/* control.c: messages, at most `budget`; units used. */
uint32_t sfi_control(struct sf_ingest *ingest, const struct sf_step *step, uint32_t budget);
/* Tells the engine, once, and stops (M5, T4, S7); ingest->failure is filled. */
void sfi_fail(struct sf_ingest *ingest, enum sf_status status, struct sf_tp tp, int64_t offset);

/* poll.c */
/* Number of a partition; UINT32_MAX: not ours. */
uint32_t sfi_find_partition(const struct sf_ingest *ingest, struct sf_tp tp);
/* *is_cut_out: the budget ended it before the broker or D1 did, so the next step goes on with it. */
uint32_t sfi_poll(struct sf_ingest *ingest, const struct sf_step *step, uint32_t budget, bool *is_cut_out);
/* Judges what waits until there is a head: skips, warns, or fails. */
void sfi_judge_head(struct sf_ingest *ingest, const struct sf_step *step, struct sfi_partition *partition);
/* Something that D5 depends on has changed. */
void sfi_update_wait(struct sf_ingest *ingest, uint32_t i);
/* Resumes a paused partition that has drained enough (D1). */
void sfi_resume(struct sf_ingest *ingest, uint32_t i);
/* A note on its idleness or pause is to come. */
void sfi_note_later(struct sf_ingest *ingest, uint32_t i);

/* dispatch.c */
uint32_t sfi_dispatch(struct sf_ingest *ingest, const struct sf_step *step, uint32_t budget);
/* What heads are ordered by: event time (D2), or arrival (D4). */
int64_t sfi_order_key(const struct sf_ingest *ingest, const struct sfi_partition *partition);
/* Takes back blocks that lanes are done with, and lets go of their batches. */
void sfi_collect(struct sf_ingest *ingest);
void sfi_lane_init(struct sf_ingest *ingest, struct sfi_lane *lane, struct sf_edge *edge);
void sfi_lane_deinit(struct sf_ingest *ingest, struct sfi_lane *lane);
/* Uncommitted bytes are at their limit (L5). */
bool sfi_is_memory_full(const struct sf_ingest *ingest);

/* barrier.c */
void sfi_barrier(struct sf_ingest *ingest, const struct sf_step *step);
void sfi_committed(struct sf_ingest *ingest, uint64_t epoch);
/* When the next one is due by time alone. */
struct sf_mono_ts sfi_barrier_wake_at(const struct sf_ingest *ingest);
bool sfi_has_content(const struct sf_ingest *ingest);
/* The global watermark as it would be emitted now (G1). */
int64_t sfi_candidate(const struct sf_ingest *ingest);
void sfi_emit(struct sf_ingest *ingest, const struct sf_step *step, enum sf_watermark_why why);

#endif
