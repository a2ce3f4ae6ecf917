/*
 * A producer: what its task (kafka_producer.c) and its helper thread (kafka_producer_txn.c) share.
 *
 * Init, offsets, commit and abort block in the library and exclude each other: the helper runs them one after the
 * other, in the order given, each in short calls that are resumed until there is an outcome or the client closes.
 *
 * Three things come from interceptors, on the library's threads, with no delivery report anywhere: how often an end
 * of transaction was put on the wire, the offsets of tracked partitions, and how many bytes are still under way.
 *
 * What is certain when commit is over (B11); "sent" is whether a request to end left the process during that call:
 *
 *     the library says     sent   outcome         class    and then
 *     success              any    COMMITTED       OK       a copy of the end may still be about where it was sent twice
 *     again, not yet       any    (none)                   the helper calls again; there is no event
 *     must be aborted      no     NOT_COMMITTED   ABORT    the session is good
 *     must be aborted      yes    UNKNOWN         LOST     what was refused, or why, does not tell
 *     fatal                no     NOT_COMMITTED   LOST     or FATAL, for rights and the like
 *     fatal                yes    UNKNOWN         LOST     or FATAL
 *
 * Without transactions a flush must say what was durable *before* it, while writes go on. So each record carries the
 * number of the round it was written in; a flush ends the round and waits for that one to run empty. Transactions
 * are all in round 0: nothing is written while one ends.
 */
#ifndef SF_PROD_KAFKA_PRODUCER_H
#define SF_PROD_KAFKA_PRODUCER_H

#include "prod/kafka_impl.h"

#define SFI_KAFKA_COMMANDS_MAX 64u
#define SFI_KAFKA_OUT_MAX 128u /* events not yet polled: one per command, ROOM, FAILED twice */
#define SFI_KAFKA_ROUNDS_MAX 4u

enum sfi_kafka_command_kind { SFI_INIT, SFI_OFFSETS, SFI_COMMIT, SFI_ABORT, SFI_FLUSH };

struct sfi_kafka_command {
    enum sfi_kafka_command_kind kind;
    uint64_t tag;
    uint32_t round;                               /* FLUSH */
    struct sf_member_token token;                 /* OFFSETS */
    rd_kafka_topic_partition_list_t *offsets;     /* OFFSETS; owned */
};

/* An event with what it points to. */
struct sfi_kafka_out {
    struct sf_producer_event event;
    struct sf_position *positions; /* owned */
    char *text;                    /* owned */
};

/* A partition whose end positions are wanted. Lives until the client does. */
struct sfi_kafka_track {
    struct sf_tp tp;
    _Atomic int64_t ends[SFI_KAFKA_ROUNDS_MAX]; /* last offset + 1; -1: nothing written, or offset not told */
};

struct sfi_kafka_tracks {
    struct sfi_kafka_tracks *older; /* what a broker thread may still look at; freed at the end */
    uint32_t count;
    struct sfi_kafka_track *_Atomic items[]; /* by partition; NULL: not tracked */
};

/* One topic written to. The library's topic opaque. */
struct sfi_kafka_target {
    rd_kafka_topic_t *rkt;
    struct sfi_kafka_tracks *_Atomic tracks; /* NULL: none */
};

struct sfi_kafka_producer {
    struct sfi_kafka_link link;
    struct sf_prod_kafka *kafka;
    rd_kafka_t *rk;
    rd_kafka_queue_t *main_queue;
    struct sf_waker waker;
    bool is_transactional;
    char *group;
    int64_t queue_bytes_max;

    /* the task's */
    struct sfi_kafka_target **targets; /* by topic number; NULL until written to or tracked */
    uint32_t target_cap;
    struct sfi_kafka_track **tracks;   /* by (topic, partition); changed under `lock` */
    uint32_t track_count, track_cap;
    uint32_t round;
    enum { SFI_CLOSED, SFI_READY, SFI_OPEN, SFI_ENDING } state; /* of the header's diagram; for asserts */
    struct sfi_kafka_out told[SFI_KAFKA_OUT_MAX];
    uint32_t told_count;

    /* any thread */
    _Atomic bool is_main_ready;
    _Atomic int64_t bytes_under_way;
    _Atomic bool is_room_wanted;
    _Atomic uint32_t end_sends;
    _Atomic int64_t round_pending[SFI_KAFKA_ROUNDS_MAX]; /* records */
    _Atomic uint32_t round_failed[SFI_KAFKA_ROUNDS_MAX];
    _Atomic int32_t delivery_err; /* first of the transaction (round): rd_kafka_resp_err_t */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t news;
    bool is_closing, is_running;
    struct sfi_kafka_command commands[SFI_KAFKA_COMMANDS_MAX];
    uint32_t command_head, command_count;
    struct sfi_kafka_out outs[SFI_KAFKA_OUT_MAX];
    uint32_t out_count;
    enum sf_status poison; /* the open transaction can only be aborted, and the library does not know */
    bool is_abort_told;
    enum sf_status dead;   /* SF_OK, or why the session is over */
    bool is_dead_told;
    char dead_text[200];
};

/* With the lock. Appends and wakes; text copied, positions taken. */
void sfi_kafka_producer_push(struct sfi_kafka_producer *producer, struct sf_producer_event event,
                             struct sf_position *positions, const char *text);
/* Body of the helper thread. Destroys the instance and frees the client at the end. */
void *sfi_kafka_producer_txn(void *producer);
void sfi_kafka_producer_free(struct sfi_kafka_producer *producer);

#endif
