#include "core/hash.h"
#include "driver/rows.h"
#include "driver/run_parts.h"

/* One partition of a sink's topic: what lies below `shown` has been shown or never will be, what lies below `counted`
 * is in `count`. */
struct output {
    struct sf_tp tp;
    int64_t shown;
    int64_t counted;
    uint64_t count;
};

struct sfi_outputs {
    struct sfi_run *run;
    struct sf_sim_kafka_observer observer;
    struct output *items;
    uint32_t count;
};

static bool is_repeated(const struct sf_topology *topology, uint32_t sink)
{
    for (uint32_t i = 0; i < sink; i++) {
        if (strcmp(topology->sinks[i].topic, topology->sinks[sink].topic) == 0) return true;
    }
    return false;
}

static struct output *output_of(const struct sfi_outputs *outputs, struct sf_tp tp)
{
    for (uint32_t i = 0; i < outputs->count; i++) {
        if (outputs->items[i].tp.topic == tp.topic && outputs->items[i].tp.partition == tp.partition)
            return &outputs->items[i];
    }
    return NULL;
}

void sfi_outputs_pass(struct sfi_outputs *outputs, struct sf_tp tp, int64_t before)
{
    struct output *output = output_of(outputs, tp);
    if (output == NULL || before <= output->counted) return;
    output->count += sf_driver_rows_count(outputs->run->broker, tp, output->counted, before);
    output->counted = before;
}

uint64_t sfi_outputs_count(struct sfi_outputs *outputs)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < outputs->count; i++) {
        sfi_outputs_pass(outputs, outputs->items[i].tp, INT64_MAX);
        count += outputs->items[i].count;
    }
    return count;
}

/* ---------------------------------------------------------------- the broker's news */

/* X14: what is written is an effect of whoever steps. */
static void mix(struct sfi_run *run, struct sf_tp tp, const struct sf_record *records, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct sf_record *record = &records[i];
        uint64_t words[] = {(uint64_t)tp.topic << 32 | (uint32_t)tp.partition,
                            (uint64_t)record->offset,
                            (uint64_t)record->ts_ms,
                            sf_hash64(record->key.data, record->key.len),
                            sf_hash64(record->value.data, record->value.len),
                            (uint64_t)(record->key.data == NULL) << 1 | (record->value.data == NULL)};
        sf_sim_sched_mix(run->sched, words, sizeof words);
    }
}

static void appended(void *ctx, struct sf_tp tp, const struct sf_record *records, uint32_t count,
                     uint64_t producer_id, int32_t producer_epoch, uint64_t txn_serial)
{
    struct sfi_outputs *outputs = ctx;
    struct sfi_run *run = outputs->run;
    const struct sf_sim_kafka_observer *checks = run->broker_checks;
    mix(run, tp, records, count);
    sfi_retention_appended(run->retention, count);
    if (txn_serial == 0 && producer_id != 0 && output_of(outputs, tp) != NULL) {
        for (uint32_t i = 0; i < count; i++)
            sf_driver_history_record(&run->history, "output", sf_sim_kafka_topic_name(run->broker, tp.topic),
                                     tp.partition, &records[i], true);
    }
    if (checks != NULL && checks->appended != NULL)
        checks->appended(checks->ctx, tp, records, count, producer_id, producer_epoch, txn_serial);
}

/* One producer writes at a time: what lies above `shown` belongs to this transaction or was given up. */
static void show_committed(struct sfi_outputs *outputs, struct output *output, uint64_t txn_serial)
{
    struct sfi_run *run = outputs->run;
    struct sf_sim_kafka_entry entry;
    int64_t offset = output->shown;
    while (sf_sim_kafka_log_next(run->broker, output->tp, &offset, &entry)) {
        if (entry.is_control || entry.txn_serial != txn_serial) continue;
        sf_driver_history_record(&run->history, "output", sf_sim_kafka_topic_name(run->broker, output->tp.topic),
                                 output->tp.partition, entry.record, true);
    }
    output->shown = offset;
}

