#include "sim/store.h"

#include "core/hash.h"
#include "sim/random.h"
#include "sim/store_parts.h"

struct sf_sim_disk_config sf_sim_disk_config_exact(void)
{
    return (struct sf_sim_disk_config){.flush_per_million = 0};
}

static int64_t knob(uint64_t seed, uint64_t which, int64_t lo, int64_t hi)
{
    return sf_sim_range(sf_sim_draw(seed, SF_SIM_DOMAIN_STORE_DELAY, UINT64_MAX, which), lo, hi);
}

struct sf_sim_disk_config sf_sim_disk_config_drawn(uint64_t seed)
{
    return (struct sf_sim_disk_config){.write_us_min = 20,
                                       .write_us_max = INT64_C(100) << knob(seed, 0, 0, 10),
                                       .op_ns = knob(seed, 1, 0, 10000),
                                       .sync_us_min = 200,
                                       .sync_us_max = INT64_C(1000) << knob(seed, 2, 0, 8),
                                       .flush_per_million = (uint32_t)knob(seed, 3, 0, 300000)};
}

/* ---------------------------------------------------------------- names and texts */

static void copy_text(char *to, size_t cap, const char *from)
{
    size_t len = strlen(from);
    if (len >= cap) len = cap - 1;
    memcpy(to, from, len);
    to[len] = '\0';
}

static void append_text(char *to, size_t cap, const char *more)
{
    size_t len = strlen(to);
    copy_text(to + len, cap - len, more);
}

static enum sf_status fail(struct sf_error *error, enum sf_status status, const char *name, const char *why)
{
    error->status = status;
    copy_text(error->text, sizeof error->text, "store ");
    append_text(error->text, sizeof error->text, name);
    append_text(error->text, sizeof error->text, ": ");
    append_text(error->text, sizeof error->text, why);
    return status;
}

/* ---------------------------------------------------------------- entries */

struct sfi_store_entry *sfi_disk_find(struct sf_sim_disk *disk, const char *name)
{
    struct sfi_store_entry *entry = disk->entries;
    while (entry != NULL && (entry->is_aside || strcmp(entry->name, name) != 0)) entry = entry->next;
    return entry;
}

struct sfi_store_entry *sfi_disk_add(struct sf_sim_disk *disk, const char *name)
{
    assert(strlen(name) > 0 && strlen(name) < SF_SIM_STORE_NAME_BYTES);
    struct sfi_store_entry *entry = sf_malloc(disk->world->alloc, sizeof *entry);
    *entry = (struct sfi_store_entry){.disk = disk, .entity = sf_hash64(name, strlen(name))};
    copy_text(entry->name, sizeof entry->name, name);
    sfi_map_init(&entry->map, disk->world->alloc);
    struct sfi_store_entry **link = &disk->entries;
    while (*link != NULL) link = &(*link)->next;
    *link = entry;
    return entry;
}

static void remove_entry(struct sf_sim_disk *disk, struct sfi_store_entry *entry)
{
    struct sfi_store_entry **link = &disk->entries;
    while (*link != entry) link = &(*link)->next;
    *link = entry->next;
    sfi_map_deinit(&entry->map);
    sf_free(disk->world->alloc, entry, sizeof *entry);
}

void sfi_entry_sweep(struct sfi_store_entry *entry)
{
    uint64_t horizon = entry->durable;
    if (entry->holder != NULL)
        for (const struct sfi_store_iter *iter = entry->holder->iters; iter != NULL; iter = iter->next)
            if (iter->batch < horizon) horizon = iter->batch;
    sfi_map_sweep(&entry->map, horizon);
    entry->is_sweep_owed = horizon < entry->durable;
}

void sfi_entry_harden(struct sfi_store_entry *entry)
{
    entry->durable = entry->applied;
    entry->undurable_bytes = 0;
    sfi_entry_sweep(entry);
}

