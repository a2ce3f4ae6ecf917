#include "core/topo/check.h"

#include <assert.h>
#include <string.h>

#include "core/text.h"
#include "core/time/event_time.h"
#include "core/topo/order.h"

#define SFI_TRANSACTION_MARGIN_MS 10000 /* V8 */
#define SFI_FRONTIER_SUFFIX "-emitfrontier-changelog" /* the longest that follows a store's name (K2) */

#define FIND(findings, severity, rule, place, ...)                                                                     \
    sf_findings_add((findings), (severity), (rule), (place), (const char *const[]){__VA_ARGS__, NULL})
#define REFUSE(findings, rule, place, ...) FIND(findings, SF_FINDING_ERROR, rule, place, __VA_ARGS__)

static const struct sf_place no_place = {0, 0};

/* ---- names (V8) ---- */

static void check_name(struct sf_findings *findings, struct sf_place place, const char *what, const char *name)
{
    if (name != NULL && sf_topology_is_name(name)) return;
    REFUSE(findings, "V8", place, what, " `", name != NULL ? name : "",
           "` must be 1 to 200 of the characters a-z A-Z 0-9 . _ -, since topics are named after it");
}

/* A program may have left a name out; check_name says so. */
static bool is_same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static void check_source_names(const struct sf_topology *topology, struct sf_findings *findings)
{
    for (uint32_t i = 0; i < topology->source_count; i++) {
        const struct sf_source_spec *source = &topology->sources[i];
        check_name(findings, source->place, "the source name", source->name);
        check_name(findings, source->place, "the topic", source->topic);
        for (uint32_t k = 0; k < i; k++) {
            const struct sf_source_spec *other = &topology->sources[k];
            if (is_same(source->name, other->name))
                REFUSE(findings, "V8", source->place, "two sources are named `", source->name, "`");
            if (is_same(source->topic, other->topic))
                REFUSE(findings, "V8", source->place, "sources `", other->name, "` and `", source->name,
                       "` both read the topic `", source->topic,
                       "`; read it once and let several steps take from that source");
        }
    }
}

/* The longest of the topics that are named after the two (K11). */
static void check_store_name(const struct sf_topology *topology, const struct sf_step_spec *step,
                             struct sf_findings *findings)
{
    check_name(findings, step->store.place, "the store name", step->store.name);
    if (topology->application_id == NULL || step->store.name == NULL) return;
    size_t length = strlen(topology->application_id) + strlen(step->store.name);
    size_t most = SF_TOPIC_NAME_BYTES_MAX - strlen("-" SFI_FRONTIER_SUFFIX);
    if (length <= most) return;
    char a[SF_TEXT_INT_BYTES], b[SF_TEXT_INT_BYTES];
    REFUSE(findings, "K11", step->store.place, "application.id and the store name `", step->store.name, "` have ",
           sf_text_of_int(a, (int64_t)length), " characters together and may have ", sf_text_of_int(b, (int64_t)most),
           ", since topics are named after both");
}

static void check_step_names(const struct sf_topology *topology, struct sf_findings *findings)
{
    for (uint32_t i = 0; i < topology->step_count; i++) {
        const struct sf_step_spec *step = &topology->steps[i];
        bool has_store = step->kind == SF_STEP_AGGREGATE;
        check_name(findings, step->place, "the step name", step->name);
        if (has_store) check_store_name(topology, step, findings);
        for (uint32_t k = 0; k < topology->source_count; k++)
            if (is_same(step->name, topology->sources[k].name))
                REFUSE(findings, "V8", step->place, "a source and a step are both named `", step->name, "`");
        for (uint32_t k = 0; k < i; k++) {
            const struct sf_step_spec *other = &topology->steps[k];
            if (is_same(step->name, other->name))
                REFUSE(findings, "V8", step->place, "two steps are named `", step->name, "`");
            if (has_store && other->kind == SF_STEP_AGGREGATE && is_same(step->store.name, other->store.name))
                REFUSE(findings, "V8", step->store.place, "steps `", other->name, "` and `", step->name,
                       "` both keep their state in the store `", step->store.name, "`; give each its own name");
        }
    }
}

/* ---- topics of sinks (K11) ---- */

/* `name` is `a`-`b``suffix`. */
static bool is_joined(const char *name, const char *a, const char *b, const char *suffix)
{
    size_t a_length = strlen(a), b_length = strlen(b);
    return strncmp(name, a, a_length) == 0 && name[a_length] == '-' &&
           strncmp(name + a_length + 1, b, b_length) == 0 && strcmp(name + a_length + 1 + b_length, suffix) == 0;
}

