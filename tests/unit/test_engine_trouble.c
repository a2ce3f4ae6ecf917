/* Aborts, lost sessions, commits in doubt, take-over: what the engine does about each (B9, B11, B12, B14). */
#include <stdio.h>

#include "tests/check.h"
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

static void fault(struct engine_world *w, enum sf_sim_kafka_request request, enum sf_sim_kafka_effect effect)
{
    sf_sim_kafka_fault(w->broker, &(struct sf_sim_kafka_fault){.request = request, .effect = effect, .count = 1});
}

/* Case 79's input; `spoil` is called after barrier 3 was asked for and before the broker hears of its end. */
static void abort_rolls_time_back(enum sf_sim_kafka_request request, enum sf_sim_kafka_effect effect)
{
    struct engine_world w;
    engine_world_init(&w, count_app, 1, 1, 0);
    engine_world_append(&w, 0, "a", 10, "1");
    engine_world_at(&w, 1);
    engine_world_barrier(&w);
    engine_world_at(&w, 2);
    engine_world_barrier(&w);
    engine_world_append(&w, 0, "a", 12, "1");
    engine_world_append(&w, 0, "a", 40, "1");
    engine_world_append(&w, 0, "a", 15, "1");
    engine_world_at(&w, 5);
    fault(&w, request, effect);
    engine_world_at(&w, 6);
    engine_world_barrier(&w);
    engine_world_at(&w, 120000); /* whatever time-outs it takes */
    for (int barrier = 0; barrier < 4; barrier++) engine_world_barrier(&w);
    CHECK_EQ(sf_engine_phase(w.engine), SF_PHASE_RUNNING);
    CHECK_STR(engine_world_output(&w), "a {\"window\":{\"start\":10,\"end\":20},\"n\":3} @15\n");
    CHECK_EQ(sf_engine_step_counts(w.engine)[0].drops[SF_DROP_LATE_WINDOW], 0);
    CHECK_EQ(sf_engine_step_counts(w.engine)[0].in, 4);
    CHECK_EQ(sf_ingest_counts(sf_engine_ingest(w.engine))[0].dispatched, 4);
    engine_world_deinit(&w);
}

static void an_undelivered_record_aborts_and_rolls_time_back_case_79(void **state)
{
    (void)state;
    abort_rolls_time_back(SF_SIM_KAFKA_REQUEST_PRODUCE, SF_SIM_KAFKA_REFUSED);
}

static void an_end_that_is_lost_is_asked_for_again_case_81(void **state)
{
    (void)state;
    abort_rolls_time_back(SF_SIM_KAFKA_REQUEST_END_COMMIT, SF_SIM_KAFKA_LOST);
    abort_rolls_time_back(SF_SIM_KAFKA_REQUEST_END_COMMIT, SF_SIM_KAFKA_ANSWER_LOST);
}

static void lost_answers_to_offsets_and_init_are_survived(void **state)
{
    (void)state;
    abort_rolls_time_back(SF_SIM_KAFKA_REQUEST_OFFSETS, SF_SIM_KAFKA_LOST);
    abort_rolls_time_back(SF_SIM_KAFKA_REQUEST_OFFSETS, SF_SIM_KAFKA_ANSWER_LOST);
    abort_rolls_time_back(SF_SIM_KAFKA_REQUEST_PRODUCE, SF_SIM_KAFKA_LOST);
    abort_rolls_time_back(SF_SIM_KAFKA_REQUEST_PRODUCE, SF_SIM_KAFKA_ANSWER_LOST);
}

