/*
 * Event time (T1, T2): signed 64-bit milliseconds since the Unix epoch, with two sentinels that stand outside
 * arithmetic: SF_TIME_UNSET ("nothing claimed yet") and SF_TIME_COMPLETE ("nothing more will come").
 *
 *     sf_time_add(100, -30)            = 70
 *     sf_time_add(SF_TIME_UNSET, 30)   = SF_TIME_UNSET
 *     sf_time_add(INT64_MAX - 1, 30)   = INT64_MAX - 1     saturates below the sentinel
 *
 * Threading: pure functions.
 */
#ifndef SF_CORE_TIME_EVENT_TIME_H
#define SF_CORE_TIME_EVENT_TIME_H

#include <stdbool.h>
#include <stdint.h>

#define SF_TIME_UNSET INT64_MIN
#define SF_TIME_COMPLETE INT64_MAX
#define SF_TIME_VALID_MAX INT64_C(253402300799999) /* end of the year 9999 (T4) */

/* `ts` moved by `span`, saturating to the finite times; sentinels stay (T2). */
static inline int64_t sf_time_add(int64_t ts, int64_t span)
{
    if (ts == SF_TIME_UNSET || ts == SF_TIME_COMPLETE) return ts;
    if (span > 0 && ts > SF_TIME_COMPLETE - 1 - span) return SF_TIME_COMPLETE - 1;
    if (span < 0 && (span == INT64_MIN || ts < SF_TIME_UNSET + 1 - span)) return SF_TIME_UNSET + 1;
    return ts + span;
}

/* T4. */
static inline bool sf_time_is_valid(int64_t ts)
{
    return ts >= 0 && ts <= SF_TIME_VALID_MAX;
}

static inline int64_t sf_time_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t sf_time_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#endif
