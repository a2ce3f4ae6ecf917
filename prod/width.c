#include "prod/width.h"

#include <unistd.h>

#include "prod/sched.h"

static uint32_t processor_count(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : (uint32_t)count;
}

uint32_t sf_prod_width_lanes(const struct sf_topology *topology)
{
    uint32_t lanes = topology->settings.lanes;
    if (lanes == 0) lanes = processor_count();
    return lanes > SF_LANES_MAX ? SF_LANES_MAX : lanes;
}

uint32_t sf_prod_width_workers(const struct sf_plan *plan, uint32_t asked)
{
    if (asked > 0) return asked;
    uint32_t processors = processor_count();
    uint32_t tasks = 2 + plan->sub_count * sf_prod_width_lanes(plan->topology); /* ingest and engine, commit, lanes */
    uint32_t count = processors <= 2 ? 1 : processors - 1;
    if (count > tasks) count = tasks;
    return count > SF_PROD_WORKER_COUNT_MAX ? SF_PROD_WORKER_COUNT_MAX : count;
}
