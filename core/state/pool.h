/*
 * Pool: pieces of memory in doubling sizes that go round inside one window store.
 *
 *     class 0: base bytes, class 1: 2 x base, class 2: 4 x base ...
 *
 * A pane grows by taking a piece twice as large as its last one and never moves what it has; when it is dropped its
 * pieces wait here for the next pane. What waits is bounded by SFI_POOL_IDLE_BYTES; beyond that pieces go back to the
 * allocator.
 *
 * Threading: one owner.
 */
#ifndef SF_CORE_STATE_POOL_H
#define SF_CORE_STATE_POOL_H

#include "core/mem.h"

#define SFI_POOL_CLASSES 32u
#define SFI_POOL_IDLE_BYTES (16u * 1024u * 1024u)

struct sfi_pool_piece {
    struct sfi_pool_piece *next;
};

struct sfi_pool {
    struct sf_alloc alloc;
    size_t base_bytes; /* of class 0; at least 16 */
    size_t idle_bytes;
    struct sfi_pool_piece *idle[SFI_POOL_CLASSES];
};

void sfi_pool_init(struct sfi_pool *pool, struct sf_alloc alloc, size_t base_bytes);
/* Every piece must have come back. */
void sfi_pool_deinit(struct sfi_pool *pool);
/* base_bytes << class bytes, not zeroed. */
void *sfi_pool_take(struct sfi_pool *pool, uint32_t class);
void sfi_pool_give(struct sfi_pool *pool, void *piece, uint32_t class);

#endif
