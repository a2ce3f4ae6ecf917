#include "driver/rows.h"
#include "driver/run_parts.h"
#include "driver/time_text.h"

enum kind { WATERMARK, PARTITION, METRIC };

/* One expectation at an instant. */
struct instant {
    enum kind kind;
    uint32_t index;
    int64_t at_us; /* mono; INT64_MAX: judged */
};

struct sfi_expect {
    struct instant *items;
    uint32_t count;
    bool *is_said; /* by scenario->said */
};

/* ---------------------------------------------------------------- life */

static void add(struct sfi_expect *expect, const struct sfi_run *run, enum kind kind, uint32_t index, int64_t at_ms)
{
    if (at_ms == SF_SCENARIO_UNUSED || sfi_run_is_disturbed(run)) return;
    expect->items[expect->count++] = (struct instant){kind, index, sfi_run_mono_us(run, at_ms)};
}

static uint32_t capacity_of(const struct sf_scenario *scenario)
{
    return scenario->watermark_count + scenario->partition_count + scenario->metric_count;
}

struct sfi_expect *sfi_expect_new(struct sfi_run *run)
{
    const struct sf_scenario *scenario = run->scenario;
    struct sfi_expect *expect = sf_calloc(run->world.alloc, 1, sizeof *expect);
    expect->items = sf_calloc(run->world.alloc, capacity_of(scenario), sizeof *expect->items);
    expect->is_said = sf_calloc(run->world.alloc, scenario->said_count, sizeof(bool));
    for (uint32_t i = 0; i < scenario->watermark_count; i++)
        add(expect, run, WATERMARK, i, scenario->watermarks[i].at_ms);
    for (uint32_t i = 0; i < scenario->partition_count; i++)
        add(expect, run, PARTITION, i, scenario->partitions[i].at_ms);
    for (uint32_t i = 0; i < scenario->metric_count; i++) add(expect, run, METRIC, i, scenario->metrics[i].at_ms);
    return expect;
}

void sfi_expect_destroy(struct sfi_run *run, struct sfi_expect *expect)
{
    if (expect == NULL) return;
    sf_cfree(run->world.alloc, expect->items, capacity_of(run->scenario), sizeof *expect->items);
    sf_cfree(run->world.alloc, expect->is_said, run->scenario->said_count, sizeof(bool));
    sf_cfree(run->world.alloc, expect, 1, sizeof *expect);
}

int64_t sfi_expect_next_us(const struct sfi_expect *expect)
{
    int64_t next = INT64_MAX;
    for (uint32_t i = 0; i < expect->count; i++) {
        if (expect->items[i].at_us < next) next = expect->items[i].at_us;
    }
    return next;
}

/* ---------------------------------------------------------------- judging */

/* `subject (line n)`: where the expectation stands. */
static void subject_text(char *out, size_t cap, const char *topic, int64_t partition, struct sf_place place)
{
    struct sf_text text;
    sf_text_init(&text, out, cap);
    sf_text_add(&text, topic);
    if (partition >= 0) {
        sf_text_add(&text, "/");
        sf_text_add_int(&text, partition);
    }
    sf_text_add(&text, " (expected in line ");
    sf_text_add_uint(&text, place.line);
    sf_text_add(&text, ")");
}

static void bounds_text(char *out, size_t cap, const struct sf_scenario_bounds *bounds)
{
    struct sf_text text;
    sf_text_init(&text, out, cap);
    if (bounds->at_least_ms == bounds->at_most_ms) {
        sf_driver_text_time(&text, bounds->at_least_ms);
        return;
    }
    if (bounds->at_least_ms != INT64_MIN) {
        sf_text_add(&text, "at least ");
        sf_driver_text_time(&text, bounds->at_least_ms);
    }
    if (bounds->at_most_ms != INT64_MAX) {
        if (bounds->at_least_ms != INT64_MIN) sf_text_add(&text, ", ");
        sf_text_add(&text, "at most ");
        sf_driver_text_time(&text, bounds->at_most_ms);
    }
}

static void judge_bounds(struct sfi_run *run, const char *rule, const char *subject,
                         const struct sf_scenario_bounds *bounds, int64_t actual)
{
    if (!bounds->is_given || (actual >= bounds->at_least_ms && actual <= bounds->at_most_ms)) return;
    char expected[SF_DRIVER_VALUE_BYTES], time[SF_DRIVER_TIME_BYTES];
    bounds_text(expected, sizeof expected, bounds);
    sfi_run_fail(run, rule, subject, expected, sf_driver_time_of(time, actual));
}

/* NULL, and it has said so, where no engine runs. */
static const struct sf_ingest *ingest_now(struct sfi_run *run, const char *rule, const char *subject)
{
    const struct sfi_process *process = sfi_process_owner(run);
    const struct sf_ingest *ingest =
        process != NULL && process->engine != NULL ? sf_engine_ingest(process->engine) : NULL;
    if (ingest == NULL) sfi_run_fail(run, rule, subject, "an engine that runs", "none runs at this instant");
    return ingest;
}

