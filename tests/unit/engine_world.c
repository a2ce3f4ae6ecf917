#include "tests/unit/engine_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/app/app.h"
#include "core/topo/check.h"
#include "tests/check.h"

static void on_ended(void *ctx, enum sf_end end, const struct sf_error *error)
{
    struct engine_world *w = ctx;
    w->has_ended = true;
    w->tasks_at_end = sf_sim_sched_task_count(w->sched);
    w->end = end;
    w->error = *error;
}

static void on_note(void *ctx, struct sf_sim_instance *instance, const struct sf_task *task, const struct sf_note *note)
{
    struct engine_world *w = ctx;
    if (getenv("SF_TEST_NOTES") != NULL)
        fprintf(stderr, "%8lld %-10s %-26s %lld %lld %lld %lld\n",
                (long long)sf_sim_world_elapsed_us(&w->world) / 1000, task->name, sf_note_words(note->code)->name,
                (long long)note->args[0], (long long)note->args[1], (long long)note->args[2], (long long)note->args[3]);
    w->note_counts[note->code]++;
    if (w->hold_code == note->code) {
        w->hold_code = -1;
        sf_sim_sched_hold(w->sched, instance->id, w->hold_name, w->world.mono_us, w->world.mono_us + w->hold_us);
    }
    if (w->crash_code == note->code && w->crash_epoch == note->args[0]) {
        w->crash_code = -1;
        sf_sim_instance_kill(instance);
    }
}

void engine_world_init(struct engine_world *w, const char *app, int32_t partitions, uint32_t lanes, uint32_t budget)
{
    struct sf_sim_sched_config sched = sf_sim_sched_config_exact();
    if (budget > 0) sched.budget_min = sched.budget_max = budget;
    engine_world_init_sched(w, app, partitions, lanes, &sched);
}

void engine_world_init_sched(struct engine_world *w, const char *app, int32_t partitions, uint32_t lanes,
                             const struct sf_sim_sched_config *config)
{
    memset(w, 0, sizeof *w);
    w->crash_code = -1;
    w->hold_code = -1;
    struct sf_sim_world_config world = {.seed = 7, .wall_start_ms = 1000000000000, .is_fifo = true};
    sf_sim_world_init(&w->world, &world);
    struct sf_sim_sched_config sched = *config;
    sched.on_note = on_note;
    sched.ctx = w;
    w->sched = sf_sim_sched_new(&w->world, &sched);
    struct sf_sim_kafka_config kafka = sf_sim_kafka_config_exact();
    w->broker = sf_sim_kafka_new(&w->world, &kafka);
    CHECK_EQ(sf_sim_kafka_create(w->broker, "in", partitions, NULL, 0), SF_OK);
    CHECK_EQ(sf_sim_kafka_create(w->broker, "out", 1, NULL, 0), SF_OK);
    struct sf_sim_disk_config disk = sf_sim_disk_config_exact();
    w->disk = sf_sim_disk_new(&w->world, &disk);
    w->has_store = true;
    engine_world_load(w, app);
    w->config.lanes = lanes;
    engine_world_start(w);
}

void engine_world_load(struct engine_world *w, const char *app)
{
    struct sf_findings findings;
    sf_topology_destroy(w->topology);
    sf_findings_init(&findings, sf_alloc_libc());
    w->topology = sf_app_load(app, strlen(app), sf_alloc_libc(), &findings);
    for (uint32_t i = 0; i < findings.count; i++)
        if (findings.items[i].severity == SF_FINDING_ERROR)
            fail_msg("app.yaml:%u:%u: %s", findings.items[i].place.line, findings.items[i].place.column,
                     findings.items[i].text);
    sf_findings_deinit(&findings);
    w->plan = sf_plan_new(w->topology);
}

static void release(struct engine_world *w)
{
    sf_engine_destroy(w->engine);
    w->engine = NULL;
    sf_sim_instance_destroy(w->instance);
    w->instance = NULL;
}

