/*
 * Parts of the oracle (driver/oracle.h), shared by its files.
 *
 *     oracle.c          life: instances come and go; what each callback sets off
 *     oracle_epoch.c    records of epochs that are not decided yet
 *     oracle_live.c     one instance: buffers, heads, judgement, dispatch order (X4, X15 as it happens, X13)
 *     oracle_wait.c     how long dispatch may and must stand (D5: X3, X4)
 *     oracle_view.c     what an operator sees: /watermarks, counters (X15)
 *     oracle_lane.c     what lanes take and cross; barriers (X4, X11)
 *     oracle_txn.c      what producers write and coordinators decide (X12)
 *     oracle_commit.c   one committed epoch against the model (X5, X6, X7, X8, X15)
 *     oracle_packed.c   packed changelog records, decoded (X9)
 *     oracle_state.c    changelogs, emit frontiers, expiry (X8, X9, X10)
 *     oracle_local.c    the local store, and what a restart would make of it (X9)
 *     oracle_rows.c     rows for sinks: collected, compared (X6)
 *     oracle_least.c    at-least-once after a crash: no row is missing (X6)
 *     oracle_order.c    how far L6 lets rows be predicted
 *     oracle_say.c      violations in words
 */
#ifndef SF_DRIVER_ORACLE_PARTS_H
#define SF_DRIVER_ORACLE_PARTS_H

#include "core/text.h"
#include "driver/model.h"
#include "driver/oracle.h"

#define SFI_ORACLE_NONE UINT32_MAX

struct sfi_oracle;

/* ---------------------------------------------------------------- records, as they were read */

struct sfi_oracle_copy {
    struct sf_slice key;
    struct sf_slice value;
    struct sf_slice headers;
    int64_t offset;
    int64_t ts_ms; /* SF_TIME_UNSET: none */
};

/* One batch; records and bytes follow. */
struct sfi_oracle_block {
    struct sfi_oracle_block *next; /* in its partition's queue */
    size_t bytes;                  /* of all */
    uint64_t arrival;              /* which one of its instance's */
    uint32_t count;
    uint32_t at;                   /* next one that waits */
    uint32_t left;                 /* not yet verified or dropped */
    struct sfi_oracle_copy copies[];
};

/* ---------------------------------------------------------------- partitions */

/* As of the newest committed epoch. */
struct sfi_oracle_partition {
    uint32_t source;
    int32_t number;
    struct sf_tp tp;        /* the broker's */
    uint64_t tie;           /* D2 */
    bool is_begun;          /* `committed` is known */
    bool is_given_up;       /* taken from who reads it (S8) */
    bool has_committed;     /* an offset of it was committed, not only found (S8) */
    int64_t committed;
    int64_t time_max;
    int64_t end_at_start;   /* its stable end when a process last became owner: of sources that start at the end (S8) */
    /* the commit at hand */
    bool is_moved;
    int64_t last;           /* newest entry's offset */
    /* offsets that a decided transaction owes (X8) */
    uint64_t owed_serial;   /* 0: none */
    int64_t owed_low;       /* right offsets: [low, high] */
    int64_t owed_high;
    int64_t owed_time;
};

enum sfi_oracle_verdict { SFI_ORACLE_GO, SFI_ORACLE_SKIP, SFI_ORACLE_FAIL };

struct sfi_oracle_skip {
    int64_t offset;
    uint64_t epoch;
    enum sf_drop reason;
};

