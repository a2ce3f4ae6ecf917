#include <string.h>

#include "core/app/expressions.h"
#include "core/app/load.h"
#include "core/app/spelling.h"
#include "core/time/event_time.h"

static const struct sfi_word emit_words[] = {
    {"on-window-update", SF_EMIT_ON_UPDATE}, {"on-window-close", SF_EMIT_ON_CLOSE}, {NULL, 0}};
static const struct sfi_word sink_words[] = {{"json", SF_SERDE_JSON},   {"string", SF_SERDE_STRING},
                                             {"bytes", SF_SERDE_BYTES}, {"int64", SF_SERDE_INT64},
                                             {"double", SF_SERDE_DOUBLE}, {NULL, 0}};

/* ---- names ---- */

static bool find_input(const struct sf_topology *topology, const char *name, struct sf_input *input_out)
{
    for (uint32_t i = 0; i < topology->source_count; i++) {
        if (strcmp(topology->sources[i].name, name) != 0) continue;
        *input_out = (struct sf_input){SF_INPUT_SOURCE, i};
        return true;
    }
    for (uint32_t i = 0; i < topology->step_count; i++) {
        if (strcmp(topology->steps[i].name, name) != 0) continue;
        *input_out = (struct sf_input){SF_INPUT_STEP, i};
        return true;
    }
    return false;
}

/* A name that is not there is reported, and the first source put in its stead. */
static struct sf_input resolve(struct sfi_loader *l, const struct sf_yaml_node *node)
{
    const struct sf_topology *topology = l->topology;
    struct sf_input input = {SF_INPUT_SOURCE, 0};
    if (node == NULL || node->kind != SF_YAML_SCALAR || node->text_length == 0) return input;
    if (find_input(topology, node->text, &input)) return input;
    struct sf_spelling spelling;
    sf_spelling_init(&spelling, node->text);
    for (uint32_t i = 0; i < topology->source_count; i++) sf_spelling_offer(&spelling, topology->sources[i].name);
    for (uint32_t i = 0; i < topology->step_count; i++) sf_spelling_offer(&spelling, topology->steps[i].name);
    if (spelling.best != NULL)
        SFI_REFUSE(l, "V8", node->place, "`", node->text, "` is neither a source nor a step; did you mean `",
                   spelling.best, "`?");
    else
        SFI_REFUSE(l, "V8", node->place, "`", node->text, "` is neither a source nor a step");
    return input;
}

static void load_inputs(struct sfi_loader *l, const struct sf_yaml_node *from, struct sf_step_spec *step)
{
    if (from == NULL || from->kind != SF_YAML_SEQUENCE) {
        step->inputs[step->input_count++] = resolve(l, from);
        return;
    }
    if (from->child_count == 0) SFI_REFUSE(l, "V8", sf_yaml_place(from), "step `", step->name, "` reads from nothing");
    if (from->child_count > SF_STEP_INPUTS_MAX)
        SFI_REFUSE(l, "V8", sf_yaml_place(from), "step `", step->name, "` has more than 16 inputs");
    for (const struct sf_yaml_node *node = from->first; node != NULL && step->input_count < SF_STEP_INPUTS_MAX;
         node = node->next) {
        uint32_t errors = l->findings->error_count;
        struct sf_input input = resolve(l, node);
        if (l->findings->error_count == errors || step->input_count == 0) step->inputs[step->input_count++] = input;
    }
    if (step->input_count == 0) step->inputs[step->input_count++] = (struct sf_input){SF_INPUT_SOURCE, 0};
}

/* ---- aggregations ---- */

