/* The YAML layer's bounds and places, and what scalars mean. */
#include "tests/check.h"

#include "core/app/values.h"
#include "core/app/yaml.h"
#include "core/text.h"

struct parsed {
    struct sf_yaml_tree *tree;
    struct sf_findings findings;
};

static void parse(struct parsed *parsed, const char *text, size_t length)
{
    sf_findings_init(&parsed->findings, sf_alloc_libc());
    parsed->tree = sf_yaml_parse(text, length, sf_alloc_libc(), &parsed->findings);
}

static void end(struct parsed *parsed)
{
    sf_yaml_destroy(parsed->tree);
    sf_findings_deinit(&parsed->findings);
}

static void check_refused(const struct sf_text *yaml, const char *why)
{
    struct parsed parsed;
    parse(&parsed, yaml->data, yaml->length);
    CHECK(parsed.tree == NULL);
    CHECK_EQ(parsed.findings.count, 1);
    CHECK_STR(parsed.findings.items[0].text, why);
    end(&parsed);
}

static void nodes_have_their_places_and_kinds(void **state)
{
    (void)state;
    struct parsed parsed;
    static const char yaml[] = "a: [1, \"2\"]\nb:\n  c: ~\n  \"d e\": |\n    text\n";
    parse(&parsed, yaml, sizeof yaml - 1);
    const struct sf_yaml_node *root = sf_yaml_root(parsed.tree), *a = sf_yaml_get(root, "a");
    CHECK_EQ(root->kind, SF_YAML_MAPPING);
    CHECK_EQ(root->child_count, 2);
    CHECK_EQ(a->kind, SF_YAML_SEQUENCE);
    CHECK_EQ(a->place.column, 4);
    CHECK(!a->first->is_quoted);
    CHECK(a->first->next->is_quoted);
    CHECK_EQ(a->first->next->place.column, 8);
    const struct sf_yaml_node *b = sf_yaml_get(root, "b");
    CHECK_EQ(b->place.line, 3);
    CHECK_EQ(b->key->place.line, 2);
    CHECK(sf_yaml_is_null(sf_yaml_get(b, "c")));
    CHECK(sf_yaml_is(sf_yaml_get(b, "d e"), "text\n"));
    CHECK_EQ(sf_yaml_get(b, "d e")->key->place.column, 3);
    CHECK(sf_yaml_get(b, "e") == NULL);
    end(&parsed);
}

static void aliases_are_copied_with_their_places(void **state)
{
    (void)state;
    struct parsed parsed;
    static const char yaml[] = "a: &x {k: [1]}\nb: *x\nc: *x\n";
    parse(&parsed, yaml, sizeof yaml - 1);
    CHECK_EQ(parsed.findings.count, 0);
    const struct sf_yaml_node *root = sf_yaml_root(parsed.tree);
    const struct sf_yaml_node *k = sf_yaml_get(sf_yaml_get(root, "c"), "k");
    CHECK_EQ(k->kind, SF_YAML_SEQUENCE);
    CHECK_EQ(k->place.line, 1);
    CHECK(k != sf_yaml_get(sf_yaml_get(root, "b"), "k"));
    CHECK_EQ(sf_yaml_get(root, "c")->key->place.line, 3);
    end(&parsed);
}

static void a_billion_laughs_are_refused_at_the_node_bound(void **state)
{
    (void)state;
    struct sf_text yaml;
    sf_text_init_growing(&yaml, sf_alloc_libc());
    sf_text_add(&yaml, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 10; i++) {
        sf_text_add(&yaml, "a");
        sf_text_add_int(&yaml, i);
        sf_text_add(&yaml, ": &a");
        sf_text_add_int(&yaml, i);
        for (int k = 0; k < 10; k++) {
            sf_text_add(&yaml, k == 0 ? " [*a" : ", *a");
            sf_text_add_int(&yaml, i - 1);
        }
        sf_text_add(&yaml, "]\n");
    }
    check_refused(&yaml, "the file holds, with its aliases expanded, more than 500000 values");
    sf_text_deinit(&yaml);
}

static void depth_is_bounded_also_through_aliases(void **state)
{
    (void)state;
    struct sf_text yaml;
    sf_text_init_growing(&yaml, sf_alloc_libc());
    for (int i = 0; i < 70; i++) {
        for (int k = 0; k < i; k++) sf_text_add(&yaml, " ");
        sf_text_add(&yaml, "a:\n");
    }
    check_refused(&yaml, "values are nested more than 64 deep");
    sf_text_deinit(&yaml);
    sf_text_init_growing(&yaml, sf_alloc_libc());
    sf_text_add(&yaml, "a: &a [x]\n");
    for (char name = 'b'; name <= 'h'; name++) {
        sf_text_add(&yaml, (char[]){name, '\0'});
        sf_text_add(&yaml, ": &");
        sf_text_add(&yaml, (char[]){name, '\0'});
        sf_text_add(&yaml, " [[[[[[[[[[*");
        sf_text_add(&yaml, (char[]){(char)(name - 1), '\0'});
        sf_text_add(&yaml, "]]]]]]]]]]\n");
    }
    check_refused(&yaml, "values are nested more than 64 deep");
    sf_text_deinit(&yaml);
}

