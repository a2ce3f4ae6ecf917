/*
 * Kafka adapter: membership of a group, for ownership alone (B14). A second, tiny consumer: it subscribes, holds
 * partitions and reads none of them (they are paused as soon as they are granted).
 *
 * Cooperative: an eager assignor would take the partition from its owner whenever somebody joins.
 *
 *   library says            event          who answers the library
 *   assign, with partitions GRANTED        we, at once
 *   assign, none            (none)         we, at once: a new generation with the same owner; the token is new
 *   revoke                  REVOKING       yield
 *   revoke, already lost    REVOKED        we, at once
 *   fatal (a later holder   REVOKED where something was held, then FAILED
 *   of the static name)
 *
 * Rebalance callbacks run inside poll, on the task's thread; after close on the helper's, which leaves the group.
 *
 * Confirming is a description of the group, read from its coordinator until that names this member, with all that it
 * was granted. Not an offset commit, which would show the same: the library takes the answer
 * "old generation", which says that somebody is just joining, for the loss of everything.
 *
 * The library (until 2.3) ends the process when a cooperative consumer is destroyed between the answer to its join and
 * its first assignment. So the helper first waits for that assignment; a member that has been let into the group and
 * does not get one in time is cut off and left alone, never destroyed: its session at the broker runs out by itself.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "prod/kafka_impl.h"

#define EVENTS_MAX 64u /* not yet polled; a rebalance makes one or two, and poll empties before it asks for more */
#define CALLS_MAX 16u  /* into the library, per poll */
#define SETTLE_MS 3000 /* for the first assignment of a member that is closing */
#define CONFIRM_MS 5000 /* for one description of the group; then another is asked for */
#define CONFIRM_AGAIN_MS 100

struct member_event {
    enum sf_consumer_event_kind kind;
    enum sf_status status;
    struct sf_tp *tps; /* owned */
    uint32_t tp_count;
};

struct member {
    struct sfi_kafka_link link;
    struct sf_prod_kafka *kafka;
    rd_kafka_t *rk;
    rd_kafka_queue_t *queue;
    struct sfi_kafka_member *shared;
    struct sf_waker waker;
    _Atomic bool is_ready;
    bool is_closing; /* written before the helper starts */
    bool is_settled; /* has been through a rebalance */
    bool is_cut_off; /* no broker was to be had when last heard of */
    rd_kafka_topic_partition_list_t *held; /* between GRANTED and yield or REVOKED; else NULL */
    bool is_failed, is_failure_told;
    struct sf_error failure;
    rd_kafka_topic_partition_list_t *revoking; /* asked for, not yet yielded */
    char *group;
    rd_kafka_queue_t *answers; /* descriptions of the group */
    bool is_confirm_wanted, is_confirm_asked;
    int64_t confirm_again_ms; /* not before */
    struct member_event events[EVENTS_MAX];
    uint32_t event_count;
    struct sf_tp *told[EVENTS_MAX]; /* tps of the last poll's events */
    uint32_t told_count;
};

static void on_ready(rd_kafka_t *rk, void *opaque)
{
    (void)rk;
    struct member *member = opaque;
    atomic_store(&member->is_ready, true);
    sf_waker_wake(member->waker);
}

static void member_push(struct member *member, enum sf_consumer_event_kind kind, enum sf_status status,
                        const rd_kafka_topic_partition_list_t *list)
{
    assert(member->event_count < EVENTS_MAX);
    struct member_event *event = &member->events[member->event_count++];
    event->kind = kind;
    event->status = status;
    event->tps = sfi_kafka_alloc((size_t)list->cnt * sizeof *event->tps);
    event->tp_count = 0;
    for (int i = 0; i < list->cnt; i++) {
        uint32_t topic = sfi_kafka_topic_find(member->kafka, list->elems[i].topic);
        assert(topic != UINT32_MAX); /* subscribed topics are numbered at open */
        event->tps[event->tp_count++] = (struct sf_tp){topic, list->elems[i].partition};
    }
}

