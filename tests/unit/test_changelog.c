/* Changelog records, to the byte. */
#include "core/state/changelog.h"

#include "tests/check.h"

static const struct sf_aggregate_spec specs[] = {
    {.name = "n", .kind = SF_AGGREGATE_COUNT},
    {.name = "total", .kind = SF_AGGREGATE_SUM, .expression = "$.amount"},
    {.name = "least", .kind = SF_AGGREGATE_MIN, .expression = "$.amount"},
};
static struct sf_aggregates *aggregates;

static void row_key_is_key_start_and_sequence_big_endian_k5(void **state)
{
    (void)state;
    uint8_t key[64];
    CHECK_EQ(sf_row_key_write(key, (const uint8_t *)"user-7", 6, 1700000040000), 18);
    CHECK(memcmp(key, "user-7\x00\x00\x01\x8b\xcf\xe6\x04\x40\x00\x00\x00\x00", 18) == 0);
    struct sf_row_key out;
    const char *reason;
    CHECK_EQ(sf_row_key_read((struct sf_slice){.data = key, .len = 18}, 60000, &out, &reason), SF_OK);
    CHECK_EQ(out.start, 1700000040000);
    CHECK_EQ(out.record_key.len, 6);
    CHECK(memcmp(out.record_key.data, "user-7", 6) == 0);
}

static void empty_record_key_is_a_key(void **state)
{
    (void)state;
    uint8_t key[64];
    CHECK_EQ(sf_row_key_write(key, NULL, 0, 60000), 12);
    struct sf_row_key out;
    const char *reason;
    CHECK_EQ(sf_row_key_read((struct sf_slice){.data = key, .len = 12}, 60000, &out, &reason), SF_OK);
    CHECK_EQ(out.record_key.len, 0);
    CHECK(out.record_key.data != NULL);
}

static void start_outside_event_time_or_between_windows_is_refused(void **state)
{
    (void)state;
    struct sf_row_key out;
    const char *reason = NULL;
    static const uint8_t keys[][12] = {
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, /* -1 */
        {0x00, 0x00, 0xe6, 0x77, 0xd2, 0x1f, 0xdc, 0x00}, /* year 10000 */
        {0, 0, 0, 0, 0, 0, 0, 61},
    };
    for (uint32_t i = 0; i < 3; i++) {
        reason = NULL;
        CHECK_EQ(sf_row_key_read((struct sf_slice){.data = keys[i], .len = 12}, 60, &out, &reason), SF_E_CORRUPT);
        CHECK(reason != NULL);
    }
    CHECK_EQ(sf_row_key_read((struct sf_slice){.data = NULL, .len = 0}, 60, &out, &reason), SF_E_CORRUPT);
    CHECK_STR(reason, "null key");
}

static void row_value_is_event_time_and_json_k5(void **state)
{
    (void)state;
    const struct sf_acc row[3] = {{.kind = SF_ACC_INT, .as.integer = 2},
                                  {.kind = SF_ACC_DOUBLE, .as.real = 3.0},
                                  {.kind = SF_ACC_NONE}};
    char value[128];
    size_t len = sf_row_encode(aggregates, 12, row, value, sizeof value);
    static const char golden[] = "\0\0\0\0\0\0\0\x0c{\"n\":2,\"total\":3.0,\"least\":null}";
    CHECK_EQ(len, sizeof golden - 1);
    CHECK(memcmp(value, golden, len) == 0);
    struct sf_acc back[3];
    int64_t ts_ms = 0;
    const char *reason;
    struct sf_slice slice = {.data = (const uint8_t *)value, .len = (uint32_t)len};
    CHECK_EQ(sf_row_value_read(slice, aggregates, &ts_ms, back, &reason), SF_OK);
    CHECK_EQ(ts_ms, 12);
    CHECK(memcmp(row, back, sizeof row) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_key_is_key_start_and_sequence_big_endian_k5),
        cmocka_unit_test(empty_record_key_is_a_key),
        cmocka_unit_test(start_outside_event_time_or_between_windows_is_refused),
        cmocka_unit_test(row_value_is_event_time_and_json_k5),
    };
    struct sf_expression_error error;
    if (!sf_aggregates_compile(specs, 3, sf_alloc_libc(), &aggregates, &error)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sf_aggregates_destroy(aggregates);
    return failed;
}
