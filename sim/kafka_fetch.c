/* One partition of a consumer: fetch, queue, hand out. */
#include "sim/kafka_consumer.h"
#include "sim/random.h"

bool sfi_consumer_has_events(const struct sfi_client *client)
{
    const struct sfi_consumer *consumer = (const struct sfi_consumer *)client;
    return consumer->ready_head != NULL || consumer->note_count > 0;
}

/* ---------------------------------------------------------------- the ready list */

/* To the end of the line, if it has something for the reader. */
static void ready_line_up(struct sfi_fetch *fetch)
{
    struct sfi_consumer *consumer = fetch->consumer;
    if (fetch->is_ready || fetch->is_paused || fetch->entry_count == 0) return;
    fetch->is_ready = true;
    fetch->ready_next = NULL;
    fetch->ready_prev = consumer->ready_tail;
    if (consumer->ready_tail != NULL)
        consumer->ready_tail->ready_next = fetch;
    else
        consumer->ready_head = fetch;
    consumer->ready_tail = fetch;
}

/* The same, as news: a reader that had nothing to poll is woken. */
static void ready_add(struct sfi_fetch *fetch)
{
    struct sfi_client *client = &fetch->consumer->client;
    bool was_empty = !sfi_consumer_has_events(client);
    ready_line_up(fetch);
    if (was_empty && fetch->is_ready) sfi_client_wake(client);
}

static void ready_remove(struct sfi_fetch *fetch)
{
    struct sfi_consumer *consumer = fetch->consumer;
    if (!fetch->is_ready) return;
    fetch->is_ready = false;
    if (fetch->ready_prev != NULL)
        fetch->ready_prev->ready_next = fetch->ready_next;
    else
        consumer->ready_head = fetch->ready_next;
    if (fetch->ready_next != NULL)
        fetch->ready_next->ready_prev = fetch->ready_prev;
    else
        consumer->ready_tail = fetch->ready_prev;
}

static void entry_push(struct sfi_fetch *fetch, struct sfi_entry entry)
{
    if (fetch->entry_count == fetch->entry_cap) {
        struct sf_alloc alloc = fetch->consumer->client.broker->alloc;
        uint32_t cap = fetch->entry_cap == 0 ? 8 : fetch->entry_cap * 2;
        struct sfi_entry *entries = sf_malloc(alloc, cap * sizeof *entries);
        for (uint32_t i = 0; i < fetch->entry_count; i++)
            entries[i] = fetch->entries[(fetch->entry_head + i) % fetch->entry_cap];
        sf_free(alloc, fetch->entries, fetch->entry_cap * sizeof *entries);
        fetch->entries = entries;
        fetch->entry_cap = cap;
        fetch->entry_head = 0;
    }
    fetch->entries[(fetch->entry_head + fetch->entry_count++) % fetch->entry_cap] = entry;
    ready_add(fetch);
}

static void entry_pop(struct sfi_fetch *fetch)
{
    fetch->entry_head = (fetch->entry_head + 1) % fetch->entry_cap;
    fetch->entry_count--;
}

/* ---------------------------------------------------------------- at the broker */

static int64_t readable_end(const struct sfi_fetch *fetch)
{
    return fetch->consumer->is_read_committed ? sfi_log_stable(fetch->log) : fetch->log->end;
}

static uint64_t share_bytes(const struct sfi_fetch *fetch)
{
    const struct sfi_consumer *consumer = fetch->consumer;
    return consumer->fetch_bytes_max / (consumer->added_count > 0 ? consumer->added_count : 1);
}

static bool has_answer(const struct sfi_fetch *fetch)
{
    const struct sfi_log *log = fetch->log;
    if (log == NULL) return true;
    if (log->mode != SF_SIM_KAFKA_MODE_OK) return !fetch->is_failing;
    if (fetch->is_fresh || fetch->is_failing || fetch->position == SF_OFFSET_BEGINNING) return true;
    return fetch->position < log->start || fetch->position < readable_end(fetch);
}

/* Fix what the answer may contain. */
static void see(struct sfi_fetch *fetch)
{
    if (fetch->log == NULL) return;
    fetch->seen_us = fetch->consumer->client.broker->world->mono_us;
    fetch->seen_end = readable_end(fetch);
    fetch->seen_stable = sfi_log_stable(fetch->log);
}

static void answer_arm(struct sfi_fetch *fetch)
{
    struct sfi_client *client = &fetch->consumer->client;
    see(fetch);
    struct sf_sim_latency latency = client->broker->config.fetch;
    uint64_t draw = sf_sim_draw(client->broker->world->seed, SF_SIM_DOMAIN_KAFKA_FETCH, client->id, client->ordinal++);
    sfi_timer_arm(&fetch->answer, sf_sim_range(draw, latency.lo_us, latency.hi_us));
}

/* The fetch request arrives. */
static void look(struct sfi_fetch *fetch)
{
    if (!fetch->is_added || fetch->is_stuck || fetch->answer.is_armed || fetch->waiter.is_linked) return;
    if (!sfi_client_is_live(&fetch->consumer->client)) return;
    if (has_answer(fetch))
        answer_arm(fetch);
    else
        sfi_log_wait(fetch->log, &fetch->waiter);
}

