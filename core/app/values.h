/*
 * Values: what a scalar of an application or scenario file means. Each function takes NUL-terminated text and leaves
 * its output alone where it returns false. No locale, no stdio.
 *
 *     sf_value_duration("1m30s", &ms)     true, 90000
 *     sf_value_duration("30s1m", &ms)     false: largest first
 *
 * Threading: pure functions.
 */
#ifndef SF_CORE_APP_VALUES_H
#define SF_CORE_APP_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal, optional minus; false on overflow or anything else around it. */
bool sf_value_int(const char *text, int64_t *value_out);

/* In millionths: "1.5" is 1500000. At most six decimals, at most 10^12 in size. */
bool sf_value_decimal(const char *text, int64_t *millionths_out);

/* `250ms`, `30s`, `5m`, `1h`, `7d`, joined largest first (`1m30s`), optional sign. */
bool sf_value_duration(const char *text, int64_t *ms_out);

/* ISO 8601 (`2026-09-22T10:00:00.250Z`, `+02:00`, no zone: UTC; a date alone: its midnight) or epoch milliseconds. Only
 * valid event times (T4). */
bool sf_value_time(const char *text, int64_t *ms_out);

enum sf_moment_kind {
    SF_MOMENT_TIME,    /* epoch ms */
    SF_MOMENT_OFFSET,  /* ms from the scenario's start */
    SF_MOMENT_OF_DAY   /* ms from midnight of the day of the scenario's start */
};

/* A time, `+90s` or `10:05[:30[.250]]`. */
bool sf_value_moment(const char *text, enum sf_moment_kind *kind_out, int64_t *ms_out);

bool sf_value_bool(const char *text, bool *value_out);

/* `$.field.inner`: names of letters, digits, _ and - joined by dots. */
bool sf_value_is_path(const char *text);

#endif
