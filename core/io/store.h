/*
 * Store: one local, ordered map from bytes to bytes for a whole engine instance, rebuilt from changelogs when
 * lost, hence never the truth.
 *
 *     rows      <store id, be16> <row key>           written by the persist task alone
 *     meta      <0xFFFF> "pos" <topic> <partition>   the changelog position that the rows describe
 *
 * One map, not one per store or lane: a batch that holds the rows of several epochs *and* their positions is
 * then atomic whatever it touches (B8), and the number of lanes may change between runs.
 *
 * Reading is synchronous: it is the one call in which a step may wait for a disk. Writing is a command with an
 * event. Between a commit and its arrival here, a row lives in the memory of the lane that owns it; a lane drops
 * that copy only when told that the batch has arrived. So what a lane sees does not depend on when a batch is
 * applied, and a recording need not contain reads.
 *
 * Crash contract: after a crash the map is as if some prefix of the batches written had been applied, each
 * wholly or not at all, and at least those written before the last successful `sync`. Applied is not durable.
 *
 * Order is bytewise (memcmp, then the shorter first) and part of the contract.
 *
 * Threading: get and iterators from any task at any time, also while a batch is applied; each iterator by one
 * task. write, sync, poll, checkpoint and close by one owner.
 */
#ifndef SF_CORE_IO_STORE_H
#define SF_CORE_IO_STORE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/io/sched.h"
#include "core/status.h"

#define SF_STORE_KEY_BYTES_MAX 65535u
#define SF_STORE_VALUE_BYTES_MAX (16u * 1024u * 1024u)

struct sf_store_slice {
    const uint8_t *data; /* never NULL unless len is 0 */
    uint32_t len;
};

enum sf_store_op_kind {
    SF_STORE_PUT,
    SF_STORE_DELETE,      /* deleting what is not there is fine */
    SF_STORE_DELETE_RANGE /* key <= row key < value; in batch order like the others */
};

struct sf_store_op {
    enum sf_store_op_kind kind;
    struct sf_store_slice key;
    struct sf_store_slice value; /* PUT: the value; DELETE_RANGE: the end, exclusive */
};

enum sf_store_event_kind { SF_STORE_WRITTEN, SF_STORE_SYNCED, SF_STORE_CHECKPOINTED };

struct sf_store_event {
    enum sf_store_event_kind kind;
    enum sf_status status; /* SF_E_IO, SF_E_CORRUPT: the store takes no more writes; close, set aside, rebuild */
    uint64_t tag;
    const char *text;      /* borrowed until the next poll */
};

struct sf_store_iter_ops {
    /* Move to the first or next row; SF_OK with both set, SF_END, or SF_E_IO/SF_E_CORRUPT. Borrowed until the
     * next call on this iterator. Rows are those of the moment of opening. */
    enum sf_status (*next)(void *self, struct sf_store_slice *key_out, struct sf_store_slice *value_out);
    void (*close)(void *self);
};

struct sf_store_iter {
    const struct sf_store_iter_ops *ops;
    void *self;
};

/* from <= key < until; until.len 0: no upper bound. Borrowed until the iterator is closed. */
struct sf_store_range {
    struct sf_store_slice from;
    struct sf_store_slice until;
    bool is_reverse; /* from the last row down */
};

struct sf_store_ops {
    /* Copy the value into buf. SF_OK: *len_out bytes written. SF_NOT_FOUND. SF_E_FULL: cap is too small,
     * *len_out says how much is needed, nothing written. SF_E_IO, SF_E_CORRUPT. */
    enum sf_status (*get)(void *self, struct sf_store_slice key, uint8_t *buf, uint32_t cap,
                          uint32_t *len_out);
    /* A consistent view as of now, unaffected by later writes. Caller must close it before its step returns. */
    enum sf_status (*iter)(void *self, const struct sf_store_range *range, struct sf_store_iter *iter_out);
    /* Apply all, in order, atomically, after every earlier write. `ops` and its bytes are borrowed until the
     * event. At most 4 writes may be outstanding. */
    void (*write)(void *self, uint64_t tag, const struct sf_store_op *ops, uint32_t count);
    /* Everything written before survives a crash once the event came. */
    void (*sync)(void *self, uint64_t tag);
    /* A readable copy as of all earlier writes under `name`, cheap (links). For recorder key frames and backup. */
    void (*checkpoint)(void *self, uint64_t tag, const char *name);
    uint32_t (*poll)(void *self, struct sf_store_event *events_out, uint32_t cap);
    /* Approximate; for metrics and budgets only: nothing that is committed may depend on it. */
    uint64_t (*bytes)(void *self);
    /* Applies what is outstanding, makes it durable, closes. All iterators must be closed. */
    enum sf_status (*close)(void *self, struct sf_error *error);
};

struct sf_store {
    const struct sf_store_ops *ops;
    void *self;
};

