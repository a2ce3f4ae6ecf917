#include "prod/bell.h"

#include <assert.h>
#include <errno.h>
#include <time.h>

static void check_os(int rc)
{
    (void)rc;
    assert(rc == 0);
}

void sf_prod_bell_init(struct sf_prod_bell *bell)
{
    pthread_condattr_t attr;
    bell->is_rung = false;
    check_os(pthread_mutex_init(&bell->lock, NULL));
    check_os(pthread_condattr_init(&attr));
    check_os(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    check_os(pthread_cond_init(&bell->cond, &attr));
    check_os(pthread_condattr_destroy(&attr));
}

void sf_prod_bell_deinit(struct sf_prod_bell *bell)
{
    check_os(pthread_cond_destroy(&bell->cond));
    check_os(pthread_mutex_destroy(&bell->lock));
}

void sf_prod_bell_ring(struct sf_prod_bell *bell)
{
    check_os(pthread_mutex_lock(&bell->lock));
    bell->is_rung = true;
    check_os(pthread_cond_signal(&bell->cond));
    check_os(pthread_mutex_unlock(&bell->lock));
}

void sf_prod_bell_wait(struct sf_prod_bell *bell, int64_t ms)
{
    struct timespec until;
    assert(ms >= 0);
    check_os(clock_gettime(CLOCK_MONOTONIC, &until));
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    check_os(pthread_mutex_lock(&bell->lock));
    int rc = 0;
    while (!bell->is_rung && rc != ETIMEDOUT) rc = pthread_cond_timedwait(&bell->cond, &bell->lock, &until);
    bell->is_rung = false;
    check_os(pthread_mutex_unlock(&bell->lock));
}

static void wake(void *self, uint32_t task_id)
{
    (void)task_id;
    sf_prod_bell_ring(self);
}

struct sf_waker sf_prod_bell_waker(struct sf_prod_bell *bell)
{
    return (struct sf_waker){.wake = wake, .self = bell};
}
