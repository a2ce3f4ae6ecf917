/* Broken files: every mistake is named at its place, with the nearest valid spelling, all of them in one run. */
#include "tests/check.h"

#include "tests/unit/app_help.h"

static void check_refused(const char *yaml, const char *expected)
{
    struct app_help help;
    app_help_load(&help, yaml);
    CHECK_STR(help.text.data, expected);
    CHECK(help.topology == NULL);
    app_help_end(&help);
}

/* A good application with something added to its source, its steps or its settings. */
#define APP(source, steps, rest)                                                                                       \
    "application: {id: a}\n"                                                                                           \
    "sources:\n"                                                                                                       \
    "  s: {topic: t, value: json" source "}\n"                                                                         \
    "streams:\n"                                                                                                       \
    "- {name: w, from: s, window: {tumbling: 10s}, aggregate: {n: count}}\n" steps rest

struct broken {
    const char *yaml;
    const char *expected;
};

static void check_all(const struct broken *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) check_refused(cases[i].yaml, cases[i].expected);
}
#define CHECK_ALL(cases) check_all(cases, sizeof cases / sizeof cases[0])

static void what_is_no_yaml_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct broken cases[] = {
        {"", "f:1:1: error: the file is empty [yaml]\n"},
        {"# only a comment\n", "f:1:1: error: the file is empty [yaml]\n"},
        {"just words\n", "f:1:1: error: the file must be a mapping of keys, not `just words` [V8]\n"},
        {"a: 1\n---\nb: 2\n", "f:2:1: error: a second document begins here; a file holds one [yaml]\n"},
        {"a: !!str b\n", "f:1:10: error: tags (!, !!) are not used in these files; leave it out [yaml]\n"},
        {"? [a]\n: 1\n", "f:1:3: error: a key must be a single word or text, not a list or a mapping [yaml]\n"},
        {"a: *b\n", "f:1:4: error: the alias *b has no anchor before it [yaml]\n"},
        {"a: &b [*b]\n", "f:1:8: error: the alias *b stands inside what it names [yaml]\n"},
        {"a: \"x\\0y\"\n", "f:1:4: error: a text holds a NUL (an escape such as \\0) [yaml]\n"},
        {"a: \xff\n", "f:1:4: error: the file holds bytes that are not UTF-8 [yaml]\n"},
        {"k: \xc3\xa9\xc3\x28\n", "f:1:5: error: the file holds bytes that are not UTF-8 [yaml]\n"},
        {"a: 1\nb: \x01\n", "f:2:4: error: the file holds a control character [yaml]\n"},
        {"a: \xed\xa0\x80\n", "f:1:4: error: the file holds bytes that are not UTF-8 [yaml]\n"},
        {"a: \xc0\xaf\n", "f:1:4: error: the file holds bytes that are not UTF-8 [yaml]\n"},
    };
    CHECK_ALL(cases);
}

static void a_scenario_is_told_from_an_application(void **state)
{
    (void)state;
    check_refused("about: b\nscenario: x\napp: a.yaml\n",
                  "f:2:1: error: this is a scenario, which `sfsim run` takes; an application file has `application` "
                  "and `sources` [V8]\n");
}

