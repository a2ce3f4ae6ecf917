#include "core/app/schema_table.h"

#include "core/app/schema_parts.h"

/* ---- engine keys ---- */

static const struct sf_schema millis = {.type = SF_SCHEMA_INT, .min = 0, .max = SFI_MS_MAX};
static const struct sf_schema bound_millis = {.type = SF_SCHEMA_INT, .rule = "V3", .min = 0, .max = SFI_MS_MAX};
static const struct sf_schema positive_millis = {.type = SF_SCHEMA_INT, .min = 1, .max = SFI_MS_MAX};
static const struct sf_schema idle_millis = {.type = SF_SCHEMA_INT, .min = -1, .max = SFI_MS_MAX};
static const struct sf_schema lanes = {.type = SF_SCHEMA_INT, .min = 1, .max = 128};
static const struct sf_schema record_count = {.type = SF_SCHEMA_INT, .min = 1, .max = 1000000};
static const struct sf_schema percent = {.type = SF_SCHEMA_INT, .min = 0, .max = 100};
static const struct sf_schema byte_count = {.type = SF_SCHEMA_INT, .min = 65536, .max = INT64_C(1) << 40};
static const struct sf_schema factor = {.type = SF_SCHEMA_DECIMAL, .min = 1000000, .max = 100000000};
static const struct sf_schema dispatch = SFI_WORDS({"ordered", 0}, {"direct", 0});
static const struct sf_schema changelog_format = SFI_WORDS({"rows", 0}, {"packed", 0});

static const struct sf_schema_key engine_keys[] = {
    {"watermark.max-out-of-orderness-ms", &bound_millis, 0, "the default bound of a source (W1); 10000"},
    {"watermark.idleness-timeout-ms", &bound_millis, 0, "when a silent partition is idle (I2); 300000, 0: never"},
    {"watermark.auto-interval-ms", &positive_millis, 0, "the least time between two watermarks (G2); 200"},
    {"watermark.preview-delay-ms", &millis, 0, "when a held head counts by its preview (P2); 1000"},
    {"processing.lanes", &lanes, 0, "lanes of each sub-topology (L1); the number of processors"},
    {"processing.buffered-records-per-partition", &record_count, 0, "where a partition is paused (D1); 2000"},
    {"processing.max-poll-records", &record_count, 0, "the most one poll returns (D1); 500"},
    {"processing.max-task-idle-ms", &idle_millis, 0, "how long a caught-up partition is waited for (D5); 0"},
    {"processing.uncommitted-bytes-max", &byte_count, 0, "memory of the uncommitted epoch (L5); 268435456"},
    {"processing.dispatch", &dispatch, 0, "the order of dispatch (D4)"},
    {"processing.background-share-percent", &percent, SF_KEY_LATER, "what background sources get at least (R1); 5"},
    {"commit-barrier.interval-ms", &positive_millis, 0, "the first interval between barriers (B2); 500"},
    {"commit-barrier.interval-factor", &factor, 0, "the interval over the commit's duration (B2); 1.5"},
    {"commit-barrier.min-interval-ms", &positive_millis, 0, "the shortest interval (B2); 150"},
    {"commit-barrier.max-interval-ms", &positive_millis, 0, "the longest interval (B2); 5000"},
    {"commit-barrier.timeout-ms", &positive_millis, 0, "how long a barrier may take (B9); 60000"},
    {"transaction-timeout-ms", &positive_millis, 0,
     "longer than the barrier time-out + max-interval + 10 s (V8); their sum + 20 s"},
    {"changelog.enabled", &sfi_schema_bool, 0, "whether state has changelogs (S3); true"},
    {"changelog.format", &changelog_format, 0, "how changelogs are written (K5); rows"},
    {"instance", &sfi_schema_name, 0, "a name under which a restarted process takes its place back (S6)"},
    {"session-timeout-ms", &positive_millis, 0, "after which a silent owner is replaced (S6); 10000"},
    {"state.dir", &sfi_schema_text, 0, "where the local store lies"},
    {"output.buffer-bytes", &byte_count, 0, "memory of outputs that wait for their transaction; 67108864"},
};
static const struct sf_schema engine = {
    .type = SF_SCHEMA_ENGINE, .keys = engine_keys, .key_count = SFI_COUNT(engine_keys)};

/* ---- sources ---- */

static const struct sf_schema guarantee = SFI_WORDS({"exactly-once", 0}, {"at-least-once", 0});
static const struct sf_schema key_serde = SFI_WORDS({"string", 0}, {"bytes", 0}, {"int64", 0}, {"json", 0});
static const struct sf_schema value_serde =
    SFI_WORDS({"string", 0}, {"bytes", 0}, {"int64", 0}, {"double", 0}, {"json", 0});
static const struct sf_schema start = SFI_WORDS({"earliest", 0}, {"latest", 0});
static const struct sf_schema on_invalid = SFI_WORDS({"fail", 0}, {"skip", 0}, {"partition-time", 0});
static const struct sf_schema on_future =
    SFI_WORDS({"accept", 0}, {"skip", 0}, {"clamp-watermark", 0}, {"dlq", SF_KEY_LATER});