/* As one instance has it. */
struct sfi_oracle_live {
    bool is_leaving;    /* asked for: paused, and nothing is dispatched, until what it gave has committed (S8) */
    bool is_assigned;
    int64_t read;                 /* the log up to here was delivered */
    int64_t known;                /* next_offset of the last batch, or where it began */
    struct sfi_oracle_block *first;
    struct sfi_oracle_block *last;
    uint32_t waiting;             /* records */
    int64_t time_max;             /* of what was dispatched */
    /* the head, if waiting > 0 */
    enum sfi_oracle_verdict verdict;
    enum sf_drop reason;
    int64_t head_ts;
    int64_t head_time;            /* as the generator will see it (T5) */
    struct sfi_oracle_skip *skips; /* announced, not yet at the head; ring-less: first … count */
    uint32_t skip_first;
    uint32_t skip_count;
    uint32_t skip_capacity;
    /* time (oracle_time.h) */
    bool is_registered;
    bool is_lag_known;
    bool is_caught_up;
    bool is_idle;                 /* for certain, until it shows a sign of life */
    bool is_idle_open;            /* may have been idle before a fall-back, and still be */
    bool is_held;                 /* P1 */
    bool is_previewed;            /* P2, for certain */
    int64_t held_us;
    int64_t held_wall_ms;
    int64_t delivered_wall_ms;    /* SF_TIME_UNSET: not yet */
    bool is_paused;               /* D1 */
    bool is_pause_open;           /* asked to leave or to come back since: between the thresholds, either */
    bool is_batch_new;            /* its lag is to be told: that of the batch (D6) */
    bool is_batch_known;
    bool is_batch_last;
    bool is_timed;                /* D5: empty and caught up, since `timed_us` */
    bool is_waited_out;           /* the wait for it may have run out, and it has not delivered since */
    int64_t timed_us;
    int64_t live_lo;              /* its last sign of life, on the monotonic clock; where that is open, an interval */
    int64_t live_hi;
    int64_t running_lo;           /* and on the two running clocks */
    int64_t running_hi;
    bool is_unsettled;            /* listed: a skip is to be announced or to be reached */
    uint32_t heap_at;             /* place in the heap of heads; SFI_ORACLE_NONE */
    uint32_t wait_at;             /* place in the list of those that dispatch may have to wait for; SFI_ORACLE_NONE */
};

/* ---------------------------------------------------------------- epochs that have not committed */

struct sfi_oracle_entry {
    struct sfi_oracle_block *block;
    const struct sfi_oracle_copy *copy;
    int64_t ts_ms;
    int64_t time;       /* generator's */
    uint32_t partition;
    bool is_skipped;
};

struct sfi_oracle_epoch {
    struct sfi_oracle_epoch *next;
    uint64_t number;
    uint32_t run;           /* of its instance */
    bool is_fixed;
    bool is_flush;
    int64_t stamp;
    int64_t fixed_us;       /* when it was fixed */
    int64_t begun_us;       /* when its first record was dispatched or skipped */
    uint64_t bytes;         /* keys and values (L5) */
    struct sfi_oracle_entry *entries;
    uint32_t count;
    uint32_t capacity;
    struct sf_source_counts *counts; /* by source */
    struct sf_cut_offset *offsets;   /* of the cut: at-least-once */
    uint32_t offset_count;
};

/* ---------------------------------------------------------------- lanes */

struct sfi_oracle_sent {
    uint32_t partition;
    uint32_t epoch_low; /* of the epoch's number */
    int64_t offset;
};

struct sfi_oracle_lane {
    struct sfi_oracle_sent *sent; /* dispatched, not yet taken: ring, capacity a power of two */
    uint32_t first;
    uint32_t count;
    uint32_t capacity;
    uint64_t crossed;             /* newest barrier */
    uint64_t begun;               /* the cut that it began at */
    uint64_t passed;
};

/* ---------------------------------------------------------------- instances */

struct sfi_oracle_head {
    int64_t ts_ms; /* or its arrival, where no event time is tracked (D4) */
    uint64_t tie;
    uint32_t partition;
};

