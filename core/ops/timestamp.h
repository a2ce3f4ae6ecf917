/*
 * Timestamp: event time as text and in values: the assigner `timestamp: $.event_time` (W6), ISO 8601 both ways
 * (M1), and a guess at a wrong unit (T4, T5).
 *
 *     1790071200123                      integer: epoch milliseconds, as it is
 *     "2026-09-22T10:00:00.123999Z"      string: the same instant, cut to milliseconds
 *     "2026-09-22T12:00+02:00"           seconds may be left out, an offset stands for Z
 *     1790071200123.0, "yesterday", null, missing       invalid
 *
 * What is invalid reads as SF_TIME_UNSET, which T4 refuses like any time out of range.
 *
 * Threading: pure functions.
 */
#ifndef SF_CORE_OPS_TIMESTAMP_H
#define SF_CORE_OPS_TIMESTAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ops/expression.h"
#include "core/ops/value.h"
#include "core/time/event_time.h"

#define SF_TIME_ISO_BYTES 32u

/* The assigned event time of a record; `path` has one root. Not judged by T4; SF_TIME_UNSET: no time there. False: the
 * value does not read (DESERIALIZATION, M5). */
bool sf_timestamp_assign(const struct sf_expression *path, const struct sf_input_value *input, int64_t *ts_ms_out,
                         struct sf_fault *fault_out) SF_MUST_USE;

/* The time that a value stands for, or SF_TIME_UNSET. A text with JSON escapes is looked at up to 64 bytes. */
int64_t sf_timestamp_of_value(const struct sf_value *value);

/* "seconds", "microseconds" or "nanoseconds" where `ts_ms` looks like an instant in that unit, else NULL. Seconds is
 * said of what would lie in January 1970 and is after 1990 in seconds (T5); the others of what T4 refuses. */
const char *sf_timestamp_unit(int64_t ts_ms);

/*
 * `YYYY-MM-DDThh:mm[:ss[.fraction]]` and `Z`, `±hh`, `±hhmm` or `±hh:mm`; T and Z also small, a space for the T; a
 * year of more than four digits has a sign (up to nine digits). No leap seconds, no 24:00. False: no such instant.
 * An instant before 1970 is negative; a fraction is cut towards the past. Never gives SF_TIME_UNSET.
 */
bool sf_time_parse(const char *text, size_t len, int64_t *ts_ms_out) SF_MUST_USE;

/* Days from 1970-01-01 to a date of the proleptic Gregorian calendar, years to 3 * 10^8. False: no such date. */
bool sf_time_days(int64_t year, int month, int day, int64_t *days_out) SF_MUST_USE;

/* As Java's Instant: UTC, milliseconds only where there are any, a sign before years beyond 9999. Terminated;
 * returns `buf`. INT64_MAX gives +292278994-08-17T07:12:55.807Z (M1). */
const char *sf_time_iso(int64_t ts_ms, char buf[SF_TIME_ISO_BYTES]);

#endif
