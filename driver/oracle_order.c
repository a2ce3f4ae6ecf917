/*
 * How far L6 lets rows be predicted, per step and per sink.
 *
 *     is_exact    which rows there are, and their values
 *     is_keyed    rows of one key come from one lane in a known order
 *     is_total    rows of one lane come in the order of dispatch
 *     has_finals  rows come from passes, whose order among keys is not promised
 *
 * Past a key change what two lanes send to a third meets in any order. An aggregation does not mind where it is order
 * independent; its `on-window-update` rows do, and so do sums once they have met a double, which rounds.
 */
#include <string.h>

#include "driver/oracle_parts.h"

struct stream {
    bool is_exact;
    bool is_keyed;
    bool is_total;
    bool has_finals;
};

static bool is_hop(const struct sfi_oracle *oracle, struct sf_input input, uint32_t sub)
{
    uint32_t from = input.kind == SF_INPUT_SOURCE ? oracle->world.plan->sources[input.index].sub
                                                  : oracle->world.plan->steps[input.index].sub;
    return from != sub;
}

static struct stream input_of(const struct sfi_oracle *oracle, const struct stream *streams, const bool *is_done,
                              uint32_t index, bool *is_ready_out)
{
    const struct sf_step_spec *spec = &oracle->world.topology->steps[index];
    uint32_t sub = oracle->world.plan->steps[index].sub;
    const struct sf_plan_sub *plan = &oracle->world.plan->subs[sub];
    uint32_t lanes = oracle->world.lanes;
    struct stream all = {true, true, true, false};
    uint32_t finals = 0, hops = 0;
    *is_ready_out = true;
    for (uint32_t i = 0; i < spec->input_count; i++) {
        struct stream one = {true, true, lanes == 1, false};
        if (spec->inputs[i].kind == SF_INPUT_STEP) {
            if (!is_done[spec->inputs[i].index]) *is_ready_out = false;
            one = streams[spec->inputs[i].index];
        }
        bool crosses = is_hop(oracle, spec->inputs[i], sub);
        bool is_single = lanes == 1 && plan->upstream_count == 1 && plan->source_count == 0;
        if (crosses && !is_single) one.is_total = false;
        if (crosses && !one.is_total) one.is_keyed = false;
        hops += crosses;
        finals += one.has_finals;
        all.is_exact = all.is_exact && one.is_exact;
        all.is_keyed = all.is_keyed && one.is_keyed;
        all.is_total = all.is_total && one.is_total;
    }
    all.has_finals = finals > 0;
    bool is_mixed = spec->input_count > 1 && (finals > 0 || hops > 0);
    if (is_mixed) all.is_keyed = all.is_total = false;
    return all;
}

static struct stream output_of(const struct sf_step_spec *spec, struct stream in, bool has_rounded)
{
    switch (spec->kind) {
    case SF_STEP_MERGE:
    case SF_STEP_FILTER:
    case SF_STEP_MAP_VALUES: return in;
    case SF_STEP_KEY_BY: in.is_keyed = in.is_total; return in;
    case SF_STEP_AGGREGATE: break;
    }
    bool is_free = in.is_keyed || (!has_rounded && spec->emit == SF_EMIT_ON_CLOSE);
    in.is_exact = in.is_exact && is_free;
    if (spec->emit == SF_EMIT_ON_CLOSE) return (struct stream){in.is_exact, true, false, true};
    return in;
}

static void order_sinks(struct sfi_oracle *oracle, const struct stream *streams)
{
    const struct sf_topology *topology = oracle->world.topology;
    for (uint32_t i = 0; i < topology->sink_count; i++) {
        const struct sf_sink_spec *spec = &topology->sinks[i];
        struct stream from = {true, true, oracle->world.lanes == 1, false};
        if (spec->from.kind == SF_INPUT_STEP) from = streams[spec->from.index];
        struct sfi_oracle_sink *sink = &oracle->sinks[i];
        *sink = (struct sfi_oracle_sink){.stands_for = i, .is_exact = from.is_exact, .is_ordered = from.is_keyed};
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(topology->sinks[k].topic, spec->topic) != 0) continue;
            sink->stands_for = k;
            oracle->sinks[k].is_exact = oracle->sinks[k].is_exact && from.is_exact;
            oracle->sinks[k].is_ordered = false; /* rows of two sinks meet in any order */
            break;
        }
    }
}

void sfi_oracle_order(struct sfi_oracle *oracle)
{
    uint32_t steps = oracle->world.topology->step_count;
    struct stream *streams = sf_calloc(oracle->alloc, steps, sizeof *streams);
    bool *is_done = sf_calloc(oracle->alloc, steps, sizeof *is_done);
    uint32_t left = steps;
    while (left > 0) { /* a DAG: each round finishes one at least */
        for (uint32_t i = 0; i < steps; i++) {
            bool is_ready;
            if (is_done[i]) continue;
            struct stream in = input_of(oracle, streams, is_done, i, &is_ready);
            if (!is_ready) continue;
            const struct sf_step_spec *spec = &oracle->world.topology->steps[i];
            streams[i] = output_of(spec, in, oracle->has_rounded[i]);
            oracle->is_step_keyed[i] = in.is_keyed;
            oracle->is_step_exact[i] = in.is_exact && (in.is_keyed || !oracle->has_rounded[i]);
            is_done[i] = true;
            left--;
        }
    }
    order_sinks(oracle, streams);
    sf_cfree(oracle->alloc, streams, steps, sizeof *streams);
    sf_cfree(oracle->alloc, is_done, steps, sizeof *is_done);
}

/* A sum of doubles in this step, behind a key change. */
static bool meets_double(const struct sfi_model_step *step)
{
    for (uint32_t i = 0; i < step->windows.dirty_count; i++) {
        const struct sfi_model_dirty *dirty = &step->windows.dirty[i];
        struct sfi_model_row *row = sfi_model_row_at(&step->windows, dirty->pane, dirty->row);
        for (uint32_t k = 0; k < step->aggregates.count; k++)
            if (step->aggregates.specs[k].kind == SF_AGGREGATE_SUM &&
                sfi_model_row_numbers(row)[k].kind == SFI_MODEL_DOUBLE)
                return true;
    }
    return false;
}

void sfi_oracle_order_watch(struct sfi_oracle *oracle)
{
    bool is_news = false;
    for (uint32_t i = 0; i < oracle->world.topology->step_count; i++) {
        const struct sfi_model_step *step = &oracle->model.steps[i];
        bool is_watched = step->spec->kind == SF_STEP_AGGREGATE && !oracle->is_step_keyed[i] && !oracle->has_rounded[i];
        if (!is_watched || !meets_double(step)) continue;
        oracle->has_rounded[i] = is_news = true;
    }
    if (is_news) sfi_oracle_order(oracle);
}
