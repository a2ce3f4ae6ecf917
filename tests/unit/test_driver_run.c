/* Whole runs: what happened, line by line in virtual time; faults; verdicts; exit statuses of sfsim. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "driver/command.h"
#include "driver/oracle.h"
#include "driver/run.h"
#include "driver/session.h"
#include "driver/trail.h"
#include "tests/check.h"

/* ---------------------------------------------------------------- scenarios and what they must do */

/* Partition 1 never delivers. It may be silent for a second, and one millisecond later the watermark passes it (I1). */
static const char quiet_yaml[] =
    "scenario: quiet\n"
    "start: 1970-01-02T00:00:00Z\n"
    "stop: +3s\n"
    "world: {exact: true}\n"
    "barriers: [+500ms, +1s, +1001ms, +1500ms]\n"
    "topics: {in: {partitions: 2}}\n"
    "app:\n"
    "  application: {id: quiet}\n"
    "  stoatflow: {processing.lanes: 1, watermark: {idleness-timeout-ms: 1000}}\n"
    "  sources:\n"
    "    in: {topic: in, key: string, value: json, watermark: {max-out-of-orderness: 0ms}}\n"
    "  streams:\n"
    "    - {name: counts, from: in, window: {tumbling: 100ms}, aggregate: {n: count}, emit: on-window-close}\n"
    "  sinks:\n"
    "    - {from: counts, topic: out}\n"
    "input:\n"
    "  - {at: +0ms, to: in/0, key: a, value: {}, ts: +10ms}\n"
    "  - {at: +100ms, to: in/0, key: a, value: {}, ts: +120ms}\n"
    "  - {at: +900ms, to: in/0, key: a, value: {}, ts: +130ms}\n";

static const char quiet_history[] =
    "+0.000s      world     the application starts\n"
    "+0.000s      engine    owner of the application\n"
    "+0.000s      engine    state restored: 0 rows\n"
    "+0.000s      engine    running from epoch 1, watermark unset\n"
    "+0.000s      input     in/0@0 key a at 1970-01-02T00:00:00.010Z\n"
    "+0.100s      input     in/0@1 key a at 1970-01-02T00:00:00.120Z\n"
    "+0.500s      ingest    barrier 1 stamped unset\n"
    "+0.500s      commit    transaction 1 committed\n"
    "+0.900s      input     in/0@2 key a at 1970-01-02T00:00:00.130Z\n"
    "+1.000s      ingest    barrier 2 stamped unset\n"
    "+1.000s      commit    transaction 2 committed\n"
    "+1.001s      ingest    watermark 1970-01-02T00:00:00.130Z, held by in/0\n"
    "+1.001s      ingest    in/1 is idle\n"
    "+1.001s      ingest    barrier 3 stamped 1970-01-02T00:00:00.130Z\n"
    "+1.001s      commit    transaction 3 committed\n"
    "+1.500s      ingest    barrier 4 stamped 1970-01-02T00:00:00.130Z\n"
    "+1.500s      lane 0.0  emitted at barrier 4: 1 results\n"
    "+1.500s      commit    transaction 4 committed\n"
    "+1.901s      ingest    in/0 is idle\n"
    "+3.000s      world     a graceful stop is asked for\n"
    "+3.000s      ingest    barrier 5 stamped 1970-01-02T00:00:00.130Z\n"
    "+3.000s      output    out/0@0 key a {\"window\":{\"start\":86400000,\"end\":86400100},\"n\":1} "
    "at 1970-01-02T00:00:00.010Z\n"
    "+3.000s      commit    transaction 5 committed\n"
    "+3.000s      engine    stopped at epoch 5\n"
    "+3.000s      persist   local store written through epoch 5\n"
    "+3.000s      engine    the engine has stopped\n";

/* M1, when partition 1 has not delivered and holds the watermark, and when it is idle. */
static const char quiet_before_document[] =
    "{\"globalMs\":null,\"globalIso\":null,\"watermarkAgeMs\":null,\n"
    " \"alignmentGroupMins\":{},\"alignmentBinding\":null,\n"
    " \"holding\":{\"partition\":\"in:1\",\"sinceMs\":86400000,\"why\":\"unset\"},\n"
    " \"partitions\":{\n"
    "  \"in:0\":{\"watermarkMs\":86400130,\"watermarkIso\":\"1970-01-02T00:00:00.130Z\",\"idle\":false,"
    "\"lastEventTimeMs\":86400900,\"lastEventTimeIso\":\"1970-01-02T00:00:00.900Z\",\"alignmentGroup\":null,"
    "\"alignmentHeld\":false,\"driftFromGroupMinMs\":0,\"idlenessTimeoutMs\":1000},\n"
    "  \"in:1\":{\"watermarkMs\":null,\"watermarkIso\":null,\"idle\":false,\"lastEventTimeMs\":null,"
    "\"lastEventTimeIso\":null,\"alignmentGroup\":null,\"alignmentHeld\":false,\"driftFromGroupMinMs\":0,"
    "\"idlenessTimeoutMs\":1000}}}\n";
