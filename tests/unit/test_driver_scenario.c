/* Scenario files: what a file says is what the scenario holds; every mistake is named at its place. */
#include "tests/check.h"

#include "core/note.h"
#include "core/time/event_time.h"
#include <stdio.h>

#include "driver/point.h"
#include "driver/scenario.h"

#define START INT64_C(1790071200000) /* 2026-09-22T10:00:00Z */

struct help {
    struct sf_scenario *scenario;
    struct sf_text text;
};

static void load_file(struct help *help, const char *path)
{
    sf_text_init_growing(&help->text, sf_alloc_libc());
    help->scenario = sf_driver_scenario_load(path, sf_alloc_libc(), &help->text);
}

static void load(struct help *help, const char *yaml)
{
    sf_text_init_growing(&help->text, sf_alloc_libc());
    help->scenario = sf_driver_scenario_parse(yaml, strlen(yaml), "scenarios/f", sf_alloc_libc(), &help->text);
}

static void end(struct help *help)
{
    sf_text_deinit(&help->text);
    sf_driver_scenario_destroy(help->scenario);
}

/* `{"amount":<1..500>}`: pieces as they stand, draws in angle brackets. */
static const char *show(const struct sf_scenario_template *template, char buffer[256])
{
    struct sf_text text;
    sf_text_init(&text, buffer, 256);
    for (uint32_t i = 0; i < template->piece_count; i++) {
        const struct sf_scenario_draw *draw = template->pieces[i].draw;
        CHECK((draw == NULL) != (template->pieces[i].text == NULL));
        if (draw == NULL) {
            sf_text_add(&text, template->pieces[i].text);
            continue;
        }
        static const char *const names[] = {"constant", "uniform", "exponential", "zipf", "sequence"};
        sf_text_add(&text, "<");
        sf_text_add(&text, names[draw->kind]);
        sf_text_add(&text, " ");
        sf_text_add_int(&text, draw->a);
        sf_text_add(&text, " ");
        sf_text_add_int(&text, draw->b);
        sf_text_add(&text, " ");
        sf_text_add_uint(&text, draw->width);
        sf_text_add(&text, ">");
    }
    return buffer;
}

static struct help full;

static int load_full(void **state)
{
    (void)state;
    load_file(&full, "tests/data/scenario-full.yaml");
    return 0;
}

static int end_full(void **state)
{
    (void)state;
    end(&full);
    return 0;
}

static void the_head_and_the_world_are_read(void **state)
{
    (void)state;
    CHECK_STR(full.text.data, "");
    CHECK(full.scenario != NULL);
    const struct sf_scenario *s = full.scenario;
    CHECK_STR(s->name, "everything");
    CHECK_EQ(s->seed, 7);
    CHECK_EQ(s->start_ms, START);
    CHECK_EQ(s->stop_ms, 1200000);
    CHECK(s->is_stopped);
    CHECK(s->app_path == NULL);
    CHECK_EQ(s->topology->settings.lanes, 2);
    CHECK_EQ(s->topic_count, 3);
    CHECK_STR(s->topics[0].name, "orders");
    CHECK_EQ(s->topics[0].partition_count, 3);
    CHECK_STR(s->topics[2].name, "order-counts");
    CHECK_EQ(s->topics[2].partition_count, 1);
    CHECK(!s->world.is_exact);
    CHECK_EQ(s->world.fetch_latency.kind, SF_SCENARIO_DRAW_UNIFORM);
    CHECK_EQ(s->world.fetch_latency.b, 20);
    CHECK_EQ(s->world.commit_latency.kind, SF_SCENARIO_DRAW_CONSTANT);
    CHECK_EQ(s->world.commit_latency.a, 10);
    CHECK(s->world.is_transactions_v2);
    CHECK_EQ(s->world.schedule, SF_SCENARIO_PRIORITY);
    CHECK_EQ(s->world.depth, 5);
    CHECK(s->is_barrier_manual);
    CHECK_EQ(s->barrier_count, 3);
    CHECK_EQ(s->barriers[2], 1001);
}

