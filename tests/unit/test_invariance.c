/*
 * L6: with the same epochs, results hang neither on the number of lanes, nor on how many records a poll returns, nor on
 * how much a step does; and where nothing is late, not on the epochs either. Nor do they hang on the format of the
 * changelogs, whatever dies and is restored from them and from what is left of the disk.
 *
 * Each workload is drawn from its number: records for three partitions, with keys, event times and arrivals, and the
 * instants of barriers. What readers of the output see is compared per key, in order, with one lane's.
 */
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/topo/plan.h"
#include "driver/oracle.h"
#include "driver/run.h"
#include "driver/scenario.h"
#include "sim/random.h"

#define WORKLOADS 200u
#define RECORDS 40u
#define KEYS 9u
#define RESTART_WORKLOADS 30u
#define RESTART_RECORDS 120u
#define RESTART_KEYS 60u /* so many that most rows are older than what is replayed */
#define LINES_MAX 512u
#define DOMAIN 1000u

struct shape {
    uint32_t lanes;
    uint32_t poll_records;
    uint32_t step_budget; /* 0: the world's */
    uint64_t seed;
    bool is_packed;
};

static const struct shape exact_shapes[] = {
    {1, 500, 1024, 1, false}, {2, 500, 1, 1, false}, {3, 3, 7, 1, false}, {8, 1, 1024, 1, true}, {1, 2, 1, 1, true},
};
static const struct shape restart_shapes[] = {
    {1, 500, 1024, 1, false}, {1, 500, 1024, 1, true}, {3, 500, 7, 1, true}, {2, 500, 1024, 1, false},
};
static const struct shape cadence_shapes[] = {
    {1, 500, 0, 1, false}, {2, 500, 1, 2, false}, {3, 3, 7, 3, true}, {8, 1, 1024, 4, true},
};

/* ---- a workload as a scenario */

struct draws {
    uint64_t workload;
    uint64_t next;
};

static uint64_t below(struct draws *draws, uint64_t bound)
{
    return sf_sim_draw(draws->workload, DOMAIN, draws->next++, 0) % bound;
}

static void add_app(struct draws *draws, uint64_t idle_ms, struct sf_text *text)
{
    bool is_keyed_anew = below(draws, 2) == 0;
    sf_text_add(text, "scenario: drawn\n"
                      "app:\n"
                      "  application: {id: drawn}\n"
                      "  stoatflow:\n"
                      "    instance: only\n"
                      "    watermark: {idleness-timeout-ms: ");
    sf_text_add_uint(text, idle_ms);
    sf_text_add(text, "}\n"
                      "  sources:\n"
                      "    in: {topic: in, key: string, value: json, watermark: {max-out-of-orderness: ");
    sf_text_add_uint(text, below(draws, 20));
    sf_text_add(text, "ms}}\n  streams:\n");
    if (is_keyed_anew) sf_text_add(text, "    - {name: anew, from: in, key-by: $.k}\n");
    sf_text_add(text, "    - {name: counts, from: ");
    sf_text_add(text, is_keyed_anew ? "anew" : "in");
    sf_text_add(text, ", window: {tumbling: 10ms, grace: ");
    sf_text_add_uint(text, below(draws, 12));
    sf_text_add(text, "ms}, aggregate: {n: count, v: sum($.v), most: max($.v)}, emit: on-window-close}\n"
                      "  sinks:\n"
                      "    - {from: counts, topic: out}\n"
                      "topics:\n"
                      "  in: {partitions: 3}\n");
}

static void add_barriers(struct draws *draws, struct sf_text *text)
{
    sf_text_add(text, "world: {exact: true}\nbarriers: [");
    for (uint64_t at = 1 + below(draws, 20); at < 300; at += 1 + below(draws, 40)) {
        sf_text_add(text, "+");
        sf_text_add_uint(text, at);
        sf_text_add(text, "ms, ");
    }
    sf_text_add(text, "+301ms]\n");
}

static void add_record(struct draws *draws, uint64_t at, uint64_t partition, uint64_t keys, uint64_t ts,
                       struct sf_text *text)
{
    sf_text_add(text, "  - {at: +");
    sf_text_add_uint(text, at);
    sf_text_add(text, "ms, to: in/");
    sf_text_add_uint(text, partition);
    sf_text_add(text, ", key: k");
    sf_text_add_uint(text, below(draws, keys));
    sf_text_add(text, ", value: {k: g");
    sf_text_add_uint(text, below(draws, 5));
    sf_text_add(text, ", v: ");
    sf_text_add_uint(text, below(draws, 100));
    sf_text_add(text, "}, ts: +");
    sf_text_add_uint(text, ts);
    sf_text_add(text, "ms}\n");
}

