/*
 * What every implementation of core/io/clock.h must do. A program gives a fixture as the tests' initial state:
 *
 *     const struct CMUnitTest tests[] = {SF_CLOCK_SUITE(&fixture)};
 */
#ifndef SF_TESTS_CONFORMANCE_CLOCK_SUITE_H
#define SF_TESTS_CONFORMANCE_CLOCK_SUITE_H

#include "tests/check.h"

#include "core/io/clock.h"

struct clock_fixture {
    struct sf_clock clock;
    void (*jump_wall)(void *self, int64_t delta_ms); /* NULL where the wall clock is not ours to move */
    void *self;
};

void clock_never_goes_back_over_reads_from_two_threads(void **state);
void clock_mono_stays_when_the_wall_jumps_t3(void **state);

#define SF_CLOCK_SUITE(fixture)                                                                              \
    cmocka_unit_test_prestate(clock_never_goes_back_over_reads_from_two_threads, fixture),                   \
        cmocka_unit_test_prestate(clock_mono_stays_when_the_wall_jumps_t3, fixture)

#endif
