/*
 * Barriers: what makes one due (B2, B3, L5), fixing it (B4), its commit; and emissions of the watermark (G2).
 */
#include "core/ingest/task.h"
#include "core/ops/metadata.h"

int64_t sfi_candidate(const struct sf_ingest *ingest)
{
    return ingest->is_tracking ? sf_tracker_candidate(&ingest->tracker, ingest->reached) : ingest->watermark;
}

bool sfi_has_content(const struct sf_ingest *ingest)
{
    if (ingest->records > 0 || ingest->has_work) return true;
    if (!ingest->is_tracking) return false;
    return sfi_candidate(ingest) != sf_ring_newest(&ingest->ring);
}

/* The final barrier is due at once; where commits are refused, not in a loop without pause. */
static bool is_final_due(const struct sf_ingest *ingest)
{
    return !ingest->is_final_again || ingest->now.us >= sf_cadence_again_at(&ingest->cadence).us;
}

static bool is_due(const struct sf_ingest *ingest)
{
    if (sfi_is_memory_full(ingest)) return true;
    if (ingest->is_finishing) return is_final_due(ingest);
    if (ingest->config.is_barrier_manual) {
        if (ingest->leaving_count > 0 && ingest->records > 0) return true; /* S8: the running epoch commits first */
        /* what falls on the instant of a FIX goes before it, however the work of that instant is cut into steps */
        bool is_settled = ingest->is_drained && ingest->stall != SFI_STALL_BUDGET;
        return ingest->fixes_owed > 0 && (is_settled || ingest->now.us > ingest->fix_seen.us);
    }
    return sf_cadence_is_due(&ingest->cadence, ingest->now) && sfi_has_content(ingest);
}

void sfi_emit(struct sf_ingest *ingest, const struct sf_step *step, enum sf_watermark_why why)
{
    int64_t value = sfi_candidate(ingest);
    ingest->reached = value;
    if (value != ingest->watermark) {
        ingest->watermark = value;
        ingest->emitted_at = ingest->now;
        ingest->has_emitted = true;
        sf_note(step->notes, SF_NOTE_WATERMARK, sf_tracker_holder(&ingest->tracker), value, 0, 0, 0);
    } else if (why == SF_WATERMARK_POLL) {
        return;
    }
    const struct sf_observer *observer = ingest->config.observer;
    if (observer != NULL && observer->watermark != NULL) observer->watermark(observer->ctx, value, why);
}

static void fix_offset(struct sf_ingest *ingest, uint32_t i)
{
    struct sfi_partition *p = &ingest->partitions[i];
    struct sf_cut_offset *offset = &ingest->cut_offsets[ingest->cut.offset_count];
    p->fixed = sfi_running(p);
    p->fixed_time = ingest->tracker.parts[i].generator.time_max;
    *offset = (struct sf_cut_offset){.tp = p->tp, .offset = p->fixed};
    char text[SF_METADATA_TEXT_BYTES];
    sf_metadata_encode(p->fixed_time, text); /* K7 */
    memcpy(offset->metadata, text, sizeof text);
    offset->metadata_len = sizeof text;
    ingest->cut_partitions[ingest->cut.offset_count] = i;
    ingest->cut.offset_count++;
}

/* Exactly what was dispatched or skipped (B4), in order of partitions; at least one (B14). */
static void fix_offsets(struct sf_ingest *ingest)
{
    ingest->cut.offset_count = 0;
    for (uint32_t word = 0; word < (ingest->partition_count + 63) / 64; word++) {
        uint64_t bits = ingest->moved[word];
        ingest->moved[word] = 0;
        for (uint32_t bit = 0; bits != 0; bit++, bits >>= 1)
            if ((bits & 1) != 0) fix_offset(ingest, word * 64 + bit);
    }
    if (ingest->cut.offset_count == 0) fix_offset(ingest, 0);
}

static void rotate(struct sf_ingest *ingest)
{
    struct sf_source_counts *counts = ingest->counts_fixed;
    ingest->counts_fixed = ingest->counts;
    ingest->counts = counts;
    memset(counts, 0, sfi_topology(ingest)->source_count * sizeof *counts);
    ingest->committing = ingest->epoch;
    ingest->committing_bytes = ingest->bytes;
    ingest->epoch++;
    ingest->records = 0;
    ingest->bytes = 0;
    ingest->has_work = false;
    ingest->is_memory_full = false;
    ingest->is_due_noted = false;
}

