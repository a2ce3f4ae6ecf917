#include "sim/random.h"
#include "sim/store_parts.h"

#define WRITES_MAX 4u

/* ---------------------------------------------------------------- reading */

static enum sf_status store_get(void *self, struct sf_store_slice key, uint8_t *buf, uint32_t cap, uint32_t *len_out)
{
    const struct sfi_store *store = self;
    if (store->entry == NULL) return SF_NOT_FOUND;
    if ((store->seat->disk->faults & SF_SIM_DISK_READ_IO) != 0) return SF_E_IO;
    const struct sfi_row *row = sfi_map_first_from(&store->entry->map, key);
    if (row == NULL || sfi_slice_compare(sfi_row_key(row), key) != 0) return SF_NOT_FOUND;
    const struct sfi_version *version = sfi_row_as_of(row, UINT64_MAX);
    if (version == NULL) return SF_NOT_FOUND;
    *len_out = version->len;
    if (version->len > cap) return SF_E_FULL;
    if (version->len > 0) memcpy(buf, version->bytes, version->len);
    return SF_OK;
}

static struct sfi_row *first_row(const struct sfi_store_iter *iter)
{
    const struct sfi_map *map = &iter->store->entry->map;
    return iter->range.is_reverse ? sfi_map_last_below(map, iter->range.until)
                                  : sfi_map_first_from(map, iter->range.from);
}

static bool is_in_range(const struct sfi_store_iter *iter, struct sf_store_slice key)
{
    const struct sf_store_range *range = &iter->range;
    if (sfi_slice_compare(key, range->from) < 0) return false;
    return range->until.len == 0 || sfi_slice_compare(key, range->until) < 0;
}

static enum sf_status iter_next(void *self, struct sf_store_slice *key_out, struct sf_store_slice *value_out)
{
    struct sfi_store_iter *iter = self;
    if (iter->store->entry == NULL || iter->is_ended) return SF_END;
    if ((iter->store->seat->disk->faults & SF_SIM_DISK_READ_IO) != 0) return SF_E_IO;
    bool is_reverse = iter->range.is_reverse;
    struct sfi_row *row = NULL;
    if (!iter->is_started)
        row = first_row(iter);
    else
        row = is_reverse ? iter->row->prev : iter->row->next[0];
    for (; row != NULL && is_in_range(iter, sfi_row_key(row)); row = is_reverse ? row->prev : row->next[0]) {
        const struct sfi_version *version = sfi_row_as_of(row, iter->batch);
        if (version == NULL) continue;
        iter->is_started = true;
        iter->row = row;
        *key_out = sfi_row_key(row);
        *value_out = (struct sf_store_slice){.data = version->bytes, .len = version->len};
        return SF_OK;
    }
    iter->is_ended = true;
    return SF_END;
}

static void iter_close(void *self)
{
    struct sfi_store_iter *iter = self;
    struct sfi_store *store = iter->store;
    struct sfi_store_iter **link = &store->iters;
    while (*link != iter) link = &(*link)->next;
    *link = iter->next;
    sf_free(store->seat->disk->world->alloc, iter, sizeof *iter);
    if (store->entry != NULL && store->entry->is_sweep_owed) sfi_entry_sweep(store->entry);
}

static enum sf_status store_iter(void *self, const struct sf_store_range *range, struct sf_store_iter *iter_out)
{
    static const struct sf_store_iter_ops ops = {.next = iter_next, .close = iter_close};
    struct sfi_store *store = self;
    if (store->entry != NULL && (store->seat->disk->faults & SF_SIM_DISK_READ_IO) != 0) return SF_E_IO;
    struct sfi_store_iter *iter = sf_malloc(store->seat->disk->world->alloc, sizeof *iter);
    *iter = (struct sfi_store_iter){.next = store->iters, .store = store, .range = *range};
    if (store->entry != NULL) iter->batch = store->entry->applied;
    store->iters = iter;
    *iter_out = (struct sf_store_iter){.ops = &ops, .self = iter};
    return SF_OK;
}

/* ---------------------------------------------------------------- carrying out */

static void apply(struct sfi_store_entry *entry, const struct sfi_store_command *command)
{
    entry->applied++;
    for (uint32_t i = 0; i < command->count; i++) {
        const struct sf_store_op *op = &command->ops[i];
        entry->undurable_bytes += op->key.len + op->value.len;
        switch (op->kind) {
        case SF_STORE_PUT: sfi_map_put(&entry->map, entry->applied, op->key, op->value); break;
        case SF_STORE_DELETE: sfi_map_delete(&entry->map, entry->applied, op->key); break;
        case SF_STORE_DELETE_RANGE: sfi_map_delete_range(&entry->map, entry->applied, op->key, op->value); break;
        }
    }
    const struct sf_sim_disk *disk = entry->disk;
    uint64_t draw = sf_sim_draw(disk->world->seed, SF_SIM_DOMAIN_STORE_FLUSH, entry->entity, entry->applied);
    bool is_full = entry->applied - entry->durable >= SF_SIM_STORE_UNDURABLE_MAX ||
                   entry->undurable_bytes >= SF_SIM_STORE_UNDURABLE_BYTES;
    if (is_full || sf_sim_chance(draw, disk->config.flush_per_million)) sfi_entry_harden(entry);
}

