/* The application, record by record. */
#include "driver/model.h"

#include <assert.h>
#include <string.h>

#include "core/hash.h"
#include "core/ops/json.h"
#include "core/ops/serde.h"

#define TEXT_BYTES_LEAST 512u

/* ---------------------------------------------------------------- life */

static void compile(struct sfi_model_step *step, bool is_packed, struct sf_alloc alloc)
{
    const struct sf_step_spec *spec = step->spec;
    struct sf_expression_text texts[SF_EXPRESSION_ROOTS_MAX];
    struct sf_expression_error error;
    uint32_t count = 0;
    if (spec->kind == SF_STEP_AGGREGATE) {
        sfi_model_aggregates_init(&step->aggregates, spec, alloc);
        sfi_model_windows_init(&step->windows, alloc, spec->aggregate_count);
        step->windows.is_packed = is_packed;
        return;
    }
    if (spec->fields == NULL && spec->expression != NULL)
        texts[count++] = (struct sf_expression_text){spec->expression, strlen(spec->expression)};
    for (uint32_t i = 0; spec->fields != NULL && i < spec->field_count; i++)
        texts[count++] = (struct sf_expression_text){spec->fields[i].expression, strlen(spec->fields[i].expression)};
    if (count == 0) return;
    bool is_fine = sf_expression_compile_many(texts, count, alloc, &step->expression, &error);
    assert(is_fine);
    (void)is_fine;
}

void sfi_model_init(struct sfi_model *model, const struct sf_topology *topology, const struct sf_plan *plan,
                    struct sf_alloc alloc, sfi_model_emit_fn *emit, void *ctx)
{
    *model = (struct sfi_model){.topology = topology, .plan = plan, .alloc = alloc, .emit = emit, .ctx = ctx,
                                .failed_step = UINT32_MAX};
    sfi_model_ring_init(&model->ring, plan->hops_max);
    model->steps = sf_calloc(alloc, topology->step_count, sizeof *model->steps);
    for (uint32_t i = 0; i < topology->step_count; i++) {
        struct sfi_model_step *step = &model->steps[i];
        step->spec = &topology->steps[i];
        step->plan = &plan->steps[i];
        step->floor = step->emitted = step->expiry = SF_TIME_UNSET;
        compile(step, topology->settings.is_changelog_packed, alloc);
    }
}

void sfi_model_deinit(struct sfi_model *model)
{
    for (uint32_t i = 0; i < model->topology->step_count; i++) {
        sf_expression_destroy(model->steps[i].expression);
        sfi_model_aggregates_deinit(&model->steps[i].aggregates);
        sfi_model_windows_deinit(&model->steps[i].windows);
        sf_free(model->alloc, model->text[i], model->text_bytes[i]);
    }
    sf_cfree(model->alloc, model->steps, model->topology->step_count, sizeof *model->steps);
}

static char *text_room(struct sfi_model *model, uint32_t step, size_t bytes)
{
    if (bytes > model->text_bytes[step]) {
        size_t grown = bytes < TEXT_BYTES_LEAST ? TEXT_BYTES_LEAST : bytes * 2;
        sf_free(model->alloc, model->text[step], model->text_bytes[step]);
        model->text[step] = sf_malloc(model->alloc, grown);
        model->text_bytes[step] = grown;
    }
    return model->text[step];
}

int64_t sfi_model_close(const struct sf_step_spec *spec, int64_t start)
{
    return sf_time_add(sf_time_add(start, spec->window.size_ms), spec->window.grace_ms);
}

/* ---------------------------------------------------------------- steps */

static uint32_t index_of(const struct sfi_model *model, const struct sfi_model_step *step)
{
    return (uint32_t)(step - model->steps);
}

static void leave(struct sfi_model *model, struct sfi_model_step *step, const struct sfi_model_record *record)
{
    step->counts.out++;
    sfi_model_forward(model, step->plan->routes, step->plan->route_count, record);
}

/* M5. */
static void on_fault(struct sfi_model *model, struct sfi_model_step *step, const struct sf_fault *fault)
{
    if (step->spec->on_error != SF_ERROR_CONTINUE) {
        model->failed_step = index_of(model, step);
        return;
    }
    bool is_unread = fault->kind == SF_FAULT_DESERIALIZATION;
    step->counts.drops[is_unread ? SF_DROP_DESERIALIZATION : SF_DROP_PROCESSING]++;
}

