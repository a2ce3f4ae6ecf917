#include "core/state/undo.h"

static_assert(sizeof(struct sfi_undo_chunk) == SFI_UNDO_BYTES, "a chunk is one piece of its pool");

struct sfi_undo *sfi_undo_append_chunk(struct sfi_undo_log *log, struct sfi_pool *pool)
{
    struct sfi_undo_chunk *chunk = sfi_pool_take(pool, 0);
    chunk->next = NULL;
    chunk->used = 0;
    chunk->reserved = 0;
    if (log->last == NULL) {
        log->first = chunk;
    } else {
        log->last->next = chunk;
    }
    log->last = chunk;
    return (struct sfi_undo *)(void *)chunk->data;
}

void sfi_undo_clear(struct sfi_undo_log *log, struct sfi_pool *pool)
{
    while (log->first != NULL) {
        struct sfi_undo_chunk *chunk = log->first;
        log->first = chunk->next;
        sfi_pool_give(pool, chunk, 0);
    }
    *log = (struct sfi_undo_log){0};
}
