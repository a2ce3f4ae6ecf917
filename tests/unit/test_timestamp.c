/* Times as text and in values (W6, T4, T5, M1), and the metadata beside an offset (K7). */
#include "tests/check.h"

#include "core/ops/metadata.h"
#include "core/ops/timestamp.h"

static void check_time(const char *text, int64_t want)
{
    int64_t ts;
    if (!sf_time_parse(text, strlen(text), &ts)) fail_msg("%s is refused", text);
    if (ts != want) fail_msg("%s is %" PRId64 ", expected %" PRId64, text, ts, want);
}

static void iso_texts_are_read(void **state)
{
    (void)state;
    check_time("1970-01-01T00:00:00Z", 0);
    check_time("2026-09-22T10:00:00Z", 1790071200000);
    check_time("2026-09-22t10:00z", 1790071200000);
    check_time("2026-09-22 12:00:00+02:00", 1790071200000);
    check_time("2026-09-22T12:00+02", 1790071200000);
    check_time("2026-09-22T05:30:00-0430", 1790071200000);
    check_time("2026-09-22T10:00:00.1Z", 1790071200100);
    check_time("2026-09-22T10:00:00.123999999Z", 1790071200123);
    check_time("2026-09-22T10:00:00,5Z", 1790071200500);
    check_time("2000-02-29T00:00:00Z", 951782400000);
    check_time("1969-12-31T23:59:59.999Z", -1);
    check_time("9999-12-31T23:59:59.999Z", SF_TIME_VALID_MAX);
    check_time("0000-01-01T00:00:00Z", -62167219200000);
    check_time("+292278994-08-17T07:12:55.807Z", INT64_MAX);
    check_time("-292275055-05-16T16:47:04.193Z", INT64_MIN + 1);
}

static void what_is_no_instant_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "2026", "2026-09-22", "2026-09-22T10:00:00", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
        "2026-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-00T00:00:00Z",
        "2026-01-01T24:00:00Z", "2026-01-01T23:60:00Z", "2026-01-01T23:59:60Z", "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00Zx", "2026-01-01T00:00:00+", "2026-01-01T00:00:00+2", "2026-01-01T00:00:00+19:00",
        "2026-01-01T00:00:00+02:60", "2026-1-1T00:00:00Z", "026-01-01T00:00:00Z", "12026-01-01T00:00:00Z",
        "+292278994-08-17T07:12:55.808Z", "-292275055-05-16T16:47:04.192Z", "+999999999-01-01T00:00:00Z",
        "-999999999-01-01T00:00:00Z", "2026-09-22T10Z", "2026-09-22T10:00:00+02:", "x", "2026-09-22TZ",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int64_t ts;
        if (sf_time_parse(texts[i], strlen(texts[i]), &ts)) fail_msg("%s is taken", texts[i]);
    }
}

static void instants_are_written_as_java_does_m1(void **state)
{
    (void)state;
    static const struct {
        int64_t ts;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00Z"}, {1790071200000, "2026-09-22T10:00:00Z"},
        {1790071200007, "2026-09-22T10:00:00.007Z"},
        {-1, "1969-12-31T23:59:59.999Z"}, {SF_TIME_VALID_MAX, "9999-12-31T23:59:59.999Z"},
        {SF_TIME_VALID_MAX + 1, "+10000-01-01T00:00:00Z"}, {951782400000, "2000-02-29T00:00:00Z"},
        {INT64_MAX, "+292278994-08-17T07:12:55.807Z"}, {INT64_MIN, "-292275055-05-16T16:47:04.192Z"},
        {-62167219200001, "-0001-12-31T23:59:59.999Z"}, {-62167219200000, "0000-01-01T00:00:00Z"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char buf[SF_TIME_ISO_BYTES];
        CHECK_STR(sf_time_iso(rows[i].ts, buf), rows[i].text);
    }
}

static void written_instants_are_read_back(void **state)
{
    (void)state;
    int64_t ts = INT64_MIN + 1;
    for (unsigned i = 0; i < 4000; i++, ts += INT64_MAX / 2000 - 86399999) {
        char buf[SF_TIME_ISO_BYTES];
        check_time(sf_time_iso(ts, buf), ts);
    }
    /* every day of four hundred years, so that every kind of year is among them */
    for (int64_t day = 0; day < 146097; day++) {
        char buf[SF_TIME_ISO_BYTES];
        check_time(sf_time_iso(day * 86400000, buf), day * 86400000);
    }
}

static int64_t assign(const char *json)
{
    struct sf_expression *path;
    struct sf_expression_error error;
    struct sf_fault fault;
    struct sf_input_value input = {.serde = SF_SERDE_JSON,
                                   .bytes = {.data = (const uint8_t *)json, .len = (uint32_t)strlen(json)}};
    int64_t ts = -2;
    CHECK(sf_expression_compile("$.t", 3, sf_alloc_libc(), &path, &error));
    bool is_good = sf_timestamp_assign(path, &input, &ts, &fault);
    sf_expression_destroy(path);
    if (!is_good) CHECK_EQ(fault.kind, SF_FAULT_DESERIALIZATION);
    return is_good ? ts : -1;
}

static void the_assigner_takes_integers_and_instants_w6(void **state)
{
    (void)state;
    CHECK_EQ(assign("{\"t\":5}"), 5);
    CHECK_EQ(assign("{\"t\":-5}"), -5);
    CHECK_EQ(assign("{\"t\":\"2026-09-22T10:00:00Z\"}"), 1790071200000);
    CHECK_EQ(assign("{\"t\":\"2026-09-22T10\\u003a00:00\\u005a\"}"), 1790071200000);
    static const char *const invalid[] = {"{\"t\":5.0}", "{\"t\":\"5\"}", "{\"t\":null}", "{}", "{\"t\":true}",
                                          "{\"t\":[5]}"};
    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++) CHECK_EQ(assign(invalid[i]), SF_TIME_UNSET);
    CHECK_EQ(assign("{\"t\":5"), -1);
    static const char escaped[] = "{\"t\":\"\\u0032026-09-22T10:00:00."
                                  "0000000000000000000000000000000000000000000000Z\"}";
    CHECK_EQ(assign(escaped), SF_TIME_UNSET); /* more than 64 bytes behind escapes */
}