/* What the watermark of an instance is made of, beside its partitions (oracle_time.h). */
struct sfi_oracle_time {
    bool has_begun;
    bool has_stepped;
    int64_t now_us;      /* of ingest's last sign */
    int64_t running_lo;  /* running time (I7): for certain, and at most */
    int64_t running_hi;
    uint64_t step_count;
    bool is_running;     /* since its last step, for certain */
    bool is_standing;    /* not, for certain */
    bool has_dispatched; /* in this step */
    bool is_paused;      /* by the host: nothing is dispatched (M2) */
    bool is_ending;      /* a stop was asked for: nothing is judged any more */
    bool is_emitted;     /* in this step; judged at its end */
    int64_t emitted;
    bool has_emitted;
    int64_t emitted_us;
    int64_t stands_us;   /* since when heads stand though nothing is waited for; -1: they do not */
    int64_t reached;     /* largest minimum of all recomputations (G1), and at most */
    int64_t reached_hi;
};

/* What the interval of barriers runs from. */
enum sfi_oracle_base { SFI_ORACLE_BASE_START, SFI_ORACLE_BASE_FALL_BACK, SFI_ORACLE_BASE_FIXED };

struct sfi_oracle_instance {
    struct sfi_oracle *oracle;
    struct sfi_oracle_instance *next;
    struct sf_driver_instance info;
    struct sf_observer observer;
    uint32_t id;
    uint32_t run;               /* fall-backs so far */
    bool is_over;
    bool is_reading;            /* its ingest has begun */
    bool is_former;             /* another one has begun after it: what it believes is of no account (X12) */
    bool is_falling_back;       /* told, and ingest may not have done it yet */
    bool is_owner;              /* of the group, as its coordinator sees it */
    int64_t lost_us;            /* when it no longer was; INT64_MAX: never, or it is again */
    uint32_t *partition_of;     /* ingest's numbers -> oracle's, as they come by */
    uint32_t partition_of_count;
    struct sfi_oracle_live *live; /* by oracle's partition */
    uint32_t live_count;
    struct sfi_oracle_head *heads;
    uint32_t head_count;
    uint32_t head_capacity;
    uint32_t *waits;            /* partitions that dispatch may have to wait for (D5), in any order */
    uint32_t wait_count;
    uint32_t wait_capacity;
    uint32_t unsettled_count;
    struct sfi_oracle_epoch *epochs; /* oldest first */
    struct sfi_oracle_epoch *newest;
    struct sfi_oracle_lane *lanes;   /* sub x lane */
    uint64_t epoch_least;       /* barriers below it were fixed before a fall-back (B12) */
    uint64_t fixed;             /* newest barrier; 0: none in this run */
    enum sfi_oracle_base base;
    int64_t base_us;            /* when the interval of the next barrier began (B2) */
    uint64_t committed;         /* newest epoch decided to be this instance's, or its start's cut */
    bool is_watermark_open;     /* at-least-once after a crash: what it resumes from is not known */
    int64_t watermark;          /* last emitted */
    struct sfi_oracle_time time;
    struct sf_step_counts *base_counts; /* the model's when it began to read (M6) */
    struct sf_source_counts *source_totals; /* of its epochs that have committed (M6) */
    bool is_fixed_now;          /* a barrier was fixed in this step */
    bool is_recomputed;         /* the watermark was, for a barrier (G2b) */
    uint64_t arrivals;          /* batches */
    uint32_t polled;            /* records, in this step of ingest (D1) */
    uint64_t published;         /* newest epoch that commit has heard of as committed, or its start's cut */
    int64_t published_us;
    int64_t seen_us;            /* when ingest had heard of it, at the latest */
    int64_t due_us;             /* when the next barrier must come; -1: nothing asks for it */
    int64_t slept_us;           /* how long ingest meant to wait when that was known */
    bool is_count_due;          /* commit has published: compare counters after this step */
    bool is_local_due;          /* its local store was written: look at it after this step */
};

/* ---------------------------------------------------------------- transactions */

struct sfi_oracle_hash {
    uint64_t a, b;
};

