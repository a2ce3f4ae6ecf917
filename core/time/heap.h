/*
 * Heap: a set of small numbers, each with a key, whose smallest is at hand. A member can be moved or taken out by
 * its number, so "the minimum over n partitions" costs O(log n) for each one that changed (G5, D2).
 *
 *     put(7, 100); put(3, 100); put(5, 90)      top is 5; then 3 (equal keys: the smaller number), then 7
 *
 * Invariants: items[places[id]].id == id for members, places[id] == SF_HEAP_OUT for others. The order of tops is
 * total, (key, id), so it does not depend on what was put when.
 *
 * Threading: one owner.
 */
#ifndef SF_CORE_TIME_HEAP_H
#define SF_CORE_TIME_HEAP_H

#include <stdbool.h>

#include "core/mem.h"

#define SF_HEAP_OUT UINT32_MAX

struct sf_heap_item {
    int64_t key;
    uint32_t id;
};

struct sf_heap {
    struct sf_heap_item *items; /* [capacity]; items[0] is the smallest */
    uint32_t *places;           /* [capacity]: by id */
    uint32_t count;
    uint32_t capacity; /* ids are below it */
    struct sf_alloc alloc;
};

/* Empty; ids 0 … capacity - 1. */
void sf_heap_init(struct sf_heap *heap, struct sf_alloc alloc, uint32_t capacity);
void sf_heap_deinit(struct sf_heap *heap);

/* Into the set, or to another key. O(log n). */
void sf_heap_put(struct sf_heap *heap, uint32_t id, int64_t key);
/* Out of the set; nothing where it is not in it. O(log n). */
void sf_heap_remove(struct sf_heap *heap, uint32_t id);

static inline bool sf_heap_before(struct sf_heap_item a, struct sf_heap_item b)
{
    return a.key != b.key ? a.key < b.key : a.id < b.id;
}

/* NULL: empty. Valid until the next change. */
static inline const struct sf_heap_item *sf_heap_top(const struct sf_heap *heap)
{
    return heap->count > 0 ? &heap->items[0] : NULL;
}

/* The second smallest, NULL if there is none. O(1). */
static inline const struct sf_heap_item *sf_heap_second(const struct sf_heap *heap)
{
    if (heap->count < 2) return NULL;
    if (heap->count == 2 || sf_heap_before(heap->items[1], heap->items[2])) return &heap->items[1];
    return &heap->items[2];
}

#endif
