/* State of a start: stable ends of the internal logs (case 99), emit frontiers (K2), stores (K4, K8, K9). */
#include "core/run/engine_impl.h"

#include "core/bytes.h"
#include "core/hash.h"
#include "core/text.h"
#include "core/time/event_time.h"

#define STABLE_RETRY_US 100000

/* ------------------------------------------------------------------ logs and their ends */

static void list_logs(struct sf_engine *engine)
{
    uint32_t count = 1, at = 1;
    for (uint32_t i = engine->targets.sink_count; i < engine->targets.count; i++)
        count += (uint32_t)engine->targets.items[i].partition_count;
    engine->logs = sf_calloc(engine->config.alloc, count, sizeof *engine->logs);
    engine->log_count = count;
    engine->logs[0].tp = (struct sf_tp){.topic = engine->targets.watermark_topic, .partition = 0};
    for (uint32_t kind = SF_TARGET_CHANGELOG; kind <= SF_TARGET_FRONTIER; kind++) {
        for (uint32_t i = engine->targets.sink_count; i < engine->targets.count; i++) {
            const struct sf_target *target = &engine->targets.items[i];
            for (int32_t p = 0; target->kind == kind && p < target->partition_count; p++)
                engine->logs[at++].tp = (struct sf_tp){.topic = target->topic, .partition = p};
        }
        if (kind == SF_TARGET_CHANGELOG) engine->changelog_count = at - 1;
    }
    assert(at == count);
}

/* Tags are the ends themselves: enum sf_log_end. */
static void ask_ends(struct sf_engine *engine)
{
    struct sf_tp *tps = sf_calloc(engine->config.alloc, engine->log_count, sizeof *tps);
    for (uint32_t i = 0; i < engine->log_count; i++) tps[i] = engine->logs[i].tp;
    for (uint32_t which = SF_LOG_START; which <= SF_LOG_END; which++)
        sf_admin_ends(engine->admin, which, (enum sf_log_end)which, tps, engine->log_count);
    engine->pending = 3;
    sf_cfree(engine->config.alloc, tps, engine->log_count, sizeof *tps);
}

void sfi_state_ends(struct sf_engine *engine, const struct sf_step *step, const struct sf_admin_event *event)
{
    engine->pending--;
    if (event->status != SF_OK) {
        sfi_start_fail(engine, step, event->status, "cannot read where the internal topics end:",
                       event->text != NULL ? event->text : sf_status_text(event->status), NULL);
        return;
    }
    for (uint32_t i = 0; i < event->answer_count; i++) {
        struct sfi_log *log = &engine->logs[i];
        if (event->answers[i].status != SF_OK) {
            sfi_start_fail(engine, step, event->answers[i].status, "cannot read where an internal topic ends:",
                           sfi_topic_name(engine, log->tp.topic), sf_status_text(event->answers[i].status));
            return;
        }
        if (event->tag == SF_LOG_START) log->start = event->answers[i].offset;
        if (event->tag == SF_LOG_STABLE_END) log->stable_end = event->answers[i].offset;
        if (event->tag == SF_LOG_END) log->end = event->answers[i].offset;
    }
}

/* Our own transactions are settled by now; an open one in front of the end is somebody else's. */
static const struct sfi_log *find_unstable(const struct sf_engine *engine)
{
    for (uint32_t i = 0; i < engine->log_count; i++)
        if (engine->logs[i].stable_end < engine->logs[i].end) return &engine->logs[i];
    return NULL;
}

static void give_up(struct sf_engine *engine, const struct sf_step *step, const struct sfi_log *log)
{
    char needs[200];
    struct sf_text text;
    sf_text_init(&text, needs, sizeof needs);
    sf_text_add(&text, "partition ");
    sf_text_add_int(&text, log->tp.partition);
    sf_text_add(&text, " is stable up to ");
    sf_text_add_int(&text, log->stable_end);
    sf_text_add(&text, " of ");
    sf_text_add_int(&text, log->end);
    sf_text_add(&text, ": a transaction that is not this application's is open in front of the end; end or abort it");
    sfi_start_fail(engine, step, SF_E_TIMEOUT, "cannot read internal topic", sfi_topic_name(engine, log->tp.topic),
                   needs);
}

bool sfi_state_stable(struct sf_engine *engine, const struct sf_step *step)
{
    if (!engine->is_asked) {
        if (engine->logs == NULL) {
            list_logs(engine);
            engine->deadline =
                sf_mono_add(step->now, engine->config.topology->settings.transaction_timeout_ms * 1000);
        }
        ask_ends(engine);
        engine->is_asked = true;
        engine->ask_again_at = SF_MONO_NEVER;
        return true;
    }
    if (engine->pending > 0) return false;
    const struct sfi_log *log = find_unstable(engine);
    if (log == NULL) {
        sfi_start_next(engine, SFI_START_STAMP);
        return true;
    }
    if (step->now.us > engine->deadline.us) {
        give_up(engine, step, log);
        return true;
    }
    if (engine->ask_again_at.us == SF_MONO_NEVER.us) engine->ask_again_at = sf_mono_add(step->now, STABLE_RETRY_US);
    if (step->now.us < engine->ask_again_at.us) return false;
    engine->is_asked = false;
    return true;
}

