/*
 * Time as the oracle sees it: who is silent, who is held, what each partition contributes, and so what the global
 * watermark must be (X2), recomputed from the dispatch log and the simulator's clock.
 *
 *     orders/0   dispatched @5s, empty, caught up       silent for 3 s of 2 s: idle, out of the minimum
 *     orders/1   head held since @6.8s                  counts with its head (P2)
 *     orders/2   empty, lag above zero                  never idle (I7)
 *
 * Silence is an interval. When ingest could dispatch nothing (a lane was full, say) the clocks of partitions with
 * records waiting stand still (I6, I7), and a tick after such time polls before it judges; from outside that can be
 * seen only in part. So each partition has a set of contributions that the rules leave open, mostly of one: an emitted
 * watermark must be the result of one choice. At the end of a step in which ingest had everything and goes to wait,
 * nothing is open: then the watermark is exactly the one value, unless auto-interval holds it back (G2a).
 *
 * Threading: the oracle's.
 */
#ifndef SF_DRIVER_ORACLE_TIME_H
#define SF_DRIVER_ORACLE_TIME_H

#include "driver/oracle_parts.h"

/* Ingest has taken it up, or up again (B12). `has_more`: it has records to read again. */
void sfi_oracle_time_assigned(struct sfi_oracle_instance *instance, uint32_t p, bool has_more);
/* A record has reached its empty buffer, or one was dispatched; its next head, if any, is set (I1). */
void sfi_oracle_time_reached(struct sfi_oracle_instance *instance, uint32_t p);
/* The dispatch batch is over; the last record was of `last` (P1). */
void sfi_oracle_time_batch(struct sfi_oracle_instance *instance, uint32_t last);
void sfi_oracle_lag(void *ctx, struct sf_tp tp, bool is_known, bool is_caught_up);
/* D5: may something be dispatched now? Reports where not. */
bool sfi_oracle_time_may_dispatch(struct sfi_oracle_instance *instance);
void sfi_oracle_time_emitted(struct sfi_oracle_instance *instance, int64_t value, enum sf_watermark_why why);
/* After a step of ingest. */
void sfi_oracle_time_stepped(struct sfi_oracle_instance *instance, const struct sf_sim_step_record *record);
/* The instance begins, or falls back: the watermark it resumes from. */
void sfi_oracle_time_resumed(struct sfi_oracle_instance *instance);


/* What a partition counts with. */
struct sfi_oracle_claim {
    int64_t own;
    int64_t preview;
    int64_t timeout_ms; /* I2; 0: off */
    bool may_be_idle;
    bool must_be_idle;
    bool may_preview;
    bool must_preview;
};

/* `is_judged`: ingest has judged as of now. */
struct sfi_oracle_claim sfi_oracle_time_claim(const struct sfi_oracle_instance *instance, uint32_t p, bool is_judged);

/* --- oracle_wait.c */

/* Its buffer or what is known of its lag has changed. */
void sfi_oracle_wait_update(struct sfi_oracle_instance *instance, uint32_t p);
/* Have the timed waits run out? Reports where not. */
bool sfi_oracle_wait_may_dispatch(struct sfi_oracle_instance *instance);
/* After a step in which ingest had everything and goes to wait until `wake_us`. */
void sfi_oracle_wait_stepped(struct sfi_oracle_instance *instance, int64_t wake_us);

/* --- oracle_view.c */

void sfi_oracle_view_check(struct sfi_oracle_instance *instance, bool is_judged);
/* After a step in which a barrier was fixed: the one before has been counted, the running epoch begins. */
void sfi_oracle_view_check_counts(struct sfi_oracle_instance *instance);

#endif
