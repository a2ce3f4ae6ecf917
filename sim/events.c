#include "sim/events.h"

#include "sim/random.h"

#define NO_SLOT UINT32_MAX

void sf_sim_events_init(struct sf_sim_events *events, struct sf_alloc alloc, uint64_t seed, bool is_fifo)
{
    *events = (struct sf_sim_events){.alloc = alloc, .seed = seed, .is_fifo = is_fifo, .slot_free = NO_SLOT};
}

void sf_sim_events_deinit(struct sf_sim_events *events)
{
    sf_free(events->alloc, events->heap, events->cap * sizeof *events->heap);
    sf_free(events->alloc, events->slots, events->cap * sizeof *events->slots);
    *events = (struct sf_sim_events){.slot_free = NO_SLOT};
}

static bool node_before(const struct sf_sim_event_node *a, const struct sf_sim_event_node *b)
{
    if (a->at_us != b->at_us) return a->at_us < b->at_us;
    if (a->rank != b->rank) return a->rank < b->rank;
    return a->sequence < b->sequence;
}

static void place(struct sf_sim_events *events, uint32_t index, struct sf_sim_event_node node)
{
    events->heap[index] = node;
    events->slots[node.slot].heap_index = index;
}

static void sift_up(struct sf_sim_events *events, uint32_t index, struct sf_sim_event_node node)
{
    while (index > 0) {
        uint32_t parent = (index - 1) / 2;
        if (!node_before(&node, &events->heap[parent])) break;
        place(events, index, events->heap[parent]);
        index = parent;
    }
    place(events, index, node);
}

static void sift_down(struct sf_sim_events *events, uint32_t index, struct sf_sim_event_node node)
{
    for (;;) {
        uint32_t child = 2 * index + 1;
        if (child >= events->count) break;
        if (child + 1 < events->count && node_before(&events->heap[child + 1], &events->heap[child])) child++;
        if (!node_before(&events->heap[child], &node)) break;
        place(events, index, events->heap[child]);
        index = child;
    }
    place(events, index, node);
}

/* Take the node at `index` out and free its slot. */
static void heap_remove(struct sf_sim_events *events, uint32_t index)
{
    uint32_t slot_index = events->heap[index].slot;
    events->count--;
    if (index < events->count) {
        struct sf_sim_event_node last = events->heap[events->count];
        if (index > 0 && node_before(&last, &events->heap[(index - 1) / 2]))
            sift_up(events, index, last);
        else
            sift_down(events, index, last);
    }
    struct sf_sim_event_slot *slot = &events->slots[slot_index];
    slot->is_live = false;
    slot->generation++;
    slot->heap_index = events->slot_free;
    events->slot_free = slot_index;
}

static void grow(struct sf_sim_events *events)
{
    uint32_t cap = events->cap == 0 ? 64 : events->cap * 2;
    assert(cap <= SF_SIM_EVENTS_MAX);
    events->heap = sf_regrow(events->alloc, events->heap, events->cap * sizeof *events->heap,
                             events->count * sizeof *events->heap, cap * sizeof *events->heap);
    events->slots = sf_regrow(events->alloc, events->slots, events->cap * sizeof *events->slots,
                              events->slot_used * sizeof *events->slots, cap * sizeof *events->slots);
    events->cap = cap;
}

uint64_t sf_sim_events_schedule(struct sf_sim_events *events, int64_t at_us, uint64_t rank_key, sf_sim_event_fn *fn,
                                void *ctx)
{
    assert(fn != NULL);
    uint32_t slot_index = events->slot_free;
    if (slot_index != NO_SLOT) {
        events->slot_free = events->slots[slot_index].heap_index;
    } else {
        if (events->slot_used == events->cap) grow(events);
        slot_index = events->slot_used++;
        events->slots[slot_index].generation = 1;
    }
    struct sf_sim_event_slot *slot = &events->slots[slot_index];
    slot->fn = fn;
    slot->ctx = ctx;
    slot->is_live = true;
    struct sf_sim_event_node node = {.at_us = at_us, .sequence = events->sequence++, .slot = slot_index};
    if (!events->is_fifo) node.rank = sf_sim_draw(events->seed, SF_SIM_DOMAIN_TIE_RANK, rank_key, (uint64_t)at_us);
    sift_up(events, events->count++, node);
    return (uint64_t)slot->generation << 32 | slot_index;
}

bool sf_sim_events_cancel(struct sf_sim_events *events, uint64_t id)
{
    uint32_t slot_index = (uint32_t)id;
    if (id == SF_SIM_EVENT_NONE || slot_index >= events->slot_used) return false;
    const struct sf_sim_event_slot *slot = &events->slots[slot_index];
    if (!slot->is_live || slot->generation != (uint32_t)(id >> 32)) return false;
    heap_remove(events, slot->heap_index);
    return true;
}

int64_t sf_sim_events_next_us(const struct sf_sim_events *events)
{
    return events->count > 0 ? events->heap[0].at_us : INT64_MAX;
}

bool sf_sim_events_run_one(struct sf_sim_events *events, int64_t now_us)
{
    if (events->count == 0 || events->heap[0].at_us > now_us) return false;
    const struct sf_sim_event_slot *slot = &events->slots[events->heap[0].slot];
    sf_sim_event_fn *fn = slot->fn;
    void *ctx = slot->ctx;
    heap_remove(events, 0);
    events->run_count++;
    fn(ctx);
    return true;
}

uint64_t sf_sim_events_run_due(struct sf_sim_events *events, int64_t now_us)
{
    uint64_t count = 0;
    while (sf_sim_events_run_one(events, now_us)) count++;
    return count;
}