static const char quiet_behind_document[] =
    "{\"globalMs\":86400130,\"globalIso\":\"1970-01-02T00:00:00.130Z\",\"watermarkAgeMs\":1370,\n"
    " \"alignmentGroupMins\":{},\"alignmentBinding\":null,\n"
    " \"holding\":{\"partition\":\"in:0\",\"sinceMs\":86401001,\"why\":\"slowest\"},\n"
    " \"partitions\":{\n"
    "  \"in:0\":{\"watermarkMs\":86400130,\"watermarkIso\":\"1970-01-02T00:00:00.130Z\",\"idle\":false,"
    "\"lastEventTimeMs\":86400900,\"lastEventTimeIso\":\"1970-01-02T00:00:00.900Z\",\"alignmentGroup\":null,"
    "\"alignmentHeld\":false,\"driftFromGroupMinMs\":0,\"idlenessTimeoutMs\":1000},\n"
    "  \"in:1\":{\"watermarkMs\":null,\"watermarkIso\":null,\"idle\":true,\"lastEventTimeMs\":null,"
    "\"lastEventTimeIso\":null,\"alignmentGroup\":null,\"alignmentHeld\":false,\"driftFromGroupMinMs\":0,"
    "\"idlenessTimeoutMs\":1000}}}\n";

/* Killed between asking for a commit and its being sent (S2): epoch 2 runs again, and its window is emitted once. */
static const char crash_yaml[] =
    "scenario: crash\n"
    "start: 1970-01-02T00:00:00Z\n"
    "world: {exact: true}\n"
    "barriers: [+10ms, +20ms, +40ms, +50ms]\n"
    "topics: {in: {partitions: 1}}\n"
    "app:\n"
    "  application: {id: crash}\n"
    "  stoatflow: {processing.lanes: 1, instance: one}\n"
    "  sources:\n"
    "    in: {topic: in, key: string, value: json, watermark: {max-out-of-orderness: 0ms}}\n"
    "  streams:\n"
    "    - {name: counts, from: in, window: {tumbling: 100ms}, aggregate: {n: count}, emit: on-window-close}\n"
    "  sinks:\n"
    "    - {from: counts, topic: out}\n"
    "input:\n"
    "  - {at: +0ms, to: in/0, key: a, value: {}, ts: +10ms}\n"
    "  - {at: +15ms, to: in/0, key: a, value: {}, ts: +110ms}\n"
    "faults:\n"
    "  - {when: \"txn(2).end-sent\", crash: {restart-after: 5ms}}\n";

static const char crash_history[] =
    "+0.000s      world     the application starts\n"
    "+0.000s      engine    owner of the application\n"
    "+0.000s      engine    state restored: 0 rows\n"
    "+0.000s      engine    running from epoch 1, watermark unset\n"
    "+0.000s      input     in/0@0 key a at 1970-01-02T00:00:00.010Z\n"
    "+0.000s      ingest    watermark 1970-01-02T00:00:00.010Z, held by in/0\n"
    "+0.010s      ingest    barrier 1 stamped 1970-01-02T00:00:00.010Z\n"
    "+0.010s      commit    transaction 1 committed\n"
    "+0.015s      input     in/0@1 key a at 1970-01-02T00:00:00.110Z\n"
    "+0.020s      ingest    watermark 1970-01-02T00:00:00.110Z, held by in/0\n"
    "+0.020s      ingest    barrier 2 stamped 1970-01-02T00:00:00.110Z\n"
    "+0.020s      world     the process is killed\n"
    "+0.025s      world     the application starts again as process 2\n"
    "+0.025s      2:engine  owner of the application\n"
    "+0.025s      2:engine  state restored: 1 rows\n"
    "+0.025s      2:engine  running from epoch 2, watermark 1970-01-02T00:00:00.010Z\n"
    "+0.025s      2:ingest  watermark 1970-01-02T00:00:00.110Z, held by in/0\n"
    "+0.040s      2:ingest  barrier 2 stamped 1970-01-02T00:00:00.110Z\n"
    "+0.040s      2:commit  transaction 2 committed\n"
    "+0.050s      2:ingest  barrier 3 stamped 1970-01-02T00:00:00.110Z\n"
    "+0.050s      2:lane 0.0 emitted at barrier 3: 1 results\n"
    "+0.050s      2:commit  transaction 3 committed\n"
    "+0.050s      world     a graceful stop is asked for\n"
    "+0.050s      2:ingest  barrier 4 stamped 1970-01-02T00:00:00.110Z\n"
    "+0.050s      output    out/0@0 key a {\"window\":{\"start\":86400000,\"end\":86400100},\"n\":1} "
    "at 1970-01-02T00:00:00.010Z\n"
    "+0.050s      2:commit  transaction 4 committed\n"
    "+0.050s      2:engine  stopped at epoch 4\n"
    "+0.050s      2:persist local store written through epoch 4\n"
    "+0.050s      2:engine  the engine has stopped\n";

