#include "core/run/engine_impl.h"

#include "core/time/event_time.h"

#define POLL_INTERVAL_US 1000000

/* ------------------------------------------------------------------ the end */

static void finish_end(struct sf_engine *engine)
{
    engine->phase = SF_PHASE_ENDED;
    if (engine->config.ended != NULL) engine->config.ended(engine->config.ended_ctx, engine->end, &engine->error);
}

/* Tells every task to stop for good; the engine ends when they have. */
void sfi_end(struct sf_engine *engine, const struct sf_step *step, enum sf_end end, enum sf_status status,
             const char *text)
{
    if (engine->is_ending) return;
    engine->is_ending = true;
    engine->end = end;
    engine->error.status = status;
    if (text != engine->error.text) {
        size_t len = text != NULL ? strlen(text) : 0;
        if (len >= sizeof engine->error.text) len = sizeof engine->error.text - 1;
        if (len > 0) memcpy(engine->error.text, text, len);
        engine->error.text[len] = '\0';
    }
    engine->stopped_count = 0;
    engine->deadline = sf_mono_add(step->now, engine->config.topology->settings.barrier_timeout_ms * 1000);
    engine->stopping_count =
        sfi_tell_all(engine, &(struct sf_msg){
                                 .kind = SF_MSG_STOP, .flags = SF_STOP_FOR_GOOD, .epoch = engine->committed});
    if (end == SF_END_STOPPED)
        sf_note(step->notes, SF_NOTE_STOPPED, SF_SUBJECT_NONE, (int64_t)engine->committed, 0, 0, 0);
    else
        sf_note(step->notes, SF_NOTE_FAILED, SF_SUBJECT_NONE, status, end, 0, 0);
}

/* ------------------------------------------------------------------ news of the tasks */

static void on_owner(struct sf_engine *engine, const struct sf_step *step, const struct sf_msg *msg)
{
    switch (msg->flags) {
    case SF_OWNER_GRANTED: engine->is_owner = true; break;
    case SF_OWNER_REVOKING:
        engine->is_revoking = true;
        engine->is_finish_wanted = true;
        break;
    case SF_OWNER_LOST:
        engine->is_owner = false;
        sfi_end(engine, step, SF_END_FENCED, SF_E_FENCED,
                "another instance owns the application, or this one was away for longer than its session");
        break;
    default: assert(false); break;
    }
}

static void on_committed(struct sf_engine *engine, const struct sf_step *step, const struct sf_msg *msg)
{
    engine->committed = msg->epoch;
    if ((msg->flags & SF_BARRIER_FLUSH) != 0) sfi_end(engine, step, SF_END_STOPPED, SF_OK, NULL);
}

static void take(struct sf_engine *engine, const struct sf_step *step, const struct sf_msg *msg)
{
    switch ((enum sf_msg_kind)msg->kind) {
    case SF_MSG_FAULT: sfi_on_trouble(engine, step, msg); break;
    case SF_MSG_SESSION: sfi_on_session(engine, step, msg); break;
    case SF_MSG_OWNER: on_owner(engine, step, msg); break;
    case SF_MSG_COMMITTED: on_committed(engine, step, msg); break;
    case SF_MSG_STOPPED: sfi_on_stopped(engine, step, msg); break;
    case SF_MSG_RESUMED: sfi_on_resumed(engine, step); break;
    case SF_MSG_GROWN: sfi_on_grown(engine); break;
    case SF_MSG_FINISH: engine->is_finish_wanted = true; break;
    case SF_MSG_RUN:
    case SF_MSG_RECORDS:
    case SF_MSG_OUT:
    case SF_MSG_BARRIER:
    case SF_MSG_CUT:
    case SF_MSG_CROSSED:
    case SF_MSG_WORK:
    case SF_MSG_STOP:
    case SF_MSG_RESET:
    case SF_MSG_FIX:
    case SF_MSG_PAUSE:
    case SF_MSG_TAKE:
    case SF_MSG_GIVE:
    case SF_MSG_GROW:
    default: assert(false); break;
    }
}

static uint32_t take_all(struct sf_engine *engine, const struct sf_step *step, struct sf_edge *edge, uint32_t budget)
{
    const struct sf_msg *msg;
    uint32_t used = 0;
    while (used < budget && sf_notes_has_room(step->notes, 4) && (msg = sf_edge_peek(edge, 0)) != NULL) {
        struct sf_msg copy = *msg;
        sf_edge_pop(edge);
        used++;
        take(engine, step, &copy);
        if (copy.block != NULL) sf_edge_give_back(edge, copy.block);
    }
    return used;
}

