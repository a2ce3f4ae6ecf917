/*
 * Topology: an application as data. The loader (core/app) fills it from a file, a program may fill it by hand; the
 * checks (core/topo/check.h) refuse what V says; the plan (core/topo/plan.h) cuts it into sub-topologies; the
 * engine and, as data only, the reference model read it. Nothing here has behaviour.
 *
 *     sources --> steps (a DAG, in any order of the file) --> sinks
 *
 * Everything is owned by one `struct sf_topology`, made by sf_topology_new and freed whole by sf_topology_destroy;
 * strings are NUL-terminated UTF-8, copied into it. It does not change once built, so any thread may read it.
 *
 * Durations are milliseconds; SF_SPAN_NONE says "not given".
 */
#ifndef SF_CORE_TOPO_TOPOLOGY_H
#define SF_CORE_TOPO_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"

#define SF_SPAN_NONE INT64_MIN
#define SF_LANES_MAX 128u
#define SF_TOPOLOGY_SOURCES_MAX 256u
#define SF_TOPOLOGY_STEPS_MAX 1024u
#define SF_TOPOLOGY_SINKS_MAX 256u
#define SF_STEP_INPUTS_MAX 16u
#define SF_AGGREGATES_MAX 32u
#define SF_TOPIC_NAME_BYTES_MAX 249u /* a broker's own bound */

/* Where something stands in its file, 1-based; line 0: not from a file. */
struct sf_place {
    uint32_t line;
    uint32_t column;
};

enum sf_guarantee { SF_EXACTLY_ONCE, SF_AT_LEAST_ONCE };

/* How key or value bytes read as a value. int64: 8 bytes big-endian; double: 8 bytes big-endian IEEE 754 (the Java
 * clients' serialisers); string: UTF-8; json: UTF-8 JSON text; bytes: opaque. */
enum sf_serde { SF_SERDE_BYTES, SF_SERDE_STRING, SF_SERDE_INT64, SF_SERDE_DOUBLE, SF_SERDE_JSON };

enum sf_start { SF_START_EARLIEST, SF_START_LATEST };                                   /* S8 */
enum sf_on_invalid { SF_INVALID_FAIL, SF_INVALID_SKIP, SF_INVALID_PARTITION_TIME };     /* T4 */
enum sf_on_future { SF_FUTURE_ACCEPT, SF_FUTURE_SKIP, SF_FUTURE_CLAMP };                /* T5 */
enum sf_on_error { SF_ERROR_FAIL, SF_ERROR_CONTINUE };                                  /* M5 */
enum sf_on_missing_offset { SF_MISSING_FAIL, SF_MISSING_LOG_START };                    /* S7 */

enum sf_strategy {
    SF_STRATEGY_DEFAULT, /* nothing said: W1 with the global bound (D7) */
    SF_STRATEGY_BOUNDED,
    SF_STRATEGY_MONOTONOUS,
    SF_STRATEGY_NONE
};

struct sf_watermark_spec {
    enum sf_strategy strategy;
    int64_t bound_ms;           /* W1; SF_SPAN_NONE: the global key */
    const char *timestamp_path; /* assigner, `$.a.b` on the JSON value; NULL: the record timestamp (W6) */
    int64_t idleness_ms;        /* I2; SF_SPAN_NONE: the global key */
    bool is_given;              /* the source has a `watermark:` section */
    struct sf_place place;
};

struct sf_source_spec {
    const char *name;
    const char *topic;
    enum sf_serde key;
    enum sf_serde value;
    enum sf_start start;
    enum sf_on_invalid on_invalid;
    enum sf_on_missing_offset on_missing_offset;
    enum sf_on_error on_deserialization_error;
    bool is_validated;          /* `validate: true`: every value is parsed (M5) */
    int64_t max_future_skew_ms; /* SF_SPAN_NONE: off (T5) */
    enum sf_on_future on_future;
    struct sf_watermark_spec watermark;
    struct sf_place place;
};

enum sf_step_kind {
    SF_STEP_MERGE, /* only `from: [a, b]` */
    SF_STEP_FILTER,
    SF_STEP_MAP_VALUES,
    SF_STEP_KEY_BY,
    SF_STEP_AGGREGATE /* windowed */
};

enum sf_window_kind { SF_WINDOW_TUMBLING };
enum sf_emit { SF_EMIT_ON_UPDATE, SF_EMIT_ON_CLOSE }; /* O4 */
enum sf_aggregate_kind { SF_AGGREGATE_COUNT, SF_AGGREGATE_SUM, SF_AGGREGATE_MIN, SF_AGGREGATE_MAX };

/* One output field of an aggregation: `total: sum($.amount)`. */
struct sf_aggregate_spec {
    const char *name;
    enum sf_aggregate_kind kind;
    const char *expression; /* what goes in, core/ops/expression.h; NULL for count */
    struct sf_place place;
};

struct sf_window_spec {
    enum sf_window_kind kind;
    int64_t size_ms;
    int64_t grace_ms; /* 0 where not given */
    struct sf_place place;
};

