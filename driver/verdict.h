/*
 * Verdict: a report in words, one line per run, and below it what was broken and the command that shows it again.
 *
 *     ok    scenarios/thread/idle-partition.yaml  seed 1  20m virtual, 1834 steps, 6 records out, hash 0f3c…
 *     FAIL  scenarios/thread/idle-partition.yaml  seed 1
 *           X6 at +12.500s: order-counts/0 key a
 *             expected  {"n":1,"total":5}
 *             actual    nothing
 *     REPRO: sfsim run scenarios/thread/idle-partition.yaml --seed 1
 *
 * With --json one object per line, the same facts, nothing that hangs on the machine.
 *
 * Threading: pure functions that fill the caller's text.
 */
#ifndef SF_DRIVER_VERDICT_H
#define SF_DRIVER_VERDICT_H

#include "driver/report.h"

struct sf_driver_verdict_context {
    const char *path;  /* of the scenario, as it was given */
    const char *repro; /* the command, complete */
};

void sf_driver_verdict_text(const struct sf_driver_report *report, const struct sf_driver_verdict_context *context,
                            struct sf_text *text);
void sf_driver_verdict_json(const struct sf_driver_report *report, const struct sf_driver_verdict_context *context,
                            struct sf_text *text);

#endif
