/*
 * Engine: one instance of an application, as a task that brings the others to life and holds them together.
 *
 *     own      be the member that holds the watermark topic's partition (B14); until then: standby
 *     settle   open the producer session: what an earlier holder left is settled by that (B11)
 *     look     newest stamp, then committed offsets, then changelog ends (order is a rule, S1, cases 84, 92, 99)
 *     restore  emit frontiers and stores (K4, K9)
 *     run      lanes and ingest; on trouble: settle, look, fall back (B9, B12)
 *     finish   graceful stop with final flush (S4)
 *
 *            +------------- engine --------------+        control edges, generation 0
 *            |         |              |          |
 *         ingest --> lanes ------> commit --> persist     data edges, the generation of the last fall-back
 *            |          \__ lanes __/  |
 *            +------- CUT ------------>+
 *
 * The host (sfsim's runner, sfprod's main) makes an engine, runs the scheduler, and is told the end through `ended`.
 * It must stop the scheduler before it destroys the engine. An engine is never started again: a restart, in place or
 * not, is a new engine (S1).
 *
 * Threading: sf_engine_new and _destroy before and after the scheduler runs; finish and fix by one host thread.
 */
#ifndef SF_CORE_RUN_ENGINE_H
#define SF_CORE_RUN_ENGINE_H

#include "core/ingest/ingest.h"
#include "core/io/store.h"
#include "core/run/observer.h"
#include "core/topo/plan.h"

enum sf_end {
    SF_END_STOPPED, /* graceful: flushed and committed, or stopped at the last cut while not owner */
    SF_END_FENCED,  /* no longer the owner (B14) */
    SF_END_STUCK,   /* a task did not stop in time (B9) */
    SF_END_FAILED   /* something outside or a policy `fail`: the error says what */
};

/* Where an engine is in its life; for the host to look at between steps (simulator) or through notes. */
enum sf_engine_phase {
    SF_PHASE_CHECKING,
    SF_PHASE_STANDBY,
    SF_PHASE_SETTLING,
    SF_PHASE_RESTORING,
    SF_PHASE_RUNNING,
    SF_PHASE_FALLING_BACK,
    SF_PHASE_FINISHING,
    SF_PHASE_ENDED
};

struct sf_engine_config {
    const struct sf_topology *topology; /* checked; borrowed until destroy, as all pointers here */
    const struct sf_plan *plan;
    struct sf_alloc alloc;
    struct sf_sched sched;
    struct sf_kafka kafka;
    struct sf_store_factory stores;     /* ops NULL: no local store, state comes from the changelogs */
    const struct sf_observer *observer; /* NULL: none */
    bool is_barrier_manual;             /* barriers only by sf_engine_fix and at the end */
    bool is_internal_replicated;        /* internal topics with the broker's default replication, else one replica */
    uint64_t incarnation;               /* a random number of this start (K1) */
    uint32_t lanes;                     /* 1 … 128; topology->settings.lanes resolved */
    uint32_t home_count;                /* workers to spread tasks over; 1 is fine */
    /* Told once, from inside the engine's last step. */
    void (*ended)(void *ctx, enum sf_end end, const struct sf_error *error);
    void *ended_ctx;
};

struct sf_engine;

/* Spawns its task. What the world refuses (a bad client setting, no broker) ends the engine, through `ended`. */
struct sf_engine *sf_engine_new(const struct sf_engine_config *config);
/* The scheduler must not run any of its tasks any more. Frees all; leaves the world's clients closed. */
void sf_engine_destroy(struct sf_engine *engine);

/* Ask for a graceful stop (S4). Idempotent. */
void sf_engine_finish(struct sf_engine *engine);
/* Ask for one barrier (manual barriers only). At most 2,000 may be asked for that ingest has had no step to see. */
void sf_engine_fix(struct sf_engine *engine);
/* Nothing more is dispatched until it is told otherwise (M2). What has been is committed; sources are listened to until
 * their buffers are full (D1), and the clocks of those with records waiting stand still (I7). A stop ends it, too. */
void sf_engine_pause(struct sf_engine *engine, bool is_paused);
/* A partition, by the engine's number of its topic, is taken in order: the running epoch commits first, then what is
 * buffered of it is thrown away and it leaves the minimum (S8, G4). No-op for what is not read. Others share nothing
 * of it; a new engine reads it again. */
void sf_engine_take(struct sf_engine *engine, struct sf_tp tp);
/* It is back, and read from its committed position on. No-op for what is read. */
void sf_engine_give(struct sf_engine *engine, struct sf_tp tp);

/* --- for a host that knows no task is running (the simulator between steps) */

enum sf_engine_phase sf_engine_phase(const struct sf_engine *engine);
/* NULL before RUNNING. */
const struct sf_ingest *sf_engine_ingest(const struct sf_engine *engine);
uint64_t sf_engine_epoch(const struct sf_engine *engine); /* newest committed */
/* Totals of committed epochs by topology step (M6). */
const struct sf_step_counts *sf_engine_step_counts(const struct sf_engine *engine);
/* The same by sink. */
const struct sf_sink_counts *sf_engine_sink_counts(const struct sf_engine *engine);
/* transactions.lost.total (B14). */
uint64_t sf_engine_transactions_lost(const struct sf_engine *engine);
/* Nothing that the host has said is still on its way. */
bool sf_engine_has_heard(const struct sf_engine *engine);
/* Nothing is under way or owed: RUNNING, settled ingest, no open transaction. */
bool sf_engine_is_settled(const struct sf_engine *engine);

#endif