void sfi_fetch_wake_fn(struct sfi_waiter *waiter)
{
    struct sfi_fetch *fetch = (struct sfi_fetch *)waiter;
    if (!has_answer(fetch)) return;
    sfi_log_unwait(fetch->log, waiter);
    answer_arm(fetch);
}

/* ---------------------------------------------------------------- the answer */

/* Room of one answer. */
struct room {
    uint64_t bytes;
    uint32_t records;
    bool is_out_of_bytes; /* something did not fit */
};

static struct room room_of(struct sfi_fetch *fetch)
{
    struct sfi_client *client = &fetch->consumer->client;
    const struct sf_sim_kafka_config *config = &client->broker->config;
    uint64_t share = share_bytes(fetch);
    struct room room = {.bytes = share > fetch->held_bytes ? share - fetch->held_bytes : 0, .records = UINT32_MAX};
    if (config->fetch_records_hi > 0) {
        uint64_t draw = sf_sim_draw(client->broker->world->seed, SF_SIM_DOMAIN_KAFKA_CUT, client->id,
                                    client->ordinal++);
        room.records = (uint32_t)sf_sim_range(draw, config->fetch_records_lo > 0 ? config->fetch_records_lo : 1,
                                              config->fetch_records_hi);
    }
    return room;
}

/* How many records of `chunk` from `first` on lie below seen_end and fit; uses up room. Whoever holds nothing may
 * have one record, whatever its size. */
static uint32_t fit(const struct sfi_fetch *fetch, const struct sfi_chunk *chunk, uint32_t first, struct room *room)
{
    uint32_t end = chunk->next_offset <= fetch->seen_end ? chunk->count : sfi_chunk_find(chunk, fetch->seen_end);
    uint32_t count = end - first;
    if (count > room->records) count = room->records;
    uint64_t bytes = sfi_records_bytes(chunk, first, count);
    if (bytes > room->bytes) {
        bytes = 0;
        uint32_t taken = 0;
        for (; taken < count; taken++) {
            uint64_t more = sfi_records_bytes(chunk, first + taken, 1);
            if (bytes + more > room->bytes && !(fetch->held_bytes == 0 && taken == 0)) break;
            bytes += more;
        }
        room->is_out_of_bytes = taken < count;
        count = taken;
    }
    room->records -= count;
    room->bytes = bytes < room->bytes ? room->bytes - bytes : 0;
    return count;
}

/* Queue what there is from position up to seen_end, as far as there is room; the position moves over control
 * records and aborted data. False: it stopped because the share is full. */
static bool take_records(struct sfi_fetch *fetch)
{
    const struct sfi_log *log = fetch->log;
    struct room room = room_of(fetch);
    struct sfi_entry *last = NULL;
    for (uint32_t i = sfi_log_find(log, fetch->position); fetch->position < fetch->seen_end; i++) {
        if (i == log->first + log->count) { /* only offsets without records are left */
            fetch->position = fetch->seen_end;
            if (last != NULL) last->position = fetch->position;
            break;
        }
        struct sfi_chunk *chunk = log->chunks[i];
        bool is_hidden = chunk->is_control || (fetch->consumer->is_read_committed && chunk->txn != NULL &&
                                               chunk->txn->state == SF_SIM_KAFKA_ABORTED);
        uint32_t first = sfi_chunk_find(chunk, fetch->position);
        int64_t chunk_end = chunk->next_offset < fetch->seen_end ? chunk->next_offset : fetch->seen_end;
        if (!is_hidden && first < chunk->count && chunk->records[first].offset < fetch->seen_end) {
            uint32_t count = fit(fetch, chunk, first, &room);
            if (count == 0) break; /* no room */
            uint32_t next = first + count;
            bool is_cut = next < chunk->count && chunk->records[next].offset < fetch->seen_end;
            fetch->position = is_cut ? chunk->records[next].offset : chunk_end;
            fetch->held_bytes += sfi_records_bytes(chunk, first, count);
            entry_push(fetch, (struct sfi_entry){.kind = SF_CONSUMER_BATCH, .chunk = sfi_chunk_pin(chunk),
                                                 .first = first, .count = count, .known_end = fetch->seen_stable});
            last = &fetch->entries[(fetch->entry_head + fetch->entry_count - 1) % fetch->entry_cap];
            last->position = fetch->position;
            if (is_cut) break;
        } else {
            fetch->position = chunk_end;
        }
        if (last != NULL) last->position = fetch->position;
    }
    return !room.is_out_of_bytes;
}

