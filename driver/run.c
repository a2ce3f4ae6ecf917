#include "driver/run.h"

#include "driver/run_parts.h"
#include "driver/time_text.h"

#define PROGRESS_STEPS 65536u
#define SETTLE_WITHIN_MS INT64_C(86400000) /* virtual time after the last thing listed (X3) */

struct sf_driver_options sf_driver_options_default(void)
{
    return (struct sf_driver_options){
        .budget = SF_DRIVER_BUDGET_DEFAULT, .until_us = INT64_MAX, .watermarks_at_us = -1};
}

int64_t sfi_run_mono_us(const struct sfi_run *run, int64_t since_start_ms)
{
    return run->world.start_us + since_start_ms * 1000;
}

/* ---------------------------------------------------------------- what is told */

void sfi_run_fail(struct sfi_run *run, const char *rule, const char *subject, const char *expected,
                  const char *actual)
{
    struct sf_driver_violation violation = {.at_us = sf_sim_world_elapsed_us(&run->world)};
    sf_driver_violation_set(&violation, rule, subject, expected, actual);
    sf_driver_report_add(run->report, &violation);
}

void sfi_run_violate(struct sfi_run *run, const char *rule, const char *subject, const char *expected,
                     const char *actual)
{
    sfi_run_fail(run, rule, subject, expected, actual);
    run->is_halted = true;
}

static void report_of_checks(void *ctx, const struct sf_driver_violation *violation)
{
    struct sfi_run *run = ctx;
    struct sf_driver_violation stamped = *violation;
    stamped.at_us = sf_sim_world_elapsed_us(&run->world);
    sf_driver_report_add(run->report, &stamped);
    run->is_halted = true;
}

static void event_words(const struct sfi_run *run, const struct sf_driver_event *event, struct sf_text *text)
{
    static const char *const words[] = {
        [SF_DRIVER_EVENT_STOP] = "a graceful stop is asked for",
        [SF_DRIVER_EVENT_BARRIER] = "a barrier is asked for",
        [SF_DRIVER_EVENT_CRASH] = NULL, /* told when the process is buried, behind its last step */
        [SF_DRIVER_EVENT_STORE_LOST] = "the local store is lost",
        [SF_DRIVER_EVENT_STANDBY] = "the owner's session ends: a standby takes over",
        [SF_DRIVER_EVENT_HAND_OVER] = "the owner is asked to give way to a standby",
        [SF_DRIVER_EVENT_METADATA_LOST] = "the committed offsets lose their metadata",
        [SF_DRIVER_EVENT_FROZEN] = "the process stands still",
        [SF_DRIVER_EVENT_THAWED] = "the process goes on",
        [SF_DRIVER_EVENT_WALL_JUMP] = "the wall clock jumps by ",
        [SF_DRIVER_EVENT_UNAVAILABLE] = " has no leader",
        [SF_DRIVER_EVENT_LAG_UNKNOWN] = " cannot be fetched",
        [SF_DRIVER_EVENT_AVAILABLE] = " can be read again",
        [SF_DRIVER_EVENT_ADDED] = " is added",
        [SF_DRIVER_EVENT_TRUNCATED] = " loses what lies in its log before offset ",
        [SF_DRIVER_EVENT_REVOKED] = " is revoked",
        [SF_DRIVER_EVENT_ASSIGNED] = " is assigned again",
        [SF_DRIVER_EVENT_PAUSED] = "the application is paused",
        [SF_DRIVER_EVENT_RESUMED] = "the application is resumed",
        [SF_DRIVER_EVENT_HELD] = " does not get to run",
        [SF_DRIVER_EVENT_BROKER] = "",
    };
    bool has_tp = event->kind >= SF_DRIVER_EVENT_UNAVAILABLE && event->kind <= SF_DRIVER_EVENT_ASSIGNED;
    if (has_tp) {
        sf_text_add(text, sf_sim_kafka_topic_name(run->broker, event->tp.topic));
        sf_text_add(text, "/");
        sf_text_add_int(text, event->tp.partition);
    }
    if (event->name != NULL) sf_text_add(text, event->name);
    if (words[event->kind] != NULL) sf_text_add(text, words[event->kind]);
    if (event->kind == SF_DRIVER_EVENT_TRUNCATED) sf_text_add_int(text, event->value);
    if (event->kind == SF_DRIVER_EVENT_WALL_JUMP) sf_text_add_duration(text, event->value);
}

