/*
 * Records to lanes: smallest head first (D2), refs into the lanes' blocks, credit, and the way back of batches.
 *
 * The hot loop serves one partition for as long as its head stays before the second smallest head, so a batch whose
 * records come before everybody else's costs no heap operation but the last.
 */
#include "core/ingest/task.h"

void sfi_lane_init(struct sf_ingest *ingest, struct sfi_lane *lane, struct sf_edge *edge)
{
    assert(edge->data_blocks > 0 && edge->block_bytes >= sizeof(struct sf_ref));
    *lane = (struct sfi_lane){.edge = edge, .refs_max = edge->block_bytes / (uint32_t)sizeof(struct sf_ref)};
    lane->pins = sf_calloc(ingest->config.alloc, (size_t)edge->data_blocks * lane->refs_max, sizeof *lane->pins);
    lane->pin_counts = sf_calloc(ingest->config.alloc, edge->data_blocks, sizeof *lane->pin_counts);
}

void sfi_lane_deinit(struct sf_ingest *ingest, struct sfi_lane *lane)
{
    if (lane->edge == NULL) return;
    struct sf_alloc alloc = ingest->config.alloc;
    sf_cfree(alloc, lane->pins, (size_t)lane->edge->data_blocks * lane->refs_max, sizeof *lane->pins);
    sf_cfree(alloc, lane->pin_counts, lane->edge->data_blocks, sizeof *lane->pin_counts);
}

/* What came back is at the front of the edge's free list. */
static void collect_lane(struct sf_ingest *ingest, struct sfi_lane *lane)
{
    uint32_t before = lane->edge->free_count;
    sf_edge_collect(lane->edge);
    const struct sf_block *block = lane->edge->free_blocks;
    for (uint32_t k = before; k < lane->edge->free_count; k++, block = block->next) {
        uint32_t slot = block->index;
        struct sf_held **pins = lane->pins + (size_t)slot * lane->refs_max;
        for (uint32_t p = 0; p < lane->pin_counts[slot]; p++) sf_held_unpin(&ingest->held, pins[p]);
        lane->pin_counts[slot] = 0;
    }
}

void sfi_collect(struct sf_ingest *ingest)
{
    for (uint32_t l = 0; l < ingest->lane_total; l++) {
        struct sfi_lane *lane = &ingest->lanes[l];
        if (lane->edge != NULL && sf_port_visible(&lane->edge->back) > 0) collect_lane(ingest, lane);
    }
}

/* NULL: no credit. All that this step may see has been collected, so sf_edge_take finds nothing behind our back. */
static struct sf_block *open_block(struct sf_ingest *ingest, struct sfi_lane *lane)
{
    assert(sf_port_visible(&lane->edge->back) == 0);
    struct sf_block *block = sf_edge_take(lane->edge);
    if (block == NULL) return NULL;
    lane->open = block;
    lane->open_pins = lane->pins + (size_t)block->index * lane->refs_max;
    lane->open_pin_count = 0;
    lane->open_last = NULL;
    if (!lane->is_open_listed) {
        lane->is_open_listed = true;
        ingest->open_lanes[ingest->open_lane_count] = (uint32_t)(lane - ingest->lanes);
        ingest->open_lane_count++;
    }
    return block;
}

static void push_block(struct sf_ingest *ingest, struct sfi_lane *lane)
{
    struct sf_block *block = lane->open;
    block->used = block->count * (uint32_t)sizeof(struct sf_ref);
    lane->pin_counts[block->index] = lane->open_pin_count;
    lane->open = NULL;
    sf_edge_push(lane->edge, &(struct sf_msg){.kind = SF_MSG_RUN,
                                              .generation = ingest->generation,
                                              .epoch = ingest->epoch,
                                              .value = ingest->watermark,
                                              .block = block});
}

static void push_open_blocks(struct sf_ingest *ingest)
{
    for (uint32_t k = 0; k < ingest->open_lane_count; k++) {
        struct sfi_lane *lane = &ingest->lanes[ingest->open_lanes[k]];
        lane->is_open_listed = false;
        if (lane->open != NULL) push_block(ingest, lane);
    }
    ingest->open_lane_count = 0;
}

static void show(struct sf_ingest *ingest, const struct sf_ref *ref, struct sf_tp tp)
{
    if (ingest->seen_count == ingest->seen_capacity) {
        uint32_t capacity = ingest->seen_capacity == 0 ? 256 : ingest->seen_capacity * 2;
        struct sf_alloc alloc = ingest->config.alloc;
        size_t count = ingest->seen_count, old = ingest->seen_capacity;
        ingest->seen = sf_regrow(alloc, ingest->seen, old * sizeof *ref, count * sizeof *ref, capacity * sizeof *ref);
        ingest->seen_tps =
            sf_regrow(alloc, ingest->seen_tps, old * sizeof tp, count * sizeof tp, capacity * sizeof tp);
        ingest->seen_capacity = capacity;
    }
    ingest->seen[ingest->seen_count] = *ref;
    ingest->seen_tps[ingest->seen_count] = tp;
    ingest->seen_count++;
}

