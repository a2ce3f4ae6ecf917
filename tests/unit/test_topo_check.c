/* Checks of topologies that a program filled by hand: what no file can say is found as well, and nothing crashes. */
#include "tests/check.h"

#include <stdio.h>

#include "core/text.h"
#include "core/topo/check.h"

struct subject {
    struct sf_topology *topology;
    struct sf_findings findings;
    struct sf_source_spec *source;
    struct sf_step_spec *filter, *window;
    struct sf_sink_spec *sink;
};

/* s -> filter -> window -> out: nothing to find. */
static void make(struct subject *subject)
{
    struct sf_topology *t = sf_topology_new(sf_alloc_libc());
    *subject = (struct subject){.topology = t};
    sf_findings_init(&subject->findings, sf_alloc_libc());
    t->application_id = "a";
    t->sources = sf_topology_take(t, 2 * sizeof *t->sources);
    t->steps = sf_topology_take(t, 2 * sizeof *t->steps);
    t->sinks = sf_topology_take(t, sizeof *t->sinks);
    t->source_count = t->sink_count = 1;
    t->step_count = 2;
    subject->source = &t->sources[0];
    subject->filter = &t->steps[0];
    subject->window = &t->steps[1];
    subject->sink = &t->sinks[0];
    *subject->source = (struct sf_source_spec){.name = "s", .topic = "t", .max_future_skew_ms = SF_SPAN_NONE};
    subject->source->watermark.bound_ms = subject->source->watermark.idleness_ms = SF_SPAN_NONE;
    *subject->filter = (struct sf_step_spec){.name = "f", .kind = SF_STEP_FILTER, .input_count = 1};
    subject->filter->expression = "true";
    *subject->window = (struct sf_step_spec){.name = "w",
                                             .kind = SF_STEP_AGGREGATE,
                                             .inputs = {{SF_INPUT_STEP, 0}},
                                             .input_count = 1,
                                             .window = {.size_ms = 1000, .grace_ms = 500},
                                             .store = {.name = "w", .retention_ms = 1500}};
    struct sf_aggregate_spec *n = sf_topology_take(t, sizeof *n);
    n->name = "n";
    subject->window->aggregates = n;
    subject->window->aggregate_count = 1;
    *subject->sink = (struct sf_sink_spec){.topic = "out", .from = {SF_INPUT_STEP, 1}};
}

/* `V8 text\n` a finding. */
static void check(struct subject *subject, const char *expected)
{
    struct sf_text text;
    sf_text_init_growing(&text, sf_alloc_libc());
    bool is_good = sf_topology_check(subject->topology, &subject->findings);
    for (uint32_t i = 0; i < subject->findings.count; i++) {
        sf_text_add(&text, subject->findings.items[i].rule);
        sf_text_add(&text, " ");
        sf_text_add(&text, subject->findings.items[i].text);
        sf_text_add(&text, "\n");
    }
    CHECK_STR(text.data, expected);
    CHECK_EQ(is_good, subject->findings.error_count == 0);
    sf_text_deinit(&text);
    sf_findings_deinit(&subject->findings);
    sf_topology_destroy(subject->topology);
}

static void a_good_topology_has_no_finding(void **state)
{
    (void)state;
    struct subject subject;
    make(&subject);
    check(&subject, "");
}

static void names_that_were_left_out_are_found(void **state)
{
    (void)state;
    struct subject subject;
    make(&subject);
    subject.topology->application_id = NULL;
    subject.source->topic = NULL;
    subject.filter->name = NULL;
    check(&subject,
          "V8 application.id `` must be 1 to 200 of the characters a-z A-Z 0-9 . _ -, since topics are named after "
          "it\n"
          "V8 the topic `` must be 1 to 200 of the characters a-z A-Z 0-9 . _ -, since topics are named after it\n"
          "V8 the step name `` must be 1 to 200 of the characters a-z A-Z 0-9 . _ -, since topics are named after "
          "it\n");
}

/* "a" + "-" + store + "-emitfrontier-changelog" is a topic's name: 249 bytes at most. */
static void an_id_and_a_store_name_too_long_for_a_topic_are_refused_k11(void **state)
{
    (void)state;
    char id[201] = {0}, name[27] = {0};
    struct subject subject;
    memset(id, 'i', sizeof id - 1);
    memset(name, 'n', sizeof name - 2);
    make(&subject);
    subject.topology->application_id = id;
    subject.window->store.name = name;
    check(&subject, "");
    name[sizeof name - 2] = 'n';
    make(&subject);
    subject.topology->application_id = id;
    subject.window->store.name = name;
    check(&subject, "K11 application.id and the store name `nnnnnnnnnnnnnnnnnnnnnnnnnn` have 226 characters together "
                    "and may have 225, since topics are named after both\n");
}

