#include "core/run/flow_impl.h"

#include "core/hash.h"
#include "core/text.h"
#include "core/time/event_time.h"

#define KEY_SHOWN_BYTES 40u
#define NOWHERE UINT32_MAX /* a fault that has no place in a value or an expression */

static bool forward(struct sf_flow *flow, const struct sf_route *routes, uint32_t count,
                    const struct sf_flow_record *record);

/* ------------------------------------------------------------------ errors in records (M5) */

static struct sf_step_counts *counts_of(struct sf_flow *flow, const struct sf_flow_step *step)
{
    return &flow->counts[step->plan->rank];
}

/* False: policy `fail`. */
static bool on_fault(struct sf_flow *flow, struct sf_flow_step *step, const struct sf_flow_record *record,
                     const struct sf_fault *fault)
{
    if (step->spec->on_error == SF_ERROR_CONTINUE) {
        counts_of(flow, step)->drops[fault->kind == SF_FAULT_DESERIALIZATION ? SF_DROP_DESERIALIZATION
                                                                             : SF_DROP_PROCESSING]++;
        return true;
    }
    struct sf_text text;
    flow->has_failed = true;
    flow->failure.status = SF_E_CORRUPT;
    flow->failure.tp = record->tp;
    flow->failure.offset = record->offset;
    sf_text_init(&text, flow->failure.text, sizeof flow->failure.text);
    sf_text_add(&text, "step ");
    sf_text_add(&text, step->spec->name);
    if (record->tp.topic != UINT32_MAX) {
        sf_text_add(&text, ", ");
        sf_text_add(&text, sf_kafka_topic_name(flow->config.kafka, record->tp.topic));
        sf_text_add(&text, "/");
        sf_text_add_int(&text, record->tp.partition);
        sf_text_add(&text, " offset ");
        sf_text_add_int(&text, record->offset);
    }
    sf_text_add(&text, ": ");
    sf_text_add(&text, fault->text);
    if (fault->offset != NOWHERE) {
        bool is_value = fault->kind == SF_FAULT_DESERIALIZATION;
        sf_text_add(&text, is_value ? " (at byte " : " (at character ");
        sf_text_add_uint(&text, is_value ? fault->offset : fault->offset + 1); /* as findings of the loader count */
        sf_text_add(&text, is_value ? " of the value)" : " of the expression)");
    }
    sf_text_add(&text, "; `on-error: continue` of the step counts and skips such records");
    return false;
}

/* ------------------------------------------------------------------ memory for texts that steps make */

static void need_scratch(struct sf_flow *flow, size_t bytes)
{
    if (bytes <= flow->scratch_bytes) return;
    size_t grown = flow->scratch_bytes == 0 ? 1024 : flow->scratch_bytes;
    while (grown < bytes) grown *= 2;
    flow->scratch = sf_regrow(flow->config.alloc, flow->scratch, flow->scratch_bytes, 0, grown);
    flow->scratch_bytes = grown;
}

/* ------------------------------------------------------------------ leaving the lane */

static void copy_wire(struct sf_wire *wire, const struct sf_flow_record *record)
{
    uint8_t *at = (uint8_t *)(wire + 1);
    if (wire->key_len != SF_WIRE_NULL && wire->key_len > 0) memcpy(at, record->key.data, wire->key_len);
    at += sf_wire_len(wire->key_len);
    if (wire->value_len != SF_WIRE_NULL && wire->value_len > 0) memcpy(at, record->value.data, wire->value_len);
    at += sf_wire_len(wire->value_len);
    if (wire->headers_len != SF_WIRE_NULL) memcpy(at, record->headers.data, wire->headers_len);
    wire->ts_ms = record->ts_ms;
    wire->watermark = record->watermark;
}

