/* The oracle finds nothing where all is right, and each lie where one is told. */
#include "tests/check.h"
#include "tests/unit/oracle_world.h"

#define IN                                                                                         \
    "  in: {topic: in, key: string, value: json, "                                                  \
    "watermark: {strategy: bounded-out-of-orderness, max-out-of-orderness: 0ms}}\n"

static const char finals[] = "application: {id: app}\n"
                             "sources:\n"
                             IN
                             "streams:\n"
                             "  - {name: counts, from: in, window: {tumbling: 10ms, grace: 5ms},\n"
                             "     aggregate: {n: count, total: sum($.v)}, emit: on-window-close}\n"
                             "sinks:\n"
                             "  - {from: counts, topic: out, value: json}\n";

static const char updates[] = "application: {id: app}\n"
                              "sources:\n"
                              IN
                              "streams:\n"
                              "  - {name: big, from: in, filter: \"$.v > 0\"}\n"
                              "  - {name: counts, from: big, window: {tumbling: 10ms},\n"
                              "     aggregate: {n: count, low: min($.v)}}\n"
                              "sinks:\n"
                              "  - {from: counts, topic: out, value: json}\n";

static const char rekeyed[] = "application: {id: app}\n"
                              "sources:\n"
                              IN
                              "streams:\n"
                              "  - {name: twice, from: in, map-values: {v: $.v * 2}}\n"
                              "  - {name: all, from: twice, key-by: \"'all'\"}\n"
                              "  - {name: large, from: all, window: {tumbling: 4ms},\n"
                              "     aggregate: {n: count, total: sum($.v)}, emit: on-window-close}\n"
                              "sinks:\n"
                              "  - {from: large, topic: out, value: json}\n"
                              "  - {from: twice, topic: out, value: json}\n";

/* Windows [0,10) [10,20) [20,30) of keys a and b over six barriers; one record is late. */
static void play(struct oracle_world *w)
{
    oracle_world_append(w, 0, "a", 1, "{\"v\":1}");
    oracle_world_append(w, 0, "b", 2, "{\"v\":2}");
    oracle_world_append(w, 0, "a", 11, "{\"v\":3}");
    oracle_world_barrier(w);
    oracle_world_at(w, 1000);
    oracle_world_append(w, 0, "a", 12, "{\"v\":4}");
    oracle_world_append(w, 0, "b", 26, "{\"v\":5}");
    oracle_world_barrier(w);
    oracle_world_at(w, 2000);
    oracle_world_append(w, 0, "b", 3, "{\"v\":6}"); /* late */
    oracle_world_append(w, 0, "b", 40, "{\"v\":7}");
    oracle_world_barrier(w);
    oracle_world_at(w, 3000);
    oracle_world_append(w, 0, "a", 41, "{\"v\":7}");
    oracle_world_barrier(w);
    oracle_world_at(w, 4000);
    oracle_world_append(w, 0, "a", 60, "{\"v\":8}");
    oracle_world_barrier(w);
    oracle_world_at(w, 5000);
    oracle_world_barrier(w);
}

static void run(const char *app, uint32_t lanes, enum oracle_lie lie, uint32_t at, const char *rule)
{
    struct oracle_world w;
    oracle_world_init(&w, app, 1, lanes);
    w.lie = lie;
    w.lie_at = at;
    play(&w);
    oracle_world_stop(&w);
    oracle_world_finish(&w);
    oracle_world_check(&w, rule);
    oracle_world_deinit(&w);
}

static void nothing_is_found_where_all_is_right(void **state)
{
    (void)state;
    run(finals, 1, LIE_NONE, 0, "");
    run(finals, 3, LIE_NONE, 0, "");
    run(updates, 2, LIE_NONE, 0, "");
    run(rekeyed, 1, LIE_NONE, 0, "");
    run(rekeyed, 3, LIE_NONE, 0, "");
}

