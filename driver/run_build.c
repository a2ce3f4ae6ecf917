#include "driver/run_parts.h"
#include "driver/trail.h"
#include "sim/random.h"

/* ---------------------------------------------------------------- hooks of the scheduler */

static void on_note(void *ctx, struct sf_sim_instance *instance, const struct sf_task *task,
                    const struct sf_note *note)
{
    struct sfi_run *run = ctx;
    const struct sf_driver_checks_ops *checks = run->options->checks;
    if (checks != NULL && checks->noted != NULL) checks->noted(run->checks, instance, task, note);
    sfi_faults_note(run, run->faults, instance, note);
}

static void describe_difference(struct sf_driver_trail *trail, const struct sf_sim_step_record *record,
                                const struct sfi_process *process)
{
    struct sf_text text;
    sf_text_init(&text, trail->difference, sizeof trail->difference);
    sf_text_add(&text, record->task->name);
    sf_text_add(&text, " of process ");
    sf_text_add_uint(&text, record->instance->id);
    for (uint32_t i = 0; i < record->notes->count && process != NULL; i++) {
        sf_text_add(&text, i == 0 ? ": " : "; ");
        sf_driver_note_text(&text, &process->instance, &record->notes->items[i]);
    }
}

static uint64_t head_of(const struct sf_sim_digest *digest)
{
    uint64_t head;
    memcpy(&head, digest->bytes, sizeof head);
    return head;
}

static void follow_barriers(struct sfi_process *process, const struct sf_note *note)
{
    if (note->code == SF_NOTE_BARRIER_STAMPED) process->stamped = (uint64_t)note->args[0];
    if (note->code == SF_NOTE_FELL_BACK) process->stamped = 0;
}

static void on_step(void *ctx, const struct sf_sim_step_record *record)
{
    struct sfi_run *run = ctx;
    const struct sf_driver_checks_ops *checks = run->options->checks;
    struct sfi_process *process = sfi_process_of(run, record->instance);
    for (uint32_t i = 0; i < record->notes->count && process != NULL; i++) {
        follow_barriers(process, &record->notes->items[i]);
        sfi_expect_note(run, run->expect, process, &record->notes->items[i]);
        sf_driver_history_note(&run->history, &process->instance, record->task->name, &record->notes->items[i]);
    }
    if (checks != NULL && checks->stepped != NULL) checks->stepped(run->checks, record);
    struct sf_driver_trail *trail = run->options->trail;
    if (trail == NULL) return;
    if (sf_driver_trail_step(trail, head_of(record->digest), sf_sim_world_elapsed_us(&run->world)))
        describe_difference(trail, record, process);
}

static void on_command(void *ctx, const struct sf_sim_instance *instance, uint64_t number,
                       enum sf_sim_command_kind kind)
{
    struct sfi_run *run = ctx;
    for (uint32_t i = run->process_count; i > 0 && run->options->on_command != NULL; i--)
        if (run->processes[i - 1].instance.process == instance)
            run->options->on_command(run->options->ctx, i, number, kind);
}

/* ---------------------------------------------------------------- building the world */

static struct sf_sim_latency latency_of(const struct sf_scenario_draw *draw)
{
    int64_t high = draw->kind == SF_SCENARIO_DRAW_CONSTANT ? draw->a : draw->b;
    return (struct sf_sim_latency){draw->a * 1000, high * 1000};
}

/* Half of all seeds: a fetch brings less than there is, so that lag is known and above zero (D5, D6, I7). */
static void draw_fetch_bound(struct sfi_run *run, struct sf_sim_kafka_config *config)
{
    static const uint32_t most[] = {0, 0, 0, 4, 40, 400};
    uint64_t bits = sf_sim_draw(run->seed, SFI_DOMAIN_FETCH, 0, 0);
    config->fetch_records_hi = most[bits % (sizeof most / sizeof most[0])];
    config->fetch_records_lo = config->fetch_records_hi > 0 ? 1 : 0;
}

