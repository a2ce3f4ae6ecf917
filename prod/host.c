#include "prod/host.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "prod/clock.h"
#include "prod/end_watch.h"
#include "prod/note_words.h"
#include "prod/sched.h"
#include "prod/store.h"

#define STEP_BUDGET 1024u
#define SOURCES_TEXT_BYTES 1024u

struct sf_prod_host {
    struct sf_prod_host_config config;
    struct sf_prod_clock clock;
    struct sf_prod_sched *sched;
    struct sf_prod_store_dir store_dir;
    bool has_store_dir;
    struct sf_engine *engine;
    struct sf_prod_end_watch watch;
    struct sf_observer observer;

    int64_t first_us;             /* ingest's alone until the scheduler is stopped */
    _Atomic int64_t committed_us;
    _Atomic bool has_reached_ends;
    _Atomic bool has_ended;       /* publishes the next two */
    enum sf_end end;
    struct sf_error error;
};

static int64_t wall_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ------------------------------------------------------------------ notes */

/* Only notes of ingest and the engine speak of partitions; both run on home 0, where this is called. */
static bool partition_of(void *ctx, uint32_t subject, struct sf_tp *tp_out)
{
    const struct sf_prod_host *host = ctx;
    const struct sf_ingest *ingest = sf_engine_ingest(host->engine);
    struct sf_watermark_view all;
    struct sf_partition_view view;
    if (ingest == NULL) return false;
    sf_ingest_view(ingest, (struct sf_wall_ts){0}, &all);
    if (subject >= all.partition_count) return false;
    sf_ingest_partition_view(ingest, subject, (struct sf_wall_ts){0}, &view);
    *tp_out = view.tp;
    return true;
}

static const char *topic_name_of(void *ctx, uint32_t topic)
{
    const struct sf_prod_host *host = ctx;
    return sf_kafka_topic_name(host->config.kafka, topic);
}

/* "orders/3 customers/1": each source topic with its partitions. */
static void add_sources(const struct sf_prod_host *host, struct sf_text *text)
{
    const struct sf_ingest *ingest = sf_engine_ingest(host->engine);
    struct sf_watermark_view all;
    struct sf_partition_view view;
    if (ingest == NULL) return;
    sf_ingest_view(ingest, (struct sf_wall_ts){0}, &all);
    uint32_t count = 0;
    for (uint32_t i = 0; i < all.partition_count; i++) {
        sf_ingest_partition_view(ingest, i, (struct sf_wall_ts){0}, &view);
        uint32_t topic = view.tp.topic;
        count++;
        if (i + 1 < all.partition_count) {
            sf_ingest_partition_view(ingest, i + 1, (struct sf_wall_ts){0}, &view);
            if (view.tp.topic == topic) continue;
        }
        if (text->length > 0) sf_text_add(text, " ");
        sf_text_add(text, sf_kafka_topic_name(host->config.kafka, topic));
        sf_text_add(text, "/");
        sf_text_add_uint(text, count);
        count = 0;
    }
}

static void say_note(struct sf_prod_host *host, const struct sf_note *note)
{
    const struct sf_prod_note_names names = {.ctx = host, .partition = partition_of, .topic = topic_name_of};
    enum sf_prod_level level = sf_prod_note_level(note->code);
    if (note->code == SF_NOTE_FAILED || !sf_prod_log_is_on(host->config.log, level)) return;
    char event[SF_PROD_EVENT_BYTES];
    char line[1024];
    char more[SOURCES_TEXT_BYTES];
    struct sf_text text;
    struct sf_prod_field field = {0};
    sf_text_init(&text, line, sizeof line);
    sf_prod_note_fill(note, &names, &text);
    sf_text_init(&text, more, sizeof more);
    if (note->code == SF_NOTE_STARTED) {
        add_sources(host, &text);
        field = (struct sf_prod_field){.name = "sources", .text = more};
    } else if (sf_prod_note_has_partition(note->code)) {
        struct sf_tp tp;
        if (partition_of(host, note->subject, &tp)) {
            sf_text_add(&text, topic_name_of(host, tp.topic));
            sf_text_add(&text, "/");
            sf_text_add_int(&text, tp.partition);
            field = (struct sf_prod_field){.name = "partition", .text = more};
        }
    }
    sf_prod_log_say(host->config.log, level, sf_prod_note_event(note->code, event), line, &field,
                    field.name != NULL ? 1 : 0);
}

static void on_notes(void *ctx, const struct sf_task *task, const struct sf_notes *notes)
{
    struct sf_prod_host *host = ctx;
    (void)task;
    for (uint32_t i = 0; i < notes->count; i++) {
        uint16_t code = notes->items[i].code;
        if (code == SF_NOTE_TXN_COMMITTED) atomic_store(&host->committed_us, wall_us());
        if (host->config.answered != NULL &&
            (code == SF_NOTE_TXN_COMMITTED || code == SF_NOTE_AVAILABLE || code == SF_NOTE_OWNER ||
             code == SF_NOTE_STARTED))
            host->config.answered(host->config.ctx);
        say_note(host, &notes->items[i]);
    }
}

/* ------------------------------------------------------------------ what the engine tells */

static void on_ended(void *ctx, enum sf_end end, const struct sf_error *error)
{
    struct sf_prod_host *host = ctx;
    host->end = end;
    host->error = *error;
    atomic_store(&host->has_ended, true);
    host->config.news(host->config.ctx);
}

static void on_reached(void *ctx)
{
    struct sf_prod_host *host = ctx;
    atomic_store(&host->has_reached_ends, true);
    host->config.news(host->config.ctx);
}

