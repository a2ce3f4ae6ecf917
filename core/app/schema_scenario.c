/* The other half of the table: scenario files. */
#include "core/app/schema_parts.h"

#define SFI_SEED_MAX INT64_MAX

static const struct sf_schema moment = {.type = SF_SCHEMA_MOMENT};
static const struct sf_schema stamp_time = {.type = SF_SCHEMA_STAMP};
static const struct sf_schema any_integer = {.type = SF_SCHEMA_INT, .min = INT64_MIN, .max = INT64_MAX};
static const struct sf_schema count = {.type = SF_SCHEMA_INT, .min = 1, .max = INT64_C(1000000000)};
static const struct sf_schema span = {.type = SF_SCHEMA_DURATION, .min = 0, .max = SFI_MS_MAX};
static const struct sf_schema some_span = {.type = SF_SCHEMA_DURATION, .min = 1, .max = SFI_MS_MAX};

/* ---- draws ---- */

static const struct sf_schema integer_pair = {.type = SF_SCHEMA_LIST, .item = &any_integer, .min = 2, .max = 2};
static const struct sf_schema span_pair = {.type = SF_SCHEMA_LIST, .item = &span, .min = 2, .max = 2};
static const struct sf_schema weight = {.type = SF_SCHEMA_DECIMAL, .min = 0, .max = 10000000};

static const struct sf_schema_key zipf_keys[] = {
    {"n", &count, SF_KEY_REQUIRED, "how many there are: 0 to n - 1"},
    {"s", &weight, SF_KEY_REQUIRED, "how steep: rank r weighs (r + 1)^-s"},
};
static const struct sf_schema zipf = SFI_OBJECT(zipf_keys);

static const struct sf_schema_key number_draw_keys[] = {
    {"uniform", &integer_pair, 0, "an integer between two, both included"},
    {"zipf", &zipf, 0, "an integer, small ones most"},
    {"sequence", &sfi_schema_text, 0, "the record's number in its entry, from 0: \"c%06d\""},
};
const struct sf_schema sf_schema_draw = SFI_OBJECT(number_draw_keys);
static const struct sf_schema key_template = {
    .type = SF_SCHEMA_CHOICE, .scalar = &sfi_schema_any, .object = &sf_schema_draw};

static const struct sf_schema_key span_draw_keys[] = {
    {"uniform", &span_pair, 0, "a span between two, both included"},
    {"exponential", &some_span, 0, "the mean of an exponential distribution"},
};
static const struct sf_schema span_draw_object = SFI_OBJECT(span_draw_keys);
static const struct sf_schema span_draw = {
    .type = SF_SCHEMA_CHOICE, .scalar = &span, .object = &span_draw_object};

/* Bounded, since a request that takes too long is another fault. */
static const struct sf_schema_key latency_keys[] = {
    {"uniform", &span_pair, SF_KEY_REQUIRED, "a span between two, both included"},
};
static const struct sf_schema latency_object = SFI_OBJECT(latency_keys);
static const struct sf_schema latency = {.type = SF_SCHEMA_CHOICE, .scalar = &span, .object = &latency_object};

/* ---- topics and input ---- */

static const struct sf_schema partition_count = {.type = SF_SCHEMA_INT, .min = 1, .max = 100000};
static const struct sf_schema_key topic_keys[] = {
    {"partitions", &partition_count, SF_KEY_REQUIRED, "at the start"},
};
static const struct sf_schema topic = SFI_OBJECT(topic_keys);
static const struct sf_schema topics = {.type = SF_SCHEMA_MAP, .item = &topic};

static const struct sf_schema_key behind_keys[] = {
    {"behind", &span_draw, SF_KEY_REQUIRED, "how far the event time lies behind the arrival"},
};
static const struct sf_schema behind = SFI_OBJECT(behind_keys);
static const struct sf_schema stamp = {.type = SF_SCHEMA_CHOICE, .scalar = &stamp_time, .object = &behind};

