#include "sim/kafka_admin.h"

#include "sim/random.h"

static int64_t in_order_us(struct sfi_admin *admin, uint32_t domain, int64_t *last_us)
{
    struct sfi_client *client = &admin->client;
    int64_t now_us = client->broker->world->mono_us;
    int64_t at_us = now_us + sfi_client_leg_us(client, client->broker->config.admin, domain);
    if (at_us < *last_us) at_us = *last_us;
    *last_us = at_us;
    return at_us - now_us;
}

/* ---------------------------------------------------------------- requests */

static void answer_send(struct sfi_admin_op *op)
{
    struct sfi_admin *admin = op->admin;
    if (!sfi_client_is_live(&admin->client)) return;
    sfi_timer_arm(&op->answer, in_order_us(admin, SF_SIM_DOMAIN_KAFKA_ANSWER, &admin->answer_last_us));
}

static void request_fn(void *ctx)
{
    struct sfi_admin_op *op = ctx;
    struct sfi_client *client = &op->admin->client;
    bool is_done = sfi_admin_apply(op);
    if (op->fate == SF_SIM_FATE_DIE_APPLIED) sfi_client_die(client);
    if (!sfi_client_is_live(client)) return;
    if (is_done)
        answer_send(op);
    else
        sfi_broker_park(client->broker, &op->parked);
}

static void parked_retry(void *ctx)
{
    struct sfi_admin_op *op = ctx;
    sfi_timer_send(&op->request, op->admin->client.broker->config.retry_us, SF_SIM_FATE_NORMAL);
}

/* ---------------------------------------------------------------- answers */

/* Answer a watch again if the partition count is another than the last told. */
static void watch_look(struct sfi_admin_op *op)
{
    if (op->request.is_armed || op->answer.is_armed) return;
    if (sf_sim_kafka_partition_count(op->admin->client.broker, op->topic) == op->partition_count) return;
    (void)sfi_admin_apply(op);
    answer_send(op);
}

static void answer_fn(void *ctx)
{
    struct sfi_admin_op *op = ctx;
    struct sfi_admin *admin = op->admin;
    op->event.partition_count = op->partition_count;
    op->event.settings = op->kind == SFI_ADMIN_DESCRIBE ? op->settings : NULL;
    op->event.setting_count = op->kind == SFI_ADMIN_DESCRIBE ? op->count : 0;
    op->event.answers = op->answers;
    op->event.answer_count = op->answers != NULL ? op->count : 0;
    if (!op->is_answered) admin->answered_count++;
    op->is_answered = true;
    if (admin->answered_count == 1) sfi_client_wake(&admin->client);
    if (op->kind == SFI_ADMIN_WATCH) watch_look(op); /* it may have changed on the way */
}

static struct sfi_admin_op *op_new(struct sfi_admin *admin, enum sfi_admin_kind kind, uint64_t tag, uint32_t count)
{
    struct sf_alloc alloc = admin->client.broker->alloc;
    struct sfi_admin_op *op = sf_malloc(alloc, sizeof *op);
    *op = (struct sfi_admin_op){.admin = admin, .kind = kind, .count = count, .event = {.tag = tag}};
    op->parked = (struct sfi_parked){.retry = parked_retry, .ctx = op};
    sfi_timer_init_ctx(&op->request, &admin->client, request_fn, op);
    sfi_timer_init_ctx(&op->answer, &admin->client, answer_fn, op);
    return op;
}

static void op_tps(struct sfi_admin_op *op, const struct sf_tp *tps)
{
    struct sf_alloc alloc = op->admin->client.broker->alloc;
    op->tps = sf_malloc(alloc, op->count * sizeof *op->tps);
    op->broker_tps = sf_malloc(alloc, op->count * sizeof *op->broker_tps);
    for (uint32_t i = 0; i < op->count; i++) {
        op->tps[i] = tps[i];
        op->broker_tps[i] = sfi_handle_tp(op->admin->client.handle, tps[i]);
    }
}

