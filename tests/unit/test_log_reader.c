/* Log reader: the log that fails first is the one that is told of. */
#include "core/run/log_reader.h"

#include "tests/check.h"
#include "tests/unit/fake_log.h"

static enum sf_status refuse(void *ctx, struct sf_tp tp, const struct sf_record *record, struct sf_error *error)
{
    uint32_t *seen = ctx;
    (void)tp, (void)record;
    ++*seen;
    memcpy(error->text, "not a stamp", sizeof "not a stamp");
    return SF_E_CORRUPT;
}

static void record_that_cannot_be_read_is_told_of_though_another_log_fails_after_it(void **state)
{
    (void)state;
    struct fake_kafka fake;
    struct sf_log_reader reader;
    struct sf_error error = {.status = SF_OK};
    uint32_t seen = 0;
    const struct sf_slice key = {.data = (const uint8_t *)"k", .len = 1};
    fake_kafka_init(&fake);
    fake_log_put(fake_log_add(&fake, "marks", 0, 0, 5), 3, key, key);
    fake_log_add(&fake, "marks", 1, 0, 5)->failure = SF_E_AUTH;
    fake_log_put(fake_log_add(&fake, "marks", 2, 0, 5), 4, key, key);
    const struct sf_tp tps[] = {{.topic = 0, .partition = 0}, {.topic = 0, .partition = 1}, {.partition = 2}};
    CHECK_EQ(sf_log_reader_open(&reader, sf_alloc_libc(), fake_kafka(&fake), (struct sf_waker){0}, tps, 3, refuse,
                                &seen, &error),
             SF_OK);
    CHECK_EQ(sf_log_reader_poll(&reader, &error), SF_E_CORRUPT);
    CHECK_EQ(error.status, SF_E_CORRUPT);
    assert_string_equal(error.text, "marks/0: not a stamp");
    CHECK_EQ(seen, 1);
    CHECK_EQ(fake.open_batches, 0);
    sf_log_reader_close(&reader);
    CHECK_EQ(fake.open_consumers, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record_that_cannot_be_read_is_told_of_though_another_log_fails_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
