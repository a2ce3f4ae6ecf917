/*
 * Inside the engine: what engine.c (life), start.c (from nothing to running), wiring.c (tasks and edges) and recover.c
 * (trouble and fall-back) share. Nobody else includes this.
 */
#ifndef SF_CORE_RUN_ENGINE_IMPL_H
#define SF_CORE_RUN_ENGINE_IMPL_H

#include "core/run/commit.h"
#include "core/run/engine.h"
#include "core/run/lane.h"
#include "core/run/local_state.h"
#include "core/run/log_reader.h"
#include "core/run/persist.h"
#include "core/run/restore.h"
#include "core/run/target.h"

/* Steps of a start, in order; each waits for what it asked (S1). */
enum sfi_start {
    SFI_START_DESCRIBE,  /* topics: there? how wide? */
    SFI_START_CREATE,    /* internal topics (K11) */
    SFI_START_JOIN,      /* until this instance is the owner (B14) */
    SFI_START_WIDTHS,    /* how wide the topics are now, and what they take: a standby may have waited for days */
    SFI_START_SESSION,   /* settles what an earlier session left (B11) */
    SFI_START_STABLE,    /* internal topics: no open transaction in front of what must be read (case 99) */
    SFI_START_STAMP,     /* the newest stamp */
    SFI_START_COMMITTED, /* source offsets */
    SFI_START_ENDS,      /* where partitions without one begin (S8) */
    SFI_START_FRONTIERS, /* emit frontiers */
    SFI_START_STATE,     /* stores */
    SFI_START_DONE
};

/* Steps of a fall-back. */
enum sfi_recover {
    SFI_RECOVER_NONE,
    SFI_RECOVER_ABORT,   /* the transaction is being aborted */
    SFI_RECOVER_SESSION, /* a new session is being opened */
    SFI_RECOVER_LOOK,    /* the newest stamp decides a commit in doubt */
    SFI_RECOVER_STOP,    /* tasks stop */
    SFI_RECOVER_RESET    /* tasks fall back */
};

/* Steps of a growth (G4). */
enum sfi_grow {
    SFI_GROW_NONE,
    SFI_GROW_COMMITTED, /* whether an owner before us has read from them */
    SFI_GROW_STARTS, /* where the logs of the others start */
    SFI_GROW_TOLD   /* ingest takes them at its next chance */
};

struct sfi_topic {
    uint32_t topic;
    int32_t partition_count; /* as found; 0: not there */
    uint32_t message_bytes_max;
    bool is_internal;
    bool is_cleanup_compact;
    bool is_answered;
};

/* One partition of an internal topic and its ends once every transaction in doubt is settled. */
struct sfi_log {
    struct sf_tp tp;
    int64_t start;
    int64_t stable_end;
    int64_t end;
};

struct sf_engine {
    struct sf_engine_config config;
    struct sf_task task;
    struct sf_port **ports;
    uint32_t port_count;

    enum sf_engine_phase phase;
    enum sfi_start start;
    bool is_asked;             /* the start step at hand has been put to the world */
    uint32_t pending;          /* answers it waits for */
    enum sfi_recover recover;
    bool is_finish_wanted;
    bool is_finish_sent;
    bool is_ending;
    enum sf_end end;
    struct sf_error error;
    bool is_owner;
    struct sf_mono_ts standby_at; /* still not owner then: somebody else is */
    bool is_standby_told;
    bool is_revoking;
    bool is_session_owed;      /* the session was lost while all fell back: another fall-back behind this one */
    bool is_in_doubt;          /* the fall-back at hand: outcome of `doubt_epoch` unknown */
    uint64_t doubt_epoch;
    uint64_t next_epoch;       /* after the fall-back at hand */
    struct sf_mono_ts deadline; /* of a stop that is waited for (B9) */
    uint64_t committed;
    uint64_t transactions_lost;
    uint32_t generation;
    uint32_t stopped_count;
    uint32_t stopping_count; /* tasks that were told to stop for good */
    uint32_t resumed_count;
    uint32_t resumed_wanted;

    /* what the start finds */
    struct sf_admin admin;
    struct sfi_topic *topics; /* sources, sinks, watermark, then changelogs and frontiers by target */
    uint32_t topic_count;
    int32_t *source_partitions; /* by source */
    struct sf_targets targets;
    struct sf_log_reader reader;
    bool is_reader_open;
    struct sf_ring ring;
    bool has_stamp;
    uint64_t stamp_incarnation;
    uint64_t stamp_epoch;
    struct sf_ingest_partition *partitions;
    struct sf_tp *tps; /* of the same, for lanes; with places for those that are found while running */
    uint32_t tps_capacity;
    uint32_t partition_count;
    struct sfi_log *logs; /* of internal topics: watermark, changelogs in the order of tracked partitions, frontiers */
    uint32_t log_count;
    uint32_t changelog_count; /* logs[1 …] */
    struct sf_mono_ts ask_again_at;
    int64_t *emitted;     /* by topology step */
    struct sf_restore *restore;
    uint64_t restored_rows;

    /* partitions found while running (G4) */
    struct sf_admin watch;
    enum sfi_grow grow;
    int32_t *wanted_partitions; /* by source, as the watch told last; NULL: nothing is watched */
    uint32_t growing_source;    /* while grow is not NONE */
    struct sf_ingest_partition *found; /* its new partitions */
    struct sf_ingest_growth growth;
    uint32_t partition_numbers; /* given to ingest's partitions so far */
    struct sf_mono_ts grow_again_at;

    /* the local store; writer NULL: there is none */
    struct sf_local_state local;
    struct sf_persist *persist;
    struct sf_task persist_task;
    _Atomic bool is_persist_spawned; /* the store's threads ask whom to wake */

