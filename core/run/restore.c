#include "core/run/restore.h"

#include "core/bytes.h"
#include "core/hash.h"
#include "core/note.h"
#include "core/state/changelog.h"
#include "core/state/local_layout.h"
#include "core/state/packed.h"
#include "core/text.h"

#define BATCH_RECORDS 4096u
#define FETCH_BYTES (16u * 1024u * 1024u)

enum phase { PHASE_POSITIONS, PHASE_LOCAL, PHASE_OPEN, PHASE_REPLAY, PHASE_DONE, PHASE_FAILED };

struct log_state {
    int64_t stored;   /* position found in the local store */
    int64_t position; /* replayed up to here */
    bool is_lost;     /* the log can no longer serve `stored` */
    bool is_through;
};

struct sf_restore {
    struct sf_restore_config config;
    struct sf_restore_log *logs;
    struct log_state *states;
    enum phase phase;
    uint32_t at; /* positions: the next log to look at */
    struct sf_error error;
    bool is_local_damaged;
    uint64_t rows;
    uint32_t left;

    uint8_t *cursor; /* local scan: the first key that it has not seen */
    uint32_t cursor_len;
    uint8_t *row_key; /* a local row's key as the changelog has it */

    struct sf_consumer consumer;
    bool is_open;
    struct sf_batch *batch; /* at hand */
    uint32_t batch_at;
    uint32_t batch_log;
    uint32_t log_last; /* of the last event */
};

struct sf_restore *sf_restore_new(const struct sf_restore_config *config)
{
    assert((config->writer == NULL) == (config->store.ops == NULL));
    struct sf_restore *restore = sf_calloc(config->alloc, 1, sizeof *restore);
    restore->config = *config;
    restore->logs = sf_calloc(config->alloc, config->log_count, sizeof *restore->logs);
    restore->states = sf_calloc(config->alloc, config->log_count, sizeof *restore->states);
    for (uint32_t i = 0; i < config->log_count; i++) {
        assert(config->logs[i].log_start <= config->logs[i].log_end);
        restore->logs[i] = config->logs[i];
        restore->states[i] = (struct log_state){.stored = SF_OFFSET_UNKNOWN, .position = config->logs[i].log_start};
    }
    restore->left = config->log_count;
    restore->cursor = sf_malloc(config->alloc, SF_STORE_KEY_BYTES_MAX + 1);
    restore->row_key = sf_malloc(config->alloc, SF_STORE_KEY_BYTES_MAX + SF_ROW_KEY_TAIL_BYTES);
    return restore;
}

static void close_consumer(struct sf_restore *restore)
{
    if (restore->batch != NULL) sf_consumer_release(restore->consumer, restore->batch);
    restore->batch = NULL;
    if (restore->is_open) sf_consumer_close(restore->consumer);
    restore->is_open = false;
}

void sf_restore_destroy(struct sf_restore *restore)
{
    if (restore == NULL) return;
    struct sf_alloc alloc = restore->config.alloc;
    close_consumer(restore);
    sf_cfree(alloc, restore->logs, restore->config.log_count, sizeof *restore->logs);
    sf_cfree(alloc, restore->states, restore->config.log_count, sizeof *restore->states);
    sf_free(alloc, restore->cursor, SF_STORE_KEY_BYTES_MAX + 1);
    sf_free(alloc, restore->row_key, SF_STORE_KEY_BYTES_MAX + SF_ROW_KEY_TAIL_BYTES);
    sf_cfree(alloc, restore, 1, sizeof *restore);
}

/* ------------------------------------------------------------------ failing */

/* "topic/partition offset n: reason" */
static void fail_at(struct sf_restore *restore, enum sf_status status, struct sf_tp tp, int64_t offset,
                    const char *reason)
{
    struct sf_text text;
    sf_text_init(&text, restore->error.text, sizeof restore->error.text);
    sf_text_add(&text, sf_kafka_topic_name(restore->config.kafka, tp.topic));
    sf_text_add(&text, "/");
    sf_text_add_int(&text, tp.partition);
    sf_text_add(&text, " offset ");
    sf_text_add_int(&text, offset);
    sf_text_add(&text, ": ");
    sf_text_add(&text, reason);
    restore->error.status = status;
    restore->phase = PHASE_FAILED;
}

static void fail_whole(struct sf_restore *restore, enum sf_status status, const char *where, const char *reason)
{
    struct sf_text text;
    sf_text_init(&text, restore->error.text, sizeof restore->error.text);
    sf_text_add(&text, where);
    sf_text_add(&text, reason);
    restore->error.status = status;
    restore->phase = PHASE_FAILED;
}

static void fail_local(struct sf_restore *restore, enum sf_status status, const char *reason)
{
    fail_whole(restore, status, "local store: ", reason);
    restore->is_local_damaged = true;
}

