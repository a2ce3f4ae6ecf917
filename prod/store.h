/*
 * Store of the real world: core/io/store.h over RocksDB, one directory per store below a state directory.
 *
 *     state/ counts/                         a store
 *            counts.corrupt-1/               one that was set aside; never opened again
 *            counts-frame-17/                a checkpoint (links to files of `counts`); opens like any store
 *
 * What RocksDB is asked for, and why. One column family and no write-ahead log: a flush then makes a prefix of the
 * batches durable, each wholly, which is the crash contract; with several families it would tear. Writes are plain
 * batches on one background thread per store, in the order given; sync is a flush; reads are on the caller's thread.
 * An iterator is RocksDB's, which sees the moment of its making, with both bounds checked here as well.
 *
 * Memory is a few tens of MiB: two write buffers of 16 MiB and the block cache that was asked for. Rows are read in
 * order, when an instance starts, and not one by one while it runs: so blocks are large, without bloom filters.
 *
 * Second opener: RocksDB's lock file, and its table within a process: SF_E_EXISTS for both. Never fork after
 * an open (its threads are gone in the child); exec is fine.
 *
 * Threading: as in store.h. The waker is called from the background thread.
 */
#ifndef SF_PROD_STORE_H
#define SF_PROD_STORE_H

#include <pthread.h>

#include "core/io/store.h"
#include "core/mem.h"

#define SF_PROD_STORE_PATH_BYTES 1024u
#define SF_PROD_STORE_NAME_BYTES 256u
#define SF_PROD_STORE_COMMANDS_MAX 16u /* given and not yet polled; at most 4 of them writes */

struct sfi_rocks;

/* Caller's memory; must outlive the stores that it opened. */
struct sf_prod_store_dir {
    struct sf_alloc alloc;
    char path[SF_PROD_STORE_PATH_BYTES];
    pthread_mutex_t lock;    /* for `open` */
    struct sfi_rocks *open; /* stores that are open through it */
};

/* Makes the directory if there is none (its parent must be there). SF_E_IO, SF_E_AUTH; SF_E_ARG: too long. */
SF_MUST_USE enum sf_status sf_prod_store_dir_init(struct sf_prod_store_dir *dir, struct sf_alloc alloc,
                                                  const char *path, struct sf_error *error);

/* All stores must be closed. Removes nothing. */
void sf_prod_store_dir_deinit(struct sf_prod_store_dir *dir);

/* Borrows `dir`. */
struct sf_store_factory sf_prod_store_factory(struct sf_prod_store_dir *dir);

#endif
