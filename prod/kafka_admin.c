/* Kafka adapter: topics, offsets and log ends: commands in, answers out. See kafka_admin.h. */
#include "prod/kafka_admin.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ lists */

static void settings_free(struct sf_topic_setting *settings, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        free((void *)(uintptr_t)settings[i].name);
        free((void *)(uintptr_t)settings[i].value);
    }
    free(settings);
}

static void reply_free(struct sfi_kafka_reply *reply)
{
    while (reply != NULL) {
        struct sfi_kafka_reply *next = reply->next;
        settings_free(reply->settings, reply->event.setting_count);
        for (uint32_t i = 0; i < reply->event.answer_count; i++)
            free((void *)(uintptr_t)reply->answers[i].metadata.data);
        free(reply->answers);
        free(reply->text);
        free(reply);
        reply = next;
    }
}

static void ask_free(struct sfi_kafka_ask *ask)
{
    settings_free(ask->settings, ask->setting_count);
    free(ask->group);
    free(ask->tps);
    if (ask->offsets != NULL) rd_kafka_topic_partition_list_destroy(ask->offsets);
    free(ask);
}

static void ask_push(struct sfi_kafka_admin *admin, struct sfi_kafka_ask *ask)
{
    pthread_mutex_lock(&admin->lock);
    struct sfi_kafka_ask **at = &admin->asks;
    while (*at != NULL) at = &(*at)->next;
    *at = ask;
    pthread_cond_signal(&admin->news);
    pthread_mutex_unlock(&admin->lock);
}

static struct sfi_kafka_ask *ask_new(enum sfi_kafka_ask_kind kind, uint64_t tag)
{
    struct sfi_kafka_ask *ask = sfi_kafka_alloc(sizeof *ask);
    ask->kind = kind;
    ask->tag = tag;
    return ask;
}

static void ask_tps(struct sfi_kafka_ask *ask, const struct sf_tp *tps, uint32_t count)
{
    ask->tps = sfi_kafka_alloc(count * sizeof *tps);
    memcpy(ask->tps, tps, count * sizeof *tps);
    ask->tp_count = count;
}

/* ------------------------------------------------------------------ commands */

static void admin_describe(void *self, uint64_t tag, uint32_t topic)
{
    struct sfi_kafka_ask *ask = ask_new(SFI_ASK_DESCRIBE, tag);
    ask->topic = topic;
    ask_push(self, ask);
}

static void admin_create(void *self, uint64_t tag, const struct sf_topic_spec *spec)
{
    struct sfi_kafka_ask *ask = ask_new(SFI_ASK_CREATE, tag);
    ask->topic = spec->topic;
    ask->partition_count = spec->partition_count;
    ask->replication = spec->replication;
    ask->settings = sfi_kafka_alloc(spec->setting_count * sizeof *ask->settings);
    ask->setting_count = spec->setting_count;
    for (uint32_t i = 0; i < spec->setting_count; i++) {
        ask->settings[i].name = sfi_kafka_strdup(spec->settings[i].name);
        ask->settings[i].value = sfi_kafka_strdup(spec->settings[i].value);
    }
    ask_push(self, ask);
}

static void admin_watch(void *self, uint64_t tag, uint32_t topic)
{
    struct sfi_kafka_ask *ask = ask_new(SFI_ASK_WATCH, tag);
    ask->topic = topic;
    ask->partition_count = -1;
    ask_push(self, ask);
}

static void admin_committed(void *self, uint64_t tag, const char *group, const struct sf_tp *tps, uint32_t count)
{
    struct sfi_kafka_ask *ask = ask_new(SFI_ASK_COMMITTED, tag);
    ask->group = sfi_kafka_strdup(group);
    ask_tps(ask, tps, count);
    ask_push(self, ask);
}

static void admin_ends(void *self, uint64_t tag, enum sf_log_end which, const struct sf_tp *tps, uint32_t count)
{
    struct sfi_kafka_ask *ask = ask_new(SFI_ASK_ENDS, tag);
    ask->which = which;
    ask_tps(ask, tps, count);
    ask_push(self, ask);
}

static void admin_commit(void *self, uint64_t tag, const char *group, struct sf_member_token token,
                         const struct sf_offset_commit *commits, uint32_t count)
{
    struct sfi_kafka_admin *admin = self;
    struct sfi_kafka_ask *ask = ask_new(SFI_ASK_COMMIT, tag);
    ask->group = sfi_kafka_strdup(group);
    ask->token = token;
    ask->offsets = sfi_kafka_offsets_new(admin->kafka, commits, count);
    ask_push(admin, ask);
}

static void admin_truncate(void *self, uint64_t tag, struct sf_tp tp, int64_t before)
{
    struct sfi_kafka_ask *ask = ask_new(SFI_ASK_TRUNCATE, tag);
    ask_tps(ask, &tp, 1);
    ask->before = before;
    ask_push(self, ask);
}

/* ------------------------------------------------------------------ the helper */

