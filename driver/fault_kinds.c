#include "driver/fault_parts.h"

#define LATE_US 100000 /* a commit that comes twice: how far behind its repetition */
#define DEAF_MS 30000 /* a former owner hears of its loss so much later */

static void happened(struct sfi_run *run, const struct sf_driver_event *event)
{
    sfi_run_happened(run, event);
}

static struct sf_tp tp_of(const struct sfi_run *run, const struct sf_scenario_fault *spec)
{
    uint32_t topic = sf_sim_kafka_topic(run->broker, run->scenario->topics[spec->topic].name);
    return (struct sf_tp){topic, (int32_t)spec->partition};
}

/* ---------------------------------------------------------------- processes */

static void lose_disk(struct sfi_faults *faults, struct sfi_machine *machine, uint32_t instance_id)
{
    faults->lost[faults->lost_count++] = machine->disk;
    machine->disk = NULL;
    happened(faults->run, &(struct sf_driver_event){.kind = SF_DRIVER_EVENT_STORE_LOST, .instance_id = instance_id});
}

/* `process` may be in the middle of a step. */
static bool crash(struct sfi_faults *faults, const struct sf_scenario_fault *spec, struct sfi_process *process)
{
    struct sfi_run *run = faults->run;
    if (process == NULL || process->instance.process->is_dead) return false;
    struct sfi_machine *machine = &run->machines[process->machine];
    uint32_t id = process->instance.process->id;
    happened(run, &(struct sf_driver_event){.kind = SF_DRIVER_EVENT_CRASH, .instance_id = id});
    process->is_killed = true;
    sf_sim_instance_kill(process->instance.process);
    machine->restart_us = run->world.mono_us + spec->restart_after_ms * 1000;
    machine->start = SF_DRIVER_START_AFTER_CRASH;
    if (spec->is_store_lost) lose_disk(faults, machine, id);
    return true;
}

static bool stop(struct sfi_run *run, const struct sf_scenario_fault *spec, struct sfi_process *process)
{
    bool can = process != NULL && process->engine != NULL && !process->instance.process->is_dead &&
               !process->has_ended && !process->is_stopping;
    if (!can) return false;
    happened(run, &(struct sf_driver_event){.kind = SF_DRIVER_EVENT_STOP,
                                            .instance_id = process->instance.process->id});
    process->is_stopping = true;
    process->is_to_return = true;
    process->return_after_us = spec->restart_after_ms * 1000;
    sf_engine_finish(process->engine);
    return true;
}

static bool take_over(struct sfi_run *run)
{
    const char *group = run->topology->application_id;
    uint32_t old = sf_sim_kafka_group(run->broker, group).owner_instance;
    if (!sf_sim_kafka_group_expel(run->broker, group, INT64_C(1000) * DEAF_MS)) return false;
    happened(run, &(struct sf_driver_event){.kind = SF_DRIVER_EVENT_STANDBY, .instance_id = old});
    return true;
}

static bool hand_over(struct sfi_run *run)
{
    const char *group = run->topology->application_id;
    struct sf_sim_kafka_group_view view = sf_sim_kafka_group(run->broker, group);
    if (view.owner_instance == 0 || view.member_count < 2) return false;
    happened(run, &(struct sf_driver_event){.kind = SF_DRIVER_EVENT_HAND_OVER, .instance_id = view.owner_instance});
    sf_sim_kafka_group_move(run->broker, group);
    return true;
}

/* It is started between steps, like one that starts again. */
static bool join(struct sfi_run *run)
{
    struct sfi_machine *machine = &run->machines[SFI_MACHINE_STANDBY];
    if (machine->restart_us != INT64_MAX) return false;
    for (uint32_t i = 0; i < run->process_count; i++)
        if (!run->processes[i].is_over && run->processes[i].machine == SFI_MACHINE_STANDBY) return false;
    machine->restart_us = run->world.mono_us;
    machine->start = SF_DRIVER_START_STANDBY;
    return true;
}

/* ---------------------------------------------------------------- requests and their answers */

/* The coordinator gives the open transaction up, so that an end that is sent again finds it aborted. */
static void time_out(void *ctx)
{
    struct sfi_fault *fault = ctx;
    struct sfi_run *run = fault->run;
    fault->is_timed_out = sf_sim_kafka_txn_timeout(run->broker, run->topology->application_id);
    if (fault->is_timed_out) sf_driver_history_line(&run->history, "world", "the transaction has timed out");
}

