/*
 * Restore: brings the window stores of a start to the cut: the rows of the local store first, then what the changelogs
 * hold beyond the positions stored with them (K4, K9). No task: its owner steps it until it is done.
 *
 *     log 0: stored position 100, log 40 … 160      local rows as they are, replay 100 … 160
 *     log 1: stored position 100, log 400 … 600     position gone: the store's local rows are wiped, 400 … 600 (K8)
 *     log 2: nothing stored, log 5 … 8, no data     through as soon as the consumer has passed 8
 *     log 3: log 0 … 0                              through at once
 *
 * A log is through when a read-committed reader's position has reached its end, whatever stands last in it: a marker,
 * a removed one, nothing at all. The end is what the owner found once every in-doubt transaction was settled (B11,
 * case 99); a reader that stays below it waits, and the owner says for how long.
 *
 * Nothing expires here, whatever the rows' times (case 109). What is replayed goes to the local writer too, so that
 * rows and positions of the store stay one thing.
 *
 * Threading: one owner, who is also the store's and the writer's until it is done.
 */
#ifndef SF_CORE_RUN_RESTORE_H
#define SF_CORE_RUN_RESTORE_H

#include "core/io/kafka.h"
#include "core/io/store.h"
#include "core/mem.h"
#include "core/state/local_writer.h"

/* One changelog partition. `log_start` and `log_end` (SF_LOG_START, SF_LOG_STABLE_END) as of after the producer session
 * was opened. */
struct sf_restore_log {
    struct sf_tp tp;
    uint32_t store; /* number at the local store and for the sink: the topology's step index */
    bool is_packed; /* format of its records (K5) */
    int64_t log_start;
    int64_t log_end;
};

enum sf_restored_kind {
    SF_RESTORED_RECORD,    /* of a changelog, for sf_window_store_restore */
    SF_RESTORED_LOCAL_ROW, /* of the local store, for sf_window_store_restore_local */
    SF_RESTORED_TRACE      /* of the local store, for sf_window_store_restore_trace */
};

/* Something for the window store of `store`; bytes borrowed until return. */
struct sf_restored {
    enum sf_restored_kind kind;
    uint32_t store;
    uint64_t hash;                   /* of its record key, or any of its key group: says which lane (L2) */
    struct sf_slice key;
    struct sf_slice value;           /* data NULL: gone */
    struct sf_packed_key packed_key; /* a trace's */
    uint32_t entry_count;
};

/* SF_OK, or SF_E_CORRUPT with the reason. */
typedef enum sf_status(sf_restore_fn)(void *ctx, const struct sf_restored *restored, const char **reason_out);

struct sf_restore_config {
    struct sf_alloc alloc;
    struct sf_kafka kafka;
    const char *group;                 /* the application's id */
    struct sf_waker waker;             /* of the owner, for the consumer */
    struct sf_local_writer *writer;    /* NULL: no local store. Its logs are these logs, in this order. */
    struct sf_store store;             /* the writer's; ops NULL: none. Its format has been checked. */
    const struct sf_restore_log *logs; /* copied */
    uint32_t log_count;                /* 0: nothing to do */
    sf_restore_fn *sink;
    void *sink_ctx;
};

enum sf_restore_state { SF_RESTORE_RUNNING, SF_RESTORE_DONE, SF_RESTORE_FAILED };

struct sf_restore;

struct sf_restore *sf_restore_new(const struct sf_restore_config *config);
/* At any time; closes its consumer. */
void sf_restore_destroy(struct sf_restore *restore);

/* One step's work: at most step->budget rows; *used_out of them, 0 where it waits for the consumer or the store. Notes:
 * SF_NOTE_STORE_TRUNCATED per wiped log. FAILED: sf_restore_error says why; it stays so. */
enum sf_restore_state sf_restore_step(struct sf_restore *restore, const struct sf_step *step, uint32_t *used_out);
const struct sf_error *sf_restore_error(const struct sf_restore *restore);
/* It is the local store that failed: set it aside and restore without it (K8). */
bool sf_restore_is_local_damaged(const struct sf_restore *restore);

/* For progress (M3): rows read so far, and logs that are not through. */
uint64_t sf_restore_rows(const struct sf_restore *restore);
uint32_t sf_restore_logs_left(const struct sf_restore *restore);
/* The first log that is not through, with the position reached in it: for the text when waiting takes too long. */
bool sf_restore_holder(const struct sf_restore *restore, struct sf_tp *tp_out, int64_t *position_out,
                       int64_t *end_out);

#endif