static void load_window(struct sfi_loader *l, const struct sf_yaml_node *node, struct sf_step_spec *step)
{
    const struct sf_yaml_node *tumbling = sf_yaml_get(node, "tumbling");
    step->window = (struct sf_window_spec){.kind = SF_WINDOW_TUMBLING, .size_ms = 1, .place = step->place};
    if (node == NULL || node->kind != SF_YAML_MAPPING) return;
    step->window.place = sf_yaml_place(node);
    /* The walk has reported what is not positive here. */
    int64_t size_ms = sfi_read_span(tumbling, 1), grace_ms = sfi_read_span(sf_yaml_get(node, "grace"), 0);
    step->window.size_ms = size_ms > 0 ? size_ms : 1;
    step->window.grace_ms = grace_ms > 0 ? grace_ms : 0;
    bool has_other = sf_yaml_get(node, "hopping") != NULL || sf_yaml_get(node, "sliding") != NULL ||
                     sf_yaml_get(node, "session") != NULL || sf_yaml_get(node, "cumulative") != NULL ||
                     sf_yaml_get(node, "calendar") != NULL;
    if (tumbling == NULL && !has_other)
        SFI_REFUSE(l, "V8", sf_yaml_place(node), "the window of step `", step->name,
                   "` has no kind; give it one, such as {tumbling: 5m}");
}

static void load_store(struct sfi_loader *l, const struct sf_yaml_node *node, struct sf_step_spec *step)
{
    int64_t least = sf_time_add(step->window.size_ms, step->window.grace_ms);
    step->store.place = node != NULL ? sf_yaml_place(node) : step->place;
    step->store.name = sfi_read_name(l, sf_yaml_get(node, "name"));
    if (step->store.name == NULL) step->store.name = step->name;
    step->store.is_persistent = !sf_yaml_is(sf_yaml_get(node, "kind"), "in-memory");
    step->store.retention_ms = sfi_read_span(sf_yaml_get(node, "retention"), least);
    if (step->store.retention_ms < 0) step->store.retention_ms = least;
}

static void load_aggregate(struct sfi_loader *l, const struct sf_yaml_node *node, struct sf_aggregate_spec *aggregate)
{
    char why[8];
    const char *expression = NULL;
    size_t length = 0;
    aggregate->name = sfi_read_text(l, node->key, "field");
    aggregate->place = sf_yaml_place(node);
    aggregate->kind = SF_AGGREGATE_COUNT;
    if (node->kind != SF_YAML_SCALAR) return;
    if (sf_expressions_check_aggregate(node->text, why, sizeof why) != SF_EXPRESSIONS_GOOD) return;
    sf_expressions_split_aggregate(node->text, &aggregate->kind, &expression, &length);
    if (expression != NULL) aggregate->expression = sf_topology_text(l->topology, expression, length);
}

static void load_aggregates(struct sfi_loader *l, const struct sf_yaml_node *node, struct sf_step_spec *step)
{
    uint32_t count = node != NULL && node->kind == SF_YAML_MAPPING ? node->child_count : 0;
    if (node != NULL && node->kind == SF_YAML_MAPPING && count == 0)
        SFI_REFUSE(l, "V8", sf_yaml_place(node), "step `", step->name,
                   "` aggregates nothing; name a field, such as {n: count}");
    if (count > SF_AGGREGATES_MAX) {
        SFI_REFUSE(l, "V8", sf_yaml_place(node), "step `", step->name, "` has more than 32 aggregates");
        count = SF_AGGREGATES_MAX;
    }
    struct sf_aggregate_spec *aggregates = sf_topology_take(l->topology, (count + 1) * sizeof *aggregates);
    step->aggregates = aggregates;
    for (const struct sf_yaml_node *child = count > 0 ? node->first : NULL;
         child != NULL && step->aggregate_count < count; child = child->next) {
        if (strcmp(child->key->text, "window") == 0)
            SFI_REFUSE(l, "V8", sf_yaml_place(child),
                       "an aggregate cannot be called `window`: results carry that field");
        load_aggregate(l, child, &aggregates[step->aggregate_count++]);
    }
    if (step->aggregate_count == 0)
        aggregates[step->aggregate_count++] = (struct sf_aggregate_spec){.name = "n", .kind = SF_AGGREGATE_COUNT};
}