static void judge_watermark(struct sfi_run *run, const struct sf_scenario_watermark *spec)
{
    char subject[SF_DRIVER_SUBJECT_BYTES];
    subject_text(subject, sizeof subject, "global watermark", -1, spec->place);
    const struct sf_ingest *ingest = ingest_now(run, "expect.watermark", subject);
    if (ingest == NULL) return;
    struct sf_watermark_view view;
    sf_ingest_view(ingest, (struct sf_wall_ts){sf_sim_world_wall_ms(&run->world)}, &view);
    judge_bounds(run, "expect.watermark", subject, &spec->global, view.global);
}

static bool find_partition(struct sfi_run *run, const struct sf_ingest *ingest, const char *topic, uint32_t partition,
                           struct sf_partition_view *view_out)
{
    const struct sfi_process *process = sfi_process_owner(run);
    struct sf_wall_ts wall = {sf_sim_world_wall_ms(&run->world)};
    struct sf_watermark_view view;
    sf_ingest_view(ingest, wall, &view);
    for (uint32_t i = 0; i < view.partition_count; i++) {
        sf_ingest_partition_view(ingest, i, wall, view_out);
        if (view_out->is_taken || view_out->tp.partition != (int32_t)partition) continue;
        if (strcmp(sf_kafka_topic_name(process->instance.kafka, view_out->tp.topic), topic) == 0) return true;
    }
    return false;
}

static void judge_partition(struct sfi_run *run, const struct sf_scenario_partition *spec)
{
    static const char rule[] = "expect.partitions";
    char subject[SF_DRIVER_SUBJECT_BYTES];
    const char *topic = run->scenario->topics[spec->topic].name;
    subject_text(subject, sizeof subject, topic, spec->partition, spec->place);
    const struct sf_ingest *ingest = ingest_now(run, rule, subject);
    if (ingest == NULL) return;
    struct sf_partition_view view;
    if (!find_partition(run, ingest, topic, spec->partition, &view)) {
        sfi_run_fail(run, rule, subject, "a partition that the engine reads", "it reads no such partition");
        return;
    }
    if (spec->has_idle && spec->is_idle != view.is_idle)
        sfi_run_fail(run, rule, subject, spec->is_idle ? "idle" : "not idle", view.is_idle ? "idle" : "not idle");
    judge_bounds(run, rule, subject, &spec->watermark, view.watermark);
}

static void judge_metric(struct sfi_run *run, const struct sf_scenario_metric *spec)
{
    char expected[SF_TEXT_INT_BYTES], actual[SF_TEXT_INT_BYTES], subject[SF_DRIVER_SUBJECT_BYTES];
    int64_t value = sfi_metrics_value(run, spec->metric);
    if (value == spec->value) return;
    subject_text(subject, sizeof subject, spec->name, -1, spec->place);
    sfi_run_fail(run, "expect.metrics", subject, sf_text_of_int(expected, spec->value),
                 sf_text_of_int(actual, value));
}

void sfi_expect_due(struct sfi_run *run, struct sfi_expect *expect)
{
    for (uint32_t i = 0; i < expect->count; i++) {
        struct instant *instant = &expect->items[i];
        if (instant->at_us > run->world.mono_us) continue;
        instant->at_us = INT64_MAX;
        if (instant->kind == WATERMARK)
            judge_watermark(run, &run->scenario->watermarks[instant->index]);
        else if (instant->kind == PARTITION)
            judge_partition(run, &run->scenario->partitions[instant->index]);
        else
            judge_metric(run, &run->scenario->metrics[instant->index]);
    }
}

/* ---------------------------------------------------------------- words */

void sfi_expect_note(struct sfi_run *run, struct sfi_expect *expect, const struct sfi_process *process,
                     const struct sf_note *note)
{
    const struct sf_scenario *scenario = run->scenario;
    char words[SF_DRIVER_VALUE_BYTES];
    struct sf_text text;
    if (scenario->said_count == 0) return;
    sf_text_init(&text, words, sizeof words);
    sf_driver_note_text(&text, &process->instance, note);
    for (uint32_t i = 0; i < scenario->said_count; i++)
        if (strstr(words, scenario->said[i].name) != NULL) expect->is_said[i] = true;
}

bool sfi_expect_failure(struct sfi_run *run, const char *error)
{
    const struct sf_scenario *scenario = run->scenario;
    for (uint32_t i = 0; i < scenario->failed_count; i++) {
        char subject[SF_DRIVER_SUBJECT_BYTES];
        if (strstr(error, scenario->failed[i].name) != NULL) continue;
        subject_text(subject, sizeof subject, "why the engine gives up", -1, scenario->failed[i].place);
        sfi_run_fail(run, "expect.failed", subject, scenario->failed[i].name, error);
    }
    return scenario->failed_count > 0;
}

