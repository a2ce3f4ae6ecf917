/* The world's queue: one total order, ranks by key, cancels, time that jumps, instances that die at a command. */
#include "tests/check.h"

#include "sim/events.h"
#include "sim/random.h"
#include "sim/world.h"

struct trace {
    char text[256];
    size_t len;
};

struct mark {
    struct trace *trace;
    char letter;
    struct sf_sim_world *world;
};

static void mark_run(void *ctx)
{
    struct mark *mark = ctx;
    CHECK(mark->trace->len + 1 < sizeof mark->trace->text);
    mark->trace->text[mark->trace->len++] = mark->letter;
}

static void mark_chain(void *ctx)
{
    struct mark *mark = ctx;
    mark_run(ctx);
    if (mark->letter < 'd') {
        mark->letter++;
        (void)sf_sim_world_after(mark->world, 0, 1, mark_chain, mark);
    }
}

/* Eight events of four keys on one instant, under `seed`. */
static struct trace run_ties(uint64_t seed, bool is_fifo)
{
    struct trace trace = {{0}, 0};
    struct sf_sim_events events;
    sf_sim_events_init(&events, sf_alloc_libc(), seed, is_fifo);
    struct mark marks[8];
    for (uint32_t i = 0; i < 8; i++) {
        marks[i] = (struct mark){.trace = &trace, .letter = (char)('a' + i)};
        (void)sf_sim_events_schedule(&events, 100, i % 4, mark_run, &marks[i]);
    }
    CHECK_EQ(sf_sim_events_run_due(&events, 99), 0);
    CHECK_EQ(sf_sim_events_run_due(&events, 100), 8);
    sf_sim_events_deinit(&events);
    return trace;
}

static void equal_times_of_one_key_keep_their_order(void **state)
{
    (void)state;
    bool is_other_order_seen = false;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct trace trace = run_ties(seed, false);
        for (char key = 'a'; key < 'e'; key++)
            CHECK(strchr(trace.text, key) < strchr(trace.text, key + 4));
        if (strcmp(trace.text, "abcdefgh") != 0) is_other_order_seen = true;
        CHECK_STR(run_ties(seed, false).text, trace.text);
    }
    CHECK(is_other_order_seen);
}

static void exact_queue_keeps_the_order_of_scheduling(void **state)
{
    (void)state;
    CHECK_STR(run_ties(7, true).text, "abcdefgh");
}

static void events_come_by_time_and_cancelled_ones_never(void **state)
{
    (void)state;
    struct trace trace = {{0}, 0};
    struct sf_sim_events events;
    sf_sim_events_init(&events, sf_alloc_libc(), 1, true);
    struct mark marks[200];
    uint64_t ids[200];
    for (uint32_t i = 0; i < 200; i++) {
        marks[i] = (struct mark){.trace = &trace, .letter = (char)('A' + i % 26)};
        ids[i] = sf_sim_events_schedule(&events, (int64_t)(i * 7919 % 1000), 0, mark_run, &marks[i]);
    }
    for (uint32_t i = 0; i < 200; i++)
        if (i % 2 == 1) CHECK(sf_sim_events_cancel(&events, ids[i]));
    CHECK(!sf_sim_events_cancel(&events, ids[1]));
    CHECK(!sf_sim_events_cancel(&events, SF_SIM_EVENT_NONE));
    int64_t last = -1;
    uint32_t count = 0;
    while (events.count > 0) {
        int64_t at = sf_sim_events_next_us(&events);
        CHECK(at >= last);
        last = at;
        CHECK(sf_sim_events_run_one(&events, at));
        count++;
    }
    CHECK_EQ(count, 100);
    CHECK_EQ(sf_sim_events_next_us(&events), INT64_MAX);
    CHECK(!sf_sim_events_cancel(&events, ids[0])); /* it ran, its slot may be in use again */
    sf_sim_events_deinit(&events);
}

