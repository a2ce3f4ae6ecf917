#include "sim/kafka_broker.h"

#include <stdlib.h>

#include "sim/kafka_client.h"
#include "sim/kafka_group.h"
#include "sim/kafka_stray.h"
#include "sim/kafka_txn.h"
#include "sim/random.h"

#define MS INT64_C(1000)
#define FRAME_BYTES 68u /* at least, of a batch of one record around its key, value and headers */

struct sf_sim_kafka_config sf_sim_kafka_config_exact(void)
{
    return (struct sf_sim_kafka_config){
        .record_bytes_max = 1048576,
        .retry_us = 0,
        .request_timeout_us = 2000 * MS,
        .delivery_timeout_us = 120000 * MS,
        .session_timeout_us = 10000 * MS,
        .heartbeat_us = 0,
        .rebalance_timeout_us = 300000 * MS,
    };
}

struct sf_sim_kafka_config sf_sim_kafka_config_default(void)
{
    struct sf_sim_kafka_config config = sf_sim_kafka_config_exact();
    config.fetch = (struct sf_sim_latency){1 * MS, 10 * MS};
    config.produce = (struct sf_sim_latency){1 * MS, 10 * MS};
    config.commit = (struct sf_sim_latency){2 * MS, 20 * MS};
    config.admin = (struct sf_sim_latency){1 * MS, 10 * MS};
    config.group = (struct sf_sim_latency){2 * MS, 50 * MS};
    config.marker = (struct sf_sim_latency){0, 10 * MS};
    config.retry_us = 10 * MS;
    config.heartbeat_us = 3000 * MS;
    return config;
}

char *sfi_strdup(struct sf_alloc alloc, const char *text)
{
    size_t bytes = strlen(text) + 1;
    return memcpy(sf_malloc(alloc, bytes), text, bytes);
}

void sfi_strfree(struct sf_alloc alloc, char *text)
{
    if (text != NULL) sf_free(alloc, text, strlen(text) + 1);
}

struct sf_sim_kafka *sf_sim_kafka_new(struct sf_sim_world *world, const struct sf_sim_kafka_config *config)
{
    struct sf_sim_kafka *broker = sf_malloc(world->alloc, sizeof *broker);
    *broker = (struct sf_sim_kafka){.world = world, .alloc = world->alloc, .config = *config};
    return broker;
}

static void topic_free(struct sf_alloc alloc, struct sfi_topic *topic)
{
    for (int32_t i = 0; i < topic->partition_count; i++) sfi_log_free(topic->logs[i]);
    sf_free(alloc, topic->logs, (size_t)topic->partition_count * sizeof(struct sfi_log *));
    for (uint32_t i = 0; i < topic->setting_count; i++) {
        sf_free(alloc, (void *)(uintptr_t)topic->settings[i].name, strlen(topic->settings[i].name) + 1);
        sf_free(alloc, (void *)(uintptr_t)topic->settings[i].value, strlen(topic->settings[i].value) + 1);
    }
    sf_free(alloc, topic->settings, topic->setting_count * sizeof *topic->settings);
    sfi_strfree(alloc, topic->name);
}

static void fault_free(struct sf_alloc alloc, struct sfi_fault *fault)
{
    sfi_strfree(alloc, fault->transactional_id);
    sf_free(alloc, fault, sizeof *fault);
}

void sf_sim_kafka_destroy(struct sf_sim_kafka *broker)
{
    struct sf_alloc alloc = broker->alloc;
    while (broker->handles != NULL) {
        struct sfi_handle *handle = broker->handles;
        broker->handles = handle->next;
        sf_sim_instance_unhook(handle->instance, handle);
        sfi_handle_free(handle);
    }
    while (broker->zombies != NULL) sfi_zombie_drop(broker->zombies);
    sfi_strays_free(broker);
    while (broker->coords != NULL) {
        struct sfi_coord *next = broker->coords->next;
        sfi_coord_free(broker->coords);
        broker->coords = next;
    }
    while (broker->groups != NULL) {
        struct sfi_group *next = broker->groups->next;
        sfi_group_free(broker->groups);
        broker->groups = next;
    }
    while (broker->faults != NULL) {
        struct sfi_fault *next = broker->faults->next;
        fault_free(alloc, broker->faults);
        broker->faults = next;
    }
    for (uint32_t i = 0; i < broker->topic_count; i++) topic_free(alloc, &broker->topics[i]);
    sf_free(alloc, broker->topics, broker->topic_cap * sizeof *broker->topics);
    sf_free(alloc, broker, sizeof *broker);
}

void sf_sim_kafka_observe(struct sf_sim_kafka *broker, const struct sf_sim_kafka_observer *observer)
{
    broker->observer = observer;
}

/* ---------------------------------------------------------------- topics */