/* A record below the watermark is taken as long as its window is above the floor, and dropped when it is not (F2). */
static const char late_yaml[] =
    "scenario: late\n"
    "start: 1970-01-02T00:00:00Z\n"
    "world: {exact: true}\n"
    "barriers: [+10ms, +20ms]\n"
    "topics: {in: {partitions: 1}}\n"
    "app:\n"
    "  application: {id: late}\n"
    "  stoatflow: {processing.lanes: 1}\n"
    "  sources:\n"
    "    in: {topic: in, key: string, value: json, watermark: {max-out-of-orderness: 0ms}}\n"
    "  streams:\n"
    "    - {name: counts, from: in, window: {tumbling: 10ms}, aggregate: {n: count}, emit: on-window-update}\n"
    "  sinks:\n"
    "    - {from: counts, topic: out}\n"
    "input:\n"
    "  - {at: +0ms, to: in/0, key: a, value: {}, ts: +1ms}\n"
    "  - {at: +1ms, to: in/0, key: a, value: {}, ts: +25ms}\n"
    "  - {at: +2ms, to: in/0, key: a, value: {}, ts: +2ms}\n"
    "  - {at: +15ms, to: in/0, key: a, value: {}, ts: +3ms}\n"
    "expect:\n"
    "  metrics:\n"
    "    - {\"dropped.records.total{reason=late_window}\": 1}\n"
    "    - {watermark.late.records.total: 1}\n";

static const char late_history[] =
    "+0.000s      world     the application starts\n"
    "+0.000s      engine    owner of the application\n"
    "+0.000s      engine    state restored: 0 rows\n"
    "+0.000s      engine    running from epoch 1, watermark unset\n"
    "+0.000s      input     in/0@0 key a at 1970-01-02T00:00:00.001Z\n"
    "+0.000s      ingest    watermark 1970-01-02T00:00:00.001Z, held by in/0\n"
    "+0.001s      input     in/0@1 key a at 1970-01-02T00:00:00.025Z\n"
    "+0.002s      input     in/0@2 key a at 1970-01-02T00:00:00.002Z\n"
    "+0.010s      ingest    watermark 1970-01-02T00:00:00.025Z, held by in/0\n"
    "+0.010s      ingest    barrier 1 stamped 1970-01-02T00:00:00.025Z\n"
    "+0.010s      output    out/0@0 key a {\"window\":{\"start\":86400000,\"end\":86400010},\"n\":1} "
    "at 1970-01-02T00:00:00.001Z\n"
    "+0.010s      output    out/0@1 key a {\"window\":{\"start\":86400020,\"end\":86400030},\"n\":1} "
    "at 1970-01-02T00:00:00.025Z\n"
    "+0.010s      output    out/0@2 key a {\"window\":{\"start\":86400000,\"end\":86400010},\"n\":2} "
    "at 1970-01-02T00:00:00.002Z\n"
    "+0.010s      commit    transaction 1 committed\n"
    "+0.015s      input     in/0@3 key a at 1970-01-02T00:00:00.003Z\n"
    "+0.020s      ingest    barrier 2 stamped 1970-01-02T00:00:00.025Z\n"
    "+0.020s      commit    transaction 2 committed\n"
    "+0.020s      world     a graceful stop is asked for\n"
    "+0.020s      ingest    barrier 3 stamped 1970-01-02T00:00:00.025Z\n"
    "+0.020s      commit    transaction 3 committed\n"
    "+0.020s      engine    stopped at epoch 3\n"
    "+0.020s      persist   local store written through epoch 3\n"
    "+0.020s      engine    the engine has stopped\n";

static struct sf_scenario *parse(const char *yaml)
{
    struct sf_text findings;
    sf_text_init_growing(&findings, sf_alloc_libc());
    struct sf_scenario *scenario =
        sf_driver_scenario_parse(yaml, strlen(yaml), "test.yaml", sf_alloc_libc(), &findings);
    if (scenario == NULL) fail_msg("%s", findings.data);
    sf_text_deinit(&findings);
    return scenario;
}

static void run_yaml(const char *yaml, struct sf_driver_options options, struct sf_driver_report *report)
{
    struct sf_scenario *scenario = parse(yaml);
    sf_driver_report_init(report, sf_alloc_libc());
    (void)sf_driver_run(scenario, &options, report);
    sf_driver_scenario_destroy(scenario);
}

