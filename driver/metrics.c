#include "driver/metric.h"

#include <assert.h>
#include <string.h>

#include "core/time/event_time.h"
#include "driver/run_parts.h"

#define PREFIX "stoatflow."

enum kind { LATE, GAP, LOST, PREVIEWS, DROPPED, DROPPED_NEVER };

#define DROPPED_NAME "dropped.records.total"
#define ALL_REASONS SF_DROP_COUNT

/* M3's names and reasons. */
static const struct {
    const char *name;
    enum kind kind;
    enum sf_drop reason;
} metrics[] = {
    {"watermark.late.records.total", LATE, ALL_REASONS},
    {"source.gap.records.total", GAP, ALL_REASONS},
    {"transactions.lost.total", LOST, ALL_REASONS},
    {"watermark.preview.partitions", PREVIEWS, ALL_REASONS},
    {DROPPED_NAME, DROPPED, ALL_REASONS},
    {DROPPED_NAME "{reason=late_window}", DROPPED, SF_DROP_LATE_WINDOW},
    {DROPPED_NAME "{reason=late_session}", DROPPED_NEVER, ALL_REASONS}, /* there are no sessions yet (O1) */
    {DROPPED_NAME "{reason=invalid_timestamp}", DROPPED, SF_DROP_INVALID_TIMESTAMP},
    {DROPPED_NAME "{reason=future_timestamp}", DROPPED, SF_DROP_FUTURE_TIMESTAMP},
    {DROPPED_NAME "{reason=null_key}", DROPPED, SF_DROP_NULL_KEY},
    {DROPPED_NAME "{reason=null_value}", DROPPED, SF_DROP_NULL_VALUE},
    {DROPPED_NAME "{reason=deserialization}", DROPPED, SF_DROP_DESERIALIZATION},
    {DROPPED_NAME "{reason=processing}", DROPPED, SF_DROP_PROCESSING},
    {DROPPED_NAME "{reason=production}", DROPPED, SF_DROP_PRODUCTION},
};
#define METRICS (sizeof metrics / sizeof metrics[0])

const char *sf_driver_metric_name(uint32_t index)
{
    return index < METRICS ? metrics[index].name : NULL;
}

bool sf_driver_metric_find(const char *name, uint32_t *index_out)
{
    if (strncmp(name, PREFIX, strlen(PREFIX)) == 0) name += strlen(PREFIX);
    for (uint32_t i = 0; i < METRICS; i++) {
        if (strcmp(metrics[i].name, name) != 0) continue;
        *index_out = i;
        return true;
    }
    return false;
}

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

static int64_t dropped(const struct sfi_totals *totals, enum sf_drop reason)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < SF_DROP_COUNT; i++) {
        if (reason == ALL_REASONS || i == reason) sum += totals->dropped[i];
    }
    return (int64_t)sum;
}

int64_t sfi_metrics_value(struct sfi_run *run, uint32_t metric)
{
    struct sfi_totals totals = run->totals;
    assert(metric < METRICS);
    for (uint32_t i = 0; i < run->process_count; i++) {
        if (!run->processes[i].is_over) sfi_metrics_add(&totals, run, &run->processes[i]);
    }
    switch (metrics[metric].kind) {
    case LATE:
        return (int64_t)totals.late;
    case GAP:
        return (int64_t)totals.gap;
    case LOST:
        return (int64_t)totals.lost;
    case PREVIEWS:
        return previews(run);
    case DROPPED:
        return dropped(&totals, metrics[metric].reason);
    case DROPPED_NEVER:
        break;
    }
    return 0;
}
