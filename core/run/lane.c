#include "core/run/lane.h"

#include "core/text.h"
#include "core/time/event_time.h"

#define LOOK_FAR 16u /* records ahead: an index place takes a miss or two, */
#define LOOK_SOON 8u /* then so does the row it names */

enum part {
    PART_RECORDS,
    PART_FLUSH, /* 1 */
    PART_SEAL,  /* 2 */
    PART_CROSS, /* 2, 3, 4: all that was sealed is on its way */
    PART_PASS   /* 5, 6 */
};

struct sf_lane {
    struct sf_lane_config config;
    struct sf_task *task;
    struct sf_port **ports;
    uint32_t port_count;
    char name[32];

    struct sf_flow flow;
    struct sf_ring ring;
    uint64_t epoch;       /* the one that runs */
    uint64_t committed;   /* newest COMMITTED read */
    uint32_t generation;
    enum part part;
    bool is_stopped;
    bool has_failed;      /* FAULT is sent; waits for the engine */
    uint32_t edge_next;   /* in-edge to look at first */
    uint32_t cursor;      /* records taken of the block at the head of in-edge `edge_next` */
    const struct sf_wire *wire; /* the next one of it */
    struct sf_msg barrier;      /* being crossed */
    bool is_memory_reported;
    bool is_flush_done;   /* nothing comes behind a final barrier */
};

/* ------------------------------------------------------------------ in-edges: ingest first, then lanes upstream */

static uint32_t edge_count(const struct sf_lane *lane)
{
    return (lane->config.from_ingest != NULL ? 1u : 0u) + lane->config.from_lane_count;
}

static struct sf_edge *edge_at(struct sf_lane *lane, uint32_t index)
{
    if (lane->config.from_ingest == NULL) return lane->config.from_lanes[index];
    return index == 0 ? lane->config.from_ingest : lane->config.from_lanes[index - 1];
}

static void tell_engine(struct sf_lane *lane, struct sf_msg msg)
{
    sf_edge_push(lane->config.to_engine, &msg);
}

static void fail(struct sf_lane *lane)
{
    lane->has_failed = true;
    tell_engine(lane, (struct sf_msg){.kind = SF_MSG_FAULT,
                                      .epoch = lane->epoch,
                                      .value = lane->flow.failure.status,
                                      .value2 = SF_TROUBLE_RECORD,
                                      .ptr = &lane->flow.failure});
}

/* ------------------------------------------------------------------ records */

static void observe_taken(struct sf_lane *lane, const struct sf_ref *refs, uint32_t count)
{
    const struct sf_observer *observer = lane->config.observer;
    if (observer != NULL && observer->taken != NULL && count > 0)
        observer->taken(observer->ctx, lane->config.sub, lane->config.lane, lane->epoch, refs, count);
}

/* What the records a little further on will need comes into the cache meanwhile. */
static void look_ahead(struct sf_lane *lane, const struct sf_ref *refs, uint32_t count)
{
    uint32_t far = lane->cursor + LOOK_FAR, soon = lane->cursor + LOOK_SOON;
    if (far < count) sf_flow_expect(&lane->flow, refs[far].source, refs[far].ts_ms, refs[far].hash, false);
    if (soon < count) sf_flow_expect(&lane->flow, refs[soon].source, refs[soon].ts_ms, refs[soon].hash, true);
}

