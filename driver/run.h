/*
 * Run: one scenario in one simulated world, from its first instant to its verdict.
 *
 *     struct sf_driver_report report;
 *     sf_driver_report_init(&report, sf_alloc_libc());
 *     struct sf_driver_options options = sf_driver_options_default();
 *     enum sf_driver_verdict verdict = sf_driver_run(scenario, &options, &report);
 *
 * What falls on one instant happens in this order: faults that begin or end, arrivals in the order of the file, all
 * that the engine does with them (poll, dispatch, tick), barriers that the scenario lists and all that they set off,
 * then expectations. So in an exact world nothing is left to chance; elsewhere the seed decides what happens when.
 *
 * A run ends
 *     after the graceful stop: at `stop`, or, where none is given, when the input is used up and nothing is owed
 *     with `end: none`: there, without a stop
 *     at --until, at the budget, or after the step that broke an invariant: then it is cut short
 *
 * Same scenario, seed and options: same run, to the last byte (X14), on every machine.
 *
 * Threading: one thread per run; runs share nothing but the scenario, which they only read.
 */
#ifndef SF_DRIVER_RUN_H
#define SF_DRIVER_RUN_H

#include "driver/checks.h"
#include "driver/history.h"
#include "driver/report.h"
#include "driver/scenario.h"

#define SF_DRIVER_BUDGET_DEFAULT UINT64_C(200000000) /* steps of tasks */

/* One crash beside the scenario's own: at the n-th command of a process (sim/world.h). Until then the run is what it is
 * without it, so numbers of the undisturbed run are right. */
struct sf_driver_crash {
    uint32_t process; /* in the order of their starts, from 1 */
    uint64_t command; /* SF_SIM_COMMAND_NONE: none */
    enum sf_sim_crash_stage stage;
    int64_t restart_after_ms;
};

struct sf_driver_trail; /* driver/trail.h */

struct sf_driver_options {
    bool has_seed;
    uint64_t seed;                          /* overrides the scenario's */
    uint64_t budget;                        /* steps; then the run is cut and fails (X3) */
    uint32_t step_budget;                   /* units of work that a step may do; 0: the world's */
    int64_t until_us;                       /* since the first instant; INT64_MAX: the whole run */
    enum sf_driver_history_level history;
    int64_t watermarks_at_us;               /* -1: no; else a table of all partitions goes into the history then */
    const struct sf_driver_checks_ops *checks; /* NULL: expectations alone */
    const struct sf_plan *plan;             /* of the scenario's topology; NULL: made here, in the topology's memory */
    struct sf_driver_crash crash;
    struct sf_driver_trail *trail;          /* NULL: none; where the digests of the steps go or are compared */
    /* Sees every command, with the number of its process; NULL: none. */
    void (*on_command)(void *ctx, uint32_t process, uint64_t number, enum sf_sim_command_kind kind);
    /* Told now and then, with virtual time and steps so far; NULL: none. */
    void (*on_progress)(void *ctx, int64_t elapsed_us, uint64_t steps);
    void *ctx;
};

struct sf_driver_options sf_driver_options_default(void);

/* `report` is initialised and empty; it is filled. Returns its verdict. */
enum sf_driver_verdict sf_driver_run(const struct sf_scenario *scenario, const struct sf_driver_options *options,
                                     struct sf_driver_report *report);

#endif
