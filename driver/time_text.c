#include "driver/time_text.h"

#include <inttypes.h>
#include <stdio.h>

#define MS_PER_DAY INT64_C(86400000)

struct date {
    int64_t year;
    int month;
    int day;
};

/* Towards minus infinity. */
static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Days since 1970-01-01 in the proleptic Gregorian calendar; years run from March so that leap days are last. */
static struct date date_of(int64_t days)
{
    int64_t shifted = days + 719468; /* from 0000-03-01 */
    int64_t era = floor_div(shifted, 146097);
    int64_t day_of_era = shifted - era * 146097;
    int64_t year = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    struct date date = {.year = year + era * 400, .day = (int)(day_of_year - (153 * month + 2) / 5) + 1};
    date.month = (int)(month < 10 ? month + 3 : month - 9);
    if (date.month <= 2) date.year++;
    return date;
}

void sf_driver_text_iso(struct sf_text *text, int64_t ms)
{
    char buffer[96];
    struct date date = date_of(floor_div(ms, MS_PER_DAY));
    int of_day = (int)((ms % MS_PER_DAY + MS_PER_DAY) % MS_PER_DAY);
    const char *sign = date.year > 9999 ? "+" : date.year < 0 ? "-" : "";
    (void)snprintf(buffer, sizeof buffer, "%s%04" PRId64 "-%02d-%02dT%02d:%02d:%02d.%03dZ", sign,
                   date.year < 0 ? -date.year : date.year, date.month, date.day, of_day / 3600000, of_day / 60000 % 60,
                   of_day / 1000 % 60, of_day % 1000);
    sf_text_add(text, buffer);
}

void sf_driver_text_time(struct sf_text *text, int64_t ms)
{
    if (ms == SF_TIME_UNSET) {
        sf_text_add(text, "unset");
    } else if (ms == SF_TIME_COMPLETE) {
        sf_text_add(text, "complete");
    } else if (!sf_time_is_valid(ms)) {
        sf_text_add_int(text, ms);
        sf_text_add(text, "ms");
    } else {
        sf_driver_text_iso(text, ms);
    }
}

void sf_driver_text_elapsed(struct sf_text *text, int64_t us)
{
    char buffer[64];
    bool is_whole_ms = us % 1000 == 0;
    int64_t fraction = us % 1000000;
    if (is_whole_ms)
        (void)snprintf(buffer, sizeof buffer, "+%" PRId64 ".%03" PRId64 "s", us / 1000000, fraction / 1000);
    else
        (void)snprintf(buffer, sizeof buffer, "+%" PRId64 ".%06" PRId64 "s", us / 1000000, fraction);
    sf_text_add(text, buffer);
}

const char *sf_driver_time_of(char buffer[SF_DRIVER_TIME_BYTES], int64_t ms)
{
    struct sf_text text;
    sf_text_init(&text, buffer, SF_DRIVER_TIME_BYTES);
    sf_driver_text_time(&text, ms);
    return buffer;
}

const char *sf_driver_elapsed_of(char buffer[SF_DRIVER_TIME_BYTES], int64_t us)
{
    struct sf_text text;
    sf_text_init(&text, buffer, SF_DRIVER_TIME_BYTES);
    sf_driver_text_elapsed(&text, us);
    return buffer;
}
