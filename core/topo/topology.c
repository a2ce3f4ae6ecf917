#include "core/topo/topology.h"

#include <string.h>

#define NAME_BYTES_MAX 200u /* leaves room for what the watermark topic adds to the application's id (K1) */

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
    sf_arena_init(&topology->arena, alloc);
    set_defaults(&topology->settings);
    return topology;
}

void sf_topology_destroy(struct sf_topology *topology)
{
    if (topology == NULL) return;
    struct sf_alloc alloc = topology->arena.alloc;
    sf_arena_deinit(&topology->arena);
    sf_cfree(alloc, topology, 1, sizeof *topology);
}

bool sf_topology_is_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strlen(name);
    if (length == 0 || length > NAME_BYTES_MAX || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return false;
    return strspn(name, letters) == length;
}

void *sf_topology_take(struct sf_topology *topology, size_t bytes)
{
    return sf_arena_take(&topology->arena, bytes);
}

const char *sf_topology_text(struct sf_topology *topology, const char *text, size_t len)
{
    return sf_arena_text(&topology->arena, text, len);
}