static void unknown_keys_get_their_nearest_spelling_v8(void **state)
{
    (void)state;
    static const struct broken cases[] = {
        {APP(", strat: latest", "", ""),
         "f:3:30: error: unknown key `strat` in sources.s; did you mean `start`? [V8]\n"},
        {APP(", on_invalid_timestamp: skip", "", ""),
         "f:3:30: error: unknown key `on_invalid_timestamp` in sources.s; did you mean `on-invalid-timestamp`? [V8]\n"},
        {APP("", "", "colour: red\n"), "f:6:1: error: unknown key `colour` in the file [V8]\n"},
        {APP("", "", "stoatflow: {watermark: {idleness-timeout: 1}}\n"),
         "f:6:25: error: unknown key `watermark.idleness-timeout` in stoatflow; did you mean "
         "`watermark.idleness-timeout-ms`? [V8]\n"},
        {APP("", "", "stoatflow: {wattermark: {idleness-timeout-ms: 1}}\n"),
         "f:6:13: error: unknown key `wattermark` in stoatflow; did you mean `watermark`? [V8]\n"},
        {APP("", "", "stoatflow.processing.lane: 1\n"),
         "f:6:1: error: unknown key `processing.lane` in stoatflow; did you mean `processing.lanes`? [V8]\n"},
        {APP("", "", "stoatflow: {processing.lanes: 1}\nstoatflow.processing.lanes: 1\n"),
         "f:7:1: error: `stoatflow.processing.lanes` is set twice, in two spellings [V8]\n"},
        {APP(", start: latestt", "", ""),
         "f:3:37: error: sources.s.start cannot be `latestt`; did you mean `latest`? [V8]\n"},
        {APP(", start: newest", "", ""),
         "f:3:37: error: sources.s.start cannot be `newest`; it is one of earliest, latest [V8]\n"},
        {APP("", "- {name: f, from: q, filter: \"true\"}\n", ""),
         "f:6:19: error: `q` is neither a source nor a step [V8]\n"},
        {APP("", "- {name: flt, from: fltt, filter: \"true\"}\n", ""),
         "f:6:21: error: `fltt` is neither a source nor a step; did you mean `flt`? [V8]\n"},
        {APP("", "", "sinks: [{from: ww, topic: o}]\n"), "f:6:16: error: `ww` is neither a source nor a step [V8]\n"},
    };
    CHECK_ALL(cases);
}

static void wrong_types_and_missing_keys_are_named_v8(void **state)
{
    (void)state;
    static const struct broken cases[] = {
        {APP(", topic: t2", "", ""),
         "f:3:30: error: `topic` stands here for the second time; the first is in line 3 [V8]\n"},
        {APP(", validate: maybe", "", ""),
         "f:3:40: error: sources.s.validate must be true or false, not `maybe` [V8]\n"},
        {APP(", validate: \"true\"", "", ""),
         "f:3:40: error: sources.s.validate must be true or false, not `true` [V8]\n"},
        {APP(", watermark: fast", "", ""),
         "f:3:41: error: sources.s.watermark must be a mapping of keys, not `fast` [V8]\n"},
        {APP(", watermark: {idleness: 5}", "", ""),
         "f:3:52: error: sources.s.watermark.idleness must be a duration such as 250ms, 30s, 5m, 1h or 7d, not `5` "
         "[V8]\n"},
        {APP(", watermark: {timestamp: event_time}", "", ""),
         "f:3:53: error: sources.s.watermark.timestamp must be a path such as $.event_time, not `event_time` [V8]\n"},
        {APP(", start:", "", ""), "f:3:30: error: sources.s.start is empty; it must be one word [V8]\n"},
        {APP("", "", "stoatflow: {processing.lanes: many}\n"),
         "f:6:31: error: stoatflow.processing.lanes must be a whole number, not `many` [V8]\n"},
        {APP("", "", "stoatflow: {processing: 4}\n"),
         "f:6:25: error: stoatflow.processing must be a mapping of keys [V8]\n"},
        {APP("", "", "sinks: {from: w}\n"), "f:6:8: error: sinks must be a list, not a mapping [V8]\n"},
        {APP("", "", "sinks: [{from: w}]\n"), "f:6:9: error: sinks.#1 has no `topic`: the topic written [V8]\n"},
        {APP("", "- {from: s, filter: \"true\"}\n", ""),
         "f:6:3: error: streams.#2 has no `name`: what other steps and sinks call it [V8]\n"},
        {"sources: {s: {topic: t}}\n", "f:1:1: error: the file has no `application`: who this is [V8]\n"},
        {"application: {id: a}\n", "f:1:1: error: the file has no `sources`: topics read, by name [V8]\n"},
        {"application: {id: a}\nsources: {}\n", "f:2:1: error: the application has no source [V8]\n"},
        {"application: {id: a b}\nsources: {s: {topic: t}}\n",
         "f:1:19: error: application.id must be a name of the characters a-z A-Z 0-9 . _ -, not `a b` [V8]\n"},
    };
    CHECK_ALL(cases);
}

