/*
 * The edge under every schedule of a small scenario. Producer and consumer are step functions; a schedule is a list of
 * choices, one per step:
 *
 *     who steps, how many messages its port's latch shows (0 … all), how many units it may do (1 or all), and, for the
 *     consumer, which of the blocks it holds it gives back (none, the oldest, the newest, all)
 *
 * The explorer walks breadth first. A state that was seen (the same counts, the same blocks held, the same program
 * positions) is not walked again; a new state is reached by running its schedule from the start, so nothing needs to
 * be copied. In every state: order, contents and credit are right, and running both ends without limits from
 * there ends the scenario (no deadlock, nothing lost).
 */
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/hash.h"
#include "core/run/edge.h"
#include "sim/heap.h"

#define MESSAGES_MAX 8u
#define DEPTH_MAX 48u
#define STATES_MAX 200000u
#define SEEN_SLOTS (1u << 19)

/* d data, x an extra block, c control, g the producer falls back: from here on a newer generation. */
struct scenario {
    const char *program;
    uint32_t data_blocks;
    uint32_t control_slots;
};

struct run {
    const struct scenario *scenario;
    struct sf_sim_heap heap;
    struct sf_edge edge;
    uint32_t position; /* of the producer in the program */
    uint32_t producer_generation;
    uint32_t generation; /* the consumer's */
    uint32_t last_seen;  /* position of the message consumed last, plus 1 */
    uint32_t received[3]; /* per generation */
    uint32_t held_count;
    struct sf_block *held[MESSAGES_MAX];
};

enum give_back { GIVE_NONE, GIVE_OLDEST, GIVE_NEWEST, GIVE_ALL, GIVE_COUNT };

struct choice {
    uint8_t is_consumer;
    uint8_t limit;
    uint8_t is_one_unit;
    uint8_t give;
    uint8_t falls_back; /* the consumer takes the new generation first */
};

struct path {
    uint8_t len;
    struct choice choices[DEPTH_MAX];
};

static void run_init(struct run *run, const struct scenario *scenario)
{
    memset(run, 0, sizeof *run);
    run->scenario = scenario;
    run->producer_generation = run->generation = 1;
    sf_sim_heap_init(&run->heap);
    sf_edge_init(&run->edge, &(struct sf_edge_config){.alloc = sf_sim_heap_alloc(&run->heap),
                                                      .data_blocks = scenario->data_blocks,
                                                      .block_bytes = 16,
                                                      .control_slots = scenario->control_slots});
}

static void run_deinit(struct run *run)
{
    for (uint32_t i = 0; i < run->held_count; i++) sf_edge_give_back(&run->edge, run->held[i]);
    sf_edge_deinit(&run->edge);
    CHECK_EQ(run->heap.blocks, 0);
}

/* ---------------------------------------------------------------- the two step functions */

static bool produce_one(struct run *run)
{
    char what = run->scenario->program[run->position];
    struct sf_msg msg = {.kind = SF_MSG_RECORDS, .generation = run->producer_generation, .value = run->position};
    switch (what) {
    case '\0': return false;
    case 'g': run->producer_generation++; break;
    case 'c':
        msg.kind = SF_MSG_BARRIER;
        sf_edge_push(&run->edge, &msg);
        break;
    default:
        msg.block = what == 'x' ? sf_edge_take_extra(&run->edge, 100) : sf_edge_take(&run->edge);
        if (msg.block == NULL) return false;
        memcpy(msg.block->data, &run->position, sizeof run->position);
        sf_edge_push(&run->edge, &msg);
        break;
    }
    run->position++;
    return true;
}

static bool consume_one(struct run *run)
{
    const struct sf_msg *msg = sf_edge_peek(&run->edge, run->generation);
    if (msg == NULL) return false;
    CHECK_EQ(msg->generation, run->generation);
    CHECK(msg->value >= (int64_t)run->last_seen); /* in order, none twice */
    run->last_seen = (uint32_t)msg->value + 1;
    run->received[run->generation]++;
    struct sf_block *block = msg->block;
    CHECK_EQ(block == NULL, run->scenario->program[msg->value] == 'c');
    if (block != NULL) {
        uint32_t content;
        memcpy(&content, block->data, sizeof content);
        CHECK_EQ(content, msg->value);
        run->held[run->held_count] = block;
        run->held_count++;
    }
    sf_edge_pop(&run->edge);
    return true;
}

static void give_back_at(struct run *run, uint32_t at)
{
    struct sf_block *block = run->held[at];
    run->held_count--;
    memmove(&run->held[at], &run->held[at + 1], (run->held_count - at) * sizeof block);
    sf_edge_give_back(&run->edge, block);
}