static void assign(rd_kafka_t *rk, bool is_add, const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_error_t *error =
        is_add ? rd_kafka_incremental_assign(rk, list) : rd_kafka_incremental_unassign(rk, list);
    if (error != NULL) rd_kafka_error_destroy(error); /* the group has moved on: the next rebalance says how */
}

static void list_drop(rd_kafka_topic_partition_list_t **list)
{
    if (*list != NULL) rd_kafka_topic_partition_list_destroy(*list);
    *list = NULL;
}

/* Nothing is owned any more, so nothing is left to confirm. */
static void held_drop(struct member *member)
{
    list_drop(&member->held);
    member->is_confirm_wanted = false;
}

static void member_granted(struct member *member, rd_kafka_topic_partition_list_t *list)
{
    for (int i = 0; i < list->cnt; i++) list->elems[i].offset = RD_KAFKA_OFFSET_END;
    assign(member->rk, true, list);
    if (list->cnt == 0) return;
    (void)rd_kafka_pause_partitions(member->rk, list);
    list_drop(&member->held);
    member->held = rd_kafka_topic_partition_list_copy(list);
    member_push(member, SF_CONSUMER_GRANTED, SF_OK, list);
}

static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list, void *opaque)
{
    struct member *member = opaque;
    bool is_assign = err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
    member->is_settled = true;
    member->is_cut_off = false;
    if (member->is_closing) {
        assign(rk, is_assign, list);
    } else if (is_assign) {
        if (member->kafka->answered != NULL) member->kafka->answered(member->kafka->log_ctx);
        member_granted(member, list);
    } else if (rd_kafka_assignment_lost(rk)) {
        assign(rk, false, list);
        list_drop(&member->revoking);
        if (member->held != NULL) member_push(member, SF_CONSUMER_REVOKED, SF_OK, list);
        held_drop(member);
    } else if (list->cnt == 0) {
        assign(rk, false, list);
    } else {
        assert(member->revoking == NULL); /* the library waits for the first to be answered */
        member->revoking = rd_kafka_topic_partition_list_copy(list);
        member_push(member, SF_CONSUMER_REVOKING, SF_OK, list);
    }
}

static void member_fail(struct member *member, enum sf_status status, const char *text)
{
    if (member->is_failed) return;
    member->is_failed = true;
    (void)sfi_kafka_fail(&member->failure, status, "%s", text);
    if (member->held != NULL) member_push(member, SF_CONSUMER_REVOKED, status, member->held);
    held_drop(member);
    list_drop(&member->revoking);
}

static void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque)
{
    struct member *member = opaque;
    rd_kafka_resp_err_t code = (rd_kafka_resp_err_t)err;
    if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) member->is_cut_off = true;
    if (member->is_closing) return;
    char text[200];
    if (code == RD_KAFKA_RESP_ERR__FATAL) {
        code = rd_kafka_fatal_error(rk, text, sizeof text);
        member_fail(member, sfi_kafka_status(code), text);
    } else if (sfi_kafka_status(code) == SF_E_AUTH) {
        member_fail(member, SF_E_AUTH, reason);
    }
}

/* ------------------------------------------------------------------ confirm */

static bool holds_all(const rd_kafka_topic_partition_list_t *held, const rd_kafka_MemberDescription_t *description)
{
    const rd_kafka_MemberAssignment_t *assignment = rd_kafka_MemberDescription_assignment(description);
    const rd_kafka_topic_partition_list_t *list =
        assignment != NULL ? rd_kafka_MemberAssignment_partitions(assignment) : NULL;
    if (list == NULL) return false;
    for (int i = 0; i < held->cnt; i++) {
        bool is_held = false;
        for (int k = 0; k < list->cnt && !is_held; k++)
            is_held = list->elems[k].partition == held->elems[i].partition &&
                      strcmp(list->elems[k].topic, held->elems[i].topic) == 0;
        if (!is_held) return false;
    }
    return true;
}

/* Does the group, as described, know this member as the owner of all that it holds? While it is rebalanced its members
 * are told without their partitions; none is taken from a member that has not given it back (cooperative), and one that
 * was thrown out is a member no more. */
