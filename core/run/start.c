#include "core/run/engine_impl.h"

#include "core/bytes.h"
#include "core/hash.h"
#include "core/ops/metadata.h"
#include "core/text.h"
#include "core/time/event_time.h"

/* A group that nobody is in yet takes a moment, three seconds as brokers come, to name its first owner. */
#define STANDBY_AFTER_US 5000000
#define PARTITIONS_FOUND_MAX 4096u /* that one run can take (G4); a restart reads any that are beyond */

void sfi_start_fail(struct sf_engine *engine, const struct sf_step *step, enum sf_status status, const char *what,
                    const char *topic, const char *remedy)
{
    char line[SF_ERROR_TEXT_BYTES];
    struct sf_text text;
    sf_text_init(&text, line, sizeof line);
    sf_text_add(&text, what);
    if (topic != NULL) {
        sf_text_add(&text, " ");
        sf_text_add(&text, topic);
    }
    if (remedy != NULL) {
        sf_text_add(&text, ": ");
        sf_text_add(&text, remedy);
    }
    sfi_end(engine, step, SF_END_FAILED, status, line);
}

void sfi_start_next(struct sf_engine *engine, enum sfi_start start)
{
    engine->start = start;
    engine->is_asked = false;
    engine->pending = 0;
}

/* ------------------------------------------------------------------ the newest stamp (K1, B11) */

enum sf_status sfi_bad_record(const struct sf_record *record, const char *reason, struct sf_error *error)
{
    struct sf_text text;
    error->status = SF_E_CORRUPT;
    sf_text_init(&text, error->text, sizeof error->text);
    sf_text_add(&text, "offset ");
    sf_text_add_int(&text, record->offset);
    sf_text_add(&text, ": ");
    sf_text_add(&text, reason);
    return SF_E_CORRUPT;
}

static enum sf_status on_stamp(void *ctx, struct sf_tp tp, const struct sf_record *record, struct sf_error *error)
{
    struct sf_engine *engine = ctx;
    (void)tp;
    if (record->key.len != 5 || memcmp(record->key.data, "stamp", 5) != 0 || record->value.data == NULL) return SF_OK;
    if (sf_ring_decode(&engine->ring, engine->config.plan->hops_max, record->value.data, record->value.len,
                       &engine->stamp_incarnation, &engine->stamp_epoch)) {
        engine->has_stamp = true;
        return SF_OK;
    }
    return sfi_bad_record(record, "not a stamp of a version that this program knows", error);
}

enum sf_status sfi_stamp_open(struct sf_engine *engine)
{
    struct sf_tp tp = {.topic = engine->targets.watermark_topic, .partition = 0};
    struct sf_waker waker = sf_sched_waker(engine->config.sched, engine->task.id);
    engine->has_stamp = false;
    enum sf_status status = sf_log_reader_open(&engine->reader, engine->config.alloc, engine->config.kafka, waker, &tp,
                                               1, on_stamp, engine, &engine->error);
    engine->is_reader_open = status == SF_OK;
    return status;
}

enum sf_status sfi_stamp_poll(struct sf_engine *engine)
{
    enum sf_status status = sf_log_reader_poll(&engine->reader, &engine->error);
    if (status == SF_OK) return status;
    sf_log_reader_close(&engine->reader);
    engine->is_reader_open = false;
    return status;
}

static bool read_stamp(struct sf_engine *engine, const struct sf_step *step)
{
    enum sf_status status = SF_OK;
    if (!engine->is_asked) {
        /* the ring of an earlier life is read into engine->ring; sf_ring_init where there is none */
        sf_ring_init(&engine->ring, engine->config.plan->hops_max);
        status = sfi_stamp_open(engine);
        engine->is_asked = true;
    } else {
        status = sfi_stamp_poll(engine);
    }
    if (status == SF_OK) return false;
    if (status != SF_END) {
        sfi_start_fail(engine, step, status, "cannot read the watermark topic:", engine->error.text, NULL);
        return true;
    }
    engine->committed = engine->has_stamp ? engine->stamp_epoch : 0;
    if (engine->has_stamp) sf_ring_fall_back(&engine->ring, engine->committed); /* S2; a flush stays as it is */
    sfi_start_next(engine, SFI_START_COMMITTED);
    return true;
}

/* ------------------------------------------------------------------ source offsets (S1, S8) */

/* The source with the smallest topic behind `after` (NULL: of all): D2's order, which ingest numbers by. No two sources
 * have one topic (V8). */
static uint32_t source_after(const struct sf_topology *topology, const char *after)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < topology->source_count; i++) {
        const char *topic = topology->sources[i].topic;
        if (after != NULL && strcmp(topic, after) <= 0) continue;
        if (best == UINT32_MAX || strcmp(topic, topology->sources[best].topic) < 0) best = i;
    }
    assert(best != UINT32_MAX);
    return best;
}