static void leave(struct sfi_fault *fault, enum sf_sim_kafka_request request, enum sf_sim_kafka_effect effect,
                  int64_t delay_us, const char *words)
{
    struct sfi_run *run = fault->run;
    struct sf_sim_kafka_fault left = {
        .request = request, .effect = effect, .count = 1, .delay_us = delay_us, .met = &fault->met};
    sf_sim_kafka_fault(run->broker, &left);
    fault->is_left = true;
    happened(run, &(struct sf_driver_event){.kind = SF_DRIVER_EVENT_BROKER, .name = words});
}

static bool leave_answer(struct sfi_fault *fault)
{
    struct sfi_run *run = fault->run;
    const struct sf_scenario_fault *spec = fault->spec;
    if (spec->is_late)
        leave(fault, SF_SIM_KAFKA_REQUEST_END_COMMIT, SF_SIM_KAFKA_DELAYED, run->request_timeout_us + LATE_US,
              "the next commit is held up on its way, and overtaken by its repetition");
    else if (spec->is_committed)
        leave(fault, SF_SIM_KAFKA_REQUEST_END_COMMIT, SF_SIM_KAFKA_ANSWER_LOST, 0,
              "the next commit takes effect and its answer is lost");
    else
        leave(fault, SF_SIM_KAFKA_REQUEST_END_COMMIT, SF_SIM_KAFKA_LOST, 0,
              "the next commit is lost and its transaction times out");
    if (!spec->is_committed)
        (void)sf_sim_world_after(&run->world, run->request_timeout_us / 2, SFI_DOMAIN_POINT, time_out, fault);
    return true;
}

static bool lose_request(struct sfi_fault *fault)
{
    static const struct {
        enum sf_sim_kafka_request request;
        const char *words;
    } requests[] = {
        [SF_SCENARIO_REQUEST_INIT] = {SF_SIM_KAFKA_REQUEST_INIT, "the next request for a session is lost"},
        [SF_SCENARIO_REQUEST_WRITE] = {SF_SIM_KAFKA_REQUEST_PRODUCE, "the next write is lost"},
        [SF_SCENARIO_REQUEST_OFFSETS] = {SF_SIM_KAFKA_REQUEST_OFFSETS, "the next offsets are lost"},
        [SF_SCENARIO_REQUEST_COMMIT] = {SF_SIM_KAFKA_REQUEST_END_COMMIT, "the next commit is lost"},
        [SF_SCENARIO_REQUEST_ABORT] = {SF_SIM_KAFKA_REQUEST_END_ABORT, "the next abort is lost"},
    };
    leave(fault, requests[fault->spec->request].request, SF_SIM_KAFKA_LOST, 0,
          requests[fault->spec->request].words);
    return true;
}

static bool delay_markers(struct sfi_fault *fault)
{
    struct sfi_run *run = fault->run;
    sf_sim_kafka_markers_delay(run->broker, run->topology->application_id, fault->spec->span_ms * 1000);
    fault->is_left = true;
    happened(run, &(struct sf_driver_event){.kind = SF_DRIVER_EVENT_BROKER,
                                            .name = "the markers of the next transaction come late"});
    return true;
}

/* ---------------------------------------------------------------- partitions */

static void set_mode(struct sfi_run *run, const struct sf_scenario_fault *spec, bool is_begin)
{
    bool is_lag = spec->kind == SF_SCENARIO_LAG_UNKNOWN;
    struct sf_tp tp = tp_of(run, spec);
    enum sf_sim_kafka_mode mode = !is_begin ? SF_SIM_KAFKA_MODE_OK
                                  : is_lag  ? SF_SIM_KAFKA_MODE_NO_FETCH
                                            : SF_SIM_KAFKA_MODE_NO_LEADER;
    sf_sim_kafka_mode(run->broker, tp, mode);
    enum sf_driver_event_kind kind = !is_begin ? SF_DRIVER_EVENT_AVAILABLE
                                     : is_lag  ? SF_DRIVER_EVENT_LAG_UNKNOWN
                                               : SF_DRIVER_EVENT_UNAVAILABLE;
    happened(run, &(struct sf_driver_event){.kind = kind, .tp = tp});
}