static bool is_owner_in(struct member *member, const rd_kafka_ConsumerGroupDescription_t *group)
{
    bool is_stable = rd_kafka_ConsumerGroupDescription_state(group) == RD_KAFKA_CONSUMER_GROUP_STATE_STABLE;
    char *id = rd_kafka_memberid(member->rk);
    bool is_owner = false;
    for (size_t i = 0; id != NULL && i < rd_kafka_ConsumerGroupDescription_member_count(group) && !is_owner; i++) {
        const rd_kafka_MemberDescription_t *other = rd_kafka_ConsumerGroupDescription_member(group, i);
        const char *other_id = rd_kafka_MemberDescription_consumer_id(other);
        is_owner = other_id != NULL && strcmp(other_id, id) == 0 && (!is_stable || holds_all(member->held, other));
    }
    if (id != NULL) rd_kafka_mem_free(member->rk, id);
    return is_owner;
}

static void confirm_take(struct member *member, rd_kafka_event_t *event)
{
    const rd_kafka_DescribeConsumerGroups_result_t *result = rd_kafka_event_DescribeConsumerGroups_result(event);
    size_t count = 0;
    if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR || result == NULL) return;
    const rd_kafka_ConsumerGroupDescription_t **groups =
        rd_kafka_DescribeConsumerGroups_result_groups(result, &count);
    if (count != 1) return;
    const rd_kafka_error_t *error = rd_kafka_ConsumerGroupDescription_error(groups[0]);
    if (error != NULL) {
        if (sfi_kafka_status(rd_kafka_error_code(error)) == SF_E_AUTH)
            member_fail(member, SF_E_AUTH, rd_kafka_error_string(error));
    } else if (is_owner_in(member, groups[0])) {
        member->is_confirm_wanted = false;
        member_push(member, SF_CONSUMER_CONFIRMED, SF_OK, member->held);
    }
}

static void confirm_ask(struct member *member)
{
    char text[128];
    const char *groups[] = {member->group};
    rd_kafka_AdminOptions_t *options =
        rd_kafka_AdminOptions_new(member->rk, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS);
    (void)rd_kafka_AdminOptions_set_request_timeout(options, CONFIRM_MS, text, sizeof text);
    rd_kafka_DescribeConsumerGroups(member->rk, groups, 1, options, member->answers);
    rd_kafka_AdminOptions_destroy(options);
    member->is_confirm_asked = true;
}

/* One question at a time; an answer to one that was asked before the loss of what is held counts for nothing. */
static void confirm_serve(struct member *member)
{
    if (member->is_confirm_asked) {
        rd_kafka_event_t *event = rd_kafka_queue_poll(member->answers, 0);
        if (event == NULL) return;
        member->is_confirm_asked = false;
        member->confirm_again_ms = sfi_os_now_ms() + CONFIRM_AGAIN_MS;
        if (member->is_confirm_wanted && member->event_count < EVENTS_MAX) confirm_take(member, event);
        rd_kafka_event_destroy(event);
    }
    if (member->is_confirm_wanted && sfi_os_now_ms() >= member->confirm_again_ms) confirm_ask(member);
}

static void member_confirm(void *self)
{
    struct member *member = self;
    if (member->held == NULL || member->is_failed) return;
    member->is_confirm_wanted = true;
    sf_waker_wake(member->waker);
}

/* ------------------------------------------------------------------ poll */

static void events_told(struct member *member)
{
    for (uint32_t i = 0; i < member->told_count; i++) free(member->told[i]);
    member->told_count = 0;
}

static void member_serve(struct member *member)
{
    if (!atomic_exchange(&member->is_ready, false)) return;
    for (uint32_t i = 0; i < CALLS_MAX && member->event_count + 2 < EVENTS_MAX; i++) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(member->rk, 0);
        if (message == NULL) return;
        if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
            on_error(member->rk, message->err, rd_kafka_message_errstr(message), member);
        rd_kafka_message_destroy(message);
    }
    on_ready(member->rk, member); /* more */
}