static void enqueue(struct sf_ingest *ingest, uint64_t epoch, int64_t stamp, bool is_flush)
{
    uint16_t flags = is_flush ? SF_BARRIER_FLUSH : 0;
    sf_edge_push(ingest->config.to_commit, &(struct sf_msg){.kind = SF_MSG_CUT,
                                                            .flags = flags,
                                                            .generation = ingest->generation,
                                                            .epoch = epoch,
                                                            .value = stamp,
                                                            .ptr = &ingest->cut});
    for (uint32_t l = 0; l < ingest->lane_total; l++) {
        if (ingest->lanes[l].edge == NULL) continue;
        sf_edge_push(ingest->lanes[l].edge, &(struct sf_msg){.kind = SF_MSG_BARRIER,
                                                             .flags = flags,
                                                             .generation = ingest->generation,
                                                             .epoch = epoch,
                                                             .value = stamp});
    }
}

/* B4. The watermark event (L4) goes to lanes that have timers or stream-time punctuators: no step kind has any. */
static void fix(struct sf_ingest *ingest, const struct sf_step *step, bool is_flush)
{
    uint64_t epoch = ingest->epoch;
    sfi_emit(ingest, step, is_flush ? SF_WATERMARK_SHUTDOWN : SF_WATERMARK_BARRIER);
    int64_t stamp = ingest->watermark;
    sf_ring_push(&ingest->ring, epoch, stamp, is_flush);
    sf_note(step->notes, SF_NOTE_BARRIER_STAMPED, SF_SUBJECT_NONE, (int64_t)epoch, stamp, 0, 0);
    fix_offsets(ingest);
    ingest->cut.epoch = epoch;
    ingest->cut.stamp = stamp;
    ingest->cut.is_flush = is_flush;
    ingest->cut.stamp_row_len =
        sf_ring_encode(&ingest->ring, ingest->config.incarnation, ingest->stamp_row, sizeof ingest->stamp_row);
    ingest->cut.stamp_row = ingest->stamp_row;
    ingest->cut.offsets = ingest->cut_offsets;
    rotate(ingest);
    ingest->cut.sources = ingest->counts_fixed;
    ingest->cut.source_count = sfi_topology(ingest)->source_count;
    sf_cadence_fixed(&ingest->cadence, ingest->now);
    const struct sf_observer *observer = ingest->config.observer;
    if (observer != NULL && observer->fixed != NULL) observer->fixed(observer->ctx, &ingest->cut);
    enqueue(ingest, epoch, stamp, is_flush);
    sf_note(step->notes, SF_NOTE_BARRIER_ENQUEUED, SF_SUBJECT_NONE, (int64_t)epoch, 0, 0, 0);
}

void sfi_barrier(struct sf_ingest *ingest, const struct sf_step *step)
{
    if (ingest->is_final_fixed || ingest->has_failed || !is_due(ingest)) return;
    if (!ingest->is_due_noted) {
        ingest->is_due_noted = true;
        sf_note(step->notes, SF_NOTE_BARRIER_DUE, SF_SUBJECT_NONE, (int64_t)ingest->epoch, 0, 0, 0);
    }
    if (ingest->committing != 0) return; /* B1 */
    /* barriers that were asked for before the stop come first */
    ingest->is_final_fixed = ingest->is_finishing && ingest->fixes_owed == 0;
    if (ingest->fixes_owed > 0) ingest->fixes_owed--;
    fix(ingest, step, ingest->is_final_fixed);
}

void sfi_committed(struct sf_ingest *ingest, uint64_t epoch)
{
    assert(epoch == ingest->committing && epoch > ingest->committed_epoch);
    ingest->committed_epoch = epoch;
    ingest->committing = 0;
    ingest->committing_bytes = 0;
    for (uint32_t k = 0; k < ingest->cut.offset_count; k++) {
        struct sfi_partition *p = &ingest->partitions[ingest->cut_partitions[k]];
        p->committed = p->fixed;
        p->committed_time = p->fixed_time;
        p->is_unplaced = false;
    }
    for (uint32_t s = 0; s < sfi_topology(ingest)->source_count; s++) {
        struct sf_source_counts *total = &ingest->counts_total[s];
        const struct sf_source_counts *more = &ingest->counts_fixed[s];
        total->dispatched += more->dispatched;
        total->late += more->late;
        total->gap += more->gap;
        for (uint32_t d = 0; d < SF_DROP_COUNT; d++) total->skipped[d] += more->skipped[d];
    }
    sf_cadence_committed(&ingest->cadence, ingest->now);
}

struct sf_mono_ts sfi_barrier_wake_at(const struct sf_ingest *ingest)
{
    if (ingest->is_finishing && !is_final_due(ingest)) return sf_cadence_again_at(&ingest->cadence);
    bool is_timed = !ingest->config.is_barrier_manual && !ingest->is_finishing && ingest->committing == 0;
    if (!is_timed || !sfi_has_content(ingest)) return SF_MONO_NEVER;
    return sf_cadence_due_at(&ingest->cadence);
}
