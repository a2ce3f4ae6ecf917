#include "sim/kafka_producer.h"

#include "sim/random.h"

static void command_free(struct sfi_producer *producer, struct sfi_command *command)
{
    struct sf_alloc alloc = producer->client.broker->alloc;
    sf_cfree(alloc, command->commits, command->commit_count, sizeof *command->commits);
    sf_free(alloc, command->bytes, command->byte_count + 1);
    sf_free(alloc, command, sizeof *command);
}

static void command_pop(struct sfi_producer *producer)
{
    struct sfi_command *command = producer->command_head;
    producer->command_head = command->next;
    if (producer->command_head == NULL) producer->command_tail = NULL;
    command_free(producer, command);
}

/* ---------------------------------------------------------------- how commands end */

void sfi_producer_transaction_reset(struct sfi_producer *producer)
{
    for (struct sfi_outbox *outbox = producer->outboxes; outbox != NULL; outbox = outbox->next)
        outbox->is_added = outbox->is_written = false;
    producer->failure = SF_OK;
    producer->is_offsets_added = false;
    producer->state = SFI_SESSION_READY;
}

/* Tell the outcome of the first command and forget it. */
void sfi_producer_command_end(struct sfi_producer *producer, enum sf_status status, enum sf_outcome outcome)
{
    struct sfi_command *command = producer->command_head;
    struct sf_producer_event event = {.status = status, .tag = command->tag, .end_sends = command->end_sends};
    switch (command->kind) {
    case SFI_COMMAND_INIT: event.kind = SF_PRODUCER_INIT; break;
    case SFI_COMMAND_OFFSETS: event.kind = SF_PRODUCER_OFFSETS; break;
    case SFI_COMMAND_ABORT: event.kind = SF_PRODUCER_ABORTED; break;
    case SFI_COMMAND_FLUSH: event.kind = SF_PRODUCER_FLUSHED; break;
    case SFI_COMMAND_COMMIT:
        event.kind = SF_PRODUCER_COMMITTED;
        event.outcome = outcome;
        break;
    }
    bool has_positions = command->kind == SFI_COMMAND_FLUSH ||
                         (command->kind == SFI_COMMAND_COMMIT && outcome == SF_OUTCOME_COMMITTED);
    if (has_positions)
        sfi_producer_note_positions(producer, &event);
    else
        sfi_producer_note(producer, &event);
    command_pop(producer);
}

static void end_over(struct sfi_producer *producer, enum sf_status status)
{
    bool was_sent = producer->command_head->end_sends > 0;
    sfi_producer_command_end(producer, status, was_sent ? SF_OUTCOME_UNKNOWN : SF_OUTCOME_NOT_COMMITTED);
}

void sfi_producer_over(struct sfi_producer *producer, enum sf_status status, const char *text)
{
    if (producer->state == SFI_SESSION_OVER) return;
    producer->state = SFI_SESSION_OVER;
    producer->failure = status;
    sfi_timer_cancel(&producer->request);
    sfi_timer_cancel(&producer->answer);
    sfi_broker_unpark(producer->client.broker, &producer->parked);
    sfi_outboxes_stop(producer);
    bool is_told = false;
    while (producer->command_head != NULL) {
        enum sfi_command_kind kind = producer->command_head->kind;
        if (kind == SFI_COMMAND_INIT || kind == SFI_COMMAND_COMMIT || kind == SFI_COMMAND_ABORT) is_told = true;
        end_over(producer, status);
    }
    if (is_told) return;
    sfi_producer_note(producer, &(struct sf_producer_event){.kind = SF_PRODUCER_FAILED, .status = status,
                                                            .text = text});
}

void sfi_producer_fail(struct sfi_producer *producer, enum sf_status status)
{
    if (producer->state == SFI_SESSION_OVER || producer->failure != SF_OK) return;
    producer->failure = status;
    const struct sfi_command *command = producer->command_head;
    if (producer->transactional_id == NULL) return; /* flush tells */
    if (command != NULL && (command->kind == SFI_COMMAND_COMMIT || command->kind == SFI_COMMAND_ABORT)) return;
    sfi_producer_note(producer, &(struct sf_producer_event){.kind = SF_PRODUCER_FAILED, .status = status,
                                                            .text = "a record was not delivered"});
}

/* ---------------------------------------------------------------- one command after the other */

static bool is_known_to_broker(const struct sfi_producer *producer)
{
    if (producer->is_offsets_added) return true;
    for (const struct sfi_outbox *outbox = producer->outboxes; outbox != NULL; outbox = outbox->next)
        if (outbox->is_added) return true;
    return false;
}

static void request_send(struct sfi_producer *producer)
{
    struct sfi_client *client = &producer->client;
    int64_t delay_us = sfi_client_leg_us(client, client->broker->config.commit, SF_SIM_DOMAIN_KAFKA_SEND);
    sfi_timer_send(&producer->request, delay_us, producer->command_head->fate);
}

