/*
 * Arena: memory that is taken piece by piece and given back whole. For what is built once and then read: files,
 * topologies, plans. Not for the hot path.
 *
 * Threading: none while it is filled.
 */
#ifndef SF_CORE_ARENA_H
#define SF_CORE_ARENA_H

#include "core/mem.h"

struct sf_arena_chunk;

struct sf_arena {
    struct sf_alloc alloc;
    struct sf_arena_chunk *newest;
};

void sf_arena_init(struct sf_arena *arena, struct sf_alloc alloc);
/* Frees all that was taken. May be called twice. */
void sf_arena_deinit(struct sf_arena *arena);
/* Zeroed, aligned for anything. bytes > 0. Amortised O(bytes). */
void *sf_arena_take(struct sf_arena *arena, size_t bytes);
/* A copy of `length` bytes with a NUL behind them; text may be NULL where length is 0. */
char *sf_arena_text(struct sf_arena *arena, const char *text, size_t length);

#endif