struct sf_store_spec {
    const char *name; /* the step's where not given */
    bool is_persistent;
    int64_t retention_ms; /* resolved: as given, else size + grace (K6) */
    struct sf_place place;
};

struct sf_map_field {
    const char *name;
    const char *expression;
};

/* What a step or sink reads from: a source or a step. */
enum sf_input_kind { SF_INPUT_SOURCE, SF_INPUT_STEP };
struct sf_input {
    enum sf_input_kind kind;
    uint32_t index;
};

struct sf_step_spec {
    const char *name;
    enum sf_step_kind kind;
    struct sf_input inputs[SF_STEP_INPUTS_MAX];
    uint32_t input_count;
    enum sf_on_error on_error;
    struct sf_place place;
    const char *expression;            /* FILTER: a condition; KEY_BY: a value; MAP_VALUES of one expression */
    const struct sf_map_field *fields; /* MAP_VALUES of an object of expressions; else NULL */
    uint32_t field_count;
    struct sf_window_spec window;      /* AGGREGATE, as the rest */
    enum sf_emit emit;
    const struct sf_aggregate_spec *aggregates;
    uint32_t aggregate_count;
    struct sf_store_spec store;
};

struct sf_sink_spec {
    const char *topic;
    struct sf_input from;
    enum sf_serde value;
    enum sf_on_error on_production_error;
    struct sf_place place;
};

enum sf_dispatch { SF_DISPATCH_AUTO, SF_DISPATCH_ORDERED, SF_DISPATCH_DIRECT }; /* D4 */

/* Engine keys (docs/operating.md): behind each its name in the application file and the default that sf_topology_new
 * sets. */
struct sf_settings {
    int64_t max_out_of_orderness_ms; /* watermark.max-out-of-orderness-ms, 10 000 */
    int64_t idleness_timeout_ms;     /* watermark.idleness-timeout-ms, 300 000; 0: off */
    int64_t auto_interval_ms;        /* watermark.auto-interval-ms, 200 */
    int64_t preview_delay_ms;        /* watermark.preview-delay-ms, 1 000 */
    uint32_t lanes;                  /* processing.lanes, 1 … 128; 0: as many as processors, resolved by the program */
    uint32_t buffered_records_max;   /* processing.buffered-records-per-partition, 2 000 */
    uint32_t poll_records_max;       /* processing.max-poll-records, 500 */
    int64_t task_idle_ms_max;        /* processing.max-task-idle-ms, 0; -1: never waits */
    uint64_t uncommitted_bytes_max;  /* processing.uncommitted-bytes-max, 256 MiB */
    enum sf_dispatch dispatch;       /* processing.dispatch */
    int64_t barrier_interval_ms;     /* commit-barrier.interval-ms, 500 */
    uint32_t barrier_factor_percent; /* commit-barrier.interval-factor x 100, 150 */
    int64_t barrier_interval_ms_min; /* commit-barrier.min-interval-ms, 150 */
    int64_t barrier_interval_ms_max; /* commit-barrier.max-interval-ms, 5 000 */
    int64_t barrier_timeout_ms;      /* commit-barrier.timeout-ms, 60 000 */
    int64_t transaction_timeout_ms;  /* transaction-timeout-ms; resolved: barrier time-out + max-interval + 20 s (V8) */
    bool is_changelog_enabled;       /* changelog.enabled, true */
    bool is_changelog_packed;        /* changelog.format: packed; default rows */
    const char *instance;            /* instance (S6); NULL: none */
    int64_t session_timeout_ms;      /* session-timeout-ms, 10 000: of the group */
    const char *state_dir;           /* state.dir; NULL: the program's default */
    uint64_t output_buffer_bytes;    /* output.buffer-bytes, 64 MiB over all lanes */
};

/* One `kafka:` setting, handed to the client library as it is. */
struct sf_kafka_setting {
    const char *name;
    const char *value;
    struct sf_place place;
};

struct sf_topology {
    const char *application_id;
    enum sf_guarantee guarantee;
    struct sf_settings settings;
    struct sf_source_spec *sources;
    uint32_t source_count;
    struct sf_step_spec *steps;
    uint32_t step_count;
    struct sf_sink_spec *sinks;
    uint32_t sink_count;
    struct sf_kafka_setting *kafka;
    uint32_t kafka_count;
    struct sf_arena arena; /* all memory of this topology */
};

/* An empty topology with default settings. */
struct sf_topology *sf_topology_new(struct sf_alloc alloc);
void sf_topology_destroy(struct sf_topology *topology);

/* What topics may be named after: 1 to 200 of a-z A-Z 0-9 . _ -, but neither `.` nor `..` (V8). */
bool sf_topology_is_name(const char *name);

/* Zeroed memory that lives as long as the topology. bytes > 0. */
void *sf_topology_take(struct sf_topology *topology, size_t bytes);
/* A copy of `len` bytes with a NUL behind them. */
const char *sf_topology_text(struct sf_topology *topology, const char *text, size_t len);

#endif
