/* The step: time that passed, control, poll, dispatch, tick, barrier; and when to run again. */
#include "core/ingest/task.h"

void sfi_join(struct sf_ingest *ingest, uint32_t i)
{
    const struct sf_settings *settings = &sfi_topology(ingest)->settings;
    int64_t own_ms = sfi_topology(ingest)->sources[ingest->partitions[i].source].watermark.idleness_ms;
    int64_t timeout_ms = own_ms != SF_SPAN_NONE ? own_ms : settings->idleness_timeout_ms;
    struct sf_generator generator = ingest->tracker.parts[i].generator;
    sf_tracker_join(&ingest->tracker, i, generator, sfi_us(timeout_ms), ingest->now);
    sfi_update_wait(ingest, i);
}

/* Partitions count from now (G4), with what their generators resume from (S1). */
static void start(struct sf_ingest *ingest, const struct sf_step *step)
{
    const struct sf_settings *settings = &sfi_topology(ingest)->settings;
    ingest->has_started = true;
    ingest->stepped_at = step->now;
    sf_cadence_init(&ingest->cadence, settings, step->now);
    sf_tracker_run(&ingest->tracker, step->now, false);
    for (uint32_t i = 0; i < ingest->partition_count; i++) sfi_join(ingest, i);
    ingest->holder = SF_HEAP_OUT;
    sfi_emit(ingest, step, SF_WATERMARK_POLL);
}

/* I7: running time stands still while nothing could be dispatched, and over gaps that are the engine's own doing. */
static void pass_time(struct sf_ingest *ingest, const struct sf_step *step)
{
    ingest->now = step->now;
    ingest->wall = step->wall;
    if (!ingest->has_started) start(ingest, step);
    int64_t gap = sf_mono_elapsed_us(ingest->stepped_at, step->now);
    bool was_stalled = ingest->stall != SFI_STALL_NONE && ingest->stall != SFI_STALL_BUDGET;
    if (gap > SFI_SECOND_US || was_stalled) ingest->must_poll = true;
    sf_tracker_run(&ingest->tracker, step->now, !was_stalled && gap <= SFI_SECOND_US);
    ingest->stepped_at = step->now;
}

/* G2: recomputed after every poll, whenever it is emitted: what partitions had reached before they idled counts. Not in
 * the middle of what one instant brought, which steps cut as they like. */
static void recompute(struct sf_ingest *ingest)
{
    bool is_whole = ingest->is_drained && ingest->stall != SFI_STALL_BUDGET;
    if (is_whole) ingest->reached = sfi_candidate(ingest);
}

/* Idleness in one pass (I8), previews (P2), then the watermark (G2a). */
static void tick(struct sf_ingest *ingest, const struct sf_step *step)
{
    if (!ingest->is_tracking) return;
    if (!ingest->must_poll) sf_tracker_judge(&ingest->tracker, ingest->now);
    for (uint32_t k = 0; k < ingest->tracker.changed_count; k++) {
        uint32_t i = ingest->tracker.changed[k];
        ingest->tracker.parts[i].is_changed = false;
        sfi_update_wait(ingest, i);
        sfi_note_later(ingest, i);
    }
    ingest->tracker.changed_count = 0;
    recompute(ingest);
    int64_t interval_us = sfi_us(sfi_topology(ingest)->settings.auto_interval_ms);
    if (ingest->has_emitted && sf_mono_elapsed_us(ingest->emitted_at, ingest->now) < interval_us) return;
    sfi_emit(ingest, step, SF_WATERMARK_POLL);
}

static void note_long_wait(struct sf_ingest *ingest, const struct sf_step *step, bool was_waiting)
{
    if (ingest->stall != SFI_STALL_WAIT) return;
    if (!was_waiting) {
        ingest->wait_since = ingest->now;
        ingest->is_wait_noted = false;
    }
    int64_t us = sf_mono_elapsed_us(ingest->wait_since, ingest->now);
    if (ingest->is_wait_noted || us <= SFI_MINUTE_US) return;
    uint32_t i = sf_wait_for(&ingest->wait, ingest->now);
    if (i == SF_WAIT_NONE) return;
    ingest->is_wait_noted = true;
    ingest->long_waits++;
    sf_note(step->notes, SF_NOTE_LONG_WAIT, i, us / 1000, 0, 0, 0);
}

/* Notes on many partitions may take several steps; true: there are more. */
static bool write_notes(struct sf_ingest *ingest, const struct sf_step *step)
{
    while (ingest->to_note_count > 0 && sf_notes_has_room(step->notes, 2)) {
        ingest->to_note_count--;
        uint32_t i = ingest->to_note[ingest->to_note_count];
        struct sfi_partition *p = &ingest->partitions[i];
        p->is_to_note = false;
        bool is_idle = ingest->tracker.parts[i].is_idle;
        if (is_idle != p->noted_idle) sf_note(step->notes, is_idle ? SF_NOTE_IDLE : SF_NOTE_ACTIVE, i, 0, 0, 0, 0);
        p->noted_idle = is_idle;
        if (p->is_paused != p->noted_paused)
            sf_note(step->notes, p->is_paused ? SF_NOTE_PAUSED : SF_NOTE_RESUMED, i, p->buffer.waiting, 0, 0, 0);
        p->noted_paused = p->is_paused;
    }
    return ingest->to_note_count > 0;
}

