/* JSON: what is refused and where, what paths pick, what the writer writes. */
#include "tests/check.h"

#include <stdlib.h>

#include "core/ops/json.h"

#define PATHS_MAX 8u

/* Extracts from an exact-sized copy, so that the sanitizer sees a read beyond the end. */
static bool extract(const char *text, size_t len, const char *const *paths, uint32_t count, struct sf_value *values,
                    char **copy_out, struct sf_fault *fault)
{
    static struct sf_json_segment segments[PATHS_MAX][SF_JSON_SEGMENTS_MAX];
    struct sf_json_path parsed[PATHS_MAX] = {0};
    size_t used;
    for (uint32_t i = 0; i < count; i++) {
        CHECK(sf_json_path_read(paths[i], strlen(paths[i]), segments[i], &parsed[i].count, &used, fault));
        CHECK_EQ(used, strlen(paths[i]));
        parsed[i].segments = segments[i];
    }
    *copy_out = malloc(len > 0 ? len : 1);
    memcpy(*copy_out, text, len);
    return sf_json_extract(*copy_out, len, parsed, count, values, fault);
}

/* What stands at `path`, as JSON text. */
static const char *at_path(const char *text, const char *path)
{
    static char buf[512];
    struct sf_value value;
    struct sf_fault fault;
    char *copy;
    if (!extract(text, strlen(text), &path, 1, &value, &copy, &fault)) {
        free(copy);
        fail_msg("%s: byte %u: %s", text, fault.offset, fault.text);
    }
    struct sf_json_writer writer = sf_json_writer_init(buf, sizeof buf - 1);
    if (value.kind == SF_VALUE_MISSING) {
        sf_json_put_raw(&writer, "missing", 7);
    } else {
        sf_json_put_value(&writer, &value);
    }
    free(copy);
    CHECK(sf_json_writer_fits(&writer));
    buf[writer.len] = '\0';
    return buf;
}

static void check_refused(const char *text, size_t len, size_t offset)
{
    struct sf_fault fault;
    char *copy;
    if (extract(text, len, NULL, 0, NULL, &copy, &fault)) fail_msg("%.*s is taken", (int)len, text);
    free(copy);
    CHECK_EQ(fault.kind, SF_FAULT_DESERIALIZATION);
    CHECK(fault.text[0] != '\0');
    if (fault.offset != offset) fail_msg("%.*s is refused at %u, expected %zu", (int)len, text, fault.offset, offset);
}

static void good_texts_are_taken(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0", "-0", "-1.5e+10", "1E-2", "\"\"", "true", " false ", "null", "[]", "{}", " [ 1 , 2 ] ",
        "\t\r\n{\"a\" : [ ] }",
        "{\"\":1}", "\"\\ud83d\\ude00\\u0000\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\x7f\xc2\x80\xf4\x8f\xbf\xbf\"", "1e999",
        "\"0123456789abcdef0123456789\xc3\xbc\"",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct sf_fault fault;
        if (!sf_json_check(texts[i], strlen(texts[i]), &fault)) fail_msg("%s: %s", texts[i], fault.text);
    }
}

