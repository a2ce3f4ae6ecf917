#include "core/ingest/judge.h"

#include "core/ingest/text.h"

struct sf_judge sf_judge_make(const struct sf_source_spec *source)
{
    return (struct sf_judge){.on_invalid = source->on_invalid,
                             .on_future = source->on_future,
                             .max_future_skew_ms = source->max_future_skew_ms};
}

static struct sf_judgement judge_future(const struct sf_judge *judge, int64_t ts, int64_t wall_ms)
{
    struct sf_judgement goes = {.verdict = SF_VERDICT_GO, .ts_ms = ts, .time = ts};
    int64_t limit = sf_time_add(wall_ms, judge->max_future_skew_ms);
    if (ts <= limit) return goes;
    switch (judge->on_future) {
    case SF_FUTURE_ACCEPT: return goes;
    case SF_FUTURE_CLAMP: goes.time = sf_time_max(limit, 0); return goes;
    case SF_FUTURE_SKIP:
    case SF_FUTURE_DLQ: break; /* no dead letters leave from here: counted and passed over */
    }
    return (struct sf_judgement){.verdict = SF_VERDICT_SKIP, .reason = SF_DROP_FUTURE_TIMESTAMP, .ts_ms = ts};
}

struct sf_judgement sf_judge_record(const struct sf_judge *judge, const struct sf_record *record, int64_t time_max,
                                    int64_t wall_ms)
{
    int64_t ts = record->ts_kind == SF_TS_NONE ? -1 : record->ts_ms;
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
    struct sf_text text = sf_text_in(failure->text, sizeof failure->text);
    sf_text_words(&text, "topic ");
    sf_text_words(&text, topic);
    sf_text_words(&text, " partition ");
    sf_text_number(&text, partition);
    sf_text_words(&text, " offset ");
    sf_text_number(&text, offset);
    sf_text_words(&text, ": invalid event time ");
    sf_text_number(&text, judgement->ts_ms);
    int64_t ts = judgement->ts_ms;
    if (ts == -1)
        sf_text_words(&text, " (the producer gave none)");
    else if (ts > SF_TIME_VALID_MAX && ts / 1000 <= SF_TIME_VALID_MAX)
        sf_text_words(&text, " (microseconds taken for milliseconds?)");
    else if (ts > SF_TIME_VALID_MAX)
        sf_text_words(&text, " (nanoseconds taken for milliseconds?)");
    sf_text_words(&text, "; on-invalid-timestamp of the source is fail");
}
