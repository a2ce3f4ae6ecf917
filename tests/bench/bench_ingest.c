/*
 * What ingest costs: nanoseconds per record from poll to a lane's block (goal: 40 to 60), and what one poll that
 * touches k of n partitions costs (G5: O(k log n)). Prints; judges nothing.
 *
 *     bench_ingest [records]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/hash.h"
#include "core/ingest/ingest.h"
#include "core/ingest/buffer.h"
#include "core/time/tracker.h"

#define BATCH 125u
#define KEY_BYTES 16u
#define VALUE_BYTES 64u

static int64_t cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ------------------------------------------------------------------ a consumer that makes batches as fast as it can */

struct source {
    struct sf_batch *free;     /* by impl */
    void **memory;
    uint32_t memory_count;
    int64_t *next;             /* offset by partition */
    uint8_t *is_paused;
    uint32_t partitions;
    uint32_t turn;
    uint64_t left;
    uint32_t skew;
};

static uint32_t source_add(void *self, struct sf_tp tp, int64_t offset)
{
    struct source *s = self;
    s->next[tp.partition] = offset;
    return 1;
}

static void source_pause(void *self, struct sf_tp tp)
{
    struct source *s = self;
    s->is_paused[tp.partition] = 1;
}

static void source_resume(void *self, struct sf_tp tp)
{
    struct source *s = self;
    s->is_paused[tp.partition] = 0;
}

static uint32_t source_poll(void *self, struct sf_consumer_event *events_out, uint32_t cap)
{
    struct source *s = self;
    (void)cap;
    if (s->left < BATCH || s->free == NULL) return 0;
    for (uint32_t k = 0; k < s->partitions; k++) {
        uint32_t p = s->turn;
        s->turn = (s->turn + 1) % s->partitions;
        if (s->is_paused[p]) continue;
        struct sf_batch *batch = s->free;
        s->free = batch->impl;
        batch->tp = (struct sf_tp){0, (int32_t)p};
        batch->generation = 1;
        batch->count = BATCH;
        struct sf_record *records = (struct sf_record *)(void *)(uintptr_t)batch->records;
        for (uint32_t r = 0; r < BATCH; r++) {
            int64_t offset = s->next[p] + r;
            records[r].offset = offset;
            /* blocks of `skew` records in time order go around the partitions */
            records[r].ts_ms = 1000000 + (offset / s->skew * s->partitions + p) * s->skew + offset % s->skew;
        }
        s->next[p] += BATCH;
        batch->next_offset = s->next[p];
        batch->known_end = s->left < 2 * BATCH * s->partitions ? s->next[p] : INT64_MAX;
        s->left -= BATCH;
        events_out[0] = (struct sf_consumer_event){.kind = SF_CONSUMER_BATCH, .batch = batch};
        return 1;
    }
    return 0;
}

static void source_release(void *self, struct sf_batch *batch)
{
    struct source *s = self;
    batch->impl = s->free;
    s->free = batch;
}

static void source_close(void *self)
{
    (void)self;
}

static const struct sf_consumer_ops source_ops = {.add = source_add,
                                                  .seek = source_add,
                                                  .pause = source_pause,
                                                  .resume = source_resume,
                                                  .poll = source_poll,
                                                  .release = source_release,
                                                  .close = source_close};

static enum sf_status open_source(void *self, const struct sf_consumer_config *config, struct sf_consumer *consumer_out,
                                  struct sf_error *error)
{
    (void)config;
    (void)error;
    *consumer_out = (struct sf_consumer){.ops = &source_ops, .self = self};
    return SF_OK;
}

static const char *topic_name(void *self, uint32_t topic)
{
    (void)self;
    (void)topic;
    return "in";
}

static const struct sf_kafka_ops kafka_ops = {.topic_name = topic_name, .consumer_open = open_source};

static void *source_take(struct source *s, size_t bytes)
{
    s->memory[s->memory_count] = calloc(1, bytes);
    return s->memory[s->memory_count++];
}

static void source_deinit(struct source *s)
{
    for (uint32_t k = 0; k < s->memory_count; k++) free(s->memory[k]);
    free(s->memory);
}

