/*
 * Observer: what the engine did, told synchronously to whoever checks it. The simulator's oracle is one; in
 * production there is none (every function may be NULL, one branch per batch). It never influences anything.
 *
 *
 *     a barrier, as an observer hears of it:   dispatched … watermark(BARRIER)  fixed(4)  crossed(0, 0, 4)
 *                                              passed(0, 0, 4)  committed(4)
 *
 * Threading: called from inside the step of the task in question, so from any thread that steps tasks; pointers are
 * borrowed until return.
 */
#ifndef SF_CORE_RUN_OBSERVER_H
#define SF_CORE_RUN_OBSERVER_H

#include "core/run/message.h"

enum sf_watermark_why { SF_WATERMARK_POLL, SF_WATERMARK_BARRIER, SF_WATERMARK_SHUTDOWN }; /* G2 */

struct sf_observer {
    void *ctx;
    /* Ingest took up a partition at `offset` with committed partition time `time_max` (G4, S1), or fell back to that
     * (B12), or gave it up (offset -1). */
    void (*assigned)(void *ctx, struct sf_tp tp, int64_t offset, int64_t time_max);
    /* A polled batch entered the partition's buffer. */
    void (*buffered)(void *ctx, const struct sf_batch *batch);
    /* What ingest was told of a partition's lag (D6). */
    void (*lag)(void *ctx, struct sf_tp tp, bool is_known, bool is_caught_up);
    /* One dispatch batch (G3), in order: generators have advanced by it, `watermark` is the one last emitted. */
    void (*dispatched)(void *ctx, uint64_t epoch, const struct sf_ref *refs, const struct sf_tp *tps, uint32_t count,
                       int64_t watermark);
    void (*skipped)(void *ctx, uint64_t epoch, struct sf_tp tp, int64_t offset, enum sf_drop reason);
    /* The global watermark was recomputed and emitted or stamped (G2). */
    void (*watermark)(void *ctx, int64_t value, enum sf_watermark_why why);
    /* A barrier was fixed (B4). */
    void (*fixed)(void *ctx, const struct sf_cut *cut);
    /* Lane `sub`.`lane` took records of `epoch` from ingest, in order. */
    void (*taken)(void *ctx, uint32_t sub, uint32_t lane, uint64_t epoch, const struct sf_ref *refs, uint32_t count);
    void (*crossed)(void *ctx, uint32_t sub, uint32_t lane, uint64_t epoch);
    /* The lane's pass at barrier `epoch` is complete (F5); its results belong to epoch + 1. */
    void (*passed)(void *ctx, uint32_t sub, uint32_t lane, uint64_t epoch, uint64_t result_count);
    /* Commit published the counters of an epoch (M6). */
    void (*committed)(void *ctx, uint64_t epoch);
    void (*fell_back)(void *ctx, uint64_t epoch);
};

#endif
