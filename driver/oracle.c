#include "driver/oracle.h"

#include <assert.h>
#include <string.h>

#include "driver/oracle_parts.h"
#include "driver/oracle_time.h"

#define MARKERS_US 1000000 /* offsets are there when the markers of their transaction are: some time later */

/* ---------------------------------------------------------------- instances */

/* S3: without changelogs a process takes its open windows with it. */
static void forget_windows(struct sfi_oracle *oracle)
{
    const struct sf_topology *topology = oracle->world.topology;
    for (uint32_t i = 0; i < topology->step_count && !topology->settings.is_changelog_enabled; i++)
        if (topology->steps[i].kind == SF_STEP_AGGREGATE) sfi_model_windows_clear(&oracle->model.steps[i].windows);
}

/* It has lost the application again before it came to read, and has not heard of it: whoever has it, reads already. */
static bool is_too_late(const struct sfi_oracle_instance *instance)
{
    const struct sfi_oracle *oracle = instance->oracle;
    if (oracle->reader == NULL) return false;
    uint32_t owner = sf_sim_kafka_group(oracle->world.broker, oracle->world.topology->application_id).owner_instance;
    return owner == oracle->reader->id && owner != instance->id;
}

void sfi_oracle_begin_reading(struct sfi_oracle_instance *instance)
{
    struct sfi_oracle *oracle = instance->oracle;
    if (instance->is_reading || instance->is_former) return;
    bool is_first = oracle->reader == NULL;
    if (is_too_late(instance)) {
        instance->is_former = true;
        return;
    }
    if (!is_first) oracle->reader->is_former = true;
    oracle->reader = instance;
    instance->is_reading = true;
    forget_windows(oracle);
    instance->watermark = oracle->model.ring.newest.w;
    for (uint32_t i = 0; i < oracle->world.topology->step_count; i++)
        instance->base_counts[i] = oracle->model.steps[i].counts;
    if (!oracle->is_exactly_once && !is_first && !oracle->model.ring.is_flushed) oracle->is_loose = true;
    instance->is_watermark_open = oracle->is_loose; /* stamps may be ahead of offsets (B10), or a former owner's */
    uint64_t cut = oracle->is_loose ? 0 : oracle->model.ring.newest.epoch;
    instance->fixed = instance->committed = instance->published = cut;
    sfi_oracle_lanes_reset(instance, instance->fixed);
    sfi_oracle_time_resumed(instance);
}

static void on_watermark(void *ctx, int64_t value, enum sf_watermark_why why)
{
    struct sfi_oracle_instance *instance = ctx;
    if (instance->is_former || instance->oracle->is_broken) return;
    if (why != SF_WATERMARK_POLL) instance->is_recomputed = true;
    if (instance->is_watermark_open) {
        instance->is_watermark_open = false;
        instance->watermark = value;
        instance->time.has_emitted = true;
        instance->time.emitted_us = instance->oracle->world.world->mono_us;
        sfi_oracle_time_resumed(instance);
        return;
    }
    if (value < instance->watermark)
        sfi_oracle_say_epoch(instance->oracle, "X1", instance->fixed + 1, "global watermark, not below",
                             instance->watermark, value);
    sfi_oracle_time_emitted(instance, value, why);
    instance->watermark = value;
}

/* The engine believes that `epoch` has committed. */
static void on_committed(void *ctx, uint64_t epoch)
{
    struct sfi_oracle_instance *instance = ctx;
    struct sfi_oracle *oracle = instance->oracle;
    if (instance->is_former) return;
    instance->published = epoch;
    instance->published_us = oracle->world.world->mono_us;
    instance->is_count_due = true;
    if (oracle->is_exactly_once && instance->committed != epoch)
        sfi_oracle_say_epoch(oracle, "X8", epoch, "taken for committed; the newest that is",
                             (int64_t)instance->committed, (int64_t)epoch);
}

static void on_fell_back(void *ctx, uint64_t epoch)
{
    struct sfi_oracle_instance *instance = ctx;
    struct sfi_oracle *oracle = instance->oracle;
    if (oracle->is_broken || instance->is_former) return;
    if (oracle->is_exactly_once && epoch != oracle->model.ring.newest.epoch)
        sfi_oracle_say_epoch(oracle, "X15", epoch, "falls back to this cut; the newest that has committed (B11)",
                             (int64_t)oracle->model.ring.newest.epoch, (int64_t)epoch);
    if (instance->fixed >= instance->epoch_least) instance->epoch_least = instance->fixed + 1;
    sfi_oracle_epochs_drop(instance);
    sfi_oracle_lanes_reset(instance, epoch);
    instance->run++;
    instance->fixed = instance->committed = instance->published = epoch;
    instance->is_falling_back = true;
    instance->base = SFI_ORACLE_BASE_FALL_BACK;
    instance->base_us = oracle->world.world->mono_us;
    instance->due_us = -1;
    instance->time.stands_us = -1;
    instance->watermark = oracle->model.ring.newest.w;
    sfi_oracle_time_resumed(instance);
    if (!oracle->is_exactly_once) oracle->is_loose = instance->is_watermark_open = true;
}

