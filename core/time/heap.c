#include "core/time/heap.h"

void sf_heap_init(struct sf_heap *heap, struct sf_alloc alloc, uint32_t capacity)
{
    *heap = (struct sf_heap){.capacity = capacity, .alloc = alloc};
    heap->items = sf_calloc(alloc, capacity, sizeof *heap->items);
    heap->places = sf_calloc(alloc, capacity, sizeof *heap->places);
    for (uint32_t i = 0; i < capacity; i++) heap->places[i] = SF_HEAP_OUT;
}

void sf_heap_deinit(struct sf_heap *heap)
{
    if (heap->items == NULL) return;
    sf_cfree(heap->alloc, heap->items, heap->capacity, sizeof *heap->items);
    sf_cfree(heap->alloc, heap->places, heap->capacity, sizeof *heap->places);
    heap->items = NULL;
    heap->places = NULL;
}

static void set(struct sf_heap *heap, uint32_t place, struct sf_heap_item item)
{
    heap->items[place] = item;
    heap->places[item.id] = place;
}

static void sift_up(struct sf_heap *heap, uint32_t place, struct sf_heap_item item)
{
    while (place > 0) {
        uint32_t parent = (place - 1) / 2;
        if (!sf_heap_before(item, heap->items[parent])) break;
        set(heap, place, heap->items[parent]);
        place = parent;
    }
    set(heap, place, item);
}

static void sift_down(struct sf_heap *heap, uint32_t place, struct sf_heap_item item)
{
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= heap->count) break;
        if (child + 1 < heap->count && sf_heap_before(heap->items[child + 1], heap->items[child])) child++;
        if (!sf_heap_before(heap->items[child], item)) break;
        set(heap, place, heap->items[child]);
        place = child;
    }
    set(heap, place, item);
}

void sf_heap_put(struct sf_heap *heap, uint32_t id, int64_t key)
{
    assert(id < heap->capacity);
    struct sf_heap_item item = {.key = key, .id = id};
    uint32_t place = heap->places[id];
    if (place == SF_HEAP_OUT) {
        heap->count++;
        sift_up(heap, heap->count - 1, item);
    } else if (key < heap->items[place].key) {
        sift_up(heap, place, item);
    } else if (key > heap->items[place].key) {
        sift_down(heap, place, item);
    }
}

void sf_heap_remove(struct sf_heap *heap, uint32_t id)
{
    assert(id < heap->capacity);
    uint32_t place = heap->places[id];
    if (place == SF_HEAP_OUT) return;
    heap->places[id] = SF_HEAP_OUT;
    heap->count--;
    if (place == heap->count) return;
    struct sf_heap_item last = heap->items[heap->count];
    if (place > 0 && sf_heap_before(last, heap->items[(place - 1) / 2]))
        sift_up(heap, place, last);
    else
        sift_down(heap, place, last);
}