static bool is_internal_topic(const struct sf_topology *topology, const char *topic)
{
    const char *id = topology->application_id;
    if (is_joined(topic, id, "stoatflow-watermark", "-changelog")) return true;
    for (uint32_t i = 0; i < topology->step_count; i++) {
        const struct sf_step_spec *step = &topology->steps[i];
        if (step->kind != SF_STEP_AGGREGATE || step->store.name == NULL) continue;
        if (is_joined(topic, id, step->store.name, "-changelog")) return true;
        if (is_joined(topic, id, step->store.name, SFI_FRONTIER_SUFFIX)) return true;
    }
    return false;
}

static void check_sinks(const struct sf_topology *topology, struct sf_findings *findings)
{
    for (uint32_t i = 0; i < topology->sink_count; i++) {
        const struct sf_sink_spec *sink = &topology->sinks[i];
        check_name(findings, sink->place, "the topic", sink->topic);
        if (sink->topic == NULL || topology->application_id == NULL) continue;
        if (is_internal_topic(topology, sink->topic))
            REFUSE(findings, "K11", sink->place, "the topic `", sink->topic,
                   "` is where this application keeps its own state; write to another");
    }
}

/* What comes back in is legal, and rarely meant. */
static void warn_of_loops(const struct sf_topology *topology, struct sf_findings *findings)
{
    for (uint32_t i = 0; i < topology->sink_count; i++)
        for (uint32_t k = 0; k < topology->source_count; k++)
            if (is_same(topology->sinks[i].topic, topology->sources[k].topic))
                FIND(findings, SF_FINDING_WARNING, "loop", topology->sinks[i].place, "the sink writes to `",
                     topology->sinks[i].topic, "`, which source `", topology->sources[k].name,
                     "` reads: every result comes back in as a record; write to another topic unless that is meant");
}

/* ---- the graph (V8) ---- */

static bool is_in_range(const struct sf_topology *topology, const struct sf_input *input)
{
    return input->index < (input->kind == SF_INPUT_SOURCE ? topology->source_count : topology->step_count);
}

static bool check_inputs(const struct sf_topology *topology, struct sf_findings *findings)
{
    uint32_t before = findings->error_count;
    for (uint32_t i = 0; i < topology->step_count; i++) {
        const struct sf_step_spec *step = &topology->steps[i];
        if (step->input_count == 0) REFUSE(findings, "V8", step->place, "step `", step->name, "` reads from nothing");
        for (uint32_t k = 0; k < step->input_count; k++) {
            if (!is_in_range(topology, &step->inputs[k]))
                REFUSE(findings, "V8", step->place, "step `", step->name, "` reads from something that is not there");
            for (uint32_t n = 0; n < k; n++)
                if (step->inputs[k].kind == step->inputs[n].kind && step->inputs[k].index == step->inputs[n].index)
                    REFUSE(findings, "V8", step->place, "step `", step->name, "` names the same input twice");
        }
    }
    for (uint32_t i = 0; i < topology->sink_count; i++)
        if (!is_in_range(topology, &topology->sinks[i].from))
            REFUSE(findings, "V8", topology->sinks[i].place, "the sink to `", topology->sinks[i].topic,
                   "` reads from something that is not there");
    return findings->error_count == before;
}

/* An input of a step on or behind a cycle that is not placed either: walking these ends on the cycle. */
static uint32_t unplaced_input(const struct sf_topology *topology, const struct sfi_order *order, uint32_t step)
{
    const struct sf_step_spec *spec = &topology->steps[step];
    for (uint32_t i = 0; i < spec->input_count; i++)
        if (spec->inputs[i].kind == SF_INPUT_STEP && !order->is_placed[spec->inputs[i].index])
            return spec->inputs[i].index;
    assert(false && "a step that is not placed has an input that is not");
    return step;
}