static void list_partitions(struct sf_engine *engine)
{
    const struct sf_topology *topology = engine->config.topology;
    struct sf_alloc alloc = engine->config.alloc;
    for (uint32_t i = 0; i < topology->source_count; i++)
        engine->partition_count += (uint32_t)engine->source_partitions[i];
    engine->partitions = sf_calloc(alloc, engine->partition_count, sizeof *engine->partitions);
    engine->tps_capacity = engine->partition_count + PARTITIONS_FOUND_MAX;
    engine->tps = sf_calloc(alloc, engine->tps_capacity, sizeof *engine->tps);
    uint32_t at = 0;
    for (const char *after = NULL; at < engine->partition_count;) {
        uint32_t source = source_after(topology, after);
        after = topology->sources[source].topic;
        uint32_t topic = sf_kafka_topic(engine->config.kafka, after);
        for (int32_t p = 0; p < engine->source_partitions[source]; p++, at++) {
            engine->tps[at] = (struct sf_tp){.topic = topic, .partition = p};
            engine->partitions[at] =
                (struct sf_ingest_partition){.tp = engine->tps[at], .source = source, .time_max = SF_TIME_UNSET};
        }
    }
}

static bool on_committed(struct sf_engine *engine, const struct sf_step *step, const struct sf_admin_event *event)
{
    engine->pending--;
    if (event->status != SF_OK) {
        sfi_start_fail(engine, step, event->status, "cannot read committed offsets of group",
             engine->config.topology->application_id,
             event->text != NULL ? event->text : sf_status_text(event->status));
        return false;
    }
    for (uint32_t i = 0; i < event->answer_count; i++) {
        const struct sf_offset_answer *answer = &event->answers[i];
        struct sf_ingest_partition *partition = &engine->partitions[i];
        if (answer->status == SF_NOT_FOUND) continue;
        if (answer->status != SF_OK) {
            sfi_start_fail(engine, step, answer->status, "cannot read the committed offset of",
                 sfi_topic_name(engine, answer->tp.topic), sf_status_text(answer->status));
            return false;
        }
        partition->is_committed = true;
        partition->offset = answer->offset;
        partition->time_max =
            sf_metadata_decode((const char *)answer->metadata.data, answer->metadata.len);
    }
    return true;
}

/* Has the application read from this source before? Its first cut has every partition that there was, so one without
 * an offset has come since: it is new, like one that is found while running. */
static bool is_source_known(const struct sf_engine *engine, uint32_t source)
{
    for (uint32_t i = 0; engine->has_stamp && i < engine->partition_count; i++)
        if (engine->partitions[i].source == source && engine->partitions[i].is_committed) return true;
    return false;
}

/* Which end of the log a partition without a committed offset starts at (S8); one question per kind. */
static void ask_ends(struct sf_engine *engine)
{
    struct sf_tp *tps = sf_calloc(engine->config.alloc, engine->partition_count, sizeof *tps);
    for (uint32_t kind = SF_START_EARLIEST; kind <= SF_START_LATEST; kind++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < engine->partition_count; i++) {
            const struct sf_ingest_partition *partition = &engine->partitions[i];
            enum sf_start start = engine->config.topology->sources[partition->source].start;
            if (is_source_known(engine, partition->source)) start = SF_START_EARLIEST;
            if (partition->is_committed || start != kind) continue;
            tps[count++] = partition->tp;
        }
        if (count == 0) continue;
        sf_admin_ends(engine->admin, kind, kind == SF_START_EARLIEST ? SF_LOG_START : SF_LOG_STABLE_END, tps, count);
        engine->pending++;
    }
    sf_cfree(engine->config.alloc, tps, engine->partition_count, sizeof *tps);
}

static bool on_ends(struct sf_engine *engine, const struct sf_step *step, const struct sf_admin_event *event)
{
    engine->pending--;
    if (event->status != SF_OK) {
        sfi_start_fail(engine, step, event->status, "cannot read where the sources' logs begin:",
             event->text != NULL ? event->text : sf_status_text(event->status), NULL);
        return false;
    }
    for (uint32_t i = 0; i < event->answer_count; i++) {
        const struct sf_offset_answer *answer = &event->answers[i];
        if (answer->status != SF_OK) {
            sfi_start_fail(engine, step, answer->status, "cannot read where the log begins of",
                           sfi_topic_name(engine, answer->tp.topic), sf_status_text(answer->status));
            return false;
        }
        for (uint32_t p = 0; p < engine->partition_count; p++)
            if (engine->tps[p].topic == answer->tp.topic && engine->tps[p].partition == answer->tp.partition)
                engine->partitions[p].offset = answer->offset;
    }
    return true;
}