static void a_transaction_that_the_coordinator_timed_out_is_run_again_case_80(void **state)
{
    (void)state;
    struct engine_world w;
    engine_world_init(&w, count_app, 1, 1, 0);
    engine_world_append(&w, 0, "a", 5, "1");
    engine_world_append(&w, 0, "a", 10, "1");
    engine_world_at(&w, 1);
    engine_world_barrier(&w);
    engine_world_barrier(&w); /* the pass at 2 has put its result into transaction 3, which is open now */
    CHECK(sf_sim_kafka_txn_timeout(w.broker, "counts"));
    engine_world_at(&w, 10);
    engine_world_barrier(&w);
    engine_world_at(&w, 20000);
    for (int barrier = 0; barrier < 3; barrier++) engine_world_barrier(&w);
    CHECK_EQ(sf_engine_phase(w.engine), SF_PHASE_RUNNING);
    CHECK_EQ(sf_engine_transactions_lost(w.engine), 1);
    CHECK_STR(engine_world_output(&w), "a {\"window\":{\"start\":0,\"end\":10},\"n\":1} @5\n");
    engine_world_deinit(&w);
}

/* Rows of the lost epoch that reach commit while a new session opens must not slip into its first transaction. */
static void lose_a_session_amid_rows(uint64_t seed)
{
    static const char app[] = "application: {id: counts}\n"
                              "sources: {in: {topic: in, key: string, value: json}}\n"
                              "streams:\n"
                              "  - {name: counts, from: in, window: {tumbling: 10s}, aggregate: {n: count}}\n"
                              "sinks: [{from: counts, topic: out}]\n";
    struct sf_sim_sched_config sched = sf_sim_sched_config_drawn(seed);
    struct engine_world w;
    engine_world_init_sched(&w, app, 1, 1, &sched);
    engine_world_at(&w, 1000);
    for (int i = 0; i < 3; i++) engine_world_append(&w, 0, "a", 10, "1");
    engine_world_at(&w, 1001);
    for (int i = 0; i < 200; i++) engine_world_append(&w, 0, "a", 10, "1");
    CHECK(sf_sim_kafka_txn_timeout(w.broker, "counts"));
    engine_world_at(&w, 60000);
    engine_world_barrier(&w);
    engine_world_at(&w, 120000);
    const char *at = engine_world_output(&w);
    for (int n = 1; n <= 203; n++) {
        char row[80];
        snprintf(row, sizeof row, "a {\"window\":{\"start\":0,\"end\":10000},\"n\":%d} @10\n", n);
        if (strncmp(at, row, strlen(row)) != 0) fail_msg("seed %d: expected %s at %s", (int)seed, row, at);
        at += strlen(row);
    }
    CHECK_STR(at, "");
    engine_world_deinit(&w);
}

static void what_waits_for_a_new_session_does_not_get_into_it_b9(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) lose_a_session_amid_rows(seed);
}

static const char small_app[] = "application: {id: counts}\n"
                                "stoatflow: {output.buffer-bytes: 65536, watermark.idleness-timeout-ms: 0}\n"
                                "sources: {in: {topic: in, key: string, value: json}}\n"
                                "streams:\n"
                                "  - {name: slow, from: in, window: {tumbling: 10s}, aggregate: {n: count}}\n"
                                "sinks: [{from: slow, topic: out}]\n";

static uint32_t count_rows(struct engine_world *w, const char *topic)
{
    struct sf_tp tp = {.topic = sf_sim_kafka_topic(w->broker, topic), .partition = 0};
    int64_t stable = sf_sim_kafka_log_end(w->broker, tp, SF_LOG_STABLE_END), offset = 0;
    struct sf_sim_kafka_entry entry;
    uint32_t count = 0;
    while (sf_sim_kafka_log_next(w->broker, tp, &offset, &entry) && entry.offset < stable)
        count += !entry.is_control && entry.state == SF_SIM_KAFKA_COMMITTED;
    return count;
}

/* Changes that found no credit wait in the lane: the lane has not crossed before they are gone. Four blocks of rows use
 * up the credit while commit does not get to run; the change behind them has none. */
static void a_crossing_waits_for_changes_without_credit_b6(void **state)
{
    (void)state;
    struct engine_world w;
    engine_world_init(&w, small_app, 1, 1, 0);
    int64_t now = w.world.mono_us;
    sf_sim_sched_hold(w.sched, 0, "commit", now, now + 10000);
    for (int64_t ms = 1; ms <= 4; ms++) {
        engine_world_append(&w, 0, "a", 10, "1");
        engine_world_at(&w, ms);
    }
    engine_world_barrier(&w);
    engine_world_at(&w, 20);
    CHECK_EQ(sf_engine_epoch(w.engine), 1);
    CHECK_EQ(count_rows(&w, "counts-slow-changelog"), 1);
    engine_world_deinit(&w);
}