static void copy_row(void *ctx, struct sf_store_slice key, struct sf_store_slice value)
{
    struct sfi_store_entry *copy = ctx;
    sfi_map_put(&copy->map, copy->applied, key, value);
}

static enum sf_status make_copy(struct sfi_store_entry *entry, const char *name)
{
    if (sfi_disk_find(entry->disk, name) != NULL) return SF_E_EXISTS;
    struct sfi_store_entry *copy = sfi_disk_add(entry->disk, name);
    copy->applied = copy->durable = 1;
    (void)sf_sim_disk_each(entry->disk, entry->name, copy_row, copy);
    return SF_OK;
}

static enum sf_status carry_out(struct sfi_store *store, const struct sfi_store_command *command)
{
    const struct sf_sim_disk *disk = store->seat->disk;
    if ((disk->faults & SF_SIM_DISK_WRITE_IO) != 0) store->is_failed = true;
    if (store->is_failed) return SF_E_IO;
    switch (command->kind) {
    case SF_STORE_WRITTEN: apply(store->entry, command); break;
    case SF_STORE_SYNCED:
        if ((disk->faults & SF_SIM_DISK_LYING) == 0) sfi_entry_harden(store->entry);
        break;
    case SF_STORE_CHECKPOINTED: return make_copy(store->entry, command->name);
    }
    return SF_OK;
}

static void carry_out_first(void *ctx);

static void schedule_first(struct sfi_store *store)
{
    const struct sf_sim_disk_config *config = &store->seat->disk->config;
    const struct sfi_store_command *command = &store->commands[store->command_first];
    struct sfi_store_entry *entry = store->entry;
    struct sf_sim_world *world = store->seat->disk->world;
    uint64_t draw = sf_sim_draw(world->seed, SF_SIM_DOMAIN_STORE_DELAY, entry->entity, entry->command_count);
    bool is_write = command->kind == SF_STORE_WRITTEN;
    int64_t delay_us = is_write ? sf_sim_range(draw, config->write_us_min, config->write_us_max) +
                                      (config->op_ns * (int64_t)command->count + 999) / 1000
                                : sf_sim_range(draw, config->sync_us_min, config->sync_us_max);
    entry->command_count++;
    store->event_id = sf_sim_world_after(world, delay_us, entry->entity, carry_out_first, store);
}

static struct sfi_store_command take_first(struct sfi_store *store)
{
    struct sfi_store_command command = store->commands[store->command_first];
    store->command_first = (store->command_first + 1) % SF_SIM_STORE_COMMANDS_MAX;
    store->command_count--;
    return command;
}

static void carry_out_first(void *ctx)
{
    struct sfi_store *store = ctx;
    assert(store->entry != NULL && store->command_count > 0);
    if (store->seat->instance->is_frozen) {
        store->is_deferred = true;
        return;
    }
    struct sfi_store_command command = take_first(store);
    enum sf_status status = carry_out(store, &command);
    if (command.is_last) {
        sf_sim_instance_kill(store->seat->instance);
        return;
    }
    uint32_t place = (store->event_first + store->event_count) % SF_SIM_STORE_COMMANDS_MAX;
    store->events[place] = (struct sf_store_event){.kind = command.kind,
                                                   .status = status,
                                                   .tag = command.tag,
                                                   .text = status == SF_OK ? "" : sf_status_text(status)};
    store->event_count++;
    if (store->command_count > 0) schedule_first(store);
    sf_waker_wake(store->waker);
}

void sfi_store_thaw(struct sfi_store *store)
{
    if (!store->is_deferred || store->entry == NULL) return;
    store->is_deferred = false;
    store->event_id = sf_sim_world_after(store->seat->disk->world, 0, store->entry->entity, carry_out_first, store);
}

/* Carries out what is outstanding, without events. SF_E_IO if it cannot. */
static enum sf_status finish(struct sfi_store *store)
{
    enum sf_status status = SF_OK;
    (void)sf_sim_world_cancel(store->seat->disk->world, store->event_id);
    while (store->command_count > 0) {
        struct sfi_store_command command = take_first(store);
        enum sf_status one = carry_out(store, &command);
        if (status == SF_OK) status = one;
    }
    struct sfi_store_command sync = {.kind = SF_STORE_SYNCED};
    enum sf_status synced = carry_out(store, &sync);
    return status == SF_OK ? synced : status;
}