static void input_is_read_with_its_draws(void **state)
{
    (void)state;
    char text[256];
    const struct sf_scenario_input *inputs = full.scenario->inputs;
    CHECK_EQ(full.scenario->input_count, 5);
    CHECK_EQ(inputs[0].kind, SF_SCENARIO_RECORD);
    CHECK_EQ(inputs[0].count, 1);
    CHECK_EQ(inputs[0].partition, 0);
    CHECK_STR(show(&inputs[0].key, text), "a");
    CHECK_STR(show(&inputs[0].value, text), "{\"amount\":5,\"tags\":[\"x\",\"1\",true,null,-1.5e3]}");
    CHECK_EQ(inputs[0].stamp, SF_SCENARIO_STAMP_TIME);
    CHECK_EQ(inputs[0].ts_ms, START);
    CHECK_EQ(inputs[1].kind, SF_SCENARIO_GENERATOR);
    CHECK_EQ(inputs[1].until_ms, 600000);
    CHECK_EQ(inputs[1].every_ms, 1000);
    CHECK_EQ(inputs[1].count, 0);
    CHECK_STR(show(&inputs[1].key, text), "<zipf 100 1100000 0>");
    CHECK_STR(show(&inputs[1].value, text), "{\"amount\":<uniform 1 500 0>,\"id\":\"o-<sequence 0 0 0>\"}");
    CHECK_EQ(inputs[1].stamp, SF_SCENARIO_STAMP_BEHIND);
    CHECK_EQ(inputs[1].behind.kind, SF_SCENARIO_DRAW_EXPONENTIAL);
    CHECK_EQ(inputs[1].behind.a, 2000);
    CHECK_EQ(inputs[2].kind, SF_SCENARIO_BULK);
    CHECK_EQ(inputs[2].count, 100000);
    CHECK_EQ(inputs[2].topic, 1);
    CHECK_STR(show(&inputs[2].key, text), "c<sequence 0 0 6>");
    CHECK_EQ(inputs[3].at_ms, 360000);
    CHECK_EQ(inputs[3].partition, SF_SCENARIO_ANY);
    CHECK_STR(show(&inputs[3].key, text), "5");
    CHECK_EQ(inputs[3].value.piece_count, 0);
    CHECK_EQ(inputs[3].ts_ms, START + 10);
    CHECK_EQ(inputs[4].key.piece_count, 1);
    CHECK_STR(show(&inputs[4].key, text), "");
    CHECK_STR(show(&inputs[4].value, text), "\"\"");
    CHECK_EQ(inputs[4].ts_ms, -1);
}

static void faults_are_read_one_per_partition(void **state)
{
    (void)state;
    const struct sf_scenario_fault *faults = full.scenario->faults;
    static const enum sf_scenario_fault_kind kinds[] = {
        SF_SCENARIO_CRASH,      SF_SCENARIO_CRASH,        SF_SCENARIO_BROKER,         SF_SCENARIO_CRASH,
        SF_SCENARIO_UNAVAILABLE, SF_SCENARIO_LAG_UNKNOWN, SF_SCENARIO_ADDED,          SF_SCENARIO_REVOKED,
        SF_SCENARIO_CLOCK_JUMP, SF_SCENARIO_TAKE_OVER,    SF_SCENARIO_LANE_STOPPED,   SF_SCENARIO_INGEST_STOPPED,
        SF_SCENARIO_PAUSE,      SF_SCENARIO_STOP,         SF_SCENARIO_MARKERS,        SF_SCENARIO_REQUEST_LOST,
        SF_SCENARIO_REQUEST_LOST, SF_SCENARIO_JOIN,       SF_SCENARIO_HAND_OVER,      SF_SCENARIO_ASSIGNED,
        SF_SCENARIO_LOG_START,  SF_SCENARIO_SWARM};
    CHECK_EQ(full.scenario->fault_count, sizeof kinds / sizeof kinds[0]);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) CHECK_EQ(faults[i].kind, kinds[i]);
    CHECK_EQ(faults[0].at_ms, 180000);
    CHECK_EQ(faults[0].restart_after_ms, 2000);
    CHECK(!faults[0].is_at_point && !faults[0].is_store_lost);
    CHECK(faults[1].is_at_point && faults[1].is_store_lost);
    CHECK_EQ(faults[1].point.note, SF_NOTE_BARRIER_STAMPED);
    CHECK_EQ(faults[1].point.epoch, 4);
    CHECK_STR(faults[1].point.text, "barrier(4).stamped");
    CHECK_EQ(faults[2].point.note, SF_NOTE_TXN_END_SENT);
    CHECK(faults[2].is_answer_lost && faults[2].is_committed);
    CHECK_EQ(faults[3].point.note, SF_NOTE_LANE_CROSSED);
    CHECK(faults[3].point.is_epoch_any);
    CHECK_EQ(faults[3].point.step, 1);
    CHECK_EQ(faults[3].point.lane, 1);
    CHECK_EQ(faults[4].partition, 2);
    CHECK_EQ(faults[4].until_ms, 420000);
    CHECK_EQ(faults[5].partition, 1);
    CHECK_EQ(faults[6].at_ms, 390000);
    CHECK_EQ(faults[8].jump_ms, -30000);
    CHECK_EQ(faults[10].step, 1);
    CHECK_EQ(faults[10].lane, 0);
    CHECK(faults[12].is_paused);
    CHECK_EQ(faults[13].restart_after_ms, 3000);
    CHECK(faults[14].is_at_point);
    CHECK_EQ(faults[14].point.note, SF_NOTE_LANE_EMITTED);
    CHECK_EQ(faults[14].point.epoch, 5);
    CHECK_EQ(faults[14].span_ms, 250);
    CHECK_EQ(faults[15].request, SF_SCENARIO_REQUEST_OFFSETS);
    CHECK_EQ(faults[16].request, SF_SCENARIO_REQUEST_COMMIT);
    CHECK_EQ(faults[20].offset, 7);
    CHECK(faults[20].topic >= full.scenario->topic_count);
    CHECK_STR(full.scenario->topics[faults[20].topic].name, "everything-counts-changelog");
}

