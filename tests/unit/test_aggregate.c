/* Aggregates: folding, overflow, results, and rows that come back from the changelog as they were. */
#include "tests/check.h"

#include "core/ops/aggregate.h"

#define FIELDS 4u
#define INT(x) {SF_ACC_INT, {.integer = (x)}}
#define REAL(x) {SF_ACC_DOUBLE, {.real = (x)}}
#define NONE {SF_ACC_NONE, {.integer = 0}}

static const struct sf_aggregate_spec all_fields[FIELDS] = {
    {.name = "n", .kind = SF_AGGREGATE_COUNT},
    {.name = "total", .kind = SF_AGGREGATE_SUM, .expression = "$.v"},
    {.name = "low", .kind = SF_AGGREGATE_MIN, .expression = "$.v"},
    {.name = "a \"quoted\" name", .kind = SF_AGGREGATE_MAX, .expression = "$.v * 2"},
};

static struct sf_aggregates *compile(const struct sf_aggregate_spec *specs, uint32_t count)
{
    struct sf_aggregates *aggregates;
    struct sf_expression_error error;
    CHECK(sf_aggregates_compile(specs, count, sf_alloc_libc(), &aggregates, &error));
    return aggregates;
}

static struct sf_input_value json(const char *text)
{
    return (struct sf_input_value){.serde = SF_SERDE_JSON,
                                   .bytes = {.data = (const uint8_t *)text, .len = (uint32_t)strlen(text)}};
}

static bool add(const struct sf_aggregates *aggregates, struct sf_acc *row, const char *text, struct sf_fault *fault)
{
    struct sf_input_value input = json(text);
    return sf_aggregates_add(aggregates, &input, row, fault);
}

static const char *result(const struct sf_aggregates *aggregates, const struct sf_acc *row)
{
    static char buf[512];
    size_t len = sf_result_write(aggregates, 0, 300000, row, buf, sizeof buf - 1);
    CHECK(len < sizeof buf);
    buf[len] = '\0';
    return buf;
}

static const char *fold_one(enum sf_aggregate_kind kind, const char *const *texts, size_t count)
{
    struct sf_aggregate_spec spec = {.name = "x", .kind = kind, .expression = "$"};
    struct sf_aggregates *aggregates = compile(&spec, 1);
    struct sf_acc row[1];
    struct sf_fault fault;
    sf_aggregates_init(aggregates, row);
    for (size_t i = 0; i < count; i++) CHECK(add(aggregates, row, texts[i], &fault));
    const char *text = result(aggregates, row);
    sf_aggregates_destroy(aggregates);
    return text + strlen("{\"window\":{\"start\":0,\"end\":300000},\"x\":");
}

static void the_empty_row_counts_0_sums_0_and_has_no_extremes(void **state)
{
    (void)state;
    struct sf_aggregates *aggregates = compile(all_fields, FIELDS);
    struct sf_acc row[FIELDS];
    sf_aggregates_init(aggregates, row);
    CHECK_STR(result(aggregates, row), "{\"window\":{\"start\":0,\"end\":300000},\"n\":0,\"total\":0,\"low\":null,"
                                       "\"a \\\"quoted\\\" name\":null}");
    sf_aggregates_destroy(aggregates);
}

static void records_fold_and_null_inputs_only_count_o3(void **state)
{
    (void)state;
    struct sf_aggregate_spec specs[3] = {all_fields[0], all_fields[1], all_fields[2]};
    struct sf_aggregates *aggregates = compile(specs, 3);
    struct sf_acc row[3];
    struct sf_fault fault;
    sf_aggregates_init(aggregates, row);
    static const char *const texts[] = {"{\"v\":5}", "{\"v\":null}", "{}", "{\"v\":-7}"};
    for (size_t i = 0; i < 4; i++) CHECK(add(aggregates, row, texts[i], &fault));
    CHECK_STR(result(aggregates, row), "{\"window\":{\"start\":0,\"end\":300000},\"n\":4,\"total\":-2,\"low\":-7}");
    sf_aggregates_destroy(aggregates);
}

static void a_sum_is_exact_until_its_first_double(void **state)
{
    (void)state;
    static const char *const ints[] = {"9007199254740993", "1"};
    static const char *const mixed[] = {"1", "0.5", "2"};
    static const char *const whole[] = {"0.5", "0.5"};
    CHECK_STR(fold_one(SF_AGGREGATE_SUM, ints, 2), "9007199254740994}");
    CHECK_STR(fold_one(SF_AGGREGATE_SUM, mixed, 3), "3.5}");
    CHECK_STR(fold_one(SF_AGGREGATE_SUM, whole, 2), "1.0}");
}

