/* Good files: what a file says is what the topology holds. */
#include "tests/check.h"

#include "core/topo/plan.h"
#include "tests/unit/app_help.h"

static void counts_per_key_loads_without_a_finding(void **state)
{
    (void)state;
    struct app_help help;
    app_help_load_file(&help, "scenarios/apps/counts-per-key.yaml");
    CHECK_STR(help.text.data, "");
    CHECK(help.topology != NULL);
    const struct sf_topology *topology = help.topology;
    CHECK_STR(topology->application_id, "counts-per-key");
    CHECK_EQ(topology->guarantee, SF_EXACTLY_ONCE);
    CHECK_EQ(topology->settings.lanes, 2);
    CHECK_EQ(topology->source_count, 1);
    const struct sf_source_spec *source = &topology->sources[0];
    CHECK_STR(source->name, "orders");
    CHECK_STR(source->topic, "orders");
    CHECK_EQ(source->key, SF_SERDE_STRING);
    CHECK_EQ(source->value, SF_SERDE_JSON);
    CHECK_EQ(source->start, SF_START_EARLIEST);
    CHECK_EQ(source->max_future_skew_ms, SF_SPAN_NONE);
    CHECK(source->watermark.is_given);
    CHECK_EQ(source->watermark.strategy, SF_STRATEGY_BOUNDED);
    CHECK_EQ(source->watermark.bound_ms, 30000);
    CHECK_EQ(source->watermark.idleness_ms, SF_SPAN_NONE);
    const struct sf_step_spec *step = &topology->steps[0];
    CHECK_EQ(step->kind, SF_STEP_AGGREGATE);
    CHECK_EQ(step->window.size_ms, 300000);
    CHECK_EQ(step->window.grace_ms, 60000);
    CHECK_EQ(step->emit, SF_EMIT_ON_CLOSE);
    CHECK_STR(step->store.name, "counts");
    CHECK(step->store.is_persistent);
    CHECK_EQ(step->store.retention_ms, 360000);
    CHECK_EQ(step->aggregate_count, 1);
    CHECK_STR(step->aggregates[0].name, "n");
    CHECK_EQ(topology->sink_count, 1);
    CHECK_EQ(topology->sinks[0].from.kind, SF_INPUT_STEP);
    CHECK_EQ(topology->sinks[0].value, SF_SERDE_JSON);
    app_help_end(&help);
}

static void totals_per_user_has_two_sub_topologies(void **state)
{
    (void)state;
    struct app_help help;
    app_help_load_file(&help, "scenarios/apps/totals-per-user.yaml");
    CHECK_STR(help.text.data, "");
    CHECK(help.topology != NULL);
    CHECK_STR(help.topology->sources[0].watermark.timestamp_path, "$.event_time");
    CHECK_EQ(help.topology->sources[0].watermark.idleness_ms, 120000);
    CHECK_EQ(help.topology->sources[0].on_invalid, SF_INVALID_SKIP);
    CHECK_STR(help.topology->steps[0].expression, "$.amount >= 100");
    const struct sf_step_spec *totals = &help.topology->steps[2];
    CHECK_EQ(totals->aggregate_count, 4);
    CHECK_EQ(totals->aggregates[1].kind, SF_AGGREGATE_SUM);
    CHECK_STR(totals->aggregates[1].expression, "$.amount");
    CHECK_STR(totals->aggregates[3].name, "largest");
    CHECK_STR(totals->store.name, "totals-store");
    CHECK_EQ(totals->store.retention_ms, 3600000);
    struct sf_plan *plan = sf_plan_new(help.topology);
    CHECK_EQ(plan->sub_count, 2);
    app_help_end(&help);
}

static void merged_updates_merges_two_sources(void **state)
{
    (void)state;
    struct app_help help;
    app_help_load_file(&help, "scenarios/apps/merged-updates.yaml");
    CHECK_STR(help.text.data, "");
    CHECK(help.topology != NULL);
    CHECK_EQ(help.topology->guarantee, SF_AT_LEAST_ONCE);
    CHECK_EQ(help.topology->steps[0].kind, SF_STEP_MERGE);
    CHECK_EQ(help.topology->steps[0].input_count, 2);
    CHECK_EQ(help.topology->steps[1].field_count, 2);
    CHECK_STR(help.topology->steps[1].fields[1].name, "ms");
    CHECK_STR(help.topology->steps[1].fields[1].expression, "$.ms");
    CHECK_EQ(help.topology->steps[2].emit, SF_EMIT_ON_UPDATE);
    app_help_end(&help);
}

#define SETTINGS_TAIL "application: {id: a}\nsources: {s: {topic: t}}\n"

