/* The membership half of a consumer: what it hears of the group, and when. */
#include "sim/kafka_consumer.h"
#include "sim/random.h"

static void note_push(struct sfi_consumer *consumer, enum sf_consumer_event_kind kind, enum sf_status status)
{
    bool was_empty = !sfi_consumer_has_events(&consumer->client);
    assert(consumer->note_count < SFI_MEMBER_EVENTS_MAX);
    consumer->notes[(consumer->note_head + consumer->note_count++) % SFI_MEMBER_EVENTS_MAX] =
        (struct sfi_member_note){.kind = kind, .status = status};
    if (was_empty) sfi_client_wake(&consumer->client);
}

static void join_send(struct sfi_consumer *consumer, enum sf_sim_fate fate)
{
    struct sf_sim_latency latency = consumer->client.broker->config.group;
    consumer->join_fate = fate;
    sfi_timer_send(&consumer->join, sfi_client_leg_us(&consumer->client, latency, SF_SIM_DOMAIN_KAFKA_SEND), fate);
}

static void join_fn(void *ctx)
{
    struct sfi_consumer *consumer = ctx;
    struct sfi_client *client = &consumer->client;
    if (!sfi_client_is_live(client)) return; /* the connection is gone: it never becomes a member */
    uint32_t topic = sfi_handle_tp(client->handle, (struct sf_tp){.topic = consumer->subscribed}).topic;
    consumer->member = sfi_group_join(consumer->group, consumer, client->instance->id, topic, consumer->static_id);
    if (client->instance->is_frozen) sfi_group_silence(consumer->member, true);
    if (consumer->join_fate == SF_SIM_FATE_DIE_APPLIED) sfi_client_die(client);
}

static void yield_fn(void *ctx)
{
    struct sfi_consumer *consumer = ctx;
    if (consumer->member != NULL) sfi_group_yield(consumer->member);
    if (consumer->yield_fate == SF_SIM_FATE_DIE_APPLIED) sfi_client_die(&consumer->client);
}

/* What was asked when this member owns nothing more stays unanswered: that it does not, it hears as news. */
static void confirm_fn(void *ctx)
{
    struct sfi_consumer *consumer = ctx;
    const struct sfi_member *member = consumer->member;
    if (member == NULL || member->is_gone || member->group->owner != member) return;
    struct sf_sim_latency latency = consumer->client.broker->config.group;
    sfi_timer_arm(&consumer->confirmed, sfi_client_leg_us(&consumer->client, latency, SF_SIM_DOMAIN_KAFKA_ANSWER));
}

static void confirmed_fn(void *ctx)
{
    struct sfi_consumer *consumer = ctx;
    if (consumer->is_granted) note_push(consumer, SF_CONSUMER_CONFIRMED, SF_OK);
}

/* Out of the group: tell, and come back as a new member unless a later holder of the name is there. */
static void hear_gone(struct sfi_consumer *consumer)
{
    bool is_fenced = consumer->member->is_fenced;
    sfi_member_free(consumer->member);
    consumer->member = NULL;
    sfi_timer_cancel(&consumer->confirm);
    sfi_timer_cancel(&consumer->confirmed);
    if (consumer->is_granted)
        note_push(consumer, SF_CONSUMER_REVOKED, is_fenced ? SF_E_FENCED : SF_OK);
    else if (is_fenced)
        note_push(consumer, SF_CONSUMER_FAILED, SF_E_FENCED);
    consumer->is_granted = consumer->is_revoking_told = false;
    if (!is_fenced) join_send(consumer, SF_SIM_FATE_NORMAL);
}

static void news_fn(void *ctx)
{
    struct sfi_consumer *consumer = ctx;
    struct sfi_member *member = consumer->member;
    if (member == NULL) return;
    if (member->is_gone) {
        hear_gone(consumer);
        return;
    }
    if (member->group->owner != member) return;
    consumer->token = sfi_member_token(member);
    if (!consumer->is_granted && !consumer->yield.is_armed) {
        consumer->is_granted = true;
        note_push(consumer, SF_CONSUMER_GRANTED, SF_OK);
    }
    if (member->is_revoking && consumer->is_granted && !consumer->is_revoking_told) {
        consumer->is_revoking_told = true;
        note_push(consumer, SF_CONSUMER_REVOKING, SF_OK);
    }
}

void sfi_consumer_member_news(struct sfi_consumer *consumer, int64_t delay_us)
{
    sfi_timer_cancel(&consumer->news);
    sfi_timer_arm(&consumer->news, delay_us);
}

