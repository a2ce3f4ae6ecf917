#include <string.h>

#include "core/app/spelling.h"
#include "core/app/values.h"
#include "core/time/event_time.h"
#include "driver/metric.h"
#include "driver/scenario_load.h"

#define SFI_DAY_MS INT64_C(86400000)

/* ---- output ---- */

/* 00:00 behind a window's start ends its day. */
static int64_t window_end(struct sfi_scenario_load *l, const struct sf_yaml_node *node)
{
    enum sf_moment_kind kind;
    int64_t ms, end_ms = sfi_scenario_instant(l, node);
    bool is_midnight = node->kind == SF_YAML_SCALAR && sf_value_moment(node->text, &kind, &ms) &&
                       kind == SF_MOMENT_OF_DAY && ms == 0;
    return is_midnight ? sf_time_add(end_ms, SFI_DAY_MS) : end_ms;
}

static void load_window(struct sfi_scenario_load *l, const struct sf_yaml_node *window, struct sf_scenario_row *row)
{
    row->window_start_ms = sfi_scenario_instant(l, window->first);
    row->window_end_ms = window_end(l, window->first->next);
    if (row->window_start_ms >= row->window_end_ms)
        SFI_REFUSE(l, window->place, "a window's start lies before its end");
}

static void load_row(struct sfi_scenario_load *l, const struct sf_yaml_node *node, struct sf_scenario_row *row)
{
    const struct sf_yaml_node *window = sf_yaml_get(node, "window"), *value = sf_yaml_get(node, "value");
    const struct sf_yaml_node *key = sf_yaml_get(node, "key"), *ts = sf_yaml_get(node, "ts");
    row->place = node->place;
    row->ts_ms = ts != NULL ? sfi_scenario_instant(l, ts) : SF_SCENARIO_UNUSED;
    if (key != NULL && key->kind != SF_YAML_SCALAR)
        SFI_REFUSE(l, key->place, "the key of an expected row is a scalar");
    else
        row->key = sfi_scenario_key(l, key);
    row->has_window = window != NULL;
    if (window != NULL && window->kind == SF_YAML_SEQUENCE && window->child_count == 2) load_window(l, window, row);
    struct sf_scenario_template text = sfi_scenario_value(l, value, false);
    row->has_value = value != NULL;
    row->value = text.piece_count > 0 ? text.pieces[0].text : NULL;
}

static void load_output(struct sfi_scenario_load *l, const struct sf_yaml_node *node)
{
    struct sf_scenario_output *output = &l->scenario->outputs[l->scenario->output_count++];
    const struct sf_yaml_node *exactly = sf_yaml_get(node, "exactly"), *contains = sf_yaml_get(node, "contains");
    const struct sf_yaml_node *list = exactly != NULL ? exactly : contains;
    uint32_t topic = 0;
    output->place = sf_yaml_place(node);
    output->is_exact = exactly != NULL;
    output->topic = sfi_scenario_text(l, node->key, "");
    if (l->scenario->topology != NULL) /* else its sinks' topics are not known */
        (void)sfi_scenario_find_topic(l, node->key->text, node->key->text_length, node->key->place, &topic);
    if (node->kind == SF_YAML_MAPPING && (exactly == NULL) == (contains == NULL))
        SFI_REFUSE(l, output->place, "the expected output of `", output->topic, "` is either `exactly` or `contains`");
    if (list == NULL || list->kind != SF_YAML_SEQUENCE) return;
    struct sf_scenario_row *rows = sfi_scenario_take(l, list->child_count, sizeof *rows);
    output->rows = rows;
    for (const struct sf_yaml_node *row = list->first; row != NULL; row = row->next)
        load_row(l, row, &rows[output->row_count++]);
}

static void load_outputs(struct sfi_scenario_load *l, const struct sf_yaml_node *outputs)
{
    if (outputs == NULL || outputs->kind != SF_YAML_MAPPING) return;
    l->scenario->outputs = sfi_scenario_take(l, outputs->child_count, sizeof *l->scenario->outputs);
    for (const struct sf_yaml_node *node = outputs->first; node != NULL; node = node->next) load_output(l, node);
}

/* ---- watermarks and partitions ---- */

static void load_watermarks(struct sfi_scenario_load *l, const struct sf_yaml_node *list)
{
    if (list == NULL || list->kind != SF_YAML_SEQUENCE) return;
    l->scenario->watermarks = sfi_scenario_take(l, list->child_count, sizeof *l->scenario->watermarks);
    for (const struct sf_yaml_node *node = list->first; node != NULL; node = node->next)
        l->scenario->watermarks[l->scenario->watermark_count++] =
            (struct sf_scenario_watermark){.at_ms = sfi_scenario_offset(l, sf_yaml_get(node, "at")),
                                           .global = sfi_scenario_bounds(l, sf_yaml_get(node, "global")),
                                           .place = node->place};
}

