/*
 * A heap that counts what is live and can drop everything: the simulator's allocator (X13). An instance has one of
 * its own, so that a crash is "stop stepping it, drop its heap", and a graceful end must leave nothing.
 *
 * Blocks are linked in order of allocation; nothing depends on addresses. One thread.
 */
#ifndef SF_SIM_HEAP_H
#define SF_SIM_HEAP_H

#include <stdint.h>

#include "core/mem.h"

struct sf_sim_heap_block;

struct sf_sim_heap {
    uint64_t bytes;      /* live, as asked for */
    uint64_t bytes_peak;
    uint64_t blocks;     /* live */
    uint64_t alloc_count; /* ever */
    struct sf_sim_heap_block *head;
};

void sf_sim_heap_init(struct sf_sim_heap *heap);
/* Free all that is live. */
void sf_sim_heap_drop(struct sf_sim_heap *heap);
/* Borrows `heap`. Freeing checks the size that sf_free was given. */
struct sf_alloc sf_sim_heap_alloc(struct sf_sim_heap *heap);

#endif
