/* What an operator sees (M1), and whether anything is left to do. */
#include "core/ingest/task.h"

void sf_ingest_view(const struct sf_ingest *ingest, struct sf_wall_ts wall, struct sf_watermark_view *view_out)
{
    *view_out = (struct sf_watermark_view){.global = ingest->watermark,
                                           .partition_count = ingest->partition_count,
                                           .holder = UINT32_MAX,
                                           .why = SF_HOLD_NONE,
                                           .holder_since_ms = SF_TIME_UNSET,
                                           .previewing_count = ingest->tracker.previewing_count,
                                           .long_waits = ingest->long_waits};
    uint32_t holder = sf_tracker_holder(&ingest->tracker);
    if (!ingest->is_tracking || holder == SF_HEAP_OUT) return;
    view_out->holder = holder;
    view_out->holder_since_ms = holder == ingest->holder ? ingest->holder_wall_ms : wall.ms;
    bool is_unset = sf_tracker_contribution(&ingest->tracker, holder) == SF_TIME_UNSET;
    view_out->why = is_unset ? SF_HOLD_UNSET : SF_HOLD_SLOWEST;
}

void sf_ingest_partition_view(const struct sf_ingest *ingest, uint32_t index, struct sf_wall_ts wall,
                              struct sf_partition_view *view_out)
{
    (void)wall;
    assert(index < ingest->partition_count);
    const struct sfi_partition *p = &ingest->partitions[index];
    const struct sf_tracker_part *part = &ingest->tracker.parts[index];
    *view_out = (struct sf_partition_view){
        .tp = p->tp,
        .watermark = sf_generator_value(&part->generator),
        .is_idle = part->is_idle,
        .last_wall_ms = p->delivered_wall_ms,
        .idleness_ms = part->timeout_us / 1000,
        .is_held = part->is_held,
        .preview = part->is_previewing ? sf_tracker_contribution(&ingest->tracker, index) : SF_TIME_UNSET,
        .held_since_ms = part->is_held ? part->held_wall_ms : SF_TIME_UNSET,
        .buffered = p->buffer.waiting,
        .is_paused = p->is_paused,
        .is_leaving = p->is_leaving,
        .is_taken = p->is_taken,
        .next_offset = sfi_running(p)};
}

const struct sf_source_counts *sf_ingest_counts(const struct sf_ingest *ingest)
{
    return ingest->counts_total;
}

const struct sf_source_counts *sf_ingest_counts_running(const struct sf_ingest *ingest)
{
    return ingest->counts;
}

bool sf_ingest_is_settled(const struct sf_ingest *ingest)
{
    bool is_owed = ingest->config.is_barrier_manual ? ingest->fixes_owed > 0 : sfi_has_content(ingest);
    if (!ingest->has_started || !ingest->is_drained || is_owed || ingest->committing != 0) return false;
    if (sf_heap_top(&ingest->order) != NULL || ingest->is_stopped || ingest->leaving_count > 0) return false;
    for (uint32_t i = 0; i < ingest->partition_count; i++) {
        const struct sfi_partition *p = &ingest->partitions[i];
        if (!p->is_taken && (!p->is_lag_known || !p->is_caught_up)) return false;
    }
    return true;
}
