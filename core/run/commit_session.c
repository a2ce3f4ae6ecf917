#include "core/run/commit_impl.h"

/* ------------------------------------------------------------------ to the engine */

void sfi_commit_tell(struct sf_commit *commit, struct sf_msg msg)
{
    sf_edge_push(commit->config.to_engine, &msg);
}

/* Events' texts are borrowed from their client: copied before it is closed or polled again. */
static void keep_text(struct sf_commit *commit, const char *text)
{
    size_t len = text != NULL ? strlen(text) : 0;
    if (text == commit->text) return;
    if (len >= sizeof commit->text) len = sizeof commit->text - 1;
    if (len > 0) memcpy(commit->text, text, len);
    commit->text[len] = '\0';
}

void sfi_commit_trouble(struct sf_commit *commit, enum sf_trouble kind, enum sf_status status, bool is_unknown,
                    const char *text)
{
    keep_text(commit, text);
    if (kind != SF_TROUBLE_OWNERSHIP) commit->phase = SFI_COMMIT_TROUBLED;
    sfi_commit_tell(commit, (struct sf_msg){.kind = SF_MSG_FAULT,
                                        .flags = is_unknown ? 1 : 0,
                                        .epoch = commit->epoch,
                                        .value = status,
                                        .value2 = kind,
                                        .ptr = commit->text});
}

static void answer_session(struct sf_commit *commit, enum sf_status status)
{
    if (!commit->is_answer_due) return;
    commit->is_answer_due = false;
    sfi_commit_tell(commit, (struct sf_msg){.kind = SF_MSG_SESSION, .value = status, .ptr = commit->text});
}

/* A session that is over, whichever command said so. */
void sfi_commit_session_lost(struct sf_commit *commit, enum sf_status status, bool is_unknown, const char *text)
{
    keep_text(commit, text);
    sf_producer_close(commit->producer);
    commit->producer = (struct sf_producer){0};
    commit->phase = SFI_COMMIT_NO_SESSION;
    if (commit->is_answer_due)
        answer_session(commit, status);
    else
        sfi_commit_trouble(commit, SF_TROUBLE_SESSION, status, is_unknown, commit->text);
}

/* ------------------------------------------------------------------ the producer's news */

static void open_producer(struct sf_commit *commit)
{
    struct sf_error error = {0};
    const struct sf_topology *topology = commit->config.topology;
    struct sf_producer_config config = {
        .transactional_id = commit->is_exactly_once ? topology->application_id : NULL,
        .group = topology->application_id,
        .txn_timeout_ms = topology->settings.transaction_timeout_ms,
        .queue_bytes_max = topology->settings.output_buffer_bytes,
        .record_bytes_max = sf_targets_record_bytes(commit->config.targets, false),
        .batch_bytes_max = sf_targets_record_bytes(commit->config.targets, true),
        .waker = sf_sched_waker(commit->config.sched, commit->task->id)};
    commit->session_count++;
    enum sf_status status = sf_kafka_producer_open(commit->config.kafka, &config, &commit->producer, &error);
    if (status != SF_OK) {
        commit->producer = (struct sf_producer){0};
        sfi_commit_session_lost(commit, status, false, error.text);
        return;
    }
    sf_commit_write_track(&commit->write, commit->producer);
    if (commit->is_exactly_once) {
        sf_producer_init(commit->producer, SFI_COMMIT_TAG_INIT);
    } else {
        commit->phase = SFI_COMMIT_READY;
        commit->text[0] = '\0';
        answer_session(commit, SF_OK);
    }
}

/* B14: the owner alone opens a session, and a former one may not have heard yet. At-least-once shuts out nobody. */
static void open_session(struct sf_commit *commit)
{
    sf_producer_close(commit->producer);
    commit->producer = (struct sf_producer){0};
    commit->phase = SFI_COMMIT_OPENING;
    if (commit->is_exactly_once)
        sf_consumer_confirm(commit->member);
    else
        open_producer(commit);
}

static void on_init(struct sf_commit *commit, const struct sf_producer_event *event)
{
    if (event->status != SF_OK) {
        sfi_commit_session_lost(commit, event->status, false, event->text);
        return;
    }
    commit->phase = SFI_COMMIT_READY;
    commit->text[0] = '\0';
    answer_session(commit, SF_OK);
}