static const struct sf_observer *oracle_started(void *state, const struct sf_driver_instance *info)
{
    struct sfi_oracle *oracle = state;
    struct sfi_oracle_instance *instance = sf_calloc(oracle->alloc, 1, sizeof *instance);
    *instance = (struct sfi_oracle_instance){.oracle = oracle, .next = oracle->instances, .info = *info,
                                             .id = info->process->id, .watermark = SF_TIME_UNSET,
                                             .due_us = -1, .lost_us = INT64_MAX};
    instance->lanes =
        sf_calloc(oracle->alloc, oracle->world.plan->sub_count * oracle->world.lanes, sizeof *instance->lanes);
    instance->base_counts =
        sf_calloc(oracle->alloc, oracle->world.topology->step_count, sizeof *instance->base_counts);
    instance->source_totals =
        sf_calloc(oracle->alloc, oracle->world.topology->source_count, sizeof *instance->source_totals);
    instance->time.stands_us = -1;
    instance->observer = (struct sf_observer){.ctx = instance,
                                              .assigned = sfi_oracle_assigned,
                                              .buffered = sfi_oracle_buffered,
                                              .lag = sfi_oracle_lag,
                                              .dispatched = sfi_oracle_dispatched,
                                              .skipped = sfi_oracle_skipped,
                                              .watermark = on_watermark,
                                              .fixed = sfi_oracle_fixed,
                                              .taken = sfi_oracle_taken,
                                              .crossed = sfi_oracle_crossed,
                                              .passed = sfi_oracle_passed,
                                              .committed = on_committed,
                                              .fell_back = on_fell_back};
    oracle->instances = instance;
    return &instance->observer;
}

static struct sfi_oracle_instance *find(struct sfi_oracle *oracle, uint32_t id)
{
    for (struct sfi_oracle_instance *instance = oracle->instances; instance != NULL; instance = instance->next)
        if (instance->id == id) return instance;
    return NULL;
}

/* B14, as the group's coordinator sees it. */
static void on_owner(void *ctx, const char *group, uint32_t id, uint32_t generation)
{
    struct sfi_oracle *oracle = ctx;
    (void)generation;
    if (strcmp(group, oracle->world.topology->application_id) != 0) return;
    for (struct sfi_oracle_instance *instance = oracle->instances; instance != NULL; instance = instance->next) {
        bool is_lost = instance->id != id && instance->is_owner;
        instance->is_owner = instance->id == id;
        if (instance->is_owner) instance->lost_us = INT64_MAX;
        if (is_lost) instance->lost_us = oracle->world.world->mono_us;
    }
}

static void oracle_made(void *state, const struct sf_driver_instance *info)
{
    struct sfi_oracle_instance *instance = find(state, info->process->id);
    if (instance != NULL) instance->info = *info;
}

/* M6: what the engine counted since it began is what the model counted since then. */
static void check_counts(struct sfi_oracle_instance *instance)
{
    struct sfi_oracle *oracle = instance->oracle;
    const struct sf_step_counts *actual =
        instance->info.engine != NULL ? sf_engine_step_counts(instance->info.engine) : NULL;
    instance->is_count_due = false;
    if (actual == NULL || oracle->is_loose) return;
    for (uint32_t i = 0; i < oracle->world.topology->step_count && !oracle->is_broken; i++) {
        const struct sf_step_counts *now = &oracle->model.steps[i].counts, *base = &instance->base_counts[i];
        uint64_t epoch = oracle->model.ring.newest.epoch;
        if (!oracle->is_step_exact[i]) continue;
        if (actual[i].in != now->in - base->in)
            sfi_oracle_say_epoch(oracle, "X5", epoch, "records into a step (M6)", (int64_t)(now->in - base->in),
                                 (int64_t)actual[i].in);
        if (actual[i].taken != now->taken - base->taken)
            sfi_oracle_say_epoch(oracle, "X5", epoch, "records taken by a window (M6)",
                                 (int64_t)(now->taken - base->taken), (int64_t)actual[i].taken);
        if (actual[i].none_late != now->none_late - base->none_late)
            sfi_oracle_say_epoch(oracle, "X5", epoch, "records that no window took (M6)",
                                 (int64_t)(now->none_late - base->none_late), (int64_t)actual[i].none_late);
        for (uint32_t d = 0; d < SF_DROP_COUNT; d++)
            if (actual[i].drops[d] != now->drops[d] - base->drops[d])
                sfi_oracle_say_epoch(oracle, "X5", epoch, "records dropped by a step (M3, F2)",
                                     (int64_t)(now->drops[d] - base->drops[d]), (int64_t)actual[i].drops[d]);
    }
}