/* Who has stopped for a fall-back answers again when the end comes: a lane that does not run is still waited for. */
static void the_end_waits_for_a_task_that_a_fall_back_waited_for_b9(void **state)
{
    (void)state;
    struct engine_world w;
    engine_world_init(&w, small_app, 1, 1, 1);
    engine_world_append(&w, 0, "a", 10, "1");
    engine_world_at(&w, 1);
    int64_t now = w.world.mono_us;
    sf_sim_sched_hold(w.sched, 0, "lane 0.0", now, now + 5000000);
    CHECK(sf_sim_kafka_txn_timeout(w.broker, "counts"));
    sf_engine_fix(w.engine);
    engine_world_at(&w, 1000);
    CHECK(sf_sim_kafka_group_expel(w.broker, "counts", 1000));
    engine_world_at(&w, 4000);
    CHECK(!w.has_ended);
    engine_world_at(&w, 30000);
    CHECK(w.has_ended);
    CHECK_EQ(w.end, SF_END_FENCED);
    CHECK_EQ(w.tasks_at_end, 1);
    engine_world_deinit(&w);
}

static void a_former_owner_stops_fenced_and_writes_nothing_more_b14(void **state)
{
    (void)state;
    struct engine_world w;
    engine_world_init(&w, count_app, 1, 1, 0);
    engine_world_append(&w, 0, "a", 5, "1");
    engine_world_append(&w, 0, "a", 10, "1");
    engine_world_at(&w, 1);
    engine_world_barrier(&w);
    struct sf_sim_instance *old = w.instance;
    struct sf_engine *old_engine = w.engine;
    engine_world_start(&w); /* the same static name: the later one wins */
    engine_world_at(&w, 60000);
    CHECK(w.has_ended);
    CHECK_EQ(w.end, SF_END_FENCED);
    CHECK_EQ(sf_engine_phase(old_engine), SF_PHASE_ENDED);
    CHECK_EQ(sf_engine_phase(w.engine), SF_PHASE_RUNNING);
    for (int barrier = 0; barrier < 3; barrier++) engine_world_barrier(&w);
    CHECK_STR(engine_world_output(&w), "a {\"window\":{\"start\":0,\"end\":10},\"n\":1} @5\n");
    sf_engine_destroy(old_engine);
    sf_sim_instance_destroy(old);
    engine_world_deinit(&w);
}

static void a_store_that_another_process_holds_is_done_without(void **state)
{
    (void)state;
    struct engine_world w;
    engine_world_init(&w, count_app, 1, 1, 0);
    struct sf_sim_instance *old = w.instance;
    struct sf_engine *old_engine = w.engine;
    sf_sim_instance_freeze(old, true); /* it keeps the store's lock */
    engine_world_start(&w);
    engine_world_at(&w, 60000);
    CHECK_EQ(sf_engine_phase(w.engine), SF_PHASE_RUNNING);
    for (int64_t t = 0; t < 100; t++) { /* more epochs than commit has credit for persist */
        engine_world_append(&w, 0, "a", 10 * t, "1");
        engine_world_at(&w, 60001 + t);
        engine_world_barrier(&w);
        CHECK_EQ(sf_engine_epoch(w.engine), (uint64_t)t + 1);
    }
    sf_sim_instance_kill(old);
    engine_world_at(&w, 70000);
    sf_engine_destroy(old_engine);
    sf_sim_instance_destroy(old);
    engine_world_deinit(&w);
}

