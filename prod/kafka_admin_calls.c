/* Kafka adapter: one attempt at each admin command. See kafka_admin.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "prod/kafka_admin.h"

#define UNKNOWN_MS 5000 /* how long an unknown topic is doubted whose partitions somebody has seen */

/* The end of an attempt: false where `status` is one to try again. */
static bool done(struct sfi_kafka_reply *reply, enum sf_status status, const char *text)
{
    if (sf_status_class(status) == SF_CLASS_RETRY) return false;
    reply->event.status = status;
    if (status != SF_OK && text != NULL) reply->text = sfi_kafka_strdup(text);
    return true;
}

static bool done_err(struct sfi_kafka_reply *reply, rd_kafka_resp_err_t err, const char *text)
{
    return done(reply, sfi_kafka_status(err), text != NULL ? text : rd_kafka_err2str(err));
}

/* Waits for the answer to the admin call just made. NULL: none in time; one that is late is dropped when it comes, told
 * from the next by its opaque, the number of the call. */
static rd_kafka_event_t *result_wait(struct sfi_kafka_admin *admin)
{
    int64_t deadline = sfi_os_now_ms() + SFI_KAFKA_ATTEMPT_MS + 500;
    for (;;) {
        int64_t left = deadline - sfi_os_now_ms();
        if (left <= 0) return NULL;
        pthread_mutex_lock(&admin->lock);
        bool is_closing = admin->is_closing;
        pthread_mutex_unlock(&admin->lock);
        if (is_closing) return NULL;
        rd_kafka_event_t *event = rd_kafka_queue_poll(admin->queue, left < 100 ? (int)left : 100);
        if (event == NULL) continue;
        if ((uintptr_t)rd_kafka_event_opaque(event) == admin->call_last) return event;
        rd_kafka_event_destroy(event);
    }
}

/* For one call. */
static rd_kafka_AdminOptions_t *options_new(struct sfi_kafka_admin *admin, rd_kafka_admin_op_t op)
{
    char text[128];
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(admin->stable, op);
    (void)rd_kafka_AdminOptions_set_request_timeout(options, SFI_KAFKA_ATTEMPT_MS, text, sizeof text);
    admin->call_last++;
    rd_kafka_AdminOptions_set_opaque(options, (void *)admin->call_last);
    return options;
}

/* ------------------------------------------------------------------ metadata */

/* The partition count: > 0 as status OK only when each partition has a leader. */
static enum sf_status partitions_of(struct sfi_kafka_admin *admin, const char *name, int32_t *count_out)
{
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(admin->stable, name, NULL);
    if (rkt == NULL) return SF_E_UNKNOWN_TOPIC; /* not a possible name */
    const struct rd_kafka_metadata *metadata;
    rd_kafka_resp_err_t err = rd_kafka_metadata(admin->stable, 0, rkt, &metadata, SFI_KAFKA_ATTEMPT_MS);
    rd_kafka_topic_destroy(rkt);
    if (err != RD_KAFKA_RESP_ERR_NO_ERROR) return sfi_kafka_status(err);
    enum sf_status status = SF_E_UNKNOWN_TOPIC;
    for (int i = 0; i < metadata->topic_cnt; i++) {
        const struct rd_kafka_metadata_topic *topic = &metadata->topics[i];
        if (strcmp(topic->topic, name) != 0) continue;
        status = sfi_kafka_status(topic->err);
        *count_out = topic->partition_cnt;
        for (int p = 0; p < topic->partition_cnt && status == SF_OK; p++)
            if (topic->partitions[p].leader < 0) status = SF_E_UNAVAILABLE;
    }
    rd_kafka_metadata_destroy(metadata);
    return status;
}

static bool try_watch(struct sfi_kafka_admin *admin, struct sfi_kafka_ask *ask, struct sfi_kafka_reply *reply)
{
    int32_t count = 0;
    enum sf_status status = partitions_of(admin, sfi_kafka_topic_name(admin->kafka, ask->topic), &count);
    if (status == SF_E_UNKNOWN_TOPIC) count = 0;
    else if (status != SF_OK) return false;
    if (count == ask->partition_count) return false;
    ask->partition_count = count;
    reply->event.partition_count = count;
    return done(reply, status, NULL);
}

/* ------------------------------------------------------------------ topics */

