/*
 * Wait: which empty partitions the dispatcher waits for before it serves anything (D5).
 *
 *     buffer   lag                     max-task-idle -1   0       200
 *     empty    above zero or unknown   never              waits   waits
 *     empty    caught up               never              never   waits until 200 ms after it was both
 *     empty    unknown, and idle       never              never   never
 *
 * The partitions waited for stand in two lists, each in the order in which the wait began; so "is anything waited
 * for" is O(1), and every change of one partition too.
 *
 * Threading: the ingest task's.
 */
#ifndef SF_CORE_INGEST_WAIT_H
#define SF_CORE_INGEST_WAIT_H

#include <stdbool.h>

#include "core/io/clock.h"
#include "core/mem.h"

#define SF_WAIT_NONE UINT32_MAX

enum sf_wait_class { SF_WAIT_NOT, SF_WAIT_LAG, SF_WAIT_TIMED };

/* What a wait depends on. */
struct sf_wait_state {
    bool is_empty;
    bool is_idle;
    bool is_lag_known;
    bool is_caught_up; /* lag known to be zero */
};

struct sf_wait_part {
    enum sf_wait_class class_;
    bool is_waited_out; /* its time ran out; not waited for again until it has delivered */
    struct sf_mono_ts since;
    uint32_t next;
    uint32_t prev;
};

struct sf_wait_list {
    uint32_t first;
    uint32_t last;
};

struct sf_wait {
    struct sf_wait_part *parts;
    uint32_t count;
    int64_t idle_us_max; /* -1: never waits */
    struct sf_wait_list lag;
    struct sf_wait_list timed;
    struct sf_alloc alloc;
};

/* No partition is waited for yet. idle_ms_max as in the settings. */
void sf_wait_init(struct sf_wait *wait, struct sf_alloc alloc, uint32_t count, int64_t idle_ms_max);
void sf_wait_deinit(struct sf_wait *wait);

/* Room for `count` partitions; the one that was `i` is map[i]. The new ones are not waited for until an update. */
void sf_wait_grow(struct sf_wait *wait, uint32_t count, const uint32_t *map);

/* Something of partition `i` has changed. */
void sf_wait_update(struct sf_wait *wait, uint32_t i, struct sf_wait_state state, struct sf_mono_ts now);
/* The partition that dispatch waits for the longest, SF_WAIT_NONE if it may go on. Lets run out what has. */
uint32_t sf_wait_for(struct sf_wait *wait, struct sf_mono_ts now);
/* When waiting ends by time alone; SF_MONO_NEVER where only news ends it, or nothing is waited for. */
struct sf_mono_ts sf_wait_until(const struct sf_wait *wait);

#endif
