/* The clock's conformance suite against the operating system's clocks. */
/* ctest: threads */
#include "tests/conformance/clock_suite.h"

#if defined(SF_HAVE_PROD)

#include <time.h>

#include "prod/clock.h"

static int64_t os_ms(clockid_t id)
{
    struct timespec ts;
    CHECK_EQ(clock_gettime(id, &ts), 0);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void both_clocks_say_what_the_system_says_t3(void **state)
{
    const struct clock_fixture *fixture = *state;
    int64_t boot_before = os_ms(CLOCK_BOOTTIME);
    int64_t mono = sf_clock_mono(fixture->clock).us / 1000;
    int64_t boot_after = os_ms(CLOCK_BOOTTIME);
    CHECK(boot_before <= mono && mono <= boot_after);
    int64_t wall = sf_clock_wall(fixture->clock).ms;
    int64_t off = wall - os_ms(CLOCK_REALTIME);
    CHECK(off > -60000 && off < 60000); /* a step of the system's clock in between may not fail the test */
}

int main(void)
{
    static struct sf_prod_clock clock;
    sf_prod_clock_init(&clock);
    struct clock_fixture fixture = {.clock = sf_prod_clock_handle(&clock)};
    const struct CMUnitTest tests[] = {
        SF_CLOCK_SUITE(&fixture),
        cmocka_unit_test_prestate(both_clocks_say_what_the_system_says_t3, &fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77;
}

#endif