static bool is_there(struct sfi_run *run, struct sf_tp tp)
{
    return sf_sim_kafka_partition_count(run->broker, tp.topic) > tp.partition;
}

static bool make_unreadable(struct sfi_run *run, const struct sf_scenario_fault *spec)
{
    if (!is_there(run, tp_of(run, spec))) return false;
    set_mode(run, spec, true);
    return true;
}

static bool add_partition(struct sfi_run *run, const struct sf_scenario_fault *spec)
{
    struct sf_tp tp = tp_of(run, spec);
    if (is_there(run, tp)) return false;
    sf_sim_kafka_add_partitions(run->broker, tp.topic, tp.partition + 1);
    happened(run, &(struct sf_driver_event){.kind = SF_DRIVER_EVENT_ADDED, .tp = tp});
    return true;
}

/* Of the one who reads; a new process reads all again. */
static bool move_partition(struct sfi_run *run, const struct sf_scenario_fault *spec, struct sfi_process *process)
{
    bool is_taken = spec->kind == SF_SCENARIO_REVOKED;
    struct sf_tp tp = tp_of(run, spec);
    if (process == NULL || process->engine == NULL || sf_engine_phase(process->engine) != SF_PHASE_RUNNING)
        return false;
    struct sf_tp own = {sf_kafka_topic(process->instance.kafka, run->scenario->topics[spec->topic].name),
                        tp.partition};
    if (!sfi_process_reads(run, process, own, !is_taken)) return false;
    enum sf_driver_event_kind kind = is_taken ? SF_DRIVER_EVENT_REVOKED : SF_DRIVER_EVENT_ASSIGNED;
    happened(run, &(struct sf_driver_event){.kind = kind, .instance_id = process->instance.process->id, .tp = tp});
    if (is_taken)
        sf_engine_take(process->engine, own);
    else
        sf_engine_give(process->engine, own);
    return true;
}

/* Nothing that is not decided is thrown away, nor anything twice. */
static bool truncate(struct sfi_run *run, const struct sf_scenario_fault *spec)
{
    struct sf_tp tp = tp_of(run, spec);
    if (!is_there(run, tp)) return false;
    int64_t end = sf_sim_kafka_log_end(run->broker, tp, SF_LOG_STABLE_END);
    int64_t before = spec->kind == SF_SCENARIO_LOG_START ? spec->offset : end;
    if (before > end || (spec->kind == SF_SCENARIO_LOG_START &&
                         before <= sf_sim_kafka_log_end(run->broker, tp, SF_LOG_START)))
        return false;
    sf_sim_kafka_truncate(run->broker, tp, before);
    happened(run, &(struct sf_driver_event){.kind = SF_DRIVER_EVENT_TRUNCATED, .tp = tp, .value = before});
    return true;
}

/* ---------------------------------------------------------------- tasks, clock, offsets */

static bool hold(struct sfi_run *run, const struct sf_scenario_fault *spec)
{
    char name[48];
    struct sf_text text;
    sf_text_init(&text, name, sizeof name);
    if (spec->kind == SF_SCENARIO_INGEST_STOPPED) {
        sf_text_add(&text, "ingest");
    } else {
        sf_text_add(&text, "lane ");
        sf_text_add_uint(&text, run->plan->steps[spec->step].sub);
        sf_text_add(&text, ".");
        sf_text_add_uint(&text, spec->lane);
    }
    int64_t until_us = spec->until_ms == SF_SCENARIO_UNUSED ? INT64_MAX : sfi_run_mono_us(run, spec->until_ms);
    sf_sim_sched_hold(run->sched, 0, name, run->world.mono_us, until_us);
    happened(run, &(struct sf_driver_event){.kind = SF_DRIVER_EVENT_HELD, .value = until_us, .name = name});
    return true;
}

static bool pause_process(struct sfi_run *run, struct sfi_process *process, bool is_paused)
{
    bool is_running = process != NULL && !process->is_over && process->engine != NULL && !process->has_ended &&
                      !process->instance.process->is_dead;
    if (!is_running || process->is_paused == is_paused) return false;
    process->is_paused = is_paused;
    enum sf_driver_event_kind kind = is_paused ? SF_DRIVER_EVENT_PAUSED : SF_DRIVER_EVENT_RESUMED;
    happened(run, &(struct sf_driver_event){.kind = kind, .instance_id = process->instance.process->id});
    sf_engine_pause(process->engine, is_paused);
    return true;
}

