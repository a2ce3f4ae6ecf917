/*
 * Parts of a run, shared by the files that make it up (run.c, run_build.c, process.c, feed.c, faults.c,
 * expect.c, outputs.c, retention.c). Private to driver.
 */
#ifndef SF_DRIVER_RUN_PARTS_H
#define SF_DRIVER_RUN_PARTS_H

#include "driver/point.h"
#include "driver/run.h"

#define SFI_PROCESSES_MAX 64u
#define SFI_MACHINES_MAX 2u
#define SFI_MACHINE_FIRST 0u
#define SFI_MACHINE_STANDBY 1u
#define SFI_SUPERVISOR_DELAY_MS 1000  /* an engine that ended by itself is started again after this */
#define SFI_STOP_WITHIN_MS INT64_C(600000) /* virtual time that a graceful stop may take (X3) */

/* Draws of the driver; a number is for ever (sim/random.h). */
#define SFI_DOMAIN_POINT 48u
#define SFI_DOMAIN_INCARNATION 49u
#define SFI_DOMAIN_LATENCY 50u
#define SFI_DOMAIN_FETCH 51u /* and 52: swarm.c */
#define SFI_DOMAIN_INPUT_KEY 64u
#define SFI_DOMAIN_INPUT_VALUE 65u
#define SFI_DOMAIN_INPUT_TIME 66u

struct sfi_run;

/* One process: an engine in a simulated instance, from its start to its end. */
struct sfi_process {
    struct sfi_run *run;
    struct sf_driver_instance instance; /* also what checks get to see */
    struct sf_engine *engine;           /* NULL before it is made and once it is over */
    uint32_t machine;
    bool is_over;
    bool is_killed;                     /* by a fault of the scenario's */
    bool is_stopping;                   /* asked to stop gracefully */
    bool is_paused;                     /* told to dispatch nothing (M2) */
    bool is_to_return;                  /* once it has: its machine starts the application again */
    int64_t return_after_us;
    uint64_t stamped;                   /* newest barrier that it has fixed and not fallen back from; 0: none */
    bool has_ended;                     /* the engine told its end; it is taken down after the step */
    enum sf_end end;
    struct sf_error error;
};

struct sfi_machine {
    struct sf_sim_disk *disk;   /* NULL: no process has been there */
    int64_t restart_us;         /* a process starts there then (mono); INT64_MAX: none */
    enum sf_driver_start start; /* and why */
};

/* What engines counted that are over (M3): their committed totals. */
struct sfi_totals {
    uint64_t dropped[SF_DROP_COUNT];
    uint64_t late;
    uint64_t gap;
    uint64_t lost;
};

struct sfi_feed;
struct sfi_faults;
struct sfi_expect;
struct sfi_outputs;
struct sfi_retention;

struct sfi_run {
    const struct sf_scenario *scenario;
    const struct sf_driver_options *options;
    struct sf_driver_report *report;
    const struct sf_topology *topology;
    const struct sf_plan *plan;
    uint64_t seed;
    uint32_t lanes;
    struct sf_sim_world world;
    struct sf_sim_kafka *broker;
    struct sf_sim_sched *sched;
    struct sf_driver_world view; /* what checks get */
    struct sf_driver_history history;
    void *checks;                /* their state; NULL: none */
    const struct sf_sim_kafka_observer *broker_checks;
    struct sfi_machine machines[SFI_MACHINES_MAX];
    struct sfi_process processes[SFI_PROCESSES_MAX];
    uint32_t process_count;
    struct sfi_totals totals;
    struct sfi_feed *feed;
    struct sfi_faults *faults;
    struct sfi_expect *expect;
    struct sfi_outputs *outputs;
    struct sfi_retention *retention; /* NULL: everything is kept */
    bool is_keeping;             /* it has to be: an undisturbed run came back for what it had let go */
    uint64_t instant_steps_max;
    int64_t request_timeout_us;  /* of the broker's clients */
    uint32_t barrier_at;         /* next of the listed barriers */
    bool is_shown;               /* --watermarks-at has been */
    int64_t idle_since_us;       /* when the last thing listed happened */
    bool is_halted;              /* something is broken, or the budget or --until is reached: go no further */
    bool is_stop_asked;
    bool is_stopped;             /* and done */
    bool has_given_up;           /* the engine failed, as the scenario expects: the run ends there */
    bool was_settled;         /* when the owner was asked to stop: all that came since is in its flush or unread */
    int64_t stop_asked_us;
};

/* --- run.c */

/* Stamps the time, reports, and halts the run after this step. */
void sfi_run_violate(struct sfi_run *run, const char *rule, const char *subject, const char *expected,
                     const char *actual);
/* The same without halting: expectations go on, so that all that differs is told. */
void sfi_run_fail(struct sfi_run *run, const char *rule, const char *subject, const char *expected,
                  const char *actual);
/* Tells the checks and the history. */
void sfi_run_happened(struct sfi_run *run, const struct sf_driver_event *event);
/* By a crash that the scenario does not know of: it moves whatever comes after it, so what the scenario says of
 * instants, epochs and its own faults is not judged. */
