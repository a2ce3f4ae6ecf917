/* When a barrier is due (B2), and whom dispatch waits for (D5). */
#include "tests/check.h"

#include "core/ingest/cadence.h"
#include "core/ingest/wait.h"

static struct sf_mono_ts ms(int64_t n)
{
    return (struct sf_mono_ts){1000000 + n * 1000};
}

static struct sf_settings settings(void)
{
    return (struct sf_settings){.barrier_interval_ms = 500,
                                .barrier_factor_percent = 150,
                                .barrier_interval_ms_min = 150,
                                .barrier_interval_ms_max = 5000};
}

static void interval_is_the_seed_then_follows_the_commit_b2(void **state)
{
    (void)state;
    struct sf_cadence c;
    struct sf_settings s = settings();
    sf_cadence_init(&c, &s, ms(0));
    CHECK(!sf_cadence_is_due(&c, ms(499)));
    CHECK(sf_cadence_is_due(&c, ms(500)));
    sf_cadence_fixed(&c, ms(510));
    sf_cadence_committed(&c, ms(510 + 200));
    CHECK_EQ(sf_cadence_due_at(&c).us, ms(510 + 300).us); /* from one fixing to the next */
    sf_cadence_fixed(&c, ms(900));
    sf_cadence_committed(&c, ms(910));
    CHECK_EQ(sf_cadence_due_at(&c).us, ms(900 + 150).us);
    sf_cadence_fixed(&c, ms(2000));
    sf_cadence_committed(&c, ms(62000));
    CHECK_EQ(sf_cadence_due_at(&c).us, ms(2000 + 5000).us);
}

static void seed_keeps_within_the_clamp_too_b2(void **state)
{
    (void)state;
    struct sf_cadence c;
    struct sf_settings s = settings();
    s.barrier_interval_ms = 60000;
    sf_cadence_init(&c, &s, ms(0));
    CHECK_EQ(sf_cadence_due_at(&c).us, ms(5000).us);
}

static const struct sf_wait_state unknown = {.is_empty = true};
static const struct sf_wait_state caught_up = {.is_empty = true, .is_lag_known = true, .is_caught_up = true};
static const struct sf_wait_state lagging = {.is_empty = true, .is_lag_known = true};
static const struct sf_wait_state full = {.is_lag_known = true};
static const struct sf_wait_state idle_unknown = {.is_empty = true, .is_idle = true};

static void lag_is_waited_for_the_longest_first_d5(void **state)
{
    (void)state;
    struct sf_wait w;
    sf_wait_init(&w, sf_alloc_libc(), 3, 0);
    CHECK_EQ(sf_wait_for(&w, ms(0)), SF_WAIT_NONE);
    sf_wait_update(&w, 2, unknown, ms(0));
    sf_wait_update(&w, 1, lagging, ms(1));
    CHECK_EQ(sf_wait_for(&w, ms(2)), 2);
    CHECK_EQ(sf_wait_until(&w).us, INT64_MAX);
    sf_wait_update(&w, 2, idle_unknown, ms(3));
    CHECK_EQ(sf_wait_for(&w, ms(3)), 1);
    sf_wait_update(&w, 1, full, ms(4));
    CHECK_EQ(sf_wait_for(&w, ms(4)), SF_WAIT_NONE);
    sf_wait_update(&w, 1, caught_up, ms(5));
    CHECK_EQ(sf_wait_for(&w, ms(5)), SF_WAIT_NONE);
    sf_wait_deinit(&w);
}

static void wait_of_a_caught_up_partition_runs_from_when_it_was_both_d5(void **state)
{
    (void)state;
    struct sf_wait w;
    sf_wait_init(&w, sf_alloc_libc(), 2, 200);
    sf_wait_update(&w, 0, unknown, ms(0));
    sf_wait_update(&w, 0, caught_up, ms(50));
    sf_wait_update(&w, 1, caught_up, ms(60));
    CHECK_EQ(sf_wait_until(&w).us, ms(250).us);
    CHECK_EQ(sf_wait_for(&w, ms(249)), 0);
    CHECK_EQ(sf_wait_for(&w, ms(250)), 1);
    CHECK_EQ(sf_wait_for(&w, ms(260)), SF_WAIT_NONE);
    sf_wait_update(&w, 0, lagging, ms(270)); /* lag is waited for all the same */
    CHECK_EQ(sf_wait_for(&w, ms(270)), 0);
    sf_wait_update(&w, 0, caught_up, ms(280)); /* waited out, and nothing delivered since */
    CHECK_EQ(sf_wait_for(&w, ms(280)), SF_WAIT_NONE);
    sf_wait_update(&w, 0, full, ms(290));
    sf_wait_update(&w, 0, caught_up, ms(300));
    CHECK_EQ(sf_wait_for(&w, ms(499)), 0);
    CHECK_EQ(sf_wait_for(&w, ms(500)), SF_WAIT_NONE);
    sf_wait_deinit(&w);
}

static void minus_one_never_waits_d5(void **state)
{
    (void)state;
    struct sf_wait w;
    sf_wait_init(&w, sf_alloc_libc(), 1, -1);
    sf_wait_update(&w, 0, lagging, ms(0));
    CHECK_EQ(sf_wait_for(&w, ms(0)), SF_WAIT_NONE);
    sf_wait_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval_is_the_seed_then_follows_the_commit_b2),
        cmocka_unit_test(seed_keeps_within_the_clamp_too_b2),
        cmocka_unit_test(lag_is_waited_for_the_longest_first_d5),
        cmocka_unit_test(wait_of_a_caught_up_partition_runs_from_when_it_was_both_d5),
        cmocka_unit_test(minus_one_never_waits_d5),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
