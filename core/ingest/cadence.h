/*
 * Cadence: when the next commit barrier is due (B2).
 *
 *     fixed @0 (interval 500)   committed @40: 1.5 x 40 = 60, clamped to 150   ->   due @150
 *
 * The interval runs from one fixing to the next; its length follows the last commit's duration, from fixing to
 * COMMITTED. Whether there is anything to commit (B3) is the caller's question.
 *
 * Threading: the ingest task's.
 */
#ifndef SF_CORE_INGEST_CADENCE_H
#define SF_CORE_INGEST_CADENCE_H

#include <stdbool.h>

#include "core/io/clock.h"
#include "core/topo/topology.h"

struct sf_cadence {
    int64_t interval_us;
    int64_t interval_us_min;
    int64_t interval_us_max;
    uint32_t factor_percent;
    struct sf_mono_ts fixed_at; /* the newest fixing, the start before the first */
};

void sf_cadence_init(struct sf_cadence *cadence, const struct sf_settings *settings, struct sf_mono_ts now);
void sf_cadence_fixed(struct sf_cadence *cadence, struct sf_mono_ts now);
/* The barrier last fixed has committed. */
void sf_cadence_committed(struct sf_cadence *cadence, struct sf_mono_ts now);
struct sf_mono_ts sf_cadence_due_at(const struct sf_cadence *cadence);
/* When a barrier that was due at once, and was aborted, may be tried again: one shortest interval behind it. */
struct sf_mono_ts sf_cadence_again_at(const struct sf_cadence *cadence);

static inline bool sf_cadence_is_due(const struct sf_cadence *cadence, struct sf_mono_ts now)
{
    return now.us >= sf_cadence_due_at(cadence).us;
}

#endif