struct sfi_oracle_row {
    struct sfi_oracle_hash hash;
    uint32_t topic;      /* index of the sink that stands for its topic */
    int32_t partition;   /* -1: any */
    int64_t offset;      /* in the log; expected rows: in the text */
};

struct sfi_oracle_rows {
    struct sfi_oracle_row *items;
    uint32_t count;
    uint32_t capacity;
    uint64_t *keys; /* open addressing: hash of topic and key -> how many rows so far */
    uint32_t *ordinals;
    uint32_t key_capacity;
    uint32_t key_count;
    struct sfi_oracle_hash *sums; /* by sink */
    uint32_t *counts;
};

enum sfi_oracle_change_kind {
    SFI_ORACLE_CHANGE_VALUE,
    SFI_ORACLE_CHANGE_TOMBSTONE,
    SFI_ORACLE_CHANGE_UNIT_CLEAR, /* packed: an image of the unit begins */
    SFI_ORACLE_CHANGE_UNIT_GONE   /* packed: all its rows are */
};

struct sfi_oracle_change {
    enum sfi_oracle_change_kind kind;
    uint32_t step;
    uint32_t group;      /* packed: key group of the unit */
    int64_t start;
    uint64_t key_hash;
    uint64_t value_hash; /* never 0 */
    struct sf_tp tp;     /* where it lies */
    int64_t offset;
};

struct sfi_oracle_raise {
    uint32_t step;
    int64_t emitted;
};

struct sfi_oracle_txn {
    struct sfi_oracle_txn *next;
    uint64_t serial; /* 0: no transaction (at-least-once) */
    uint64_t producer_id;
    int32_t producer_epoch;
    struct sfi_oracle_rows rows;
    struct sfi_oracle_change *changes;
    uint32_t change_count;
    uint32_t change_capacity;
    struct sfi_oracle_raise *raises;
    uint32_t raise_count;
    uint32_t raise_capacity;
    uint8_t *stamp;
    uint32_t stamp_len;
    uint32_t stamp_count;
};

enum sfi_oracle_topic_kind {
    SFI_ORACLE_TOPIC_NEW, /* not looked at yet */
    SFI_ORACLE_TOPIC_OTHER,
    SFI_ORACLE_TOPIC_SINK,
    SFI_ORACLE_TOPIC_CHANGELOG,
    SFI_ORACLE_TOPIC_FRONTIER,
    SFI_ORACLE_TOPIC_STAMPS
};

struct sfi_oracle_topic {
    enum sfi_oracle_topic_kind kind;
    uint32_t index; /* sink or step */
    int32_t partition_count;
    int64_t *taken; /* CHANGELOG, by partition: behind the last record that the model has taken; NULL: none yet */
    int64_t *looked; /* CHANGELOG, by partition: the local store's position at the last look; NULL: none yet */
};

/* A row for a sink, without its place. */
struct sfi_oracle_content {
    struct sf_slice key;
    struct sf_slice value;
    struct sf_slice headers;
    int64_t ts_ms;
};

/* A window's result that must have been written by the end of the run. */
struct sfi_oracle_owed {
    uint64_t hash; /* of topic, key and window */
    char words[120];
};

struct sfi_oracle_least {
    uint64_t *seen; /* open addressing: the same hash, of all rows ever written */
    uint32_t seen_count;
    uint32_t seen_capacity;
    struct sfi_oracle_owed *owed;
    uint32_t owed_count;
    uint32_t owed_capacity;
};

/* How far the rows of a sink's topic can be predicted (L6). */
struct sfi_oracle_sink {
    uint32_t stands_for; /* first sink of its topic */
    bool is_exact;       /* rows are known */
    bool is_ordered;     /* and their order per key */
};

/* ---------------------------------------------------------------- all of it */

