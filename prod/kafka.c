/* Kafka adapter: the factory, topic numbers, membership tokens. See kafka.h. */
#include "prod/kafka.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "prod/kafka_impl.h"

#define HELPERS_GRACE_MS 3000 /* what leaving a group may take before its connections are cut */
#define HELPERS_LAST_MS 6000  /* from then on: longer than any call into the library that has an end */

/* ------------------------------------------------------------------ small things */

enum sf_status sfi_kafka_fail(struct sf_error *error, enum sf_status status, const char *format, ...)
{
    error->status = status;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return status;
}

void *sfi_kafka_alloc(size_t bytes)
{
    void *ptr = calloc(1, bytes > 0 ? bytes : 1);
    if (ptr == NULL) abort();
    return ptr;
}

void *sfi_kafka_grow(void *ptr, size_t bytes)
{
    void *grown = realloc(ptr, bytes > 0 ? bytes : 1);
    if (grown == NULL) abort();
    return grown;
}

char *sfi_kafka_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = sfi_kafka_alloc(bytes);
    memcpy(copy, text, bytes);
    return copy;
}

/* ------------------------------------------------------------------ topic numbers */

static uint32_t kafka_topic(void *self, const char *name)
{
    struct sf_prod_kafka *kafka = self;
    pthread_mutex_lock(&kafka->lock);
    uint32_t number = 0;
    while (number < kafka->name_count && strcmp(kafka->names[number], name) != 0) number++;
    if (number == kafka->name_count) {
        if (kafka->name_count == kafka->name_cap) {
            kafka->name_cap = kafka->name_cap > 0 ? kafka->name_cap * 2 : 16;
            kafka->names = sfi_kafka_grow(kafka->names, kafka->name_cap * sizeof *kafka->names);
        }
        kafka->names[kafka->name_count++] = sfi_kafka_strdup(name);
    }
    pthread_mutex_unlock(&kafka->lock);
    return number;
}

const char *sfi_kafka_topic_name(struct sf_prod_kafka *kafka, uint32_t topic)
{
    pthread_mutex_lock(&kafka->lock);
    assert(topic < kafka->name_count);
    const char *name = kafka->names[topic]; /* the string stays; only the array moves */
    pthread_mutex_unlock(&kafka->lock);
    return name;
}

uint32_t sfi_kafka_topic_find(struct sf_prod_kafka *kafka, const char *name)
{
    uint32_t found = UINT32_MAX;
    pthread_mutex_lock(&kafka->lock);
    for (uint32_t i = 0; i < kafka->name_count && found == UINT32_MAX; i++)
        if (strcmp(kafka->names[i], name) == 0) found = i;
    pthread_mutex_unlock(&kafka->lock);
    return found;
}

static const char *kafka_topic_name(void *self, uint32_t topic)
{
    return sfi_kafka_topic_name(self, topic);
}

rd_kafka_topic_partition_list_t *sfi_kafka_offsets_new(struct sf_prod_kafka *kafka,
                                                       const struct sf_offset_commit *commits, uint32_t count)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = sfi_kafka_topic_name(kafka, commits[i].tp.topic);
        rd_kafka_topic_partition_t *entry =
            rd_kafka_topic_partition_list_add(list, name, commits[i].tp.partition);
        entry->offset = commits[i].offset;
        uint32_t len = commits[i].metadata.data != NULL ? commits[i].metadata.len : 0;
        if (len == 0) continue;
        assert(memchr(commits[i].metadata.data, 0, len) == NULL);
        char *text = sfi_kafka_alloc((size_t)len + 1); /* the library frees it */
        memcpy(text, commits[i].metadata.data, len);
        entry->metadata = text;
        entry->metadata_size = (size_t)len + 1;
    }
    return list;
}

rd_kafka_resp_err_t sfi_kafka_log_bounds(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list, bool is_end,
                                         int64_t timeout_ms)
{
    for (int i = 0; i < list->cnt; i++)
        list->elems[i].offset = is_end ? RD_KAFKA_OFFSET_END : RD_KAFKA_OFFSET_BEGINNING;
    return rd_kafka_offsets_for_times(rk, list, (int)timeout_ms); /* the two are times to the broker */
}