/* `boundary` SF_SIM_COMMAND_COUNT: it changes nothing, no crash is planned for it. */
static void op_give(struct sfi_admin_op *op, enum sf_sim_command_kind boundary)
{
    struct sfi_admin *admin = op->admin;
    struct sfi_client *client = &admin->client;
    if (boundary != SF_SIM_COMMAND_COUNT) op->fate = sf_sim_command(client->instance, boundary);
    if (!sfi_client_is_live(client)) {
        sfi_admin_op_free(op);
        return;
    }
    struct sfi_admin_op **link = &admin->ops;
    while (*link != NULL) link = &(*link)->next;
    *link = op;
    sfi_timer_send(&op->request, in_order_us(admin, SF_SIM_DOMAIN_KAFKA_SEND, &admin->request_last_us), op->fate);
}

/* ---------------------------------------------------------------- the table */

static void admin_describe(void *self, uint64_t tag, uint32_t topic)
{
    struct sfi_admin *admin = self;
    struct sfi_admin_op *op = op_new(admin, SFI_ADMIN_DESCRIBE, tag, 0);
    op->topic = sfi_handle_tp(admin->client.handle, (struct sf_tp){.topic = topic}).topic;
    op_give(op, SF_SIM_COMMAND_COUNT);
}

static void admin_create(void *self, uint64_t tag, const struct sf_topic_spec *spec)
{
    struct sfi_admin *admin = self;
    struct sfi_client *client = &admin->client;
    struct sfi_admin_op *op = op_new(admin, SFI_ADMIN_CREATE, tag, spec->setting_count);
    uint32_t topic = sfi_handle_tp(client->handle, (struct sf_tp){.topic = spec->topic}).topic;
    op->name = sfi_strdup(client->broker->alloc, sf_sim_kafka_topic_name(client->broker, topic));
    op->partition_count = spec->partition_count;
    op->settings = sfi_settings_dup(client->broker->alloc, spec->settings, spec->setting_count);
    op_give(op, SF_SIM_COMMAND_ADMIN_CREATE);
}

static void admin_watch(void *self, uint64_t tag, uint32_t topic)
{
    struct sfi_admin *admin = self;
    struct sfi_admin_op *op = op_new(admin, SFI_ADMIN_WATCH, tag, 0);
    op->topic = sfi_handle_tp(admin->client.handle, (struct sf_tp){.topic = topic}).topic;
    op->partition_count = -1;
    op_give(op, SF_SIM_COMMAND_COUNT);
}

static void admin_committed(void *self, uint64_t tag, const char *group, const struct sf_tp *tps, uint32_t count)
{
    struct sfi_admin *admin = self;
    struct sf_alloc alloc = admin->client.broker->alloc;
    struct sfi_admin_op *op = op_new(admin, SFI_ADMIN_COMMITTED, tag, count);
    op_tps(op, tps);
    op->name = sfi_strdup(alloc, group);
    op->answers = sf_calloc(alloc, count, sizeof *op->answers);
    op->metadata = sf_calloc(alloc, count, sizeof *op->metadata);
    op_give(op, SF_SIM_COMMAND_COUNT);
}

static void admin_ends(void *self, uint64_t tag, enum sf_log_end which, const struct sf_tp *tps, uint32_t count)
{
    struct sfi_admin *admin = self;
    struct sfi_admin_op *op = op_new(admin, SFI_ADMIN_ENDS, tag, count);
    op_tps(op, tps);
    op->which = which;
    op->answers = sf_calloc(admin->client.broker->alloc, count, sizeof *op->answers);
    op_give(op, SF_SIM_COMMAND_COUNT);
}

