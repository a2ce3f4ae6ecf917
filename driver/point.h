/*
 * Point: whether a note is the step of the protocol that a `when:` of a scenario names.
 *
 *     barrier(4).stamped     lane(counts.0).crossed(3)     frontier(7).emitted     txn(*).end-sent
 *
 * The names are those of the notes of level POINT (core/note.h). `frontier(n).emitted` is made here of the lanes'
 * passes: it is there when every lane's is complete.
 *
 * With `*` for the epoch it is the k-th note that fits, k drawn by the seed from 1 … SF_DRIVER_POINT_OCCURRENCE_MAX;
 * else the first.
 *
 * Threading: plain data.
 */
#ifndef SF_DRIVER_POINT_H
#define SF_DRIVER_POINT_H

#include "core/note.h"
#include "core/topo/plan.h"
#include "driver/scenario.h"

#define SF_DRIVER_POINT_OCCURRENCE_MAX 4u
#define SF_DRIVER_POINT_FRONTIER "frontier(n).emitted"

/* How far a point has come in a run. */
struct sf_driver_point {
    const struct sf_scenario_point *spec; /* borrowed */
    bool is_frontier;
    uint32_t occurrence;    /* which note that fits, from 1 */
    uint32_t seen;
    int64_t sub;            /* SF_SCENARIO_ANY: any */
    int64_t frontier_epoch; /* lanes_passed are of this epoch */
    uint32_t lanes_passed;
};

void sf_driver_point_init(struct sf_driver_point *point, const struct sf_scenario_point *spec,
                          const struct sf_plan *plan, uint64_t draw);
/* Epochs of passes that were under way in a process that is gone. */
void sf_driver_point_restart(struct sf_driver_point *point);
/* True once: the note is the point. `lane_total` over all sub-topologies. */
bool sf_driver_point_reached(struct sf_driver_point *point, const struct sf_note *note, uint32_t lane_total);

/* Names with what they mean, for `sfsim points`: index 0 …; false behind the last. */
bool sf_driver_point_describe(uint32_t index, const char **name_out, const char **words_out);

#endif