void sfi_run_happened(struct sfi_run *run, const struct sf_driver_event *event)
{
    const struct sf_driver_checks_ops *checks = run->options->checks;
    if (checks != NULL && checks->happened != NULL) checks->happened(run->checks, event);
    if (event->kind == SF_DRIVER_EVENT_CRASH || !sf_driver_history_is_on(&run->history)) return;
    sf_driver_history_begin(&run->history, 0, "world");
    event_words(run, event, run->history.text);
    sf_text_add(run->history.text, "\n");
}

/* ---------------------------------------------------------------- time */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t next_barrier_us(const struct sfi_run *run)
{
    if (run->barrier_at == run->scenario->barrier_count) return INT64_MAX;
    return sfi_run_mono_us(run, run->scenario->barriers[run->barrier_at]);
}

static int64_t show_us(const struct sfi_run *run)
{
    if (run->is_shown || run->options->watermarks_at_us < 0) return INT64_MAX;
    return run->world.start_us + run->options->watermarks_at_us;
}

static int64_t stop_us(const struct sfi_run *run)
{
    if (run->is_stop_asked || run->scenario->stop_ms == SF_SCENARIO_UNUSED) return INT64_MAX;
    return sfi_run_mono_us(run, run->scenario->stop_ms);
}

/* Of what the scenario lists, the stop aside. */
static int64_t next_listed_us(const struct sfi_run *run)
{
    int64_t next = least(sfi_feed_next_us(run->feed), sfi_faults_next_us(run->faults));
    next = least(next, least(next_barrier_us(run), sfi_expect_next_us(run->expect)));
    return least(next, least(sfi_process_next_restart_us(run), show_us(run)));
}

/* Steps until nothing is left to do at this instant. */
static void quiesce(struct sfi_run *run)
{
    uint64_t steps = 0;
    while (!run->is_halted && !run->is_stopped) {
        if (sfi_process_restart_due(run)) continue;
        bool has_stepped = sf_sim_sched_step_one(run->sched);
        bool has_reaped = sfi_process_reap(run); /* a crash may fall between steps: on a command that is under way */
        if (!has_stepped && !has_reaped) break;
        if (!has_stepped) continue;
        steps++;
        run->report->step_count++;
        if (steps == run->instant_steps_max)
            sfi_run_violate(run, "X3", sf_sim_sched_stuck_on(run->sched), "time moves on",
                            "steps at one instant without end");
        if (run->report->step_count >= run->options->budget) {
            run->report->is_cut = true;
            sfi_run_violate(run, "X3", "budget", "the run ends within its budget of steps",
                            "the budget is used up (--budget N raises it)");
        }
        if (run->options->on_progress != NULL && run->report->step_count % PROGRESS_STEPS == 0)
            run->options->on_progress(run->options->ctx, sf_sim_world_elapsed_us(&run->world),
                                      run->report->step_count);
    }
}

static void fix_barriers(struct sfi_run *run)
{
    while (next_barrier_us(run) <= run->world.mono_us && !run->is_halted) {
        const struct sfi_process *process = sfi_process_owner(run);
        run->barrier_at++;
        if (process == NULL || sf_engine_phase(process->engine) != SF_PHASE_RUNNING) {
            if (!sfi_run_is_disturbed(run))
                sfi_run_fail(run, "barriers", "a listed barrier", "an engine that runs", "none runs at this instant");
            continue;
        }
        struct sf_driver_event event = {.kind = SF_DRIVER_EVENT_BARRIER,
                                        .instance_id = process->instance.process->id};
        const struct sf_driver_checks_ops *checks = run->options->checks;
        if (checks != NULL && checks->happened != NULL) checks->happened(run->checks, &event);
        sf_engine_fix(process->engine);
        quiesce(run);
    }
}