static void load_aggregation(struct sfi_loader *l, const struct sf_yaml_node *node, struct sf_step_spec *step)
{
    const struct sf_yaml_node *window = sf_yaml_get(node, "window"), *aggregate = sf_yaml_get(node, "aggregate");
    step->kind = SF_STEP_AGGREGATE;
    step->emit = (enum sf_emit)sfi_read_word(sf_yaml_get(node, "emit"), emit_words);
    if (window == NULL)
        SFI_REFUSE(l, "later", sf_yaml_place(aggregate), "step `", step->name,
                   "` aggregates without a window, which is not yet supported; give it a `window`");
    if (aggregate == NULL)
        SFI_REFUSE(l, "V8", sf_yaml_place(window), "step `", step->name,
                   "` has a window and nothing in it; give it an `aggregate`, such as {n: count}");
    load_window(l, window, step);
    load_store(l, sf_yaml_get(node, "store"), step);
    load_aggregates(l, aggregate, step);
}

/* ---- steps ---- */

static void load_map_values(struct sfi_loader *l, const struct sf_yaml_node *node, struct sf_step_spec *step)
{
    step->kind = SF_STEP_MAP_VALUES;
    if (node->kind != SF_YAML_MAPPING) {
        step->expression = sfi_read_text(l, node, "$");
        return;
    }
    if (node->child_count == 0) SFI_REFUSE(l, "V8", sf_yaml_place(node), "step `", step->name, "` maps to no field");
    if (node->child_count > SF_AGGREGATES_MAX)
        SFI_REFUSE(l, "V8", sf_yaml_place(node), "step `", step->name, "` maps to more than 32 fields");
    struct sf_map_field *fields = sf_topology_take(l->topology, (SF_AGGREGATES_MAX + 1) * sizeof *fields);
    step->fields = fields;
    for (const struct sf_yaml_node *child = node->first; child != NULL && step->field_count < SF_AGGREGATES_MAX;
         child = child->next)
        fields[step->field_count++] = (struct sf_map_field){.name = sfi_read_text(l, child->key, "field"),
                                                            .expression = sfi_read_text(l, child, "$")};
}

static const char *const operations[] = {"filter",     "map-values", "key-by", "window",  "map",    "flat-map",
                                         "select-key", "branch",     "peek",   "through", "reduce", "cogroup",
                                         "suppress",   "join",       "table",  "process", "aggregate"};
#define SFI_OPERATIONS (sizeof operations / sizeof operations[0])

/* The operation of a step; NULL: a merge. `window` and `aggregate` are one; `aggregate` alone is found last. */
static const struct sf_yaml_node *find_operation(struct sfi_loader *l, const struct sf_yaml_node *node,
                                                 const struct sf_step_spec *step)
{
    const struct sf_yaml_node *found = NULL;
    for (size_t i = 0; i < SFI_OPERATIONS; i++) {
        const struct sf_yaml_node *operation = sf_yaml_get(node, operations[i]);
        if (operation == NULL) continue;
        bool is_behind_window = found != NULL && strcmp(found->key->text, "window") == 0;
        if (found == NULL)
            found = operation;
        else if (!is_behind_window || strcmp(operations[i], "aggregate") != 0)
            SFI_REFUSE(l, "V8", sf_yaml_place(operation), "step `", step->name, "` has both `", found->key->text,
                       "` and `", operation->key->text, "`; make them two steps");
    }
    return found;
}

/* What only an aggregation has. */
static void refuse_strays(struct sfi_loader *l, const struct sf_yaml_node *node, const struct sf_step_spec *step)
{
    static const char *const keys[] = {"emit", "store"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct sf_yaml_node *stray = sf_yaml_get(node, keys[i]);
        if (stray != NULL)
            SFI_REFUSE(l, "V8", sf_yaml_place(stray), "step `", step->name, "` has `", keys[i],
                       "`, which goes with `window` and `aggregate`");
    }
}

