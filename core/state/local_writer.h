/*
 * Local writer: gathers committed changelog rows in memory and brings them to the local store in large sorted batches,
 * each with the changelog positions that it stands for (B8, K4).
 *
 *     put, put, delete, put ...  position(log, offset)  cut
 *                                                        |
 *           window by window, key group by key group: sort, last write of a key wins  ->  one write of the store
 *
 * Rows lie together by (store, window start). A delete of a row whose window can never have been in the store is
 * dropped with the row: a window that lives shorter than the time between two batches never touches the disk. What
 * "can never have been" means is kept as one number a store, the largest start that was ever written.
 *
 * A cut takes all that has been put so far. Its caller cuts only where positions are true for everything put: a
 * position may be too low, never too high.
 *
 * What a crash makes the next start replay is bounded in bytes of changelog records: a cut is due when so many have
 * been put since the last, whatever is left of their rows, and behind the batch that makes it so many since the last
 * sync, a sync follows by itself. Bounds in time are the caller's.
 *
 * Memory: rows that were put and batches that are being written count against bytes_max; is_full asks the caller to put
 * no more until a write has come back. At most SF_LOCAL_WRITES_MAX writes are under way.
 *
 * A store that fails takes nothing more: what is put is thrown away, `status` says why, and the store stays as its last
 * good batch left it, which the next start completes from the changelog.
 *
 * Threading: one owner at a time, who is also the store's (write, sync, poll).
 */
#ifndef SF_CORE_STATE_LOCAL_WRITER_H
#define SF_CORE_STATE_LOCAL_WRITER_H

#include "core/io/kafka.h"
#include "core/io/store.h"
#include "core/mem.h"
#include "core/state/packed.h"

#define SF_LOCAL_WRITES_MAX 4u
#define SF_LOCAL_BATCH_BYTES (32u * 1024u * 1024u)
#define SF_LOCAL_REPLAY_BYTES (256u * 1024u * 1024u) /* a second or two of replay */

/* One changelog partition whose position is kept. */
struct sf_local_log {
    const char *topic; /* borrowed for the writer's life */
    int32_t partition;
};

struct sf_local_writer_config {
    struct sf_alloc alloc;
    struct sf_store store; /* open; not closed by the writer */
    uint64_t identity;     /* core/state/local_layout.h */
    bool is_store_empty;   /* the first batch writes the format */
    uint32_t store_count;  /* store numbers are below */
    const struct sf_local_log *logs; /* copied */
    uint32_t log_count;
    uint64_t bytes_max;    /* 0: SF_LOCAL_BATCH_BYTES */
    uint64_t replay_max;   /* 0: SF_LOCAL_REPLAY_BYTES */
};

struct sf_local_writer;

struct sf_local_writer *sf_local_writer_new(const struct sf_local_writer_config *config);
/* Nothing may be under way: after stop, or a store that has failed or was closed. */
void sf_local_writer_destroy(struct sf_local_writer *writer);

/* --- before anything is put */

/* Rows of this window are in the store. */
void sf_local_writer_found(struct sf_local_writer *writer, uint32_t store, int64_t start);
/* The next batch begins with the deletion of all rows of `store` (K8). */
void sf_local_writer_wipe(struct sf_local_writer *writer, uint32_t store);

/* --- gathering */

/* Bytes are copied. value.data NULL: the row goes. A key that is too long for the store ends the writing: the store
 * could not hold what its positions say. */
void sf_local_writer_put(struct sf_local_writer *writer, uint32_t store, int64_t start, uint64_t hash,
                         struct sf_slice record_key, struct sf_slice value);
/* A packed changelog record: its rows and its trace (core/state/local_layout.h); value.data NULL: the trace goes, and
 * with that of an image's part 0 the whole unit. A value is whole; its rows are looked at when a batch is made, and
 * most windows have gone by then. */
void sf_local_writer_put_packed(struct sf_local_writer *writer, uint32_t store, const struct sf_packed_key *key,
                                struct sf_slice value);
/* All of one unit goes. */
void sf_local_writer_clear(struct sf_local_writer *writer, uint32_t store, int64_t start, uint32_t group);
/* One changelog record of either format (K5), as puts, deletes and clears. SF_E_CORRUPT with a reason: not such a
 * record; some of its rows may have been put. */
enum sf_status sf_local_writer_record(struct sf_local_writer *writer, uint32_t store, bool is_packed,
                                      struct sf_slice key, struct sf_slice value, const char **reason_out);
/* The changelog partition has been put up to `offset`, exclusive; SF_OFFSET_UNKNOWN: no position is true any more. */
void sf_local_writer_position(struct sf_local_writer *writer, uint32_t log, int64_t offset);

/* Rows or positions wait for a cut. */
bool sf_local_writer_has_pending(const struct sf_local_writer *writer);
/* A batch's worth of rows waits, or enough to replay. */
bool sf_local_writer_is_due(const struct sf_local_writer *writer);
bool sf_local_writer_is_full(const struct sf_local_writer *writer);

/* --- writing */

/* Make a batch of all that waits. False: one is being made. `tag` is told when it is written. */
bool sf_local_writer_cut(struct sf_local_writer *writer, uint64_t tag);
/* Go on making it and hand it to the store; the units used, one a key group of a window. */
uint32_t sf_local_writer_step(struct sf_local_writer *writer, uint32_t budget);
/* Take the store's events. True: *tag_out has been written (one a call). */
bool sf_local_writer_poll(struct sf_local_writer *writer, uint64_t *tag_out);
/* Ask once for durability of what has been cut. */
void sf_local_writer_sync(struct sf_local_writer *writer);
/* Something has been cut since the last sync was asked for. */
bool sf_local_writer_is_unsynced(const struct sf_local_writer *writer);
/* A batch is being made or a write or sync is under way. */
bool sf_local_writer_is_busy(const struct sf_local_writer *writer);
/* A batch is being made, and sf_local_writer_step can go on with it. */
bool sf_local_writer_is_ready(const struct sf_local_writer *writer);
/* SF_OK, or how the store failed. */
enum sf_status sf_local_writer_status(const struct sf_local_writer *writer);
uint64_t sf_local_writer_bytes(const struct sf_local_writer *writer);

#endif
