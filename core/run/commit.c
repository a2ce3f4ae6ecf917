#include "core/run/commit_impl.h"

#define POLL_INTERVAL_US 1000000 /* a member must be polled once a second (core/io/kafka.h) */

/* ------------------------------------------------------------------ the epoch at hand */

void sfi_commit_epoch_clear(struct sf_commit *commit)
{
    commit->crossed_count = 0;
    memset(commit->is_crossed, 0, commit->config.lane_total * sizeof *commit->is_crossed);
    commit->cut = NULL;
    commit->are_offsets_sent = false;
    commit->are_offsets_done = false;
    commit->is_barrier_late = false;
    commit->is_flushing = false;
    commit->offsets_tag = 0;
    commit->flush_tag = 0;
    commit->stage = commit->is_exactly_once ? SFI_COMMIT_STAGE_CROSSED : SF_OUT_RESULTS;
    sf_commit_write_clear(&commit->write);
}

static void count_up(struct sf_commit *commit)
{
    const struct sf_plan *plan = commit->config.plan;
    for (uint32_t lane = 0; lane < commit->config.lane_total; lane++) {
        const struct sf_lane_counts *counts = commit->counts[lane];
        const struct sf_plan_sub *sub = &plan->subs[lane / commit->config.lane_count];
        for (uint32_t rank = 0; counts != NULL && rank < counts->step_count; rank++) {
            struct sf_step_counts *total = &commit->totals[sub->steps[rank]];
            const struct sf_step_counts *one = &counts->steps[rank];
            total->in += one->in;
            total->out += one->out;
            total->taken += one->taken;
            total->none_late += one->none_late;
            for (uint32_t d = 0; d < SF_DROP_COUNT; d++) total->drops[d] += one->drops[d];
        }
        for (uint32_t sink = 0; counts != NULL && sink < plan->topology->sink_count; sink++) {
            commit->sink_totals[sink].written += counts->sinks[sink].written;
            commit->sink_totals[sink].dropped += counts->sinks[sink].dropped;
        }
    }
}

/* Ingest and the lanes must answer before the next epoch can commit. The engine need not, so news for it could pile up:
 * one is under way at most, with the edge's only block, and then the newest. */
static void tell_committed(struct sf_commit *commit)
{
    struct sf_block *block = commit->is_untold ? sf_edge_take(commit->config.to_engine) : NULL;
    if (block == NULL) return;
    sfi_commit_tell(commit,
                    (struct sf_msg){.kind = SF_MSG_COMMITTED, .epoch = commit->published, .block = block});
    commit->is_untold = false;
}

/* The cut is ingest's again as soon as ingest is told: it may be the next one's then. */
void sfi_commit_publish(struct sf_commit *commit, const struct sf_step *step, const struct sf_position *positions,
                    uint32_t position_count)
{
    bool is_flush = commit->cut != NULL && commit->cut->is_flush;
    struct sf_msg msg = {.kind = SF_MSG_COMMITTED, .generation = commit->generation, .epoch = commit->epoch};
    count_up(commit);
    commit->published = commit->epoch;
    sf_note(step->notes, SF_NOTE_TXN_COMMITTED, SF_SUBJECT_NONE, (int64_t)commit->epoch, 0, 0, 0);
    if (commit->config.observer != NULL && commit->config.observer->committed != NULL)
        commit->config.observer->committed(commit->config.observer->ctx, commit->epoch);
    for (uint32_t i = 0; i < commit->config.lane_total; i++) sf_edge_push(&commit->config.to_lanes[i], &msg);
    sf_edge_push(commit->config.to_ingest, &msg);
    commit->is_untold = !is_flush;
    if (is_flush)
        sfi_commit_tell(commit, (struct sf_msg){
                                    .kind = SF_MSG_COMMITTED, .flags = SF_BARRIER_FLUSH, .epoch = commit->epoch});
    tell_committed(commit);
    sf_commit_write_committed(&commit->write, commit->generation, commit->epoch, positions, position_count);
    commit->epoch++;
    sfi_commit_epoch_clear(commit);
}

static bool ensure_open(struct sf_commit *commit, const struct sf_step *step)
{
    if (commit->phase == SFI_COMMIT_OPEN) return true;
    if (commit->phase != SFI_COMMIT_READY) return false;
    if (commit->is_exactly_once) {
        enum sf_status status = sf_producer_begin(commit->producer);
        if (status != SF_OK) {
            sfi_commit_session_lost(commit, status, false, "a transaction cannot be begun");
            return false;
        }
    }
    commit->phase = SFI_COMMIT_OPEN;
    sf_note(step->notes, SF_NOTE_TXN_BEGUN, SF_SUBJECT_NONE, (int64_t)commit->epoch, 0, 0, 0);
    return true;
}

