#include "core/mem.h"

#include <stdlib.h>

static void *libc_alloc(void *ctx, size_t bytes)
{
    (void)ctx;
    void *ptr = malloc(bytes);
    if (ptr == NULL) abort();
    return ptr;
}

static void libc_free(void *ctx, void *ptr, size_t bytes)
{
    (void)ctx;
    (void)bytes;
    free(ptr);
}

struct sf_alloc sf_alloc_libc(void)
{
    return (struct sf_alloc){.alloc = libc_alloc, .free = libc_free, .ctx = NULL};
}