/* M5. False: policy `fail`. `what` says why the record cannot be written. */
static bool on_production_fault(struct sf_flow *flow, uint32_t sink, const struct sf_flow_record *record,
                                enum sf_status status, const struct sf_text *what)
{
    const struct sf_sink_spec *spec = &flow->config.plan->topology->sinks[sink];
    if (spec->on_production_error == SF_ERROR_CONTINUE) {
        flow->sink_counts[sink].dropped++;
        return true;
    }
    struct sf_text text;
    flow->has_failed = true;
    flow->failure.status = status;
    flow->failure.tp = record->tp;
    flow->failure.offset = record->offset;
    sf_text_init(&text, flow->failure.text, sizeof flow->failure.text);
    sf_text_add(&text, "sink ");
    sf_text_add(&text, spec->topic);
    sf_text_add(&text, ": ");
    sf_text_add_bytes(&text, what->data, what->length);
    if (record->tp.topic != UINT32_MAX) {
        sf_text_add(&text, " (made of ");
        sf_text_add(&text, sf_kafka_topic_name(flow->config.kafka, record->tp.topic));
        sf_text_add(&text, "/");
        sf_text_add_int(&text, record->tp.partition);
        sf_text_add(&text, " offset ");
        sf_text_add_int(&text, record->offset);
        sf_text_add(&text, ")");
    }
    sf_text_add(&text, "; `on-production-error: continue` counts and skips such records");
    return false;
}

/* Keys may be long, and bytes of any kind: the beginning, as JSON. */
static void add_key(struct sf_text *text, struct sf_slice key)
{
    sf_text_add(text, "key ");
    if (key.data == NULL)
        sf_text_add(text, "null");
    else
        sf_text_add_json(text, (const char *)key.data, key.len < KEY_SHOWN_BYTES ? key.len : KEY_SHOWN_BYTES);
    if (key.data != NULL && key.len > KEY_SHOWN_BYTES) sf_text_add(text, " ...");
}

/* A record that the topic will never take must not be sent: with it the whole epoch would fail, every time. */
static bool on_too_large(struct sf_flow *flow, uint32_t sink, const struct sf_flow_record *record, uint64_t partition)
{
    char line[SF_ERROR_TEXT_BYTES];
    struct sf_text what;
    sf_text_init(&what, line, sizeof line);
    add_key(&what, record->key);
    sf_text_add(&what, " for partition ");
    sf_text_add_uint(&what, partition);
    sf_text_add(&what, ": the record has ");
    sf_text_add_uint(&what, (uint64_t)record->key.len + record->value.len + record->headers.len);
    sf_text_add(&what, " bytes, its max.message.bytes allows ");
    sf_text_add_uint(&what, flow->config.targets->items[sink].record_bytes_max);
    return on_production_fault(flow, sink, record, SF_E_TOO_LARGE, &what);
}

static bool put_out(struct sf_flow *flow, uint32_t sink, const struct sf_flow_record *record)
{
    const struct sf_target *target = &flow->config.targets->items[sink];
    uint64_t partition = record->key.data != NULL /* K12 */
                             ? (uint64_t)sf_partition_of_key(record->key.data, record->key.len, target->partition_count)
                             : flow->spread++ % (uint32_t)target->partition_count;
    if ((uint64_t)record->key.len + record->value.len + record->headers.len > target->record_bytes_max)
        return on_too_large(flow, sink, record, partition);
    struct sf_wire *wire = sf_outbox_append(&flow->commit, sfi_len_or_null(record->key), sfi_len_or_null(record->value),
                                            record->headers.len > 0 ? record->headers.len : SF_WIRE_NULL);
    copy_wire(wire, record);
    wire->target = sink;
    wire->hash = partition;
    flow->sink_counts[sink].written++;
    return true;
}

