/*
 * Consumer events: batches into buffers, what is known of lag (D6), pauses (D1), partitions in trouble (S7); and the
 * judgement of each record that becomes a head (T4, T5, P6).
 */
#include "core/ingest/task.h"
#include "core/ops/timestamp.h"
#include "core/text.h"

#define JANUARY_1970_END INT64_C(2678400000) /* ms; a time before it may be in seconds (T5) */

uint32_t sfi_find_partition(const struct sf_ingest *ingest, struct sf_tp tp)
{
    if (tp.topic >= ingest->topic_count) return UINT32_MAX;
    uint32_t first = ingest->topics[tp.topic].first, end = ingest->topics[tp.topic].end;
    uint32_t guess = first + (uint32_t)tp.partition; /* right where all partitions of the topic are ours */
    if (guess < end && ingest->partitions[guess].tp.partition == tp.partition) return guess;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        int32_t at = ingest->partitions[middle].tp.partition;
        if (at == tp.partition) return middle;
        if (at < tp.partition) first = middle + 1;
        else end = middle;
    }
    return UINT32_MAX;
}

void sfi_note_later(struct sf_ingest *ingest, uint32_t i)
{
    struct sfi_partition *p = &ingest->partitions[i];
    if (p->is_to_note) return;
    p->is_to_note = true;
    ingest->to_note[ingest->to_note_count] = i;
    ingest->to_note_count++;
}

void sfi_update_wait(struct sf_ingest *ingest, uint32_t i)
{
    const struct sfi_partition *p = &ingest->partitions[i];
    struct sf_wait_state state = {.is_empty = p->head == NULL && !p->is_taken,
                                  .is_idle = ingest->tracker.parts[i].is_idle && !p->is_touched,
                                  .is_lag_known = p->is_lag_known,
                                  .is_caught_up = p->is_caught_up};
    sf_wait_update(&ingest->wait, i, state, ingest->now);
}

static void set_lag(struct sf_ingest *ingest, uint32_t i, bool is_known, bool is_caught_up)
{
    struct sfi_partition *p = &ingest->partitions[i];
    p->is_lag_known = is_known;
    p->is_caught_up = is_caught_up;
    sf_tracker_lag(&ingest->tracker, i, is_known && !is_caught_up);
    sfi_update_wait(ingest, i);
    const struct sf_observer *observer = ingest->config.observer;
    if (observer != NULL && observer->lag != NULL) observer->lag(observer->ctx, p->tp, is_known, is_caught_up);
}

void sfi_resume(struct sf_ingest *ingest, uint32_t i)
{
    struct sfi_partition *p = &ingest->partitions[i];
    if (!p->is_paused || p->buffer.waiting > sfi_topology(ingest)->settings.buffered_records_max / 2) return;
    p->is_paused = false;
    sf_consumer_resume(ingest->consumer, p->tp);
    sfi_note_later(ingest, i);
}

static void pause_if_full(struct sf_ingest *ingest, uint32_t i)
{
    struct sfi_partition *p = &ingest->partitions[i];
    if (p->is_paused || p->buffer.waiting < sfi_topology(ingest)->settings.buffered_records_max) return;
    p->is_paused = true;
    sf_consumer_pause(ingest->consumer, p->tp);
    sfi_note_later(ingest, i);
}

/* At most once a minute per partition and kind (T4, P6). */
static bool may_warn(struct sf_ingest *ingest, struct sfi_partition *p, uint32_t kind)
{
    int64_t *warned = &p->warned_us[kind];
    if (*warned != 0 && ingest->now.us - *warned < SFI_MINUTE_US) return false;
    *warned = ingest->now.us;
    return true;
}

static void skip_record(struct sf_ingest *ingest, const struct sf_step *step, struct sfi_partition *p,
                        const struct sf_record *record, const struct sf_judgement *judgement)
{
    uint32_t i = sfi_index(ingest, p);
    enum sfi_warning warning = SFI_WARN_INVALID;
    enum sf_note_code code = SF_NOTE_INVALID_TIMESTAMP;
    if (judgement->reason == SF_DROP_FUTURE_TIMESTAMP) {
        warning = SFI_WARN_SKIPPED;
        code = SF_NOTE_FUTURE_TIMESTAMP;
    } else if (judgement->reason == SF_DROP_DESERIALIZATION) {
        warning = SFI_WARN_VALUE;
        code = SF_NOTE_BAD_VALUE;
    }
    if (may_warn(ingest, p, warning)) sf_note(step->notes, code, i, record->offset, judgement->ts_ms, 0, 0);
    ingest->counts[p->source].skipped[judgement->reason]++;
    ingest->records++;
    sfi_set_moved(ingest, i);
    const struct sf_observer *observer = ingest->config.observer;
    if (observer != NULL && observer->skipped != NULL)
        observer->skipped(observer->ctx, ingest->epoch, p->tp, record->offset, judgement->reason);
    sf_buffer_advance(&p->buffer, &ingest->held);
}

