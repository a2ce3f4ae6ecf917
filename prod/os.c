#include "prod/os.h"

static struct timespec now(clockid_t clock)
{
    struct timespec ts;
    sfi_os_check(clock_gettime(clock, &ts));
    return ts;
}

int64_t sfi_os_now_ms(void)
{
    struct timespec ts = now(CLOCK_BOOTTIME);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void sfi_os_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    sfi_os_check(pthread_condattr_init(&attr));
    sfi_os_check(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    sfi_os_check(pthread_cond_init(cond, &attr));
    sfi_os_check(pthread_condattr_destroy(&attr));
}

struct timespec sfi_os_time_in(int64_t us)
{
    struct timespec ts = now(CLOCK_MONOTONIC);
    ts.tv_sec += (time_t)(us / 1000000);
    ts.tv_nsec += (long)(us % 1000000) * 1000;
    if (ts.tv_nsec >= 1000000000) {
        ts.tv_nsec -= 1000000000;
        ts.tv_sec++;
    }
    return ts;
}

void sfi_os_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t ms)
{
    struct timespec until = sfi_os_time_in(ms * 1000);
    (void)pthread_cond_timedwait(cond, lock, &until);
}
