#include "core/run/persist.h"

#include "core/note.h"

/* A block's content, kept until its epoch has committed. */
struct held {
    struct held *next;
    uint64_t epoch;
    uint16_t flags; /* SF_OUT_CHANGES, SF_OUT_POSITIONS */
    uint32_t count;
    uint32_t used;
    uint32_t at;    /* bytes handed over */
    alignas(16) uint8_t data[];
};

/* Fall-backs that messages still on their way may be older than: one of a generation below `generation` counts only up
 * to `cut`. */
struct fall_back {
    uint32_t generation;
    uint64_t cut;
};

struct sf_persist {
    struct sf_persist_config config;
    struct sf_port *ports[2];
    struct held *held_first;
    struct held *held_last;
    struct fall_back *fall_backs; /* cuts rising */
    uint32_t fall_back_count;
    uint32_t fall_back_capacity;
    uint64_t committed;  /* as far as is known */
    uint64_t through;    /* as far as commit has sent all that belongs to it */
    uint32_t generation; /* of the messages read last */
    struct sf_mono_ts due_at;  /* of the next cut */
    struct sf_mono_ts sync_at; /* SF_MONO_NEVER: all that was written is durable, or about to be */
    bool is_stopped;
    bool is_finishing;   /* graceful: write what is committed, make it durable, be done */
    bool is_sync_given;
    bool is_failure_told;
};

static struct sf_local_writer *writer_of(const struct sf_persist *persist)
{
    return persist->config.writer;
}

static void tell_engine(struct sf_persist *persist, enum sf_msg_kind kind, uint16_t flags)
{
    sf_edge_push(persist->config.to_engine, &(struct sf_msg){.kind = (uint16_t)kind, .flags = flags});
}

/* ------------------------------------------------------------------ what is held */

static void free_held(struct sf_persist *persist, struct held *held)
{
    sf_free(persist->config.alloc, held, sizeof *held + held->used);
}

static void hold(struct sf_persist *persist, const struct sf_msg *msg)
{
    struct held *held = sf_malloc(persist->config.alloc, sizeof *held + msg->block->used);
    *held = (struct held){
        .epoch = msg->epoch, .flags = msg->flags, .count = msg->block->count, .used = msg->block->used};
    memcpy(held->data, msg->block->data, msg->block->used);
    if (persist->held_last == NULL) {
        persist->held_first = held;
    } else {
        assert(persist->held_last->epoch <= held->epoch);
        persist->held_last->next = held;
    }
    persist->held_last = held;
}

static void drop_held_above(struct sf_persist *persist, uint64_t cut)
{
    struct held **link = &persist->held_first;
    persist->held_last = NULL;
    while (*link != NULL && (*link)->epoch <= cut) {
        persist->held_last = *link;
        link = &(*link)->next;
    }
    struct held *gone = *link;
    *link = NULL;
    while (gone != NULL) {
        struct held *next = gone->next;
        free_held(persist, gone);
        gone = next;
    }
}

static bool has_committed(const struct sf_persist *persist)
{
    return persist->held_first != NULL && persist->held_first->epoch <= persist->committed;
}

/* ------------------------------------------------------------------ handing over */

static void hand_over_wire(struct sf_persist *persist, const struct sf_wire *wire)
{
    const struct sf_target *target = &persist->config.targets->items[wire->target];
    assert(target->kind == SF_TARGET_CHANGELOG);
    struct sf_slice key = {.data = sf_wire_key(wire), .len = sf_wire_len(wire->key_len)};
    struct sf_slice value = {.data = sf_wire_value(wire), .len = sf_wire_len(wire->value_len)};
    const char *reason;
    enum sf_status status = sf_local_writer_record(writer_of(persist), target->index, persist->config.is_packed, key,
                                                   value, &reason);
    assert(status == SF_OK); /* a lane of ours made it */
    (void)status;
}

static void hand_over_position(struct sf_persist *persist, const struct sf_position *position)
{
    const struct sf_targets *targets = persist->config.targets;
    for (uint32_t i = targets->sink_count; i < targets->count; i++) {
        const struct sf_target *target = &targets->items[i];
        if (target->kind != SF_TARGET_CHANGELOG || target->topic != position->tp.topic) continue;
        assert(position->tp.partition < target->partition_count);
        sf_local_writer_position(writer_of(persist), target->first_position + (uint32_t)position->tp.partition,
                                 position->end);
        return;
    }
}

static uint32_t hand_over(struct sf_persist *persist, uint32_t budget)
{
    uint32_t used = 0;
    while (used < budget && has_committed(persist)) {
        struct held *held = persist->held_first;
        if (held->count > 0) {
            const void *item = held->data + held->at;
            if (held->flags == SF_OUT_CHANGES) {
                hand_over_wire(persist, item);
                held->at += sf_wire_size(item);
            } else {
                hand_over_position(persist, item);
                held->at += (uint32_t)sizeof(struct sf_position);
            }
            held->count--;
            used++;
        }
        if (held->count > 0) continue;
        persist->held_first = held->next;
        if (held->next == NULL) persist->held_last = NULL;
        free_held(persist, held);
    }
    return used;
}