/* ------------------------------------------------------------------ emit frontiers */

static const struct sf_target *target_of(const struct sf_engine *engine, uint32_t topic)
{
    for (uint32_t i = 0; i < engine->targets.count; i++)
        if (engine->targets.items[i].topic == topic) return &engine->targets.items[i];
    return NULL;
}

static enum sf_status on_frontier(void *ctx, struct sf_tp tp, const struct sf_record *record, struct sf_error *error)
{
    struct sf_engine *engine = ctx;
    const struct sf_target *target = target_of(engine, tp.topic);
    assert(target != NULL); /* only what list_logs has listed is read */
    if (record->value.data == NULL) return SF_OK;
    if (record->value.len != 8) return sfi_bad_record(record, "not an emit frontier", error);
    engine->emitted[target->index] = (int64_t)sf_get_be64(record->value.data);
    return SF_OK;
}

bool sfi_state_frontiers(struct sf_engine *engine, const struct sf_step *step)
{
    enum sf_status status = SF_OK;
    if (!engine->is_asked) {
        uint32_t first = 1 + engine->changelog_count, count = engine->log_count - first;
        struct sf_tp *tps = sf_calloc(engine->config.alloc, count, sizeof *tps);
        for (uint32_t i = 0; i < count; i++) tps[i] = engine->logs[first + i].tp;
        status = sf_log_reader_open(&engine->reader, engine->config.alloc, engine->config.kafka,
                                    sf_sched_waker(engine->config.sched, engine->task.id), tps, count, on_frontier,
                                    engine, &engine->error);
        sf_cfree(engine->config.alloc, tps, count, sizeof *tps);
        engine->is_reader_open = status == SF_OK;
        engine->is_asked = true;
    }
    if (status == SF_OK) status = sf_log_reader_poll(&engine->reader, &engine->error);
    if (status == SF_OK) return false;
    if (engine->is_reader_open) sf_log_reader_close(&engine->reader);
    engine->is_reader_open = false;
    if (status != SF_END) {
        sfi_start_fail(engine, step, status, "cannot restore:", engine->error.text, NULL);
        return true;
    }
    sfi_start_next(engine, SFI_START_STATE);
    if (!sfi_make_lanes(engine)) sfi_end(engine, step, SF_END_FAILED, engine->error.status, engine->error.text);
    return true;
}

/* ------------------------------------------------------------------ stores */

static enum sf_status on_restored(void *ctx, const struct sf_restored *restored, const char **reason_out)
{
    struct sf_engine *engine = ctx;
    const struct sf_plan_step *plan = &engine->config.plan->steps[restored->store];
    uint32_t lane = sf_lane_of_hash(restored->hash, engine->config.lanes);
    struct sf_flow *flow = sf_lane_flow(engine->lanes[plan->sub * engine->config.lanes + lane]);
    struct sf_window_store *store = flow->steps[plan->rank].store;
    switch (restored->kind) {
    case SF_RESTORED_LOCAL_ROW:
        return sf_window_store_restore_local(store, restored->key, restored->value, reason_out);
    case SF_RESTORED_TRACE:
        return sf_window_store_restore_trace(store, &restored->packed_key, restored->entry_count, reason_out);
    case SF_RESTORED_RECORD: break;
    }
    return sf_window_store_restore(store, restored->key, restored->value, reason_out);
}

/* The store's news go to whoever uses it: this task while it restores, persist later. Any thread. */
static void wake_store(void *self, uint32_t task_id)
{
    struct sf_engine *engine = self;
    (void)task_id;
    if (atomic_load_explicit(&engine->is_persist_spawned, memory_order_acquire))
        sf_sched_wake(engine->config.sched, engine->persist_task.id);
    else
        sf_sched_wake(engine->config.sched, engine->task.id);
}

static enum sf_status open_local(struct sf_engine *engine)
{
    struct sf_local_state_config config = {.alloc = engine->config.alloc,
                                           .stores = engine->config.stores,
                                           .kafka = engine->config.kafka,
                                           .waker = {.wake = wake_store, .self = engine, .task_id = SF_TASK_NONE},
                                           .topology = engine->config.topology,
                                           .targets = &engine->targets,
                                           .cache_bytes = 8u << 20};
    return sf_local_state_open(&engine->local, &config, &engine->error);
}

