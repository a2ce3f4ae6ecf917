/*
 * What the simulated logs keep. A run that nothing disturbs reads forward only: what has committed and is judged is
 * read by nobody again, and goes. So memory is bounded by what is open, however long the run.
 *
 *     source topic     kept from the offset committed by the group
 *     other topics     kept from where their logs ended at the commit before the last one
 *     all              and from what the checks may still look at (driver/checks.h)
 *
 * A run that has faults, a crash of the options, output to compare or to show, or somebody who follows it step by step
 * keeps everything. An undisturbed one may all the same come back for what is gone (its engine ended by itself, say):
 * then the world says so and the run is made once more, keeping (driver/run.c).
 */
#include "driver/run_parts.h"

#define APPENDED_LEAST 4096u /* records between two passes over the logs; or as many as there are partitions */

struct topic {
    bool is_source;
    int64_t *ends; /* by partition, as of the last pass */
    uint32_t partition_count;
};

struct sfi_retention {
    struct topic *topics; /* by the broker's number */
    uint32_t topic_count;
    uint32_t partition_total;
    uint64_t appended;    /* records since the last pass */
    bool has_committed;   /* since the last pass */
};

static bool may_discard(const struct sfi_run *run)
{
    const struct sf_driver_options *options = run->options;
    const struct sf_scenario *scenario = run->scenario;
    bool is_followed =
        options->trail != NULL || options->on_command != NULL || options->history != SF_DRIVER_HISTORY_NONE;
    bool is_disturbed = scenario->fault_count > 0 || sfi_run_is_disturbed(run);
    bool is_looked_at = options->checks != NULL && options->checks->needed == NULL;
    return !run->is_keeping && !is_followed && !is_disturbed && !is_looked_at && scenario->output_count == 0;
}

struct sfi_retention *sfi_retention_new(struct sfi_run *run)
{
    return may_discard(run) ? sf_calloc(run->world.alloc, 1, sizeof(struct sfi_retention)) : NULL;
}

static void free_topics(struct sfi_run *run, struct sfi_retention *retention)
{
    struct sf_alloc alloc = run->world.alloc;
    for (uint32_t i = 0; i < retention->topic_count; i++)
        sf_cfree(alloc, retention->topics[i].ends, retention->topics[i].partition_count, sizeof(int64_t));
    sf_cfree(alloc, retention->topics, retention->topic_count, sizeof *retention->topics);
}

void sfi_retention_destroy(struct sfi_run *run, struct sfi_retention *retention)
{
    if (retention == NULL) return;
    free_topics(run, retention);
    sf_cfree(run->world.alloc, retention, 1, sizeof *retention);
}

void sfi_retention_appended(struct sfi_retention *retention, uint32_t count)
{
    if (retention != NULL) retention->appended += count;
}

void sfi_retention_committed(struct sfi_retention *retention)
{
    if (retention != NULL) retention->has_committed = true;
}

/* ---------------------------------------------------------------- topics as they are now */

static bool is_source(const struct sfi_run *run, const char *name)
{
    for (uint32_t i = 0; i < run->topology->source_count; i++)
        if (strcmp(run->topology->sources[i].topic, name) == 0) return true;
    return false;
}

static bool is_changed(struct sfi_run *run, const struct sfi_retention *retention)
{
    if (sf_sim_kafka_topic_count(run->broker) != retention->topic_count) return true;
    for (uint32_t i = 0; i < retention->topic_count; i++) {
        int32_t count = sf_sim_kafka_partition_count(run->broker, i);
        if ((uint32_t)count != retention->topics[i].partition_count) return true;
    }
    return false;
}

/* Nothing was seen of any log yet: they are kept until the next pass but one. */
static void list_topics(struct sfi_run *run, struct sfi_retention *retention)
{
    struct sf_alloc alloc = run->world.alloc;
    free_topics(run, retention);
    retention->topic_count = sf_sim_kafka_topic_count(run->broker);
    retention->topics = sf_calloc(alloc, retention->topic_count, sizeof *retention->topics);
    retention->partition_total = 0;
    for (uint32_t i = 0; i < retention->topic_count; i++) {
        struct topic *topic = &retention->topics[i];
        topic->is_source = is_source(run, sf_sim_kafka_topic_name(run->broker, i));
        topic->partition_count = (uint32_t)sf_sim_kafka_partition_count(run->broker, i);
        topic->ends = sf_calloc(alloc, topic->partition_count, sizeof *topic->ends);
        retention->partition_total += topic->partition_count;
    }
}

/* ---------------------------------------------------------------- the pass */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void pass(struct sfi_run *run, struct topic *topic, struct sf_tp tp)
{
    const struct sf_driver_checks_ops *checks = run->options->checks;
    int64_t *end = &topic->ends[tp.partition];
    int64_t before = *end;
    *end = sf_sim_kafka_log_end(run->broker, tp, SF_LOG_END);
    if (topic->is_source) before = sf_sim_kafka_committed(run->broker, run->topology->application_id, tp).offset;
    if (checks != NULL) before = least(before, checks->needed(run->checks, tp));
    if (before <= 0) return;
    sfi_outputs_pass(run->outputs, tp, before);
    sf_sim_kafka_discard(run->broker, tp, before);
}

void sfi_retention_due(struct sfi_run *run, struct sfi_retention *retention)
{
    if (retention == NULL || !retention->has_committed || retention->appended < APPENDED_LEAST) return;
    if (is_changed(run, retention)) list_topics(run, retention);
    if (retention->appended < retention->partition_total) return;
    retention->has_committed = false;
    retention->appended = 0;
    for (uint32_t i = 0; i < retention->topic_count; i++) {
        struct topic *topic = &retention->topics[i];
        for (uint32_t k = 0; k < topic->partition_count; k++) pass(run, topic, (struct sf_tp){i, (int32_t)k});
    }
}