/* ------------------------------------------------------------------ positions */

static bool is_wiped(const struct sf_restore *restore, uint32_t store)
{
    for (uint32_t i = 0; i < restore->config.log_count; i++)
        if (restore->logs[i].store == store && restore->states[i].is_lost) return true;
    return false;
}

/* K8: a store with one log that cannot serve its position starts anew, from the start of all its logs. */
static void settle_positions(struct sf_restore *restore)
{
    struct sf_local_writer *writer = restore->config.writer;
    for (uint32_t i = 0; i < restore->config.log_count; i++) {
        struct log_state *state = &restore->states[i];
        if (is_wiped(restore, restore->logs[i].store)) {
            sf_local_writer_wipe(writer, restore->logs[i].store);
            sf_local_writer_position(writer, i, SF_OFFSET_UNKNOWN);
        } else if (state->stored != SF_OFFSET_UNKNOWN) {
            state->position = state->stored;
        }
    }
    restore->phase = PHASE_LOCAL;
}

static uint32_t positions_step(struct sf_restore *restore, const struct sf_step *step)
{
    uint32_t used = 0;
    while (restore->at < restore->config.log_count) {
        if (used == step->budget || !sf_notes_has_room(step->notes, 1)) return used;
        const struct sf_restore_log *log = &restore->logs[restore->at];
        struct log_state *state = &restore->states[restore->at];
        const char *topic = sf_kafka_topic_name(restore->config.kafka, log->tp.topic);
        enum sf_status status =
            sf_local_position_get(restore->config.store, topic, log->tp.partition, &state->stored);
        if (status != SF_OK) {
            fail_local(restore, status, "a stored position cannot be read");
            return used;
        }
        if (state->stored != SF_OFFSET_UNKNOWN && (state->stored < log->log_start || state->stored > log->log_end)) {
            state->is_lost = true;
            sf_note(step->notes, SF_NOTE_STORE_TRUNCATED, SF_SUBJECT_NONE, state->stored, log->log_start,
                    log->tp.topic, log->tp.partition);
        }
        restore->at++;
        used++;
    }
    settle_positions(restore);
    return used;
}

/* ------------------------------------------------------------------ local rows */

static bool has_store(const struct sf_restore *restore, uint32_t store)
{
    for (uint32_t i = 0; i < restore->config.log_count; i++)
        if (restore->logs[i].store == store) return true;
    return false;
}

static struct sf_restored row_of(struct sf_restore *restore, const struct sf_local_row *row,
                                 struct sf_store_slice value)
{
    static const uint8_t empty[1];
    uint32_t len = sf_row_key_write(restore->row_key, row->record_key.data, row->record_key.len, row->start);
    return (struct sf_restored){.kind = SF_RESTORED_LOCAL_ROW,
                                .store = row->store,
                                .hash = sf_hash64(row->record_key.data, row->record_key.len),
                                .key = {.data = restore->row_key, .len = len},
                                .value = {.data = value.len > 0 ? value.data : empty, .len = value.len}};
}

static struct sf_restored trace_of(const struct sf_local_row *row, struct sf_store_slice value)
{
    return (struct sf_restored){.kind = SF_RESTORED_TRACE,
                                .store = row->store,
                                .hash = row->group,
                                .packed_key = row->packed_key,
                                .entry_count = value.len == SF_LOCAL_TRACE_BYTES ? sf_get_be32(value.data) : 0};
}

static bool take_local(struct sf_restore *restore, struct sf_store_slice key, struct sf_store_slice value)
{
    struct sf_local_row row;
    if (!sf_local_row_key_read(key, &row) || !has_store(restore, row.store)) {
        fail_local(restore, SF_E_CORRUPT, "a key that is no row's");
        return false;
    }
    if (is_wiped(restore, row.store)) return true;
    struct sf_restored restored = row.is_trace ? trace_of(&row, value) : row_of(restore, &row, value);
    const char *reason = "a trace that is no count";
    enum sf_status status = SF_E_CORRUPT;
    if (!row.is_trace || value.len == SF_LOCAL_TRACE_BYTES)
        status = restore->config.sink(restore->config.sink_ctx, &restored, &reason);
    if (status != SF_OK) {
        fail_local(restore, status, reason);
        return false;
    }
    sf_local_writer_found(restore->config.writer, row.store, row.start);
    if (!row.is_trace) restore->rows++;
    return true;
}