static void filter(struct sfi_model *model, struct sfi_model_step *step, const struct sfi_model_record *record)
{
    struct sf_input_value input = {.serde = record->serde, .bytes = record->value};
    struct sf_fault fault = {.kind = SF_FAULT_NONE};
    bool is_kept = false;
    if (!sf_expression_test(step->expression, &input, &is_kept, &fault))
        on_fault(model, step, &fault);
    else if (is_kept)
        leave(model, step, record);
}

static void key_by(struct sfi_model *model, struct sfi_model_step *step, const struct sfi_model_record *record)
{
    struct sf_input_value input = {.serde = record->serde, .bytes = record->value};
    struct sf_fault fault = {.kind = SF_FAULT_NONE};
    struct sf_value value;
    struct sfi_model_record out = *record;
    bool is_fine = sf_expression_eval(step->expression, &input, &value, &fault);
    if (is_fine) {
        size_t room = sf_value_key_room(&value);
        char *text = text_room(model, index_of(model, step), room);
        is_fine = sf_value_key(&value, text, room, &out.key, &fault);
    }
    if (is_fine)
        leave(model, step, &out);
    else
        on_fault(model, step, &fault);
}

static void put_mapped(const struct sf_step_spec *spec, const struct sf_value *values, struct sf_json_writer *writer)
{
    if (spec->fields == NULL) sf_json_put_value(writer, &values[0]);
    for (uint32_t i = 0; spec->fields != NULL && i < spec->field_count; i++) {
        sf_json_put_raw(writer, i == 0 ? "{" : ",", 1);
        sf_json_put_string(writer, spec->fields[i].name, strlen(spec->fields[i].name));
        sf_json_put_raw(writer, ":", 1);
        sf_json_put_value(writer, &values[i]);
    }
    if (spec->fields != NULL) sf_json_put_raw(writer, "}", 1);
}

static void map_values(struct sfi_model *model, struct sfi_model_step *step, const struct sfi_model_record *record)
{
    struct sf_input_value input = {.serde = record->serde, .bytes = record->value};
    struct sf_fault fault = {.kind = SF_FAULT_NONE};
    struct sf_value values[SF_EXPRESSION_ROOTS_MAX];
    struct sfi_model_record out = *record;
    if (!sf_expression_eval(step->expression, &input, values, &fault)) {
        on_fault(model, step, &fault);
        return;
    }
    struct sf_json_writer writer = sf_json_writer_init(NULL, 0);
    put_mapped(step->spec, values, &writer);
    size_t len = writer.len;
    char *text = text_room(model, index_of(model, step), len);
    writer = sf_json_writer_init(text, len);
    put_mapped(step->spec, values, &writer);
    out.value = (struct sf_slice){(const uint8_t *)text, (uint32_t)len};
    out.serde = SF_SERDE_JSON;
    leave(model, step, &out);
}

void sfi_model_result(struct sfi_model *model, struct sfi_model_step *step, int64_t start, struct sfi_model_row *row)
{
    const struct sfi_model_number *numbers = sfi_model_row_numbers(row);
    uint32_t at = index_of(model, step);
    int64_t end = start + step->spec->window.size_ms;
    char *text = text_room(model, at, TEXT_BYTES_LEAST);
    size_t len = sfi_model_result_text(&step->aggregates, start, end, numbers, text, model->text_bytes[at]);
    if (len > model->text_bytes[at]) {
        text = text_room(model, at, len);
        len = sfi_model_result_text(&step->aggregates, start, end, numbers, text, len);
    }
    struct sfi_model_record out = {.key = {row->key, row->key_len},
                                   .value = {(const uint8_t *)text, (uint32_t)len},
                                   .ts_ms = row->ts_ms, /* F7 */
                                   .serde = SF_SERDE_JSON};
    leave(model, step, &out);
}

