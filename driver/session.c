#include "driver/session.h"

#include <string.h>

#include "driver/oracle.h"
#include "driver/trail.h"
#include "driver/verdict.h"

bool sf_driver_session_open(struct sf_driver_session *session, const struct sf_driver_io *io, const char *path)
{
    struct sf_text findings;
    sf_text_init_growing(&findings, sf_alloc_libc());
    *session = (struct sf_driver_session){.io = io, .path = path};
    session->scenario = sf_driver_scenario_load(path, sf_alloc_libc(), &findings);
    if (findings.length > 0) {
        (void)fputs(findings.data, io->err);
        if (findings.data[findings.length - 1] != '\n') (void)fputs("\n", io->err);
    }
    sf_text_deinit(&findings);
    if (session->scenario == NULL) return false;
    if (session->scenario->topology != NULL) session->plan = sf_plan_new(session->scenario->topology);
    return true;
}

void sf_driver_session_close(struct sf_driver_session *session)
{
    if (session->scenario != NULL) sf_driver_scenario_destroy(session->scenario);
    session->scenario = NULL;
}

static void judge_second(const struct sf_driver_trail *trail, const struct sf_driver_report *first,
                         const struct sf_driver_report *second, struct sf_driver_report *report)
{
    bool is_same = memcmp(&first->digest, &second->digest, sizeof first->digest) == 0;
    if (is_same && !trail->has_difference && first->step_count == second->step_count) return;
    struct sf_driver_violation violation = {.at_us = trail->difference_at_us};
    char subject[SF_DRIVER_SUBJECT_BYTES];
    struct sf_text text;
    sf_text_init(&text, subject, sizeof subject);
    sf_text_add(&text, trail->has_difference ? "step " : "the runs' digests");
    if (trail->has_difference) sf_text_add_uint(&text, trail->difference_step);
    sf_driver_violation_set(&violation, "X14", subject, "the second run of the seed does as the first did",
                            trail->has_difference ? trail->difference : "they differ, though every step agrees");
    sf_driver_report_add(report, &violation);
    report->verdict = SF_DRIVER_NOT_DETERMINISTIC;
}

enum sf_driver_verdict sf_driver_session_run(const struct sf_driver_session *session,
                                             const struct sf_driver_options *options, bool is_doublechecked,
                                             struct sf_driver_report *report)
{
    struct sf_driver_options own = *options;
    struct sf_driver_trail trail;
    own.plan = session->plan;
    if (own.checks == NULL) own.checks = sf_driver_oracle();
    if (!is_doublechecked) return sf_driver_run(session->scenario, &own, report);
    struct sf_driver_report second;
    sf_driver_trail_init(&trail, sf_alloc_libc());
    sf_driver_report_init(&second, sf_alloc_libc());
    own.trail = &trail;
    (void)sf_driver_run(session->scenario, &own, report);
    sf_driver_trail_rewind(&trail);
    (void)sf_driver_run(session->scenario, &own, &second);
    judge_second(&trail, report, &second, report);
    sf_driver_report_deinit(&second);
    sf_driver_trail_deinit(&trail);
    return report->verdict;
}

void sf_driver_session_write(const struct sf_driver_session *session, const struct sf_driver_report *report,
                             const char *repro, bool is_json)
{
    struct sf_driver_verdict_context context = {.path = session->path, .repro = repro};
    struct sf_text text;
    sf_text_init_growing(&text, sf_alloc_libc());
    if (is_json)
        sf_driver_verdict_json(report, &context, &text);
    else
        sf_driver_verdict_text(report, &context, &text);
    (void)fwrite(report->history.data, 1, report->history.length, session->io->out);
    (void)fwrite(text.data, 1, text.length, session->io->out);
    sf_text_deinit(&text);
}
