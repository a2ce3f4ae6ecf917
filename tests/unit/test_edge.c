/* The edge alone: credit, order, control places, extra blocks, generations, wrapping counts. */
#include "tests/check.h"

#include "core/run/edge.h"
#include "sim/heap.h"

struct wire {
    struct sf_sim_heap heap;
    struct sf_edge edge;
    uint32_t to_consumer, to_producer; /* wakes */
};

static void count_wake(void *self, uint32_t task_id)
{
    struct wire *wire = self;
    if (task_id == 1)
        wire->to_consumer++;
    else
        wire->to_producer++;
}

static void wire_init(struct wire *wire, uint32_t data_blocks, uint32_t control_slots)
{
    memset(wire, 0, sizeof *wire);
    sf_sim_heap_init(&wire->heap);
    sf_edge_init(&wire->edge, &(struct sf_edge_config){.alloc = sf_sim_heap_alloc(&wire->heap),
                                                       .data_blocks = data_blocks,
                                                       .block_bytes = 64,
                                                       .control_slots = control_slots});
    wire->edge.to_consumer = (struct sf_waker){.wake = count_wake, .self = wire, .task_id = 1};
    wire->edge.to_producer = (struct sf_waker){.wake = count_wake, .self = wire, .task_id = 2};
}

static void wire_deinit(struct wire *wire)
{
    sf_edge_deinit(&wire->edge);
    CHECK_EQ(wire->heap.blocks, 0);
}

static void latch_all(struct wire *wire)
{
    (void)sf_port_latch(&wire->edge.in, UINT32_MAX);
    (void)sf_port_latch(&wire->edge.back, UINT32_MAX);
}

static void push_data(struct wire *wire, struct sf_block *block, int64_t value, uint32_t generation)
{
    CHECK(block != NULL);
    memcpy(block->data, &value, sizeof value);
    block->used = sizeof value;
    block->count = 1;
    sf_edge_push(&wire->edge,
                 &(struct sf_msg){.kind = SF_MSG_RECORDS, .generation = generation, .value = value, .block = block});
}

static void push_control(struct wire *wire, int64_t value, uint32_t generation)
{
    sf_edge_push(&wire->edge, &(struct sf_msg){.kind = SF_MSG_BARRIER, .generation = generation, .value = value});
}

/* The block of the next message, which must be the one with `value`; NULL for control. */
static struct sf_block *pop(struct wire *wire, int64_t value, uint32_t generation)
{
    const struct sf_msg *msg = sf_edge_peek(&wire->edge, generation);
    CHECK(msg != NULL);
    CHECK_EQ(msg->value, value);
    CHECK(sf_edge_peek(&wire->edge, generation) == msg); /* looking takes nothing */
    struct sf_block *block = msg->block;
    sf_edge_pop(&wire->edge);
    return block;
}

static void data_waits_for_credit_and_control_does_not_l5(void **state)
{
    (void)state;
    struct wire wire;
    wire_init(&wire, 2, 2);
    CHECK_EQ(sf_edge_credit(&wire.edge), 2);
    push_data(&wire, sf_edge_take(&wire.edge), 1, 1);
    push_data(&wire, sf_edge_take(&wire.edge), 2, 1);
    CHECK_EQ(sf_edge_credit(&wire.edge), 0);
    CHECK(sf_edge_take(&wire.edge) == NULL);
    CHECK(sf_edge_take_extra(&wire.edge, 1000) == NULL);
    push_control(&wire, 3, 1);
    push_control(&wire, 4, 1);
    latch_all(&wire);
    struct sf_block *first = pop(&wire, 1, 1);
    struct sf_block *second = pop(&wire, 2, 1);
    CHECK(pop(&wire, 3, 1) == NULL);
    CHECK(pop(&wire, 4, 1) == NULL);
    CHECK(sf_edge_peek(&wire.edge, 1) == NULL);
    sf_edge_give_back(&wire.edge, second); /* in any order */
    sf_edge_give_back(&wire.edge, first);
    CHECK(sf_edge_take(&wire.edge) == NULL); /* not latched: not seen */
    latch_all(&wire);
    struct sf_block *again = sf_edge_take(&wire.edge);
    CHECK(again == first || again == second);
    CHECK_EQ(again->used, 0);
    CHECK_EQ(again->count, 0);
    CHECK_EQ(again->capacity, 64);
    CHECK_EQ(sf_edge_credit(&wire.edge), 1);
    sf_edge_untake(&wire.edge, again);
    CHECK_EQ(sf_edge_credit(&wire.edge), 2);
    wire_deinit(&wire);
}