static void wrong_units_are_recognised_t4_t5(void **state)
{
    (void)state;
    CHECK(sf_timestamp_unit(0) == NULL);
    CHECK(sf_timestamp_unit(60000) == NULL);
    CHECK(sf_timestamp_unit(-1) == NULL);
    CHECK(sf_timestamp_unit(1790071200000) == NULL);
    CHECK(sf_timestamp_unit(SF_TIME_VALID_MAX) == NULL);
    CHECK(sf_timestamp_unit(SF_TIME_COMPLETE) == NULL);
    CHECK_STR(sf_timestamp_unit(1790071200), "seconds");
    CHECK_STR(sf_timestamp_unit(1790071200000000), "microseconds");
    CHECK_STR(sf_timestamp_unit(1790071200000000000), "nanoseconds");
}

static void metadata_is_version_2_and_the_time_k7(void **state)
{
    (void)state;
    char text[SF_METADATA_TEXT_BYTES + 1] = {0};
    sf_metadata_encode(1790071200000, text);
    CHECK_STR(text, "AgAAAaDIjtkA");
    CHECK_EQ(sf_metadata_decode(text, 12), 1790071200000);
    sf_metadata_encode(SF_TIME_UNSET, text);
    CHECK_STR(text, "Av//////////");
    CHECK_EQ(sf_metadata_decode(text, 12), SF_TIME_UNSET);
    static const int64_t times[] = {0, 1, 255, 65536, SF_TIME_VALID_MAX};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        sf_metadata_encode(times[i], text);
        CHECK_EQ(sf_metadata_decode(text, 12), times[i]);
    }
}

static void metadata_of_both_versions_is_read_and_the_rest_is_unknown_k7(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ts;
    } rows[] = {
        {"AQAAAaDIjtkA", 1790071200000},         /* version 1 */
        {"AgAAAaDIjtkAAAAAAA==", 1790071200000}, /* processor metadata behind it */
        {"AgAAAaDIjtkAAAAA", 1790071200000},
        {"AwAAAaDIjtkA", SF_TIME_UNSET},         /* version 3 */
        {"AAAAAaDIjtkA", SF_TIME_UNSET},
        {"Av////////7/", SF_TIME_UNSET},
        {"An//////////", SF_TIME_UNSET},         /* beyond T4 */
        {"", SF_TIME_UNSET},
        {"AgAAAaDIjtk=", SF_TIME_UNSET},         /* too short */
        {"AgAAAaDIjtkA=", SF_TIME_UNSET},
        {"AgAAAaDIjtkAA", SF_TIME_UNSET},
        {"AgAAAaDIjtkA====", SF_TIME_UNSET},
        {"AgAA=aDIjtkA", SF_TIME_UNSET},
        {"AgAAAaDIjt A", SF_TIME_UNSET},
        {"AgAAAaDIjtkAA*AA", SF_TIME_UNSET},
        {"hello, world", SF_TIME_UNSET},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t ts = sf_metadata_decode(rows[i].text, strlen(rows[i].text));
        if (ts != rows[i].ts) fail_msg("%s is %" PRId64, rows[i].text, ts);
    }
    CHECK_EQ(sf_metadata_decode(NULL, 0), SF_TIME_UNSET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iso_texts_are_read),
        cmocka_unit_test(what_is_no_instant_is_refused),
        cmocka_unit_test(instants_are_written_as_java_does_m1),
        cmocka_unit_test(written_instants_are_read_back),
        cmocka_unit_test(the_assigner_takes_integers_and_instants_w6),
        cmocka_unit_test(wrong_units_are_recognised_t4_t5),
        cmocka_unit_test(metadata_is_version_2_and_the_time_k7),
        cmocka_unit_test(metadata_of_both_versions_is_read_and_the_rest_is_unknown_k7),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
