/*
 * Clock of the real world: core/io/clock.h over the operating system.
 *
 *     monotonic   CLOCK_BOOTTIME, microseconds: goes on while the machine is suspended, as session and transaction
 *                 time-outs on the broker do
 *     wall        CLOCK_REALTIME, milliseconds, rounded down: whatever the system says, jumps included
 *
 * The kernel promises that CLOCK_BOOTTIME never decreases, over all cores. The engine's argument for whole steps
 * (sched.h) rests on that promise, so it is checked at each read against the greatest value that any thread has
 * returned before: a clock that went back ends the process, for no answer would be true.
 *
 * Threading: any thread, any time; one shared word. No call blocks or allocates.
 */
#ifndef SF_PROD_CLOCK_H
#define SF_PROD_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/io/clock.h"

/* Caller's memory; must outlive every handle. */
struct sf_prod_clock {
    _Atomic int64_t mono_us_last; /* greatest value returned so far */
};

void sf_prod_clock_init(struct sf_prod_clock *clock);

/* Borrows `clock`. */
struct sf_clock sf_prod_clock_handle(struct sf_prod_clock *clock);

#endif