static void give_back(struct run *run, enum give_back how)
{
    if (run->held_count == 0 || how == GIVE_NONE) return;
    if (how == GIVE_NEWEST) give_back_at(run, run->held_count - 1);
    if (how == GIVE_OLDEST) give_back_at(run, 0);
    while (how == GIVE_ALL && run->held_count > 0) give_back_at(run, 0);
}

static bool step(struct run *run, struct choice choice)
{
    struct sf_port *port = choice.is_consumer ? &run->edge.in : &run->edge.back;
    bool has_moved = false;
    uint32_t consumed = run->edge.in.consumed;
    (void)sf_port_latch(port, choice.limit);
    if (choice.falls_back && run->generation < run->producer_generation) {
        run->generation++;
        has_moved = true;
    }
    while (choice.is_consumer ? consume_one(run) : produce_one(run)) {
        has_moved = true;
        if (choice.is_one_unit) break;
    }
    if (choice.is_consumer) {
        has_moved = has_moved || run->edge.in.consumed != consumed; /* dropped what was too old */
        has_moved = has_moved || (run->held_count > 0 && choice.give != GIVE_NONE);
        give_back(run, choice.give);
    }
    return has_moved;
}

/* ---------------------------------------------------------------- what must hold in every state */

/* A block is in one place: free, on the ring, held, or on the way back. */
static void check_credit(const struct run *run)
{
    const struct sf_edge *edge = &run->edge;
    uint32_t on_ring = 0;
    for (uint32_t i = edge->in.consumed; i != edge->pushed; i++) on_ring += edge->ring[i & edge->mask].block != NULL;
    uint32_t on_way_back = edge->given_back - edge->back.consumed;
    CHECK_EQ(edge->free_count + on_ring + run->held_count + on_way_back, run->scenario->data_blocks);
    for (uint32_t i = 0; i < run->held_count; i++)
        for (uint32_t j = i + 1; j < run->held_count; j++) CHECK(run->held[i] != run->held[j]);
}

/* From here, both ends without limits: the scenario ends, and all that had to come has come. */
static void check_end(struct run *run)
{
    static const struct choice producer = {.limit = UINT8_MAX};
    static const struct choice consumer = {
        .is_consumer = true, .limit = UINT8_MAX, .give = GIVE_ALL, .falls_back = true};
    uint32_t rounds = 0;
    for (bool has_moved = true; has_moved; rounds++) {
        CHECK(rounds <= 4 * MESSAGES_MAX);
        has_moved = step(run, producer);
        has_moved = step(run, consumer) || has_moved;
    }
    const char *program = run->scenario->program;
    CHECK(program[run->position] == '\0');
    CHECK_EQ(run->generation, run->producer_generation);
    uint32_t sent[3] = {0, 0, 0}, generation = 1;
    for (const char *at = program; *at != '\0'; at++) {
        generation += *at == 'g';
        sent[generation] += *at != 'g';
    }
    CHECK_EQ(run->received[generation], sent[generation]); /* older ones may have been dropped */
    for (uint32_t i = 1; i < generation; i++) CHECK(run->received[i] <= sent[i]);
    (void)sf_port_latch(&run->edge.back, UINT32_MAX);
    sf_edge_collect(&run->edge);
    CHECK_EQ(sf_edge_credit(&run->edge), run->scenario->data_blocks);
}

/* ---------------------------------------------------------------- the walk */

/* All that the future depends on: counts, positions, and which messages' blocks are where. */
static uint64_t state_of(const struct run *run)
{
    const struct sf_edge *edge = &run->edge;
    uint32_t words[12 + 2 * MESSAGES_MAX] = {run->position,      run->producer_generation, run->generation,
                                             run->last_seen,     edge->free_count,         edge->pushed,
                                             edge->in.consumed,  edge->given_back,         edge->back.consumed,
                                             run->held_count,    run->received[1],         run->received[2]};
    uint32_t at = 12;
    for (uint32_t i = 0; i < run->held_count; i++) {
        memcpy(&words[at], run->held[i]->data, sizeof words[at]);
        at++;
    }
    for (uint32_t i = edge->back.consumed; i != edge->given_back; i++, at++)
        words[at] = edge->return_ring[i & edge->mask]->is_extra;
    return sf_hash64(words, sizeof words);
}

struct walk {
    const struct scenario *scenario;
    uint64_t *seen; /* open addressing, 0: free */
    struct path *queue;
    uint32_t first, count;
    uint32_t deepest;
};

