/* One partition of a producer: from write to delivered. */
#include "sim/kafka_producer.h"
#include "sim/random.h"

static void chunks_free(struct sf_alloc alloc, struct sfi_chunk *chunk)
{
    while (chunk != NULL) {
        struct sfi_chunk *next = chunk->next;
        sfi_chunk_unpin(alloc, chunk);
        chunk = next;
    }
}

/* Bytes that are queued no more; tells who waits for room. */
static void room_made(struct sfi_producer *producer, uint64_t bytes)
{
    assert(bytes <= producer->queued_bytes);
    producer->queued_bytes -= bytes;
    if (!producer->is_starved || producer->queued_bytes >= producer->queue_bytes_max) return;
    producer->is_starved = false;
    sfi_producer_note(producer, &(struct sf_producer_event){.kind = SF_PRODUCER_ROOM});
}

static const struct sf_sim_kafka_config *config_of(const struct sfi_outbox *outbox)
{
    return &outbox->producer->client.broker->config;
}

static void request_send(struct sfi_outbox *outbox)
{
    struct sfi_client *client = &outbox->producer->client;
    if (outbox->has_request || outbox->unsent == NULL || outbox->producer->state == SFI_SESSION_OVER) return;
    outbox->has_request = true;
    outbox->request_fate = outbox->fate;
    outbox->fate = SF_SIM_FATE_NORMAL;
    int64_t delay_us = sfi_client_leg_us(client, config_of(outbox)->produce, SF_SIM_DOMAIN_KAFKA_SEND);
    sfi_timer_send(&outbox->request, delay_us, outbox->request_fate);
}

/* What is unsent when the request goes: a request takes all that was written meanwhile. */
static void request_fill(struct sfi_outbox *outbox)
{
    if (outbox->sent != NULL || outbox->unsent == NULL || outbox->sent_bytes > 0) return;
    outbox->sent = outbox->unsent;
    outbox->sent_bytes = outbox->unsent_bytes;
    outbox->unsent = outbox->unsent_last = NULL;
    outbox->unsent_bytes = 0;
    outbox->request_number++;
}

static void request_done(struct sfi_outbox *outbox)
{
    struct sfi_producer *producer = outbox->producer;
    chunks_free(producer->client.broker->alloc, outbox->sent);
    outbox->sent = NULL;
    outbox->has_request = outbox->is_waiting = false;
    sfi_timer_cancel(&outbox->expiry);
    uint64_t bytes = outbox->sent_bytes;
    outbox->sent_bytes = 0;
    room_made(producer, bytes);
}

static enum sfi_result apply(struct sfi_outbox *outbox)
{
    struct sfi_producer *producer = outbox->producer;
    struct sfi_log *log = sfi_broker_log(producer->client.broker, outbox->broker_tp);
    if (log == NULL) return SFI_UNKNOWN_TOPIC;
    struct sfi_produce produce = {.session = producer->session, .chunks = outbox->sent,
                                  .number = outbox->request_number, .is_first = !outbox->is_added};
    enum sfi_result result = sfi_txn_produce(log, &produce, &outbox->result_end);
    if (result == SFI_OK) outbox->sent = NULL; /* the log's now */
    return result;
}