    /* tasks and edges */
    uint32_t lane_total;
    struct sf_lane **lanes;
    struct sf_task *lane_tasks;
    struct sf_ingest *ingest;
    struct sf_task ingest_task;
    struct sf_commit *commit;
    struct sf_task commit_task;
    bool is_commit_spawned;
    bool is_running_spawned; /* lanes and ingest */
    struct sf_edge *edges;   /* all of them, in one piece of memory */
    void *edge_memory;
    size_t edge_memory_bytes;
    uint32_t edge_count;
    struct sf_edge *ingest_to_lane; /* [lane_total] each */
    struct sf_edge *lane_to_ingest;
    struct sf_edge *lane_to_commit;
    struct sf_edge *commit_to_lane;
    struct sf_edge *engine_to_lane;
    struct sf_edge *lane_to_engine;
    struct sf_edge *hops;           /* by upstream lane, then downstream index, then lane */
    uint32_t *hop_base;             /* by sub-topology: index of its first hop */
    uint32_t hop_count;
    struct sf_edge *ingest_to_commit;
    struct sf_edge *commit_to_ingest;
    struct sf_edge *engine_to_ingest;
    struct sf_edge *ingest_to_engine;
    struct sf_edge *engine_to_commit;
    struct sf_edge *commit_to_engine;
    struct sf_edge *commit_to_persist; /* NULL: no local store */
    struct sf_edge *engine_to_persist;
    struct sf_edge *persist_to_engine;
    struct sf_edge *host_to_engine;
    struct sf_edge *host_to_ingest;
    struct sf_edge ***lane_inputs; /* by lane: pointers to the hops that lead to it */
    uint32_t *lane_input_counts;
};

/* wiring.c */
void sfi_wire(struct sf_engine *engine);
void sfi_unwire(struct sf_engine *engine);
void sfi_spawn_commit(struct sf_engine *engine);
bool sfi_make_lanes(struct sf_engine *engine);
void sfi_destroy_lanes(struct sf_engine *engine);
bool sfi_spawn_running(struct sf_engine *engine);
/* To every task that has been spawned; how many. */
uint32_t sfi_tell_all(struct sf_engine *engine, const struct sf_msg *msg);
void sfi_tell_commit(struct sf_engine *engine, struct sf_msg msg);

/* start.c: one try at the step at hand; true if anything moved. */
bool sfi_start_step(struct sf_engine *engine, const struct sf_step *step);
void sfi_start_release(struct sf_engine *engine);
/* Read the newest stamp: ask, then poll; SF_END when read (B11). */
enum sf_status sfi_stamp_open(struct sf_engine *engine);
enum sf_status sfi_stamp_poll(struct sf_engine *engine);

/* SF_E_CORRUPT with "offset n: `reason`", before which a reader of the log puts topic and partition. */
enum sf_status sfi_bad_record(const struct sf_record *record, const char *reason, struct sf_error *error);

/* Ends the engine with "`what` `topic`: `remedy`"; topic and remedy may be NULL. */
void sfi_start_fail(struct sf_engine *engine, const struct sf_step *step, enum sf_status status, const char *what,
                    const char *topic, const char *remedy);
static inline const char *sfi_topic_name(const struct sf_engine *engine, uint32_t topic)
{
    return sf_kafka_topic_name(engine->config.kafka, topic);
}

void sfi_start_next(struct sf_engine *engine, enum sfi_start start);

/* start_state.c: steps of the walk; true if anything moved. */
bool sfi_state_stable(struct sf_engine *engine, const struct sf_step *step);
void sfi_state_ends(struct sf_engine *engine, const struct sf_step *step, const struct sf_admin_event *event);
bool sfi_state_frontiers(struct sf_engine *engine, const struct sf_step *step);
bool sfi_state_restore(struct sf_engine *engine, const struct sf_step *step);
void sfi_state_seed_moved(struct sf_engine *engine);
void sfi_state_release(struct sf_engine *engine);

/* start_topics.c: questions to the admin client, and what to make of each answer; false: the engine ends. */
void sfi_topics_describe(struct sf_engine *engine);
/* Once more, by the owner: a standby may have waited for days, and internal topics are there now. */
void sfi_topics_describe_again(struct sf_engine *engine);
void sfi_topics_take_widths(struct sf_engine *engine);
/* How large records may be, into the table of targets. */
void sfi_topics_take_limits(struct sf_engine *engine);
bool sfi_topics_described(struct sf_engine *engine, const struct sf_step *step, const struct sf_admin_event *event);
void sfi_topics_create(struct sf_engine *engine, const struct sf_step *step);
bool sfi_topics_created(struct sf_engine *engine, const struct sf_step *step, const struct sf_admin_event *event);
/* Partition counts into the table of targets. */
void sfi_topics_resolve(struct sf_engine *engine);

/* recover.c */
void sfi_on_trouble(struct sf_engine *engine, const struct sf_step *step, const struct sf_msg *msg);
void sfi_on_session(struct sf_engine *engine, const struct sf_step *step, const struct sf_msg *msg);
void sfi_on_stopped(struct sf_engine *engine, const struct sf_step *step, const struct sf_msg *msg);
void sfi_on_resumed(struct sf_engine *engine, const struct sf_step *step);
bool sfi_recover_step(struct sf_engine *engine, const struct sf_step *step);

/* engine.c */
void sfi_end(struct sf_engine *engine, const struct sf_step *step, enum sf_end end, enum sf_status status,
             const char *text);

/* grow.c */
void sfi_grow_watch(struct sf_engine *engine);
bool sfi_grow_step(struct sf_engine *engine, const struct sf_step *step);
void sfi_on_grown(struct sf_engine *engine);
void sfi_grow_release(struct sf_engine *engine);

#endif
