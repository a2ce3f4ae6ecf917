#include "core/run/flow_impl.h"

#include "core/bytes.h"
#include "core/text.h"
#include "core/state/packed.h"
#include "core/time/event_time.h"

#define ROW_FRAME_BYTES 128u /* at most, of a changelog record around its key, its fields' names and their values */

/* ------------------------------------------------------------------ F5: the pass */

static int64_t pass_clock(const struct sf_flow_step *step, const struct sf_ring *ring, int64_t flush_stamp)
{
    if (flush_stamp != SF_TIME_UNSET) return sf_time_add(flush_stamp, -step->plan->delta_ms);
    return sf_ring_frontier(ring, step->plan->hops, step->plan->delta_ms);
}

static void raise_emitted(struct sf_flow *flow, struct sf_flow_step *step, int64_t clock)
{
    if (clock <= step->emitted) return;
    step->emitted = clock;
    struct sf_stamp *last = step->emitted_count > 0 ? &step->emitted_at[step->emitted_count - 1] : NULL;
    if (last != NULL && last->epoch == flow->epoch) {
        last->w = clock;
        return;
    }
    if (step->emitted_count == sizeof step->emitted_at / sizeof step->emitted_at[0]) {
        memmove(step->emitted_at, step->emitted_at + 1, (step->emitted_count - 1) * sizeof step->emitted_at[0]);
        step->emitted_count--;
    }
    step->emitted_at[step->emitted_count++] = (struct sf_stamp){.epoch = flow->epoch, .w = clock};
}

/* Rows of one due window, from the cursor on; true when it is through. */
static bool emit_window(struct sf_flow *flow, struct sf_flow_step *step, uint32_t budget, uint32_t *used)
{
    uint32_t count = sf_window_store_count(step->store, flow->pass_start);
    while (flow->pass_row < count) {
        if (*used >= budget || !sf_flow_drain(flow)) return false;
        struct sf_window_row row = sf_window_store_row(step->store, flow->pass_start, flow->pass_row);
        flow->pass_row++;
        flow->pass_results++;
        (*used)++;
        if (!sfi_flow_result(flow, step, flow->pass_start, &row, NULL)) return false;
    }
    return true;
}

/* One operator; true when it has emitted all that is due and expired what may go. */
static bool pass_step(struct sf_flow *flow, struct sf_flow_step *step, int64_t clock, uint32_t budget, uint32_t *used)
{
    if (clock == SF_TIME_UNSET) return true; /* F9 */
    if (step->spec->emit == SF_EMIT_ON_CLOSE) {
        int64_t grace = step->spec->window.grace_ms;
        while (true) {
            if (flow->pass_start == SF_TIME_UNSET) {
                flow->pass_row = 0;
                if (!sf_window_store_due(step->store, step->emitted, clock, &flow->pass_start)) break;
            }
            if (!emit_window(flow, step, budget, used)) return false;
            /* the frontier moves window by window, so that a pass that is cut goes on behind it */
            raise_emitted(flow, step, sf_time_add(flow->pass_start + step->spec->window.size_ms, grace));
            flow->pass_start = SF_TIME_UNSET;
        }
        flow->pass_start = SF_TIME_UNSET;
        raise_emitted(flow, step, clock);
    }
    int64_t expiry = step->spec->emit == SF_EMIT_ON_CLOSE ? step->emitted : clock; /* K6 */
    if (expiry > step->expired) {
        sf_window_store_expire(step->store, expiry);
        step->expired = expiry;
    }
    return true;
}

bool sf_flow_pass(struct sf_flow *flow, const struct sf_ring *ring, int64_t flush_stamp, uint32_t budget,
                  uint32_t *used_out)
{
    uint32_t used = 0;
    for (; flow->pass_rank < flow->step_count; flow->pass_rank++) {
        struct sf_flow_step *step = &flow->steps[flow->pass_rank];
        if (step->spec->kind != SF_STEP_AGGREGATE) continue;
        if (!pass_step(flow, step, pass_clock(step, ring, flush_stamp), budget, &used)) {
            *used_out = used;
            return false;
        }
    }
    flow->pass_rank = 0;
    *used_out = used;
    return true;
}