static void a_file_over_4_mib_is_refused(void **state)
{
    (void)state;
    struct sf_text yaml;
    sf_text_init_growing(&yaml, sf_alloc_libc());
    sf_text_add(&yaml, "a: b\n");
    while (yaml.length <= SF_YAML_BYTES_MAX) sf_text_add(&yaml, "# a comment that only fills the file up\n");
    check_refused(&yaml, "the file is larger than 4 MiB");
    sf_text_deinit(&yaml);
}

static void duplicates_among_many_keys_are_found(void **state)
{
    (void)state;
    struct sf_text yaml;
    struct parsed parsed;
    sf_text_init_growing(&yaml, sf_alloc_libc());
    for (int i = 0; i < 50000; i++) {
        sf_text_add(&yaml, "key-");
        sf_text_add_int(&yaml, i);
        sf_text_add(&yaml, ": 1\n");
    }
    sf_text_add(&yaml, "key-777: 2\n");
    parse(&parsed, yaml.data, yaml.length);
    CHECK(parsed.tree != NULL);
    CHECK_EQ(parsed.findings.count, 1);
    CHECK_EQ(parsed.findings.items[0].place.line, 50001);
    CHECK_STR(parsed.findings.items[0].text, "`key-777` stands here for the second time; the first is in line 778");
    CHECK_EQ(sf_yaml_root(parsed.tree)->child_count, 50000);
    CHECK(sf_yaml_is(sf_yaml_get(sf_yaml_root(parsed.tree), "key-777"), "1"));
    end(&parsed);
    sf_text_deinit(&yaml);
}

static void findings_beyond_the_bound_are_only_counted(void **state)
{
    (void)state;
    struct sf_text yaml;
    struct parsed parsed;
    sf_text_init_growing(&yaml, sf_alloc_libc());
    for (int i = 0; i < 1000; i++) sf_text_add(&yaml, "a: 1\n");
    parse(&parsed, yaml.data, yaml.length);
    CHECK_EQ(parsed.findings.count, SF_FINDINGS_MAX);
    CHECK_EQ(parsed.findings.error_count, 999);
    end(&parsed);
    sf_text_deinit(&yaml);
}

/* ---- values ---- */

static void durations_are_read_largest_unit_first(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {{"0ms", 0},       {"250ms", 250},      {"30s", 30000}, {"5m", 300000},     {"1h", 3600000},
                {"7d", 604800000}, {"12m1s", 721000}, {"-30s", -30000}, {"+30s", 30000},
                {"1d2h3m4s5ms", 93784005}};
    static const char *const bad[] = {"", "5", "s", "1s1m", "1s1s", "1 s", "1S", "--1s", "+-1s", "1.5s",
                                      "9999999999999999999s",
                                      "999999999999999999d"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t ms = -1;
        CHECK(sf_value_duration(good[i].text, &ms));
        CHECK_EQ(ms, good[i].ms);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t ms = 77;
        if (sf_value_duration(bad[i], &ms)) fail_msg("taken: %s", bad[i]);
        CHECK_EQ(ms, 77);
    }
}

static void times_are_read_in_utc_or_with_their_zone(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {{"0", 0},
                {"1790071200000", INT64_C(1790071200000)},
                {"2026-09-22T10:00:00Z", INT64_C(1790071200000)},
                {"2026-09-22T10:00", INT64_C(1790071200000)},
                {"2026-09-22T12:00:00.5+02:00", INT64_C(1790071200500)},
                {"2026-09-22T08:30:00-01:30", INT64_C(1790071200000)},
                {"1970-01-01", 0},
                {"2024-02-29", INT64_C(1709164800000)},
                {"9999-12-31T23:59:59.999Z", INT64_C(253402300799999)}};
    static const char *const bad[] = {"-1",        "253402300800000", "2023-02-29",           "2026-13-01",
                                      "2026-9-22", "1969-12-31",      "2026-09-22T10:00:00z", "noon",
                                      "2026-09-22T24:00", "2026-09-22 10:00"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t ms = -1;
        if (!sf_value_time(good[i].text, &ms)) fail_msg("not taken: %s", good[i].text);
        CHECK_EQ(ms, good[i].ms);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t ms = 0;
        if (sf_value_time(bad[i], &ms)) fail_msg("taken: %s", bad[i]);
    }
}