static void on_committed(struct sf_commit *commit, const struct sf_step *step, const struct sf_producer_event *event)
{
    if (event->outcome == SF_OUTCOME_COMMITTED) {
        commit->phase = SFI_COMMIT_READY;
        sfi_commit_publish(commit, step, event->positions, event->position_count);
        if (event->end_sends > 1) open_session(commit); /* B11: a late duplicate would end the next transaction */
        return;
    }
    bool is_abortable = event->outcome == SF_OUTCOME_NOT_COMMITTED && sf_status_class(event->status) == SF_CLASS_ABORT;
    if (is_abortable && event->end_sends <= 1) {
        sfi_commit_trouble(commit, SF_TROUBLE_TXN, event->status, false, event->text);
        return;
    }
    sfi_commit_session_lost(commit, event->status, event->outcome == SF_OUTCOME_UNKNOWN, event->text);
}

static void on_aborted(struct sf_commit *commit, const struct sf_step *step, const struct sf_producer_event *event)
{
    if (event->status != SF_OK) {
        sfi_commit_session_lost(commit, event->status, false, event->text);
        return;
    }
    sf_note(step->notes, SF_NOTE_TXN_ABORTED, SF_SUBJECT_NONE, (int64_t)commit->epoch, 0, 0, 0);
    if (event->end_sends > 1) {
        open_session(commit); /* B11, as behind a commit; the order is answered when it is open */
        return;
    }
    commit->phase = SFI_COMMIT_READY;
    answer_session(commit, SF_OK);
}

static void on_offsets(struct sf_commit *commit, enum sf_status status, const char *text)
{
    if (status == SF_OK) {
        commit->are_offsets_done = true;
        return;
    }
    if (sf_status_class(status) == SF_CLASS_ABORT)
        sfi_commit_trouble(commit, SF_TROUBLE_TXN, status, false, text);
    else
        sfi_commit_session_lost(commit, status, false, text);
}

static void on_flushed(struct sf_commit *commit, const struct sf_producer_event *event)
{
    commit->is_flushing = false;
    if (event->status != SF_OK) {
        sfi_commit_trouble(commit, SF_TROUBLE_TXN, event->status, false, event->text);
        return;
    }
    sf_commit_write_positions(&commit->write, event->positions, event->position_count);
    commit->stage++;
}

static void on_failed(struct sf_commit *commit, const struct sf_producer_event *event)
{
    if (sf_status_class(event->status) != SF_CLASS_ABORT) {
        sfi_commit_session_lost(commit, event->status, false, event->text);
        return;
    }
    if (commit->phase == SFI_COMMIT_OPEN) sfi_commit_trouble(commit, SF_TROUBLE_TXN, event->status, false, event->text);
}

uint32_t sfi_commit_poll_producer(struct sf_commit *commit, const struct sf_step *step)
{
    struct sf_producer_event events[8];
    if (commit->producer.ops == NULL) return 0;
    uint32_t count = sf_producer_poll(commit->producer, events, sizeof events / sizeof events[0]);
    uint64_t session = commit->session_count; /* a new one has no part in these events */
    for (uint32_t i = 0; i < count && commit->producer.ops != NULL && commit->session_count == session; i++) {
        const struct sf_producer_event *event = &events[i];
        bool is_in_trouble = commit->phase == SFI_COMMIT_TROUBLED;
        switch (event->kind) {
        case SF_PRODUCER_INIT: on_init(commit, event); break;
        case SF_PRODUCER_ROOM: break;
        case SF_PRODUCER_OFFSETS:
            if (commit->phase != SFI_COMMIT_OPEN || event->tag != commit->offsets_tag) break;
            on_offsets(commit, event->status, event->text);
            break;
        case SF_PRODUCER_COMMITTED:
            if (commit->phase == SFI_COMMIT_ENDING) on_committed(commit, step, event);
            break;
        case SF_PRODUCER_ABORTED:
            if (commit->phase != SFI_COMMIT_ABORTING) break;
            on_aborted(commit, step, event);
            break;
        case SF_PRODUCER_FLUSHED:
            if (!is_in_trouble && event->tag == commit->flush_tag) on_flushed(commit, event);
            break;
        case SF_PRODUCER_FAILED:
            if (!is_in_trouble || sf_status_class(event->status) != SF_CLASS_ABORT) on_failed(commit, event);
            break;
        }
    }
    return count;
}

