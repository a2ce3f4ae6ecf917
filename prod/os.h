/*
 * OS: what the parts of prod ask of the operating system in one way: calls that fail only by a bug of ours, and times
 * that no change of the date moves.
 *
 *     struct timespec until = sfi_os_time_in(20000);       in 20 ms
 *     while (!is_rung && rc != ETIMEDOUT) rc = pthread_cond_timedwait(&cond, &lock, &until);
 *
 * Private to prod.
 *
 * Threading: any.
 */
#ifndef SF_PROD_OS_H
#define SF_PROD_OS_H

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

static inline void sfi_os_check(int rc)
{
    (void)rc;
    assert(rc == 0);
}

/* Milliseconds since some moment, those of a suspend too, as in prod/clock.h: for threads that are no tasks. */
int64_t sfi_os_now_ms(void);

/* A condition to wait on until sfi_os_time_in. */
void sfi_os_cond_init(pthread_cond_t *cond);
struct timespec sfi_os_time_in(int64_t us);
/* Until it is signalled, for no reason, or for `ms`. */
void sfi_os_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t ms);

#endif
