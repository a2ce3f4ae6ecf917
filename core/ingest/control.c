/*
 * Messages from the other tasks. Engine and driver edges carry generation 0, so that they are seen whatever the
 * generation of the data edges is; RESET brings the new one.
 */
#include "core/ingest/task.h"

static void answer(struct sf_ingest *ingest, enum sf_msg_kind kind, const struct sf_msg *order)
{
    sf_edge_push(ingest->config.to_engine,
                 &(struct sf_msg){.kind = (uint16_t)kind, .flags = order->flags, .epoch = ingest->committed_epoch});
}

void sfi_fail(struct sf_ingest *ingest, enum sf_status status, struct sf_tp tp, int64_t offset)
{
    if (ingest->has_failed) return;
    ingest->has_failed = true;
    ingest->failure.tp = tp;
    ingest->failure.offset = offset;
    sf_edge_push(ingest->config.to_engine, &(struct sf_msg){.kind = SF_MSG_FAULT,
                                                            .value = status,
                                                            .value2 = SF_TROUBLE_RECORD,
                                                            .ptr = &ingest->failure});
}

/* Back to what has committed: one partition (B12, S8). */
static void rewind_partition(struct sf_ingest *ingest, uint32_t i)
{
    struct sfi_partition *p = &ingest->partitions[i];
    if (p->is_taken) return; /* all that it gave had committed before it left */
    bool is_anew = p->head != NULL || p->position != p->committed;
    sf_buffer_clear(&p->buffer, &ingest->held);
    sf_heap_remove(&ingest->order, i);
    p->head = NULL;
    p->position = p->committed;
    p->fixed = p->committed;
    p->fixed_time = p->committed_time;
    p->generation = sf_consumer_seek(ingest->consumer, p->tp, p->committed);
    p->is_lag_known = false;
    p->is_caught_up = false;
    sf_tracker_rewind(&ingest->tracker, i, p->committed_time, is_anew, ingest->now);
    if (p->is_paused) {
        p->is_paused = false;
        sf_consumer_resume(ingest->consumer, p->tp);
        sfi_note_later(ingest, i);
    }
    sfi_update_wait(ingest, i);
    const struct sf_observer *observer = ingest->config.observer;
    if (observer != NULL && observer->assigned != NULL)
        observer->assigned(observer->ctx, p->tp, p->committed, p->committed_time);
}

static void fall_back(struct sf_ingest *ingest, const struct sf_msg *msg)
{
    /* the engine may have learnt of a commit before we did */
    if (ingest->committing != 0 && ingest->committing == msg->epoch) sfi_committed(ingest, msg->epoch);
    assert(msg->epoch == ingest->committed_epoch);
    assert(msg->value > (int64_t)msg->epoch && msg->value2 > (int64_t)ingest->generation);
    uint32_t sources = sfi_topology(ingest)->source_count;
    ingest->generation = (uint32_t)msg->value2;
    ingest->epoch = (uint64_t)msg->value;
    ingest->committing = 0;
    ingest->committing_bytes = 0;
    ingest->bytes = 0;
    ingest->records = 0;
    ingest->has_work = false;
    ingest->is_memory_full = false;
    ingest->is_due_noted = false;
    ingest->is_final_again = ingest->is_final_again || ingest->is_final_fixed;
    ingest->is_final_fixed = false;
    ingest->is_stopped = false;
    ingest->has_failed = false;
    ingest->must_poll = true;
    ingest->is_drained = false;
    ingest->poll_records = ingest->poll_units = 0;
    ingest->stall = SFI_STALL_NONE;
    memset(ingest->counts, 0, sources * sizeof *ingest->counts);
    memset(ingest->counts_fixed, 0, sources * sizeof *ingest->counts_fixed);
    memset(ingest->moved, 0, (ingest->partition_count + 63) / 64 * sizeof *ingest->moved);
    sf_ring_fall_back(&ingest->ring, msg->epoch);
    ingest->watermark = ingest->reached = sf_ring_newest(&ingest->ring);
    for (uint32_t i = 0; i < ingest->partition_count; i++) {
        rewind_partition(ingest, i);
        if (ingest->partitions[i].is_unplaced) sfi_set_moved(ingest, i);
    }
}