/* S3: an application that has offsets and no stamp (moved from Kafka Streams) takes its floor from its generators. */
static void floor_from_partition_times(struct sf_engine *engine)
{
    const struct sf_topology *topology = engine->config.topology;
    int64_t lowest = SF_TIME_COMPLETE;
    if (engine->has_stamp && topology->settings.is_changelog_enabled) return;
    for (uint32_t i = 0; i < engine->partition_count; i++) {
        const struct sf_ingest_partition *partition = &engine->partitions[i];
        const struct sf_watermark_spec *spec = &topology->sources[partition->source].watermark;
        int64_t bound = spec->bound_ms != SF_SPAN_NONE ? spec->bound_ms : topology->settings.max_out_of_orderness_ms;
        if (spec->strategy == SF_STRATEGY_MONOTONOUS) bound = 1;
        if (spec->strategy == SF_STRATEGY_NONE || partition->time_max == SF_TIME_UNSET) return;
        lowest = sf_time_min(lowest, sf_time_add(partition->time_max, -bound));
    }
    if (engine->partition_count == 0 || lowest <= sf_ring_newest(&engine->ring)) return;
    sf_ring_init(&engine->ring, engine->config.plan->hops_max);
    sf_ring_push(&engine->ring, engine->committed, lowest, false);
    sf_ring_fall_back(&engine->ring, engine->committed);
}

/* ------------------------------------------------------------------ the walk */

static void run(struct sf_engine *engine, const struct sf_step *step)
{
    sf_note(step->notes, SF_NOTE_RESTORED, SF_SUBJECT_NONE, (int64_t)engine->restored_rows, 0, 0, 0);
    if (!sfi_spawn_running(engine)) {
        sfi_end(engine, step, SF_END_FAILED, engine->error.status, engine->error.text);
        return;
    }
    /* ingest runs from its first step on; commit and lanes have waited for the cut */
    struct sf_msg reset = {.kind = SF_MSG_RESET, .epoch = engine->committed, .value = (int64_t)engine->committed + 1};
    engine->resumed_count = 0;
    engine->resumed_wanted = 1 + engine->lane_total;
    for (uint32_t flat = 0; flat < engine->lane_total; flat++) sf_edge_push(&engine->engine_to_lane[flat], &reset);
    if (engine->persist == NULL) reset.flags = SF_RESET_NO_STORE;
    sfi_tell_commit(engine, reset);
    engine->start = SFI_START_DONE;
    engine->next_epoch = engine->committed + 1;
    engine->recover = SFI_RECOVER_RESET; /* the first start ends like a fall-back: when all tasks go on */
    engine->phase = SF_PHASE_FALLING_BACK;
    sf_note(step->notes, SF_NOTE_STARTED, SF_SUBJECT_NONE, (int64_t)engine->committed + 1,
            sf_ring_newest(&engine->ring), 0, 0);
    sfi_grow_watch(engine);
    sfi_start_release(engine);
}

static bool on_admin(struct sf_engine *engine, const struct sf_step *step, const struct sf_admin_event *event)
{
    switch (engine->start) {
    case SFI_START_DESCRIBE:
    case SFI_START_WIDTHS: return sfi_topics_described(engine, step, event);
    case SFI_START_CREATE: return sfi_topics_created(engine, step, event);
    case SFI_START_COMMITTED: return on_committed(engine, step, event);
    case SFI_START_ENDS: return on_ends(engine, step, event);
    case SFI_START_STABLE: sfi_state_ends(engine, step, event); return !engine->is_ending;
    case SFI_START_JOIN:
    case SFI_START_SESSION:
    case SFI_START_STAMP:
    case SFI_START_FRONTIERS:
    case SFI_START_STATE:
    case SFI_START_DONE: break;
    }
    return true;
}

static bool open_admin(struct sf_engine *engine, const struct sf_step *step)
{
    struct sf_error error = {0};
    struct sf_waker waker = sf_sched_waker(engine->config.sched, engine->task.id);
    enum sf_status status = sf_kafka_admin_open(engine->config.kafka, waker, &engine->admin, &error);
    if (status == SF_OK) return true;
    engine->admin = (struct sf_admin){0};
    sfi_end(engine, step, SF_END_FAILED, status, error.text);
    return false;
}

static bool poll_admin(struct sf_engine *engine, const struct sf_step *step)
{
    struct sf_admin_event events[16];
    if (engine->admin.ops == NULL) return false;
    uint32_t count = sf_admin_poll(engine->admin, events, sizeof events / sizeof events[0]);
    for (uint32_t i = 0; i < count; i++)
        if (!on_admin(engine, step, &events[i])) break;
    return count > 0;
}

