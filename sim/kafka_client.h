/*
 * What the three client models share: who they belong to, their timers, and what becomes of those when the process is
 * killed, frozen or closes the client.
 *
 * A timer is either a request on its way to the broker, which is on the wire from `sent_at_us` on, or something that
 * the client does or hears. Killing or closing cancels all but requests on the wire; those arrive and are applied,
 * and the client's memory stays until the last has (a zombie). Freezing defers all but requests on the wire.
 *
 *     now 0: write; arrives at 4, sent at 2        killed at 1: never arrives        killed at 3: arrives at 4
 */
#ifndef SF_SIM_KAFKA_CLIENT_H
#define SF_SIM_KAFKA_CLIENT_H

#include "sim/kafka_broker.h"

struct sfi_client;

struct sfi_client_ops {
    /* Killed or closed: take yourself off the broker's lists. Timers are dealt with. */
    void (*stopped)(struct sfi_client *client);
    void (*free)(struct sfi_client *client);
    /* NULL: nothing to do. */
    void (*frozen)(struct sfi_client *client, bool is_frozen);
    bool (*has_events)(const struct sfi_client *client);
    bool is_admin;
};

struct sfi_timer {
    struct sfi_timer *next; /* armed, in order of arming */
    struct sfi_timer *prev;
    struct sfi_client *client;
    sf_sim_event_fn *fn;
    void *ctx;
    uint64_t event;
    int64_t sent_at_us; /* INT64_MAX: not a request */
    bool is_armed;
    bool is_deferred;   /* fell due while frozen */
    bool is_flying;     /* outlives its client */
};

struct sfi_client {
    const struct sfi_client_ops *ops;
    struct sf_sim_kafka *broker;
    struct sfi_handle *handle;         /* NULL once closed */
    struct sf_sim_instance *instance;  /* NULL once closed */
    struct sfi_client *next;           /* of the handle, or of the zombies */
    struct sfi_client *prev;
    struct sf_waker waker;
    uint32_t id;                       /* by order of opening, from 1: entity of draws, rank of ties */
    uint64_t ordinal;                  /* of draws */
    uint32_t flying;
    bool is_closed;
    struct sfi_timer *timer_head;
    struct sfi_timer *timer_tail;
};

/* One per instance. */
struct sfi_handle {
    struct sfi_handle *next;
    struct sf_sim_kafka *broker;
    struct sf_sim_instance *instance;
    uint32_t *topics; /* broker's number by handle's number */
    uint32_t topic_count;
    uint32_t topic_cap;
    struct sfi_client *clients;
};

void sfi_client_init(struct sfi_client *client, const struct sfi_client_ops *ops, struct sfi_handle *handle,
                     struct sf_waker waker);
/* Closes and frees it, or leaves a zombie. */
void sfi_client_close(struct sfi_client *client);
/* The world ends: what is on the wire never arrives. */
void sfi_zombie_drop(struct sfi_client *client);

static inline bool sfi_client_is_live(const struct sfi_client *client)
{
    return !client->is_closed && !client->instance->is_dead;
}
/* Live, and neither a corpse nor in the deep freeze: may hear. */
static inline bool sfi_client_hears(const struct sfi_client *client)
{
    return sfi_client_is_live(client) && !client->instance->is_frozen;
}
/* A planned crash falls now, unless the process is dead already or has closed the client. */
void sfi_client_die(struct sfi_client *client);
/* Events appeared in an empty queue. */
void sfi_client_wake(struct sfi_client *client);

void sfi_timer_init(struct sfi_timer *timer, struct sfi_client *client, sf_sim_event_fn *fn);
void sfi_timer_init_ctx(struct sfi_timer *timer, struct sfi_client *client, sf_sim_event_fn *fn, void *ctx);
/* Something the client does or hears. Nothing for a client that is not live. */
void sfi_timer_arm(struct sfi_timer *timer, int64_t delay_us);
/* A request: arrives after `delay_us`, on the wire from half of it on; with DIE_SENT the process dies here. */
void sfi_timer_send(struct sfi_timer *timer, int64_t delay_us, enum sf_sim_fate fate);
void sfi_timer_cancel(struct sfi_timer *timer);

int64_t sfi_client_leg_us(struct sfi_client *client, struct sf_sim_latency latency, uint32_t domain);
/* The broker's (topic, partition) of a handle's, and its log, NULL if there is none. */
struct sf_tp sfi_handle_tp(const struct sfi_handle *handle, struct sf_tp tp);
struct sfi_log *sfi_client_log(const struct sfi_client *client, struct sf_tp tp);

/* The three (kafka_consumer.c, kafka_producer.c, kafka_admin.c). */
struct sf_consumer sfi_consumer_open(struct sfi_handle *handle, const struct sf_consumer_config *config);
struct sf_producer sfi_producer_open(struct sfi_handle *handle, const struct sf_producer_config *config);
struct sf_admin sfi_admin_open(struct sfi_handle *handle, struct sf_waker waker);
/* What parks on topics (kafka_admin.c). */
void sfi_admin_topics_changed(struct sfi_client *client);

void sfi_handle_free(struct sfi_handle *handle);

#endif
