/*
 * One application in an exact simulated world with the oracle looking on, driven by hand, and one lie: an event that is
 * changed on its way to the oracle. For tests that each invariant is seen to break.
 *
 *     oracle_world_init(&w, app, 1, 1);
 *     w.lie = LIE_ROW_VALUE; w.lie_at = 2;             // the second row that reaches a sink's topic is another one
 *     oracle_world_append(…); oracle_world_barrier(&w); …
 *     oracle_world_check(&w, "X6");                    // "": nothing was found
 */
#ifndef SF_TESTS_UNIT_ORACLE_WORLD_H
#define SF_TESTS_UNIT_ORACLE_WORLD_H

#include "driver/oracle.h"

enum oracle_lie {
    LIE_NONE,
    LIE_ROW_VALUE,       /* a sink's row has another value */
    LIE_ROW_TIME,        /* another time */
    LIE_ROW_PARTITION,   /* lies in another partition */
    LIE_ROW_LOST,        /* is not there */
    LIE_ROW_TWICE,       /* is there twice */
    LIE_ROWS_SWAPPED,    /* a sink's row and the next one change places */
    LIE_ROW_OUTSIDE,     /* is in no transaction */
    LIE_CHANGE_VALUE,    /* a changelog's row */
    LIE_CHANGE_LOST,
    LIE_CHANGE_GONE,     /* becomes a tombstone */
    LIE_TOMBSTONE_LOST,
    LIE_FRONTIER,        /* an emit frontier is another */
    LIE_FRONTIER_LOST,
    LIE_STAMP,           /* the newest stamp in a stamp row is another */
    LIE_STAMP_LOST,
    LIE_OFFSET,          /* an offset that commits is one less */
    LIE_OFFSET_AHEAD,    /* one more */
    LIE_OFFSET_LOST,
    LIE_METADATA,        /* the partition time beside it */
    LIE_ABORTED,         /* a decision to commit is taken for one to abort */
    LIE_PRODUCER_EPOCH,  /* what commits is of an older session */
    LIE_WATERMARK_LOW,   /* an emitted watermark is 1 s less than the last */
    LIE_WATERMARK_HIGH,  /* 1 ms more than it is */
    LIE_WATERMARK_LOST,  /* is not emitted */
    LIE_LAG,             /* a partition that is caught up is not */
    LIE_STAMPED,         /* the stamp of a barrier that is fixed is another */
    LIE_FIXED_TWICE,     /* a barrier is fixed before the last one has committed */
    LIE_CROSSED_TWICE,
    LIE_NOT_PASSED,      /* a pass is not told */
    LIE_DISPATCH_LATE,   /* late arrivals are counted otherwise */
    LIE_DISPATCH_TIME,   /* a dispatched record has another event time */
    LIE_DISPATCH_SWAPPED,/* two records of a dispatch batch change places */
    LIE_DISPATCH_HASH,
    LIE_TAKEN_TWICE,     /* a lane takes a record again */
    LIE_TAKEN_LOST,      /* a lane does not take one */
    LIE_BUFFERED_LOST,   /* a batch is not the next one */
    LIE_BUFFERED_MANY,   /* more records wait than D1 lets: the bound is told as 1 */
    LIE_ASSIGNED,        /* reading goes on one record too far */
    LIE_FELL_BACK,       /* to an older cut */
    LIE_COMMITTED,       /* the engine takes the next epoch for committed */
    LIE_CHANGE_AGAIN,    /* the first changelog row comes again, before another one */
    LIE_COUNTED,         /* a cut has one dispatched record more */
    LIE_SKIPPED,         /* a record is skipped for another reason */
    LIE_DELIVERED,       /* a dispatch batch came a second earlier on the wall clock */
    LIE_LOCAL_VALUE,     /* a crash leaves a row of the local store with another value */
    LIE_LOCAL_LOST,      /* or without it */
    LIE_LOCAL_EXTRA,     /* or with one more */
    LIE_LOCAL_FORMAT,    /* or with a row that is none */
    LIE_LOCAL_AHEAD,     /* or its positions ahead of its rows */
    LIE_LOCAL_BEYOND     /* or beyond the changelog's end */
};

struct oracle_world {
    struct sf_sim_world world;
    struct sf_sim_sched *sched;
    struct sf_sim_kafka *broker;
    struct sf_sim_disk *disk;
    struct sf_topology *topology;
    struct sf_plan *plan;
    uint32_t lanes;
    const struct sf_driver_checks_ops *checks;
    void *oracle;
    const struct sf_sim_kafka_observer *broker_checks;
    struct sf_sim_kafka_observer liar;
    const struct sf_observer *engine_checks; /* of the instance at hand */
    struct sf_observer engine_liar;
    struct sf_driver_instance info;
    struct sf_engine *engine;
    uint64_t incarnation;
    bool has_ended;
    enum sf_end end;
    bool is_stopped;
    int crash_code; /* the instance dies when this note is written for epoch crash_epoch; -1: none */
    int64_t crash_epoch;
    bool is_cadenced;
    enum oracle_lie lie;
    uint32_t lie_at;   /* the n-th event that the lie fits, from 1 */
    uint32_t lie_seen;
    bool is_told;      /* the lie */
    uint32_t violation_count;
    struct sf_driver_violation violation; /* the first */
};

/* Loads `app`; topics "in", "more" with `partitions` and "out" with two; starts an engine. */
void oracle_world_init(struct oracle_world *w, const char *app, int32_t partitions, uint32_t lanes);
/* The same, but the oracle believes that barriers fall by the cadence (B2). */
void oracle_world_init_cadenced(struct oracle_world *w, const char *app, int32_t partitions, uint32_t lanes);
/* Tells the oracle the end; `is_settled` as in sf_driver_end. */
void oracle_world_finish(struct oracle_world *w);
void oracle_world_deinit(struct oracle_world *w);

void oracle_world_start(struct oracle_world *w, enum sf_driver_start start);
void oracle_world_crash(struct oracle_world *w);
void oracle_world_append_to(struct oracle_world *w, const char *topic, int32_t partition, const char *key, int64_t ts,
                            const char *value);
void oracle_world_append(struct oracle_world *w, int32_t partition, const char *key, int64_t ts, const char *value);
void oracle_world_at(struct oracle_world *w, int64_t ms);
void oracle_world_barrier(struct oracle_world *w);
void oracle_world_stop(struct oracle_world *w);

/* The first violation is of this rule; "": there is none. Also that the lie was told, where one is set. */
void oracle_world_check(struct oracle_world *w, const char *rule);

#endif
