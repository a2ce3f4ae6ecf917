#include "sim/kafka_client.h"

static int64_t now_us(const struct sfi_client *client)
{
    return client->broker->world->mono_us;
}

void sfi_client_init(struct sfi_client *client, const struct sfi_client_ops *ops, struct sfi_handle *handle,
                     struct sf_waker waker)
{
    struct sf_sim_kafka *broker = handle->broker;
    *client = (struct sfi_client){.ops = ops, .broker = broker, .handle = handle, .instance = handle->instance,
                                  .waker = waker, .id = ++broker->client_id_last};
    struct sfi_client **link = &handle->clients;
    while (*link != NULL) {
        client->prev = *link;
        link = &(*link)->next;
    }
    *link = client;
}

static void client_unlink(struct sfi_client *client, struct sfi_client **head)
{
    if (client->prev != NULL)
        client->prev->next = client->next;
    else
        *head = client->next;
    if (client->next != NULL) client->next->prev = client->prev;
    client->next = client->prev = NULL;
}

static void timer_unlink(struct sfi_timer *timer)
{
    struct sfi_client *client = timer->client;
    if (timer->prev != NULL)
        timer->prev->next = timer->next;
    else
        client->timer_head = timer->next;
    if (timer->next != NULL)
        timer->next->prev = timer->prev;
    else
        client->timer_tail = timer->prev;
    timer->is_armed = false;
    timer->is_deferred = false;
}

/* Killed or closed: what is on the wire arrives, the rest never happens. */
static void client_stop(struct sfi_client *client)
{
    for (struct sfi_timer *timer = client->timer_head; timer != NULL;) {
        struct sfi_timer *next = timer->next;
        if (!timer->is_flying) {
            if (timer->sent_at_us <= now_us(client)) {
                timer->is_flying = true;
                client->flying++;
            } else {
                sfi_timer_cancel(timer);
            }
        }
        timer = next;
    }
    client->ops->stopped(client);
}

static void client_drop(struct sfi_client *client, struct sfi_client **head)
{
    client_unlink(client, head);
    client->ops->free(client);
}

void sfi_client_close(struct sfi_client *client)
{
    assert(!client->is_closed);
    bool was_live = sfi_client_is_live(client);
    client->is_closed = true;
    if (was_live) client_stop(client);
    struct sfi_handle *handle = client->handle;
    client->handle = NULL;
    client->instance = NULL;
    if (client->flying == 0) {
        client_drop(client, &handle->clients);
        return;
    }
    client_unlink(client, &handle->clients);
    struct sfi_client **zombies = &client->broker->zombies;
    client->next = *zombies;
    if (*zombies != NULL) (*zombies)->prev = client;
    *zombies = client;
}

void sfi_zombie_drop(struct sfi_client *client)
{
    while (client->timer_head != NULL) {
        client->timer_head->is_flying = false;
        sfi_timer_cancel(client->timer_head);
    }
    client_drop(client, &client->broker->zombies);
}

void sfi_client_die(struct sfi_client *client)
{
    if (sfi_client_is_live(client)) sf_sim_instance_kill(client->instance);
}

void sfi_client_wake(struct sfi_client *client)
{
    if (sfi_client_hears(client)) sf_waker_wake(client->waker);
}

/* ---------------------------------------------------------------- timers */

void sfi_timer_init_ctx(struct sfi_timer *timer, struct sfi_client *client, sf_sim_event_fn *fn, void *ctx)
{
    *timer = (struct sfi_timer){.client = client, .fn = fn, .ctx = ctx, .sent_at_us = INT64_MAX};
}

void sfi_timer_init(struct sfi_timer *timer, struct sfi_client *client, sf_sim_event_fn *fn)
{
    sfi_timer_init_ctx(timer, client, fn, client);
}

static void timer_fire(void *ctx)
{
    struct sfi_timer *timer = ctx;
    struct sfi_client *client = timer->client;
    timer->event = SF_SIM_EVENT_NONE;
    if (timer->is_flying) {
        timer->is_flying = false;
        timer_unlink(timer);
        timer->fn(timer->ctx);
        client->flying--;
        if (client->is_closed && client->flying == 0) client_drop(client, &client->broker->zombies);
        return;
    }
    if (client->instance->is_frozen && timer->sent_at_us > client->instance->frozen_at_us) {
        timer->is_deferred = true;
        return;
    }
    timer_unlink(timer);
    timer->fn(timer->ctx);
}

static void timer_link(struct sfi_timer *timer, int64_t delay_us)
{
    struct sfi_client *client = timer->client;
    assert(!timer->is_armed);
    timer->is_armed = true;
    timer->next = NULL;
    timer->prev = client->timer_tail;
    if (client->timer_tail != NULL)
        client->timer_tail->next = timer;
    else
        client->timer_head = timer;
    client->timer_tail = timer;
    timer->event = sf_sim_world_after(client->broker->world, delay_us, client->id, timer_fire, timer);
}

void sfi_timer_arm(struct sfi_timer *timer, int64_t delay_us)
{
    if (!sfi_client_is_live(timer->client)) return;
    timer->sent_at_us = INT64_MAX;
    timer_link(timer, delay_us);
}

void sfi_timer_send(struct sfi_timer *timer, int64_t delay_us, enum sf_sim_fate fate)
{
    struct sfi_client *client = timer->client;
    if (!sfi_client_is_live(client)) return;
    timer->sent_at_us = now_us(client) + (fate == SF_SIM_FATE_DIE_SENT ? 0 : delay_us / 2);
    timer_link(timer, delay_us);
    if (fate == SF_SIM_FATE_DIE_SENT) sf_sim_instance_kill(client->instance);
}