static const struct sf_schema_key input_keys[] = {
    {"at", &moment, 0, "when it arrives"},
    {"from", &moment, 0, "a generator: its first arrival"},
    {"until", &moment, 0, "a generator: none arrives then or later"},
    {"every", &some_span, 0, "a generator: between two arrivals"},
    {"count", &count, 0, "with `at`: so many at once"},
    {"to", &sfi_schema_text, SF_KEY_REQUIRED, "topic/partition, or a topic: the partition by the key (K12)"},
    {"key", &key_template, 0, "a scalar or a draw; left out: null"},
    {"value", &sfi_schema_any, 0, "any value, with draws in it; left out: null"},
    {"ts", &stamp, 0, "the record timestamp; left out: the arrival"},
    {"headers", &sfi_schema_any, SF_KEY_LATER, "record headers"},
};
static const struct sf_schema input = SFI_OBJECT(input_keys);
static const struct sf_schema inputs = {.type = SF_SCHEMA_LIST, .item = &input};

/* ---- faults ---- */

static const struct sf_schema store_fate = SFI_WORDS({"kept", 0}, {"lost", 0});
static const struct sf_schema_key crash_keys[] = {
    {"restart-after", &span, SF_KEY_REQUIRED, "how long the process is gone"},
    {"store", &store_fate, 0, "its disk; kept"},
};
static const struct sf_schema crash = SFI_OBJECT(crash_keys);
static const struct sf_schema_key stop_keys[] = {
    {"restart-after", &span, SF_KEY_REQUIRED, "how long after its end the application starts again"},
};
static const struct sf_schema fault_stop = SFI_OBJECT(stop_keys);
static const struct sf_schema broker_answer = SFI_WORDS({"lost", 0}, {"given", 0}, {"late", 0});
static const struct sf_schema broker_outcome = SFI_WORDS({"committed", 0}, {"aborted", 0});
static const struct sf_schema broker_request = SFI_WORDS({"lost", 0});
static const struct sf_schema broker_of =
    SFI_WORDS({"init", 0}, {"write", 0}, {"offsets", 0}, {"commit", 0}, {"abort", 0});
static const struct sf_schema_key broker_keys[] = {
    {"answer", &broker_answer, 0, "of the next commit, what the producer hears; late: the request comes twice"},
    {"outcome", &broker_outcome, 0, "beside `answer`: what became of the transaction"},
    {"markers", &some_span, 0, "the next commit is answered at once, its markers stand so much later"},
    {"request", &broker_request, 0, "the next one never arrives, and the client sends it again"},
    {"of", &broker_of, 0, "beside `request`: which; commit"},
};
static const struct sf_schema broker = SFI_OBJECT(broker_keys);
static const struct sf_schema partition_word =
    SFI_WORDS({"unavailable", 0}, {"added", 0}, {"revoked", 0}, {"assigned", 0}, {"truncated", 0});
static const struct sf_schema unknown_word = SFI_WORDS({"unknown", 0});
static const struct sf_schema some_offset = {.type = SF_SCHEMA_INT, .min = 1, .max = INT64_MAX};
static const struct sf_schema_key partition_keys_of_fault[] = {
    {"lag", &unknown_word, 0, "fetches fail (D6)"},
    {"log-start", &some_offset, 0, "what lies before this offset is gone (S7, K8)"},
};
static const struct sf_schema partition_trouble = SFI_OBJECT(partition_keys_of_fault);
static const struct sf_schema partition_fate = {
    .type = SF_SCHEMA_CHOICE, .scalar = &partition_word, .object = &partition_trouble};
static const struct sf_schema partition_fates = {.type = SF_SCHEMA_MAP, .item = &partition_fate};
static const struct sf_schema stopped_word = SFI_WORDS({"stopped", 0});
static const struct sf_schema lane_fates = {.type = SF_SCHEMA_MAP, .item = &stopped_word};
static const struct sf_schema any_span = {.type = SF_SCHEMA_DURATION, .min = -SFI_MS_MAX, .max = SFI_MS_MAX};
static const struct sf_schema_key clock_keys[] = {
    {"jump", &any_span, SF_KEY_REQUIRED, "how far the wall clock jumps (T3)"},
};
static const struct sf_schema clock_fate = SFI_OBJECT(clock_keys);
static const struct sf_schema standby_word = SFI_WORDS({"take-over", 0}, {"hand-over", 0}, {"join", 0});
static const struct sf_schema offsets_word = SFI_WORDS({"metadata-lost", 0});
static const struct sf_schema swarm_word = SFI_WORDS({"default", 0});