/* From the first line that differs, since a failure's text has a bound. */
static void check_lines(const char *actual, const char *expected)
{
    size_t line = 0;
    for (size_t i = 0; actual[i] != '\0' && actual[i] == expected[i]; i++) {
        if (actual[i] == '\n') line = i + 1;
    }
    CHECK_STR(actual + line, expected + line);
}

static void check_history(const char *yaml, const char *expected)
{
    struct sf_driver_report report;
    struct sf_driver_options options = sf_driver_options_default();
    options.history = SF_DRIVER_HISTORY_PLAIN;
    run_yaml(yaml, options, &report);
    check_lines(report.history.data, expected);
    CHECK_EQ(report.verdict, SF_DRIVER_HELD);
    sf_driver_report_deinit(&report);
}

static void a_quiet_partition_holds_the_watermark_until_its_timeout_i1(void **state)
{
    (void)state;
    check_history(quiet_yaml, quiet_history);
}

static void check_document(int64_t at_ms, const char *expected)
{
    struct sf_driver_report report;
    struct sf_driver_options options = sf_driver_options_default();
    options.watermarks_at_us = at_ms * 1000;
    run_yaml(quiet_yaml, options, &report);
    check_lines(report.history.data, expected);
    sf_driver_report_deinit(&report);
}

static void the_watermarks_of_an_instant_are_the_document_of_m1(void **state)
{
    (void)state;
    check_document(1000, quiet_before_document);
    check_document(1500, quiet_behind_document);
}

static void an_epoch_whose_commit_died_with_the_process_runs_again_s2(void **state)
{
    (void)state;
    check_history(crash_yaml, crash_history);
}

static void a_record_is_dropped_only_below_the_floor_f2(void **state)
{
    (void)state;
    check_history(late_yaml, late_history);
}

/* ---------------------------------------------------------------- the run's own rules */

/* `yaml` with `from` replaced, once; static memory. */
static const char *with(const char *yaml, const char *from, const char *to)
{
    static char buffer[4096];
    const char *at = strstr(yaml, from);
    assert_non_null(at);
    (void)snprintf(buffer, sizeof buffer, "%.*s%s%s", (int)(at - yaml), yaml, to, at + strlen(from));
    return buffer;
}

static void check_broken(const char *yaml, const char *rule, const char *expected, const char *actual)
{
    struct sf_driver_report report;
    run_yaml(yaml, sf_driver_options_default(), &report);
    CHECK_EQ(report.verdict, SF_DRIVER_BROKEN);
    CHECK_EQ(report.violation_count, 1);
    CHECK_STR(report.violations[0].rule, rule);
    CHECK_STR(report.violations[0].expected, expected);
    CHECK_STR(report.violations[0].actual, actual);
    sf_driver_report_deinit(&report);
}

static void a_fault_that_never_comes_fails_the_run(void **state)
{
    (void)state;
    check_broken(with(crash_yaml, "txn(2)", "txn(9)"), "fault", "it happens at txn(9).end-sent", "it never did");
}

static void a_metric_that_differs_fails_the_run(void **state)
{
    (void)state;
    check_broken(with(late_yaml, "late_window}\": 1", "late_window}\": 2"), "expect.metrics", "2", "1");
}

static void an_output_row_that_differs_is_told_with_both_values(void **state)
{
    (void)state;
    check_broken(with(quiet_yaml, "input:", "expect: {output: {out: {exactly: [{key: a, value: {n: 2}}]}}}\ninput:"),
                 "expect.output", "{\"n\":2}",
                 "window [1970-01-02T00:00:00.000Z, 1970-01-02T00:00:00.100Z) {\"n\":1} at 1970-01-02T00:00:00.010Z");
}

/* What is left with the broker has happened when a request met it. */
static void a_fault_that_no_request_meets_fails_the_run(void **state)
{
    (void)state;
    check_broken(with(quiet_yaml, "input:", "faults: [{at: +2s, broker: {request: lost, of: abort}}]\ninput:"), "fault",
                 "it happens at +2.000s", "no request met it");
}

/* Partition 0 has a record without a time. */
#define FAILING "input:\n  - {at: +600ms, to: in/0, key: a, value: {}, ts: -1}\n"

static void an_engine_that_gives_up_as_expected_ends_a_run_that_holds(void **state)
{
    (void)state;
    struct sf_driver_report report;
    run_yaml(with(quiet_yaml, "input:\n",
                  "expect: {failed: [\"partition 0\", \"offset 2\"], output: {out: {exactly: []}}}\n" FAILING),
             sf_driver_options_default(), &report);
    CHECK_EQ(report.verdict, SF_DRIVER_HELD);
    CHECK_EQ(report.elapsed_us, 600000);
    sf_driver_report_deinit(&report);
}

