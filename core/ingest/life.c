/* Making the task from what the start found, and taking it down. */
#include "core/ingest/task.h"

static enum sf_generator_kind kind_of(enum sf_strategy strategy)
{
    switch (strategy) {
    case SF_STRATEGY_DEFAULT:
    case SF_STRATEGY_BOUNDED: return SF_GENERATOR_BOUNDED;
    case SF_STRATEGY_MONOTONOUS: return SF_GENERATOR_MONOTONOUS;
    case SF_STRATEGY_NONE: return SF_GENERATOR_NONE;
    }
    return SF_GENERATOR_NONE;
}

static struct sf_generator generator_of(const struct sf_topology *topology, const struct sf_source_spec *source,
                                        int64_t time_max)
{
    int64_t bound_ms = source->watermark.bound_ms != SF_SPAN_NONE ? source->watermark.bound_ms
                                                                  : topology->settings.max_out_of_orderness_ms;
    return sf_generator_make(kind_of(source->watermark.strategy), bound_ms, time_max);
}

bool sfi_comes_before(struct sf_kafka kafka, struct sf_tp a, struct sf_tp b)
{
    if (a.topic == b.topic) return a.partition < b.partition;
    return strcmp(sf_kafka_topic_name(kafka, a.topic), sf_kafka_topic_name(kafka, b.topic)) < 0;
}

/* Numbers of partitions in order of (topic bytes, partition): a merge sort, bottom up. */
static void sort_partitions(const struct sf_ingest_config *config, uint32_t *order, uint32_t *spare)
{
    uint32_t count = config->partition_count;
    for (uint32_t width = 1; width < count; width *= 2) {
        for (uint32_t from = 0; from < count; from += 2 * width) {
            uint32_t middle = from + width < count ? from + width : count;
            uint32_t end = middle + width < count ? middle + width : count;
            uint32_t a = from, b = middle;
            for (uint32_t k = from; k < end; k++) {
                bool is_b = a == middle ||
                            (b < end && sfi_comes_before(config->kafka, config->partitions[order[b]].tp,
                                                     config->partitions[order[a]].tp));
                spare[k] = is_b ? order[b] : order[a];
                if (is_b) b++;
                else a++;
            }
        }
        memcpy(order, spare, count * sizeof *order);
    }
}

void sfi_take_partition(struct sf_ingest *ingest, uint32_t i, const struct sf_ingest_partition *from, uint32_t number)
{
    const struct sf_ingest_config *config = &ingest->config;
    struct sfi_partition *p = &ingest->partitions[i];
    assert(from->offset >= 0 && from->tp.partition >= 0 && from->source < config->topology->source_count);
    uint8_t name[4] = {(uint8_t)(from->tp.partition >> 24), (uint8_t)(from->tp.partition >> 16),
                       (uint8_t)(from->tp.partition >> 8), (uint8_t)from->tp.partition};
    p->tp = from->tp;
    p->number = number;
    p->source = from->source;
    p->null_key_hash = sf_hash64(name, sizeof name);
    p->lane_first = config->plan->sources[from->source].sub * config->lane_count;
    p->position = p->fixed = p->committed = from->offset;
    p->fixed_time = p->committed_time = from->time_max;
    p->delivered_wall_ms = SF_TIME_UNSET;
    p->is_unplaced = !from->is_committed && config->topology->sources[from->source].start == SF_START_LATEST;
    if (p->is_unplaced) sfi_set_moved(ingest, i);
    ingest->tracker.parts[i].generator =
        generator_of(config->topology, &config->topology->sources[from->source], from->time_max);
}

static void take_partitions(struct sf_ingest *ingest)
{
    const struct sf_ingest_config *config = &ingest->config;
    uint32_t count = config->partition_count;
    uint32_t *order = sf_calloc(config->alloc, 2 * (size_t)count, sizeof *order);
    for (uint32_t i = 0; i < count; i++) order[i] = i;
    sort_partitions(config, order, order + count);
    for (uint32_t i = 0; i < count; i++) sfi_take_partition(ingest, i, &config->partitions[order[i]], i);
    sf_cfree(config->alloc, order, 2 * (size_t)count, sizeof *order);
}

void sfi_assign(struct sf_ingest *ingest, struct sfi_partition *p)
{
    const struct sf_observer *observer = ingest->config.observer;
    p->generation = sf_consumer_add(ingest->consumer, p->tp, p->committed);
    if (observer != NULL && observer->assigned != NULL)
        observer->assigned(observer->ctx, p->tp, p->committed, p->committed_time);
}