static void what_is_to_come_is_recognised_and_refused(void **state)
{
    (void)state;
    static const struct broken cases[] = {
        {APP(", tier: background", "", ""),
         "f:3:36: error: `background` (sources.s.tier) is not yet supported [later]\n"},
        {APP(", watermark: {strategy: markers, markers: {header: h}}", "", ""),
         "f:3:52: error: `markers` (sources.s.watermark.strategy) is not yet supported [later]\n"
         "f:3:61: error: `markers` (sources.s.watermark) is not yet supported [later]\n"},
        {APP(", watermark: {wall-clock-fallback: 30s}", "", ""),
         "f:3:42: error: `wall-clock-fallback` (sources.s.watermark) is not yet supported [later]\n"},
        {APP(", watermark: {alignment: {group: g}}", "", ""),
         "f:3:42: error: `alignment` (sources.s.watermark) is not yet supported [later]\n"},
        {APP(", on-deserialization-error: dlq", "", ""),
         "f:3:56: error: `dlq` (sources.s.on-deserialization-error) is not yet supported [later]\n"},
        {APP("", "- {name: j, from: s, join: {with: t}}\n", ""),
         "f:6:22: error: `join` (streams.j) is not yet supported [later]\n"},
        {APP("", "- {name: h, from: s, window: {sliding: 1m}, aggregate: {n: count}}\n", ""),
         "f:6:31: error: `sliding` (streams.h.window) is not yet supported [later]\n"},
        {APP("", "- {name: h, from: s, window: {tumbling: 1m}, aggregate: {n: average($.a)}}\n", ""),
         "f:6:61: error: streams.h.aggregate.n: `average` is not yet supported [later]\n"},
        {APP("", "- {name: h, from: s, aggregate: {n: count}}\n", ""),
         "f:6:22: error: step `h` aggregates without a window, which is not yet supported; give it a `window` "
         "[later]\n"},
        {APP("", "- {name: x, from: w, window: {tumbling: 1m}, aggregate: {n: count}}\n", ""),
         "f:6:22: error: step `x` has a window behind a window, which is not yet supported (F8) [later]\n"},
    };
    CHECK_ALL(cases);
}