static void oracle_ended(void *state, const struct sf_driver_instance *info, enum sf_driver_ending ending)
{
    struct sfi_oracle *oracle = state;
    struct sfi_oracle_instance *instance = find(oracle, info->process->id);
    if (instance == NULL) return;
    if (ending == SF_DRIVER_ENDED_STOPPED && instance->is_count_due && !oracle->is_broken) check_counts(instance);
    sfi_oracle_local_check(oracle, info->disk);
    instance->is_over = true;
    instance->info.engine = NULL;
}

static void oracle_stepped(void *state, const struct sf_sim_step_record *record)
{
    struct sfi_oracle *oracle = state;
    if (oracle->is_broken) return;
    for (struct sfi_oracle_instance *instance = oracle->instances; instance != NULL; instance = instance->next) {
        if (instance->is_over || instance->is_former || instance->id != record->instance->id) continue;
        if (instance->is_count_due) check_counts(instance);
        if (instance->is_local_due && oracle->local_changes >= oracle->local_rows)
            sfi_oracle_local_check(oracle, instance->info.disk);
        instance->is_local_due = false;
        if (strcmp(record->task->name, "ingest") != 0) continue;
        instance->polled = 0;
        if (instance->unsettled_count > 0) sfi_oracle_live_stepped(instance);
        sfi_oracle_time_stepped(instance, record);
    }
}

static void oracle_noted(void *state, const struct sf_sim_instance *process, const struct sf_task *task,
                         const struct sf_note *note)
{
    (void)task;
    if (note->code == SF_NOTE_OWNER) sfi_oracle_note_ends(state); /* the logs' ends are asked for after that */
    if (note->code != SF_NOTE_STORE_WRITTEN) return;
    struct sfi_oracle_instance *instance = find(state, process->id);
    if (instance != NULL) instance->is_local_due = true;
}

static void oracle_happened(void *state, const struct sf_driver_event *event)
{
    struct sfi_oracle *oracle = state;
    /* partition times are gone with the metadata they stood in (K7): what resumes has none */
    for (uint32_t i = 0; event->kind == SF_DRIVER_EVENT_METADATA_LOST && i < oracle->partition_count; i++)
        oracle->partitions[i].time_max = SF_TIME_UNSET;
    if (event->kind == SF_DRIVER_EVENT_ADDED) oracle->has_grown = true;
    for (struct sfi_oracle_instance *instance = oracle->instances; instance != NULL; instance = instance->next) {
        if (event->instance_id != 0 && event->instance_id != instance->id) continue;
        bool is_end = event->kind == SF_DRIVER_EVENT_STOP || event->kind == SF_DRIVER_EVENT_HAND_OVER;
        if (is_end) instance->time.is_ending = true;
        if (event->kind == SF_DRIVER_EVENT_PAUSED) instance->time.is_paused = true;
        if (event->kind == SF_DRIVER_EVENT_RESUMED) instance->time.is_paused = false;
        if (event->kind == SF_DRIVER_EVENT_REVOKED) sfi_oracle_leaves(instance, event->tp, true);
        if (event->kind == SF_DRIVER_EVENT_ASSIGNED) sfi_oracle_leaves(instance, event->tp, false);
    }
}

static int64_t needed_of_source(const struct sfi_oracle *oracle, struct sf_tp tp)
{
    for (uint32_t i = 0; i < oracle->world.topology->source_count; i++) {
        if ((uint32_t)tp.partition >= oracle->source_partition_counts[i]) continue;
        uint32_t p = oracle->source_partitions[i][tp.partition];
        if (p != SFI_ORACLE_NONE && oracle->partitions[p].tp.topic == tp.topic) return oracle->partitions[p].committed;
    }
    return INT64_MAX;
}