static void report_cycle(const struct sf_topology *topology, const struct sfi_order *order,
                         struct sf_findings *findings)
{
    uint32_t at = 0;
    while (order->is_placed[at]) at++;
    for (uint32_t i = 0; i < topology->step_count; i++) at = unplaced_input(topology, order, at);
    uint32_t first = at;
    for (uint32_t next = unplaced_input(topology, order, at); next != at; next = unplaced_input(topology, order, next))
        if (next < first) first = next;
    char way[200];
    struct sf_text text;
    sf_text_init(&text, way, sizeof way);
    uint32_t next = first;
    do {
        next = unplaced_input(topology, order, next);
        sf_text_add(&text, " <- `");
        sf_text_add(&text, topology->steps[next].name);
        sf_text_add(&text, "`");
    } while (next != first);
    REFUSE(findings, "V8", topology->steps[first].place, "the steps form a cycle: `", topology->steps[first].name, "`",
           way);
}

/* A source's records enter one sub-topology; what joins them behind a cut has to be reached through a step. */
static void check_cuts(const struct sf_topology *topology, const struct sfi_order *order, struct sf_findings *findings)
{
    for (uint32_t i = 0; i < topology->step_count; i++) {
        const struct sf_step_spec *step = &topology->steps[i];
        for (uint32_t k = 0; k < step->input_count; k++) {
            if (step->inputs[k].kind != SF_INPUT_SOURCE || order->level[i] == 0) continue;
            const char *source = topology->sources[step->inputs[k].index].name;
            REFUSE(findings, "L1", step->place, "step `", step->name, "` joins source `", source,
                   "` with records that have changed lanes (L1), which is not yet supported for a source itself; put a "
                   "step between, such as {name: ", source, "-raw, from: ", source, ", filter: \"true\"}");
        }
    }
}

static bool is_read(const struct sf_topology *topology, enum sf_input_kind kind, uint32_t index)
{
    for (uint32_t i = 0; i < topology->step_count; i++)
        for (uint32_t k = 0; k < topology->steps[i].input_count; k++)
            if (topology->steps[i].inputs[k].kind == kind && topology->steps[i].inputs[k].index == index) return true;
    for (uint32_t i = 0; i < topology->sink_count; i++)
        if (topology->sinks[i].from.kind == kind && topology->sinks[i].from.index == index) return true;
    return false;
}

static void warn_of_unread(const struct sf_topology *topology, struct sf_findings *findings)
{
    for (uint32_t i = 0; i < topology->source_count; i++)
        if (!is_read(topology, SF_INPUT_SOURCE, i))
            FIND(findings, SF_FINDING_WARNING, "unread", topology->sources[i].place, "nothing reads source `",
                 topology->sources[i].name, "`: its records are consumed and dropped; take it out, or name it in a "
                 "step's or sink's `from`");
    for (uint32_t i = 0; i < topology->step_count; i++)
        if (!is_read(topology, SF_INPUT_STEP, i))
            FIND(findings, SF_FINDING_WARNING, "unread", topology->steps[i].place, "nothing reads step `",
                 topology->steps[i].name, "`: what it makes is dropped; take it out, or name it in a step's or sink's "
                 "`from`");
}

/* Is every value that comes from there an object (or null)? The graph has no cycle. */
static bool is_object(const struct sf_topology *topology, const struct sf_input *input)
{
    if (input->kind == SF_INPUT_SOURCE) return false;
    const struct sf_step_spec *step = &topology->steps[input->index];
    if (step->kind == SF_STEP_AGGREGATE) return true;
    if (step->kind == SF_STEP_MAP_VALUES) return step->fields != NULL;
    for (uint32_t i = 0; i < step->input_count; i++)
        if (!is_object(topology, &step->inputs[i])) return false;
    return true;
}

static void check_sink_values(const struct sf_topology *topology, struct sf_findings *findings)
{
    for (uint32_t i = 0; i < topology->sink_count; i++) {
        const struct sf_sink_spec *sink = &topology->sinks[i];
        bool is_number = sink->value == SF_SERDE_INT64 || sink->value == SF_SERDE_DOUBLE;
        if (is_number && is_object(topology, &sink->from))
            REFUSE(findings, "V8", sink->place, "the sink to `", sink->topic, "` writes numbers (`value: ",
                   sink->value == SF_SERDE_INT64 ? "int64" : "double", "`), but `",
                   topology->steps[sink->from.index].name,
                   "` makes objects with fields; leave `value` out, or put a step with `map-values: $.field` between");
    }
}

static void check_graph(const struct sf_topology *topology, struct sf_findings *findings)
{
    if (topology->source_count == 0) REFUSE(findings, "V8", no_place, "the application has no source");
    if (!check_inputs(topology, findings)) return;
    struct sfi_order order;
    if (sfi_order_find(topology, &order)) {
        check_cuts(topology, &order, findings);
        check_sink_values(topology, findings);
    } else {
        report_cycle(topology, &order, findings);
    }
}