static void expectations_are_read(void **state)
{
    (void)state;
    char text[256];
    const struct sf_scenario *s = full.scenario;
    CHECK_EQ(s->output_count, 1);
    CHECK(s->outputs[0].is_exact);
    CHECK_EQ(s->outputs[0].row_count, 3);
    const struct sf_scenario_row *rows = s->outputs[0].rows;
    CHECK_STR(show(&rows[0].key, text), "a");
    CHECK_EQ(rows[0].window_start_ms, START);
    CHECK_EQ(rows[0].window_end_ms, START + 300000);
    CHECK_STR(rows[0].value, "{\"n\":1,\"total\":5}");
    CHECK_EQ(rows[0].ts_ms, START + 240000);
    CHECK(!rows[1].has_value);
    CHECK_EQ(rows[1].window_start_ms, START + 300000);
    CHECK_EQ(rows[1].ts_ms, SF_SCENARIO_UNUSED);
    CHECK(rows[2].has_value && rows[2].value == NULL && !rows[2].has_window);
    CHECK_EQ(s->watermark_count, 3);
    CHECK_EQ(s->watermarks[0].global.at_least_ms, START + 240000);
    CHECK_EQ(s->watermarks[0].global.at_most_ms, START + 240000);
    CHECK_EQ(s->watermarks[1].global.at_least_ms, START + 600000);
    CHECK_EQ(s->watermarks[1].global.at_most_ms, SF_TIME_COMPLETE);
    CHECK_EQ(s->watermarks[2].global.at_most_ms, SF_TIME_UNSET);
    CHECK_EQ(s->partition_count, 2);
    CHECK_EQ(s->partitions[0].partition, 2);
    CHECK(s->partitions[0].has_idle && s->partitions[0].is_idle);
    CHECK(!s->partitions[1].is_idle);
    CHECK_EQ(s->partitions[1].watermark.at_most_ms, START + 300000);
    CHECK_EQ(s->metric_count, 2);
    CHECK_STR(s->metrics[0].name, "dropped.records.total{reason=late_window}");
    CHECK_EQ(s->metrics[0].at_ms, SF_SCENARIO_UNUSED);
    CHECK_EQ(s->metrics[1].at_ms, 60000);
    CHECK_EQ(s->metrics[1].value, 3);
    CHECK_EQ(s->failed_count, 2);
    CHECK_STR(s->failed[1].name, "offset 3");
    CHECK_EQ(s->said_count, 1);
    CHECK_STR(s->said[0].name, "is paused at");
    CHECK_EQ(s->warned_count, 1);
    CHECK_STR(s->warned[0].name, "alignment-mixed-watermark-bounds");
}