/* What the engine writes is compared when it commits; a changelog is read once more from where the local store stands
 * (X9), which only moves on. */
static int64_t oracle_needed(void *state, struct sf_tp tp)
{
    const struct sfi_oracle *oracle = state;
    int64_t needed = needed_of_source(oracle, tp);
    if (needed != INT64_MAX || tp.topic >= oracle->topic_capacity) return needed;
    const struct sfi_oracle_topic *topic = &oracle->topics[tp.topic];
    if (topic->kind != SFI_ORACLE_TOPIC_CHANGELOG) return INT64_MAX;
    if (!oracle->world.topology->steps[topic->index].store.is_persistent) return INT64_MAX;
    return topic->looked != NULL ? topic->looked[tp.partition] : 0;
}

/* ---------------------------------------------------------------- the end */

/* X15: everything that a read-committed reader can get has been consumed. */
static void check_all_read(struct sfi_oracle *oracle)
{
    for (uint32_t i = 0; i < oracle->partition_count && !oracle->is_broken; i++) {
        const struct sfi_oracle_partition *partition = &oracle->partitions[i];
        if (partition->is_given_up) continue;
        int64_t stable = sf_sim_kafka_log_end(oracle->world.broker, partition->tp, SF_LOG_STABLE_END);
        int64_t next = sfi_oracle_visible(oracle, partition->tp, partition->committed);
        if (next < stable || (partition->has_committed && partition->committed < stable)) /* B13 */
            sfi_oracle_say_partition(oracle, "X15", partition, "committed offset at the end of a settled run", stable,
                                     partition->committed);
    }
}

static void oracle_finish(void *state, const struct sf_driver_end *end)
{
    struct sfi_oracle *oracle = state;
    if (oracle->is_broken || end->is_cut) return;
    bool has_settled = oracle->world.is_exact || oracle->world.world->mono_us - oracle->decided_us > MARKERS_US;
    if (end->is_stopped && oracle->is_exactly_once && has_settled) sfi_oracle_offsets_check(oracle);
    if (end->is_stopped && end->is_settled) sfi_oracle_least_check(oracle);
    if (end->is_stopped && end->is_settled && oracle->commit_count > 0) check_all_read(oracle);
}

/* ---------------------------------------------------------------- life */

static void rank_sources(struct sfi_oracle *oracle)
{
    const struct sf_topology *topology = oracle->world.topology;
    for (uint32_t i = 0; i < topology->source_count; i++)
        for (uint32_t k = 0; k < topology->source_count; k++)
            oracle->source_ranks[i] += strcmp(topology->sources[k].topic, topology->sources[i].topic) < 0;
}

static void compile_assigners(struct sfi_oracle *oracle)
{
    const struct sf_topology *topology = oracle->world.topology;
    for (uint32_t i = 0; i < topology->source_count; i++) {
        const char *path = topology->sources[i].watermark.timestamp_path;
        struct sf_expression_error error;
        if (path == NULL) continue;
        bool is_fine = sf_expression_compile(path, strlen(path), oracle->alloc, &oracle->assigners[i], &error);
        assert(is_fine);
        (void)is_fine;
    }
}

static void *oracle_open(const struct sf_driver_world *world)
{
    struct sf_alloc alloc = world->world->alloc;
    const struct sf_topology *topology = world->topology;
    struct sfi_oracle *oracle = sf_calloc(alloc, 1, sizeof *oracle);
    *oracle = (struct sfi_oracle){.world = *world, .alloc = alloc,
                                  .is_exactly_once = topology->guarantee == SF_EXACTLY_ONCE};
    oracle->broker = (struct sf_sim_kafka_observer){.appended = sfi_oracle_appended,
                                                    .decided = sfi_oracle_decided,
                                                    .offset_committed = sfi_oracle_offset_committed,
                                                    .owner = on_owner,
                                                    .ctx = oracle};
    oracle->assigners = sf_calloc(alloc, topology->source_count, sizeof *oracle->assigners);
    oracle->source_ranks = sf_calloc(alloc, topology->source_count, sizeof *oracle->source_ranks);
    oracle->source_partitions = sf_calloc(alloc, topology->source_count, sizeof *oracle->source_partitions);
    oracle->source_partition_counts = sf_calloc(alloc, topology->source_count, sizeof(uint32_t));
    oracle->sinks = sf_calloc(alloc, topology->sink_count, sizeof *oracle->sinks);
    oracle->is_step_exact = sf_calloc(alloc, topology->step_count, sizeof(bool));
    oracle->is_step_keyed = sf_calloc(alloc, topology->step_count, sizeof(bool));
    oracle->has_rounded = sf_calloc(alloc, topology->step_count, sizeof(bool));
    rank_sources(oracle);
    compile_assigners(oracle);
    sfi_model_init(&oracle->model, topology, world->plan, alloc, sfi_oracle_expect, oracle);
    sfi_oracle_rows_init(oracle, &oracle->expected);
    sfi_oracle_order(oracle);
    return oracle;
}

