#include "core/app/values.h"
#include "driver/scenario_load.h"

static void load_stamp(struct sfi_scenario_load *l, const struct sf_yaml_node *node, struct sf_scenario_input *input)
{
    input->stamp = SF_SCENARIO_STAMP_ARRIVAL;
    if (node == NULL) return;
    if (node->kind == SF_YAML_SCALAR) {
        input->stamp = SF_SCENARIO_STAMP_TIME;
        input->ts_ms = sfi_scenario_instant(l, node);
        return;
    }
    input->stamp = SF_SCENARIO_STAMP_BEHIND;
    input->behind = sfi_scenario_span_draw(l, sf_yaml_get(node, "behind"));
}

static void load_generator(struct sfi_scenario_load *l, const struct sf_yaml_node *node,
                           struct sf_scenario_input *input)
{
    const struct sf_yaml_node *from = sf_yaml_get(node, "from"), *until = sf_yaml_get(node, "until");
    const struct sf_yaml_node *every = sf_yaml_get(node, "every"), *count = sf_yaml_get(node, "count");
    input->kind = SF_SCENARIO_GENERATOR;
    if (from == NULL || until == NULL || every == NULL)
        SFI_REFUSE(l, node->place, "a generator needs all of `from`, `until` and `every`");
    if (count != NULL) SFI_REFUSE(l, sf_yaml_place(count), "`count` goes with `at`, not with a generator");
    input->at_ms = sfi_scenario_offset(l, from);
    input->until_ms = sfi_scenario_offset(l, until);
    input->every_ms = sfi_scenario_duration(every);
    if (input->every_ms < 1) input->every_ms = 1;
    if (from != NULL && until != NULL && input->until_ms <= input->at_ms)
        SFI_REFUSE(l, until->place, "`until` must lie behind `from`");
}

static void load_records(struct sfi_scenario_load *l, const struct sf_yaml_node *at, const struct sf_yaml_node *count,
                         struct sf_scenario_input *input)
{
    int64_t records = 1;
    input->kind = count != NULL ? SF_SCENARIO_BULK : SF_SCENARIO_RECORD;
    input->at_ms = sfi_scenario_offset(l, at);
    if (count != NULL && count->kind == SF_YAML_SCALAR) (void)sf_value_int(count->text, &records);
    input->count = records > 0 ? (uint64_t)records : 1;
}

static void load_entry(struct sfi_scenario_load *l, const struct sf_yaml_node *node, struct sf_scenario_input *input)
{
    const struct sf_yaml_node *at = sf_yaml_get(node, "at"), *to = sf_yaml_get(node, "to");
    const struct sf_yaml_node *generator = sf_yaml_get(node, "from");
    if (generator == NULL) generator = sf_yaml_get(node, "until");
    if (generator == NULL) generator = sf_yaml_get(node, "every");
    input->place = node->place;
    if (at != NULL && generator != NULL)
        SFI_REFUSE(l, sf_yaml_place(generator),
                   "an entry has `at`, or is a generator with `from`, `until` and `every`");
    else if (at == NULL && generator == NULL && node->kind == SF_YAML_MAPPING)
        SFI_REFUSE(l, node->place, "an entry needs `at`, or `from`, `until` and `every`");
    if (generator != NULL)
        load_generator(l, node, input);
    else
        load_records(l, at, sf_yaml_get(node, "count"), input);
    input->partition = SF_SCENARIO_ANY;
    if (to != NULL && to->kind == SF_YAML_SCALAR && to->text_length > 0)
        (void)sfi_scenario_split(l, to->text, to->place, true, &input->topic, &input->partition);
    input->key = sfi_scenario_key(l, sf_yaml_get(node, "key"));
    input->value = sfi_scenario_value(l, sf_yaml_get(node, "value"), true);
    load_stamp(l, sf_yaml_get(node, "ts"), input);
}

void sfi_scenario_load_input(struct sfi_scenario_load *l, const struct sf_yaml_node *input)
{
    if (input == NULL || input->kind != SF_YAML_SEQUENCE) return;
    struct sf_scenario *scenario = l->scenario;
    scenario->inputs = sfi_scenario_take(l, input->child_count, sizeof *scenario->inputs);
    for (const struct sf_yaml_node *node = input->first; node != NULL; node = node->next)
        load_entry(l, node, &scenario->inputs[scenario->input_count++]);
}
