#include "core/run/engine_impl.h"

#define CONTROL_SLOTS 16u
#define NEWS_BLOCK_BYTES 16u /* blocks that are a credit alone */
#define RUN_BLOCK_BYTES (256u * (uint32_t)sizeof(struct sf_ref))
#define RUN_BLOCKS 8u
#define OUT_BLOCK_BYTES (64u * 1024u)
#define HOP_BLOCK_BYTES (16u * 1024u) /* of hops that are few: see hop_shape */
#define HOP_BLOCK_BYTES_MIN 1024u
#define HOP_BLOCKS 8u
#define HOP_BLOCKS_MIN 2u
#define HOP_BYTES_MAX (UINT64_C(64) << 20) /* all blocks of all hops, were they all under way */
#define PERSIST_BLOCKS 16u
#define FIX_SLOTS 2048u /* barriers that a host may ask for while ingest does not run */

static struct sf_plan_sub *sub_of(const struct sf_engine *engine, uint32_t sub)
{
    return &engine->config.plan->subs[sub];
}

static uint32_t count_hops(struct sf_engine *engine)
{
    const struct sf_plan *plan = engine->config.plan;
    uint32_t lanes = engine->config.lanes;
    uint32_t count = 0;
    engine->hop_base = sf_calloc(engine->config.alloc, plan->sub_count, sizeof *engine->hop_base);
    for (uint32_t sub = 0; sub < plan->sub_count; sub++) {
        engine->hop_base[sub] = count;
        count += lanes * plan->subs[sub].downstream_count * lanes;
    }
    return count;
}

/* Hops grow with the square of the lanes: the more there are, the smaller their blocks (a record that is too large for
 * one travels in a block of its own), and then the fewer. */
static void hop_shape(const struct sf_engine *engine, uint32_t *blocks_out, uint32_t *bytes_out)
{
    *blocks_out = HOP_BLOCKS;
    *bytes_out = HOP_BLOCK_BYTES;
    while ((uint64_t)engine->hop_count * *blocks_out * *bytes_out > HOP_BYTES_MAX) {
        if (*bytes_out > HOP_BLOCK_BYTES_MIN)
            *bytes_out /= 2;
        else if (*blocks_out > HOP_BLOCKS_MIN)
            *blocks_out /= 2;
        else
            break;
    }
}

static struct sf_edge *take_edges(struct sf_engine *engine, uint32_t *at, uint32_t count, uint32_t blocks,
                                  uint32_t block_bytes)
{
    struct sf_edge *first = &engine->edges[*at];
    for (uint32_t i = 0; i < count; i++)
        sf_edge_init(&first[i], &(struct sf_edge_config){.alloc = engine->config.alloc,
                                                         .data_blocks = blocks,
                                                         .block_bytes = block_bytes,
                                                         .control_slots = CONTROL_SLOTS});
    *at += count;
    return first;
}

static struct sf_edge *take_fix_edge(struct sf_engine *engine, uint32_t *at)
{
    struct sf_edge *edge = &engine->edges[(*at)++];
    uint32_t slots = engine->config.is_barrier_manual ? FIX_SLOTS : CONTROL_SLOTS;
    sf_edge_init(edge, &(struct sf_edge_config){.alloc = engine->config.alloc, .control_slots = slots});
    return edge;
}

static uint32_t out_blocks(const struct sf_engine *engine)
{
    uint64_t per_lane = engine->config.topology->settings.output_buffer_bytes / engine->lane_total / OUT_BLOCK_BYTES;
    if (per_lane < 4) return 4;
    return per_lane > 16 ? 16 : (uint32_t)per_lane;
}

/* Which hops lead to each lane: from every upstream sub-topology, from each of its lanes. */
static void list_inputs(struct sf_engine *engine)
{
    const struct sf_plan *plan = engine->config.plan;
    uint32_t lanes = engine->config.lanes;
    engine->lane_inputs = sf_calloc(engine->config.alloc, engine->lane_total, sizeof(struct sf_edge **));
    engine->lane_input_counts = sf_calloc(engine->config.alloc, engine->lane_total, sizeof(uint32_t));
    for (uint32_t flat = 0; flat < engine->lane_total; flat++) {
        uint32_t sub = flat / lanes;
        uint32_t count = plan->subs[sub].upstream_count * lanes;
        uint32_t at = 0;
        engine->lane_inputs[flat] = sf_calloc(engine->config.alloc, count, sizeof(struct sf_edge *));
        engine->lane_input_counts[flat] = count;
        for (uint32_t u = 0; u < plan->subs[sub].upstream_count; u++) {
            uint32_t up = plan->subs[sub].upstream[u];
            const struct sf_plan_sub *from = sub_of(engine, up);
            uint32_t down = 0;
            while (from->downstream[down] != sub) down++;
            for (uint32_t lane = 0; lane < lanes; lane++)
                engine->lane_inputs[flat][at++] =
                    &engine->hops[engine->hop_base[up] + (lane * from->downstream_count + down) * lanes + flat % lanes];
        }
    }
}

