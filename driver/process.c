#include "driver/run_parts.h"
#include "sim/random.h"

/* Told from inside the engine's last step: nothing is taken down here. */
static void engine_ended(void *ctx, enum sf_end end, const struct sf_error *error)
{
    struct sfi_process *process = ctx;
    process->has_ended = true;
    process->end = end;
    process->error = *error;
}

static struct sf_sim_disk *disk_new(struct sfi_run *run)
{
    struct sf_sim_disk_config config =
        run->view.is_exact ? sf_sim_disk_config_exact() : sf_sim_disk_config_drawn(run->seed);
    return sf_sim_disk_new(&run->world, &config);
}

static void make_engine(struct sfi_run *run, struct sfi_process *process, const struct sf_observer *observer)
{
    struct sf_driver_instance *instance = &process->instance;
    struct sf_engine_config config = {
        .topology = run->topology,
        .plan = run->plan,
        .alloc = sf_sim_instance_alloc(instance->process),
        .sched = sf_sim_sched_handle(run->sched, instance->process),
        .kafka = instance->kafka,
        .stores = sf_sim_disk_factory(instance->disk, instance->process),
        .observer = observer,
        .is_barrier_manual = run->view.is_barrier_manual,
        .incarnation = instance->incarnation,
        .lanes = run->lanes,
        .home_count = 1,
        .ended = engine_ended,
        .ended_ctx = process,
    };
    process->engine = sf_engine_new(&config);
    instance->engine = process->engine;
}

static void plan_crash(struct sfi_run *run, struct sfi_process *process)
{
    const struct sf_driver_crash *crash = &run->options->crash;
    if (crash->command == SF_SIM_COMMAND_NONE || run->process_count != crash->process) return;
    sf_sim_instance_crash_at(process->instance.process, crash->command, crash->stage);
}

void sfi_process_start(struct sfi_run *run, uint32_t machine, enum sf_driver_start start)
{
    if (run->process_count == SFI_PROCESSES_MAX) {
        sfi_run_violate(run, "X3", "more processes were started than a run may have", "at most 64",
                        "the engine keeps ending");
        return;
    }
    struct sfi_machine *at = &run->machines[machine];
    at->restart_us = INT64_MAX;
    if (at->disk == NULL) at->disk = disk_new(run);
    struct sfi_process *process = &run->processes[run->process_count++];
    struct sf_sim_instance *simulated = sf_sim_instance_new(&run->world);
    *process = (struct sfi_process){.run = run, .machine = machine};
    process->instance = (struct sf_driver_instance){
        .process = simulated,
        .kafka = sf_sim_kafka_handle(run->broker, simulated),
        .disk = at->disk,
        .start = start,
        .incarnation = sf_sim_draw(run->seed, SFI_DOMAIN_INCARNATION, simulated->id, 0),
    };
    plan_crash(run, process);
    if (sf_driver_history_is_on(&run->history)) {
        sf_driver_history_begin(&run->history, 0, "world");
        sf_text_add(run->history.text, start == SF_DRIVER_START_FIRST     ? "the application starts"
                                       : start == SF_DRIVER_START_STANDBY ? "a standby starts as process "
                                                                          : "the application starts again as process ");
        if (start != SF_DRIVER_START_FIRST) sf_text_add_uint(run->history.text, simulated->id);
        sf_text_add(run->history.text, "\n");
    }
    if (run->faults != NULL) sfi_faults_started(run->faults);
    const struct sf_driver_checks_ops *checks = run->options->checks;
    const struct sf_observer *observer =
        checks != NULL && checks->started != NULL ? checks->started(run->checks, &process->instance) : NULL;
    make_engine(run, process, observer);
    if (checks != NULL && checks->made != NULL) checks->made(run->checks, &process->instance);
}

/* ---------------------------------------------------------------- ends */

static void tell_end(struct sfi_run *run, struct sfi_process *process, enum sf_driver_ending ending)
{
    const struct sf_driver_checks_ops *checks = run->options->checks;
    if (checks != NULL && checks->ended != NULL && process->engine != NULL)
        checks->ended(run->checks, &process->instance, ending);
    process->is_over = true;
}

