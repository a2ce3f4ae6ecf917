#include "core/ingest/judge.h"

#include "core/ops/serde.h"
#include "core/ops/timestamp.h"
#include "core/text.h"

void sf_judge_init(struct sf_judge *judge, const struct sf_source_spec *source, struct sf_alloc alloc)
{
    *judge = (struct sf_judge){.serde = source->value,
                               .is_validated = source->is_validated,
                               .on_error = source->on_deserialization_error,
                               .on_invalid = source->on_invalid,
                               .on_future = source->on_future,
                               .max_future_skew_ms = source->max_future_skew_ms};
    const char *path = source->watermark.timestamp_path;
    if (path == NULL) return;
    struct sf_expression_error error;
    bool is_fine = sf_expression_compile(path, strlen(path), alloc, &judge->assigner, &error);
    assert(is_fine);
    (void)is_fine;
}

void sf_judge_deinit(struct sf_judge *judge)
{
    sf_expression_destroy(judge->assigner);
    judge->assigner = NULL;
}

static struct sf_judgement judge_future(const struct sf_judge *judge, int64_t ts, int64_t wall_ms)
{
    struct sf_judgement goes = {.verdict = SF_VERDICT_GO, .ts_ms = ts, .time = ts};
    int64_t limit = sf_time_add(wall_ms, judge->max_future_skew_ms);
    if (ts <= limit) return goes;
    switch (judge->on_future) {
    case SF_FUTURE_ACCEPT: return goes;
    case SF_FUTURE_CLAMP: goes.time = sf_time_max(limit, 0); return goes;
    case SF_FUTURE_SKIP: break;
    }
    return (struct sf_judgement){.verdict = SF_VERDICT_SKIP, .reason = SF_DROP_FUTURE_TIMESTAMP, .ts_ms = ts};
}

/* The event time as the source says it (W6). False: the value cannot be read; *bad_out is filled. */
static bool find_time(const struct sf_judge *judge, const struct sf_record *record, int64_t *ts_out,
                      struct sf_judgement *bad_out)
{
    struct sf_input_value value = {.serde = judge->serde, .bytes = record->value};
    struct sf_fault fault;
    bool is_fine = true;
    *ts_out = record->ts_kind == SF_TS_NONE ? -1 : record->ts_ms;
    if (judge->is_validated) is_fine = sf_serde_check(&value, &fault);
    if (is_fine && judge->assigner != NULL) is_fine = sf_timestamp_assign(judge->assigner, &value, ts_out, &fault);
    if (is_fine) return true;
    *bad_out = (struct sf_judgement){
        .verdict = judge->on_error == SF_ERROR_FAIL ? SF_VERDICT_FAIL : SF_VERDICT_SKIP,
        .reason = SF_DROP_DESERIALIZATION,
        .text = fault.text};
    return false;
}

struct sf_judgement sf_judge_record(const struct sf_judge *judge, const struct sf_record *record, int64_t time_max,
                                    int64_t wall_ms)
{
    int64_t ts;
    struct sf_judgement unread;
    if (judge->assigner == NULL && !judge->is_validated) ts = record->ts_kind == SF_TS_NONE ? -1 : record->ts_ms;
    else if (!find_time(judge, record, &ts, &unread)) return unread;
    if (sf_time_is_valid(ts)) {
        if (judge->max_future_skew_ms == SF_SPAN_NONE)
            return (struct sf_judgement){.verdict = SF_VERDICT_GO, .ts_ms = ts, .time = ts};
        return judge_future(judge, ts, wall_ms);
    }
    struct sf_judgement bad = {.reason = SF_DROP_INVALID_TIMESTAMP, .ts_ms = ts};
    switch (judge->on_invalid) {
    case SF_INVALID_FAIL: bad.verdict = SF_VERDICT_FAIL; return bad;
    case SF_INVALID_SKIP: bad.verdict = SF_VERDICT_SKIP; return bad;
    case SF_INVALID_PARTITION_TIME: break;
    }
    bad.verdict = SF_VERDICT_SKIP;
    if (time_max == SF_TIME_UNSET) return bad;
    return (struct sf_judgement){.verdict = SF_VERDICT_GO, .ts_ms = time_max, .time = time_max};
}

void sf_judge_explain(const struct sf_judgement *judgement, const char *topic, int32_t partition, int64_t offset,
                      struct sf_failure *failure)
{
    struct sf_text text;
    sf_text_init(&text, failure->text, sizeof failure->text);
    sf_text_add(&text, "topic ");
    sf_text_add(&text, topic);
    sf_text_add(&text, " partition ");
    sf_text_add_int(&text, partition);
    sf_text_add(&text, " offset ");
    sf_text_add_int(&text, offset);
    if (judgement->reason == SF_DROP_DESERIALIZATION) {
        sf_text_add(&text, ": the value cannot be read: ");
        sf_text_add(&text, judgement->text);
        sf_text_add(&text, "; on-deserialization-error of the source is fail");
        return;
    }
    if (judgement->ts_ms == SF_TIME_UNSET) {
        sf_text_add(&text, ": no event time in the value (epoch milliseconds, or ISO 8601 with a zone)");
    } else {
        sf_text_add(&text, ": invalid event time ");
        sf_text_add_int(&text, judgement->ts_ms);
    }
    const char *unit = sf_timestamp_unit(judgement->ts_ms);
    if (judgement->ts_ms == -1) sf_text_add(&text, " (the producer gave none)");
    if (unit != NULL) {
        sf_text_add(&text, " (");
        sf_text_add(&text, unit);
        sf_text_add(&text, " taken for milliseconds?)");
    }
    sf_text_add(&text, "; on-invalid-timestamp of the source is fail");
}
