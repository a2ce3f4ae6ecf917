#include "core/topo/plan.h"

#include <assert.h>

#include "core/time/event_time.h"
#include "core/topo/order.h"

#define SFI_NODES_MAX (SF_TOPOLOGY_SOURCES_MAX + SF_TOPOLOGY_STEPS_MAX)

/* A node is a source (its index) or a step (source_count + its index). */
struct builder {
    struct sf_topology *topology;
    struct sf_plan *plan;
    uint32_t node_count;
    uint32_t group[SFI_NODES_MAX]; /* union-find: nodes of one sub-topology, the smallest is the root */
    uint32_t sub[SFI_NODES_MAX];   /* by root */
    struct sfi_order order;
};

static uint32_t node_of(const struct builder *b, const struct sf_input *input)
{
    return input->kind == SF_INPUT_SOURCE ? input->index : b->topology->source_count + input->index;
}

static uint32_t root_of(struct builder *b, uint32_t node)
{
    while (b->group[node] != node) {
        b->group[node] = b->group[b->group[node]];
        node = b->group[node];
    }
    return node;
}

static void join(struct builder *b, uint32_t x, uint32_t y)
{
    x = root_of(b, x);
    y = root_of(b, y);
    if (x < y) b->group[y] = x;
    if (y < x) b->group[x] = y;
}

static uint32_t level_of(const struct builder *b, uint32_t node)
{
    uint32_t source_count = b->topology->source_count;
    return node < source_count ? 0 : b->order.level[node - source_count];
}

static bool is_input_of(const struct sf_step_spec *step, enum sf_input_kind kind, uint32_t index)
{
    for (uint32_t i = 0; i < step->input_count; i++)
        if (step->inputs[i].kind == kind && step->inputs[i].index == index) return true;
    return false;
}

/* A step hops from `from` to `here`: what it hops to on the same level is one sub-topology, so that a key change in
 * front of several aggregations feeds one. */
static void join_hop_targets(struct builder *b, uint32_t from, uint32_t here)
{
    const struct sf_topology *topology = b->topology;
    for (uint32_t index = 0; topology->source_count + index < here; index++) {
        uint32_t other = topology->source_count + index;
        if (level_of(b, other) != level_of(b, here)) continue;
        if (is_input_of(&topology->steps[index], SF_INPUT_STEP, from - topology->source_count)) join(b, other, here);
    }
}

static void group_nodes(struct builder *b)
{
    const struct sf_topology *topology = b->topology;
    for (uint32_t node = 0; node < b->node_count; node++) b->group[node] = node;
    for (uint32_t index = 0; index < topology->step_count; index++) {
        const struct sf_step_spec *step = &topology->steps[index];
        uint32_t here = topology->source_count + index;
        for (uint32_t i = 0; i < step->input_count; i++) {
            uint32_t from = node_of(b, &step->inputs[i]);
            if (level_of(b, from) == level_of(b, here)) {
                join(b, from, here);
            } else {
                assert(step->inputs[i].kind == SF_INPUT_STEP);
                join_hop_targets(b, from, here);
            }
        }
    }
}

/* Sub-topologies by level, then by their first node: upstream before downstream, since every hop goes down. */
static void number_subs(struct builder *b)
{
    uint32_t numbered = 0, seen = 0;
    for (uint32_t level = 0; seen < b->node_count; level++) {
        assert(level <= b->node_count);
        for (uint32_t node = 0; node < b->node_count; node++) {
            if (level_of(b, node) != level) continue;
            seen++;
            if (root_of(b, node) == node) b->sub[node] = numbered++;
        }
    }
    b->plan->sub_count = numbered;
}

static uint32_t sub_of(struct builder *b, uint32_t node)
{
    return b->sub[root_of(b, node)];
}

static uint32_t *take_indexes(struct builder *b, uint32_t count)
{
    return sf_topology_take(b->topology, (count > 0 ? count : 1) * sizeof(uint32_t));
}