/* ---------------------------------------------------------------- commands */

static uint32_t writes_outstanding(const struct sfi_store *store)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < store->command_count; i++)
        count += store->commands[(store->command_first + i) % SF_SIM_STORE_COMMANDS_MAX].kind == SF_STORE_WRITTEN;
    return count;
}

static void give(struct sfi_store *store, struct sfi_store_command command)
{
    bool is_write = command.kind == SF_STORE_WRITTEN;
    enum sf_sim_fate fate =
        sf_sim_command(store->seat->instance, is_write ? SF_SIM_COMMAND_STORE_WRITE : SF_SIM_COMMAND_STORE_OTHER);
    if (fate == SF_SIM_FATE_SWALLOW) return;
    if (fate == SF_SIM_FATE_DIE_SENT) {
        sf_sim_instance_kill(store->seat->instance); /* it was in the memory of the process */
        return;
    }
    command.is_last = fate == SF_SIM_FATE_DIE_APPLIED;
    assert(!is_write || writes_outstanding(store) < WRITES_MAX);
    assert(store->command_count + store->event_count < SF_SIM_STORE_COMMANDS_MAX);
    uint32_t place = (store->command_first + store->command_count) % SF_SIM_STORE_COMMANDS_MAX;
    store->commands[place] = command;
    store->command_count++;
    if (store->command_count == 1) schedule_first(store);
}

static void store_write(void *self, uint64_t tag, const struct sf_store_op *ops, uint32_t count)
{
    give(self, (struct sfi_store_command){.kind = SF_STORE_WRITTEN, .tag = tag, .ops = ops, .count = count});
}

static void store_sync(void *self, uint64_t tag)
{
    give(self, (struct sfi_store_command){.kind = SF_STORE_SYNCED, .tag = tag});
}

static void store_checkpoint(void *self, uint64_t tag, const char *name)
{
    struct sfi_store_command command = {.kind = SF_STORE_CHECKPOINTED, .tag = tag};
    assert(strlen(name) > 0 && strlen(name) < sizeof command.name);
    memcpy(command.name, name, strlen(name) + 1);
    give(self, command);
}

static uint32_t store_poll(void *self, struct sf_store_event *events_out, uint32_t cap)
{
    struct sfi_store *store = self;
    if (store->seat->instance->is_frozen) return 0;
    uint32_t count = store->event_count < cap ? store->event_count : cap;
    for (uint32_t i = 0; i < count; i++) {
        events_out[i] = store->events[store->event_first];
        store->event_first = (store->event_first + 1) % SF_SIM_STORE_COMMANDS_MAX;
    }
    store->event_count -= count;
    return count;
}

static uint64_t store_bytes(void *self)
{
    const struct sfi_store *store = self;
    return store->entry != NULL ? store->entry->map.bytes : 0;
}

void sfi_store_free(struct sfi_store *store)
{
    struct sf_alloc alloc = store->seat->disk->world->alloc;
    while (store->iters != NULL) {
        struct sfi_store_iter *iter = store->iters;
        store->iters = iter->next;
        sf_free(alloc, iter, sizeof *iter);
    }
    struct sfi_store **link = &store->seat->stores;
    while (*link != store) link = &(*link)->next;
    *link = store->next;
    sf_cfree(alloc, store, 1, sizeof *store);
}

static enum sf_status store_close(void *self, struct sf_error *error)
{
    struct sfi_store *store = self;
    assert(store->iters == NULL || store->entry == NULL);
    struct sf_sim_instance *instance = store->seat->instance;
    enum sf_sim_fate fate = sf_sim_command(instance, SF_SIM_COMMAND_STORE_OTHER);
    if (fate == SF_SIM_FATE_DIE_SENT) sf_sim_instance_kill(instance); /* finds it still open */
    enum sf_status status = SF_OK;
    if (store->entry != NULL) {
        status = finish(store);
        store->entry->holder = NULL;
        store->entry->is_crashed = status != SF_OK;
    }
    if (status != SF_OK) {
        static const char text[] = "store: closing failed; what was not synced may be lost";
        error->status = status;
        memcpy(error->text, text, sizeof text);
    }
    sfi_store_free(store);
    if (fate == SF_SIM_FATE_DIE_APPLIED) sf_sim_instance_kill(instance);
    return status;
}

const struct sf_store_ops sfi_store_ops = {.get = store_get,
                                           .iter = store_iter,
                                           .write = store_write,
                                           .sync = store_sync,
                                           .checkpoint = store_checkpoint,
                                           .poll = store_poll,
                                           .bytes = store_bytes,
                                           .close = store_close};
