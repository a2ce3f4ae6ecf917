/*
 * Trouble and how it ends: settle the producer first (abort, or a new session), look where a commit is in doubt (B11),
 * then either everything stands, or all tasks stop, fall back to the cut, and go on (B9, B12).
 */
#include "core/run/engine_impl.h"

static void fall_back_from(struct sf_engine *engine, enum sfi_recover recover)
{
    engine->recover = recover;
    if (engine->phase == SF_PHASE_RUNNING || engine->phase == SF_PHASE_FINISHING)
        engine->phase = SF_PHASE_FALLING_BACK;
    engine->is_finish_sent = false;
}

static void open_session(struct sf_engine *engine)
{
    fall_back_from(engine, SFI_RECOVER_SESSION);
    sfi_tell_commit(engine, (struct sf_msg){.kind = SF_MSG_SESSION, .flags = SF_SESSION_OPEN});
}

static void stop_all(struct sf_engine *engine, const struct sf_step *step)
{
    fall_back_from(engine, SFI_RECOVER_STOP);
    engine->stopped_count = 0;
    engine->deadline = sf_mono_add(step->now, engine->config.topology->settings.barrier_timeout_ms * 1000);
    sfi_tell_all(engine, &(struct sf_msg){.kind = SF_MSG_STOP});
}

static uint32_t task_count(const struct sf_engine *engine)
{
    return (engine->is_commit_spawned ? 1u : 0u) + (engine->is_running_spawned ? 1u + engine->lane_total : 0u) +
           (engine->persist != NULL ? 1u : 0u);
}

static void on_record(struct sf_engine *engine, const struct sf_step *step, const struct sf_msg *msg)
{
    const struct sf_failure *failure = msg->ptr;
    sfi_end(engine, step, SF_END_FAILED, (enum sf_status)msg->value, failure->text);
}

/* What goes wrong with the producer while it is being opened or aborted is the answer to that order. Later it is a new
 * session's end: one that only reads the stamp (B11) needs another, whose opening settles nothing more; one that stops
 * and resets has every task half-way, and begins again when they all go on. */
static void trouble_on_trouble(struct sf_engine *engine)
{
    if (engine->recover == SFI_RECOVER_LOOK) {
        if (engine->is_reader_open) sf_log_reader_close(&engine->reader);
        engine->is_reader_open = false;
        open_session(engine);
    } else if (engine->recover == SFI_RECOVER_STOP || engine->recover == SFI_RECOVER_RESET) {
        engine->is_session_owed = true;
    }
}

void sfi_on_trouble(struct sf_engine *engine, const struct sf_step *step, const struct sf_msg *msg)
{
    enum sf_status status = (enum sf_status)msg->value;
    const char *text = msg->ptr;
    if (engine->is_ending) return;
    if (msg->value2 == SF_TROUBLE_RECORD) {
        on_record(engine, step, msg);
        return;
    }
    if (msg->value2 == SF_TROUBLE_OWNERSHIP) {
        bool is_fenced = sf_status_class(status) == SF_CLASS_FENCED;
        sfi_end(engine, step, is_fenced ? SF_END_FENCED : SF_END_FAILED, status, text);
        return;
    }
    if (sf_status_class(status) == SF_CLASS_FATAL) {
        sfi_end(engine, step, SF_END_FAILED, status, text);
        return;
    }
    if (engine->recover != SFI_RECOVER_NONE) {
        trouble_on_trouble(engine);
        return;
    }
    if (engine->start != SFI_START_DONE) { /* nothing runs that could fall back */
        open_session(engine);
        return;
    }
    engine->next_epoch = msg->epoch + 1;
    if (msg->value2 == SF_TROUBLE_SESSION) {
        engine->is_in_doubt = msg->flags != 0;
        engine->doubt_epoch = msg->epoch;
        if (engine->is_in_doubt)
            sf_note(step->notes, SF_NOTE_IN_DOUBT, SF_SUBJECT_NONE, (int64_t)msg->epoch, 0, 0, 0);
        else
            engine->transactions_lost++;
        open_session(engine);
        return;
    }
    fall_back_from(engine, SFI_RECOVER_ABORT);
    sfi_tell_commit(engine, (struct sf_msg){.kind = SF_MSG_SESSION, .flags = SF_SESSION_ABORT});
}

static void session_is_open(struct sf_engine *engine, const struct sf_step *step)
{
    if (engine->start == SFI_START_SESSION) {
        sfi_start_next(engine, SFI_START_STABLE);
        return;
    }
    if (engine->start != SFI_START_DONE) {
        engine->recover = SFI_RECOVER_NONE;
        return;
    }
    if (engine->recover == SFI_RECOVER_SESSION && engine->is_in_doubt) {
        engine->recover = SFI_RECOVER_LOOK;
        engine->is_asked = false;
        return;
    }
    if (engine->recover == SFI_RECOVER_SESSION || engine->recover == SFI_RECOVER_ABORT) stop_all(engine, step);
}