/* What leaves a source or step: steps by their place in the file, then sinks by theirs. */
static const struct sf_route *find_routes(struct builder *b, enum sf_input_kind kind, uint32_t index,
                                          uint32_t *count_out)
{
    const struct sf_topology *topology = b->topology;
    struct sf_input input = {.kind = kind, .index = index};
    uint32_t sub = sub_of(b, node_of(b, &input));
    uint32_t count = 0;
    for (uint32_t i = 0; i < topology->step_count; i++) count += is_input_of(&topology->steps[i], kind, index);
    for (uint32_t i = 0; i < topology->sink_count; i++)
        count += topology->sinks[i].from.kind == kind && topology->sinks[i].from.index == index;
    struct sf_route *routes = sf_topology_take(b->topology, (count > 0 ? count : 1) * sizeof *routes);
    uint32_t at = 0;
    for (uint32_t i = 0; i < topology->step_count; i++) {
        if (!is_input_of(&topology->steps[i], kind, index)) continue;
        bool is_hop = sub_of(b, topology->source_count + i) != sub;
        assert(!is_hop || kind == SF_INPUT_STEP);
        routes[at++] = (struct sf_route){.kind = is_hop ? SF_ROUTE_HOP : SF_ROUTE_STEP, .target = i};
    }
    for (uint32_t i = 0; i < topology->sink_count; i++)
        if (topology->sinks[i].from.kind == kind && topology->sinks[i].from.index == index)
            routes[at++] = (struct sf_route){.kind = SF_ROUTE_SINK, .target = i};
    assert(at == count);
    *count_out = count;
    return routes;
}

static const uint32_t *find_neighbours(struct builder *b, uint32_t sub, bool is_upstream, uint32_t *count_out)
{
    const struct sf_topology *topology = b->topology;
    bool is_found[SFI_NODES_MAX] = {false};
    uint32_t count = 0;
    for (uint32_t i = 0; i < topology->step_count; i++) {
        const struct sf_step_spec *step = &topology->steps[i];
        uint32_t to = sub_of(b, topology->source_count + i);
        for (uint32_t k = 0; k < step->input_count; k++) {
            uint32_t from = sub_of(b, node_of(b, &step->inputs[k]));
            uint32_t mine = is_upstream ? to : from, other = is_upstream ? from : to;
            if (mine != sub || other == sub || is_found[other]) continue;
            is_found[other] = true;
            count++;
        }
    }
    uint32_t *neighbours = take_indexes(b, count);
    *count_out = 0;
    for (uint32_t other = 0; other < b->plan->sub_count; other++)
        if (is_found[other]) neighbours[(*count_out)++] = other;
    return neighbours;
}

static void fill_sub(struct builder *b, uint32_t index)
{
    const struct sf_topology *topology = b->topology;
    struct sf_plan_sub *sub = &b->plan->subs[index];
    uint32_t *steps = take_indexes(b, topology->step_count);
    for (uint32_t i = 0; i < topology->step_count; i++) {
        uint32_t step = b->order.steps[i];
        if (sub_of(b, topology->source_count + step) != index) continue;
        b->plan->steps[step].rank = sub->step_count;
        steps[sub->step_count++] = step;
    }
    uint32_t *sources = take_indexes(b, topology->source_count);
    for (uint32_t i = 0; i < topology->source_count; i++)
        if (sub_of(b, i) == index) sources[sub->source_count++] = i;
    sub->steps = steps;
    sub->sources = sources;
    sub->upstream = find_neighbours(b, index, true, &sub->upstream_count);
    sub->downstream = find_neighbours(b, index, false, &sub->downstream_count);
}

/* F8: what one closing window adds to the lag of a window behind it. */
static int64_t delta_between(const struct sf_window_spec *upstream, const struct sf_window_spec *here)
{
    if (here->size_ms % upstream->size_ms == 0)
        return upstream->grace_ms > here->grace_ms ? upstream->grace_ms - here->grace_ms : 0;
    int64_t most = sf_time_add(upstream->size_ms, upstream->grace_ms);
    int64_t least = sf_time_add(1, here->grace_ms);
    return most > least ? most - least : 0;
}