uint32_t sfi_commit_poll_admin(struct sf_commit *commit, const struct sf_step *step)
{
    struct sf_admin_event events[4];
    if (commit->admin.ops == NULL) return 0;
    uint32_t count = sf_admin_poll(commit->admin, events, sizeof events / sizeof events[0]);
    for (uint32_t i = 0; i < count; i++) {
        if (events[i].tag != commit->offsets_tag || commit->phase != SFI_COMMIT_ENDING) continue;
        if (events[i].status != SF_OK) {
            sfi_commit_trouble(commit, SF_TROUBLE_TXN, events[i].status, false, events[i].text);
            continue;
        }
        commit->phase = SFI_COMMIT_READY;
        sfi_commit_publish(commit, step, NULL, 0);
    }
    return count;
}

/* ------------------------------------------------------------------ membership */

uint32_t sfi_commit_poll_member(struct sf_commit *commit)
{
    struct sf_consumer_event events[8];
    if (commit->member.ops == NULL) return 0;
    uint32_t count = sf_consumer_poll(commit->member, events, sizeof events / sizeof events[0]);
    for (uint32_t i = 0; i < count; i++) {
        struct sf_msg msg = {.kind = SF_MSG_OWNER};
        switch (events[i].kind) {
        case SF_CONSUMER_GRANTED:
            commit->is_owner = true;
            commit->is_revoking = false;
            msg.flags = SF_OWNER_GRANTED;
            sfi_commit_tell(commit, msg);
            break;
        case SF_CONSUMER_CONFIRMED:
            if (commit->phase == SFI_COMMIT_OPENING && commit->producer.ops == NULL) open_producer(commit);
            break;
        case SF_CONSUMER_REVOKING:
            commit->is_revoking = true;
            msg.flags = SF_OWNER_REVOKING;
            sfi_commit_tell(commit, msg);
            break;
        case SF_CONSUMER_REVOKED:
            commit->is_owner = false;
            msg.flags = SF_OWNER_LOST;
            sfi_commit_tell(commit, msg);
            break;
        case SF_CONSUMER_FAILED:
            sfi_commit_trouble(commit, SF_TROUBLE_OWNERSHIP, events[i].status, false, events[i].text);
            break;
        case SF_CONSUMER_BATCH: sf_consumer_release(commit->member, events[i].batch); break;
        case SF_CONSUMER_CAUGHT_UP:
        case SF_CONSUMER_OUT_OF_RANGE:
        case SF_CONSUMER_PARTITION: break; /* the rows of the watermark topic are read by the engine */
        }
    }
    return count;
}

/* Opens the membership and, for at-least-once, the client that commits through it. */
static void join_group(struct sf_commit *commit)
{
    const struct sf_topology *topology = commit->config.topology;
    struct sf_waker waker = sf_sched_waker(commit->config.sched, commit->task->id);
    struct sf_error error = {0};
    const char *subscribe[] = {
        sf_kafka_topic_name(commit->config.kafka, commit->config.targets->watermark_topic), NULL};
    struct sf_consumer_config config = {.group = topology->application_id,
                                        .purpose = "owner",
                                        .subscribe = subscribe,
                                        .instance = topology->settings.instance,
                                        .is_read_committed = true,
                                        .batch_records_max = 16,
                                        .fetch_bytes_max = 1u << 20,
                                        .waker = waker};
    enum sf_status status = sf_kafka_consumer_open(commit->config.kafka, &config, &commit->member, &error);
    if (status != SF_OK) commit->member = (struct sf_consumer){0};
    if (status == SF_OK && !commit->is_exactly_once) {
        status = sf_kafka_admin_open(commit->config.kafka, waker, &commit->admin, &error);
        if (status != SF_OK) commit->admin = (struct sf_admin){0};
    }
    keep_text(commit, error.text);
    answer_session(commit, status);
}