void sfi_list_topics(struct sf_ingest *ingest)
{
    sf_cfree(ingest->config.alloc, ingest->topics, ingest->topic_count, sizeof *ingest->topics);
    ingest->topic_count = 0;
    for (uint32_t i = 0; i < ingest->partition_count; i++) {
        uint32_t topic = ingest->partitions[i].tp.topic;
        if (topic >= ingest->topic_count) ingest->topic_count = topic + 1;
    }
    ingest->topics = sf_calloc(ingest->config.alloc, ingest->topic_count, sizeof *ingest->topics);
    for (uint32_t i = 0; i < ingest->partition_count; i++) {
        struct sfi_topic *topic = &ingest->topics[ingest->partitions[i].tp.topic];
        if (topic->end == 0) topic->first = i;
        topic->end = i + 1;
    }
}

static void take_lanes(struct sf_ingest *ingest)
{
    const struct sf_ingest_config *config = &ingest->config;
    ingest->lane_total = config->plan->sub_count * config->lane_count;
    ingest->lanes = sf_calloc(config->alloc, ingest->lane_total, sizeof *ingest->lanes);
    ingest->open_lanes = sf_calloc(config->alloc, ingest->lane_total, sizeof *ingest->open_lanes);
    ingest->ports = sf_calloc(config->alloc, 2 * (size_t)ingest->lane_total + 3, sizeof *ingest->ports);
    for (uint32_t g = 0; g < SF_KEY_GROUPS; g++)
        ingest->lane_of_group[g] = (uint8_t)sf_lane_of_hash(g, config->lane_count);
    struct sf_edge *controls[] = {config->from_engine, config->from_commit, config->from_driver};
    for (uint32_t k = 0; k < 3; k++) {
        if (controls[k] == NULL) continue;
        ingest->ports[ingest->port_count] = &controls[k]->in;
        ingest->port_count++;
    }
    for (uint32_t l = 0; l < ingest->lane_total; l++) {
        ingest->ports[ingest->port_count] = &config->from_lanes[l].in;
        ingest->port_count++;
        if (config->plan->subs[l / config->lane_count].source_count == 0) continue;
        sfi_lane_init(ingest, &ingest->lanes[l], &config->to_lanes[l]);
        ingest->ports[ingest->port_count] = &config->to_lanes[l].back;
        ingest->port_count++;
    }
}

static void take_memory(struct sf_ingest *ingest)
{
    const struct sf_ingest_config *config = &ingest->config;
    const struct sf_settings *settings = &config->topology->settings;
    struct sf_alloc alloc = config->alloc;
    uint32_t count = config->partition_count, sources = config->topology->source_count;
    ingest->partitions = sf_calloc(alloc, count, sizeof *ingest->partitions);
    ingest->touched = sf_calloc(alloc, count, sizeof *ingest->touched);
    ingest->to_note = sf_calloc(alloc, count, sizeof *ingest->to_note);
    ingest->moved = sf_calloc(alloc, (count + 63) / 64, sizeof *ingest->moved);
    ingest->cut_offsets = sf_calloc(alloc, count, sizeof *ingest->cut_offsets);
    ingest->cut_partitions = sf_calloc(alloc, count, sizeof *ingest->cut_partitions);
    ingest->judges = sf_calloc(alloc, sources, sizeof *ingest->judges);
    ingest->counts = sf_calloc(alloc, sources, sizeof *ingest->counts);
    ingest->counts_fixed = sf_calloc(alloc, sources, sizeof *ingest->counts_fixed);
    ingest->counts_total = sf_calloc(alloc, sources, sizeof *ingest->counts_total);
    for (uint32_t s = 0; s < sources; s++) sf_judge_init(&ingest->judges[s], &config->topology->sources[s], alloc);
    sf_tracker_init(&ingest->tracker, alloc, count, sfi_us(settings->preview_delay_ms));
    sf_heap_init(&ingest->order, alloc, count);
    sf_wait_init(&ingest->wait, alloc, count, settings->task_idle_ms_max);
}

static enum sf_status open_consumer(struct sf_ingest *ingest, struct sf_waker waker, struct sf_error *error)
{
    struct sf_consumer_config config = {.group = ingest->config.topology->application_id,
                                        .purpose = "source",
                                        .is_read_committed = true,
                                        .has_headers = ingest->config.plan->has_headers_out,
                                        .batch_records_max = ingest->batch_records_max,
                                        .fetch_bytes_max = UINT64_C(64) << 20,
                                        .waker = waker};
    return sf_kafka_consumer_open(ingest->config.kafka, &config, &ingest->consumer, error);
}

/* The client is opened before the task has its id. Any thread. */
static void wake_task(void *self, uint32_t task_id)
{
    struct sf_ingest *ingest = self;
    (void)task_id;
    if (atomic_load_explicit(&ingest->is_attached, memory_order_acquire)) sf_waker_wake(ingest->waker);
}