/* ------------------------------------------------------------------ messages */

/* The next message of whatever generation; those of commit only rise. */
static const struct sf_msg *next_message(struct sf_persist *persist)
{
    struct sf_edge *edge = persist->config.from_commit;
    while (sf_port_visible(&edge->in) > 0) {
        const struct sf_msg *msg = sf_edge_peek(edge, persist->generation);
        if (msg != NULL) return msg;
        persist->generation++;
    }
    return NULL;
}

static bool is_void(struct sf_persist *persist, const struct sf_msg *msg)
{
    if (persist->fall_back_count == 0) return false;
    uint32_t past = 0;
    while (past < persist->fall_back_count && persist->fall_backs[past].generation <= msg->generation) past++;
    persist->fall_back_count -= past;
    memmove(persist->fall_backs, persist->fall_backs + past, persist->fall_back_count * sizeof *persist->fall_backs);
    return persist->fall_back_count > 0 && msg->epoch > persist->fall_backs[0].cut;
}

static uint32_t take_messages(struct sf_persist *persist, uint32_t budget)
{
    uint32_t used = 0;
    while (used < budget && !sf_local_writer_is_full(writer_of(persist))) {
        const struct sf_msg *next = next_message(persist);
        if (next == NULL) break;
        struct sf_msg msg = *next;
        sf_edge_pop(persist->config.from_commit);
        used++;
        if (!is_void(persist, &msg)) {
            if (msg.kind == SF_MSG_COMMITTED) {
                assert(msg.epoch >= persist->through);
                persist->through = msg.epoch;
                if (persist->committed < msg.epoch) persist->committed = msg.epoch;
            } else {
                assert(msg.kind == SF_MSG_OUT && (msg.flags == SF_OUT_CHANGES || msg.flags == SF_OUT_POSITIONS));
                if (sf_local_writer_status(writer_of(persist)) == SF_OK) hold(persist, &msg);
            }
        }
        if (msg.block != NULL) sf_edge_give_back(persist->config.from_commit, msg.block);
    }
    return used;
}

static void fall_back(struct sf_persist *persist, uint64_t cut, uint32_t generation)
{
    drop_held_above(persist, cut);
    if (persist->committed < cut) persist->committed = cut; /* its COMMITTED may still be on the way */
    persist->is_stopped = false;
    uint32_t count = persist->fall_back_count;
    if (count > 0 && persist->fall_backs[count - 1].cut == cut) {
        persist->fall_backs[count - 1].generation = generation;
        return;
    }
    if (count == persist->fall_back_capacity) {
        uint32_t more = persist->fall_back_capacity == 0 ? 4 : persist->fall_back_capacity * 2;
        size_t old = persist->fall_back_capacity * sizeof *persist->fall_backs;
        persist->fall_backs =
            sf_regrow(persist->config.alloc, persist->fall_backs, old, old, more * sizeof *persist->fall_backs);
        persist->fall_back_capacity = more;
    }
    persist->fall_backs[count] = (struct fall_back){.generation = generation, .cut = cut};
    persist->fall_back_count++;
}

static uint32_t obey(struct sf_persist *persist, uint32_t budget)
{
    uint32_t used = 0;
    const struct sf_msg *msg;
    while (used < budget && (msg = sf_edge_peek(persist->config.from_engine, 0)) != NULL) {
        struct sf_msg order = *msg;
        sf_edge_pop(persist->config.from_engine);
        used++;
        if (order.kind == SF_MSG_RESET) {
            fall_back(persist, order.epoch, (uint32_t)order.value2);
            tell_engine(persist, SF_MSG_RESUMED, 0);
            continue;
        }
        assert(order.kind == SF_MSG_STOP);
        persist->is_stopped = true;
        if ((order.flags & SF_STOP_FOR_GOOD) != 0) {
            persist->is_finishing = true;
        } else {
            tell_engine(persist, SF_MSG_STOPPED, 0);
        }
    }
    return used;
}

/* ------------------------------------------------------------------ writing */

static void take_events(struct sf_persist *persist, const struct sf_step *step)
{
    uint64_t epoch;
    while (sf_notes_has_room(step->notes, 2) && sf_local_writer_poll(writer_of(persist), &epoch))
        sf_note(step->notes, SF_NOTE_STORE_WRITTEN, SF_SUBJECT_NONE, (int64_t)epoch, 0, 0, 0);
    enum sf_status status = sf_local_writer_status(writer_of(persist));
    if (status == SF_OK || persist->is_failure_told || !sf_notes_has_room(step->notes, 1)) return;
    persist->is_failure_told = true;
    sf_note(step->notes, SF_NOTE_STORE_FAILED, SF_SUBJECT_NONE, (int64_t)status, 0, 0, 0);
    drop_held_above(persist, 0);
}

