/*
 * Partitions that are taken in order (S8), and come back. From TAKE on nothing is dispatched, and the partition is not
 * read, until all that it gave has committed; then it leaves the minimum at once (G4), and what is buffered of it is
 * thrown away. Its place in the tables stays, so that numbers are for ever.
 */
#include "core/ingest/task.h"

static void tell(struct sf_ingest *ingest, const struct sfi_partition *p, int64_t offset)
{
    const struct sf_observer *observer = ingest->config.observer;
    if (observer != NULL && observer->assigned != NULL)
        observer->assigned(observer->ctx, p->tp, offset, p->committed_time);
}

static void leave(struct sf_ingest *ingest, uint32_t i)
{
    struct sfi_partition *p = &ingest->partitions[i];
    p->is_leaving = false;
    p->is_taken = true;
    ingest->leaving_count--;
    sf_buffer_clear(&p->buffer, &ingest->held);
    sf_heap_remove(&ingest->order, i);
    p->head = NULL;
    p->position = p->committed;
    p->is_paused = p->is_unavailable = p->is_lag_known = p->is_caught_up = false;
    ingest->moved[i / 64] &= ~(UINT64_C(1) << (i % 64));
    sf_consumer_remove(ingest->consumer, p->tp);
    sf_tracker_leave(&ingest->tracker, i);
    sfi_update_wait(ingest, i);
    sfi_note_later(ingest, i);
    tell(ingest, p, -1);
}

void sfi_leave(struct sf_ingest *ingest)
{
    if (ingest->committing != 0) return;
    for (uint32_t i = 0; i < ingest->partition_count && ingest->leaving_count > 0; i++) {
        bool has_moved = (ingest->moved[i / 64] >> (i % 64) & 1) != 0;
        if (ingest->partitions[i].is_leaving && (!has_moved || ingest->records == 0)) leave(ingest, i);
    }
}

/* As after a start: what it claims is what has committed, and whatever was known of it is forgotten. */
static void come_back(struct sf_ingest *ingest, uint32_t i)
{
    struct sfi_partition *p = &ingest->partitions[i];
    p->is_taken = false;
    ingest->tracker.parts[i].generator.time_max = p->committed_time;
    sfi_join(ingest, i);
    sfi_assign(ingest, p);
    ingest->must_poll = true;
}

void sfi_move(struct sf_ingest *ingest, struct sf_tp tp, bool is_taken)
{
    uint32_t i = sfi_find_partition(ingest, tp);
    if (i == UINT32_MAX) return;
    struct sfi_partition *p = &ingest->partitions[i];
    if (is_taken && !p->is_taken && !p->is_leaving) {
        p->is_leaving = true;
        ingest->leaving_count++;
        if (!p->is_paused) sf_consumer_pause(ingest->consumer, p->tp);
        p->is_paused = true;
        sfi_note_later(ingest, i);
    } else if (!is_taken && p->is_leaving) {
        p->is_leaving = false;
        ingest->leaving_count--;
        sfi_resume(ingest, i);
    } else if (!is_taken && p->is_taken) {
        come_back(ingest, i);
    }
}