static void extremes_compare_exactly_and_do_not_depend_on_order(void **state)
{
    (void)state;
    static const char *const near[] = {"9007199254740992.0", "9007199254740993"};
    static const char *const near_back[] = {"9007199254740993", "9007199254740992.0"};
    static const char *const same[] = {"1.0", "1"};
    static const char *const same_back[] = {"1", "1.0"};
    static const char *const zeros[] = {"0.0", "-0.0"};
    static const char *const zeros_back[] = {"-0.0", "0.0"};
    CHECK_STR(fold_one(SF_AGGREGATE_MAX, near, 2), "9007199254740993}");
    CHECK_STR(fold_one(SF_AGGREGATE_MAX, near_back, 2), "9007199254740993}");
    CHECK_STR(fold_one(SF_AGGREGATE_MIN, near, 2), "9007199254740992.0}");
    CHECK_STR(fold_one(SF_AGGREGATE_MIN, near_back, 2), "9007199254740992.0}");
    CHECK_STR(fold_one(SF_AGGREGATE_MIN, same, 2), "1}");
    CHECK_STR(fold_one(SF_AGGREGATE_MIN, same_back, 2), "1}");
    CHECK_STR(fold_one(SF_AGGREGATE_MIN, zeros, 2), "-0.0}");
    CHECK_STR(fold_one(SF_AGGREGATE_MIN, zeros_back, 2), "-0.0}");
    CHECK_STR(fold_one(SF_AGGREGATE_MAX, zeros, 2), "0.0}");
    CHECK_STR(fold_one(SF_AGGREGATE_MAX, zeros_back, 2), "0.0}");
}

static void a_fault_leaves_the_row_as_it_was_m5(void **state)
{
    (void)state;
    struct sf_aggregates *aggregates = compile(all_fields, FIELDS);
    struct sf_acc row[FIELDS], before[FIELDS];
    struct sf_fault fault;
    sf_aggregates_init(aggregates, row);
    CHECK(add(aggregates, row, "{\"v\":4611686018427387903}", &fault));
    memcpy(before, row, sizeof row);
    static const struct {
        const char *text;
        enum sf_fault_kind kind;
    } rows[] = {{"{\"v\":9223372036854775807}", SF_FAULT_PROCESSING}, {"{\"v\":\"5\"}", SF_FAULT_PROCESSING},
                {"{\"v\":true}", SF_FAULT_PROCESSING}, {"{\"v\":1", SF_FAULT_DESERIALIZATION}};
    for (size_t i = 0; i < 4; i++) {
        CHECK(!add(aggregates, row, rows[i].text, &fault));
        CHECK_EQ(fault.kind, rows[i].kind);
        CHECK(memcmp(before, row, sizeof row) == 0);
    }
    sf_aggregates_destroy(aggregates);
}

static void sums_that_leave_int64_or_double_are_faults_m5(void **state)
{
    (void)state;
    struct sf_aggregate_spec spec = {.name = "x", .kind = SF_AGGREGATE_SUM, .expression = "$"};
    struct sf_aggregates *aggregates = compile(&spec, 1);
    struct sf_acc row[1];
    struct sf_fault fault;
    sf_aggregates_init(aggregates, row);
    CHECK(add(aggregates, row, "-9223372036854775808", &fault));
    CHECK(!add(aggregates, row, "-1", &fault));
    CHECK_EQ(fault.kind, SF_FAULT_PROCESSING);
    CHECK(add(aggregates, row, "9223372036854775807", &fault));
    CHECK_EQ(row[0].as.integer, -1);
    CHECK(add(aggregates, row, "1.7e308", &fault));
    CHECK(!add(aggregates, row, "1.7e308", &fault));
    sf_aggregates_destroy(aggregates);
}

static void a_count_never_reads_the_value_m5(void **state)
{
    (void)state;
    struct sf_aggregates *aggregates = compile(all_fields, 1);
    struct sf_acc row[1];
    struct sf_fault fault;
    sf_aggregates_init(aggregates, row);
    CHECK(add(aggregates, row, "not json", &fault));
    CHECK_EQ(row[0].as.integer, 1);
    row[0].as.integer = INT64_MAX;
    CHECK(!add(aggregates, row, "{}", &fault));
    sf_aggregates_destroy(aggregates);
}

static void results_are_written_as_the_format_says(void **state)
{
    (void)state;
    static const struct sf_aggregate_spec specs[2] = {{.name = "n", .kind = SF_AGGREGATE_COUNT},
                                                      {.name = "total", .kind = SF_AGGREGATE_SUM, .expression = "$"}};
    static const char want[] = "{\"window\":{\"start\":1790071200000,\"end\":1790071500000},\"n\":1,\"total\":-12}";
    struct sf_aggregates *aggregates = compile(specs, 2);
    struct sf_acc row[2];
    struct sf_fault fault;
    sf_aggregates_init(aggregates, row);
    CHECK(add(aggregates, row, "-12", &fault));
    for (size_t cap = 0; cap < 200; cap++) {
        char buf[201];
        memset(buf, '#', sizeof buf);
        CHECK_EQ(sf_result_write(aggregates, 1790071200000, 1790071500000, row, buf, cap), sizeof want - 1);
        if (cap >= sizeof want - 1) CHECK(memcmp(buf, want, sizeof want - 1) == 0);
        CHECK(buf[cap] == '#');
    }
    sf_aggregates_destroy(aggregates);
}