static void nothing_is_found_after_a_crash_at_any_point(void **state)
{
    (void)state;
    static const int codes[] = {SF_NOTE_BARRIER_STAMPED, SF_NOTE_BARRIER_ENQUEUED, SF_NOTE_LANE_CROSSED,
                                SF_NOTE_LANE_EMITTED,    SF_NOTE_TXN_BEGUN,        SF_NOTE_TXN_OFFSETS_SENT,
                                SF_NOTE_TXN_END_SENT,    SF_NOTE_TXN_COMMITTED};
    static const char *const apps[] = {finals, updates, rekeyed};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        for (int64_t epoch = 1; epoch <= 4; epoch++)
            for (size_t a = 0; a < sizeof apps / sizeof apps[0]; a++) {
                struct oracle_world w;
                oracle_world_init(&w, apps[a], 2, 2);
                w.crash_code = codes[i];
                w.crash_epoch = epoch;
                oracle_world_append(&w, 0, "a", 1, "{\"v\":1}");
                oracle_world_append(&w, 1, "b", 2, "{\"v\":2}");
                for (int64_t n = 1; n <= 8; n++) {
                    oracle_world_append(&w, (int32_t)(n % 2), n % 3 == 0 ? "b" : "a", n * 9, "{\"v\":3}");
                    if (w.info.process->is_dead) {
                        oracle_world_crash(&w);
                        oracle_world_at(&w, n * 20000);
                        oracle_world_start(&w, SF_DRIVER_START_AFTER_CRASH);
                    }
                    oracle_world_barrier(&w);
                    oracle_world_at(&w, n * 20000 + 1000);
                }
                if (w.info.process->is_dead) {
                    oracle_world_crash(&w);
                    oracle_world_start(&w, SF_DRIVER_START_AFTER_CRASH);
                }
                oracle_world_stop(&w);
                oracle_world_finish(&w);
                oracle_world_check(&w, "");
                oracle_world_deinit(&w);
            }
}

static void rows_that_differ_are_found_x6(void **state)
{
    (void)state;
    run(finals, 1, LIE_ROW_VALUE, 2, "X6");
    run(finals, 1, LIE_ROW_TIME, 1, "X6");
    run(finals, 1, LIE_ROW_PARTITION, 1, "X6");
    run(finals, 1, LIE_ROW_LOST, 1, "X6");
    run(finals, 1, LIE_ROW_TWICE, 1, "X6");
    run(finals, 1, LIE_ROW_OUTSIDE, 1, "X6");
    run(updates, 1, LIE_ROW_VALUE, 3, "X6");
}

static void rows_of_a_key_in_another_order_are_found_x6(void **state)
{
    (void)state;
    struct oracle_world w;
    oracle_world_init(&w, updates, 1, 2);
    w.lie = LIE_ROWS_SWAPPED;
    w.lie_at = 1;
    oracle_world_append(&w, 0, "a", 1, "{\"v\":1}");
    oracle_world_append(&w, 0, "a", 2, "{\"v\":1}");
    oracle_world_barrier(&w);
    oracle_world_check(&w, "X6");
    oracle_world_deinit(&w);
}

static const char at_least_once[] = "application: {id: app, guarantee: at-least-once}\n"
                                    "sources:\n"
                                    IN
                                    "streams:\n"
                                    "  - {name: counts, from: in, window: {tumbling: 10ms},\n"
                                    "     aggregate: {n: count}, emit: on-window-close}\n"
                                    "sinks:\n"
                                    "  - {from: counts, topic: out, value: json}\n";

/* A crash in between: rows may come twice, and none may be missing. */
static void run_at_least_once(enum oracle_lie lie, uint32_t at, const char *rule)
{
    struct oracle_world w;
    oracle_world_init(&w, at_least_once, 1, 1);
    oracle_world_append(&w, 0, "a", 1, "1");
    oracle_world_append(&w, 0, "a", 15, "1");
    oracle_world_barrier(&w);
    oracle_world_crash(&w);
    oracle_world_at(&w, 20000);
    oracle_world_start(&w, SF_DRIVER_START_AFTER_CRASH);
    w.lie = lie;
    w.lie_at = at;
    oracle_world_append(&w, 0, "b", 27, "1");
    oracle_world_append(&w, 0, "b", 39, "1");
    for (int n = 0; n < 4; n++) oracle_world_barrier(&w);
    oracle_world_stop(&w);
    oracle_world_finish(&w);
    oracle_world_check(&w, rule);
    oracle_world_deinit(&w);
}

