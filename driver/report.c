#include "driver/report.h"

void sf_driver_report_init(struct sf_driver_report *report, struct sf_alloc alloc)
{
    memset(report, 0, sizeof *report);
    report->alloc = alloc;
    sf_text_init_growing(&report->history, alloc);
}

void sf_driver_report_deinit(struct sf_driver_report *report)
{
    sf_text_deinit(&report->history);
}

static void set_text(char *out, size_t cap, const char *text)
{
    struct sf_text bounded;
    sf_text_init(&bounded, out, cap);
    sf_text_add(&bounded, text != NULL ? text : "");
}

void sf_driver_violation_set(struct sf_driver_violation *violation, const char *rule, const char *subject,
                             const char *expected, const char *actual)
{
    set_text(violation->rule, sizeof violation->rule, rule);
    set_text(violation->subject, sizeof violation->subject, subject);
    set_text(violation->expected, sizeof violation->expected, expected);
    set_text(violation->actual, sizeof violation->actual, actual);
}

void sf_driver_report_add(struct sf_driver_report *report, const struct sf_driver_violation *violation)
{
    if (report->violation_count < SF_DRIVER_VIOLATIONS_MAX) report->violations[report->violation_count] = *violation;
    report->violation_count++;
    if (report->verdict == SF_DRIVER_HELD) report->verdict = SF_DRIVER_BROKEN;
}

void sf_driver_report_refuse(struct sf_driver_report *report, enum sf_driver_verdict verdict, const char *subject,
                             const char *text)
{
    struct sf_driver_violation violation = {.at_us = 0};
    sf_driver_violation_set(&violation, verdict == SF_DRIVER_INTERNAL ? "internal" : "input", subject, "", text);
    sf_driver_report_add(report, &violation);
    report->verdict = verdict;
}
