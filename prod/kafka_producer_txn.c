/* Kafka adapter: the helper thread of a producer: what blocks, and how it ended. See kafka_producer.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "prod/kafka_producer.h"

#define CALL_MS 400          /* one call into the library; resumed until there is an outcome */
#define OFFSETS_CALL_MS 5000 /* cannot be resumed: a new call starts over, which is harmless */
#define AGAIN_MS 20          /* between two calls that were answered "not yet" at once */

/* How a transactional call ended, once it did. */
struct ending {
    enum { ENDING_OK, ENDING_ABORT, ENDING_DEAD, ENDING_CLOSED } how;
    rd_kafka_resp_err_t err;
    char text[200];
};

static bool is_closing(struct sfi_kafka_producer *producer)
{
    pthread_mutex_lock(&producer->lock);
    bool answer = producer->is_closing;
    pthread_mutex_unlock(&producer->lock);
    return answer;
}

static void pause_between(struct sfi_kafka_producer *producer)
{
    pthread_mutex_lock(&producer->lock);
    if (!producer->is_closing) sfi_os_cond_wait(&producer->news, &producer->lock, AGAIN_MS);
    pthread_mutex_unlock(&producer->lock);
}

static rd_kafka_error_t *call_once(struct sfi_kafka_producer *producer, const struct sfi_kafka_command *command,
                                   const rd_kafka_consumer_group_metadata_t *metadata)
{
    switch (command->kind) {
    case SFI_INIT: return rd_kafka_init_transactions(producer->rk, CALL_MS);
    case SFI_OFFSETS:
        return rd_kafka_send_offsets_to_transaction(producer->rk, command->offsets, metadata, OFFSETS_CALL_MS);
    case SFI_COMMIT: return rd_kafka_commit_transaction(producer->rk, CALL_MS);
    case SFI_ABORT: return rd_kafka_abort_transaction(producer->rk, CALL_MS);
    case SFI_FLUSH: break;
    }
    assert(false && "not a transactional call");
    return NULL;
}

/* Until there is an outcome, or the client closes. A retriable error is none: the library goes on by itself and the
 * next call waits for the same thing. */
static struct ending call(struct sfi_kafka_producer *producer, const struct sfi_kafka_command *command,
                          const rd_kafka_consumer_group_metadata_t *metadata)
{
    struct ending ending = {.how = ENDING_OK};
    for (;;) {
        if (is_closing(producer)) {
            ending.how = ENDING_CLOSED;
            return ending;
        }
        int64_t before = sfi_os_now_ms();
        rd_kafka_error_t *error = call_once(producer, command, metadata);
        if (error == NULL) return ending;
        bool is_again = rd_kafka_error_is_retriable(error) && !rd_kafka_error_txn_requires_abort(error) &&
                        !rd_kafka_error_is_fatal(error);
        ending.how = rd_kafka_error_txn_requires_abort(error) ? ENDING_ABORT : ENDING_DEAD;
        ending.err = rd_kafka_error_code(error);
        strncpy(ending.text, rd_kafka_error_string(error), sizeof ending.text - 1);
        rd_kafka_error_destroy(error);
        if (!is_again) return ending;
        ending = (struct ending){.how = ENDING_OK};
        if (sfi_os_now_ms() - before < AGAIN_MS) pause_between(producer);
    }
}

/* Fatal errors of the library name their cause elsewhere. Who else holds the session, the membership tells (B14):
 * never FENCED here. */
static enum sf_status dead_status(struct sfi_kafka_producer *producer, rd_kafka_resp_err_t err)
{
    char text[8];
    if (err == RD_KAFKA_RESP_ERR__FATAL) err = rd_kafka_fatal_error(producer->rk, text, sizeof text);
    enum sf_status status = sfi_kafka_status(err);
    return sf_status_class(status) == SF_CLASS_FATAL && status != SF_E_UNSUPPORTED ? status : SF_E_SESSION;
}

static enum sf_status abort_status(struct sfi_kafka_producer *producer)
{
    return atomic_load(&producer->delivery_err) != 0 ? SF_E_DELIVERY : SF_E_TXN;
}