/* All that falls on this instant, in the order of run.h. */
static void live(struct sfi_run *run)
{
    sfi_faults_due(run, run->faults);
    sfi_feed_due(run, run->feed);
    quiesce(run);
    fix_barriers(run);
    if (run->is_halted) return;
    sfi_expect_due(run, run->expect);
    if (show_us(run) <= run->world.mono_us) {
        run->is_shown = true;
        sfi_watermarks_show(run);
    }
}

/* ---------------------------------------------------------------- the end */

static bool has_read_all(const struct sfi_run *run, const struct sfi_process *process)
{
    const struct sf_ingest *ingest = sf_engine_ingest(process->engine);
    struct sf_wall_ts wall = {sf_sim_world_wall_ms(&run->world)};
    struct sf_watermark_view view;
    sf_ingest_view(ingest, wall, &view);
    for (uint32_t i = 0; i < view.partition_count; i++) {
        struct sf_partition_view partition;
        sf_ingest_partition_view(ingest, i, wall, &partition);
        if (partition.is_taken) continue;
        struct sf_tp tp = {sf_sim_kafka_topic(run->broker,
                                              sf_kafka_topic_name(process->instance.kafka, partition.tp.topic)),
                           partition.tp.partition};
        if (partition.next_offset < sf_sim_kafka_log_end(run->broker, tp, SF_LOG_STABLE_END)) return false;
    }
    return true;
}

/* Nothing is owed: all is dispatched, no barrier is due, no commit runs. Where barriers fall only as listed, one may
 * well be due for ever: then it is enough that all is dispatched and those that were fixed have committed. */
static bool is_settled(struct sfi_run *run)
{
    const struct sfi_process *process = sfi_process_owner(run);
    if (process == NULL || process->engine == NULL) return false;
    if (sf_engine_phase(process->engine) != SF_PHASE_RUNNING || !sf_engine_has_heard(process->engine)) return false;
    if (!has_read_all(run, process)) return false;
    if (sf_engine_is_settled(process->engine)) return true;
    return run->view.is_barrier_manual && process->stamped <= sf_engine_epoch(process->engine);
}

/* An engine that was starting when the stop came, or that crashed in it, is asked once it has caught up: asked earlier
 * it would end without a flush. Standbys go at once. */
static bool is_ready_to_stop(struct sfi_run *run, const struct sfi_process *process)
{
    switch (sf_engine_phase(process->engine)) {
    case SF_PHASE_RUNNING:
        return run->world.mono_us == run->stop_asked_us || is_settled(run);
    case SF_PHASE_STANDBY:
        return sfi_process_owner(run) != process;
    case SF_PHASE_CHECKING:
    case SF_PHASE_SETTLING:
    case SF_PHASE_RESTORING:
    case SF_PHASE_FALLING_BACK:
    case SF_PHASE_FINISHING:
    case SF_PHASE_ENDED:
        break;
    }
    return false;
}

static void pass_stop_on(struct sfi_run *run)
{
    for (uint32_t i = 0; i < run->process_count; i++) {
        struct sfi_process *process = &run->processes[i];
        if (process->is_over || process->is_stopping || process->engine == NULL) continue;
        if (!is_ready_to_stop(run, process)) continue;
        process->is_stopping = true;
        if (process == sfi_process_owner(run)) run->was_settled = is_settled(run);
        sf_engine_finish(process->engine);
    }
}

static void ask_stop(struct sfi_run *run)
{
    run->is_stop_asked = true;
    run->stop_asked_us = run->world.mono_us;
    if (!run->scenario->is_stopped) {
        run->is_stopped = true;
        return;
    }
    struct sf_driver_event event = {.kind = SF_DRIVER_EVENT_STOP};
    sfi_run_happened(run, &event);
    if (sfi_process_owner(run) == NULL && sfi_process_next_restart_us(run) == INT64_MAX) run->is_stopped = true;
}