static void stop(struct sf_ingest *ingest, const struct sf_msg *msg)
{
    ingest->is_stopped = true;
    ingest->is_stopped_for_good = (msg->flags & SF_STOP_FOR_GOOD) != 0;
    /* what the last epoch counted is in the totals, whoever heard of its commit first (M6) */
    bool is_news = ingest->is_stopped_for_good && ingest->committing != 0 && ingest->committing == msg->epoch;
    if (is_news) sfi_committed(ingest, msg->epoch);
    answer(ingest, SF_MSG_STOPPED, msg);
}

static void from_engine(struct sf_ingest *ingest, const struct sf_msg *msg)
{
    switch (msg->kind) {
    case SF_MSG_STOP: stop(ingest, msg); break;
    case SF_MSG_RESET:
        fall_back(ingest, msg);
        answer(ingest, SF_MSG_RESUMED, msg);
        break;
    case SF_MSG_FINISH: ingest->is_finishing = true; break;
    case SF_MSG_FIX:
        if (ingest->fixes_owed == 0) ingest->fix_seen = ingest->now;
        ingest->fixes_owed++;
        break;
    case SF_MSG_PAUSE: ingest->is_paused = msg->value != 0; break;
    case SF_MSG_TAKE:
    case SF_MSG_GIVE:
        sfi_move(ingest, (struct sf_tp){(uint32_t)msg->value, (int32_t)msg->value2}, msg->kind == SF_MSG_TAKE);
        break;
    case SF_MSG_GROW:
        assert(ingest->growth == NULL);
        ingest->growth = msg->ptr;
        break;
    default: assert(false); /* the engine sends ingest nothing else */
    }
}

static uint32_t read_control(struct sf_ingest *ingest, struct sf_edge *edge, uint32_t budget)
{
    uint32_t used = 0;
    const struct sf_msg *msg;
    while (edge != NULL && used < budget && (msg = sf_edge_peek(edge, 0)) != NULL) {
        from_engine(ingest, msg);
        sf_edge_pop(edge);
        used++;
    }
    return used;
}

static uint32_t read_commit(struct sf_ingest *ingest, uint32_t budget)
{
    uint32_t used = 0;
    const struct sf_msg *msg;
    while (used < budget && (msg = sf_edge_peek(ingest->config.from_commit, ingest->generation)) != NULL) {
        assert(msg->kind == SF_MSG_COMMITTED);
        if (!ingest->is_stopped_for_good) sfi_committed(ingest, msg->epoch); /* else the STOP has said so */
        sf_edge_pop(ingest->config.from_commit);
        used++;
    }
    return used;
}

static uint32_t read_lane(struct sf_ingest *ingest, struct sf_edge *edge, uint32_t budget)
{
    uint32_t used = 0;
    const struct sf_msg *msg;
    while (used < budget && (msg = sf_edge_peek(edge, ingest->generation)) != NULL) {
        assert(msg->kind == SF_MSG_WORK && msg->epoch <= ingest->epoch);
        if (msg->epoch == ingest->epoch) {
            ingest->has_work = true;
            if ((msg->flags & SF_WORK_MEMORY) != 0) ingest->is_memory_full = true;
        }
        sf_edge_pop(edge);
        used++;
    }
    return used;
}

uint32_t sfi_control(struct sf_ingest *ingest, const struct sf_step *step, uint32_t budget)
{
    (void)step;
    uint32_t used = read_control(ingest, ingest->config.from_engine, budget);
    used += read_commit(ingest, budget - used);
    used += read_control(ingest, ingest->config.from_driver, budget - used);
    for (uint32_t l = 0; l < ingest->lane_total && used < budget; l++)
        used += read_lane(ingest, &ingest->config.from_lanes[l], budget - used);
    return used;
}