/* True if the answer is an error; told to the reader where it is news. */
static bool answer_is_error(struct sfi_fetch *fetch)
{
    const struct sfi_log *log = fetch->log;
    if (log == NULL) {
        fetch->is_stuck = true;
        entry_push(fetch, (struct sfi_entry){.kind = SF_CONSUMER_PARTITION, .status = SF_E_UNKNOWN_TOPIC});
        return true;
    }
    if (log->mode != SF_SIM_KAFKA_MODE_OK) {
        if (!fetch->is_failing)
            entry_push(fetch, (struct sfi_entry){.kind = SF_CONSUMER_PARTITION, .status = SF_E_UNAVAILABLE});
        fetch->is_failing = true;
        return true;
    }
    if (fetch->is_failing) {
        fetch->is_failing = false;
        fetch->is_fresh = true;
        see(fetch);
        entry_push(fetch, (struct sfi_entry){.kind = SF_CONSUMER_PARTITION, .status = SF_OK});
    }
    if (fetch->position == SF_OFFSET_BEGINNING) {
        fetch->position = log->start;
        see(fetch);
    }
    if (fetch->position >= log->start && fetch->position <= log->end) return false;
    fetch->is_stuck = true;
    entry_push(fetch, (struct sfi_entry){.kind = SF_CONSUMER_OUT_OF_RANGE, .position = fetch->position,
                                         .log_start = log->start, .log_end = log->end});
    return true;
}

void sfi_fetch_answer_fn(void *ctx)
{
    struct sfi_fetch *fetch = ctx;
    if (fetch->seen_us == fetch->consumer->client.broker->world->mono_us) see(fetch); /* all of this instant */
    if (answer_is_error(fetch)) {
        look(fetch);
        return;
    }
    if (fetch->position < fetch->log->discarded && fetch->position < fetch->seen_end) {
        fetch->consumer->client.broker->is_missed = true;
        return;
    }
    bool has_room = take_records(fetch);
    if (fetch->position >= fetch->seen_end && (fetch->is_fresh || fetch->position != fetch->told_position)) {
        fetch->told_position = fetch->position;
        entry_push(fetch, (struct sfi_entry){.kind = SF_CONSUMER_CAUGHT_UP, .position = fetch->position});
    }
    fetch->is_fresh = false;
    fetch->is_stalled = !has_room || fetch->held_bytes >= share_bytes(fetch);
    if (!fetch->is_stalled) look(fetch);
}

/* ---------------------------------------------------------------- the reader's side */

void sfi_fetch_start(struct sfi_fetch *fetch, int64_t position)
{
    fetch->position = position;
    fetch->told_position = SF_OFFSET_UNKNOWN;
    fetch->is_fresh = true;
    fetch->is_failing = fetch->is_stuck = fetch->is_stalled = false;
    fetch->generation = ++fetch->consumer->generation_last;
    look(fetch);
}

void sfi_fetch_stop(struct sfi_fetch *fetch)
{
    struct sfi_client *client = &fetch->consumer->client;
    if (!fetch->answer.is_flying) sfi_timer_cancel(&fetch->answer);
    if (fetch->log != NULL) sfi_log_unwait(fetch->log, &fetch->waiter);
    ready_remove(fetch);
    for (; fetch->entry_count > 0; entry_pop(fetch)) {
        struct sfi_entry *entry = &fetch->entries[fetch->entry_head];
        if (entry->kind == SF_CONSUMER_BATCH) sfi_chunk_unpin(client->broker->alloc, entry->chunk);
    }
    fetch->held_bytes = 0;
}

void sfi_fetch_set_paused(struct sfi_fetch *fetch, bool is_paused)
{
    fetch->is_paused = is_paused;
    if (is_paused)
        ready_remove(fetch);
    else
        ready_add(fetch);
}

static void take_batch(struct sfi_fetch *fetch, struct sfi_entry *entry, struct sf_consumer_event *event_out)
{
    struct sfi_consumer *consumer = fetch->consumer;
    struct sfi_chunk *chunk = entry->chunk;
    uint32_t count = entry->count < consumer->batch_records_max ? entry->count : consumer->batch_records_max;
    struct sfi_batch *batch = sfi_batch_get(consumer, chunk, entry->first, count);
    batch->pub.tp = fetch->tp;
    batch->pub.generation = fetch->generation;
    batch->pub.known_end = entry->known_end;
    event_out->batch = &batch->pub;
    fetch->held_bytes -= batch->pub.bytes;
    if (count < entry->count) {
        entry->first += count;
        entry->count -= count;
        batch->pub.next_offset = chunk->records[entry->first].offset;
        return;
    }
    batch->pub.next_offset = entry->position;
    sfi_chunk_unpin(consumer->client.broker->alloc, chunk);
    entry_pop(fetch);
}

void sfi_fetch_take(struct sfi_fetch *fetch, struct sf_consumer_event *event_out)
{
    struct sfi_entry *entry = &fetch->entries[fetch->entry_head];
    *event_out = (struct sf_consumer_event){.kind = entry->kind, .status = entry->status, .tp = fetch->tp,
                                            .generation = fetch->generation, .position = entry->position,
                                            .log_start = entry->log_start, .log_end = entry->log_end};
    if (entry->kind == SF_CONSUMER_BATCH)
        take_batch(fetch, entry, event_out);
    else
        entry_pop(fetch);
    ready_remove(fetch);
    ready_line_up(fetch); /* no news: whoever polls goes on until nothing is left */
    if (fetch->is_stalled && fetch->held_bytes < share_bytes(fetch)) {
        fetch->is_stalled = false;
        look(fetch);
    }
}