static bool try_create(struct sfi_kafka_admin *admin, struct sfi_kafka_ask *ask, struct sfi_kafka_reply *reply)
{
    const char *name = sfi_kafka_topic_name(admin->kafka, ask->topic);
    char text[200] = "";
    rd_kafka_NewTopic_t *topic =
        rd_kafka_NewTopic_new(name, ask->partition_count, ask->replication, text, sizeof text);
    if (topic == NULL) return done(reply, SF_E_ARG, text);
    for (uint32_t i = 0; i < ask->setting_count; i++)
        (void)rd_kafka_NewTopic_set_config(topic, ask->settings[i].name, ask->settings[i].value);
    rd_kafka_AdminOptions_t *options = options_new(admin, RD_KAFKA_ADMIN_OP_CREATETOPICS);
    rd_kafka_CreateTopics(admin->stable, &topic, 1, options, admin->queue);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_NewTopic_destroy(topic);
    rd_kafka_event_t *event = result_wait(admin);
    if (event == NULL) return false;
    rd_kafka_resp_err_t err = rd_kafka_event_error(event);
    if (err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        size_t count;
        const rd_kafka_topic_result_t **results =
            rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
        err = count > 0 ? rd_kafka_topic_result_error(results[0]) : RD_KAFKA_RESP_ERR__TIMED_OUT;
        const char *said = count > 0 ? rd_kafka_topic_result_error_string(results[0]) : NULL;
        if (said != NULL) strncpy(text, said, sizeof text - 1);
    }
    rd_kafka_event_destroy(event);
    if (err != RD_KAFKA_RESP_ERR_NO_ERROR && err != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
        return done_err(reply, err, text[0] != '\0' ? text : NULL);
    int32_t count = 0; /* created means: to be seen, with leaders */
    enum sf_status status = partitions_of(admin, name, &count);
    if (status == SF_E_UNKNOWN_TOPIC) return false;
    if (status == SF_OK && count != ask->partition_count) status = SF_E_EXISTS;
    reply->event.partition_count = count;
    return done(reply, status, "the topic exists with another partition count");
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sf_topic_setting *)a)->name, ((const struct sf_topic_setting *)b)->name);
}

static void settings_take(struct sfi_kafka_reply *reply, const rd_kafka_ConfigResource_t *resource)
{
    size_t count;
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &count);
    reply->settings = sfi_kafka_alloc(count * sizeof *reply->settings);
    for (size_t i = 0; i < count; i++) {
        const char *value = rd_kafka_ConfigEntry_value(entries[i]);
        reply->settings[i].name = sfi_kafka_strdup(rd_kafka_ConfigEntry_name(entries[i]));
        reply->settings[i].value = sfi_kafka_strdup(value != NULL ? value : "");
    }
    reply->event.setting_count = (uint32_t)count;
    qsort(reply->settings, count, sizeof *reply->settings, by_name); /* names are unique: no ties */
}

static bool try_describe(struct sfi_kafka_admin *admin, struct sfi_kafka_ask *ask, struct sfi_kafka_reply *reply)
{
    const char *name = sfi_kafka_topic_name(admin->kafka, ask->topic);
    int32_t partition_count = 0;
    enum sf_status status = partitions_of(admin, name, &partition_count);
    if (status != SF_OK) return done(reply, status, NULL);
    rd_kafka_ConfigResource_t *resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name);
    rd_kafka_AdminOptions_t *options = options_new(admin, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
    rd_kafka_DescribeConfigs(admin->stable, &resource, 1, options, admin->queue);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_ConfigResource_destroy(resource);
    rd_kafka_event_t *event = result_wait(admin);
    if (event == NULL) return false;
    rd_kafka_resp_err_t err = rd_kafka_event_error(event);
    size_t count = 0;
    if (err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        const rd_kafka_ConfigResource_t **found =
            rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &count);
        err = count > 0 ? rd_kafka_ConfigResource_error(found[0]) : RD_KAFKA_RESP_ERR__TIMED_OUT;
        if (err == RD_KAFKA_RESP_ERR_NO_ERROR) settings_take(reply, found[0]);
    }
    rd_kafka_event_destroy(event);
    reply->event.partition_count = partition_count;
    return done_err(reply, err, NULL);
}