static void judge_words(struct sfi_run *run, const struct sfi_expect *expect)
{
    const struct sf_scenario *scenario = run->scenario;
    char subject[SF_DRIVER_SUBJECT_BYTES];
    if (scenario->failed_count > 0 && !run->has_given_up) {
        subject_text(subject, sizeof subject, "why the engine gives up", -1, scenario->failed[0].place);
        sfi_run_fail(run, "expect.failed", subject, scenario->failed[0].name, "it did not give up");
    }
    for (uint32_t i = 0; i < scenario->said_count; i++) {
        if (expect->is_said[i] || sfi_run_is_disturbed(run)) continue;
        subject_text(subject, sizeof subject, "what the engine says", -1, scenario->said[i].place);
        sfi_run_fail(run, "expect.said", subject, scenario->said[i].name, "it never said so");
    }
}

/* ---------------------------------------------------------------- the application */

static bool has_finding(const struct sf_scenario *scenario, enum sf_severity severity, const char *rule)
{
    for (uint32_t i = 0; i < scenario->app_findings.count; i++) {
        const struct sf_finding *finding = &scenario->app_findings.items[i];
        if (finding->severity == severity && strcmp(finding->rule, rule) == 0) return true;
    }
    return false;
}

static void missing(struct sf_driver_report *report, const char *rule, const struct sf_scenario_rule *wanted,
                    const char *actual)
{
    char subject[SF_DRIVER_SUBJECT_BYTES];
    struct sf_driver_violation violation = {.at_us = 0};
    subject_text(subject, sizeof subject, "the application", -1, wanted->place);
    sf_driver_violation_set(&violation, rule, subject, wanted->name, actual);
    sf_driver_report_add(report, &violation);
}

void sfi_expect_application(const struct sf_scenario *scenario, struct sf_driver_report *report)
{
    bool is_built = scenario->topology != NULL;
    for (uint32_t i = 0; i < scenario->refused_count; i++) {
        if (has_finding(scenario, SF_FINDING_ERROR, scenario->refused[i].name)) continue;
        missing(report, "expect.refused", &scenario->refused[i],
                is_built ? "it is accepted" : "it is refused, but not for this rule");
    }
    for (uint32_t i = 0; i < scenario->warned_count; i++) {
        if (has_finding(scenario, SF_FINDING_WARNING, scenario->warned[i].name)) continue;
        missing(report, "expect.warned", &scenario->warned[i], "there is no such warning");
    }
}

/* ---------------------------------------------------------------- at the end */

static void output_differs(void *ctx, const char *subject, const char *expected, const char *actual)
{
    sfi_run_fail(ctx, "expect.output", subject, expected, actual);
}

/* Keys are the source's own until a step makes new ones, which are text. */
static enum sf_serde key_serde_of(const struct sf_topology *topology, struct sf_input from)
{
    while (from.kind == SF_INPUT_STEP) {
        const struct sf_step_spec *step = &topology->steps[from.index];
        if (step->kind == SF_STEP_KEY_BY) return SF_SERDE_STRING;
        from = step->inputs[0];
    }
    return topology->sources[from.index].key;
}

static void read_rows(const struct sfi_run *run, const char *topic, struct sf_driver_rows *rows)
{
    const struct sf_topology *topology = run->topology;
    struct sf_driver_row_serdes serdes = {.key = SF_SERDE_STRING, .value = SF_SERDE_JSON};
    for (uint32_t i = 0; i < topology->sink_count; i++) {
        const struct sf_sink_spec *sink = &topology->sinks[i];
        if (strcmp(sink->topic, topic) != 0) continue;
        serdes = (struct sf_driver_row_serdes){.key = key_serde_of(topology, sink->from), .value = sink->value};
        break;
    }
    sf_driver_rows_read(rows, run->broker, topic, serdes);
}

void sfi_expect_judge(struct sfi_run *run, struct sfi_expect *expect)
{
    const struct sf_scenario *scenario = run->scenario;
    for (uint32_t i = 0; i < scenario->metric_count; i++) {
        if (scenario->metrics[i].at_ms == SF_SCENARIO_UNUSED) judge_metric(run, &scenario->metrics[i]);
    }
    for (uint32_t i = 0; i < expect->count; i++) {
        if (expect->items[i].at_us == INT64_MAX) continue;
        char time[SF_DRIVER_TIME_BYTES];
        int64_t at_us = expect->items[i].at_us - run->world.start_us;
        sfi_run_fail(run, "expect", sf_driver_elapsed_of(time, at_us), "the run reaches this instant",
                     "it ended before");
    }
    judge_words(run, expect);
    /* Last, since there may be many of them, and a report keeps the first. */
    for (uint32_t i = 0; i < scenario->output_count; i++) {
        const struct sf_scenario_output *output = &scenario->outputs[i];
        struct sf_driver_rows rows;
        sf_driver_rows_init(&rows, run->world.alloc);
        read_rows(run, output->topic, &rows);
        sf_driver_rows_compare(&rows, output, output_differs, run);
        sf_driver_rows_deinit(&rows);
    }
}