/* The positions of tracked partitions that were written to in `round`; resets them. NULL: none. */
static struct sf_position *positions_take(struct sfi_kafka_producer *producer, uint32_t round, uint32_t *count_out)
{
    pthread_mutex_lock(&producer->lock);
    struct sf_position *positions = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < producer->track_count; i++) {
        int64_t end = atomic_exchange(&producer->tracks[i]->ends[round], -1);
        if (end < 0) continue;
        if (positions == NULL) positions = sfi_kafka_alloc(producer->track_count * sizeof *positions);
        positions[count++] = (struct sf_position){producer->tracks[i]->tp, end};
    }
    pthread_mutex_unlock(&producer->lock);
    *count_out = count;
    return positions;
}

static void answer(struct sfi_kafka_producer *producer, struct sf_producer_event event,
                   struct sf_position *positions, const char *text)
{
    pthread_mutex_lock(&producer->lock);
    enum sf_class class = sf_status_class(event.status);
    if (class == SF_CLASS_LOST || class == SF_CLASS_FATAL) {
        if (producer->dead == SF_OK) producer->dead = event.status;
        producer->is_dead_told = true;
    }
    if (class == SF_CLASS_ABORT) {
        producer->is_abort_told = true;
        if (producer->poison == SF_OK) producer->poison = event.status;
    }
    if (!producer->is_closing) sfi_kafka_producer_push(producer, event, positions, text);
    else free(positions);
    pthread_mutex_unlock(&producer->lock);
}

/* ------------------------------------------------------------------ commands */

static void run_init(struct sfi_kafka_producer *producer, const struct sfi_kafka_command *command)
{
    struct ending ending = call(producer, command, NULL);
    struct sf_producer_event event = {.kind = SF_PRODUCER_INIT, .tag = command->tag};
    if (ending.how != ENDING_OK) event.status = dead_status(producer, ending.err);
    answer(producer, event, NULL, ending.how == ENDING_OK ? NULL : ending.text);
}

static void run_offsets(struct sfi_kafka_producer *producer, const struct sfi_kafka_command *command)
{
    struct sf_producer_event event = {.kind = SF_PRODUCER_OFFSETS, .tag = command->tag};
    struct sfi_kafka_token *token = NULL;
    rd_kafka_consumer_group_metadata_t *outsider = NULL;
    if (command->token.id == 0) {
        outsider = rd_kafka_consumer_group_metadata_new(producer->group);
    } else {
        token = sfi_kafka_token_get(producer->kafka, command->token);
        if (token == NULL) {
            event.status = SF_E_TXN;
            answer(producer, event, NULL, "the proof of membership is too old");
            return;
        }
    }
    struct ending ending = call(producer, command, token != NULL ? token->metadata : outsider);
    if (ending.how == ENDING_ABORT) event.status = SF_E_TXN;
    if (ending.how == ENDING_DEAD) event.status = dead_status(producer, ending.err);
    answer(producer, event, NULL, ending.how == ENDING_OK ? NULL : ending.text);
    if (token != NULL) sfi_kafka_token_release(producer->kafka, token);
    if (outsider != NULL) rd_kafka_consumer_group_metadata_destroy(outsider);
}

/* The table in kafka_producer.h. */
static void run_commit(struct sfi_kafka_producer *producer, const struct sfi_kafka_command *command)
{
    struct sf_producer_event event = {.kind = SF_PRODUCER_COMMITTED, .tag = command->tag};
    pthread_mutex_lock(&producer->lock);
    enum sf_status poison = producer->poison;
    pthread_mutex_unlock(&producer->lock);
    if (poison != SF_OK) {
        event.status = poison;
        event.outcome = SF_OUTCOME_NOT_COMMITTED;
        answer(producer, event, NULL, "something of this transaction was refused before");
        return;
    }
    atomic_store(&producer->end_sends, 0);
    struct ending ending = call(producer, command, NULL);
    event.end_sends = atomic_load(&producer->end_sends);
    if (ending.how == ENDING_OK) {
        event.outcome = SF_OUTCOME_COMMITTED;
        struct sf_position *positions = positions_take(producer, 0, &event.position_count);
        answer(producer, event, positions, NULL);
        return;
    }
    event.outcome = event.end_sends > 0 ? SF_OUTCOME_UNKNOWN : SF_OUTCOME_NOT_COMMITTED;
    if (ending.how == ENDING_ABORT) event.status = event.end_sends > 0 ? SF_E_SESSION : abort_status(producer);
    else event.status = dead_status(producer, ending.err);
    answer(producer, event, NULL, ending.text);
}

