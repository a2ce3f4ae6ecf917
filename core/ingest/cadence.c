#include "core/ingest/cadence.h"

static int64_t us_of_ms(int64_t ms)
{
    return ms > INT64_MAX / 1000 ? INT64_MAX : ms * 1000;
}

static int64_t clamped(const struct sf_cadence *cadence, int64_t us)
{
    if (us > cadence->interval_us_max) us = cadence->interval_us_max;
    return us < cadence->interval_us_min ? cadence->interval_us_min : us;
}

void sf_cadence_init(struct sf_cadence *cadence, const struct sf_settings *settings, struct sf_mono_ts now)
{
    *cadence = (struct sf_cadence){.interval_us_min = us_of_ms(settings->barrier_interval_ms_min),
                                   .interval_us_max = us_of_ms(settings->barrier_interval_ms_max),
                                   .factor_percent = settings->barrier_factor_percent,
                                   .fixed_at = now};
    cadence->interval_us = clamped(cadence, us_of_ms(settings->barrier_interval_ms));
}

void sf_cadence_fixed(struct sf_cadence *cadence, struct sf_mono_ts now)
{
    cadence->fixed_at = now;
}

void sf_cadence_committed(struct sf_cadence *cadence, struct sf_mono_ts now)
{
    int64_t took = sf_mono_elapsed_us(cadence->fixed_at, now);
    bool is_huge = cadence->factor_percent > 0 && took > INT64_MAX / cadence->factor_percent;
    cadence->interval_us = clamped(cadence, is_huge ? INT64_MAX : took * cadence->factor_percent / 100);
}

struct sf_mono_ts sf_cadence_again_at(const struct sf_cadence *cadence)
{
    return sf_mono_add(cadence->fixed_at, cadence->interval_us_min);
}

struct sf_mono_ts sf_cadence_due_at(const struct sf_cadence *cadence)
{
    return sf_mono_add(cadence->fixed_at, cadence->interval_us);
}