struct sf_ingest *sf_ingest_new(const struct sf_ingest_config *config, struct sf_task *task, struct sf_error *error)
{
    const struct sf_settings *settings = &config->topology->settings;
    assert(config->partition_count > 0 && config->lane_count > 0 && config->lane_count <= SF_LANES_MAX);
    assert(settings->poll_records_max > 0 && settings->buffered_records_max > 0);
    struct sf_ingest *ingest = sf_malloc(config->alloc, sizeof *ingest);
    memset(ingest, 0, sizeof *ingest);
    ingest->config = *config;
    ingest->partition_count = config->partition_count;
    ingest->batch_records_max = settings->poll_records_max < 4 ? 1 : settings->poll_records_max / 4;
    if (ingest->batch_records_max > 65536) ingest->batch_records_max = 65536;
    enum sf_status status =
        open_consumer(ingest, (struct sf_waker){.wake = wake_task, .self = ingest, .task_id = SF_TASK_NONE}, error);
    if (status != SF_OK) {
        sf_free(config->alloc, ingest, sizeof *ingest);
        return NULL;
    }
    ingest->task = task;
    ingest->is_tracking = config->plan->is_event_time;
    ingest->is_ordered = ingest->is_tracking || settings->dispatch == SF_DISPATCH_ORDERED;
    ingest->ring = *config->ring;
    ingest->watermark = ingest->reached = sf_ring_newest(&ingest->ring);
    ingest->committed_epoch = config->epoch;
    ingest->epoch = config->epoch + 1;
    sf_held_pool_init(&ingest->held, config->alloc, ingest->consumer);
    take_memory(ingest);
    take_partitions(ingest);
    sfi_list_topics(ingest);
    take_lanes(ingest);
    for (uint32_t i = 0; i < ingest->partition_count; i++) sfi_assign(ingest, &ingest->partitions[i]);
    *task = (struct sf_task){.name = "ingest",
                             .step = sfi_step,
                             .self = ingest,
                             .ports = ingest->ports,
                             .port_count = ingest->port_count,
                             .id = SF_TASK_NONE};
    return ingest;
}

void sf_ingest_attach(struct sf_ingest *ingest)
{
    assert(ingest->task->id != SF_TASK_NONE);
    ingest->waker = sf_sched_waker(ingest->config.sched, ingest->task->id);
    atomic_store_explicit(&ingest->is_attached, true, memory_order_release);
}

void sf_ingest_destroy(struct sf_ingest *ingest)
{
    if (ingest == NULL) return;
    struct sf_alloc alloc = ingest->config.alloc;
    uint32_t count = ingest->partition_count, sources = sfi_topology(ingest)->source_count;
    sf_consumer_close(ingest->consumer); /* with every batch */
    for (uint32_t i = 0; i < count; i++) sf_buffer_deinit(&ingest->partitions[i].buffer, alloc);
    for (uint32_t l = 0; l < ingest->lane_total; l++) sfi_lane_deinit(ingest, &ingest->lanes[l]);
    for (uint32_t s = 0; s < sources; s++) sf_judge_deinit(&ingest->judges[s]);
    sf_held_pool_deinit(&ingest->held);
    sf_tracker_deinit(&ingest->tracker);
    sf_heap_deinit(&ingest->order);
    sf_wait_deinit(&ingest->wait);
    sf_cfree(alloc, ingest->partitions, count, sizeof *ingest->partitions);
    sf_cfree(alloc, ingest->topics, ingest->topic_count, sizeof *ingest->topics);
    sf_cfree(alloc, ingest->touched, count, sizeof *ingest->touched);
    sf_cfree(alloc, ingest->to_note, count, sizeof *ingest->to_note);
    sf_cfree(alloc, ingest->moved, (count + 63) / 64, sizeof *ingest->moved);
    sf_cfree(alloc, ingest->cut_offsets, count, sizeof *ingest->cut_offsets);
    sf_cfree(alloc, ingest->cut_partitions, count, sizeof *ingest->cut_partitions);
    sf_cfree(alloc, ingest->judges, sources, sizeof *ingest->judges);
    sf_cfree(alloc, ingest->counts, sources, sizeof *ingest->counts);
    sf_cfree(alloc, ingest->counts_fixed, sources, sizeof *ingest->counts_fixed);
    sf_cfree(alloc, ingest->counts_total, sources, sizeof *ingest->counts_total);
    sf_cfree(alloc, ingest->lanes, ingest->lane_total, sizeof *ingest->lanes);
    sf_cfree(alloc, ingest->open_lanes, ingest->lane_total, sizeof *ingest->open_lanes);
    sf_cfree(alloc, ingest->ports, 2 * (size_t)ingest->lane_total + 3, sizeof *ingest->ports);
    sf_free(alloc, ingest->seen, ingest->seen_capacity * sizeof *ingest->seen);
    sf_free(alloc, ingest->seen_tps, ingest->seen_capacity * sizeof *ingest->seen_tps);
    sf_free(alloc, ingest, sizeof *ingest);
}
