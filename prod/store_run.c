#include <stdio.h>
#include <string.h>

#include "prod/os.h"
#include "prod/store_parts.h"

#define WRITES_MAX 4u

/* ---------------------------------------------------------------- the background thread */

static enum sf_status apply(struct sfi_rocks *store, const struct sfi_rocks_command *command, char *text, size_t cap)
{
    rocksdb_writebatch_t *batch = store->batch;
    rocksdb_writebatch_clear(batch);
    for (uint32_t i = 0; i < command->count; i++) {
        const struct sf_store_op *op = &command->ops[i];
        const char *key = op->key.data != NULL ? (const char *)op->key.data : "";
        const char *value = op->value.data != NULL ? (const char *)op->value.data : "";
        switch (op->kind) {
        case SF_STORE_PUT: rocksdb_writebatch_put(batch, key, op->key.len, value, op->value.len); break;
        case SF_STORE_DELETE: rocksdb_writebatch_delete(batch, key, op->key.len); break;
        case SF_STORE_DELETE_RANGE:
            rocksdb_writebatch_delete_range(batch, key, op->key.len, value, op->value.len);
            break;
        }
    }
    char *error = NULL;
    rocksdb_write(store->db, store->write_options, batch, &error);
    return sfi_rocks_error(error, text, cap);
}

static enum sf_status flush(struct sfi_rocks *store, char *text, size_t cap)
{
    char *error = NULL;
    rocksdb_flush(store->db, store->flush_options, &error);
    return sfi_rocks_error(error, text, cap);
}

static enum sf_status make_checkpoint(struct sfi_rocks *store, const char *path, char *text, size_t cap)
{
    char *error = NULL;
    rocksdb_checkpoint_t *checkpoint = rocksdb_checkpoint_object_create(store->db, &error);
    if (error == NULL) rocksdb_checkpoint_create(checkpoint, path, 0, &error);
    if (checkpoint != NULL) rocksdb_checkpoint_object_destroy(checkpoint);
    return sfi_rocks_error(error, text, cap);
}

static enum sf_status carry_out(struct sfi_rocks *store, const struct sfi_rocks_command *command, char *text,
                                size_t cap)
{
    switch (command->kind) {
    case SF_STORE_WRITTEN: return apply(store, command, text, cap);
    case SF_STORE_SYNCED: return flush(store, text, cap);
    case SF_STORE_CHECKPOINTED: return make_checkpoint(store, command->path, text, cap);
    }
    return SF_OK;
}

/* Called with the lock held; lets go of it while the disk works. The command stays first until its event is there. */
static void serve_first(struct sfi_rocks *store)
{
    const struct sfi_rocks_command *command = &store->commands[store->command_first];
    struct sfi_rocks_event done = {.event = {.kind = command->kind, .status = store->failed, .tag = command->tag}};
    if (store->failed == SF_OK) {
        sfi_os_check(pthread_mutex_unlock(&store->lock));
        done.event.status = carry_out(store, command, done.text, sizeof done.text);
        sfi_os_check(pthread_mutex_lock(&store->lock));
        if (done.event.status == SF_E_IO || done.event.status == SF_E_CORRUPT) store->failed = done.event.status;
    } else {
        (void)snprintf(done.text, sizeof done.text, "an earlier write failed");
    }
    store->command_first = (store->command_first + 1) % SF_PROD_STORE_COMMANDS_MAX;
    store->command_count--;
    store->events[(store->event_first + store->event_count) % SF_PROD_STORE_COMMANDS_MAX] = done;
    store->event_count++;
    if (store->is_closing) return;
    sfi_os_check(pthread_mutex_unlock(&store->lock));
    sf_waker_wake(store->waker);
    sfi_os_check(pthread_mutex_lock(&store->lock));
}

static void *serve(void *arg)
{
    struct sfi_rocks *store = arg;
    sfi_os_check(pthread_mutex_lock(&store->lock));
    while (store->command_count > 0 || !store->is_closing) {
        if (store->command_count > 0)
            serve_first(store);
        else
            sfi_os_check(pthread_cond_wait(&store->cond, &store->lock));
    }
    sfi_os_check(pthread_mutex_unlock(&store->lock));
    return NULL;
}

enum sf_status sfi_rocks_start(struct sfi_rocks *store)
{
    sfi_os_check(pthread_mutex_init(&store->lock, NULL));
    sfi_os_check(pthread_cond_init(&store->cond, NULL));
    if (pthread_create(&store->thread, NULL, serve, store) == 0) return SF_OK;
    sfi_os_check(pthread_cond_destroy(&store->cond));
    sfi_os_check(pthread_mutex_destroy(&store->lock));
    return SF_E_IO;
}