static void a_sink_into_the_applications_own_state_is_refused_k11(void **state)
{
    (void)state;
    static const char *const own[] = {"a-w-changelog", "a-w-emitfrontier-changelog", "a-stoatflow-watermark-changelog"};
    struct subject subject;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        char expected[160];
        make(&subject);
        subject.sink->topic = own[i];
        (void)snprintf(expected, sizeof expected,
                       "K11 the topic `%s` is where this application keeps its own state; write to another\n", own[i]);
        check(&subject, expected);
    }
    make(&subject);
    subject.sink->topic = "a-w-changelog2";
    check(&subject, "");
    make(&subject);
    subject.sink->topic = "a-f-changelog"; /* a step without state */
    check(&subject, "");
}

static void a_sink_into_a_topic_that_is_read_is_warned_of(void **state)
{
    (void)state;
    struct subject subject;
    make(&subject);
    subject.sink->topic = "t";
    check(&subject, "loop the sink writes to `t`, which source `s` reads: every result comes back in as a record; "
                    "write to another topic unless that is meant\n");
}

static void what_nobody_reads_is_warned_of(void **state)
{
    (void)state;
    struct subject subject;
    make(&subject);
    subject.sink->from.index = 0;
    check(&subject, "unread nothing reads step `w`: what it makes is dropped; take it out, or name it in a step's or "
                    "sink's `from`\n");
    make(&subject);
    subject.topology->source_count = 2;
    subject.topology->sources[1] = *subject.source;
    subject.topology->sources[1].name = "more";
    subject.topology->sources[1].topic = "u";
    check(&subject, "unread nothing reads source `more`: its records are consumed and dropped; take it out, or name it "
                    "in a step's or sink's `from`\n");
}

static void objects_into_a_sink_of_numbers_are_refused_v8(void **state)
{
    (void)state;
    struct subject subject;
    make(&subject);
    subject.sink->value = SF_SERDE_INT64;
    check(&subject, "V8 the sink to `out` writes numbers (`value: int64`), but `w` makes objects with fields; leave "
                    "`value` out, or put a step with `map-values: $.field` between\n");
    make(&subject);
    subject.window->inputs[0] = (struct sf_input){SF_INPUT_SOURCE, 0}; /* w -> f -> out: a filter changes nothing */
    subject.filter->inputs[0] = (struct sf_input){SF_INPUT_STEP, 1};
    subject.sink->from.index = 0;
    subject.sink->value = SF_SERDE_DOUBLE;
    check(&subject, "V8 the sink to `out` writes numbers (`value: double`), but `f` makes objects with fields; leave "
                    "`value` out, or put a step with `map-values: $.field` between\n");
    make(&subject);
    subject.sink->value = SF_SERDE_STRING;
    check(&subject, "");
    make(&subject);
    subject.window->kind = SF_STEP_MAP_VALUES; /* to a number, for all that is known */
    subject.window->expression = "$.n";
    subject.sink->value = SF_SERDE_INT64;
    check(&subject, "");
}

static void references_out_of_range_are_found_and_end_the_graph_checks(void **state)
{
    (void)state;
    struct subject subject;
    make(&subject);
    subject.filter->inputs[0] = (struct sf_input){SF_INPUT_SOURCE, 1};
    subject.window->input_count = 0;
    subject.sink->from = (struct sf_input){SF_INPUT_STEP, 2};
    check(&subject, "V8 step `f` reads from something that is not there\n"
                    "V8 step `w` reads from nothing\n"
                    "V8 the sink to `out` reads from something that is not there\n");
}

static void a_cycle_is_told_from_what_hangs_behind_it(void **state)
{
    (void)state;
    struct subject subject;
    make(&subject);
    subject.filter->inputs[0] = (struct sf_input){SF_INPUT_STEP, 0};
    check(&subject, "V8 the steps form a cycle: `f` <- `f`\n");
}