/* An end that needs no request. A planned crash falls here. */
static void end_local(struct sfi_producer *producer, enum sf_status status, enum sf_outcome outcome)
{
    if (producer->command_head->fate != SF_SIM_FATE_NORMAL) sfi_client_die(&producer->client);
    sfi_producer_command_end(producer, status, outcome);
}

/* True if the first command ended here. */
static bool command_step(struct sfi_producer *producer)
{
    struct sfi_command *command = producer->command_head;
    bool was_started = command->is_started;
    command->is_started = true;
    switch (command->kind) {
    case SFI_COMMAND_INIT: break;
    case SFI_COMMAND_OFFSETS:
        if (producer->failure == SF_OK) break;
        end_local(producer, producer->failure, SF_OUTCOME_NOT_COMMITTED);
        return true;
    case SFI_COMMAND_COMMIT:
        if (producer->failure != SF_OK) {
            end_local(producer, producer->failure, SF_OUTCOME_NOT_COMMITTED);
            return true;
        }
        if (sfi_outboxes_busy(producer)) return false;
        if (is_known_to_broker(producer)) break;
        end_local(producer, SF_OK, SF_OUTCOME_COMMITTED);
        sfi_producer_transaction_reset(producer);
        return true;
    case SFI_COMMAND_ABORT:
        if (!was_started) sfi_outboxes_purge(producer);
        if (sfi_outboxes_busy(producer)) return false;
        if (is_known_to_broker(producer)) break;
        end_local(producer, SF_OK, SF_OUTCOME_NOT_COMMITTED);
        sfi_producer_transaction_reset(producer);
        return true;
    case SFI_COMMAND_FLUSH:
        if (sfi_outboxes_busy(producer)) return false;
        end_local(producer, producer->failure, SF_OUTCOME_NOT_COMMITTED);
        producer->failure = SF_OK;
        return true;
    }
    request_send(producer);
    return false;
}

void sfi_producer_pump(struct sfi_producer *producer)
{
    if (producer->is_pumping) return;
    producer->is_pumping = true;
    while (producer->command_head != NULL && producer->state != SFI_SESSION_OVER) {
        if (!sfi_client_is_live(&producer->client)) break;
        if (producer->request.is_armed || producer->answer.is_armed || producer->parked.is_linked) break;
        if (!command_step(producer)) break;
    }
    producer->is_pumping = false;
}

static struct sfi_command *command_new(struct sfi_producer *producer, enum sfi_command_kind kind, uint64_t tag,
                                       enum sf_sim_fate fate)
{
    struct sfi_command *command = sf_malloc(producer->client.broker->alloc, sizeof *command);
    *command = (struct sfi_command){.kind = kind, .tag = tag, .fate = fate};
    return command;
}

static void command_push(struct sfi_producer *producer, struct sfi_command *command)
{
    if (producer->command_head == NULL)
        producer->command_head = command;
    else
        producer->command_tail->next = command;
    producer->command_tail = command;
    if (producer->state == SFI_SESSION_OVER)
        end_over(producer, producer->failure);
    else
        sfi_producer_pump(producer);
}

static void command_give(struct sfi_producer *producer, enum sfi_command_kind kind, uint64_t tag,
                         enum sf_sim_command_kind boundary)
{
    enum sf_sim_fate fate = sf_sim_command(producer->client.instance, boundary);
    if (fate != SF_SIM_FATE_SWALLOW) command_push(producer, command_new(producer, kind, tag, fate));
}

/* ---------------------------------------------------------------- the table */

static void producer_init(void *self, uint64_t tag)
{
    struct sfi_producer *producer = self;
    assert(producer->transactional_id != NULL);
    assert(producer->state == SFI_SESSION_CLOSED || producer->state == SFI_SESSION_OVER);
    command_give(producer, SFI_COMMAND_INIT, tag, SF_SIM_COMMAND_INIT);
}

static enum sf_status producer_begin(void *self)
{
    struct sfi_producer *producer = self;
    if (!sfi_client_is_live(&producer->client)) return SF_OK;
    if (producer->state == SFI_SESSION_OVER) return producer->failure;
    if (producer->state != SFI_SESSION_READY) return SF_E_STATE;
    producer->state = SFI_SESSION_OPEN;
    return SF_OK;
}

static uint32_t producer_write(void *self, struct sf_tp tp, const struct sf_out *records, uint32_t count)
{
    struct sfi_producer *producer = self;
    if (producer->state == SFI_SESSION_OVER) return count;
    enum sf_sim_fate fate = sf_sim_command(producer->client.instance, SF_SIM_COMMAND_WRITE);
    if (fate == SF_SIM_FATE_SWALLOW) return count;
    assert(producer->transactional_id == NULL || producer->state == SFI_SESSION_OPEN);
    return sfi_outbox_write(sfi_outbox_get(producer, tp), records, count, fate);
}

static void producer_track(void *self, struct sf_tp tp)
{
    struct sfi_outbox *outbox = sfi_outbox_get(self, tp);
    outbox->is_tracked = true;
    outbox->is_written = false;
}