static void stored_rows_come_back_as_they_were_k5(void **state)
{
    (void)state;
    struct sf_aggregates *aggregates = compile(all_fields, FIELDS);
    static const struct sf_acc rows[][FIELDS] = {
        {INT(0), INT(0), NONE, NONE},
        {INT(INT64_MAX), INT(INT64_MIN), INT(-1), REAL(1.0)},
        {INT(3), REAL(1e300), REAL(-0.0), REAL(5e-324)},
        {INT(3), REAL(1e16), REAL(0.0), REAL(0.30000000000000004)},
    };
    static const int64_t times[] = {0, 1790071200000, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < 4; i++) {
        char buf[256];
        struct sf_acc back[FIELDS];
        int64_t time;
        struct sf_fault fault;
        size_t len = sf_row_encode(aggregates, times[i], rows[i], buf, sizeof buf);
        CHECK(len <= sizeof buf);
        CHECK(sf_row_decode(aggregates, buf, len, &time, back, &fault));
        CHECK_EQ(time, times[i]);
        CHECK(memcmp(back, rows[i], sizeof back) == 0);
    }
    sf_aggregates_destroy(aggregates);
}

static void a_stored_row_is_event_time_and_json_k5(void **state)
{
    (void)state;
    struct sf_aggregates *aggregates = compile(all_fields, 2);
    struct sf_acc row[2];
    char buf[64];
    sf_aggregates_init(aggregates, row);
    size_t len = sf_row_encode(aggregates, 258, row, buf, sizeof buf);
    CHECK_EQ(len, 8 + strlen("{\"n\":0,\"total\":0}"));
    CHECK(memcmp(buf, "\0\0\0\0\0\0\1\2{\"n\":0,\"total\":0}", len) == 0);
    sf_aggregates_destroy(aggregates);
}

static void damaged_rows_are_refused(void **state)
{
    (void)state;
    struct sf_aggregates *aggregates = compile(all_fields, 2);
    static const char *const texts[] = {"", "1234567", "12345678", "12345678{\"n\":1}",
                                        "12345678{\"n\":1.0,\"total\":1}",
                                        "12345678{\"n\":-1,\"total\":1}", "12345678{\"n\":1,\"total\":null}",
                                        "12345678{\"n\":1,\"total\":\"1\"}", "12345678{\"n\":1,\"total\":1}x"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct sf_acc row[2];
        int64_t time;
        struct sf_fault fault;
        bool is_taken = sf_row_decode(aggregates, texts[i], strlen(texts[i]), &time, row, &fault);
        if (is_taken) fail_msg("%s is taken", texts[i]);
        CHECK_EQ(fault.kind, SF_FAULT_DESERIALIZATION);
    }
    sf_aggregates_destroy(aggregates);
}

static void a_bad_expression_names_its_field(void **state)
{
    (void)state;
    static const struct sf_aggregate_spec specs[3] = {{.name = "n", .kind = SF_AGGREGATE_COUNT},
                                                      {.name = "a", .kind = SF_AGGREGATE_SUM, .expression = "$.a"},
                                                      {.name = "b", .kind = SF_AGGREGATE_SUM, .expression = "$.b +"}};
    struct sf_aggregates *aggregates;
    struct sf_expression_error error;
    CHECK(!sf_aggregates_compile(specs, 3, sf_alloc_libc(), &aggregates, &error));
    CHECK_EQ(error.root, 2);
    CHECK_EQ(error.offset, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_empty_row_counts_0_sums_0_and_has_no_extremes),
        cmocka_unit_test(records_fold_and_null_inputs_only_count_o3),
        cmocka_unit_test(a_sum_is_exact_until_its_first_double),
        cmocka_unit_test(extremes_compare_exactly_and_do_not_depend_on_order),
        cmocka_unit_test(a_fault_leaves_the_row_as_it_was_m5),
        cmocka_unit_test(sums_that_leave_int64_or_double_are_faults_m5),
        cmocka_unit_test(a_count_never_reads_the_value_m5),
        cmocka_unit_test(results_are_written_as_the_format_says),
        cmocka_unit_test(stored_rows_come_back_as_they_were_k5),
        cmocka_unit_test(a_stored_row_is_event_time_and_json_k5),
        cmocka_unit_test(damaged_rows_are_refused),
        cmocka_unit_test(a_bad_expression_names_its_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