static void build_broker(struct sfi_run *run)
{
    const struct sf_scenario_world *world = &run->scenario->world;
    struct sf_sim_kafka_config config = world->is_exact ? sf_sim_kafka_config_exact() : sf_sim_kafka_config_default();
    config.is_v2 = world->is_transactions_v2;
    config.session_timeout_us = run->topology->settings.session_timeout_ms * 1000;
    if (!world->is_exact) draw_fetch_bound(run, &config);
    if (world->has_fetch_latency) config.fetch = latency_of(&world->fetch_latency);
    if (world->has_commit_latency) config.commit = latency_of(&world->commit_latency);
    run->request_timeout_us = config.request_timeout_us;
    run->broker = sf_sim_kafka_new(&run->world, &config);
    for (uint32_t i = 0; i < run->scenario->topic_count; i++) {
        const struct sf_scenario_topic *topic = &run->scenario->topics[i];
        enum sf_status status = sf_sim_kafka_create(run->broker, topic->name, (int32_t)topic->partition_count, NULL, 0);
        assert(status == SF_OK); /* the loader refuses a topic twice */
        (void)status;
    }
}

static void build_sched(struct sfi_run *run)
{
    const struct sf_scenario_world *world = &run->scenario->world;
    struct sf_sim_sched_config config =
        world->is_exact ? sf_sim_sched_config_exact() : sf_sim_sched_config_drawn(run->seed);
    if (!world->is_exact && world->schedule == SF_SCENARIO_FIFO) config.choice = SF_SIM_CHOICE_FIFO;
    if (!world->is_exact && world->schedule == SF_SCENARIO_PRIORITY) {
        config.choice = SF_SIM_CHOICE_PRIORITY;
        if (world->depth > 0) config.depth = world->depth;
    }
    if (run->options->step_budget > 0) config.budget_min = config.budget_max = run->options->step_budget;
    config.on_step = on_step;
    config.on_note = on_note;
    config.ctx = run;
    run->sched = sf_sim_sched_new(&run->world, &config);
}

static void open_checks(struct sfi_run *run)
{
    const struct sf_driver_checks_ops *checks = run->options->checks;
    run->view.world = &run->world;
    run->view.broker = run->broker;
    run->view.sched = run->sched;
    if (checks == NULL) return;
    run->checks = checks->open(&run->view);
    run->broker_checks = checks->broker != NULL ? checks->broker(run->checks) : NULL;
}

void sfi_run_build(struct sfi_run *run)
{
    struct sf_sim_world_config config = {.seed = run->seed,
                                         .wall_start_ms = run->scenario->start_ms,
                                         .is_fifo = run->scenario->world.is_exact,
                                         .on_command = on_command,
                                         .on_command_ctx = run};
    sf_sim_world_init(&run->world, &config);
    run->history.world = &run->world;
    for (uint32_t i = 0; i < SFI_MACHINES_MAX; i++) run->machines[i].restart_us = INT64_MAX;
    build_broker(run);
    build_sched(run);
    open_checks(run);
    run->outputs = sfi_outputs_new(run);
    run->retention = sfi_retention_new(run);
    sf_sim_kafka_observe(run->broker, sfi_outputs_observer(run->outputs));
    run->feed = sfi_feed_new(run);
    run->expect = sfi_expect_new(run);
    run->faults = sfi_faults_new(run);
}

void sfi_run_tear_down(struct sfi_run *run)
{
    const struct sf_driver_checks_ops *checks = run->options->checks;
    sfi_process_drop_all(run);
    run->report->digest = sf_sim_sched_digest(run->sched);
    if (checks != NULL) checks->close(run->checks);
    sf_sim_kafka_observe(run->broker, NULL);
    sf_sim_sched_destroy(run->sched);
    for (uint32_t i = 0; i < run->process_count; i++) {
        if (run->processes[i].instance.process != NULL) sf_sim_instance_destroy(run->processes[i].instance.process);
    }
    for (uint32_t i = 0; i < SFI_MACHINES_MAX; i++) {
        if (run->machines[i].disk != NULL) sf_sim_disk_destroy(run->machines[i].disk);
    }
    sfi_faults_destroy(run, run->faults);
    sfi_expect_destroy(run, run->expect);
    sfi_feed_destroy(run, run->feed);
    sfi_retention_destroy(run, run->retention);
    sfi_outputs_destroy(run, run->outputs);
    sf_sim_kafka_destroy(run->broker);
    sf_sim_world_deinit(&run->world);
}
