/*
 * A small world around the ingest task alone: a scripted consumer, edges that the test reads, virtual time. What
 * happens is written down as text, one line per fact, and compared with the history that a case must have.
 *
 *     world_at(w, 5);                   time passes to 5 ms, the task runs whenever it asked to
 *     world_put(w, 0, 0, 10);           record of partition 0, offset 0, event time 10 (key "k")
 *     world_run(w);                     all that happens at this instant
 *     CHECK_STR(world_history(w), "5 run 1 0:10\n");
 *
 * Lines:  `<ms> run <epoch> <partition>:<ts> …`   one RUN message as its lane took it (lane 0 only when there is one)
 *         `<ms> W <value>`                        the watermark was emitted; told from inside the step, so before
 *                                                 the runs of the same instant
 *         `<ms> B<n> <stamp> <partition>:<offset> …`   a cut
 *         `<ms> skip <partition>:<offset> <reason>`, `<ms> note <name> <subject>` (warnings)
 */
#ifndef SF_TESTS_UNIT_INGEST_WORLD_H
#define SF_TESTS_UNIT_INGEST_WORLD_H

#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/hash.h"
#include "core/ingest/ingest.h"
#include "core/run/edge.h"
#include "core/run/message.h"
#include "core/time/event_time.h"

#define WORLD_PARTITIONS 4
#define WORLD_LANES 4
#define WORLD_RECORDS 512
#define WORLD_EVENTS 512
#define WORLD_HISTORY 16384
#define WORLD_BASE_US INT64_C(7000000000)
#define UNSET SF_TIME_UNSET

struct world_log {
    struct sf_tp tp;
    struct sf_record records[WORLD_RECORDS];
    uint32_t count;
    uint32_t generation;
    uint32_t seeks;
    uint32_t removes;
    int64_t sought;    /* where the last seek or add went */
    bool is_paused;
    bool is_caught_up; /* says so after a seek too */
    int64_t end;
};

struct world_event {
    struct sf_consumer_event event;
    struct sf_batch batch; /* BATCH: what event.batch becomes */
    uint32_t log;
};

struct world {
    struct sf_topology *topology;
    struct sf_plan plan;
    struct sf_plan_sub sub;
    struct sf_plan_source sources[WORLD_PARTITIONS];
    struct sf_ingest *ingest;
    struct sf_task task;
    struct sf_ring ring;
    struct sf_observer observer;
    struct sf_ingest_partition partitions[WORLD_PARTITIONS];
    uint32_t partition_count;
    uint32_t lane_count;
    bool is_cadence_on;
    uint64_t epoch;
    struct sf_edge *edges; /* to_lanes, from_lanes, to_commit, from_commit, to_engine, from_engine, from_driver */
    uint32_t lane_blocks;
    uint32_t block_refs;
    /* consumer */
    struct world_log logs[WORLD_PARTITIONS];
    struct world_event events[WORLD_EVENTS];
    uint32_t event_count;
    uint32_t polls;
    struct sf_batch *out[WORLD_RECORDS]; /* polled and not released */
    uint32_t batches_out;
    bool is_closed;
    /* time and running */
    int64_t ms;
    int64_t wall_shift_ms;
    uint32_t budget;
    struct sf_step_result result;
    struct sf_notes notes;
    uint64_t steps;
    /* behaviour of the others */
    bool is_lane_blocked;
    bool is_commit_held;
    uint32_t generation;
    struct sf_msg last_to_engine;
    struct sf_cut last_cut;
    uint8_t last_metadata[SF_OFFSET_METADATA_BYTES + 1];
    bool is_quiet; /* no `run` and `W` lines */
    char history[WORLD_HISTORY];
    size_t history_len;
};

/* ------------------------------------------------------------------ history */

__attribute__((format(printf, 2, 3))) static void world_say(struct world *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(w->history + w->history_len, sizeof w->history - w->history_len, format, args);
    va_end(args);
    assert_true(len >= 0 && (size_t)len < sizeof w->history - w->history_len);
    w->history_len += (size_t)len;
}

