/*
 * Commands: each takes the options and gives the process's exit status (docs/operating.md).
 *
 * Threading: the main thread.
 */
#ifndef SF_PROD_CMD_H
#define SF_PROD_CMD_H

#include "prod/options.h"

enum sf_prod_exit {
    SF_PROD_EXIT_OK = 0,
    SF_PROD_EXIT_GAVE_UP = 1,
    SF_PROD_EXIT_BAD_INPUT = 2,
    SF_PROD_EXIT_INTERNAL = 3,
    SF_PROD_EXIT_FENCED = 10,
    SF_PROD_EXIT_STUCK = 11
};

enum sf_prod_exit sf_prod_cmd_run(const struct sf_prod_options *options);
enum sf_prod_exit sf_prod_cmd_check(const struct sf_prod_options *options);

#endif