/* If its process died: decide what survived. */
static void recover(struct sfi_store_entry *entry)
{
    if (!entry->is_crashed) return;
    assert(entry->holder == NULL && entry->durable <= entry->applied);
    uint64_t draw = sf_sim_draw(entry->disk->world->seed, SF_SIM_DOMAIN_STORE_CRASH, entry->entity, entry->crash_count);
    uint64_t survived = entry->durable + draw % (entry->applied - entry->durable + 1);
    sfi_map_go_back(&entry->map, survived);
    entry->applied = survived;
    entry->is_crashed = false;
    entry->crash_count++;
    sfi_entry_harden(entry);
}

/* ---------------------------------------------------------------- instances */

static void let_go(struct sfi_store *store)
{
    if (store->entry == NULL) return;
    (void)sf_sim_world_cancel(store->seat->disk->world, store->event_id);
    store->entry->holder = NULL;
    store->entry->is_crashed = true;
    store->entry = NULL;
    store->command_count = store->event_count = 0;
}

static void instance_killed(void *ctx, struct sf_sim_instance *instance)
{
    (void)instance;
    struct sfi_store_seat *seat = ctx;
    for (struct sfi_store *store = seat->stores; store != NULL; store = store->next) let_go(store);
}

static void instance_frozen(void *ctx, struct sf_sim_instance *instance, bool is_frozen)
{
    (void)instance;
    struct sfi_store_seat *seat = ctx;
    if (is_frozen) return;
    for (struct sfi_store *store = seat->stores; store != NULL; store = store->next) sfi_store_thaw(store);
}

static void instance_destroyed(void *ctx, struct sf_sim_instance *instance)
{
    (void)instance;
    struct sfi_store_seat *seat = ctx;
    struct sf_sim_disk *disk = seat->disk;
    while (seat->stores != NULL) sfi_store_free(seat->stores);
    struct sfi_store_seat **link = &disk->seats;
    while (*link != seat) link = &(*link)->next;
    *link = seat->next;
    sf_free(disk->world->alloc, seat, sizeof *seat);
}

/* ---------------------------------------------------------------- the factory */

/* False: the process is dead, nothing happens. Opening and renaming are places where a crash can fall. */
static bool may_act(struct sfi_store_seat *seat, bool *dies_after_out)
{
    *dies_after_out = false;
    enum sf_sim_fate fate = sf_sim_command(seat->instance, SF_SIM_COMMAND_STORE_OTHER);
    if (fate == SF_SIM_FATE_SWALLOW) return false;
    if (fate == SF_SIM_FATE_DIE_SENT) {
        sf_sim_instance_kill(seat->instance);
        return false;
    }
    *dies_after_out = fate == SF_SIM_FATE_DIE_APPLIED;
    return true;
}

static enum sf_status disk_open(void *self, const struct sf_store_config *config, struct sf_store *store_out,
                                struct sf_error *error)
{
    struct sfi_store_seat *seat = self;
    struct sf_sim_disk *disk = seat->disk;
    bool dies_after;
    if (!may_act(seat, &dies_after)) return fail(error, SF_E_IO, config->name, "the process is dead");
    struct sfi_store_entry *entry = sfi_disk_find(disk, config->name);
    if (entry == NULL) entry = sfi_disk_add(disk, config->name);
    if (entry->holder != NULL) return fail(error, SF_E_EXISTS, config->name, "another one has it open");
    if (entry->is_corrupt) return fail(error, SF_E_CORRUPT, config->name, "the files are damaged");
    recover(entry);
    struct sfi_store *store = sf_calloc(disk->world->alloc, 1, sizeof *store);
    store->next = seat->stores;
    store->seat = seat;
    store->entry = entry;
    store->waker = config->waker;
    seat->stores = store;
    entry->holder = store;
    *store_out = (struct sf_store){.ops = &sfi_store_ops, .self = store};
    if (dies_after) sf_sim_instance_kill(seat->instance);
    return SF_OK;
}

static enum sf_status find_closed(struct sfi_store_seat *seat, const char *name, struct sfi_store_entry **entry_out,
                                  struct sf_error *error)
{
    *entry_out = sfi_disk_find(seat->disk, name);
    if (*entry_out == NULL) return fail(error, SF_NOT_FOUND, name, "there is none");
    if ((*entry_out)->holder != NULL) return fail(error, SF_E_EXISTS, name, "it is open");
    return SF_OK;
}

