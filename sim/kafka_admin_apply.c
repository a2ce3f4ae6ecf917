/* Admin commands at the broker, and their memory. */
#include "sim/kafka_admin.h"

#include "sim/kafka_group.h"

/* ---------------------------------------------------------------- memory of a command */

struct sf_slice sfi_slice_copy(struct sf_alloc alloc, struct sf_slice slice)
{
    if (slice.data == NULL) return slice;
    uint8_t *data = sf_malloc(alloc, slice.len + 1u);
    if (slice.len > 0) memcpy(data, slice.data, slice.len);
    return (struct sf_slice){.data = data, .len = slice.len};
}

static void slice_free(struct sf_alloc alloc, struct sf_slice slice)
{
    sf_free(alloc, (void *)(uintptr_t)slice.data, slice.len + 1u);
}

static void metadata_clear(struct sfi_admin_op *op)
{
    struct sf_alloc alloc = op->admin->client.broker->alloc;
    for (uint32_t i = 0; op->metadata != NULL && i < op->count; i++) slice_free(alloc, op->metadata[i]);
    if (op->metadata != NULL) memset(op->metadata, 0, op->count * sizeof *op->metadata);
}

static void settings_free(struct sf_alloc alloc, struct sf_topic_setting *settings, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sfi_strfree(alloc, (char *)(uintptr_t)settings[i].name);
        sfi_strfree(alloc, (char *)(uintptr_t)settings[i].value);
    }
    sf_free(alloc, settings, count * sizeof *settings);
}

struct sf_topic_setting *sfi_settings_dup(struct sf_alloc alloc, const struct sf_topic_setting *settings,
                                          uint32_t count)
{
    if (count == 0) return NULL;
    struct sf_topic_setting *copy = sf_malloc(alloc, count * sizeof *copy);
    for (uint32_t i = 0; i < count; i++)
        copy[i] = (struct sf_topic_setting){.name = sfi_strdup(alloc, settings[i].name),
                                            .value = sfi_strdup(alloc, settings[i].value)};
    return copy;
}

void sfi_admin_op_free(struct sfi_admin_op *op)
{
    struct sf_alloc alloc = op->admin->client.broker->alloc;
    bool has_settings = op->kind == SFI_ADMIN_CREATE || op->kind == SFI_ADMIN_DESCRIBE;
    if (has_settings && op->settings != NULL) settings_free(alloc, op->settings, op->count);
    metadata_clear(op);
    sf_free(alloc, op->tps, op->count * sizeof *op->tps);
    sf_free(alloc, op->broker_tps, op->count * sizeof *op->broker_tps);
    sf_free(alloc, op->answers, op->count * sizeof *op->answers);
    sf_free(alloc, op->offsets, op->count * sizeof *op->offsets);
    sf_free(alloc, op->metadata, op->count * sizeof *op->metadata);
    sfi_strfree(alloc, op->name);
    sf_free(alloc, op, sizeof *op);
}

/* ---------------------------------------------------------------- at the broker */

static enum sf_status apply_describe(struct sfi_admin_op *op)
{
    struct sf_sim_kafka *broker = op->admin->client.broker;
    const struct sfi_topic *topic = &broker->topics[op->topic];
    op->partition_count = topic->partition_count;
    if (topic->partition_count == 0) return SF_E_UNKNOWN_TOPIC;
    op->settings = sfi_settings_dup(broker->alloc, topic->settings, topic->setting_count);
    op->count = topic->setting_count;
    return SF_OK;
}

/* False: some offset is pending in a transaction (case 84). */
static bool apply_committed(struct sfi_admin_op *op)
{
    struct sf_sim_kafka *broker = op->admin->client.broker;
    const struct sfi_group *group = sfi_group_get(broker, op->name);
    for (uint32_t i = 0; i < op->count; i++)
        if (sfi_offsets_find(&group->pending, op->broker_tps[i]) != NULL) return false;
    for (uint32_t i = 0; i < op->count; i++) {
        const struct sfi_offset *found = sfi_offsets_find(&group->committed, op->broker_tps[i]);
        struct sf_offset_answer *answer = &op->answers[i];
        *answer = (struct sf_offset_answer){.tp = op->tps[i], .status = found != NULL ? SF_OK : SF_NOT_FOUND,
                                            .offset = found != NULL ? found->offset : SF_OFFSET_UNKNOWN};
        if (found == NULL || found->metadata == NULL) continue;
        op->metadata[i] = sfi_slice_copy(broker->alloc, (struct sf_slice){found->metadata, found->metadata_len});
        answer->metadata = op->metadata[i];
    }
    return true;
}

/* False: a partition has no leader. */
static bool apply_ends(struct sfi_admin_op *op)
{
    struct sf_sim_kafka *broker = op->admin->client.broker;
    for (uint32_t i = 0; i < op->count; i++) {
        const struct sfi_log *log = sfi_broker_log(broker, op->broker_tps[i]);
        if (log != NULL && log->mode == SF_SIM_KAFKA_MODE_NO_LEADER) return false;
        op->answers[i] = (struct sf_offset_answer){.tp = op->tps[i], .offset = SF_OFFSET_UNKNOWN};
        if (log == NULL)
            op->answers[i].status = SF_E_UNKNOWN_TOPIC;
        else
            op->answers[i].offset = sf_sim_kafka_log_end(broker, op->broker_tps[i], op->which);
    }
    return true;
}

static enum sf_status apply_commit(struct sfi_admin_op *op)
{
    struct sfi_group *group = sfi_group_get(op->admin->client.broker, op->name);
    bool is_accepted = op->token.id != 0 ? sfi_group_accepts(group, op->token) : group->members == NULL;
    if (!is_accepted) return SF_E_TXN;
    for (uint32_t i = 0; i < op->count; i++)
        sfi_offsets_commit(group, &(struct sf_offset_commit){.tp = op->broker_tps[i], .offset = op->offsets[i],
                                                             .metadata = op->metadata[i]});
    return SF_OK;
}

/* False: not now. */
static bool apply_truncate(struct sfi_admin_op *op)
{
    struct sfi_log *log = sfi_broker_log(op->admin->client.broker, op->broker_tps[0]);
    if (log != NULL && log->mode == SF_SIM_KAFKA_MODE_NO_LEADER) return false;
    op->event.status = log == NULL ? SF_E_UNKNOWN_TOPIC : op->before > log->end ? SF_E_RANGE : SF_OK;
    if (op->event.status == SF_OK) sfi_log_truncate(log, op->before);
    return true;
}

bool sfi_admin_apply(struct sfi_admin_op *op)
{
    struct sf_sim_kafka *broker = op->admin->client.broker;
    switch (op->kind) {
    case SFI_ADMIN_DESCRIBE: op->event.status = apply_describe(op); return true;
    case SFI_ADMIN_CREATE:
        op->event.status = sf_sim_kafka_create(broker, op->name, op->partition_count, op->settings, op->count);
        return true;
    case SFI_ADMIN_WATCH:
        op->partition_count = sf_sim_kafka_partition_count(broker, op->topic);
        op->event.status = op->partition_count > 0 ? SF_OK : SF_E_UNKNOWN_TOPIC;
        return true;
    case SFI_ADMIN_COMMITTED: return apply_committed(op);
    case SFI_ADMIN_ENDS: return apply_ends(op);
    case SFI_ADMIN_COMMIT: op->event.status = apply_commit(op); return true;
    case SFI_ADMIN_TRUNCATE: return apply_truncate(op);
    }
    assert(false);
    return true;
}
