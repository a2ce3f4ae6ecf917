/*
 * Undo: what one epoch has touched, in order of first touch, with what it overwrote.
 *
 *     [pane, row, CREATED] [pane, row, IMAGE, time, accumulators] [pane, row, IMAGE, ...] ...
 *
 * Entries stand in chunks of SFI_UNDO_BYTES; sealing walks them forwards. A row has at most one entry per epoch, so an
 * undo may walk forwards too.
 *
 * Threading: one owner.
 */
#ifndef SF_CORE_STATE_UNDO_H
#define SF_CORE_STATE_UNDO_H

#include "core/state/pane.h"

#define SFI_UNDO_BYTES 32768u

enum sfi_undo_kind {
    SFI_UNDO_CREATED,
    SFI_UNDO_IMAGE, /* followed by the old time and accumulators */
    SFI_UNDO_UNIT   /* packed changelog: followed by the unit as it was; `row` is its key group */
};

struct sfi_undo {
    struct sfi_pane *pane;
    uint32_t row;
    uint16_t kind;  /* enum sfi_undo_kind */
    uint16_t extra; /* bytes behind it */
};

struct sfi_undo_chunk {
    struct sfi_undo_chunk *next;
    uint32_t used;
    uint32_t reserved;
    uint8_t data[SFI_UNDO_BYTES - 16];
};

struct sfi_undo_log {
    struct sfi_undo_chunk *first;
    struct sfi_undo_chunk *last;
    uint64_t bytes; /* of entries */
};

struct sfi_undo_cursor {
    const struct sfi_undo_chunk *chunk;
    uint32_t at;
};

struct sfi_undo *sfi_undo_append_chunk(struct sfi_undo_log *log, struct sfi_pool *pool);
void sfi_undo_clear(struct sfi_undo_log *log, struct sfi_pool *pool);

/* Room for an entry, which the caller fills, and `extra` bytes behind it, a multiple of 8. `pool` has the base
 * SFI_UNDO_BYTES. */
static inline struct sfi_undo *sfi_undo_append(struct sfi_undo_log *log, struct sfi_pool *pool, uint32_t extra)
{
    assert(extra <= UINT16_MAX);
    uint32_t bytes = (uint32_t)sizeof(struct sfi_undo) + extra;
    struct sfi_undo_chunk *chunk = log->last;
    struct sfi_undo *entry;
    if (chunk != NULL && sizeof chunk->data - chunk->used >= bytes) {
        entry = (struct sfi_undo *)(void *)(chunk->data + chunk->used);
    } else {
        entry = sfi_undo_append_chunk(log, pool);
        chunk = log->last;
    }
    chunk->used += bytes;
    log->bytes += bytes;
    return entry;
}

/* The last entry, which has `extra` bytes behind it, was never made. */
static inline void sfi_undo_pop(struct sfi_undo_log *log, uint32_t extra)
{
    uint32_t bytes = (uint32_t)sizeof(struct sfi_undo) + extra;
    assert(log->last != NULL && log->last->used >= bytes);
    log->last->used -= bytes;
    log->bytes -= bytes;
}

static inline struct sfi_undo_cursor sfi_undo_begin(const struct sfi_undo_log *log)
{
    return (struct sfi_undo_cursor){.chunk = log->first};
}

/* The entry at the cursor, NULL at the end. */
static inline const struct sfi_undo *sfi_undo_at(struct sfi_undo_cursor *cursor)
{
    while (cursor->chunk != NULL && cursor->at == cursor->chunk->used) {
        cursor->chunk = cursor->chunk->next;
        cursor->at = 0;
    }
    if (cursor->chunk == NULL) return NULL;
    return (const struct sfi_undo *)(const void *)(cursor->chunk->data + cursor->at);
}

static inline void sfi_undo_next(struct sfi_undo_cursor *cursor, const struct sfi_undo *entry)
{
    cursor->at += (uint32_t)sizeof *entry + entry->extra;
}

#endif