/* Who keeps the run from going on, for X3. */
static void holder_text(struct sfi_run *run, struct sf_text *text)
{
    static const char *const phases[] = {
        [SF_PHASE_CHECKING] = "checking its topics", [SF_PHASE_STANDBY] = "waiting to be the owner",
        [SF_PHASE_SETTLING] = "opening its producer session", [SF_PHASE_RESTORING] = "restoring its state",
        [SF_PHASE_RUNNING] = "running", [SF_PHASE_FALLING_BACK] = "falling back to its last cut",
        [SF_PHASE_FINISHING] = "flushing", [SF_PHASE_ENDED] = "over"};
    const struct sfi_process *process = sfi_process_owner(run);
    if (process == NULL || process->engine == NULL) {
        sf_text_add(text, "no engine lives");
        return;
    }
    sf_text_add(text, "the engine is ");
    sf_text_add(text, phases[sf_engine_phase(process->engine)]);
    sf_text_add(text, ", its newest committed epoch is ");
    sf_text_add_uint(text, sf_engine_epoch(process->engine));
    const struct sf_ingest *ingest = sf_engine_ingest(process->engine);
    if (ingest == NULL) return;
    char time[SF_DRIVER_TIME_BYTES];
    struct sf_watermark_view view;
    sf_ingest_view(ingest, (struct sf_wall_ts){sf_sim_world_wall_ms(&run->world)}, &view);
    sf_text_add(text, ", its watermark ");
    sf_text_add(text, sf_driver_time_of(time, view.global));
    sf_text_add(text, " held by ");
    sf_driver_partition_text(text, &process->instance, view.holder);
}

static void stall(struct sfi_run *run, const char *subject, const char *expected)
{
    char actual[SF_DRIVER_VALUE_BYTES];
    struct sf_text text;
    sf_text_init(&text, actual, sizeof actual);
    holder_text(run, &text);
    sfi_run_violate(run, "X3", subject, expected, actual);
}

/* X3 for what has been asked for: an end of the run. True: it ends here. */
static bool is_over(struct sfi_run *run, int64_t listed_us, int64_t next_us)
{
    if (run->is_halted || run->is_stopped) return true;
    if (run->is_stop_asked) {
        bool is_late = run->world.mono_us - run->stop_asked_us > SFI_STOP_WITHIN_MS * 1000;
        if (!run->is_stopped && (is_late || next_us == INT64_MAX)) stall(run, "graceful stop", "the engine stops");
        return run->is_halted;
    }
    if (next_us == INT64_MAX) stall(run, "end of the run", "the input is used up and nothing is owed");
    if (listed_us != INT64_MAX || stop_us(run) != INT64_MAX) {
        run->idle_since_us = run->world.mono_us;
    } else if (run->world.mono_us - run->idle_since_us > SETTLE_WITHIN_MS * 1000) {
        stall(run, "end of the run", "the input is used up and nothing is owed");
    }
    return run->is_halted;
}

/* Time for the stop: listed, or the input is used up and nothing is owed. */
static bool is_stop_due(struct sfi_run *run, int64_t listed_us)
{
    if (run->is_halted || run->is_stopped || run->is_stop_asked) return false;
    if (run->scenario->stop_ms != SF_SCENARIO_UNUSED) return stop_us(run) <= run->world.mono_us;
    return listed_us == INT64_MAX && is_settled(run);
}

static void play(struct sfi_run *run)
{
    int64_t until_us =
        run->options->until_us == INT64_MAX ? INT64_MAX : run->world.start_us + run->options->until_us;
    int64_t listed_us = run->world.mono_us;
    for (;;) {
        if (listed_us <= run->world.mono_us)
            live(run);
        else
            quiesce(run);
        listed_us = next_listed_us(run);
        if (is_stop_due(run, listed_us)) ask_stop(run);
        if (run->is_stop_asked && !run->is_stopped && !run->is_halted) {
            pass_stop_on(run);
            quiesce(run);
            listed_us = next_listed_us(run);
        }
        int64_t next_us = least(least(listed_us, stop_us(run)), sf_sim_sched_next_us(run->sched));
        if (is_over(run, listed_us, next_us) || sf_sim_kafka_is_missed(run->broker)) return;
        sfi_retention_due(run, run->retention);
        if (next_us > until_us) {
            run->report->is_cut = true;
            (void)sf_sim_world_advance(&run->world, until_us);
            return;
        }
        (void)sf_sim_world_advance(&run->world, next_us);
    }
}

