/*
 * One application in an exact simulated world, driven by hand: records in, barriers asked for, results out as text. For
 * tests of the engine that need no scenario file.
 */
#ifndef SF_TESTS_UNIT_ENGINE_WORLD_H
#define SF_TESTS_UNIT_ENGINE_WORLD_H

#include "core/note.h"
#include "core/run/engine.h"
#include "sim/kafka.h"
#include "sim/sched.h"
#include "sim/store.h"

struct engine_world {
    struct sf_sim_world world;
    struct sf_sim_sched *sched;
    struct sf_sim_kafka *broker;
    struct sf_sim_disk *disk;
    bool has_store; /* engines to come keep their state on the disk */
    struct sf_topology *topology;
    struct sf_plan *plan;
    struct sf_sim_instance *instance;
    struct sf_engine *engine;
    struct sf_engine_config config; /* of the engines to come: lanes, observer */
    uint64_t incarnation;
    bool has_ended;
    enum sf_end end;
    struct sf_error error;
    uint32_t tasks_at_end; /* the engine's own included */
    /* crash at a note: the instance dies when this one is written for the n-th time */
    int crash_code; /* -1: none */
    int64_t crash_epoch;
    uint32_t note_counts[SF_NOTE_COUNT];
    /* hold at a note: when this one is written, `hold_name` does not step for `hold_us` */
    int hold_code; /* -1: none */
    const char *hold_name;
    int64_t hold_us;
    char out[65536];
};

/* Loads `app`, makes topics "in" with `partitions` and "out" with one, starts an engine. budget 0: exact world's. */
void engine_world_init(struct engine_world *w, const char *app, int32_t partitions, uint32_t lanes, uint32_t budget);
/* The same with a scheduler of another kind; its hooks are set here. */
void engine_world_init_sched(struct engine_world *w, const char *app, int32_t partitions, uint32_t lanes,
                             const struct sf_sim_sched_config *config);
/* Another application for the engines to come; none may run. */
void engine_world_load(struct engine_world *w, const char *app);
void engine_world_deinit(struct engine_world *w);

/* Another process of the same application: after a crash or a stop. */
void engine_world_start(struct engine_world *w);
/* The process dies now; its memory goes. */
void engine_world_crash(struct engine_world *w);

void engine_world_append(struct engine_world *w, int32_t partition, const char *key, int64_t ts, const char *value);
/* Go on to `ms` after the first instant. */
void engine_world_at(struct engine_world *w, int64_t ms);
/* A barrier at this instant, and all that it sets off. */
void engine_world_barrier(struct engine_world *w);
/* Graceful stop, to its end. */
void engine_world_stop(struct engine_world *w);

/* What a read-committed reader finds in topic "out": "key value @ts\n" per record, keys and values as text. */
const char *engine_world_output(struct engine_world *w);

#endif