/* ---------------------------------------------------------------- commands */

static uint32_t writes_outstanding(const struct sfi_rocks *store)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < store->command_count; i++)
        count += store->commands[(store->command_first + i) % SF_PROD_STORE_COMMANDS_MAX].kind == SF_STORE_WRITTEN;
    return count;
}

/* Returns with the lock held: the caller fills the place and calls `given`. */
static struct sfi_rocks_command *give(struct sfi_rocks *store, enum sf_store_event_kind kind, uint64_t tag)
{
    sfi_os_check(pthread_mutex_lock(&store->lock));
    assert(store->command_count + store->event_count < SF_PROD_STORE_COMMANDS_MAX);
    assert(kind != SF_STORE_WRITTEN || writes_outstanding(store) < WRITES_MAX);
    struct sfi_rocks_command *command =
        &store->commands[(store->command_first + store->command_count) % SF_PROD_STORE_COMMANDS_MAX];
    command->kind = kind;
    command->tag = tag;
    command->ops = NULL;
    command->count = 0;
    return command;
}

static void given(struct sfi_rocks *store)
{
    store->command_count++;
    sfi_os_check(pthread_cond_signal(&store->cond));
    sfi_os_check(pthread_mutex_unlock(&store->lock));
}

static void store_write(void *self, uint64_t tag, const struct sf_store_op *ops, uint32_t count)
{
    struct sfi_rocks_command *command = give(self, SF_STORE_WRITTEN, tag);
    command->ops = ops;
    command->count = count;
    given(self);
}

static void store_sync(void *self, uint64_t tag)
{
    (void)give(self, SF_STORE_SYNCED, tag);
    given(self);
}

static void store_checkpoint(void *self, uint64_t tag, const char *name)
{
    struct sfi_rocks *store = self;
    assert(strlen(name) > 0 && strlen(name) < SF_PROD_STORE_NAME_BYTES - 1 && strchr(name, '/') == NULL);
    struct sfi_rocks_command *command = give(store, SF_STORE_CHECKPOINTED, tag);
    (void)snprintf(command->path, sizeof command->path, "%s/%s", store->dir->path, name);
    given(store);
}

static uint32_t store_poll(void *self, struct sf_store_event *events_out, uint32_t cap)
{
    struct sfi_rocks *store = self;
    sfi_os_check(pthread_mutex_lock(&store->lock));
    uint32_t count = store->event_count < cap ? store->event_count : cap;
    for (uint32_t i = 0; i < count; i++) {
        const struct sfi_rocks_event *event = &store->events[store->event_first];
        memcpy(store->polled_text[i], event->text, sizeof event->text);
        events_out[i] = event->event;
        events_out[i].text = store->polled_text[i];
        store->event_first = (store->event_first + 1) % SF_PROD_STORE_COMMANDS_MAX;
    }
    store->event_count -= count;
    sfi_os_check(pthread_mutex_unlock(&store->lock));
    return count;
}

static uint64_t store_bytes(void *self)
{
    struct sfi_rocks *store = self;
    uint64_t files = 0, memory = 0;
    (void)rocksdb_property_int(store->db, "rocksdb.live-sst-files-size", &files);
    (void)rocksdb_property_int(store->db, "rocksdb.cur-size-all-mem-tables", &memory);
    return files + memory;
}

static enum sf_status store_close(void *self, struct sf_error *error)
{
    struct sfi_rocks *store = self;
    assert(atomic_load(&store->iter_count) == 0);
    sfi_os_check(pthread_mutex_lock(&store->lock));
    store->is_closing = true;
    sfi_os_check(pthread_cond_signal(&store->cond));
    sfi_os_check(pthread_mutex_unlock(&store->lock));
    sfi_os_check(pthread_join(store->thread, NULL));
    sfi_os_check(pthread_cond_destroy(&store->cond));
    sfi_os_check(pthread_mutex_destroy(&store->lock));
    char text[SFI_ROCKS_TEXT_BYTES] = "an earlier write failed";
    enum sf_status status = store->failed;
    if (status == SF_OK) status = flush(store, text, sizeof text);
    if (status != SF_OK) {
        error->status = status;
        (void)snprintf(error->text, sizeof error->text, "store: closing: %.200s", text);
    }
    sfi_rocks_unlist(store);
    sfi_rocks_free(store);
    return status;
}

const struct sf_store_ops sfi_rocks_ops = {.get = sfi_rocks_get,
                                           .iter = sfi_rocks_iter,
                                           .write = store_write,
                                           .sync = store_sync,
                                           .checkpoint = store_checkpoint,
                                           .poll = store_poll,
                                           .bytes = store_bytes,
                                           .close = store_close};