/* The head of `p` goes to its lane (L2). False: the lane has no room, nothing has happened. */
static bool send_head(struct sf_ingest *ingest, struct sfi_partition *p)
{
    const struct sf_record *record = p->head;
    uint64_t hash = record->key.data != NULL ? sf_hash64(record->key.data, record->key.len) : p->null_key_hash;
    struct sfi_lane *lane = &ingest->lanes[p->lane_first + ingest->lane_of_group[sf_key_group(hash)]];
    struct sf_block *block = lane->open;
    if (block == NULL) {
        block = open_block(ingest, lane);
        if (block == NULL) return false;
    }
    struct sf_held *held = sf_buffer_span(&p->buffer)->held;
    if (held != lane->open_last) {
        held->pins++;
        lane->open_last = held;
        lane->open_pins[lane->open_pin_count] = held;
        lane->open_pin_count++;
    }
    struct sf_ref *ref = sf_run_refs(block) + block->count;
    *ref = (struct sf_ref){
        .record = record, .hash = hash, .ts_ms = p->head_ts, .partition = p->number, .source = p->source};
    block->count++;
    if (ingest->is_watched) show(ingest, ref, p->tp);
    ingest->bytes += record->key.len + record->value.len + SFI_RECORD_OVERHEAD;
    if (block->count == lane->refs_max) push_block(ingest, lane);
    return true;
}

static void touch(struct sf_ingest *ingest, struct sfi_partition *p, uint32_t i)
{
    if (p->is_touched) return;
    p->is_touched = true;
    ingest->touched[ingest->touched_count] = i;
    ingest->touched_count++;
}

bool sfi_is_memory_full(const struct sf_ingest *ingest)
{
    if (ingest->is_memory_full) return true;
    bool can_commit = ingest->records > 0 || ingest->committing != 0; /* else nothing would ever make room */
    return can_commit &&
           ingest->bytes + ingest->committing_bytes >= sfi_topology(ingest)->settings.uncommitted_bytes_max;
}

int64_t sfi_order_key(const struct sf_ingest *ingest, const struct sfi_partition *p)
{
    return ingest->is_ordered ? p->head_ts : (int64_t)sf_buffer_span(&p->buffer)->arrival;
}

/* Serves partition `i` while it is first; how many went. */
static uint32_t serve_run(struct sf_ingest *ingest, const struct sf_step *step, uint32_t i, uint32_t budget)
{
    struct sfi_partition *p = &ingest->partitions[i];
    struct sf_generator *generator = &ingest->tracker.parts[i].generator;
    const struct sf_heap_item *second = sf_heap_second(&ingest->order);
    struct sf_heap_item limit = second != NULL ? *second : (struct sf_heap_item){.key = INT64_MAX, .id = UINT32_MAX};
    struct sf_source_counts *counts = &ingest->counts[p->source];
    uint32_t used = 0;
    ingest->stall = SFI_STALL_NONE;
    do {
        if (sfi_is_memory_full(ingest)) {
            ingest->stall = SFI_STALL_MEMORY;
            break;
        }
        if (!send_head(ingest, p)) {
            ingest->stall = SFI_STALL_CREDIT;
            break;
        }
        used++;
        ingest->records++;
        counts->dispatched++;
        counts->late += p->head_ts < ingest->watermark;
        sf_generator_advance(generator, p->head_time);
        sf_buffer_advance(&p->buffer, &ingest->held);
        sfi_judge_head(ingest, step, p);
        if (p->head == NULL || ingest->has_failed) break;
        if (used == budget || !sfi_has_note_room(step)) ingest->stall = SFI_STALL_BUDGET;
    } while (ingest->stall == SFI_STALL_NONE &&
             sf_heap_before((struct sf_heap_item){.key = sfi_order_key(ingest, p), .id = i}, limit));
    if (used > 0) touch(ingest, p, i);
    if (p->head == NULL) {
        sf_heap_remove(&ingest->order, i);
        sfi_update_wait(ingest, i);
    } else {
        sf_heap_put(&ingest->order, i, sfi_order_key(ingest, p));
    }
    return used;
}

/* The dispatch batch has been handed out: tell the tracker, the consumer, the observer. */
static void end_batch(struct sf_ingest *ingest, uint32_t last)
{
    for (uint32_t k = 0; k < ingest->touched_count; k++) {
        uint32_t i = ingest->touched[k];
        struct sfi_partition *p = &ingest->partitions[i];
        p->is_touched = false;
        p->delivered_wall_ms = ingest->wall.ms;
        sfi_set_moved(ingest, i);
        sf_tracker_serve(&ingest->tracker, i, p->head != NULL, p->head_time, ingest->now);
        sfi_resume(ingest, i);
    }
    ingest->touched_count = 0;
    sf_tracker_hold(&ingest->tracker, last, ingest->now, ingest->wall);
    const struct sf_observer *observer = ingest->config.observer;
    if (observer != NULL && observer->dispatched != NULL && ingest->seen_count > 0)
        observer->dispatched(observer->ctx, ingest->epoch, ingest->seen, ingest->seen_tps, ingest->seen_count,
                             ingest->watermark);
    ingest->seen_count = 0;
    push_open_blocks(ingest);
}

uint32_t sfi_dispatch(struct sf_ingest *ingest, const struct sf_step *step, uint32_t budget)
{
    uint32_t used = 0;
    uint32_t last = SF_HEAP_OUT;
    const struct sf_heap_item *top;
    const struct sf_observer *observer = ingest->config.observer;
    ingest->is_watched = observer != NULL && observer->dispatched != NULL;
    ingest->stall = SFI_STALL_NONE;
    while ((top = sf_heap_top(&ingest->order)) != NULL && !ingest->has_failed) {
        if (used >= budget || !sfi_has_note_room(step)) {
            ingest->stall = SFI_STALL_BUDGET;
            break;
        }
        if (ingest->is_ordered && sf_wait_for(&ingest->wait, ingest->now) != SF_WAIT_NONE) {
            ingest->stall = SFI_STALL_WAIT;
            break;
        }
        uint32_t i = top->id;
        uint32_t served = serve_run(ingest, step, i, budget - used);
        if (served > 0) last = i;
        used += served;
        if (ingest->stall == SFI_STALL_CREDIT || ingest->stall == SFI_STALL_MEMORY) break;
    }
    if (last != SF_HEAP_OUT) end_batch(ingest, last);
    return used;
}
