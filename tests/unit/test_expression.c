/* Expressions: what they mean, what is refused and where, which faults they end in. */
#include "tests/check.h"

#include "core/ops/expression.h"
#include "core/ops/map.h"

static struct sf_input_value input_of(enum sf_serde serde, const char *bytes, size_t len)
{
    return (struct sf_input_value){.serde = serde, .bytes = {.data = (const uint8_t *)bytes, .len = (uint32_t)len}};
}

static struct sf_expression *compile(const char *text)
{
    struct sf_expression *expression;
    struct sf_expression_error error;
    if (!sf_expression_compile(text, strlen(text), sf_alloc_libc(), &expression, &error))
        fail_msg("%s: byte %u: %s", text, error.offset, error.text);
    return expression;
}

static const char *show(const struct sf_value *value)
{
    static char buf[256];
    if (value->kind == SF_VALUE_MISSING) return "missing";
    struct sf_json_writer writer = sf_json_writer_init(buf, sizeof buf - 1);
    sf_json_put_value(&writer, value);
    CHECK(sf_json_writer_fits(&writer));
    buf[writer.len] = '\0';
    return buf;
}

/* The value of `text` on the JSON `json`, as JSON. */
static const char *eval(const char *text, const char *json)
{
    struct sf_expression *expression = compile(text);
    struct sf_input_value input = input_of(SF_SERDE_JSON, json, strlen(json));
    struct sf_value value;
    struct sf_fault fault;
    bool is_good = sf_expression_eval(expression, &input, &value, &fault);
    if (!is_good) fail_msg("%s on %s: byte %u: %s", text, json, fault.offset, fault.text);
    const char *shown = show(&value);
    sf_expression_destroy(expression);
    return shown;
}

static void check_fault(const char *text, const char *json, enum sf_fault_kind kind, uint32_t offset)
{
    struct sf_expression *expression = compile(text);
    struct sf_input_value input = input_of(SF_SERDE_JSON, json, strlen(json));
    struct sf_value value;
    struct sf_fault fault;
    if (sf_expression_eval(expression, &input, &value, &fault)) fail_msg("%s on %s is %s", text, json, show(&value));
    CHECK_EQ(fault.kind, kind);
    if (fault.offset != offset) fail_msg("%s: fault at %u, expected %u", text, fault.offset, offset);
    sf_expression_destroy(expression);
}

#define CHECK_EVAL(text, json, want) CHECK_STR(eval(text, json), want)
#define RECORD "{\"a\":7,\"b\":2,\"d\":0.5,\"s\":\"x\\u00fc\",\"t\":true,\"n\":null," \
               "\"o\":{\"odd name\":[1,\"z\"]},\"m\":-7}"

static void paths_and_literals_are_values(void **state)
{
    (void)state;
    CHECK_EVAL("$.a", RECORD, "7");
    CHECK_EVAL(" $.o['odd name'][1] ", RECORD, "\"z\"");
    CHECK_EVAL("$.none", RECORD, "missing");
    CHECK_EVAL("$", "[1]", "[1]");
    CHECK_EVAL("'it is \"so\"'", "1", "\"it is \\\"so\\\"\"");
    CHECK_EVAL("\"it's\"", "1", "\"it's\"");
    CHECK_EVAL("9223372036854775807", "1", "9223372036854775807");
    CHECK_EVAL("-9223372036854775808", "1", "-9223372036854775808");
    CHECK_EVAL("- 1.5e1", "1", "-15.0");
    CHECK_EVAL("-0.0", "1", "-0.0");
    CHECK_EVAL("true", "1", "true");
    CHECK_EVAL("null", "1", "null");
}

static void integer_arithmetic_is_exact_and_division_cuts_towards_zero(void **state)
{
    (void)state;
    CHECK_EVAL("$.a + $.b * 3", RECORD, "13");
    CHECK_EVAL("($.a + $.b) * 3", RECORD, "27");
    CHECK_EVAL("$.a - $.b - 1", RECORD, "4");
    CHECK_EVAL("$.a / $.b", RECORD, "3");
    CHECK_EVAL("$.m / $.b", RECORD, "-3");
    CHECK_EVAL("$.m % $.b", RECORD, "-1");
    CHECK_EVAL("$.a % -2", RECORD, "1");
    CHECK_EVAL("-9223372036854775808 % -1", "1", "0");
    CHECK_EVAL("7 / -1", "1", "-7");
    CHECK_EVAL("9007199254740993 + 0", "1", "9007199254740993");
    CHECK_EVAL("-$.a", RECORD, "-7");
    CHECK_EVAL("3-2", "1", "1");
    CHECK_EVAL("$.a-2", RECORD, "5");
    CHECK_EVAL("2 - -3", "1", "5");
}