/* P6: what its partition's head far ahead of the wall clock will do. 0: event time follows the others; 1: stands still;
 * 2: nobody is behind it, the timestamps look wrong. */
static uint32_t future_case(const struct sf_ingest *ingest, uint32_t i, int64_t time)
{
    const struct sf_generator *generator = &ingest->tracker.parts[i].generator;
    if (!sf_generator_is_previewed(generator)) return 1;
    return sf_tracker_is_other_below(&ingest->tracker, i, sf_generator_with(generator, time)) ? 0 : 2;
}

static void warn_of_head(struct sf_ingest *ingest, const struct sf_step *step, struct sfi_partition *p)
{
    uint32_t i = sfi_index(ingest, p);
    if (sf_timestamp_unit(p->head_ts) != NULL && may_warn(ingest, p, SFI_WARN_SECONDS))
        sf_note(step->notes, SF_NOTE_SECONDS, i, p->head->offset, p->head_ts, 0, 0);
    int64_t ahead = p->head_ts - ingest->wall.ms;
    if (ahead <= 60000) return;
    uint32_t which = future_case(ingest, i, p->head_time);
    if (may_warn(ingest, p, SFI_WARN_FUTURE + which))
        sf_note(step->notes, SF_NOTE_FUTURE_HEAD, i, p->head->offset, p->head_ts, ahead, which);
}

void sfi_judge_head(struct sf_ingest *ingest, const struct sf_step *step, struct sfi_partition *p)
{
    const struct sf_generator *generator = &ingest->tracker.parts[sfi_index(ingest, p)].generator;
    const struct sf_judge *judge = &ingest->judges[p->source];
    const struct sf_record *record;
    p->head = NULL;
    while ((record = sf_buffer_next(&p->buffer)) != NULL) {
        struct sf_judgement judgement = sf_judge_record(judge, record, generator->time_max, ingest->wall.ms);
        if (judgement.verdict == SF_VERDICT_SKIP) {
            skip_record(ingest, step, p, record, &judgement);
            continue;
        }
        /* one that fails stays where it is: it is the next to be read, by whoever comes after us */
        p->head = record;
        p->head_ts = judgement.ts_ms;
        p->head_time = judgement.time;
        if (judgement.verdict == SF_VERDICT_FAIL) {
            sf_judge_explain(&judgement, sf_kafka_topic_name(ingest->config.kafka, p->tp.topic), p->tp.partition,
                             record->offset, &ingest->failure);
            sfi_fail(ingest, SF_E_CORRUPT, p->tp, record->offset);
        } else if (p->head_ts > ingest->wall.ms + 60000 || p->head_ts < JANUARY_1970_END) {
            warn_of_head(ingest, step, p);
        }
        return;
    }
}

static void take_batch(struct sf_ingest *ingest, const struct sf_step *step, uint32_t i, struct sf_batch *batch)
{
    struct sfi_partition *p = &ingest->partitions[i];
    const struct sf_observer *observer = ingest->config.observer;
    if (observer != NULL && observer->buffered != NULL) observer->buffered(observer->ctx, batch);
    p->position = batch->next_offset;
    bool is_known = batch->known_end != SF_OFFSET_UNKNOWN;
    bool is_caught_up = is_known && batch->known_end <= batch->next_offset;
    bool was_empty = p->head == NULL;
    ingest->arrivals++;
    sf_buffer_push(&p->buffer, &ingest->held, batch, ingest->arrivals);
    if (was_empty) sfi_judge_head(ingest, step, p);
    if (was_empty && p->head != NULL) {
        p->delivered_wall_ms = ingest->wall.ms;
        sf_tracker_reach(&ingest->tracker, i, p->head_time, ingest->now);
        sf_heap_put(&ingest->order, i, sfi_order_key(ingest, p));
    }
    set_lag(ingest, i, is_known, is_caught_up);
    pause_if_full(ingest, i);
}

static void caught_up(struct sf_ingest *ingest, uint32_t i, int64_t position)
{
    struct sfi_partition *p = &ingest->partitions[i];
    if (position > p->position) {
        p->position = position;
        if (p->head == NULL) sfi_set_moved(ingest, i); /* past control records (B13) */
    }
    set_lag(ingest, i, true, true);
}

/* The text of the failure, from "topic t partition 0" on. */
static void failure_begin(struct sf_ingest *ingest, const struct sfi_partition *p, struct sf_text *text)
{
    sf_text_init(text, ingest->failure.text, sizeof ingest->failure.text);
    sf_text_add(text, "topic ");
    sf_text_add(text, sf_kafka_topic_name(ingest->config.kafka, p->tp.topic));
    sf_text_add(text, " partition ");
    sf_text_add_int(text, p->tp.partition);
}