/* A value that a sink writes in another serde than it has on the way. */
static bool put_sink(struct sf_flow *flow, uint32_t sink, const struct sf_flow_record *record)
{
    const struct sf_sink_spec *spec = &flow->config.plan->topology->sinks[sink];
    if (record->value.data == NULL || spec->value == record->value_serde || spec->value == SF_SERDE_BYTES)
        return put_out(flow, sink, record);
    struct sf_input_value input = {.serde = record->value_serde, .bytes = record->value};
    struct sf_fault fault = {.kind = SF_FAULT_NONE};
    struct sf_value value;
    bool is_null = false;
    struct sf_flow_record out = *record;
    if (sf_serde_read(&input, &value, &fault)) {
        char buf[64];
        struct sf_json_writer writer = sf_json_writer_init(buf, sizeof buf);
        bool is_written = sf_serde_write(spec->value, &value, &writer, &is_null, &fault);
        if (is_written && !sf_json_writer_fits(&writer)) {
            need_scratch(flow, writer.len);
            writer = sf_json_writer_init(flow->scratch, flow->scratch_bytes);
            is_written = sf_serde_write(spec->value, &value, &writer, &is_null, &fault);
        }
        if (is_written) {
            out.value = is_null ? (struct sf_slice){NULL, 0}
                                : (struct sf_slice){(const uint8_t *)writer.buf, (uint32_t)writer.len};
            return put_out(flow, sink, &out);
        }
    }
    char line[SF_ERROR_TEXT_BYTES];
    struct sf_text what;
    sf_text_init(&what, line, sizeof line);
    sf_text_add(&what, "the value cannot be written as its `value:` says: ");
    sf_text_add(&what, fault.text);
    return on_production_fault(flow, sink, record, SF_E_CORRUPT, &what);
}

static void put_hop(struct sf_flow *flow, uint32_t step, const struct sf_flow_record *record)
{
    uint32_t sub = flow->config.plan->steps[step].sub;
    uint32_t down = 0;
    while (flow->plan_sub->downstream[down] != sub) down++;
    uint32_t lane = sf_lane_of_hash(record->hash, flow->config.lane_count);
    struct sf_wire *wire = sf_outbox_append(&flow->hops[down * flow->config.lane_count + lane],
                                            sfi_len_or_null(record->key), sfi_len_or_null(record->value),
                                            record->headers.len > 0 ? record->headers.len : SF_WIRE_NULL);
    copy_wire(wire, record);
    wire->target = sf_wire_hop_target(step, (uint32_t)record->value_serde);
    wire->hash = record->hash;
}

/* ------------------------------------------------------------------ steps */

static bool step_filter(struct sf_flow *flow, struct sf_flow_step *step, const struct sf_flow_record *record)
{
    struct sf_input_value input = {.serde = record->value_serde, .bytes = record->value};
    struct sf_fault fault = {.kind = SF_FAULT_NONE};
    bool is_true = false;
    if (!sf_expression_test(step->expression, &input, &is_true, &fault)) return on_fault(flow, step, record, &fault);
    if (!is_true) return true;
    counts_of(flow, step)->out++;
    return forward(flow, step->plan->routes, step->plan->route_count, record);
}

static bool step_key_by(struct sf_flow *flow, struct sf_flow_step *step, const struct sf_flow_record *record)
{
    struct sf_input_value input = {.serde = record->value_serde, .bytes = record->value};
    struct sf_fault fault = {.kind = SF_FAULT_NONE};
    struct sf_value value;
    struct sf_flow_record out = *record;
    char small[256];
    char *buf = small;
    size_t room = 0;
    bool is_done = sf_expression_eval(step->expression, &input, &value, &fault);
    if (is_done) {
        room = sf_value_key_room(&value);
        if (room > sizeof small) buf = sf_malloc(flow->config.alloc, room);
        is_done = sf_value_key(&value, buf, room > sizeof small ? room : sizeof small, &out.key, &fault);
    }
    if (is_done) {
        if (out.key.data != NULL) out.hash = sf_hash64(out.key.data, out.key.len);
        counts_of(flow, step)->out++;
        is_done = forward(flow, step->plan->routes, step->plan->route_count, &out);
    } else {
        is_done = on_fault(flow, step, record, &fault);
    }
    if (buf != small) sf_free(flow->config.alloc, buf, room);
    return is_done;
}

