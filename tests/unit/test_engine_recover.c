/* Fall-backs that meet something else: a final barrier, another lost session, a late answer (B9, B11, B12, S4). */
#include <stdio.h>

#include "tests/check.h"
#include "tests/unit/engine_world.h"

#include "core/note.h"

static const char idle_app[] = "application: {id: counts}\n"
                               "sources:\n"
                               "  in: {topic: in, key: string, value: json, watermark: {strategy: "
                               "bounded-out-of-orderness, max-out-of-orderness: 0ms, idleness: 1s}}\n"
                               "stoatflow: {instance: one}\n"
                               "streams:\n"
                               "  - {name: counts, from: in, window: {tumbling: 10ms}, aggregate: {n: count}, emit: "
                               "on-window-close, store: {name: counts, kind: persistent}}\n"
                               "sinks:\n"
                               "  - {from: counts, topic: out, value: json}\n";

static const char update_app[] = "application: {id: counts}\n"
                                 "sources:\n"
                                 "  in: {topic: in, key: string, value: json, watermark: {strategy: "
                                 "bounded-out-of-orderness, max-out-of-orderness: 0ms, idleness: 1s}}\n"
                                 "stoatflow: {instance: one}\n"
                                 "streams:\n"
                                 "  - {name: counts, from: in, window: {tumbling: 10ms}, aggregate: {n: count}, emit: "
                                 "on-window-update}\n"
                                 "sinks:\n"
                                 "  - {from: counts, topic: out, value: json}\n";

static void fault(struct engine_world *w, enum sf_sim_kafka_request request, enum sf_sim_kafka_effect effect)
{
    sf_sim_kafka_fault(w->broker, &(struct sf_sim_kafka_fault){.request = request, .effect = effect, .count = 1});
}

/* P1 idles at 20, the watermark goes on to 100; its record of 21 is late then and for ever, also when the final barrier
 * that would have committed it is aborted and fixed again. */
static void an_aborted_final_barrier_takes_no_stamp_back_s5_x1(void **state)
{
    (void)state;
    struct engine_world w;
    engine_world_init(&w, idle_app, 2, 1, 0);
    engine_world_append(&w, 0, "a", 100, "1");
    engine_world_append(&w, 1, "b", 20, "1");
    engine_world_at(&w, 1);
    engine_world_barrier(&w);
    for (int64_t ms = 500; ms < 3000; ms += 500) { /* P0 stays live */
        engine_world_append(&w, 0, "a", 100, "1");
        engine_world_at(&w, ms);
        engine_world_barrier(&w);
    }
    for (int barrier = 0; barrier < 3; barrier++) engine_world_barrier(&w);
    static const char final_b[] = "b {\"window\":{\"start\":20,\"end\":30},\"n\":1} @20\n";
    CHECK_STR(engine_world_output(&w), final_b);
    engine_world_append(&w, 1, "b", 21, "1");
    engine_world_at(&w, 3000);
    fault(&w, SF_SIM_KAFKA_REQUEST_PRODUCE, SF_SIM_KAFKA_REFUSED);
    engine_world_stop(&w);
    CHECK_STR(engine_world_output(&w), final_b);
    engine_world_start(&w);
    engine_world_append(&w, 0, "a", 200, "1");
    engine_world_at(&w, 3500);
    struct sf_watermark_view view;
    sf_ingest_view(sf_engine_ingest(w.engine), (struct sf_wall_ts){0}, &view);
    CHECK(view.global >= 100);
    engine_world_barrier(&w);
    CHECK_EQ(sf_engine_step_counts(w.engine)[0].drops[SF_DROP_LATE_WINDOW], 1);
    engine_world_deinit(&w);
}

/* Transaction 2 is aborted while lane 1 still has what belongs into it; that comes after the abort and before the
 * engine, held here, has told anybody to stop. It must not open the transaction that the repeated epoch goes into. */