static uint32_t stage_of(const struct sf_msg *msg)
{
    return msg->kind == SF_MSG_CROSSED ? SFI_COMMIT_STAGE_CROSSED : msg->flags;
}

/* Take what one lane has for this epoch and stage; units used. */
static uint32_t take_from_lane(struct sf_commit *commit, const struct sf_step *step, uint32_t lane, uint32_t budget)
{
    struct sf_edge *edge = &commit->config.from_lanes[lane];
    const struct sf_msg *msg;
    uint32_t used = 0;
    while (used < budget && (msg = sf_edge_peek(edge, commit->generation)) != NULL) {
        if (msg->epoch != commit->epoch || stage_of(msg) > commit->stage) break;
        if (msg->kind == SF_MSG_CROSSED) {
            commit->counts[lane] = msg->ptr;
            assert(!commit->is_crossed[lane]);
            commit->is_crossed[lane] = true;
            commit->crossed_count++;
            sf_edge_pop(edge);
            used++;
            continue;
        }
        if (!ensure_open(commit, step)) return used;
        commit->writing_lane = lane;
        uint32_t written =
            sf_commit_write_block(&commit->write, commit->producer, commit->generation, msg, budget - used);
        used += written;
        if (!sf_commit_write_is_block_done(&commit->write)) return used; /* no room, or no budget */
        struct sf_block *block = msg->block;
        sf_edge_pop(edge);
        sf_edge_give_back(edge, block);
        sf_commit_write_next_block(&commit->write);
        if (written == 0) used++;
    }
    return used;
}

/* Take what lanes have for this epoch and stage; units used. A block that was begun is written to its end before any
 * other lane's: `write` knows one block alone. */
static uint32_t take_from_lanes(struct sf_commit *commit, const struct sf_step *step, uint32_t budget)
{
    uint32_t used = 0;
    if (commit->write.is_begun) used += take_from_lane(commit, step, commit->writing_lane, budget);
    for (uint32_t i = 0; i < commit->config.lane_total && used < budget && !commit->write.is_begun; i++)
        used += take_from_lane(commit, step, i, budget - used);
    return used;
}

/* Every lane stands behind the stage at hand (at-least-once). */
static bool is_stage_complete(struct sf_commit *commit)
{
    for (uint32_t i = 0; i < commit->config.lane_total; i++) {
        if (commit->is_crossed[i]) continue;
        const struct sf_msg *msg = sf_edge_peek(&commit->config.from_lanes[i], commit->generation);
        if (msg == NULL || msg->epoch != commit->epoch || stage_of(msg) <= commit->stage) return false;
    }
    return true;
}

static bool take_cut(struct sf_commit *commit, const struct sf_step *step)
{
    if (commit->cut != NULL) return false;
    const struct sf_msg *msg = sf_edge_peek(commit->config.from_ingest, commit->generation);
    if (msg == NULL) return false;
    assert(msg->kind == SF_MSG_CUT && msg->epoch == commit->epoch);
    commit->cut = msg->ptr;
    commit->cut_at = step->now;
    sf_edge_pop(commit->config.from_ingest);
    return true;
}

static uint64_t new_tag(struct sf_commit *commit, uint64_t kind)
{
    commit->command_count++;
    return commit->command_count * 0x10 + kind;
}

static bool send_stamp(struct sf_commit *commit)
{
    const struct sf_cut *cut = commit->cut;
    struct sf_out out = {.key = {(const uint8_t *)"stamp", 5},
                         .value = {cut->stamp_row, cut->stamp_row_len},
                         .ts_ms = cut->stamp >= 0 && cut->stamp <= SF_TIME_VALID_MAX ? cut->stamp : 0};
    struct sf_tp tp = {.topic = commit->config.targets->watermark_topic, .partition = 0};
    return sf_producer_write(commit->producer, tp, &out, 1) == 1;
}

static uint32_t fill_offsets(struct sf_commit *commit, struct sf_offset_commit *commits)
{
    const struct sf_cut *cut = commit->cut;
    for (uint32_t i = 0; i < cut->offset_count; i++)
        commits[i] = (struct sf_offset_commit){
            .tp = cut->offsets[i].tp,
            .offset = cut->offsets[i].offset,
            .metadata = {cut->offsets[i].metadata, cut->offsets[i].metadata_len}};
    return cut->offset_count;
}