#define APP "app: {application: {id: a}, sources: {s: {topic: t}}}\n"

static void what_is_left_out_has_its_default(void **state)
{
    (void)state;
    struct help help;
    load(&help, "scenario: x\n" APP "topics: {t: {partitions: 1}}\n");
    CHECK_STR(help.text.data, "");
    CHECK(help.scenario != NULL);
    CHECK_EQ(help.scenario->seed, 1);
    CHECK_EQ(help.scenario->start_ms, SF_SCENARIO_START_MS);
    CHECK_EQ(help.scenario->stop_ms, SF_SCENARIO_UNUSED);
    CHECK(help.scenario->is_stopped);
    CHECK(!help.scenario->is_barrier_manual);
    CHECK(!help.scenario->world.has_fetch_latency);
    CHECK_EQ(help.scenario->world.schedule, SF_SCENARIO_RANDOM);
    end(&help);
    load(&help, "scenario: x\nend: none\nworld: {exact: true}\n" APP "topics: {t: {partitions: 1}}\n");
    CHECK(help.scenario->is_barrier_manual);
    CHECK(!help.scenario->is_stopped);
    end(&help);
}

static void an_application_file_is_found_beside_the_scenario(void **state)
{
    (void)state;
    struct help help;
    load(&help, "scenario: x\napp: apps/counts-per-key.yaml\ntopics: {orders: {partitions: 2}}\n");
    CHECK_STR(help.text.data, "");
    CHECK(help.scenario != NULL);
    CHECK_STR(help.scenario->app_path, "apps/counts-per-key.yaml");
    CHECK_STR(help.scenario->topology->application_id, "counts-per-key");
    end(&help);
    load(&help, "scenario: x\napp: apps/none.yaml\n");
    CHECK_STR(help.text.data, "scenarios/f:2:6: error: the application `scenarios/apps/none.yaml` cannot be read: No "
                              "such file or directory [V8]\n");
    CHECK(help.scenario == NULL);
    end(&help);
}

static void a_refusal_that_is_expected_loads(void **state)
{
    (void)state;
    struct help help;
    load(&help, "scenario: x\n"
                "app:\n"
                "  application: {id: a}\n"
                "  sources: {s: {topic: t, watermark: {strategy: none}}}\n"
                "  streams: [{name: w, from: s, window: {tumbling: 1s}, aggregate: {n: count}}]\n"
                "expect: {refused: [V1]}\n");
    CHECK_STR(help.text.data, "");
    CHECK(help.scenario != NULL);
    CHECK(help.scenario->topology == NULL);
    CHECK_EQ(help.scenario->refused_count, 1);
    CHECK_EQ(help.scenario->app_findings.error_count, 1);
    CHECK_STR(help.scenario->app_findings.items[0].rule, "V1");
    end(&help);
}

#define GOOD                                                                                                           \
    "scenario: x\n"                                                                                                    \
    "topics: {t: {partitions: 2}}\n"                                                                                   \
    "app: {application: {id: a}, sources: {s: {topic: t, value: json}}, "                                              \
    "streams: [{name: f, from: s, filter: \"true\"}], sinks: [{from: f, topic: o}]}\n"

/* A sink's topic need not be listed, and whose sinks are not known may write to any. */
static void output_of_a_refused_application_is_not_asked_for(void **state)
{
    (void)state;
    struct help help;
    load(&help, "scenario: x\n"
                "app: {application: {id: a}, sources: {s: {topic: t, watermark: {strategy: none}}},\n"
                "  streams: [{name: w, from: s, window: {tumbling: 1s}, aggregate: {n: count}}],\n"
                "  sinks: [{from: w, topic: o}]}\n"
                "topics: {t: {partitions: 1}}\n"
                "expect: {refused: [V1], output: {o: {exactly: []}}}\n");
    CHECK_STR(help.text.data, "");
    CHECK(help.scenario != NULL);
    end(&help);
}

static void a_window_ends_at_midnight(void **state)
{
    (void)state;
    struct help help;
    load(&help, GOOD "start: 2026-09-22T10:00:00Z\n"
                     "expect: {output: {o: {exactly: [{window: [23:55, 00:00]}, {window: [00:00, 00:00]}]}}}\n");
    CHECK_STR(help.text.data, "");
    const struct sf_scenario_row *rows = help.scenario->outputs[0].rows;
    CHECK_EQ(rows[0].window_start_ms, START + 50100000);
    CHECK_EQ(rows[0].window_end_ms, START + 50400000);
    CHECK_EQ(rows[1].window_end_ms - rows[1].window_start_ms, 86400000);
    end(&help);
}

