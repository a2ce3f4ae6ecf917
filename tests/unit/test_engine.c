/* The whole engine in an exact simulated world: one window from source to sink, and what a crash must not change. */
#include "tests/check.h"
#include <stdio.h>
#include "tests/unit/engine_world.h"

#include "core/note.h"

static const char count_app[] = "application: {id: counts}\n"
                                "sources:\n"
                                "  in: {topic: in, key: string, value: json, watermark: {strategy: "
                                "bounded-out-of-orderness, max-out-of-orderness: 0ms}}\n"
                                "stoatflow: {instance: one, watermark: {idleness-timeout-ms: 0}}\n"
                                "streams:\n"
                                "  - {name: counts, from: in, window: {tumbling: 10ms}, aggregate: {n: count}, emit: "
                                "on-window-close, store: {name: counts, kind: persistent}}\n"
                                "sinks:\n"
                                "  - {from: counts, topic: out, value: json}\n";

#define A_0_10 "a {\"window\":{\"start\":0,\"end\":10},\"n\":1} @5\n"

static void a_window_is_emitted_at_the_second_barrier_and_visible_at_the_third_case_51(void **state)
{
    (void)state;
    struct engine_world w;
    engine_world_init(&w, count_app, 1, 1, 0);
    engine_world_append(&w, 0, "a", 5, "1");
    engine_world_at(&w, 1);
    engine_world_append(&w, 0, "a", 10, "1");
    engine_world_at(&w, 100);
    engine_world_barrier(&w);
    CHECK_EQ(sf_engine_epoch(w.engine), 1);
    CHECK_STR(engine_world_output(&w), "");
    engine_world_at(&w, 200);
    engine_world_barrier(&w);
    CHECK_STR(engine_world_output(&w), "");
    engine_world_at(&w, 300);
    engine_world_barrier(&w);
    CHECK_STR(engine_world_output(&w), A_0_10);
    engine_world_deinit(&w);
}

static void a_crash_around_the_emission_gives_the_window_once_case_58(void **state)
{
    (void)state;
    for (int crash_at = 0; crash_at < 3; crash_at++) {
        struct engine_world w;
        engine_world_init(&w, count_app, 1, 1, 0);
        engine_world_append(&w, 0, "a", 5, "1");
        engine_world_append(&w, 0, "a", 10, "1");
        for (int barrier = 0; barrier < 3; barrier++) {
            engine_world_at(&w, 100 * (barrier + 1));
            engine_world_barrier(&w);
            if (barrier != crash_at) continue;
            engine_world_crash(&w);
            engine_world_start(&w);
        }
        for (int barrier = 0; barrier < 3; barrier++) engine_world_barrier(&w);
        CHECK_STR(engine_world_output(&w), A_0_10);
        engine_world_deinit(&w);
    }
}

static void a_graceful_stop_flushes_what_is_due_and_no_more_case_13(void **state)
{
    (void)state;
    struct engine_world w;
    engine_world_init(&w, count_app, 1, 1, 0);
    engine_world_append(&w, 0, "a", 15, "1");
    engine_world_append(&w, 0, "a", 22, "1");
    engine_world_at(&w, 600);
    engine_world_stop(&w);
    CHECK_STR(engine_world_output(&w), "a {\"window\":{\"start\":10,\"end\":20},\"n\":1} @15\n");
    engine_world_start(&w);
    engine_world_append(&w, 0, "a", 25, "1");
    engine_world_append(&w, 0, "a", 30, "1");
    engine_world_at(&w, 710);
    for (int barrier = 0; barrier < 3; barrier++) engine_world_barrier(&w);
    CHECK_STR(engine_world_output(&w), "a {\"window\":{\"start\":10,\"end\":20},\"n\":1} @15\n"
                                       "a {\"window\":{\"start\":20,\"end\":30},\"n\":2} @25\n");
    engine_world_deinit(&w);
}

static void late_records_are_judged_on_the_lane_floor_case_27(void **state)
{
    (void)state;
    struct engine_world w;
    engine_world_init(&w, count_app, 1, 1, 0);
    engine_world_append(&w, 0, "a", 1, "1");
    engine_world_append(&w, 0, "a", 25, "1");
    engine_world_append(&w, 0, "a", 2, "1");
    engine_world_at(&w, 3);
    engine_world_barrier(&w);
    engine_world_append(&w, 0, "a", 3, "1");
    engine_world_at(&w, 5);
    engine_world_barrier(&w);
    engine_world_barrier(&w);
    CHECK_STR(engine_world_output(&w), "a {\"window\":{\"start\":0,\"end\":10},\"n\":2} @2\n");
    CHECK_EQ(sf_engine_step_counts(w.engine)[0].drops[SF_DROP_LATE_WINDOW], 1);
    engine_world_deinit(&w);
}