static void steps_that_do_not_hold_together_are_refused_v8(void **state)
{
    (void)state;
    static const struct broken cases[] = {
        {APP("", "- {name: x, from: w}\n", ""),
         "f:6:3: error: step `x` does nothing; give it filter, map-values, key-by, or window and aggregate, or a "
         "list of "
         "inputs to merge [V8]\n"},
        {APP("", "- {name: x, from: w, filter: \"true\", key-by: $.k}\n", ""),
         "f:6:38: error: step `x` has both `filter` and `key-by`; make them two steps [V8]\n"},
        {APP("", "- {name: x, from: s, window: {tumbling: 1m}}\n", ""),
         "f:6:22: error: step `x` has a window and nothing in it; give it an `aggregate`, such as {n: count} [V8]\n"},
        {APP("", "- {name: x, from: s, window: {grace: 1m}, aggregate: {n: count}}\n", ""),
         "f:6:22: error: the window of step `x` has no kind; give it one, such as {tumbling: 5m} [V8]\n"},
        {APP("", "- {name: x, from: w, filter: \"true\", store: {name: q}}\n", ""),
         "f:6:38: error: step `x` has `store`, which goes with `window` and `aggregate` [V8]\n"},
        {APP("", "- {name: x, from: s, window: {tumbling: 1m}, aggregate: {window: count}}\n", ""),
         "f:6:58: error: an aggregate cannot be called `window`: results carry that field [V8]\n"},
        {APP("", "- {name: x, from: s, window: {tumbling: 1m}, aggregate: {n: cuont, m: sum}}\n", ""),
         "f:6:61: error: streams.x.aggregate.n: unknown aggregation `cuont`; did you mean `count`? [V8]\n"
         "f:6:71: error: streams.x.aggregate.m: `sum` needs an expression: sum($.field) [V8]\n"},
        {APP("", "- {name: x, from: w, filter: \"$.a >=\"}\n", ""),
         "f:6:30: error: streams.x.filter: the expression ends too early at character 7 of `$.a >=` [V8]\n"},
        {APP("", "- {name: x, from: y, filter: \"true\"}\n- {name: y, from: x, filter: \"true\"}\n", ""),
         "f:6:3: error: the steps form a cycle: `x` <- `y` <- `x` [V8]\n"},
        {APP("", "- {name: x, from: x, filter: \"true\"}\n", ""),
         "f:6:3: error: the steps form a cycle: `x` <- `x` [V8]\n"},
        {APP("", "- {name: w, from: s, filter: \"true\"}\n", ""), "f:6:3: error: two steps are named `w` [V8]\n"},
        {APP("", "- {name: s, from: w, filter: \"true\"}\n", ""),
         "f:6:3: error: a source and a step are both named `s` [V8]\n"},
        {APP("", "- {name: x, from: [s, s]}\n", ""), "f:6:3: error: step `x` names the same input twice [V8]\n"},
        {APP("", "- {name: x, from: s, window: {tumbling: 5s}, aggregate: {n: count}, store: {name: w}}\n", ""),
         "f:6:69: error: steps `w` and `x` both keep their state in the store `w`; give each its own name [V8]\n"},
    };
    CHECK_ALL(cases);
}

