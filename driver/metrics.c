#include "core/time/event_time.h"
#include "driver/run_parts.h"

#define PREFIX "stoatflow."

/* M3's reasons, by enum sf_drop. */
static const char *const reasons[SF_DROP_COUNT] = {
    [SF_DROP_LATE_WINDOW] = "late_window",
    [SF_DROP_INVALID_TIMESTAMP] = "invalid_timestamp",
    [SF_DROP_FUTURE_TIMESTAMP] = "future_timestamp",
    [SF_DROP_NULL_KEY] = "null_key",
    [SF_DROP_NULL_VALUE] = "null_value",
    [SF_DROP_DESERIALIZATION] = "deserialization",
    [SF_DROP_PROCESSING] = "processing",
    [SF_DROP_PRODUCTION] = "production",
};

void sfi_metrics_add(struct sfi_totals *totals, const struct sfi_run *run, const struct sfi_process *process)
{
    if (process->engine == NULL) return;
    const struct sf_ingest *ingest = sf_engine_ingest(process->engine);
    totals->lost += sf_engine_transactions_lost(process->engine);
    if (ingest == NULL) return;
    const struct sf_source_counts *sources = sf_ingest_counts(ingest);
    const struct sf_step_counts *steps = sf_engine_step_counts(process->engine);
    for (uint32_t i = 0; i < run->topology->source_count; i++) {
        totals->late += sources[i].late;
        totals->gap += sources[i].gap;
        for (uint32_t j = 0; j < SF_DROP_COUNT; j++) totals->dropped[j] += sources[i].skipped[j];
    }
    for (uint32_t i = 0; i < run->topology->step_count; i++) {
        for (uint32_t j = 0; j < SF_DROP_COUNT; j++) totals->dropped[j] += steps[i].drops[j];
    }
    const struct sf_sink_counts *sinks = sf_engine_sink_counts(process->engine);
    for (uint32_t i = 0; i < run->topology->sink_count; i++) totals->dropped[SF_DROP_PRODUCTION] += sinks[i].dropped;
}

static int64_t previews(struct sfi_run *run)
{
    const struct sfi_process *process = sfi_process_owner(run);
    const struct sf_ingest *ingest = process != NULL ? sf_engine_ingest(process->engine) : NULL;
    if (ingest == NULL) return 0;
    struct sf_wall_ts wall = {sf_sim_world_wall_ms(&run->world)};
    struct sf_watermark_view view;
    int64_t count = 0;
    sf_ingest_view(ingest, wall, &view);
    for (uint32_t i = 0; i < view.partition_count; i++) {
        struct sf_partition_view partition;
        sf_ingest_partition_view(ingest, i, wall, &partition);
        if (partition.is_held && partition.preview != SF_TIME_UNSET) count++;
    }
    return count;
}

/* `dropped.records.total` alone is the sum over all reasons. */
static bool dropped(const struct sfi_totals *totals, const char *labels, int64_t *value_out)
{
    static const char begin[] = "{reason=";
    size_t begin_len = strlen(begin);
    uint64_t sum = 0;
    bool has_matched = labels[0] == '\0';
    for (uint32_t i = 0; i < SF_DROP_COUNT; i++) {
        size_t len = strlen(reasons[i]);
        bool is_named = strncmp(labels, begin, begin_len) == 0 && strncmp(labels + begin_len, reasons[i], len) == 0 &&
                        strcmp(labels + begin_len + len, "}") == 0;
        if (labels[0] != '\0' && !is_named) continue;
        sum += totals->dropped[i];
        has_matched = true;
    }
    *value_out = (int64_t)sum;
    return has_matched;
}

bool sfi_metrics_value(struct sfi_run *run, const char *name, int64_t *value_out)
{
    static const char dropped_name[] = "dropped.records.total";
    struct sfi_totals totals = run->totals;
    for (uint32_t i = 0; i < run->process_count; i++) {
        if (!run->processes[i].is_over) sfi_metrics_add(&totals, run, &run->processes[i]);
    }
    if (strncmp(name, PREFIX, strlen(PREFIX)) == 0) name += strlen(PREFIX);
    if (strncmp(name, dropped_name, strlen(dropped_name)) == 0)
        return dropped(&totals, name + strlen(dropped_name), value_out);
    if (strcmp(name, "watermark.late.records.total") == 0)
        *value_out = (int64_t)totals.late;
    else if (strcmp(name, "source.gap.records.total") == 0)
        *value_out = (int64_t)totals.gap;
    else if (strcmp(name, "transactions.lost.total") == 0)
        *value_out = (int64_t)totals.lost;
    else if (strcmp(name, "watermark.preview.partitions") == 0)
        *value_out = previews(run);
    else
        return false;
    return true;
}
