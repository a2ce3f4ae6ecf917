/*
 * The broker's own state, shared by the files sim/kafka_*.c and by nothing else: topics, coordinators, groups,
 * handles, faults, and the requests that wait for a leader or a coordinator.
 */
#ifndef SF_SIM_KAFKA_BROKER_H
#define SF_SIM_KAFKA_BROKER_H

#include "sim/kafka.h"
#include "sim/kafka_log.h"

struct sfi_coord;
struct sfi_group;
struct sfi_handle;
struct sfi_client;
struct sfi_stray;

/* A name with a number; a topic once partition_count > 0. */
struct sfi_topic {
    char *name;
    int32_t partition_count;
    struct sfi_log **logs;
    struct sf_topic_setting *settings; /* by name; strings ours */
    uint32_t setting_count;
};

/* A request that the broker refused for now. `retry` is called, unlinked, when something changed that might help:
 * a transaction completed, a leader is back, a topic was made. */
struct sfi_parked {
    struct sfi_parked *next;
    struct sfi_parked *prev;
    bool is_linked;
    void (*retry)(void *ctx);
    void *ctx;
};

struct sfi_fault {
    struct sfi_fault *next;
    char *transactional_id;
    struct sf_sim_kafka_fault fault;
};

struct sf_sim_kafka {
    struct sf_sim_world *world;
    struct sf_alloc alloc;
    struct sf_sim_kafka_config config;
    const struct sf_sim_kafka_observer *observer;
    struct sfi_topic *topics;
    uint32_t topic_count;
    uint32_t topic_cap;
    struct sfi_coord *coords;   /* by first use */
    struct sfi_group *groups;
    struct sfi_handle *handles; /* by first use */
    struct sfi_client *zombies; /* closed, with requests on the wire */
    struct sfi_fault *faults;   /* in the order given */
    struct sfi_parked *parked_head;
    struct sfi_parked *parked_tail;
    struct sfi_stray *strays;   /* duplicates on the wire */
    uint64_t producer_id_last;
    uint64_t txn_serial_last;
    uint32_t client_id_last;
    bool is_missed;             /* somebody came for what was discarded */
};

/* Answers of the broker to a request of a client model. */
enum sfi_result {
    SFI_OK,
    SFI_FENCED,        /* an older epoch than the broker knows */
    SFI_INVALID,       /* not in this state of the transaction */
    SFI_WAIT,          /* not now: leader away, or the last transaction is not complete */
    SFI_STALE_MEMBER,  /* generation or member unknown to the group */
    SFI_TOO_LARGE,
    SFI_UNKNOWN_TOPIC
};

char *sfi_strdup(struct sf_alloc alloc, const char *text);
void sfi_strfree(struct sf_alloc alloc, char *text);

/* NULL if there is no such partition. */
struct sfi_log *sfi_broker_log(struct sf_sim_kafka *broker, struct sf_tp tp);
void sfi_broker_park(struct sf_sim_kafka *broker, struct sfi_parked *parked);
void sfi_broker_unpark(struct sf_sim_kafka *broker, struct sfi_parked *parked);
void sfi_broker_retry_parked(struct sf_sim_kafka *broker);
/* The fault that the next request meets, used up; false if none. */
bool sfi_broker_take_fault(struct sf_sim_kafka *broker, const char *transactional_id,
                           enum sf_sim_kafka_request request, struct sf_sim_kafka_fault *fault_out);
/* Half a round trip, drawn. */
int64_t sfi_broker_leg_us(struct sf_sim_kafka *broker, struct sf_sim_latency latency, uint32_t domain, uint64_t entity,
                          uint64_t ordinal);
struct sfi_txn *sfi_broker_txn_new(struct sf_sim_kafka *broker, uint64_t producer_id, int32_t producer_epoch);

#endif
