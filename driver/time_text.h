/*
 * Times as people read them: event times and wall clock in ISO 8601, virtual time since the first instant.
 *
 *     1790071210250       2026-09-22T10:00:10.250Z        SF_TIME_UNSET  unset       SF_TIME_COMPLETE  complete
 *     12250000 us         +12.250s
 *
 * Threading: pure functions.
 */
#ifndef SF_DRIVER_TIME_TEXT_H
#define SF_DRIVER_TIME_TEXT_H

#include "core/text.h"
#include "core/time/event_time.h"

#define SF_DRIVER_TIME_BYTES 40u

/* Any time; years beyond 9999 and before 1970 as milliseconds with `ms` behind. */
void sf_driver_text_time(struct sf_text *text, int64_t ms);
/* Any time in ISO 8601, with the sign that years of more than four digits have, `+292278994-08-17T07:12:55.807Z`. */
void sf_driver_text_iso(struct sf_text *text, int64_t ms);
/* Microseconds where there are any. */
void sf_driver_text_elapsed(struct sf_text *text, int64_t us);

/* The same into a caller's array, which is also returned. */
const char *sf_driver_time_of(char buffer[SF_DRIVER_TIME_BYTES], int64_t ms);
const char *sf_driver_elapsed_of(char buffer[SF_DRIVER_TIME_BYTES], int64_t us);

#endif