/* ------------------------------------------------------------------ the engine's orders */

static void on_session(struct sf_commit *commit, const struct sf_step *step, const struct sf_msg *msg)
{
    if (msg->flags == SF_SESSION_COMMITTED) {
        commit->is_held = false;
        assert(msg->epoch == commit->epoch && commit->phase == SFI_COMMIT_READY);
        sfi_commit_publish(commit, step, NULL, 0);
        return;
    }
    commit->is_answer_due = true;
    commit->is_held = msg->flags != SF_SESSION_JOIN;
    if (msg->flags == SF_SESSION_JOIN) {
        join_group(commit);
    } else if (msg->flags == SF_SESSION_OPEN) {
        open_session(commit);
    } else if (commit->phase == SFI_COMMIT_OPENING) { /* nothing is open; answered when the session is */
    } else if (commit->producer.ops == NULL) { /* it was lost on the way here */
        answer_session(commit, SF_E_SESSION);
    } else if (!commit->is_exactly_once || commit->phase == SFI_COMMIT_READY) {
        commit->phase = SFI_COMMIT_READY; /* nothing is open */
        answer_session(commit, SF_OK);
    } else {
        commit->phase = SFI_COMMIT_ABORTING;
        sf_producer_abort(commit->producer, SFI_COMMIT_TAG_ABORT);
    }
}

/* True when the task is to end. */
bool sfi_commit_obey(struct sf_commit *commit, const struct sf_step *step, uint32_t *used)
{
    const struct sf_msg *msg;
    while ((msg = sf_edge_peek(commit->config.from_engine, 0)) != NULL && *used < step->budget) {
        struct sf_msg order = *msg;
        sf_edge_pop(commit->config.from_engine);
        (*used)++;
        switch ((enum sf_msg_kind)order.kind) {
        case SF_MSG_STOP:
            commit->is_stopped = true;
            if ((order.flags & SF_STOP_FOR_GOOD) != 0) {
                if (commit->is_revoking) sf_consumer_yield(commit->member);
                sf_producer_close(commit->producer);
                sf_consumer_close(commit->member);
                sf_admin_close(commit->admin);
                commit->producer = (struct sf_producer){0};
                commit->member = (struct sf_consumer){0};
                commit->admin = (struct sf_admin){0};
            }
            sfi_commit_tell(commit, (struct sf_msg){
                                        .kind = SF_MSG_STOPPED, .flags = order.flags, .epoch = commit->published});
            if ((order.flags & SF_STOP_FOR_GOOD) != 0) return true;
            break;
        case SF_MSG_RESET:
            /* what is open would take the next epoch's records beside the lost one's */
            assert(!commit->is_exactly_once || commit->phase != SFI_COMMIT_OPEN);
            commit->is_stopped = false;
            commit->is_held = false;
            if ((order.flags & SF_RESET_NO_STORE) != 0) commit->write.to_persist = NULL;
            commit->published = order.epoch;
            commit->is_untold = false;
            commit->epoch = (uint64_t)order.value;
            commit->generation = (uint32_t)order.value2;
            sfi_commit_epoch_clear(commit);
            sfi_commit_tell(commit, (struct sf_msg){.kind = SF_MSG_RESUMED});
            break;
        case SF_MSG_SESSION: on_session(commit, step, &order); break;
        case SF_MSG_RUN:
        case SF_MSG_RECORDS:
        case SF_MSG_OUT:
        case SF_MSG_BARRIER:
        case SF_MSG_CUT:
        case SF_MSG_CROSSED:
        case SF_MSG_WORK:
        case SF_MSG_COMMITTED:
        case SF_MSG_FAULT:
        case SF_MSG_STOPPED:
        case SF_MSG_RESUMED:
        case SF_MSG_FINISH:
        case SF_MSG_FIX:
        case SF_MSG_OWNER:
        case SF_MSG_PAUSE:
        case SF_MSG_TAKE:
        case SF_MSG_GIVE:
        case SF_MSG_GROW:
        case SF_MSG_GROWN: assert(false); break;
        default: assert(false); break;
        }
    }
    return false;
}
