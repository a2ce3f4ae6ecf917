#include "core/app/load.h"

static const struct sfi_word serde_words[] = {{"bytes", SF_SERDE_BYTES},   {"string", SF_SERDE_STRING},
                                              {"int64", SF_SERDE_INT64},   {"double", SF_SERDE_DOUBLE},
                                              {"json", SF_SERDE_JSON},     {NULL, 0}};
static const struct sfi_word start_words[] = {{"earliest", SF_START_EARLIEST}, {"latest", SF_START_LATEST}, {NULL, 0}};
static const struct sfi_word invalid_words[] = {{"fail", SF_INVALID_FAIL},
                                                {"skip", SF_INVALID_SKIP},
                                                {"partition-time", SF_INVALID_PARTITION_TIME},
                                                {NULL, 0}};
static const struct sfi_word future_words[] = {{"accept", SF_FUTURE_ACCEPT},
                                               {"skip", SF_FUTURE_SKIP},
                                               {"clamp-watermark", SF_FUTURE_CLAMP},
                                               {NULL, 0}};
static const struct sfi_word missing_words[] = {
    {"fail", SF_MISSING_FAIL}, {"log-start", SF_MISSING_LOG_START}, {NULL, 0}};
static const struct sfi_word strategy_words[] = {{"bounded-out-of-orderness", SF_STRATEGY_BOUNDED},
                                                 {"monotonous", SF_STRATEGY_MONOTONOUS},
                                                 {"none", SF_STRATEGY_NONE},
                                                 {NULL, 0}};

static void load_watermark(struct sfi_loader *l, const struct sf_yaml_node *node, struct sf_source_spec *source,
                           bool is_serde_good)
{
    struct sf_watermark_spec *watermark = &source->watermark;
    *watermark = (struct sf_watermark_spec){
        .strategy = SF_STRATEGY_DEFAULT, .bound_ms = SF_SPAN_NONE, .idleness_ms = SF_SPAN_NONE, .place = source->place};
    if (node == NULL) return;
    const struct sf_yaml_node *bound = sf_yaml_get(node, "max-out-of-orderness");
    watermark->is_given = true;
    watermark->place = sf_yaml_place(node);
    watermark->strategy = (enum sf_strategy)sfi_read_word(sf_yaml_get(node, "strategy"), strategy_words);
    watermark->bound_ms = sfi_read_span(bound, SF_SPAN_NONE);
    watermark->idleness_ms = sfi_read_span(sf_yaml_get(node, "idleness"), SF_SPAN_NONE);
    watermark->timestamp_path = sfi_read_text(l, sf_yaml_get(node, "timestamp"), NULL);
    /* The walk has reported these, with the place of the value. */
    if (watermark->bound_ms < 0) watermark->bound_ms = SF_SPAN_NONE;
    if (watermark->idleness_ms <= 0) watermark->idleness_ms = SF_SPAN_NONE;
    if (bound != NULL && watermark->strategy != SF_STRATEGY_BOUNDED)
        SFI_REFUSE(l, "V8", sf_yaml_place(bound),
                   "`max-out-of-orderness` belongs to the strategy bounded-out-of-orderness; source `", source->name,
                   "` has another");
    if (watermark->timestamp_path != NULL && source->value != SF_SERDE_JSON && is_serde_good)
        SFI_REFUSE(l, "W6", sf_yaml_place(sf_yaml_get(node, "timestamp")), "source `", source->name,
                   "` takes its timestamp from a field, which needs `value: json`");
}

/* T5: the two only together. What goes with the policies other than accept, the topology's check sees. */
static void load_future(struct sfi_loader *l, const struct sf_yaml_node *node, struct sf_source_spec *source)
{
    const struct sf_yaml_node *skew = sf_yaml_get(node, "max-future-skew");
    const struct sf_yaml_node *policy = sf_yaml_get(node, "on-future-timestamp");
    source->max_future_skew_ms = sfi_read_span(skew, SF_SPAN_NONE);
    if (source->max_future_skew_ms < 0) source->max_future_skew_ms = skew != NULL ? 0 : SF_SPAN_NONE;
    source->on_future = (enum sf_on_future)sfi_read_word(policy, future_words);
    if (skew != NULL && policy == NULL)
        SFI_REFUSE(l, "V8", sf_yaml_place(skew), "source `", source->name,
                   "` has max-future-skew without on-future-timestamp; say what happens to such a record: accept, skip "
                   "or clamp-watermark");
    if (policy != NULL && skew == NULL && source->on_future == SF_FUTURE_ACCEPT)
        SFI_REFUSE(l, "V8", sf_yaml_place(policy), "source `", source->name,
                   "` has on-future-timestamp without max-future-skew; give both or neither");
}

static void load_source(struct sfi_loader *l, const struct sf_yaml_node *node, uint32_t index)
{
    struct sf_source_spec *source = &l->topology->sources[index];
    source->place = sf_yaml_place(node);
    source->name = sfi_read_text(l, node->key, NULL);
    if (source->name == NULL) source->name = sfi_placeholder(l, "source", index + 1);
    const struct sf_yaml_node *topic = sf_yaml_get(node, "topic");
    source->topic = sfi_read_name(l, topic);
    if (source->topic == NULL) source->topic = sfi_placeholder(l, "topic", index + 1);
    source->key = (enum sf_serde)sfi_read_word(sf_yaml_get(node, "key"), serde_words);
    source->value = (enum sf_serde)sfi_read_word(sf_yaml_get(node, "value"), serde_words);
    source->start = (enum sf_start)sfi_read_word(sf_yaml_get(node, "start"), start_words);
    source->on_invalid = (enum sf_on_invalid)sfi_read_word(sf_yaml_get(node, "on-invalid-timestamp"), invalid_words);
    source->on_missing_offset =
        (enum sf_on_missing_offset)sfi_read_word(sf_yaml_get(node, "on-missing-offset"), missing_words);
    source->on_deserialization_error =
        (enum sf_on_error)sfi_read_word(sf_yaml_get(node, "on-deserialization-error"), sfi_error_words);
    source->is_validated = sfi_read_bool(sf_yaml_get(node, "validate"), false);
    load_future(l, node, source);
    const struct sf_yaml_node *value = sf_yaml_get(node, "value");
    bool is_serde_good = value == NULL || source->value != SF_SERDE_BYTES || sf_yaml_is(value, "bytes");
    load_watermark(l, sf_yaml_get(node, "watermark"), source, is_serde_good);
}

void sfi_load_sources(struct sfi_loader *l, const struct sf_yaml_node *sources)
{
    if (sources == NULL || sources->kind != SF_YAML_MAPPING) return;
    uint32_t count = sources->child_count;
    if (count == 0) SFI_REFUSE(l, "V8", sf_yaml_place(sources), "the application has no source");
    if (count > SF_TOPOLOGY_SOURCES_MAX) {
        SFI_REFUSE(l, "V8", sf_yaml_place(sources), "the application has more than 256 sources");
        count = SF_TOPOLOGY_SOURCES_MAX;
    }
    l->topology->sources = sf_topology_take(l->topology, (count + 1) * sizeof *l->topology->sources);
    for (const struct sf_yaml_node *node = sources->first; node != NULL && l->topology->source_count < count;
         node = node->next)
        load_source(l, node, l->topology->source_count++);
}