/* Rows of one step, by an iterator that lives as long as the step. */
static uint32_t local_step(struct sf_restore *restore, uint32_t budget)
{
    static const uint8_t meta[2] = {0xff, 0xff};
    struct sf_store_range range = {.from = {.data = restore->cursor, .len = restore->cursor_len},
                                   .until = {.data = meta, .len = sizeof meta}};
    struct sf_store_iter iter;
    enum sf_status status = sf_store_iter_open(restore->config.store, &range, &iter);
    if (status != SF_OK) {
        fail_local(restore, status, "its rows cannot be read");
        return 0;
    }
    uint32_t used = 0;
    struct sf_store_slice key, value;
    while (used < budget) {
        status = sf_store_iter_next(iter, &key, &value);
        if (status != SF_OK || !take_local(restore, key, value)) break;
        used++;
        /* the least key behind this one: itself and a zero byte */
        memcpy(restore->cursor, key.data, key.len);
        restore->cursor[key.len] = 0;
        restore->cursor_len = key.len + 1;
    }
    sf_store_iter_close(iter);
    if (restore->phase == PHASE_FAILED) return used;
    if (status == SF_END) {
        restore->phase = PHASE_OPEN;
    } else if (status != SF_OK) {
        fail_local(restore, status, "its rows cannot be read");
    }
    return used;
}

/* ------------------------------------------------------------------ replay */

static void through(struct sf_restore *restore, uint32_t log)
{
    struct log_state *state = &restore->states[log];
    if (state->is_through || state->position < restore->logs[log].log_end) return;
    state->is_through = true;
    restore->left--;
    if (restore->is_open) sf_consumer_remove(restore->consumer, restore->logs[log].tp);
}

static void move_position(struct sf_restore *restore, uint32_t log, int64_t position)
{
    struct log_state *state = &restore->states[log];
    if (position > state->position) state->position = position;
    if (restore->config.writer != NULL) sf_local_writer_position(restore->config.writer, log, state->position);
    through(restore, log);
}

static void open_consumer(struct sf_restore *restore)
{
    const struct sf_restore_config *config = &restore->config;
    restore->phase = PHASE_REPLAY;
    for (uint32_t i = 0; i < config->log_count; i++)
        if (restore->states[i].position >= restore->logs[i].log_end)
            move_position(restore, i, restore->logs[i].log_end);
    if (restore->left == 0) return;
    struct sf_consumer_config consumer = {.group = config->group,
                                          .purpose = "restore",
                                          .is_read_committed = true,
                                          .batch_records_max = BATCH_RECORDS,
                                          .fetch_bytes_max = FETCH_BYTES,
                                          .waker = config->waker};
    enum sf_status status = sf_kafka_consumer_open(config->kafka, &consumer, &restore->consumer, &restore->error);
    if (status != SF_OK) {
        restore->error.status = status;
        restore->phase = PHASE_FAILED;
        return;
    }
    restore->is_open = true;
    for (uint32_t i = 0; i < config->log_count; i++)
        if (!restore->states[i].is_through)
            (void)sf_consumer_add(restore->consumer, restore->logs[i].tp, restore->states[i].position);
}

/* Once per event, and events of one log come in runs. */
static uint32_t log_of(struct sf_restore *restore, struct sf_tp tp)
{
    uint32_t count = restore->config.log_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (restore->log_last + i) % count;
        struct sf_tp log = restore->logs[at].tp;
        if (log.topic != tp.topic || log.partition != tp.partition) continue;
        restore->log_last = at;
        return at;
    }
    assert(false); /* a consumer tells of what it was given */
    return 0;
}

/* Which lane a record of either format belongs to. */
static enum sf_status hash_of(const struct sf_restore_log *log, struct sf_slice key, uint64_t *hash_out,
                              const char **reason_out)
{
    if (log->is_packed) {
        struct sf_packed_key packed;
        enum sf_status status = sf_packed_key_read(key, &packed, reason_out);
        if (status == SF_OK) *hash_out = packed.group;
        return status;
    }
    struct sf_row_key row;
    enum sf_status status = sf_row_key_read(key, 1, &row, reason_out);
    if (status == SF_OK) *hash_out = sf_hash64(row.record_key.data, row.record_key.len);
    return status;
}

/* The writer gets what the sink has found good. */
static bool take_record(struct sf_restore *restore, const struct sf_record *record)
{
    const struct sf_restore_log *log = &restore->logs[restore->batch_log];
    struct sf_restored restored = {
        .kind = SF_RESTORED_RECORD, .store = log->store, .key = record->key, .value = record->value};
    const char *reason = "";
    enum sf_status status = hash_of(log, record->key, &restored.hash, &reason);
    if (status == SF_OK) status = restore->config.sink(restore->config.sink_ctx, &restored, &reason);
    if (status == SF_OK && restore->config.writer != NULL)
        status = sf_local_writer_record(restore->config.writer, log->store, log->is_packed, record->key,
                                        record->value, &reason);
    if (status != SF_OK) {
        fail_at(restore, status, log->tp, record->offset, reason);
        return false;
    }
    restore->rows++;
    return true;
}