static void an_engine_that_gives_up_with_other_words_or_not_at_all_fails_the_run(void **state)
{
    (void)state;
    struct sf_driver_report report;
    run_yaml(with(quiet_yaml, "input:\n", "expect: {failed: [\"offset 7\"]}\n" FAILING), sf_driver_options_default(),
             &report);
    CHECK_EQ(report.verdict, SF_DRIVER_BROKEN);
    CHECK_EQ(report.violation_count, 1);
    CHECK_STR(report.violations[0].rule, "expect.failed");
    CHECK_STR(report.violations[0].expected, "offset 7");
    assert_non_null(strstr(report.violations[0].actual, "offset 2"));
    sf_driver_report_deinit(&report);
    check_broken(with(quiet_yaml, "input:", "expect: {failed: [offset]}\ninput:"), "expect.failed", "offset",
                 "it did not give up");
}

static void words_that_the_engine_never_says_fail_the_run(void **state)
{
    (void)state;
    struct sf_driver_report report;
    run_yaml(with(quiet_yaml, "input:", "expect: {said: [\"in/1 is idle\"]}\ninput:"), sf_driver_options_default(),
             &report);
    CHECK_EQ(report.verdict, SF_DRIVER_HELD);
    sf_driver_report_deinit(&report);
    check_broken(with(quiet_yaml, "input:", "expect: {said: [\"in/7 is idle\"]}\ninput:"), "expect.said",
                 "in/7 is idle", "it never said so");
}

/* However much is wrong with the output, a report's first lines say what came before it. */
static void what_did_not_happen_is_told_before_the_output(void **state)
{
    (void)state;
    struct sf_driver_report report;
    run_yaml(with(crash_yaml, "faults:\n  - {when: \"txn(2)",
                  "expect: {output: {out: {contains: [{key: z}]}}}\nfaults:\n  - {when: \"txn(9)"),
             sf_driver_options_default(), &report);
    CHECK_EQ(report.verdict, SF_DRIVER_BROKEN);
    CHECK_EQ(report.violation_count, 2);
    CHECK_STR(report.violations[0].rule, "fault");
    CHECK_STR(report.violations[1].rule, "expect.output");
    assert_non_null(strstr(report.violations[1].subject, "out key z (expected in line "));
    sf_driver_report_deinit(&report);
}

static void a_watermark_is_judged_at_its_instant(void **state)
{
    (void)state;
    check_broken(with(quiet_yaml, "input:", "expect: {watermark: [{at: +1s, global: +130ms}]}\ninput:"),
                 "expect.watermark", "1970-01-02T00:00:00.130Z", "unset");
}

static void a_run_that_uses_up_its_budget_fails(void **state)
{
    (void)state;
    struct sf_driver_report report;
    struct sf_driver_options options = sf_driver_options_default();
    options.budget = 20;
    run_yaml(quiet_yaml, options, &report);
    CHECK_EQ(report.verdict, SF_DRIVER_BROKEN);
    CHECK_STR(report.violations[0].rule, "X3");
    CHECK_EQ(report.step_count, 20);
    sf_driver_report_deinit(&report);
}

static void until_cuts_a_run_and_leaves_its_end_unjudged(void **state)
{
    (void)state;
    struct sf_driver_report report;
    struct sf_driver_options options = sf_driver_options_default();
    options.until_us = 1200000;
    run_yaml(with(quiet_yaml, "input:", "expect: {output: {out: {exactly: [{key: b}]}}}\ninput:"), options, &report);
    CHECK_EQ(report.verdict, SF_DRIVER_HELD);
    CHECK(report.is_cut);
    CHECK_EQ(report.elapsed_us, 1200000);
    sf_driver_report_deinit(&report);
}

static void one_seed_gives_one_digest_x14(void **state)
{
    (void)state;
    struct sf_driver_report first, second;
    const char *yaml = with(quiet_yaml, "world: {exact: true}\nbarriers: [+500ms, +1s, +1001ms, +1500ms]\n", "");
    struct sf_driver_options options = sf_driver_options_default();
    options.has_seed = true;
    options.seed = 5;
    run_yaml(yaml, options, &first);
    run_yaml(yaml, options, &second);
    CHECK(memcmp(&first.digest, &second.digest, sizeof first.digest) == 0);
    sf_driver_report_deinit(&second);
    options.seed = 6;
    run_yaml(yaml, options, &second);
    CHECK(memcmp(&first.digest, &second.digest, sizeof first.digest) != 0);
    sf_driver_report_deinit(&second);
    sf_driver_report_deinit(&first);
}

/* ---------------------------------------------------------------- what the logs keep */

