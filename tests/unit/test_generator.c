/* Generators: what a partition claims (W1-W3, W11, P2, K7). */
#include "tests/check.h"

#include "core/time/generator.h"

static void bounded_stays_its_bound_behind_the_largest_time_w1(void **state)
{
    (void)state;
    struct sf_generator g = sf_generator_make(SF_GENERATOR_BOUNDED, 30, SF_TIME_UNSET);
    CHECK_EQ(sf_generator_value(&g), SF_TIME_UNSET);
    sf_generator_advance(&g, 100);
    CHECK_EQ(sf_generator_value(&g), 70);
    sf_generator_advance(&g, 90);
    CHECK_EQ(sf_generator_value(&g), 70); /* W11 */
    sf_generator_advance(&g, 140);
    CHECK_EQ(sf_generator_value(&g), 110);
}

static void monotonous_is_one_tick_below_bounded_zero_w2(void **state)
{
    (void)state;
    struct sf_generator m = sf_generator_make(SF_GENERATOR_MONOTONOUS, 77, 100);
    struct sf_generator b = sf_generator_make(SF_GENERATOR_BOUNDED, 0, 100);
    CHECK_EQ(sf_generator_value(&m), 99);
    CHECK_EQ(sf_generator_value(&b), 100);
}

static void none_claims_nothing_but_keeps_its_partition_time_w3_k7(void **state)
{
    (void)state;
    struct sf_generator g = sf_generator_make(SF_GENERATOR_NONE, 0, SF_TIME_UNSET);
    sf_generator_advance(&g, 100);
    CHECK_EQ(sf_generator_value(&g), SF_TIME_UNSET);
    CHECK_EQ(sf_generator_with(&g, 200), SF_TIME_UNSET);
    CHECK(!sf_generator_is_previewed(&g));
    CHECK_EQ(g.time_max, 100);
}

static void preview_is_what_the_head_will_make_of_it_and_never_less_p2(void **state)
{
    (void)state;
    struct sf_generator g = sf_generator_make(SF_GENERATOR_BOUNDED, 10, 100);
    CHECK_EQ(sf_generator_with(&g, 150), 140);
    CHECK_EQ(sf_generator_with(&g, 50), 90);
    CHECK_EQ(sf_generator_value(&g), 90);
}

static void extremes_saturate_t2(void **state)
{
    (void)state;
    struct sf_generator g = sf_generator_make(SF_GENERATOR_BOUNDED, INT64_MAX, 0);
    CHECK_EQ(sf_generator_value(&g), INT64_MIN + 1); /* finite: not UNSET */
    g = sf_generator_make(SF_GENERATOR_BOUNDED, 5, SF_TIME_VALID_MAX);
    CHECK_EQ(sf_generator_value(&g), SF_TIME_VALID_MAX - 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounded_stays_its_bound_behind_the_largest_time_w1),
        cmocka_unit_test(monotonous_is_one_tick_below_bounded_zero_w2),
        cmocka_unit_test(none_claims_nothing_but_keeps_its_partition_time_w3_k7),
        cmocka_unit_test(preview_is_what_the_head_will_make_of_it_and_never_less_p2),
        cmocka_unit_test(extremes_saturate_t2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