/* Records of a RUN from the cursor on; units used. */
static uint32_t take_run(struct sf_lane *lane, const struct sf_msg *msg, uint32_t budget)
{
    const struct sf_ref *refs = sf_run_refs(msg->block);
    uint32_t first = lane->cursor;
    while (lane->cursor < msg->block->count && lane->cursor - first < budget) {
        const struct sf_ref *ref = &refs[lane->cursor];
        if (!sf_outbox_is_clear(&lane->flow.commit) && !sf_flow_drain(&lane->flow)) break;
        look_ahead(lane, refs, msg->block->count);
        struct sf_flow_record record = {.key = ref->record->key,
                                        .value = ref->record->value,
                                        .headers = ref->record->headers,
                                        .ts_ms = ref->ts_ms,
                                        .watermark = msg->value,
                                        .hash = ref->hash,
                                        .value_serde = lane->config.topology->sources[ref->source].value,
                                        .tp = lane->config.tps[ref->partition],
                                        .offset = ref->record->offset};
        lane->cursor++;
        if (!sf_flow_enter_source(&lane->flow, ref->source, &record)) {
            fail(lane);
            break;
        }
    }
    observe_taken(lane, refs + first, lane->cursor - first);
    return lane->cursor - first;
}

/* Records of a RECORDS block from the cursor on. */
static uint32_t take_records(struct sf_lane *lane, const struct sf_msg *msg, uint32_t budget)
{
    uint32_t first = lane->cursor;
    if (lane->cursor == 0) lane->wire = sf_wire_first(msg->block);
    while (lane->cursor < msg->block->count && lane->cursor - first < budget) {
        const struct sf_wire *wire = lane->wire;
        if (!sf_flow_drain(&lane->flow)) break;
        struct sf_flow_record record = {.key = {sf_wire_key(wire), sf_wire_len(wire->key_len)},
                                        .value = {sf_wire_value(wire), sf_wire_len(wire->value_len)},
                                        .headers = {sf_wire_headers(wire), sf_wire_len(wire->headers_len)},
                                        .ts_ms = wire->ts_ms,
                                        .watermark = wire->watermark,
                                        .hash = wire->hash,
                                        .value_serde = (enum sf_serde)sf_wire_hop_serde(wire),
                                        .tp = {.topic = UINT32_MAX, .partition = -1},
                                        .offset = -1};
        lane->cursor++;
        lane->wire = sf_wire_next(wire);
        if (!sf_flow_enter_step(&lane->flow, sf_wire_hop_step(wire), &record)) {
            fail(lane);
            break;
        }
    }
    return lane->cursor - first;
}

/* One block of the edge at `edge_next`; units used. *is_through_out: the block is finished and given back. */
static uint32_t take_block(struct sf_lane *lane, struct sf_edge *edge, const struct sf_msg *msg, uint32_t budget,
                           bool *is_through_out)
{
    assert(msg->epoch == lane->epoch);
    uint32_t used = msg->kind == SF_MSG_RUN ? take_run(lane, msg, budget) : take_records(lane, msg, budget);
    *is_through_out = lane->cursor == msg->block->count;
    if (*is_through_out) {
        struct sf_block *block = msg->block;
        lane->cursor = 0;
        sf_edge_pop(edge);
        sf_edge_give_back(edge, block);
    }
    return used;
}

/* True when BARRIER stands at the head of every in-edge. */
static bool find_barrier(struct sf_lane *lane)
{
    for (uint32_t i = 0; i < edge_count(lane); i++) {
        const struct sf_msg *msg = sf_edge_peek(edge_at(lane, i), lane->generation);
        if (msg == NULL || msg->kind != SF_MSG_BARRIER) return false;
        assert(msg->epoch == lane->epoch);
        lane->barrier = *msg;
    }
    return true;
}

static uint32_t take(struct sf_lane *lane, uint32_t budget)
{
    uint32_t used = 0;
    uint32_t idle = 0;
    while (used < budget && idle < edge_count(lane) && !lane->has_failed) {
        struct sf_edge *edge = edge_at(lane, lane->edge_next);
        const struct sf_msg *msg = sf_edge_peek(edge, lane->generation);
        bool is_through = true;
        if (lane->cursor > 0 && msg == NULL) break; /* the rest of a block that was begun goes first */
        if (msg == NULL || msg->kind == SF_MSG_BARRIER) { /* waiting for a barrier is not reading (L5) */
            idle++;
        } else {
            uint32_t taken = take_block(lane, edge, msg, budget - used, &is_through);
            used += taken;
            idle = 0;
            if (!is_through) break; /* out of budget or of room; this edge goes on first */
        }
        lane->edge_next = (lane->edge_next + 1) % edge_count(lane);
    }
    return used;
}