static bool try_truncate(struct sfi_kafka_admin *admin, struct sfi_kafka_ask *ask, struct sfi_kafka_reply *reply)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, sfi_kafka_topic_name(admin->kafka, ask->tps[0].topic),
                                      ask->tps[0].partition)->offset = ask->before;
    rd_kafka_DeleteRecords_t *request = rd_kafka_DeleteRecords_new(list);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_AdminOptions_t *options = options_new(admin, RD_KAFKA_ADMIN_OP_DELETERECORDS);
    rd_kafka_DeleteRecords(admin->stable, &request, 1, options, admin->queue);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_DeleteRecords_destroy(request);
    rd_kafka_event_t *event = result_wait(admin);
    if (event == NULL) return false;
    rd_kafka_resp_err_t err = rd_kafka_event_error(event);
    if (err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        const rd_kafka_topic_partition_list_t *offsets =
            rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event));
        err = offsets->cnt > 0 ? offsets->elems[0].err : RD_KAFKA_RESP_ERR__TIMED_OUT;
    }
    rd_kafka_event_destroy(event);
    return done_err(reply, err, NULL);
}

/* ------------------------------------------------------------------ offsets */

/* One partition's answer out of the library's list. False: not stable yet. */
static bool answer_take(struct sf_offset_answer *answer, const rd_kafka_topic_partition_t *entry)
{
    answer->status = sfi_kafka_status(entry->err);
    answer->offset = SF_OFFSET_UNKNOWN;
    if (sf_status_class(answer->status) == SF_CLASS_RETRY) return false;
    if (answer->status != SF_OK) return true;
    if (entry->offset < 0) {
        answer->status = SF_NOT_FOUND;
        return true;
    }
    answer->offset = entry->offset;
    if (entry->metadata != NULL && entry->metadata_size > 0) {
        size_t len = strnlen(entry->metadata, entry->metadata_size);
        uint8_t *copy = len > 0 ? sfi_kafka_alloc(len) : NULL;
        if (len > 0) memcpy(copy, entry->metadata, len);
        answer->metadata = (struct sf_slice){copy, (uint32_t)len};
    }
    return true;
}

static bool answers_take(struct sfi_kafka_admin *admin, const struct sfi_kafka_ask *ask,
                         struct sfi_kafka_reply *reply, const rd_kafka_topic_partition_list_t *list)
{
    reply->answers = sfi_kafka_alloc(ask->tp_count * sizeof *reply->answers);
    reply->event.answer_count = ask->tp_count;
    bool is_stable = true;
    for (uint32_t i = 0; i < ask->tp_count; i++) {
        struct sf_offset_answer *answer = &reply->answers[i];
        answer->tp = ask->tps[i];
        answer->status = SF_NOT_FOUND;
        answer->offset = SF_OFFSET_UNKNOWN;
        const char *name = sfi_kafka_topic_name(admin->kafka, ask->tps[i].topic);
        for (int k = 0; k < list->cnt && is_stable; k++)
            if (list->elems[k].partition == ask->tps[i].partition && strcmp(list->elems[k].topic, name) == 0)
                is_stable = answer_take(answer, &list->elems[k]);
    }
    return is_stable;
}

static rd_kafka_topic_partition_list_t *tps_list(struct sfi_kafka_admin *admin, const struct sfi_kafka_ask *ask)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)ask->tp_count);
    for (uint32_t i = 0; i < ask->tp_count; i++) {
        const char *name = sfi_kafka_topic_name(admin->kafka, ask->tps[i].topic);
        if (rd_kafka_topic_partition_list_find(list, name, ask->tps[i].partition) == NULL)
            rd_kafka_topic_partition_list_add(list, name, ask->tps[i].partition);
    }
    return list;
}

/* One partition that does not exist fails the library's call for all: ask for each by itself. */
static void ends_singly(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list, bool is_end)
{
    for (int i = 0; i < list->cnt; i++) {
        rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(one, list->elems[i].topic, list->elems[i].partition);
        rd_kafka_resp_err_t err = sfi_kafka_log_bounds(rk, one, is_end, SFI_KAFKA_ATTEMPT_MS);
        list->elems[i].err = err != RD_KAFKA_RESP_ERR_NO_ERROR ? err : one->elems[0].err;
        list->elems[i].offset = one->elems[0].offset;
        rd_kafka_topic_partition_list_destroy(one);
    }
}

/* A broker that has just been started knows no topics for a while and says that there is none. */
static bool is_unknown_doubted(struct sfi_kafka_ask *ask, const struct sfi_kafka_reply *reply)
{
    bool is_unknown = false;
    for (uint32_t i = 0; i < reply->event.answer_count; i++)
        is_unknown = is_unknown || reply->answers[i].status == SF_E_UNKNOWN_TOPIC;
    if (!is_unknown) return false;
    if (ask->unknown_ms == 0) ask->unknown_ms = sfi_os_now_ms();
    return sfi_os_now_ms() - ask->unknown_ms < UNKNOWN_MS;
}

