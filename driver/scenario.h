/*
 * Scenario: a scenario file as data. The runner plays it, the judge compares what came of it; nothing here has
 * behaviour. Whatever the format describes and the program does not do yet is refused when it is read.
 *
 * Times. `start_ms` is the wall clock at the first instant. What happens (`at`, `from`, `until`, barriers, stop) is in
 * ms since then; event times (`ts`, windows, watermarks) are epoch ms.
 *
 *     start: 2026-09-22T10:00:00Z                        start_ms 1790071200000
 *     - {at: +2s, to: orders/0, key: a, value: {n: {uniform: [1, 9]}}, ts: +1s, count: 3}
 *           -> BULK, at_ms 2000, count 3, key "a", value `{"n":` draw `}`, ts 1790071201000
 *
 * Everything is owned by one `struct sf_scenario`; strings are NUL-terminated UTF-8. It does not change once loaded, so
 * any thread may read it.
 */
#ifndef SF_DRIVER_SCENARIO_H
#define SF_DRIVER_SCENARIO_H

#include "core/arena.h"
#include "core/text.h"
#include "core/topo/check.h"
#include "core/topo/topology.h"

#define SF_SCENARIO_START_MS INT64_C(1767225600000) /* 2026-01-01T00:00:00Z: where `start` is left out */
#define SF_SCENARIO_TOPICS_MAX 256u
#define SF_SCENARIO_PARTITIONS_MAX 100000u
#define SF_SCENARIO_ANY INT64_MIN  /* a number left to the seed: `*`, or a partition by key */
#define SF_SCENARIO_UNUSED INT64_MIN /* no such time */

/* ---- draws ---- */

enum sf_scenario_draw_kind {
    SF_SCENARIO_DRAW_CONSTANT,    /* a */
    SF_SCENARIO_DRAW_UNIFORM,     /* a … b, both included */
    SF_SCENARIO_DRAW_EXPONENTIAL, /* mean a */
    SF_SCENARIO_DRAW_ZIPF,        /* 0 … a - 1, rank r with weight (r + 1)^-(b / 10^6) */
    SF_SCENARIO_DRAW_SEQUENCE     /* the record's ordinal in its entry, from 0 */
};

/* Where a number of the seed goes. Spans are in ms. */
struct sf_scenario_draw {
    enum sf_scenario_draw_kind kind;
    int64_t a, b;
    uint32_t width; /* SEQUENCE: at least so many digits, zeros in front: 6 for `%06d` */
};

/* A key or value: pieces of text with draws between them, in order. piece_count 0: null. A key's text is the scalar
 * as it stands (`a`, `5`); a value's is JSON, and so are its numbers; a string inside JSON has its quotes. */
struct sf_scenario_piece {
    const char *text;                   /* NULL: a draw */
    const struct sf_scenario_draw *draw;
};

struct sf_scenario_template {
    const struct sf_scenario_piece *pieces;
    uint32_t piece_count;
};

/* ---- what goes in ---- */

/* An internal topic is named by faults alone; the application makes it. */
struct sf_scenario_topic {
    const char *name;
    uint32_t partition_count; /* at the start */
    struct sf_place place;
};

enum sf_scenario_input_kind {
    SF_SCENARIO_RECORD,   /* one, at at_ms */
    SF_SCENARIO_BULK,     /* count at at_ms */
    SF_SCENARIO_GENERATOR /* one at at_ms and every every_ms after it, before until_ms */
};

enum sf_scenario_stamp_kind {
    SF_SCENARIO_STAMP_ARRIVAL, /* the wall clock at its arrival */
    SF_SCENARIO_STAMP_TIME,    /* ts_ms, valid or not (T4) */
    SF_SCENARIO_STAMP_BEHIND   /* the wall clock at its arrival less a drawn span */
};

struct sf_scenario_input {
    enum sf_scenario_input_kind kind;
    int64_t at_ms, until_ms, every_ms;
    uint64_t count;    /* 1 for a RECORD; 0 for a GENERATOR */
    uint32_t topic;    /* index in topics */
    int64_t partition; /* SF_SCENARIO_ANY: by the key, as K12 says */
    struct sf_scenario_template key, value;
    enum sf_scenario_stamp_kind stamp;
    int64_t ts_ms;
    struct sf_scenario_draw behind;
    struct sf_place place;
};