/* ------------------------------------------------------------------ the barrier */

static void begin_crossing(struct sf_lane *lane)
{
    for (uint32_t i = 0; i < edge_count(lane); i++) sf_edge_pop(edge_at(lane, i));
    lane->part = (lane->barrier.flags & SF_BARRIER_FLUSH) != 0 ? PART_FLUSH : PART_SEAL;
}

static void cross(struct sf_lane *lane, const struct sf_step *step)
{
    uint64_t n = lane->epoch;
    bool is_flush = (lane->barrier.flags & SF_BARRIER_FLUSH) != 0;
    sf_ring_push(&lane->ring, n, lane->barrier.value, is_flush);
    const struct sf_lane_counts *counts = sf_flow_rotate(&lane->flow, n + 1, &lane->ring);
    sf_edge_push(lane->config.to_commit, &(struct sf_msg){.kind = SF_MSG_CROSSED,
                                                          .generation = lane->generation,
                                                          .epoch = n,
                                                          .ptr = counts});
    for (uint32_t i = 0; i < lane->config.to_lane_count; i++) sf_edge_push(&lane->config.to_lanes[i], &lane->barrier);
    lane->epoch = n + 1;
    lane->is_memory_reported = false;
    sf_note(step->notes, SF_NOTE_LANE_CROSSED, SF_SUBJECT_NONE, (int64_t)n, lane->config.sub, lane->config.lane, 0);
    if (lane->config.observer != NULL && lane->config.observer->crossed != NULL)
        lane->config.observer->crossed(lane->config.observer->ctx, lane->config.sub, lane->config.lane, n);
    lane->is_flush_done = is_flush;
    lane->part = is_flush ? PART_RECORDS : PART_PASS;
}

static void tell_work(struct sf_lane *lane, uint16_t why)
{
    sf_edge_push(lane->config.to_ingest, &(struct sf_msg){.kind = SF_MSG_WORK,
                                                          .flags = why,
                                                          .generation = lane->generation,
                                                          .epoch = lane->epoch});
}

static void end_pass(struct sf_lane *lane, const struct sf_step *step)
{
    uint64_t n = lane->epoch - 1;
    sf_note(step->notes, SF_NOTE_LANE_EMITTED, SF_SUBJECT_NONE, (int64_t)n, lane->config.sub, lane->config.lane,
            (int64_t)lane->flow.pass_results);
    if (lane->config.observer != NULL && lane->config.observer->passed != NULL)
        lane->config.observer->passed(lane->config.observer->ctx, lane->config.sub, lane->config.lane, n,
                                      lane->flow.pass_results);
    if (sf_flow_has_work(&lane->flow, &lane->ring)) tell_work(lane, SF_WORK_RESULTS);
    lane->part = PART_RECORDS;
}

/* One part of the crossing; true when it is through. */
static bool crossing(struct sf_lane *lane, const struct sf_step *step, uint32_t budget, uint32_t *used_out)
{
    *used_out = 0;
    switch (lane->part) {
    case PART_FLUSH:
        if (!sf_flow_pass(&lane->flow, &lane->ring, lane->barrier.value, budget, used_out)) break;
        lane->part = PART_SEAL;
        return true;
    case PART_SEAL:
        if (!sf_flow_seal(&lane->flow, budget, used_out)) return false;
        lane->part = PART_CROSS;
        return true;
    case PART_CROSS:
        if (!sf_notes_has_room(step->notes, 1)) return false;
        cross(lane, step);
        return true;
    case PART_PASS:
        if (!sf_notes_has_room(step->notes, 1)) return false;
        if (!sf_flow_pass(&lane->flow, &lane->ring, SF_TIME_UNSET, budget, used_out)) break;
        end_pass(lane, step);
        return true;
    case PART_RECORDS: break;
    }
    if (lane->flow.has_failed) fail(lane);
    return false;
}

