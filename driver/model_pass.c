/* F5: what closes leaves, once, in order of close; K6: and what is past its retention goes. */
#include "driver/model.h"

static bool is_closing(const struct sfi_model_step *step)
{
    return step->spec->kind == SF_STEP_AGGREGATE;
}

static void emit_pane(struct sfi_model *model, struct sfi_model_step *step, const struct sfi_model_pane *pane)
{
    for (uint32_t i = 0; i < pane->count && model->failed_step == UINT32_MAX; i++) {
        sfi_model_result(model, step, pane->start, sfi_model_row_at(&step->windows, pane, i));
        model->result_count++;
    }
}

static void pass_step(struct sfi_model *model, struct sfi_model_step *step, int64_t clock)
{
    bool is_final = step->spec->emit == SF_EMIT_ON_CLOSE;
    if (clock == SF_TIME_UNSET) return; /* F9 */
    for (uint32_t i = 0; i < step->windows.count; i++) {
        struct sfi_model_pane *pane = step->windows.panes[i];
        int64_t close = sfi_model_close(step->spec, pane->start);
        if (close > clock) break;
        if (pane->is_closed) continue;
        pane->is_closed = true;
        if (is_final && close > step->emitted) emit_pane(model, step, pane);
    }
    if (is_final && clock > step->emitted) {
        step->emitted = clock;
        step->is_raised = true;
    }
    step->expiry = sf_time_max(step->expiry, is_final ? step->emitted : clock);
}

void sfi_model_pass(struct sfi_model *model, uint32_t sub, int64_t flush_stamp)
{
    const struct sf_plan_sub *plan = &model->plan->subs[sub];
    for (uint32_t rank = 0; rank < plan->step_count; rank++) {
        struct sfi_model_step *step = &model->steps[plan->steps[rank]];
        if (!is_closing(step)) continue;
        int64_t clock = flush_stamp != SF_TIME_UNSET
                            ? sf_time_add(flush_stamp, -step->plan->delta_ms)
                            : sfi_model_ring_frontier(&model->ring, step->plan->hops, step->plan->delta_ms);
        pass_step(model, step, clock);
    }
}

bool sfi_model_has_due(struct sfi_model *model)
{
    for (uint32_t i = 0; i < model->topology->step_count; i++) {
        struct sfi_model_step *step = &model->steps[i];
        if (!is_closing(step) || step->spec->emit != SF_EMIT_ON_CLOSE) continue;
        int64_t upto = sf_time_add(model->ring.newest.w, -step->plan->delta_ms);
        for (uint32_t p = 0; p < step->windows.count; p++) {
            const struct sfi_model_pane *pane = step->windows.panes[p];
            int64_t close = sfi_model_close(step->spec, pane->start);
            if (close > upto) break;
            if (!pane->is_closed && pane->count > 0) return true;
        }
    }
    return false;
}
