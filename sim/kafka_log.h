/*
 * One partition's log: chunks in offset order, the transactions open in it, and who waits for more.
 *
 *     offset   0 1 2 3 | 4 5 | 6 | 7 8 | 9        [0,4) plain, [4,6) of transaction 1, 6 its commit marker,
 *                                                  [7,9) of transaction 2, open; 9 plain
 *     log start 0, end (high watermark) 10, last stable offset 7
 *
 * There are no replicas: the high watermark is the end. An open range belongs to a producer id; it is closed by a
 * marker and by nothing else, so a range whose coordinator forgot it hangs (the old protocol can do that).
 */
#ifndef SF_SIM_KAFKA_LOG_H
#define SF_SIM_KAFKA_LOG_H

#include "sim/kafka_chunk.h"

struct sf_sim_kafka;
struct sfi_marker;

/* A reader that has everything. Linked by its log. `wake` is called after each change of the log's ends or mode;
 * it unlinks the waiter if that is what it waits for. */
struct sfi_waiter {
    struct sfi_waiter *next;
    struct sfi_waiter *prev;
    bool is_linked;
    void (*wake)(struct sfi_waiter *waiter);
};

/* A transaction that has records here and no marker yet. */
struct sfi_open {
    struct sfi_txn *txn; /* counted */
    int64_t first_offset;
};

/* What the leader knows of a producer id: its newest epoch, and its last request, to find duplicates. */
struct sfi_writer {
    uint64_t producer_id;
    int32_t producer_epoch;
    uint64_t request; /* 0: none in this epoch */
    int64_t request_end;
};

struct sfi_log {
    struct sf_sim_kafka *broker;
    struct sf_tp tp;
    enum sf_sim_kafka_mode mode;
    bool is_append_time; /* message.timestamp.type */
    uint32_t record_bytes_max; /* max.message.bytes; else the broker's */
    int64_t start;
    int64_t end;
    int64_t discarded; /* nothing below is kept in memory */
    struct sfi_chunk **chunks; /* [first, first + count) */
    uint32_t first;
    uint32_t count;
    uint32_t cap;
    bool is_tail_open; /* plain records may still be added to the last chunk */
    struct sfi_open *opens; /* by first offset */
    uint32_t open_count;
    uint32_t open_cap;
    struct sfi_writer *writers; /* by first appearance */
    uint32_t writer_count;
    uint32_t writer_cap;
    struct sfi_waiter *waiter_head;
    struct sfi_waiter *waiter_tail;
    struct sfi_marker *markers; /* that wait for a leader (kafka_txn.h) */
};

struct sfi_log *sfi_log_new(struct sf_sim_kafka *broker, struct sf_tp tp);
void sfi_log_free(struct sfi_log *log);

static inline int64_t sfi_log_stable(const struct sfi_log *log)
{
    return log->open_count > 0 ? log->opens[0].first_offset : log->end;
}

/* Takes the caller's pin; gives offsets (and stamps, with LogAppendTime); opens the transaction's range. */
int64_t sfi_log_append(struct sfi_log *log, struct sfi_chunk *chunk);
/* Plain records, copied. */
int64_t sfi_log_append_plain(struct sfi_log *log, const struct sf_out *records, uint32_t count);
/* Close the range of txn's producer, if there is one, with a control record. */
void sfi_log_mark(struct sfi_log *log, struct sfi_txn *txn, bool is_commit, int32_t producer_epoch);

/* Position in `chunks` of the first chunk that ends behind `offset`; first + count if there is none. */
uint32_t sfi_log_find(const struct sfi_log *log, int64_t offset);
/* Position in `records` of the first record at or behind `offset`. */
uint32_t sfi_chunk_find(const struct sfi_chunk *chunk, int64_t offset);

struct sfi_writer *sfi_log_writer(struct sfi_log *log, uint64_t producer_id);
struct sfi_open *sfi_log_open_of(struct sfi_log *log, uint64_t producer_id);

void sfi_log_wait(struct sfi_log *log, struct sfi_waiter *waiter);
void sfi_log_unwait(struct sfi_log *log, struct sfi_waiter *waiter);
void sfi_log_wake(struct sfi_log *log);

void sfi_log_truncate(struct sfi_log *log, int64_t before);
/* Of the front; `kept` chunks stay in any case. */
void sfi_log_discard(struct sfi_log *log, int64_t before, uint32_t kept);

#endif
