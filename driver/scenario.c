#include "driver/scenario.h"

#include <string.h>

#include "core/app/app.h"
#include "core/app/schema_table.h"
#include "core/app/values.h"
#include "core/app/walk.h"
#include "driver/file.h"
#include "driver/scenario_load.h"

#define SFI_LANES_DEFAULT 4u

/* ---- the head ---- */

static void load_head(struct sfi_scenario_load *l, const struct sf_yaml_node *root)
{
    struct sf_scenario *scenario = l->scenario;
    const struct sf_yaml_node *seed = sf_yaml_get(root, "seed"), *start = sf_yaml_get(root, "start");
    const struct sf_yaml_node *stop = sf_yaml_get(root, "stop");
    int64_t number = 1;
    scenario->name = sfi_scenario_text(l, sf_yaml_get(root, "scenario"), "");
    scenario->about = sfi_scenario_text(l, sf_yaml_get(root, "about"), "");
    if (seed != NULL && seed->kind == SF_YAML_SCALAR) (void)sf_value_int(seed->text, &number);
    scenario->seed = (uint64_t)number;
    scenario->start_ms = SF_SCENARIO_START_MS;
    if (start != NULL && start->kind == SF_YAML_SCALAR) (void)sf_value_time(start->text, &scenario->start_ms);
    scenario->stop_ms = stop != NULL ? sfi_scenario_offset(l, stop) : SF_SCENARIO_UNUSED;
    scenario->is_stopped = !sf_yaml_is(sf_yaml_get(root, "end"), "none");
}

static void load_world(struct sfi_scenario_load *l, const struct sf_yaml_node *node)
{
    struct sf_scenario_world *world = &l->scenario->world;
    const struct sf_yaml_node *fetch = sf_yaml_get(node, "fetch-latency");
    const struct sf_yaml_node *commit = sf_yaml_get(node, "commit-latency");
    const struct sf_yaml_node *schedule = sf_yaml_get(node, "schedule"), *depth = sf_yaml_get(node, "depth");
    int64_t number = 3;
    world->is_exact = sf_yaml_is(sf_yaml_get(node, "exact"), "true");
    world->has_fetch_latency = fetch != NULL;
    world->fetch_latency = sfi_scenario_span_draw(l, fetch);
    world->has_commit_latency = commit != NULL;
    world->commit_latency = sfi_scenario_span_draw(l, commit);
    world->is_transactions_v2 = sf_yaml_is(sf_yaml_get(node, "transactions"), "v2");
    world->schedule = SF_SCENARIO_RANDOM;
    if (sf_yaml_is(schedule, "fifo")) world->schedule = SF_SCENARIO_FIFO;
    if (sf_yaml_is(schedule, "priority")) world->schedule = SF_SCENARIO_PRIORITY;
    if (depth != NULL && world->schedule != SF_SCENARIO_PRIORITY)
        SFI_REFUSE(l, sf_yaml_place(depth), "`depth` goes with `schedule: priority`");
    if (depth != NULL && depth->kind == SF_YAML_SCALAR) (void)sf_value_int(depth->text, &number);
    world->depth = number > 0 && number <= 1000000 ? (uint32_t)number : 3;
}

static void load_barriers(struct sfi_scenario_load *l, const struct sf_yaml_node *list)
{
    struct sf_scenario *scenario = l->scenario;
    scenario->is_barrier_manual = list != NULL || scenario->world.is_exact;
    if (list == NULL || list->kind != SF_YAML_SEQUENCE) return;
    if (list->child_count > 2000) SFI_REFUSE(l, list->place, "at most 2000 barriers can be listed");
    int64_t *barriers = sfi_scenario_take(l, list->child_count, sizeof *barriers);
    scenario->barriers = barriers;
    for (const struct sf_yaml_node *node = list->first; node != NULL; node = node->next) {
        int64_t at_ms = sfi_scenario_offset(l, node);
        if (scenario->barrier_count > 0 && at_ms <= barriers[scenario->barrier_count - 1])
            SFI_REFUSE(l, node->place, "barriers stand in the order of their times, no two at one instant");
        barriers[scenario->barrier_count++] = at_ms;
    }
}