static bool step_map_values(struct sf_flow *flow, struct sf_flow_step *step, const struct sf_flow_record *record)
{
    struct sf_input_value input = {.serde = record->value_serde, .bytes = record->value};
    struct sf_fault fault = {.kind = SF_FAULT_NONE};
    struct sf_flow_record out = *record;
    char small[512];
    char *buf = small;
    size_t room = 0;
    struct sf_json_writer writer = sf_json_writer_init(small, sizeof small);
    bool is_done = sf_map_write(step->map, &input, &writer, &fault);
    if (is_done && !sf_json_writer_fits(&writer)) {
        room = writer.len;
        buf = sf_malloc(flow->config.alloc, room);
        writer = sf_json_writer_init(buf, room);
        is_done = sf_map_write(step->map, &input, &writer, &fault);
    }
    if (is_done) {
        out.value = (struct sf_slice){(const uint8_t *)buf, (uint32_t)writer.len};
        out.value_serde = SF_SERDE_JSON;
        counts_of(flow, step)->out++;
        is_done = forward(flow, step->plan->routes, step->plan->route_count, &out);
    } else {
        is_done = on_fault(flow, step, record, &fault);
    }
    if (buf != small) sf_free(flow->config.alloc, buf, room);
    return is_done;
}

/* The row of a window as the result that leaves the step (F7). */
bool sfi_flow_result(struct sf_flow *flow, struct sf_flow_step *step, int64_t start,
                           const struct sf_window_row *row, const struct sf_flow_record *cause)
{
    if (step->head_len == 0 || step->head_start != start) {
        step->head_len = (uint32_t)sf_result_head_write(start, start + step->spec->window.size_ms, step->head);
        step->head_start = start;
    }
    char small[512];
    char *buf = small;
    size_t room = sizeof small;
    size_t len = sf_result_body_write(step->aggregates, step->head, step->head_len, row->accs, buf, room);
    if (len > room) {
        room = len;
        buf = sf_malloc(flow->config.alloc, room);
        len = sf_result_body_write(step->aggregates, step->head, step->head_len, row->accs, buf, room);
    }
    struct sf_flow_record out = {.key = {row->key, row->key_len},
                                 .value = {(const uint8_t *)buf, (uint32_t)len},
                                 .ts_ms = row->ts_ms,
                                 .watermark = cause != NULL ? cause->watermark : SF_TIME_UNSET,
                                 .hash = row->hash,
                                 .value_serde = SF_SERDE_JSON,
                                 .tp = {.topic = UINT32_MAX, .partition = -1},
                                 .offset = -1};
    if (cause != NULL) {
        out.tp = cause->tp;
        out.offset = cause->offset;
    }
    counts_of(flow, step)->out++;
    bool is_done = forward(flow, step->plan->routes, step->plan->route_count, &out);
    if (buf != small) sf_free(flow->config.alloc, buf, room);
    return is_done;
}

/* Records follow each other in time, most of them into the same window. */
static int64_t window_start(struct sf_flow_step *step, int64_t ts_ms)
{
    int64_t size = step->spec->window.size_ms;
    if (ts_ms < step->start || ts_ms - step->start >= size) step->start = ts_ms - ts_ms % size;
    return step->start;
}

/* A row is as large as its key and its fields make it, and of the two the key alone comes from outside. */
static bool on_long_key(struct sf_flow *flow, struct sf_flow_step *step, const struct sf_flow_record *record)
{
    char line[120];
    struct sf_text text;
    sf_text_init(&text, line, sizeof line);
    sf_text_add(&text, "the key has ");
    sf_text_add_uint(&text, record->key.len);
    sf_text_add(&text, " bytes, the max.message.bytes of the changelog allows ");
    sf_text_add_uint(&text, step->key_bytes_max);
    struct sf_fault fault = {.kind = SF_FAULT_PROCESSING, .offset = NOWHERE, .text = line};
    return on_fault(flow, step, record, &fault);
}