static void blocks_are_made_when_none_is_free_and_used_again(void **state)
{
    (void)state;
    struct wire wire;
    wire_init(&wire, 8, 2);
    uint64_t bytes = wire.heap.bytes;
    for (int i = 0; i < 5; i++) {
        push_data(&wire, sf_edge_take(&wire.edge), i, 1);
        latch_all(&wire);
        sf_edge_give_back(&wire.edge, pop(&wire, i, 1));
        latch_all(&wire);
    }
    CHECK_EQ(wire.edge.made_count, 1); /* one under way at a time: one is all there is */
    CHECK(wire.heap.bytes - bytes < 2 * (64 + sizeof(struct sf_block)));
    struct sf_block *blocks[8];
    for (uint32_t i = 0; i < 8; i++) {
        blocks[i] = sf_edge_take(&wire.edge);
        CHECK_EQ(blocks[i]->index, i);
    }
    CHECK(sf_edge_take(&wire.edge) == NULL);
    for (uint32_t i = 0; i < 8; i++) sf_edge_untake(&wire.edge, blocks[i]);
    CHECK_EQ(sf_edge_credit(&wire.edge), 8);
    wire_deinit(&wire);
}

static void a_step_sees_no_more_than_was_latched(void **state)
{
    (void)state;
    struct wire wire;
    wire_init(&wire, 3, 1);
    for (int64_t i = 1; i <= 3; i++) push_data(&wire, sf_edge_take(&wire.edge), i, 1);
    CHECK(sf_edge_peek(&wire.edge, 1) == NULL);
    CHECK_EQ(sf_port_latch(&wire.edge.in, 2), 2);
    struct sf_block *blocks[3] = {pop(&wire, 1, 1), pop(&wire, 2, 1), NULL};
    CHECK(sf_edge_peek(&wire.edge, 1) == NULL);
    CHECK_EQ(sf_port_latch(&wire.edge.in, 0), 0);
    CHECK(sf_edge_peek(&wire.edge, 1) == NULL);
    CHECK_EQ(sf_port_latch(&wire.edge.in, 2), 1);
    blocks[2] = pop(&wire, 3, 1);
    for (uint32_t i = 0; i < 3; i++) sf_edge_give_back(&wire.edge, blocks[i]);
    CHECK_EQ(sf_port_latch(&wire.edge.back, 1), 1);
    sf_edge_collect(&wire.edge);
    CHECK_EQ(sf_edge_credit(&wire.edge), 1);
    wire_deinit(&wire);
}

static void every_push_and_the_return_of_the_last_credit_wake_the_other_end(void **state)
{
    (void)state;
    struct wire wire;
    wire_init(&wire, 1, 1);
    push_data(&wire, sf_edge_take(&wire.edge), 1, 1);
    push_control(&wire, 2, 1);
    CHECK_EQ(wire.to_consumer, 2);
    latch_all(&wire);
    struct sf_block *block = pop(&wire, 1, 1);
    CHECK_EQ(wire.to_producer, 0);
    sf_edge_give_back(&wire.edge, block);
    CHECK_EQ(wire.to_producer, 1);
    wire_deinit(&wire);
}

static void a_block_wakes_its_producer_only_where_half_of_the_credit_was_out(void **state)
{
    (void)state;
    struct wire wire;
    struct sf_block *blocks[4];
    wire_init(&wire, 4, 1);
    for (int64_t i = 0; i < 4; i++) push_data(&wire, sf_edge_take(&wire.edge), i, 1);
    latch_all(&wire);
    for (uint32_t i = 0; i < 4; i++) blocks[i] = pop(&wire, i, 1);
    sf_edge_give_back(&wire.edge, blocks[0]); /* 3 were left */
    CHECK_EQ(wire.to_producer, 0);
    for (uint32_t i = 1; i < 4; i++) sf_edge_give_back(&wire.edge, blocks[i]);
    CHECK_EQ(wire.to_producer, 3);
    latch_all(&wire);
    sf_edge_collect(&wire.edge);
    push_data(&wire, sf_edge_take(&wire.edge), 4, 1); /* credit is there again, and the block is not awaited now */
    latch_all(&wire);
    sf_edge_give_back(&wire.edge, pop(&wire, 4, 1));
    CHECK_EQ(wire.to_producer, 3);
    wire_deinit(&wire);
}

static void an_extra_block_costs_a_credit_and_is_freed_when_it_comes_back(void **state)
{
    (void)state;
    struct wire wire;
    wire_init(&wire, 1, 1);
    uint64_t bytes = wire.heap.bytes;
    struct sf_block *extra = sf_edge_take_extra(&wire.edge, 5000);
    CHECK(extra != NULL);
    CHECK_EQ(extra->capacity, 5000);
    CHECK_EQ(sf_edge_credit(&wire.edge), 0);
    CHECK(wire.heap.bytes >= bytes + 5000);
    push_data(&wire, extra, 1, 1);
    latch_all(&wire);
    CHECK(pop(&wire, 1, 1) == extra);
    sf_edge_give_back(&wire.edge, extra);
    latch_all(&wire);
    sf_edge_collect(&wire.edge);
    CHECK_EQ(wire.heap.bytes, bytes);
    CHECK_EQ(sf_edge_credit(&wire.edge), 1);
    extra = sf_edge_take_extra(&wire.edge, 100);
    sf_edge_untake(&wire.edge, extra);
    CHECK_EQ(wire.heap.bytes, bytes);
    CHECK_EQ(sf_edge_credit(&wire.edge), 1);
    wire_deinit(&wire);
}