static void malformed_texts_are_refused_at_the_byte_that_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t offset;
    } rows[] = {
        {"", 0}, {"  ", 2}, {"{", 1}, {"[", 1}, {"[1", 2}, {"[1,]", 3}, {"[,1]", 1}, {"{\"a\"}", 4}, {"{\"a\":}", 5},
        {"{\"a\":1,}", 7}, {"{a:1}", 1}, {"{1:1}", 1}, {"{\"a\":1 \"b\":2}", 7}, {"[1 2]", 3}, {"tru", 0}, {"nulL", 0},
        {"01", 1}, {"-", 1}, {"+1", 0}, {".5", 0}, {"1.", 2}, {"1.e1", 2}, {"1e", 2}, {"1e+", 3}, {"0x1", 1},
        {"\"abc", 4}, {"\"\\", 2}, {"\"\\x\"", 2}, {"\"\\u12g4\"", 2}, {"\"\\u12", 2}, {"\"a\tb\"", 2}, {"\"\n\"", 1},
        {"1 1", 2}, {"{} x", 3}, {"nan", 0}, {"Infinity", 0}, {"'a'", 0}, {"[1]]", 3}, {"\xef\xbb\xbf{}", 0}, {"}", 0},
        {"{\"a\":1]", 6}, {"[1}", 2}, {"{\"a\" 1}", 5}, {"// 1", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_refused(rows[i].text, strlen(rows[i].text), rows[i].offset);
    check_refused("\"0123456\x1f 89\"", 12, 8);
    check_refused("\"\x1f\"", 3, 1);
    check_refused("1\0", 2, 1);
    check_refused("\"a\0b\"", 5, 2);
}

static void ill_formed_utf8_and_lone_surrogates_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t offset;
    } rows[] = {
        {"\"\x80\"", 1}, {"\"\xc3\"", 1}, {"\"\xc0\xaf\"", 1}, {"\"\xe0\x80\x80\"", 1}, {"\"\xed\xa0\x80\"", 1},
        {"\"\xf0\x80\x80\x80\"", 1}, {"\"\xf4\x90\x80\x80\"", 1}, {"\"\xff\"", 1}, {"\"12345678\xe2\x82", 9},
        {"\"\\ud800\"", 2}, {"\"\\udc00\"", 2}, {"\"\\ud800\\u0041\"", 2}, {"\"\\ud800x\"", 2},
        {"\"\\ud83d\\ud83d\"", 2}, {"\"\\udfff\"", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_refused(rows[i].text, strlen(rows[i].text), rows[i].offset);
}

static void depth_64_is_taken_and_65_refused(void **state)
{
    (void)state;
    char text[131];
    struct sf_fault fault;
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    check_refused(text, 130, 64);
    CHECK(sf_json_check(text + 1, 128, &fault));
    char objects[5 * 65 + 1 + 65];
    for (size_t i = 0; i < 65; i++) memcpy(objects + 5 * i, "{\"a\":", 5);
    objects[5 * 65] = '1';
    memset(objects + 5 * 65 + 1, '}', 65);
    check_refused(objects, sizeof objects, 5 * 64);
    CHECK(sf_json_check(objects + 5, sizeof objects - 6, &fault));
}

static void paths_pick_values(void **state)
{
    (void)state;
    static const char text[] = " {\"user\":\"ann\",\"amount\":5, \"pos\":{\"at\":[10,[20,21],{\"x\":true}]},"
                               "\"odd name\":null,\"d\":-1.50,\"\":7} ";
    CHECK_STR(at_path(text, "$.user"), "\"ann\"");
    CHECK_STR(at_path(text, "$.amount"), "5");
    CHECK_STR(at_path(text, "$.d"), "-1.5");
    CHECK_STR(at_path(text, "$.pos.at[1][0]"), "20");
    CHECK_STR(at_path(text, "$.pos.at[2].x"), "true");
    CHECK_STR(at_path(text, "$.pos.at"), "[10,[20,21],{\"x\":true}]");
    CHECK_STR(at_path(text, "$['odd name']"), "null");
    CHECK_STR(at_path(text, "$[\"\"]"), "7");
    CHECK_STR(at_path("[1,2]", "$[1]"), "2");
    CHECK_STR(at_path(" 5 ", "$"), "5");
}

static void what_a_path_does_not_find_is_missing(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":{\"b\":1},\"c\":[1],\"d\":5}";
    static const char *const paths[] = {"$.x", "$.a.x", "$.a[0]", "$.c[1]", "$.c.b", "$.d.x", "$.d[0]", "$[0]",
                                        "$.a.b.c"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) CHECK_STR(at_path(text, paths[i]), "missing");
}

static void of_duplicate_keys_the_first_counts(void **state)
{
    (void)state;
    CHECK_STR(at_path("{\"a\":1,\"a\":2}", "$.a"), "1");
    CHECK_STR(at_path("{\"a\":{\"x\":1},\"a\":{\"b\":2}}", "$.a.b"), "missing");
    CHECK_STR(at_path("{\"\\u0061\":1,\"a\":2}", "$.a"), "1");
}

static void names_compare_behind_their_escapes(void **state)
{
    (void)state;
    CHECK_STR(at_path("{\"z\\u00fc\":1}", "$.z\xc3\xbc"), "1");
    CHECK_STR(at_path("{\"\\ud83d\\ude00\":1}", "$.\xf0\x9f\x98\x80"), "1");
    CHECK_STR(at_path("{\"a\\u0000\":1,\"a\":2}", "$.a"), "2");
}

static void many_paths_are_read_in_one_pass(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":{\"b\":1,\"c\":\"x\"},\"d\":[true]}";
    static const char *const paths[] = {"$.d[0]", "$.a", "$.a.b", "$.a.b", "$", "$.none"};
    struct sf_value values[6];
    struct sf_fault fault;
    char *copy;
    CHECK(extract(text, sizeof text - 1, paths, 6, values, &copy, &fault));
    CHECK_EQ(values[0].kind, SF_VALUE_BOOL);
    CHECK_EQ(values[1].kind, SF_VALUE_OBJECT);
    CHECK_EQ(values[1].len, 15);
    CHECK_EQ(values[2].as.integer, 1);
    CHECK_EQ(values[3].as.integer, 1);
    CHECK_EQ(values[4].len, sizeof text - 1);
    CHECK_EQ(values[5].kind, SF_VALUE_MISSING);
    free(copy);
}

static void a_text_is_checked_to_its_end_whatever_is_asked_for(void **state)
{
    (void)state;
    static const char *const path = "$.a";
    static const char text[] = "{\"a\":1,\"b\":}";
    struct sf_value value;
    struct sf_fault fault;
    char *copy;
    CHECK(!extract(text, sizeof text - 1, &path, 1, &value, &copy, &fault));
    CHECK_EQ(fault.offset, 11);
    free(copy);
}

static void a_number_beyond_a_double_is_a_fault_only_where_asked_for(void **state)
{
    (void)state;
    static const char *const path = "$.a";
    struct sf_value value;
    struct sf_fault fault;
    char *copy;
    CHECK(!extract("{\"a\":1e999}", 11, &path, 1, &value, &copy, &fault));
    CHECK_EQ(fault.offset, 5);
    free(copy);
    CHECK_STR(at_path("{\"a\":1,\"b\":1e999}", "$.a"), "1");
}

static void escapes_are_undone_on_demand(void **state)
{
    (void)state;
    static const char *const path = "$";
    static const char text[] = "\"a\\u00fc\\n\\ud83d\\ude00\\/\\u20ac\"";
    static const char want[] = "a\xc3\xbc\n\xf0\x9f\x98\x80/\xe2\x82\xac";
    struct sf_value value;
    struct sf_fault fault;
    char *copy, buf[64];
    CHECK(extract(text, sizeof text - 1, &path, 1, &value, &copy, &fault));
    CHECK(value.has_escapes);
    CHECK_EQ(sf_value_text(&value, buf, sizeof buf), sizeof want - 1);
    CHECK(memcmp(buf, want, sizeof want - 1) == 0);
    memset(buf, 'x', sizeof buf);
    CHECK_EQ(sf_value_text(&value, buf, 2), sizeof want - 1);
    CHECK(buf[1] == '\xc3' && buf[2] == 'x');
    free(copy);
}

static void keys_are_made_of_values(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *key; /* NULL: the null key */
    } rows[] = {{"\"ann\"", "ann"}, {"\"a\\u0062\"", "ab"}, {"-5", "-5"}, {"true", "true"}, {"false", "false"},
                {"1.50", "1.5"}, {"null", NULL}, {"\"\"", ""}};
    static const char *const path = "$";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sf_value value;
        struct sf_fault fault;
        struct sf_slice key;
        char *copy, buf[64];
        CHECK(extract(rows[i].json, strlen(rows[i].json), &path, 1, &value, &copy, &fault));
        CHECK(sf_value_key(&value, buf, sizeof buf, &key, &fault));
        CHECK_EQ(key.data != NULL, rows[i].key != NULL);
        if (rows[i].key != NULL) {
            CHECK_EQ(key.len, strlen(rows[i].key));
            CHECK(memcmp(key.data, rows[i].key, key.len) == 0);
        }
        free(copy);
    }
    struct sf_value object = {.kind = SF_VALUE_OBJECT, .text = "{}", .len = 2};
    struct sf_fault fault;
    struct sf_slice key;
    char buf[64];
    CHECK(!sf_value_key(&object, buf, sizeof buf, &key, &fault));
    CHECK_EQ(fault.kind, SF_FAULT_PROCESSING);
}

