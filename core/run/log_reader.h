/*
 * Log reader: reads small topics whole, from their beginning to their stable end, and hands every record on. For what a
 * start must know before anything else: stamps, emit frontiers (S1).
 *
 * It needs no further write to finish (K9): a partition is through when the consumer says that it has caught up,
 * whatever its last offset is; an empty or truncated log is fine.
 *
 * Threading: one owner, the task whose steps it is called from.
 */
#ifndef SF_CORE_RUN_LOG_READER_H
#define SF_CORE_RUN_LOG_READER_H

#include "core/io/kafka.h"
#include "core/mem.h"

/* Why reading failed goes into `error`: SF_OK to go on. */
typedef enum sf_status(sf_log_record_fn)(void *ctx, struct sf_tp tp, const struct sf_record *record,
                                         struct sf_error *error);

struct sf_log_reader {
    struct sf_alloc alloc;
    struct sf_kafka kafka;
    struct sf_consumer consumer;
    struct sf_waker waker;
    struct sf_tp *tps;
    bool *is_through;
    uint32_t count;
    uint32_t through_count;
    sf_log_record_fn *fn;
    void *ctx;
};

/* tps are copied; count 0 is fine: nothing to read. */
enum sf_status sf_log_reader_open(struct sf_log_reader *reader, struct sf_alloc alloc, struct sf_kafka kafka,
                                  struct sf_waker waker, const struct sf_tp *tps, uint32_t count,
                                  sf_log_record_fn *fn, void *ctx, struct sf_error *error);
/* Takes what is there. SF_END: all is read. SF_OK: more to come. Otherwise failed. */
enum sf_status sf_log_reader_poll(struct sf_log_reader *reader, struct sf_error *error);
/* Idempotent. */
void sf_log_reader_close(struct sf_log_reader *reader);

#endif