/* ---- event time (V1, V3, V6, I5, T5) ---- */

static const char *first_windowed_step(const struct sf_topology *topology)
{
    for (uint32_t i = 0; i < topology->step_count; i++)
        if (topology->steps[i].kind == SF_STEP_AGGREGATE) return topology->steps[i].name;
    return NULL;
}

static void check_watermark(const struct sf_source_spec *source, const char *windowed, struct sf_findings *findings)
{
    const struct sf_watermark_spec *watermark = &source->watermark;
    char number[SF_TEXT_DURATION_BYTES];
    if (watermark->strategy == SF_STRATEGY_NONE && windowed != NULL)
        REFUSE(findings, "V1", watermark->place, "source `", source->name,
               "` has the watermark strategy `none`, which holds event time still, so that `", windowed,
               "` would never close a window; use `monotonous` on the record timestamp");
    if (watermark->bound_ms != SF_SPAN_NONE && watermark->bound_ms < 0)
        REFUSE(findings, "V3", watermark->place, "source `", source->name, "`: max-out-of-orderness is ",
               sf_text_of_duration(number, watermark->bound_ms), " and must not be negative");
    if (watermark->idleness_ms != SF_SPAN_NONE && watermark->idleness_ms <= 0)
        REFUSE(findings, "V3", watermark->place, "source `", source->name, "`: idleness is ",
               sf_text_of_duration(number, watermark->idleness_ms),
               " and must be above zero; leave it out to use stoatflow.watermark.idleness-timeout-ms");
}

static void check_source(const struct sf_source_spec *source, const char *windowed, struct sf_findings *findings)
{
    char number[SF_TEXT_DURATION_BYTES];
    check_watermark(source, windowed, findings);
    if (source->max_future_skew_ms == SF_SPAN_NONE && source->on_future != SF_FUTURE_ACCEPT)
        REFUSE(findings, "V8", source->place, "source `", source->name,
               "` has on-future-timestamp without max-future-skew; give both or neither");
    if (source->max_future_skew_ms != SF_SPAN_NONE && source->max_future_skew_ms < 0)
        REFUSE(findings, "V8", source->place, "source `", source->name, "`: max-future-skew is ",
               sf_text_of_duration(number, source->max_future_skew_ms), " and must not be negative");
}

static void warn_of_idleness_off(const struct sf_topology *topology, struct sf_findings *findings)
{
    if (!sfi_topology_is_event_time(topology) || topology->settings.idleness_timeout_ms != 0) return;
    char names[160];
    struct sf_text text;
    sf_text_init(&text, names, sizeof names);
    uint32_t count = 0;
    struct sf_place place = no_place;
    for (uint32_t i = 0; i < topology->source_count; i++) {
        const struct sf_source_spec *source = &topology->sources[i];
        if (source->watermark.idleness_ms != SF_SPAN_NONE) continue;
        if (count++ == 0)
            place = source->place;
        else
            sf_text_add(&text, ", ");
        sf_text_add(&text, source->name);
    }
    if (count == 0) return;
    FIND(findings, SF_FINDING_WARNING, "idleness-off", place,
         "stoatflow.watermark.idleness-timeout-ms is 0 and these sources set no idleness: ", names,
         "; once one of their partitions goes quiet, windows no longer close and stores no longer expire (I5)");
}

/* ---- windows and stores (V8, K6) ---- */

static void check_aggregate(const struct sf_step_spec *step, struct sf_findings *findings)
{
    const struct sf_window_spec *window = &step->window;
    char size[SF_TEXT_DURATION_BYTES], grace[SF_TEXT_DURATION_BYTES], retention[SF_TEXT_DURATION_BYTES];
    sf_text_of_duration(size, window->size_ms);
    sf_text_of_duration(grace, window->grace_ms);
    sf_text_of_duration(retention, step->store.retention_ms);
    if (step->aggregate_count == 0)
        REFUSE(findings, "V8", step->place, "step `", step->name, "` aggregates nothing; name at least one field");
    if (window->size_ms <= 0)
        REFUSE(findings, "V8", window->place, "step `", step->name, "`: the window size is ", size,
               " and must be above zero");
    if (window->grace_ms < 0)
        REFUSE(findings, "V8", window->place, "step `", step->name, "`: grace is ", grace,
               " and must not be negative");
    if (window->size_ms <= 0 || window->grace_ms < 0) return;
    if (window->size_ms > SF_TIME_VALID_MAX || window->grace_ms > SF_TIME_VALID_MAX - window->size_ms) {
        REFUSE(findings, "V8", window->place, "step `", step->name, "`: size ", size, " + grace ", grace,
               " lies beyond the year 9999");
        return;
    }
    if (step->store.retention_ms < window->size_ms + window->grace_ms)
        REFUSE(findings, "V8", step->store.place, "step `", step->name, "`: retention is ", retention,
               " and must not be shorter than size + grace, ",
               sf_text_of_duration((char[SF_TEXT_DURATION_BYTES]){0}, window->size_ms + window->grace_ms), " (K6)");
}