/* The largest δ that any closing operator on the paths into `step` hands on; through steps that close nothing. */
static int64_t delta_into(const struct builder *b, uint32_t step, const struct sf_window_spec *window)
{
    const struct sf_topology *topology = b->topology;
    bool is_seen[SF_TOPOLOGY_STEPS_MAX] = {false};
    uint32_t waiting[SF_TOPOLOGY_STEPS_MAX], waiting_count = 0;
    int64_t largest = 0;
    waiting[waiting_count++] = step;
    while (waiting_count > 0) {
        const struct sf_step_spec *at = &topology->steps[waiting[--waiting_count]];
        for (uint32_t i = 0; i < at->input_count; i++) {
            uint32_t from = at->inputs[i].index;
            if (at->inputs[i].kind == SF_INPUT_SOURCE || is_seen[from]) continue;
            is_seen[from] = true;
            if (!sfi_step_is_closing(&topology->steps[from])) {
                waiting[waiting_count++] = from;
                continue;
            }
            int64_t term = window != NULL ? delta_between(&topology->steps[from].window, window) : 0;
            largest = sf_time_max(largest, sf_time_add(b->plan->steps[from].delta_ms, term));
        }
    }
    return largest;
}

static void find_lag(struct builder *b, uint32_t index)
{
    const struct sf_step_spec *step = &b->topology->steps[index];
    struct sf_plan_step *out = &b->plan->steps[index];
    for (uint32_t i = 0; i < step->input_count; i++) {
        if (step->inputs[i].kind == SF_INPUT_SOURCE) continue;
        uint32_t from = step->inputs[i].index;
        uint32_t hops = b->plan->steps[from].hops + (sfi_step_is_closing(&b->topology->steps[from]) ? 1 : 0);
        if (hops > out->hops) out->hops = hops;
    }
    out->delta_ms = delta_into(b, index, step->kind == SF_STEP_AGGREGATE ? &step->window : NULL);
    if (out->hops > b->plan->hops_max) b->plan->hops_max = out->hops;
}

static bool reaches_sink(const struct sf_route *routes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (routes[i].kind == SF_ROUTE_SINK) return true;
    return false;
}

/* Headers travel with a record until an aggregation makes results of it. */
static bool has_headers_out(const struct builder *b)
{
    const struct sf_topology *topology = b->topology;
    bool is_carried[SF_TOPOLOGY_STEPS_MAX] = {false};
    for (uint32_t i = 0; i < topology->source_count; i++)
        if (reaches_sink(b->plan->sources[i].routes, b->plan->sources[i].route_count)) return true;
    for (uint32_t k = 0; k < topology->step_count; k++) {
        uint32_t index = b->order.steps[k];
        const struct sf_step_spec *step = &topology->steps[index];
        if (step->kind == SF_STEP_AGGREGATE) continue;
        for (uint32_t i = 0; i < step->input_count; i++)
            if (step->inputs[i].kind == SF_INPUT_SOURCE || is_carried[step->inputs[i].index]) is_carried[index] = true;
        if (is_carried[index] && reaches_sink(b->plan->steps[index].routes, b->plan->steps[index].route_count))
            return true;
    }
    return false;
}

struct sf_plan *sf_plan_new(struct sf_topology *topology)
{
    struct sf_plan *plan = sf_topology_take(topology, sizeof *plan);
    struct builder b = {.topology = topology, .plan = plan};
    b.node_count = topology->source_count + topology->step_count;
    plan->topology = topology;
    plan->steps = sf_topology_take(topology, (topology->step_count + 1) * sizeof *plan->steps);
    plan->sources = sf_topology_take(topology, (topology->source_count + 1) * sizeof *plan->sources);
    plan->is_event_time = sfi_topology_is_event_time(topology);

    bool is_ordered = sfi_order_find(topology, &b.order);
    assert(is_ordered);
    (void)is_ordered;
    group_nodes(&b);
    number_subs(&b);
    plan->subs = sf_topology_take(topology, (plan->sub_count + 1) * sizeof *plan->subs);
    for (uint32_t i = 0; i < topology->source_count; i++) {
        plan->sources[i].sub = sub_of(&b, i);
        plan->sources[i].routes = find_routes(&b, SF_INPUT_SOURCE, i, &plan->sources[i].route_count);
    }
    for (uint32_t i = 0; i < topology->step_count; i++) {
        plan->steps[i].step = i;
        plan->steps[i].sub = sub_of(&b, topology->source_count + i);
        plan->steps[i].routes = find_routes(&b, SF_INPUT_STEP, i, &plan->steps[i].route_count);
    }
    for (uint32_t i = 0; i < topology->step_count; i++) find_lag(&b, b.order.steps[i]);
    for (uint32_t i = 0; i < plan->sub_count; i++) fill_sub(&b, i);
    plan->has_headers_out = has_headers_out(&b);
    return plan;
}
