#include "prod/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MONO_US_END ((int64_t)1 << 62)

static void give_up(const char *why)
{
    (void)fprintf(stderr, "clock: %s\n", why);
    abort();
}

static struct timespec read_os_clock(clockid_t id)
{
    struct timespec ts;
    if (clock_gettime(id, &ts) != 0) give_up("the system refuses to tell the time");
    return ts;
}

static struct sf_mono_ts clock_mono(void *self)
{
    struct sf_prod_clock *clock = self;
    int64_t before = atomic_load_explicit(&clock->mono_us_last, memory_order_acquire);
    struct timespec ts = read_os_clock(CLOCK_BOOTTIME);
    int64_t now = (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
    if (now < before) give_up("monotonic time went back");
    if (now >= MONO_US_END) give_up("monotonic time is out of range");
    int64_t last = before;
    while (last < now && !atomic_compare_exchange_weak_explicit(&clock->mono_us_last, &last, now,
                                                                memory_order_acq_rel, memory_order_acquire)) {
    }
    return (struct sf_mono_ts){now};
}

static struct sf_wall_ts clock_wall(void *self)
{
    (void)self;
    struct timespec ts = read_os_clock(CLOCK_REALTIME);
    return (struct sf_wall_ts){(int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000};
}

static const struct sf_clock_ops clock_ops = {.mono = clock_mono, .wall = clock_wall};

void sf_prod_clock_init(struct sf_prod_clock *clock)
{
    atomic_init(&clock->mono_us_last, 0);
}

struct sf_clock sf_prod_clock_handle(struct sf_prod_clock *clock)
{
    return (struct sf_clock){.ops = &clock_ops, .self = clock};
}
