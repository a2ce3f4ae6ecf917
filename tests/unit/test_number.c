/* Numbers: nearest double in, shortest text out, integers exact. */
#include "tests/check.h"

#include "core/ops/number.h"

static struct sf_value read_number(const char *text)
{
    struct sf_value value;
    if (!sf_number_read(text, strlen(text), &value)) fail_msg("%s is refused", text);
    return value;
}

static uint64_t bits_of(double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static const char *text_of(double real)
{
    static char buf[SF_NUMBER_TEXT_BYTES + 1];
    buf[sf_double_write(real, buf)] = '\0';
    return buf;
}

static void integers_are_exact_to_the_ends_of_int64(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t integer;
    } rows[] = {{"0", 0}, {"-0", 0}, {"-1", -1}, {"9007199254740993", INT64_C(9007199254740993)},
                {"9223372036854775807", INT64_MAX}, {"-9223372036854775808", INT64_MIN}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sf_value value = read_number(rows[i].text);
        CHECK_EQ(value.kind, SF_VALUE_INT);
        CHECK_EQ(value.as.integer, rows[i].integer);
        char buf[SF_NUMBER_TEXT_BYTES + 1];
        buf[sf_integer_write(rows[i].integer, buf)] = '\0';
        if (i != 1) CHECK_STR(buf, rows[i].text);
    }
}

static void integers_beyond_int64_fractions_and_exponents_are_doubles(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double real;
    } rows[] = {{"9223372036854775808", 9223372036854775808.0}, {"-9223372036854775809", -9223372036854775808.0},
                {"1.0", 1.0}, {"1e2", 100.0}, {"100000000000000000000", 1e20}, {"-0.0", -0.0}, {"0e5", 0.0},
                {"0.000000000000000000000000000001", 1e-30}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sf_value value = read_number(rows[i].text);
        CHECK_EQ(value.kind, SF_VALUE_DOUBLE);
        if (bits_of(value.as.real) != bits_of(rows[i].real)) fail_msg("%s", rows[i].text);
    }
}

/* The bits are what IEEE 754 prescribes: halves, ends of the range, and texts that need more than 64 or 128 bits. */
static void decimals_read_as_the_nearest_double(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bits;
    } rows[] = {
        {"0.1", 0x3fb999999999999a},
        {"9007199254740993.0", 0x4340000000000000},  /* 2^53 + 1: a tie, to even */
        {"9007199254740993.00000000000000000000000000000000000001", 0x4340000000000001},
        {"9007199254740995.0", 0x4340000000000002},  /* 2^53 + 3: a tie, up to even */
        {"1.7976931348623157e308", 0x7fefffffffffffff},
        {"1.7976931348623158e308", 0x7fefffffffffffff},
        {"2.2250738585072014e-308", 0x0010000000000000},
        {"2.2250738585072011e-308", 0x000fffffffffffff},
        {"5e-324", 1},
        {"2.4703282292062327e-324", 0},  /* below half of the least: zero */
        {"2.4703282292062328e-324", 1},
        {"1e-400", 0},
        {"123456789012345678901234567890e-10", 0x43e56a95319d63e1},
        {"8.5e-27", 0x3a850b83da615fd1},
        {"6.02214076e23", 0x44dfe185ca57c517},
        {"6924008699933310697e12", 0x4655d92b707eb3ef}, /* a trifle above a tie: only the last of 128 bits show it */
        {"8043233099399531726e-12", 0x415eaeb8465c8fdb},
        {"1.00000000000000011102230246251565404236316680908203124", 0x3ff0000000000000},
        {"1.00000000000000011102230246251565404236316680908203125", 0x3ff0000000000000},
        {"1.00000000000000011102230246251565404236316680908203126", 0x3ff0000000000001},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sf_value value = read_number(rows[i].text);
        CHECK_EQ(value.kind, SF_VALUE_DOUBLE);
        if (bits_of(value.as.real) != rows[i].bits)
            fail_msg("%s has bits %016" PRIx64 ", expected %016" PRIx64, rows[i].text, bits_of(value.as.real),
                     rows[i].bits);
    }
}