static const struct sf_schema on_error = SFI_WORDS({"fail", 0}, {"continue", 0}, {"dlq", SF_KEY_LATER});
static const struct sf_schema on_missing = SFI_WORDS({"fail", 0}, {"log-start", 0});
static const struct sf_schema tier = SFI_WORDS({"live", 0}, {"background", SF_KEY_LATER});
static const struct sf_schema strategy =
    SFI_WORDS({"bounded-out-of-orderness", 0}, {"monotonous", 0}, {"none", 0}, {"extractor", SF_KEY_LATER},
              {"percentile", SF_KEY_LATER}, {"markers", SF_KEY_LATER}, {"bounded-replay", SF_KEY_LATER},
              {"custom", SF_KEY_LATER});
static const struct sf_schema bound = {.type = SF_SCHEMA_DURATION, .rule = "V3", .min = 0, .max = SFI_MS_MAX};
static const struct sf_schema idleness = {.type = SF_SCHEMA_DURATION, .rule = "V3", .min = 1, .max = SFI_MS_MAX};

static const struct sf_schema_key watermark_keys[] = {
    {"strategy", &strategy, 0, "W1 to W9; bounded-out-of-orderness"},
    {"max-out-of-orderness", &bound, 0, "the bound of W1; stoatflow.watermark.max-out-of-orderness-ms"},
    {"timestamp", &sfi_schema_path, 0, "the field with the event time (W6); the record timestamp"},
    {"idleness", &idleness, 0, "when a silent partition is idle (I2); stoatflow.watermark.idleness-timeout-ms"},
    {"wall-clock-fallback", &sfi_schema_any, SF_KEY_LATER, "W10"},
    {"alignment", &sfi_schema_any, SF_KEY_LATER, "A1: group, max-drift, update-interval"},
    {"extractor", &sfi_schema_any, SF_KEY_LATER, "W4: a registered function"},
    {"custom", &sfi_schema_any, SF_KEY_LATER, "W5: a registered function"},
    {"percentile", &sfi_schema_any, SF_KEY_LATER, "W7: p, sample, min, max"},
    {"markers", &sfi_schema_any, SF_KEY_LATER, "W8: header or field"},
};
static const struct sf_schema watermark = SFI_OBJECT(watermark_keys);

static const struct sf_schema_key source_keys[] = {
    {"topic", &sfi_schema_name, SF_KEY_REQUIRED, "the topic read"},
    {"key", &key_serde, 0, "how keys read; bytes"},
    {"value", &value_serde, 0, "how values read; bytes"},
    {"start", &start, 0, "where a source that was never read starts; later partitions do at theirs (S8); earliest"},
    {"on-invalid-timestamp", &on_invalid, 0, "T4; fail"},
    {"max-future-skew", &sfi_schema_span, 0, "how far ahead of the wall clock a record may be (T5); off"},
    {"on-future-timestamp", &on_future, 0, "what happens beyond it (T5)"},
    {"watermark", &watermark, 0, "W"},
    {"tier", &tier, 0, "R1; live"},
    {"late", &sfi_schema_any, SF_KEY_LATER, "R3: accept"},
    {"validate", &sfi_schema_bool, 0, "parse every value (M5); false"},
    {"on-missing-offset", &on_missing, 0, "S7; fail"},
    {"on-deserialization-error", &on_error, 0, "M5; fail"},
};
static const struct sf_schema source = SFI_OBJECT(source_keys);
static const struct sf_schema sources = {.type = SF_SCHEMA_MAP, .item = &source};

/* ---- streams and sinks ---- */

static const struct sf_schema size = {.type = SF_SCHEMA_DURATION, .min = 1, .max = SFI_MS_MAX};
static const struct sf_schema emit = SFI_WORDS({"on-window-update", 0}, {"on-window-close", 0});
static const struct sf_schema store_kind = SFI_WORDS({"persistent", 0}, {"in-memory", 0});

static const struct sf_schema_key window_keys[] = {
    {"tumbling", &size, 0, "the size of windows side by side (O1)"},
    {"grace", &sfi_schema_span, 0, "how long a window stays open past its end (F3); 0ms"},
    {"hopping", &sfi_schema_any, SF_KEY_LATER, "O1: size, advance"},
    {"sliding", &sfi_schema_any, SF_KEY_LATER, "O1"},
    {"session", &sfi_schema_any, SF_KEY_LATER, "O1: the gap"},
    {"cumulative", &sfi_schema_any, SF_KEY_LATER, "O2"},
    {"calendar", &sfi_schema_any, SF_KEY_LATER, "O2"},
};
static const struct sf_schema window = SFI_OBJECT(window_keys);
static const struct sf_schema aggregate = {.type = SF_SCHEMA_AGGREGATE};
static const struct sf_schema aggregates = {.type = SF_SCHEMA_MAP, .item = &aggregate};
static const struct sf_schema_key store_keys[] = {
    {"name", &sfi_schema_name, 0, "the step's name"},
    {"kind", &store_kind, 0, "K3; persistent"},
    {"retention", &sfi_schema_span, 0, "how long state is kept (K6); size + grace"},
};
static const struct sf_schema store = SFI_OBJECT(store_keys);

