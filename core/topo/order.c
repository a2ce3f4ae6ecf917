#include "core/topo/order.h"

#include <assert.h>
#include <string.h>

/* An operation whose state belongs to a key. */
static bool is_keyed(const struct sf_step_spec *step)
{
    return step->kind == SF_STEP_AGGREGATE;
}

bool sfi_step_is_closing(const struct sf_step_spec *step)
{
    return step->kind == SF_STEP_AGGREGATE && step->emit == SF_EMIT_ON_CLOSE;
}

bool sfi_topology_is_event_time(const struct sf_topology *topology)
{
    for (uint32_t i = 0; i < topology->source_count; i++)
        if (topology->sources[i].watermark.is_given) return true;
    for (uint32_t i = 0; i < topology->step_count; i++)
        if (topology->steps[i].kind == SF_STEP_AGGREGATE) return true;
    return false;
}

static uint32_t level_of(const struct sfi_order *order, const struct sf_input *input)
{
    return input->kind == SF_INPUT_SOURCE ? 0 : order->level[input->index];
}

static bool is_changed(const struct sfi_order *order, const struct sf_input *input)
{
    return input->kind == SF_INPUT_STEP && order->is_key_changed[input->index];
}

static bool is_ready(const struct sf_topology *topology, const struct sfi_order *order, uint32_t index)
{
    const struct sf_step_spec *step = &topology->steps[index];
    if (order->is_placed[index]) return false;
    for (uint32_t i = 0; i < step->input_count; i++) {
        const struct sf_input *input = &step->inputs[i];
        assert(input->index < (input->kind == SF_INPUT_SOURCE ? topology->source_count : topology->step_count));
        if (input->kind == SF_INPUT_STEP && !order->is_placed[input->index]) return false;
    }
    return true;
}

static void place(const struct sf_topology *topology, struct sfi_order *order, uint32_t index)
{
    const struct sf_step_spec *step = &topology->steps[index];
    uint32_t level = 0;
    for (uint32_t i = 0; i < step->input_count; i++) {
        const struct sf_input *input = &step->inputs[i];
        uint32_t here = level_of(order, input);
        if (is_keyed(step) && is_changed(order, input)) here++;
        if (here > level) level = here;
    }
    bool is_key_changed = step->kind == SF_STEP_KEY_BY;
    for (uint32_t i = 0; i < step->input_count && !is_keyed(step); i++) {
        const struct sf_input *input = &step->inputs[i];
        if (level_of(order, input) == level && is_changed(order, input)) is_key_changed = true;
    }
    order->level[index] = level;
    order->is_key_changed[index] = is_key_changed;
    order->is_placed[index] = true;
    order->steps[order->step_count++] = index;
}

/* Always the first step of the file whose inputs are placed. */
bool sfi_order_find(const struct sf_topology *topology, struct sfi_order *order_out)
{
    assert(topology->step_count <= SF_TOPOLOGY_STEPS_MAX);
    memset(order_out, 0, sizeof *order_out);
    while (order_out->step_count < topology->step_count) {
        uint32_t next = 0;
        while (next < topology->step_count && !is_ready(topology, order_out, next)) next++;
        if (next == topology->step_count) return false;
        place(topology, order_out, next);
    }
    return true;
}