static void world_jumps_and_runs_what_an_event_adds_for_now(void **state)
{
    (void)state;
    struct trace trace = {{0}, 0};
    struct sf_sim_world world;
    sf_sim_world_init(&world, &(struct sf_sim_world_config){.seed = 3, .wall_start_ms = 1700000000000});
    CHECK(world.mono_us >= INT64_C(1000000000000));
    struct sf_clock clock = sf_sim_world_clock(&world);
    CHECK_EQ(sf_clock_wall(clock).ms, 1700000000000);
    struct mark mark = {.trace = &trace, .letter = 'a', .world = &world};
    (void)sf_sim_world_after(&world, 5000000, 1, mark_chain, &mark);
    CHECK(sf_sim_world_advance(&world, INT64_MAX));
    CHECK_EQ(sf_sim_world_elapsed_us(&world), 5000000);
    CHECK_EQ(sf_sim_world_run_due(&world), 4);
    CHECK_STR(trace.text, "abcd");
    CHECK(!sf_sim_world_advance(&world, INT64_MAX));
    int64_t mono = world.mono_us;
    sf_sim_world_wall_jump(&world, -30000000);
    CHECK_EQ(sf_clock_wall(clock).ms, 1700000000000 + 5000 - 30000);
    CHECK_EQ(sf_clock_mono(clock).us, mono);
    sf_sim_world_deinit(&world);
}

static void commands_from_the_planned_one_on_are_swallowed(void **state)
{
    (void)state;
    struct sf_sim_world world;
    sf_sim_world_init(&world, &(struct sf_sim_world_config){.seed = 3});
    struct sf_sim_instance *first = sf_sim_instance_new(&world), *second = sf_sim_instance_new(&world);
    sf_sim_instance_crash_at(first, 3, SF_SIM_CRASH_GIVEN);
    CHECK_EQ(sf_sim_command(first, SF_SIM_COMMAND_WRITE), SF_SIM_FATE_NORMAL);
    CHECK_EQ(sf_sim_command(first, SF_SIM_COMMAND_WRITE), SF_SIM_FATE_NORMAL);
    CHECK_EQ(sf_sim_command(first, SF_SIM_COMMAND_COMMIT), SF_SIM_FATE_SWALLOW);
    CHECK(first->is_dead);
    CHECK_EQ(sf_sim_command(first, SF_SIM_COMMAND_WRITE), SF_SIM_FATE_SWALLOW);
    sf_sim_instance_crash_at(second, 1, SF_SIM_CRASH_APPLIED);
    CHECK_EQ(sf_sim_command(second, SF_SIM_COMMAND_COMMIT), SF_SIM_FATE_DIE_APPLIED);
    CHECK(!second->is_dead); /* the model kills it when the effect is there */
    void *block = sf_malloc(sf_sim_instance_alloc(first), 100);
    CHECK(block != NULL);
    CHECK_EQ(first->heap.bytes, 100);
    CHECK_EQ(first->heap.blocks, 1);
    sf_sim_instance_destroy(first); /* drops the block too */
    sf_sim_world_deinit(&world);
}

static void draws_depend_on_every_part_of_their_key(void **state)
{
    (void)state;
    uint64_t draw = sf_sim_draw(1, 2, 3, 4);
    CHECK(draw == sf_sim_draw(1, 2, 3, 4));
    CHECK(draw != sf_sim_draw(2, 2, 3, 4));
    CHECK(draw != sf_sim_draw(1, 3, 3, 4));
    CHECK(draw != sf_sim_draw(1, 2, 4, 4));
    CHECK(draw != sf_sim_draw(1, 2, 3, 5));
    uint32_t hits = 0;
    bool is_low_seen = false, is_high_seen = false;
    for (uint64_t i = 0; i < 10000; i++) {
        hits += sf_sim_chance(sf_sim_draw(9, 1, 1, i), 250000) ? 1u : 0u;
        int64_t value = sf_sim_range(sf_sim_draw(9, 1, 2, i), -3, 3);
        CHECK(value >= -3 && value <= 3);
        is_low_seen |= value == -3;
        is_high_seen |= value == 3;
    }
    CHECK(hits > 2300 && hits < 2700);
    CHECK(is_low_seen && is_high_seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_times_of_one_key_keep_their_order),
        cmocka_unit_test(exact_queue_keeps_the_order_of_scheduling),
        cmocka_unit_test(events_come_by_time_and_cancelled_ones_never),
        cmocka_unit_test(world_jumps_and_runs_what_an_event_adds_for_now),
        cmocka_unit_test(commands_from_the_planned_one_on_are_swallowed),
        cmocka_unit_test(draws_depend_on_every_part_of_their_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