bool sf_flow_has_work(const struct sf_flow *flow, const struct sf_ring *ring)
{
    if (flow->pass_results > 0) return true;
    for (uint32_t rank = 0; rank < flow->step_count; rank++) {
        const struct sf_flow_step *step = &flow->steps[rank];
        int64_t start;
        if (step->spec->kind != SF_STEP_AGGREGATE || step->spec->emit != SF_EMIT_ON_CLOSE) continue;
        int64_t newest = sf_time_add(sf_ring_newest(ring), -step->plan->delta_ms);
        if (sf_window_store_due(step->store, step->emitted, newest, &start)) return true;
    }
    return false;
}

/* ------------------------------------------------------------------ sealing */

static void put_change(struct sf_flow *flow, uint32_t target, const struct sf_change *change)
{
    uint32_t key_len = change->key.len;
    uint32_t value_len = sfi_len_or_null(change->value);
    struct sf_wire *wire = sf_outbox_append(&flow->commit, key_len, value_len, SF_WIRE_NULL);
    uint8_t *at = (uint8_t *)(wire + 1);
    memcpy(at, change->key.data, key_len);
    if (sf_wire_len(value_len) > 0) memcpy(at + key_len, change->value.data, value_len);
    int32_t partitions = flow->config.targets->items[target].partition_count;
    wire->ts_ms = change->ts_ms;
    wire->watermark = 0;
    wire->target = target;
    wire->hash = (uint64_t)sf_change_partition(change, partitions);
}

static bool seal_step(struct sf_flow *flow, struct sf_flow_step *step, uint32_t target, uint32_t budget, uint32_t *used)
{
    struct sf_change change;
    if (!flow->is_seal_begun) sf_window_store_seal_begin(step->store);
    flow->is_seal_begun = true;
    while (sf_window_store_seal_next(step->store, &change)) {
        if (*used >= budget || !sf_outbox_drain(&flow->commit)) return false;
        put_change(flow, target, &change);
        sf_window_store_seal_accept(step->store);
        (*used)++;
    }
    flow->is_seal_begun = false;
    return true;
}

/* K2: one row per operator, by lane 0, which is as far as the others are. */
static void seal_frontiers(struct sf_flow *flow)
{
    for (uint32_t rank = 0; rank < flow->step_count && flow->config.lane == 0; rank++) {
        struct sf_flow_step *step = &flow->steps[rank];
        uint32_t target = flow->config.targets->frontier_of_step[step->plan->step];
        if (target == SF_TARGET_NONE || step->emitted_count == 0) continue;
        if (step->emitted_at[step->emitted_count - 1].epoch != flow->epoch) continue;
        uint8_t value[8];
        const char *name = step->spec->store.name;
        struct sf_change change = {.key = {(const uint8_t *)name, (uint32_t)strlen(name)},
                                   .value = {value, sizeof value},
                                   .record_key = {(const uint8_t *)name, (uint32_t)strlen(name)},
                                   .ts_ms = sf_time_is_valid(step->emitted) ? step->emitted : 0};
        sf_put_be64(value, (uint64_t)step->emitted);
        put_change(flow, target, &change);
    }
}

bool sf_flow_seal(struct sf_flow *flow, uint32_t budget, uint32_t *used_out)
{
    uint32_t used = 0;
    *used_out = 0;
    if (flow->is_sealed) return sf_flow_drain(flow);
    if (flow->commit.flags == SF_OUT_RESULTS) sf_outbox_close_block(&flow->commit, SF_OUT_CHANGES);
    for (; flow->seal_rank < flow->step_count; flow->seal_rank++) {
        struct sf_flow_step *step = &flow->steps[flow->seal_rank];
        if (step->spec->kind != SF_STEP_AGGREGATE) continue;
        uint32_t target = flow->config.targets->changelog_of_step[step->plan->step];
        if (target == SF_TARGET_NONE) continue;
        if (!seal_step(flow, step, target, budget, &used)) {
            *used_out = used;
            return false;
        }
    }
    sf_outbox_close_block(&flow->commit, SF_OUT_FRONTIERS);
    seal_frontiers(flow);
    for (uint32_t i = 0; i < flow->hop_count; i++) sf_outbox_close_block(&flow->hops[i], 0);
    sf_outbox_close_block(&flow->commit, SF_OUT_RESULTS);
    flow->seal_rank = 0;
    *used_out = used;
    flow->is_sealed = true;
    return sf_flow_drain(flow); /* what spilled stands before CROSSED, too (B6) */
}

