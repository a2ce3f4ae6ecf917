#include "prod/end_watch.h"

#define LOOK_INTERVAL_US 10000

void sf_prod_end_watch_init(struct sf_prod_end_watch *watch, const struct sf_engine *engine, struct sf_alloc alloc,
                            const struct sf_tp *tps, const int64_t *ends, uint32_t count)
{
    *watch = (struct sf_prod_end_watch){
        .engine = engine, .alloc = alloc, .tps = tps, .ends = ends, .count = count};
    watch->places = sf_calloc(alloc, count, sizeof *watch->places);
}

static bool find(struct sf_prod_end_watch *watch, const struct sf_ingest *ingest, uint32_t listed_count, uint32_t i,
                 struct sf_partition_view *view_out)
{
    for (uint32_t step = 0; step < listed_count; step++) {
        uint32_t place = (watch->places[i] + step) % listed_count;
        sf_ingest_partition_view(ingest, place, (struct sf_wall_ts){0}, view_out);
        if (view_out->tp.topic != watch->tps[i].topic || view_out->tp.partition != watch->tps[i].partition) continue;
        watch->places[i] = place;
        return true;
    }
    return false;
}

bool sf_prod_end_watch_is_reached(struct sf_prod_end_watch *watch)
{
    const struct sf_ingest *ingest = sf_engine_ingest(watch->engine);
    struct sf_watermark_view all;
    if (ingest == NULL) return false;
    sf_ingest_view(ingest, (struct sf_wall_ts){0}, &all);
    for (uint32_t i = 0; i < watch->count; i++) {
        struct sf_partition_view view;
        if (!find(watch, ingest, all.partition_count, i, &view) || view.next_offset < watch->ends[i]) return false;
    }
    return true;
}

static struct sf_step_result look(void *self, const struct sf_step *step)
{
    struct sf_prod_end_watch *watch = self;
    if (sf_engine_phase(watch->engine) == SF_PHASE_RUNNING && sf_prod_end_watch_is_reached(watch)) {
        watch->reached(watch->ctx);
        return (struct sf_step_result){.next = SF_NEXT_DONE};
    }
    return (struct sf_step_result){.next = SF_NEXT_WAIT, .wake_at = sf_mono_add(step->now, LOOK_INTERVAL_US)};
}

void sf_prod_end_watch_spawn(struct sf_prod_end_watch *watch, struct sf_sched sched, void (*reached)(void *ctx),
                             void *ctx)
{
    watch->reached = reached;
    watch->ctx = ctx;
    watch->task = (struct sf_task){.name = "end-watch", .step = look, .self = watch, .home = 0, .id = SF_TASK_NONE};
    sf_sched_spawn(sched, &watch->task);
}

void sf_prod_end_watch_deinit(struct sf_prod_end_watch *watch)
{
    sf_cfree(watch->alloc, watch->places, watch->count, sizeof *watch->places);
}
