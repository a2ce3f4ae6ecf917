#include "core/run/edge.h"

static uint32_t power_of_two(uint32_t at_least)
{
    uint32_t n = 1;
    while (n < at_least) n *= 2;
    return n;
}

static size_t block_stride(uint32_t bytes)
{
    return (sizeof(struct sf_block) + bytes + 15u) & ~(size_t)15u;
}

void sf_edge_init(struct sf_edge *edge, const struct sf_edge_config *config)
{
    uint32_t slots = power_of_two(config->data_blocks + config->control_slots);
    assert(config->data_blocks + config->control_slots > 0 && slots <= SF_EDGE_SLOTS_MAX);
    assert(config->data_blocks == 0 || config->block_bytes > 0);
    memset(edge, 0, sizeof *edge);
    edge->alloc = config->alloc;
    edge->mask = slots - 1;
    edge->data_blocks = config->data_blocks;
    edge->block_bytes = config->block_bytes;
    edge->control_slots = config->control_slots;
    edge->ring = sf_calloc(edge->alloc, slots, sizeof *edge->ring);
    edge->return_ring = sf_calloc(edge->alloc, slots, sizeof *edge->return_ring);
    atomic_init(&edge->written, 0);
    atomic_init(&edge->returned, 0);
    atomic_init(&edge->popped, 0);
    edge->in.written = &edge->written;
    edge->back.written = &edge->returned;
    edge->free_count = config->data_blocks;
    edge->blocks = sf_calloc(edge->alloc, config->data_blocks, sizeof *edge->blocks);
}

static void free_extra(struct sf_edge *edge, struct sf_block *block)
{
    if (block != NULL && block->is_extra) sf_free(edge->alloc, block, block_stride(block->capacity));
}

void sf_edge_deinit(struct sf_edge *edge)
{
    if (edge->ring == NULL) return;
    uint32_t written = atomic_load_explicit(&edge->written, memory_order_acquire);
    for (uint32_t i = edge->in.consumed; i != written; i++) free_extra(edge, edge->ring[i & edge->mask].block);
    uint32_t returned = atomic_load_explicit(&edge->returned, memory_order_acquire);
    for (uint32_t i = edge->back.consumed; i != returned; i++) free_extra(edge, edge->return_ring[i & edge->mask]);
    for (uint32_t i = 0; i < edge->made_count; i++)
        sf_free(edge->alloc, edge->blocks[i], block_stride(edge->block_bytes));
    sf_cfree(edge->alloc, edge->blocks, edge->data_blocks, sizeof *edge->blocks);
    sf_cfree(edge->alloc, edge->ring, edge->mask + 1, sizeof *edge->ring);
    sf_cfree(edge->alloc, edge->return_ring, edge->mask + 1, sizeof *edge->return_ring);
    memset(edge, 0, sizeof *edge);
}

void sf_edge_collect(struct sf_edge *edge)
{
    while (sf_port_visible(&edge->back) > 0) {
        struct sf_block *block = edge->return_ring[edge->back.consumed & edge->mask];
        edge->back.consumed++;
        sf_edge_untake(edge, block);
    }
}

static struct sf_block *make_block(struct sf_edge *edge)
{
    struct sf_block *block = sf_malloc(edge->alloc, block_stride(edge->block_bytes));
    *block = (struct sf_block){.capacity = edge->block_bytes, .index = edge->made_count};
    edge->blocks[edge->made_count++] = block;
    return block;
}

struct sf_block *sf_edge_take(struct sf_edge *edge)
{
    if (edge->free_blocks == NULL || edge->free_count == 0) sf_edge_collect(edge);
    if (edge->free_count == 0) return NULL;
    struct sf_block *block = edge->free_blocks != NULL ? edge->free_blocks : make_block(edge);
    edge->free_blocks = block->next;
    edge->free_count--;
    block->next = NULL;
    block->used = 0;
    block->count = 0;
    return block;
}

struct sf_block *sf_edge_make_extra(struct sf_edge *edge, uint32_t bytes)
{
    struct sf_block *block = sf_malloc(edge->alloc, block_stride(bytes));
    *block = (struct sf_block){.capacity = bytes, .is_extra = true};
    return block;
}

bool sf_edge_pay(struct sf_edge *edge, struct sf_block *extra)
{
    assert(extra->is_extra && !extra->is_paid);
    if (edge->free_count == 0) sf_edge_collect(edge);
    if (edge->free_count == 0) return false;
    edge->free_count--;
    extra->is_paid = true;
    return true;
}

struct sf_block *sf_edge_take_extra(struct sf_edge *edge, uint32_t bytes)
{
    if (edge->free_count == 0) sf_edge_collect(edge);
    if (edge->free_count == 0) return NULL;
    struct sf_block *extra = sf_edge_make_extra(edge, bytes);
    bool is_paid = sf_edge_pay(edge, extra);
    assert(is_paid);
    (void)is_paid;
    return extra;
}

void sf_edge_untake(struct sf_edge *edge, struct sf_block *block)
{
    bool has_credit = !block->is_extra || block->is_paid;
    if (block->is_extra) {
        free_extra(edge, block);
    } else {
        block->next = edge->free_blocks;
        edge->free_blocks = block;
    }
    if (!has_credit) return;
    edge->free_count++;
    assert(edge->free_count <= edge->data_blocks);
}

void sf_edge_push(struct sf_edge *edge, const struct sf_msg *msg)
{
    assert(edge->pushed - atomic_load_explicit(&edge->popped, memory_order_acquire) <= edge->mask);
    if (msg->block != NULL) msg->block->is_awaited = 2 * edge->free_count <= edge->data_blocks;
    edge->ring[edge->pushed & edge->mask] = *msg;
    edge->pushed++;
    atomic_store_explicit(&edge->written, edge->pushed, memory_order_release);
    sf_waker_wake(edge->to_consumer);
}

const struct sf_msg *sf_edge_peek(struct sf_edge *edge, uint32_t generation)
{
    while (sf_port_visible(&edge->in) > 0) {
        const struct sf_msg *msg = &edge->ring[edge->in.consumed & edge->mask];
        if (msg->generation == generation) return msg;
        if (msg->generation > generation) return NULL;
        struct sf_block *block = msg->block;
        sf_edge_pop(edge);
        if (block != NULL) sf_edge_give_back(edge, block);
    }
    return NULL;
}

void sf_edge_pop(struct sf_edge *edge)
{
    assert(sf_port_visible(&edge->in) > 0);
    edge->in.consumed++;
    atomic_store_explicit(&edge->popped, edge->in.consumed, memory_order_release);
}

void sf_edge_give_back(struct sf_edge *edge, struct sf_block *block)
{
    bool is_awaited = block->is_awaited; /* read before it is the producer's again */
    edge->return_ring[edge->given_back & edge->mask] = block;
    edge->given_back++;
    atomic_store_explicit(&edge->returned, edge->given_back, memory_order_release);
    if (is_awaited) sf_waker_wake(edge->to_producer);
}