/* ---- the application ---- */

/* `app` beside the file that names it. */
static void app_path(const char *scenario_path, const char *app, struct sf_text *path_out)
{
    const char *slash = strrchr(scenario_path, '/');
    if (app[0] != '/' && slash != NULL) sf_text_add_bytes(path_out, scenario_path, (size_t)(slash - scenario_path) + 1);
    sf_text_add(path_out, app);
}

static void load_app_file(struct sfi_scenario_load *l, const struct sf_yaml_node *app, const char *path,
                          struct sf_text *path_out)
{
    struct sf_alloc alloc = l->scenario->arena.alloc;
    struct sf_text text;
    const char *why = NULL;
    l->scenario->app_path = sfi_scenario_text(l, app, "");
    app_path(path, app->text, path_out);
    sf_text_init_growing(&text, alloc);
    if (sf_driver_file_read(path_out->data, SF_YAML_BYTES_MAX, &text, &why))
        l->scenario->topology = sf_app_load(text.data, text.length, alloc, &l->scenario->app_findings);
    else
        SFI_REFUSE(l, app->place, "the application `", path_out->data, "` cannot be read: ", why);
    sf_text_deinit(&text);
}

static void load_app(struct sfi_scenario_load *l, const struct sf_yaml_node *app, const char *path,
                     struct sf_text *path_out)
{
    if (app == NULL || sf_yaml_is_null(app)) return;
    if (app->kind == SF_YAML_SCALAR) load_app_file(l, app, path, path_out);
    if (app->kind != SF_YAML_MAPPING) return;
    sf_text_add(path_out, path);
    l->scenario->topology = sf_app_load_node(app, "app", l->scenario->arena.alloc, &l->scenario->app_findings);
}

/* ---- topics ---- */

#define INTERNAL_MAX (1u + 2u * SF_TOPOLOGY_STEPS_MAX)

/* K1, K2, K11: their names follow from the application. */
static void add_internal_topic(struct sfi_scenario_load *l, const char *store, const char *suffix)
{
    struct sf_scenario *scenario = l->scenario;
    struct sf_text name;
    sf_text_init_growing(&name, scenario->arena.alloc);
    sf_text_add(&name, scenario->topology->application_id);
    sf_text_add(&name, "-");
    sf_text_add(&name, store);
    sf_text_add(&name, suffix);
    scenario->topics[scenario->topic_count + scenario->internal_count++] =
        (struct sf_scenario_topic){.name = sf_arena_text(&scenario->arena, name.data, name.length)};
    sf_text_deinit(&name);
}

static void add_internal_topics(struct sfi_scenario_load *l)
{
    const struct sf_topology *topology = l->scenario->topology;
    if (topology == NULL) return;
    add_internal_topic(l, "stoatflow-watermark", "-changelog");
    for (uint32_t i = 0; i < topology->step_count; i++) {
        if (topology->steps[i].store.name == NULL) continue;
        add_internal_topic(l, topology->steps[i].store.name, "-changelog");
        add_internal_topic(l, topology->steps[i].store.name, "-emitfrontier-changelog");
    }
}

static void add_topic(struct sfi_scenario_load *l, const char *name, size_t length, uint32_t partition_count,
                      struct sf_place place)
{
    struct sf_scenario *scenario = l->scenario;
    scenario->topics[scenario->topic_count++] =
        (struct sf_scenario_topic){.name = sf_arena_text(&scenario->arena, name, length),
                                   .partition_count = partition_count,
                                   .place = place};
}

static bool has_topic(const struct sf_scenario *scenario, const char *name)
{
    for (uint32_t i = 0; i < scenario->topic_count; i++)
        if (strcmp(scenario->topics[i].name, name) == 0) return true;
    return false;
}

