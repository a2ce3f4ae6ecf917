#include "core/app/values.h"

#include <string.h>

#include "core/ops/timestamp.h"

#define SFI_DAY_MS INT64_C(86400000)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits at *at, moved past them; false where there are none or more than 18 (which could overflow). */
static bool take_digits(const char **at, int64_t *value_out)
{
    const char *from = *at;
    int64_t value = 0;
    while (is_digit(**at) && *at - from < 18) value = value * 10 + (*(*at)++ - '0');
    if (*at == from || is_digit(**at)) return false;
    *value_out = value;
    return true;
}

/* Exactly `count` digits. */
static bool take_number(const char **at, int count, int64_t *value_out)
{
    int64_t value = 0;
    for (int i = 0; i < count; i++) {
        if (!is_digit(**at)) return false;
        value = value * 10 + (*(*at)++ - '0');
    }
    *value_out = value;
    return true;
}

static bool take_char(const char **at, char c)
{
    if (**at != c) return false;
    (*at)++;
    return true;
}

bool sf_value_int(const char *text, int64_t *value_out)
{
    bool is_negative = take_char(&text, '-');
    uint64_t value = 0, limit = (uint64_t)INT64_MAX + (is_negative ? 1 : 0);
    if (!is_digit(*text)) return false;
    for (; is_digit(*text); text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (limit - digit) / 10) return false;
        value = value * 10 + digit;
    }
    if (*text != '\0') return false;
    *value_out = is_negative ? (int64_t)(0u - value) : (int64_t)value;
    return true;
}

bool sf_value_decimal(const char *text, int64_t *millionths_out)
{
    bool is_negative = take_char(&text, '-');
    int64_t whole = 0, fraction = 0;
    if (!take_digits(&text, &whole) || whole > INT64_C(1000000000000)) return false;
    if (take_char(&text, '.')) {
        const char *from = text;
        if (!take_digits(&text, &fraction) || text - from > 6) return false;
        for (int64_t digits = text - from; digits < 6; digits++) fraction *= 10;
    }
    if (*text != '\0') return false;
    int64_t value = whole * 1000000 + fraction;
    *millionths_out = is_negative ? -value : value;
    return true;
}

static int64_t take_unit(const char **at)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", SFI_DAY_MS}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t length = strlen(units[i].name);
        if (strncmp(*at, units[i].name, length) != 0) continue;
        *at += length;
        return units[i].ms;
    }
    return 0;
}

bool sf_value_duration(const char *text, int64_t *ms_out)
{
    bool is_negative = *text == '-';
    if (*text == '-' || *text == '+') text++;
    int64_t sum = 0, before = INT64_MAX;
    do {
        int64_t count = 0;
        if (!take_digits(&text, &count)) return false;
        int64_t unit = take_unit(&text);
        if (unit == 0 || unit >= before || count > (INT64_MAX - sum) / unit) return false;
        sum += count * unit;
        before = unit;
    } while (*text != '\0');
    *ms_out = is_negative ? -sum : sum;
    return true;
}

static bool take_date(const char **at, int64_t *days_out)
{
    int64_t year = 0, month = 0, day = 0;
    if (!take_number(at, 4, &year) || !take_char(at, '-') || !take_number(at, 2, &month) || !take_char(at, '-') ||
        !take_number(at, 2, &day))
        return false;
    return year >= 1 && sf_time_days(year, (int)month, (int)day, days_out);
}

/* hh:mm[:ss[.fff]] */
static bool take_clock(const char **at, int64_t *ms_out)
{
    int64_t hour = 0, minute = 0, second = 0, fraction = 0;
    if (!take_number(at, 2, &hour) || !take_char(at, ':') || !take_number(at, 2, &minute)) return false;
    if (take_char(at, ':')) {
        if (!take_number(at, 2, &second)) return false;
        if (take_char(at, '.')) {
            const char *from = *at;
            if (!take_digits(at, &fraction) || *at - from > 3) return false;
            for (int64_t digits = *at - from; digits < 3; digits++) fraction *= 10;
        }
    }
    if (hour > 23 || minute > 59 || second > 59) return false;
    *ms_out = ((hour * 60 + minute) * 60 + second) * 1000 + fraction;
    return true;
}

static bool take_zone(const char **at, int64_t *ms_out)
{
    *ms_out = 0;
    if (**at == '\0' || take_char(at, 'Z')) return true;
    bool is_west = **at == '-';
    if (!is_west && **at != '+') return false;
    (*at)++;
    int64_t hour = 0, minute = 0;
    if (!take_number(at, 2, &hour) || !take_char(at, ':') || !take_number(at, 2, &minute)) return false;
    if (hour > 14 || minute > 59) return false;
    *ms_out = (hour * 60 + minute) * 60000 * (is_west ? -1 : 1);
    return true;
}

bool sf_value_time(const char *text, int64_t *ms_out)
{
    int64_t ms = 0;
    if (!sf_value_int(text, &ms)) {
        int64_t days = 0, clock = 0, zone = 0;
        if (!take_date(&text, &days)) return false;
        if (*text != '\0') {
            if (!take_char(&text, 'T') || !take_clock(&text, &clock) || !take_zone(&text, &zone)) return false;
        }
        if (*text != '\0') return false;
        ms = days * SFI_DAY_MS + clock - zone;
    }
    if (!sf_time_is_valid(ms)) return false;
    *ms_out = ms;
    return true;
}

bool sf_value_moment(const char *text, enum sf_moment_kind *kind_out, int64_t *ms_out)
{
    int64_t ms = 0;
    const char *at = text;
    if (text[0] == '+') {
        bool is_signed = text[1] == '-' || text[1] == '+';
        if (is_signed || !sf_value_duration(text + 1, &ms) || ms > SF_TIME_VALID_MAX) return false;
        *kind_out = SF_MOMENT_OFFSET;
    } else if (take_clock(&at, &ms) && *at == '\0') {
        *kind_out = SF_MOMENT_OF_DAY;
    } else if (sf_value_time(text, &ms)) {
        *kind_out = SF_MOMENT_TIME;
    } else {
        return false;
    }
    *ms_out = ms;
    return true;
}

bool sf_value_bool(const char *text, bool *value_out)
{
    bool is_true = strcmp(text, "true") == 0;
    if (!is_true && strcmp(text, "false") != 0) return false;
    *value_out = is_true;
    return true;
}

bool sf_value_is_path(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (!take_char(&text, '$')) return false;
    do {
        if (!take_char(&text, '.')) return false;
        size_t length = strspn(text, letters);
        if (length == 0) return false;
        text += length;
    } while (*text != '\0');
    return true;
}