static void watch_memory(struct sf_lane *lane)
{
    const struct sf_settings *settings = &lane->config.topology->settings;
    uint64_t share = settings->uncommitted_bytes_max / (lane->config.lane_count * lane->config.plan->sub_count);
    if (lane->is_memory_reported || sf_flow_uncommitted_bytes(&lane->flow) < share) return;
    lane->is_memory_reported = true;
    tell_work(lane, SF_WORK_MEMORY);
}

static uint32_t work(struct sf_lane *lane, const struct sf_step *step)
{
    uint32_t used = 0;
    while (used < step->budget && !lane->has_failed) {
        uint32_t taken = 0;
        if (!sf_flow_drain(&lane->flow)) break;
        if (lane->part != PART_RECORDS) {
            bool is_through = crossing(lane, step, step->budget - used, &taken);
            used += taken;
            if (!is_through) break;
            if (taken == 0) used++;
            continue;
        }
        /* a barrier may be crossed only after the one before has committed here, too: at most two epochs are open */
        if (!lane->is_flush_done && lane->cursor == 0 && find_barrier(lane) && lane->committed + 1 == lane->epoch) {
            begin_crossing(lane);
            used++;
            continue;
        }
        taken = take(lane, step->budget - used);
        used += taken;
        if (taken == 0) break;
    }
    watch_memory(lane);
    return used;
}

/* ------------------------------------------------------------------ orders and news */

static void take_committed(struct sf_lane *lane, uint32_t budget, uint32_t *used)
{
    const struct sf_msg *msg;
    while (*used < budget && (msg = sf_edge_peek(lane->config.from_commit, lane->generation)) != NULL) {
        assert(msg->kind == SF_MSG_COMMITTED);
        lane->committed = msg->epoch;
        sf_flow_committed(&lane->flow, msg->epoch);
        sf_edge_pop(lane->config.from_commit);
        (*used)++;
    }
}

static void fall_back(struct sf_lane *lane, const struct sf_msg *order)
{
    lane->generation = (uint32_t)order->value2;
    lane->epoch = (uint64_t)order->value;
    lane->committed = lane->epoch - 1; /* what is below the next epoch has committed, or never will */
    sf_ring_fall_back(&lane->ring, order->epoch);
    sf_flow_fall_back(&lane->flow, order->epoch, lane->epoch, lane->generation, &lane->ring);
    lane->part = PART_RECORDS;
    lane->cursor = 0;
    lane->edge_next = 0;
    lane->has_failed = false;
    lane->is_memory_reported = false;
    lane->is_flush_done = false;
    lane->is_stopped = false;
    tell_engine(lane, (struct sf_msg){.kind = SF_MSG_RESUMED});
    /* what the lost pass held is due again (B3) */
    if (sf_flow_has_work(&lane->flow, &lane->ring)) tell_work(lane, SF_WORK_RESULTS);
}

/* True when the task is to end. */
static bool obey(struct sf_lane *lane, uint32_t budget, uint32_t *used)
{
    const struct sf_msg *msg;
    while (*used < budget && (msg = sf_edge_peek(lane->config.from_engine, 0)) != NULL) {
        struct sf_msg order = *msg;
        sf_edge_pop(lane->config.from_engine);
        (*used)++;
        if (order.kind == SF_MSG_STOP) {
            lane->is_stopped = true;
            tell_engine(lane, (struct sf_msg){.kind = SF_MSG_STOPPED, .flags = order.flags});
            if ((order.flags & SF_STOP_FOR_GOOD) != 0) return true;
        } else {
            assert(order.kind == SF_MSG_RESET);
            fall_back(lane, &order);
        }
    }
    return false;
}

