/*
 * Local state: the instance's local store as a start opens it, with the writer that fills it: what restore and persist
 * share.
 *
 *     open        ours: as it is.  empty: as it is.  damaged, or of another application or format: set aside under a
 *                 name that says so, and a new one opened (K8)
 *     set_aside   a damage that was found later (restore): the same, by hand
 *     close       what is under way arrives and is made durable; without it, a crash
 *
 *     sf_local_state_open(...) -> restore(writer, store) -> persist(writer) -> sf_local_state_close(...)
 *
 * Stores have the numbers of topology steps; logs are the flat table of tracked changelog partitions of
 * core/run/target.h, whose partition counts must be known.
 *
 * Threading: the engine; the writer goes to restore and then to persist.
 */
#ifndef SF_CORE_RUN_LOCAL_STATE_H
#define SF_CORE_RUN_LOCAL_STATE_H

#include "core/run/restore.h"
#include "core/run/target.h"

struct sf_local_state_config {
    struct sf_alloc alloc;
    struct sf_store_factory stores;
    struct sf_kafka kafka;              /* for topic names */
    struct sf_waker waker;              /* of the persist task, for the store's events */
    const struct sf_topology *topology; /* borrowed until close, as targets */
    const struct sf_targets *targets;
    const char *name;                   /* of the store below the state directory; NULL: "state" */
    uint64_t cache_bytes;
    uint64_t batch_bytes;               /* 0: SF_LOCAL_BATCH_BYTES */
};

struct sf_local_state {
    struct sf_local_state_config config;
    struct sf_store store;
    struct sf_local_writer *writer; /* NULL: not open */
    bool is_set_aside;              /* an earlier store was, at open or later */
};

/* Caller's memory, zeroed. SF_OK, SF_E_EXISTS (another process holds it), SF_E_IO. Nothing is open after a failure. */
enum sf_status sf_local_state_open(struct sf_local_state *local, const struct sf_local_state_config *config,
                                   struct sf_error *error);
/* Closes it, renames it, opens a new one. As open. */
enum sf_status sf_local_state_set_aside(struct sf_local_state *local, const char *reason, struct sf_error *error);
/* Idempotent. The writer must not be used any more. */
enum sf_status sf_local_state_close(struct sf_local_state *local, struct sf_error *error);

/* How many changelog partitions there are, and the list of them for restore: `logs_out` has that many places, in the
 * order of the flat table; starts and ends are 0 and the caller's to fill. */
uint32_t sf_local_state_log_count(const struct sf_targets *targets);
void sf_local_state_logs(const struct sf_targets *targets, bool is_packed, struct sf_restore_log *logs_out);

#endif