/* ------------------------------------------------------------------ epochs */

void sf_flow_set_floors(struct sf_flow *flow, const struct sf_ring *ring)
{
    for (uint32_t rank = 0; rank < flow->step_count; rank++) {
        struct sf_flow_step *step = &flow->steps[rank];
        step->floor = sf_ring_floor(ring, step->plan->hops, step->plan->delta_ms);
    }
}

static void clear_counts(struct sf_flow *flow)
{
    memset(flow->counts, 0, flow->step_count * sizeof *flow->counts);
    memset(flow->sink_counts, 0, flow->config.targets->sink_count * sizeof *flow->sink_counts);
}

const struct sf_lane_counts *sf_flow_rotate(struct sf_flow *flow, uint64_t epoch, const struct sf_ring *ring)
{
    flow->frozen = (struct sf_lane_counts){
        .steps = flow->counts, .step_count = flow->step_count, .sinks = flow->sink_counts};
    flow->counts = flow->counts == flow->halves[0] ? flow->halves[1] : flow->halves[0];
    flow->sink_counts = flow->sink_counts == flow->sink_halves[0] ? flow->sink_halves[1] : flow->sink_halves[0];
    clear_counts(flow);
    flow->epoch = epoch;
    sf_outbox_rotate(&flow->commit, epoch);
    for (uint32_t i = 0; i < flow->hop_count; i++) sf_outbox_rotate(&flow->hops[i], epoch);
    for (uint32_t rank = 0; rank < flow->step_count; rank++)
        if (flow->steps[rank].store != NULL) sf_window_store_rotate(flow->steps[rank].store, epoch);
    sf_flow_set_floors(flow, ring);
    flow->pass_results = 0;
    flow->is_sealed = false;
    return &flow->frozen;
}

void sf_flow_committed(struct sf_flow *flow, uint64_t epoch)
{
    for (uint32_t rank = 0; rank < flow->step_count; rank++)
        if (flow->steps[rank].store != NULL) sf_window_store_committed(flow->steps[rank].store, epoch);
}

static void fall_back_emitted(struct sf_flow_step *step, uint64_t cut)
{
    while (step->emitted_count > 1 && step->emitted_at[step->emitted_count - 1].epoch > cut) step->emitted_count--;
    step->emitted = step->emitted_at[step->emitted_count - 1].w;
    step->expired = sf_time_min(step->expired, step->emitted);
}

void sf_flow_fall_back(struct sf_flow *flow, uint64_t cut, uint64_t epoch, uint32_t generation,
                       const struct sf_ring *ring)
{
    sf_outbox_fall_back(&flow->commit, generation, epoch);
    for (uint32_t i = 0; i < flow->hop_count; i++) sf_outbox_fall_back(&flow->hops[i], generation, epoch);
    for (uint32_t rank = 0; rank < flow->step_count; rank++) {
        struct sf_flow_step *step = &flow->steps[rank];
        if (step->store == NULL) continue;
        sf_window_store_fall_back(step->store, cut, epoch);
        fall_back_emitted(step, cut);
        if (step->spec->emit != SF_EMIT_ON_CLOSE) step->expired = SF_TIME_UNSET;
    }
    clear_counts(flow);
    flow->epoch = epoch;
    flow->pass_rank = 0;
    flow->pass_start = SF_TIME_UNSET;
    flow->pass_row = 0;
    flow->pass_results = 0;
    flow->seal_rank = 0;
    flow->is_seal_begun = false;
    flow->is_sealed = false;
    sf_flow_set_floors(flow, ring);
}

uint64_t sf_flow_uncommitted_bytes(const struct sf_flow *flow)
{
    uint64_t bytes = 0;
    for (uint32_t rank = 0; rank < flow->step_count; rank++)
        if (flow->steps[rank].store != NULL) bytes += sf_window_store_uncommitted_bytes(flow->steps[rank].store);
    return bytes;
}