static void a_double_on_either_side_makes_a_double(void **state)
{
    (void)state;
    CHECK_EVAL("$.a / 2.0", RECORD, "3.5");
    CHECK_EVAL("$.d + $.d", RECORD, "1.0");
    CHECK_EVAL("0.1 + 0.2", "1", "0.30000000000000004");
    CHECK_EVAL("$.a * $.d", RECORD, "3.5");
    CHECK_EVAL("-$.d", RECORD, "-0.5");
    CHECK_EVAL("7.5 % 2", "1", "1.5");
    CHECK_EVAL("-7.5 % 2", "1", "-1.5");
    CHECK_EVAL("1e300 % 7", "1", "1.0");
    CHECK_EVAL("5.3 % 0.1", "1", "0.09999999999999953");
    CHECK_EVAL("1e308 % 5e-324", "1", "0.0");
    CHECK_EVAL("3e-323 % 2e-323", "1", "1e-323");
    CHECK_EVAL("1.0 % 3", "1", "1.0");
    CHECK_EVAL("1.5 % 2", "1", "1.5");
    CHECK_EVAL("2.2250738585072014e-308 % 1.5e-308", "1", "7.250738585072015e-309");
}

static void arithmetic_that_cannot_be_is_a_processing_fault_m5(void **state)
{
    (void)state;
    check_fault("9223372036854775807 + 1", "1", SF_FAULT_PROCESSING, 20);
    check_fault("-9223372036854775808 - 1", "1", SF_FAULT_PROCESSING, 21);
    check_fault("4611686018427387904 * 2", "1", SF_FAULT_PROCESSING, 20);
    check_fault("-9223372036854775808 / -1", "1", SF_FAULT_PROCESSING, 21);
    check_fault("-($)", "-9223372036854775808", SF_FAULT_PROCESSING, 0);
    check_fault("1 / 0", "1", SF_FAULT_PROCESSING, 2);
    check_fault("1 % 0", "1", SF_FAULT_PROCESSING, 2);
    check_fault("1 / 0.0", "1", SF_FAULT_PROCESSING, 2);
    check_fault("1 % -0.0", "1", SF_FAULT_PROCESSING, 2);
    check_fault("1e308 * 10", "1", SF_FAULT_PROCESSING, 6);
    check_fault("$.none + 1", RECORD, SF_FAULT_PROCESSING, 7);
    check_fault("1 + $.n", RECORD, SF_FAULT_PROCESSING, 2);
    check_fault("$.s * 2", RECORD, SF_FAULT_PROCESSING, 4);
    check_fault("-$.t", RECORD, SF_FAULT_PROCESSING, 0);
    check_fault("-$.n", RECORD, SF_FAULT_PROCESSING, 0);
}

static void numbers_compare_exactly(void **state)
{
    (void)state;
    CHECK_EVAL("$.a >= 7", RECORD, "true");
    CHECK_EVAL("$.a > 7", RECORD, "false");
    CHECK_EVAL("$.a == 7.0", RECORD, "true");
    CHECK_EVAL("9007199254740993 == 9007199254740992.0", "1", "false");
    CHECK_EVAL("9007199254740993 > 9007199254740992.0", "1", "true");
    CHECK_EVAL("9223372036854775807 < 9223372036854775808.0", "1", "true");
    CHECK_EVAL("-9223372036854775808 == -9223372036854775808.0", "1", "true");
    CHECK_EVAL("-9223372036854775808 <= -9.3e18", "1", "false");
    CHECK_EVAL("-1 < -0.5", "1", "true");
    CHECK_EVAL("-1 > -1.5", "1", "true");
    CHECK_EVAL("0.5 < 1", "1", "true");
    CHECK_EVAL("0 == -0.0", "1", "true");
    CHECK_EVAL("1 != 2", "1", "true");
}

static void strings_compare_by_their_bytes(void **state)
{
    (void)state;
    CHECK_EVAL("$.s == 'x\xc3\xbc'", RECORD, "true");
    CHECK_EVAL("$.s == $.s", RECORD, "true");
    CHECK_EVAL("'a' < 'b'", "1", "true");
    CHECK_EVAL("'a' < 'ab'", "1", "true");
    CHECK_EVAL("'Z' < 'a'", "1", "true");
    CHECK_EVAL("'\xc3\xbc' > 'z'", "1", "true");
    CHECK_EVAL("$.s > 'x'", RECORD, "true");
    CHECK_EVAL("$.s <= 'x'", RECORD, "false");
    CHECK_EVAL("'' == ''", "1", "true");
}