static void source_init(struct source *s, uint32_t partitions, uint64_t records, uint32_t skew)
{
    uint32_t batches = partitions * 20;
    *s = (struct source){.partitions = partitions, .left = records, .skew = skew};
    s->memory = calloc(3 * (size_t)batches + 2, sizeof *s->memory);
    s->next = source_take(s, partitions * sizeof *s->next);
    s->is_paused = source_take(s, partitions);
    for (uint32_t b = 0; b < batches; b++) {
        struct sf_batch *batch = source_take(s, sizeof *batch);
        struct sf_record *list = source_take(s, BATCH * sizeof *list);
        uint8_t *bytes = source_take(s, (size_t)BATCH * (KEY_BYTES + VALUE_BYTES));
        for (uint32_t r = 0; r < BATCH; r++) {
            uint8_t *key = bytes + r * (KEY_BYTES + VALUE_BYTES);
            uint64_t hash = sf_hash64(&(uint32_t){b * BATCH + r}, 4);
            for (uint32_t k = 0; k < KEY_BYTES; k++) key[k] = (uint8_t)('a' + (hash >> (k % 8 * 8)) % 26);
            list[r] = (struct sf_record){.key = {key, KEY_BYTES},
                                         .value = {key + KEY_BYTES, VALUE_BYTES},
                                         .ts_kind = SF_TS_CREATE};
        }
        batch->records = list;
        batch->bytes = BATCH * (KEY_BYTES + VALUE_BYTES);
        source_release(s, batch);
    }
}

/* ------------------------------------------------------------------ the task */

static struct sf_mono_ts mono_read(void *self)
{
    int64_t *us = self;
    *us += 100;
    return (struct sf_mono_ts){*us};
}

static struct sf_wall_ts wall_read(void *self)
{
    int64_t *us = self;
    return (struct sf_wall_ts){*us / 1000};
}

static const struct sf_clock_ops clock_ops = {.mono = mono_read, .wall = wall_read};

static uint64_t drain(struct sf_edge *edge)
{
    uint64_t count = 0;
    const struct sf_msg *msg;
    (void)sf_port_latch(&edge->in, UINT32_MAX);
    while ((msg = sf_edge_peek(edge, 0)) != NULL) {
        if (msg->kind == SF_MSG_RUN) {
            count += msg->block->count;
            sf_edge_give_back(edge, msg->block);
        }
        sf_edge_pop(edge);
    }
    return count;
}

static void bench_records(uint32_t partitions, uint32_t lanes, uint32_t skew, uint64_t records)
{
    struct source source;
    source_init(&source, partitions, records, skew);
    struct sf_topology *topology = sf_topology_new(sf_alloc_libc());
    struct sf_source_spec spec = {.name = "in", .topic = "in", .max_future_skew_ms = SF_SPAN_NONE};
    spec.watermark.bound_ms = spec.watermark.idleness_ms = SF_SPAN_NONE;
    topology->application_id = "bench";
    topology->sources = &spec;
    topology->source_count = 1;
    struct sf_plan_source plan_source = {.sub = 0};
    struct sf_plan_sub sub = {.source_count = 1};
    struct sf_plan plan = {
        .topology = topology, .subs = &sub, .sub_count = 1, .sources = &plan_source, .is_event_time = true};
    struct sf_ingest_partition *list = calloc(partitions, sizeof *list);
    for (uint32_t i = 0; i < partitions; i++)
        list[i] = (struct sf_ingest_partition){.tp = {0, (int32_t)i}, .time_max = SF_TIME_UNSET};
    struct sf_edge *edges = aligned_alloc(128, (2 * lanes + 4) * sizeof *edges);
    for (uint32_t e = 0; e < 2 * lanes + 4; e++)
        sf_edge_init(&edges[e], &(struct sf_edge_config){.alloc = sf_alloc_libc(),
                                                         .data_blocks = e < lanes ? 8 : 0,
                                                         .block_bytes = 256 * sizeof(struct sf_ref),
                                                         .control_slots = 4});
    struct sf_ring ring;
    sf_ring_init(&ring, 0);
    struct sf_ingest_config config = {.topology = topology,
                                      .plan = &plan,
                                      .alloc = sf_alloc_libc(),
                                      .kafka = {&kafka_ops, &source},
                                      .is_barrier_manual = true,
                                      .partitions = list,
                                      .partition_count = partitions,
                                      .ring = &ring,
                                      .lane_count = lanes,
                                      .to_lanes = edges,
                                      .from_lanes = edges + lanes,
                                      .to_commit = &edges[2 * lanes],
                                      .from_commit = &edges[2 * lanes + 1],
                                      .to_engine = &edges[2 * lanes + 2],
                                      .from_engine = &edges[2 * lanes + 3]};
    topology->settings.uncommitted_bytes_max = UINT64_MAX;
    struct sf_task task;
    struct sf_error error;
    struct sf_ingest *ingest = sf_ingest_new(&config, &task, &error);
    static struct sf_notes notes;
    int64_t us = 1000000;
    struct sf_clock clock = {&clock_ops, &us};
    uint64_t done = 0, steps = 0;
    int64_t started = cpu_ns();
    while (done + partitions * 2 * BATCH < records) {
        (void)sf_task_run(&task, clock, 1024, NULL, &notes);
        for (uint32_t l = 0; l < lanes; l++) done += drain(&edges[l]);
        steps++;
    }
    int64_t took = cpu_ns() - started;
    printf("%6" PRIu32 " partitions, %2" PRIu32 " lanes, runs of %4" PRIu32 ": %6.1f ns per record (%" PRIu64
           " records, %" PRIu64 " steps, filling the batches included)\n",
           partitions, lanes, skew, (double)took / (double)done, done, steps);
    sf_ingest_destroy(ingest);
    for (uint32_t e = 0; e < 2 * lanes + 4; e++) sf_edge_deinit(&edges[e]);
    free(edges);
    free(list);
    sf_topology_destroy(topology);
    source_deinit(&source);
}

