#include "sim/kafka_log.h"

#include "sim/kafka_broker.h"

#define PLAIN_RECORDS_MIN 16u /* of a chunk that grows by single appends */

struct sfi_log *sfi_log_new(struct sf_sim_kafka *broker, struct sf_tp tp)
{
    struct sfi_log *log = sf_malloc(broker->alloc, sizeof *log);
    *log = (struct sfi_log){.broker = broker, .tp = tp};
    return log;
}

void sfi_log_free(struct sfi_log *log)
{
    struct sf_alloc alloc = log->broker->alloc;
    for (uint32_t i = log->first; i < log->first + log->count; i++) sfi_chunk_unpin(alloc, log->chunks[i]);
    for (uint32_t i = 0; i < log->open_count; i++) sfi_txn_unref(alloc, log->opens[i].txn);
    sf_free(alloc, log->chunks, log->cap * sizeof(struct sfi_chunk *));
    sf_free(alloc, log->opens, log->open_cap * sizeof *log->opens);
    sf_free(alloc, log->writers, log->writer_cap * sizeof *log->writers);
    sf_free(alloc, log, sizeof *log);
}

/* ---------------------------------------------------------------- waiters */

void sfi_log_wait(struct sfi_log *log, struct sfi_waiter *waiter)
{
    assert(!waiter->is_linked);
    waiter->is_linked = true;
    waiter->next = NULL;
    waiter->prev = log->waiter_tail;
    if (log->waiter_tail != NULL)
        log->waiter_tail->next = waiter;
    else
        log->waiter_head = waiter;
    log->waiter_tail = waiter;
}

void sfi_log_unwait(struct sfi_log *log, struct sfi_waiter *waiter)
{
    if (!waiter->is_linked) return;
    waiter->is_linked = false;
    if (waiter->prev != NULL)
        waiter->prev->next = waiter->next;
    else
        log->waiter_head = waiter->next;
    if (waiter->next != NULL)
        waiter->next->prev = waiter->prev;
    else
        log->waiter_tail = waiter->prev;
}

void sfi_log_wake(struct sfi_log *log)
{
    for (struct sfi_waiter *waiter = log->waiter_head; waiter != NULL;) {
        struct sfi_waiter *next = waiter->next;
        waiter->wake(waiter);
        waiter = next;
    }
}

/* ---------------------------------------------------------------- appends */

static void chunks_push(struct sfi_log *log, struct sfi_chunk *chunk)
{
    struct sf_alloc alloc = log->broker->alloc;
    if (log->first + log->count == log->cap) {
        if (log->first > log->cap / 2) {
            memmove(log->chunks, log->chunks + log->first, log->count * sizeof(struct sfi_chunk *));
            log->first = 0;
        } else {
            uint32_t cap = log->cap == 0 ? 16 : log->cap * 2;
            log->chunks = sf_regrow(alloc, log->chunks, log->cap * sizeof(struct sfi_chunk *),
                                    (log->first + log->count) * sizeof(struct sfi_chunk *),
                                    cap * sizeof(struct sfi_chunk *));
            log->cap = cap;
        }
    }
    log->chunks[log->first + log->count++] = chunk;
}

static void opens_add(struct sfi_log *log, struct sfi_txn *txn, int64_t offset)
{
    if (log->open_count == log->open_cap) {
        uint32_t cap = log->open_cap == 0 ? 4 : log->open_cap * 2;
        log->opens = sf_regrow(log->broker->alloc, log->opens, log->open_cap * sizeof *log->opens,
                               log->open_count * sizeof *log->opens, cap * sizeof *log->opens);
        log->open_cap = cap;
    }
    sfi_txn_ref(txn);
    log->opens[log->open_count++] = (struct sfi_open){.txn = txn, .first_offset = offset};
}

static void stamp(struct sfi_log *log, struct sfi_chunk *chunk, uint32_t first)
{
    int64_t now_ms = sf_sim_world_wall_ms(log->broker->world);
    for (uint32_t i = first; i < chunk->count; i++) {
        chunk->records[i].ts_ms = now_ms;
        chunk->records[i].ts_kind = SF_TS_APPEND;
    }
    if (now_ms > chunk->ts_max_ms) chunk->ts_max_ms = now_ms;
}

static void observe_append(const struct sfi_log *log, const struct sfi_chunk *chunk, uint32_t first)
{
    const struct sf_sim_kafka_observer *observer = log->broker->observer;
    if (observer == NULL || observer->appended == NULL || chunk->count == first) return;
    observer->appended(observer->ctx, log->tp, &chunk->records[first], chunk->count - first, chunk->producer_id,
                       chunk->producer_epoch, chunk->txn != NULL ? chunk->txn->serial : 0);
}

int64_t sfi_log_append(struct sfi_log *log, struct sfi_chunk *chunk)
{
    int64_t base = log->end;
    chunk->base_offset = base;
    for (uint32_t i = 0; i < chunk->count; i++) chunk->records[i].offset = base + i;
    chunk->next_offset = base + (chunk->is_control ? 1 : (int64_t)chunk->count);
    assert(chunk->next_offset > base);
    if (log->is_append_time && !chunk->is_control) stamp(log, chunk, 0);
    if (chunk->txn != NULL && !chunk->is_control && sfi_log_open_of(log, chunk->txn->producer_id) == NULL)
        opens_add(log, chunk->txn, base);
    chunks_push(log, chunk);
    log->end = chunk->next_offset;
    log->is_tail_open = false;
    observe_append(log, chunk, 0);
    sfi_log_wake(log);
    return base;
}