static void rows_come_from_the_local_store_and_the_rest_from_the_changelog_k4(void **state)
{
    (void)state;
    for (int gap = 0; gap < 2; gap++) {
        struct engine_world w;
        engine_world_init(&w, count_app, 1, 1, 0);
        engine_world_append(&w, 0, "a", 5, "1");
        engine_world_append(&w, 0, "b", 7, "1");
        engine_world_at(&w, 1);
        engine_world_barrier(&w);
        engine_world_at(&w, 30000); /* persist has written by now */
        engine_world_append(&w, 0, "a", 6, "1");
        engine_world_at(&w, 30001);
        engine_world_barrier(&w);
        engine_world_append(&w, 0, "a", 8, "1"); /* never committed: not in the state of the next life (case 100) */
        engine_world_at(&w, 30002);
        engine_world_crash(&w);
        if (gap == 1) { /* the changelog cannot serve the stored position any more: K8 */
            struct sf_tp tp = {.topic = sf_sim_kafka_topic(w.broker, "counts-counts-changelog"), .partition = 0};
            struct sf_sim_kafka_compaction how = {.is_markers_dropped = true};
            sf_sim_kafka_compact(w.broker, tp, &how);
        }
        engine_world_start(&w);
        engine_world_append(&w, 0, "z", 30, "1");
        engine_world_at(&w, 30003);
        for (int barrier = 0; barrier < 3; barrier++) engine_world_barrier(&w);
        static const char row_a[] = "a {\"window\":{\"start\":0,\"end\":10},\"n\":3} @8\n";
        static const char row_b[] = "b {\"window\":{\"start\":0,\"end\":10},\"n\":1} @7\n";
        const char *out = engine_world_output(&w); /* between keys no order is promised */
        CHECK(strstr(out, row_a) != NULL && strstr(out, row_b) != NULL);
        CHECK_EQ(strlen(out), sizeof row_a + sizeof row_b - 2);
        engine_world_deinit(&w);
    }
}

static const char two_sub_app[] =
    "application: {id: counts}\n"
    "sources:\n"
    "  in: {topic: in, key: string, value: json, watermark: {strategy: bounded-out-of-orderness, max-out-of-orderness: "
    "0ms}}\n"
    "stoatflow: {instance: one, watermark: {idleness-timeout-ms: 0}}\n"
    "streams:\n"
    "  - {name: big, from: in, filter: '$.v >= 2'}\n"
    "  - {name: by-u, from: big, key-by: $.u}\n"
    "  - {name: counts, from: by-u, window: {tumbling: 10ms}, aggregate: {n: count, total: sum($.v), lo: min($.v), hi: "
    "max($.v)}, emit: on-window-close, store: {name: counts, kind: persistent}}\n"
    "sinks:\n"
    "  - {from: counts, topic: out, value: json}\n";

/* Keys of a topic's partition 0 whose newest record has a value. */
static uint32_t count_live(struct engine_world *w, const char *topic)
{
    struct sf_tp tp = {.topic = sf_sim_kafka_topic(w->broker, topic), .partition = 0};
    struct sf_sim_kafka_compaction how = {.is_tombstones_dropped = true};
    sf_sim_kafka_compact(w->broker, tp, &how);
    return count_rows(w, topic);
}

/* What a packed unit has in the log is known after a restart, too: it goes with its window (K6). */
static void packed_units_leave_the_changelog_after_a_restart_k6(void **state)
{
    (void)state;
    char app[1024];
    snprintf(app, sizeof app, "%s", count_app);
    char *at = strstr(app, "stoatflow: {");
    snprintf(at, sizeof app - (size_t)(at - app), "%s%s", "stoatflow: {changelog.format: packed, ",
             strstr(count_app, "stoatflow: {") + strlen("stoatflow: {"));
    struct engine_world w;
    engine_world_init(&w, app, 1, 1, 0);
    engine_world_append(&w, 0, "a", 5, "1");
    engine_world_append(&w, 0, "b", 7, "1");
    for (int64_t n = 1; n <= 3; n++) {
        engine_world_at(&w, 9000 * n);
        engine_world_barrier(&w);
        engine_world_append(&w, 0, "c", 8, "1");
    }
    engine_world_at(&w, 60000); /* a local store would have been written by now */
    engine_world_crash(&w);
    engine_world_start(&w);
    engine_world_append(&w, 0, "a", 8, "1");
    engine_world_at(&w, 60001);
    engine_world_barrier(&w);
    engine_world_append(&w, 0, "z", 30, "1");
    engine_world_at(&w, 60003);
    for (int barrier = 0; barrier < 3; barrier++) engine_world_barrier(&w);
    CHECK_EQ(count_live(&w, "counts-counts-changelog"), 1); /* z */
    CHECK(strstr(engine_world_output(&w), "a {\"window\":{\"start\":0,\"end\":10},\"n\":2} @8\n") != NULL);
    engine_world_deinit(&w);
}