static bool add_seen(struct walk *walk, uint64_t state)
{
    if (state == 0) state = 1;
    uint32_t at = (uint32_t)(state % SEEN_SLOTS);
    while (walk->seen[at] != 0 && walk->seen[at] != state) at = (at + 1) % SEEN_SLOTS;
    bool is_new = walk->seen[at] == 0;
    walk->seen[at] = state;
    return is_new;
}

static void replay(struct run *run, const struct walk *walk, const struct path *path)
{
    run_init(run, walk->scenario);
    for (uint32_t i = 0; i < path->len; i++) (void)step(run, path->choices[i]);
}

/* One more step; a state that is new is checked and queued. */
static void try_choice(struct walk *walk, const struct path *path, struct choice choice)
{
    struct run run;
    replay(&run, walk, path);
    bool has_moved = step(&run, choice);
    check_credit(&run);
    if (has_moved && add_seen(walk, state_of(&run))) {
        CHECK(walk->count < STATES_MAX && path->len < DEPTH_MAX);
        struct path *longer = &walk->queue[walk->count];
        *longer = *path;
        longer->choices[longer->len] = choice;
        longer->len++;
        if (longer->len > walk->deepest) walk->deepest = longer->len;
        walk->count++;
        check_end(&run);
    }
    run_deinit(&run);
}

static void expand(struct walk *walk, const struct path *path)
{
    struct run run;
    replay(&run, walk, path);
    uint8_t to_return = (uint8_t)(run.edge.given_back - run.edge.back.consumed);
    uint8_t to_read = (uint8_t)(run.edge.pushed - run.edge.in.consumed);
    bool can_fall_back = run.generation < run.producer_generation;
    run_deinit(&run);
    for (uint8_t one = 0; one < 2; one++) {
        for (uint8_t limit = 0; limit <= to_return; limit++)
            try_choice(walk, path, (struct choice){.limit = limit, .is_one_unit = one});
        for (uint8_t limit = 0; limit <= to_read; limit++)
            for (uint8_t give = 0; give < GIVE_COUNT; give++)
                for (uint8_t falls_back = 0; falls_back <= (uint8_t)can_fall_back; falls_back++)
                    try_choice(walk, path, (struct choice){.is_consumer = true,
                                                           .limit = limit,
                                                           .is_one_unit = one,
                                                           .give = give,
                                                           .falls_back = falls_back});
    }
}

static void explore(const struct scenario *scenario)
{
    CHECK(strlen(scenario->program) <= MESSAGES_MAX);
    struct walk walk = {.scenario = scenario,
                        .seen = calloc(SEEN_SLOTS, sizeof(uint64_t)),
                        .queue = calloc(STATES_MAX, sizeof(struct path)),
                        .count = 1};
    CHECK(walk.seen != NULL && walk.queue != NULL);
    struct run run;
    run_init(&run, scenario);
    (void)add_seen(&walk, state_of(&run));
    check_end(&run);
    run_deinit(&run);
    for (; walk.first < walk.count; walk.first++) expand(&walk, &walk.queue[walk.first]);
    print_message("%s over %u blocks: %u states, %u steps deep\n", scenario->program, scenario->data_blocks,
                  walk.count, walk.deepest);
    CHECK(walk.count > 2 * strlen(scenario->program)); /* it did explore */
    free(walk.seen);
    free(walk.queue);
}

/* ---------------------------------------------------------------- scenarios */

static void every_schedule_of_data_keeps_order_and_credit_l5(void **state)
{
    (void)state;
    for (uint32_t blocks = 1; blocks <= 3; blocks++)
        explore(&(struct scenario){.program = "ddddd", .data_blocks = blocks, .control_slots = 0});
}

static void every_schedule_of_control_among_data_ends(void **state)
{
    (void)state;
    for (uint32_t blocks = 1; blocks <= 3; blocks++)
        explore(&(struct scenario){.program = "ddcdcd", .data_blocks = blocks, .control_slots = 2});
}

static void every_schedule_of_extra_blocks_frees_each_once(void **state)
{
    (void)state;
    for (uint32_t blocks = 1; blocks <= 3; blocks++)
        explore(&(struct scenario){.program = "dxcxd", .data_blocks = blocks, .control_slots = 1});
}

static void every_schedule_of_a_fall_back_drops_the_old_and_keeps_the_new(void **state)
{
    (void)state;
    for (uint32_t blocks = 1; blocks <= 3; blocks++)
        explore(&(struct scenario){.program = "dcxgdcd", .data_blocks = blocks, .control_slots = 2});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_of_data_keeps_order_and_credit_l5),
        cmocka_unit_test(every_schedule_of_control_among_data_ends),
        cmocka_unit_test(every_schedule_of_extra_blocks_frees_each_once),
        cmocka_unit_test(every_schedule_of_a_fall_back_drops_the_old_and_keeps_the_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