static void null_is_seen_by_the_tests_for_null_alone(void **state)
{
    (void)state;
    CHECK_EVAL("$.n == null", RECORD, "true");
    CHECK_EVAL("null == $.none", RECORD, "true");
    CHECK_EVAL("$.a != null", RECORD, "true");
    CHECK_EVAL("null != $.a + 1", RECORD, "true");
    CHECK_EVAL("null == ($.t and $.n == null)", RECORD, "false");
    CHECK_EVAL("null != ($.n and true)", RECORD, "true");
    CHECK_EVAL("$.o == null", RECORD, "false");
    CHECK_EVAL("null == null", "1", "true");
    static const char *const never[] = {"$.none == 1", "$.none != 1", "$.n < 1", "1 >= $.n", "$.n == $.none",
                                        "$.n != $.none", "$.none == 'x'"};
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) CHECK_EVAL(never[i], RECORD, "false");
}

static void different_kinds_are_unequal_and_have_no_order(void **state)
{
    (void)state;
    CHECK_EVAL("$.a == '7'", RECORD, "false");
    CHECK_EVAL("$.a != '7'", RECORD, "true");
    CHECK_EVAL("$.t == 1", RECORD, "false");
    CHECK_EVAL("$.t == true", RECORD, "true");
    CHECK_EVAL("$.t != false", RECORD, "true");
    check_fault("$.a < '7'", RECORD, SF_FAULT_PROCESSING, 4);
    check_fault("true < false", "1", SF_FAULT_PROCESSING, 5);
    check_fault("$.o == 1", RECORD, SF_FAULT_PROCESSING, 4);
    check_fault("$.n == $.o", RECORD, SF_FAULT_PROCESSING, 4);
}

static void logic_looks_right_only_where_left_does_not_decide(void **state)
{
    (void)state;
    CHECK_EVAL("$.none != null and $.none / 0 > 1", RECORD, "false");
    CHECK_EVAL("$.none == null || $.none / 0 > 1", RECORD, "true");
    check_fault("$.t && $.a / 0 > 1", RECORD, SF_FAULT_PROCESSING, 11);
    CHECK_EVAL("true or false and false", "1", "true");
    CHECK_EVAL("(true or false) and false", "1", "false");
    CHECK_EVAL("not true or true", "1", "true");
    CHECK_EVAL("not (true or true)", "1", "false");
    CHECK_EVAL("not $.a == 7", RECORD, "false");
    CHECK_EVAL("!$.t == 1", RECORD, "false");
    CHECK_EVAL("not $.t == 1", RECORD, "true");
    CHECK_EVAL("! ! true", "1", "true");
    CHECK_EVAL("not not true", "1", "true");
    CHECK_EVAL("false or false or true", "1", "true");
    CHECK_EVAL("true and true and $.b > 1 and $.a > 7", RECORD, "false");
    CHECK_EVAL("($.a > 1 and $.b > 1) == true", RECORD, "true");
}

static void a_condition_is_a_boolean_and_null_is_false(void **state)
{
    (void)state;
    CHECK_EVAL("not $.none", RECORD, "true");
    CHECK_EVAL("$.n or true", RECORD, "true");
    CHECK_EVAL("true and $.none", RECORD, "false");
    check_fault("not $.a", RECORD, SF_FAULT_PROCESSING, 0);
    check_fault("$.s or true", RECORD, SF_FAULT_PROCESSING, 4);
    check_fault("true and 1", RECORD, SF_FAULT_PROCESSING, 5);
}

static void a_filter_takes_true_alone(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        int verdict; /* -1: a fault */
    } rows[] = {{"true", 1}, {"false", 0}, {"null", 0}, {"1", -1}, {"\"true\"", -1}, {"{}", -1}};
    struct sf_expression *expression = compile("$");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sf_input_value input = input_of(SF_SERDE_JSON, rows[i].json, strlen(rows[i].json));
        struct sf_fault fault;
        bool is_true = false;
        bool is_good = sf_expression_test(expression, &input, &is_true, &fault);
        CHECK_EQ(is_good ? is_true : -1, rows[i].verdict);
        if (!is_good) CHECK_EQ(fault.kind, SF_FAULT_PROCESSING);
    }
    struct sf_input_value tombstone = input_of(SF_SERDE_JSON, NULL, 0);
    struct sf_fault fault;
    bool is_true = true;
    CHECK(sf_expression_test(expression, &tombstone, &is_true, &fault) && !is_true);
    sf_expression_destroy(expression);
}