/* ------------------------------------------------------------------ G5 */

static void bench_poll(uint32_t partitions, uint32_t touched)
{
    struct sf_tracker t;
    sf_tracker_init(&t, sf_alloc_libc(), partitions, 1000000);
    int64_t us = 1000000, global = SF_TIME_UNSET;
    sf_tracker_run(&t, (struct sf_mono_ts){us}, true);
    for (uint32_t i = 0; i < partitions; i++)
        sf_tracker_join(&t, i, sf_generator_make(SF_GENERATOR_BOUNDED, 30, i), 300000000, (struct sf_mono_ts){us});
    uint64_t random = 1;
    uint32_t polls = 2000000 / (touched + 100);
    int64_t started = cpu_ns();
    for (uint32_t n = 0; n < polls; n++) {
        us += 1000;
        struct sf_mono_ts now = {us};
        uint32_t last = 0;
        sf_tracker_run(&t, now, true);
        for (uint32_t k = 0; k < touched; k++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            uint32_t i = (uint32_t)(random >> 33) % partitions;
            int64_t ts = partitions + us / 1000 * 10 + (int64_t)(random >> 58);
            if (t.parts[i].is_waiting) continue;
            sf_tracker_reach(&t, i, ts, now);
            sf_generator_advance(&t.parts[i].generator, ts);
            sf_tracker_serve(&t, i, false, 0, now);
            last = i;
        }
        sf_tracker_hold(&t, last, now, (struct sf_wall_ts){0});
        sf_tracker_judge(&t, now);
        global = sf_tracker_candidate(&t, global);
    }
    int64_t took = cpu_ns() - started;
    printf("%6" PRIu32 " partitions, a poll that touches %5" PRIu32 ": %9.1f ns, %6.1f ns per partition touched "
           "(watermark %" PRId64 ")\n",
           partitions, touched, (double)took / polls, (double)took / polls / touched, global);
    sf_tracker_deinit(&t);
}

int main(int argc, char **argv)
{
    uint64_t records = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
    bench_records(4, 4, 1, records);
    bench_records(4, 4, 64, records);
    bench_records(4, 1, 1, records);
    bench_records(1, 4, 64, records);
    bench_records(64, 4, 1, records);
    bench_records(1000, 4, 1, records);
    for (uint32_t touched = 1; touched <= 100; touched *= 10)
        for (uint32_t partitions = 100; partitions <= 100000; partitions *= 10) bench_poll(partitions, touched);
    bench_poll(100000, 10000);
    return 0;
}