/* What happened since the last call. */
static const char *world_history(struct world *w)
{
    static char text[WORLD_HISTORY];
    memcpy(text, w->history, w->history_len + 1);
    w->history_len = 0;
    w->history[0] = '\0';
    return text;
}

static void world_say_time(struct world *w, int64_t ts)
{
    if (ts == UNSET) world_say(w, " unset");
    else world_say(w, " %" PRId64, ts);
}

static uint32_t world_index(struct world *w, struct sf_tp tp)
{
    for (uint32_t i = 0; i < w->partition_count; i++)
        if (w->logs[i].tp.topic == tp.topic && w->logs[i].tp.partition == tp.partition) return i;
    return 99;
}

static void world_saw_watermark(void *ctx, int64_t value, enum sf_watermark_why why)
{
    struct world *w = ctx;
    if (why != SF_WATERMARK_POLL || w->is_quiet) return;
    world_say(w, "%" PRId64 " W", w->ms);
    world_say_time(w, value);
    world_say(w, "\n");
}

static void world_saw_skip(void *ctx, uint64_t epoch, struct sf_tp tp, int64_t offset, enum sf_drop reason)
{
    struct world *w = ctx;
    (void)epoch;
    world_say(w, "%" PRId64 " skip %u:%" PRId64 " %d\n", w->ms, world_index(w, tp), offset, (int)reason);
}

/* ------------------------------------------------------------------ consumer */

static struct world_log *world_log_of(struct world *w, struct sf_tp tp)
{
    uint32_t i = world_index(w, tp);
    assert_true(i < w->partition_count);
    return &w->logs[i];
}

static void world_push_event(struct world *w, uint32_t log, struct sf_consumer_event event)
{
    assert_true(w->event_count < WORLD_EVENTS);
    event.tp = w->logs[log].tp;
    event.generation = w->logs[log].generation;
    w->events[w->event_count] = (struct world_event){.event = event, .log = log};
    w->event_count++;
}

static void world_push_batch(struct world *w, uint32_t log, uint32_t first, uint32_t count, int64_t next_offset,
                             int64_t known_end)
{
    world_push_event(w, log, (struct sf_consumer_event){.kind = SF_CONSUMER_BATCH});
    w->events[w->event_count - 1].batch = (struct sf_batch){.tp = w->logs[log].tp,
                                                            .generation = w->logs[log].generation,
                                                            .count = count,
                                                            .records = w->logs[log].records + first,
                                                            .next_offset = next_offset,
                                                            .known_end = known_end,
                                                            .bytes = 100};
}

static uint32_t world_seek(void *self, struct sf_tp tp, int64_t offset)
{
    struct world *w = self;
    struct world_log *log = world_log_of(w, tp);
    uint32_t i = world_index(w, tp), kept = 0;
    for (uint32_t k = 0; k < w->event_count; k++)
        if (w->events[k].log != i) w->events[kept++] = w->events[k];
    w->event_count = kept;
    log->generation++;
    log->seeks++;
    log->sought = offset;
    for (uint32_t k = 0; k < log->count; k++)
        if (log->records[k].offset >= offset)
            world_push_batch(w, i, k, 1, log->records[k].offset + 1, SF_OFFSET_UNKNOWN);
    if (log->is_caught_up)
        world_push_event(w, i, (struct sf_consumer_event){.kind = SF_CONSUMER_CAUGHT_UP, .position = log->end});
    return log->generation;
}

static void world_remove(void *self, struct sf_tp tp)
{
    struct world *w = self;
    uint32_t i = world_index(w, tp), kept = 0;
    for (uint32_t k = 0; k < w->event_count; k++)
        if (w->events[k].log != i) w->events[kept++] = w->events[k];
    w->event_count = kept;
    w->logs[i].is_paused = false;
    w->logs[i].removes++;
}

static void world_pause(void *self, struct sf_tp tp)
{
    world_log_of(self, tp)->is_paused = true;
}

static void world_resume(void *self, struct sf_tp tp)
{
    world_log_of(self, tp)->is_paused = false;
}

