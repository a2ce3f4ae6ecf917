/* The oracle's tables of partitions: one that no process has named yet gets its place, for good, when it is first
 * met. */
#include <string.h>

#include "driver/oracle_parts.h"

static uint32_t source_of(const struct sfi_oracle *oracle, const char *topic)
{
    for (uint32_t i = 0; i < oracle->world.topology->source_count; i++)
        if (strcmp(oracle->world.topology->sources[i].topic, topic) == 0) return i;
    return SFI_ORACLE_NONE;
}

static uint32_t *place_of(struct sfi_oracle *oracle, uint32_t source, uint32_t number)
{
    uint32_t count = oracle->source_partition_counts[source];
    if (number >= count) {
        uint32_t grown = count == 0 ? 8 : count * 2;
        while (grown <= number) grown *= 2;
        uint32_t **table = &oracle->source_partitions[source];
        *table = sf_regrow(oracle->alloc, *table, count * sizeof **table, count * sizeof **table,
                           grown * sizeof **table);
        for (uint32_t i = count; i < grown; i++) (*table)[i] = SFI_ORACLE_NONE;
        oracle->source_partition_counts[source] = grown;
    }
    return &oracle->source_partitions[source][number];
}

static uint32_t partition_new(struct sfi_oracle *oracle, uint32_t source, int32_t number)
{
    if (oracle->partition_count == oracle->partition_capacity) {
        uint32_t capacity = oracle->partition_capacity == 0 ? 16 : oracle->partition_capacity * 2;
        size_t item = sizeof *oracle->partitions;
        oracle->partitions = sf_regrow(oracle->alloc, oracle->partitions, oracle->partition_capacity * item,
                                       oracle->partition_count * item, capacity * item);
        oracle->partition_capacity = capacity;
    }
    struct sfi_oracle_partition *partition = &oracle->partitions[oracle->partition_count];
    *partition = (struct sfi_oracle_partition){
        .source = source,
        .number = number,
        .tp = {sf_sim_kafka_topic(oracle->world.broker, oracle->world.topology->sources[source].topic), number},
        .tie = oracle->source_ranks[source] << 32 | (uint32_t)number,
        .time_max = SF_TIME_UNSET};
    return oracle->partition_count++;
}

void sfi_oracle_note_ends(struct sfi_oracle *oracle)
{
    const struct sf_topology *topology = oracle->world.topology;
    for (uint32_t source = 0; source < topology->source_count; source++) {
        uint32_t topic = sf_sim_kafka_topic(oracle->world.broker, topology->sources[source].topic);
        int32_t count = sf_sim_kafka_partition_count(oracle->world.broker, topic);
        for (int32_t p = 0; p < count && topology->sources[source].start == SF_START_LATEST; p++) {
            uint32_t *place = place_of(oracle, source, (uint32_t)p);
            if (*place == SFI_ORACLE_NONE) *place = partition_new(oracle, source, p);
            struct sfi_oracle_partition *partition = &oracle->partitions[*place];
            partition->end_at_start = sf_sim_kafka_log_end(oracle->world.broker, partition->tp, SF_LOG_STABLE_END);
        }
    }
}

static void live_reserve(struct sfi_oracle_instance *instance, uint32_t count)
{
    if (count <= instance->live_count) return;
    uint32_t grown = instance->live_count == 0 ? 16 : instance->live_count * 2;
    while (grown < count) grown *= 2;
    size_t item = sizeof *instance->live;
    instance->live = sf_regrow(instance->oracle->alloc, instance->live, instance->live_count * item,
                               instance->live_count * item, grown * item);
    for (uint32_t i = instance->live_count; i < grown; i++)
        instance->live[i] = (struct sfi_oracle_live){
            .time_max = SF_TIME_UNSET, .delivered_wall_ms = SF_TIME_UNSET, .heap_at = SFI_ORACLE_NONE,
            .wait_at = SFI_ORACLE_NONE};
    instance->live_count = grown;
}

struct sfi_oracle_partition *sfi_oracle_partition_get(struct sfi_oracle_instance *instance, struct sf_tp tp,
                                                      uint32_t *index_out)
{
    struct sfi_oracle *oracle = instance->oracle;
    uint32_t source = source_of(oracle, sf_kafka_topic_name(instance->info.kafka, tp.topic));
    if (source == SFI_ORACLE_NONE || tp.partition < 0) return NULL;
    uint32_t *place = place_of(oracle, source, (uint32_t)tp.partition);
    if (*place == SFI_ORACLE_NONE) *place = partition_new(oracle, source, tp.partition);
    live_reserve(instance, oracle->partition_count);
    *index_out = *place;
    return &oracle->partitions[*place];
}
