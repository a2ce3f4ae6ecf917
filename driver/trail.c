#include "driver/trail.h"

void sf_driver_trail_init(struct sf_driver_trail *trail, struct sf_alloc alloc)
{
    *trail = (struct sf_driver_trail){.alloc = alloc};
}

void sf_driver_trail_deinit(struct sf_driver_trail *trail)
{
    sf_free(trail->alloc, trail->digests, trail->capacity * sizeof *trail->digests);
    trail->digests = NULL;
}

void sf_driver_trail_rewind(struct sf_driver_trail *trail)
{
    trail->is_second = true;
    trail->at = 0;
    trail->has_difference = false;
}

static void append(struct sf_driver_trail *trail, uint64_t digest)
{
    if (trail->count == SF_DRIVER_TRAIL_STEPS_MAX) return;
    if (trail->count == trail->capacity) {
        uint64_t capacity = trail->capacity == 0 ? 4096 : trail->capacity * 2;
        trail->digests = sf_regrow(trail->alloc, trail->digests, trail->capacity * sizeof *trail->digests,
                                   trail->count * sizeof *trail->digests, capacity * sizeof *trail->digests);
        trail->capacity = capacity;
    }
    trail->digests[trail->count] = digest;
    trail->count++;
}

bool sf_driver_trail_step(struct sf_driver_trail *trail, uint64_t digest, int64_t at_us)
{
    if (!trail->is_second) {
        append(trail, digest);
        return false;
    }
    uint64_t step = trail->at++;
    if (trail->has_difference || step >= SF_DRIVER_TRAIL_STEPS_MAX) return false;
    if (step < trail->count && trail->digests[step] == digest) return false;
    trail->has_difference = true;
    trail->difference_step = step + 1;
    trail->difference_at_us = at_us;
    return true;
}