static void a_malformed_value_is_a_deserialization_fault_only_where_read_m5(void **state)
{
    (void)state;
    check_fault("$.a", "{\"a\":1", SF_FAULT_DESERIALIZATION, 6);
    CHECK_EVAL("1 + 1", "{", "2");
}

static void other_serdes_have_only_the_whole_value(void **state)
{
    (void)state;
    static const struct {
        enum sf_serde serde;
        const char *bytes;
        size_t len;
        const char *want; /* NULL: a deserialization fault */
    } rows[] = {
        {SF_SERDE_INT64, "\0\0\0\0\0\0\1\2", 8, "258"}, {SF_SERDE_INT64, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, "-1"},
        {SF_SERDE_INT64, "1", 1, NULL},                 {SF_SERDE_DOUBLE, "\x3f\xf8\0\0\0\0\0\0", 8, "1.5"},
        {SF_SERDE_DOUBLE, "\x7f\xf0\0\0\0\0\0\0", 8, NULL}, {SF_SERDE_STRING, "a\\u", 3, "\"a\\\\u\""},
        {SF_SERDE_STRING, "\xff", 1, NULL},             {SF_SERDE_STRING, "", 0, "\"\""},
        {SF_SERDE_BYTES, "ab", 2, "\"ab\""},            {SF_SERDE_JSON, "", 0, NULL},
        {SF_SERDE_INT64, NULL, 0, "null"},
    };
    struct sf_expression *whole = compile("$"), *deep = compile("1 + $.a");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sf_input_value input = input_of(rows[i].serde, rows[i].bytes, rows[i].len);
        struct sf_value value;
        struct sf_fault fault;
        bool is_good = sf_expression_eval(whole, &input, &value, &fault);
        CHECK_EQ(is_good, rows[i].want != NULL);
        if (is_good) CHECK_STR(show(&value), rows[i].want);
        if (!is_good) CHECK_EQ(fault.kind, SF_FAULT_DESERIALIZATION);
        CHECK_EQ(sf_serde_check(&input, &fault), rows[i].want != NULL);
    }
    struct sf_input_value input = input_of(SF_SERDE_STRING, "x", 1);
    struct sf_value value;
    struct sf_fault fault;
    CHECK(!sf_expression_eval(deep, &input, &value, &fault));
    CHECK_EQ(fault.kind, SF_FAULT_PROCESSING);
    CHECK_EQ(fault.offset, 4);
    sf_expression_destroy(whole);
    sf_expression_destroy(deep);
}