/* At the broker. */
static void request_fn(void *ctx)
{
    struct sfi_outbox *outbox = ctx;
    struct sfi_producer *producer = outbox->producer;
    struct sfi_client *client = &producer->client;
    const struct sf_sim_kafka_config *config = config_of(outbox);
    request_fill(outbox);
    struct sf_sim_kafka_fault fault;
    bool has_fault = !outbox->is_waiting && sfi_broker_take_fault(client->broker, producer->transactional_id,
                                                                  SF_SIM_KAFKA_REQUEST_PRODUCE, &fault);
    outbox->is_waiting = false;
    if (has_fault && fault.effect == SF_SIM_KAFKA_DELAYED) {
        outbox->is_waiting = true; /* the fault is used up */
        sfi_timer_send(&outbox->request, fault.delay_us, SF_SIM_FATE_NORMAL);
        return;
    }
    if (has_fault && fault.effect == SF_SIM_KAFKA_LOST) {
        sfi_timer_send(&outbox->request, config->request_timeout_us, SF_SIM_FATE_NORMAL);
        return;
    }
    outbox->result = has_fault && fault.effect == SF_SIM_KAFKA_REFUSED ? SFI_TOO_LARGE : apply(outbox);
    if (outbox->request_fate == SF_SIM_FATE_DIE_APPLIED) sfi_client_die(client);
    if (!sfi_client_is_live(client)) return;
    if (outbox->result == SFI_WAIT) {
        outbox->is_waiting = true;
        sfi_broker_park(client->broker, &outbox->parked);
        int64_t timeout_us = config->delivery_timeout_us;
        if (producer->transactional_id != NULL && producer->txn_timeout_ms * 1000 < timeout_us)
            timeout_us = producer->txn_timeout_ms * 1000;
        if (!outbox->expiry.is_armed) sfi_timer_arm(&outbox->expiry, timeout_us);
        return;
    }
    if (has_fault && fault.effect == SF_SIM_KAFKA_ANSWER_LOST) {
        sfi_timer_send(&outbox->request, config->request_timeout_us, SF_SIM_FATE_NORMAL);
        return;
    }
    sfi_timer_arm(&outbox->answer, sfi_client_leg_us(client, config->produce, SF_SIM_DOMAIN_KAFKA_ANSWER));
}

/* What made the broker refuse for now has changed. */
static void parked_retry(void *ctx)
{
    struct sfi_outbox *outbox = ctx;
    sfi_timer_send(&outbox->request, config_of(outbox)->retry_us, SF_SIM_FATE_NORMAL);
}

static void expiry_fn(void *ctx)
{
    struct sfi_outbox *outbox = ctx;
    sfi_broker_unpark(outbox->producer->client.broker, &outbox->parked);
    sfi_timer_cancel(&outbox->request);
    request_done(outbox);
    sfi_producer_fail(outbox->producer, SF_E_DELIVERY);
    request_send(outbox);
    sfi_producer_pump(outbox->producer);
}

static void answer_fn(void *ctx)
{
    struct sfi_outbox *outbox = ctx;
    struct sfi_producer *producer = outbox->producer;
    enum sfi_result result = outbox->result;
    request_done(outbox);
    switch (result) {
    case SFI_OK:
        outbox->is_added = true;
        outbox->is_written = true;
        outbox->end = outbox->result_end;
        break;
    case SFI_FENCED: sfi_producer_over(producer, SF_E_SESSION, "a record was refused: the epoch is old"); return;
    case SFI_INVALID: sfi_producer_over(producer, SF_E_SESSION, "a record was refused: no such transaction"); return;
    case SFI_UNKNOWN_TOPIC:
        sfi_producer_over(producer, SF_E_UNKNOWN_TOPIC, "a record for a topic that is not there");
        return;
    case SFI_TOO_LARGE: sfi_producer_fail(producer, SF_E_DELIVERY); break;
    case SFI_WAIT:
    case SFI_STALE_MEMBER: assert(false); break;
    }
    request_send(outbox);
    sfi_producer_pump(producer);
}

struct sfi_outbox *sfi_outbox_get(struct sfi_producer *producer, struct sf_tp tp)
{
    struct sfi_outbox **link = &producer->outboxes;
    for (; *link != NULL; link = &(*link)->next)
        if ((*link)->tp.topic == tp.topic && (*link)->tp.partition == tp.partition) return *link;
    struct sfi_client *client = &producer->client;
    struct sfi_outbox *outbox = sf_malloc(client->broker->alloc, sizeof *outbox);
    *outbox = (struct sfi_outbox){.producer = producer, .tp = tp, .broker_tp = sfi_handle_tp(client->handle, tp)};
    outbox->parked = (struct sfi_parked){.retry = parked_retry, .ctx = outbox};
    sfi_timer_init_ctx(&outbox->request, client, request_fn, outbox);
    sfi_timer_init_ctx(&outbox->answer, client, answer_fn, outbox);
    sfi_timer_init_ctx(&outbox->expiry, client, expiry_fn, outbox);
    *link = outbox;
    return outbox;
}