static bool try_ends(struct sfi_kafka_admin *admin, struct sfi_kafka_ask *ask, struct sfi_kafka_reply *reply)
{
    if (ask->which == SF_LOG_END && admin->latest == NULL) {
        struct sf_error error;
        rd_kafka_conf_t *conf = sfi_kafka_conf_new(&admin->link, "admin-latest");
        sfi_kafka_conf_set(conf, "isolation.level", "read_uncommitted");
        admin->latest = sfi_kafka_instance_new(RD_KAFKA_CONSUMER, conf, &error);
        if (admin->latest == NULL) return done(reply, error.status, error.text);
    }
    rd_kafka_t *rk = ask->which == SF_LOG_END ? admin->latest : admin->stable;
    bool is_end = ask->which != SF_LOG_START;
    rd_kafka_topic_partition_list_t *list = tps_list(admin, ask);
    rd_kafka_resp_err_t err = sfi_kafka_log_bounds(rk, list, is_end, SFI_KAFKA_ATTEMPT_MS);
    if (sf_status_class(sfi_kafka_status(err)) == SF_CLASS_FATAL) ends_singly(rk, list, is_end);
    else if (err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        rd_kafka_topic_partition_list_destroy(list);
        return done_err(reply, err, NULL);
    }
    bool is_known = answers_take(admin, ask, reply, list) && !is_unknown_doubted(ask, reply);
    rd_kafka_topic_partition_list_destroy(list);
    return is_known && done(reply, SF_OK, NULL);
}

static bool try_committed(struct sfi_kafka_admin *admin, struct sfi_kafka_ask *ask, struct sfi_kafka_reply *reply)
{
    rd_kafka_topic_partition_list_t *list = tps_list(admin, ask);
    rd_kafka_ListConsumerGroupOffsets_t *request = rd_kafka_ListConsumerGroupOffsets_new(ask->group, list);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_AdminOptions_t *options = options_new(admin, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS);
    rd_kafka_error_t *error = rd_kafka_AdminOptions_set_require_stable_offsets(options, 1);
    assert(error == NULL);
    rd_kafka_ListConsumerGroupOffsets(admin->stable, &request, 1, options, admin->queue);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_ListConsumerGroupOffsets_destroy(request);
    rd_kafka_event_t *event = result_wait(admin);
    if (event == NULL) return false;
    rd_kafka_resp_err_t err = rd_kafka_event_error(event);
    bool is_stable = true;
    if (err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        size_t count;
        const rd_kafka_group_result_t **groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
            rd_kafka_event_ListConsumerGroupOffsets_result(event), &count);
        /* One group was asked for. No answer is not the answer that it has no offsets. */
        const rd_kafka_error_t *group_error = count > 0 ? rd_kafka_group_result_error(groups[0]) : NULL;
        if (count == 0) err = RD_KAFKA_RESP_ERR_UNKNOWN;
        else if (group_error != NULL) err = rd_kafka_error_code(group_error);
        else is_stable = answers_take(admin, ask, reply, rd_kafka_group_result_partitions(groups[0]));
    }
    rd_kafka_event_destroy(event);
    return is_stable && done_err(reply, err, NULL);
}

struct commit_wait {
    bool is_done;
    rd_kafka_resp_err_t err;
};

static void on_commit(rd_kafka_t *rk, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list, void *opaque)
{
    (void)rk;
    struct commit_wait *wait = opaque;
    wait->is_done = true;
    wait->err = err;
    for (int i = 0; list != NULL && i < list->cnt && wait->err == RD_KAFKA_RESP_ERR_NO_ERROR; i++)
        wait->err = list->elems[i].err;
}

/* With the member's lock. A queue of its own bounds the wait, which the library's own synchronous call does not. */
static rd_kafka_resp_err_t member_commit(struct sfi_kafka_admin *admin, rd_kafka_t *rk,
                                         const rd_kafka_topic_partition_list_t *offsets)
{
    struct commit_wait wait = {.err = RD_KAFKA_RESP_ERR__TIMED_OUT};
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_resp_err_t err = rd_kafka_commit_queue(rk, offsets, queue, on_commit, &wait);
    int64_t deadline = sfi_os_now_ms() + SFI_KAFKA_ATTEMPT_MS;
    while (err == RD_KAFKA_RESP_ERR_NO_ERROR && !wait.is_done && sfi_os_now_ms() < deadline) {
        (void)rd_kafka_queue_poll_callback(queue, 50);
        pthread_mutex_lock(&admin->lock);
        if (admin->is_closing) deadline = 0;
        pthread_mutex_unlock(&admin->lock);
    }
    rd_kafka_queue_destroy(queue); /* a late answer is dropped: on_commit is only called above */
    return err != RD_KAFKA_RESP_ERR_NO_ERROR ? err : wait.err;
}

