/*
 * Inside commit: what commit.c (the epoch at hand, the step) and commit_session.c (producer, membership, the engine's
 * orders) share. Nobody else includes this.
 */
#ifndef SF_CORE_RUN_COMMIT_IMPL_H
#define SF_CORE_RUN_COMMIT_IMPL_H

#include "core/run/commit.h"
#include "core/run/commit_write.h"

#define SFI_COMMIT_STAGE_CROSSED 3u

/* Tags of the commands that may be pending. Offsets and flushes outlive an abort where there is no transaction, so each
 * has a tag of its own: 0x10 × how many there were, and what it is. */
#define SFI_COMMIT_TAG_INIT 1u
#define SFI_COMMIT_TAG_OFFSETS 2u
#define SFI_COMMIT_TAG_COMMIT 3u
#define SFI_COMMIT_TAG_ABORT 4u
#define SFI_COMMIT_TAG_FLUSH 5u

/* Where the producer is. */
enum sfi_commit_phase {
    SFI_COMMIT_NO_SESSION,
    SFI_COMMIT_OPENING,  /* being the owner is being confirmed, then the session opened */
    SFI_COMMIT_READY,    /* nothing is open */
    SFI_COMMIT_OPEN,     /* the transaction of the epoch at hand is */
    SFI_COMMIT_ENDING,   /* its commit was asked for */
    SFI_COMMIT_ABORTING,
    SFI_COMMIT_TROUBLED  /* the engine has been told and decides */
};

struct sf_commit {
    struct sf_commit_config config;
    struct sf_task *task;
    struct sf_port **ports;
    uint32_t port_count;
    bool is_exactly_once;

    struct sf_consumer member;
    bool is_owner;
    bool is_revoking;
    struct sf_producer producer;
    struct sf_admin admin; /* at-least-once: offsets outside transactions */
    enum sfi_commit_phase phase;
    uint64_t session_count; /* producers opened so far */
    bool is_answer_due;     /* a SESSION of the engine waits for its answer */
    bool is_held;           /* the engine settles: what lanes have may be about to fall back, nothing is written until
                             * it says how it goes on (RESET, or that the commit in doubt stands) */

    bool is_stopped;
    uint32_t generation;
    uint64_t epoch;      /* the one at hand */
    uint64_t published; /* newest that has committed */
    bool is_untold;     /* the engine has not been told: it has still to read of an earlier one */
    bool *is_crossed;    /* by lane */
    uint32_t crossed_count;
    const struct sf_lane_counts **counts; /* by lane, of the epoch at hand */
    const struct sf_cut *cut;
    struct sf_mono_ts cut_at;
    bool are_offsets_sent;
    bool are_offsets_done;
    bool is_barrier_late;
    uint32_t stage;      /* at-least-once: what may be written now, SF_OUT_… ; exactly-once: STAGE_CROSSED */
    bool is_flushing;
    uint64_t command_count;  /* offsets and flushes so far */
    uint64_t offsets_tag;    /* whose answer is waited for; 0: none */
    uint64_t flush_tag;
    struct sf_commit_write write;
    uint32_t writing_lane; /* whose block `write` has begun */

    struct sf_step_counts *totals; /* by topology step */
    struct sf_sink_counts *sink_totals; /* by sink */
    char text[SF_ERROR_TEXT_BYTES];
};

/* commit.c */
void sfi_commit_epoch_clear(struct sf_commit *commit);
/* The epoch at hand is durable: tell everybody, go on to the next (M6, B1). */
void sfi_commit_publish(struct sf_commit *commit, const struct sf_step *step, const struct sf_position *positions,
                        uint32_t position_count);

/* commit_session.c */
void sfi_commit_trouble(struct sf_commit *commit, enum sf_trouble kind, enum sf_status status, bool is_unknown,
                        const char *text);
void sfi_commit_session_lost(struct sf_commit *commit, enum sf_status status, bool is_unknown, const char *text);
void sfi_commit_tell(struct sf_commit *commit, struct sf_msg msg);
/* Events taken. */
uint32_t sfi_commit_poll_producer(struct sf_commit *commit, const struct sf_step *step);
uint32_t sfi_commit_poll_admin(struct sf_commit *commit, const struct sf_step *step);
uint32_t sfi_commit_poll_member(struct sf_commit *commit);
/* The engine's orders; true when the task is to end. */
bool sfi_commit_obey(struct sf_commit *commit, const struct sf_step *step, uint32_t *used);

#endif