static uint32_t world_poll(void *self, struct sf_consumer_event *events_out, uint32_t cap)
{
    struct world *w = self;
    uint32_t count = 0, kept = 0;
    w->polls++;
    for (uint32_t k = 0; k < w->event_count; k++) {
        struct world_event *event = &w->events[k];
        if (count == cap || w->logs[event->log].is_paused) {
            w->events[kept++] = *event;
            continue;
        }
        events_out[count] = event->event;
        if (event->event.kind == SF_CONSUMER_BATCH) {
            events_out[count].batch = malloc(sizeof(struct sf_batch));
            *events_out[count].batch = event->batch;
            assert_true(w->batches_out < WORLD_RECORDS);
            w->out[w->batches_out] = events_out[count].batch;
            w->batches_out++;
        }
        count++;
    }
    w->event_count = kept;
    return count;
}

static void world_release(void *self, struct sf_batch *batch)
{
    struct world *w = self;
    uint32_t k = 0;
    while (k < w->batches_out && w->out[k] != batch) k++;
    assert_true(k < w->batches_out); /* released once, and ours */
    w->batches_out--;
    w->out[k] = w->out[w->batches_out];
    free(batch);
}

static void world_close(void *self)
{
    struct world *w = self;
    for (uint32_t k = 0; k < w->batches_out; k++) free(w->out[k]);
    w->is_closed = true;
}

static const struct sf_consumer_ops world_consumer_ops = {.add = world_seek,
                                                          .remove = world_remove,
                                                          .seek = world_seek,
                                                          .pause = world_pause,
                                                          .resume = world_resume,
                                                          .poll = world_poll,
                                                          .release = world_release,
                                                          .close = world_close};

static const char *const world_topics[] = {"in", "p", "q", "a"};

static uint32_t world_topic(void *self, const char *name)
{
    (void)self;
    for (uint32_t i = 0; i < 4; i++)
        if (strcmp(world_topics[i], name) == 0) return i;
    return 0;
}

static const char *world_topic_name(void *self, uint32_t topic)
{
    (void)self;
    return world_topics[topic];
}

static enum sf_status world_consumer_open(void *self, const struct sf_consumer_config *config,
                                          struct sf_consumer *consumer_out, struct sf_error *error)
{
    (void)error;
    assert_true(config->is_read_committed);
    *consumer_out = (struct sf_consumer){.ops = &world_consumer_ops, .self = self};
    return SF_OK;
}

static const struct sf_kafka_ops world_kafka_ops = {
    .topic = world_topic, .topic_name = world_topic_name, .consumer_open = world_consumer_open};

/* A record of partition `i`; the consumer knows no end. */
static void world_put(struct world *w, uint32_t i, int64_t offset, int64_t ts)
{
    struct world_log *log = &w->logs[i];
    assert_true(log->count < WORLD_RECORDS);
    log->records[log->count] = (struct sf_record){
        .key = {(const uint8_t *)"k", 1}, .offset = offset, .ts_ms = ts, .ts_kind = SF_TS_CREATE};
    world_push_batch(w, i, log->count, 1, offset + 1, SF_OFFSET_UNKNOWN);
    log->count++;
    if (log->end <= offset) log->end = offset + 1;
}

/* The reader of partition `i` has everything there is. */
static void world_caught_up(struct world *w, uint32_t i)
{
    w->logs[i].is_caught_up = true;
    world_push_event(w, i, (struct sf_consumer_event){.kind = SF_CONSUMER_CAUGHT_UP, .position = w->logs[i].end});
}

/* A record, and nothing behind it. */
static void world_last(struct world *w, uint32_t i, int64_t offset, int64_t ts)
{
    world_put(w, i, offset, ts);
    world_caught_up(w, i);
}

/* ------------------------------------------------------------------ the other tasks */

static struct sf_edge *world_edge(struct world *w, uint32_t which)
{
    return &w->edges[2 * WORLD_LANES + which];
}