static void what_no_double_holds_is_refused(void **state)
{
    (void)state;
    struct sf_value value;
    CHECK(!sf_number_read("1e309", 5, &value));
    CHECK(!sf_number_read("-1e999999999999", 15, &value));
    CHECK(!sf_number_read("1.7976931348623159e308", 22, &value));
}

static void digits_beyond_any_buffer_still_decide_a_tie(void **state)
{
    (void)state;
    char text[2000];
    memset(text, '0', sizeof text);
    memcpy(text, "9007199254740993.", 17);
    text[1999] = '1';
    struct sf_value value;
    CHECK(sf_number_read(text, sizeof text, &value));
    CHECK(bits_of(value.as.real) == 0x4340000000000001);
    text[1999] = '0';
    CHECK(sf_number_read(text, sizeof text, &value));
    CHECK(bits_of(value.as.real) == 0x4340000000000000);
}

static void doubles_are_written_with_the_fewest_digits(void **state)
{
    (void)state;
    static const struct {
        double real;
        const char *text;
    } rows[] = {
        {0.0, "0.0"}, {-0.0, "-0.0"}, {1.0, "1.0"}, {100.0, "100.0"}, {0.1 + 0.2, "0.30000000000000004"},
        {0.1, "0.1"}, {0.0001, "0.0001"}, {0.00001, "1e-5"}, {1e15, "1000000000000000.0"}, {1e16, "1e16"},
        {123456789012345680.0, "1.2345678901234568e17"}, {9007199254740993.0, "9007199254740992.0"},
        {1e308, "1e308"}, {1.7976931348623157e308, "1.7976931348623157e308"}, {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"}, {1e23, "1e23"},
        {9.5367431640625e-7, "9.5367431640625e-7"},
        {4.35, "4.35"}, {2.0 / 3, "0.6666666666666666"}, {1.0 / 3, "0.3333333333333333"}, {5e-323, "5e-323"},
        {9.007199254740991e15, "9007199254740991.0"}, {-123.456, "-123.456"},
        {843722669.9108458, "843722669.9108458"}, {0.0010625499838039165, "0.0010625499838039165"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) CHECK_STR(text_of(rows[i].real), rows[i].text);
}

static void every_power_of_two_and_its_neighbours_come_back(void **state)
{
    (void)state;
    for (uint64_t exponent = 0; exponent < 2047; exponent++) {
        uint64_t power = exponent << 52;
        const uint64_t near[] = {power, power + 1, power == 0 ? 2 : power - 1, power | 0x000f000000000001};
        for (size_t i = 0; i < 4; i++) {
            double real = from_bits(near[i]);
            struct sf_value value = read_number(text_of(real));
            if (value.kind != SF_VALUE_DOUBLE || bits_of(value.as.real) != near[i])
                fail_msg("%016" PRIx64 " is written %s", near[i], text_of(real));
        }
    }
}

static void mixed_bits_come_back(void **state)
{
    (void)state;
    uint64_t bits = 88172645463325252u;
    for (unsigned i = 0; i < 20000; i++) {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        double real = from_bits(bits);
        if (!sf_double_is_finite(real)) continue;
        struct sf_value value = read_number(text_of(real));
        if (bits_of(value.as.real) != bits) fail_msg("%016" PRIx64 " is written %s", bits, text_of(real));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_exact_to_the_ends_of_int64),
        cmocka_unit_test(integers_beyond_int64_fractions_and_exponents_are_doubles),
        cmocka_unit_test(decimals_read_as_the_nearest_double),
        cmocka_unit_test(what_no_double_holds_is_refused),
        cmocka_unit_test(digits_beyond_any_buffer_still_decide_a_tie),
        cmocka_unit_test(doubles_are_written_with_the_fewest_digits),
        cmocka_unit_test(every_power_of_two_and_its_neighbours_come_back),
        cmocka_unit_test(mixed_bits_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
