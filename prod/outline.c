#include "prod/outline.h"

#include <string.h>

#include "core/app/app.h"
#include "prod/outline_words.h"
#include "prod/settings.h"

static const char *input_names(const struct sf_topology *topology, const struct sf_step_spec *step, char *buf,
                               size_t capacity)
{
    struct sf_text text;
    sf_text_init(&text, buf, capacity);
    for (uint32_t i = 0; i < step->input_count; i++) {
        if (i > 0) sf_text_add(&text, ", ");
        sf_text_add(&text, sfi_outline_input(topology, step->inputs[i]));
    }
    return buf;
}

static const char *guarantee_name(const struct sf_topology *topology)
{
    return topology->guarantee == SF_EXACTLY_ONCE ? "exactly-once" : "at-least-once";
}

static bool is_same_text(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* An internal topic: a target's, or the watermark topic at the end. */
struct internal {
    const char *name;
    int32_t partition_count; /* as found on the broker; 0: not there */
    int32_t wanted_count;    /* 0: not known without the broker */
    uint32_t sub;            /* as wide as what feeds it; UINT32_MAX: one partition */
};

static uint32_t internal_count(const struct sf_prod_outline *outline)
{
    return outline->targets.count - outline->targets.sink_count + 1;
}

static struct internal internal_at(const struct sf_prod_outline *outline, uint32_t i)
{
    const struct sf_targets *targets = &outline->targets;
    uint32_t at = targets->sink_count + i;
    if (at == targets->count)
        return (struct internal){.name = sf_kafka_topic_name(outline->kafka, targets->watermark_topic),
                                 .partition_count = outline->watermark_partitions,
                                 .wanted_count = 1,
                                 .sub = UINT32_MAX};
    const struct sf_target *target = &targets->items[at];
    const struct sf_plan *plan = outline->file->plan;
    struct internal internal = {.name = sf_kafka_topic_name(outline->kafka, target->topic),
                                .sub = plan->steps[target->index].sub};
    if (outline->source_partitions == NULL) return internal;
    internal.partition_count = outline->target_partitions[at];
    internal.wanted_count = sf_targets_changelog_partitions(plan, internal.sub, outline->source_partitions);
    return internal;
}

/* ------------------------------------------------------------------ for people */

static void text_sources(const struct sf_prod_outline *outline, struct sf_text *text)
{
    const struct sf_topology *topology = outline->file->topology;
    sf_text_add(text, "\nsources\n");
    for (uint32_t i = 0; i < topology->source_count; i++) {
        sf_text_add(text, "  ");
        sf_text_add(text, topology->sources[i].name);
        sf_text_add(text, ": topic ");
        sf_text_add(text, topology->sources[i].topic);
        if (outline->source_partitions != NULL) {
            sf_text_add(text, ", ");
            sf_text_add_int(text, outline->source_partitions[i]);
            sf_text_add(text, " partitions");
        }
        sf_text_add(text, ", ");
        sfi_outline_source(topology, i, text);
        sf_text_add(text, "\n");
    }
}

static void text_sub(const struct sf_prod_outline *outline, uint32_t sub, struct sf_text *text)
{
    char names[512];
    const struct sf_topology *topology = outline->file->topology;
    const struct sf_plan_sub *of = &outline->file->plan->subs[sub];
    sf_text_add(text, "\nsub-topology ");
    sf_text_add_uint(text, sub);
    sf_text_add(text, ", fed by");
    for (uint32_t i = 0; i < of->source_count; i++) {
        sf_text_add(text, i > 0 ? ", " : " ");
        sf_text_add(text, topology->sources[of->sources[i]].name);
    }
    for (uint32_t i = 0; i < of->upstream_count; i++) {
        sf_text_add(text, i + of->source_count > 0 ? ", sub-topology " : " sub-topology ");
        sf_text_add_uint(text, of->upstream[i]);
    }
    sf_text_add(text, "\n");
    for (uint32_t i = 0; i < of->step_count; i++) {
        const struct sf_step_spec *step = &topology->steps[of->steps[i]];
        sf_text_add(text, "  ");
        sf_text_add(text, step->name);
        sf_text_add(text, " from ");
        sf_text_add(text, input_names(topology, step, names, sizeof names));
        sf_text_add(text, ": ");
        sfi_outline_step(step, text);
        sf_text_add(text, "\n");
    }
}

static void text_sinks(const struct sf_prod_outline *outline, struct sf_text *text)
{
    const struct sf_topology *topology = outline->file->topology;
    sf_text_add(text, "\nsinks\n");
    for (uint32_t i = 0; i < topology->sink_count; i++) {
        sf_text_add(text, "  topic ");
        sf_text_add(text, topology->sinks[i].topic);
        if (outline->target_partitions != NULL) {
            sf_text_add(text, ", ");
            sf_text_add_int(text, outline->target_partitions[i]);
            sf_text_add(text, " partitions");
        }
        sf_text_add(text, ", from ");
        sf_text_add(text, sfi_outline_input(topology, topology->sinks[i].from));
        sf_text_add(text, ", ");
        sf_text_add(text, sfi_outline_serde(topology->sinks[i].value));
        sf_text_add(text, "\n");
    }
    if (topology->sink_count == 0) sf_text_add(text, "  none\n");
}

static void text_feeders(const struct sf_prod_outline *outline, uint32_t sub, struct sf_text *text)
{
    const struct sf_topology *topology = outline->file->topology;
    bool is_feeder[SF_TOPOLOGY_SOURCES_MAX] = {false};
    bool has_one = false;
    sfi_outline_feeders(outline->file->plan, sub, is_feeder);
    for (uint32_t i = 0; i < topology->source_count; i++) {
        if (!is_feeder[i]) continue;
        sf_text_add(text, has_one ? ", " : "");
        sf_text_add(text, topology->sources[i].topic);
        has_one = true;
    }
}

static void text_internals(const struct sf_prod_outline *outline, struct sf_text *text)
{
    sf_text_add(text, "\ninternal topics\n");
    for (uint32_t i = 0; i < internal_count(outline); i++) {
        struct internal internal = internal_at(outline, i);
        sf_text_add(text, "  ");
        sf_text_add(text, internal.name);
        if (internal.wanted_count > 0) {
            sf_text_add(text, ": partitions ");
            sf_text_add_int(text, internal.partition_count > 0 ? internal.partition_count : internal.wanted_count);
        } else {
            sf_text_add(text, ": partitions as the widest of ");
            text_feeders(outline, internal.sub, text);
        }
        sf_text_add(text, ", cleanup.policy compact");
        if (outline->source_partitions != NULL && internal.partition_count == 0)
            sf_text_add(text, ", made at the first start");
        sf_text_add(text, "\n");
    }
}

static void text_settings(const struct sf_prod_outline *outline, struct sf_text *text)
{
    const struct sf_settings *settings = &outline->file->topology->settings;
    char value[SF_PROD_SETTING_BYTES], usual[SF_PROD_SETTING_BYTES];
    bool has_one = false;
    sf_text_add(text, "\nsettings that differ from their defaults\n");
    for (uint32_t i = 0; i < sf_prod_settings_count(); i++) {
        const char *is = sf_prod_settings_text(settings, i, value);
        const char *was = sf_prod_settings_default(settings, i, usual);
        if (is_same_text(is, was)) continue;
        has_one = true;
        sf_text_add(text, "  stoatflow.");
        sf_text_add(text, sf_prod_settings_name(i));
        sf_text_add(text, ": ");
        sf_text_add(text, is);
        sf_text_add(text, was[0] != '\0' ? ", not " : "");
        sf_text_add(text, was);
        sf_text_add(text, "\n");
    }
    if (!has_one) sf_text_add(text, "  none\n");
}

void sf_prod_outline_text(const struct sf_prod_outline *outline, struct sf_text *text)
{
    const struct sf_prod_app_file *file = outline->file;
    if (file->topology != NULL) {
        sf_text_add(text, "application ");
        sf_text_add(text, file->topology->application_id);
        sf_text_add(text, ", ");
        sf_text_add(text, guarantee_name(file->topology));
        sf_text_add(text, ", ");
        sf_text_add_uint(text, outline->lanes);
        sf_text_add(text, file->topology->settings.lanes == 0 ? " lanes (as many as processors here)\n" : " lanes\n");
        text_sources(outline, text);
        for (uint32_t sub = 0; sub < file->plan->sub_count; sub++) text_sub(outline, sub, text);
        text_sinks(outline, text);
        text_internals(outline, text);
        text_settings(outline, text);
        sf_text_add(text, "\nfindings\n");
    }
    sf_app_findings_write(&file->findings, file->path, text);
    if (file->findings.count == 0) sf_text_add(text, "  none\n");
}

/* ------------------------------------------------------------------ for machines */

static void json_key(struct sf_text *text, const char *before, const char *name)
{
    sf_text_add(text, before);
    sf_text_add_json(text, name, strlen(name));
    sf_text_add(text, ":");
}

static void json_text(struct sf_text *text, const char *before, const char *name, const char *value)
{
    json_key(text, before, name);
    sf_text_add_json(text, value, strlen(value));
}

/* 0: not known, or not there. */
static void json_count(struct sf_text *text, const char *name, int32_t count)
{
    json_key(text, ",", name);
    if (count > 0)
        sf_text_add_int(text, count);
    else
        sf_text_add(text, "null");
}

/* What `write` says in words. */
static void json_words(struct sf_text *text, const struct sf_topology *topology, uint32_t index, bool is_source)
{
    char buf[2048];
    struct sf_text words;
    sf_text_init(&words, buf, sizeof buf);
    if (is_source)
        sfi_outline_source(topology, index, &words);
    else
        sfi_outline_step(&topology->steps[index], &words);
    json_text(text, ",", "does", buf);
}

static void json_sources(const struct sf_prod_outline *outline, struct sf_text *text)
{
    const struct sf_topology *topology = outline->file->topology;
    json_key(text, ",", "sources");
    for (uint32_t i = 0; i < topology->source_count; i++) {
        json_text(text, i == 0 ? "[{" : ",{", "name", topology->sources[i].name);
        json_text(text, ",", "topic", topology->sources[i].topic);
        json_count(text, "partitions", outline->source_partitions != NULL ? outline->source_partitions[i] : 0);
        json_words(text, topology, i, true);
        sf_text_add(text, "}");
    }
    sf_text_add(text, "]");
}

static void json_sub(const struct sf_prod_outline *outline, uint32_t sub, struct sf_text *text)
{
    const struct sf_topology *topology = outline->file->topology;
    const struct sf_plan_sub *of = &outline->file->plan->subs[sub];
    json_key(text, sub == 0 ? "{" : ",{", "sources");
    sf_text_add(text, "[");
    for (uint32_t i = 0; i < of->source_count; i++) {
        const char *name = topology->sources[of->sources[i]].name;
        if (i > 0) sf_text_add(text, ",");
        sf_text_add_json(text, name, strlen(name));
    }
    sf_text_add(text, "],\"upstream\":[");
    for (uint32_t i = 0; i < of->upstream_count; i++) {
        if (i > 0) sf_text_add(text, ",");
        sf_text_add_uint(text, of->upstream[i]);
    }
    sf_text_add(text, "],\"steps\":[");
    for (uint32_t i = 0; i < of->step_count; i++) {
        const struct sf_step_spec *step = &topology->steps[of->steps[i]];
        json_text(text, i == 0 ? "{" : ",{", "name", step->name);
        json_key(text, ",", "from");
        for (uint32_t k = 0; k < step->input_count; k++) {
            const char *name = sfi_outline_input(topology, step->inputs[k]);
            sf_text_add(text, k == 0 ? "[" : ",");
            sf_text_add_json(text, name, strlen(name));
        }
        sf_text_add(text, "]");
        json_words(text, topology, of->steps[i], false);
        sf_text_add(text, "}");
    }
    sf_text_add(text, "]}");
}

static void json_sinks(const struct sf_prod_outline *outline, struct sf_text *text)
{
    const struct sf_topology *topology = outline->file->topology;
    json_key(text, ",", "sinks");
    sf_text_add(text, "[");
    for (uint32_t i = 0; i < topology->sink_count; i++) {
        json_text(text, i == 0 ? "{" : ",{", "topic", topology->sinks[i].topic);
        json_count(text, "partitions", outline->target_partitions != NULL ? outline->target_partitions[i] : 0);
        json_text(text, ",", "from", sfi_outline_input(topology, topology->sinks[i].from));
        json_text(text, ",", "value", sfi_outline_serde(topology->sinks[i].value));
        sf_text_add(text, "}");
    }
    sf_text_add(text, "]");
}

static void json_internals(const struct sf_prod_outline *outline, struct sf_text *text)
{
    const struct sf_topology *topology = outline->file->topology;
    json_key(text, ",", "internal-topics");
    for (uint32_t i = 0; i < internal_count(outline); i++) {
        struct internal internal = internal_at(outline, i);
        bool is_feeder[SF_TOPOLOGY_SOURCES_MAX] = {false};
        bool has_one = false;
        json_text(text, i == 0 ? "[{" : ",{", "name", internal.name);
        json_count(text, "partitions", internal.wanted_count);
        json_count(text, "partitions-found", internal.partition_count);
        json_key(text, ",", "as-wide-as");
        sf_text_add(text, "[");
        if (internal.sub != UINT32_MAX) sfi_outline_feeders(outline->file->plan, internal.sub, is_feeder);
        for (uint32_t s = 0; s < topology->source_count; s++) {
            if (!is_feeder[s]) continue;
            sf_text_add(text, has_one ? "," : "");
            sf_text_add_json(text, topology->sources[s].topic, strlen(topology->sources[s].topic));
            has_one = true;
        }
        json_text(text, "],", "cleanup-policy", "compact");
        sf_text_add(text, "}");
    }
    sf_text_add(text, "]");
}

static void json_settings(const struct sf_prod_outline *outline, struct sf_text *text)
{
    const struct sf_settings *settings = &outline->file->topology->settings;
    char value[SF_PROD_SETTING_BYTES], usual[SF_PROD_SETTING_BYTES];
    bool has_one = false;
    json_key(text, ",", "settings");
    sf_text_add(text, "{");
    for (uint32_t i = 0; i < sf_prod_settings_count(); i++) {
        const char *is = sf_prod_settings_text(settings, i, value);
        if (is_same_text(is, sf_prod_settings_default(settings, i, usual))) continue;
        json_text(text, has_one ? "," : "", sf_prod_settings_name(i), is);
        has_one = true;
    }
    sf_text_add(text, "}");
}

static void json_findings(const struct sf_findings *findings, struct sf_text *text)
{
    json_key(text, ",", "findings");
    sf_text_add(text, "[");
    for (uint32_t i = 0; i < findings->count; i++) {
        const struct sf_finding *finding = &findings->items[i];
        json_text(text, i == 0 ? "{" : ",{", "severity",
                  finding->severity == SF_FINDING_ERROR ? "error" : "warning");
        json_text(text, ",", "rule", finding->rule);
        json_text(text, ",", "text", finding->text);
        json_key(text, ",", "line");
        sf_text_add_uint(text, finding->place.line);
        json_key(text, ",", "column");
        sf_text_add_uint(text, finding->place.column);
        sf_text_add(text, "}");
    }
    sf_text_add(text, "]");
}

void sf_prod_outline_json(const struct sf_prod_outline *outline, struct sf_text *text)
{
    const struct sf_topology *topology = outline->file->topology;
    json_text(text, "{", "file", outline->file->path);
    json_key(text, ",", "is-valid");
    sf_text_add(text, outline->file->findings.error_count == 0 && topology != NULL ? "true" : "false");
    if (topology != NULL) {
        json_text(text, ",", "application", topology->application_id);
        json_text(text, ",", "guarantee", guarantee_name(topology));
        json_count(text, "lanes", (int32_t)outline->lanes);
        json_sources(outline, text);
        json_key(text, ",", "sub-topologies");
        sf_text_add(text, "[");
        for (uint32_t sub = 0; sub < outline->file->plan->sub_count; sub++) json_sub(outline, sub, text);
        sf_text_add(text, "]");
        json_sinks(outline, text);
        json_internals(outline, text);
        json_settings(outline, text);
    }
    json_findings(&outline->file->findings, text);
    sf_text_add(text, "}\n");
}