static void on_event(struct sf_restore *restore, const struct sf_consumer_event *event)
{
    switch (event->kind) {
    case SF_CONSUMER_BATCH:
        restore->batch = event->batch;
        restore->batch_at = 0;
        restore->batch_log = log_of(restore, event->batch->tp);
        break;
    case SF_CONSUMER_CAUGHT_UP:
        move_position(restore, log_of(restore, event->tp), event->position);
        break;
    case SF_CONSUMER_OUT_OF_RANGE:
        fail_at(restore, SF_E_RANGE, event->tp, event->position, "the changelog was truncated while it was restored");
        break;
    case SF_CONSUMER_PARTITION:
        if (sf_status_class(event->status) == SF_CLASS_FATAL)
            fail_at(restore, event->status, event->tp, restore->states[log_of(restore, event->tp)].position,
                    event->text != NULL ? event->text : sf_status_text(event->status));
        break;
    case SF_CONSUMER_FAILED:
        fail_whole(restore, event->status, "restore: ",
                   event->text != NULL ? event->text : sf_status_text(event->status));
        break;
    case SF_CONSUMER_GRANTED:
    case SF_CONSUMER_CONFIRMED:
    case SF_CONSUMER_REVOKING:
    case SF_CONSUMER_REVOKED:
        break; /* members only */
    }
}

/* Between two batches every log's position is true for all that was put: the place for a cut. */
static bool writer_step(struct sf_restore *restore, uint32_t budget, uint32_t *used)
{
    struct sf_local_writer *writer = restore->config.writer;
    if (writer == NULL) return true;
    uint64_t tag;
    while (sf_local_writer_poll(writer, &tag)) {}
    if (sf_local_writer_is_due(writer)) (void)sf_local_writer_cut(writer, 0);
    *used += sf_local_writer_step(writer, budget - *used);
    return *used < budget && !sf_local_writer_is_full(writer);
}

static uint32_t replay_step(struct sf_restore *restore, uint32_t budget)
{
    uint32_t used = 0;
    while (restore->phase == PHASE_REPLAY && restore->left > 0 && used < budget) {
        if (restore->batch == NULL) {
            struct sf_consumer_event event;
            if (!writer_step(restore, budget, &used)) break;
            if (sf_consumer_poll(restore->consumer, &event, 1) == 0) break;
            used++;
            on_event(restore, &event);
            continue;
        }
        struct sf_batch *batch = restore->batch;
        while (used < budget && restore->batch_at < batch->count) {
            if (!take_record(restore, &batch->records[restore->batch_at])) return used;
            restore->batch_at++;
            used++;
        }
        if (restore->batch_at < batch->count) break;
        int64_t next = batch->next_offset;
        sf_consumer_release(restore->consumer, batch);
        restore->batch = NULL;
        move_position(restore, restore->batch_log, next);
    }
    if (restore->phase == PHASE_REPLAY && restore->left == 0) {
        close_consumer(restore);
        restore->phase = PHASE_DONE;
    }
    return used;
}

enum sf_restore_state sf_restore_step(struct sf_restore *restore, const struct sf_step *step, uint32_t *used_out)
{
    uint32_t used = 0;
    bool has_store = restore->config.writer != NULL;
    if (restore->phase == PHASE_POSITIONS && !has_store) restore->phase = PHASE_OPEN;
    if (restore->phase == PHASE_POSITIONS) used = positions_step(restore, step);
    if (restore->phase == PHASE_LOCAL && used < step->budget) used += local_step(restore, step->budget - used);
    if (restore->phase == PHASE_OPEN) open_consumer(restore);
    if (restore->phase == PHASE_REPLAY && used < step->budget) used += replay_step(restore, step->budget - used);
    if (restore->phase == PHASE_FAILED) close_consumer(restore);
    *used_out = used;
    if (restore->phase == PHASE_DONE) return SF_RESTORE_DONE;
    return restore->phase == PHASE_FAILED ? SF_RESTORE_FAILED : SF_RESTORE_RUNNING;
}

const struct sf_error *sf_restore_error(const struct sf_restore *restore)
{
    return &restore->error;
}

bool sf_restore_is_local_damaged(const struct sf_restore *restore)
{
    return restore->is_local_damaged;
}

uint64_t sf_restore_rows(const struct sf_restore *restore)
{
    return restore->rows;
}

uint32_t sf_restore_logs_left(const struct sf_restore *restore)
{
    return restore->left;
}

bool sf_restore_holder(const struct sf_restore *restore, struct sf_tp *tp_out, int64_t *position_out,
                       int64_t *end_out)
{
    for (uint32_t i = 0; i < restore->config.log_count; i++) {
        if (restore->states[i].is_through) continue;
        *tp_out = restore->logs[i].tp;
        *position_out = restore->states[i].position;
        *end_out = restore->logs[i].log_end;
        return true;
    }
    return false;
}