static const char stream_yaml[] =
    "scenario: stream\n"
    "topics: {in: {partitions: 2}}\n"
    "app:\n"
    "  application: {id: stream}\n"
    "  stoatflow: {processing.lanes: 1, watermark.max-out-of-orderness-ms: 1000}\n"
    "  sources:\n"
    "    in: {topic: in, key: string, value: json}\n"
    "  streams:\n"
    "    - {name: counts, from: in, window: {tumbling: 1s}, aggregate: {n: count}, emit: on-window-close}\n"
    "  sinks:\n"
    "    - {from: counts, topic: out}\n"
    "input:\n"
    "  - {from: +0s, until: +10s, every: 1ms, to: in, key: {uniform: [0, 99]}, value: 1}\n";

static void run_checked(const char *yaml, enum sf_driver_history_level history, struct sf_driver_report *report)
{
    struct sf_driver_options options = sf_driver_options_default();
    options.checks = sf_driver_oracle();
    options.history = history;
    run_yaml(yaml, options, report);
    CHECK_EQ(report->verdict, SF_DRIVER_HELD);
}

static void memory_is_bounded_by_what_is_open_and_not_by_the_length_of_a_run(void **state)
{
    (void)state;
    struct sf_driver_report brief, lengthy;
    run_checked(stream_yaml, SF_DRIVER_HISTORY_NONE, &brief);
    run_checked(with(stream_yaml, "until: +10s", "until: +40s"), SF_DRIVER_HISTORY_NONE, &lengthy);
    CHECK_EQ(lengthy.input_count, 40000);
    CHECK(lengthy.memory_peak < brief.memory_peak * 3 / 2);
    CHECK(!brief.is_remade && !lengthy.is_remade);
    sf_driver_report_deinit(&lengthy);
    sf_driver_report_deinit(&brief);
}

/* With a history all is kept; where ends of transactions take so long that they are in doubt, stamps are read again. */
static void a_run_is_the_same_whatever_its_logs_keep_x14(void **state)
{
    (void)state;
    static const char *const inputs[] = {"input:\n  - {from: +0s, until: +10s, every: 1ms",
                                         "seed: 2\nworld: {commit-latency: {uniform: [1ms, 100s]}}\n"
                                         "input:\n  - {from: +0s, until: +400s, every: 40ms"};
    for (uint32_t i = 0; i < 2; i++) {
        struct sf_driver_report letting_go, keeping;
        const char *yaml = with(stream_yaml, inputs[0], inputs[i]);
        run_checked(yaml, SF_DRIVER_HISTORY_NONE, &letting_go);
        run_checked(yaml, SF_DRIVER_HISTORY_PLAIN, &keeping);
        CHECK_EQ(letting_go.is_remade, i == 1);
        CHECK(!keeping.is_remade);
        CHECK(memcmp(&letting_go.digest, &keeping.digest, sizeof keeping.digest) == 0);
        CHECK_EQ(letting_go.output_count, keeping.output_count);
        CHECK_EQ(letting_go.input_count, keeping.input_count);
        sf_driver_report_deinit(&keeping);
        sf_driver_report_deinit(&letting_go);
    }
}

/* ---------------------------------------------------------------- sfsim */

struct answer {
    int status;
    char out[8192];
    char err[8192];
};

static void read_back(FILE *file, char *out, size_t cap)
{
    rewind(file);
    out[fread(out, 1, cap - 1, file)] = '\0';
    (void)fclose(file);
}

/* NULL ends the words. */
static void sfsim(struct answer *answer, const char *word, ...)
{
    char *argv[16] = {(char[]){"sfsim"}};
    char words[15][256];
    int argc = 1;
    va_list more;
    va_start(more, word);
    for (; word != NULL; word = va_arg(more, const char *)) {
        (void)snprintf(words[argc - 1], sizeof words[0], "%s", word);
        argv[argc] = words[argc - 1];
        argc++;
    }
    va_end(more);
    struct sf_driver_io io = {tmpfile(), tmpfile(), false, NULL};
    assert_non_null(io.out);
    assert_non_null(io.err);
    answer->status = sf_driver_main(&io, argc, argv);
    read_back(io.out, answer->out, sizeof answer->out);
    read_back(io.err, answer->err, sizeof answer->err);
}

/* A file that holds `yaml`, in *path_out. */
static void write_file(char path_out[64], const char *yaml)
{
    (void)snprintf(path_out, 64, "/tmp/test_driver_run.XXXXXX");
    int fd = mkstemp(path_out);
    assert_true(fd >= 0);
    CHECK_EQ(write(fd, yaml, strlen(yaml)), strlen(yaml));
    (void)close(fd);
}

static void a_scenario_that_holds_exits_0(void **state)
{
    (void)state;
    struct answer answer;
    char path[64];
    write_file(path, quiet_yaml);
    sfsim(&answer, "run", path, "--doublecheck", NULL);
    CHECK_EQ(answer.status, 0);
    CHECK(strncmp(answer.out, "ok", 2) == 0);
    CHECK_STR(answer.err, "");
    (void)unlink(path);
}