uint32_t sf_sim_kafka_topic(struct sf_sim_kafka *broker, const char *name)
{
    for (uint32_t i = 0; i < broker->topic_count; i++)
        if (strcmp(broker->topics[i].name, name) == 0) return i;
    if (broker->topic_count == broker->topic_cap) {
        uint32_t cap = broker->topic_cap == 0 ? 16 : broker->topic_cap * 2;
        broker->topics = sf_regrow(broker->alloc, broker->topics, broker->topic_cap * sizeof *broker->topics,
                                   broker->topic_count * sizeof *broker->topics, cap * sizeof *broker->topics);
        broker->topic_cap = cap;
    }
    broker->topics[broker->topic_count] = (struct sfi_topic){.name = sfi_strdup(broker->alloc, name)};
    return broker->topic_count++;
}

const char *sf_sim_kafka_topic_name(const struct sf_sim_kafka *broker, uint32_t topic)
{
    assert(topic < broker->topic_count);
    return broker->topics[topic].name;
}

uint32_t sf_sim_kafka_topic_count(const struct sf_sim_kafka *broker)
{
    return broker->topic_count;
}

int32_t sf_sim_kafka_partition_count(const struct sf_sim_kafka *broker, uint32_t topic)
{
    assert(topic < broker->topic_count);
    return broker->topics[topic].partition_count;
}

const char *sf_sim_kafka_setting(const struct sf_sim_kafka *broker, uint32_t topic, const char *name)
{
    assert(topic < broker->topic_count);
    for (uint32_t i = 0; i < broker->topics[topic].setting_count; i++)
        if (strcmp(broker->topics[topic].settings[i].name, name) == 0) return broker->topics[topic].settings[i].value;
    return NULL;
}

static void settings_copy(struct sf_alloc alloc, struct sfi_topic *topic, const struct sf_topic_setting *settings,
                          uint32_t count)
{
    if (count == 0) return;
    topic->settings = sf_malloc(alloc, count * sizeof *topic->settings);
    topic->setting_count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i; /* sorted by name */
        for (; at > 0 && strcmp(topic->settings[at - 1].name, settings[i].name) > 0; at--)
            topic->settings[at] = topic->settings[at - 1];
        topic->settings[at] = (struct sf_topic_setting){.name = sfi_strdup(alloc, settings[i].name),
                                                        .value = sfi_strdup(alloc, settings[i].value)};
    }
}

/* What the topic's max.message.bytes leaves of a batch of one record for its key, value and headers. */
static uint32_t record_bytes_max(const struct sf_sim_kafka *broker, uint32_t topic)
{
    const char *bytes = sf_sim_kafka_setting(broker, topic, "max.message.bytes");
    if (bytes == NULL) return broker->config.record_bytes_max;
    uint32_t all = (uint32_t)strtoul(bytes, NULL, 10);
    return all > FRAME_BYTES ? all - FRAME_BYTES : 0;
}

static void partitions_grow(struct sf_sim_kafka *broker, uint32_t number, int32_t count)
{
    struct sfi_topic *topic = &broker->topics[number];
    size_t old_bytes = (size_t)topic->partition_count * sizeof(struct sfi_log *);
    topic->logs = sf_regrow(broker->alloc, topic->logs, old_bytes, old_bytes,
                            (size_t)count * sizeof(struct sfi_log *));
    const char *type = sf_sim_kafka_setting(broker, number, "message.timestamp.type");
    for (int32_t i = topic->partition_count; i < count; i++) {
        topic->logs[i] = sfi_log_new(broker, (struct sf_tp){.topic = number, .partition = i});
        topic->logs[i]->is_append_time = type != NULL && strcmp(type, "LogAppendTime") == 0;
        topic->logs[i]->record_bytes_max = record_bytes_max(broker, number);
    }
    topic->partition_count = count;
}

/* "Something about topics changed": watches and members look again. */
static void tell_topics_changed(struct sf_sim_kafka *broker)
{
    for (struct sfi_group *group = broker->groups; group != NULL; group = group->next) sfi_group_topics_changed(group);
    for (struct sfi_handle *handle = broker->handles; handle != NULL; handle = handle->next)
        for (struct sfi_client *client = handle->clients; client != NULL; client = client->next)
            if (sfi_client_is_live(client)) sfi_admin_topics_changed(client);
    sfi_broker_retry_parked(broker);
}

enum sf_status sf_sim_kafka_create(struct sf_sim_kafka *broker, const char *name, int32_t partition_count,
                                   const struct sf_topic_setting *settings, uint32_t setting_count)
{
    assert(partition_count > 0);
    uint32_t number = sf_sim_kafka_topic(broker, name);
    struct sfi_topic *topic = &broker->topics[number];
    if (topic->partition_count > 0) return topic->partition_count == partition_count ? SF_OK : SF_E_EXISTS;
    settings_copy(broker->alloc, topic, settings, setting_count);
    partitions_grow(broker, number, partition_count);
    tell_topics_changed(broker);
    return SF_OK;
}

