/*
 * Partitions found while running (G4): the tables that are indexed by partition are made anew, because numbers follow
 * the order of (topic bytes, partition) that D2's ties go by. Between a commit and the next barrier, when nobody else
 * looks at any of them.
 */
#include "core/ingest/task.h"

/* New tables, old content at its new place: map[old number] = new number. */
struct growth {
    uint32_t *map;
    uint32_t *news; /* numbers of the new partitions */
    uint32_t count; /* in all */
};

static void merge_numbers(const struct sf_ingest *ingest, const struct sf_ingest_growth *grown, struct growth *growth)
{
    uint32_t old = 0, new = 0;
    for (uint32_t at = 0; at < growth->count; at++) {
        bool is_new = old == ingest->partition_count ||
                      (new < grown->count && sfi_comes_before(ingest->config.kafka, grown->partitions[new].tp,
                                                              ingest->partitions[old].tp));
        if (is_new)
            growth->news[new++] = at;
        else
            growth->map[old++] = at;
    }
}

static void *moved_items(struct sf_alloc alloc, void *items, size_t item, uint32_t old_count,
                         const struct growth *growth)
{
    uint8_t *made = sf_calloc(alloc, growth->count, item);
    for (uint32_t i = 0; i < old_count; i++) memcpy(made + growth->map[i] * item, (uint8_t *)items + i * item, item);
    sf_cfree(alloc, items, old_count, item);
    return made;
}

static uint32_t *longer(struct sf_alloc alloc, uint32_t *list, uint32_t used, uint32_t old_count,
                        const struct growth *growth)
{
    uint32_t *made = sf_calloc(alloc, growth->count, sizeof *made);
    for (uint32_t k = 0; k < used; k++) made[k] = growth->map[list[k]];
    sf_cfree(alloc, list, old_count, sizeof *list);
    return made;
}

static void move_tables(struct sf_ingest *ingest, const struct growth *growth)
{
    struct sf_alloc alloc = ingest->config.alloc;
    uint32_t old = ingest->partition_count, words = (old + 63) / 64;
    ingest->partitions = moved_items(alloc, ingest->partitions, sizeof *ingest->partitions, old, growth);
    ingest->touched = longer(alloc, ingest->touched, 0, old, growth);
    ingest->to_note = longer(alloc, ingest->to_note, ingest->to_note_count, old, growth);
    uint64_t *moved = sf_calloc(alloc, (growth->count + 63) / 64, sizeof *moved);
    for (uint32_t i = 0; i < old; i++)
        if ((ingest->moved[i / 64] >> (i % 64) & 1) != 0)
            moved[growth->map[i] / 64] |= UINT64_C(1) << (growth->map[i] % 64);
    sf_cfree(alloc, ingest->moved, words, sizeof *moved);
    ingest->moved = moved;
    sf_cfree(alloc, ingest->cut_offsets, old, sizeof *ingest->cut_offsets);
    ingest->cut_offsets = sf_calloc(alloc, growth->count, sizeof *ingest->cut_offsets);
    sf_cfree(alloc, ingest->cut_partitions, old, sizeof *ingest->cut_partitions);
    ingest->cut_partitions = sf_calloc(alloc, growth->count, sizeof *ingest->cut_partitions);
    sf_tracker_grow(&ingest->tracker, growth->count, growth->map);
    sf_wait_grow(&ingest->wait, growth->count, growth->map);
    if (ingest->holder != SF_HEAP_OUT) ingest->holder = growth->map[ingest->holder];
    ingest->partition_count = growth->count;
}

static void order_heads(struct sf_ingest *ingest)
{
    sf_heap_deinit(&ingest->order);
    sf_heap_init(&ingest->order, ingest->config.alloc, ingest->partition_count);
    for (uint32_t i = 0; i < ingest->partition_count; i++) {
        const struct sfi_partition *p = &ingest->partitions[i];
        if (p->head != NULL) sf_heap_put(&ingest->order, i, sfi_order_key(ingest, p));
    }
}

/* A partition that counts from now on, at UNSET, and is read from where it starts. Its offset is in the next cut that
 * commits, so that a restart finds one there; a start before that takes it for new, and reads it from its start too
 * (S8). */
static void add(struct sf_ingest *ingest, uint32_t i, const struct sf_ingest_partition *from, uint32_t number)
{
    sfi_take_partition(ingest, i, from, number);
    sfi_join(ingest, i);
    sfi_assign(ingest, &ingest->partitions[i]);
    sfi_set_moved(ingest, i);
}

void sfi_grow(struct sf_ingest *ingest, const struct sf_step *step)
{
    const struct sf_ingest_growth *grown = ingest->growth;
    assert(ingest->committing == 0 && ingest->touched_count == 0 && ingest->open_lane_count == 0);
    struct sf_alloc alloc = ingest->config.alloc;
    uint32_t old = ingest->partition_count;
    struct growth growth = {.map = sf_calloc(alloc, old, sizeof *growth.map),
                            .news = sf_calloc(alloc, grown->count, sizeof *growth.news),
                            .count = old + grown->count};
    merge_numbers(ingest, grown, &growth);
    move_tables(ingest, &growth);
    order_heads(ingest);
    for (uint32_t k = 0; k < grown->count; k++) {
        add(ingest, growth.news[k], &grown->partitions[k], old + k);
        if (sfi_has_note_room(step))
            sf_note(step->notes, SF_NOTE_PARTITION_FOUND, growth.news[k], grown->partitions[k].offset, 0, 0, 0);
    }
    sfi_list_topics(ingest);
    ingest->must_poll = true;
    sf_cfree(alloc, growth.map, old, sizeof *growth.map);
    sf_cfree(alloc, growth.news, grown->count, sizeof *growth.news);
    ingest->growth = NULL;
    sf_edge_push(ingest->config.to_engine, &(struct sf_msg){.kind = SF_MSG_GROWN});
}