static void a_key_change_crosses_lanes_and_barriers_stay_aligned_l3_b5(void **state)
{
    (void)state;
    static const uint32_t budgets[] = {0, 1, 7};
    for (uint32_t lanes = 1; lanes <= 3; lanes++) {
        for (size_t b = 0; b < sizeof budgets / sizeof budgets[0]; b++) {
            struct engine_world w;
            engine_world_init(&w, two_sub_app, 2, lanes, budgets[b]);
            for (int i = 0; i < 40; i++) {
                char value[64];
                snprintf(value, sizeof value, "{\"u\":\"u%d\",\"v\":%d}", i % 3, i % 5);
                engine_world_append(&w, i % 2, i % 2 == 0 ? "x" : "y", i, value);
            }
            engine_world_at(&w, 1);
            for (int barrier = 0; barrier < 4; barrier++) engine_world_barrier(&w);
            const char *out = engine_world_output(&w);
            int count = 0;
            for (const char *at = out; (at = strchr(at, '\n')) != NULL; at++) count++;
            if (count != 9) fail_msg("%u lanes, budget %u: %d\n%s", lanes, budgets[b], count, out);
            /* u0 in [0,10): i = 3, 9 pass v >= 2 of 0 3 6 9 with v 0 3 1 4 */
            CHECK(strstr(out, "u0 {\"window\":{\"start\":0,\"end\":10},\"n\":2,\"total\":7,\"lo\":3,\"hi\":4} @9\n") !=
                  NULL);
            engine_world_deinit(&w);
        }
    }
}

static void internal_topics_that_lose_nothing_are_warned_of_and_others_refused_k11(void **state)
{
    (void)state;
    struct engine_world w;
    engine_world_init(&w, count_app, 1, 1, 0);
    CHECK_EQ(sf_engine_phase(w.engine), SF_PHASE_RUNNING);
    CHECK_EQ(w.note_counts[SF_NOTE_TOPIC_STAMPS] + w.note_counts[SF_NOTE_TOPIC_RETENTION], 0); /* its own are right */
    engine_world_crash(&w);
    static const struct sf_topic_setting odd[] = {{"cleanup.policy", "compact"},
                                                  {"message.timestamp.type", "LogAppendTime"},
                                                  {"retention.ms", "1000"}};
    static const struct sf_topic_setting bad[] = {{"cleanup.policy", "compact,delete"}};
    static char app[sizeof count_app];
    memcpy(app, count_app, sizeof app);
    memcpy(strstr(app, "counts}"), "warned", 6);
    CHECK_EQ(sf_sim_kafka_create(w.broker, "warned-counts-changelog", 1, odd, 3), SF_OK);
    engine_world_load(&w, app);
    engine_world_start(&w);
    engine_world_at(&w, 20000);
    CHECK_EQ(sf_engine_phase(w.engine), SF_PHASE_RUNNING);
    CHECK_EQ(w.note_counts[SF_NOTE_TOPIC_STAMPS], 1);
    CHECK_EQ(w.note_counts[SF_NOTE_TOPIC_RETENTION], 1);
    engine_world_crash(&w);
    memcpy(strstr(app, "warned}"), "refuse", 6);
    CHECK_EQ(sf_sim_kafka_create(w.broker, "refuse-counts-changelog", 1, bad, 1), SF_OK);
    engine_world_load(&w, app);
    engine_world_start(&w);
    CHECK(w.has_ended);
    CHECK_EQ(w.end, SF_END_FAILED);
    CHECK(strstr(w.error.text, "cleanup.policy") != NULL);
    engine_world_deinit(&w);
}