static void at_least_once_nothing_is_missing_x6(void **state)
{
    (void)state;
    run_at_least_once(LIE_NONE, 0, "");
    run_at_least_once(LIE_ROW_TWICE, 1, "");
    run_at_least_once(LIE_ROW_LOST, 1, "X6");
    run(at_least_once, 1, LIE_NONE, 0, "");
    run(at_least_once, 1, LIE_ROW_TWICE, 1, "X6"); /* nothing has gone wrong that would allow it */
}

static void changelogs_that_differ_are_found_x9_x10(void **state)
{
    (void)state;
    run(finals, 1, LIE_CHANGE_VALUE, 1, "X9");
    run(finals, 1, LIE_CHANGE_LOST, 1, "X9");
    run(finals, 1, LIE_CHANGE_GONE, 1, "X10");
    run(finals, 1, LIE_TOMBSTONE_LOST, 1, "X10");
}

static const char late_expiry[] = "application: {id: app}\n"
                                  "sources:\n"
                                  IN
                                  "streams:\n"
                                  "  - {name: counts, from: in, window: {tumbling: 10ms, grace: 5ms},\n"
                                  "     aggregate: {n: count, total: sum($.v)}, emit: on-window-close,\n"
                                  "     store: {name: counts, retention: 1m}}\n"
                                  "sinks:\n"
                                  "  - {from: counts, topic: out, value: json}\n";

static void a_change_of_a_closed_window_is_found_x7(void **state)
{
    (void)state;
    run(late_expiry, 1, LIE_NONE, 0, "");
    run(late_expiry, 1, LIE_CHANGE_AGAIN, 7, "X7");
}

static void counts_and_skips_that_differ_are_found_x5(void **state)
{
    (void)state;
    static const char skipping[] = "application: {id: app}\n"
                                   "sources:\n"
                                   "  in: {topic: in, key: string, value: json, on-invalid-timestamp: skip,\n"
                                   "       watermark: {strategy: monotonous}}\n"
                                   "streams:\n"
                                   "  - {name: counts, from: in, window: {tumbling: 10ms}, aggregate: {n: count}}\n"
                                   "sinks:\n"
                                   "  - {from: counts, topic: out, value: json}\n";
    static const enum oracle_lie lies[] = {LIE_NONE, LIE_SKIPPED};
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        struct oracle_world w;
        oracle_world_init(&w, skipping, 1, 1);
        w.lie = lies[i];
        w.lie_at = 1;
        oracle_world_append(&w, 0, "a", 1, "1");
        oracle_world_append(&w, 0, "a", -7, "1");
        oracle_world_append(&w, 0, "a", 2, "1");
        oracle_world_barrier(&w);
        oracle_world_check(&w, lies[i] == LIE_NONE ? "" : "X5");
        oracle_world_deinit(&w);
    }
    run(finals, 1, LIE_COUNTED, 2, "X5");
}

static void a_view_that_differs_is_found_x15(void **state)
{
    (void)state;
    run(finals, 1, LIE_DELIVERED, 1, "X15");
}

/* What a crash leaves of the local store. Rows are written every 10 s, so those of the last epoch are not in it. */
static void run_local(const char *app, enum oracle_lie lie, const char *rule)
{
    struct oracle_world w;
    oracle_world_init(&w, app, 1, 1);
    w.lie = lie;
    for (int64_t n = 1; n <= 4; n++) {
        oracle_world_append(&w, 0, n < 3 ? "a" : "b", n, "{\"v\":1}");
        oracle_world_barrier(&w);
        oracle_world_at(&w, n * 11000);
    }
    oracle_world_append(&w, 0, "b", 5, "{\"v\":1}");
    oracle_world_barrier(&w);
    oracle_world_crash(&w);
    oracle_world_start(&w, SF_DRIVER_START_AFTER_CRASH);
    oracle_world_check(&w, rule);
    oracle_world_deinit(&w);
}