#define WORLD_TO_COMMIT 0
#define WORLD_FROM_COMMIT 1
#define WORLD_TO_ENGINE 2
#define WORLD_FROM_ENGINE 3
#define WORLD_FROM_DRIVER 4
#define WORLD_EDGES (2 * WORLD_LANES + 5)

static void world_lane(struct world *w, uint32_t lane)
{
    struct sf_edge *edge = &w->edges[lane];
    (void)sf_port_latch(&edge->in, UINT32_MAX);
    const struct sf_msg *msg;
    while (!w->is_lane_blocked && (msg = sf_edge_peek(edge, w->generation)) != NULL) {
        if (msg->kind == SF_MSG_RUN) {
            if (!w->is_quiet) {
                world_say(w, "%" PRId64 " run %" PRIu64, w->ms, msg->epoch);
                for (uint32_t k = 0; k < msg->block->count; k++) {
                    const struct sf_ref *ref = &sf_run_refs(msg->block)[k];
                    world_say(w, " %u:%" PRId64, ref->partition, ref->ts_ms);
                    CHECK_EQ(sf_lane_of_hash(ref->hash, w->lane_count), lane);
                }
                world_say(w, "\n");
            }
            sf_edge_give_back(edge, msg->block);
        }
        sf_edge_pop(edge);
    }
}

static void world_cut(struct world *w, const struct sf_cut *cut)
{
    world_say(w, "%" PRId64 " %s%" PRIu64, w->ms, cut->is_flush ? "FLUSH" : "B", cut->epoch);
    world_say_time(w, cut->stamp);
    for (uint32_t k = 0; k < cut->offset_count; k++)
        world_say(w, " %u:%" PRId64, world_index(w, cut->offsets[k].tp), cut->offsets[k].offset);
    world_say(w, "\n");
    w->last_cut = *cut;
    memcpy(w->last_metadata, cut->offsets[0].metadata, SF_OFFSET_METADATA_BYTES);
    w->last_metadata[cut->offsets[0].metadata_len] = '\0';
}

static void world_committed(struct world *w, uint64_t epoch)
{
    sf_edge_push(world_edge(w, WORLD_FROM_COMMIT),
                 &(struct sf_msg){.kind = SF_MSG_COMMITTED, .generation = w->generation, .epoch = epoch});
}

static bool world_others(struct world *w)
{
    bool is_news = false;
    for (uint32_t l = 0; l < w->lane_count; l++) world_lane(w, l);
    struct sf_edge *edge = world_edge(w, WORLD_TO_COMMIT);
    (void)sf_port_latch(&edge->in, UINT32_MAX);
    const struct sf_msg *msg;
    while ((msg = sf_edge_peek(edge, w->generation)) != NULL) {
        world_cut(w, msg->ptr);
        if (!w->is_commit_held) world_committed(w, msg->epoch);
        is_news = is_news || !w->is_commit_held;
        sf_edge_pop(edge);
    }
    edge = world_edge(w, WORLD_TO_ENGINE);
    (void)sf_port_latch(&edge->in, UINT32_MAX);
    while ((msg = sf_edge_peek(edge, 0)) != NULL) {
        w->last_to_engine = *msg;
        sf_edge_pop(edge);
    }
    return is_news;
}

static void world_engine_says(struct world *w, struct sf_msg msg)
{
    sf_edge_push(world_edge(w, WORLD_FROM_ENGINE), &msg);
}

/* ------------------------------------------------------------------ running */

static bool world_has_news(struct world *w)
{
    for (uint32_t k = 0; k < w->task.port_count; k++)
        if (atomic_load(w->task.ports[k]->written) != w->task.ports[k]->consumed) return true;
    return false;
}

static struct sf_mono_ts world_mono_read(void *self)
{
    struct world *w = self;
    return (struct sf_mono_ts){WORLD_BASE_US + w->ms * 1000};
}

static struct sf_wall_ts world_wall_read(void *self)
{
    struct world *w = self;
    return (struct sf_wall_ts){w->ms + w->wall_shift_ms};
}