/* ---- what goes wrong ---- */

/* A point of the protocol: a note of level POINT (core/note.h) with its arguments. */
struct sf_scenario_point {
    const char *text;    /* as written: `barrier(4).stamped` */
    uint16_t note;       /* enum sf_note_code */
    int64_t epoch;       /* n; SF_SCENARIO_ANY: `*`, or the point has none */
    bool is_epoch_any;   /* `*`: the seed chooses which */
    int64_t step;        /* s: the index of a step of its sub-topology; SF_SCENARIO_ANY: none, or the only one */
    int64_t lane;        /* i; SF_SCENARIO_ANY: none */
};

enum sf_scenario_fault_kind {
    SF_SCENARIO_CRASH,         /* restart_after_ms, is_store_lost */
    SF_SCENARIO_STOP,          /* graceful (S4), then restart_after_ms */
    SF_SCENARIO_BROKER,        /* the answer to the producer's next request: is_answer_lost, is_late, is_committed */
    SF_SCENARIO_MARKERS,       /* those of the next commit: span_ms behind its answer */
    SF_SCENARIO_REQUEST_LOST,  /* request: the next one never arrives, and is sent again */
    SF_SCENARIO_UNAVAILABLE,   /* topic, partition: no leader */
    SF_SCENARIO_LAG_UNKNOWN,   /* topic, partition: fetches fail */
    SF_SCENARIO_ADDED,         /* topic, partition: made now */
    SF_SCENARIO_REVOKED,       /* topic, partition: taken from the application in order (S8) */
    SF_SCENARIO_ASSIGNED,      /* topic, partition: given back */
    SF_SCENARIO_TRUNCATED,     /* topic, partition: what is in its log now is gone */
    SF_SCENARIO_LOG_START,     /* topic, partition, offset: what lies before it is gone */
    SF_SCENARIO_CLOCK_JUMP,    /* jump_ms: the wall clock alone (T3) */
    SF_SCENARIO_TAKE_OVER,     /* a standby becomes the owner, the old instance goes on */
    SF_SCENARIO_HAND_OVER,     /* the owner is asked to give way to a standby */
    SF_SCENARIO_JOIN,          /* a standby comes now, not at the beginning */
    SF_SCENARIO_METADATA_LOST, /* committed offsets lose their metadata (K7) */
    SF_SCENARIO_LANE_STOPPED,  /* step, lane */
    SF_SCENARIO_INGEST_STOPPED,
    SF_SCENARIO_PAUSE,         /* is_paused: as POST /pause and /resume (M2) */
    SF_SCENARIO_SWARM          /* seeded random faults */
};

enum sf_scenario_request {
    SF_SCENARIO_REQUEST_INIT,
    SF_SCENARIO_REQUEST_WRITE,
    SF_SCENARIO_REQUEST_OFFSETS,
    SF_SCENARIO_REQUEST_COMMIT,
    SF_SCENARIO_REQUEST_ABORT
};

struct sf_scenario_fault {
    enum sf_scenario_fault_kind kind;
    bool is_at_point;                /* `when`; else at at_ms */
    struct sf_scenario_point point;
    int64_t at_ms;
    int64_t until_ms;                /* SF_SCENARIO_UNUSED: it lasts, or has no duration */
    int64_t restart_after_ms;
    bool is_store_lost;
    bool is_answer_lost, is_late, is_committed;
    enum sf_scenario_request request;
    int64_t span_ms;
    int64_t offset;
    uint32_t topic;
    uint32_t partition;
    int64_t jump_ms;
    uint32_t step, lane;
    bool is_paused;
    struct sf_place place;
};

/* ---- the world ---- */

enum sf_scenario_schedule { SF_SCENARIO_RANDOM, SF_SCENARIO_FIFO, SF_SCENARIO_PRIORITY };

struct sf_scenario_world {
    bool is_exact;
    bool has_fetch_latency, has_commit_latency; /* else drawn from the seed; none where exact */
    struct sf_scenario_draw fetch_latency, commit_latency;
    bool is_transactions_v2;
    enum sf_scenario_schedule schedule;
    uint32_t depth; /* PRIORITY: preemptions */
};

/* ---- what must come out ---- */