static void load_topics(struct sfi_scenario_load *l, const struct sf_yaml_node *topics)
{
    uint32_t listed = topics != NULL && topics->kind == SF_YAML_MAPPING ? topics->child_count : 0;
    if (listed > SF_SCENARIO_TOPICS_MAX) {
        SFI_REFUSE(l, sf_yaml_place(topics), "more than 256 topics");
        listed = SF_SCENARIO_TOPICS_MAX;
    }
    l->scenario->topics =
        sfi_scenario_take(l, (size_t)listed + SF_TOPOLOGY_SINKS_MAX + INTERNAL_MAX, sizeof *l->scenario->topics);
    const struct sf_yaml_node *node = listed > 0 ? topics->first : NULL;
    for (uint32_t i = 0; i < listed; i++, node = node->next) {
        const struct sf_yaml_node *partitions = sf_yaml_get(node, "partitions");
        int64_t count = 1;
        if (partitions != NULL && partitions->kind == SF_YAML_SCALAR) (void)sf_value_int(partitions->text, &count);
        if (count < 1 || count > SF_SCENARIO_PARTITIONS_MAX) count = 1;
        add_topic(l, node->key->text, node->key->text_length, (uint32_t)count, node->key->place);
    }
}

/* What the application writes has one partition where it is not listed; what it reads must be listed. */
static void add_app_topics(struct sfi_scenario_load *l, const struct sf_yaml_node *app)
{
    const struct sf_topology *topology = l->scenario->topology;
    if (topology == NULL) return;
    for (uint32_t i = 0; i < topology->source_count; i++)
        if (!has_topic(l->scenario, topology->sources[i].topic))
            SFI_REFUSE(l, sf_yaml_place(app), "source `", topology->sources[i].name, "` reads the topic `",
                       topology->sources[i].topic, "`, which `topics` does not list");
    for (uint32_t i = 0; i < topology->sink_count; i++) {
        const char *name = topology->sinks[i].topic;
        if (!has_topic(l->scenario, name)) add_topic(l, name, strlen(name), 1, topology->sinks[i].place);
    }
}

/* ---- partitions that are named ---- */

/* When it is made, since the start; INT64_MAX: never. */
static int64_t partition_since(const struct sf_scenario *scenario, uint32_t topic, int64_t partition)
{
    int64_t since = INT64_MAX;
    if (partition < (int64_t)scenario->topics[topic].partition_count) return 0;
    for (uint32_t i = 0; i < scenario->fault_count; i++) {
        const struct sf_scenario_fault *fault = &scenario->faults[i];
        bool is_it = fault->kind == SF_SCENARIO_ADDED && fault->topic == topic && fault->partition >= partition;
        if (is_it && fault->at_ms < since) since = fault->at_ms;
    }
    return since;
}

static void check_partition(struct sfi_scenario_load *l, uint32_t topic, int64_t partition, int64_t at_ms,
                            struct sf_place place)
{
    const struct sf_scenario *scenario = l->scenario;
    char number[SF_TEXT_INT_BYTES], count[SF_TEXT_INT_BYTES];
    if (topic >= scenario->topic_count || partition == SF_SCENARIO_ANY) return;
    int64_t since = partition_since(scenario, topic, partition);
    if (since == INT64_MAX)
        SFI_REFUSE(l, place, "there is no partition ", sf_text_of_int(number, partition), " of `",
                   scenario->topics[topic].name, "`: it has ",
                   sf_text_of_int(count, scenario->topics[topic].partition_count), ", and no fault adds it");
    else if (at_ms < since)
        SFI_REFUSE(l, place, "there is no partition ", sf_text_of_int(number, partition), " of `",
                   scenario->topics[topic].name, "` yet: it is added later");
}

