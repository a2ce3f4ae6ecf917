#include "sim/heap.h"

#include <stdlib.h>

/* In front of each block; its size keeps malloc's alignment. */
struct sf_sim_heap_block {
    struct sf_sim_heap_block *next;
    struct sf_sim_heap_block *prev;
    size_t bytes;
    struct sf_sim_heap *owner;
};

_Static_assert(sizeof(struct sf_sim_heap_block) % 16 == 0, "blocks stay 16-byte aligned");

static void *heap_alloc(void *ctx, size_t bytes)
{
    struct sf_sim_heap *heap = ctx;
    assert(bytes <= SIZE_MAX - sizeof(struct sf_sim_heap_block));
    struct sf_sim_heap_block *block = malloc(sizeof *block + bytes);
    if (block == NULL) abort();
    *block = (struct sf_sim_heap_block){.next = heap->head, .bytes = bytes, .owner = heap};
    if (heap->head != NULL) heap->head->prev = block;
    heap->head = block;
    heap->bytes += bytes;
    if (heap->bytes > heap->bytes_peak) heap->bytes_peak = heap->bytes;
    heap->blocks++;
    heap->alloc_count++;
    return block + 1;
}

static void heap_free(void *ctx, void *ptr, size_t bytes)
{
    struct sf_sim_heap *heap = ctx;
    struct sf_sim_heap_block *block = (struct sf_sim_heap_block *)ptr - 1;
    assert(block->owner == heap && block->bytes == bytes);
    if (block->prev != NULL)
        block->prev->next = block->next;
    else
        heap->head = block->next;
    if (block->next != NULL) block->next->prev = block->prev;
    heap->bytes -= bytes;
    heap->blocks--;
    free(block);
}

void sf_sim_heap_init(struct sf_sim_heap *heap)
{
    *heap = (struct sf_sim_heap){0};
}

void sf_sim_heap_drop(struct sf_sim_heap *heap)
{
    for (struct sf_sim_heap_block *block = heap->head; block != NULL;) {
        struct sf_sim_heap_block *next = block->next;
        free(block);
        block = next;
    }
    heap->head = NULL;
    heap->bytes = 0;
    heap->blocks = 0;
}

struct sf_alloc sf_sim_heap_alloc(struct sf_sim_heap *heap)
{
    return (struct sf_alloc){.alloc = heap_alloc, .free = heap_free, .ctx = heap};
}
