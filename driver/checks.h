/*
 * Checks: where whoever judges a run (the oracle, X1–X15) is told what the runner, the engine and the broker do, and
 * says what is wrong with it.
 *
 *     state = ops->open(&world)
 *       per engine:  observer = ops->started(state, &instance) ... ops->made ... ops->ended(state, &instance, how)
 *       throughout:  the broker observer; stepped, noted, happened
 *     ops->finish(state, &end)          what can be judged at the end only
 *     ops->close(state)
 *
 * A violation is reported through world.report the moment it is found; the runner stamps its virtual time, ends the
 * run after the step in which it came, and prints it with the command that shows it again. Checks never influence a
 * run: they change nothing that they are given, and a run with them has the same digest as one without.
 *
 * Numbers of topics. In sf_observer they are the engine's (world.kafka of its instance gives the name), in the broker
 * observer the broker's (sf_sim_kafka_topic_name).
 *
 * Threading: one thread. All pointers are borrowed until return, those of `struct sf_driver_world` until close.
 */
#ifndef SF_DRIVER_CHECKS_H
#define SF_DRIVER_CHECKS_H

#include "core/run/engine.h"
#include "sim/kafka.h"
#include "sim/sched.h"
#include "sim/store.h"

#define SF_DRIVER_RULE_BYTES 48u
#define SF_DRIVER_SUBJECT_BYTES 160u
#define SF_DRIVER_VALUE_BYTES 480u

/* One thing that should not be. Texts are NUL-terminated UTF-8 and may be cut; cutting loses nothing but the end. */
struct sf_driver_violation {
    char rule[SF_DRIVER_RULE_BYTES];       /* "X6", "expect.watermark" */
    char subject[SF_DRIVER_SUBJECT_BYTES]; /* "order-counts/0 key a window [..)": partition, window, lane */
    char expected[SF_DRIVER_VALUE_BYTES];
    char actual[SF_DRIVER_VALUE_BYTES];
    int64_t at_us;                         /* since the first instant; set by the runner */
};

/* The world of one run, as checks may look at it. */
struct sf_driver_world {
    uint64_t seed;
    const struct sf_topology *topology;
    const struct sf_plan *plan;
    uint32_t lanes;                 /* per sub-topology, resolved */
    bool is_exact;
    bool is_barrier_manual;         /* barriers fall where the scenario lists them: B2's cadence does not hold */
    struct sf_sim_world *world;     /* clocks; memory for the checks: world->alloc */
    struct sf_sim_kafka *broker;
    struct sf_sim_sched *sched;
    void (*report)(void *ctx, const struct sf_driver_violation *violation);
    void *report_ctx;
};

enum sf_driver_start {
    SF_DRIVER_START_FIRST,
    SF_DRIVER_START_AFTER_CRASH,   /* the same machine again: its disk is what a crash left of it */
    SF_DRIVER_START_AFTER_END,     /* the same machine again after its engine ended by itself */
    SF_DRIVER_START_STANDBY        /* another machine, while the first may live on */
};

/* One engine in one simulated process. */
struct sf_driver_instance {
    struct sf_sim_instance *process; /* process->id tells instances apart; ids are never reused */
    struct sf_kafka kafka;           /* its factory: names of its topic numbers */
    struct sf_sim_disk *disk;        /* its machine's */
    enum sf_driver_start start;
    uint64_t incarnation;            /* K1 */
    const struct sf_engine *engine;  /* NULL in `started` */
};

enum sf_driver_ending {
    SF_DRIVER_ENDED_CRASHED,   /* killed; in the middle of a step perhaps */
    SF_DRIVER_ENDED_STOPPED,   /* SF_END_STOPPED */
    SF_DRIVER_ENDED_FENCED,
    SF_DRIVER_ENDED_STUCK,
    SF_DRIVER_ENDED_FAILED,
    SF_DRIVER_ENDED_CUT        /* the run is over while it lives (`end: none`, --until) */
};

/* What the outside world did: faults and other events of the scenario, at the moment they take effect. */
enum sf_driver_event_kind {
    SF_DRIVER_EVENT_STOP,           /* graceful stop asked for, of one instance or of all */
    SF_DRIVER_EVENT_BARRIER,        /* a listed barrier is asked for */
    SF_DRIVER_EVENT_CRASH,
    SF_DRIVER_EVENT_STORE_LOST,     /* the machine's disk is a new, empty one */
    SF_DRIVER_EVENT_STANDBY,        /* the group is made to change its owner */
    SF_DRIVER_EVENT_HAND_OVER,      /* the group asks its owner to give way */
    SF_DRIVER_EVENT_METADATA_LOST,  /* the group's committed offsets have no metadata any more */
    SF_DRIVER_EVENT_FROZEN,         /* the process hears and sends nothing until THAWED */
    SF_DRIVER_EVENT_THAWED,
    SF_DRIVER_EVENT_WALL_JUMP,      /* value: ms */
    SF_DRIVER_EVENT_UNAVAILABLE,    /* tp: no leader */
    SF_DRIVER_EVENT_LAG_UNKNOWN,    /* tp: fetches fail */
    SF_DRIVER_EVENT_AVAILABLE,      /* tp: can be read again */
    SF_DRIVER_EVENT_ADDED,          /* tp: a new partition */
    SF_DRIVER_EVENT_TRUNCATED,      /* tp: its log starts at offset `value` */
    SF_DRIVER_EVENT_REVOKED,        /* tp: the application shall give it up */
    SF_DRIVER_EVENT_ASSIGNED,       /* tp: it has it again */
    SF_DRIVER_EVENT_PAUSED,         /* the host lets nothing be dispatched until RESUMED (M2) */
    SF_DRIVER_EVENT_RESUMED,
    SF_DRIVER_EVENT_HELD,           /* task `name` does not step until value us (mono) */
    SF_DRIVER_EVENT_BROKER          /* a fault on the answers to a producer was planted */
};

struct sf_driver_event {
    enum sf_driver_event_kind kind;
    uint32_t instance_id; /* 0: none in particular */
    struct sf_tp tp;      /* the broker's numbers */
    int64_t value;
    const char *name;     /* HELD: a task's; BROKER: the fault in words; else NULL */
};

/* How the run ended. */
struct sf_driver_end {
    bool is_stopped;  /* a graceful stop was asked for and finished */
    bool is_settled;  /* nothing was owed at the last instant */
    bool is_cut;      /* by --until, the budget or an earlier violation: judge only what has been */
};

struct sf_driver_checks_ops {
    /* The state that the other functions get; never NULL. */
    void *(*open)(const struct sf_driver_world *world);
    /* Everything between may be NULL. */
    const struct sf_observer *(*started)(void *state, const struct sf_driver_instance *instance);
    void (*made)(void *state, const struct sf_driver_instance *instance);
    /* Its engine is still there, and is not looked at any more after return. */
    void (*ended)(void *state, const struct sf_driver_instance *instance, enum sf_driver_ending ending);
    const struct sf_sim_kafka_observer *(*broker)(void *state); /* asked once, after open */
    void (*stepped)(void *state, const struct sf_sim_step_record *record);
    void (*noted)(void *state, const struct sf_sim_instance *process, const struct sf_task *task,
                  const struct sf_note *note);
    void (*happened)(void *state, const struct sf_driver_event *event);
    /* Below this offset of the partition (the broker's number) nothing is looked at any more, as long as nothing
     * disturbs the run. NULL: anything may be, so nothing is ever discarded. */
    int64_t (*needed)(void *state, struct sf_tp tp);
    void (*finish)(void *state, const struct sf_driver_end *end);
    void (*close)(void *state);
};

#endif