/* Exactly-once: stamp and offsets into the open transaction, as soon as the cut is known (B6). */
static void send_offsets(struct sf_commit *commit, const struct sf_step *step)
{
    if (commit->cut == NULL || commit->are_offsets_sent || !ensure_open(commit, step)) return;
    if (!send_stamp(commit)) return; /* no room: ROOM wakes us */
    size_t bytes = commit->cut->offset_count * sizeof(struct sf_offset_commit);
    struct sf_offset_commit *commits = sf_malloc(commit->config.alloc, bytes);
    uint32_t count = fill_offsets(commit, commits);
    commit->offsets_tag = new_tag(commit, SFI_COMMIT_TAG_OFFSETS);
    sf_producer_offsets(commit->producer, commit->offsets_tag, sf_consumer_token(commit->member), commits, count);
    sf_free(commit->config.alloc, commits, bytes);
    commit->are_offsets_sent = true;
    sf_note(step->notes, SF_NOTE_TXN_OFFSETS_SENT, SF_SUBJECT_NONE, (int64_t)commit->epoch, 0, 0, 0);
}

static bool is_all_in(const struct sf_commit *commit)
{
    return commit->phase == SFI_COMMIT_OPEN && commit->crossed_count == commit->config.lane_total &&
           commit->are_offsets_done;
}

static void commit_offsets_by_group(struct sf_commit *commit, const struct sf_step *step)
{
    size_t bytes = commit->cut->offset_count * sizeof(struct sf_offset_commit);
    struct sf_offset_commit *commits = sf_malloc(commit->config.alloc, bytes);
    uint32_t count = fill_offsets(commit, commits);
    commit->offsets_tag = new_tag(commit, SFI_COMMIT_TAG_OFFSETS);
    sf_admin_commit(commit->admin, commit->offsets_tag, commit->config.topology->application_id,
                    sf_consumer_token(commit->member), commits, count);
    sf_free(commit->config.alloc, commits, bytes);
    commit->phase = SFI_COMMIT_ENDING;
    sf_note(step->notes, SF_NOTE_TXN_OFFSETS_SENT, SF_SUBJECT_NONE, (int64_t)commit->epoch, 0, 0, 0);
}

/* B10: results, changes, frontiers and stamp, offsets: each acknowledged before the next. */
static void walk_stages(struct sf_commit *commit, const struct sf_step *step)
{
    if (commit->is_flushing || commit->phase == SFI_COMMIT_ENDING || commit->cut == NULL) return;
    if (commit->stage == SFI_COMMIT_STAGE_CROSSED) {
        if (commit->crossed_count == commit->config.lane_total) commit_offsets_by_group(commit, step);
        return;
    }
    if (!ensure_open(commit, step) || !is_stage_complete(commit)) return;
    if (commit->stage == SF_OUT_FRONTIERS && !send_stamp(commit)) return;
    commit->is_flushing = true;
    commit->flush_tag = new_tag(commit, SFI_COMMIT_TAG_FLUSH);
    sf_producer_flush(commit->producer, commit->flush_tag);
}

/* ------------------------------------------------------------------ the step */

static struct sf_mono_ts deadline(const struct sf_commit *commit, const struct sf_step *step)
{
    struct sf_mono_ts at = sf_mono_add(step->now, POLL_INTERVAL_US);
    if (commit->cut != NULL && !commit->is_barrier_late && commit->crossed_count < commit->config.lane_total) {
        struct sf_mono_ts late =
            sf_mono_add(commit->cut_at, commit->config.topology->settings.barrier_timeout_ms * 1000 + 1);
        if (late.us < at.us) at = late;
    }
    return at;
}

static void watch_barrier(struct sf_commit *commit, const struct sf_step *step)
{
    if (commit->cut == NULL || commit->is_barrier_late || commit->crossed_count == commit->config.lane_total) return;
    int64_t waited = sf_mono_elapsed_us(commit->cut_at, step->now);
    if (waited <= commit->config.topology->settings.barrier_timeout_ms * 1000) return;
    commit->is_barrier_late = true;
    sfi_commit_trouble(commit, SF_TROUBLE_BARRIER, SF_E_TIMEOUT, false, "a lane did not cross the barrier in time");
}

static uint32_t work(struct sf_commit *commit, const struct sf_step *step, uint32_t budget)
{
    uint32_t used = 0;
    if (commit->is_held || (commit->phase != SFI_COMMIT_READY && commit->phase != SFI_COMMIT_OPEN)) return 0;
    if (take_cut(commit, step)) used++;
    if (commit->is_exactly_once) send_offsets(commit, step);
    if (used < budget && (commit->phase == SFI_COMMIT_READY || commit->phase == SFI_COMMIT_OPEN))
        used += take_from_lanes(commit, step, budget - used);
    if (commit->phase != SFI_COMMIT_READY && commit->phase != SFI_COMMIT_OPEN) return used;
    watch_barrier(commit, step);
    if (!commit->is_exactly_once) {
        walk_stages(commit, step);
    } else if (is_all_in(commit)) {
        commit->phase = SFI_COMMIT_ENDING;
        sf_note(step->notes, SF_NOTE_TXN_END_SENT, SF_SUBJECT_NONE, (int64_t)commit->epoch, 0, 0, 0);
        sf_producer_commit(commit->producer, SFI_COMMIT_TAG_COMMIT);
        used++;
    }
    return used;
}

