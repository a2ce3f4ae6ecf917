#include "sim/kafka_consumer.h"

static struct sfi_fetch *fetch_find(struct sfi_consumer *consumer, struct sf_tp tp)
{
    for (struct sfi_fetch *fetch = consumer->fetches; fetch != NULL; fetch = fetch->next)
        if (fetch->tp.topic == tp.topic && fetch->tp.partition == tp.partition) return fetch;
    return NULL;
}

static struct sfi_fetch *fetch_get(struct sfi_consumer *consumer, struct sf_tp tp)
{
    struct sfi_fetch *fetch = fetch_find(consumer, tp);
    if (fetch != NULL) return fetch;
    fetch = sf_malloc(consumer->client.broker->alloc, sizeof *fetch);
    *fetch = (struct sfi_fetch){.waiter = {.wake = sfi_fetch_wake_fn}, .consumer = consumer, .tp = tp};
    sfi_timer_init_ctx(&fetch->answer, &consumer->client, sfi_fetch_answer_fn, fetch);
    struct sfi_fetch **link = &consumer->fetches;
    while (*link != NULL) link = &(*link)->next;
    *link = fetch;
    return fetch;
}

static uint32_t consumer_add(void *self, struct sf_tp tp, int64_t offset)
{
    struct sfi_consumer *consumer = self;
    struct sfi_fetch *fetch = fetch_get(consumer, tp);
    assert(!fetch->is_added);
    fetch->is_added = true;
    fetch->is_paused = false;
    fetch->log = sfi_client_log(&consumer->client, tp);
    consumer->added_count++;
    sfi_fetch_start(fetch, offset);
    return fetch->generation;
}

static void consumer_remove(void *self, struct sf_tp tp)
{
    struct sfi_consumer *consumer = self;
    struct sfi_fetch *fetch = fetch_find(consumer, tp);
    assert(fetch != NULL && fetch->is_added);
    sfi_fetch_stop(fetch);
    fetch->is_added = false;
    consumer->added_count--;
}

static uint32_t consumer_seek(void *self, struct sf_tp tp, int64_t offset)
{
    struct sfi_fetch *fetch = fetch_find(self, tp);
    assert(fetch != NULL && fetch->is_added);
    sfi_fetch_stop(fetch);
    sfi_fetch_start(fetch, offset);
    return fetch->generation;
}

static void consumer_pause(void *self, struct sf_tp tp)
{
    struct sfi_fetch *fetch = fetch_find(self, tp);
    assert(fetch != NULL && fetch->is_added);
    sfi_fetch_set_paused(fetch, true);
}

static void consumer_resume(void *self, struct sf_tp tp)
{
    struct sfi_fetch *fetch = fetch_find(self, tp);
    assert(fetch != NULL && fetch->is_added);
    sfi_fetch_set_paused(fetch, false);
}

static uint32_t consumer_poll(void *self, struct sf_consumer_event *events_out, uint32_t cap)
{
    struct sfi_consumer *consumer = self;
    if (!sfi_client_hears(&consumer->client)) return 0;
    uint32_t count = 0;
    while (count < cap && consumer->note_count > 0) sfi_member_take(consumer, &events_out[count++]);
    while (count < cap && consumer->ready_head != NULL) sfi_fetch_take(consumer->ready_head, &events_out[count++]);
    return count;
}

static void consumer_release(void *self, struct sf_batch *batch)
{
    sfi_batch_put(self, batch->impl);
}

static struct sf_member_token consumer_token(void *self)
{
    const struct sfi_consumer *consumer = self;
    return consumer->is_granted ? consumer->token : (struct sf_member_token){0};
}

static void consumer_confirm(void *self)
{
    sfi_member_confirm(self);
}

static void consumer_yield(void *self)
{
    sfi_member_yield(self);
}

static void consumer_close(void *self)
{
    struct sfi_consumer *consumer = self;
    struct sf_sim_instance *instance = consumer->client.instance;
    enum sf_sim_fate fate = SF_SIM_FATE_NORMAL;
    if (consumer->member != NULL) fate = sf_sim_command(instance, SF_SIM_COMMAND_LEAVE);
    sfi_client_close(&consumer->client);
    if (fate == SF_SIM_FATE_DIE_SENT) sf_sim_instance_kill(instance); /* it has gone out; nobody hears an answer */
}

/* ---------------------------------------------------------------- client */

static void client_stopped(struct sfi_client *client)
{
    struct sfi_consumer *consumer = (struct sfi_consumer *)client;
    for (struct sfi_fetch *fetch = consumer->fetches; fetch != NULL; fetch = fetch->next) sfi_fetch_stop(fetch);
    sfi_member_stop(consumer);
}

static void client_free(struct sfi_client *client)
{
    struct sfi_consumer *consumer = (struct sfi_consumer *)client;
    struct sf_alloc alloc = client->broker->alloc;
    while (consumer->fetches != NULL) {
        struct sfi_fetch *next = consumer->fetches->next;
        sf_free(alloc, consumer->fetches->entries, consumer->fetches->entry_cap * sizeof(struct sfi_entry));
        sf_free(alloc, consumer->fetches, sizeof *consumer->fetches);
        consumer->fetches = next;
    }
    sfi_batches_free(consumer);
    sfi_member_deinit(consumer);
    sf_free(alloc, consumer, sizeof *consumer);
}

static void client_frozen(struct sfi_client *client, bool is_frozen)
{
    struct sfi_consumer *consumer = (struct sfi_consumer *)client;
    if (consumer->member != NULL) sfi_group_silence(consumer->member, is_frozen);
}

struct sf_consumer sfi_consumer_open(struct sfi_handle *handle, const struct sf_consumer_config *config)
{
    static const struct sf_consumer_ops ops = {
        .add = consumer_add, .remove = consumer_remove, .seek = consumer_seek, .pause = consumer_pause,
        .resume = consumer_resume, .poll = consumer_poll, .release = consumer_release, .token = consumer_token,
        .confirm = consumer_confirm, .yield = consumer_yield, .close = consumer_close};
    static const struct sfi_client_ops client_ops = {.stopped = client_stopped, .free = client_free,
                                                     .frozen = client_frozen, .has_events = sfi_consumer_has_events};
    struct sfi_consumer *consumer = sf_malloc(handle->broker->alloc, sizeof *consumer);
    *consumer = (struct sfi_consumer){.is_read_committed = config->is_read_committed,
                                      .has_headers = config->has_headers,
                                      .batch_records_max = config->batch_records_max,
                                      .fetch_bytes_max = config->fetch_bytes_max};
    sfi_client_init(&consumer->client, &client_ops, handle, config->waker);
    sfi_member_open(consumer, config);
    return (struct sf_consumer){.ops = &ops, .self = consumer};
}