static void admin_commit(void *self, uint64_t tag, const char *group, struct sf_member_token token,
                         const struct sf_offset_commit *commits, uint32_t count)
{
    struct sfi_admin *admin = self;
    struct sf_alloc alloc = admin->client.broker->alloc;
    struct sfi_admin_op *op = op_new(admin, SFI_ADMIN_COMMIT, tag, count);
    op->name = sfi_strdup(alloc, group);
    op->token = token;
    op->broker_tps = sf_malloc(alloc, count * sizeof *op->broker_tps);
    op->offsets = sf_malloc(alloc, count * sizeof *op->offsets);
    op->metadata = sf_malloc(alloc, count * sizeof *op->metadata);
    for (uint32_t i = 0; i < count; i++) {
        op->broker_tps[i] = sfi_handle_tp(admin->client.handle, commits[i].tp);
        op->offsets[i] = commits[i].offset;
        op->metadata[i] = sfi_slice_copy(alloc, commits[i].metadata);
    }
    op_give(op, SF_SIM_COMMAND_ADMIN_COMMIT);
}

static void admin_truncate(void *self, uint64_t tag, struct sf_tp tp, int64_t before)
{
    struct sfi_admin_op *op = op_new(self, SFI_ADMIN_TRUNCATE, tag, 1);
    op_tps(op, &tp);
    op->before = before;
    op_give(op, SF_SIM_COMMAND_ADMIN_TRUNCATE);
}

static void polled_free(struct sfi_admin *admin)
{
    while (admin->polled != NULL) {
        struct sfi_admin_op *next = admin->polled->next;
        sfi_admin_op_free(admin->polled);
        admin->polled = next;
    }
}

static uint32_t admin_poll(void *self, struct sf_admin_event *events_out, uint32_t cap)
{
    struct sfi_admin *admin = self;
    polled_free(admin);
    if (!sfi_client_hears(&admin->client)) return 0;
    uint32_t count = 0;
    for (struct sfi_admin_op **link = &admin->ops; *link != NULL && count < cap && admin->answered_count > 0;) {
        struct sfi_admin_op *op = *link;
        if (!op->is_answered) {
            link = &op->next;
            continue;
        }
        admin->answered_count--;
        op->is_answered = false;
        events_out[count++] = op->event;
        if (op->kind == SFI_ADMIN_WATCH) {
            link = &op->next;
            continue;
        }
        *link = op->next;
        op->next = admin->polled;
        admin->polled = op;
    }
    return count;
}

static void admin_close(void *self)
{
    sfi_client_close(self);
}

/* ---------------------------------------------------------------- client */

void sfi_admin_topics_changed(struct sfi_client *client)
{
    if (!client->ops->is_admin) return;
    struct sfi_admin *admin = (struct sfi_admin *)client;
    for (struct sfi_admin_op *op = admin->ops; op != NULL; op = op->next)
        if (op->kind == SFI_ADMIN_WATCH) watch_look(op);
}

static void client_stopped(struct sfi_client *client)
{
    struct sfi_admin *admin = (struct sfi_admin *)client;
    for (struct sfi_admin_op *op = admin->ops; op != NULL; op = op->next)
        sfi_broker_unpark(client->broker, &op->parked);
}

static void client_free(struct sfi_client *client)
{
    struct sfi_admin *admin = (struct sfi_admin *)client;
    polled_free(admin);
    while (admin->ops != NULL) {
        struct sfi_admin_op *next = admin->ops->next;
        sfi_admin_op_free(admin->ops);
        admin->ops = next;
    }
    sf_free(client->broker->alloc, admin, sizeof *admin);
}

static bool client_has_events(const struct sfi_client *client)
{
    return ((const struct sfi_admin *)client)->answered_count > 0;
}

struct sf_admin sfi_admin_open(struct sfi_handle *handle, struct sf_waker waker)
{
    static const struct sf_admin_ops ops = {
        .describe = admin_describe, .create = admin_create, .watch = admin_watch, .committed = admin_committed,
        .ends = admin_ends, .commit = admin_commit, .truncate = admin_truncate, .poll = admin_poll,
        .close = admin_close};
    static const struct sfi_client_ops client_ops = {.stopped = client_stopped, .free = client_free,
                                                     .has_events = client_has_events, .is_admin = true};
    struct sfi_admin *admin = sf_malloc(handle->broker->alloc, sizeof *admin);
    *admin = (struct sfi_admin){0};
    sfi_client_init(&admin->client, &client_ops, handle, waker);
    return (struct sf_admin){.ops = &ops, .self = admin};
}