/* All rows of all committed epochs are with the writer: cut here or not at all. */
static void cut_if_due(struct sf_persist *persist, const struct sf_step *step)
{
    struct sf_local_writer *writer = writer_of(persist);
    if (!sf_local_writer_has_pending(writer)) persist->due_at = SF_MONO_NEVER;
    if (has_committed(persist) || !sf_local_writer_has_pending(writer)) return;
    int64_t interval = persist->config.interval_us == 0 ? SF_PERSIST_INTERVAL_US : persist->config.interval_us;
    if (persist->due_at.us == SF_MONO_NEVER.us) persist->due_at = sf_mono_add(step->now, interval);
    if (!persist->is_finishing && !sf_local_writer_is_due(writer) && step->now.us < persist->due_at.us) return;
    if (sf_local_writer_cut(writer, persist->through)) persist->due_at = SF_MONO_NEVER;
}

static void sync_if_due(struct sf_persist *persist, const struct sf_step *step)
{
    struct sf_local_writer *writer = writer_of(persist);
    int64_t interval =
        persist->config.sync_interval_us == 0 ? SF_PERSIST_SYNC_INTERVAL_US : persist->config.sync_interval_us;
    if (!sf_local_writer_is_unsynced(writer)) persist->sync_at = SF_MONO_NEVER;
    else if (persist->sync_at.us == SF_MONO_NEVER.us) persist->sync_at = sf_mono_add(step->now, interval);
    if (step->now.us < persist->sync_at.us) return;
    sf_local_writer_sync(writer);
    persist->sync_at = SF_MONO_NEVER;
}

/* Graceful stop: all that has committed is with the store, or on its way there. */
static bool is_written_out(const struct sf_persist *persist)
{
    return persist->is_finishing && !has_committed(persist) && !sf_local_writer_has_pending(writer_of(persist)) &&
           sf_port_visible(&persist->config.from_commit->in) == 0;
}

/* While a batch is made or written, the store's event is what there is to wait for. */
static struct sf_mono_ts wake_at(const struct sf_persist *persist)
{
    if (sf_local_writer_is_busy(writer_of(persist))) return SF_MONO_NEVER;
    return persist->sync_at.us < persist->due_at.us ? persist->sync_at : persist->due_at;
}

static struct sf_step_result persist_step(void *self, const struct sf_step *step)
{
    struct sf_persist *persist = self;
    struct sf_local_writer *writer = writer_of(persist);
    take_events(persist, step);
    uint32_t used = obey(persist, step->budget);
    if (!persist->is_stopped || persist->is_finishing) used += take_messages(persist, step->budget - used);
    used += hand_over(persist, step->budget - used);
    cut_if_due(persist, step);
    sync_if_due(persist, step);
    if (is_written_out(persist) && !persist->is_sync_given) {
        sf_local_writer_sync(writer);
        persist->is_sync_given = true;
    }
    if (used < step->budget) used += sf_local_writer_step(writer, step->budget - used);
    if (is_written_out(persist) && !sf_local_writer_is_busy(writer)) {
        tell_engine(persist, SF_MSG_STOPPED, SF_STOP_FOR_GOOD);
        return (struct sf_step_result){.next = SF_NEXT_DONE, .used = used};
    }
    return (struct sf_step_result){.next = used > 0 ? SF_NEXT_AGAIN : SF_NEXT_WAIT,
                                   .used = used,
                                   .wake_at = wake_at(persist)};
}

/* ------------------------------------------------------------------ life */

struct sf_persist *sf_persist_new(const struct sf_persist_config *config, struct sf_task *task)
{
    struct sf_persist *persist = sf_calloc(config->alloc, 1, sizeof *persist);
    persist->config = *config;
    persist->committed = config->committed;
    persist->through = config->committed;
    persist->due_at = SF_MONO_NEVER;
    persist->sync_at = SF_MONO_NEVER;
    persist->ports[0] = &config->from_engine->in;
    persist->ports[1] = &config->from_commit->in;
    *task = (struct sf_task){.name = "persist",
                             .step = persist_step,
                             .self = persist,
                             .ports = persist->ports,
                             .port_count = 2,
                             .id = SF_TASK_NONE};
    return persist;
}

void sf_persist_destroy(struct sf_persist *persist)
{
    if (persist == NULL) return;
    struct sf_alloc alloc = persist->config.alloc;
    drop_held_above(persist, 0);
    sf_free(alloc, persist->fall_backs, persist->fall_back_capacity * sizeof *persist->fall_backs);
    sf_cfree(alloc, persist, 1, sizeof *persist);
}

bool sf_persist_is_at_rest(const struct sf_persist *persist)
{
    return !has_committed(persist) && !sf_local_writer_is_busy(writer_of(persist));
}
