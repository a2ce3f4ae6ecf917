#include "core/run/target.h"

/* `a` + "-" + `b` + `suffix`, into `out`. Names are checked for length when the topology is (K11). */
static void topic_name(char *out, const char *a, const char *b, const char *suffix)
{
    size_t at = 0;
    const char *parts[] = {a, "-", b, suffix};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t len = strlen(parts[i]);
        assert(at + len <= SF_TOPIC_NAME_BYTES_MAX);
        memcpy(out + at, parts[i], len);
        at += len;
    }
    out[at] = '\0';
}

void sf_targets_init(struct sf_targets *targets, struct sf_alloc alloc, const struct sf_plan *plan,
                     struct sf_kafka kafka)
{
    const struct sf_topology *topology = plan->topology;
    char name[SF_TOPIC_NAME_BYTES_MAX + 1];
    memset(targets, 0, sizeof *targets);
    targets->alloc = alloc;
    targets->sink_count = topology->sink_count;
    targets->step_count = topology->step_count;
    uint32_t capacity = topology->sink_count + 2 * topology->step_count;
    targets->items = sf_calloc(alloc, capacity, sizeof *targets->items);
    targets->changelog_of_step = sf_calloc(alloc, topology->step_count, sizeof(uint32_t));
    targets->frontier_of_step = sf_calloc(alloc, topology->step_count, sizeof(uint32_t));
    for (uint32_t i = 0; i < topology->sink_count; i++)
        targets->items[targets->count++] = (struct sf_target){
            .kind = SF_TARGET_SINK, .index = i, .topic = sf_kafka_topic(kafka, topology->sinks[i].topic)};
    for (uint32_t i = 0; i < topology->step_count; i++) {
        const struct sf_step_spec *step = &topology->steps[i];
        targets->changelog_of_step[i] = SF_TARGET_NONE;
        targets->frontier_of_step[i] = SF_TARGET_NONE;
        if (step->kind != SF_STEP_AGGREGATE || !topology->settings.is_changelog_enabled) continue;
        topic_name(name, topology->application_id, step->store.name, "-changelog");
        targets->changelog_of_step[i] = targets->count;
        targets->items[targets->count++] =
            (struct sf_target){.kind = SF_TARGET_CHANGELOG, .index = i, .topic = sf_kafka_topic(kafka, name)};
        if (step->emit != SF_EMIT_ON_CLOSE) continue;
        topic_name(name, topology->application_id, step->store.name, "-emitfrontier-changelog");
        targets->frontier_of_step[i] = targets->count;
        targets->items[targets->count++] =
            (struct sf_target){.kind = SF_TARGET_FRONTIER, .index = i, .topic = sf_kafka_topic(kafka, name)};
    }
    for (uint32_t i = 0; i < targets->count; i++)
        targets->items[i].record_bytes_max = SF_MESSAGE_BYTES_DEFAULT - SF_RECORD_FRAME_BYTES;
    topic_name(name, topology->application_id, "stoatflow-watermark", "-changelog");
    targets->watermark_topic = sf_kafka_topic(kafka, name);
}

void sf_targets_deinit(struct sf_targets *targets)
{
    uint32_t capacity = targets->sink_count + 2 * targets->step_count;
    sf_cfree(targets->alloc, targets->items, capacity, sizeof *targets->items);
    sf_cfree(targets->alloc, targets->changelog_of_step, targets->step_count, sizeof(uint32_t));
    sf_cfree(targets->alloc, targets->frontier_of_step, targets->step_count, sizeof(uint32_t));
    memset(targets, 0, sizeof *targets);
}

uint32_t sf_targets_record_bytes(const struct sf_targets *targets, bool is_smallest)
{
    uint32_t bytes = is_smallest ? UINT32_MAX : 0;
    for (uint32_t i = 0; i < targets->count; i++) {
        uint32_t more = targets->items[i].record_bytes_max;
        if (is_smallest ? more < bytes : more > bytes) bytes = more;
    }
    return targets->count > 0 ? bytes : SF_MESSAGE_BYTES_DEFAULT - SF_RECORD_FRAME_BYTES;
}

int32_t sf_targets_changelog_partitions(const struct sf_plan *plan, uint32_t sub, const int32_t *source_partitions)
{
    const struct sf_plan_sub *of = &plan->subs[sub];
    int32_t widest = 1;
    for (uint32_t i = 0; i < of->source_count; i++)
        if (source_partitions[of->sources[i]] > widest) widest = source_partitions[of->sources[i]];
    for (uint32_t i = 0; i < of->upstream_count; i++) {
        int32_t through = sf_targets_changelog_partitions(plan, of->upstream[i], source_partitions);
        if (through > widest) widest = through;
    }
    return widest;
}