void engine_world_deinit(struct engine_world *w)
{
    if (w->engine != NULL) {
        sf_sim_instance_kill(w->instance);
        engine_world_at(w, sf_sim_world_elapsed_us(&w->world) / 1000);
        release(w);
    }
    sf_topology_destroy(w->topology);
    sf_sim_disk_destroy(w->disk);
    sf_sim_kafka_destroy(w->broker);
    sf_sim_sched_destroy(w->sched);
    sf_sim_world_deinit(&w->world);
}

void engine_world_start(struct engine_world *w)
{
    w->has_ended = false;
    w->instance = sf_sim_instance_new(&w->world);
    struct sf_engine_config config = w->config;
    config.topology = w->topology;
    config.plan = w->plan;
    config.alloc = sf_sim_instance_alloc(w->instance);
    config.sched = sf_sim_sched_handle(w->sched, w->instance);
    config.kafka = sf_sim_kafka_handle(w->broker, w->instance);
    if (w->has_store) config.stores = sf_sim_disk_factory(w->disk, w->instance);
    config.is_barrier_manual = true;
    config.incarnation = ++w->incarnation;
    config.ended = on_ended;
    config.ended_ctx = w;
    w->engine = sf_engine_new(&config);
    engine_world_at(w, sf_sim_world_elapsed_us(&w->world) / 1000);
}

void engine_world_crash(struct engine_world *w)
{
    sf_sim_instance_kill(w->instance);
    engine_world_at(w, sf_sim_world_elapsed_us(&w->world) / 1000);
    release(w);
}

void engine_world_append(struct engine_world *w, int32_t partition, const char *key, int64_t ts, const char *value)
{
    struct sf_out out = {.key = {(const uint8_t *)key, key != NULL ? (uint32_t)strlen(key) : 0},
                         .value = {(const uint8_t *)value, value != NULL ? (uint32_t)strlen(value) : 0},
                         .ts_ms = ts};
    struct sf_tp tp = {.topic = sf_sim_kafka_topic(w->broker, "in"), .partition = partition};
    (void)sf_sim_kafka_append(w->broker, tp, &out, 1);
}

void engine_world_at(struct engine_world *w, int64_t ms)
{
    if (!sf_sim_sched_run_until(w->sched, w->world.start_us + ms * 1000))
        fail_msg("stuck on %s", sf_sim_sched_stuck_on(w->sched));
}

void engine_world_barrier(struct engine_world *w)
{
    int64_t now = sf_sim_world_elapsed_us(&w->world) / 1000;
    engine_world_at(w, now);
    sf_engine_fix(w->engine);
    engine_world_at(w, now);
}

void engine_world_stop(struct engine_world *w)
{
    int64_t now = sf_sim_world_elapsed_us(&w->world) / 1000;
    engine_world_at(w, now);
    sf_engine_finish(w->engine);
    engine_world_at(w, now);
    if (!w->has_ended) engine_world_at(w, now + 150); /* the shortest interval, before an aborted one is repeated */
    CHECK(w->has_ended);
    CHECK_EQ(w->end, SF_END_STOPPED);
    release(w);
}

const char *engine_world_output(struct engine_world *w)
{
    struct sf_tp tp = {.topic = sf_sim_kafka_topic(w->broker, "out"), .partition = 0};
    int64_t stable = sf_sim_kafka_log_end(w->broker, tp, SF_LOG_STABLE_END);
    struct sf_sim_kafka_entry entry;
    int64_t offset = 0;
    size_t at = 0;
    w->out[0] = '\0';
    while (sf_sim_kafka_log_next(w->broker, tp, &offset, &entry)) {
        if (entry.is_control || entry.offset >= stable || entry.state == SF_SIM_KAFKA_ABORTED) continue;
        const struct sf_record *record = entry.record;
        at += (size_t)snprintf(w->out + at, sizeof w->out - at, "%.*s %.*s @%lld\n", (int)record->key.len,
                               (const char *)record->key.data, (int)record->value.len,
                               (const char *)record->value.data, (long long)record->ts_ms);
    }
    return w->out;
}
