#include "tests/unit/fake_log.h"

#include <stdlib.h>
#include <string.h>

void fake_kafka_init(struct fake_kafka *fake)
{
    memset(fake, 0, sizeof *fake);
    fake->batch_records = 3;
}

struct fake_log *fake_log_add(struct fake_kafka *fake, const char *topic, int32_t partition, int64_t start,
                              int64_t stable_end)
{
    assert(fake->log_count < FAKE_LOGS_MAX);
    struct fake_log *log = &fake->logs[fake->log_count++];
    *log = (struct fake_log){.topic = topic, .partition = partition, .start = start, .stable_end = stable_end};
    return log;
}

void fake_log_put(struct fake_log *log, int64_t offset, struct sf_slice key, struct sf_slice value)
{
    assert(log->record_count < FAKE_RECORDS_MAX);
    log->records[log->record_count++] =
        (struct sf_record){.key = key, .value = value, .offset = offset, .ts_kind = SF_TS_CREATE};
}

/* ------------------------------------------------------------------ consumer */

/* A topic's number is the index of its first log. */
static uint32_t fake_topic(void *self, const char *name)
{
    struct fake_kafka *fake = self;
    uint32_t at = 0;
    while (at < fake->log_count && strcmp(fake->logs[at].topic, name) != 0) at++;
    assert(at < fake->log_count);
    return at;
}

static const char *fake_topic_name(void *self, uint32_t topic)
{
    struct fake_kafka *fake = self;
    return fake->logs[topic].topic;
}

static struct fake_log *find(struct fake_kafka *fake, struct sf_tp tp)
{
    uint32_t at = 0;
    while (fake_topic(fake, fake->logs[at].topic) != tp.topic || fake->logs[at].partition != tp.partition) at++;
    return &fake->logs[at];
}

static uint32_t fake_add(void *self, struct sf_tp tp, int64_t offset)
{
    struct fake_log *log = find(self, tp);
    assert(!log->is_added);
    log->is_added = true;
    log->is_told_caught_up = false;
    log->position = offset == SF_OFFSET_BEGINNING ? log->start : offset;
    log->added_at = offset;
    return 1;
}

static void fake_remove(void *self, struct sf_tp tp)
{
    find(self, tp)->is_added = false;
}

static bool next_event(struct fake_kafka *fake, struct fake_log *log, struct sf_consumer_event *event)
{
    struct sf_tp tp = {.topic = fake_topic(fake, log->topic), .partition = log->partition};
    *event = (struct sf_consumer_event){.tp = tp, .generation = 1};
    if (log->failure != SF_OK) {
        event->kind = SF_CONSUMER_PARTITION;
        event->status = log->failure;
        log->is_added = false;
        return true;
    }
    if (log->position < log->start) {
        event->kind = SF_CONSUMER_OUT_OF_RANGE;
        event->position = log->position;
        event->log_start = log->start;
        event->log_end = log->stable_end;
        log->is_added = false;
        return true;
    }
    uint32_t from = 0, count = 0;
    while (from < log->record_count && log->records[from].offset < log->position) from++;
    while (from + count < log->record_count && count < fake->batch_records &&
           log->records[from + count].offset < log->stable_end)
        count++;
    if (count > 0) {
        struct sf_batch *batch = calloc(1, sizeof *batch);
        *batch = (struct sf_batch){.tp = tp,
                                   .generation = 1,
                                   .count = count,
                                   .records = log->records + from,
                                   .next_offset = log->records[from + count - 1].offset + 1,
                                   .known_end = log->stable_end};
        log->position = batch->next_offset;
        fake->open_batches++;
        event->kind = SF_CONSUMER_BATCH;
        event->batch = batch;
        return true;
    }
    log->position = log->stable_end;
    if (log->is_told_caught_up) return false;
    log->is_told_caught_up = true;
    event->kind = SF_CONSUMER_CAUGHT_UP;
    event->position = log->position;
    return true;
}

static uint32_t fake_poll(void *self, struct sf_consumer_event *events_out, uint32_t cap)
{
    struct fake_kafka *fake = self;
    uint32_t count = 0;
    for (uint32_t i = 0; i < fake->log_count && count < cap; i++) {
        struct fake_log *log = &fake->logs[(fake->next + i) % fake->log_count];
        if (log->is_added && next_event(fake, log, &events_out[count])) count++;
    }
    fake->next = (fake->next + 1) % (fake->log_count > 0 ? fake->log_count : 1);
    return count;
}

static void fake_release(void *self, struct sf_batch *batch)
{
    struct fake_kafka *fake = self;
    fake->open_batches--;
    free(batch);
}

static void fake_close(void *self)
{
    struct fake_kafka *fake = self;
    fake->open_consumers--;
    for (uint32_t i = 0; i < fake->log_count; i++) fake->logs[i].is_added = false;
}

static enum sf_status fake_consumer_open(void *self, const struct sf_consumer_config *config,
                                         struct sf_consumer *consumer_out, struct sf_error *error)
{
    static const struct sf_consumer_ops ops = {
        .add = fake_add, .remove = fake_remove, .poll = fake_poll, .release = fake_release, .close = fake_close};
    struct fake_kafka *fake = self;
    (void)error;
    assert(config->is_read_committed && config->subscribe == NULL);
    fake->open_consumers++;
    *consumer_out = (struct sf_consumer){.ops = &ops, .self = fake};
    return SF_OK;
}

struct sf_kafka fake_kafka(struct fake_kafka *fake)
{
    static const struct sf_kafka_ops ops = {
        .topic = fake_topic, .topic_name = fake_topic_name, .consumer_open = fake_consumer_open};
    return (struct sf_kafka){.ops = &ops, .self = fake};
}
