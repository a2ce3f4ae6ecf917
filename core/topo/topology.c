#include "core/topo/topology.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#define SFI_CHUNK_BYTES 4096u

/* Memory of a topology: chunks that are only ever filled, newest first. */
struct sf_topology_chunk {
    struct sf_topology_chunk *older;
    size_t used;  /* of the bytes behind this header */
    size_t bytes; /* behind this header */
};

/* The header's size, rounded up so that what follows it is aligned for anything. */
static size_t header_bytes(void)
{
    const size_t align = alignof(max_align_t);
    return (sizeof(struct sf_topology_chunk) + align - 1) / align * align;
}

static void set_defaults(struct sf_settings *settings)
{
    *settings = (struct sf_settings){
        .max_out_of_orderness_ms = 10000,
        .idleness_timeout_ms = 300000,
        .auto_interval_ms = 200,
        .preview_delay_ms = 1000,
        .lanes = 0,
        .buffered_records_max = 2000,
        .poll_records_max = 500,
        .task_idle_ms_max = 0,
        .uncommitted_bytes_max = UINT64_C(256) << 20,
        .dispatch = SF_DISPATCH_AUTO,
        .barrier_interval_ms = 500,
        .barrier_factor_percent = 150,
        .barrier_interval_ms_min = 150,
        .barrier_interval_ms_max = 5000,
        .barrier_timeout_ms = 60000,
        .transaction_timeout_ms = 60000 + 5000 + 20000,
        .is_changelog_enabled = true,
        .session_timeout_ms = 10000,
        .output_buffer_bytes = UINT64_C(64) << 20,
    };
}

struct sf_topology *sf_topology_new(struct sf_alloc alloc)
{
    struct sf_topology *topology = sf_calloc(alloc, 1, sizeof *topology);
    topology->alloc = alloc;
    set_defaults(&topology->settings);
    return topology;
}

void sf_topology_destroy(struct sf_topology *topology)
{
    if (topology == NULL) return;
    struct sf_alloc alloc = topology->alloc;
    struct sf_topology_chunk *chunk = topology->chunks;
    while (chunk != NULL) {
        struct sf_topology_chunk *older = chunk->older;
        sf_free(alloc, chunk, header_bytes() + chunk->bytes);
        chunk = older;
    }
    sf_cfree(alloc, topology, 1, sizeof *topology);
}

void *sf_topology_take(struct sf_topology *topology, size_t bytes)
{
    const size_t align = alignof(max_align_t);
    assert(bytes > 0 && bytes < SIZE_MAX / 2);
    bytes = (bytes + align - 1) / align * align;
    struct sf_topology_chunk *chunk = topology->chunks;
    if (chunk == NULL || chunk->bytes - chunk->used < bytes) {
        size_t room = bytes > SFI_CHUNK_BYTES ? bytes : SFI_CHUNK_BYTES;
        chunk = sf_malloc(topology->alloc, header_bytes() + room);
        *chunk = (struct sf_topology_chunk){.older = topology->chunks, .bytes = room};
        topology->chunks = chunk;
    }
    void *taken = (unsigned char *)chunk + header_bytes() + chunk->used;
    chunk->used += bytes;
    memset(taken, 0, bytes);
    return taken;
}

const char *sf_topology_text(struct sf_topology *topology, const char *text, size_t len)
{
    assert(text != NULL || len == 0);
    char *copy = sf_topology_take(topology, len + 1);
    if (len > 0) memcpy(copy, text, len);
    return copy;
}