struct sf_store_config {
    const char *name;      /* a directory below the state directory; copied */
    uint64_t cache_bytes;
    struct sf_waker waker; /* for write, sync, checkpoint events */
};

struct sf_store_factory_ops {
    /* SF_OK (also for a new, empty one), SF_E_CORRUPT (set it aside, open again, rebuild: K8), SF_E_EXISTS
     * (another process has it), SF_E_IO. */
    enum sf_status (*open)(void *self, const struct sf_store_config *config, struct sf_store *store_out,
                           struct sf_error *error);
    /* Rename a closed store so that its name says why; it is never opened again. */
    enum sf_status (*set_aside)(void *self, const char *name, const char *reason, struct sf_error *error);
    enum sf_status (*destroy)(void *self, const char *name, struct sf_error *error);
};

struct sf_store_factory {
    const struct sf_store_factory_ops *ops;
    void *self;
};

static inline enum sf_status sf_store_get(struct sf_store store, struct sf_store_slice key, uint8_t *buf,
                                          uint32_t cap, uint32_t *len_out)
{
    assert(key.len <= SF_STORE_KEY_BYTES_MAX && len_out != NULL && (buf != NULL || cap == 0));
    *len_out = 0;
    enum sf_status status = store.ops->get(store.self, key, buf, cap, len_out);
    assert(status != SF_OK || *len_out <= cap);
    return status;
}

static inline void sf_store_write(struct sf_store store, uint64_t tag, const struct sf_store_op *ops,
                                  uint32_t count)
{
    assert(ops != NULL && count > 0);
    store.ops->write(store.self, tag, ops, count);
}

static inline enum sf_status sf_store_iter_open(struct sf_store store, const struct sf_store_range *range,
                                                struct sf_store_iter *iter_out)
{
    assert(range != NULL && iter_out != NULL);
    return store.ops->iter(store.self, range, iter_out);
}

static inline enum sf_status sf_store_iter_next(struct sf_store_iter iter, struct sf_store_slice *key_out,
                                                struct sf_store_slice *value_out)
{
    return iter.ops->next(iter.self, key_out, value_out);
}

static inline void sf_store_iter_close(struct sf_store_iter iter)
{
    iter.ops->close(iter.self);
}

static inline void sf_store_sync(struct sf_store store, uint64_t tag)
{
    store.ops->sync(store.self, tag);
}

static inline void sf_store_checkpoint(struct sf_store store, uint64_t tag, const char *name)
{
    assert(name != NULL);
    store.ops->checkpoint(store.self, tag, name);
}

static inline uint32_t sf_store_poll(struct sf_store store, struct sf_store_event *events_out, uint32_t cap)
{
    assert(events_out != NULL && cap > 0);
    return store.ops->poll(store.self, events_out, cap);
}

static inline uint64_t sf_store_bytes(struct sf_store store)
{
    return store.ops->bytes(store.self);
}

static inline enum sf_status sf_store_close(struct sf_store store, struct sf_error *error)
{
    return store.ops->close(store.self, error);
}

static inline enum sf_status sf_store_open(struct sf_store_factory factory, const struct sf_store_config *config,
                                           struct sf_store *store_out, struct sf_error *error)
{
    assert(config != NULL && store_out != NULL && error != NULL);
    return factory.ops->open(factory.self, config, store_out, error);
}

static inline enum sf_status sf_store_set_aside(struct sf_store_factory factory, const char *name,
                                                const char *reason, struct sf_error *error)
{
    return factory.ops->set_aside(factory.self, name, reason, error);
}

static inline enum sf_status sf_store_destroy(struct sf_store_factory factory, const char *name,
                                              struct sf_error *error)
{
    return factory.ops->destroy(factory.self, name, error);
}

/*
 * Notes for implementers.
 *   simulated  An ordered map with versions: an iterator holds a version. Writes are applied after a drawn delay;
 *              durable up to a drawn point >= the last sync; a crash keeps a drawn prefix of applied batches
 *              beyond it. A fault may make open say SF_E_CORRUPT, a read SF_E_IO, or drop a synced suffix
 *              ("lying disk", only where the scenario says so).
 *   RocksDB    One column family (several tear without the WAL; atomic_flush does not help a one-family flush
 *              in the C API), WAL off, plain write batch on one background thread, ops sorted by the caller;
 *              rocksdb_get_pinned + copy; iterators on a snapshot with both bounds in the read options and
 *              checked by hand; sync = flush. DELETE_RANGE: rocksdb_writebatch_delete_range (not the indexed
 *              batch: a silent no-op there). No fork after open. Debian's library asserts on misuse.
 *   conformance  order of prefixes and of 0x00/0xFF keys; empty value is not absent; range ends; put-delete-put in
 *              one batch; delete-range then put in one batch; an iterator opened before a write does not see
 *              it; second open is SF_E_EXISTS; crash script (exec'd child, kill -9) keeps a prefix; checkpoint
 *              opens; set_aside then open is empty.
 */
#endif