uint32_t sfi_outbox_write(struct sfi_outbox *outbox, const struct sf_out *records, uint32_t count,
                          enum sf_sim_fate fate)
{
    struct sfi_producer *producer = outbox->producer;
    uint32_t taken = 0;
    for (; taken < count; taken++) {
        uint64_t bytes = sfi_out_bytes(&records[taken]) + sizeof(struct sf_record);
        if (producer->queued_bytes > 0 && producer->queued_bytes + bytes > producer->queue_bytes_max) break;
        if (outbox->unsent_last == NULL || !sfi_chunk_add(outbox->unsent_last, &records[taken])) {
            struct sfi_chunk *chunk = sfi_chunk_new_for(producer->client.broker->alloc, outbox->unsent_last, 1,
                                                        &records[taken], count - taken);
            if (outbox->unsent_last == NULL)
                outbox->unsent = chunk;
            else
                outbox->unsent_last->next = chunk;
            outbox->unsent_last = chunk;
            bool is_added = sfi_chunk_add(chunk, &records[taken]);
            assert(is_added);
            (void)is_added;
        }
        outbox->unsent_bytes += bytes;
        producer->queued_bytes += bytes;
    }
    if (taken < count) producer->is_starved = true;
    if (fate != SF_SIM_FATE_NORMAL) outbox->fate = fate;
    request_send(outbox);
    return taken;
}

bool sfi_outboxes_busy(const struct sfi_producer *producer)
{
    for (const struct sfi_outbox *outbox = producer->outboxes; outbox != NULL; outbox = outbox->next)
        if (outbox->has_request || outbox->unsent != NULL) return true;
    return false;
}

static void unsent_drop(struct sfi_outbox *outbox)
{
    struct sfi_producer *producer = outbox->producer;
    chunks_free(producer->client.broker->alloc, outbox->unsent);
    outbox->unsent = outbox->unsent_last = NULL;
    uint64_t bytes = outbox->unsent_bytes;
    outbox->unsent_bytes = 0;
    room_made(producer, bytes);
}

void sfi_outboxes_purge(struct sfi_producer *producer)
{
    int64_t now_us = producer->client.broker->world->mono_us;
    for (struct sfi_outbox *outbox = producer->outboxes; outbox != NULL; outbox = outbox->next) {
        bool is_filled = outbox->sent_bytes > 0;
        bool is_on_wire = outbox->request.is_armed && outbox->request.sent_at_us < now_us;
        if (!is_filled && outbox->has_request && is_on_wire) continue; /* takes what is unsent along */
        unsent_drop(outbox);
        if (!is_filled && outbox->request.is_armed) {
            sfi_timer_cancel(&outbox->request);
            request_done(outbox);
        }
        if (outbox->parked.is_linked) {
            sfi_broker_unpark(producer->client.broker, &outbox->parked);
            request_done(outbox);
        }
    }
}

void sfi_outboxes_stop(struct sfi_producer *producer)
{
    for (struct sfi_outbox *outbox = producer->outboxes; outbox != NULL; outbox = outbox->next) {
        sfi_broker_unpark(producer->client.broker, &outbox->parked);
        if (sfi_client_is_live(&producer->client)) { /* over, not dead: nothing more is sent or heard */
            sfi_timer_cancel(&outbox->request);
            sfi_timer_cancel(&outbox->answer);
            sfi_timer_cancel(&outbox->expiry);
        }
    }
}

void sfi_outboxes_free(struct sfi_producer *producer)
{
    struct sf_alloc alloc = producer->client.broker->alloc;
    while (producer->outboxes != NULL) {
        struct sfi_outbox *outbox = producer->outboxes;
        producer->outboxes = outbox->next;
        chunks_free(alloc, outbox->unsent);
        chunks_free(alloc, outbox->sent);
        sf_free(alloc, outbox, sizeof *outbox);
    }
}