static uint32_t member_poll(void *self, struct sf_consumer_event *events_out, uint32_t cap)
{
    struct member *member = self;
    events_told(member);
    if (!member->is_failed) {
        atomic_store(&member->is_ready, true); /* each poll counts against max.poll.interval.ms */
        member_serve(member);
        confirm_serve(member);
    }
    uint32_t count = 0;
    while (count < cap && count < member->event_count) {
        const struct member_event *event = &member->events[count];
        events_out[count] = (struct sf_consumer_event){
            .kind = event->kind, .status = event->status, .tps = event->tps, .tp_count = event->tp_count};
        member->told[member->told_count++] = event->tps;
        count++;
    }
    memmove(member->events, member->events + count, (member->event_count - count) * sizeof member->events[0]);
    member->event_count -= count;
    if (member->is_failed && !member->is_failure_told && count < cap && member->event_count == 0) {
        member->is_failure_told = true;
        events_out[count++] = (struct sf_consumer_event){
            .kind = SF_CONSUMER_FAILED, .status = member->failure.status, .text = member->failure.text};
    }
    if (member->event_count > 0) sf_waker_wake(member->waker);
    return count;
}

/* ------------------------------------------------------------------ commands */

static struct sf_member_token member_token(void *self)
{
    struct member *member = self;
    if (member->held == NULL) return (struct sf_member_token){0};
    rd_kafka_consumer_group_metadata_t *metadata = rd_kafka_consumer_group_metadata(member->rk);
    if (metadata == NULL) return (struct sf_member_token){0};
    return (struct sf_member_token){sfi_kafka_token_put(member->kafka, member->shared, metadata)};
}

static void member_yield(void *self)
{
    struct member *member = self;
    if (member->revoking == NULL) return; /* lost meanwhile: REVOKED is on its way */
    assign(member->rk, false, member->revoking);
    list_drop(&member->revoking);
    held_drop(member);
}

static uint32_t no_partitions(void *self, struct sf_tp tp, int64_t offset)
{
    (void)self, (void)tp, (void)offset;
    assert(false && "a member reads nothing");
    return 0;
}

static void no_partition(void *self, struct sf_tp tp)
{
    (void)no_partitions(self, tp, 0);
}

static void no_batches(void *self, struct sf_batch *batch)
{
    (void)batch;
    (void)no_partitions(self, (struct sf_tp){0, 0}, 0);
}

/* ------------------------------------------------------------------ open, close */

static void member_free(struct member *member)
{
    events_told(member);
    for (uint32_t i = 0; i < member->event_count; i++) free(member->events[i].tps);
    list_drop(&member->revoking);
    list_drop(&member->held);
    free(member->group);
    sfi_kafka_member_release(member->shared);
    sfi_kafka_link_deinit(&member->link);
    free(member);
}

/* May the instance be destroyed without ending the process? */
static bool member_settle(struct member *member)
{
    int64_t deadline = sfi_os_now_ms() + SETTLE_MS;
    while (!member->is_settled && !member->is_failed && !member->is_cut_off && sfi_os_now_ms() < deadline) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(member->rk, 50);
        if (message != NULL) rd_kafka_message_destroy(message);
    }
    if (member->is_settled || member->is_failed) return true;
    sfi_kafka_link_cut(&member->link);
    char *id = rd_kafka_memberid(member->rk);
    bool is_outside = id == NULL || id[0] == '\0'; /* never answered: it is not, and will not be, in the group */
    if (id != NULL) rd_kafka_mem_free(member->rk, id);
    return is_outside;
}