static void engine_keys_are_read_nested_dotted_and_beside(void **state)
{
    (void)state;
    static const char *const spellings[] = {
        "stoatflow: {watermark: {idleness-timeout-ms: 7}}\n" SETTINGS_TAIL,
        "stoatflow: {watermark.idleness-timeout-ms: 7}\n" SETTINGS_TAIL,
        "stoatflow: {stoatflow.watermark.idleness-timeout-ms: 7}\n" SETTINGS_TAIL,
        "stoatflow.watermark.idleness-timeout-ms: 7\n" SETTINGS_TAIL,
    };
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        struct app_help help;
        app_help_load(&help, spellings[i]);
        CHECK_STR(help.text.data, "");
        CHECK(help.topology != NULL);
        CHECK_EQ(help.topology->settings.idleness_timeout_ms, 7);
        app_help_end(&help);
    }
}

static void every_engine_key_reaches_its_setting(void **state)
{
    (void)state;
    struct app_help help;
    app_help_load(&help,
                  "stoatflow:\n"
                  "  watermark: {max-out-of-orderness-ms: 1, idleness-timeout-ms: 2, auto-interval-ms: 3,\n"
                  "              preview-delay-ms: 4}\n"
                  "  processing: {lanes: 5, buffered-records-per-partition: 6, max-poll-records: 7,\n"
                  "               max-task-idle-ms: -1, uncommitted-bytes-max: 70000, dispatch: direct}\n"
                  "  commit-barrier: {interval-ms: 11, interval-factor: 2.25, min-interval-ms: 12,\n"
                  "                   max-interval-ms: 13, timeout-ms: 14}\n"
                  "  changelog: {enabled: false, format: packed}\n"
                  "  session-timeout-ms: 15\n"
                  "  instance: blue\n"
                  "  state.dir: /var/lib/x\n"
                  "  output: {buffer-bytes: 80000}\n" SETTINGS_TAIL);
    CHECK_STR(help.text.data, "");
    CHECK(help.topology != NULL);
    const struct sf_settings *s = &help.topology->settings;
    CHECK_EQ(s->max_out_of_orderness_ms, 1);
    CHECK_EQ(s->idleness_timeout_ms, 2);
    CHECK_EQ(s->auto_interval_ms, 3);
    CHECK_EQ(s->preview_delay_ms, 4);
    CHECK_EQ(s->lanes, 5);
    CHECK_EQ(s->buffered_records_max, 6);
    CHECK_EQ(s->poll_records_max, 7);
    CHECK_EQ(s->task_idle_ms_max, -1);
    CHECK_EQ(s->uncommitted_bytes_max, 70000);
    CHECK_EQ(s->dispatch, SF_DISPATCH_DIRECT);
    CHECK_EQ(s->barrier_interval_ms, 11);
    CHECK_EQ(s->barrier_factor_percent, 225);
    CHECK_EQ(s->barrier_interval_ms_min, 12);
    CHECK_EQ(s->barrier_interval_ms_max, 13);
    CHECK_EQ(s->barrier_timeout_ms, 14);
    CHECK_EQ(s->transaction_timeout_ms, 14 + 13 + 20000);
    CHECK(!s->is_changelog_enabled);
    CHECK(s->is_changelog_packed);
    CHECK_EQ(s->session_timeout_ms, 15);
    CHECK_STR(s->instance, "blue");
    CHECK_STR(s->state_dir, "/var/lib/x");
    CHECK_EQ(s->output_buffer_bytes, 80000);
    app_help_end(&help);
}

static void kafka_settings_are_kept_as_they_are(void **state)
{
    (void)state;
    struct app_help help;
    app_help_load(&help, "kafka: {bootstrap.servers: \"localhost:9092\", retry.backoff.ms: 5}\n" SETTINGS_TAIL);
    CHECK_STR(help.text.data, "");
    CHECK(help.topology != NULL);
    CHECK_EQ(help.topology->kafka_count, 2);
    CHECK_STR(help.topology->kafka[0].name, "bootstrap.servers");
    CHECK_STR(help.topology->kafka[0].value, "localhost:9092");
    CHECK_STR(help.topology->kafka[1].value, "5");
    app_help_end(&help);
}

static void future_skew_and_policy_are_read_together_t5(void **state)
{
    (void)state;
    struct app_help help;
    app_help_load(&help, "application: {id: a}\n"
                         "sources: {s: {topic: t, max-future-skew: 1h30m, on-future-timestamp: clamp-watermark}}\n");
    CHECK_STR(help.text.data, "");
    CHECK_EQ(help.topology->sources[0].max_future_skew_ms, 5400000);
    CHECK_EQ(help.topology->sources[0].on_future, SF_FUTURE_CLAMP);
    app_help_end(&help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_per_key_loads_without_a_finding),
        cmocka_unit_test(totals_per_user_has_two_sub_topologies),
        cmocka_unit_test(merged_updates_merges_two_sources),
        cmocka_unit_test(engine_keys_are_read_nested_dotted_and_beside),
        cmocka_unit_test(every_engine_key_reaches_its_setting),
        cmocka_unit_test(kafka_settings_are_kept_as_they_are),
        cmocka_unit_test(future_skew_and_policy_are_read_together_t5),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