/* Put the question of an admin step to the world once; true when it is answered in full. */
static bool ask(struct sf_engine *engine, const struct sf_step *step)
{
    if (engine->is_asked) return engine->pending == 0;
    engine->is_asked = true;
    switch (engine->start) {
    case SFI_START_DESCRIBE:
        if (open_admin(engine, step)) sfi_topics_describe(engine);
        break;
    case SFI_START_CREATE: sfi_topics_create(engine, step); break;
    case SFI_START_WIDTHS: sfi_topics_describe_again(engine); break;
    case SFI_START_COMMITTED:
        list_partitions(engine);
        sf_admin_committed(engine->admin, 0, engine->config.topology->application_id, engine->tps,
                           engine->partition_count);
        engine->pending = 1;
        break;
    case SFI_START_ENDS: ask_ends(engine); break;
    case SFI_START_JOIN:
    case SFI_START_SESSION:
    case SFI_START_STABLE:
    case SFI_START_STAMP:
    case SFI_START_FRONTIERS:
    case SFI_START_STATE:
    case SFI_START_DONE: break;
    }
    return engine->pending == 0;
}

static bool become_owner(struct sf_engine *engine, const struct sf_step *step)
{
    if (!engine->is_asked) {
        engine->is_asked = true;
        sfi_spawn_commit(engine);
        sfi_tell_commit(engine, (struct sf_msg){.kind = SF_MSG_SESSION, .flags = SF_SESSION_JOIN});
        engine->phase = SF_PHASE_STANDBY;
        engine->standby_at = sf_mono_add(step->now, STANDBY_AFTER_US);
        return true;
    }
    if (!engine->is_owner) {
        if (engine->is_standby_told || sf_mono_elapsed_us(engine->standby_at, step->now) == 0) return false;
        engine->is_standby_told = true;
        sf_note(step->notes, SF_NOTE_STANDBY, SF_SUBJECT_NONE, 0, 0, 0, 0);
        return false;
    }
    sf_note(step->notes, SF_NOTE_OWNER, SF_SUBJECT_NONE, 0, 0, 0, 0);
    engine->phase = SF_PHASE_SETTLING;
    sfi_start_next(engine, SFI_START_WIDTHS);
    return true;
}

bool sfi_start_step(struct sf_engine *engine, const struct sf_step *step)
{
    bool has_moved = poll_admin(engine, step);
    if (engine->is_ending) return true;
    enum sfi_start at = engine->start;
    switch (engine->start) {
    case SFI_START_DESCRIBE:
        if (ask(engine, step) && !engine->is_ending) sfi_start_next(engine, SFI_START_CREATE);
        break;
    case SFI_START_CREATE:
        if (!ask(engine, step) || engine->is_ending) break;
        sfi_topics_resolve(engine);
        sfi_start_next(engine, SFI_START_JOIN);
        break;
    case SFI_START_JOIN: has_moved = become_owner(engine, step) || has_moved; break;
    case SFI_START_WIDTHS:
        if (!ask(engine, step) || engine->is_ending) break;
        sfi_topics_take_widths(engine);
        sfi_topics_take_limits(engine);
        sfi_start_next(engine, SFI_START_SESSION);
        break;
    case SFI_START_SESSION:
        if (engine->is_asked) break; /* sfi_on_session goes on */
        engine->is_asked = true;
        sfi_tell_commit(engine, (struct sf_msg){.kind = SF_MSG_SESSION, .flags = SF_SESSION_OPEN});
        break;
    case SFI_START_STABLE: has_moved = sfi_state_stable(engine, step) || has_moved; break;
    case SFI_START_STAMP: has_moved = read_stamp(engine, step) || has_moved; break;
    case SFI_START_COMMITTED:
        if (ask(engine, step)) sfi_start_next(engine, SFI_START_ENDS);
        break;
    case SFI_START_ENDS:
        if (!ask(engine, step)) break;
        floor_from_partition_times(engine);
        engine->phase = SF_PHASE_RESTORING;
        sfi_start_next(engine, SFI_START_FRONTIERS);
        break;
    case SFI_START_FRONTIERS: has_moved = sfi_state_frontiers(engine, step) || has_moved; break;
    case SFI_START_STATE:
        has_moved = sfi_state_restore(engine, step) || has_moved;
        if (engine->start != SFI_START_DONE || engine->is_ending) break;
        sfi_state_seed_moved(engine);
        run(engine, step);
        break;
    case SFI_START_DONE: break;
    }
    return has_moved || engine->start != at;
}

void sfi_start_release(struct sf_engine *engine)
{
    sf_admin_close(engine->admin);
    engine->admin = (struct sf_admin){0};
    if (engine->is_reader_open) sf_log_reader_close(&engine->reader);
    engine->is_reader_open = false;
    sfi_state_release(engine);
}
