#include "prod/bell.h"

#include <errno.h>

#include "prod/os.h"

void sf_prod_bell_init(struct sf_prod_bell *bell)
{
    bell->is_rung = false;
    sfi_os_check(pthread_mutex_init(&bell->lock, NULL));
    sfi_os_cond_init(&bell->cond);
}

void sf_prod_bell_deinit(struct sf_prod_bell *bell)
{
    sfi_os_check(pthread_cond_destroy(&bell->cond));
    sfi_os_check(pthread_mutex_destroy(&bell->lock));
}

void sf_prod_bell_ring(struct sf_prod_bell *bell)
{
    sfi_os_check(pthread_mutex_lock(&bell->lock));
    bell->is_rung = true;
    sfi_os_check(pthread_cond_signal(&bell->cond));
    sfi_os_check(pthread_mutex_unlock(&bell->lock));
}

void sf_prod_bell_wait(struct sf_prod_bell *bell, int64_t ms)
{
    assert(ms >= 0);
    struct timespec until = sfi_os_time_in(ms * 1000);
    sfi_os_check(pthread_mutex_lock(&bell->lock));
    int rc = 0;
    while (!bell->is_rung && rc != ETIMEDOUT) rc = pthread_cond_timedwait(&bell->cond, &bell->lock, &until);
    bell->is_rung = false;
    sfi_os_check(pthread_mutex_unlock(&bell->lock));
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