struct sfi_oracle {
    struct sf_driver_world world;
    struct sf_alloc alloc;
    bool is_exactly_once;
    struct sf_sim_kafka_observer broker;
    struct sfi_model model;
    struct sf_expression **assigners;     /* by source; NULL: the record's time */
    uint64_t *source_ranks;               /* D2: by topic bytes */
    uint32_t **source_partitions;         /* [source][number] -> partition; SFI_ORACLE_NONE */
    uint32_t *source_partition_counts;
    struct sfi_oracle_partition *partitions;
    uint32_t partition_count;
    uint32_t partition_capacity;
    struct sfi_oracle_topic *topics;      /* by the broker's number */
    uint32_t topic_capacity;
    struct sfi_oracle_sink *sinks;
    bool *is_step_exact;                  /* its rows are known (changelog, counters) */
    bool *is_step_keyed;                  /* records of a key reach it in a known order */
    bool *has_rounded;                    /* a sum behind a key change has met a double */
    struct sfi_oracle_instance *instances;
    struct sfi_oracle_instance *last;     /* whose epoch committed last; NULL: none */
    uint32_t last_run;
    struct sfi_oracle_instance *reader;   /* who read the newest cut last (X12) */
    int64_t decided_us;                   /* the last commit */
    struct sfi_oracle_txn *txns;
    struct sfi_oracle_txn *txn_pool;
    struct sfi_oracle_rows expected;
    struct sfi_oracle_least least;
    uint8_t *text;                        /* bytes of the expected rows */
    size_t text_used;
    size_t text_capacity;
    uint64_t commit_count;
    uint64_t local_changes;               /* changelog records since a local store was looked at (X9) */
    uint64_t local_rows;                  /* that it held then */
    int64_t producer_epoch_max;           /* X12 */
    uint64_t producer_id_max;
    bool has_grown;                       /* a source has gained partitions */
    bool is_loose;                        /* at-least-once after a crash: rows may repeat */
    bool is_broken;                       /* reported: nothing more is judged */
};

/* --- oracle_say.c: the first violation is reported; later ones mean little once the model has left the run */

/* `rule` "X6"; texts may be NULL. */
void sfi_oracle_say(struct sfi_oracle *oracle, const char *rule, const char *subject, const char *expected,
                    const char *actual);
/* subject: "topic/partition"; numbers in words. SF_TIME_UNSET is "unset". */
void sfi_oracle_say_partition(struct sfi_oracle *oracle, const char *rule, const struct sfi_oracle_partition *partition,
                              const char *what, int64_t expected, int64_t actual);
void sfi_oracle_say_epoch(struct sfi_oracle *oracle, const char *rule, uint64_t epoch, const char *what,
                          int64_t expected, int64_t actual);
void sfi_oracle_add_time(struct sf_text *text, int64_t ts);

/* --- oracle_live.c */

struct sfi_oracle_partition *sfi_oracle_partition_get(struct sfi_oracle_instance *instance, struct sf_tp tp,
                                                      uint32_t *index_out);
/* The instance has the newest cut, and goes on from there (oracle.c). */
void sfi_oracle_begin_reading(struct sfi_oracle_instance *instance);
void sfi_oracle_assigned(void *ctx, struct sf_tp tp, int64_t offset, int64_t time_max);
/* Asked to give the partition (the broker's number) up, or to keep it. */
void sfi_oracle_leaves(struct sfi_oracle_instance *instance, struct sf_tp tp, bool is_leaving);
void sfi_oracle_buffered(void *ctx, const struct sf_batch *batch);
void sfi_oracle_dispatched(void *ctx, uint64_t epoch, const struct sf_ref *refs, const struct sf_tp *tps,
                           uint32_t count, int64_t watermark);
void sfi_oracle_skipped(void *ctx, uint64_t epoch, struct sf_tp tp, int64_t offset, enum sf_drop reason);
/* After a step of ingest: what had to be skipped was. */
void sfi_oracle_live_stepped(struct sfi_oracle_instance *instance);
/* A process has become owner, and is to ask where the logs end. */
void sfi_oracle_note_ends(struct sfi_oracle *oracle);
void sfi_oracle_live_clear(struct sfi_oracle_instance *instance);
/* One entry or waiting record is done with. */
void sfi_oracle_block_drop(struct sfi_oracle *oracle, struct sfi_oracle_block *block, uint32_t count);