static const struct sf_sim_kafka_observer *oracle_broker(void *state)
{
    struct sfi_oracle *oracle = state;
    return &oracle->broker;
}

static void free_instance(struct sfi_oracle *oracle, struct sfi_oracle_instance *instance)
{
    uint32_t lanes = oracle->world.plan->sub_count * oracle->world.lanes;
    sfi_oracle_epochs_drop(instance);
    sfi_oracle_live_clear(instance);
    for (uint32_t i = 0; i < lanes; i++)
        sf_free(oracle->alloc, instance->lanes[i].sent, instance->lanes[i].capacity * sizeof *instance->lanes[i].sent);
    sf_cfree(oracle->alloc, instance->lanes, lanes, sizeof *instance->lanes);
    sf_cfree(oracle->alloc, instance->base_counts, oracle->world.topology->step_count, sizeof *instance->base_counts);
    sf_cfree(oracle->alloc, instance->source_totals, oracle->world.topology->source_count,
             sizeof *instance->source_totals);
    sf_cfree(oracle->alloc, instance, 1, sizeof *instance);
}

static void oracle_close(void *state)
{
    struct sfi_oracle *oracle = state;
    struct sf_alloc alloc = oracle->alloc;
    const struct sf_topology *topology = oracle->world.topology;
    while (oracle->instances != NULL) {
        struct sfi_oracle_instance *instance = oracle->instances;
        oracle->instances = instance->next;
        free_instance(oracle, instance);
    }
    sfi_oracle_txns_free(oracle);
    sfi_oracle_rows_deinit(oracle, &oracle->expected);
    sfi_oracle_least_deinit(oracle);
    sfi_model_deinit(&oracle->model);
    for (uint32_t i = 0; i < topology->source_count; i++) {
        sf_expression_destroy(oracle->assigners[i]);
        sf_free(alloc, oracle->source_partitions[i], oracle->source_partition_counts[i] * sizeof(uint32_t));
    }
    sf_cfree(alloc, oracle->assigners, topology->source_count, sizeof *oracle->assigners);
    sf_cfree(alloc, oracle->source_ranks, topology->source_count, sizeof *oracle->source_ranks);
    sf_cfree(alloc, oracle->source_partitions, topology->source_count, sizeof *oracle->source_partitions);
    sf_cfree(alloc, oracle->source_partition_counts, topology->source_count, sizeof(uint32_t));
    sf_cfree(alloc, oracle->sinks, topology->sink_count, sizeof *oracle->sinks);
    sf_cfree(alloc, oracle->is_step_exact, topology->step_count, sizeof(bool));
    sf_cfree(alloc, oracle->is_step_keyed, topology->step_count, sizeof(bool));
    sf_cfree(alloc, oracle->has_rounded, topology->step_count, sizeof(bool));
    sf_free(alloc, oracle->partitions, oracle->partition_capacity * sizeof *oracle->partitions);
    for (uint32_t i = 0; i < oracle->topic_capacity; i++) {
        size_t partitions = (size_t)oracle->topics[i].partition_count;
        sf_cfree(alloc, oracle->topics[i].taken, partitions, sizeof *oracle->topics[i].taken);
        sf_cfree(alloc, oracle->topics[i].looked, partitions, sizeof *oracle->topics[i].looked);
    }
    sf_free(alloc, oracle->topics, oracle->topic_capacity * sizeof *oracle->topics);
    sf_free(alloc, oracle->text, oracle->text_capacity);
    sf_cfree(alloc, oracle, 1, sizeof *oracle);
}

static const struct sf_driver_checks_ops ops = {.open = oracle_open,
                                                .started = oracle_started,
                                                .made = oracle_made,
                                                .ended = oracle_ended,
                                                .broker = oracle_broker,
                                                .stepped = oracle_stepped,
                                                .noted = oracle_noted,
                                                .happened = oracle_happened,
                                                .needed = oracle_needed,
                                                .finish = oracle_finish,
                                                .close = oracle_close};

const struct sf_driver_checks_ops *sf_driver_oracle(void)
{
    return &ops;
}