/* State and offsets, but neither stamp nor emit frontier, as Kafka Streams leaves them: floors come from the times of
 * partitions, and what the changelog is past counts as sent. */
static void an_application_that_was_moved_sends_nothing_restored_again_s3(void **state)
{
    (void)state;
    static char app[sizeof count_app + 32];
    const char *kind = strstr(count_app, "kind: persistent");
    snprintf(app, sizeof app, "%.*sretention: 1h, %s", (int)(kind - count_app), count_app, kind);
    struct engine_world w;
    engine_world_init(&w, app, 1, 2, 0);
    w.has_store = false;
    engine_world_append(&w, 0, "a", 5, "1");
    engine_world_append(&w, 0, "a", 21, "1");
    engine_world_at(&w, 1);
    for (int barrier = 0; barrier < 3; barrier++) engine_world_barrier(&w);
    static const char first[] = "a {\"window\":{\"start\":0,\"end\":10},\"n\":1} @5\n";
    CHECK_STR(engine_world_output(&w), first);
    engine_world_crash(&w);
    static const char *const lost[] = {"counts-stoatflow-watermark-changelog", "counts-counts-emitfrontier-changelog"};
    for (int i = 0; i < 2; i++) {
        struct sf_tp tp = {.topic = sf_sim_kafka_topic(w.broker, lost[i]), .partition = 0};
        sf_sim_kafka_truncate(w.broker, tp, sf_sim_kafka_log_end(w.broker, tp, SF_LOG_END));
    }
    engine_world_start(&w);
    engine_world_append(&w, 0, "a", 6, "1"); /* behind the floor, 21 */
    engine_world_append(&w, 0, "a", 40, "1");
    engine_world_at(&w, 20000);
    CHECK_EQ(sf_engine_phase(w.engine), SF_PHASE_RUNNING);
    for (int barrier = 0; barrier < 3; barrier++) engine_world_barrier(&w);
    CHECK_EQ(sf_engine_step_counts(w.engine)[0].drops[SF_DROP_LATE_WINDOW], 1);
    static char both[256];
    snprintf(both, sizeof both, "%sa {\"window\":{\"start\":20,\"end\":30},\"n\":1} @21\n", first);
    CHECK_STR(engine_world_output(&w), both);
    engine_world_deinit(&w);
}

/* A record of somebody else's in a topic of the engine's: the start ends and says where it stands. */
static void a_start_refuses_a_bad_record(const char *topic, const char *key, const char *before, const char *after)
{
    struct engine_world w;
    engine_world_init(&w, count_app, 1, 1, 0);
    engine_world_append(&w, 0, "a", 5, "1");
    engine_world_at(&w, 1);
    engine_world_barrier(&w);
    engine_world_crash(&w);
    struct sf_tp tp = {.topic = sf_sim_kafka_topic(w.broker, topic), .partition = 0};
    struct sf_out out = {.key = {(const uint8_t *)key, (uint32_t)strlen(key)}, .value = {(const uint8_t *)"bad", 3}};
    char expected[SF_ERROR_TEXT_BYTES];
    int64_t offset = sf_sim_kafka_append(w.broker, tp, &out, 1);
    (void)snprintf(expected, sizeof expected, "%s offset %" PRId64 ": %s", before, offset, after);
    engine_world_start(&w);
    engine_world_at(&w, 20000);
    CHECK(w.has_ended);
    CHECK_EQ(w.end, SF_END_FAILED);
    CHECK_EQ(w.error.status, SF_E_CORRUPT);
    CHECK_STR(w.error.text, expected);
    engine_world_deinit(&w);
}

static void records_of_internal_topics_are_refused_with_their_place(void **state)
{
    (void)state;
    a_start_refuses_a_bad_record("counts-stoatflow-watermark-changelog", "stamp",
                                 "cannot read the watermark topic: counts-stoatflow-watermark-changelog/0:",
                                 "not a stamp of a version that this program knows");
    a_start_refuses_a_bad_record("counts-counts-emitfrontier-changelog", "frontier",
                                 "cannot restore: counts-counts-emitfrontier-changelog/0:", "not an emit frontier");
    a_start_refuses_a_bad_record("counts-counts-changelog", "short", "cannot restore: counts-counts-changelog/0",
                                 "key shorter than a window and its sequence");
}