static void offsets_copy(struct sfi_producer *producer, struct sfi_command *command,
                         const struct sf_offset_commit *commits, uint32_t count)
{
    struct sf_alloc alloc = producer->client.broker->alloc;
    for (uint32_t i = 0; i < count; i++) command->byte_count += commits[i].metadata.len;
    command->bytes = sf_malloc(alloc, command->byte_count + 1);
    command->commits = sf_calloc(alloc, count, sizeof *command->commits);
    command->commit_count = count;
    uint8_t *to = command->bytes;
    for (uint32_t i = 0; i < count; i++) {
        struct sf_offset_commit *copy = &command->commits[i];
        *copy = commits[i];
        copy->tp = sfi_handle_tp(producer->client.handle, commits[i].tp);
        if (copy->metadata.data == NULL) continue;
        assert(copy->metadata.len <= SF_KAFKA_METADATA_BYTES_MAX);
        if (copy->metadata.len > 0) memcpy(to, commits[i].metadata.data, copy->metadata.len);
        copy->metadata.data = to;
        to += copy->metadata.len;
    }
}

static void producer_offsets(void *self, uint64_t tag, struct sf_member_token token,
                             const struct sf_offset_commit *commits, uint32_t count)
{
    struct sfi_producer *producer = self;
    enum sf_sim_fate fate = sf_sim_command(producer->client.instance, SF_SIM_COMMAND_OFFSETS);
    if (fate == SF_SIM_FATE_SWALLOW) return;
    assert(producer->group != NULL);
    assert(producer->state == SFI_SESSION_OPEN || producer->state == SFI_SESSION_OVER);
    struct sfi_command *command = command_new(producer, SFI_COMMAND_OFFSETS, tag, fate);
    command->token = token;
    offsets_copy(producer, command, commits, count);
    command_push(producer, command);
}

static void producer_commit(void *self, uint64_t tag)
{
    command_give(self, SFI_COMMAND_COMMIT, tag, SF_SIM_COMMAND_COMMIT);
}

static void producer_abort(void *self, uint64_t tag)
{
    command_give(self, SFI_COMMAND_ABORT, tag, SF_SIM_COMMAND_ABORT);
}

static void producer_flush(void *self, uint64_t tag)
{
    assert(((struct sfi_producer *)self)->transactional_id == NULL);
    command_give(self, SFI_COMMAND_FLUSH, tag, SF_SIM_COMMAND_FLUSH);
}

static uint32_t producer_poll(void *self, struct sf_producer_event *events_out, uint32_t cap)
{
    return sfi_producer_poll(self, events_out, cap);
}

static void producer_close(void *self)
{
    sfi_client_close(self);
}

/* ---------------------------------------------------------------- client */

static void client_stopped(struct sfi_client *client)
{
    struct sfi_producer *producer = (struct sfi_producer *)client;
    sfi_broker_unpark(client->broker, &producer->parked);
    sfi_outboxes_stop(producer);
}

static void client_free(struct sfi_client *client)
{
    struct sfi_producer *producer = (struct sfi_producer *)client;
    struct sf_alloc alloc = client->broker->alloc;
    while (producer->command_head != NULL) command_pop(producer);
    sfi_outboxes_free(producer);
    sfi_producer_notes_free(producer);
    sfi_strfree(alloc, producer->transactional_id);
    sfi_strfree(alloc, producer->group);
    sf_free(alloc, producer, sizeof *producer);
}

static bool client_has_events(const struct sfi_client *client)
{
    return ((const struct sfi_producer *)client)->note_head != NULL;
}

struct sf_producer sfi_producer_open(struct sfi_handle *handle, const struct sf_producer_config *config)
{
    static const struct sf_producer_ops ops = {
        .init = producer_init, .begin = producer_begin, .write = producer_write, .track = producer_track,
        .offsets = producer_offsets, .commit = producer_commit, .abort = producer_abort, .flush = producer_flush,
        .poll = producer_poll, .close = producer_close};
    static const struct sfi_client_ops client_ops = {.stopped = client_stopped, .free = client_free,
                                                     .has_events = client_has_events};
    struct sf_sim_kafka *broker = handle->broker;
    struct sfi_producer *producer = sf_malloc(broker->alloc, sizeof *producer);
    *producer = (struct sfi_producer){.txn_timeout_ms = config->txn_timeout_ms,
                                      .queue_bytes_max = config->queue_bytes_max};
    sfi_client_init(&producer->client, &client_ops, handle, config->waker);
    sfi_timer_init(&producer->request, &producer->client, sfi_producer_request_fn);
    sfi_timer_init(&producer->answer, &producer->client, sfi_producer_answer_fn);
    producer->parked = (struct sfi_parked){.retry = sfi_producer_retry, .ctx = producer};
    if (config->group != NULL) producer->group = sfi_strdup(broker->alloc, config->group);
    if (config->transactional_id != NULL)
        producer->transactional_id = sfi_strdup(broker->alloc, config->transactional_id);
    else
        producer->session = (struct sfi_session){.producer_id = ++broker->producer_id_last};
    return (struct sf_producer){.ops = &ops, .self = producer};
}