/* A corpse: its memory goes with it. */
static void bury(struct sfi_run *run, struct sfi_process *process)
{
    if (sf_driver_history_is_on(&run->history)) {
        sf_driver_history_begin(&run->history, process->instance.process->id, "world");
        sf_text_add(run->history.text, "the process is killed\n");
    }
    tell_end(run, process, SF_DRIVER_ENDED_CRASHED);
    sfi_metrics_add(&run->totals, run, process);
    process->engine = NULL;
    process->instance.engine = NULL;
    sf_sim_instance_destroy(process->instance.process);
    process->instance.process = NULL;
    struct sfi_machine *machine = &run->machines[process->machine];
    /* The crash that options ask for has no fault that says when to go on. */
    if (!process->is_killed) {
        run->report->has_crashed = true;
        machine->restart_us = run->world.mono_us + run->options->crash.restart_after_ms * 1000;
        machine->start = SF_DRIVER_START_AFTER_CRASH;
    }
}

static enum sf_driver_ending ending_of(enum sf_end end)
{
    switch (end) {
    case SF_END_STOPPED:
        return SF_DRIVER_ENDED_STOPPED;
    case SF_END_FENCED:
        return SF_DRIVER_ENDED_FENCED;
    case SF_END_STUCK:
        return SF_DRIVER_ENDED_STUCK;
    case SF_END_FAILED:
        break;
    }
    return SF_DRIVER_ENDED_FAILED;
}

/* X13: what an engine took it gives back. The instance stays until the run is over: what it sent is under way. */
static void free_engine(struct sfi_run *run, struct sfi_process *process)
{
    struct sf_sim_heap *heap = &process->instance.process->heap;
    sf_engine_destroy(process->engine);
    process->engine = NULL;
    process->instance.engine = NULL;
    if (heap->blocks == 0) return;
    char actual[96];
    struct sf_text text;
    sf_text_init(&text, actual, sizeof actual);
    sf_text_add_uint(&text, heap->blocks);
    sf_text_add(&text, " blocks, ");
    sf_text_add_uint(&text, heap->bytes);
    sf_text_add(&text, " bytes are left");
    sfi_run_fail(run, "X13", "memory of an engine that has ended", "nothing allocated is left", actual);
}

/* A task of it never stopped (B9): the process exits as it is, and its memory with it. */
static void abandon(struct sfi_process *process)
{
    process->engine = NULL;
    process->instance.engine = NULL;
    sf_sim_instance_kill(process->instance.process);
}

static const char *const end_words[] = {
    [SF_END_STOPPED] = "the engine has stopped",
    [SF_END_FENCED] = "the engine is no longer the owner and has ended",
    [SF_END_STUCK] = "the engine has ended: a task did not stop in time",
    [SF_END_FAILED] = "the engine has ended: ",
};

static void say_end(struct sfi_run *run, const struct sfi_process *process)
{
    if (!sf_driver_history_is_on(&run->history)) return;
    sf_driver_history_begin(&run->history, process->instance.process->id, "engine");
    sf_text_add(run->history.text, end_words[process->end]);
    if (process->end == SF_END_FAILED) sf_text_add(run->history.text, process->error.text);
    sf_text_add(run->history.text, "\n");
}

static void take_down(struct sfi_run *run, struct sfi_process *process)
{
    say_end(run, process);
    tell_end(run, process, ending_of(process->end));
    sfi_metrics_add(&run->totals, run, process);
    uint64_t epoch = sf_engine_epoch(process->engine);
    if (epoch > run->report->epoch) run->report->epoch = epoch;
    if (process->end == SF_END_STUCK)
        abandon(process);
    else
        free_engine(run, process);
    struct sfi_machine *machine = &run->machines[process->machine];
    if (process->end == SF_END_FAILED) {
        if (!sfi_expect_failure(run, process->error.text))
            sfi_run_violate(run, "stopped", "the engine gave up", "it runs on", process->error.text);
        run->has_given_up = run->is_stopped = true;
    } else if (process->end == SF_END_STOPPED && process->is_to_return && !run->is_stop_asked) {
        machine->restart_us = run->world.mono_us + process->return_after_us;
        machine->start = SF_DRIVER_START_AFTER_END;
    } else if (process->end == SF_END_STOPPED && !run->is_stop_asked) {
        /* it has given way, and is there for whoever comes after it (S6) */
        machine->restart_us = run->world.mono_us + SFI_SUPERVISOR_DELAY_MS * 1000;
        machine->start = SF_DRIVER_START_AFTER_END;
    } else if (process->end == SF_END_STOPPED) {
        run->is_stopped = run->is_stop_asked && sfi_process_owner(run) == NULL; /* who is still down stays down */
    } else if (sfi_process_owner(run) == NULL) {
        machine->restart_us = run->world.mono_us + SFI_SUPERVISOR_DELAY_MS * 1000;
        machine->start = SF_DRIVER_START_AFTER_END;
    }
}

