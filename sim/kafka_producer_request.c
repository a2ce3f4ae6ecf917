/* The first command's request: at the broker, lost, sent again, answered. */
#include "sim/kafka_group.h"
#include "sim/kafka_producer.h"
#include "sim/kafka_stray.h"
#include "sim/random.h"

/* ---------------------------------------------------------------- at the broker */

static enum sfi_result apply_offsets(struct sfi_producer *producer, const struct sfi_command *command)
{
    enum sfi_result result = sfi_txn_touch(&producer->session);
    if (result != SFI_OK) return result;
    struct sfi_coord *coord = producer->session.coord;
    struct sfi_group *group = sfi_group_get(coord->broker, producer->group);
    coord->has_offsets = true;
    if (command->token.id != 0 && !sfi_group_accepts(group, command->token)) return SFI_STALE_MEMBER;
    for (uint32_t i = 0; i < command->commit_count; i++) sfi_offsets_pend(group, coord->txn, &command->commits[i]);
    return SFI_OK;
}

static enum sfi_result apply(struct sfi_producer *producer, const struct sfi_command *command)
{
    producer->answered = producer->session;
    switch (command->kind) {
    case SFI_COMMAND_INIT:
        return sfi_txn_init(sfi_coord_get(producer->client.broker, producer->transactional_id),
                            producer->txn_timeout_ms * 1000, &producer->answered);
    case SFI_COMMAND_OFFSETS: return apply_offsets(producer, command);
    case SFI_COMMAND_COMMIT: return sfi_txn_end(&producer->answered, true);
    case SFI_COMMAND_ABORT: return sfi_txn_end(&producer->answered, false);
    case SFI_COMMAND_FLUSH: break;
    }
    assert(false);
    return SFI_INVALID;
}

static enum sf_sim_kafka_request request_kind(const struct sfi_command *command)
{
    switch (command->kind) {
    case SFI_COMMAND_INIT: return SF_SIM_KAFKA_REQUEST_INIT;
    case SFI_COMMAND_OFFSETS: return SF_SIM_KAFKA_REQUEST_OFFSETS;
    case SFI_COMMAND_COMMIT: return SF_SIM_KAFKA_REQUEST_END_COMMIT;
    case SFI_COMMAND_ABORT:
    case SFI_COMMAND_FLUSH: break;
    }
    return SF_SIM_KAFKA_REQUEST_END_ABORT;
}

/* A fault keeps this sending of the request from being applied now; it is sent again. */
static bool request_is_lost(struct sfi_producer *producer, const struct sfi_command *command,
                            const struct sf_sim_kafka_fault *fault)
{
    int64_t timeout_us = producer->client.broker->config.request_timeout_us;
    if (fault->effect == SF_SIM_KAFKA_ANSWER_LOST) return false;
    bool is_end = command->kind == SFI_COMMAND_COMMIT || command->kind == SFI_COMMAND_ABORT;
    if (fault->effect == SF_SIM_KAFKA_DELAYED && is_end)
        sfi_stray_send(producer->client.broker, &producer->session, command->kind == SFI_COMMAND_COMMIT,
                       fault->delay_us);
    sfi_timer_send(&producer->request, timeout_us, SF_SIM_FATE_NORMAL);
    return true;
}

void sfi_producer_request_fn(void *ctx)
{
    struct sfi_producer *producer = ctx;
    struct sfi_client *client = &producer->client;
    struct sfi_command *command = producer->command_head;
    const struct sf_sim_kafka_config *config = &client->broker->config;
    struct sf_sim_kafka_fault fault = {.effect = SF_SIM_KAFKA_LOST};
    bool has_fault = !producer->is_late && sfi_broker_take_fault(client->broker, producer->transactional_id,
                                                                 request_kind(command), &fault);
    producer->is_late = has_fault && fault.effect == SF_SIM_KAFKA_DELAYED && sfi_client_is_live(client) &&
                        fault.delay_us < config->request_timeout_us;
    if (producer->is_late) {
        sfi_timer_send(&producer->request, fault.delay_us, SF_SIM_FATE_NORMAL);
        return;
    }
    if (command->kind == SFI_COMMAND_COMMIT || command->kind == SFI_COMMAND_ABORT) command->end_sends++;
    if (has_fault && request_is_lost(producer, command, &fault)) return;
    producer->result = apply(producer, command);
    if (command->fate == SF_SIM_FATE_DIE_APPLIED) sfi_client_die(client);
    if (!sfi_client_is_live(client)) return;
    if (producer->result == SFI_WAIT)
        sfi_broker_park(client->broker, &producer->parked);
    else if (has_fault)
        sfi_timer_send(&producer->request, config->request_timeout_us, SF_SIM_FATE_NORMAL);
    else
        sfi_timer_arm(&producer->answer, sfi_client_leg_us(client, config->commit, SF_SIM_DOMAIN_KAFKA_ANSWER));
}

void sfi_producer_retry(void *ctx)
{
    struct sfi_producer *producer = ctx;
    sfi_timer_send(&producer->request, producer->client.broker->config.retry_us, SF_SIM_FATE_NORMAL);
}

/* ---------------------------------------------------------------- answers */

static void answer_ok(struct sfi_producer *producer, enum sfi_command_kind kind)
{
    producer->session = producer->answered;
    if (kind == SFI_COMMAND_OFFSETS) producer->is_offsets_added = true;
    if (kind == SFI_COMMAND_INIT) producer->state = SFI_SESSION_READY;
    sfi_producer_command_end(producer, SF_OK, SF_OUTCOME_COMMITTED);
    if (kind == SFI_COMMAND_COMMIT || kind == SFI_COMMAND_ABORT) sfi_producer_transaction_reset(producer);
}

void sfi_producer_answer_fn(void *ctx)
{
    struct sfi_producer *producer = ctx;
    enum sfi_command_kind kind = producer->command_head->kind;
    switch (producer->result) {
    case SFI_OK: answer_ok(producer, kind); break;
    case SFI_STALE_MEMBER:
        producer->is_offsets_added = true; /* the transaction has begun, but holds none */
        if (producer->failure == SF_OK) producer->failure = SF_E_TXN;
        sfi_producer_command_end(producer, SF_E_TXN, SF_OUTCOME_NOT_COMMITTED);
        break;
    case SFI_FENCED: sfi_producer_over(producer, SF_E_SESSION, "the epoch is old"); return;
    case SFI_INVALID: sfi_producer_over(producer, SF_E_SESSION, "not in this state of the transaction"); return;
    case SFI_WAIT:
    case SFI_TOO_LARGE:
    case SFI_UNKNOWN_TOPIC: assert(false); break;
    }
    sfi_producer_pump(producer);
}
