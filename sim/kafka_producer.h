/*
 * The producer model: records are copied into one outbox per partition and sent from there (kafka_outbox.c); init,
 * offsets, commit, abort and flush are commands, done one after the other (kafka_producer.c).
 *
 *     write    --> outbox --request, answer--> delivered            (one request of a partition on the way at a time)
 *     commit   waits for every outbox and every offsets command, then sends the end, again and again until answered
 *     abort    forgets what was not sent, waits for what was, then sends the end
 *
 * A transaction of which the broker knows nothing (nothing was sent in it) ends without a request: end_sends 0.
 *
 * When the broker says that the epoch is old or the state impossible, the session is over: everything pending ends
 * with SF_E_SESSION, a commit as UNKNOWN if its end was ever sent. FAILED follows, unless an init, commit or abort
 * has told it.
 */
#ifndef SF_SIM_KAFKA_PRODUCER_H
#define SF_SIM_KAFKA_PRODUCER_H

#include "sim/kafka_client.h"
#include "sim/kafka_txn.h"

/* One partition of a producer. */
struct sfi_outbox {
    struct sfi_outbox *next;    /* of the producer, in order of first use */
    struct sfi_producer *producer;
    struct sf_tp tp;            /* the handle's */
    struct sf_tp broker_tp;
    bool is_added;              /* the open transaction has this partition, as far as we know */
    bool is_tracked;
    bool is_written;            /* delivered to in this transaction or since the last flush */
    bool has_request;           /* sent and not answered */
    bool is_waiting;            /* the request is refused for now */
    int64_t end;                /* behind the last record delivered */
    uint64_t request_number;
    enum sf_sim_fate fate;      /* of what is unsent */
    enum sf_sim_fate request_fate;
    struct sfi_chunk *unsent;
    struct sfi_chunk *unsent_last;
    struct sfi_chunk *sent;     /* of the request, until the broker has taken them */
    uint64_t sent_bytes;
    uint64_t unsent_bytes;
    enum sfi_result result;
    int64_t result_end;
    struct sfi_timer request;
    struct sfi_timer answer;
    struct sfi_timer expiry;    /* delivery time-out of a request that waits */
    struct sfi_parked parked;
};

enum sfi_command_kind {
    SFI_COMMAND_INIT,
    SFI_COMMAND_OFFSETS,
    SFI_COMMAND_COMMIT,
    SFI_COMMAND_ABORT,
    SFI_COMMAND_FLUSH
};

struct sfi_command {
    struct sfi_command *next;
    enum sfi_command_kind kind;
    uint64_t tag;
    enum sf_sim_fate fate;
    bool is_started;
    uint32_t end_sends;
    struct sf_member_token token;      /* offsets */
    struct sf_offset_commit *commits;  /* broker's tps; metadata in `bytes` */
    uint32_t commit_count;
    uint8_t *bytes;
    size_t byte_count;
};

struct sfi_producer_note {
    struct sfi_producer_note *next;
    struct sf_producer_event event;
    struct sf_position *positions; /* event.position_count of them */
};

enum sfi_session_state { SFI_SESSION_CLOSED, SFI_SESSION_READY, SFI_SESSION_OPEN, SFI_SESSION_OVER };

struct sfi_producer {
    struct sfi_client client; /* first */
    char *transactional_id;   /* NULL: no transactions */
    char *group;              /* may be NULL */
    int64_t txn_timeout_ms;
    uint64_t queue_bytes_max;
    enum sfi_session_state state;
    struct sfi_session session;
    struct sfi_session answered; /* as the answer under way says; the session's when it is read */
    enum sf_status failure;   /* why the open transaction can only be aborted; SF_OK */
    bool is_offsets_added;    /* the open transaction has sent offsets */
    bool is_starved;          /* a write took less than all: ROOM is owed */
    bool is_late;             /* the request of the first command was delayed by a fault, and comes now */
    bool is_pumping;
    uint64_t queued_bytes;
    struct sfi_outbox *outboxes;
    struct sfi_command *command_head;
    struct sfi_command *command_tail;
    struct sfi_timer request; /* of the first command */
    struct sfi_timer answer;
    enum sfi_result result;
    struct sfi_parked parked;
    struct sfi_producer_note *note_head;
    struct sfi_producer_note *note_tail;
    struct sfi_producer_note *polled; /* their memory lives until the next poll */
};

/* kafka_outbox.c */
struct sfi_outbox *sfi_outbox_get(struct sfi_producer *producer, struct sf_tp tp);
uint32_t sfi_outbox_write(struct sfi_outbox *outbox, const struct sf_out *records, uint32_t count,
                          enum sf_sim_fate fate);
bool sfi_outboxes_busy(const struct sfi_producer *producer);
/* Forget what was not taken by the broker and is not on the wire. */
void sfi_outboxes_purge(struct sfi_producer *producer);
/* Off the broker's lists; nothing is sent any more. */
void sfi_outboxes_stop(struct sfi_producer *producer);
void sfi_outboxes_free(struct sfi_producer *producer);

/* kafka_producer.c */
void sfi_producer_pump(struct sfi_producer *producer);
/* The session is over (SF_E_SESSION, or FATAL). */
void sfi_producer_over(struct sfi_producer *producer, enum sf_status status, const char *text);
/* The open transaction can only be aborted. */
void sfi_producer_fail(struct sfi_producer *producer, enum sf_status status);

/* Tell the outcome of the first command and forget it. */
void sfi_producer_command_end(struct sfi_producer *producer, enum sf_status status, enum sf_outcome outcome);
/* The transaction is over: ready for the next. */
void sfi_producer_transaction_reset(struct sfi_producer *producer);

/* kafka_producer_request.c; ctx is the producer */
void sfi_producer_request_fn(void *ctx);
void sfi_producer_answer_fn(void *ctx);
void sfi_producer_retry(void *ctx);

/* kafka_producer_notes.c */
void sfi_producer_note(struct sfi_producer *producer, const struct sf_producer_event *event);
/* The same with the tracked partitions written to; clears what was written. */
void sfi_producer_note_positions(struct sfi_producer *producer, const struct sf_producer_event *event);
uint32_t sfi_producer_poll(struct sfi_producer *producer, struct sf_producer_event *events_out, uint32_t cap);
void sfi_producer_notes_free(struct sfi_producer *producer);

#endif