static void a_scenario_that_does_not_hold_exits_1_with_its_repro(void **state)
{
    (void)state;
    struct answer answer;
    char path[64], repro[128];
    write_file(path, with(late_yaml, "late_window}\": 1", "late_window}\": 2"));
    sfsim(&answer, "run", path, "--seed", "9", NULL);
    CHECK_EQ(answer.status, 1);
    (void)snprintf(repro, sizeof repro, "REPRO: sfsim run %s --seed 9\n", path);
    assert_non_null(strstr(answer.out, repro));
    sfsim(&answer, "run", path, "--json", NULL);
    CHECK_EQ(answer.status, 1);
    assert_non_null(strstr(answer.out, "\"verdict\":\"broken\""));
    sfsim(&answer, "run", path, "--seeds", "1..3", NULL);
    CHECK_EQ(answer.status, 1);
    assert_non_null(strstr(answer.out, "seeds 1..3: 0 held, 3 did not"));
    (void)unlink(path);
}

static void bad_input_exits_2(void **state)
{
    (void)state;
    struct answer answer;
    char path[64];
    write_file(path, "scenario: x\nsede: 1\n");
    sfsim(&answer, "run", path, NULL);
    CHECK_EQ(answer.status, 2);
    assert_non_null(strstr(answer.err, ":2:1: error: unknown key `sede`"));
    (void)unlink(path);
    sfsim(&answer, "run", "/nowhere.yaml", NULL);
    CHECK_EQ(answer.status, 2);
    sfsim(&answer, "run", NULL);
    CHECK_EQ(answer.status, 2);
    sfsim(&answer, "run", "--sede", "1", "x.yaml", NULL);
    CHECK_EQ(answer.status, 2);
    assert_non_null(strstr(answer.err, "there is no option `--sede`"));
    sfsim(&answer, "run", "x.yaml", "--until", "soon", NULL);
    CHECK_EQ(answer.status, 2);
    sfsim(&answer, "jump", NULL);
    CHECK_EQ(answer.status, 2);
    sfsim(&answer, NULL, NULL);
    CHECK_EQ(answer.status, 2);
}

static void help_version_points_and_schema_go_to_stdout(void **state)
{
    (void)state;
    struct answer answer;
    const char *const words[] = {"--help", "--version", "points"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        sfsim(&answer, words[i], NULL);
        CHECK_EQ(answer.status, 0);
        CHECK(answer.out[0] != '\0');
        CHECK_STR(answer.err, "");
    }
    assert_non_null(strstr(answer.out, "barrier(n).stamped"));
    assert_non_null(strstr(answer.out, "frontier(n).emitted"));
    sfsim(&answer, "run", "--help", NULL);
    CHECK_EQ(answer.status, 0);
    assert_non_null(strstr(answer.out, "--doublecheck"));
    sfsim(&answer, "schema", "application", NULL);
    CHECK_EQ(answer.status, 0);
    CHECK(answer.out[0] == '{');
    sfsim(&answer, "schema", "sink", NULL);
    CHECK_EQ(answer.status, 2);
}

static void an_application_is_checked_without_running_it(void **state)
{
    (void)state;
    struct answer answer;
    sfsim(&answer, "check", "scenarios/apps/orders.yaml", NULL);
    CHECK_EQ(answer.status, 0);
    assert_non_null(strstr(answer.out, "order-counts: 1 source, 1 step, 1 sink, 0 warnings"));
    sfsim(&answer, "check", "scenarios/thread/idle-partition.yaml", NULL);
    CHECK_EQ(answer.status, 2);
    assert_non_null(strstr(answer.err, ":1:1: error: this is a scenario"));
    sfsim(&answer, "check", "scenarios/apps", NULL);
    CHECK_EQ(answer.status, 2);
    CHECK_STR(answer.err, "scenarios/apps: error: Is a directory\n");
}

