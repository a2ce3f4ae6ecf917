/* Loading files in tests: a text or a file becomes a topology and the findings as text. */
#ifndef SF_TESTS_UNIT_APP_HELP_H
#define SF_TESTS_UNIT_APP_HELP_H

#include "core/app/app.h"

struct app_help {
    struct sf_topology *topology; /* NULL where refused */
    struct sf_findings findings;
    struct sf_text text; /* the findings, one a line, with the path `f` */
};

void app_help_load(struct app_help *help, const char *yaml);
void app_help_load_file(struct app_help *help, const char *path);
void app_help_end(struct app_help *help);

/* A whole file; the caller frees it. NULL where it cannot be read. */
char *app_help_read(const char *path);

#endif