static void strings_are_written_with_the_fewest_escapes(void **state)
{
    (void)state;
    CHECK_STR(at_path("\"\\u0041\\/\\u00e9\\u0001\\u001f\\b\\f\\n\\r\\t\\\"\\\\\\u007f\"", "$"),
              "\"A/\xc3\xa9\\u0001\\u001f\\b\\f\\n\\r\\t\\\"\\\\\x7f\"");
}

static void the_writer_tells_what_it_needs_and_keeps_to_its_buffer(void **state)
{
    (void)state;
    for (size_t cap = 0; cap < 40; cap++) {
        char buf[48];
        memset(buf, '#', sizeof buf);
        struct sf_json_writer writer = sf_json_writer_init(buf, cap);
        sf_json_put_string(&writer, "a\nb", 3);
        sf_json_put_int(&writer, -123);
        sf_json_put_double(&writer, 1.5);
        CHECK_EQ(writer.len, 13);
        CHECK_EQ(sf_json_writer_fits(&writer), cap >= 13);
        if (cap >= 13) CHECK(memcmp(buf, "\"a\\nb\"-1231.5", 13) == 0);
        CHECK(buf[cap] == '#');
    }
}

static void bad_paths_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t offset;
    } rows[] = {{"", 0}, {"a", 0}, {"$.", 2}, {"$..a", 2}, {"$.1", 2}, {"$[", 2}, {"$[]", 2}, {"$[-1]", 2}, {"$[1", 3},
                {"$['a]", 2}, {"$['a'", 5}, {"$[99999999999]", 2}, {"$.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a", 33}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sf_json_segment segments[SF_JSON_SEGMENTS_MAX];
        struct sf_fault fault;
        uint32_t count;
        size_t used;
        CHECK(!sf_json_path_read(rows[i].text, strlen(rows[i].text), segments, &count, &used, &fault));
        CHECK_EQ(fault.offset, rows[i].offset);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_texts_are_taken),
        cmocka_unit_test(malformed_texts_are_refused_at_the_byte_that_is_wrong),
        cmocka_unit_test(ill_formed_utf8_and_lone_surrogates_are_refused),
        cmocka_unit_test(depth_64_is_taken_and_65_refused),
        cmocka_unit_test(paths_pick_values),
        cmocka_unit_test(what_a_path_does_not_find_is_missing),
        cmocka_unit_test(of_duplicate_keys_the_first_counts),
        cmocka_unit_test(names_compare_behind_their_escapes),
        cmocka_unit_test(many_paths_are_read_in_one_pass),
        cmocka_unit_test(a_text_is_checked_to_its_end_whatever_is_asked_for),
        cmocka_unit_test(a_number_beyond_a_double_is_a_fault_only_where_asked_for),
        cmocka_unit_test(escapes_are_undone_on_demand),
        cmocka_unit_test(keys_are_made_of_values),
        cmocka_unit_test(strings_are_written_with_the_fewest_escapes),
        cmocka_unit_test(the_writer_tells_what_it_needs_and_keeps_to_its_buffer),
        cmocka_unit_test(bad_paths_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
