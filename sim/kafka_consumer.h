/*
 * The consumer model: one long-polling fetch per partition, a queue of what was fetched, and membership
 * (kafka_member.c).
 *
 *     look at the log --nothing new--> wait at the log --append--> answer after the fetch latency --> queue --> look …
 *
 * The first answer after add, seek or a time without leader comes also when there is nothing, and says so (CAUGHT_UP,
 * D6). A partition may hold its share of fetch_bytes_max (all / partitions, at least one record); where it has it,
 * it looks again when poll has taken some, so one that is paused or slow never starves the others.
 */
#ifndef SF_SIM_KAFKA_CONSUMER_H
#define SF_SIM_KAFKA_CONSUMER_H

#include "sim/kafka_client.h"
#include "sim/kafka_group.h"

#define SFI_MEMBER_EVENTS_MAX 16u

/* A batch as handed out. Linked by the consumer: handed out, or free for reuse. */
struct sfi_batch {
    struct sf_batch pub;
    struct sfi_batch *next;
    struct sfi_batch *prev;
    struct sfi_chunk *chunk;  /* pinned */
    struct sf_record *copies; /* where headers are not wanted; pub.count of them; NULL: chunk's own */
};

/* One event of a partition, in order. */
struct sfi_entry {
    enum sf_consumer_event_kind kind;
    enum sf_status status;
    struct sfi_chunk *chunk; /* batches: pinned */
    uint32_t first;
    uint32_t count;
    int64_t position;        /* batches: position behind it */
    int64_t known_end;
    int64_t log_start;
    int64_t log_end;
};

struct sfi_fetch {
    struct sfi_waiter waiter; /* first: a waiter is cast to its fetch */
    struct sfi_consumer *consumer;
    struct sfi_fetch *next;   /* of the consumer, in order of first add */
    struct sfi_fetch *ready_next;
    struct sfi_fetch *ready_prev;
    struct sf_tp tp;          /* the handle's */
    struct sfi_log *log;      /* NULL: no such partition */
    uint32_t generation;
    bool is_added;
    bool is_ready;            /* in the ready list: has entries, not paused */
    bool is_paused;
    bool is_fresh;            /* the next answer comes also when empty */
    bool is_failing;          /* RETRY was told */
    bool is_stuck;            /* out of range or no such partition: nothing until seek */
    bool is_stalled;          /* holds its share */
    int64_t position;         /* of the next fetch; SF_OFFSET_BEGINNING until resolved */
    int64_t seen_end;         /* of the answer under way: what it may contain */
    int64_t seen_stable;
    int64_t seen_us;          /* when those were read */
    int64_t told_position;    /* of the last CAUGHT_UP */
    uint64_t held_bytes;
    struct sfi_timer answer;
    struct sfi_entry *entries; /* ring */
    uint32_t entry_head;
    uint32_t entry_count;
    uint32_t entry_cap;
};

struct sfi_member_note {
    enum sf_consumer_event_kind kind;
    enum sf_status status;
};

struct sfi_consumer {
    struct sfi_client client; /* first */
    bool is_read_committed;
    bool has_headers;
    uint32_t batch_records_max;
    uint64_t fetch_bytes_max;
    uint32_t generation_last;
    uint32_t added_count;
    struct sfi_fetch *fetches;
    struct sfi_fetch *ready_head;
    struct sfi_fetch *ready_tail;
    struct sfi_batch *batches;      /* handed out */
    struct sfi_batch *batches_free;
    /* membership */
    struct sfi_group *group;        /* NULL: no member */
    struct sfi_member *member;      /* NULL: not joined */
    char *static_id;
    uint32_t subscribed;            /* the handle's topic */
    bool is_granted;
    bool is_revoking_told;
    struct sf_member_token token;
    struct sfi_timer join;
    enum sf_sim_fate join_fate;
    enum sf_sim_fate yield_fate;
    struct sfi_timer yield;
    struct sfi_timer news;
    struct sfi_timer confirm;       /* the question */
    struct sfi_timer confirmed;     /* its answer */
    struct sfi_member_note notes[SFI_MEMBER_EVENTS_MAX]; /* ring */
    uint32_t note_head;
    uint32_t note_count;
    struct sf_tp *tps;              /* of the subscribed topic, as of the last event polled */
    uint32_t tp_count;
};

/* kafka_fetch.c */
void sfi_fetch_start(struct sfi_fetch *fetch, int64_t position);
void sfi_fetch_stop(struct sfi_fetch *fetch);
void sfi_fetch_set_paused(struct sfi_fetch *fetch, bool is_paused);
/* Take up to the consumer's batch_records_max records, or one other event, from the front. */
void sfi_fetch_take(struct sfi_fetch *fetch, struct sf_consumer_event *event_out);
void sfi_fetch_answer_fn(void *ctx);
void sfi_fetch_wake_fn(struct sfi_waiter *waiter);
bool sfi_consumer_has_events(const struct sfi_client *client);

/* kafka_batch.c */
struct sfi_batch *sfi_batch_get(struct sfi_consumer *consumer, struct sfi_chunk *chunk, uint32_t first, uint32_t count);
void sfi_batch_put(struct sfi_consumer *consumer, struct sfi_batch *batch);
void sfi_batches_free(struct sfi_consumer *consumer);
uint64_t sfi_records_bytes(const struct sfi_chunk *chunk, uint32_t first, uint32_t count);

/* kafka_member.c */
void sfi_member_open(struct sfi_consumer *consumer, const struct sf_consumer_config *config);
void sfi_member_take(struct sfi_consumer *consumer, struct sf_consumer_event *event_out);
void sfi_member_yield(struct sfi_consumer *consumer);
void sfi_member_confirm(struct sfi_consumer *consumer);
void sfi_member_stop(struct sfi_consumer *consumer);
void sfi_member_deinit(struct sfi_consumer *consumer);

#endif