static void spans_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct broken cases[] = {
        {APP(", watermark: {max-out-of-orderness: -1s}", "", ""),
         "f:3:64: error: sources.s.watermark.max-out-of-orderness is -1s and must be at least 0ms [V3]\n"},
        {APP(", watermark: {idleness: 0s}", "", ""),
         "f:3:52: error: sources.s.watermark.idleness is 0s and must be at least 1ms [V3]\n"},
        {APP(", watermark: {strategy: monotonous, max-out-of-orderness: 1s}", "", ""),
         "f:3:64: error: `max-out-of-orderness` belongs to the strategy bounded-out-of-orderness; source `s` has "
         "another "
         "[V8]\n"},
        {APP(", max-future-skew: 1h", "", ""),
         "f:3:30: error: source `s` has max-future-skew without on-future-timestamp; say what happens to such a "
         "record: "
         "accept, skip or clamp-watermark [V8]\n"},
        {APP(", on-future-timestamp: skip", "", ""),
         "f:3:3: error: source `s` has on-future-timestamp without max-future-skew; give both or neither [V8]\n"},
        {APP(", on-future-timestamp: accept", "", ""),
         "f:3:30: error: source `s` has on-future-timestamp without max-future-skew; give both or neither [V8]\n"},
        {APP("", "- {name: x, from: s, window: {tumbling: 0s}, aggregate: {n: count}}\n", ""),
         "f:6:41: error: streams.x.window.tumbling is 0s and must be at least 1ms [V8]\n"},
        {APP("", "- {name: x, from: s, window: {tumbling: 1m, grace: -1ms}, aggregate: {n: count}}\n", ""),
         "f:6:52: error: streams.x.window.grace is -1ms and must be at least 0ms [V8]\n"},
        {APP("", "- {name: x, from: s, window: {tumbling: 1m, grace: 1m}, aggregate: {n: count}, store: {retention: "
        "90s}}\n",
             ""),
         "f:6:80: error: step `x`: retention is 90s and must not be shorter than size + grace, 2m (K6) [V8]\n"},
        {APP("", "- {name: x, from: s, window: {tumbling: 2932896d, grace: 2932896d}, aggregate: {n: count}}\n", ""),
         "f:6:22: error: step `x`: size 2932896d + grace 2932896d lies beyond the year 9999 [V8]\n"},
        {APP("",
             "- {name: x, from: s, window: {tumbling: 100000000000d, grace: 100000000000d}, aggregate: {n: count}}\n",
             ""),
         "f:6:22: error: step `x`: size 100000000000d + grace 100000000000d lies beyond the year 9999 [V8]\n"
         "f:6:41: error: streams.x.window.tumbling is 100000000000d and must be at most 253402300799999ms [V8]\n"
         "f:6:63: error: streams.x.window.grace is 100000000000d and must be at most 253402300799999ms [V8]\n"},
        {APP("", "- {name: x, from: s, window: {tumbling: 99999999999999999d}, aggregate: {n: count}}\n", ""),
         "f:6:41: error: streams.x.window.tumbling must be a duration such as 250ms, 30s, 5m, 1h or 7d, not "
         "`99999999999999999d` [V8]\n"},
        {APP("", "", "stoatflow: {processing.lanes: 129}\n"),
         "f:6:31: error: stoatflow.processing.lanes is 129 and must be at most 128 [V8]\n"},
        {APP("", "", "stoatflow: {transaction-timeout-ms: 75000}\n"),
         "f:6:13: error: stoatflow.transaction-timeout-ms is 75s and must be longer than commit-barrier.timeout-ms + "
         "max-interval-ms + 10s, 75s; leave it out to have it set so [V8]\n"},
        {APP("", "", "stoatflow: {commit-barrier: {min-interval-ms: 6000}}\n"),
         "f:6:30: error: stoatflow.commit-barrier.min-interval-ms, 6s, is above max-interval-ms, 5s [V8]\n"},
    };
    CHECK_ALL(cases);
}

static void event_time_rules_are_checked_v1_v6(void **state)
{
    (void)state;
    static const struct broken cases[] = {
        {APP(", watermark: {strategy: none}", "", ""),
         "f:3:30: error: source `s` has the watermark strategy `none`, which holds event time still, so that `w` would "
         "never close a window; use `monotonous` on the record timestamp [V1]\n"},
        {APP("", "", "stoatflow: {processing.dispatch: direct}\n"),
         "f:6:13: error: stoatflow.processing.dispatch: direct has no event time, but the windowed step `w` needs it; "
         "leave dispatch out [V6]\n"},
        {"application: {id: a}\nsources: {s: {topic: t, value: string, watermark: {timestamp: $.a}}}\n",
         "f:2:52: error: source `s` takes its timestamp from a field, which needs `value: json` [W6]\n"},
        {"application: {id: a}\nsources: {s: {topic: t}, r: {topic: t}}\n",
         "f:2:26: error: sources `s` and `r` both read the topic `t`; read it once and let several steps take from "
         "that "
         "source [V8]\n"},
    };
    CHECK_ALL(cases);
}

static void a_source_that_joins_behind_a_cut_is_told_the_remedy_l1(void **state)
{
    (void)state;
    check_refused("application: {id: a}\n"
                  "sources: {s: {topic: t, value: json}}\n"
                  "streams:\n"
                  "- {name: k, from: s, key-by: $.k}\n"
                  "- {name: w, from: k, window: {tumbling: 1m}, aggregate: {n: count}}\n"
                  "- {name: m, from: [s, w]}\n",
                  "f:6:3: error: step `m` joins source `s` with records that have changed lanes (L1), which is not yet "
                  "supported for a source itself; put a step between, such as {name: s-raw, from: s, filter: \"true\"} "
                  "[L1]\n");
}