static void moments_are_times_offsets_or_times_of_day(void **state)
{
    (void)state;
    enum sf_moment_kind kind = SF_MOMENT_TIME;
    int64_t ms = 0;
    CHECK(sf_value_moment("+12m1s", &kind, &ms));
    CHECK_EQ(kind, SF_MOMENT_OFFSET);
    CHECK_EQ(ms, 721000);
    CHECK(sf_value_moment("10:05:30.250", &kind, &ms));
    CHECK_EQ(kind, SF_MOMENT_OF_DAY);
    CHECK_EQ(ms, 36330250);
    CHECK(sf_value_moment("12", &kind, &ms));
    CHECK_EQ(kind, SF_MOMENT_TIME);
    CHECK_EQ(ms, 12);
    CHECK(!sf_value_moment("+-1s", &kind, &ms));
    CHECK(!sf_value_moment("+5", &kind, &ms));
    CHECK(!sf_value_moment("25:00", &kind, &ms));
    CHECK(!sf_value_moment("90s", &kind, &ms));
}

static void integers_and_decimals_stop_at_their_ends(void **state)
{
    (void)state;
    int64_t value = 0;
    CHECK(sf_value_int("9223372036854775807", &value));
    CHECK_EQ(value, INT64_MAX);
    CHECK(sf_value_int("-9223372036854775808", &value));
    CHECK_EQ(value, INT64_MIN);
    CHECK(!sf_value_int("9223372036854775808", &value));
    CHECK(!sf_value_int("-9223372036854775809", &value));
    CHECK(!sf_value_int("+1", &value));
    CHECK(!sf_value_int("", &value));
    CHECK(!sf_value_int("0x1", &value));
    CHECK(sf_value_decimal("1.5", &value));
    CHECK_EQ(value, 1500000);
    CHECK(sf_value_decimal("-0.000001", &value));
    CHECK_EQ(value, -1);
    CHECK(!sf_value_decimal("1.0000001", &value));
    CHECK(!sf_value_decimal("1.", &value));
}

/* ---- texts ---- */

static void a_bounded_text_is_cut_between_characters(void **state)
{
    (void)state;
    char bytes[6];
    struct sf_text text;
    sf_text_init(&text, bytes, sizeof bytes);
    sf_text_add(&text, "abc\xc3\xa9\xc3\xa9");
    CHECK(text.is_cut);
    CHECK_STR(text.data, "abc\xc3\xa9");
    sf_text_init(&text, bytes, 5);
    sf_text_add(&text, "abc\xc3\xa9");
    CHECK_STR(text.data, "abc");
    sf_text_add(&text, "d");
    CHECK_STR(text.data, "abc");
}

static void numbers_and_durations_are_written_exactly(void **state)
{
    (void)state;
    char number[SF_TEXT_INT_BYTES], span[SF_TEXT_DURATION_BYTES];
    CHECK_STR(sf_text_of_int(number, INT64_MIN), "-9223372036854775808");
    CHECK_STR(sf_text_of_int(number, 0), "0");
    CHECK_STR(sf_text_of_duration(span, 0), "0ms");
    CHECK_STR(sf_text_of_duration(span, 90000), "90s");
    CHECK_STR(sf_text_of_duration(span, 86400000), "1d");
    CHECK_STR(sf_text_of_duration(span, -1500), "-1500ms");
    CHECK_STR(sf_text_of_duration(span, INT64_MIN), "-9223372036854775808ms");
}

static void json_strings_escape_what_they_must(void **state)
{
    (void)state;
    struct sf_text text;
    sf_text_init_growing(&text, sf_alloc_libc());
    sf_text_add_json(&text, "a\"b\\c\n\x01\xc3\xa9", 9);
    CHECK_STR(text.data, "\"a\\\"b\\\\c\\n\\u0001\xc3\xa9\"");
    sf_text_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_have_their_places_and_kinds),
        cmocka_unit_test(aliases_are_copied_with_their_places),
        cmocka_unit_test(a_billion_laughs_are_refused_at_the_node_bound),
        cmocka_unit_test(depth_is_bounded_also_through_aliases),
        cmocka_unit_test(a_file_over_4_mib_is_refused),
        cmocka_unit_test(duplicates_among_many_keys_are_found),
        cmocka_unit_test(findings_beyond_the_bound_are_only_counted),
        cmocka_unit_test(durations_are_read_largest_unit_first),
        cmocka_unit_test(times_are_read_in_utc_or_with_their_zone),
        cmocka_unit_test(moments_are_times_offsets_or_times_of_day),
        cmocka_unit_test(integers_and_decimals_stop_at_their_ends),
        cmocka_unit_test(a_bounded_text_is_cut_between_characters),
        cmocka_unit_test(numbers_and_durations_are_written_exactly),
        cmocka_unit_test(json_strings_escape_what_they_must),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
