#include "driver/run_parts.h"
#include "driver/time_text.h"
#include "sim/random.h"

#define LATE_US 100000 /* a commit that comes twice: how far behind its repetition */
#define DEAF_MS 30000 /* a former owner hears of its loss so much later */

struct planned {
    struct sfi_run *run;
    const struct sf_scenario_fault *spec;
    struct sf_driver_point point;
    int64_t begin_us; /* mono; INT64_MAX: at a point, or begun */
    int64_t end_us;   /* mono; INT64_MAX: not under way, or without end */
    bool has_fired;
};

struct sfi_faults {
    struct sfi_run *run;
    struct planned *items;
    uint32_t count;
    uint32_t lane_total;
    struct sf_sim_disk **lost; /* disks that are gone, kept until the run is over */
    uint32_t lost_count;
};

/* ---------------------------------------------------------------- planning */

static const char *unsupported(const struct sf_scenario_fault *spec)
{
    switch (spec->kind) {
    case SF_SCENARIO_REVOKED:
        return "`partition: revoked` is not yet supported";
    case SF_SCENARIO_PAUSE:
        return "`pause` is not yet supported";
    case SF_SCENARIO_SWARM:
        return "`swarm` is not yet supported";
    case SF_SCENARIO_CRASH:
    case SF_SCENARIO_BROKER:
    case SF_SCENARIO_UNAVAILABLE:
    case SF_SCENARIO_LAG_UNKNOWN:
    case SF_SCENARIO_ADDED:
    case SF_SCENARIO_TRUNCATED:
    case SF_SCENARIO_CLOCK_JUMP:
    case SF_SCENARIO_TAKE_OVER:
    case SF_SCENARIO_METADATA_LOST:
    case SF_SCENARIO_LANE_STOPPED:
    case SF_SCENARIO_INGEST_STOPPED:
        break;
    }
    return NULL;
}

static void place_text(const struct sf_scenario_fault *spec, struct sf_text *text)
{
    sf_text_add(text, "fault in line ");
    sf_text_add_uint(text, spec->place.line);
}

static void plan(struct sfi_faults *faults, uint32_t index)
{
    struct sfi_run *run = faults->run;
    const struct sf_scenario_fault *spec = &run->scenario->faults[index];
    struct planned *item = &faults->items[index];
    *item = (struct planned){.run = run, .spec = spec, .begin_us = INT64_MAX, .end_us = INT64_MAX};
    if (spec->is_at_point)
        sf_driver_point_init(&item->point, &spec->point, run->plan,
                             sf_sim_draw(run->seed, SFI_DOMAIN_POINT, index, 0));
    else
        item->begin_us = sfi_run_mono_us(run, spec->at_ms);
}

bool sfi_faults_new(struct sfi_run *run, struct sfi_faults **faults_out)
{
    for (uint32_t i = 0; i < run->scenario->fault_count; i++) {
        const struct sf_scenario_fault *spec = &run->scenario->faults[i];
        if (unsupported(spec) == NULL) continue;
        char subject[48];
        struct sf_text text;
        sf_text_init(&text, subject, sizeof subject);
        place_text(spec, &text);
        sf_driver_report_refuse(run->report, SF_DRIVER_BAD_INPUT, subject, unsupported(spec));
        return false;
    }
    struct sfi_faults *faults = sf_calloc(run->world.alloc, 1, sizeof *faults);
    faults->run = run;
    faults->count = run->scenario->fault_count;
    faults->lane_total = run->plan->sub_count * run->lanes;
    faults->items = sf_calloc(run->world.alloc, faults->count, sizeof *faults->items);
    faults->lost = sf_calloc(run->world.alloc, faults->count, sizeof(struct sf_sim_disk *));
    for (uint32_t i = 0; i < faults->count; i++) plan(faults, i);
    *faults_out = faults;
    return true;
}