/* --- oracle_epoch.c */

struct sfi_oracle_epoch *sfi_oracle_epoch_get(struct sfi_oracle_instance *instance, uint64_t number);
struct sfi_oracle_epoch *sfi_oracle_epoch_find(struct sfi_oracle_instance *instance, uint64_t number);
void sfi_oracle_epoch_add(struct sfi_oracle_instance *instance, struct sfi_oracle_epoch *epoch,
                          struct sfi_oracle_entry entry);
/* Frees the oldest (its entries have been fed or dropped). */
void sfi_oracle_epoch_free_first(struct sfi_oracle_instance *instance);
void sfi_oracle_epochs_drop(struct sfi_oracle_instance *instance);

/* --- oracle_lane.c */

void sfi_oracle_lane_sent(struct sfi_oracle_instance *instance, uint32_t sub, uint32_t lane, uint64_t epoch,
                          uint32_t partition, int64_t offset);
void sfi_oracle_taken(void *ctx, uint32_t sub, uint32_t lane, uint64_t epoch, const struct sf_ref *refs,
                      uint32_t count);
void sfi_oracle_crossed(void *ctx, uint32_t sub, uint32_t lane, uint64_t epoch);
void sfi_oracle_passed(void *ctx, uint32_t sub, uint32_t lane, uint64_t epoch, uint64_t result_count);
void sfi_oracle_fixed(void *ctx, const struct sf_cut *cut);
/* B9: the same. */
void sfi_oracle_crossing_watch(struct sfi_oracle_instance *instance);
/* X3, B2: after a step of ingest in which it had everything and goes to wait until `wake_us`. */
void sfi_oracle_barrier_watch(struct sfi_oracle_instance *instance, int64_t wake_us);
void sfi_oracle_lanes_reset(struct sfi_oracle_instance *instance, uint64_t cut);

/* --- oracle_txn.c */

void sfi_oracle_appended(void *ctx, struct sf_tp tp, const struct sf_record *records, uint32_t count,
                         uint64_t producer_id, int32_t producer_epoch, uint64_t txn_serial);
void sfi_oracle_decided(void *ctx, const char *transactional_id, uint64_t producer_id, int32_t producer_epoch,
                        uint64_t txn_serial, bool is_commit);
/* By the broker's number of its topic; NULL: of no source, or never assigned. */
struct sfi_oracle_partition *sfi_oracle_partition_of(struct sfi_oracle *oracle, struct sf_tp tp);
void sfi_oracle_offset_committed(void *ctx, const char *group, struct sf_tp tp, int64_t offset,
                                 struct sf_slice metadata, uint64_t txn_serial);
struct sfi_oracle_txn *sfi_oracle_txn_get(struct sfi_oracle *oracle, uint64_t serial);
void sfi_oracle_txn_drop(struct sfi_oracle *oracle, struct sfi_oracle_txn *txn);
void sfi_oracle_txns_free(struct sfi_oracle *oracle);

/* --- oracle_commit.c */

/* The epoch is durable with what `txn` holds: verify it and go on from there. */
void sfi_oracle_commit(struct sfi_oracle *oracle, struct sfi_oracle_instance *instance, struct sfi_oracle_epoch *epoch,
                       struct sfi_oracle_txn *txn);
/* Offsets that the last commit owed are there (X8). */
void sfi_oracle_offsets_check(struct sfi_oracle *oracle);
/* Next record at or after `offset` that a read-committed reader gets, or the end of what it can get. */
int64_t sfi_oracle_visible(struct sfi_oracle *oracle, struct sf_tp tp, int64_t offset);