/* The owner is paused; whoever is, is resumed. */
static bool pause(struct sfi_run *run, const struct sf_scenario_fault *spec, struct sfi_process *process)
{
    bool has_changed = false;
    if (spec->is_paused) return pause_process(run, process, true);
    for (uint32_t i = 0; i < run->process_count; i++)
        has_changed = pause_process(run, &run->processes[i], false) || has_changed;
    return has_changed;
}

static bool jump(struct sfi_run *run, const struct sf_scenario_fault *spec)
{
    sf_sim_world_wall_jump(&run->world, spec->jump_ms * 1000);
    happened(run, &(struct sf_driver_event){.kind = SF_DRIVER_EVENT_WALL_JUMP, .value = spec->jump_ms});
    return true;
}

static bool lose_metadata(struct sfi_run *run)
{
    if (sf_sim_kafka_metadata_lost(run->broker, run->topology->application_id) == 0) return false;
    happened(run, &(struct sf_driver_event){.kind = SF_DRIVER_EVENT_METADATA_LOST});
    return true;
}

/* ---------------------------------------------------------------- all of them */

bool sfi_fault_begin(struct sfi_faults *faults, struct sfi_fault *fault, struct sfi_process *process)
{
    struct sfi_run *run = faults->run;
    const struct sf_scenario_fault *spec = fault->spec;
    switch (spec->kind) {
    case SF_SCENARIO_CRASH: return crash(faults, spec, process);
    case SF_SCENARIO_STOP: return stop(run, spec, process);
    case SF_SCENARIO_BROKER: return leave_answer(fault);
    case SF_SCENARIO_MARKERS: return delay_markers(fault);
    case SF_SCENARIO_REQUEST_LOST: return lose_request(fault);
    case SF_SCENARIO_UNAVAILABLE:
    case SF_SCENARIO_LAG_UNKNOWN: return make_unreadable(run, spec);
    case SF_SCENARIO_ADDED: return add_partition(run, spec);
    case SF_SCENARIO_TRUNCATED:
    case SF_SCENARIO_LOG_START: return truncate(run, spec);
    case SF_SCENARIO_CLOCK_JUMP: return jump(run, spec);
    case SF_SCENARIO_TAKE_OVER: return take_over(run);
    case SF_SCENARIO_HAND_OVER: return hand_over(run);
    case SF_SCENARIO_JOIN: return join(run);
    case SF_SCENARIO_METADATA_LOST: return lose_metadata(run);
    case SF_SCENARIO_LANE_STOPPED:
    case SF_SCENARIO_INGEST_STOPPED: return hold(run, spec);
    case SF_SCENARIO_REVOKED:
    case SF_SCENARIO_ASSIGNED: return move_partition(run, spec, process);
    case SF_SCENARIO_PAUSE: return pause(run, spec, process);
    case SF_SCENARIO_SWARM: break; /* what it draws are faults of their own */
    }
    return false;
}

void sfi_fault_end(struct sfi_faults *faults, const struct sfi_fault *fault)
{
    set_mode(faults->run, fault->spec, false);
}

bool sfi_fault_has_end(const struct sf_scenario_fault *spec)
{
    return spec->until_ms != SF_SCENARIO_UNUSED &&
           (spec->kind == SF_SCENARIO_UNAVAILABLE || spec->kind == SF_SCENARIO_LAG_UNKNOWN);
}

bool sfi_fault_has_fired(const struct sfi_fault *fault)
{
    const struct sfi_run *run = fault->run;
    if (!fault->is_begun) return false;
    if (!fault->is_left) return true;
    if (fault->spec->kind == SF_SCENARIO_MARKERS)
        return sf_sim_kafka_are_markers_delayed(run->broker, run->topology->application_id);
    bool must_time_out = fault->spec->kind == SF_SCENARIO_BROKER && !fault->spec->is_committed;
    return fault->met > 0 && (fault->is_timed_out || !must_time_out);
}