void sf_flow_seed(struct sf_flow *flow, uint32_t step_index, int64_t emitted)
{
    struct sf_flow_step *step = &flow->steps[flow->config.plan->steps[step_index].rank];
    step->emitted = emitted;
    step->emitted_at[0] = (struct sf_stamp){.epoch = 0, .w = emitted};
    step->emitted_count = 1;
    step->expired = emitted;
}

/* ------------------------------------------------------------------ life */

/* How long a key may be for the largest row with it, in either format, to fit into a record of the changelog. */
static uint32_t key_bytes_max(const struct sf_flow *flow, const struct sf_flow_step *step)
{
    uint32_t target = flow->config.targets->changelog_of_step[step->plan->step];
    if (target == SF_TARGET_NONE) return UINT32_MAX;
    uint64_t beside = ROW_FRAME_BYTES + SF_PACKED_VALUE_BYTES_MAX;
    for (uint32_t i = 0; i < step->spec->aggregate_count; i++) /* a name may be escaped, a number has 25 characters */
        beside += 6 * strlen(step->spec->aggregates[i].name) + 32;
    uint32_t room = flow->config.targets->items[target].record_bytes_max;
    return beside < room ? room - (uint32_t)beside : 0;
}

static bool compile_step(struct sf_flow *flow, struct sf_flow_step *step, struct sf_expression_error *error)
{
    const struct sf_step_spec *spec = step->spec;
    struct sf_alloc alloc = flow->config.alloc;
    if (spec->kind == SF_STEP_AGGREGATE) {
        if (!sf_aggregates_compile(spec->aggregates, spec->aggregate_count, alloc, &step->aggregates, error))
            return false;
        uint32_t target = flow->config.targets->changelog_of_step[step->plan->step];
        step->key_bytes_max = key_bytes_max(flow, step);
        step->store = sf_window_store_new(
            &(struct sf_window_store_config){.alloc = alloc,
                                             .record_bytes_max = target != SF_TARGET_NONE
                                                 ? flow->config.targets->items[target].record_bytes_max
                                                 : UINT32_MAX,
                                             .step = spec,
                                             .aggregates = step->aggregates,
                                             .is_packed = flow->config.plan->topology->settings.is_changelog_packed,
                                             .epoch = flow->config.epoch});
        return true;
    }
    if (spec->fields != NULL) return sf_map_compile_fields(spec->fields, spec->field_count, alloc, &step->map, error);
    if (spec->expression == NULL) return true;
    if (spec->kind == SF_STEP_MAP_VALUES) return sf_map_compile(spec->expression, alloc, &step->map, error);
    return sf_expression_compile(spec->expression, strlen(spec->expression), alloc, &step->expression, error);
}

static bool init_steps(struct sf_flow *flow, struct sf_error *error)
{
    const struct sf_plan *plan = flow->config.plan;
    for (uint32_t rank = 0; rank < flow->step_count; rank++) {
        struct sf_flow_step *step = &flow->steps[rank];
        uint32_t index = flow->plan_sub->steps[rank];
        struct sf_expression_error wrong = {0};
        step->spec = &plan->topology->steps[index];
        step->plan = &plan->steps[index];
        step->floor = SF_TIME_UNSET;
        step->emitted = SF_TIME_UNSET;
        step->emitted_at[0] = (struct sf_stamp){.epoch = 0, .w = SF_TIME_UNSET};
        step->emitted_count = 1;
        step->expired = SF_TIME_UNSET;
        if (compile_step(flow, step, &wrong)) continue;
        struct sf_text text;
        error->status = SF_E_ARG;
        sf_text_init(&text, error->text, sizeof error->text);
        sf_text_add(&text, "step ");
        sf_text_add(&text, step->spec->name);
        sf_text_add(&text, ": ");
        sf_text_add(&text, wrong.text);
        return false;
    }
    return true;
}

