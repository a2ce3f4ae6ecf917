#include "core/time/generator.h"

#include <assert.h>

struct sf_generator sf_generator_make(enum sf_generator_kind kind, int64_t bound_ms, int64_t time_max)
{
    int64_t lag_ms = kind == SF_GENERATOR_BOUNDED ? bound_ms : kind == SF_GENERATOR_MONOTONOUS ? 1 : 0;
    assert(lag_ms >= 0); /* V3 refuses others */
    return (struct sf_generator){.kind = kind, .lag_ms = lag_ms, .time_max = time_max};
}
