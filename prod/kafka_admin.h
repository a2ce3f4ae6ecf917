/*
 * Topics, offsets and log ends: what the task's side (kafka_admin.c) and the single attempts (kafka_admin_calls.c)
 * share.
 *
 * Commands wait in a list; one helper thread tries those that are due, one after the other, each attempt bounded by
 * SFI_KAFKA_ATTEMPT_MS. What is not there yet (no leader, an offset still in a transaction) is tried again after
 * SFI_KAFKA_RETRY_MS, for ever; the others go on meanwhile. A watch is a command that never ends.
 */
#ifndef SF_PROD_KAFKA_ADMIN_H
#define SF_PROD_KAFKA_ADMIN_H

#include "prod/kafka_impl.h"

#define SFI_KAFKA_ATTEMPT_MS 3000
#define SFI_KAFKA_RETRY_MS 50

enum sfi_kafka_ask_kind {
    SFI_ASK_DESCRIBE,
    SFI_ASK_CREATE,
    SFI_ASK_WATCH,
    SFI_ASK_COMMITTED,
    SFI_ASK_ENDS,
    SFI_ASK_COMMIT,
    SFI_ASK_TRUNCATE
};

/* An answer, with what it points to. Owned by the list it is in. */
struct sfi_kafka_reply {
    struct sfi_kafka_reply *next;
    struct sf_admin_event event;
    struct sf_topic_setting *settings; /* names and values owned too */
    struct sf_offset_answer *answers;  /* metadata owned too */
    char *text;
};

/* A command. Linked by: admin.asks; the helper's alone while it is being tried. */
struct sfi_kafka_ask {
    struct sfi_kafka_ask *next;
    enum sfi_kafka_ask_kind kind;
    uint64_t tag;
    int64_t due_ms;
    uint32_t topic;           /* describe, create, watch */
    int32_t partition_count;  /* create; watch: last told, -1 */
    int16_t replication;
    struct sf_topic_setting *settings; /* create; owned */
    uint32_t setting_count;
    char *group;
    struct sf_tp *tps; /* committed, ends, truncate; owned */
    uint32_t tp_count;
    enum sf_log_end which;
    int64_t unknown_ms; /* ends: when a topic was first answered to be unknown; 0: never */
    int64_t before;
    struct sf_member_token token;
    rd_kafka_topic_partition_list_t *offsets; /* commit; owned */
};

struct sfi_kafka_admin {
    struct sfi_kafka_link link;
    struct sf_prod_kafka *kafka;
    rd_kafka_t *stable;  /* read-committed; runs every command */
    rd_kafka_t *latest;  /* read-uncommitted, for SF_LOG_END; the helper's, made when first needed */
    rd_kafka_queue_t *queue; /* answers of the library's admin calls; the helper's */
    uintptr_t call_last;     /* number of the newest of these calls; the helper's */
    char refused[200];       /* why the broker does not let us in; empty: it does, for all we know; the helper's */
    struct sf_waker waker;
    struct sfi_kafka_reply *told; /* of the last poll; the task's */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t news;
    bool is_closing;
    struct sfi_kafka_ask *asks;
    struct sfi_kafka_reply *replies; /* oldest first */
};

/* One attempt, on the helper's thread. False: not yet, try again. Fills the reply's event and what it points to. */
bool sfi_kafka_admin_try(struct sfi_kafka_admin *admin, struct sfi_kafka_ask *ask, struct sfi_kafka_reply *reply);

#endif