void sfi_wire(struct sf_engine *engine)
{
    uint32_t total = engine->lane_total;
    uint32_t at = 0;
    engine->hop_count = count_hops(engine);
    bool has_store = engine->config.stores.ops != NULL;
    engine->edge_count = 6 * total + engine->hop_count + 8 + (has_store ? 3 : 0);
    size_t bytes = engine->edge_count * sizeof *engine->edges + 128;
    /* edges are aligned to cache lines by hand: the allocator promises 16 bytes */
    uint8_t *raw = sf_calloc(engine->config.alloc, 1, bytes);
    uint8_t *aligned = raw + (128 - (uintptr_t)raw % 128) % 128;
    engine->edge_memory = raw;
    engine->edge_memory_bytes = bytes;
    engine->edges = (struct sf_edge *)(void *)aligned;
    engine->ingest_to_lane = take_edges(engine, &at, total, RUN_BLOCKS, RUN_BLOCK_BYTES);
    engine->lane_to_ingest = take_edges(engine, &at, total, 0, 0);
    engine->lane_to_commit = take_edges(engine, &at, total, out_blocks(engine), OUT_BLOCK_BYTES);
    engine->commit_to_lane = take_edges(engine, &at, total, 0, 0);
    engine->engine_to_lane = take_edges(engine, &at, total, 0, 0);
    engine->lane_to_engine = take_edges(engine, &at, total, 0, 0);
    uint32_t hop_blocks, hop_bytes;
    hop_shape(engine, &hop_blocks, &hop_bytes);
    engine->hops = take_edges(engine, &at, engine->hop_count, hop_blocks, hop_bytes);
    engine->ingest_to_commit = take_edges(engine, &at, 1, 0, 0);
    engine->commit_to_ingest = take_edges(engine, &at, 1, 0, 0);
    engine->engine_to_ingest = take_edges(engine, &at, 1, 0, 0);
    engine->ingest_to_engine = take_edges(engine, &at, 1, 0, 0);
    engine->engine_to_commit = take_edges(engine, &at, 1, 0, 0);
    engine->commit_to_engine = take_edges(engine, &at, 1, 1, NEWS_BLOCK_BYTES);
    engine->host_to_engine = take_edges(engine, &at, 1, 0, 0);
    engine->host_to_ingest = take_fix_edge(engine, &at);
    if (has_store) {
        engine->commit_to_persist = take_edges(engine, &at, 1, PERSIST_BLOCKS, OUT_BLOCK_BYTES);
        engine->engine_to_persist = take_edges(engine, &at, 1, 0, 0);
        engine->persist_to_engine = take_edges(engine, &at, 1, 0, 0);
    }
    assert(at == engine->edge_count);
    list_inputs(engine);
}

void sfi_unwire(struct sf_engine *engine)
{
    struct sf_alloc alloc = engine->config.alloc;
    if (engine->edges == NULL) return;
    for (uint32_t i = 0; i < engine->edge_count; i++) sf_edge_deinit(&engine->edges[i]);
    for (uint32_t flat = 0; flat < engine->lane_total; flat++)
        sf_cfree(alloc, engine->lane_inputs[flat], engine->lane_input_counts[flat], sizeof(struct sf_edge *));
    sf_cfree(alloc, engine->lane_inputs, engine->lane_total, sizeof(struct sf_edge **));
    sf_cfree(alloc, engine->lane_input_counts, engine->lane_total, sizeof(uint32_t));
    sf_cfree(alloc, engine->hop_base, engine->config.plan->sub_count, sizeof *engine->hop_base);
    sf_cfree(alloc, engine->edge_memory, 1, engine->edge_memory_bytes);
    engine->edges = NULL;
}

static void join(struct sf_engine *engine, struct sf_edge *edge, uint32_t from, uint32_t to)
{
    edge->to_consumer = sf_sched_waker(engine->config.sched, to);
    edge->to_producer = sf_sched_waker(engine->config.sched, from);
}

static uint32_t home_of(const struct sf_engine *engine, uint32_t index)
{
    return engine->config.home_count == 0 ? index : index % engine->config.home_count;
}

/* ------------------------------------------------------------------ commit: lives as long as the engine */