static enum sf_status disk_set_aside(void *self, const char *name, const char *reason, struct sf_error *error)
{
    struct sfi_store_seat *seat = self;
    struct sfi_store_entry *entry;
    bool dies_after;
    if (!may_act(seat, &dies_after)) return fail(error, SF_E_IO, name, "the process is dead");
    enum sf_status status = find_closed(seat, name, &entry, error);
    if (status == SF_OK) {
        append_text(entry->name, sizeof entry->name, ".");
        append_text(entry->name, sizeof entry->name, reason);
        entry->is_aside = true;
    }
    if (dies_after) sf_sim_instance_kill(seat->instance);
    return status;
}

static enum sf_status disk_destroy(void *self, const char *name, struct sf_error *error)
{
    struct sfi_store_seat *seat = self;
    struct sfi_store_entry *entry;
    bool dies_after;
    if (!may_act(seat, &dies_after)) return fail(error, SF_E_IO, name, "the process is dead");
    enum sf_status status = find_closed(seat, name, &entry, error);
    if (status == SF_OK) remove_entry(seat->disk, entry);
    if (dies_after) sf_sim_instance_kill(seat->instance);
    return status == SF_NOT_FOUND ? SF_OK : status;
}

struct sf_store_factory sf_sim_disk_factory(struct sf_sim_disk *disk, struct sf_sim_instance *instance)
{
    static const struct sf_store_factory_ops ops = {
        .open = disk_open, .set_aside = disk_set_aside, .destroy = disk_destroy};
    static const struct sf_sim_instance_ops hooks = {
        .killed = instance_killed, .frozen = instance_frozen, .destroyed = instance_destroyed};
    struct sfi_store_seat *seat = disk->seats;
    while (seat != NULL && seat->instance != instance) seat = seat->next;
    if (seat == NULL) {
        seat = sf_malloc(disk->world->alloc, sizeof *seat);
        *seat = (struct sfi_store_seat){.next = disk->seats, .disk = disk, .instance = instance};
        disk->seats = seat;
        sf_sim_instance_hook(instance, &hooks, seat);
    }
    return (struct sf_store_factory){.ops = &ops, .self = seat};
}

/* ---------------------------------------------------------------- the disk */

struct sf_sim_disk *sf_sim_disk_new(struct sf_sim_world *world, const struct sf_sim_disk_config *config)
{
    assert(config->write_us_min >= 0 && config->write_us_min <= config->write_us_max && config->op_ns >= 0);
    assert(config->sync_us_min >= 0 && config->sync_us_min <= config->sync_us_max);
    struct sf_sim_disk *disk = sf_malloc(world->alloc, sizeof *disk);
    *disk = (struct sf_sim_disk){.world = world, .config = *config};
    return disk;
}

void sf_sim_disk_destroy(struct sf_sim_disk *disk)
{
    assert(disk->seats == NULL);
    while (disk->entries != NULL) remove_entry(disk, disk->entries);
    sf_free(disk->world->alloc, disk, sizeof *disk);
}

void sf_sim_disk_set_faults(struct sf_sim_disk *disk, uint32_t faults)
{
    disk->faults = faults;
    for (struct sfi_store_entry *entry = disk->entries; entry != NULL; entry = entry->next)
        entry->is_corrupt = (faults & SF_SIM_DISK_OPEN_CORRUPT) != 0;
}

bool sf_sim_disk_each(struct sf_sim_disk *disk, const char *name,
                      void (*on_row)(void *ctx, struct sf_store_slice key, struct sf_store_slice value), void *ctx)
{
    struct sfi_store_entry *entry = sfi_disk_find(disk, name);
    if (entry == NULL) return false;
    recover(entry);
    struct sfi_row *row = entry->map.first[0];
    for (; row != NULL; row = row->next[0]) {
        const struct sfi_version *version = sfi_row_as_of(row, UINT64_MAX);
        if (version == NULL) continue;
        on_row(ctx, sfi_row_key(row), (struct sf_store_slice){.data = version->bytes, .len = version->len});
    }
    return true;
}
