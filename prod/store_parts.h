/*
 * What the parts of the RocksDB store share: prod/store.c (directories, opening), prod/store_run.c (commands and the
 * background thread), prod/store_read.c. Private to prod; the model is in prod/store.h.
 */
#ifndef SF_PROD_STORE_PARTS_H
#define SF_PROD_STORE_PARTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <rocksdb/c.h>

#include "prod/store.h"

#define SFI_ROCKS_TEXT_BYTES 256u

struct sfi_rocks_command {
    enum sf_store_event_kind kind;
    uint64_t tag;
    const struct sf_store_op *ops; /* the caller's until the event */
    uint32_t count;
    char path[SF_PROD_STORE_PATH_BYTES + SF_PROD_STORE_NAME_BYTES]; /* of a checkpoint */
};

struct sfi_rocks_event {
    struct sf_store_event event;
    char text[SFI_ROCKS_TEXT_BYTES];
};

struct sfi_rocks {
    struct sfi_rocks *next; /* in dir->open */
    struct sf_prod_store_dir *dir;
    char name[SF_PROD_STORE_NAME_BYTES];
    struct sf_alloc alloc;
    struct sf_waker waker;
    rocksdb_t *db;
    rocksdb_options_t *options;
    rocksdb_readoptions_t *read_options;
    rocksdb_writeoptions_t *write_options;
    rocksdb_flushoptions_t *flush_options;
    rocksdb_writebatch_t *batch;  /* the thread's */
    _Atomic uint32_t iter_count;
    pthread_t thread;
    pthread_mutex_t lock; /* for all below */
    pthread_cond_t cond;
    bool is_closing;
    enum sf_status failed; /* what ended the store's writing, or SF_OK */
    uint32_t command_first, command_count;
    struct sfi_rocks_command commands[SF_PROD_STORE_COMMANDS_MAX];
    uint32_t event_first, event_count;
    struct sfi_rocks_event events[SF_PROD_STORE_COMMANDS_MAX];
    char polled_text[SF_PROD_STORE_COMMANDS_MAX][SFI_ROCKS_TEXT_BYTES]; /* the owner's, until its next poll */
};

extern const struct sf_store_ops sfi_rocks_ops;

/* The status for RocksDB's error text; copies it, cut, to text_out and frees it. NULL: SF_OK and "". */
enum sf_status sfi_rocks_error(char *rocks_error, char *text_out, size_t cap);

enum sf_status sfi_rocks_get(void *self, struct sf_store_slice key, uint8_t *buf, uint32_t cap, uint32_t *len_out);
enum sf_status sfi_rocks_iter(void *self, const struct sf_store_range *range, struct sf_store_iter *iter_out);

/* SF_E_IO: no thread. */
enum sf_status sfi_rocks_start(struct sfi_rocks *store);
/* Takes it out of dir->open. */
void sfi_rocks_unlist(struct sfi_rocks *store);
/* Closes the database and frees all that is not NULL; the thread is gone. */
void sfi_rocks_free(struct sfi_rocks *store);

#endif