void sfi_spawn_commit(struct sf_engine *engine)
{
    const struct sf_engine_config *config = &engine->config;
    struct sf_commit_config commit = {.topology = config->topology,
                                      .plan = config->plan,
                                      .targets = &engine->targets,
                                      .alloc = config->alloc,
                                      .kafka = config->kafka,
                                      .sched = config->sched,
                                      .observer = config->observer,
                                      .lane_total = engine->lane_total,
                                      .lane_count = config->lanes,
                                      .from_lanes = engine->lane_to_commit,
                                      .to_lanes = engine->commit_to_lane,
                                      .from_ingest = engine->ingest_to_commit,
                                      .to_ingest = engine->commit_to_ingest,
                                      .to_persist = engine->commit_to_persist,
                                      .from_engine = engine->engine_to_commit,
                                      .to_engine = engine->commit_to_engine,
                                      .incarnation = config->incarnation};
    engine->commit = sf_commit_new(&commit, &engine->commit_task);
    engine->commit_task.home = home_of(engine, 1);
    sf_sched_spawn(config->sched, &engine->commit_task);
    join(engine, engine->engine_to_commit, engine->task.id, engine->commit_task.id);
    join(engine, engine->commit_to_engine, engine->commit_task.id, engine->task.id);
    engine->is_commit_spawned = true;
}

/* ------------------------------------------------------------------ lanes: made before state is restored into them */

static bool make_lane(struct sf_engine *engine, uint32_t flat)
{
    const struct sf_engine_config *config = &engine->config;
    uint32_t sub = flat / config->lanes;
    const struct sf_plan_sub *plan_sub = sub_of(engine, sub);
    uint32_t out_edges = plan_sub->downstream_count * config->lanes;
    struct sf_lane_config lane = {
        .topology = config->topology,
        .plan = config->plan,
        .targets = &engine->targets,
        .alloc = config->alloc,
        .kafka = config->kafka,
        .observer = config->observer,
        .sub = sub,
        .lane = flat % config->lanes,
        .lane_count = config->lanes,
        .epoch = engine->committed + 1,
        .ring = &engine->ring,
        .tps = engine->tps,
        .from_ingest = plan_sub->source_count > 0 ? &engine->ingest_to_lane[flat] : NULL,
        .from_lanes = engine->lane_inputs[flat],
        .from_lane_count = engine->lane_input_counts[flat],
        .to_lanes = &engine->hops[engine->hop_base[sub] + (flat % config->lanes) * out_edges],
        .to_lane_count = out_edges,
        .to_ingest = &engine->lane_to_ingest[flat],
        .to_commit = &engine->lane_to_commit[flat],
        .from_commit = &engine->commit_to_lane[flat],
        .to_engine = &engine->lane_to_engine[flat],
        .from_engine = &engine->engine_to_lane[flat]};
    engine->lanes[flat] = sf_lane_new(&lane, &engine->lane_tasks[flat], &engine->error);
    return engine->lanes[flat] != NULL;
}

bool sfi_make_lanes(struct sf_engine *engine)
{
    for (uint32_t flat = 0; flat < engine->lane_total; flat++) {
        if (!make_lane(engine, flat)) return false;
        const struct sf_plan_sub *sub = sub_of(engine, flat / engine->config.lanes);
        for (uint32_t rank = 0; rank < sub->step_count; rank++)
            if (engine->config.topology->steps[sub->steps[rank]].kind == SF_STEP_AGGREGATE)
                sf_flow_seed(sf_lane_flow(engine->lanes[flat]), sub->steps[rank], engine->emitted[sub->steps[rank]]);
    }
    return true;
}

void sfi_destroy_lanes(struct sf_engine *engine)
{
    for (uint32_t flat = 0; flat < engine->lane_total; flat++) {
        sf_lane_destroy(engine->lanes[flat]);
        engine->lanes[flat] = NULL;
    }
}

static void spawn_persist(struct sf_engine *engine)
{
    struct sf_persist_config persist = {.alloc = engine->config.alloc,
                                        .targets = &engine->targets,
                                        .writer = engine->local.writer,
                                        .is_packed = engine->config.topology->settings.is_changelog_packed,
                                        .committed = engine->committed,
                                        .from_commit = engine->commit_to_persist,
                                        .from_engine = engine->engine_to_persist,
                                        .to_engine = engine->persist_to_engine};
    engine->persist = sf_persist_new(&persist, &engine->persist_task);
    engine->persist_task.home = engine->commit_task.home;
    join(engine, engine->persist_to_engine, engine->task.id, engine->task.id);
    sf_sched_spawn(engine->config.sched, &engine->persist_task);
    join(engine, engine->commit_to_persist, engine->commit_task.id, engine->persist_task.id);
    join(engine, engine->engine_to_persist, engine->task.id, engine->persist_task.id);
    atomic_store_explicit(&engine->is_persist_spawned, true, memory_order_release);
}