struct sf_scenario_row {
    struct sf_scenario_template key; /* no draws */
    bool has_window;
    int64_t window_start_ms, window_end_ms;
    const char *value; /* JSON; NULL: null. Of a windowed row without its `window` field */
    bool has_value;    /* `value` was given: else any */
    int64_t ts_ms;     /* SF_SCENARIO_UNUSED: any */
    struct sf_place place;
};

struct sf_scenario_output {
    const char *topic;
    bool is_exact; /* `exactly`: nothing else; else `contains` */
    const struct sf_scenario_row *rows;
    uint32_t row_count;
    struct sf_place place;
};

/* A watermark: at_least_ms = at_most_ms for one value, SF_TIME_UNSET and SF_TIME_COMPLETE as they are. */
struct sf_scenario_bounds {
    bool is_given;
    int64_t at_least_ms, at_most_ms;
};

struct sf_scenario_watermark {
    int64_t at_ms;
    struct sf_scenario_bounds global;
    struct sf_place place;
};

struct sf_scenario_partition {
    int64_t at_ms;
    uint32_t topic, partition;
    bool has_idle, is_idle;
    struct sf_scenario_bounds watermark;
    struct sf_place place;
};

struct sf_scenario_metric {
    int64_t at_ms; /* SF_SCENARIO_UNUSED: at the end */
    const char *name; /* M3, without `stoatflow.`: `dropped.records.total{reason=late_window}` */
    uint32_t metric;  /* driver/metric.h */
    int64_t value;
    struct sf_place place;
};

/* A rule's name, or words. */
struct sf_scenario_rule {
    const char *name;
    struct sf_place place;
};

struct sf_scenario {
    const char *name;
    const char *about; /* "" where left out */
    uint64_t seed;
    int64_t start_ms;
    int64_t stop_ms;   /* SF_SCENARIO_UNUSED: when the input is used up and settled */
    bool is_stopped;   /* `end: stop`: gracefully; `end: none`: the run just ends */
    const char *app_path;              /* as written; NULL: inline */
    struct sf_topology *topology;      /* NULL where the application is refused, as `expect.refused` wants */
    struct sf_findings app_findings;   /* the application's: warnings, and errors that are expected */
    struct sf_scenario_topic *topics;  /* as listed, then sinks' topics that are not (one partition each) */
    uint32_t topic_count;
    uint32_t internal_count;           /* internal topics, behind them in `topics` */
    struct sf_scenario_input *inputs;  /* in the order of the file */
    uint32_t input_count;
    struct sf_scenario_fault *faults;
    uint32_t fault_count;
    const int64_t *barriers;           /* ascending */
    uint32_t barrier_count;
    bool is_barrier_manual;            /* `barriers` listed, or an exact world: none by the cadence (B2) */
    struct sf_scenario_world world;
    struct sf_scenario_output *outputs;
    uint32_t output_count;
    struct sf_scenario_watermark *watermarks;
    uint32_t watermark_count;
    struct sf_scenario_partition *partitions;
    uint32_t partition_count;
    struct sf_scenario_metric *metrics;
    uint32_t metric_count;
    struct sf_scenario_rule *failed;   /* the engine must give up, with all of these words */
    uint32_t failed_count;
    struct sf_scenario_rule *said;     /* words in notes of the engine */
    uint32_t said_count;
    struct sf_scenario_rule *refused;  /* the application must not build, for these rules */
    uint32_t refused_count;
    struct sf_scenario_rule *warned;
    uint32_t warned_count;
    struct sf_arena arena;
};

/* Reads a scenario file and the application it names (relative to the file). NULL where either is wrong: *text_out
 * has one line per finding, each with its own file (core/app/app.h). Warnings stand there too. */
struct sf_scenario *sf_driver_scenario_load(const char *path, struct sf_alloc alloc, struct sf_text *text_out);

/* The same of a text; `path` is for messages and to find the application. */
struct sf_scenario *sf_driver_scenario_parse(const char *text, size_t length, const char *path, struct sf_alloc alloc,
                                             struct sf_text *text_out);
/* Of each sub-topology; where the application leaves it out, a number that hangs on no machine. It must be good. */
uint32_t sf_driver_scenario_lanes(const struct sf_scenario *scenario);
void sf_driver_scenario_destroy(struct sf_scenario *scenario);

#endif