/* One record of a changelog into changes. Reports what is none. */
void sfi_oracle_change_read(struct sfi_oracle *oracle, struct sfi_oracle_txn *txn, const struct sfi_oracle_topic *topic,
                            struct sf_tp tp, const struct sf_record *record);
struct sfi_oracle_topic *sfi_oracle_topic_of(struct sfi_oracle *oracle, uint32_t number);

/* --- oracle_packed.c */

/* A packed row's value; its hash is that of the text that the rows format would hold. False: it is none. */
bool sfi_oracle_packed_value_hash(struct sfi_oracle *oracle, uint32_t step, int64_t start, struct sf_slice value,
                                  uint64_t *hash_out);
/* One record of a packed changelog into changes. False: it is none. */
bool sfi_oracle_packed_read(struct sfi_oracle *oracle, struct sfi_oracle_txn *txn, uint32_t step, struct sf_tp tp,
                            const struct sf_record *record);
void sfi_oracle_change_add(struct sfi_oracle *oracle, struct sfi_oracle_txn *txn,
                           const struct sfi_oracle_change *change);

/* --- oracle_state.c */

/* Of the text of a changelog row. */
uint64_t sfi_oracle_hash_numbers(struct sfi_oracle *oracle, const struct sfi_model_aggregates *aggregates,
                                 int64_t ts_ms, const struct sfi_model_number *numbers);

void sfi_oracle_state_check(struct sfi_oracle *oracle, uint64_t epoch, struct sfi_oracle_txn *txn);
void sfi_oracle_frontiers_check(struct sfi_oracle *oracle, uint64_t epoch, struct sfi_oracle_txn *txn);
/* K1's row, decoded and compared with the model's ring. */
bool sfi_oracle_stamp_read(const uint8_t *row, uint32_t len, uint64_t *incarnation_out, uint64_t *epoch_out);
void sfi_oracle_stamp_check(struct sfi_oracle *oracle, uint64_t epoch, const uint8_t *row, uint32_t len);

/* --- oracle_local.c */

/* The local store on this disk, as it is now, leads to the model's rows. */
void sfi_oracle_local_check(struct sfi_oracle *oracle, struct sf_sim_disk *disk);

/* --- oracle_rows.c */

void sfi_oracle_rows_init(struct sfi_oracle *oracle, struct sfi_oracle_rows *rows);
void sfi_oracle_rows_deinit(struct sfi_oracle *oracle, struct sfi_oracle_rows *rows);
void sfi_oracle_rows_clear(const struct sfi_oracle *oracle, struct sfi_oracle_rows *rows);
void sfi_oracle_rows_add(struct sfi_oracle *oracle, struct sfi_oracle_rows *rows, uint32_t topic, int32_t partition,
                         int64_t offset, const struct sfi_oracle_content *content);
/* The model's callback. */
void sfi_oracle_expect(void *ctx, uint32_t sink, const struct sfi_model_record *record);
void sfi_oracle_rows_check(struct sfi_oracle *oracle, uint64_t epoch, const struct sfi_oracle_txn *txn);

/* --- oracle_least.c */

/* A row lies in a log, read-committed or not. */
void sfi_oracle_least_wrote(struct sfi_oracle *oracle, uint32_t topic, const struct sfi_oracle_content *content);
/* The model gives one. */
void sfi_oracle_least_owe(struct sfi_oracle *oracle, uint32_t topic, const struct sfi_oracle_content *content);
/* At the end of a run that was stopped. */
void sfi_oracle_least_check(struct sfi_oracle *oracle);
void sfi_oracle_least_deinit(struct sfi_oracle *oracle);

/* --- oracle_order.c */

void sfi_oracle_order(struct sfi_oracle *oracle);
/* After an epoch was fed: a double may have made sums depend on order. */
void sfi_oracle_order_watch(struct sfi_oracle *oracle);

#endif