void sfi_on_session(struct sf_engine *engine, const struct sf_step *step, const struct sf_msg *msg)
{
    enum sf_status status = (enum sf_status)msg->value;
    if (engine->is_ending) return;
    if (engine->start == SFI_START_JOIN) { /* joined, or cannot */
        if (status != SF_OK) sfi_end(engine, step, SF_END_FAILED, status, msg->ptr);
        return;
    }
    if (status == SF_OK) {
        session_is_open(engine, step);
        return;
    }
    if (sf_status_class(status) == SF_CLASS_FATAL) {
        sfi_end(engine, step, SF_END_FAILED, status, msg->ptr);
        return;
    }
    /* fenced or lost while still owner: the session of an owner that is gone, or a time-out (B14); open another */
    if (engine->recover == SFI_RECOVER_ABORT) engine->transactions_lost++;
    if (engine->start == SFI_START_SESSION)
        sfi_tell_commit(engine, (struct sf_msg){.kind = SF_MSG_SESSION, .flags = SF_SESSION_OPEN});
    else
        open_session(engine);
}

void sfi_on_stopped(struct sf_engine *engine, const struct sf_step *step, const struct sf_msg *msg)
{
    /* an answer to a stop before the last one tells nothing of tasks that are to be done */
    if (engine->is_ending && (msg->flags & SF_STOP_FOR_GOOD) == 0) return;
    engine->stopped_count++;
    if (msg->epoch > engine->committed) engine->committed = msg->epoch; /* commit's answer */
    if (engine->is_ending || engine->recover != SFI_RECOVER_STOP || engine->stopped_count < task_count(engine)) return;
    engine->generation++;
    engine->resumed_count = 0;
    engine->resumed_wanted = task_count(engine);
    engine->recover = SFI_RECOVER_RESET;
    sf_note(step->notes, SF_NOTE_FELL_BACK, SF_SUBJECT_NONE, (int64_t)engine->committed,
            (int64_t)engine->next_epoch, 0, 0);
    if (engine->config.observer != NULL && engine->config.observer->fell_back != NULL)
        engine->config.observer->fell_back(engine->config.observer->ctx, engine->committed);
    sfi_tell_all(engine, &(struct sf_msg){.kind = SF_MSG_RESET,
                                          .epoch = engine->committed,
                                          .value = (int64_t)engine->next_epoch,
                                          .value2 = engine->generation});
}

void sfi_on_resumed(struct sf_engine *engine, const struct sf_step *step)
{
    (void)step;
    engine->resumed_count++;
    if (engine->is_ending || engine->recover != SFI_RECOVER_RESET) return;
    if (engine->resumed_count < engine->resumed_wanted) return;
    engine->recover = SFI_RECOVER_NONE;
    engine->phase = SF_PHASE_RUNNING;
    engine->is_in_doubt = false;
    if (!engine->is_session_owed) return;
    engine->is_session_owed = false;
    engine->next_epoch++;
    engine->transactions_lost++;
    open_session(engine);
}

/* The newest committed stamp says whether the epoch in doubt is durable: same incarnation, same epoch (B11). */
static bool look(struct sf_engine *engine, const struct sf_step *step)
{
    enum sf_status status = SF_OK;
    if (!engine->is_asked) {
        engine->is_asked = true;
        status = sfi_stamp_open(engine);
    } else {
        status = sfi_stamp_poll(engine);
    }
    if (status == SF_OK) return false;
    if (status != SF_END) {
        sfi_end(engine, step, SF_END_FAILED, status, engine->error.text);
        return true;
    }
    bool is_committed = engine->has_stamp && engine->stamp_incarnation == engine->config.incarnation &&
                        engine->stamp_epoch == engine->doubt_epoch;
    sf_note(step->notes, SF_NOTE_SETTLED, SF_SUBJECT_NONE, (int64_t)engine->doubt_epoch, is_committed, 0, 0);
    engine->is_in_doubt = false;
    if (!is_committed) {
        engine->transactions_lost++;
        stop_all(engine, step);
        return true;
    }
    /* nothing falls back: what runs has sent nothing (B7) and stands */
    struct sf_msg publish = {.kind = SF_MSG_SESSION, .flags = SF_SESSION_COMMITTED, .epoch = engine->doubt_epoch};
    sfi_tell_commit(engine, publish);
    engine->recover = SFI_RECOVER_NONE;
    engine->phase = SF_PHASE_RUNNING;
    return true;
}

bool sfi_recover_step(struct sf_engine *engine, const struct sf_step *step)
{
    if (engine->recover == SFI_RECOVER_LOOK) return look(engine, step);
    if (engine->recover == SFI_RECOVER_STOP && sf_mono_elapsed_us(engine->deadline, step->now) > 0) {
        sfi_end(engine, step, SF_END_STUCK, SF_E_TIMEOUT, "a task did not stop within the barrier time-out");
        return true;
    }
    return false;
}
