/*
 * Partitions found while running (G4): the start's admin client goes on to watch the sources' topics; what one gains is
 * read from its start. One growth at a time:
 *
 *     watch: more than before  ->  ask for committed offsets (a standby finds what its predecessor has read)
 *                              ->  ask where the other logs start  ->  GROW to ingest  ->  GROWN, look again
 */
#include "core/run/engine_impl.h"

#include "core/ops/metadata.h"
#include "core/time/event_time.h"

#define ASK_AGAIN_US 1000000

void sfi_grow_watch(struct sf_engine *engine)
{
    const struct sf_topology *topology = engine->config.topology;
    engine->watch = engine->admin;
    engine->admin = (struct sf_admin){0};
    engine->wanted_partitions = sf_calloc(engine->config.alloc, topology->source_count, sizeof(int32_t));
    for (uint32_t i = 0; i < topology->source_count; i++) {
        engine->wanted_partitions[i] = engine->source_partitions[i];
        sf_admin_watch(engine->watch, i, sf_kafka_topic(engine->config.kafka, topology->sources[i].topic));
    }
    engine->partition_numbers = engine->partition_count;
}

static void forget(struct sf_engine *engine)
{
    sf_cfree(engine->config.alloc, engine->found, engine->growth.count, sizeof *engine->found);
    engine->found = NULL;
    engine->growth = (struct sf_ingest_growth){0};
    engine->grow = SFI_GROW_NONE;
}

void sfi_grow_release(struct sf_engine *engine)
{
    sf_admin_close(engine->watch);
    engine->watch = (struct sf_admin){0};
    if (engine->wanted_partitions == NULL) return;
    forget(engine);
    sf_cfree(engine->config.alloc, engine->wanted_partitions, engine->config.topology->source_count, sizeof(int32_t));
    engine->wanted_partitions = NULL;
}

/* The source with partitions that nobody reads yet; false: none, or no place for their names. */
static bool find_growth(struct sf_engine *engine)
{
    for (uint32_t i = 0; i < engine->config.topology->source_count; i++) {
        int32_t more = engine->wanted_partitions[i] - engine->source_partitions[i];
        if (more <= 0 || (uint32_t)more > engine->tps_capacity - engine->partition_numbers) continue;
        engine->growing_source = i;
        return true;
    }
    return false;
}

static void ask_committed(struct sf_engine *engine)
{
    const struct sf_source_spec *source = &engine->config.topology->sources[engine->growing_source];
    int32_t first = engine->source_partitions[engine->growing_source];
    uint32_t count = (uint32_t)(engine->wanted_partitions[engine->growing_source] - first);
    uint32_t topic = sf_kafka_topic(engine->config.kafka, source->topic);
    struct sf_tp *tps = sf_calloc(engine->config.alloc, count, sizeof *tps);
    engine->found = sf_calloc(engine->config.alloc, count, sizeof *engine->found);
    engine->growth = (struct sf_ingest_growth){.partitions = engine->found, .count = count};
    for (uint32_t k = 0; k < count; k++) {
        tps[k] = (struct sf_tp){.topic = topic, .partition = first + (int32_t)k};
        engine->found[k] = (struct sf_ingest_partition){
            .tp = tps[k], .source = engine->growing_source, .time_max = SF_TIME_UNSET};
    }
    sf_admin_committed(engine->watch, engine->config.topology->source_count, engine->config.topology->application_id,
                       tps, count);
    sf_cfree(engine->config.alloc, tps, count, sizeof *tps);
    engine->grow = SFI_GROW_COMMITTED;
}

static void ask_starts(struct sf_engine *engine)
{
    struct sf_tp *tps = sf_calloc(engine->config.alloc, engine->growth.count, sizeof *tps);
    for (uint32_t k = 0; k < engine->growth.count; k++) tps[k] = engine->found[k].tp;
    sf_admin_ends(engine->watch, engine->config.topology->source_count, SF_LOG_START, tps, engine->growth.count);
    sf_cfree(engine->config.alloc, tps, engine->growth.count, sizeof *tps);
    engine->grow = SFI_GROW_STARTS;
}

static bool take_committed(struct sf_engine *engine, const struct sf_admin_event *event)
{
    if (event->status != SF_OK) return false;
    for (uint32_t k = 0; k < event->answer_count; k++) {
        const struct sf_offset_answer *answer = &event->answers[k];
        if (answer->status == SF_NOT_FOUND) continue;
        if (answer->status != SF_OK) return false;
        engine->found[k].is_committed = true;
        engine->found[k].offset = answer->offset;
        engine->found[k].time_max =
            sf_metadata_decode((const char *)answer->metadata.data, answer->metadata.len);
    }
    return true;
}

static bool take_starts(struct sf_engine *engine, const struct sf_admin_event *event)
{
    if (event->status != SF_OK) return false;
    for (uint32_t k = 0; k < event->answer_count; k++) {
        if (event->answers[k].status != SF_OK) return false;
        if (!engine->found[k].is_committed) engine->found[k].offset = event->answers[k].offset;
    }
    return true;
}

static void tell_ingest(struct sf_engine *engine)
{
    /* lanes look these up when ingest, which hears of them next, has sent them records */
    for (uint32_t k = 0; k < engine->growth.count; k++)
        engine->tps[engine->partition_numbers + k] = engine->found[k].tp;
    engine->partition_numbers += engine->growth.count;
    engine->grow = SFI_GROW_TOLD;
    sf_edge_push(engine->engine_to_ingest, &(struct sf_msg){.kind = SF_MSG_GROW, .ptr = &engine->growth});
}

static void on_answer(struct sf_engine *engine, const struct sf_step *step, const struct sf_admin_event *event)
{
    bool is_committed = engine->grow == SFI_GROW_COMMITTED;
    assert(is_committed || engine->grow == SFI_GROW_STARTS);
    if (is_committed ? take_committed(engine, event) : take_starts(engine, event)) {
        if (is_committed) ask_starts(engine);
        else tell_ingest(engine);
        return;
    }
    forget(engine); /* just made, it may not have a leader yet */
    engine->grow_again_at = sf_mono_add(step->now, ASK_AGAIN_US);
}

void sfi_on_grown(struct sf_engine *engine)
{
    assert(engine->grow == SFI_GROW_TOLD);
    engine->source_partitions[engine->growing_source] += (int32_t)engine->growth.count;
    forget(engine);
}

static void on_watch(struct sf_engine *engine, const struct sf_step *step, const struct sf_admin_event *event)
{
    uint32_t sources = engine->config.topology->source_count;
    if (event->tag == sources) {
        on_answer(engine, step, event);
        return;
    }
    if (event->status == SF_OK && event->partition_count > engine->wanted_partitions[event->tag])
        engine->wanted_partitions[event->tag] = event->partition_count;
}

bool sfi_grow_step(struct sf_engine *engine, const struct sf_step *step)
{
    if (engine->watch.ops == NULL || engine->wanted_partitions == NULL) return false;
    struct sf_admin_event events[8];
    uint32_t count = sf_admin_poll(engine->watch, events, sizeof events / sizeof events[0]);
    for (uint32_t i = 0; i < count; i++) on_watch(engine, step, &events[i]);
    bool is_free = engine->phase == SF_PHASE_RUNNING && engine->grow == SFI_GROW_NONE &&
                   step->now.us >= engine->grow_again_at.us;
    if (is_free && find_growth(engine)) {
        ask_committed(engine);
        return true;
    }
    return count > 0;
}
