/*
 * Session: what the commands that run scenarios share: load a file and say what is wrong with it, run it once or twice,
 * write the verdict.
 *
 * Threading: one thread.
 */
#ifndef SF_DRIVER_SESSION_H
#define SF_DRIVER_SESSION_H

#include "driver/command.h"

/* One scenario file, loaded. */
struct sf_driver_session {
    const struct sf_driver_io *io;
    const char *path;
    struct sf_scenario *scenario;
    const struct sf_plan *plan; /* NULL where the application is refused, as expected */
};

/* False: io->err has the findings. */
bool sf_driver_session_open(struct sf_driver_session *session, const struct sf_driver_io *io, const char *path);
void sf_driver_session_close(struct sf_driver_session *session);

/* sf_driver_run, a second time with `is_doublechecked`: then NOT_DETERMINISTIC where the two differ, with the first
 * step that does (X14). `report` is initialised and empty. */
enum sf_driver_verdict sf_driver_session_run(const struct sf_driver_session *session,
                                             const struct sf_driver_options *options, bool is_doublechecked,
                                             struct sf_driver_report *report);

/* The verdict of a run to io->out, with `repro` as the command that repeats it. */
void sf_driver_session_write(const struct sf_driver_session *session, const struct sf_driver_report *report,
                             const char *repro, bool is_json);

#endif