static void what_an_aborted_epoch_still_sends_goes_into_no_transaction_b9(void **state)
{
    (void)state;
    struct engine_world w;
    engine_world_init(&w, update_app, 1, 2, 0);
    engine_world_at(&w, 1);
    engine_world_barrier(&w);
    for (int i = 0; i < 8; i++) {
        char key[2] = {(char)('a' + i), '\0'};
        engine_world_append(&w, 0, key, 5, "1");
    }
    w.hold_code = SF_NOTE_TXN_ABORTED;
    w.hold_name = "engine";
    w.hold_us = 10000;
    sf_sim_sched_hold(w.sched, w.instance->id, "lane 0.1", w.world.start_us + 1000, w.world.start_us + 6000);
    engine_world_at(&w, 2);
    fault(&w, SF_SIM_KAFKA_REQUEST_PRODUCE, SF_SIM_KAFKA_REFUSED);
    engine_world_barrier(&w);
    engine_world_at(&w, 100);
    engine_world_barrier(&w);
    CHECK_EQ(w.hold_code, -1);
    const char *out = engine_world_output(&w);
    for (int i = 0; i < 8; i++) {
        char row[64];
        snprintf(row, sizeof row, "%c {\"window\":{\"start\":0,\"end\":10},\"n\":1} @5\n", 'a' + i);
        const char *at = strstr(out, row);
        if (at == NULL || strstr(at + 1, row) != NULL) fail_msg("%s", out);
    }
    engine_world_deinit(&w);
}

/* The first request to abort is late: asked for twice, it comes a second time when the next transaction is open, which
 * an older broker then aborts unseen. */
static void an_abort_that_was_asked_for_twice_ends_no_later_transaction_b11(void **state)
{
    (void)state;
    struct engine_world w;
    engine_world_init(&w, update_app, 1, 1, 0);
    engine_world_at(&w, 1);
    engine_world_barrier(&w);
    engine_world_append(&w, 0, "a", 5, "1");
    engine_world_at(&w, 2);
    fault(&w, SF_SIM_KAFKA_REQUEST_PRODUCE, SF_SIM_KAFKA_REFUSED);
    sf_sim_kafka_fault(w.broker, &(struct sf_sim_kafka_fault){.request = SF_SIM_KAFKA_REQUEST_END_ABORT,
                                                              .effect = SF_SIM_KAFKA_DELAYED,
                                                              .count = 1,
                                                              .delay_us = 10000000});
    engine_world_barrier(&w);
    engine_world_at(&w, 9000); /* the duplicate has done it; the record waits in the next transaction */
    CHECK_EQ(sf_engine_phase(w.engine), SF_PHASE_RUNNING);
    engine_world_at(&w, 11000);
    engine_world_barrier(&w);
    CHECK_STR(engine_world_output(&w), "a {\"window\":{\"start\":0,\"end\":10},\"n\":1} @5\n");
    engine_world_deinit(&w);
}

/* Idleness is not judged once nothing is read any more, and what is not judged is no reason to run. */
static void a_final_barrier_that_waits_for_a_lane_lets_time_pass(void **state)
{
    (void)state;
    struct engine_world w;
    engine_world_init(&w, idle_app, 1, 1, 0);
    engine_world_append(&w, 0, "a", 100, "1");
    engine_world_at(&w, 1);
    sf_sim_sched_hold(w.sched, w.instance->id, "lane 0.0", w.world.start_us + 1000, w.world.start_us + 5000000);
    sf_engine_finish(w.engine);
    engine_world_at(&w, 4000);
    CHECK(!w.has_ended);
    engine_world_at(&w, 6000);
    CHECK(w.has_ended);
    CHECK_EQ(w.end, SF_END_STOPPED);
    engine_world_deinit(&w);
}

/* More barriers than ingest has steps to see. */
static void barriers_that_are_asked_for_while_ingest_stands_are_all_fixed(void **state)
{
    (void)state;
    struct engine_world w;
    engine_world_init(&w, idle_app, 1, 1, 0);
    engine_world_append(&w, 0, "a", 100, "1");
    engine_world_at(&w, 1);
    sf_sim_sched_hold(w.sched, w.instance->id, "ingest", w.world.start_us + 1000, w.world.start_us + 900000);
    for (int barrier = 0; barrier < 50; barrier++) engine_world_barrier(&w);
    CHECK_EQ(sf_engine_epoch(w.engine), 0);
    engine_world_at(&w, 1000);
    CHECK_EQ(sf_engine_epoch(w.engine), 50);
    engine_world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_aborted_final_barrier_takes_no_stamp_back_s5_x1),
        cmocka_unit_test(what_an_aborted_epoch_still_sends_goes_into_no_transaction_b9),
        cmocka_unit_test(an_abort_that_was_asked_for_twice_ends_no_later_transaction_b11),
        cmocka_unit_test(a_final_barrier_that_waits_for_a_lane_lets_time_pass),
        cmocka_unit_test(barriers_that_are_asked_for_while_ingest_stands_are_all_fixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