static void load_operation(struct sfi_loader *l, const struct sf_yaml_node *node, struct sf_step_spec *step)
{
    const struct sf_yaml_node *operation = find_operation(l, node, step), *from = sf_yaml_get(node, "from");
    const char *name = operation != NULL ? operation->key->text : "";
    step->kind = SF_STEP_MERGE;
    if (strcmp(name, "window") == 0 || strcmp(name, "aggregate") == 0) {
        load_aggregation(l, node, step);
        return;
    }
    refuse_strays(l, node, step);
    if (strcmp(name, "map-values") == 0) load_map_values(l, operation, step);
    if (strcmp(name, "filter") == 0 || strcmp(name, "key-by") == 0) {
        step->kind = name[0] == 'f' ? SF_STEP_FILTER : SF_STEP_KEY_BY;
        step->expression = sfi_read_text(l, operation, "$");
    }
    if (operation == NULL && from != NULL && from->kind == SF_YAML_SCALAR)
        SFI_REFUSE(l, "V8", node->place, "step `", step->name,
                   "` does nothing; give it filter, map-values, key-by, or window and aggregate, or a list of inputs "
                   "to merge");
}

/* Names first, since steps may stand in any order. */
static void load_names(struct sfi_loader *l, const struct sf_yaml_node *streams)
{
    const struct sf_yaml_node *node = streams->first;
    for (uint32_t i = 0; i < l->topology->step_count; i++, node = node->next) {
        struct sf_step_spec *step = &l->topology->steps[i];
        const struct sf_yaml_node *name = sf_yaml_get(node, "name");
        step->place = node->place;
        step->name = sfi_read_name(l, name);
        if (step->name == NULL) step->name = sfi_placeholder(l, "step", i + 1);
    }
}

void sfi_load_streams(struct sfi_loader *l, const struct sf_yaml_node *streams)
{
    if (streams == NULL || streams->kind != SF_YAML_SEQUENCE) return;
    uint32_t count = streams->child_count;
    if (count > SF_TOPOLOGY_STEPS_MAX) {
        SFI_REFUSE(l, "V8", sf_yaml_place(streams), "the application has more than 1024 steps");
        count = SF_TOPOLOGY_STEPS_MAX;
    }
    l->topology->steps = sf_topology_take(l->topology, (count + 1) * sizeof *l->topology->steps);
    l->topology->step_count = count;
    load_names(l, streams);
    const struct sf_yaml_node *node = streams->first;
    for (uint32_t i = 0; i < count; i++, node = node->next) {
        struct sf_step_spec *step = &l->topology->steps[i];
        step->on_error = (enum sf_on_error)sfi_read_word(sf_yaml_get(node, "on-error"), sfi_error_words);
        load_inputs(l, sf_yaml_get(node, "from"), step);
        load_operation(l, node, step);
    }
}

void sfi_load_sinks(struct sfi_loader *l, const struct sf_yaml_node *sinks)
{
    if (sinks == NULL || sinks->kind != SF_YAML_SEQUENCE) return;
    uint32_t count = sinks->child_count;
    if (count > SF_TOPOLOGY_SINKS_MAX) {
        SFI_REFUSE(l, "V8", sf_yaml_place(sinks), "the application has more than 256 sinks");
        count = SF_TOPOLOGY_SINKS_MAX;
    }
    l->topology->sinks = sf_topology_take(l->topology, (count + 1) * sizeof *l->topology->sinks);
    const struct sf_yaml_node *node = sinks->first;
    for (uint32_t i = 0; i < count; i++, node = node->next) {
        struct sf_sink_spec *sink = &l->topology->sinks[l->topology->sink_count++];
        sink->place = node->place;
        sink->topic = sfi_read_name(l, sf_yaml_get(node, "topic"));
        if (sink->topic == NULL) sink->topic = sfi_placeholder(l, "topic", i + 1);
        sink->from = resolve(l, sf_yaml_get(node, "from"));
        sink->value = (enum sf_serde)sfi_read_word(sf_yaml_get(node, "value"), sink_words);
        sink->on_production_error =
            (enum sf_on_error)sfi_read_word(sf_yaml_get(node, "on-production-error"), sfi_error_words);
    }
}
