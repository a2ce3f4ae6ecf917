/*
 * Host: one instance of an application in the real world: clock, workers, Kafka, local store, engine, and what is
 * told of them.
 *
 *     new        clients' settings are checked, the local store's folder is made; no thread yet
 *     start      engine and workers run
 *     finish     asks for a graceful stop (S4)
 *     stop       no task runs any more; what the engine ended with can be read
 *     destroy
 *
 * Notes of the tasks become log lines here (prod/note_words.h).
 *
 * Threading: one thread, the main one; `news` of the configuration is called from workers.
 */
#ifndef SF_PROD_HOST_H
#define SF_PROD_HOST_H

#include "core/run/engine.h"
#include "prod/app_file.h"
#include "prod/log.h"

struct sf_prod_host_config {
    const struct sf_prod_app_file *file;
    struct sf_alloc alloc;
    struct sf_prod_log *log;
    struct sf_kafka kafka;  /* of the tasks */
    const char *state_dir;  /* NULL: no local store */
    const char *broker;     /* for the log */
    uint32_t lanes;
    uint32_t workers;
    /* Where the sources end, for --until-end; NULL: not watched. Borrowed. */
    const struct sf_tp *tps;
    const int64_t *ends;
    uint32_t end_count;
    /* The engine has ended, or the sources' ends are reached: look. */
    void (*news)(void *ctx);
    /* The broker has answered something; from workers; NULL: nobody wants to know. */
    void (*answered)(void *ctx);
    void *ctx;
};

struct sf_prod_host;

/* What an instance has come to. */
struct sf_prod_outcome {
    enum sf_end end;
    struct sf_error error;
    bool is_at_ends;     /* all sources are dispatched up to their ends, in what was committed */
    int64_t first_us;    /* wall clock when the first record was consumed; 0: none was */
    int64_t committed_us; /* wall clock when the last commit succeeded; 0: none did */
};

struct sf_prod_host *sf_prod_host_new(const struct sf_prod_host_config *config);
/* SF_E_IO: no threads; only destroy is allowed then. */
SF_MUST_USE enum sf_status sf_prod_host_start(struct sf_prod_host *host, struct sf_error *error);
void sf_prod_host_finish(struct sf_prod_host *host);
bool sf_prod_host_has_ended(struct sf_prod_host *host);
bool sf_prod_host_has_reached_ends(struct sf_prod_host *host);
/* Why the engine ended; only after it has. Any task may still be running. */
enum sf_end sf_prod_host_end(struct sf_prod_host *host);
/* After the engine has ended, unless it ended as stuck: a worker may hang then. */
void sf_prod_host_stop(struct sf_prod_host *host, struct sf_prod_outcome *outcome_out);
void sf_prod_host_destroy(struct sf_prod_host *host);

#endif