static const struct sf_schema_key fault_keys[] = {
    {"at", &moment, 0, "when it happens"},
    {"from", &moment, 0, "when it begins"},
    {"until", &moment, 0, "when it ends"},
    {"when", &sfi_schema_text, 0, "a point of the protocol: barrier(4).stamped"},
    {"crash", &crash, 0, "the process dies"},
    {"stop", &fault_stop, 0, "the owner stops gracefully (S4), and starts again"},
    {"broker", &broker, 0, "the fate of a request or its answer"},
    {"partition", &partition_fates, 0, "what befalls partitions, by topic/partition"},
    {"clock", &clock_fate, 0, "the wall clock alone"},
    {"standby", &standby_word, 0, "another instance becomes the owner: unasked, or in order; or it comes only now"},
    {"offsets", &offsets_word, 0, "the committed offsets lose their metadata, as with offset tools (K7)"},
    {"lane", &lane_fates, 0, "lanes that do not get to run, by step/lane"},
    {"ingest", &stopped_word, 0, "nothing is polled or dispatched"},
    {"pause", &sfi_schema_bool, 0, "POST /pause or /resume (M2)"},
    {"swarm", &swarm_word, 0, "seeded random faults"},
};
static const struct sf_schema fault = SFI_OBJECT(fault_keys);
static const struct sf_schema faults = {.type = SF_SCHEMA_LIST, .item = &fault};

/* ---- the world ---- */

static const struct sf_schema transactions = SFI_WORDS({"v1", 0}, {"v2", 0});
static const struct sf_schema schedule = SFI_WORDS({"random", 0}, {"fifo", 0}, {"priority", 0});
static const struct sf_schema_key world_keys[] = {
    {"exact", &sfi_schema_bool, 0, "no latency, tasks in fixed order; false"},
    {"fetch-latency", &latency, 0, "a span, or one between two"},
    {"commit-latency", &latency, 0, "a span, or one between two"},
    {"transactions", &transactions, 0, "v1: what librdkafka 2.0 speaks; v2: an epoch per transaction"},
    {"schedule", &schedule, 0, "which task runs next; random"},
    {"depth", &count, 0, "with `schedule: priority`: how often priorities change"},
};
static const struct sf_schema world = SFI_OBJECT(world_keys);
static const struct sf_schema barriers = {.type = SF_SCHEMA_LIST, .item = &moment};

/* ---- expectations ---- */

static const struct sf_schema window_pair = {.type = SF_SCHEMA_LIST, .item = &stamp_time, .min = 2, .max = 2};
static const struct sf_schema_key row_keys[] = {
    {"key", &sfi_schema_any, 0, "left out: null"},
    {"window", &window_pair, 0, "start and end"},
    {"value", &sfi_schema_any, 0, "without the `window` field; left out: any"},
    {"ts", &stamp_time, 0, "the record timestamp; left out: any"},
};
static const struct sf_schema row = SFI_OBJECT(row_keys);
static const struct sf_schema rows = {.type = SF_SCHEMA_LIST, .item = &row};
static const struct sf_schema_key output_keys[] = {
    {"exactly", &rows, 0, "these and no others, in this order within a key"},
    {"contains", &rows, 0, "these at least"},
};
static const struct sf_schema output = SFI_OBJECT(output_keys);
static const struct sf_schema outputs = {.type = SF_SCHEMA_MAP, .item = &output};

static const struct sf_schema watermark_value = {.type = SF_SCHEMA_WATERMARK};
static const struct sf_schema_key bounds_keys[] = {
    {"at-least", &watermark_value, 0, "it or later"},
    {"at-most", &watermark_value, 0, "it or earlier"},
};
static const struct sf_schema bounds_object = SFI_OBJECT(bounds_keys);
static const struct sf_schema bounds = {
    .type = SF_SCHEMA_CHOICE, .scalar = &watermark_value, .object = &bounds_object};