bool sfi_process_reap(struct sfi_run *run)
{
    bool has_reaped = false;
    for (uint32_t i = 0; i < run->process_count; i++) {
        struct sfi_process *process = &run->processes[i];
        if (process->is_over) continue;
        if (!process->instance.process->is_dead && !process->has_ended) continue;
        if (process->instance.process->is_dead)
            bury(run, process);
        else
            take_down(run, process);
        has_reaped = true;
    }
    return has_reaped;
}

void sfi_process_drop_all(struct sfi_run *run)
{
    for (uint32_t i = 0; i < run->process_count; i++) {
        struct sfi_process *process = &run->processes[i];
        if (process->is_over) continue;
        uint64_t epoch = process->engine != NULL ? sf_engine_epoch(process->engine) : 0;
        if (epoch > run->report->epoch) run->report->epoch = epoch;
        tell_end(run, process, SF_DRIVER_ENDED_CUT);
        if (process->engine != NULL) sfi_metrics_add(&run->totals, run, process);
        process->engine = NULL;
        process->instance.engine = NULL;
        sf_sim_instance_kill(process->instance.process);
    }
}

/* ---------------------------------------------------------------- restarts */

int64_t sfi_process_next_restart_us(const struct sfi_run *run)
{
    int64_t next = INT64_MAX;
    for (uint32_t i = 0; i < SFI_MACHINES_MAX; i++) {
        if (run->machines[i].restart_us < next) next = run->machines[i].restart_us;
    }
    return next;
}

bool sfi_process_restart_due(struct sfi_run *run)
{
    bool has_started = false;
    for (uint32_t i = 0; i < SFI_MACHINES_MAX && !run->is_halted; i++) {
        if (run->machines[i].restart_us > run->world.mono_us) continue;
        sfi_process_start(run, i, run->machines[i].start);
        has_started = true;
    }
    return has_started;
}

/* ---------------------------------------------------------------- who is who */

struct sfi_process *sfi_process_of(struct sfi_run *run, const struct sf_sim_instance *instance)
{
    for (uint32_t i = 0; i < run->process_count; i++) {
        struct sfi_process *process = &run->processes[i];
        if (!process->is_over && process->instance.process == instance) return process;
    }
    return NULL;
}

struct sfi_process *sfi_process_owner(struct sfi_run *run)
{
    uint32_t owner = sf_sim_kafka_group(run->broker, run->topology->application_id).owner_instance;
    struct sfi_process *newest = NULL;
    for (uint32_t i = 0; i < run->process_count; i++) {
        struct sfi_process *process = &run->processes[i];
        if (process->is_over) continue;
        if (process->instance.process->id == owner) return process;
        newest = process;
    }
    return newest;
}

bool sfi_process_reads(struct sfi_run *run, const struct sfi_process *process, struct sf_tp tp, bool is_taken)
{
    const struct sf_ingest *ingest = sf_engine_ingest(process->engine);
    struct sf_wall_ts wall = {sf_sim_world_wall_ms(&run->world)};
    struct sf_watermark_view view = {0};
    if (ingest != NULL) sf_ingest_view(ingest, wall, &view);
    for (uint32_t i = 0; i < view.partition_count; i++) {
        struct sf_partition_view partition;
        sf_ingest_partition_view(ingest, i, wall, &partition);
        if (partition.tp.topic == tp.topic && partition.tp.partition == tp.partition)
            return (partition.is_taken || partition.is_leaving) == is_taken;
    }
    return false;
}
