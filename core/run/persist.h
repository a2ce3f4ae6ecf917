/*
 * Persist: the task that brings committed changelog rows to the local store (B8, K4), in batches of many epochs.
 *
 *     commit --OUT(changes, 7) OUT(changes, 7) OUT(positions, 7) COMMITTED(7)--> persist --> local writer --> store
 *
 * Rows of an epoch are held until it has committed, then handed to the local writer (core/state/local_writer.h), which
 * merges them with what waits already. A batch is cut where all rows of all committed epochs have been handed over and
 * their positions with them: when a batch's worth waits, when the oldest has waited for `interval_us`, or at the stop.
 * So the store is never ahead of what is committed, and may lag by several epochs. What has been written is made
 * durable `sync_interval_us` later at the latest, or when it is enough to replay (core/state/local_writer.h): a crash
 * leaves no more than that, and what had not been written, to the changelog (K4).
 *
 * A fall-back to cut c drops what is held above c. Blocks of an earlier generation may still be on their way then: of
 * these, epochs up to c count and later ones do not, whichever order the two edges are read in.
 *
 * Memory: held rows are at most an epoch's (L5); what is committed and not yet written is bounded by the writer, and
 * while that is full nothing is taken from commit, which then waits for credit. A store that fails is told of once
 * (SF_NOTE_STORE_FAILED) and ends nothing: rows are thrown away from then on, and the next start replays.
 *
 * Threading: a task; it owns the writer and the store from its first step to its last.
 */
#ifndef SF_CORE_RUN_PERSIST_H
#define SF_CORE_RUN_PERSIST_H

#include "core/run/message.h"
#include "core/run/target.h"
#include "core/state/local_writer.h"

#define SF_PERSIST_INTERVAL_US 10000000
#define SF_PERSIST_SYNC_INTERVAL_US 60000000

struct sf_persist_config {
    struct sf_alloc alloc;
    const struct sf_targets *targets; /* borrowed until destroy, as all pointers here */
    struct sf_local_writer *writer;   /* its logs: the flat table of tracked partitions (core/run/target.h); its stores:
                                         topology steps; its store was opened with this task's waker */
    bool is_packed;                   /* changelog format (K5) */
    int64_t interval_us;              /* 0: SF_PERSIST_INTERVAL_US */
    int64_t sync_interval_us;         /* 0: SF_PERSIST_SYNC_INTERVAL_US */
    uint64_t committed;               /* epoch that the start resumed from */
    struct sf_edge *from_commit;      /* OUT (changes, positions), COMMITTED */
    struct sf_edge *from_engine;      /* STOP, RESET */
    struct sf_edge *to_engine;        /* STOPPED, RESUMED */
};

struct sf_persist;

struct sf_persist *sf_persist_new(const struct sf_persist_config *config, struct sf_task *task);
void sf_persist_destroy(struct sf_persist *persist);

/* --- while the task does not run: nothing committed waits, nothing is under way */
bool sf_persist_is_at_rest(const struct sf_persist *persist);

#endif
