/*
 * Notes: everything that core says beside its effects, as numbers (core/io/sched.h). One list gives each its code,
 * its level, the name under which scenarios and people know it, and its words; whoever reads notes fills the words
 * in: {s} the subject, {0} … {3} the arguments, {t0} an argument as a time, {n0} one as the name of a topic, {p} the
 * subject as topic/partition.
 *
 *     sf_note(step->notes, SF_NOTE_TXN_COMMITTED, SF_SUBJECT_NONE, 4, 0, 0, 0)     "transaction 4 committed"
 *
 * Level POINT: a step of the protocol, which `when:` in a scenario can name and `sfsim points` lists.
 *
 * Threading: a task writes its own notes; the words are constant.
 */
#ifndef SF_CORE_NOTE_H
#define SF_CORE_NOTE_H

#include "core/io/sched.h"

enum sf_note_level { SF_NOTE_POINT, SF_NOTE_DEBUG, SF_NOTE_INFO, SF_NOTE_WARNING };

/* code, level, name, words */
#define SF_NOTE_LIST(X)                                                                                             \
    X(SF_NOTE_BARRIER_DUE, SF_NOTE_POINT, "barrier(n).due", "barrier {0} is due")                                   \
    X(SF_NOTE_BARRIER_STAMPED, SF_NOTE_POINT, "barrier(n).stamped", "barrier {0} stamped {t1}")                     \
    X(SF_NOTE_BARRIER_ENQUEUED, SF_NOTE_POINT, "barrier(n).enqueued", "barrier {0} is on every lane's queue")       \
    X(SF_NOTE_LANE_CROSSED, SF_NOTE_POINT, "lane(s.i).crossed(n)", "lane {1}.{2} crossed barrier {0}")              \
    X(SF_NOTE_LANE_EMITTED, SF_NOTE_POINT, "punctuation(s.i).emitted(n)",                                           \
      "lane {1}.{2} emitted at barrier {0}: {3} results")                                                           \
    X(SF_NOTE_TXN_BEGUN, SF_NOTE_POINT, "txn(n).begun", "transaction {0} begun")                                    \
    X(SF_NOTE_TXN_OFFSETS_SENT, SF_NOTE_POINT, "txn(n).offsets-sent", "transaction {0} has its offsets")            \
    X(SF_NOTE_TXN_END_SENT, SF_NOTE_POINT, "txn(n).end-sent", "transaction {0}: commit asked for")                  \
    X(SF_NOTE_TXN_COMMITTED, SF_NOTE_POINT, "txn(n).committed", "transaction {0} committed")                        \
    X(SF_NOTE_TXN_ABORTED, SF_NOTE_POINT, "txn(n).aborted", "transaction {0} aborted")                              \
    X(SF_NOTE_STORE_WRITTEN, SF_NOTE_POINT, "store.batch-written(n)", "local store written through epoch {0}")      \
    X(SF_NOTE_RESTORED, SF_NOTE_POINT, "changelog.restored", "state restored: {0} rows")                            \
    X(SF_NOTE_OWNER, SF_NOTE_INFO, "owner", "owner of the application")                                             \
    X(SF_NOTE_STANDBY, SF_NOTE_INFO, "standby", "waiting: another instance, or one just gone, is the owner")        \
    X(SF_NOTE_STARTED, SF_NOTE_INFO, "started", "running from epoch {0}, watermark {t1}")                           \
    X(SF_NOTE_FELL_BACK, SF_NOTE_WARNING, "fell-back", "fell back to epoch {0}; goes on with {1}")                  \
    X(SF_NOTE_IN_DOUBT, SF_NOTE_WARNING, "in-doubt", "commit of epoch {0} is in doubt; looking for its stamp")      \
    X(SF_NOTE_SETTLED, SF_NOTE_WARNING, "settled", "epoch {0} was committed (1) or not (0): {1}")                   \
    X(SF_NOTE_STOPPED, SF_NOTE_INFO, "stopped", "stopped at epoch {0}")                                             \
    X(SF_NOTE_WATERMARK, SF_NOTE_DEBUG, "watermark", "watermark {t0}, held by {p}")                                 \
    X(SF_NOTE_IDLE, SF_NOTE_DEBUG, "idle", "{p} is idle")                                                           \
    X(SF_NOTE_ACTIVE, SF_NOTE_DEBUG, "active", "{p} is active")                                                     \
    X(SF_NOTE_PAUSED, SF_NOTE_DEBUG, "paused", "{p} is paused at {0} buffered records")                             \
    X(SF_NOTE_RESUMED, SF_NOTE_DEBUG, "resumed", "{p} is resumed")                                                  \
    X(SF_NOTE_FUTURE_HEAD, SF_NOTE_WARNING, "future-head", "{p} offset {0}: stamped {t1}, {2} ms ahead of now")     \
    X(SF_NOTE_INVALID_TIMESTAMP, SF_NOTE_WARNING, "invalid-timestamp", "{p} offset {0}: invalid event time {1}")    \
    X(SF_NOTE_FUTURE_TIMESTAMP, SF_NOTE_WARNING, "future-timestamp", "{p} offset {0}: stamped {t1}, skipped")       \
    X(SF_NOTE_BAD_VALUE, SF_NOTE_WARNING, "bad-value", "{p} offset {0}: value cannot be read, skipped")             \
    X(SF_NOTE_LONG_WAIT, SF_NOTE_WARNING, "long-wait", "waiting for {p} for {0} ms: it has records to fetch")       \
    X(SF_NOTE_UNAVAILABLE, SF_NOTE_WARNING, "unavailable", "{p} cannot be read for now")                            \
    X(SF_NOTE_AVAILABLE, SF_NOTE_INFO, "available", "{p} can be read again")                                        \
    X(SF_NOTE_PARTITION_FOUND, SF_NOTE_INFO, "partition-found", "{p} is new, read from offset {0}")                 \
    X(SF_NOTE_OFFSET_GAP, SF_NOTE_WARNING, "offset-gap", "{p}: committed offset {0}, log starts at {1}")            \
    X(SF_NOTE_TOPIC_STAMPS, SF_NOTE_WARNING, "topic-stamps",                                                        \
      "internal topic {n0}: message.timestamp.type is not CreateTime, its records lose their event times")          \
    X(SF_NOTE_TOPIC_RETENTION, SF_NOTE_WARNING, "topic-retention",                                                  \
      "internal topic {n0}: retention.ms is not -1; it is compacted only now, but would lose state if it were not") \
    X(SF_NOTE_SECONDS, SF_NOTE_WARNING, "seconds", "{p} offset {0}: time in January 1970; are these seconds?")      \
    X(SF_NOTE_STORE_TRUNCATED, SF_NOTE_WARNING, "store-truncated",                                                  \
      "changelog {2}/{3}: local position {0}, log starts at {1}; store rebuilt from there")                         \
    X(SF_NOTE_STORE_FAILED, SF_NOTE_WARNING, "store-failed", "local store failed: status {0}; going on without it") \
    X(SF_NOTE_FAILED, SF_NOTE_WARNING, "failed", "stopping: status {0}")

enum sf_note_code {
#define SF_NOTE_ENUM(code, level, name, words) code,
    SF_NOTE_LIST(SF_NOTE_ENUM)
#undef SF_NOTE_ENUM
    SF_NOTE_COUNT
};

#define SF_SUBJECT_NONE UINT32_MAX

struct sf_note_words {
    enum sf_note_level level;
    const char *name;
    const char *words;
};

/* Static; never NULL for a code below SF_NOTE_COUNT. */
const struct sf_note_words *sf_note_words(uint16_t code);

static inline void sf_note(struct sf_notes *notes, enum sf_note_code code, uint32_t subject, int64_t a, int64_t b,
                           int64_t c, int64_t d)
{
    sf_notes_add(notes, (struct sf_note){.code = (uint16_t)code, .subject = subject, .args = {a, b, c, d}});
}

#endif