static uint32_t take_news(struct sf_engine *engine, const struct sf_step *step)
{
    uint32_t used = take_all(engine, step, engine->host_to_engine, step->budget);
    used += take_all(engine, step, engine->commit_to_engine, step->budget - used);
    used += take_all(engine, step, engine->ingest_to_engine, step->budget - used);
    if (engine->persist_to_engine != NULL)
        used += take_all(engine, step, engine->persist_to_engine, step->budget - used);
    for (uint32_t flat = 0; flat < engine->lane_total; flat++)
        used += take_all(engine, step, &engine->lane_to_engine[flat], step->budget - used);
    return used;
}

/* S4: a stop that was asked for goes to ingest when everything runs; earlier there is nothing to flush. */
static bool follow_finish(struct sf_engine *engine, const struct sf_step *step)
{
    if (!engine->is_finish_wanted || engine->is_finish_sent) return false;
    if (engine->phase == SF_PHASE_CHECKING || engine->phase == SF_PHASE_STANDBY ||
        engine->phase == SF_PHASE_SETTLING || engine->phase == SF_PHASE_RESTORING) {
        sfi_end(engine, step, SF_END_STOPPED, SF_OK, NULL);
        return true;
    }
    if (engine->phase != SF_PHASE_RUNNING) return false;
    engine->is_finish_sent = true;
    engine->phase = SF_PHASE_FINISHING;
    sf_edge_push(engine->engine_to_ingest, &(struct sf_msg){.kind = SF_MSG_FINISH});
    return true;
}

static struct sf_step_result engine_step(void *self, const struct sf_step *step)
{
    struct sf_engine *engine = self;
    uint32_t used = take_news(engine, step);
    bool has_moved = false;
    if (!engine->is_ending && used < step->budget && sf_notes_has_room(step->notes, 4)) {
        if (engine->start != SFI_START_DONE) has_moved = sfi_start_step(engine, step);
        if (!engine->is_ending) has_moved = sfi_recover_step(engine, step) || has_moved;
        if (!engine->is_ending) has_moved = sfi_grow_step(engine, step) || has_moved;
        if (!engine->is_ending) has_moved = follow_finish(engine, step) || has_moved;
        if (has_moved) used++;
    }
    if (engine->is_ending) {
        bool is_late = sf_mono_elapsed_us(engine->deadline, step->now) > 0;
        if (engine->stopped_count < engine->stopping_count && is_late) engine->end = SF_END_STUCK;
        if (engine->stopped_count >= engine->stopping_count || is_late) {
            sfi_start_release(engine);
            sfi_grow_release(engine);
            finish_end(engine);
            return (struct sf_step_result){.next = SF_NEXT_DONE, .used = used};
        }
    }
    return (struct sf_step_result){.next = used > 0 ? SF_NEXT_AGAIN : SF_NEXT_WAIT,
                                   .used = used,
                                   .wake_at = sf_mono_add(step->now, POLL_INTERVAL_US)};
}

/* ------------------------------------------------------------------ life */

static void list_ports(struct sf_engine *engine)
{
    uint32_t at = 0;
    engine->port_count = engine->lane_total + 3 + (engine->persist_to_engine != NULL ? 1 : 0);
    engine->ports = sf_calloc(engine->config.alloc, engine->port_count, sizeof *engine->ports);
    engine->ports[at++] = &engine->host_to_engine->in;
    engine->ports[at++] = &engine->commit_to_engine->in;
    engine->ports[at++] = &engine->ingest_to_engine->in;
    if (engine->persist_to_engine != NULL) engine->ports[at++] = &engine->persist_to_engine->in;
    for (uint32_t flat = 0; flat < engine->lane_total; flat++) engine->ports[at++] = &engine->lane_to_engine[flat].in;
}

static void make_tables(struct sf_engine *engine)
{
    const struct sf_topology *topology = engine->config.topology;
    struct sf_alloc alloc = engine->config.alloc;
    engine->topics = sf_calloc(alloc, topology->source_count + engine->targets.count + 1, sizeof *engine->topics);
    engine->source_partitions = sf_calloc(alloc, topology->source_count, sizeof *engine->source_partitions);
    engine->emitted = sf_calloc(alloc, topology->step_count, sizeof *engine->emitted);
    for (uint32_t i = 0; i < topology->step_count; i++) engine->emitted[i] = SF_TIME_UNSET;
    engine->lanes = sf_calloc(alloc, engine->lane_total, sizeof *engine->lanes);
    engine->lane_tasks = sf_calloc(alloc, engine->lane_total, sizeof *engine->lane_tasks);
}

