#include "core/app/app.h"

#include "core/app/load.h"
#include "core/app/schema_table.h"
#include "core/app/walk.h"
#include "core/topo/plan.h"

static void load_identity(struct sfi_loader *l, const struct sf_yaml_node *node)
{
    const struct sf_yaml_node *id = sf_yaml_get(node, "id");
    l->topology->application_id = sfi_read_name(l, id);
    if (l->topology->application_id == NULL) l->topology->application_id = sfi_placeholder(l, "application", 1);
    bool is_at_least_once = sf_yaml_is(sf_yaml_get(node, "guarantee"), "at-least-once");
    l->topology->guarantee = is_at_least_once ? SF_AT_LEAST_ONCE : SF_EXACTLY_ONCE;
}

static void load_kafka(struct sfi_loader *l, const struct sf_yaml_node *kafka)
{
    if (kafka == NULL || kafka->kind != SF_YAML_MAPPING) return;
    l->topology->kafka = sf_topology_take(l->topology, (kafka->child_count + 1) * sizeof *l->topology->kafka);
    for (const struct sf_yaml_node *node = kafka->first; node != NULL; node = node->next)
        l->topology->kafka[l->topology->kafka_count++] = (struct sf_kafka_setting){
            .name = sfi_read_text(l, node->key, ""), .value = sfi_read_text(l, node, ""), .place = sf_yaml_place(node)};
}

static bool is_behind_window(const struct sf_topology *topology, uint32_t index)
{
    bool is_seen[SF_TOPOLOGY_STEPS_MAX] = {false};
    uint32_t waiting[SF_TOPOLOGY_STEPS_MAX], waiting_count = 0;
    waiting[waiting_count++] = index;
    while (waiting_count > 0) {
        const struct sf_step_spec *step = &topology->steps[waiting[--waiting_count]];
        for (uint32_t i = 0; i < step->input_count; i++) {
            uint32_t from = step->inputs[i].index;
            if (step->inputs[i].kind == SF_INPUT_SOURCE || is_seen[from]) continue;
            if (topology->steps[from].kind == SF_STEP_AGGREGATE) return true;
            is_seen[from] = true;
            waiting[waiting_count++] = from;
        }
    }
    return false;
}

/* F8's clocks are not kept yet. */
static void refuse_windows_behind_windows(struct sfi_loader *l)
{
    const struct sf_topology *topology = l->topology;
    for (uint32_t i = 0; i < topology->step_count; i++)
        if (topology->steps[i].kind == SF_STEP_AGGREGATE && is_behind_window(topology, i))
            SFI_REFUSE(l, "later", topology->steps[i].window.place, "step `", topology->steps[i].name,
                       "` has a window behind a window, which is not yet supported (F8)");
}

static void place_identity(const struct sf_yaml_node *root, struct sf_findings *findings, uint32_t from)
{
    const struct sf_yaml_node *node = sf_yaml_get(root, "application");
    if (node == NULL) node = root;
    for (uint32_t i = from; i < findings->count; i++)
        if (findings->items[i].place.line == 0) findings->items[i].place = sf_yaml_place(node);
}

struct sf_topology *sf_app_load_node(const struct sf_yaml_node *node, const char *where, struct sf_alloc alloc,
                                     struct sf_findings *findings)
{
    uint32_t errors = findings->error_count;
    struct sfi_loader l = {.topology = sf_topology_new(alloc), .findings = findings};
    (void)sf_walk(node, &sf_schema_application, where, findings);
    load_identity(&l, sf_yaml_get(node, "application"));
    sfi_load_settings(&l, node);
    load_kafka(&l, sf_yaml_get(node, "kafka"));
    sfi_load_sources(&l, sf_yaml_get(node, "sources"));
    if (l.topology->source_count > 0) {
        uint32_t before = findings->count;
        sfi_load_streams(&l, sf_yaml_get(node, "streams"));
        sfi_load_sinks(&l, sf_yaml_get(node, "sinks"));
        (void)sf_topology_check(l.topology, findings);
        sfi_place_settings(node, findings, before);
        place_identity(node, findings, before);
        refuse_windows_behind_windows(&l);
    }
    sf_findings_sort(findings);
    if (findings->error_count == errors && l.topology->source_count > 0) return l.topology;
    sf_topology_destroy(l.topology);
    return NULL;
}

/* Whoever hands over the wrong one of two files hears that, and not that all its keys are unknown. */
static bool is_scenario(const struct sf_yaml_node *root, struct sf_findings *findings)
{
    const struct sf_yaml_node *name = sf_yaml_get(root, "scenario");
    if (name == NULL || sf_yaml_get(root, "application") != NULL) return false;
    sf_findings_add(findings, SF_FINDING_ERROR, "V8", name->key->place,
                    (const char *const[]){"this is a scenario, which `sfsim run` takes; an application file has "
                                          "`application` and `sources`", NULL});
    return true;
}

struct sf_topology *sf_app_load(const char *text, size_t length, struct sf_alloc alloc, struct sf_findings *findings)
{
    struct sf_yaml_tree *tree = sf_yaml_parse(text, length, alloc, findings);
    if (tree == NULL) {
        sf_findings_sort(findings); /* duplicate keys come before what stopped it */
        return NULL;
    }
    uint32_t errors = findings->error_count;
    struct sf_topology *topology = NULL;
    if (!is_scenario(sf_yaml_root(tree), findings))
        topology = sf_app_load_node(sf_yaml_root(tree), "", alloc, findings);
    sf_yaml_destroy(tree);
    if (errors == 0) return topology;
    sf_topology_destroy(topology);
    return NULL;
}

void sf_app_findings_write(const struct sf_findings *findings, const char *path, struct sf_text *text)
{
    for (uint32_t i = 0; i < findings->count; i++) {
        const struct sf_finding *finding = &findings->items[i];
        sf_text_add(text, path);
        if (finding->place.line > 0) {
            sf_text_add(text, ":");
            sf_text_add_uint(text, finding->place.line);
            sf_text_add(text, ":");
            sf_text_add_uint(text, finding->place.column);
        }
        sf_text_add(text, finding->severity == SF_FINDING_ERROR ? ": error: " : ": warning: ");
        sf_text_add(text, finding->text);
        sf_text_add(text, " [");
        sf_text_add(text, finding->rule);
        sf_text_add(text, "]\n");
    }
    if (findings->error_count > SF_FINDINGS_MAX) sf_text_add(text, "... and more\n");
}
