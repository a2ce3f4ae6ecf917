/*
 * Report: what became of one run: what it broke, how long it was, its digest, and its history where that was asked for.
 *
 * Violations are kept in the order found, at most SF_DRIVER_VIOLATIONS_MAX; more are only counted.
 *
 * Threading: plain data of whoever inits it.
 */
#ifndef SF_DRIVER_REPORT_H
#define SF_DRIVER_REPORT_H

#include "core/text.h"
#include "driver/checks.h"

#define SF_DRIVER_VIOLATIONS_MAX 32u

/* Also the exit status of sfsim. */
enum sf_driver_verdict {
    SF_DRIVER_HELD = 0,
    SF_DRIVER_BROKEN = 1,            /* an expectation or an invariant */
    SF_DRIVER_BAD_INPUT = 2,         /* nothing was run */
    SF_DRIVER_INTERNAL = 3,          /* the simulator itself could not go on */
    SF_DRIVER_NOT_DETERMINISTIC = 4  /* one seed, two runs that differ (X14) */
};

struct sf_driver_report {
    struct sf_alloc alloc;
    enum sf_driver_verdict verdict;
    uint64_t seed;
    struct sf_driver_violation violations[SF_DRIVER_VIOLATIONS_MAX];
    uint32_t violation_count; /* found; may be above what is kept */
    bool is_cut;              /* by --until or the budget: what only the end shows was not judged */
    struct sf_sim_digest digest;
    int64_t elapsed_us;       /* virtual */
    uint64_t step_count;
    uint64_t input_count;     /* records that the scenario's world wrote */
    uint64_t output_count;    /* records in the sinks' topics that a read-committed reader sees at the end */
    uint64_t epoch;           /* newest committed */
    uint32_t instance_count;  /* processes that lived */
    bool has_crashed;         /* the crash of sf_driver_options.crash came */
    uint64_t memory_peak;     /* bytes that the world's models and the checks held at most */
    bool is_remade;           /* it came back for what it had let go of the logs, and was made again, keeping it */
    struct sf_text history;   /* lines; "" unless asked for */
};

void sf_driver_report_init(struct sf_driver_report *report, struct sf_alloc alloc);
void sf_driver_report_deinit(struct sf_driver_report *report);

/* Copies; sets the verdict to BROKEN where it was HELD. */
void sf_driver_report_add(struct sf_driver_report *report, const struct sf_driver_violation *violation);
/* BAD_INPUT or INTERNAL with a text. */
void sf_driver_report_refuse(struct sf_driver_report *report, enum sf_driver_verdict verdict, const char *subject,
                             const char *text);

/* Fills a violation's texts, each cut to what fits. NULL: "". */
void sf_driver_violation_set(struct sf_driver_violation *violation, const char *rule, const char *subject,
                             const char *expected, const char *actual);

#endif