/* Some records lie far behind, and are late where a barrier says so. */
static void exact_workload(uint64_t workload, struct sf_text *text)
{
    struct draws draws = {.workload = workload};
    add_app(&draws, below(&draws, 2) == 0 ? 25 : 3600000, text);
    add_barriers(&draws, text);
    sf_text_add(text, "input:\n");
    for (uint32_t i = 0; i < RECORDS; i++) {
        uint64_t at = i * 5 + below(&draws, 20);
        uint64_t behind = below(&draws, 5) == 0 ? below(&draws, 80) : below(&draws, 12);
        add_record(&draws, at, below(&draws, 3), KEYS, 100 + at - behind, text);
    }
}

/* Times rise in each partition, nobody idles, and so nothing is late whatever the barriers. */
static void cadence_workload(uint64_t workload, struct sf_text *text)
{
    struct draws draws = {.workload = workload};
    uint64_t times[3] = {0, 0, 0};
    add_app(&draws, 3600000, text);
    sf_text_add(text, "input:\n");
    for (uint32_t i = 0; i < RECORDS; i++) {
        uint64_t partition = below(&draws, 3);
        times[partition] += below(&draws, 30);
        add_record(&draws, i * 20, partition, KEYS, times[partition], text);
    }
}

static void add_crash(struct draws *draws, uint64_t from, uint64_t span, struct sf_text *text)
{
    sf_text_add(text, "  - {at: +");
    sf_text_add_uint(text, from + below(draws, span));
    sf_text_add(text, below(draws, 3) == 0 ? "ms, crash: {restart-after: 0s, store: lost}}\n"
                                           : "ms, crash: {restart-after: 0s}}\n");
}

/* Long enough for the local store to be written. Every change leaves as an update; windows expire between crashes. */
static void restart_workload(uint64_t workload, struct sf_text *text)
{
    struct draws draws = {.workload = workload};
    sf_text_add(text, "scenario: drawn\n"
                      "app:\n"
                      "  application: {id: drawn}\n"
                      "  stoatflow: {instance: only}\n"
                      "  sources:\n"
                      "    in: {topic: in, key: string, value: json, watermark: {max-out-of-orderness: 500ms}}\n"
                      "  streams:\n"
                      "    - {name: changes, from: in, window: {tumbling: 20s},\n"
                      "       aggregate: {n: count, v: sum($.v)}, emit: on-window-update}\n"
                      "    - {name: finals, from: in, window: {tumbling: 12s, grace: 1s},\n"
                      "       aggregate: {n: count, most: max($.v)}, emit: on-window-close}\n"
                      "  sinks:\n"
                      "    - {from: changes, topic: changes}\n"
                      "    - {from: finals, topic: finals}\n"
                      "topics:\n"
                      "  in: {partitions: 3}\n"
                      "world: {exact: true}\nbarriers: [");
    for (uint64_t at = 100 + below(&draws, 900); at < 50000; at += 100 + below(&draws, 1500)) {
        sf_text_add(text, "+");
        sf_text_add_uint(text, at);
        sf_text_add(text, "ms, ");
    }
    sf_text_add(text, "+51s]\nfaults:\n");
    add_crash(&draws, 11000, 4000, text);
    add_crash(&draws, 20000, 8000, text);
    add_crash(&draws, 33000, 9000, text);
    sf_text_add(text, "input:\n");
    for (uint32_t i = 0; i < RESTART_RECORDS; i++) {
        uint64_t at = i * 400 + below(&draws, 700);
        add_record(&draws, at, below(&draws, 3), RESTART_KEYS, 1000 + at - below(&draws, 900), text);
    }
}

/* ---- what readers see */

struct seen {
    char *lines[LINES_MAX]; /* `key a {…} at …`, in order of keys, then of offsets */
    uint32_t count;
};

static size_t key_len(const char *line)
{
    return strcspn(line, "{");
}

static bool is_behind(const char *line, const char *other)
{
    size_t len = key_len(line), other_len = key_len(other);
    int order = memcmp(line, other, len < other_len ? len : other_len);
    return order != 0 ? order > 0 : len > other_len;
}

static void keep(struct seen *seen, const char *line, size_t len)
{
    char *copy = strndup(line, len);
    CHECK(copy != NULL && seen->count < LINES_MAX);
    uint32_t at = seen->count++;
    for (; at > 0 && is_behind(seen->lines[at - 1], copy); at--) seen->lines[at] = seen->lines[at - 1];
    seen->lines[at] = copy;
}

