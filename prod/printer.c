#include "prod/printer.h"

#include <stdatomic.h>
#include <string.h>

#include "prod/os.h"

#define BATCH_RECORDS_MAX 1000u
#define FETCH_BYTES_MAX (8u << 20)
#define POLL_INTERVAL_MS 1000
#define FINISH_MS 10000

struct sf_prod_printer {
    struct sf_prod_printer_config config;
    struct sf_consumer consumer;
    struct sf_prod_bell bell;
    pthread_t thread;
    bool has_thread;
    _Atomic bool is_finishing; /* read up to `ends`, then end */
    bool is_broken;
    bool is_failed;
    uint32_t count;
    struct sf_tp *tps;     /* all partitions of all sinks' topics */
    int64_t *positions;    /* everything before is written */
    int64_t *ends;         /* at the finish */
};

/* ------------------------------------------------------------------ lines */

static void write_slice(FILE *out, struct sf_slice slice, bool is_key)
{
    const uint8_t *at = slice.data;
    const uint8_t *end = at + slice.len;
    const uint8_t *from = at;
    if (at == NULL) return;
    for (; at < end; at++) {
        const char *instead = *at == '\n' ? "\\n" : *at == '\r' ? "\\r" : *at == '\t' && is_key ? "\\t" : NULL;
        if (instead == NULL) continue;
        (void)fwrite(from, 1, (size_t)(at - from), out);
        (void)fputs(instead, out);
        from = at + 1;
    }
    (void)fwrite(from, 1, (size_t)(end - from), out);
}

static void write_batch(struct sf_prod_printer *printer, const struct sf_batch *batch)
{
    FILE *out = printer->config.out;
    for (uint32_t i = 0; i < batch->count && !printer->is_broken; i++) {
        write_slice(out, batch->records[i].key, true);
        (void)fputc('\t', out);
        write_slice(out, batch->records[i].value, false);
        (void)fputc('\n', out);
    }
}

static void flush(struct sf_prod_printer *printer)
{
    if (printer->is_broken || (fflush(printer->config.out) == 0 && ferror(printer->config.out) == 0)) return;
    printer->is_broken = true;
    printer->config.broken(printer->config.ctx);
}

/* ------------------------------------------------------------------ the thread */

static void set_position(struct sf_prod_printer *printer, struct sf_tp tp, int64_t position)
{
    for (uint32_t i = 0; i < printer->count; i++)
        if (printer->tps[i].topic == tp.topic && printer->tps[i].partition == tp.partition &&
            printer->positions[i] < position)
            printer->positions[i] = position;
}

static void fail(struct sf_prod_printer *printer, const char *text)
{
    printer->is_failed = true;
    sf_prod_log_say(printer->config.log, SF_PROD_WARN, "print-failed",
                    text != NULL ? text : "results are not printed any more", NULL, 0);
}

static void take(struct sf_prod_printer *printer, const struct sf_consumer_event *event)
{
    switch (event->kind) {
    case SF_CONSUMER_BATCH:
        write_batch(printer, event->batch);
        set_position(printer, event->batch->tp, event->batch->next_offset);
        sf_consumer_release(printer->consumer, event->batch);
        break;
    case SF_CONSUMER_CAUGHT_UP: set_position(printer, event->tp, event->position); break;
    case SF_CONSUMER_OUT_OF_RANGE:
        (void)sf_consumer_seek(printer->consumer, event->tp, event->log_start);
        set_position(printer, event->tp, event->log_start);
        break;
    case SF_CONSUMER_PARTITION:
        if (sf_status_class(event->status) == SF_CLASS_FATAL) fail(printer, event->text);
        break;
    case SF_CONSUMER_FAILED: fail(printer, event->text); break;
    case SF_CONSUMER_GRANTED:
    case SF_CONSUMER_CONFIRMED:
    case SF_CONSUMER_REVOKING:
    case SF_CONSUMER_REVOKED: break;
    }
}

static bool is_at_ends(const struct sf_prod_printer *printer)
{
    for (uint32_t i = 0; i < printer->count; i++)
        if (printer->positions[i] < printer->ends[i]) return false;
    return true;
}