static const char regroup_app[] = "application: {id: regroup}\n"
                                  "sources:\n"
                                  "  in: {topic: in, key: string, value: json, watermark: {strategy: "
                                  "bounded-out-of-orderness, max-out-of-orderness: 0ms}}\n"
                                  "stoatflow: {instance: one, watermark: {idleness-timeout-ms: 0}}\n"
                                  "streams:\n"
                                  "  - {name: by-value, from: in, key-by: $.k}\n"
                                  "  - {name: counts, from: by-value, window: {tumbling: 10ms}, aggregate: {n: count}, "
                                  "emit: on-window-close}\n"
                                  "sinks:\n"
                                  "  - {from: counts, topic: out, value: json}\n";

/* 16,384 edges from lane to lane; what stands ready on them must not be what could be under way on all of them. */
static void many_lanes_behind_a_key_change_keep_memory_for_what_is_under_way_l5(void **state)
{
    (void)state;
    struct engine_world w;
    engine_world_init(&w, regroup_app, 1, 128, 0);
    for (int i = 0; i < 20000; i++) { /* from each lane to most others */
        char key[16], value[16];
        (void)snprintf(key, sizeof key, "%d", i / 250);
        (void)snprintf(value, sizeof value, "{\"k\":%d}", i % 250);
        engine_world_append(&w, 0, key, i < 19999 ? 5 : 25, value);
    }
    engine_world_at(&w, 100);
    for (int barrier = 0; barrier < 3; barrier++) engine_world_barrier(&w);
    uint32_t rows = 0;
    for (const char *at = engine_world_output(&w); (at = strchr(at, '\n')) != NULL; at++) rows++;
    CHECK_EQ(rows, 250);
    CHECK(w.instance->heap.bytes_peak < UINT64_C(100) << 20);
    engine_world_deinit(&w);
}

static void a_crash_at_any_protocol_point_gives_every_window_once(void **state)
{
    (void)state;
    static const int points[] = {SF_NOTE_BARRIER_DUE,      SF_NOTE_BARRIER_STAMPED, SF_NOTE_BARRIER_ENQUEUED,
                                 SF_NOTE_LANE_CROSSED,     SF_NOTE_LANE_EMITTED,    SF_NOTE_TXN_BEGUN,
                                 SF_NOTE_TXN_OFFSETS_SENT, SF_NOTE_TXN_END_SENT,    SF_NOTE_TXN_COMMITTED};
    for (size_t point = 0; point < sizeof points / sizeof points[0]; point++) {
        for (int64_t epoch = 1; epoch <= 4; epoch++) {
            struct engine_world w;
            engine_world_init(&w, count_app, 2, 2, 0);
            w.crash_code = points[point];
            w.crash_epoch = epoch;
            bool has_crashed = false;
            for (int64_t t = 0; t < 6; t++) {
                engine_world_append(&w, 0, "a", 10 * t, "1");
                engine_world_append(&w, 1, "b", 10 * t + 1, "1");
                engine_world_at(&w, 100 * (t + 1));
                engine_world_barrier(&w);
                if (!w.instance->is_dead) continue;
                has_crashed = true;
                engine_world_crash(&w);
                engine_world_start(&w);
            }
            for (int barrier = 0; barrier < 4; barrier++) engine_world_barrier(&w);
            CHECK(has_crashed);
            const char *out = engine_world_output(&w);
            int count = 0;
            for (const char *at = out; (at = strchr(at, '\n')) != NULL; at++) count++;
            if (count != 10) fail_msg("point %d epoch %d: %d results\n%s", points[point], (int)epoch, count, out);
            for (int64_t t = 0; t < 5; t++) {
                char row[64];
                snprintf(row, sizeof row, "a {\"window\":{\"start\":%d,\"end\":%d},\"n\":1}", (int)t * 10,
                         (int)t * 10 + 10);
                CHECK(strstr(out, row) != NULL);
            }
            engine_world_deinit(&w);
        }
    }
}