/* S7: a log that starts after our position; one that ends before it is never guessed at. */
static void out_of_range(struct sf_ingest *ingest, const struct sf_step *step, uint32_t i,
                         const struct sf_consumer_event *event)
{
    struct sfi_partition *p = &ingest->partitions[i];
    const struct sf_source_spec *source = &sfi_topology(ingest)->sources[p->source];
    if (source->on_missing_offset == SF_MISSING_LOG_START && event->position < event->log_start) {
        sf_note(step->notes, SF_NOTE_OFFSET_GAP, i, event->position, event->log_start, 0, 0);
        ingest->counts[p->source].gap += (uint64_t)(event->log_start - event->position);
        p->position = event->log_start;
        p->generation = sf_consumer_seek(ingest->consumer, p->tp, event->log_start);
        if (p->head == NULL) sfi_set_moved(ingest, i);
        set_lag(ingest, i, false, false);
        return;
    }
    struct sf_text text;
    failure_begin(ingest, p, &text);
    sf_text_add(&text, ": offset ");
    sf_text_add_int(&text, event->position);
    sf_text_add(&text, " is not in the log, which starts at ");
    sf_text_add_int(&text, event->log_start);
    sf_text_add(&text, " and ends at ");
    sf_text_add_int(&text, event->log_end);
    sfi_fail(ingest, SF_E_RANGE, p->tp, event->position);
}

static void availability(struct sf_ingest *ingest, const struct sf_step *step, uint32_t i,
                         const struct sf_consumer_event *event)
{
    struct sfi_partition *p = &ingest->partitions[i];
    if (sf_status_class(event->status) == SF_CLASS_FATAL) {
        struct sf_text text;
        failure_begin(ingest, p, &text);
        sf_text_add(&text, " cannot be read: ");
        sf_text_add(&text, event->text != NULL ? event->text : sf_status_text(event->status));
        sfi_fail(ingest, event->status, p->tp, p->position);
        return;
    }
    bool is_unavailable = event->status != SF_OK;
    if (is_unavailable == p->is_unavailable) return;
    p->is_unavailable = is_unavailable;
    sf_note(step->notes, is_unavailable ? SF_NOTE_UNAVAILABLE : SF_NOTE_AVAILABLE, i, 0, 0, 0, 0);
    set_lag(ingest, i, false, false); /* unknown until the next fetch answer (D6) */
}

static void consumer_failed(struct sf_ingest *ingest, const struct sf_consumer_event *event)
{
    struct sf_text text;
    sf_text_init(&text, ingest->failure.text, sizeof ingest->failure.text);
    sf_text_add(&text, "the source consumer failed: ");
    sf_text_add(&text, event->text != NULL ? event->text : sf_status_text(event->status));
    sfi_fail(ingest, event->status, (struct sf_tp){.topic = UINT32_MAX}, -1);
}

static uint32_t handle(struct sf_ingest *ingest, const struct sf_step *step, const struct sf_consumer_event *event)
{
    if (event->kind == SF_CONSUMER_FAILED) {
        consumer_failed(ingest, event);
        return 0;
    }
    assert(event->kind <= SF_CONSUMER_PARTITION); /* we are no member of a group */
    struct sf_tp tp = event->kind == SF_CONSUMER_BATCH ? event->batch->tp : event->tp;
    uint32_t generation = event->kind == SF_CONSUMER_BATCH ? event->batch->generation : event->generation;
    uint32_t i = sfi_find_partition(ingest, tp);
    bool is_stale = i == UINT32_MAX || ingest->partitions[i].is_taken ||
                    (event->kind != SF_CONSUMER_PARTITION && generation != ingest->partitions[i].generation);
    if (is_stale) {
        if (event->kind == SF_CONSUMER_BATCH) sf_consumer_release(ingest->consumer, event->batch);
        return 0;
    }
    if (event->kind == SF_CONSUMER_BATCH) {
        uint32_t count = event->batch->count;
        take_batch(ingest, step, i, event->batch);
        return count;
    }
    if (event->kind == SF_CONSUMER_CAUGHT_UP) caught_up(ingest, i, event->position);
    else if (event->kind == SF_CONSUMER_OUT_OF_RANGE) out_of_range(ingest, step, i, event);
    else availability(ingest, step, i, event);
    return 0;
}

uint32_t sfi_poll(struct sf_ingest *ingest, const struct sf_step *step, uint32_t budget, bool *is_cut_out)
{
    uint32_t records_max = sfi_topology(ingest)->settings.poll_records_max; /* D1 */
    uint32_t used = 0;
    ingest->is_drained = false;
    while (used < budget && ingest->poll_records + ingest->batch_records_max <= records_max && !ingest->has_failed &&
           sfi_has_note_room(step)) {
        struct sf_consumer_event event;
        if (sf_consumer_poll(ingest->consumer, &event, 1) == 0) {
            ingest->is_drained = true;
            ingest->must_poll = false;
            break;
        }
        ingest->poll_records += handle(ingest, step, &event);
        used++;
    }
    ingest->poll_units += used;
    bool is_full = ingest->poll_records + ingest->batch_records_max > records_max;
    *is_cut_out = used == budget && !ingest->is_drained && !is_full && ingest->poll_units < records_max;
    if (!*is_cut_out) ingest->poll_records = ingest->poll_units = 0;
    return used;
}