static void a_clock_may_jump_to_either_side_with_its_sign(void **state)
{
    (void)state;
    struct help help;
    load(&help, GOOD "faults: [{at: +1s, clock: {jump: +1h}}, {at: +2s, clock: {jump: -1m}}]\n");
    CHECK_STR(help.text.data, "");
    CHECK_EQ(help.scenario->faults[0].jump_ms, 3600000);
    CHECK_EQ(help.scenario->faults[1].jump_ms, -60000);
    end(&help);
    load(&help, GOOD "world: {fetch-latency: +1ms}\n");
    CHECK(help.scenario == NULL);
    end(&help);
}

static void input_behind_the_stop_is_warned_of(void **state)
{
    (void)state;
    struct help help;
    load(&help, GOOD "stop: +1s\n"
                     "input: [{at: +1s, to: t/0, key: a, value: 1}, {at: +5s, to: t/0, key: a, value: 1}]\n");
    CHECK(help.scenario != NULL);
    CHECK(strstr(help.text.data, ":5:") != NULL);
    CHECK(strstr(help.text.data, "warning: this never arrives: it begins at +5s, and the run stops at +1s") != NULL);
    CHECK(strstr(help.text.data, "+1s, and") == NULL);
    end(&help);
}

static void a_lane_needs_its_step_where_there_are_several_sub_topologies(void **state)
{
    (void)state;
    struct help help;
    load(&help, "scenario: x\n"
                "app: {application: {id: a}, sources: {s: {topic: t, value: json}}, streams: [\n"
                "  {name: k, from: s, key-by: $.k},\n"
                "  {name: w, from: k, window: {tumbling: 1s}, aggregate: {n: count}}]}\n"
                "topics: {t: {partitions: 1}}\n"
                "faults: [{when: lane(0).crossed(1), crash: {restart-after: 0s}}]\n");
    CHECK_STR(help.text.data,
              "scenarios/f:6:17: error: `lane(0).crossed(1)` does not say of which sub-topology: there are several; "
              "name one by a step in it, such as lane(k.0) [V8]\n");
    end(&help);
}

/* ---- broken ---- */

struct broken {
    const char *rest;
    const char *expected;
};