static void values_are_written_by_serde(void **state)
{
    (void)state;
    static const struct {
        enum sf_serde serde;
        const char *json;
        const char *want; /* NULL: a fault */
        size_t len;
    } rows[] = {
        {SF_SERDE_JSON, "\"a\\u0062\"", "\"ab\"", 4}, {SF_SERDE_JSON, "null", "null", 4},
        {SF_SERDE_STRING, "\"a\\u0062\"", "ab", 2},   {SF_SERDE_STRING, "\"ab\"", "ab", 2},
        {SF_SERDE_BYTES, "true", "true", 4},          {SF_SERDE_STRING, "1.50", "1.5", 3},
        {SF_SERDE_STRING, "{}", NULL, 0},             {SF_SERDE_INT64, "258", "\0\0\0\0\0\0\1\2", 8},
        {SF_SERDE_INT64, "1.0", NULL, 0},             {SF_SERDE_DOUBLE, "1", "\x3f\xf0\0\0\0\0\0\0", 8},
        {SF_SERDE_DOUBLE, "1.5", "\x3f\xf8\0\0\0\0\0\0", 8}, {SF_SERDE_DOUBLE, "\"1\"", NULL, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sf_input_value input = input_of(SF_SERDE_JSON, rows[i].json, strlen(rows[i].json));
        struct sf_value value;
        struct sf_fault fault;
        char buf[32];
        struct sf_json_writer writer = sf_json_writer_init(buf, sizeof buf);
        bool is_null;
        CHECK(sf_serde_read(&input, &value, &fault));
        bool is_good = sf_serde_write(rows[i].serde, &value, &writer, &is_null, &fault);
        CHECK_EQ(is_good, rows[i].want != NULL);
        if (!is_good) continue;
        CHECK(!is_null);
        CHECK_EQ(writer.len, rows[i].len);
        CHECK(memcmp(buf, rows[i].want, rows[i].len) == 0);
    }
    struct sf_value null = {.kind = SF_VALUE_NULL}, bad = sf_value_of_string("\xff", 1);
    struct sf_json_writer writer = sf_json_writer_init(NULL, 0);
    struct sf_fault fault;
    bool is_null = false;
    CHECK(sf_serde_write(SF_SERDE_INT64, &null, &writer, &is_null, &fault) && is_null && writer.len == 0);
    CHECK(!sf_serde_write(SF_SERDE_JSON, &bad, &writer, &is_null, &fault));
}

static void bad_texts_are_refused_at_the_byte_that_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t offset;
    } rows[] = {
        {"", 0}, {"  ", 2}, {"$.", 2}, {"$.a +", 5}, {"+ 1", 0}, {"1 2", 2}, {"$.a = 1", 4}, {"$.a === 1", 6},
        {"1 < 2 < 3", 6}, {"1 == 2 == 3", 7}, {"(1", 0}, {"1)", 1}, {"()", 1}, {"'a", 0}, {"\"a", 0}, {"amount", 0},
        {"nullx", 0}, {"9223372036854775808", 0}, {"-9223372036854775809", 0}, {"1e999", 0}, {"01", 0}, {"1.", 2},
        {"1e", 2}, {"1x", 1}, {"$x", 1}, {"$.a.1", 4}, {"$.a[", 4}, {"1 & 2", 2}, {"1 and", 5}, {"1 andx 2", 2},
        {"2 * not true", 4}, {"a\xff", 1}, {"'\xc3'", 1}, {"$.a ! 1", 4}, {".5", 0}, {"1 => 2", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sf_expression_error error;
        if (sf_expression_check(rows[i].text, strlen(rows[i].text), &error)) fail_msg("%s is taken", rows[i].text);
        CHECK(error.text[0] != '\0');
        if (error.offset != rows[i].offset)
            fail_msg("%s is refused at %u (%s), expected %u", rows[i].text, error.offset, error.text, rows[i].offset);
    }
}

static void every_bound_is_refused_and_not_overrun(void **state)
{
    (void)state;
    static char text[70000];
    struct sf_expression_error error;
    size_t len = 0;
    memset(text, '(', 200);
    memset(text + 201, ')', 200);
    text[200] = '1';
    CHECK(!sf_expression_check(text, 401, &error)); /* nesting */
    CHECK(sf_expression_check(text + 150, 101, &error));
    memset(text, '-', 200);
    text[200] = '$';
    CHECK(!sf_expression_check(text, 201, &error));
    for (len = 0; len < 800; len += 4) memcpy(text + len, "not ", 4);
    text[len++] = '$';
    CHECK(!sf_expression_check(text, len, &error));
    for (len = 0; len < 3 * 32; len += 3) memcpy(text + len, "$+(", 3);
    memset(text + len + 1, ')', 32);
    text[len] = '1';
    CHECK(!sf_expression_check(text, len + 33, &error)); /* the stack */
    CHECK(sf_expression_check(text + 3, len + 29, &error));
    for (len = 0; len < 2 * 300; len += 2) memcpy(text + len, "1+", 2);
    text[len++] = '1';
    CHECK(!sf_expression_check(text, len, &error)); /* constants */
    for (len = 0; len < 2 * 300; len += 2) memcpy(text + len, "$+", 2);
    text[len++] = '$';
    CHECK(!sf_expression_check(text, len, &error)); /* operations */
    for (len = 0; len < 7 * 40; len += 7) memcpy(text + len, (char[]){'$', '.', 'a', (char)('a' + len / 7 / 20),
                                                 (char)('a' + len / 7 % 20), '+', ' '}, 7);
    text[len++] = '1';
    CHECK(!sf_expression_check(text, len, &error)); /* paths */
    memset(text, ' ', sizeof text);
    text[0] = '1';
    CHECK(!sf_expression_check(text, sizeof text, &error));
    CHECK(sf_expression_check(text, 65535, &error));
}