static const struct sf_clock_ops world_clock_ops = {.mono = world_mono_read, .wall = world_wall_read};

static void world_write_notes(struct world *w)
{
    for (uint32_t k = 0; k < w->notes.count; k++) {
        const struct sf_note_words *words = sf_note_words(w->notes.items[k].code);
        if (words->level == SF_NOTE_WARNING)
            world_say(w, "%" PRId64 " note %s %u\n", w->ms, words->name, w->notes.items[k].subject);
    }
}

/* One step, as a scheduler would; the other tasks read what it wrote. */
static void world_step(struct world *w)
{
    struct sf_clock clock = {.ops = &world_clock_ops, .self = w};
    w->result = sf_task_run(&w->task, clock, w->budget, NULL, &w->notes);
    w->steps++;
    world_write_notes(w);
    (void)world_others(w);
}

/* All that happens at this instant. */
static void world_run(struct world *w)
{
    for (uint32_t k = 0; k < 100000; k++) {
        world_step(w);
        bool is_due = w->result.next == SF_NEXT_WAIT && w->result.wake_at.us <= WORLD_BASE_US + w->ms * 1000;
        if (w->result.next == SF_NEXT_DONE) return;
        if (w->result.next == SF_NEXT_WAIT && !is_due && !world_has_news(w)) return;
    }
    fail_msg("the task spins at %" PRId64, w->ms);
}

/* Time passes to `ms`; the task runs whenever it asked to before that. Rounds deadlines up to milliseconds. */
static void world_at(struct world *w, int64_t ms)
{
    while (w->ms < ms) {
        int64_t next = ms;
        if (w->steps > 0 && w->result.wake_at.us != INT64_MAX) {
            int64_t due = (w->result.wake_at.us - WORLD_BASE_US + 999) / 1000;
            if (due > w->ms && due < next) next = due;
        }
        w->ms = next;
        if (next < ms) world_run(w);
    }
}

static void world_fix(struct world *w)
{
    sf_edge_push(world_edge(w, WORLD_FROM_DRIVER), &(struct sf_msg){.kind = SF_MSG_FIX});
}

/* What the host says of a partition, or of a pause. */
static void world_host_says(struct world *w, enum sf_msg_kind kind, uint32_t i)
{
    sf_edge_push(world_edge(w, WORLD_FROM_DRIVER), &(struct sf_msg){.kind = (uint16_t)kind,
                                                                    .value = w->logs[i].tp.topic,
                                                                    .value2 = w->logs[i].tp.partition});
    world_run(w);
}

/* A barrier at `ms`, after what falls on that instant. */
static void world_fix_at(struct world *w, int64_t ms)
{
    world_at(w, ms);
    world_fix(w);
    world_run(w);
}

/* STOP, then back to the last cut; the next epoch is `epoch`. */
static void world_abort(struct world *w, uint64_t cut, uint64_t epoch)
{
    world_engine_says(w, (struct sf_msg){.kind = SF_MSG_STOP});
    world_run(w);
    CHECK_EQ(w->last_to_engine.kind, SF_MSG_STOPPED);
    w->generation++;
    world_engine_says(w, (struct sf_msg){.kind = SF_MSG_RESET,
                                         .epoch = cut,
                                         .value = (int64_t)epoch,
                                         .value2 = w->generation});
    world_run(w);
    CHECK_EQ(w->last_to_engine.kind, SF_MSG_RESUMED);
}

/* ------------------------------------------------------------------ life */

static void world_edge_init(struct sf_edge *edge, uint32_t blocks, uint32_t refs, uint32_t controls)
{
    sf_edge_init(edge, &(struct sf_edge_config){.alloc = sf_alloc_libc(),
                                                .data_blocks = blocks,
                                                .block_bytes = refs * (uint32_t)sizeof(struct sf_ref),
                                                .control_slots = controls});
}

/* `count` partitions of topic "in", one source, bounded 0, idleness off, max-task-idle 0, barriers by FIX. Change what
 * the case needs, then world_start. */