static void an_edge_that_ends_frees_what_travels_x13(void **state)
{
    (void)state;
    struct wire wire;
    wire_init(&wire, 3, 1);
    for (int64_t i = 1; i <= 3; i++) push_data(&wire, sf_edge_take_extra(&wire.edge, 100), i, 1);
    latch_all(&wire);
    sf_edge_give_back(&wire.edge, pop(&wire, 1, 1));
    wire_deinit(&wire); /* one on its way back, two on their way there */
}

static void older_messages_are_dropped_and_newer_ones_wait(void **state)
{
    (void)state;
    struct wire wire;
    wire_init(&wire, 4, 2);
    push_data(&wire, sf_edge_take(&wire.edge), 1, 1);
    push_control(&wire, 2, 1);
    push_data(&wire, sf_edge_take(&wire.edge), 3, 1);
    push_data(&wire, sf_edge_take(&wire.edge), 4, 2);
    push_control(&wire, 5, 2);
    latch_all(&wire);
    struct sf_block *block = pop(&wire, 1, 1);
    CHECK_EQ(wire.to_producer, 0);
    struct sf_block *newer = pop(&wire, 4, 2); /* 2 and 3 are gone, and the block of 3 is back */
    CHECK_EQ(wire.to_producer, 1);
    CHECK(pop(&wire, 5, 2) == NULL);
    push_data(&wire, sf_edge_take(&wire.edge), 6, 3);
    latch_all(&wire);
    CHECK(sf_edge_peek(&wire.edge, 2) == NULL);
    CHECK_EQ(sf_port_visible(&wire.edge.in), 1); /* it is still there */
    struct sf_block *newest = pop(&wire, 6, 3);
    sf_edge_give_back(&wire.edge, block);
    sf_edge_give_back(&wire.edge, newer);
    sf_edge_give_back(&wire.edge, newest);
    latch_all(&wire);
    sf_edge_collect(&wire.edge);
    CHECK_EQ(sf_edge_credit(&wire.edge), 4);
    wire_deinit(&wire);
}

static void counts_wrap_without_a_seam(void **state)
{
    (void)state;
    struct wire wire;
    wire_init(&wire, 3, 1);
    uint32_t start = UINT32_MAX - 4;
    wire.edge.pushed = wire.edge.in.consumed = wire.edge.in.latched = start;
    wire.edge.given_back = wire.edge.back.consumed = wire.edge.back.latched = start;
    atomic_store(&wire.edge.written, start);
    atomic_store(&wire.edge.popped, start);
    atomic_store(&wire.edge.returned, start);
    for (int64_t i = 0; i < 40; i += 2) {
        latch_all(&wire);
        push_data(&wire, sf_edge_take(&wire.edge), i, 1);
        push_data(&wire, sf_edge_take(&wire.edge), i + 1, 1);
        latch_all(&wire);
        struct sf_block *first = pop(&wire, i, 1);
        struct sf_block *second = pop(&wire, i + 1, 1);
        CHECK(sf_edge_peek(&wire.edge, 1) == NULL);
        sf_edge_give_back(&wire.edge, second);
        sf_edge_give_back(&wire.edge, first);
    }
    CHECK_EQ(wire.edge.pushed, start + 40u);
    latch_all(&wire);
    sf_edge_collect(&wire.edge);
    CHECK_EQ(sf_edge_credit(&wire.edge), 3);
    wire_deinit(&wire);
}

static void an_edge_for_control_alone_has_no_blocks(void **state)
{
    (void)state;
    struct wire wire;
    wire_init(&wire, 0, 3);
    CHECK(sf_edge_take(&wire.edge) == NULL);
    for (int64_t round = 0; round < 10; round++) {
        for (int64_t i = 0; i < 3; i++) push_control(&wire, round * 3 + i, 1);
        latch_all(&wire);
        for (int64_t i = 0; i < 3; i++) CHECK(pop(&wire, round * 3 + i, 1) == NULL);
    }
    wire_deinit(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_waits_for_credit_and_control_does_not_l5),
        cmocka_unit_test(blocks_are_made_when_none_is_free_and_used_again),
        cmocka_unit_test(a_step_sees_no_more_than_was_latched),
        cmocka_unit_test(every_push_and_the_return_of_the_last_credit_wake_the_other_end),
        cmocka_unit_test(a_block_wakes_its_producer_only_where_half_of_the_credit_was_out),
        cmocka_unit_test(an_extra_block_costs_a_credit_and_is_freed_when_it_comes_back),
        cmocka_unit_test(an_edge_that_ends_frees_what_travels_x13),
        cmocka_unit_test(older_messages_are_dropped_and_newer_ones_wait),
        cmocka_unit_test(counts_wrap_without_a_seam),
        cmocka_unit_test(an_edge_for_control_alone_has_no_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