/* ------------------------------------------------------------------ membership tokens */

struct sfi_kafka_member *sfi_kafka_member_new(void)
{
    struct sfi_kafka_member *member = sfi_kafka_alloc(sizeof *member);
    pthread_mutex_init(&member->lock, NULL);
    atomic_init(&member->refs, 1);
    return member;
}

void sfi_kafka_member_release(struct sfi_kafka_member *member)
{
    if (atomic_fetch_sub(&member->refs, 1) > 1) return;
    pthread_mutex_destroy(&member->lock);
    free(member);
}

bool sfi_kafka_metadata_is_equal(const rd_kafka_consumer_group_metadata_t *a,
                                 const rd_kafka_consumer_group_metadata_t *b)
{
    void *a_bytes = NULL, *b_bytes = NULL;
    size_t a_size = 0, b_size = 0;
    rd_kafka_error_t *a_error = rd_kafka_consumer_group_metadata_write(a, &a_bytes, &a_size);
    rd_kafka_error_t *b_error = rd_kafka_consumer_group_metadata_write(b, &b_bytes, &b_size);
    assert(a_error == NULL && b_error == NULL); /* fails only on text it cannot print; ids are plain */
    bool is_equal = a_size == b_size && memcmp(a_bytes, b_bytes, a_size) == 0;
    rd_kafka_mem_free(NULL, a_bytes);
    rd_kafka_mem_free(NULL, b_bytes);
    return is_equal;
}

/* With the factory's lock. */
static void token_unref(struct sfi_kafka_token *token)
{
    assert(token->refs > 0);
    if (--token->refs > 0) return;
    rd_kafka_consumer_group_metadata_destroy(token->metadata);
    sfi_kafka_member_release(token->member);
    free(token);
}

uint64_t sfi_kafka_token_put(struct sf_prod_kafka *kafka, struct sfi_kafka_member *member,
                             rd_kafka_consumer_group_metadata_t *metadata)
{
    pthread_mutex_lock(&kafka->lock);
    struct sfi_kafka_token *newest = NULL; /* of this member */
    for (uint32_t i = 0; i < SFI_KAFKA_TOKENS_MAX; i++) {
        struct sfi_kafka_token *token = kafka->tokens[i];
        if (token != NULL && token->member == member && (newest == NULL || token->id > newest->id)) newest = token;
    }
    if (newest != NULL && sfi_kafka_metadata_is_equal(newest->metadata, metadata)) {
        rd_kafka_consumer_group_metadata_destroy(metadata);
    } else {
        newest = sfi_kafka_alloc(sizeof *newest);
        *newest = (struct sfi_kafka_token){
            .id = ++kafka->token_last, .metadata = metadata, .member = member, .refs = 1};
        atomic_fetch_add(&member->refs, 1);
        struct sfi_kafka_token **slot = &kafka->tokens[newest->id % SFI_KAFKA_TOKENS_MAX];
        if (*slot != NULL) token_unref(*slot);
        *slot = newest;
    }
    uint64_t id = newest->id;
    pthread_mutex_unlock(&kafka->lock);
    return id;
}

struct sfi_kafka_token *sfi_kafka_token_get(struct sf_prod_kafka *kafka, struct sf_member_token token)
{
    pthread_mutex_lock(&kafka->lock);
    struct sfi_kafka_token *found = kafka->tokens[token.id % SFI_KAFKA_TOKENS_MAX];
    if (found != NULL && found->id != token.id) found = NULL;
    if (found != NULL) found->refs++;
    pthread_mutex_unlock(&kafka->lock);
    return found;
}

void sfi_kafka_token_release(struct sf_prod_kafka *kafka, struct sfi_kafka_token *token)
{
    pthread_mutex_lock(&kafka->lock);
    token_unref(token);
    pthread_mutex_unlock(&kafka->lock);
}

/* ------------------------------------------------------------------ helpers */

void sfi_kafka_helper_start(struct sf_prod_kafka *kafka, void *(*run)(void *client), void *client)
{
    pthread_mutex_lock(&kafka->lock);
    kafka->helper_count++;
    pthread_mutex_unlock(&kafka->lock);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    if (pthread_create(&thread, &attr, run, client) != 0) abort();
    pthread_attr_destroy(&attr);
}