static void windows_that_cannot_be_are_found(void **state)
{
    (void)state;
    struct subject subject;
    make(&subject);
    subject.window->window.size_ms = 0;
    subject.window->window.grace_ms = -5;
    check(&subject, "V8 step `w`: the window size is 0ms and must be above zero\n"
                    "V8 step `w`: grace is -5ms and must not be negative\n");
    make(&subject);
    subject.window->window.grace_ms = INT64_MAX;
    check(&subject, "V8 step `w`: size 1s + grace 9223372036854775807ms lies beyond the year 9999\n");
    make(&subject);
    subject.window->store.retention_ms = 1499;
    check(&subject, "V8 step `w`: retention is 1499ms and must not be shorter than size + grace, 1500ms (K6)\n");
    make(&subject);
    subject.window->aggregate_count = 0;
    check(&subject, "V8 step `w` aggregates nothing; name at least one field\n");
}

static void spans_of_sources_are_checked_v3_v8(void **state)
{
    (void)state;
    struct subject subject;
    make(&subject);
    subject.source->watermark.bound_ms = -1;
    subject.source->watermark.idleness_ms = 0;
    subject.source->max_future_skew_ms = -1;
    check(&subject, "V3 source `s`: max-out-of-orderness is -1ms and must not be negative\n"
                    "V3 source `s`: idleness is 0ms and must be above zero; leave it out to use "
                    "stoatflow.watermark.idleness-timeout-ms\n"
                    "V8 source `s`: max-future-skew is -1ms and must not be negative\n");
}

static void settings_are_checked_v3_v8(void **state)
{
    (void)state;
    struct subject subject;
    make(&subject);
    subject.topology->settings.lanes = 129;
    subject.topology->settings.max_out_of_orderness_ms = -1;
    subject.topology->settings.idleness_timeout_ms = -1;
    check(&subject, "V8 stoatflow.processing.lanes is 129 and must lie in 1 ... 128 (L2)\n"
                    "V3 stoatflow.watermark.max-out-of-orderness-ms must not be negative (W1)\n"
                    "V3 stoatflow.watermark.idleness-timeout-ms must not be negative; 0 switches idleness off (I2)\n");
    make(&subject);
    subject.topology->settings.transaction_timeout_ms = 75001;
    check(&subject, "");
    make(&subject);
    subject.topology->settings.barrier_timeout_ms = INT64_MAX - 1;
    subject.topology->settings.transaction_timeout_ms = INT64_MAX - 1;
    check(&subject, "V8 stoatflow.transaction-timeout-ms is 9223372036854775806ms and must be longer than "
                    "commit-barrier.timeout-ms + max-interval-ms + 10s, 9223372036854775806ms; leave it out to have it "
                    "set so\n");
}

static void none_without_a_window_is_allowed_and_direct_dispatch_too(void **state)
{
    (void)state;
    struct subject subject;
    make(&subject);
    subject.source->watermark.strategy = SF_STRATEGY_NONE;
    subject.topology->step_count = 1;
    subject.sink->from = (struct sf_input){SF_INPUT_STEP, 0};
    subject.topology->settings.dispatch = SF_DISPATCH_DIRECT;
    check(&subject, "");
    make(&subject);
    subject.source->watermark.is_given = true;
    subject.topology->step_count = 1;
    subject.sink->from = (struct sf_input){SF_INPUT_STEP, 0};
    subject.topology->settings.dispatch = SF_DISPATCH_DIRECT;
    check(&subject, "V6 stoatflow.processing.dispatch: direct has no event time, but a source's `watermark` needs it; "
                    "leave dispatch out\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_topology_has_no_finding),
        cmocka_unit_test(names_that_were_left_out_are_found),
        cmocka_unit_test(an_id_and_a_store_name_too_long_for_a_topic_are_refused_k11),
        cmocka_unit_test(a_sink_into_the_applications_own_state_is_refused_k11),
        cmocka_unit_test(a_sink_into_a_topic_that_is_read_is_warned_of),
        cmocka_unit_test(what_nobody_reads_is_warned_of),
        cmocka_unit_test(objects_into_a_sink_of_numbers_are_refused_v8),
        cmocka_unit_test(references_out_of_range_are_found_and_end_the_graph_checks),
        cmocka_unit_test(a_cycle_is_told_from_what_hangs_behind_it),
        cmocka_unit_test(windows_that_cannot_be_are_found),
        cmocka_unit_test(spans_of_sources_are_checked_v3_v8),
        cmocka_unit_test(settings_are_checked_v3_v8),
        cmocka_unit_test(none_without_a_window_is_allowed_and_direct_dispatch_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