static bool make_ingest(struct sf_engine *engine)
{
    const struct sf_engine_config *config = &engine->config;
    struct sf_ingest_config ingest = {.topology = config->topology,
                                      .plan = config->plan,
                                      .alloc = config->alloc,
                                      .kafka = config->kafka,
                                      .sched = config->sched,
                                      .observer = config->observer,
                                      .is_barrier_manual = config->is_barrier_manual,
                                      .partitions = engine->partitions,
                                      .partition_count = engine->partition_count,
                                      .ring = &engine->ring,
                                      .epoch = engine->committed,
                                      .incarnation = config->incarnation,
                                      .lane_count = config->lanes,
                                      .to_lanes = engine->ingest_to_lane,
                                      .from_lanes = engine->lane_to_ingest,
                                      .to_commit = engine->ingest_to_commit,
                                      .from_commit = engine->commit_to_ingest,
                                      .to_engine = engine->ingest_to_engine,
                                      .from_engine = engine->engine_to_ingest,
                                      .from_driver = engine->host_to_ingest};
    engine->ingest = sf_ingest_new(&ingest, &engine->ingest_task, &engine->error);
    return engine->ingest != NULL;
}

static void join_running(struct sf_engine *engine)
{
    uint32_t ingest = engine->ingest_task.id;
    uint32_t commit = engine->commit_task.id;
    for (uint32_t flat = 0; flat < engine->lane_total; flat++) {
        uint32_t lane = engine->lane_tasks[flat].id;
        join(engine, &engine->ingest_to_lane[flat], ingest, lane);
        join(engine, &engine->lane_to_ingest[flat], lane, ingest);
        join(engine, &engine->lane_to_commit[flat], lane, commit);
        join(engine, &engine->commit_to_lane[flat], commit, lane);
        join(engine, &engine->lane_to_engine[flat], lane, engine->task.id);
        const struct sf_plan_sub *sub = sub_of(engine, flat / engine->config.lanes);
        uint32_t outs = sub->downstream_count * engine->config.lanes;
        uint32_t base = engine->hop_base[flat / engine->config.lanes] + flat % engine->config.lanes * outs;
        for (uint32_t i = 0; i < outs; i++) {
            uint32_t to = sub->downstream[i / engine->config.lanes] * engine->config.lanes + i % engine->config.lanes;
            join(engine, &engine->hops[base + i], lane, engine->lane_tasks[to].id);
        }
    }
    join(engine, engine->ingest_to_commit, ingest, commit);
    join(engine, engine->commit_to_ingest, commit, ingest);
    join(engine, engine->engine_to_ingest, engine->task.id, ingest);
    join(engine, engine->ingest_to_engine, ingest, engine->task.id);
    engine->host_to_ingest->to_consumer = sf_sched_waker(engine->config.sched, ingest);
}

/*
 * Lanes come to life stopped and look at the engine's edge alone until its RESET reaches them; by then every waker is
 * in place. Ingest shares the engine's home, so it does not run before this step is over.
 */
bool sfi_spawn_running(struct sf_engine *engine)
{
    if (!make_ingest(engine)) return false;
    engine->ingest_task.home = engine->task.home;
    sf_sched_spawn(engine->config.sched, &engine->ingest_task);
    for (uint32_t flat = 0; flat < engine->lane_total; flat++) {
        engine->lane_tasks[flat].home = home_of(engine, 2 + flat);
        sf_sched_spawn(engine->config.sched, &engine->lane_tasks[flat]);
    }
    if (engine->local.writer != NULL) spawn_persist(engine);
    engine->is_running_spawned = true;
    join_running(engine);
    for (uint32_t flat = 0; flat < engine->lane_total; flat++)
        engine->engine_to_lane[flat].to_consumer =
            sf_sched_waker(engine->config.sched, engine->lane_tasks[flat].id);
    sf_ingest_attach(engine->ingest);
    return true;
}

uint32_t sfi_tell_all(struct sf_engine *engine, const struct sf_msg *msg)
{
    uint32_t count = 0;
    if (engine->is_commit_spawned) {
        sf_edge_push(engine->engine_to_commit, msg);
        count++;
    }
    if (!engine->is_running_spawned) return count;
    sf_edge_push(engine->engine_to_ingest, msg);
    for (uint32_t flat = 0; flat < engine->lane_total; flat++) sf_edge_push(&engine->engine_to_lane[flat], msg);
    if (engine->persist != NULL) sf_edge_push(engine->engine_to_persist, msg);
    return count + 1 + engine->lane_total + (engine->persist != NULL ? 1 : 0);
}

void sfi_tell_commit(struct sf_engine *engine, struct sf_msg msg)
{
    sf_edge_push(engine->engine_to_commit, &msg);
}
