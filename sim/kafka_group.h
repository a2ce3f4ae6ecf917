/*
 * A consumer group, as far as ownership needs it: members that subscribe to one topic, of which the owner holds every
 * partition; its generation; its committed offsets, and those pending in transactions.
 *
 *     join A       generation 1, owner A          (A hears GRANTED one answer later)
 *     join B       generation 2, owner A stays    (sticky; A's old proof is refused from now on)
 *     A expires    generation 3, owner B          (A hears REVOKED when it can hear again)
 *     join A' with A's static id: takes A's place in the same generation; A's proof is refused
 *
 * Heartbeats are not sent: a member's session ends at a time that is known when it stops (killed, frozen, closed
 * with a static id), so a quiet group costs no event.
 */
#ifndef SF_SIM_KAFKA_GROUP_H
#define SF_SIM_KAFKA_GROUP_H

#include "sim/kafka_broker.h"

struct sfi_consumer;

/* Linked by its group in join order until it is gone; then by its consumer alone. */
struct sfi_member {
    struct sfi_member *next;
    struct sfi_group *group;
    struct sfi_consumer *consumer; /* NULL: nobody there any more, the session runs out */
    uint32_t number;               /* unique in the group: its member id */
    uint32_t instance;
    char *static_id;               /* NULL: none */
    bool is_gone;                  /* no member any more */
    bool is_fenced;                /* gone, because a later holder of its static id came */
    bool is_revoking;              /* owner that was asked to give up */
    uint64_t session_event;
    uint64_t rebalance_event;
};

struct sfi_offset {
    struct sf_tp tp;
    int64_t offset;
    uint8_t *metadata; /* NULL: none */
    uint32_t metadata_len;
    struct sfi_txn *txn; /* pending: counted; NULL in the committed list */
};

struct sfi_offset_list {
    struct sfi_offset *items; /* in the order first committed */
    uint32_t count;
    uint32_t cap;
};

struct sfi_group {
    struct sfi_group *next;
    struct sf_sim_kafka *broker;
    char *name;
    uint32_t number; /* from 1 */
    uint32_t topic;  /* that its members subscribe to; UINT32_MAX before the first */
    uint32_t generation;
    uint32_t member_number_last;
    uint64_t draw_ordinal;
    struct sfi_member *members;
    struct sfi_member *owner;
    struct sfi_offset_list committed;
    struct sfi_offset_list pending;
};

struct sfi_group *sfi_group_get(struct sf_sim_kafka *broker, const char *name);
struct sfi_group *sfi_group_find(struct sf_sim_kafka *broker, const char *name);
void sfi_group_free(struct sfi_group *group);

/* A new member for `consumer` of a simulated instance; static_id may be NULL. */
struct sfi_member *sfi_group_join(struct sfi_group *group, struct sfi_consumer *consumer, uint32_t instance,
                                  uint32_t topic, const char *static_id);
/* The consumer is no more. Leaves after the leave request's way, or stays until the session has run out. */
void sfi_group_detach(struct sfi_member *member, bool is_leaving);
/* The member sends no heartbeats from now on, or sends them again. */
void sfi_group_silence(struct sfi_member *member, bool is_silent);
/* The owner gave up what it was asked for. */
void sfi_group_yield(struct sfi_member *member);
/* Free a member that is gone and that its consumer has done with. */
void sfi_member_free(struct sfi_member *member);
struct sf_member_token sfi_member_token(const struct sfi_member *member);
/* The token names a present member and the present generation. */
bool sfi_group_accepts(const struct sfi_group *group, struct sf_member_token token);
/* Its topic may have come into being. */
void sfi_group_topics_changed(struct sfi_group *group);

/* ---------------------------------------------------------------- offsets */

void sfi_offsets_commit(struct sfi_group *group, const struct sf_offset_commit *commit);
/* Metadata goes, offsets stay; how many had some. */
uint32_t sfi_offsets_strip(struct sfi_group *group);
void sfi_offsets_pend(struct sfi_group *group, struct sfi_txn *txn, const struct sf_offset_commit *commit);
/* The transaction's offsets become committed or vanish, in every group. */
void sfi_offsets_end(struct sf_sim_kafka *broker, const struct sfi_txn *txn, bool is_commit);
const struct sfi_offset *sfi_offsets_find(const struct sfi_offset_list *list, struct sf_tp tp);
void sfi_offsets_free(struct sfi_group *group);

/* ---------------------------------------------------------------- what a consumer must hear (kafka_member.c) */

/* Something about `member` changed: look at it after `delay_us`. */
void sfi_consumer_member_news(struct sfi_consumer *consumer, int64_t delay_us);

#endif