void sfi_member_open(struct sfi_consumer *consumer, const struct sf_consumer_config *config)
{
    struct sfi_client *client = &consumer->client;
    sfi_timer_init(&consumer->join, client, join_fn);
    sfi_timer_init(&consumer->yield, client, yield_fn);
    sfi_timer_init(&consumer->news, client, news_fn);
    sfi_timer_init(&consumer->confirm, client, confirm_fn);
    sfi_timer_init(&consumer->confirmed, client, confirmed_fn);
    if (config->subscribe == NULL) return;
    assert(config->group != NULL && config->subscribe[0] != NULL && config->subscribe[1] == NULL);
    struct sf_kafka kafka = sf_sim_kafka_handle(client->broker, client->instance);
    consumer->subscribed = sf_kafka_topic(kafka, config->subscribe[0]);
    consumer->group = sfi_group_get(client->broker, config->group);
    if (config->instance != NULL) consumer->static_id = sfi_strdup(client->broker->alloc, config->instance);
    enum sf_sim_fate fate = sf_sim_command(client->instance, SF_SIM_COMMAND_JOIN);
    if (fate != SF_SIM_FATE_SWALLOW) join_send(consumer, fate);
}

static void tps_fill(struct sfi_consumer *consumer)
{
    struct sfi_client *client = &consumer->client;
    sf_free(client->broker->alloc, consumer->tps, consumer->tp_count * sizeof *consumer->tps);
    uint32_t topic = sfi_handle_tp(client->handle, (struct sf_tp){.topic = consumer->subscribed}).topic;
    consumer->tp_count = (uint32_t)sf_sim_kafka_partition_count(client->broker, topic);
    consumer->tps = sf_malloc(client->broker->alloc, consumer->tp_count * sizeof *consumer->tps);
    for (uint32_t i = 0; i < consumer->tp_count; i++)
        consumer->tps[i] = (struct sf_tp){.topic = consumer->subscribed, .partition = (int32_t)i};
}

void sfi_member_take(struct sfi_consumer *consumer, struct sf_consumer_event *event_out)
{
    struct sfi_member_note note = consumer->notes[consumer->note_head];
    consumer->note_head = (consumer->note_head + 1) % SFI_MEMBER_EVENTS_MAX;
    consumer->note_count--;
    *event_out = (struct sf_consumer_event){.kind = note.kind, .status = note.status};
    if (note.kind == SF_CONSUMER_FAILED) {
        event_out->text = "a later process has this member's name";
        return;
    }
    if (consumer->tps == NULL) tps_fill(consumer);
    event_out->tps = consumer->tps;
    event_out->tp_count = consumer->tp_count;
}

/* Changes nothing at the broker, so no crash is planned for it. */
void sfi_member_confirm(struct sfi_consumer *consumer)
{
    struct sfi_client *client = &consumer->client;
    if (client->instance->is_dead || consumer->confirm.is_armed || consumer->confirmed.is_armed) return;
    struct sf_sim_latency latency = client->broker->config.group;
    sfi_timer_send(&consumer->confirm, sfi_client_leg_us(client, latency, SF_SIM_DOMAIN_KAFKA_SEND),
                   SF_SIM_FATE_NORMAL);
}

void sfi_member_yield(struct sfi_consumer *consumer)
{
    struct sfi_client *client = &consumer->client;
    enum sf_sim_fate fate = sf_sim_command(client->instance, SF_SIM_COMMAND_YIELD);
    if (fate == SF_SIM_FATE_SWALLOW || !consumer->is_granted || !consumer->is_revoking_told) return;
    consumer->is_granted = consumer->is_revoking_told = false;
    consumer->yield_fate = fate;
    sfi_timer_send(&consumer->yield, sfi_client_leg_us(client, client->broker->config.group, SF_SIM_DOMAIN_KAFKA_SEND),
                   fate);
}

/* Killed or closed. */
void sfi_member_stop(struct sfi_consumer *consumer)
{
    if (consumer->member == NULL) return;
    struct sfi_member *member = consumer->member;
    consumer->member = NULL;
    sfi_group_detach(member, consumer->client.is_closed);
}

void sfi_member_deinit(struct sfi_consumer *consumer)
{
    struct sf_alloc alloc = consumer->client.broker->alloc;
    sf_free(alloc, consumer->tps, consumer->tp_count * sizeof *consumer->tps);
    sfi_strfree(alloc, consumer->static_id);
}
