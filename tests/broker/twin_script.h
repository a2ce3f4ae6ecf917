/*
 * One script of produce, transaction, fence, crash, time-out, membership and fetch steps, run in any kafka_world; its
 * history is text, one line per fact. Offsets are kept, they start at 0 in each topic; times, producer ids, generations
 * and the cuts of batches are not in it.
 */
#ifndef SF_TESTS_BROKER_TWIN_SCRIPT_H
#define SF_TESTS_BROKER_TWIN_SCRIPT_H

#include <stdint.h>

#include "tests/conformance/kafka_steps.h"

#define TWIN_HISTORY_BYTES 65536

struct twin_history {
    char text[TWIN_HISTORY_BYTES];
    uint32_t used;
};

struct twin_section {
    const char *name; /* every line of it begins with this and a colon */
    void (*run)(struct kafka_world *world, struct twin_history *history);
};

extern const struct twin_section twin_sections[];
extern const uint32_t twin_section_count;

#endif
