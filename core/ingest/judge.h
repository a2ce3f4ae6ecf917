/*
 * Judge: what a record's event time is, and whether the record may go, decided once, when it becomes its partition's
 * head and before it touches a generator (T4, T5, W6). A value is read only for an assigner, or where the source is
 * validated (M5).
 *
 *     wall 1000, skew 50, clamp-watermark:  ts 1010 -> goes as 1010, generator sees 1010
 *                                           ts 5000 -> goes as 5000, generator sees 1050
 *     skip:                                 ts   -1 -> skipped, the offset advances
 *
 * A clamp is fixed here, for the preview of the head and for its dispatch alike.
 *
 * Threading: the ingest task's.
 */
#ifndef SF_CORE_INGEST_JUDGE_H
#define SF_CORE_INGEST_JUDGE_H

#include "core/ops/expression.h"
#include "core/run/message.h"
#include "core/time/event_time.h"
#include "core/topo/topology.h"

enum sf_verdict { SF_VERDICT_GO, SF_VERDICT_SKIP, SF_VERDICT_FAIL };

/* A source's policies. */
struct sf_judge {
    struct sf_expression *assigner; /* NULL: the record timestamp */
    enum sf_serde serde;
    bool is_validated;
    enum sf_on_error on_error; /* a value that cannot be read */
    enum sf_on_invalid on_invalid;
    enum sf_on_future on_future;
    int64_t max_future_skew_ms; /* SF_SPAN_NONE: off */
};

struct sf_judgement {
    enum sf_verdict verdict;
    enum sf_drop reason; /* SKIP, FAIL: why */
    int64_t ts_ms;       /* GO: event time; else what was found */
    int64_t time;        /* GO: what the generator sees */
    const char *text;    /* DESERIALIZATION: what is wrong with the value, static */
};

/* The source has passed the checks, so its assigner compiles. */
void sf_judge_init(struct sf_judge *judge, const struct sf_source_spec *source, struct sf_alloc alloc);
void sf_judge_deinit(struct sf_judge *judge);

/* `time_max`: the partition's largest time before this record. */
struct sf_judgement sf_judge_record(const struct sf_judge *judge, const struct sf_record *record, int64_t time_max,
                                    int64_t wall_ms);

/* What to tell a person about a record that made the engine stop: where it is, what is wrong, the unit that its time
 * may have been in, the policy. Fills failure->text; the place is the caller's. */
void sf_judge_explain(const struct sf_judgement *judgement, const char *topic, int32_t partition, int64_t offset,
                      struct sf_failure *failure);

#endif
