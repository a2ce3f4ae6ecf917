#include "core/run/log_reader.h"

#include "core/text.h"

enum sf_status sf_log_reader_open(struct sf_log_reader *reader, struct sf_alloc alloc, struct sf_kafka kafka,
                                  struct sf_waker waker, const struct sf_tp *tps, uint32_t count,
                                  sf_log_record_fn *fn, void *ctx, struct sf_error *error)
{
    memset(reader, 0, sizeof *reader);
    reader->alloc = alloc;
    reader->kafka = kafka;
    reader->fn = fn;
    reader->ctx = ctx;
    if (count == 0) return SF_OK;
    struct sf_consumer_config config = {.purpose = "restore",
                                        .is_read_committed = true,
                                        .batch_records_max = 1024,
                                        .fetch_bytes_max = 16u << 20,
                                        .waker = waker};
    enum sf_status status = sf_kafka_consumer_open(kafka, &config, &reader->consumer, error);
    if (status != SF_OK) {
        reader->consumer = (struct sf_consumer){0};
        return status;
    }
    reader->waker = waker;
    reader->count = count;
    reader->tps = sf_calloc(alloc, count, sizeof *reader->tps);
    reader->is_through = sf_calloc(alloc, count, sizeof *reader->is_through);
    memcpy(reader->tps, tps, count * sizeof *tps);
    for (uint32_t i = 0; i < count; i++) (void)sf_consumer_add(reader->consumer, tps[i], SF_OFFSET_BEGINNING);
    return SF_OK;
}

static void mark_through(struct sf_log_reader *reader, struct sf_tp tp)
{
    for (uint32_t i = 0; i < reader->count; i++) {
        if (reader->tps[i].topic != tp.topic || reader->tps[i].partition != tp.partition) continue;
        if (!reader->is_through[i]) reader->through_count++;
        reader->is_through[i] = true;
    }
}

static void say_where(const struct sf_log_reader *reader, struct sf_tp tp, const char *what, struct sf_error *error)
{
    struct sf_text text;
    char had[sizeof error->text];
    memcpy(had, error->text, sizeof had);
    sf_text_init(&text, error->text, sizeof error->text);
    sf_text_add(&text, sf_kafka_topic_name(reader->kafka, tp.topic));
    sf_text_add(&text, "/");
    sf_text_add_int(&text, tp.partition);
    sf_text_add(&text, ": ");
    sf_text_add(&text, what != NULL ? what : had);
}

static enum sf_status take_batch(struct sf_log_reader *reader, struct sf_batch *batch, struct sf_error *error)
{
    enum sf_status status = SF_OK;
    struct sf_tp tp = batch->tp;
    for (uint32_t i = 0; i < batch->count && status == SF_OK; i++)
        status = reader->fn(reader->ctx, tp, &batch->records[i], error);
    sf_consumer_release(reader->consumer, batch);
    if (status != SF_OK) {
        error->status = status;
        say_where(reader, tp, NULL, error);
    }
    return status;
}

static enum sf_status failed(const struct sf_log_reader *reader, const struct sf_consumer_event *event,
                             struct sf_tp tp, struct sf_error *error)
{
    error->status = event->status;
    say_where(reader, tp, event->text != NULL ? event->text : sf_status_text(event->status), error);
    return event->status;
}

/* What fails first is what is told: later events of the same poll do not replace it. */
enum sf_status sf_log_reader_poll(struct sf_log_reader *reader, struct sf_error *error)
{
    struct sf_consumer_event events[32];
    if (reader->through_count == reader->count) return SF_END;
    uint32_t count = sf_consumer_poll(reader->consumer, events, sizeof events / sizeof events[0]);
    enum sf_status status = SF_OK;
    for (uint32_t i = 0; i < count; i++) {
        const struct sf_consumer_event *event = &events[i];
        switch (event->kind) {
        case SF_CONSUMER_BATCH:
            if (status == SF_OK)
                status = take_batch(reader, event->batch, error);
            else
                sf_consumer_release(reader->consumer, event->batch);
            break;
        case SF_CONSUMER_CAUGHT_UP: mark_through(reader, event->tp); break;
        case SF_CONSUMER_OUT_OF_RANGE:
            (void)sf_consumer_seek(reader->consumer, event->tp, SF_OFFSET_BEGINNING);
            break;
        case SF_CONSUMER_PARTITION:
            if (status == SF_OK && sf_status_class(event->status) > SF_CLASS_RETRY)
                status = failed(reader, event, event->tp, error);
            break;
        case SF_CONSUMER_FAILED:
            if (status == SF_OK) status = failed(reader, event, reader->tps[0], error);
            break;
        case SF_CONSUMER_GRANTED:
        case SF_CONSUMER_CONFIRMED:
        case SF_CONSUMER_REVOKING:
        case SF_CONSUMER_REVOKED: break;
        }
    }
    if (status != SF_OK) return status;
    if (reader->through_count == reader->count) return SF_END;
    /* there may be more, and no wake comes for what was there before */
    if (count == sizeof events / sizeof events[0]) sf_waker_wake(reader->waker);
    return SF_OK;
}

void sf_log_reader_close(struct sf_log_reader *reader)
{
    sf_consumer_close(reader->consumer);
    reader->consumer = (struct sf_consumer){0};
    sf_cfree(reader->alloc, reader->tps, reader->count, sizeof *reader->tps);
    sf_cfree(reader->alloc, reader->is_through, reader->count, sizeof *reader->is_through);
    reader->tps = NULL;
    reader->is_through = NULL;
    reader->count = 0;
    reader->through_count = 0;
}