static void load_partition(struct sfi_scenario_load *l, const struct sf_yaml_node *node, int64_t at_ms)
{
    const struct sf_yaml_node *idle = sf_yaml_get(node, "idle"), *watermark = sf_yaml_get(node, "watermark");
    struct sf_scenario_partition *partition = &l->scenario->partitions[l->scenario->partition_count];
    int64_t number = 0;
    *partition = (struct sf_scenario_partition){.at_ms = at_ms, .place = node->key->place};
    if (!sfi_scenario_split(l, node->key->text, node->key->place, false, &partition->topic, &number)) return;
    if (node->kind == SF_YAML_MAPPING && idle == NULL && watermark == NULL)
        SFI_REFUSE(l, partition->place, "`", node->key->text, "` expects nothing; give it `idle` or `watermark`");
    partition->partition = (uint32_t)number;
    partition->has_idle = idle != NULL;
    partition->is_idle = sf_yaml_is(idle, "true");
    partition->watermark = sfi_scenario_bounds(l, watermark);
    l->scenario->partition_count++;
}

static void load_partitions(struct sfi_scenario_load *l, const struct sf_yaml_node *list)
{
    size_t count = 0;
    if (list == NULL || list->kind != SF_YAML_SEQUENCE) return;
    for (const struct sf_yaml_node *node = list->first; node != NULL; node = node->next) count += node->child_count;
    l->scenario->partitions = sfi_scenario_take(l, count, sizeof *l->scenario->partitions);
    for (const struct sf_yaml_node *node = list->first; node != NULL; node = node->next) {
        int64_t at_ms = sfi_scenario_offset(l, sf_yaml_get(node, "at"));
        if (node->kind != SF_YAML_MAPPING) continue;
        for (const struct sf_yaml_node *child = node->first; child != NULL; child = child->next)
            if (strchr(child->key->text, '/') != NULL) load_partition(l, child, at_ms);
    }
}

/* ---- metrics, rules and words ---- */

static void refuse_metric(struct sfi_scenario_load *l, const struct sf_yaml_node *name)
{
    struct sf_spelling spelling;
    const char *known;
    sf_spelling_init(&spelling, name->text);
    for (uint32_t i = 0; (known = sf_driver_metric_name(i)) != NULL; i++) sf_spelling_offer(&spelling, known);
    if (spelling.best != NULL)
        SFI_REFUSE(l, name->place, "there is no metric `", name->text, "`; did you mean `", spelling.best, "`?");
    else
        SFI_REFUSE(l, name->place, "there is no metric `", name->text, "`, such as dropped.records.total");
}

static void load_metric(struct sfi_scenario_load *l, const struct sf_yaml_node *node, int64_t at_ms)
{
    struct sf_scenario_metric *metric = &l->scenario->metrics[l->scenario->metric_count++];
    const char *name = sfi_scenario_text(l, node->key, "");
    *metric = (struct sf_scenario_metric){.at_ms = at_ms, .name = name, .place = node->key->place};
    if (sf_driver_metric_find(name, &metric->metric))
        metric->name = sf_driver_metric_name(metric->metric);
    else
        refuse_metric(l, node->key);
    if (node->kind == SF_YAML_SCALAR && !sf_value_int(node->text, &metric->value))
        SFI_REFUSE(l, node->place, "`", name, "` must be a whole number, not `", node->text, "`");
}

static void load_metrics(struct sfi_scenario_load *l, const struct sf_yaml_node *list)
{
    size_t count = 0;
    if (list == NULL || list->kind != SF_YAML_SEQUENCE) return;
    for (const struct sf_yaml_node *node = list->first; node != NULL; node = node->next) count += node->child_count;
    l->scenario->metrics = sfi_scenario_take(l, count, sizeof *l->scenario->metrics);
    for (const struct sf_yaml_node *node = list->first; node != NULL; node = node->next) {
        const struct sf_yaml_node *at = sf_yaml_get(node, "at");
        int64_t at_ms = at != NULL ? sfi_scenario_offset(l, at) : SF_SCENARIO_UNUSED;
        if (node->kind != SF_YAML_MAPPING) continue;
        for (const struct sf_yaml_node *child = node->first; child != NULL; child = child->next)
            if (child != at) load_metric(l, child, at_ms);
    }
}

static struct sf_scenario_rule *load_rules(struct sfi_scenario_load *l, const struct sf_yaml_node *list,
                                           uint32_t *count_out)
{
    if (list == NULL || list->kind != SF_YAML_SEQUENCE) return NULL;
    struct sf_scenario_rule *rules = sfi_scenario_take(l, list->child_count, sizeof *rules);
    for (const struct sf_yaml_node *node = list->first; node != NULL; node = node->next)
        rules[(*count_out)++] =
            (struct sf_scenario_rule){.name = sfi_scenario_text(l, node, ""), .place = node->place};
    return rules;
}

void sfi_scenario_load_expect(struct sfi_scenario_load *l, const struct sf_yaml_node *expect)
{
    struct sf_scenario *scenario = l->scenario;
    load_outputs(l, sf_yaml_get(expect, "output"));
    load_watermarks(l, sf_yaml_get(expect, "watermark"));
    load_partitions(l, sf_yaml_get(expect, "partitions"));
    load_metrics(l, sf_yaml_get(expect, "metrics"));
    scenario->failed = load_rules(l, sf_yaml_get(expect, "failed"), &scenario->failed_count);
    scenario->said = load_rules(l, sf_yaml_get(expect, "said"), &scenario->said_count);
    scenario->refused = load_rules(l, sf_yaml_get(expect, "refused"), &scenario->refused_count);
    scenario->warned = load_rules(l, sf_yaml_get(expect, "warned"), &scenario->warned_count);
}
