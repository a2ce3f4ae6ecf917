/*
 * Trail: the digest of each step of a run, so that a second run of the same seed can say where it left the first (X14).
 *
 *     first run    sf_driver_trail_step appends
 *     second run   (after sf_driver_trail_rewind) compares; the first step that differs is kept
 *
 * 8 bytes a step, at most SF_DRIVER_TRAIL_STEPS_MAX; beyond that only the runs' digests are compared.
 *
 * Threading: one thread.
 */
#ifndef SF_DRIVER_TRAIL_H
#define SF_DRIVER_TRAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/mem.h"

#define SF_DRIVER_TRAIL_STEPS_MAX (1u << 26)
#define SF_DRIVER_TRAIL_TEXT_BYTES 320u

struct sf_driver_trail {
    struct sf_alloc alloc;
    uint64_t *digests;
    uint64_t count;
    uint64_t capacity;
    uint64_t at;         /* second run: next step to compare */
    bool is_second;
    bool has_difference;
    uint64_t difference_step;                 /* from 1 */
    int64_t difference_at_us;
    char difference[SF_DRIVER_TRAIL_TEXT_BYTES]; /* who stepped there in the second run, and what it said */
};

void sf_driver_trail_init(struct sf_driver_trail *trail, struct sf_alloc alloc);
void sf_driver_trail_deinit(struct sf_driver_trail *trail);
void sf_driver_trail_rewind(struct sf_driver_trail *trail);
/* True where this step is the first that differs: the caller then fills `difference`. */
bool sf_driver_trail_step(struct sf_driver_trail *trail, uint64_t digest, int64_t at_us);

#endif