static struct world *world_new(uint32_t count)
{
    struct world *w = calloc(1, sizeof *w);
    struct sf_topology *topology = sf_topology_new(sf_alloc_libc());
    topology->application_id = "app";
    topology->sources = sf_topology_take(topology, WORLD_PARTITIONS * sizeof *topology->sources);
    topology->source_count = 1;
    topology->settings.idleness_timeout_ms = 0;
    topology->settings.max_out_of_orderness_ms = 0;
    for (uint32_t s = 0; s < WORLD_PARTITIONS; s++) {
        topology->sources[s] = (struct sf_source_spec){.name = "in", .topic = "in"};
        topology->sources[s].max_future_skew_ms = SF_SPAN_NONE;
        topology->sources[s].watermark.bound_ms = SF_SPAN_NONE;
        topology->sources[s].watermark.idleness_ms = SF_SPAN_NONE;
        w->sources[s].sub = 0;
    }
    w->topology = topology;
    w->partition_count = count;
    w->lane_count = 1;
    w->lane_blocks = 8;
    w->block_refs = 16;
    w->budget = 1024;
    for (uint32_t i = 0; i < count; i++) {
        w->partitions[i] = (struct sf_ingest_partition){.tp = {0, (int32_t)i}, .time_max = UNSET};
        w->logs[i].tp = w->partitions[i].tp;
    }
    sf_ring_init(&w->ring, 0);
    return w;
}

static void world_start(struct world *w)
{
    w->edges = aligned_alloc(128, WORLD_EDGES * sizeof *w->edges);
    for (uint32_t l = 0; l < WORLD_LANES; l++) {
        world_edge_init(&w->edges[l], w->lane_blocks, w->block_refs, 4);
        world_edge_init(&w->edges[WORLD_LANES + l], 0, 0, 4);
    }
    for (uint32_t k = 0; k < 5; k++) world_edge_init(world_edge(w, k), 0, 0, 8);
    w->sub.source_count = w->topology->source_count;
    w->plan = (struct sf_plan){.topology = w->topology,
                               .subs = &w->sub,
                               .sub_count = 1,
                               .sources = w->sources,
                               .is_event_time = w->topology->settings.dispatch != SF_DISPATCH_DIRECT};
    w->observer = (struct sf_observer){.ctx = w, .watermark = world_saw_watermark, .skipped = world_saw_skip};
    struct sf_ingest_config config = {.topology = w->topology,
                                      .plan = &w->plan,
                                      .alloc = sf_alloc_libc(),
                                      .kafka = {.ops = &world_kafka_ops, .self = w},
                                      .observer = &w->observer,
                                      .is_barrier_manual = !w->is_cadence_on,
                                      .partitions = w->partitions,
                                      .partition_count = w->partition_count,
                                      .ring = &w->ring,
                                      .epoch = w->epoch,
                                      .incarnation = 7,
                                      .lane_count = w->lane_count,
                                      .to_lanes = w->edges,
                                      .from_lanes = w->edges + WORLD_LANES,
                                      .to_commit = world_edge(w, WORLD_TO_COMMIT),
                                      .from_commit = world_edge(w, WORLD_FROM_COMMIT),
                                      .to_engine = world_edge(w, WORLD_TO_ENGINE),
                                      .from_engine = world_edge(w, WORLD_FROM_ENGINE),
                                      .from_driver = world_edge(w, WORLD_FROM_DRIVER)};
    struct sf_error error;
    w->ingest = sf_ingest_new(&config, &w->task, &error);
    assert_non_null(w->ingest);
}

static void world_destroy(struct world *w)
{
    w->is_lane_blocked = false;
    w->is_quiet = true;
    (void)world_others(w);
    /* whatever is still buffered goes with the consumer */
    sf_ingest_destroy(w->ingest);
    CHECK(w->is_closed);
    for (uint32_t k = 0; k < WORLD_EDGES; k++) sf_edge_deinit(&w->edges[k]);
    free(w->edges);
    sf_topology_destroy(w->topology);
    free(w);
}

#endif