int64_t sfi_log_append_plain(struct sfi_log *log, const struct sf_out *records, uint32_t count)
{
    int64_t base = log->end;
    struct sfi_chunk *tail = log->is_tail_open ? log->chunks[log->first + log->count - 1] : NULL;
    for (uint32_t i = 0; i < count;) {
        uint32_t before = tail != NULL ? tail->count : 0;
        while (i < count && tail != NULL && sfi_chunk_add(tail, &records[i])) {
            tail->records[tail->count - 1].offset = log->end++;
            i++;
        }
        if (tail != NULL && tail->count > before) {
            tail->next_offset = log->end;
            if (log->is_append_time) stamp(log, tail, before);
            observe_append(log, tail, before);
        }
        if (i == count) break;
        tail = sfi_chunk_new_for(log->broker->alloc, tail, PLAIN_RECORDS_MIN, &records[i], count - i);
        tail->base_offset = log->end;
        chunks_push(log, tail);
        log->is_tail_open = true;
    }
    sfi_log_wake(log);
    return base;
}

void sfi_log_mark(struct sfi_log *log, struct sfi_txn *txn, bool is_commit, int32_t producer_epoch)
{
    struct sf_alloc alloc = log->broker->alloc;
    struct sfi_chunk *chunk = sfi_chunk_new(alloc, 0, 0);
    chunk->is_control = true;
    chunk->is_commit = is_commit;
    chunk->producer_id = txn->producer_id;
    chunk->producer_epoch = producer_epoch;
    chunk->txn = txn;
    sfi_txn_ref(txn);
    struct sfi_open *open = sfi_log_open_of(log, txn->producer_id);
    if (open != NULL) {
        uint32_t index = (uint32_t)(open - log->opens);
        if (open->txn != txn) open->txn->state = is_commit ? SF_SIM_KAFKA_COMMITTED : SF_SIM_KAFKA_ABORTED; /* hung */
        sfi_txn_unref(alloc, open->txn);
        memmove(open, open + 1, (log->open_count - index - 1) * sizeof *open);
        log->open_count--;
    }
    struct sfi_writer *writer = sfi_log_writer(log, txn->producer_id);
    if (producer_epoch > writer->producer_epoch) {
        writer->producer_epoch = producer_epoch;
        writer->request = 0;
    }
    int64_t offset = sfi_log_append(log, chunk);
    const struct sf_sim_kafka_observer *observer = log->broker->observer;
    if (observer != NULL && observer->marked != NULL)
        observer->marked(observer->ctx, log->tp, offset, txn->serial, is_commit);
}

/* ---------------------------------------------------------------- look-up */

uint32_t sfi_log_find(const struct sfi_log *log, int64_t offset)
{
    uint32_t low = log->first, high = log->first + log->count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (log->chunks[mid]->next_offset <= offset)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

uint32_t sfi_chunk_find(const struct sfi_chunk *chunk, int64_t offset)
{
    if (offset <= chunk->base_offset || chunk->count == 0) return 0;
    int64_t guess = offset - chunk->base_offset;
    if (guess < chunk->count && chunk->records[guess].offset == offset) return (uint32_t)guess; /* no gaps */
    uint32_t low = 0, high = chunk->count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (chunk->records[mid].offset < offset)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct sfi_writer *sfi_log_writer(struct sfi_log *log, uint64_t producer_id)
{
    for (uint32_t i = log->writer_count; i > 0; i--)
        if (log->writers[i - 1].producer_id == producer_id) return &log->writers[i - 1];
    if (log->writer_count == log->writer_cap) {
        uint32_t cap = log->writer_cap == 0 ? 4 : log->writer_cap * 2;
        log->writers = sf_regrow(log->broker->alloc, log->writers, log->writer_cap * sizeof *log->writers,
                                 log->writer_count * sizeof *log->writers, cap * sizeof *log->writers);
        log->writer_cap = cap;
    }
    struct sfi_writer *writer = &log->writers[log->writer_count++];
    *writer = (struct sfi_writer){.producer_id = producer_id, .producer_epoch = -1};
    return writer;
}

struct sfi_open *sfi_log_open_of(struct sfi_log *log, uint64_t producer_id)
{
    for (uint32_t i = 0; i < log->open_count; i++)
        if (log->opens[i].txn->producer_id == producer_id) return &log->opens[i];
    return NULL;
}

/* ---------------------------------------------------------------- the front */

void sfi_log_discard(struct sfi_log *log, int64_t before, uint32_t kept)
{
    while (log->count > kept && log->chunks[log->first]->next_offset <= before) {
        struct sfi_chunk *chunk = log->chunks[log->first];
        if (log->count == 1 && log->is_tail_open) log->is_tail_open = false;
        if (chunk->next_offset > log->discarded) log->discarded = chunk->next_offset;
        sfi_chunk_unpin(log->broker->alloc, chunk);
        log->first++;
        log->count--;
    }
    if (log->count == 0) log->first = 0;
}

void sfi_log_truncate(struct sfi_log *log, int64_t before)
{
    if (before > log->end) before = log->end;
    if (before <= log->start) return;
    log->start = before;
    sfi_log_discard(log, before, 0);
    sfi_log_wake(log);
}