static void *print(void *arg)
{
    struct sf_prod_printer *printer = arg;
    int64_t finish_at = 0; /* of the time without news, once finishing */
    while (!printer->is_failed) {
        struct sf_consumer_event events[64];
        bool is_finishing = atomic_load(&printer->is_finishing);
        uint32_t count = sf_consumer_poll(printer->consumer, events, sizeof events / sizeof events[0]);
        for (uint32_t i = 0; i < count; i++) take(printer, &events[i]);
        if (count > 0) flush(printer);
        if (is_finishing && is_at_ends(printer)) break;
        if (count > 0 || finish_at == 0) finish_at = sfi_os_now_ms() + FINISH_MS;
        if (is_finishing && sfi_os_now_ms() >= finish_at) {
            fail(printer, "the broker is silent: not all results are printed");
            break;
        }
        if (count == 0) {
            sf_prod_bell_wait(&printer->bell, POLL_INTERVAL_MS);
            if (!is_finishing) finish_at = 0;
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ start */

/* The partitions of all sinks' topics, each once. A topic that is not there is the engine's to complain of. */
static enum sf_status list(struct sf_prod_printer *printer, struct sf_prod_ask *ask)
{
    const struct sf_topology *topology = printer->config.topology;
    struct sf_alloc alloc = printer->config.alloc;
    for (uint32_t i = 0; i < topology->sink_count; i++) {
        uint32_t number = sf_kafka_topic(printer->config.kafka, topology->sinks[i].topic);
        struct sf_prod_topic topic;
        bool is_listed = false;
        for (uint32_t p = 0; p < printer->count; p++) is_listed = is_listed || printer->tps[p].topic == number;
        if (is_listed) continue;
        enum sf_status status = sf_prod_ask_topic(ask, number, SF_PROD_ASK_FOREVER, &topic);
        if (status == SF_E_UNKNOWN_TOPIC) continue;
        if (status != SF_OK) return status;
        uint32_t count = printer->count + (uint32_t)topic.partition_count;
        if (count == printer->count) continue;
        printer->tps = sf_regrow(alloc, printer->tps, printer->count * sizeof *printer->tps,
                                 printer->count * sizeof *printer->tps, count * sizeof *printer->tps);
        for (int32_t p = 0; p < topic.partition_count; p++)
            printer->tps[printer->count++] = (struct sf_tp){.topic = number, .partition = p};
    }
    printer->positions = sf_calloc(alloc, printer->count, sizeof *printer->positions);
    printer->ends = sf_calloc(alloc, printer->count, sizeof *printer->ends);
    return sf_prod_ask_ends(ask, SF_LOG_STABLE_END, printer->tps, printer->count, SF_PROD_ASK_FOREVER,
                            printer->positions);
}

static enum sf_status open_consumer(struct sf_prod_printer *printer, struct sf_error *error)
{
    struct sf_consumer_config config = {.group = printer->config.topology->application_id,
                                        .purpose = "print",
                                        .is_read_committed = true,
                                        .batch_records_max = BATCH_RECORDS_MAX,
                                        .fetch_bytes_max = FETCH_BYTES_MAX,
                                        .waker = sf_prod_bell_waker(&printer->bell)};
    enum sf_status status = sf_kafka_consumer_open(printer->config.kafka, &config, &printer->consumer, error);
    if (status != SF_OK) {
        printer->consumer = (struct sf_consumer){0};
        return status;
    }
    for (uint32_t i = 0; i < printer->count; i++)
        (void)sf_consumer_add(printer->consumer, printer->tps[i], printer->positions[i]);
    return SF_OK;
}

static enum sf_status start(struct sf_prod_printer *printer, struct sf_error *error)
{
    struct sf_prod_ask ask;
    enum sf_status status = sf_prod_ask_open(&ask, printer->config.kafka, error);
    if (status != SF_OK) return status;
    ask.is_cancelled = printer->config.is_cancelled;
    ask.ctx = printer->config.ctx;
    status = list(printer, &ask);
    sf_prod_ask_close(&ask);
    if (status != SF_OK) {
        (void)snprintf(error->text, sizeof error->text, "cannot read where the sinks' topics end: %s",
                       sf_status_text(status));
        return status;
    }
    status = open_consumer(printer, error);
    if (status != SF_OK) return status;
    if (pthread_create(&printer->thread, NULL, print, printer) == 0) {
        printer->has_thread = true;
        return SF_OK;
    }
    (void)snprintf(error->text, sizeof error->text, "no thread for --print");
    return SF_E_IO;
}

struct sf_prod_printer *sf_prod_printer_new(const struct sf_prod_printer_config *config, struct sf_error *error)
{
    struct sf_prod_printer *printer = sf_calloc(config->alloc, 1, sizeof *printer);
    printer->config = *config;
    sf_prod_bell_init(&printer->bell);
    error->status = start(printer, error);
    if (error->status == SF_OK) return printer;
    sf_prod_printer_destroy(printer);
    return NULL;
}

void sf_prod_printer_finish(struct sf_prod_printer *printer)
{
    struct sf_prod_ask ask;
    struct sf_error error;
    if (!printer->has_thread) return;
    enum sf_status status = sf_prod_ask_open(&ask, printer->config.kafka, &error);
    if (status == SF_OK) {
        /* not the stable end: a commit is answered before its markers are in the partitions, and until then the stable
         * end stands in front of the last results */
        status = sf_prod_ask_ends(&ask, SF_LOG_END, printer->tps, printer->count, FINISH_MS, printer->ends);
        sf_prod_ask_close(&ask);
    }
    if (status != SF_OK)
        sf_prod_log_say(printer->config.log, SF_PROD_WARN, "print-failed",
                        "the broker is silent: not all results may be printed", NULL, 0);
    atomic_store(&printer->is_finishing, true);
    sf_prod_bell_ring(&printer->bell);
    (void)pthread_join(printer->thread, NULL);
    printer->has_thread = false;
}

void sf_prod_printer_destroy(struct sf_prod_printer *printer)
{
    if (printer == NULL) return;
    struct sf_alloc alloc = printer->config.alloc;
    sf_prod_printer_finish(printer);
    sf_consumer_close(printer->consumer);
    sf_prod_bell_deinit(&printer->bell);
    sf_free(alloc, printer->tps, printer->count * sizeof *printer->tps);
    if (printer->positions != NULL) {
        sf_cfree(alloc, printer->positions, printer->count, sizeof *printer->positions);
        sf_cfree(alloc, printer->ends, printer->count, sizeof *printer->ends);
    }
    sf_cfree(alloc, printer, 1, sizeof *printer);
}