static const struct sf_schema_key watermark_keys[] = {
    {"at", &moment, SF_KEY_REQUIRED, "when"},
    {"global", &bounds, SF_KEY_REQUIRED, "the global watermark: a time, unset, complete, or bounds"},
};
static const struct sf_schema watermark = SFI_OBJECT(watermark_keys);
static const struct sf_schema watermarks = {.type = SF_SCHEMA_LIST, .item = &watermark};

static const struct sf_schema_key partition_state_keys[] = {
    {"idle", &sfi_schema_bool, 0, "I1"},
    {"watermark", &bounds, 0, "the partition's own watermark"},
};
static const struct sf_schema partition_state = SFI_OBJECT(partition_state_keys);
static const struct sf_schema_key partition_keys[] = {
    {"at", &moment, SF_KEY_REQUIRED, "when"},
};
static const struct sf_schema partition = {.type = SF_SCHEMA_OBJECT,
                                           .keys = partition_keys,
                                           .key_count = SFI_COUNT(partition_keys),
                                           .item = &partition_state};
static const struct sf_schema partitions = {.type = SF_SCHEMA_LIST, .item = &partition};

static const struct sf_schema metric = {.type = SF_SCHEMA_MAP, .item = &sfi_schema_text};
static const struct sf_schema metrics = {.type = SF_SCHEMA_LIST, .item = &metric};
static const struct sf_schema texts = {.type = SF_SCHEMA_LIST, .item = &sfi_schema_text};
static const struct sf_schema rules = {.type = SF_SCHEMA_LIST, .item = &sfi_schema_name};

static const struct sf_schema_key expect_keys[] = {
    {"output", &outputs, 0, "what committed, by topic"},
    {"watermark", &watermarks, 0, "the global watermark at an instant"},
    {"partitions", &partitions, 0, "partitions at an instant, by topic/partition"},
    {"metrics", &metrics, 0, "counters by M3's names, at the end or `at` an instant"},
    {"failed", &texts, 0, "the engine must give up, with these words among its own"},
    {"said", &texts, 0, "words that must stand in notes and warnings of the engine"},
    {"refused", &rules, 0, "the application must not build, for these rules"},
    {"warned", &rules, 0, "warnings that the application must give"},
};
static const struct sf_schema expect = SFI_OBJECT(expect_keys);

/* ---- the scenario ---- */

static const struct sf_schema seed = {.type = SF_SCHEMA_INT, .min = 0, .max = SFI_SEED_MAX};
static const struct sf_schema start = {.type = SF_SCHEMA_TIME};
static const struct sf_schema end = SFI_WORDS({"stop", 0}, {"none", 0});
static const struct sf_schema inline_app = {.type = SF_SCHEMA_APPLICATION};
static const struct sf_schema app = {.type = SF_SCHEMA_CHOICE, .scalar = &sfi_schema_text, .object = &inline_app};

static const struct sf_schema_key scenario_keys[] = {
    {"scenario", &sfi_schema_name, SF_KEY_REQUIRED, "its name"},
    {"about", &sfi_schema_text, 0, "what it shows"},
    {"seed", &seed, 0, "what the world is drawn from; 1"},
    {"start", &start, 0, "the wall clock at the first instant; 2026-01-01T00:00:00Z"},
    {"stop", &moment, 0, "graceful stop then (S4); left out: when the input is used up and settled"},
    {"end", &end, 0, "stop: gracefully; none: the run just ends"},
    {"app", &app, SF_KEY_REQUIRED, "an application: a file beside this one, or inline"},
    {"topics", &topics, 0, "the topics there are"},
    {"input", &inputs, 0, "records, generators, bulk loads"},
    {"faults", &faults, 0, "what goes wrong"},
    {"barriers", &barriers, 0, "barriers at these instants, instead of by the cadence (B2)"},
    {"world", &world, 0, "latencies and order; left out: drawn from the seed"},
    {"expect", &expect, 0, "what must come of it"},
};
const struct sf_schema sf_schema_scenario = SFI_OBJECT(scenario_keys);