static inline bool sfi_run_is_disturbed(const struct sfi_run *run)
{
    return run->options->crash.command != SF_SIM_COMMAND_NONE;
}
/* Virtual milliseconds since the first instant as mono time. */
int64_t sfi_run_mono_us(const struct sfi_run *run, int64_t since_start_ms);

/* --- run_build.c: the world of a run, and what its scheduler calls */

void sfi_run_build(struct sfi_run *run);
/* It also takes the run's digest. */
void sfi_run_tear_down(struct sfi_run *run);

/* --- process.c */

/* Starts one on the machine, whose disk is made if there is none. */
void sfi_process_start(struct sfi_run *run, uint32_t machine, enum sf_driver_start start);
/* Between steps: takes down what has ended or was killed; true if there was any. */
bool sfi_process_reap(struct sfi_run *run);
/* Starts what is due now; false if nothing was. */
bool sfi_process_restart_due(struct sfi_run *run);
int64_t sfi_process_next_restart_us(const struct sfi_run *run);
/* Of this simulated instance; NULL if it is over. */
struct sfi_process *sfi_process_of(struct sfi_run *run, const struct sf_sim_instance *instance);
/* The one that owns the application, by the broker's word; else the newest that lives; NULL: none lives. */
struct sfi_process *sfi_process_owner(struct sfi_run *run);
/* Does its engine read the partition (its own number of the topic), or where is_taken: is it, or shall it be, taken? */
bool sfi_process_reads(struct sfi_run *run, const struct sfi_process *process, struct sf_tp tp, bool is_taken);
/* All that live: as ENDED_CUT, at the end of a run. */
void sfi_process_drop_all(struct sfi_run *run);

/* --- feed.c: the input */

struct sfi_feed *sfi_feed_new(struct sfi_run *run);
void sfi_feed_destroy(struct sfi_run *run, struct sfi_feed *feed);
int64_t sfi_feed_next_us(const struct sfi_feed *feed);
/* Writes everything due at or before now. */
void sfi_feed_due(struct sfi_run *run, struct sfi_feed *feed);

/* --- faults.c */

struct sfi_faults *sfi_faults_new(struct sfi_run *run);
void sfi_faults_destroy(struct sfi_run *run, struct sfi_faults *faults);
int64_t sfi_faults_next_us(const struct sfi_faults *faults);
void sfi_faults_due(struct sfi_run *run, struct sfi_faults *faults);
/* In the middle of a step: a point of the protocol may be reached. */
void sfi_faults_note(struct sfi_run *run, struct sfi_faults *faults, struct sf_sim_instance *instance,
                     const struct sf_note *note);
/* A new process: epochs of passes count anew. */
void sfi_faults_started(struct sfi_faults *faults);
/* What was planned and never came. */
void sfi_faults_judge(struct sfi_run *run, const struct sfi_faults *faults);

/* --- expect.c */

struct sfi_expect *sfi_expect_new(struct sfi_run *run);
void sfi_expect_destroy(struct sfi_run *run, struct sfi_expect *expect);
int64_t sfi_expect_next_us(const struct sfi_expect *expect);
void sfi_expect_due(struct sfi_run *run, struct sfi_expect *expect);
/* `refused` and `warned`, before anything runs. */
void sfi_expect_application(const struct sf_scenario *scenario, struct sf_driver_report *report);
/* Output and metrics, at the end. */
void sfi_expect_judge(struct sfi_run *run, struct sfi_expect *expect);
/* The engine says something. */
void sfi_expect_note(struct sfi_run *run, struct sfi_expect *expect, const struct sfi_process *process,
                     const struct sf_note *note);
/* The engine has given up with this error. False: that is not expected at all. */
bool sfi_expect_failure(struct sfi_run *run, const char *error);

/* --- metrics.c */

/* What the process has counted on top of run->totals is added to them. */
void sfi_metrics_add(struct sfi_totals *totals, const struct sfi_run *run, const struct sfi_process *process);
/* By its index (driver/metric.h), over all processes so far. */
int64_t sfi_metrics_value(struct sfi_run *run, uint32_t metric);

/* --- outputs.c: what read-committed readers see in the sinks' topics */

struct sfi_outputs *sfi_outputs_new(struct sfi_run *run);
void sfi_outputs_destroy(struct sfi_run *run, struct sfi_outputs *outputs);
/* The broker's observer: history, digest, and on to the checks. */
const struct sf_sim_kafka_observer *sfi_outputs_observer(struct sfi_outputs *outputs);
/* Counts what lies below `before` for good: it may be discarded then. */
void sfi_outputs_pass(struct sfi_outputs *outputs, struct sf_tp tp, int64_t before);
uint64_t sfi_outputs_count(struct sfi_outputs *outputs);

/* --- retention.c: logs lose what nobody reads again */

/* NULL: this run keeps everything; the functions below then do nothing. */
struct sfi_retention *sfi_retention_new(struct sfi_run *run);
void sfi_retention_destroy(struct sfi_run *run, struct sfi_retention *retention);
void sfi_retention_appended(struct sfi_retention *retention, uint32_t count);
void sfi_retention_committed(struct sfi_retention *retention);
/* Between steps. */
void sfi_retention_due(struct sfi_run *run, struct sfi_retention *retention);

/* --- watermarks.c: a table of all partitions into the history */
void sfi_watermarks_show(struct sfi_run *run);

#endif
