#include "core/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#define SFI_CHUNK_BYTES_MIN 4096u
#define SFI_CHUNK_BYTES_MAX 65536u

struct sf_arena_chunk {
    struct sf_arena_chunk *older;
    size_t used;  /* from its beginning, this header included */
    size_t bytes;
};

static size_t aligned(size_t bytes)
{
    const size_t align = alignof(max_align_t);
    return (bytes + align - 1) / align * align;
}

void sf_arena_init(struct sf_arena *arena, struct sf_alloc alloc)
{
    *arena = (struct sf_arena){.alloc = alloc};
}

void sf_arena_deinit(struct sf_arena *arena)
{
    while (arena->newest != NULL) {
        struct sf_arena_chunk *chunk = arena->newest;
        arena->newest = chunk->older;
        sf_free(arena->alloc, chunk, chunk->bytes);
    }
}

/* Each chunk is twice the one before, within bounds, so that small arenas are small and large ones have few. */
static void add_chunk(struct sf_arena *arena, size_t bytes)
{
    size_t header = aligned(sizeof(struct sf_arena_chunk));
    size_t size = arena->newest != NULL ? arena->newest->bytes * 2 : SFI_CHUNK_BYTES_MIN;
    if (size > SFI_CHUNK_BYTES_MAX) size = SFI_CHUNK_BYTES_MAX;
    if (size < header + bytes) size = header + bytes;
    struct sf_arena_chunk *chunk = sf_malloc(arena->alloc, size);
    *chunk = (struct sf_arena_chunk){.older = arena->newest, .used = header, .bytes = size};
    arena->newest = chunk;
}

void *sf_arena_take(struct sf_arena *arena, size_t bytes)
{
    assert(bytes > 0 && bytes < SIZE_MAX / 4);
    bytes = aligned(bytes);
    if (arena->newest == NULL || arena->newest->bytes - arena->newest->used < bytes) add_chunk(arena, bytes);
    void *taken = (unsigned char *)arena->newest + arena->newest->used;
    arena->newest->used += bytes;
    memset(taken, 0, bytes);
    return taken;
}

char *sf_arena_text(struct sf_arena *arena, const char *text, size_t length)
{
    assert(text != NULL || length == 0);
    char *copy = sf_arena_take(arena, length + 1);
    if (length > 0) memcpy(copy, text, length);
    return copy;
}