void sfi_timer_cancel(struct sfi_timer *timer)
{
    if (!timer->is_armed) return;
    assert(!timer->is_flying);
    (void)sf_sim_world_cancel(timer->client->broker->world, timer->event);
    timer->event = SF_SIM_EVENT_NONE;
    timer_unlink(timer);
}

int64_t sfi_client_leg_us(struct sfi_client *client, struct sf_sim_latency latency, uint32_t domain)
{
    return sfi_broker_leg_us(client->broker, latency, domain, client->id, client->ordinal++);
}

/* ---------------------------------------------------------------- the factory */

static uint32_t handle_topic(void *self, const char *name)
{
    struct sfi_handle *handle = self;
    uint32_t number = sf_sim_kafka_topic(handle->broker, name);
    for (uint32_t i = 0; i < handle->topic_count; i++)
        if (handle->topics[i] == number) return i;
    if (handle->topic_count == handle->topic_cap) {
        uint32_t cap = handle->topic_cap == 0 ? 16 : handle->topic_cap * 2;
        handle->topics = sf_regrow(handle->broker->alloc, handle->topics, handle->topic_cap * sizeof *handle->topics,
                                   handle->topic_count * sizeof *handle->topics, cap * sizeof *handle->topics);
        handle->topic_cap = cap;
    }
    handle->topics[handle->topic_count] = number;
    return handle->topic_count++;
}

static const char *handle_topic_name(void *self, uint32_t topic)
{
    const struct sfi_handle *handle = self;
    assert(topic < handle->topic_count);
    return sf_sim_kafka_topic_name(handle->broker, handle->topics[topic]);
}

struct sf_tp sfi_handle_tp(const struct sfi_handle *handle, struct sf_tp tp)
{
    assert(tp.topic < handle->topic_count);
    return (struct sf_tp){.topic = handle->topics[tp.topic], .partition = tp.partition};
}

struct sfi_log *sfi_client_log(const struct sfi_client *client, struct sf_tp tp)
{
    return sfi_broker_log(client->broker, sfi_handle_tp(client->handle, tp));
}

static enum sf_status open_consumer(void *self, const struct sf_consumer_config *config,
                                    struct sf_consumer *consumer_out, struct sf_error *error)
{
    (void)error;
    *consumer_out = sfi_consumer_open(self, config);
    return SF_OK;
}

static enum sf_status open_producer(void *self, const struct sf_producer_config *config,
                                    struct sf_producer *producer_out, struct sf_error *error)
{
    (void)error;
    *producer_out = sfi_producer_open(self, config);
    return SF_OK;
}

static enum sf_status open_admin(void *self, struct sf_waker waker, struct sf_admin *admin_out, struct sf_error *error)
{
    (void)error;
    *admin_out = sfi_admin_open(self, waker);
    return SF_OK;
}

static void handle_killed(void *ctx, struct sf_sim_instance *instance)
{
    (void)instance;
    struct sfi_handle *handle = ctx;
    for (struct sfi_client *client = handle->clients; client != NULL; client = client->next) client_stop(client);
}

static void client_thaw(struct sfi_client *client)
{
    for (struct sfi_timer *timer = client->timer_head; timer != NULL; timer = timer->next) {
        if (!timer->is_deferred) continue;
        timer->is_deferred = false;
        timer->event = sf_sim_world_after(client->broker->world, 0, client->id, timer_fire, timer);
    }
    if (client->ops->has_events(client)) sfi_client_wake(client);
}

static void handle_frozen(void *ctx, struct sf_sim_instance *instance, bool is_frozen)
{
    (void)instance;
    struct sfi_handle *handle = ctx;
    for (struct sfi_client *client = handle->clients; client != NULL; client = client->next) {
        if (client->ops->frozen != NULL) client->ops->frozen(client, is_frozen);
        if (!is_frozen) client_thaw(client);
    }
}

/* Frees its clients, or leaves zombies. */
static void handle_destroyed(void *ctx, struct sf_sim_instance *instance)
{
    struct sfi_handle *handle = ctx;
    assert(handle->instance == instance);
    struct sfi_handle **link = &handle->broker->handles;
    while (*link != handle) link = &(*link)->next;
    *link = handle->next;
    sfi_handle_free(handle);
}

void sfi_handle_free(struct sfi_handle *handle)
{
    while (handle->clients != NULL) sfi_client_close(handle->clients);
    struct sf_alloc alloc = handle->broker->alloc;
    sf_free(alloc, handle->topics, handle->topic_cap * sizeof *handle->topics);
    sf_free(alloc, handle, sizeof *handle);
}

struct sf_kafka sf_sim_kafka_handle(struct sf_sim_kafka *broker, struct sf_sim_instance *instance)
{
    static const struct sf_kafka_ops kafka_ops = {.topic = handle_topic, .topic_name = handle_topic_name,
                                                  .consumer_open = open_consumer, .producer_open = open_producer,
                                                  .admin_open = open_admin};
    static const struct sf_sim_instance_ops instance_ops = {.killed = handle_killed, .frozen = handle_frozen,
                                                            .destroyed = handle_destroyed};
    struct sfi_handle **link = &broker->handles;
    for (; *link != NULL; link = &(*link)->next)
        if ((*link)->instance == instance) return (struct sf_kafka){.ops = &kafka_ops, .self = *link};
    struct sfi_handle *handle = sf_malloc(broker->alloc, sizeof *handle);
    *handle = (struct sfi_handle){.broker = broker, .instance = instance};
    *link = handle;
    sf_sim_instance_hook(instance, &instance_ops, handle);
    return (struct sf_kafka){.ops = &kafka_ops, .self = handle};
}