static void sooner(struct sf_mono_ts *at, struct sf_mono_ts other)
{
    if (other.us < at->us) *at = other;
}

static struct sf_mono_ts wake_at(struct sf_ingest *ingest)
{
    struct sf_mono_ts at = sf_mono_add(ingest->now, SFI_SECOND_US); /* the consumer wants to be polled */
    if (ingest->is_tracking && ingest->stall != SFI_STALL_END) { /* then nothing is judged any more */
        sooner(&at, sf_tracker_wake_at(&ingest->tracker));
        if (sfi_candidate(ingest) != ingest->watermark) {
            int64_t interval_us = sfi_us(sfi_topology(ingest)->settings.auto_interval_ms);
            sooner(&at, sf_mono_add(ingest->emitted_at, interval_us));
        }
    }
    if (ingest->stall == SFI_STALL_WAIT) {
        /* idleness, judged after dispatch, may have ended the wait */
        if (sf_wait_for(&ingest->wait, ingest->now) == SF_WAIT_NONE) sooner(&at, ingest->now);
        sooner(&at, sf_wait_until(&ingest->wait));
        if (!ingest->is_wait_noted) sooner(&at, sf_mono_add(ingest->wait_since, SFI_MINUTE_US + 1));
    }
    sooner(&at, sfi_barrier_wake_at(ingest));
    return at;
}

static void watch_holder(struct sf_ingest *ingest)
{
    uint32_t holder = sf_tracker_holder(&ingest->tracker);
    if (holder == ingest->holder) return;
    ingest->holder = holder;
    ingest->holder_wall_ms = ingest->wall.ms;
}

/* Polling, dispatch, tick: what stands still between STOP and RESET, and once the end is near. */
static uint32_t work(struct sf_ingest *ingest, const struct sf_step *step, uint32_t budget)
{
    bool was_waiting = ingest->stall == SFI_STALL_WAIT;
    bool is_reading = !ingest->is_finishing && !ingest->has_failed;
    uint32_t used = 0;
    if (ingest->leaving_count > 0) sfi_leave(ingest);
    if (ingest->growth != NULL && is_reading && ingest->committing == 0) sfi_grow(ingest, step);
    bool is_dispatch_first = ingest->is_dispatch_owed, is_poll_cut = false;
    ingest->is_dispatch_owed = false;
    if (is_reading && !is_dispatch_first) used += sfi_poll(ingest, step, budget, &is_poll_cut);
    if (is_reading && (ingest->is_paused || ingest->leaving_count > 0)) {
        ingest->stall = sf_heap_top(&ingest->order) != NULL ? SFI_STALL_PAUSED : SFI_STALL_NONE;
    } else if (is_reading && used < budget) {
        used += sfi_dispatch(ingest, step, budget - used);
    } else if (is_reading && used > 0 && sf_heap_top(&ingest->order) != NULL) {
        ingest->stall = SFI_STALL_BUDGET;
        ingest->is_dispatch_owed = !is_poll_cut; /* one poll goes before what it brings, however it is cut */
    } else if (!is_reading) {
        ingest->stall = SFI_STALL_END;
        ingest->must_poll = true; /* silence that comes of not listening is not judged any more */
        ingest->is_drained = true;
    }
    if (!is_poll_cut) tick(ingest, step); /* nobody is idle whose record may be next in it (I7) */
    note_long_wait(ingest, step, was_waiting);
    sfi_barrier(ingest, step);
    watch_holder(ingest);
    return used;
}

struct sf_step_result sfi_step(void *self, const struct sf_step *step)
{
    struct sf_ingest *ingest = self;
    pass_time(ingest, step);
    sfi_collect(ingest);
    uint32_t used = sfi_control(ingest, step, step->budget);
    if (ingest->is_stopped)
        return (struct sf_step_result){.next = ingest->is_stopped_for_good ? SF_NEXT_DONE
                                               : used == step->budget      ? SF_NEXT_AGAIN
                                                                           : SF_NEXT_WAIT,
                                       .used = used,
                                       .wake_at = SF_MONO_NEVER};
    bool is_cut = used == step->budget;
    if (!is_cut) used += work(ingest, step, step->budget - used);
    bool has_notes = write_notes(ingest, step);
    bool is_more = is_cut || ingest->stall == SFI_STALL_BUDGET || !ingest->is_drained || has_notes;
    struct sf_step_result result = {.next = SF_NEXT_WAIT, .used = used, .wake_at = wake_at(ingest)};
    if (is_more && used > 0) result.next = SF_NEXT_AGAIN;
    else if (is_more) result.wake_at = ingest->now;
    return result;
}