static void judge(struct sfi_run *run)
{
    bool is_stopped = run->is_stopped && run->scenario->is_stopped && !run->has_given_up;
    struct sf_driver_end end = {.is_stopped = is_stopped,
                                .is_settled = run->is_stop_asked ? run->was_settled : is_settled(run),
                                .is_cut = run->report->is_cut || run->is_halted};
    const struct sf_driver_checks_ops *checks = run->options->checks;
    if (!end.is_cut) {
        if (!sfi_run_is_disturbed(run)) sfi_faults_judge(run, run->faults); /* before what may be its consequence */
        sfi_expect_judge(run, run->expect);
    }
    if (checks != NULL && checks->finish != NULL) checks->finish(run->checks, &end);
    run->report->output_count = sfi_outputs_count(run->outputs);
    run->report->instance_count = run->process_count;
}

/* One that is needed and does not come only later. */
static bool has_standby(const struct sf_scenario *scenario)
{
    bool is_needed = false;
    for (uint32_t i = 0; i < scenario->fault_count; i++) {
        enum sf_scenario_fault_kind kind = scenario->faults[i].kind;
        if (kind == SF_SCENARIO_JOIN) return false;
        if (kind == SF_SCENARIO_TAKE_OVER || kind == SF_SCENARIO_HAND_OVER) is_needed = true;
    }
    return is_needed;
}

static bool run_world(struct sfi_run *run)
{
    sfi_run_build(run);
    run->instant_steps_max = sf_sim_sched_config_exact().instant_steps_max;
    run->idle_since_us = run->world.mono_us;
    sfi_process_start(run, SFI_MACHINE_FIRST, SF_DRIVER_START_FIRST);
    quiesce(run);
    if (has_standby(run->scenario) && !run->is_halted)
        sfi_process_start(run, SFI_MACHINE_STANDBY, SF_DRIVER_START_STANDBY);
    play(run);
    judge(run);
    run->report->elapsed_us = sf_sim_world_elapsed_us(&run->world);
    bool is_missed = sf_sim_kafka_is_missed(run->broker);
    run->report->memory_peak = run->world.heap.bytes_peak;
    sfi_run_tear_down(run);
    return !is_missed;
}

/* False: it came back for what it had let go; the report is of no use. */
static bool run_once(const struct sf_scenario *scenario, const struct sf_driver_options *options,
                     struct sf_driver_report *report, bool is_keeping)
{
    report->seed = options->has_seed ? options->seed : scenario->seed;
    sfi_expect_application(scenario, report);
    if (scenario->topology == NULL || report->verdict != SF_DRIVER_HELD) return true;
    struct sf_alloc alloc = sf_alloc_libc();
    struct sfi_run *run = sf_calloc(alloc, 1, sizeof *run);
    *run = (struct sfi_run){
        .scenario = scenario,
        .options = options,
        .report = report,
        .topology = scenario->topology,
        .plan = options->plan != NULL ? options->plan : sf_plan_new(scenario->topology),
        .seed = report->seed,
        .history = {.level = options->history, .text = &report->history},
        .is_keeping = is_keeping,
    };
    run->lanes = sf_driver_scenario_lanes(scenario);
    run->view = (struct sf_driver_world){.seed = run->seed,
                                         .topology = run->topology,
                                         .plan = run->plan,
                                         .lanes = run->lanes,
                                         .is_exact = scenario->world.is_exact,
                                         .is_barrier_manual = scenario->is_barrier_manual,
                                         .report = report_of_checks,
                                         .report_ctx = run};
    bool is_whole = run_world(run);
    sf_cfree(alloc, run, 1, sizeof *run);
    return is_whole;
}

enum sf_driver_verdict sf_driver_run(const struct sf_scenario *scenario, const struct sf_driver_options *options,
                                     struct sf_driver_report *report)
{
    if (run_once(scenario, options, report, false)) return report->verdict;
    struct sf_alloc alloc = report->alloc;
    sf_driver_report_deinit(report);
    sf_driver_report_init(report, alloc);
    bool is_whole = run_once(scenario, options, report, true);
    report->is_remade = true;
    assert(is_whole); /* nothing was let go */
    (void)is_whole;
    return report->verdict;
}
