#include "core/ops/timestamp.h"

#include <string.h>

#include "core/ops/number.h"

#define DAY_MS INT64_C(86400000)
#define YEAR_MAX 300000000 /* beyond any int64 of milliseconds */
#define TEXT_BYTES_MAX 64u /* of an escaped string that may be a time */

/* ------------------------------------------------------------------ the proleptic Gregorian calendar */

/* Years from March: the leap day is the last of its year. */
#define DAYS_PER_400_YEARS 146097
#define DAYS_TO_1970 719468 /* from 0000-03-01 */

struct date {
    int64_t year;
    int month; /* 1 … 12 */
    int day;   /* 1 … 31 */
};

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_of_month(int64_t year, int month)
{
    static const uint8_t days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

static int64_t days_of_date(struct date date)
{
    int64_t year = date.month <= 2 ? date.year - 1 : date.year;
    int64_t era = floor_div(year, 400), in_era = year - era * 400;
    int64_t month = (date.month + 9) % 12; /* 0: March */
    int64_t day = (153 * month + 2) / 5 + date.day - 1;
    return era * DAYS_PER_400_YEARS + in_era * 365 + in_era / 4 - in_era / 100 + day - DAYS_TO_1970;
}

static struct date date_of_days(int64_t days)
{
    days += DAYS_TO_1970;
    int64_t era = floor_div(days, DAYS_PER_400_YEARS), in_era = days - era * DAYS_PER_400_YEARS;
    int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t day = in_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * day + 2) / 153;
    struct date date = {.year = era * 400 + year, .month = (int)(month < 10 ? month + 3 : month - 9)};
    date.day = (int)(day - (153 * month + 2) / 5 + 1);
    if (date.month <= 2) date.year++;
    return date;
}

bool sf_time_days(int64_t year, int month, int day, int64_t *days_out)
{
    if (month < 1 || month > 12 || day < 1 || day > days_of_month(year, month)) return false;
    *days_out = days_of_date((struct date){.year = year, .month = month, .day = day});
    return true;
}

/* ------------------------------------------------------------------ text to instant */