void sfi_kafka_helper_end(struct sf_prod_kafka *kafka)
{
    pthread_mutex_lock(&kafka->lock);
    assert(kafka->helper_count > 0);
    kafka->helper_count--;
    pthread_cond_broadcast(&kafka->idle);
    pthread_mutex_unlock(&kafka->lock);
}

/* ------------------------------------------------------------------ the factory itself */

/* What the adapter sets itself, because its promises hang on it. */
static const char *const owned_settings[] = {
    "group.id", "group.instance.id", "client.id", "enable.auto.commit", "enable.auto.offset.store",
    "enable.partition.eof", "isolation.level", "auto.offset.reset", "partition.assignment.strategy",
    "transactional.id", "transaction.timeout.ms", "enable.idempotence", "acks", "request.required.acks",
    "queue.buffering.max.kbytes", "queue.buffering.max.messages", "queued.max.messages.kbytes",
    "queued.min.messages", "message.max.bytes", "message.timeout.ms", "delivery.timeout.ms",
    "allow.auto.create.topics", "enable.gapless.guarantee"};

/* The library reads these when an instance is made, and says little about one that is not there. */
static bool is_file_setting(const char *name)
{
    static const char *const names[] = {"ssl.ca.location", "ssl.certificate.location", "ssl.key.location",
                                        "ssl.crl.location", "ssl.keystore.location"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static bool is_encrypted(const struct sf_prod_kafka *kafka)
{
    for (uint32_t i = 0; i < kafka->setting_count; i++)
        if (strcmp(kafka->settings[i].name, "security.protocol") == 0)
            return strcasecmp(kafka->settings[i].value, "ssl") == 0 ||
                   strcasecmp(kafka->settings[i].value, "sasl_ssl") == 0;
    return false;
}

static enum sf_status files_check(const struct sf_prod_kafka *kafka, struct sf_error *error)
{
    if (!is_encrypted(kafka)) return SF_OK; /* nobody will read them */
    for (uint32_t i = 0; i < kafka->setting_count; i++) {
        const struct sf_prod_kafka_setting *setting = &kafka->settings[i];
        if (!is_file_setting(setting->name) || strcmp(setting->value, "probe") == 0) continue;
        if (access(setting->value, R_OK) != 0)
            return sfi_kafka_fail(error, SF_E_ARG, "kafka setting %s: %s cannot be read: %s", setting->name,
                                  setting->value, strerror(errno));
    }
    return SF_OK;
}

static enum sf_status setting_check(rd_kafka_conf_t *conf, const struct sf_prod_kafka_setting *setting,
                                    struct sf_error *error)
{
    for (size_t i = 0; i < sizeof owned_settings / sizeof owned_settings[0]; i++)
        if (strcmp(owned_settings[i], setting->name) == 0)
            return sfi_kafka_fail(error, SF_E_ARG, "kafka setting %s: set by the engine itself", setting->name);
    char text[160] = "";
    rd_kafka_conf_res_t result = rd_kafka_conf_set(conf, setting->name, setting->value, text, sizeof text);
    if (result == RD_KAFKA_CONF_OK) return SF_OK;
    if (result == RD_KAFKA_CONF_UNKNOWN)
        return sfi_kafka_fail(error, SF_E_ARG, "kafka setting %s: there is no such setting", setting->name);
    return sfi_kafka_fail(error, SF_E_ARG, "kafka setting %s: %s", setting->name, text);
}

/* Each setting alone, then all together in an instance that cannot connect (certificates are read there). */
static enum sf_status settings_check(struct sf_prod_kafka *kafka, struct sf_error *error)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    enum sf_status status = SF_OK;
    for (uint32_t i = 0; i < kafka->setting_count && status == SF_OK; i++)
        status = setting_check(conf, &kafka->settings[i], error);
    rd_kafka_conf_destroy(conf);
    if (status == SF_OK) status = files_check(kafka, error);
    if (status != SF_OK) return status;

    struct sfi_kafka_link link;
    sfi_kafka_link_init(&link, kafka);
    sfi_kafka_link_cut(&link);
    rd_kafka_t *rk = sfi_kafka_instance_new(RD_KAFKA_PRODUCER, sfi_kafka_conf_new(&link, "check"), error);
    if (rk != NULL) rd_kafka_destroy(rk);
    sfi_kafka_link_deinit(&link);
    return rk != NULL ? SF_OK : error->status;
}

static void kafka_free(struct sf_prod_kafka *kafka)
{
    assert(kafka->helper_count == 0 && kafka->links == NULL);
    for (uint32_t i = 0; i < SFI_KAFKA_TOKENS_MAX; i++)
        if (kafka->tokens[i] != NULL) token_unref(kafka->tokens[i]);
    for (uint32_t i = 0; i < kafka->setting_count; i++) {
        free((void *)(uintptr_t)kafka->settings[i].name);
        free((void *)(uintptr_t)kafka->settings[i].value);
    }
    for (uint32_t i = 0; i < kafka->name_count; i++) free(kafka->names[i]);
    free(kafka->names);
    free(kafka->settings);
    free(kafka->client_id);
    pthread_cond_destroy(&kafka->idle);
    pthread_mutex_destroy(&kafka->lock);
    free(kafka);
}

enum sf_status sf_prod_kafka_new(const struct sf_prod_kafka_config *config, struct sf_prod_kafka **kafka_out,
                                 struct sf_error *error)
{
    assert(config->setting_count == 0 || config->settings != NULL);
    struct sf_prod_kafka *kafka = sfi_kafka_alloc(sizeof *kafka);
    pthread_mutex_init(&kafka->lock, NULL);
    sfi_os_cond_init(&kafka->idle);
    kafka->client_id = sfi_kafka_strdup(config->client_id != NULL ? config->client_id : "sf");
    kafka->watch_interval_ms = config->watch_interval_ms > 0 ? config->watch_interval_ms : 5000;
    kafka->log = config->log;
    kafka->answered = config->answered;
    kafka->log_ctx = config->log_ctx;
    kafka->setting_count = config->setting_count;
    kafka->settings = sfi_kafka_alloc(config->setting_count * sizeof *kafka->settings);
    for (uint32_t i = 0; i < config->setting_count; i++) {
        kafka->settings[i].name = sfi_kafka_strdup(config->settings[i].name);
        kafka->settings[i].value = sfi_kafka_strdup(config->settings[i].value);
    }
    enum sf_status status = settings_check(kafka, error);
    if (status != SF_OK) {
        kafka_free(kafka);
        return status;
    }
    *kafka_out = kafka;
    return SF_OK;
}

static enum sf_status kafka_consumer_open(void *self, const struct sf_consumer_config *config,
                                          struct sf_consumer *consumer_out, struct sf_error *error)
{
    if (config->subscribe != NULL) return sfi_kafka_member_open(self, config, consumer_out, error);
    return sfi_kafka_consumer_open(self, config, consumer_out, error);
}

static const struct sf_kafka_ops kafka_ops = {.topic = kafka_topic,
                                              .topic_name = kafka_topic_name,
                                              .consumer_open = kafka_consumer_open,
                                              .producer_open = sfi_kafka_producer_open,
                                              .admin_open = sfi_kafka_admin_open};

struct sf_kafka sf_prod_kafka_handle(struct sf_prod_kafka *kafka)
{
    return (struct sf_kafka){&kafka_ops, kafka};
}

bool sf_prod_kafka_destroy(struct sf_prod_kafka *kafka)
{
    int64_t grace_end = sfi_os_now_ms() + HELPERS_GRACE_MS;
    int64_t last_end = grace_end + HELPERS_LAST_MS;
    pthread_mutex_lock(&kafka->lock);
    while (kafka->helper_count > 0) {
        int64_t now = sfi_os_now_ms();
        if (now >= last_end) {
            pthread_mutex_unlock(&kafka->lock);
            return false;
        }
        if (now >= grace_end) {
            for (struct sfi_kafka_link *link = kafka->links; link != NULL; link = link->next) sfi_kafka_link_cut(link);
            grace_end = last_end;
        }
        sfi_os_cond_wait(&kafka->idle, &kafka->lock, grace_end - now);
    }
    pthread_mutex_unlock(&kafka->lock);
    kafka_free(kafka);
    return true;
}