static struct sf_step_result lane_step(void *self, const struct sf_step *step)
{
    struct sf_lane *lane = self;
    uint32_t used = 0;
    if (obey(lane, step->budget, &used)) return (struct sf_step_result){.next = SF_NEXT_DONE, .used = used};
    if (!lane->is_stopped) {
        take_committed(lane, step->budget, &used);
        if (used < step->budget && !lane->has_failed) {
            struct sf_step rest = *step;
            rest.budget = step->budget - used;
            used += work(lane, &rest);
        }
        if (used < step->budget) sf_flow_push(&lane->flow); /* nothing more for now: let others have what there is */
    }
    /* with budget left, all that this step could see is done, or waits for what comes with a wake */
    bool is_cut = used == step->budget || (used > 0 && !sf_notes_has_room(step->notes, 1));
    return (struct sf_step_result){
        .next = is_cut ? SF_NEXT_AGAIN : SF_NEXT_WAIT, .used = used, .wake_at = SF_MONO_NEVER};
}

/* ------------------------------------------------------------------ life */

static void list_ports(struct sf_lane *lane)
{
    const struct sf_lane_config *config = &lane->config;
    uint32_t at = 0;
    lane->port_count = edge_count(lane) + config->to_lane_count + 3;
    lane->ports = sf_calloc(config->alloc, lane->port_count, sizeof *lane->ports);
    lane->ports[at++] = &config->from_engine->in;
    lane->ports[at++] = &config->from_commit->in;
    lane->ports[at++] = &config->to_commit->back;
    for (uint32_t i = 0; i < edge_count(lane); i++) lane->ports[at++] = &edge_at(lane, i)->in;
    for (uint32_t i = 0; i < config->to_lane_count; i++) lane->ports[at++] = &config->to_lanes[i].back;
    assert(at == lane->port_count);
}

static void make_name(struct sf_lane *lane)
{
    struct sf_text text;
    sf_text_init(&text, lane->name, sizeof lane->name);
    sf_text_add(&text, "lane ");
    sf_text_add_uint(&text, lane->config.sub);
    sf_text_add(&text, ".");
    sf_text_add_uint(&text, lane->config.lane);
}

struct sf_lane *sf_lane_new(const struct sf_lane_config *config, struct sf_task *task, struct sf_error *error)
{
    struct sf_lane *lane = sf_calloc(config->alloc, 1, sizeof *lane);
    lane->config = *config;
    lane->task = task;
    lane->ring = *config->ring;
    lane->epoch = config->epoch;
    lane->committed = config->epoch - 1;
    lane->is_stopped = true; /* until the engine's first RESET */
    struct sf_flow_config flow = {.plan = config->plan,
                                  .targets = config->targets,
                                  .alloc = config->alloc,
                                  .kafka = config->kafka,
                                  .sub = config->sub,
                                  .lane = config->lane,
                                  .lane_count = config->lane_count,
                                  .to_commit = config->to_commit,
                                  .to_lanes = config->to_lanes,
                                  .epoch = config->epoch};
    if (!sf_flow_init(&lane->flow, &flow, error)) {
        sf_lane_destroy(lane);
        return NULL;
    }
    sf_flow_set_floors(&lane->flow, &lane->ring);
    list_ports(lane);
    make_name(lane);
    *task = (struct sf_task){.name = lane->name,
                             .step = lane_step,
                             .self = lane,
                             .ports = lane->ports,
                             .port_count = lane->port_count,
                             .id = SF_TASK_NONE};
    return lane;
}

void sf_lane_destroy(struct sf_lane *lane)
{
    if (lane == NULL) return;
    struct sf_alloc alloc = lane->config.alloc;
    sf_flow_deinit(&lane->flow);
    sf_cfree(alloc, lane->ports, lane->port_count, sizeof *lane->ports);
    sf_cfree(alloc, lane, 1, sizeof *lane);
}

struct sf_flow *sf_lane_flow(struct sf_lane *lane)
{
    return &lane->flow;
}