struct reader {
    const char *at;
    const char *end;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool take(struct reader *reader, char c)
{
    if (reader->at == reader->end || *reader->at != c) return false;
    reader->at++;
    return true;
}

static bool take_digits(struct reader *reader, unsigned count, int *number_out)
{
    if (reader->end - reader->at < (ptrdiff_t)count) return false;
    *number_out = 0;
    for (unsigned i = 0; i < count; i++, reader->at++) {
        if (!is_digit(*reader->at)) return false;
        *number_out = *number_out * 10 + (*reader->at - '0');
    }
    return true;
}

static bool take_year(struct reader *reader, int64_t *year_out)
{
    bool is_negative = take(reader, '-');
    bool is_signed = is_negative || take(reader, '+');
    unsigned digits = 0;
    int year;
    while (reader->at + digits < reader->end && is_digit(reader->at[digits])) digits++;
    if (digits < 4 || digits > (is_signed ? 9u : 4u) || !take_digits(reader, digits, &year)) return false;
    *year_out = is_negative ? -(int64_t)year : year;
    return true;
}

static bool take_date(struct reader *reader, int64_t *days_out)
{
    int64_t year;
    int month, day;
    if (!take_year(reader, &year) || year > YEAR_MAX || year < -YEAR_MAX) return false;
    if (!take(reader, '-') || !take_digits(reader, 2, &month)) return false;
    if (!take(reader, '-') || !take_digits(reader, 2, &day)) return false;
    return sf_time_days(year, month, day, days_out);
}

static bool take_fraction(struct reader *reader, int *ms_out)
{
    unsigned digits = 0;
    *ms_out = 0;
    for (; reader->at < reader->end && is_digit(*reader->at); reader->at++, digits++)
        if (digits < 3) *ms_out = *ms_out * 10 + (*reader->at - '0');
    for (unsigned i = digits; i < 3; i++) *ms_out *= 10;
    return digits > 0;
}

static bool take_time(struct reader *reader, int64_t *ms_out)
{
    int hour, minute, second = 0, ms = 0;
    if (!take_digits(reader, 2, &hour) || !take(reader, ':') || !take_digits(reader, 2, &minute)) return false;
    if (take(reader, ':')) {
        if (!take_digits(reader, 2, &second)) return false;
        if ((take(reader, '.') || take(reader, ',')) && !take_fraction(reader, &ms)) return false;
    }
    if (hour > 23 || minute > 59 || second > 59) return false;
    *ms_out = ((hour * INT64_C(60) + minute) * 60 + second) * 1000 + ms;
    return true;
}

static bool take_offset(struct reader *reader, int64_t *ms_out)
{
    *ms_out = 0;
    if (take(reader, 'Z') || take(reader, 'z')) return true;
    bool is_negative = take(reader, '-');
    int hours, minutes = 0;
    if (!is_negative && !take(reader, '+')) return false;
    if (!take_digits(reader, 2, &hours)) return false;
    if (reader->at < reader->end) {
        (void)take(reader, ':');
        if (!take_digits(reader, 2, &minutes)) return false;
    }
    if (hours > 18 || minutes > 59) return false;
    *ms_out = (hours * INT64_C(60) + minutes) * (is_negative ? -60000 : 60000);
    return true;
}

bool sf_time_parse(const char *text, size_t len, int64_t *ts_ms_out)
{
    struct reader reader = {.at = text, .end = text + len};
    int64_t days, time_ms, offset_ms, ts_ms;
    if (!take_date(&reader, &days)) return false;
    if (!take(&reader, 'T') && !take(&reader, 't') && !take(&reader, ' ')) return false;
    if (!take_time(&reader, &time_ms) || !take_offset(&reader, &offset_ms) || reader.at != reader.end) return false;
    /* before 1970 from the end of the day, so that no step overflows where the result does not */
    int64_t rest = time_ms - offset_ms;
    if (days < 0) {
        days++;
        rest -= DAY_MS;
    }
    if (__builtin_mul_overflow(days, DAY_MS, &ts_ms) || __builtin_add_overflow(ts_ms, rest, &ts_ms)) return false;
    if (ts_ms == SF_TIME_UNSET) return false;
    *ts_ms_out = ts_ms;
    return true;
}

/* ------------------------------------------------------------------ instant to text */

static char *put_digits(char *at, int64_t number, unsigned count)
{
    for (unsigned i = count; i-- > 0; number /= 10) at[i] = (char)('0' + number % 10);
    return at + count;
}

static char *put_year(char *at, int64_t year)
{
    int64_t magnitude = year < 0 ? -year : year;
    if (year < 0) *at++ = '-';
    if (year > 9999) *at++ = '+';
    if (magnitude <= 9999) return put_digits(at, magnitude, 4);
    return at + sf_integer_write(magnitude, at);
}

const char *sf_time_iso(int64_t ts_ms, char buf[SF_TIME_ISO_BYTES])
{
    int64_t days = floor_div(ts_ms, DAY_MS), ms = ts_ms % DAY_MS;
    if (ms < 0) ms += DAY_MS;
    struct date date = date_of_days(days);
    char *at = put_year(buf, date.year);
    *at++ = '-';
    at = put_digits(at, date.month, 2);
    *at++ = '-';
    at = put_digits(at, date.day, 2);
    *at++ = 'T';
    at = put_digits(at, ms / 3600000, 2);
    *at++ = ':';
    at = put_digits(at, ms / 60000 % 60, 2);
    *at++ = ':';
    at = put_digits(at, ms / 1000 % 60, 2);
    if (ms % 1000 != 0) {
        *at++ = '.';
        at = put_digits(at, ms % 1000, 3);
    }
    *at++ = 'Z';
    *at = '\0';
    assert(at - buf < (ptrdiff_t)SF_TIME_ISO_BYTES);
    return buf;
}

/* ------------------------------------------------------------------ values */

int64_t sf_timestamp_of_value(const struct sf_value *value)
{
    int64_t ts_ms;
    if (value->kind == SF_VALUE_INT) return value->as.integer;
    if (value->kind != SF_VALUE_STRING) return SF_TIME_UNSET;
    const char *text = value->text;
    size_t len = value->len;
    char buf[TEXT_BYTES_MAX];
    if (value->has_escapes) {
        len = sf_value_text(value, buf, sizeof buf);
        if (len > sizeof buf) return SF_TIME_UNSET;
        text = buf;
    }
    return sf_time_parse(text, len, &ts_ms) ? ts_ms : SF_TIME_UNSET;
}

bool sf_timestamp_assign(const struct sf_expression *path, const struct sf_input_value *input, int64_t *ts_ms_out,
                         struct sf_fault *fault_out)
{
    struct sf_value value;
    assert(sf_expression_root_count(path) == 1);
    if (!sf_expression_eval(path, input, &value, fault_out)) return false;
    *ts_ms_out = sf_timestamp_of_value(&value);
    return true;
}

const char *sf_timestamp_unit(int64_t ts_ms)
{
    const int64_t year_1990_s = 631152000, february_1970_ms = 31 * DAY_MS;
    if (ts_ms >= year_1990_s && ts_ms < february_1970_ms) return "seconds";
    if (ts_ms <= SF_TIME_VALID_MAX || ts_ms == SF_TIME_COMPLETE) return NULL;
    return ts_ms <= SF_TIME_VALID_MAX * 1000 ? "microseconds" : "nanoseconds";
}