/* Through the member itself: the library sends its current generation, so an old token is refused here, by
 * comparison. Only the member's own task yields partitions; one that lost them has an id that is unknown by now. */
static bool try_commit_member(struct sfi_kafka_admin *admin, struct sfi_kafka_ask *ask, struct sfi_kafka_reply *reply)
{
    struct sfi_kafka_token *token = sfi_kafka_token_get(admin->kafka, ask->token);
    if (token == NULL) return done(reply, SF_E_TXN, "the proof of membership is too old");
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID;
    pthread_mutex_lock(&token->member->lock);
    if (token->member->rk != NULL) {
        rd_kafka_consumer_group_metadata_t *now = rd_kafka_consumer_group_metadata(token->member->rk);
        if (now != NULL && sfi_kafka_metadata_is_equal(now, token->metadata))
            err = member_commit(admin, token->member->rk, ask->offsets);
        else if (now != NULL)
            err = RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION;
        if (now != NULL) rd_kafka_consumer_group_metadata_destroy(now);
    }
    pthread_mutex_unlock(&token->member->lock);
    sfi_kafka_token_release(admin->kafka, token);
    return done_err(reply, err, NULL);
}

static bool try_commit(struct sfi_kafka_admin *admin, struct sfi_kafka_ask *ask, struct sfi_kafka_reply *reply)
{
    if (ask->token.id != 0) return try_commit_member(admin, ask, reply);
    rd_kafka_AlterConsumerGroupOffsets_t *request = rd_kafka_AlterConsumerGroupOffsets_new(ask->group, ask->offsets);
    rd_kafka_AdminOptions_t *options = options_new(admin, RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS);
    rd_kafka_AlterConsumerGroupOffsets(admin->stable, &request, 1, options, admin->queue);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_AlterConsumerGroupOffsets_destroy(request);
    rd_kafka_event_t *event = result_wait(admin);
    if (event == NULL) return false;
    rd_kafka_resp_err_t err = rd_kafka_event_error(event);
    if (err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        size_t count;
        const rd_kafka_group_result_t **groups = rd_kafka_AlterConsumerGroupOffsets_result_groups(
            rd_kafka_event_AlterConsumerGroupOffsets_result(event), &count);
        const rd_kafka_error_t *error = count > 0 ? rd_kafka_group_result_error(groups[0]) : NULL;
        if (error != NULL) err = rd_kafka_error_code(error);
        const rd_kafka_topic_partition_list_t *list = count > 0 ? rd_kafka_group_result_partitions(groups[0]) : NULL;
        for (int i = 0; list != NULL && i < list->cnt && err == RD_KAFKA_RESP_ERR_NO_ERROR; i++)
            err = list->elems[i].err;
    }
    rd_kafka_event_destroy(event);
    return done_err(reply, err, NULL);
}

static bool attempt(struct sfi_kafka_admin *admin, struct sfi_kafka_ask *ask, struct sfi_kafka_reply *reply)
{
    switch (ask->kind) {
    case SFI_ASK_DESCRIBE: return try_describe(admin, ask, reply);
    case SFI_ASK_CREATE: return try_create(admin, ask, reply);
    case SFI_ASK_WATCH: return try_watch(admin, ask, reply);
    case SFI_ASK_COMMITTED: return try_committed(admin, ask, reply);
    case SFI_ASK_ENDS: return try_ends(admin, ask, reply);
    case SFI_ASK_COMMIT: return try_commit(admin, ask, reply);
    case SFI_ASK_TRUNCATE: return try_truncate(admin, ask, reply);
    }
    assert(false && "no such command");
    return true;
}

bool sfi_kafka_admin_try(struct sfi_kafka_admin *admin, struct sfi_kafka_ask *ask, struct sfi_kafka_reply *reply)
{
    admin->refused[0] = '\0';
    if (attempt(admin, ask, reply)) return true;
    (void)rd_kafka_poll(admin->stable, 0);
    if (admin->refused[0] == '\0' || ask->kind == SFI_ASK_WATCH) return false;
    return done(reply, SF_E_AUTH, admin->refused); /* it would not be let in the next time either */
}