static bool step_aggregate(struct sf_flow *flow, struct sf_flow_step *step, const struct sf_flow_record *record)
{
    struct sf_step_counts *counts = counts_of(flow, step);
    if (record->key.data == NULL || record->value.data == NULL) { /* O3 */
        counts->drops[record->key.data == NULL ? SF_DROP_NULL_KEY : SF_DROP_NULL_VALUE]++;
        return true;
    }
    int64_t start = window_start(step, record->ts_ms);
    int64_t close = sf_time_add(start + step->spec->window.size_ms, step->spec->window.grace_ms);
    if (close <= step->floor) { /* F2, inclusive */
        counts->drops[SF_DROP_LATE_WINDOW]++;
        counts->none_late++;
        return true;
    }
    if (record->key.len > step->key_bytes_max) return on_long_key(flow, step, record);
    struct sf_window_row row = sf_window_store_touch(step->store, start, record->hash, record->key.data,
                                                     record->key.len);
    struct sf_input_value input = {.serde = record->value_serde, .bytes = record->value};
    struct sf_fault fault = {.kind = SF_FAULT_NONE};
    if (!sf_aggregates_add(step->aggregates, &input, row.accs, &fault)) {
        if (row.is_new) sf_window_store_untouch(step->store);
        return on_fault(flow, step, record, &fault);
    }
    row.ts_ms = sf_time_max(row.ts_ms, record->ts_ms);
    sf_window_store_set_ts(step->store, row.ts_ms);
    counts->taken++;
    if (step->spec->emit == SF_EMIT_ON_CLOSE) return true;
    return sfi_flow_result(flow, step, start, &row, record);
}

static bool run_step(struct sf_flow *flow, uint32_t index, const struct sf_flow_record *record)
{
    struct sf_flow_step *step = &flow->steps[flow->config.plan->steps[index].rank];
    counts_of(flow, step)->in++;
    switch (step->spec->kind) {
    case SF_STEP_MERGE:
        counts_of(flow, step)->out++;
        return forward(flow, step->plan->routes, step->plan->route_count, record);
    case SF_STEP_FILTER: return step_filter(flow, step, record);
    case SF_STEP_MAP_VALUES: return step_map_values(flow, step, record);
    case SF_STEP_KEY_BY: return step_key_by(flow, step, record);
    case SF_STEP_AGGREGATE: return step_aggregate(flow, step, record);
    }
    assert(false);
    return false;
}

static bool forward(struct sf_flow *flow, const struct sf_route *routes, uint32_t count,
                    const struct sf_flow_record *record)
{
    for (uint32_t i = 0; i < count; i++) {
        bool is_done = true;
        switch (routes[i].kind) {
        case SF_ROUTE_STEP: is_done = run_step(flow, routes[i].target, record); break;
        case SF_ROUTE_HOP: put_hop(flow, routes[i].target, record); break;
        case SF_ROUTE_SINK: is_done = put_sink(flow, routes[i].target, record); break;
        }
        if (!is_done) return false;
    }
    return true;
}

bool sf_flow_enter_source(struct sf_flow *flow, uint32_t source, struct sf_flow_record *record)
{
    const struct sf_plan_source *from = &flow->config.plan->sources[source];
    return forward(flow, from->routes, from->route_count, record);
}

void sf_flow_expect(struct sf_flow *flow, uint32_t source, int64_t ts_ms, uint64_t hash, bool is_soon)
{
    struct sf_flow_step *step = flow->expected[source];
    if (step != NULL) sf_window_store_expect(step->store, window_start(step, ts_ms), hash, is_soon);
}

bool sf_flow_enter_step(struct sf_flow *flow, uint32_t step, struct sf_flow_record *record)
{
    return run_step(flow, step, record);
}

bool sf_flow_drain(struct sf_flow *flow)
{
    bool is_clear = sf_outbox_drain(&flow->commit);
    for (uint32_t i = 0; i < flow->hop_count; i++) is_clear = sf_outbox_drain(&flow->hops[i]) && is_clear;
    return is_clear;
}

void sf_flow_push(struct sf_flow *flow)
{
    sf_outbox_close_block(&flow->commit, flow->commit.flags);
    for (uint32_t i = 0; i < flow->hop_count; i++) sf_outbox_close_block(&flow->hops[i], 0);
}
