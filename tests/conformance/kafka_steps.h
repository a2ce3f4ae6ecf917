/*
 * Steps over any Kafka: the words that the conformance suite and the twin histories are written in.
 *
 *     struct kafka_writer *writer = kafka_writer_open(world, 0, "tx");     process 0
 *     kafka_writer_begin(writer);
 *     kafka_writer_put(writer, tp, "k", "v");
 *     struct sf_producer_event end = kafka_writer_commit(writer);         waits for the outcome
 *
 * A world is one Kafka and some processes in it: a fixture gives it (the simulated one, a real broker). Steps that
 * wait run the world until the event has come; in a world with real time that is a wait on wakers, never a sleep, in
 * the simulated one virtual time passes. Meanwhile every open client is polled. A step whose event does not come
 * fails the test and says what it waited for.
 *
 * Names of topics, groups and ids are made unique by kafka_name: one broker serves many runs.
 */
#ifndef SF_TESTS_CONFORMANCE_KAFKA_STEPS_H
#define SF_TESTS_CONFORMANCE_KAFKA_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/io/kafka.h"

#define KAFKA_CLIENTS_MAX 24
#define KAFKA_PARTS_MAX 8
#define KAFKA_SEEN_MAX 8192
#define KAFKA_NAME_BYTES 96
#define KAFKA_TEXT_BYTES 64

/* What one world can do that another cannot. */
enum kafka_power {
    KAFKA_POWER_LEADER_AWAY, /* take a partition's leader away and give it back */
    KAFKA_POWER_GROW         /* add partitions to a topic */
};

struct kafka_world;

struct kafka_world_ops {
    /* The handle of process `index`, made at first use: its own clients, its own tokens. */
    struct sf_kafka (*process)(void *ctx, uint32_t index);
    struct sf_waker (*waker)(void *ctx);
    /* Poll (with `is_done`, which polls) and let time pass until it says true. False: not within the limit. */
    bool (*run)(void *ctx, bool (*is_done)(void *arg), void *arg);
    /* NULL: it can; else why not. */
    const char *(*cannot)(void *ctx, enum kafka_power power);
    void (*leader_away)(void *ctx, const char *topic, int32_t partition, bool is_away);
    void (*grow)(void *ctx, const char *topic, int32_t partition_count);
};

struct kafka_open_client {
    void (*pump)(void *client);
    void (*close)(void *client);
    void *client;
};

struct kafka_world {
    const char *label; /* "sim", "broker" */
    const struct kafka_world_ops *ops;
    void *ctx;
    char run_id[32]; /* in every name */
    struct kafka_open_client clients[KAFKA_CLIENTS_MAX];
    uint32_t client_count;
};

/* `base` with the run's id; valid until the buffer goes. */
const char *kafka_name(const struct kafka_world *world, const char *base, char buffer[KAFKA_NAME_BYTES]);
struct sf_kafka kafka_process(struct kafka_world *world, uint32_t process);
/* The number of the topic `base` (unique name) in that process. */
uint32_t kafka_topic(struct kafka_world *world, uint32_t process, const char *base);
struct sf_tp kafka_tp(struct kafka_world *world, uint32_t process, const char *base, int32_t partition);
/* Fails the test where the world cannot show it. */
void kafka_wait(struct kafka_world *world, bool (*is_done)(void *arg), void *arg, const char *what);
/* Closes every client that is still open; fixtures call it at the end of each test. */
void kafka_close_all(struct kafka_world *world);

/* ------------------------------------------------------------------ reader: partitions by hand */

struct kafka_seen {
    struct sf_tp tp;
    int64_t offset;
    int64_t ts_ms;
    uint32_t generation;
    bool is_null_key, is_null_value;
    char key[KAFKA_TEXT_BYTES];
    char value[KAFKA_TEXT_BYTES];
    char headers[KAFKA_TEXT_BYTES]; /* "name=value;" each */
};

struct kafka_reader {
    struct kafka_world *world;
    struct sf_consumer client;
    struct kafka_seen seen[KAFKA_SEEN_MAX];
    uint32_t seen_count;
    struct {
        struct sf_tp tp;
        int64_t caught_up; /* position last reported; -1 */
        int64_t next;      /* after the last batch; -1 */
        bool is_out_of_range;
        int64_t lost_position, log_start, log_end;
        enum sf_status status; /* of the last PARTITION event */
        uint32_t retry_count;
    } parts[KAFKA_PARTS_MAX];
    uint32_t part_count;
    enum sf_status failed;
};

struct kafka_reader_options {
    bool is_read_uncommitted;
    bool has_headers;
    uint32_t batch_records_max; /* 0: 500 */
};

struct kafka_reader *kafka_reader_open(struct kafka_world *world, uint32_t process,
                                       struct kafka_reader_options options);
uint32_t kafka_reader_add(struct kafka_reader *reader, struct sf_tp tp, int64_t offset);
uint32_t kafka_reader_seek(struct kafka_reader *reader, struct sf_tp tp, int64_t offset);
void kafka_reader_wait_seen(struct kafka_reader *reader, uint32_t count);
/* Until CAUGHT_UP at `position` or beyond. */
void kafka_reader_wait_caught_up(struct kafka_reader *reader, struct sf_tp tp, int64_t position);
void kafka_reader_wait_out_of_range(struct kafka_reader *reader, struct sf_tp tp);
/* Values in the order seen, "a b c". */
const char *kafka_reader_values(const struct kafka_reader *reader, char *buffer, uint32_t bytes);
/* Checks that these are all values so far. */
void kafka_reader_expect(const struct kafka_reader *reader, const char *values);
void kafka_reader_close(struct kafka_reader *reader);