/* After all of them: every partition that is named is there from the start or `added`. */
static void check_partitions(struct sfi_scenario_load *l)
{
    const struct sf_scenario *scenario = l->scenario;
    for (uint32_t i = 0; i < scenario->input_count; i++)
        check_partition(l, scenario->inputs[i].topic, scenario->inputs[i].partition, scenario->inputs[i].at_ms,
                        scenario->inputs[i].place);
    for (uint32_t i = 0; i < scenario->partition_count; i++)
        check_partition(l, scenario->partitions[i].topic, scenario->partitions[i].partition,
                        scenario->partitions[i].at_ms, scenario->partitions[i].place);
    for (uint32_t i = 0; i < scenario->fault_count; i++) {
        const struct sf_scenario_fault *fault = &scenario->faults[i];
        bool has_partition = fault->kind == SF_SCENARIO_UNAVAILABLE || fault->kind == SF_SCENARIO_LAG_UNKNOWN ||
                             fault->kind == SF_SCENARIO_REVOKED || fault->kind == SF_SCENARIO_TRUNCATED ||
                             fault->kind == SF_SCENARIO_LOG_START || fault->kind == SF_SCENARIO_ASSIGNED;
        if (has_partition) check_partition(l, fault->topic, fault->partition, fault->at_ms, fault->place);
        if (fault->kind == SF_SCENARIO_ADDED && fault->topic < scenario->topic_count &&
            fault->partition < scenario->topics[fault->topic].partition_count)
            SFI_REFUSE(l, fault->place, "this partition is there from the start and cannot be added");
    }
}

/* ---- what the stop leaves out ---- */

static void warn_of_input_behind_stop(struct sfi_scenario_load *l)
{
    const struct sf_scenario *scenario = l->scenario;
    char at[SF_TEXT_DURATION_BYTES], stop[SF_TEXT_DURATION_BYTES];
    if (scenario->stop_ms == SF_SCENARIO_UNUSED) return;
    for (uint32_t i = 0; i < scenario->input_count; i++) {
        const struct sf_scenario_input *input = &scenario->inputs[i];
        if (input->at_ms <= scenario->stop_ms) continue;
        sf_findings_add(l->findings, SF_FINDING_WARNING, "input", input->place,
                        (const char *const[]){"this never arrives: it begins at +",
                                              sf_text_of_duration(at, input->at_ms), ", and the run stops at +",
                                              sf_text_of_duration(stop, scenario->stop_ms), NULL});
    }
}

/* ---- lanes that are named ---- */

uint32_t sf_driver_scenario_lanes(const struct sf_scenario *scenario)
{
    uint32_t lanes = scenario->topology->settings.lanes;
    return lanes != 0 ? lanes : SFI_LANES_DEFAULT;
}

static void check_lane(struct sfi_scenario_load *l, int64_t lane, struct sf_place place)
{
    char number[SF_TEXT_INT_BYTES], count[SF_TEXT_INT_BYTES];
    if (lane == SF_SCENARIO_ANY || lane < (int64_t)sf_driver_scenario_lanes(l->scenario)) return;
    SFI_REFUSE(l, place, "there is no lane ", sf_text_of_int(number, lane), ": the application has ",
               sf_text_of_int(count, sf_driver_scenario_lanes(l->scenario)), ", counted from 0");
}

static void check_lanes(struct sfi_scenario_load *l)
{
    const struct sf_scenario *scenario = l->scenario;
    if (scenario->topology == NULL) return;
    for (uint32_t i = 0; i < scenario->fault_count; i++) {
        const struct sf_scenario_fault *fault = &scenario->faults[i];
        if (fault->kind == SF_SCENARIO_LANE_STOPPED) check_lane(l, fault->lane, fault->place);
        if (fault->is_at_point) check_lane(l, fault->point.lane, fault->place);
    }
}

/* ---- the whole ---- */

/* Whoever hands over the wrong one of two files hears that, and not that all its keys are unknown. */
static bool is_application(struct sfi_scenario_load *l, const struct sf_yaml_node *root)
{
    const struct sf_yaml_node *application = sf_yaml_get(root, "application");
    if (application == NULL || sf_yaml_get(root, "scenario") != NULL || sf_yaml_get(root, "app") != NULL) return false;
    SFI_REFUSE(l, application->key->place,
               "this is an application, which `sfsim check` takes; a scenario names it with `app:`");
    return true;
}