static void aggregate(struct sfi_model *model, struct sfi_model_step *step, const struct sfi_model_record *record)
{
    if (record->key.data == NULL || record->value.data == NULL) { /* O3 */
        step->counts.drops[record->key.data == NULL ? SF_DROP_NULL_KEY : SF_DROP_NULL_VALUE]++;
        return;
    }
    int64_t start = record->ts_ms - record->ts_ms % step->spec->window.size_ms;
    if (sfi_model_close(step->spec, start) <= step->floor) { /* F2 */
        step->counts.drops[SF_DROP_LATE_WINDOW]++;
        step->counts.none_late++;
        return;
    }
    struct sfi_model_pane *pane = sfi_model_pane_get(&step->windows, start);
    bool is_new;
    struct sfi_model_row *row = sfi_model_row_touch(
        &step->windows, pane, sf_hash64(record->key.data, record->key.len), record->key, &is_new);
    struct sfi_model_number *numbers = sfi_model_row_numbers(row);
    struct sf_input_value input = {.serde = record->serde, .bytes = record->value};
    struct sf_fault fault = {.kind = SF_FAULT_NONE};
    if (is_new) sfi_model_aggregates_start(&step->aggregates, numbers);
    if (!sfi_model_aggregates_add(&step->aggregates, &input, numbers, &fault)) {
        if (is_new) sfi_model_row_untouch(&step->windows, pane);
        on_fault(model, step, &fault);
        return;
    }
    row->ts_ms = sf_time_max(row->ts_ms, record->ts_ms);
    step->counts.taken++;
    if (step->spec->emit == SF_EMIT_ON_UPDATE) sfi_model_result(model, step, start, row);
}

static void run_step(struct sfi_model *model, uint32_t index, const struct sfi_model_record *record)
{
    struct sfi_model_step *step = &model->steps[index];
    step->counts.in++;
    switch (step->spec->kind) {
    case SF_STEP_MERGE: leave(model, step, record); break;
    case SF_STEP_FILTER: filter(model, step, record); break;
    case SF_STEP_MAP_VALUES: map_values(model, step, record); break;
    case SF_STEP_KEY_BY: key_by(model, step, record); break;
    case SF_STEP_AGGREGATE: aggregate(model, step, record); break;
    }
}

void sfi_model_forward(struct sfi_model *model, const struct sf_route *routes, uint32_t count,
                       const struct sfi_model_record *record)
{
    for (uint32_t i = 0; i < count && model->failed_step == UINT32_MAX; i++) {
        if (routes[i].kind == SF_ROUTE_SINK)
            model->emit(model->ctx, routes[i].target, record);
        else
            run_step(model, routes[i].target, record);
    }
}

/* ---------------------------------------------------------------- epochs */

void sfi_model_begin(struct sfi_model *model, bool is_continued)
{
    model->result_count = 0;
    model->failed_step = UINT32_MAX;
    if (!is_continued) sfi_model_ring_leave_out(&model->ring);
    model->is_work_due = sfi_model_has_due(model);
    for (uint32_t i = 0; i < model->topology->step_count; i++) {
        struct sfi_model_step *step = &model->steps[i];
        step->is_raised = false;
        step->floor = sfi_model_ring_floor(&model->ring, step->plan->hops, step->plan->delta_ms);
    }
    /* each lane passes before it takes anything of the epoch: those downstream have nothing to wait for */
    for (uint32_t sub = model->plan->sub_count; is_continued && sub > 0; sub--)
        sfi_model_pass(model, sub - 1, SF_TIME_UNSET);
    if (model->result_count > 0) model->is_work_due = true;
}

void sfi_model_record(struct sfi_model *model, uint32_t source, const struct sfi_model_record *record)
{
    const struct sf_plan_source *from = &model->plan->sources[source];
    sfi_model_forward(model, from->routes, from->route_count, record);
}

void sfi_model_end(struct sfi_model *model, uint64_t epoch, int64_t stamp, bool is_flush)
{
    for (uint32_t sub = 0; is_flush && sub < model->plan->sub_count; sub++) sfi_model_pass(model, sub, stamp);
    sfi_model_ring_push(&model->ring, epoch, stamp, is_flush);
}

void sfi_model_settle(struct sfi_model *model)
{
    for (uint32_t i = 0; i < model->topology->step_count; i++)
        if (model->steps[i].spec->kind == SF_STEP_AGGREGATE) sfi_model_windows_settle(&model->steps[i].windows);
}