struct sf_engine *sf_engine_new(const struct sf_engine_config *config)
{
    assert(config->lanes >= 1 && config->lanes <= SF_LANES_MAX);
    struct sf_engine *engine = sf_calloc(config->alloc, 1, sizeof *engine);
    engine->config = *config;
    engine->lane_total = config->plan->sub_count * config->lanes;
    sf_ring_init(&engine->ring, config->plan->hops_max);
    sf_targets_init(&engine->targets, config->alloc, config->plan, config->kafka);
    make_tables(engine);
    sfi_wire(engine);
    list_ports(engine);
    engine->task = (struct sf_task){.name = "engine",
                                    .step = engine_step,
                                    .self = engine,
                                    .ports = engine->ports,
                                    .port_count = engine->port_count,
                                    .home = 0,
                                    .id = SF_TASK_NONE};
    sf_sched_spawn(config->sched, &engine->task);
    engine->host_to_engine->to_consumer = sf_sched_waker(config->sched, engine->task.id);
    return engine;
}

void sf_engine_destroy(struct sf_engine *engine)
{
    if (engine == NULL) return;
    struct sf_alloc alloc = engine->config.alloc;
    const struct sf_topology *topology = engine->config.topology;
    sfi_start_release(engine);
    sfi_grow_release(engine);
    sf_ingest_destroy(engine->ingest);
    sf_commit_destroy(engine->commit);
    sfi_destroy_lanes(engine);
    sf_persist_destroy(engine->persist);
    struct sf_error ignored; /* what a store could not write at its end the next start replays */
    (void)sf_local_state_close(&engine->local, &ignored);
    sfi_unwire(engine);
    sf_cfree(alloc, engine->lanes, engine->lane_total, sizeof *engine->lanes);
    sf_cfree(alloc, engine->lane_tasks, engine->lane_total, sizeof *engine->lane_tasks);
    sf_cfree(alloc, engine->emitted, topology->step_count, sizeof *engine->emitted);
    sf_cfree(alloc, engine->source_partitions, topology->source_count, sizeof *engine->source_partitions);
    sf_cfree(alloc, engine->topics, topology->source_count + engine->targets.count + 1, sizeof *engine->topics);
    sf_cfree(alloc, engine->partitions, engine->partition_count, sizeof *engine->partitions);
    sf_cfree(alloc, engine->tps, engine->tps_capacity, sizeof *engine->tps);
    sf_cfree(alloc, engine->ports, engine->port_count, sizeof *engine->ports);
    sf_targets_deinit(&engine->targets);
    sf_cfree(alloc, engine, 1, sizeof *engine);
}

void sf_engine_finish(struct sf_engine *engine)
{
    sf_edge_push(engine->host_to_engine, &(struct sf_msg){.kind = SF_MSG_FINISH});
}

void sf_engine_fix(struct sf_engine *engine)
{
    sf_edge_push(engine->host_to_ingest, &(struct sf_msg){.kind = SF_MSG_FIX});
}

void sf_engine_pause(struct sf_engine *engine, bool is_paused)
{
    sf_edge_push(engine->host_to_ingest, &(struct sf_msg){.kind = SF_MSG_PAUSE, .value = is_paused});
}

void sf_engine_take(struct sf_engine *engine, struct sf_tp tp)
{
    sf_edge_push(engine->host_to_ingest,
                 &(struct sf_msg){.kind = SF_MSG_TAKE, .value = tp.topic, .value2 = tp.partition});
}

void sf_engine_give(struct sf_engine *engine, struct sf_tp tp)
{
    sf_edge_push(engine->host_to_ingest,
                 &(struct sf_msg){.kind = SF_MSG_GIVE, .value = tp.topic, .value2 = tp.partition});
}

enum sf_engine_phase sf_engine_phase(const struct sf_engine *engine)
{
    return engine->phase;
}

const struct sf_ingest *sf_engine_ingest(const struct sf_engine *engine)
{
    return engine->ingest;
}

uint64_t sf_engine_epoch(const struct sf_engine *engine)
{
    return engine->committed;
}

const struct sf_step_counts *sf_engine_step_counts(const struct sf_engine *engine)
{
    return engine->commit != NULL ? sf_commit_step_counts(engine->commit) : NULL;
}

const struct sf_sink_counts *sf_engine_sink_counts(const struct sf_engine *engine)
{
    return engine->commit != NULL ? sf_commit_sink_counts(engine->commit) : NULL;
}

uint64_t sf_engine_transactions_lost(const struct sf_engine *engine)
{
    return engine->transactions_lost;
}

static bool is_empty(const struct sf_edge *edge)
{
    return atomic_load_explicit(&edge->written, memory_order_acquire) == edge->in.consumed;
}

bool sf_engine_has_heard(const struct sf_engine *engine)
{
    return is_empty(engine->host_to_engine) && is_empty(engine->host_to_ingest);
}

bool sf_engine_is_settled(const struct sf_engine *engine)
{
    return engine->phase == SF_PHASE_RUNNING && engine->recover == SFI_RECOVER_NONE &&
           engine->grow == SFI_GROW_NONE && engine->ingest != NULL &&
           sf_ingest_is_settled(engine->ingest) && sf_commit_is_at_rest(engine->commit);
}