/* Steps behind a key change read what came from the source as the source says it is encoded. */
static void values_keep_their_encoding_over_a_key_change(void **state)
{
    (void)state;
    static const char app[] =
        "application: {id: counts}\n"
        "sources:\n"
        "  in: {topic: in, key: string, value: int64, watermark: {strategy: monotonous}}\n"
        "stoatflow: {instance: one, watermark: {idleness-timeout-ms: 0}}\n"
        "streams:\n"
        "  - {name: by-value, from: in, key-by: $}\n"
        "  - {name: counts, from: by-value, window: {tumbling: 10ms}, aggregate: {most: max($)}, emit: "
        "on-window-update}\n"
        "sinks:\n"
        "  - {from: counts, topic: out, value: json}\n";
    struct engine_world w;
    engine_world_init(&w, app, 1, 2, 0);
    engine_world_append(&w, 0, "a", 5, "AAAAAAAA");
    engine_world_at(&w, 1);
    engine_world_barrier(&w);
    CHECK_STR(engine_world_output(&w),
              "4702111234474983745 {\"window\":{\"start\":0,\"end\":10},\"most\":4702111234474983745} @5\n");
    engine_world_deinit(&w);
}

static void at_least_once_loses_nothing_over_a_crash_b10(void **state)
{
    (void)state;
    static char app[2048];
    snprintf(app, sizeof app, "application: {id: counts, guarantee: at-least-once}\n%s", count_app + 26);
    for (int crash_at = 0; crash_at < 3; crash_at++) {
        struct engine_world w;
        engine_world_init(&w, app, 1, 1, 0);
        engine_world_append(&w, 0, "a", 5, "1");
        engine_world_append(&w, 0, "a", 10, "1");
        for (int barrier = 0; barrier < 3; barrier++) {
            engine_world_at(&w, 100 * (barrier + 1));
            engine_world_barrier(&w);
            CHECK_EQ(sf_engine_epoch(w.engine), (uint64_t)barrier + 1);
            if (barrier != crash_at) continue;
            engine_world_crash(&w);
            engine_world_start(&w);
        }
        for (int barrier = 0; barrier < 3; barrier++) engine_world_barrier(&w);
        CHECK(strstr(engine_world_output(&w), "a {\"window\":{\"start\":0,\"end\":10},\"n\":1} @5\n") != NULL);
        engine_world_deinit(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_undelivered_record_aborts_and_rolls_time_back_case_79),
        cmocka_unit_test(an_end_that_is_lost_is_asked_for_again_case_81),
        cmocka_unit_test(lost_answers_to_offsets_and_init_are_survived),
        cmocka_unit_test(a_transaction_that_the_coordinator_timed_out_is_run_again_case_80),
        cmocka_unit_test(what_waits_for_a_new_session_does_not_get_into_it_b9),
        cmocka_unit_test(a_crossing_waits_for_changes_without_credit_b6),
        cmocka_unit_test(the_end_waits_for_a_task_that_a_fall_back_waited_for_b9),
        cmocka_unit_test(a_former_owner_stops_fenced_and_writes_nothing_more_b14),
        cmocka_unit_test(a_store_that_another_process_holds_is_done_without),
        cmocka_unit_test(rows_come_from_the_local_store_and_the_rest_from_the_changelog_k4),
        cmocka_unit_test(packed_units_leave_the_changelog_after_a_restart_k6),
        cmocka_unit_test(a_key_change_crosses_lanes_and_barriers_stay_aligned_l3_b5),
        cmocka_unit_test(internal_topics_that_lose_nothing_are_warned_of_and_others_refused_k11),
        cmocka_unit_test(an_application_that_was_moved_sends_nothing_restored_again_s3),
        cmocka_unit_test(records_of_internal_topics_are_refused_with_their_place),
        cmocka_unit_test(values_keep_their_encoding_over_a_key_change),
        cmocka_unit_test(at_least_once_loses_nothing_over_a_crash_b10),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