static void on_buffered(void *ctx, const struct sf_batch *batch)
{
    struct sf_prod_host *host = ctx;
    (void)batch;
    if (host->first_us == 0) host->first_us = wall_us();
}

/* ------------------------------------------------------------------ life */

static bool has_persistent_store(const struct sf_topology *topology)
{
    for (uint32_t i = 0; i < topology->step_count; i++)
        if (topology->steps[i].kind == SF_STEP_AGGREGATE && topology->steps[i].store.is_persistent) return true;
    return false;
}

/* Where there is no folder to be had the application runs without one: the changelogs are the truth (B8). */
static struct sf_store_factory open_stores(struct sf_prod_host *host)
{
    struct sf_error error = {0};
    if (host->config.state_dir == NULL || !has_persistent_store(host->config.file->topology))
        return (struct sf_store_factory){0};
    if (sf_prod_store_dir_init(&host->store_dir, host->config.alloc, host->config.state_dir, &error) == SF_OK) {
        host->has_store_dir = true;
        return sf_prod_store_factory(&host->store_dir);
    }
    sf_prod_log_say(host->config.log, SF_PROD_WARN, "store-failed", error.text, NULL, 0);
    return (struct sf_store_factory){0};
}

/* K1: a number that no other start has. */
static uint64_t incarnation(void)
{
    uint64_t number = 0;
    ssize_t got = getrandom(&number, sizeof number, 0);
    assert(got == (ssize_t)sizeof number && "the system has no random numbers");
    (void)got;
    return number;
}

struct sf_prod_host *sf_prod_host_new(const struct sf_prod_host_config *config)
{
    struct sf_prod_host *host = sf_calloc(config->alloc, 1, sizeof *host);
    host->config = *config;
    sf_prod_clock_init(&host->clock);
    host->sched = sf_prod_sched_new(&(struct sf_prod_sched_config){.alloc = config->alloc,
                                                                   .clock = sf_prod_clock_handle(&host->clock),
                                                                   .worker_count = config->workers,
                                                                   .budget = STEP_BUDGET,
                                                                   .on_notes = on_notes,
                                                                   .ctx = host});
    host->observer = (struct sf_observer){.ctx = host, .buffered = on_buffered};
    struct sf_sched sched = sf_prod_sched_handle(host->sched);
    host->engine = sf_engine_new(&(struct sf_engine_config){.topology = config->file->topology,
                                                            .plan = config->file->plan,
                                                            .alloc = config->alloc,
                                                            .sched = sched,
                                                            .kafka = config->kafka,
                                                            .stores = open_stores(host),
                                                            .observer = config->tps != NULL ? &host->observer : NULL,
                                                            .is_internal_replicated = true,
                                                            .incarnation = incarnation(),
                                                            .lanes = config->lanes,
                                                            .home_count = config->workers,
                                                            .ended = on_ended,
                                                            .ended_ctx = host});
    if (config->tps != NULL) {
        sf_prod_end_watch_init(&host->watch, host->engine, config->alloc, config->tps, config->ends,
                               config->end_count);
        sf_prod_end_watch_spawn(&host->watch, sched, on_reached, host);
    }
    return host;
}

enum sf_status sf_prod_host_start(struct sf_prod_host *host, struct sf_error *error)
{
    const struct sf_topology *topology = host->config.file->topology;
    const struct sf_prod_field fields[] = {
        {.name = "application", .text = topology->application_id},
        {.name = "guarantee", .text = topology->guarantee == SF_EXACTLY_ONCE ? "exactly-once" : "at-least-once"},
        {.name = "broker", .text = host->config.broker},
        {.name = "lanes", .number = host->config.lanes},
        {.name = "workers", .number = host->config.workers},
        {.name = "state", .text = host->has_store_dir ? host->config.state_dir : "changelogs only"}};
    sf_prod_log_say(host->config.log, SF_PROD_INFO, "start", host->config.file->path, fields,
                    sizeof fields / sizeof fields[0]);
    return sf_prod_sched_start(host->sched, error);
}

void sf_prod_host_finish(struct sf_prod_host *host)
{
    sf_engine_finish(host->engine);
}

bool sf_prod_host_has_ended(struct sf_prod_host *host)
{
    return atomic_load(&host->has_ended);
}

bool sf_prod_host_has_reached_ends(struct sf_prod_host *host)
{
    return atomic_load(&host->has_reached_ends);
}

enum sf_end sf_prod_host_end(struct sf_prod_host *host)
{
    assert(sf_prod_host_has_ended(host));
    return host->end;
}

void sf_prod_host_stop(struct sf_prod_host *host, struct sf_prod_outcome *outcome_out)
{
    assert(sf_prod_host_has_ended(host));
    sf_prod_sched_stop(host->sched);
    *outcome_out = (struct sf_prod_outcome){.end = host->end,
                                            .error = host->error,
                                            .first_us = host->first_us,
                                            .committed_us = atomic_load(&host->committed_us)};
    outcome_out->is_at_ends = host->config.tps != NULL && host->end == SF_END_STOPPED &&
                              sf_prod_end_watch_is_reached(&host->watch);
}

void sf_prod_host_destroy(struct sf_prod_host *host)
{
    if (host == NULL) return;
    sf_prod_sched_stop(host->sched);
    sf_engine_destroy(host->engine);
    if (host->config.tps != NULL) sf_prod_end_watch_deinit(&host->watch);
    sf_prod_sched_destroy(host->sched);
    if (host->has_store_dir) sf_prod_store_dir_deinit(&host->store_dir);
    sf_cfree(host->config.alloc, host, 1, sizeof *host);
}