/* ------------------------------------------------------------------ owner: member of a group */

struct kafka_owner {
    struct kafka_world *world;
    struct sf_consumer client;
    bool is_owner, is_revoking;
    uint32_t granted_count, revoking_count, revoked_count, confirmed_count;
    enum sf_status lost; /* of the last REVOKED or FAILED */
};

/* Member of group `group` (base) on topic `topic` (base); `instance` NULL: none. */
struct kafka_owner *kafka_owner_open(struct kafka_world *world, uint32_t process, const char *group, const char *topic,
                                     const char *instance);
void kafka_owner_wait_granted(struct kafka_owner *owner);
/* REVOKED or FAILED. */
void kafka_owner_wait_lost(struct kafka_owner *owner);
struct sf_member_token kafka_owner_token(struct kafka_owner *owner);
/* Asks whether it owns still, and waits for the yes. */
void kafka_owner_confirm(struct kafka_owner *owner);
/* Until its token is another than `old`: somebody has joined or left. */
void kafka_owner_wait_token(struct kafka_owner *owner, struct sf_member_token old);
void kafka_owner_close(struct kafka_owner *owner);

/* ------------------------------------------------------------------ writer */

struct kafka_writer {
    struct kafka_world *world;
    struct sf_producer client;
    uint64_t tag;
    bool has_event; /* `event` answers `tag` */
    struct sf_producer_event event;
    struct sf_position positions[KAFKA_PARTS_MAX];
    uint32_t position_count;
    uint32_t room_count;
    enum sf_status failed; /* last FAILED event */
    char text[200];
};

struct kafka_writer_options {
    const char *group;       /* base; NULL: "g" */
    int64_t txn_timeout_ms;  /* 0: 60 s */
    uint64_t queue_bytes_max; /* 0: 1 MiB */
};

/* Transactional under id `id` (base), or idempotent where it is NULL. Not initialised. */
struct kafka_writer *kafka_writer_open(struct kafka_world *world, uint32_t process, const char *id,
                                       struct kafka_writer_options options);
struct sf_producer_event kafka_writer_init(struct kafka_writer *writer);
void kafka_writer_begin(struct kafka_writer *writer);
/* Null key or value: NULL. Stamp: 1000 + its number in this writer is up to the caller. */
void kafka_writer_put(struct kafka_writer *writer, struct sf_tp tp, const char *key, const char *value);
struct sf_producer_event kafka_writer_offsets(struct kafka_writer *writer, struct sf_member_token token,
                                              struct sf_tp tp, int64_t offset, const char *metadata);
struct sf_producer_event kafka_writer_commit(struct kafka_writer *writer);
struct sf_producer_event kafka_writer_abort(struct kafka_writer *writer);
struct sf_producer_event kafka_writer_flush(struct kafka_writer *writer);
void kafka_writer_close(struct kafka_writer *writer);

/* ------------------------------------------------------------------ boss: admin */

struct kafka_boss {
    struct kafka_world *world;
    struct sf_admin client;
    uint64_t tag;
    bool has_event;
    struct sf_admin_event event; /* answers copied below; settings and text are not kept */
    struct sf_offset_answer answers[KAFKA_PARTS_MAX];
    char metadata[KAFKA_PARTS_MAX][KAFKA_TEXT_BYTES];
    char settings[8192]; /* "name=value\n" each */
    uint64_t watch_tag;
    int32_t watched; /* last count told; -1 */
};

struct kafka_boss *kafka_boss_open(struct kafka_world *world, uint32_t process);
/* Creates and wants success. `setting` NULL: none. */
void kafka_boss_create(struct kafka_boss *boss, uint32_t process, const char *topic, int32_t partition_count,
                       const char *setting, const char *value);
enum sf_status kafka_boss_create_try(struct kafka_boss *boss, uint32_t process, const char *topic,
                                     int32_t partition_count);
struct sf_admin_event kafka_boss_describe(struct kafka_boss *boss, uint32_t process, const char *topic);
/* Gives the command; kafka_boss_wait waits for it. */
void kafka_boss_ask_committed(struct kafka_boss *boss, const char *group, struct sf_tp tp);
struct sf_admin_event kafka_boss_wait(struct kafka_boss *boss, const char *what);
struct sf_offset_answer kafka_boss_committed(struct kafka_boss *boss, const char *group, struct sf_tp tp);
int64_t kafka_boss_end(struct kafka_boss *boss, struct sf_tp tp, enum sf_log_end which);
enum sf_status kafka_boss_commit(struct kafka_boss *boss, const char *group, struct sf_member_token token,
                                 struct sf_tp tp, int64_t offset);
enum sf_status kafka_boss_truncate(struct kafka_boss *boss, struct sf_tp tp, int64_t before);
void kafka_boss_watch(struct kafka_boss *boss, uint32_t process, const char *topic);
void kafka_boss_wait_watched(struct kafka_boss *boss, int32_t count);
void kafka_boss_close(struct kafka_boss *boss);

#endif