static void begin_restore(struct sf_engine *engine)
{
    struct sf_restore_log *logs = sf_calloc(engine->config.alloc, engine->changelog_count, sizeof *logs);
    sf_local_state_logs(&engine->targets, engine->config.topology->settings.is_changelog_packed, logs);
    for (uint32_t i = 0; i < engine->changelog_count; i++) {
        assert(logs[i].tp.topic == engine->logs[1 + i].tp.topic);
        assert(logs[i].tp.partition == engine->logs[1 + i].tp.partition);
        logs[i].log_start = engine->logs[1 + i].start;
        logs[i].log_end = engine->logs[1 + i].stable_end;
    }
    engine->restore =
        sf_restore_new(&(struct sf_restore_config){.alloc = engine->config.alloc,
                                                   .kafka = engine->config.kafka,
                                                   .group = engine->config.topology->application_id,
                                                   .waker = sf_sched_waker(engine->config.sched, engine->task.id),
                                                   .writer = engine->local.writer,
                                                   .store = engine->local.store,
                                                   .logs = logs,
                                                   .log_count = engine->changelog_count,
                                                   .sink = on_restored,
                                                   .sink_ctx = engine});
    sf_cfree(engine->config.alloc, logs, engine->changelog_count, sizeof *logs);
}

/* K8: a store that turns out damaged is set aside, and all of it comes from the changelogs. */
static bool begin_again(struct sf_engine *engine)
{
    sf_restore_destroy(engine->restore);
    engine->restore = NULL;
    sfi_destroy_lanes(engine);
    if (sf_local_state_set_aside(&engine->local, "corrupt", &engine->error) != SF_OK) return false;
    if (!sfi_make_lanes(engine)) return false;
    begin_restore(engine);
    return true;
}

bool sfi_state_restore(struct sf_engine *engine, const struct sf_step *step)
{
    uint32_t used = 0;
    if (!engine->is_asked) {
        engine->is_asked = true;
        enum sf_status opened = engine->config.stores.ops != NULL ? open_local(engine) : SF_OK;
        if (opened == SF_E_EXISTS) {
            /* a former owner on this machine still holds it (frozen, or slow to go): all of the state is in the
             * changelogs, so the application need not wait for a lock */
            sf_note(step->notes, SF_NOTE_STORE_FAILED, SF_SUBJECT_NONE, opened, 0, 0, 0);
        } else if (opened != SF_OK) {
            sfi_start_fail(engine, step, opened, "cannot open the local store:", engine->error.text, NULL);
            return true;
        }
        begin_restore(engine);
        used = 1;
    }
    enum sf_restore_state state = sf_restore_step(engine->restore, step, &used);
    if (state == SF_RESTORE_RUNNING) return used > 0;
    if (state == SF_RESTORE_FAILED) {
        bool is_local = sf_restore_is_local_damaged(engine->restore) && !engine->local.is_set_aside;
        if (is_local && begin_again(engine)) return true;
        const struct sf_error *error = engine->restore != NULL ? sf_restore_error(engine->restore) : &engine->error;
        sfi_start_fail(engine, step, error->status, "cannot restore:", error->text, NULL);
        return true;
    }
    engine->restored_rows = sf_restore_rows(engine->restore);
    sfi_start_next(engine, SFI_START_DONE);
    return true;
}

/* S3: state and offsets, but no stamp: an application that came from Kafka Streams has sent what its changelog is
 * past. */
void sfi_state_seed_moved(struct sf_engine *engine)
{
    const struct sf_plan *plan = engine->config.plan;
    bool has_offsets = false;
    for (uint32_t i = 0; i < engine->partition_count; i++)
        has_offsets = has_offsets || engine->partitions[i].is_committed;
    if (engine->has_stamp || !has_offsets) return;
    for (uint32_t i = 0; i < engine->config.topology->step_count; i++) {
        const struct sf_step_spec *step = &engine->config.topology->steps[i];
        if (step->kind != SF_STEP_AGGREGATE || step->emit != SF_EMIT_ON_CLOSE || engine->emitted[i] != SF_TIME_UNSET)
            continue;
        struct sf_lane **lanes = &engine->lanes[plan->steps[i].sub * engine->config.lanes];
        for (uint32_t lane = 0; lane < engine->config.lanes; lane++)
            engine->emitted[i] =
                sf_time_max(engine->emitted[i],
                            sf_window_store_restored_max(sf_lane_flow(lanes[lane])->steps[plan->steps[i].rank].store));
        for (uint32_t lane = 0; lane < engine->config.lanes; lane++)
            sf_flow_seed(sf_lane_flow(lanes[lane]), i, engine->emitted[i]);
    }
}

void sfi_state_release(struct sf_engine *engine)
{
    sf_restore_destroy(engine->restore);
    engine->restore = NULL;
    sf_cfree(engine->config.alloc, engine->logs, engine->log_count, sizeof *engine->logs);
    engine->logs = NULL;
    engine->log_count = 0;
}