static void a_local_store_that_leads_elsewhere_is_found_x9(void **state)
{
    (void)state;
    run_local(finals, LIE_NONE, "");
    run_local(updates, LIE_NONE, "");
    run_local(finals, LIE_LOCAL_LOST, "X9");
    run_local(finals, LIE_LOCAL_VALUE, "X9");
    run_local(updates, LIE_LOCAL_EXTRA, "X9");
    run_local(updates, LIE_LOCAL_FORMAT, "X9");
    run_local(updates, LIE_LOCAL_AHEAD, "X9");
    run_local(updates, LIE_LOCAL_BEYOND, "X9");
}

static void packed_changelogs_that_differ_are_found_x9_x10(void **state)
{
    (void)state;
    static const char packed[] = "application: {id: app}\n"
                                 "stoatflow: {changelog.format: packed}\n"
                                 "sources:\n"
                                 IN
                                 "streams:\n"
                                 "  - {name: counts, from: in, window: {tumbling: 10ms, grace: 5ms},\n"
                                 "     aggregate: {n: count, total: sum($.v)}, emit: on-window-close}\n"
                                 "sinks:\n"
                                 "  - {from: counts, topic: out, value: json}\n";
    run(packed, 1, LIE_NONE, 0, "");
    run(packed, 1, LIE_CHANGE_VALUE, 1, "X9");
    run(packed, 1, LIE_CHANGE_LOST, 1, "X9");
    run(packed, 1, LIE_TOMBSTONE_LOST, 2, "X10"); /* the unit's last null */
}

static void cuts_that_differ_are_found_x8(void **state)
{
    (void)state;
    run(finals, 1, LIE_FRONTIER, 1, "X8");
    run(finals, 1, LIE_FRONTIER_LOST, 1, "X8");
    run(finals, 1, LIE_STAMP, 2, "X8");
    run(finals, 1, LIE_STAMP_LOST, 2, "X8");
    run(finals, 1, LIE_OFFSET, 1, "X8");
    run(finals, 1, LIE_OFFSET_LOST, 1, "X8");
    run(finals, 1, LIE_METADATA, 1, "X8");
    run(finals, 1, LIE_COMMITTED, 2, "X8");
}

static void epochs_that_do_not_meet_are_found_x15(void **state)
{
    (void)state;
    run(finals, 1, LIE_OFFSET_AHEAD, 1, "X15");
    run(finals, 1, LIE_ABORTED, 2, "X15");
    struct oracle_world w;
    oracle_world_init(&w, finals, 1, 1);
    play(&w);
    oracle_world_crash(&w);
    w.lie = LIE_ASSIGNED;
    w.lie_at = 1;
    oracle_world_at(&w, 20000);
    oracle_world_start(&w, SF_DRIVER_START_AFTER_CRASH);
    oracle_world_check(&w, "X15");
    oracle_world_deinit(&w);
}

static void a_former_owner_that_commits_is_found_x12(void **state)
{
    (void)state;
    run(finals, 1, LIE_PRODUCER_EPOCH, 2, "X12");
}

static void a_watermark_that_falls_is_found_x1(void **state)
{
    (void)state;
    run(finals, 1, LIE_WATERMARK_LOW, 2, "X1");
}

static void a_watermark_that_is_not_the_minimum_is_found_x2(void **state)
{
    (void)state;
    run(finals, 1, LIE_WATERMARK_HIGH, 1, "X2");
    run(finals, 1, LIE_WATERMARK_HIGH, 3, "X2");
    run(finals, 1, LIE_WATERMARK_LOST, 3, "X2");
}

static void records_without_a_barrier_are_found_x3(void **state)
{
    (void)state;
    struct oracle_world w;
    oracle_world_init_cadenced(&w, finals, 1, 1);
    oracle_world_append(&w, 0, "a", 1, "{\"v\":1}");
    oracle_world_at(&w, 600); /* the seed of the interval is 500 ms */
    oracle_world_check(&w, "");
    oracle_world_at(&w, 2000);
    oracle_world_check(&w, "X3");
    oracle_world_deinit(&w);
}

