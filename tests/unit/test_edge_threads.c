/* The edge between two real threads: order, credit and contents, at full speed, with blocks held for a while. */
/* ctest: threads */
#include "tests/check.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "core/run/edge.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MESSAGE_COUNT 100000u
#else
#define MESSAGE_COUNT 1000000u
#endif
#define CONTROL_EVERY 97u /* one control message at most is under way: the next waits for the answer */
#define HELD_MAX 3u

struct ends {
    struct sf_edge *edge;
    _Atomic uint32_t answered; /* control messages that the consumer has taken */
    uint32_t wrong;            /* the consumer's */
    uint32_t data_received, control_received;
};

static bool is_control(uint32_t i)
{
    return i % CONTROL_EVERY == CONTROL_EVERY - 1;
}

static bool send_one(struct ends *ends, uint32_t i, uint32_t *control_sent)
{
    if (is_control(i)) {
        if (atomic_load(&ends->answered) != *control_sent) return false;
        (*control_sent)++;
        sf_edge_push(ends->edge, &(struct sf_msg){.kind = SF_MSG_BARRIER, .generation = 1, .value = i});
        return true;
    }
    bool is_large = i % 1000 == 500;
    struct sf_block *block = is_large ? sf_edge_take_extra(ends->edge, 4096) : sf_edge_take(ends->edge);
    if (block == NULL) return false;
    uint32_t words = block->capacity / 4;
    for (uint32_t w = 0; w < words; w += 7) memcpy(block->data + 4 * w, &i, sizeof i);
    block->used = block->capacity;
    sf_edge_push(ends->edge, &(struct sf_msg){.kind = SF_MSG_RECORDS, .generation = 1, .value = i, .block = block});
    return true;
}

static void *produce(void *arg)
{
    struct ends *ends = arg;
    uint32_t control_sent = 0;
    for (uint32_t i = 0; i < MESSAGE_COUNT;) {
        (void)sf_port_latch(&ends->edge->back, UINT32_MAX);
        uint32_t before = i;
        while (i < MESSAGE_COUNT && send_one(ends, i, &control_sent)) i++;
        if (i == before) (void)sched_yield();
    }
    return NULL;
}

static void check_block(struct ends *ends, const struct sf_block *block, uint32_t i)
{
    uint32_t words = block->used / 4;
    for (uint32_t w = 0; w < words; w += 7) {
        uint32_t value;
        memcpy(&value, block->data + 4 * w, sizeof value);
        ends->wrong += value != i;
    }
}

/* Blocks that the consumer keeps for a while. Newest first: they come back in another order than they came. */
struct held {
    uint32_t count;
    struct sf_block *blocks[HELD_MAX];
    uint32_t messages[HELD_MAX];
};

static void give_back_newest(struct ends *ends, struct held *held)
{
    held->count--;
    check_block(ends, held->blocks[held->count], held->messages[held->count]);
    sf_edge_give_back(ends->edge, held->blocks[held->count]);
}

static void *consume(void *arg)
{
    struct ends *ends = arg;
    struct held held = {.count = 0};
    for (uint32_t i = 0; i < MESSAGE_COUNT;) {
        if (sf_port_latch(&ends->edge->in, 1 + i % 5) == 0) (void)sched_yield();
        for (const struct sf_msg *msg; (msg = sf_edge_peek(ends->edge, 1)) != NULL; i++) {
            struct sf_block *block = msg->block;
            ends->wrong += msg->value != (int64_t)i;
            ends->wrong += (block == NULL) != is_control(i);
            sf_edge_pop(ends->edge);
            if (block == NULL) {
                ends->control_received++;
                atomic_fetch_add(&ends->answered, 1);
                continue;
            }
            ends->data_received++;
            held.blocks[held.count] = block;
            held.messages[held.count] = i;
            held.count++;
            if (held.count == HELD_MAX) give_back_newest(ends, &held);
        }
        while (held.count > 0 && (i % 3 != 0 || i == MESSAGE_COUNT)) give_back_newest(ends, &held);
    }
    return NULL;
}

static void run_ends(uint32_t data_blocks)
{
    struct sf_edge *edge = aligned_alloc(128, (sizeof *edge + 127) / 128 * 128);
    CHECK(edge != NULL);
    sf_edge_init(edge, &(struct sf_edge_config){.alloc = sf_alloc_libc(),
                                                .data_blocks = data_blocks,
                                                .block_bytes = 256,
                                                .control_slots = 1});
    struct ends ends = {.edge = edge};
    atomic_init(&ends.answered, 0);
    pthread_t producer;
    CHECK_EQ(pthread_create(&producer, NULL, produce, &ends), 0);
    (void)consume(&ends);
    CHECK_EQ(pthread_join(producer, NULL), 0);
    CHECK_EQ(ends.wrong, 0);
    CHECK_EQ(ends.control_received, MESSAGE_COUNT / CONTROL_EVERY);
    CHECK_EQ(ends.data_received, MESSAGE_COUNT - MESSAGE_COUNT / CONTROL_EVERY);
    (void)sf_port_latch(&edge->back, UINT32_MAX);
    sf_edge_collect(edge);
    CHECK_EQ(sf_edge_credit(edge), data_blocks);
    sf_edge_deinit(edge);
    free(edge);
}

static void two_threads_pass_every_message_once_in_order(void **state)
{
    (void)state;
    run_ends(8);
}

static void an_edge_of_three_blocks_passes_every_message_too(void **state)
{
    (void)state;
    run_ends(HELD_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_threads_pass_every_message_once_in_order),
        cmocka_unit_test(an_edge_of_three_blocks_passes_every_message_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
