/*
 * Options: what stands on the command line. `sfprod --help` prints the list.
 *
 * Threading: one thread.
 */
#ifndef SF_PROD_OPTIONS_H
#define SF_PROD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "prod/log.h"

enum sf_prod_command { SF_PROD_RUN, SF_PROD_CHECK, SF_PROD_HELP, SF_PROD_VERSION };

/* All strings are the command line's. */
struct sf_prod_options {
    enum sf_prod_command command;
    const char *path;      /* the application file; RUN and CHECK */
    const char *bootstrap; /* NULL: the file's, else the environment's */
    const char *state_dir; /* NULL: the file's, else the default */
    uint32_t workers;      /* 0: decided by the processors */
    bool is_json;          /* RUN: log lines; CHECK: the answer */
    enum sf_prod_level level;
    bool is_until_end;
    bool is_print;
    bool is_broker_asked;  /* CHECK */
};

/* False: not understood; what is wrong has been said on `errors`. */
bool sf_prod_options_read(struct sf_prod_options *options, int argc, char *const *argv, FILE *errors);
void sf_prod_options_help(FILE *to);

#endif
