#include "tests/conformance/clock_suite.h"

#include <pthread.h>
#include <stdatomic.h>

#define READS_PER_THREAD 500000

struct reader {
    struct sf_clock clock;
    _Atomic int64_t *seen_us; /* the greatest value that either thread has read */
    int64_t back_us;          /* how far a read fell behind it, at worst */
};

static void *read_clock(void *arg)
{
    struct reader *reader = arg;
    for (int i = 0; i < READS_PER_THREAD; i++) {
        int64_t before = atomic_load(reader->seen_us);
        int64_t now = sf_clock_mono(reader->clock).us;
        if (before - now > reader->back_us) reader->back_us = before - now;
        int64_t seen = before;
        while (seen < now && !atomic_compare_exchange_weak(reader->seen_us, &seen, now)) {
        }
    }
    return NULL;
}

void clock_never_goes_back_over_reads_from_two_threads(void **state)
{
    const struct clock_fixture *fixture = *state;
    _Atomic int64_t seen_us;
    atomic_init(&seen_us, 0);
    struct reader readers[2] = {{.clock = fixture->clock, .seen_us = &seen_us},
                                {.clock = fixture->clock, .seen_us = &seen_us}};
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, read_clock, &readers[0]), 0);
    (void)read_clock(&readers[1]);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(readers[0].back_us, 0);
    CHECK_EQ(readers[1].back_us, 0);
    CHECK(atomic_load(&seen_us) > 0);
    CHECK(atomic_load(&seen_us) < (int64_t)1 << 62);
}

void clock_mono_stays_when_the_wall_jumps_t3(void **state)
{
    const struct clock_fixture *fixture = *state;
    if (fixture->jump_wall == NULL) skip();
    struct sf_mono_ts mono = sf_clock_mono(fixture->clock);
    struct sf_wall_ts wall = sf_clock_wall(fixture->clock);
    fixture->jump_wall(fixture->self, -30000);
    CHECK_EQ(sf_clock_mono(fixture->clock).us, mono.us);
    CHECK_EQ(sf_clock_wall(fixture->clock).ms, wall.ms - 30000);
    fixture->jump_wall(fixture->self, 90000);
    CHECK_EQ(sf_clock_mono(fixture->clock).us, mono.us);
    CHECK_EQ(sf_clock_wall(fixture->clock).ms, wall.ms + 60000);
}