static void idleness_off_warns_once_and_loads_i5(void **state)
{
    (void)state;
    struct app_help help;
    app_help_load(&help, "application: {id: a}\n"
                         "stoatflow: {watermark.idleness-timeout-ms: 0}\n"
                         "sources:\n"
                         "  s: {topic: t, watermark: {strategy: monotonous}}\n"
                         "  r: {topic: u, watermark: {idleness: 1m}}\n"
                         "  q: {topic: v}\n");
    CHECK_STR(help.text.data, "f:4:3: warning: stoatflow.watermark.idleness-timeout-ms is 0 and these sources set no "
                              "idleness: s, q; once one of their partitions goes quiet, windows no longer close and "
                              "stores no longer expire (I5) [idleness-off]\n");
    CHECK(help.topology != NULL);
    app_help_end(&help);
}

static void all_mistakes_are_found_in_one_run(void **state)
{
    (void)state;
    check_refused("application: {id: a, guarantee: exactly}\n"
                  "sources:\n"
                  "  s: {topc: t, value: json, watermark: {strategy: none, idleness: 0s}}\n"
                  "  r: {topic: u, tier: background}\n"
                  "streams:\n"
                  "- {name: f, from: [s, rr], filter: \"$.a +\"}\n"
                  "- {name: w, from: f, window: {tumbling: 1m}, aggregate: {n: cont}, emit: on-close}\n"
                  "sinks: [{from: v, topic: \"o o\"}]\n"
                  "stoatflow: {processing.lanes: 0, colour: 1}\n",
                  "f:1:33: error: application.guarantee cannot be `exactly`; it is one of exactly-once, "
                  "at-least-once [V8]\n"
                  "f:3:3: error: sources.s has no `topic`: the topic read [V8]\n"
                  "f:3:7: error: unknown key `topc` in sources.s; did you mean `topic`? [V8]\n"
                  "f:3:29: error: source `s` has the watermark strategy `none`, which holds event time still, so that "
                  "`w` would never close a window; use `monotonous` on the record timestamp [V1]\n"
                  "f:3:67: error: sources.s.watermark.idleness is 0s and must be at least 1ms [V3]\n"
                  "f:4:23: error: `background` (sources.r.tier) is not yet supported [later]\n"
                  "f:6:23: error: `rr` is neither a source nor a step [V8]\n"
                  "f:6:36: error: streams.f.filter: the expression ends too early at character 6 of `$.a +` [V8]\n"
                  "f:7:61: error: streams.w.aggregate.n: unknown aggregation `cont`; did you mean `count`? [V8]\n"
                  "f:7:74: error: streams.w.emit cannot be `on-close`; it is one of on-window-update, on-window-close "
                  "[V8]\n"
                  "f:8:16: error: `v` is neither a source nor a step [V8]\n"
                  "f:8:26: error: sinks.#1.topic must be a name of the characters a-z A-Z 0-9 . _ -, not `o o` [V8]\n"
                  "f:9:31: error: stoatflow.processing.lanes is 0 and must be at least 1 [V8]\n"
                  "f:9:34: error: unknown key `colour` in stoatflow [V8]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_yaml_is_refused_with_its_place),
        cmocka_unit_test(a_scenario_is_told_from_an_application),
        cmocka_unit_test(unknown_keys_get_their_nearest_spelling_v8),
        cmocka_unit_test(wrong_types_and_missing_keys_are_named_v8),
        cmocka_unit_test(what_is_to_come_is_recognised_and_refused),
        cmocka_unit_test(steps_that_do_not_hold_together_are_refused_v8),
        cmocka_unit_test(spans_that_cannot_be_are_refused),
        cmocka_unit_test(event_time_rules_are_checked_v1_v6),
        cmocka_unit_test(a_source_that_joins_behind_a_cut_is_told_the_remedy_l1),
        cmocka_unit_test(idleness_off_warns_once_and_loads_i5),
        cmocka_unit_test(all_mistakes_are_found_in_one_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