/* ---- settings (V3, V6, V8, L2) ---- */

static void check_barriers(const struct sf_settings *settings, struct sf_findings *findings)
{
    char a[SF_TEXT_DURATION_BYTES], b[SF_TEXT_DURATION_BYTES];
    if (settings->barrier_interval_ms_min > settings->barrier_interval_ms_max)
        REFUSE(findings, "V8", no_place, "stoatflow.commit-barrier.min-interval-ms, ",
               sf_text_of_duration(a, settings->barrier_interval_ms_min), ", is above max-interval-ms, ",
               sf_text_of_duration(b, settings->barrier_interval_ms_max));
    int64_t least = sf_time_add(sf_time_add(settings->barrier_timeout_ms, settings->barrier_interval_ms_max),
                                SFI_TRANSACTION_MARGIN_MS);
    if (settings->transaction_timeout_ms <= least)
        REFUSE(findings, "V8", no_place, "stoatflow.transaction-timeout-ms is ",
               sf_text_of_duration(a, settings->transaction_timeout_ms),
               " and must be longer than commit-barrier.timeout-ms + max-interval-ms + 10s, ",
               sf_text_of_duration(b, least), "; leave it out to have it set so");
}

static void check_settings(const struct sf_topology *topology, struct sf_findings *findings)
{
    const struct sf_settings *settings = &topology->settings;
    char number[SF_TEXT_DURATION_BYTES];
    if (settings->lanes > SF_LANES_MAX)
        REFUSE(findings, "V8", no_place, "stoatflow.processing.lanes is ", sf_text_of_int(number, settings->lanes),
               " and must lie in 1 ... 128 (L2)");
    if (settings->max_out_of_orderness_ms < 0)
        REFUSE(findings, "V3", no_place, "stoatflow.watermark.max-out-of-orderness-ms must not be negative (W1)");
    if (settings->idleness_timeout_ms < 0)
        REFUSE(findings, "V3", no_place,
               "stoatflow.watermark.idleness-timeout-ms must not be negative; 0 switches idleness off (I2)");
    if (settings->dispatch == SF_DISPATCH_DIRECT && sfi_topology_is_event_time(topology)) {
        const char *windowed = first_windowed_step(topology);
        REFUSE(findings, "V6", no_place, "stoatflow.processing.dispatch: direct has no event time, but ",
               windowed != NULL ? "the windowed step `" : "a source's `watermark", windowed != NULL ? windowed : "",
               "` needs it; leave dispatch out");
    }
    check_barriers(settings, findings);
}

bool sf_topology_check(const struct sf_topology *topology, struct sf_findings *findings)
{
    assert(topology->source_count <= SF_TOPOLOGY_SOURCES_MAX && topology->step_count <= SF_TOPOLOGY_STEPS_MAX);
    uint32_t before = findings->error_count;
    const char *windowed = first_windowed_step(topology);
    check_name(findings, no_place, "application.id", topology->application_id);
    check_settings(topology, findings);
    check_source_names(topology, findings);
    check_step_names(topology, findings);
    check_sinks(topology, findings);
    check_graph(topology, findings);
    for (uint32_t i = 0; i < topology->source_count; i++) check_source(&topology->sources[i], windowed, findings);
    for (uint32_t i = 0; i < topology->step_count; i++)
        if (topology->steps[i].kind == SF_STEP_AGGREGATE) check_aggregate(&topology->steps[i], findings);
    warn_of_idleness_off(topology, findings);
    if (findings->error_count == 0) { /* else these may follow from what is wrong */
        warn_of_loops(topology, findings);
        if (topology->sink_count > 0) warn_of_unread(topology, findings);
    }
    return findings->error_count == before;
}