static void run_abort(struct sfi_kafka_producer *producer, const struct sfi_kafka_command *command)
{
    atomic_store(&producer->end_sends, 0);
    struct ending ending = call(producer, command, NULL);
    struct sf_producer_event event = {.kind = SF_PRODUCER_ABORTED, .tag = command->tag};
    event.end_sends = atomic_load(&producer->end_sends);
    if (ending.how != ENDING_OK) event.status = dead_status(producer, ending.err);
    answer(producer, event, NULL, ending.how == ENDING_OK ? NULL : ending.text);
}

static void run_flush(struct sfi_kafka_producer *producer, const struct sfi_kafka_command *command)
{
    bool is_dead = false;
    while (atomic_load(&producer->round_pending[command->round]) > 0 && !is_dead && !is_closing(producer)) {
        (void)rd_kafka_flush(producer->rk, AGAIN_MS);
        is_dead = rd_kafka_fatal_error(producer->rk, NULL, 0) != RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    struct sf_producer_event event = {.kind = SF_PRODUCER_FLUSHED, .tag = command->tag};
    uint32_t failed = atomic_exchange(&producer->round_failed[command->round], 0);
    int32_t err = atomic_exchange(&producer->delivery_err, 0);
    if (is_dead) event.status = dead_status(producer, RD_KAFKA_RESP_ERR__FATAL);
    else if (failed > 0) event.status = SF_E_DELIVERY;
    struct sf_position *positions = positions_take(producer, command->round, &event.position_count);
    answer(producer, event, positions, failed > 0 && err != 0 ? rd_kafka_err2str((rd_kafka_resp_err_t)err) : NULL);
}

static void run(struct sfi_kafka_producer *producer, const struct sfi_kafka_command *command)
{
    switch (command->kind) {
    case SFI_INIT: run_init(producer, command); break;
    case SFI_OFFSETS: run_offsets(producer, command); break;
    case SFI_COMMIT: run_commit(producer, command); break;
    case SFI_ABORT: run_abort(producer, command); break;
    case SFI_FLUSH: run_flush(producer, command); break;
    }
}

static void serve(struct sfi_kafka_producer *producer)
{
    while (!producer->is_closing) {
        if (producer->command_count == 0) {
            pthread_cond_wait(&producer->news, &producer->lock);
            continue;
        }
        struct sfi_kafka_command command = producer->commands[producer->command_head];
        producer->command_head = (producer->command_head + 1) % SFI_KAFKA_COMMANDS_MAX;
        producer->command_count--;
        producer->is_running = true;
        pthread_mutex_unlock(&producer->lock);
        run(producer, &command);
        if (command.offsets != NULL) rd_kafka_topic_partition_list_destroy(command.offsets);
        pthread_mutex_lock(&producer->lock);
        producer->is_running = false;
    }
}

void *sfi_kafka_producer_txn(void *arg)
{
    struct sfi_kafka_producer *producer = arg;
    struct sf_prod_kafka *kafka = producer->kafka;
    pthread_mutex_lock(&producer->lock);
    serve(producer);
    pthread_mutex_unlock(&producer->lock);
    (void)rd_kafka_purge(producer->rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                           RD_KAFKA_PURGE_F_NON_BLOCKING);
    for (uint32_t i = 0; i < producer->target_cap; i++)
        if (producer->targets[i] != NULL) rd_kafka_topic_destroy(producer->targets[i]->rkt);
    rd_kafka_destroy(producer->rk);
    sfi_kafka_producer_free(producer);
    sfi_kafka_helper_end(kafka);
    return NULL;
}