/* Instances are gone by now. */
void sfi_faults_destroy(struct sfi_run *run, struct sfi_faults *faults)
{
    if (faults == NULL) return;
    for (uint32_t i = 0; i < faults->lost_count; i++) sf_sim_disk_destroy(faults->lost[i]);
    sf_cfree(run->world.alloc, faults->lost, faults->count, sizeof(struct sf_sim_disk *));
    sf_cfree(run->world.alloc, faults->items, faults->count, sizeof *faults->items);
    sf_cfree(run->world.alloc, faults, 1, sizeof *faults);
}

int64_t sfi_faults_next_us(const struct sfi_faults *faults)
{
    int64_t next = INT64_MAX;
    for (uint32_t i = 0; i < faults->count; i++) {
        if (faults->items[i].begin_us < next) next = faults->items[i].begin_us;
        if (faults->items[i].end_us < next) next = faults->items[i].end_us;
    }
    return next;
}

void sfi_faults_started(struct sfi_faults *faults)
{
    for (uint32_t i = 0; i < faults->count; i++) {
        if (faults->items[i].spec->is_at_point) sf_driver_point_restart(&faults->items[i].point);
    }
}

/* ---------------------------------------------------------------- kinds */

static struct sf_tp tp_of(const struct sfi_run *run, const struct sf_scenario_fault *spec)
{
    uint32_t topic = sf_sim_kafka_topic(run->broker, run->scenario->topics[spec->topic].name);
    return (struct sf_tp){topic, (int32_t)spec->partition};
}

static void lose_disk(struct sfi_faults *faults, struct sfi_machine *machine, uint32_t instance_id)
{
    faults->lost[faults->lost_count++] = machine->disk;
    machine->disk = NULL;
    struct sf_driver_event event = {.kind = SF_DRIVER_EVENT_STORE_LOST, .instance_id = instance_id};
    sfi_run_happened(faults->run, &event);
}

/* `process` may be in the middle of a step. */
static bool crash(struct sfi_faults *faults, const struct sf_scenario_fault *spec, struct sfi_process *process)
{
    struct sfi_run *run = faults->run;
    if (process == NULL || process->instance.process->is_dead) return false;
    struct sfi_machine *machine = &run->machines[process->machine];
    uint32_t id = process->instance.process->id;
    struct sf_driver_event event = {.kind = SF_DRIVER_EVENT_CRASH, .instance_id = id};
    sfi_run_happened(run, &event);
    sf_sim_instance_kill(process->instance.process);
    machine->restart_us = run->world.mono_us + spec->restart_after_ms * 1000;
    machine->start = SF_DRIVER_START_AFTER_CRASH;
    if (spec->is_store_lost) lose_disk(faults, machine, id);
    return true;
}

/* The coordinator gives the open transaction up, so that an end that is sent again finds it aborted. */
static void time_out(void *ctx)
{
    struct planned *item = ctx;
    struct sfi_run *run = item->run;
    item->has_fired = sf_sim_kafka_txn_timeout(run->broker, run->topology->application_id);
    if (item->has_fired) sf_driver_history_line(&run->history, "world", "the transaction has timed out");
}

static bool plant_broker_fault(struct planned *item)
{
    struct sfi_run *run = item->run;
    const struct sf_scenario_fault *spec = item->spec;
    struct sf_sim_kafka_fault fault = {
        .request = SF_SIM_KAFKA_REQUEST_END_COMMIT,
        .effect = spec->is_committed ? SF_SIM_KAFKA_ANSWER_LOST : SF_SIM_KAFKA_LOST,
        .count = 1,
    };
    if (spec->is_late) {
        fault.effect = SF_SIM_KAFKA_DELAYED;
        fault.delay_us = run->request_timeout_us + LATE_US;
    }
    sf_sim_kafka_fault(run->broker, &fault);
    if (!spec->is_committed)
        (void)sf_sim_world_after(&run->world, run->request_timeout_us / 2, SFI_DOMAIN_POINT, time_out, item);
    struct sf_driver_event event = {
        .kind = SF_DRIVER_EVENT_BROKER,
        .name = spec->is_late        ? "the next commit is held up on its way, and overtaken by its repetition"
                : spec->is_committed ? "the next commit takes effect and its answer is lost"
                                     : "the next commit is lost and its transaction times out",
    };
    sfi_run_happened(run, &event);
    return true;
}