static void load_all(struct sfi_scenario_load *l, const struct sf_yaml_node *root, const char *path,
                     struct sf_text *app_path_out)
{
    const struct sf_yaml_node *app = sf_yaml_get(root, "app");
    (void)sf_walk(root, &sf_schema_scenario, "", l->findings);
    load_head(l, root);
    load_world(l, sf_yaml_get(root, "world"));
    load_barriers(l, sf_yaml_get(root, "barriers"));
    load_topics(l, sf_yaml_get(root, "topics"));
    load_app(l, app, path, app_path_out);
    add_app_topics(l, app);
    add_internal_topics(l);
    sfi_scenario_load_input(l, sf_yaml_get(root, "input"));
    sfi_scenario_load_faults(l, sf_yaml_get(root, "faults"));
    sfi_scenario_load_expect(l, sf_yaml_get(root, "expect"));
    check_partitions(l);
    check_lanes(l);
    warn_of_input_behind_stop(l);
    sf_findings_sort(l->findings);
}

/* Errors of an application are expected where the scenario says `refused`; whether they are the right ones is judged
 * when it runs. */
static bool is_app_good(const struct sf_scenario *scenario)
{
    return scenario->topology != NULL || (scenario->refused_count > 0 && scenario->app_findings.error_count > 0);
}

struct sf_scenario *sf_driver_scenario_parse(const char *text, size_t length, const char *path, struct sf_alloc alloc,
                                             struct sf_text *text_out)
{
    struct sf_findings findings;
    sf_findings_init(&findings, alloc);
    struct sf_scenario *scenario = NULL;
    struct sf_yaml_tree *tree = sf_yaml_parse(text, length, alloc, &findings);
    if (tree != NULL) {
        struct sf_text app_path_text;
        sf_text_init_growing(&app_path_text, alloc);
        scenario = sf_calloc(alloc, 1, sizeof *scenario);
        sf_arena_init(&scenario->arena, alloc);
        sf_findings_init(&scenario->app_findings, alloc);
        struct sfi_scenario_load load = {.scenario = scenario, .findings = &findings};
        if (!is_application(&load, sf_yaml_root(tree)))
            load_all(&load, sf_yaml_root(tree), path, &app_path_text);
        if (scenario->refused_count == 0) sf_app_findings_write(&scenario->app_findings, app_path_text.data, text_out);
        sf_text_deinit(&app_path_text);
        sf_yaml_destroy(tree);
    }
    sf_app_findings_write(&findings, path, text_out);
    if (scenario != NULL && (findings.error_count > 0 || !is_app_good(scenario))) {
        sf_driver_scenario_destroy(scenario);
        scenario = NULL;
    }
    sf_findings_deinit(&findings);
    return scenario;
}

struct sf_scenario *sf_driver_scenario_load(const char *path, struct sf_alloc alloc, struct sf_text *text_out)
{
    struct sf_scenario *scenario = NULL;
    struct sf_text text;
    const char *why = NULL;
    sf_text_init_growing(&text, alloc);
    if (sf_driver_file_read(path, SF_YAML_BYTES_MAX, &text, &why)) {
        scenario = sf_driver_scenario_parse(text.data, text.length, path, alloc, text_out);
    } else {
        sf_text_add(text_out, path);
        sf_text_add(text_out, ": error: ");
        sf_text_add(text_out, why);
        sf_text_add(text_out, "\n");
    }
    sf_text_deinit(&text);
    return scenario;
}

void sf_driver_scenario_destroy(struct sf_scenario *scenario)
{
    if (scenario == NULL) return;
    struct sf_alloc alloc = scenario->arena.alloc;
    sf_topology_destroy(scenario->topology);
    sf_findings_deinit(&scenario->app_findings);
    sf_arena_deinit(&scenario->arena);
    sf_cfree(alloc, scenario, 1, sizeof *scenario);
}