static void mistakes_are_named_at_their_place(void **state)
{
    (void)state;
    static const struct broken cases[] = {
        {"colour: red\n", "4:1: error: unknown key `colour` in the file [V8]\n"},
        {"imput: []\n", "4:1: error: unknown key `imput` in the file; did you mean `input`? [V8]\n"},
        {"seed: -1\n", "4:7: error: seed is -1 and must be at least 0 [V8]\n"},
        {"stop: 20m\n", "4:7: error: stop must be a time such as 2026-09-22T10:00:00Z, +90s (from the start), 10:05 or "
                        "epoch milliseconds, not `20m` [V8]\n"},
        {"stop: 2020-01-01\n", "4:7: error: `2020-01-01` lies before the scenario's start [V8]\n"},
        {"input: [{at: +1s, to: tt/0}]\n", "4:23: error: there is no topic `tt`; list it under `topics` [V8]\n"},
        {"input: [{at: +1s, to: t/2}]\n",
         "4:9: error: there is no partition 2 of `t`: it has 2, and no fault adds it [V8]\n"},
        {"input: [{at: +1s, to: t/x}]\n",
         "4:23: error: `t/x` is not a topic and a partition, such as orders/0 [V8]\n"},
        {"input: [{at: +1s}]\n", "4:9: error: input.#1 has no `to`: topic/partition, or a topic: the partition by the "
                                 "key (K12) [V8]\n"},
        {"input: [{to: t}]\n", "4:9: error: an entry needs `at`, or `from`, `until` and `every` [V8]\n"},
        {"input: [{from: +0s, every: 1s, to: t}]\n",
         "4:9: error: a generator needs all of `from`, `until` and `every` [V8]\n"},
        {"input: [{from: +2s, until: +1s, every: 1s, to: t}]\n", "4:28: error: `until` must lie behind `from` [V8]\n"},
        {"input: [{at: +1s, until: +2s, to: t}]\n",
         "4:9: error: a generator needs all of `from`, `until` and `every` [V8]\n"
         "4:19: error: an entry has `at`, or is a generator with `from`, `until` and `every` [V8]\n"},
        {"input: [{at: +1s, to: t, key: {zipf: {n: 0, s: 1}}}]\n",
         "4:42: error: input.#1.key.zipf.n is 0 and must be at least 1 [V8]\n"},
        {"input: [{at: +1s, to: t, value: {a: {uniform: [3, 1]}}}]\n",
         "4:38: error: the first of the two is the smaller one [V8]\n"},
        {"input: [{at: +1s, to: t, value: {a: {uniform: [3]}}}]\n",
         "4:38: error: a draw.uniform must be a list of 2 values [V8]\n"},
        {"input: [{at: +1s, to: t, value: {sequence: c%6d}}]\n",
         "4:44: error: `c%6d` is not a sequence such as c%06d: one %d or %0Nd [V8]\n"},
        {"input: [{at: +1s, to: t, headers: {}}]\n",
         "4:26: error: `headers` (input.#1) is not yet supported [later]\n"},
        {"faults: [{at: +1s}]\n", "4:10: error: a fault does nothing: give it crash, stop, broker, partition, "
                                  "clock, standby, offsets, lane, ingest, pause or swarm [V8]\n"},
        {"faults: [{crash: {restart-after: 1s}}]\n", "4:10: error: `crash` needs `at` or `when` [V8]\n"},
        {"faults: [{at: +1s, lane: {f/0: stopped}}]\n", "4:10: error: `lane` needs `from` and `until` [V8]\n"},
        {"faults: [{at: +1s, crash: {restart-after: 1s}, pause: true}]\n",
         "4:48: error: a fault has both `crash` and `pause`; make them two [V8]\n"},
        {"faults: [{when: \"barier(4).stamped\", crash: {restart-after: 1s}}]\n",
         "4:17: error: `barier(4).stamped` is no point of the protocol; did you mean `barrier(n).stamped`? [V8]\n"},
        {"faults: [{when: \"lane(g.0).crossed(1)\", crash: {restart-after: 1s}}]\n",
         "4:17: error: there is no step `g` in the application [V8]\n"},
        {"faults: [{when: \"frontier(1).emited\", crash: {restart-after: 1s}}]\n",
         "4:17: error: `frontier(1).emited` is no point of the protocol; did you mean `frontier(n).emitted`? [V8]\n"},
        {"faults: [{from: +1s, until: +2s, stop: {restart-after: 1s}}]\n",
         "4:10: error: `stop` needs `at` or `when` [V8]\n"},
        {"faults: [{at: +1s, stop: {}}]\n",
         "4:20: error: faults.#1.stop has no `restart-after`: how long after its end the application starts again "
         "[V8]\n"},
        {"faults: [{at: +1s, broker: {answer: lost}}]\n",
         "4:20: error: `broker` has `answer` with `outcome`, or `markers`, or `request` (perhaps with `of`) [V8]\n"},
        {"faults: [{at: +1s, broker: {request: lost, markers: 1s}}]\n",
         "4:20: error: `broker` has `answer` with `outcome`, or `markers`, or `request` (perhaps with `of`) [V8]\n"},
        {"faults: [{at: +1s, broker: {of: commit}}]\n",
         "4:20: error: `broker` has `answer` with `outcome`, or `markers`, or `request` (perhaps with `of`) [V8]\n"},
        {"faults: [{at: +1s, broker: {request: lost, of: comit}}]\n",
         "4:48: error: faults.#1.broker.of cannot be `comit`; did you mean `commit`? [V8]\n"},
        {"faults: [{at: +1s, broker: {markers: 0s}}]\n",
         "4:38: error: faults.#1.broker.markers is 0s and must be at least 1ms [V8]\n"},
        {"faults: [{at: +1s, partition: {t/0: {}}}]\n",
         "4:37: error: `t/0` needs either `lag` or `log-start` [V8]\n"},
        {"faults: [{from: +1s, until: +2s, partition: {t/0: {log-start: 4}}}]\n",
         "4:51: error: `log-start` happens `at` an instant [V8]\n"},
        {"faults: [{at: +1s, partition: {a-f-chagelog/0: {log-start: 4}}}]\n",
         "4:32: error: there is no topic `a-f-chagelog`; list it under `topics` [V8]\n"},
        {"faults: [{at: +1s, partition: {t/0: asigned}}]\n",
         "4:37: error: faults.#1.partition.t/0 cannot be `asigned`; did you mean `assigned`? [V8]\n"},
        {"expect: {failed: no}\n", "4:18: error: expect.failed must be a list, not `no` [V8]\n"},
        {"expect: {said: [[a]]}\n", "4:17: error: expect.said.#1 must be a text, not a list [V8]\n"},
        {"faults: [{from: +1s, until: +1s, ingest: stopped}]\n", "4:29: error: `until` must lie behind `from` [V8]\n"},
        {"faults: [{at: +2s, partition: {t/3: added}}]\n"
         "input: [{at: +1s, to: t/2}, {at: +2s, to: t/3}]\n",
         "5:9: error: there is no partition 2 of `t` yet: it is added later [V8]\n"},
        {"faults: [{at: +1s, partition: {t/1: added}}]\n",
         "4:32: error: this partition is there from the start and cannot be added [V8]\n"},
        {"faults: [{at: +1s, partition: {t/5: revoked}}]\n",
         "4:32: error: there is no partition 5 of `t`: it has 2, and no fault adds it [V8]\n"},
        {"faults: [{from: +1s, until: +2s, lane: {f: stopped}}]\n",
         "4:41: error: `f` is not a step and a lane, such as counts/0 [V8]\n"},
        {"faults: [{at: +1s, standby: takeover}]\n",
         "4:29: error: faults.#1.standby cannot be `takeover`; did you mean `take-over`? [V8]\n"},
        {"barriers: [+2s, +1s]\n",
         "4:17: error: barriers stand in the order of their times, no two at one instant [V8]\n"},
        {"world: {depth: 3}\n", "4:9: error: `depth` goes with `schedule: priority` [V8]\n"},
        {"expect: {output: {p: {exactly: []}}}\n", "4:19: error: there is no topic `p`; list it under `topics` [V8]\n"},
        {"expect: {output: {o: {}}}\n",
         "4:19: error: the expected output of `o` is either `exactly` or `contains` [V8]\n"},
        {"expect: {output: {o: {contains: [{window: [10:05, 10:00]}]}}}\n",
         "4:43: error: a window's start lies before its end [V8]\n"},
        {"expect: {metrics: [{stoatflow.transactions.lost.total: b}]}\n",
         "4:56: error: `stoatflow.transactions.lost.total` must be a whole number, not `b` [V8]\n"},
        {"expect: {metrics: [{a: 1}]}\n",
         "4:21: error: there is no metric `a`, such as dropped.records.total [V8]\n"},
        {"expect: {metrics: [{\"dropped.records.total{reason=late_windw}\": 1}]}\n",
         "4:21: error: there is no metric `dropped.records.total{reason=late_windw}`; did you mean "
         "`dropped.records.total{reason=late_window}`? [V8]\n"},
        {"faults: [{from: +1s, until: +2s, lane: {f/4: stopped}}]\n",
         "4:41: error: there is no lane 4: the application has 4, counted from 0 [V8]\n"},
        {"faults: [{when: \"lane(f.4).crossed(1)\", crash: {restart-after: 1s}}]\n",
         "4:10: error: there is no lane 4: the application has 4, counted from 0 [V8]\n"},
        {"world: {fetch-latency: {exponential: 2ms}}\n",
         "4:9: error: world.fetch-latency has no `uniform`: a span between two, both included [V8]\n"
         "4:25: error: unknown key `exponential` in world.fetch-latency [V8]\n"},
        {"expect: {partitions: [{at: +1s, t/0: {idel: true}}]}\n",
         "4:33: error: `t/0` expects nothing; give it `idle` or `watermark` [V8]\n"
         "4:39: error: unknown key `idel` in expect.partitions.#1.t/0; did you mean `idle`? [V8]\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct help help;
        struct sf_text yaml, expected;
        sf_text_init_growing(&yaml, sf_alloc_libc());
        sf_text_init_growing(&expected, sf_alloc_libc());
        sf_text_add(&yaml, GOOD);
        sf_text_add(&yaml, cases[i].rest);
        for (const char *line = cases[i].expected; *line != '\0';) {
            size_t length = strcspn(line, "\n") + 1;
            sf_text_add(&expected, "scenarios/f:");
            sf_text_add_bytes(&expected, line, length);
            line += length;
        }
        load(&help, yaml.data);
        CHECK_STR(help.text.data, expected.data);
        CHECK(help.scenario == NULL);
        end(&help);
        sf_text_deinit(&yaml);
        sf_text_deinit(&expected);
    }
}

/* `name` with numbers for its letters: `lane(s.i).crossed(n)` -> `lane(f.0).crossed(3)`. */
static void fill_point(const char *name, char out[64])
{
    size_t length = 0;
    for (; *name != '\0'; name++) {
        if (strncmp(name, "(s.i)", 5) == 0) {
            memcpy(out + length, "(f.0)", 5);
            length += 5;
            name += 4;
        } else {
            out[length++] = name[0] == 'n' && name[1] == ')' ? '3' : name[0];
        }
    }
    out[length] = '\0';
}

static void every_point_that_is_listed_can_be_named(void **state)
{
    (void)state;
    const char *name, *words;
    uint32_t count = 0;
    for (; sf_driver_point_describe(count, &name, &words); count++) {
        struct help help;
        char point[64], yaml[512];
        fill_point(name, point);
        (void)snprintf(yaml, sizeof yaml, GOOD "faults: [{when: \"%s\", crash: {restart-after: 1s}}]\n", point);
        load(&help, yaml);
        CHECK_STR(help.text.data, "");
        CHECK(help.scenario != NULL);
        CHECK_STR(help.scenario->faults[0].point.text, point);
        end(&help);
    }
    CHECK_EQ(count, 13);
}

static void mistakes_of_the_application_are_named_too(void **state)
{
    (void)state;
    struct help help;
    load(&help, "scenario: x\n"
                "app:\n"
                "  application: {id: a}\n"
                "  sources: {s: {topc: t}}\n"
                "inputs: []\n");
    CHECK_STR(help.text.data,
              "scenarios/f:4:13: error: app.sources.s has no `topic`: the topic read [V8]\n"
              "scenarios/f:4:17: error: unknown key `topc` in app.sources.s; did you mean `topic`? [V8]\n"
              "scenarios/f:5:1: error: unknown key `inputs` in the file; did you mean `input`? [V8]\n");
    CHECK(help.scenario == NULL);
    end(&help);
}

static void a_source_whose_topic_is_not_listed_is_refused(void **state)
{
    (void)state;
    struct help help;
    load(&help, "scenario: x\n" APP);
    CHECK_STR(help.text.data,
              "scenarios/f:2:1: error: source `s` reads the topic `t`, which `topics` does not list [V8]\n");
    CHECK(help.scenario == NULL);
    end(&help);
}

int main(void)
{
    const struct CMUnitTest whole[] = {
        cmocka_unit_test(the_head_and_the_world_are_read),
        cmocka_unit_test(input_is_read_with_its_draws),
        cmocka_unit_test(faults_are_read_one_per_partition),
        cmocka_unit_test(expectations_are_read),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out_has_its_default),
        cmocka_unit_test(an_application_file_is_found_beside_the_scenario),
        cmocka_unit_test(a_refusal_that_is_expected_loads),
        cmocka_unit_test(output_of_a_refused_application_is_not_asked_for),
        cmocka_unit_test(a_window_ends_at_midnight),
        cmocka_unit_test(a_clock_may_jump_to_either_side_with_its_sign),
        cmocka_unit_test(input_behind_the_stop_is_warned_of),
        cmocka_unit_test(a_lane_needs_its_step_where_there_are_several_sub_topologies),
        cmocka_unit_test(mistakes_are_named_at_their_place),
        cmocka_unit_test(every_point_that_is_listed_can_be_named),
        cmocka_unit_test(mistakes_of_the_application_are_named_too),
        cmocka_unit_test(a_source_whose_topic_is_not_listed_is_refused),
    };
    int failed = cmocka_run_group_tests_name("everything", whole, load_full, end_full);
    return failed + cmocka_run_group_tests_name("scenarios", tests, NULL, NULL);
}