static void set_mode(struct sfi_faults *faults, const struct sf_scenario_fault *spec, bool is_begin)
{
    struct sfi_run *run = faults->run;
    bool is_lag = spec->kind == SF_SCENARIO_LAG_UNKNOWN;
    struct sf_tp tp = tp_of(run, spec);
    enum sf_sim_kafka_mode mode = !is_begin ? SF_SIM_KAFKA_MODE_OK
                                  : is_lag  ? SF_SIM_KAFKA_MODE_NO_FETCH
                                            : SF_SIM_KAFKA_MODE_NO_LEADER;
    sf_sim_kafka_mode(run->broker, tp, mode);
    struct sf_driver_event event = {
        .kind = !is_begin ? SF_DRIVER_EVENT_AVAILABLE
                : is_lag  ? SF_DRIVER_EVENT_LAG_UNKNOWN
                          : SF_DRIVER_EVENT_UNAVAILABLE,
        .tp = tp,
    };
    sfi_run_happened(run, &event);
}

static bool add_partition(struct sfi_faults *faults, const struct sf_scenario_fault *spec)
{
    struct sfi_run *run = faults->run;
    struct sf_tp tp = tp_of(run, spec);
    if (sf_sim_kafka_partition_count(run->broker, tp.topic) > tp.partition) return false;
    sf_sim_kafka_add_partitions(run->broker, tp.topic, tp.partition + 1);
    struct sf_driver_event event = {.kind = SF_DRIVER_EVENT_ADDED, .tp = tp};
    sfi_run_happened(run, &event);
    return true;
}

static bool truncate(struct sfi_faults *faults, const struct sf_scenario_fault *spec)
{
    struct sfi_run *run = faults->run;
    struct sf_tp tp = tp_of(run, spec);
    if (sf_sim_kafka_partition_count(run->broker, tp.topic) <= tp.partition) return false;
    sf_sim_kafka_truncate(run->broker, tp, sf_sim_kafka_log_end(run->broker, tp, SF_LOG_STABLE_END));
    struct sf_driver_event event = {.kind = SF_DRIVER_EVENT_TRUNCATED, .tp = tp};
    sfi_run_happened(run, &event);
    return true;
}

static void hold(struct sfi_faults *faults, const struct sf_scenario_fault *spec)
{
    struct sfi_run *run = faults->run;
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
    struct sf_driver_event event = {.kind = SF_DRIVER_EVENT_HELD, .value = until_us, .name = name};
    sfi_run_happened(run, &event);
}

static bool take_over(struct sfi_faults *faults)
{
    struct sfi_run *run = faults->run;
    const char *group = run->topology->application_id;
    uint32_t old = sf_sim_kafka_group(run->broker, group).owner_instance;
    if (!sf_sim_kafka_group_expel(run->broker, group, INT64_C(1000) * DEAF_MS)) return false;
    struct sf_driver_event event = {.kind = SF_DRIVER_EVENT_STANDBY, .instance_id = old};
    sfi_run_happened(run, &event);
    return true;
}