/* With the lock, given up meanwhile. `ask` is out of the list. */
static void ask_try(struct sfi_kafka_admin *admin, struct sfi_kafka_ask *ask)
{
    struct sfi_kafka_reply *reply = sfi_kafka_alloc(sizeof *reply);
    reply->event.tag = ask->tag;
    pthread_mutex_unlock(&admin->lock);
    bool is_done = sfi_kafka_admin_try(admin, ask, reply);
    pthread_mutex_lock(&admin->lock);
    reply->event.settings = reply->settings;
    reply->event.answers = reply->answers;
    reply->event.text = reply->text;
    bool is_watch = ask->kind == SFI_ASK_WATCH;
    if (is_done) {
        struct sfi_kafka_reply **at = &admin->replies;
        while (*at != NULL) at = &(*at)->next;
        *at = reply;
        sf_waker_wake(admin->waker);
    } else {
        reply_free(reply);
    }
    if (is_done && !is_watch) {
        ask_free(ask);
        return;
    }
    ask->due_ms = sfi_os_now_ms() + (is_watch ? admin->kafka->watch_interval_ms : SFI_KAFKA_RETRY_MS);
    ask->next = NULL;
    struct sfi_kafka_ask **at = &admin->asks;
    while (*at != NULL) at = &(*at)->next;
    *at = ask;
}

static void serve(struct sfi_kafka_admin *admin)
{
    while (!admin->is_closing) {
        int64_t now = sfi_os_now_ms(), next = now + 60000;
        struct sfi_kafka_ask **at = &admin->asks;
        while (*at != NULL && (*at)->due_ms > now) {
            if ((*at)->due_ms < next) next = (*at)->due_ms;
            at = &(*at)->next;
        }
        struct sfi_kafka_ask *ask = *at;
        if (ask == NULL) {
            sfi_os_cond_wait(&admin->news, &admin->lock, next - now);
            continue;
        }
        *at = ask->next;
        ask->next = NULL;
        ask_try(admin, ask);
    }
}

static void admin_free(struct sfi_kafka_admin *admin)
{
    reply_free(admin->replies);
    reply_free(admin->told);
    sfi_kafka_link_deinit(&admin->link);
    pthread_cond_destroy(&admin->news);
    pthread_mutex_destroy(&admin->lock);
    free(admin);
}

static void *admin_side(void *arg)
{
    struct sfi_kafka_admin *admin = arg;
    struct sf_prod_kafka *kafka = admin->kafka;
    pthread_mutex_lock(&admin->lock);
    serve(admin);
    pthread_mutex_unlock(&admin->lock);
    while (admin->asks != NULL) {
        struct sfi_kafka_ask *next = admin->asks->next;
        ask_free(admin->asks);
        admin->asks = next;
    }
    rd_kafka_queue_destroy(admin->queue);
    rd_kafka_destroy(admin->stable);
    if (admin->latest != NULL) rd_kafka_destroy(admin->latest);
    admin_free(admin);
    sfi_kafka_helper_end(kafka);
    return NULL;
}

/* ------------------------------------------------------------------ poll, open, close */

static uint32_t admin_poll(void *self, struct sf_admin_event *events_out, uint32_t cap)
{
    struct sfi_kafka_admin *admin = self;
    reply_free(admin->told);
    admin->told = NULL;
    uint32_t count = 0;
    pthread_mutex_lock(&admin->lock);
    struct sfi_kafka_reply **end = &admin->replies;
    for (; count < cap && *end != NULL; end = &(*end)->next) events_out[count++] = (*end)->event;
    struct sfi_kafka_reply *rest = *end;
    *end = NULL;
    admin->told = admin->replies;
    admin->replies = rest;
    if (rest != NULL) sf_waker_wake(admin->waker);
    pthread_mutex_unlock(&admin->lock);
    return count;
}

static void admin_close(void *self)
{
    struct sfi_kafka_admin *admin = self;
    sfi_kafka_link_cut(&admin->link);
    pthread_mutex_lock(&admin->lock);
    admin->waker = (struct sf_waker){0};
    admin->is_closing = true;
    pthread_cond_signal(&admin->news);
    pthread_mutex_unlock(&admin->lock);
}

static const struct sf_admin_ops admin_ops = {.describe = admin_describe,
                                              .create = admin_create,
                                              .watch = admin_watch,
                                              .committed = admin_committed,
                                              .ends = admin_ends,
                                              .commit = admin_commit,
                                              .truncate = admin_truncate,
                                              .poll = admin_poll,
                                              .close = admin_close};

/* On the helper, which serves the instance's main queue between attempts. */
static void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque)
{
    (void)rk;
    struct sfi_kafka_admin *admin = opaque;
    if (sfi_kafka_status((rd_kafka_resp_err_t)err) == SF_E_AUTH)
        (void)snprintf(admin->refused, sizeof admin->refused, "%s", reason);
}

enum sf_status sfi_kafka_admin_open(void *self, struct sf_waker waker, struct sf_admin *admin_out,
                                    struct sf_error *error)
{
    struct sfi_kafka_admin *admin = sfi_kafka_alloc(sizeof *admin);
    admin->kafka = self;
    sfi_kafka_link_init(&admin->link, self);
    admin->waker = waker;
    pthread_mutex_init(&admin->lock, NULL);
    sfi_os_cond_init(&admin->news);
    rd_kafka_conf_t *conf = sfi_kafka_conf_new(&admin->link, "admin");
    sfi_kafka_conf_set(conf, "isolation.level", "read_committed");
    rd_kafka_conf_set_error_cb(conf, on_error);
    admin->stable = sfi_kafka_instance_new(RD_KAFKA_CONSUMER, conf, error);
    if (admin->stable == NULL) {
        admin_free(admin);
        return error->status;
    }
    admin->queue = rd_kafka_queue_new(admin->stable);
    sfi_kafka_helper_start(admin->kafka, admin_side, admin);
    *admin_out = (struct sf_admin){&admin_ops, admin};
    return SF_OK;
}
