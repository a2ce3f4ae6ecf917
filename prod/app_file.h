/*
 * App file: an application file from the disk becomes a topology and its plan; everything wrong with it goes to a
 * stream, one line each, with path, line and column.
 *
 * Threading: one thread.
 */
#ifndef SF_PROD_APP_FILE_H
#define SF_PROD_APP_FILE_H

#include <stdio.h>

#include "core/topo/check.h"
#include "core/topo/plan.h"

#define SF_PROD_FILE_BYTES_MAX (4u << 20)

struct sf_prod_app_file {
    const char *path; /* borrowed */
    struct sf_alloc alloc;
    struct sf_topology *topology; /* NULL: does not load */
    struct sf_plan *plan;         /* in the topology */
    struct sf_findings findings;  /* sorted */
};

/* False where the file cannot be read, which is told on `errors`, or has errors, which are among the findings. Deinit
 * in either case. */
bool sf_prod_app_file_load(struct sf_prod_app_file *file, const char *path, struct sf_alloc alloc, FILE *errors);
void sf_prod_app_file_deinit(struct sf_prod_app_file *file);
void sf_prod_app_file_tell(const struct sf_prod_app_file *file, FILE *to);

/* The one of the `kafka:` settings that decides which broker is meant, or NULL. */
const char *sf_prod_app_file_bootstrap(const struct sf_prod_app_file *file);

#endif