/* A lane that sees less in one step than in the one before must not go on with another edge's block in the middle. */
static void a_block_that_was_begun_is_finished_before_another_l3(void **state)
{
    (void)state;
    static const char app[] = "application: {id: app}\n"
                              "sources:\n"
                              "  in: {topic: in, key: string, value: json, watermark: {strategy: monotonous}}\n"
                              "streams:\n"
                              "  - {name: by-v, from: in, key-by: $}\n"
                              "  - {name: counts, from: by-v, window: {tumbling: 1s}, aggregate: {n: count}}\n"
                              "sinks: [{from: counts, topic: out}]\n";
    struct sf_sim_sched_config sched = sf_sim_sched_config_exact();
    sched.budget_min = sched.budget_max = 3;
    sched.limit_per_million = 500000;
    struct engine_world w;
    engine_world_init_sched(&w, app, 4, 3, &sched);
    static const char *const keys[] = {"a", "b", "c"};
    for (int32_t i = 0; i < 400; i++) engine_world_append(&w, i % 4, keys[i % 3], 5, "1");
    engine_world_at(&w, 1000);
    engine_world_barrier(&w);
    CHECK_EQ(sf_engine_step_counts(w.engine)[1].in, 400);
    CHECK(strstr(engine_world_output(&w), "\"n\":401") == NULL);
    CHECK(strstr(engine_world_output(&w), "\"n\":400") != NULL);
    engine_world_deinit(&w);
}

/* What is sealed may have to wait for a credit; a lane says that it has crossed behind it, not ahead of it. */
static void a_lane_crosses_behind_all_that_it_has_sealed_b6(void **state)
{
    (void)state;
    static const char app[] = "application: {id: app}\n"
                              "sources:\n"
                              "  in: {topic: in, key: string, value: json, watermark: {strategy: monotonous}}\n"
                              "streams:\n"
                              "  - name: counts\n"
                              "    from: in\n"
                              "    window: {tumbling: 10ms}\n"
                              "    aggregate: {n: count}\n"
                              "    emit: on-window-close\n"
                              "sinks: [{from: counts, topic: out}]\n";
    struct sf_sim_sched_config sched = sf_sim_sched_config_exact();
    sched.limit_per_million = 900000; /* credits are seen late */
    struct engine_world w;
    engine_world_init_sched(&w, app, 1, 1, &sched);
    uint64_t barriers = 200;
    for (uint64_t i = 1; i <= barriers; i++) {
        engine_world_append(&w, 0, "a", (int64_t)i * 10, "1");
        engine_world_at(&w, (int64_t)i * 1000);
        engine_world_barrier(&w);
        CHECK_EQ(sf_engine_epoch(w.engine), i);
    }
    engine_world_deinit(&w);
}

/* Commits need the engine's task for nothing, so what they tell it must not pile up while it does not get to run. */
static void an_engine_that_does_not_run_stops_no_commit_and_then_knows_the_newest(void **state)
{
    (void)state;
    static const char app[] = "application: {id: app}\n"
                              "sources: {in: {topic: in, key: string, value: json}}\n"
                              "streams: [{name: c, from: in, window: {tumbling: 10ms}, aggregate: {n: count}}]\n"
                              "sinks: [{from: c, topic: out}]\n";
    struct engine_world w;
    engine_world_init(&w, app, 1, 1, 0);
    sf_sim_sched_hold(w.sched, 0, "engine", w.world.mono_us, w.world.mono_us + 60000);
    for (uint64_t i = 1; i <= 50; i++) {
        engine_world_append(&w, 0, "a", (int64_t)i * 10, "1");
        engine_world_at(&w, (int64_t)i);
        engine_world_barrier(&w);
    }
    CHECK_EQ(sf_engine_epoch(w.engine), 0);
    engine_world_at(&w, 100);
    CHECK_EQ(sf_engine_epoch(w.engine), 50);
    engine_world_stop(&w);
    CHECK_EQ(w.end, SF_END_STOPPED);
    engine_world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_engine_that_does_not_run_stops_no_commit_and_then_knows_the_newest),
        cmocka_unit_test(a_window_is_emitted_at_the_second_barrier_and_visible_at_the_third_case_51),
        cmocka_unit_test(a_crash_around_the_emission_gives_the_window_once_case_58),
        cmocka_unit_test(a_graceful_stop_flushes_what_is_due_and_no_more_case_13),
        cmocka_unit_test(late_records_are_judged_on_the_lane_floor_case_27),
        cmocka_unit_test(many_lanes_behind_a_key_change_keep_memory_for_what_is_under_way_l5),
        cmocka_unit_test(a_crash_at_any_protocol_point_gives_every_window_once),
        cmocka_unit_test(a_block_that_was_begun_is_finished_before_another_l3),
        cmocka_unit_test(a_lane_crosses_behind_all_that_it_has_sealed_b6),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