/* `process`: who crashes. */
static bool fire(struct sfi_faults *faults, struct planned *item, struct sfi_process *process)
{
    struct sfi_run *run = faults->run;
    const struct sf_scenario_fault *spec = item->spec;
    switch (spec->kind) {
    case SF_SCENARIO_CRASH:
        return crash(faults, spec, process);
    case SF_SCENARIO_BROKER:
        return plant_broker_fault(item);
    case SF_SCENARIO_UNAVAILABLE:
    case SF_SCENARIO_LAG_UNKNOWN:
        set_mode(faults, spec, true);
        return true;
    case SF_SCENARIO_ADDED:
        return add_partition(faults, spec);
    case SF_SCENARIO_TRUNCATED:
        return truncate(faults, spec);
    case SF_SCENARIO_CLOCK_JUMP: {
        sf_sim_world_wall_jump(&run->world, spec->jump_ms * 1000);
        struct sf_driver_event event = {.kind = SF_DRIVER_EVENT_WALL_JUMP, .value = spec->jump_ms};
        sfi_run_happened(run, &event);
        return true;
    }
    case SF_SCENARIO_TAKE_OVER:
        return take_over(faults);
    case SF_SCENARIO_METADATA_LOST: {
        if (sf_sim_kafka_metadata_lost(run->broker, run->topology->application_id) == 0) return false;
        struct sf_driver_event event = {.kind = SF_DRIVER_EVENT_METADATA_LOST};
        sfi_run_happened(run, &event);
        return true;
    }
    case SF_SCENARIO_LANE_STOPPED:
    case SF_SCENARIO_INGEST_STOPPED:
        hold(faults, spec);
        return true;
    case SF_SCENARIO_REVOKED:
    case SF_SCENARIO_PAUSE:
    case SF_SCENARIO_SWARM:
        break;
    }
    return false;
}

static bool has_end(const struct sf_scenario_fault *spec)
{
    return spec->until_ms != SF_SCENARIO_UNUSED &&
           (spec->kind == SF_SCENARIO_UNAVAILABLE || spec->kind == SF_SCENARIO_LAG_UNKNOWN);
}

void sfi_faults_due(struct sfi_run *run, struct sfi_faults *faults)
{
    for (uint32_t i = 0; i < faults->count; i++) {
        struct planned *item = &faults->items[i];
        if (item->end_us <= run->world.mono_us) {
            item->end_us = INT64_MAX;
            set_mode(faults, item->spec, false);
        }
        if (item->begin_us > run->world.mono_us) continue;
        item->begin_us = INT64_MAX;
        item->has_fired = fire(faults, item, sfi_process_owner(run));
        if (item->has_fired && has_end(item->spec)) item->end_us = sfi_run_mono_us(run, item->spec->until_ms);
    }
}

void sfi_faults_note(struct sfi_run *run, struct sfi_faults *faults, struct sf_sim_instance *instance,
                     const struct sf_note *note)
{
    for (uint32_t i = 0; i < faults->count; i++) {
        struct planned *item = &faults->items[i];
        if (!item->spec->is_at_point || item->has_fired) continue;
        if (!sf_driver_point_reached(&item->point, note, faults->lane_total)) continue;
        item->has_fired = fire(faults, item, sfi_process_of(run, instance));
        if (!item->has_fired) item->point.seen--; /* the process is dying already: the next time, then */
    }
}

void sfi_faults_judge(struct sfi_run *run, const struct sfi_faults *faults)
{
    for (uint32_t i = 0; i < faults->count; i++) {
        const struct planned *item = &faults->items[i];
        if (item->has_fired) continue;
        char subject[SF_DRIVER_SUBJECT_BYTES], expected[SF_DRIVER_VALUE_BYTES], actual[SF_DRIVER_VALUE_BYTES];
        struct sf_text text;
        sf_text_init(&text, subject, sizeof subject);
        place_text(item->spec, &text);
        sf_text_init(&text, expected, sizeof expected);
        sf_text_add(&text, "it happens at ");
        if (item->spec->is_at_point) {
            sf_text_add(&text, item->spec->point.text);
        } else {
            char time[SF_DRIVER_TIME_BYTES];
            sf_text_add(&text, sf_driver_elapsed_of(time, item->spec->at_ms * 1000));
        }
        sf_text_init(&text, actual, sizeof actual);
        sf_text_add(&text, "it never did");
        if (item->spec->is_at_point && item->spec->point.is_epoch_any) {
            sf_text_add(&text, ": the point came ");
            sf_text_add_uint(&text, item->point.seen);
            sf_text_add(&text, " times, and the seed chose number ");
            sf_text_add_uint(&text, item->point.occurrence);
        }
        sfi_run_fail(run, "fault", subject, expected, actual);
    }
}
