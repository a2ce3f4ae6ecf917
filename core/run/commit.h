/*
 * Commit: the task that turns epochs into transactions. It owns the producer, and the membership that says who may
 * use it (B14).
 *
 * For the epoch at hand it takes from every lane, in the lane's order, OUT blocks and then CROSSED, and from ingest the
 * CUT. It writes as things come; offsets go as soon as the CUT is known; when every lane has crossed, everything is
 * written and the offsets are accepted, it asks for the commit. What lanes send for the next epoch stands behind
 * CROSSED in their edges and is simply not read yet (B7): credits bound it, nothing is held here.
 *
 *     NO_SESSION --SESSION(open)--> OPENING --INIT--> READY --first write or CUT--> OPEN --all in--> ENDING --+
 *          ^                                            ^                                                      |
 *          +------- lost, fenced (engine decides)       +------ COMMITTED: tell lanes, ingest, persist <-------+
 *
 * Opening shuts out whoever has a session, so it begins with the coordinator's word that this member is still the
 * owner (B14): one that was replaced and has not heard of it waits there, and disturbs the new owner at most once.
 * A commit whose end was sent more than once is published, and a new session is opened before anything else is written
 * (B11). At-least-once (B10) is the same walk with a flush between outputs, changelog rows, frontiers and stamp, and
 * the offsets through the group at the end.
 *
 * Threading: a task (core/io/sched.h); new, destroy and the counters while it does not run.
 */
#ifndef SF_CORE_RUN_COMMIT_H
#define SF_CORE_RUN_COMMIT_H

#include "core/note.h"
#include "core/run/observer.h"
#include "core/run/target.h"
#include "core/time/event_time.h"

struct sf_commit_config {
    const struct sf_topology *topology; /* borrowed until destroy, as all pointers here */
    const struct sf_plan *plan;
    const struct sf_targets *targets;
    struct sf_alloc alloc;
    struct sf_kafka kafka;
    struct sf_sched sched;
    const struct sf_observer *observer;
    uint32_t lane_total;         /* over all sub-topologies */
    uint32_t lane_count;         /* per sub-topology */
    struct sf_edge *from_lanes;  /* [lane_total]: OUT, CROSSED */
    struct sf_edge *to_lanes;    /* [lane_total]: COMMITTED */
    struct sf_edge *from_ingest; /* CUT */
    struct sf_edge *to_ingest;   /* COMMITTED */
    struct sf_edge *to_persist;  /* OUT blocks of changelog rows, COMMITTED; NULL: no local store */
    struct sf_edge *from_engine;
    struct sf_edge *to_engine;
    uint64_t incarnation;
};

struct sf_commit;

struct sf_commit *sf_commit_new(const struct sf_commit_config *config, struct sf_task *task);
void sf_commit_destroy(struct sf_commit *commit);

/* --- while the task does not run */

/* Committed totals by topology step (M6). */
const struct sf_step_counts *sf_commit_step_counts(const struct sf_commit *commit);
/* The same by sink. */
const struct sf_sink_counts *sf_commit_sink_counts(const struct sf_commit *commit);
bool sf_commit_is_at_rest(const struct sf_commit *commit);

#endif