static const struct sf_schema from_list = {.type = SF_SCHEMA_LIST, .item = &sfi_schema_name};
static const struct sf_schema from = {
    .type = SF_SCHEMA_CHOICE, .scalar = &sfi_schema_name, .list = &from_list};
static const struct sf_schema map_fields = {.type = SF_SCHEMA_MAP, .item = &sfi_schema_expression};
static const struct sf_schema map_values = {
    .type = SF_SCHEMA_CHOICE, .scalar = &sfi_schema_expression, .object = &map_fields};

static const struct sf_schema_key step_keys[] = {
    {"name", &sfi_schema_name, SF_KEY_REQUIRED, "what other steps and sinks call it"},
    {"from", &from, SF_KEY_REQUIRED, "a source or step, or a list of them (merged)"},
    {"filter", &sfi_schema_expression, 0, "a condition: records for which it holds go on (O8)"},
    {"map-values", &map_values, 0, "the new value: an expression, or fields with one each (O8)"},
    {"key-by", &sfi_schema_expression, 0, "the new key (O8)"},
    {"window", &window, 0, "with `aggregate`: its windows (O1)"},
    {"aggregate", &aggregates, 0, "with `window`: fields, each count, sum(...), min(...) or max(...) (O3)"},
    {"emit", &emit, 0, "what an aggregation forwards (O4); on-window-update"},
    {"store", &store, 0, "where an aggregation keeps its state"},
    {"on-error", &on_error, 0, "M5; fail"},
    {"map", &sfi_schema_any, SF_KEY_LATER, "O8"},
    {"flat-map", &sfi_schema_any, SF_KEY_LATER, "O8"},
    {"select-key", &sfi_schema_any, SF_KEY_LATER, "O8"},
    {"branch", &sfi_schema_any, SF_KEY_LATER, "O8"},
    {"peek", &sfi_schema_any, SF_KEY_LATER, "O8"},
    {"through", &sfi_schema_any, SF_KEY_LATER, "O8"},
    {"reduce", &sfi_schema_any, SF_KEY_LATER, "O3"},
    {"cogroup", &sfi_schema_any, SF_KEY_LATER, "O1"},
    {"suppress", &sfi_schema_any, SF_KEY_LATER, "O5"},
    {"join", &sfi_schema_any, SF_KEY_LATER, "O6, O7"},
    {"table", &sfi_schema_any, SF_KEY_LATER, "O7"},
    {"process", &sfi_schema_any, SF_KEY_LATER, "O9"},
    {"punctuate", &sfi_schema_any, SF_KEY_LATER, "L4"},
    {"late", &sfi_schema_any, SF_KEY_LATER, "M4: dlq"},
};
static const struct sf_schema step = SFI_OBJECT(step_keys);
static const struct sf_schema streams = {.type = SF_SCHEMA_LIST, .item = &step};

static const struct sf_schema_key sink_keys[] = {
    {"from", &sfi_schema_name, SF_KEY_REQUIRED, "a source or step"},
    {"topic", &sfi_schema_name, SF_KEY_REQUIRED, "the topic written"},
    {"value", &value_serde, 0, "how values are written; json"},
    {"on-production-error", &on_error, 0, "M5; fail"},
};
static const struct sf_schema sink = SFI_OBJECT(sink_keys);
static const struct sf_schema sinks = {.type = SF_SCHEMA_LIST, .item = &sink};

/* ---- the application ---- */

static const struct sf_schema_key identity_keys[] = {
    {"id", &sfi_schema_name, SF_KEY_REQUIRED, "the group and the prefix of internal topics"},
    {"guarantee", &guarantee, 0, "exactly-once, or at-least-once (B10)"},
};
static const struct sf_schema identity = SFI_OBJECT(identity_keys);
static const struct sf_schema kafka = {.type = SF_SCHEMA_MAP, .item = &sfi_schema_text};

static const struct sf_schema_key application_keys[] = {
    {"application", &identity, SF_KEY_REQUIRED, "who this is"},
    {"stoatflow", &engine, 0, "engine keys, nested or dotted"},
    {"kafka", &kafka, 0, "settings of the client library"},
    {"sources", &sources, SF_KEY_REQUIRED, "topics read, by name"},
    {"streams", &streams, 0, "steps, in any order"},
    {"sinks", &sinks, 0, "topics written"},
};
const struct sf_schema sf_schema_application = {.type = SF_SCHEMA_OBJECT,
                                                .keys = application_keys,
                                                .key_count = SFI_COUNT(application_keys),
                                                .engine = &application_keys[1]};
