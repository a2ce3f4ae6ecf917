#include "prod/outline_words.h"

#include <assert.h>

const char *sfi_outline_serde(enum sf_serde serde)
{
    switch (serde) {
    case SF_SERDE_BYTES: return "bytes";
    case SF_SERDE_STRING: return "string";
    case SF_SERDE_INT64: return "int64";
    case SF_SERDE_DOUBLE: return "double";
    case SF_SERDE_JSON: return "json";
    }
    assert(false && "no such serde");
    return "";
}

const char *sfi_outline_input(const struct sf_topology *topology, struct sf_input input)
{
    return input.kind == SF_INPUT_SOURCE ? topology->sources[input.index].name : topology->steps[input.index].name;
}

static void add_strategy(const struct sf_topology *topology, const struct sf_watermark_spec *spec, struct sf_text *text)
{
    switch (spec->strategy) {
    case SF_STRATEGY_DEFAULT:
    case SF_STRATEGY_BOUNDED:
        sf_text_add(text, "bounded-out-of-orderness ");
        sf_text_add_duration(text, spec->bound_ms != SF_SPAN_NONE ? spec->bound_ms
                                                                  : topology->settings.max_out_of_orderness_ms);
        return;
    case SF_STRATEGY_MONOTONOUS: sf_text_add(text, "monotonous"); return;
    case SF_STRATEGY_NONE: sf_text_add(text, "no watermark"); return;
    }
    assert(false && "no such strategy");
}

void sfi_outline_source(const struct sf_topology *topology, uint32_t source, struct sf_text *text)
{
    const struct sf_source_spec *spec = &topology->sources[source];
    const struct sf_watermark_spec *watermark = &spec->watermark;
    int64_t idleness_ms =
        watermark->idleness_ms != SF_SPAN_NONE ? watermark->idleness_ms : topology->settings.idleness_timeout_ms;
    sf_text_add(text, sfi_outline_serde(spec->key));
    sf_text_add(text, "/");
    sf_text_add(text, sfi_outline_serde(spec->value));
    sf_text_add(text, ", ");
    add_strategy(topology, watermark, text);
    if (watermark->timestamp_path != NULL) {
        sf_text_add(text, " on ");
        sf_text_add(text, watermark->timestamp_path);
    }
    sf_text_add(text, idleness_ms > 0 ? ", idle after " : ", never idle");
    if (idleness_ms > 0) sf_text_add_duration(text, idleness_ms);
    sf_text_add(text, spec->start == SF_START_LATEST ? ", from latest" : ", from earliest");
}

static void add_fields(const struct sf_step_spec *step, struct sf_text *text)
{
    for (uint32_t i = 0; i < step->field_count; i++) {
        sf_text_add(text, i == 0 ? "" : ", ");
        sf_text_add(text, step->fields[i].name);
        sf_text_add(text, " ");
        sf_text_add(text, step->fields[i].expression);
    }
}

static const char *aggregate_name(enum sf_aggregate_kind kind)
{
    switch (kind) {
    case SF_AGGREGATE_COUNT: return "count";
    case SF_AGGREGATE_SUM: return "sum";
    case SF_AGGREGATE_MIN: return "min";
    case SF_AGGREGATE_MAX: return "max";
    }
    assert(false && "no such aggregate");
    return "";
}

static void add_aggregate(const struct sf_step_spec *step, struct sf_text *text)
{
    sf_text_add(text, "window tumbling ");
    sf_text_add_duration(text, step->window.size_ms);
    if (step->window.grace_ms > 0) {
        sf_text_add(text, " grace ");
        sf_text_add_duration(text, step->window.grace_ms);
    }
    for (uint32_t i = 0; i < step->aggregate_count; i++) {
        sf_text_add(text, i == 0 ? ": " : ", ");
        sf_text_add(text, step->aggregates[i].name);
        sf_text_add(text, " ");
        sf_text_add(text, aggregate_name(step->aggregates[i].kind));
        if (step->aggregates[i].expression == NULL) continue;
        sf_text_add(text, "(");
        sf_text_add(text, step->aggregates[i].expression);
        sf_text_add(text, ")");
    }
    sf_text_add(text, step->emit == SF_EMIT_ON_CLOSE ? "; on-window-close" : "; on-window-update");
    sf_text_add(text, "; store ");
    sf_text_add(text, step->store.name);
    sf_text_add(text, step->store.is_persistent ? ", persistent, kept " : ", in memory, kept ");
    sf_text_add_duration(text, step->store.retention_ms);
}

void sfi_outline_step(const struct sf_step_spec *step, struct sf_text *text)
{
    switch (step->kind) {
    case SF_STEP_MERGE: sf_text_add(text, "merge"); return;
    case SF_STEP_FILTER:
        sf_text_add(text, "filter ");
        sf_text_add(text, step->expression);
        return;
    case SF_STEP_KEY_BY:
        sf_text_add(text, "key-by ");
        sf_text_add(text, step->expression);
        return;
    case SF_STEP_MAP_VALUES:
        sf_text_add(text, "map-values ");
        if (step->fields != NULL)
            add_fields(step, text);
        else
            sf_text_add(text, step->expression);
        return;
    case SF_STEP_AGGREGATE: add_aggregate(step, text); return;
    }
    assert(false && "no such step");
}

void sfi_outline_feeders(const struct sf_plan *plan, uint32_t sub, bool *is_feeder)
{
    const struct sf_plan_sub *of = &plan->subs[sub];
    for (uint32_t i = 0; i < of->source_count; i++) is_feeder[of->sources[i]] = true;
    for (uint32_t i = 0; i < of->upstream_count; i++) sfi_outline_feeders(plan, of->upstream[i], is_feeder);
}