static void barriers_too_soon_or_for_nothing_are_found_x11(void **state)
{
    (void)state;
    struct oracle_world w;
    oracle_world_init_cadenced(&w, finals, 1, 1);
    oracle_world_append(&w, 0, "a", 1, "{\"v\":1}");
    oracle_world_barrier(&w);
    oracle_world_append(&w, 0, "a", 2, "{\"v\":1}");
    oracle_world_at(&w, 100);
    oracle_world_barrier(&w);
    oracle_world_check(&w, "X11"); /* 100 ms behind the last: B2 */
    oracle_world_deinit(&w);
    oracle_world_init_cadenced(&w, finals, 1, 1);
    oracle_world_append(&w, 0, "a", 1, "{\"v\":1}");
    oracle_world_barrier(&w);
    oracle_world_at(&w, 1000);
    oracle_world_barrier(&w);
    oracle_world_check(&w, "X11"); /* empty: B3 */
    oracle_world_deinit(&w);
}

static void dispatch_that_does_not_wait_for_lag_is_found_x4(void **state)
{
    (void)state;
    struct oracle_world w;
    oracle_world_init(&w, finals, 2, 1);
    w.lie = LIE_LAG;
    w.lie_at = 2; /* the batch's own news, then what the end of the log says */
    oracle_world_append(&w, 1, "a", 1, "{\"v\":1}");
    oracle_world_at(&w, 1);
    oracle_world_check(&w, ""); /* told, and not acted on yet */
    oracle_world_append(&w, 0, "a", 2, "{\"v\":1}");
    oracle_world_at(&w, 2);
    oracle_world_check(&w, "X4");
    oracle_world_deinit(&w);
}

static void barriers_out_of_protocol_are_found_x11(void **state)
{
    (void)state;
    run(finals, 1, LIE_STAMPED, 2, "X2");
    run(finals, 1, LIE_FIXED_TWICE, 2, "X11");
    run(finals, 2, LIE_CROSSED_TWICE, 3, "X11");
    run(finals, 2, LIE_NOT_PASSED, 2, "X11");
    run(finals, 1, LIE_TAKEN_LOST, 1, "X11");
}

static void dispatch_out_of_order_is_found_x4(void **state)
{
    (void)state;
    run(finals, 1, LIE_DISPATCH_TIME, 1, "X4");
    run(finals, 1, LIE_DISPATCH_SWAPPED, 1, "X4");
    run(finals, 1, LIE_DISPATCH_HASH, 1, "X4");
    run(finals, 1, LIE_DISPATCH_LATE, 1, "X1");
    run(finals, 1, LIE_TAKEN_TWICE, 1, "X4");
    run(finals, 1, LIE_BUFFERED_LOST, 1, "X4");
}

static void buffers_beyond_their_bound_are_found_x13(void **state)
{
    (void)state;
    run(finals, 1, LIE_BUFFERED_MANY, 1, "X13");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_found_where_all_is_right),
        cmocka_unit_test(nothing_is_found_after_a_crash_at_any_point),
        cmocka_unit_test(rows_that_differ_are_found_x6),
        cmocka_unit_test(rows_of_a_key_in_another_order_are_found_x6),
        cmocka_unit_test(at_least_once_nothing_is_missing_x6),
        cmocka_unit_test(changelogs_that_differ_are_found_x9_x10),
        cmocka_unit_test(a_change_of_a_closed_window_is_found_x7),
        cmocka_unit_test(counts_and_skips_that_differ_are_found_x5),
        cmocka_unit_test(a_view_that_differs_is_found_x15),
        cmocka_unit_test(a_local_store_that_leads_elsewhere_is_found_x9),
        cmocka_unit_test(packed_changelogs_that_differ_are_found_x9_x10),
        cmocka_unit_test(cuts_that_differ_are_found_x8),
        cmocka_unit_test(epochs_that_do_not_meet_are_found_x15),
        cmocka_unit_test(a_former_owner_that_commits_is_found_x12),
        cmocka_unit_test(a_watermark_that_falls_is_found_x1),
        cmocka_unit_test(a_watermark_that_is_not_the_minimum_is_found_x2),
        cmocka_unit_test(records_without_a_barrier_are_found_x3),
        cmocka_unit_test(barriers_too_soon_or_for_nothing_are_found_x11),
        cmocka_unit_test(dispatch_that_does_not_wait_for_lag_is_found_x4),
        cmocka_unit_test(barriers_out_of_protocol_are_found_x11),
        cmocka_unit_test(dispatch_out_of_order_is_found_x4),
        cmocka_unit_test(buffers_beyond_their_bound_are_found_x13),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
