/*
 * Store: the ordered map that an engine instance keeps on its local disk, keys and values being bytes. State really
 * lives in the changelog topics; what is lost or damaged here is set aside and filled again from them (K8).
 *
 *     [2 bytes: store][key of the layout]         rows: whatever core/state/local_layout.h makes of them
 *     [FF FF] ...                                 what the rows are worth: format, and a position per changelog
 *
 * Example, once around:
 *
 *     sf_store_open(factory, &config, &store, &error)     SF_E_CORRUPT: sf_store_set_aside, open again, restore
 *     sf_store_write(store, 7, ops, 3)                    returns at once
 *     sf_store_poll(store, events, 4)                     -> { SF_STORE_WRITTEN, tag 7, SF_OK }: reads see it now
 *     sf_store_sync(store, 8)                             -> { SF_STORE_SYNCED, tag 8 }: a crash cannot take it back
 *
 * There is a single map for all stores and lanes, because a batch is what stays whole: it carries rows of several
 * epochs together with the positions that they stand for (B8), and the lanes may be cut differently at the next start.
 *
 * Reads answer in the call, and may wait for the disk. Commands (write, sync, checkpoint) are carried out one after
 * the other in the order given, and each is answered by one event, in that order too. A committed row that is not
 * yet written stays with the lane that made it, until that lane is told that its batch is in; so when a batch
 * happens to be applied makes no difference to what a lane reads.
 *
 * Invariants
 *   - Rows are ordered by memcmp; of a key and a longer one that begins with it, the shorter comes first.
 *   - What a crash leaves behind is the first k batches for some k, none of them in part. Every batch from before a
 *     sync that answered SF_OK is among them; one that was only answered WRITTEN need not be.
 *   - An empty value is a value.
 *   - After SF_E_IO or SF_E_CORRUPT for a write or sync, every later command ends with an error too. Other errors
 *     (a checkpoint whose name is taken) leave the store as it was.
 *
 * Threading: get and iterators may be used by several tasks at once, and while commands are carried out; an iterator
 * belongs to the task that opened it. Commands, poll and close belong to one owner.
 *
 * Implemented twice: sim/store.h (a disk that forgets at a crash, by a draw) and prod/store.h (RocksDB).
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
    const uint8_t *data; /* may be NULL where len is 0 */
    uint32_t len;
};

enum sf_store_op_kind {
    SF_STORE_PUT,
    SF_STORE_DELETE,      /* no error where there is no such row */
    SF_STORE_DELETE_RANGE /* rows from `key` on and before `value`, as the operations before it have left them */
};

struct sf_store_op {
    enum sf_store_op_kind kind;
    struct sf_store_slice key;
    struct sf_store_slice value; /* of PUT; of DELETE_RANGE the first key that stays; DELETE: not looked at */
};

enum sf_store_event_kind { SF_STORE_WRITTEN, SF_STORE_SYNCED, SF_STORE_CHECKPOINTED };

struct sf_store_event {
    enum sf_store_event_kind kind;
    enum sf_status status; /* of the command; see the invariants */
    uint64_t tag;
    const char *text;      /* why it failed; stays until the next poll */
};

struct sf_store_iter_ops {
    /* The first call gives the first row, each further one the next: SF_OK. Key and value stay until the iterator is
     * called again. Behind the last row SF_END, as often as asked. SF_E_IO, SF_E_CORRUPT: rows cannot be read. */
    enum sf_status (*next)(void *self, struct sf_store_slice *key_out, struct sf_store_slice *value_out);
    void (*close)(void *self);
};

struct sf_store_iter {
    const struct sf_store_iter_ops *ops;
    void *self;
};

/* The rows from `from` (empty: the first) up to, and without, `until` (empty: to the end). Both are borrowed as long
 * as the iterator is open. */
struct sf_store_range {
    struct sf_store_slice from;
    struct sf_store_slice until;
    bool is_reverse; /* the same rows, last one first */
};

struct sf_store_ops {
    /* SF_OK: the value is in `buf`, its length in `len_out`. SF_E_FULL: `len_out` is more than `cap`, and `buf` is as
     * it was; ask again with that much. SF_NOT_FOUND: no such row. SF_E_IO, SF_E_CORRUPT: the row cannot be read. */
    enum sf_status (*get)(void *self, struct sf_store_slice key, uint8_t *buf, uint32_t cap,
                          uint32_t *len_out);
    /* Rows as they are at this moment, whatever is written while it is open. To be closed within the same step.
     * SF_E_IO: there is nothing to close. */
    enum sf_status (*iter)(void *self, const struct sf_store_range *range, struct sf_store_iter *iter_out);
    /* One batch: its operations take effect in their order, and together. Array and bytes have to stay
     * until WRITTEN. Four batches may be unanswered; a fifth is a bug (asserted). */
    void (*write)(void *self, uint64_t tag, const struct sf_store_op *ops, uint32_t count);
    /* SYNCED with SF_OK: all batches given before are on the disk for good. */
    void (*sync)(void *self, uint64_t tag);
    /* A store called `name` with what has been written so far: opens like any other and does not change when this one
     * does. Files are shared where they can be. SF_E_EXISTS: the name is taken, and this store works on. For
     * backups. */
    void (*checkpoint)(void *self, uint64_t tag, const char *name);
    uint32_t (*poll)(void *self, struct sf_store_event *events_out, uint32_t cap);
    /* About how many bytes it takes on disk and in memory, for metrics: the two worlds count differently. */
    uint64_t (*bytes)(void *self);
    /* Carries out what is unanswered (without events), syncs, and lets go of files and memory, whatever it returns. An
     * error: what was not synced before may be missing at the next open. No iterator may be open. */
    enum sf_status (*close)(void *self, struct sf_error *error);
};

struct sf_store {
    const struct sf_store_ops *ops;
    void *self;
};

struct sf_store_config {
    const char *name;      /* of its directory in the state directory: no path; not kept */
    uint64_t cache_bytes;  /* for blocks that were read; 0: as the implementation likes */
    struct sf_waker waker; /* called when an event has come */
};

struct sf_store_factory_ops {
    /* Makes an empty store where there is none of this name. SF_E_EXISTS: it is open, here or in another process.
     * SF_E_CORRUPT: its files are damaged; set it aside and open again (K8). SF_E_IO, SF_E_ARG. */
    enum sf_status (*open)(void *self, const struct sf_store_config *config, struct sf_store *store_out,
                           struct sf_error *error);
    /* Gives a closed store another name, in which `reason` can be read; nothing opens it under that one. The old
     * name is free then. May be done again and again. SF_NOT_FOUND: there is no such store, which for most callers is
     * as good. SF_E_EXISTS: it is open. */
    enum sf_status (*set_aside)(void *self, const char *name, const char *reason, struct sf_error *error);
    /* Removes a closed store. SF_OK also where there is none; SF_E_EXISTS: it is open. */
    enum sf_status (*destroy)(void *self, const char *name, struct sf_error *error);
};

struct sf_store_factory {
    const struct sf_store_factory_ops *ops;
    void *self;
};

/* Wrappers: core calls a store through these alone. They check what the tables promise, both ways. */

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
    for (uint32_t i = 0; i < count; i++)
        assert(ops[i].key.len <= SF_STORE_KEY_BYTES_MAX && ops[i].value.len <= SF_STORE_VALUE_BYTES_MAX);
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

#endif