static void a_crash_at_every_command_of_a_run_leaves_the_output_as_it_was(void **state)
{
    (void)state;
    struct answer answer;
    char path[64];
    /* The last record comes when the silent partition is idle, whenever the crash was. */
    const char *expect = "  - {at: +6s, to: in/0, key: a, value: {}, ts: +140ms}\n"
                         "expect: {output: {out: {exactly: [{key: a, window: [+0ms, +100ms], value: {n: 1}}]}}}\n";
    char yaml[4096];
    int length =
        snprintf(yaml, sizeof yaml, "%s%s", with(quiet_yaml, "lanes: 1,", "lanes: 1, instance: one,"), expect);
    CHECK(length > 0 && (size_t)length < sizeof yaml);
    char *barriers = strstr(yaml, "world: {exact: true}\nbarriers: [+500ms, +1s, +1001ms, +1500ms]\n");
    assert_non_null(barriers);
    memset(barriers, ' ', strlen("world: {exact: true}\nbarriers: [+500ms, +1s, +1001ms, +1500ms]"));
    memcpy(strstr(yaml, "stop: +3s"), "stop: +9s", strlen("stop: +9s"));
    write_file(path, yaml);
    sfsim(&answer, "crashes", path, NULL);
    if (answer.status != 0) fail_msg("%s", answer.out);
    assert_non_null(strstr(answer.out, " 0 did not"));
    assert_non_null(strstr(answer.out, "commit "));
    sfsim(&answer, "crashes", path, "--at", "5:sent", NULL);
    CHECK_EQ(answer.status, 0);
    sfsim(&answer, "crashes", path, "--at", "5:lost", NULL);
    CHECK_EQ(answer.status, 2);
    sfsim(&answer, "crashes", path, "--at", "2/1:given", NULL);
    CHECK_EQ(answer.status, 2);
    assert_non_null(strstr(answer.err, "the crash at 2/1:given never came"));
    (void)unlink(path);
}

/* The second process is crashed, too; the first one's stop is not taken for the crash that was asked for. */
static void crashes_fall_into_every_process_of_a_scenario(void **state)
{
    (void)state;
    struct answer answer;
    char path[64];
    write_file(path, "scenario: two\n"
                     "app: {application: {id: two}, stoatflow: {instance: only, processing.lanes: 1},\n"
                     "  sources: {in: {topic: in, key: string, value: json}},\n"
                     "  streams: [{name: some, from: in, filter: \"true\"}], sinks: [{from: some, topic: out}]}\n"
                     "topics: {in: {partitions: 1}}\n"
                     "input:\n"
                     "  - {at: +0ms, to: in/0, key: a, value: 1}\n"
                     "  - {at: +3s, to: in/0, key: a, value: 2}\n"
                     "faults: [{at: +2s, stop: {restart-after: 100ms}}]\n"
                     "expect: {output: {out: {exactly: [{key: a, value: 1}, {key: a, value: 2}]}}}\n");
    sfsim(&answer, "crashes", path, "--at", "2/1:given", NULL);
    CHECK_EQ(answer.status, 0);
    sfsim(&answer, "crashes", path, "--at", "2/99999:given", NULL);
    CHECK_EQ(answer.status, 2);
    sfsim(&answer, "crashes", path, "--at", "/1:given", NULL);
    CHECK_EQ(answer.status, 2);
    sfsim(&answer, "crashes", path, NULL);
    if (answer.status != 0) fail_msg("%s%s", answer.out, answer.err);
    assert_non_null(strstr(answer.out, " 0 did not"));
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quiet_partition_holds_the_watermark_until_its_timeout_i1),
        cmocka_unit_test(the_watermarks_of_an_instant_are_the_document_of_m1),
        cmocka_unit_test(an_epoch_whose_commit_died_with_the_process_runs_again_s2),
        cmocka_unit_test(a_record_is_dropped_only_below_the_floor_f2),
        cmocka_unit_test(a_fault_that_never_comes_fails_the_run),
        cmocka_unit_test(a_fault_that_no_request_meets_fails_the_run),
        cmocka_unit_test(an_engine_that_gives_up_as_expected_ends_a_run_that_holds),
        cmocka_unit_test(an_engine_that_gives_up_with_other_words_or_not_at_all_fails_the_run),
        cmocka_unit_test(words_that_the_engine_never_says_fail_the_run),
        cmocka_unit_test(a_metric_that_differs_fails_the_run),
        cmocka_unit_test(an_output_row_that_differs_is_told_with_both_values),
        cmocka_unit_test(what_did_not_happen_is_told_before_the_output),
        cmocka_unit_test(a_watermark_is_judged_at_its_instant),
        cmocka_unit_test(a_run_that_uses_up_its_budget_fails),
        cmocka_unit_test(until_cuts_a_run_and_leaves_its_end_unjudged),
        cmocka_unit_test(one_seed_gives_one_digest_x14),
        cmocka_unit_test(memory_is_bounded_by_what_is_open_and_not_by_the_length_of_a_run),
        cmocka_unit_test(a_run_is_the_same_whatever_its_logs_keep_x14),
        cmocka_unit_test(a_scenario_that_holds_exits_0),
        cmocka_unit_test(a_scenario_that_does_not_hold_exits_1_with_its_repro),
        cmocka_unit_test(bad_input_exits_2),
        cmocka_unit_test(help_version_points_and_schema_go_to_stdout),
        cmocka_unit_test(an_application_is_checked_without_running_it),
        cmocka_unit_test(a_crash_at_every_command_of_a_run_leaves_the_output_as_it_was),
        cmocka_unit_test(crashes_fall_into_every_process_of_a_scenario),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