static void read_outputs(const char *history, struct seen *seen)
{
    seen->count = 0;
    for (const char *line = history; *line != '\0'; line += strcspn(line, "\n") + 1) {
        size_t len = strcspn(line, "\n");
        const char *output = strstr(line, "  output ");
        const char *key = strstr(line, " key ");
        if (output == NULL || output > line + len || key == NULL || key > line + len) continue;
        keep(seen, key + 1, len - (size_t)(key + 1 - line));
    }
}

static void forget(struct seen *seen)
{
    for (uint32_t i = 0; i < seen->count; i++) free(seen->lines[i]);
    seen->count = 0;
}

static void run_shape(struct sf_scenario *scenario, const struct sf_plan *plan, const struct shape *shape,
                      const struct sf_driver_checks_ops *checks, struct seen *seen)
{
    struct sf_driver_options options = sf_driver_options_default();
    struct sf_driver_report report;
    scenario->topology->settings.lanes = shape->lanes;
    scenario->topology->settings.poll_records_max = shape->poll_records;
    scenario->topology->settings.is_changelog_packed = shape->is_packed;
    options.has_seed = true;
    options.seed = shape->seed;
    options.step_budget = shape->step_budget;
    options.history = SF_DRIVER_HISTORY_PLAIN;
    options.plan = plan;
    options.checks = checks;
    sf_driver_report_init(&report, sf_alloc_libc());
    CHECK_EQ(sf_driver_run(scenario, &options, &report), SF_DRIVER_HELD);
    read_outputs(report.history.data, seen);
    sf_driver_report_deinit(&report);
}

static void check_same(uint64_t workload, const struct shape *shape, const struct seen *wanted,
                       const struct seen *seen)
{
    for (uint32_t i = 0; i < wanted->count || i < seen->count; i++) {
        const char *expected = i < wanted->count ? wanted->lines[i] : "nothing";
        const char *actual = i < seen->count ? seen->lines[i] : "nothing";
        if (strcmp(expected, actual) == 0) continue;
        fail_msg("workload %llu, %s, %u lanes, %u records a poll, steps of %u: expected %s, not %s",
                 (unsigned long long)workload, shape->is_packed ? "packed" : "rows", shape->lanes,
                 shape->poll_records, shape->step_budget, expected, actual);
    }
}

typedef void(workload_fn)(uint64_t workload, struct sf_text *text);

static void check_workloads(workload_fn *make, uint64_t count, const struct shape *shapes, uint32_t shape_count,
                            const struct sf_driver_checks_ops *checks)
{
    uint64_t rows = 0;
    for (uint64_t workload = 1; workload <= count; workload++) {
        struct sf_text text, findings;
        struct seen wanted, seen;
        sf_text_init_growing(&text, sf_alloc_libc());
        sf_text_init_growing(&findings, sf_alloc_libc());
        make(workload, &text);
        struct sf_scenario *scenario =
            sf_driver_scenario_parse(text.data, text.length, "drawn", sf_alloc_libc(), &findings);
        if (scenario == NULL) fail_msg("%s", findings.data);
        const struct sf_plan *plan = sf_plan_new(scenario->topology);
        run_shape(scenario, plan, &shapes[0], checks, &wanted);
        rows += wanted.count;
        for (uint32_t i = 1; i < shape_count; i++) {
            run_shape(scenario, plan, &shapes[i], checks, &seen);
            check_same(workload, &shapes[i], &wanted, &seen);
            forget(&seen);
        }
        forget(&wanted);
        sf_driver_scenario_destroy(scenario);
        sf_text_deinit(&text);
        sf_text_deinit(&findings);
    }
    CHECK(rows > 10 * count); /* or nothing has been compared */
}

static void listed_epochs_give_one_result_whatever_lanes_polls_and_steps_l6(void **state)
{
    (void)state;
    check_workloads(exact_workload, WORKLOADS, exact_shapes, sizeof exact_shapes / sizeof exact_shapes[0], NULL);
}

static void without_late_records_any_epochs_give_one_result_l6(void **state)
{
    (void)state;
    check_workloads(cadence_workload, WORKLOADS, cadence_shapes, sizeof cadence_shapes / sizeof cadence_shapes[0],
                    NULL);
}

/* Twins: rows and packed, from local stores of different cuts, lost ones, and changelogs alone. What both get wrong the
 * oracle says. */
static void whatever_is_restored_from_gives_one_result_k4_k5(void **state)
{
    (void)state;
    check_workloads(restart_workload, RESTART_WORKLOADS, restart_shapes,
                    sizeof restart_shapes / sizeof restart_shapes[0], sf_driver_oracle());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_epochs_give_one_result_whatever_lanes_polls_and_steps_l6),
        cmocka_unit_test(without_late_records_any_epochs_give_one_result_l6),
        cmocka_unit_test(whatever_is_restored_from_gives_one_result_k4_k5),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
