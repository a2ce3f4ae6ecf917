/*
 * Printer: writes committed results on a stream: what a read-committed reader of the sinks' topics sees, from the ends
 * that these had when it was made, one line per record: key, tab, value.
 *
 * It is a reader like any other, with clients and a thread of its own, so that it shows what others see and never
 * holds the engine up. A line break in a key or value is written as \n, a tab in a key as \t, so that a line stays a
 * line; a null is written as nothing.
 *
 * Threading: new, finish and destroy by one thread.
 */
#ifndef SF_PROD_PRINTER_H
#define SF_PROD_PRINTER_H

#include <stdio.h>

#include "core/topo/topology.h"
#include "prod/ask.h"
#include "prod/log.h"

struct sf_prod_printer_config {
    const struct sf_topology *topology;
    struct sf_alloc alloc;
    struct sf_kafka kafka; /* no other thread's */
    struct sf_prod_log *log;
    FILE *out;
    bool (*is_cancelled)(void *ctx); /* of the questions at the start */
    void (*broken)(void *ctx);       /* the stream takes no more; told once, from the printer's thread */
    void *ctx;
};

struct sf_prod_printer;

/* Asks where the sinks' topics end, as long as it takes. NULL: `error` says why; SF_E_CLOSED: cancelled. */
struct sf_prod_printer *sf_prod_printer_new(const struct sf_prod_printer_config *config, struct sf_error *error);

/* Everything that has committed by now is on the stream, unless the broker says nothing for ten seconds. */
void sf_prod_printer_finish(struct sf_prod_printer *printer);
void sf_prod_printer_destroy(struct sf_prod_printer *printer);

#endif