static void decided(void *ctx, const char *transactional_id, uint64_t producer_id, int32_t producer_epoch,
                    uint64_t txn_serial, bool is_commit)
{
    struct sfi_outputs *outputs = ctx;
    struct sfi_run *run = outputs->run;
    const struct sf_sim_kafka_observer *checks = run->broker_checks;
    if (is_commit && sf_driver_history_is_on(&run->history)) {
        for (uint32_t i = 0; i < outputs->count; i++) show_committed(outputs, &outputs->items[i], txn_serial);
    }
    if (is_commit) sfi_retention_committed(run->retention);
    if (checks != NULL && checks->decided != NULL)
        checks->decided(checks->ctx, transactional_id, producer_id, producer_epoch, txn_serial, is_commit);
}

static void marked(void *ctx, struct sf_tp tp, int64_t offset, uint64_t txn_serial, bool is_commit)
{
    struct sfi_outputs *outputs = ctx;
    const struct sf_sim_kafka_observer *checks = outputs->run->broker_checks;
    if (checks != NULL && checks->marked != NULL) checks->marked(checks->ctx, tp, offset, txn_serial, is_commit);
}

static void offset_committed(void *ctx, const char *group, struct sf_tp tp, int64_t offset, struct sf_slice metadata,
                             uint64_t txn_serial)
{
    struct sfi_outputs *outputs = ctx;
    const struct sf_sim_kafka_observer *checks = outputs->run->broker_checks;
    if (txn_serial == 0) sfi_retention_committed(outputs->run->retention);
    if (checks != NULL && checks->offset_committed != NULL)
        checks->offset_committed(checks->ctx, group, tp, offset, metadata, txn_serial);
}

static void owner(void *ctx, const char *group, uint32_t instance, uint32_t generation)
{
    struct sfi_outputs *outputs = ctx;
    const struct sf_sim_kafka_observer *checks = outputs->run->broker_checks;
    if (checks != NULL && checks->owner != NULL) checks->owner(checks->ctx, group, instance, generation);
}

/* ---------------------------------------------------------------- life */

static uint32_t partitions_of(struct sfi_run *run, uint32_t sink)
{
    if (is_repeated(run->topology, sink)) return 0;
    uint32_t topic = sf_sim_kafka_topic(run->broker, run->topology->sinks[sink].topic);
    return (uint32_t)sf_sim_kafka_partition_count(run->broker, topic);
}

struct sfi_outputs *sfi_outputs_new(struct sfi_run *run)
{
    struct sfi_outputs *outputs = sf_calloc(run->world.alloc, 1, sizeof *outputs);
    outputs->run = run;
    outputs->observer = (struct sf_sim_kafka_observer){appended, decided, marked, offset_committed, owner, outputs};
    for (uint32_t i = 0; i < run->topology->sink_count; i++) outputs->count += partitions_of(run, i);
    outputs->items = sf_calloc(run->world.alloc, outputs->count, sizeof *outputs->items);
    uint32_t at = 0;
    for (uint32_t i = 0; i < run->topology->sink_count; i++) {
        uint32_t topic = sf_sim_kafka_topic(run->broker, run->topology->sinks[i].topic);
        uint32_t partitions = partitions_of(run, i);
        for (uint32_t j = 0; j < partitions; j++)
            outputs->items[at++] = (struct output){.tp = {topic, (int32_t)j}};
    }
    return outputs;
}

void sfi_outputs_destroy(struct sfi_run *run, struct sfi_outputs *outputs)
{
    if (outputs == NULL) return;
    sf_cfree(run->world.alloc, outputs->items, outputs->count, sizeof *outputs->items);
    sf_cfree(run->world.alloc, outputs, 1, sizeof *outputs);
}

const struct sf_sim_kafka_observer *sfi_outputs_observer(struct sfi_outputs *outputs)
{
    return &outputs->observer;
}
