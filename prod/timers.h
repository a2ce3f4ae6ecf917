/*
 * Timers of one worker: the tasks that wait with a deadline, as a binary heap by (deadline, spawn order), so that
 * equal deadlines run in spawn order. A task has at most one deadline; setting it replaces the one before.
 *
 * Memory: one array for as many tasks as a scheduler may have; nothing is allocated later.
 * Threading: the worker's own.
 */
#ifndef SF_PROD_TIMERS_H
#define SF_PROD_TIMERS_H

#include <stdint.h>

#include "core/mem.h"

#define SFI_TIMER_NONE UINT32_MAX

/* Linked by: sfi_slot. */
struct sfi_timer {
    int64_t due_us;
    uint64_t order;    /* spawn order; set by the owner once */
    uint32_t position; /* in the heap; SFI_TIMER_NONE: not set */
};

struct sfi_timers {
    struct sfi_timer **heap;
    uint32_t count;
    uint32_t cap;
};

void sfi_timers_init(struct sfi_timers *timers, struct sf_alloc alloc, uint32_t cap);
void sfi_timers_deinit(struct sfi_timers *timers, struct sf_alloc alloc);

/* Sets or moves. O(log n). */
void sfi_timers_set(struct sfi_timers *timers, struct sfi_timer *timer, int64_t due_us);

/* Clearing what is not set does nothing. O(log n). */
void sfi_timers_clear(struct sfi_timers *timers, struct sfi_timer *timer);

/* The earliest, or NULL. O(1). */
struct sfi_timer *sfi_timers_first(const struct sfi_timers *timers);

#endif
