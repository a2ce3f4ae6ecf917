/*
 * Memory: the allocator that is given when something is made, and the only way core gets memory.
 *
 * The hot path allocates nothing: memory comes at start, for blocks that circulate (core/run/edge.h), and for
 * tables that grow by doubling. An allocator never returns NULL: one that has run out ends the process, since no
 * caller could go on; bounds are kept by counting what is open (L5), not by failing allocations.
 *
 * `bytes` at sf_free is what was asked for, so that an allocator can count without a header; the simulator's does,
 * and finds leaks (X13).
 *
 * Threading: an allocator handed to an engine is called from all of its tasks.
 */
#ifndef SF_CORE_MEM_H
#define SF_CORE_MEM_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sf_alloc {
    void *(*alloc)(void *ctx, size_t bytes); /* 16-byte aligned, not zeroed */
    void (*free)(void *ctx, void *ptr, size_t bytes);
    void *ctx;
};

/* malloc and free; ends the process when there is no memory. Thread-safe, stateless. */
struct sf_alloc sf_alloc_libc(void);

static inline void *sf_malloc(struct sf_alloc alloc, size_t bytes)
{
    assert(bytes > 0);
    return alloc.alloc(alloc.ctx, bytes);
}

static inline void *sf_calloc(struct sf_alloc alloc, size_t count, size_t bytes)
{
    assert(count == 0 || bytes <= SIZE_MAX / count);
    size_t total = count * bytes > 0 ? count * bytes : 1;
    void *ptr = alloc.alloc(alloc.ctx, total);
    memset(ptr, 0, total);
    return ptr;
}

/* NULL is fine. `bytes` as at sf_malloc; for sf_calloc use sf_cfree. */
static inline void sf_free(struct sf_alloc alloc, void *ptr, size_t bytes)
{
    if (ptr != NULL) alloc.free(alloc.ctx, ptr, bytes);
}

static inline void sf_cfree(struct sf_alloc alloc, void *ptr, size_t count, size_t bytes)
{
    sf_free(alloc, ptr, count * bytes > 0 ? count * bytes : 1);
}

/* A larger copy of the first `used` bytes; frees the old. ptr may be NULL (then old_bytes is ignored). */
static inline void *sf_regrow(struct sf_alloc alloc, void *ptr, size_t old_bytes, size_t used, size_t new_bytes)
{
    assert(new_bytes >= used);
    void *grown = sf_malloc(alloc, new_bytes);
    if (ptr != NULL) {
        memcpy(grown, ptr, used);
        sf_free(alloc, ptr, old_bytes);
    }
    return grown;
}

#endif
