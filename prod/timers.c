#include "prod/timers.h"

#include <stdbool.h>

static bool is_before(const struct sfi_timer *a, const struct sfi_timer *b)
{
    return a->due_us != b->due_us ? a->due_us < b->due_us : a->order < b->order;
}

static void place(struct sfi_timers *timers, uint32_t position, struct sfi_timer *timer)
{
    timers->heap[position] = timer;
    timer->position = position;
}

static void sift_up(struct sfi_timers *timers, struct sfi_timer *timer)
{
    uint32_t at = timer->position;
    while (at > 0) {
        uint32_t parent = (at - 1) / 2;
        if (!is_before(timer, timers->heap[parent])) break;
        place(timers, at, timers->heap[parent]);
        at = parent;
    }
    place(timers, at, timer);
}

static void sift_down(struct sfi_timers *timers, struct sfi_timer *timer)
{
    uint32_t at = timer->position;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= timers->count) break;
        if (child + 1 < timers->count && is_before(timers->heap[child + 1], timers->heap[child])) child++;
        if (!is_before(timers->heap[child], timer)) break;
        place(timers, at, timers->heap[child]);
        at = child;
    }
    place(timers, at, timer);
}

void sfi_timers_init(struct sfi_timers *timers, struct sf_alloc alloc, uint32_t cap)
{
    timers->heap = sf_calloc(alloc, cap, sizeof(struct sfi_timer *));
    timers->count = 0;
    timers->cap = cap;
}

void sfi_timers_deinit(struct sfi_timers *timers, struct sf_alloc alloc)
{
    sf_cfree(alloc, timers->heap, timers->cap, sizeof(struct sfi_timer *));
    timers->heap = NULL;
    timers->count = timers->cap = 0;
}

void sfi_timers_set(struct sfi_timers *timers, struct sfi_timer *timer, int64_t due_us)
{
    if (timer->position == SFI_TIMER_NONE) {
        assert(timers->count < timers->cap);
        place(timers, timers->count, timer);
        timers->count++;
    }
    timer->due_us = due_us;
    sift_up(timers, timer);
    sift_down(timers, timer);
}

void sfi_timers_clear(struct sfi_timers *timers, struct sfi_timer *timer)
{
    if (timer->position == SFI_TIMER_NONE) return;
    uint32_t hole = timer->position;
    assert(hole < timers->count && timers->heap[hole] == timer);
    struct sfi_timer *last = timers->heap[timers->count - 1];
    timers->count--;
    timer->position = SFI_TIMER_NONE;
    if (last == timer) return;
    place(timers, hole, last);
    sift_up(timers, last);
    sift_down(timers, last);
}

struct sfi_timer *sfi_timers_first(const struct sfi_timers *timers)
{
    return timers->count > 0 ? timers->heap[0] : NULL;
}