void sf_sim_kafka_add_partitions(struct sf_sim_kafka *broker, uint32_t topic, int32_t partition_count)
{
    assert(topic < broker->topic_count && broker->topics[topic].partition_count > 0);
    assert(partition_count > broker->topics[topic].partition_count);
    partitions_grow(broker, topic, partition_count);
    tell_topics_changed(broker);
}

struct sfi_log *sfi_broker_log(struct sf_sim_kafka *broker, struct sf_tp tp)
{
    assert(tp.topic < broker->topic_count && tp.partition >= 0);
    struct sfi_topic *topic = &broker->topics[tp.topic];
    return tp.partition < topic->partition_count ? topic->logs[tp.partition] : NULL;
}

/* ---------------------------------------------------------------- waiting requests, draws */

void sfi_broker_park(struct sf_sim_kafka *broker, struct sfi_parked *parked)
{
    assert(!parked->is_linked);
    parked->is_linked = true;
    parked->next = NULL;
    parked->prev = broker->parked_tail;
    if (broker->parked_tail != NULL)
        broker->parked_tail->next = parked;
    else
        broker->parked_head = parked;
    broker->parked_tail = parked;
}

void sfi_broker_unpark(struct sf_sim_kafka *broker, struct sfi_parked *parked)
{
    if (!parked->is_linked) return;
    parked->is_linked = false;
    if (parked->prev != NULL)
        parked->prev->next = parked->next;
    else
        broker->parked_head = parked->next;
    if (parked->next != NULL)
        parked->next->prev = parked->prev;
    else
        broker->parked_tail = parked->prev;
}

void sfi_broker_retry_parked(struct sf_sim_kafka *broker)
{
    while (broker->parked_head != NULL) {
        struct sfi_parked *parked = broker->parked_head;
        sfi_broker_unpark(broker, parked);
        parked->retry(parked->ctx); /* arms a timer; never parks here */
    }
}

int64_t sfi_broker_leg_us(struct sf_sim_kafka *broker, struct sf_sim_latency latency, uint32_t domain, uint64_t entity,
                          uint64_t ordinal)
{
    return sf_sim_range(sf_sim_draw(broker->world->seed, domain, entity, ordinal), latency.lo_us, latency.hi_us) / 2;
}

struct sfi_txn *sfi_broker_txn_new(struct sf_sim_kafka *broker, uint64_t producer_id, int32_t producer_epoch)
{
    struct sfi_txn *txn = sf_malloc(broker->alloc, sizeof *txn);
    *txn = (struct sfi_txn){.refs = 1, .state = SF_SIM_KAFKA_OPEN, .serial = ++broker->txn_serial_last,
                            .producer_id = producer_id, .producer_epoch = producer_epoch};
    return txn;
}

/* ---------------------------------------------------------------- faults */

void sf_sim_kafka_mode(struct sf_sim_kafka *broker, struct sf_tp tp, enum sf_sim_kafka_mode mode)
{
    struct sfi_log *log = sfi_broker_log(broker, tp);
    assert(log != NULL);
    if (log->mode == mode) return;
    log->mode = mode;
    if (mode != SF_SIM_KAFKA_MODE_NO_LEADER) sfi_txn_leader_back(log);
    sfi_log_wake(log);
    sfi_broker_retry_parked(broker);
}

void sf_sim_kafka_fault(struct sf_sim_kafka *broker, const struct sf_sim_kafka_fault *given)
{
    assert(given->count > 0 && given->request < SF_SIM_KAFKA_REQUEST_COUNT);
    struct sfi_fault *fault = sf_malloc(broker->alloc, sizeof *fault);
    *fault = (struct sfi_fault){.fault = *given};
    if (given->transactional_id != NULL) fault->transactional_id = sfi_strdup(broker->alloc, given->transactional_id);
    fault->fault.transactional_id = fault->transactional_id;
    struct sfi_fault **link = &broker->faults;
    while (*link != NULL) link = &(*link)->next;
    *link = fault;
}

bool sfi_broker_take_fault(struct sf_sim_kafka *broker, const char *transactional_id,
                           enum sf_sim_kafka_request request, struct sf_sim_kafka_fault *fault_out)
{
    for (struct sfi_fault **link = &broker->faults; *link != NULL; link = &(*link)->next) {
        struct sfi_fault *fault = *link;
        if (fault->fault.request != request) continue;
        if (fault->transactional_id != NULL &&
            (transactional_id == NULL || strcmp(fault->transactional_id, transactional_id) != 0))
            continue;
        *fault_out = fault->fault;
        if (fault->fault.met != NULL) (*fault->fault.met)++;
        fault_out->transactional_id = NULL;
        if (--fault->fault.count == 0) {
            *link = fault->next;
            fault_free(broker->alloc, fault);
        }
        return true;
    }
    return false;
}