static struct sf_step_result commit_step(void *self, const struct sf_step *step)
{
    struct sf_commit *commit = self;
    uint32_t used = 0;
    if (sfi_commit_obey(commit, step, &used)) return (struct sf_step_result){.next = SF_NEXT_DONE, .used = used};
    sf_commit_write_settle(&commit->write, commit->generation);
    tell_committed(commit);
    used += sfi_commit_poll_member(commit) > 0;
    used += sfi_commit_poll_producer(commit, step) > 0;
    used += sfi_commit_poll_admin(commit, step) > 0;
    if (used > step->budget) used = step->budget;
    if (!commit->is_stopped && used < step->budget) used += work(commit, step, step->budget - used);
    if (used > step->budget) used = step->budget;
    return (struct sf_step_result){
        .next = used > 0 ? SF_NEXT_AGAIN : SF_NEXT_WAIT, .used = used, .wake_at = deadline(commit, step)};
}

/* ------------------------------------------------------------------ life */

struct sf_commit *sf_commit_new(const struct sf_commit_config *config, struct sf_task *task)
{
    struct sf_commit *commit = sf_calloc(config->alloc, 1, sizeof *commit);
    commit->config = *config;
    commit->task = task;
    commit->is_exactly_once = config->topology->guarantee == SF_EXACTLY_ONCE;
    commit->is_crossed = sf_calloc(config->alloc, config->lane_total, sizeof *commit->is_crossed);
    commit->counts = sf_calloc(config->alloc, config->lane_total, sizeof(void *));
    commit->totals = sf_calloc(config->alloc, config->topology->step_count, sizeof *commit->totals);
    commit->sink_totals = sf_calloc(config->alloc, config->topology->sink_count, sizeof *commit->sink_totals);
    sf_commit_write_init(&commit->write, config->alloc, config->targets, config->to_persist);
    commit->epoch = 1;
    commit->is_stopped = true; /* until the engine's first RESET */
    sfi_commit_epoch_clear(commit);
    commit->port_count = config->lane_total + 3 + (config->to_persist != NULL ? 1 : 0);
    commit->ports = sf_calloc(config->alloc, commit->port_count, sizeof *commit->ports);
    uint32_t at = 0;
    commit->ports[at++] = &config->from_engine->in;
    commit->ports[at++] = &config->to_engine->back;
    commit->ports[at++] = &config->from_ingest->in;
    for (uint32_t i = 0; i < config->lane_total; i++) commit->ports[at++] = &config->from_lanes[i].in;
    if (config->to_persist != NULL) commit->ports[at++] = &config->to_persist->back;
    *task = (struct sf_task){.name = "commit",
                             .step = commit_step,
                             .self = commit,
                             .ports = commit->ports,
                             .port_count = commit->port_count,
                             .id = SF_TASK_NONE};
    return commit;
}

void sf_commit_destroy(struct sf_commit *commit)
{
    if (commit == NULL) return;
    struct sf_alloc alloc = commit->config.alloc;
    sf_producer_close(commit->producer);
    sf_consumer_close(commit->member);
    sf_admin_close(commit->admin);
    sf_commit_write_deinit(&commit->write);
    sf_cfree(alloc, commit->is_crossed, commit->config.lane_total, sizeof *commit->is_crossed);
    sf_cfree(alloc, commit->counts, commit->config.lane_total, sizeof(void *));
    sf_cfree(alloc, commit->totals, commit->config.topology->step_count, sizeof *commit->totals);
    sf_cfree(alloc, commit->sink_totals, commit->config.topology->sink_count, sizeof *commit->sink_totals);
    sf_cfree(alloc, commit->ports, commit->port_count, sizeof *commit->ports);
    sf_cfree(alloc, commit, 1, sizeof *commit);
}

const struct sf_step_counts *sf_commit_step_counts(const struct sf_commit *commit)
{
    return commit->totals;
}

const struct sf_sink_counts *sf_commit_sink_counts(const struct sf_commit *commit)
{
    return commit->sink_totals;
}

bool sf_commit_is_at_rest(const struct sf_commit *commit)
{
    return commit->phase == SFI_COMMIT_READY && commit->cut == NULL && !commit->is_answer_due;
}
