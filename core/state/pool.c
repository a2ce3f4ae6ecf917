#include "core/state/pool.h"

void sfi_pool_init(struct sfi_pool *pool, struct sf_alloc alloc, size_t base_bytes)
{
    assert(base_bytes >= sizeof(struct sfi_pool_piece));
    *pool = (struct sfi_pool){.alloc = alloc, .base_bytes = base_bytes};
}

void sfi_pool_deinit(struct sfi_pool *pool)
{
    for (uint32_t class = 0; class < SFI_POOL_CLASSES; class++) {
        while (pool->idle[class] != NULL) {
            struct sfi_pool_piece *piece = pool->idle[class];
            pool->idle[class] = piece->next;
            sf_free(pool->alloc, piece, pool->base_bytes << class);
        }
    }
    pool->idle_bytes = 0;
}

void *sfi_pool_take(struct sfi_pool *pool, uint32_t class)
{
    assert(class < SFI_POOL_CLASSES);
    struct sfi_pool_piece *piece = pool->idle[class];
    if (piece == NULL) return sf_malloc(pool->alloc, pool->base_bytes << class);
    pool->idle[class] = piece->next;
    pool->idle_bytes -= pool->base_bytes << class;
    return piece;
}

void sfi_pool_give(struct sfi_pool *pool, void *piece, uint32_t class)
{
    assert(piece != NULL && class < SFI_POOL_CLASSES);
    size_t bytes = pool->base_bytes << class;
    if (pool->idle_bytes + bytes > SFI_POOL_IDLE_BYTES) {
        sf_free(pool->alloc, piece, bytes);
        return;
    }
    struct sfi_pool_piece *idle = piece;
    idle->next = pool->idle[class];
    pool->idle[class] = idle;
    pool->idle_bytes += bytes;
}
