/*
 * Width: how many lanes and workers an application gets where nobody says.
 *
 *     processors    1   2   4   8
 *     lanes         1   2   4   8      of each sub-topology (L1)
 *     workers       1   1   3   7      at most one per task
 *
 * The client library's threads want a processor too, and on two a hand-off between workers costs more than it wins.
 *
 * Threading: any.
 */
#ifndef SF_PROD_WIDTH_H
#define SF_PROD_WIDTH_H

#include "core/topo/plan.h"

/* 1 … SF_LANES_MAX. */
uint32_t sf_prod_width_lanes(const struct sf_topology *topology);
/* `asked` 0: nobody says. 1 … SF_PROD_WORKER_COUNT_MAX. */
uint32_t sf_prod_width_workers(const struct sf_plan *plan, uint32_t asked);

#endif