/* Which aggregation the records of a source meet first, if no step before it may change key or time. */
static struct sf_flow_step *expected_of(struct sf_flow *flow, uint32_t source)
{
    const struct sf_plan *plan = flow->config.plan;
    if (plan->sources[source].sub != flow->config.sub) return NULL;
    const struct sf_route *routes = plan->sources[source].routes;
    uint32_t count = plan->sources[source].route_count;
    for (;;) {
        uint32_t at = 0;
        while (at < count && routes[at].kind != SF_ROUTE_STEP) at++;
        if (at == count) return NULL;
        const struct sf_plan_step *next = &plan->steps[routes[at].target];
        enum sf_step_kind kind = plan->topology->steps[next->step].kind;
        if (kind == SF_STEP_AGGREGATE) return &flow->steps[next->rank];
        if (kind == SF_STEP_KEY_BY) return NULL;
        routes = next->routes;
        count = next->route_count;
    }
}

bool sf_flow_init(struct sf_flow *flow, const struct sf_flow_config *config, struct sf_error *error)
{
    memset(flow, 0, sizeof *flow);
    flow->config = *config;
    flow->plan_sub = &config->plan->subs[config->sub];
    flow->step_count = flow->plan_sub->step_count;
    flow->steps = sf_calloc(config->alloc, flow->step_count, sizeof *flow->steps);
    flow->halves[0] = sf_calloc(config->alloc, flow->step_count, sizeof *flow->counts);
    flow->halves[1] = sf_calloc(config->alloc, flow->step_count, sizeof *flow->counts);
    flow->counts = flow->halves[0];
    for (uint32_t i = 0; i < 2; i++)
        flow->sink_halves[i] = sf_calloc(config->alloc, config->targets->sink_count, sizeof *flow->sink_counts);
    flow->sink_counts = flow->sink_halves[0];
    flow->hop_count = flow->plan_sub->downstream_count * config->lane_count;
    flow->hops = sf_calloc(config->alloc, flow->hop_count, sizeof *flow->hops);
    sf_outbox_init(&flow->commit, config->to_commit, SF_MSG_OUT);
    for (uint32_t i = 0; i < flow->hop_count; i++) sf_outbox_init(&flow->hops[i], &config->to_lanes[i], SF_MSG_RECORDS);
    flow->commit.generation = config->generation;
    flow->commit.epoch = config->epoch;
    for (uint32_t i = 0; i < flow->hop_count; i++) {
        flow->hops[i].generation = config->generation;
        flow->hops[i].epoch = config->epoch;
    }
    flow->epoch = config->epoch;
    flow->pass_start = SF_TIME_UNSET;
    uint32_t source_count = config->plan->topology->source_count;
    flow->expected = sf_calloc(config->alloc, source_count, sizeof *flow->expected);
    for (uint32_t i = 0; i < source_count; i++) flow->expected[i] = expected_of(flow, i);
    return init_steps(flow, error);
}

void sf_flow_deinit(struct sf_flow *flow)
{
    struct sf_alloc alloc = flow->config.alloc;
    if (flow->steps == NULL) return;
    for (uint32_t rank = 0; rank < flow->step_count; rank++) {
        struct sf_flow_step *step = &flow->steps[rank];
        sf_expression_destroy(step->expression);
        sf_map_destroy(step->map);
        sf_aggregates_destroy(step->aggregates);
        if (step->store != NULL) sf_window_store_destroy(step->store);
    }
    sf_outbox_deinit(&flow->commit);
    for (uint32_t i = 0; i < flow->hop_count; i++) sf_outbox_deinit(&flow->hops[i]);
    sf_cfree(alloc, flow->hops, flow->hop_count, sizeof *flow->hops);
    sf_cfree(alloc, flow->halves[0], flow->step_count, sizeof *flow->counts);
    sf_cfree(alloc, flow->halves[1], flow->step_count, sizeof *flow->counts);
    for (uint32_t i = 0; i < 2; i++)
        sf_cfree(alloc, flow->sink_halves[i], flow->config.targets->sink_count, sizeof *flow->sink_counts);
    sf_cfree(alloc, flow->expected, flow->config.plan->topology->source_count, sizeof *flow->expected);
    sf_cfree(alloc, flow->steps, flow->step_count, sizeof *flow->steps);
    sf_free(alloc, flow->scratch, flow->scratch_bytes);
    memset(flow, 0, sizeof *flow);
}
