/*
 * Bell: how a thread that is no task waits for news of a Kafka client. The client gets the bell's waker; whoever rings
 * before the wait begins is not missed, since a ring is kept until a wait takes it.
 *
 * Threading: ringing from any thread, waiting by one.
 */
#ifndef SF_PROD_BELL_H
#define SF_PROD_BELL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/io/sched.h"

/* Caller's memory; must outlive its wakers. */
struct sf_prod_bell {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool is_rung;
};

void sf_prod_bell_init(struct sf_prod_bell *bell);
void sf_prod_bell_deinit(struct sf_prod_bell *bell);

void sf_prod_bell_ring(struct sf_prod_bell *bell);
/* Until a ring or for `ms` at most; takes the ring. */
void sf_prod_bell_wait(struct sf_prod_bell *bell, int64_t ms);

struct sf_waker sf_prod_bell_waker(struct sf_prod_bell *bell);

#endif