static void several_roots_share_their_paths(void **state)
{
    (void)state;
    static const struct sf_expression_text texts[] = {{"$.a + 1", 7}, {"$.a > 1 and null == $.n", 23}, {"$.b", 3}};
    struct sf_expression *expression;
    struct sf_expression_error error;
    CHECK(sf_expression_compile_many(texts, 3, sf_alloc_libc(), &expression, &error));
    CHECK_EQ(sf_expression_root_count(expression), 3);
    struct sf_input_value input = input_of(SF_SERDE_JSON, RECORD, sizeof RECORD - 1);
    struct sf_value values[3];
    struct sf_fault fault;
    CHECK(sf_expression_eval(expression, &input, values, &fault));
    CHECK_STR(show(&values[0]), "8");
    CHECK_STR(show(&values[1]), "true");
    CHECK_STR(show(&values[2]), "2");
    sf_expression_destroy(expression);
    static const struct sf_expression_text bad[] = {{"1", 1}, {"1 +", 3}};
    CHECK(!sf_expression_compile_many(bad, 2, sf_alloc_libc(), &expression, &error));
    CHECK_EQ(error.root, 1);
    CHECK_EQ(error.offset, 3);
}

static void maps_write_fields_in_declared_order(void **state)
{
    (void)state;
    static const struct sf_map_field fields[] = {{"who", "$.s"}, {"t\"", "$.a * 2"}, {"o", "$.o"}, {"x", "$.none"}};
    static const char want[] = "{\"who\":\"x\xc3\xbc\",\"t\\\"\":14,\"o\":{\"odd name\":[1,\"z\"]},\"x\":null}";
    struct sf_map *map;
    struct sf_expression_error error;
    struct sf_fault fault;
    char buf[128];
    struct sf_json_writer writer = sf_json_writer_init(buf, sizeof buf);
    struct sf_input_value input = input_of(SF_SERDE_JSON, RECORD, sizeof RECORD - 1);
    CHECK(sf_map_compile_fields(fields, 4, sf_alloc_libc(), &map, &error));
    CHECK(sf_map_write(map, &input, &writer, &fault));
    CHECK_EQ(writer.len, sizeof want - 1);
    CHECK(memcmp(buf, want, sizeof want - 1) == 0);
    sf_map_destroy(map);
    CHECK(sf_map_compile("$.a / $.b", sf_alloc_libc(), &map, &error));
    writer.len = 0;
    CHECK(sf_map_write(map, &input, &writer, &fault) && writer.len == 1 && buf[0] == '3');
    input = input_of(SF_SERDE_JSON, "{\"a\":1,\"b\":0}", 13);
    CHECK(!sf_map_write(map, &input, &writer, &fault) && fault.kind == SF_FAULT_PROCESSING);
    sf_map_destroy(map);
    CHECK(sf_map_compile("$", sf_alloc_libc(), &map, &error));
    input = input_of(SF_SERDE_BYTES, "\xff", 1); /* would be no JSON */
    CHECK(!sf_map_write(map, &input, &writer, &fault) && fault.kind == SF_FAULT_PROCESSING);
    sf_map_destroy(map);
    static const struct sf_map_field bad[] = {{"a", "1"}, {"b", "$."}};
    CHECK(!sf_map_compile_fields(bad, 2, sf_alloc_libc(), &map, &error));
    CHECK_EQ(error.root, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_and_literals_are_values),
        cmocka_unit_test(integer_arithmetic_is_exact_and_division_cuts_towards_zero),
        cmocka_unit_test(a_double_on_either_side_makes_a_double),
        cmocka_unit_test(arithmetic_that_cannot_be_is_a_processing_fault_m5),
        cmocka_unit_test(numbers_compare_exactly),
        cmocka_unit_test(strings_compare_by_their_bytes),
        cmocka_unit_test(null_is_seen_by_the_tests_for_null_alone),
        cmocka_unit_test(different_kinds_are_unequal_and_have_no_order),
        cmocka_unit_test(logic_looks_right_only_where_left_does_not_decide),
        cmocka_unit_test(a_condition_is_a_boolean_and_null_is_false),
        cmocka_unit_test(a_filter_takes_true_alone),
        cmocka_unit_test(a_malformed_value_is_a_deserialization_fault_only_where_read_m5),
        cmocka_unit_test(other_serdes_have_only_the_whole_value),
        cmocka_unit_test(values_are_written_by_serde),
        cmocka_unit_test(bad_texts_are_refused_at_the_byte_that_is_wrong),
        cmocka_unit_test(every_bound_is_refused_and_not_overrun),
        cmocka_unit_test(several_roots_share_their_paths),
        cmocka_unit_test(maps_write_fields_in_declared_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
