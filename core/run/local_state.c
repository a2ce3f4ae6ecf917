#include "core/run/local_state.h"

#include "core/state/local_layout.h"

uint32_t sf_local_state_log_count(const struct sf_targets *targets)
{
    uint32_t count = 0;
    for (uint32_t i = targets->sink_count; i < targets->count; i++)
        if (targets->items[i].kind == SF_TARGET_CHANGELOG) count += (uint32_t)targets->items[i].partition_count;
    return count;
}

void sf_local_state_logs(const struct sf_targets *targets, bool is_packed, struct sf_restore_log *logs_out)
{
    for (uint32_t i = targets->sink_count; i < targets->count; i++) {
        const struct sf_target *target = &targets->items[i];
        if (target->kind != SF_TARGET_CHANGELOG) continue;
        for (int32_t partition = 0; partition < target->partition_count; partition++)
            logs_out[target->first_position + (uint32_t)partition] =
                (struct sf_restore_log){.tp = {.topic = target->topic, .partition = partition},
                                        .store = target->index,
                                        .is_packed = is_packed};
    }
}

static const char *name_of(const struct sf_local_state *local)
{
    return local->config.name != NULL ? local->config.name : "state";
}

static void make_writer(struct sf_local_state *local, uint64_t identity, bool is_empty)
{
    const struct sf_local_state_config *config = &local->config;
    uint32_t count = sf_local_state_log_count(config->targets);
    struct sf_restore_log *logs = sf_calloc(config->alloc, count, sizeof *logs);
    struct sf_local_log *names = sf_calloc(config->alloc, count, sizeof *names);
    sf_local_state_logs(config->targets, false, logs);
    for (uint32_t i = 0; i < count; i++)
        names[i] = (struct sf_local_log){.topic = sf_kafka_topic_name(config->kafka, logs[i].tp.topic),
                                         .partition = logs[i].tp.partition};
    local->writer = sf_local_writer_new(&(struct sf_local_writer_config){.alloc = config->alloc,
                                                                        .store = local->store,
                                                                        .identity = identity,
                                                                        .is_store_empty = is_empty,
                                                                        .store_count = config->topology->step_count,
                                                                        .logs = names,
                                                                        .log_count = count,
                                                                        .bytes_max = config->batch_bytes});
    sf_cfree(config->alloc, logs, count, sizeof *logs);
    sf_cfree(config->alloc, names, count, sizeof *names);
}

/* SF_E_CORRUPT: damaged or not ours; it is closed again. */
static enum sf_status try_open(struct sf_local_state *local, const char **reason_out, struct sf_error *error)
{
    const struct sf_local_state_config *config = &local->config;
    struct sf_store_config store = {
        .name = name_of(local), .cache_bytes = config->cache_bytes, .waker = config->waker};
    *reason_out = "corrupt";
    enum sf_status status = sf_store_open(config->stores, &store, &local->store, error);
    if (status != SF_OK) return status;
    uint64_t identity = sf_local_identity(config->topology);
    status = sf_local_format_check(local->store, identity);
    if (status == SF_OK || status == SF_NOT_FOUND) {
        make_writer(local, identity, status == SF_NOT_FOUND);
        return SF_OK;
    }
    struct sf_error ignored;
    (void)sf_store_close(local->store, &ignored);
    local->store = (struct sf_store){0};
    if (status == SF_E_EXISTS) *reason_out = "other-format";
    return status == SF_E_EXISTS ? SF_E_CORRUPT : status;
}

/* K8: nothing of a store that cannot be trusted is used, and nothing of it is thrown away. */
static enum sf_status open_anew(struct sf_local_state *local, const char *reason, struct sf_error *error)
{
    local->is_set_aside = true;
    enum sf_status status = sf_store_set_aside(local->config.stores, name_of(local), reason, error);
    return status == SF_OK ? try_open(local, &reason, error) : status;
}

enum sf_status sf_local_state_open(struct sf_local_state *local, const struct sf_local_state_config *config,
                                   struct sf_error *error)
{
    assert(local->writer == NULL && config->stores.ops != NULL);
    *local = (struct sf_local_state){.config = *config};
    const char *reason;
    enum sf_status status = try_open(local, &reason, error);
    return status == SF_E_CORRUPT ? open_anew(local, reason, error) : status;
}

enum sf_status sf_local_state_close(struct sf_local_state *local, struct sf_error *error)
{
    if (local->writer == NULL) return SF_OK;
    enum sf_status status = sf_store_close(local->store, error); /* what it borrowed is free after this */
    sf_local_writer_destroy(local->writer);
    local->writer = NULL;
    local->store = (struct sf_store){0};
    return status;
}

enum sf_status sf_local_state_set_aside(struct sf_local_state *local, const char *reason, struct sf_error *error)
{
    struct sf_error ignored;
    (void)sf_local_state_close(local, &ignored); /* it is damaged: how it closes says nothing new */
    return open_anew(local, reason, error);
}
