/*
 * End watch: a task that tells when every source partition is dispatched up to where it ended at the start
 * (`--until-end`).
 *
 * It has the engine's and ingest's home, so it looks at ingest's positions while neither runs. It looks a hundred
 * times a second, only while the engine runs: during a fall-back positions go back, and it waits for them again.
 *
 * Threading: init before the scheduler starts; `reached` is called from a worker.
 */
#ifndef SF_PROD_END_WATCH_H
#define SF_PROD_END_WATCH_H

#include "core/run/engine.h"

/* Caller's memory; outlives the scheduler. */
struct sf_prod_end_watch {
    struct sf_task task;
    const struct sf_engine *engine;
    struct sf_alloc alloc;
    const struct sf_tp *tps;  /* borrowed until deinit */
    const int64_t *ends;      /* where each of them ends; borrowed too */
    uint32_t count;
    uint32_t *places;         /* by tps: where ingest lists it, as last found */
    void (*reached)(void *ctx);
    void *ctx;
};

void sf_prod_end_watch_init(struct sf_prod_end_watch *watch, const struct sf_engine *engine, struct sf_alloc alloc,
                            const struct sf_tp *tps, const int64_t *ends, uint32_t count);
/* `reached` once, then the task is done. */
void sf_prod_end_watch_spawn(struct sf_prod_end_watch *watch, struct sf_sched sched, void (*reached)(void *ctx),
                             void *ctx);
/* As of now; only where no task runs. */
bool sf_prod_end_watch_is_reached(struct sf_prod_end_watch *watch);
void sf_prod_end_watch_deinit(struct sf_prod_end_watch *watch);

#endif