/* The helper of a member lives after close alone: it leaves the group, which takes a round trip. */
static void *member_leave(void *arg)
{
    struct member *member = arg;
    struct sf_prod_kafka *kafka = member->kafka;
    pthread_mutex_lock(&member->shared->lock); /* waits for an offset commit under way */
    member->shared->rk = NULL;
    pthread_mutex_unlock(&member->shared->lock);
    if (member->revoking != NULL) assign(member->rk, false, member->revoking);
    list_drop(&member->revoking); /* lists that came from the library hold partitions: destroying would never end */
    list_drop(&member->held);
    rd_kafka_queue_destroy(member->queue);
    rd_kafka_queue_destroy(member->answers);
    if (member_settle(member)) {
        (void)rd_kafka_consumer_close(member->rk);
        rd_kafka_destroy(member->rk);
        member_free(member);
    } else {
        sfi_kafka_link_abandon(&member->link);
    }
    sfi_kafka_helper_end(kafka);
    return NULL;
}

static void member_close(void *self)
{
    struct member *member = self;
    rd_kafka_queue_cb_event_enable(member->queue, NULL, NULL);
    rd_kafka_queue_cb_event_enable(member->answers, NULL, NULL);
    member->waker = (struct sf_waker){0};
    member->is_closing = true;
    sfi_kafka_helper_start(member->kafka, member_leave, member);
}

static const struct sf_consumer_ops member_ops = {.add = no_partitions,
                                                  .remove = no_partition,
                                                  .seek = no_partitions,
                                                  .pause = no_partition,
                                                  .resume = no_partition,
                                                  .poll = member_poll,
                                                  .release = no_batches,
                                                  .token = member_token,
                                                  .confirm = member_confirm,
                                                  .yield = member_yield,
                                                  .close = member_close};

static rd_kafka_conf_t *member_conf(struct member *member, const struct sf_consumer_config *config)
{
    rd_kafka_conf_t *conf = sfi_kafka_conf_new(&member->link, config->purpose != NULL ? config->purpose : "owner");
    sfi_kafka_conf_set(conf, "group.id", config->group);
    if (config->instance != NULL) sfi_kafka_conf_set(conf, "group.instance.id", config->instance);
    sfi_kafka_conf_set(conf, "partition.assignment.strategy", "cooperative-sticky");
    sfi_kafka_conf_set(conf, "enable.auto.commit", "false");
    sfi_kafka_conf_set(conf, "enable.auto.offset.store", "false");
    rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
    rd_kafka_conf_set_error_cb(conf, on_error);
    return conf;
}

static void member_subscribe(struct member *member, const char *const *names)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    struct sf_kafka kafka = sf_prod_kafka_handle(member->kafka);
    for (; *names != NULL; names++) {
        (void)sf_kafka_topic(kafka, *names);
        (void)rd_kafka_topic_partition_list_add(list, *names, RD_KAFKA_PARTITION_UA);
    }
    rd_kafka_resp_err_t err = rd_kafka_subscribe(member->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (err != RD_KAFKA_RESP_ERR_NO_ERROR) member_fail(member, sfi_kafka_status(err), rd_kafka_err2str(err));
}

enum sf_status sfi_kafka_member_open(struct sf_prod_kafka *kafka, const struct sf_consumer_config *config,
                                     struct sf_consumer *consumer_out, struct sf_error *error)
{
    if (config->group == NULL || config->group[0] == '\0')
        return sfi_kafka_fail(error, SF_E_ARG, "a member needs a group");
    struct member *member = sfi_kafka_alloc(sizeof *member);
    member->kafka = kafka;
    sfi_kafka_link_init(&member->link, kafka);
    member->waker = config->waker;
    member->group = sfi_kafka_strdup(config->group);
    member->shared = sfi_kafka_member_new();
    member->rk = sfi_kafka_instance_new(RD_KAFKA_CONSUMER, member_conf(member, config), error);
    if (member->rk == NULL) {
        member_free(member);
        return error->status;
    }
    member->shared->rk = member->rk;
    (void)rd_kafka_poll_set_consumer(member->rk);
    member->queue = rd_kafka_queue_get_consumer(member->rk);
    rd_kafka_queue_cb_event_enable(member->queue, on_ready, member);
    member->answers = rd_kafka_queue_new(member->rk);
    rd_kafka_queue_cb_event_enable(member->answers, on_ready, member);
    member_subscribe(member, config->subscribe);
    *consumer_out = (struct sf_consumer){&member_ops, member};
    return SF_OK;
}
