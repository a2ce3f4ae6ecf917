/* The base of core: times that saturate, hashes that match Kafka's, statuses that have a class. */
#include "tests/check.h"

#include "core/hash.h"
#include "core/status.h"
#include "core/time/event_time.h"

static void sentinels_stand_outside_arithmetic_t2(void **state)
{
    (void)state;
    CHECK_EQ(sf_time_add(SF_TIME_UNSET, 5), SF_TIME_UNSET);
    CHECK_EQ(sf_time_add(SF_TIME_UNSET, -5), SF_TIME_UNSET);
    CHECK_EQ(sf_time_add(SF_TIME_COMPLETE, -5), SF_TIME_COMPLETE);
    CHECK_EQ(sf_time_add(5, -30000), -29995);
}

static void sums_saturate_to_finite_times_t2(void **state)
{
    (void)state;
    CHECK_EQ(sf_time_add(INT64_MAX - 1, 1), INT64_MAX - 1);
    CHECK_EQ(sf_time_add(1, INT64_MAX), INT64_MAX - 1);
    CHECK_EQ(sf_time_add(INT64_MIN + 1, -1), INT64_MIN + 1);
    CHECK_EQ(sf_time_add(-2, INT64_MIN), INT64_MIN + 1);
    CHECK_EQ(sf_time_add(7, INT64_MIN), INT64_MIN + 1);
}

static void murmur2_matches_the_java_clients_k12(void **state)
{
    (void)state;
    /* the vectors of Kafka's own test of Utils.murmur2 */
    CHECK_EQ((int32_t)sf_murmur2("21", 2), -973932308);
    CHECK_EQ((int32_t)sf_murmur2("foobar", 6), -790332482);
    CHECK_EQ((int32_t)sf_murmur2("a-little-bit-long-string", 24), -985981536);
    CHECK_EQ((int32_t)sf_murmur2("a-little-bit-longer-string", 26), -1486304829);
    CHECK_EQ((int32_t)sf_murmur2("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", 48), -58897971);
    CHECK_EQ((int32_t)sf_murmur2("abc", 3), 479470107);
    CHECK_EQ(sf_partition_of_key("foobar", 6, 12), 6);
}

static void lanes_follow_key_groups_l2(void **state)
{
    (void)state;
    uint64_t hash = sf_hash64("user-1", 6);
    for (uint32_t n = 1; n <= SF_KEY_GROUPS; n++) CHECK_EQ(sf_lane_of_hash(hash, n), hash % 128 % n);
}

static void every_status_has_a_name_a_text_and_a_class(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SF_STATUS_COUNT; i++) {
        CHECK(sf_status_name((enum sf_status)i)[0] == 'S');
        CHECK(sf_status_text((enum sf_status)i)[0] != '\0');
    }
    CHECK_EQ(sf_status_class(SF_E_FENCED), SF_CLASS_FENCED);
    CHECK_EQ(sf_status_class(SF_E_DELIVERY), SF_CLASS_ABORT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentinels_stand_outside_arithmetic_t2),
        cmocka_unit_test(sums_saturate_to_finite_times_t2),
        cmocka_unit_test(murmur2_matches_the_java_clients_k12),
        cmocka_unit_test(lanes_follow_key_groups_l2),
        cmocka_unit_test(every_status_has_a_name_a_text_and_a_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
