#include "sim/random.h"
#include "sim/sched.h"

#define INSTANT_STEPS_MAX 1000000u

struct sf_sim_sched_config sf_sim_sched_config_exact(void)
{
    return (struct sf_sim_sched_config){.choice = SF_SIM_CHOICE_FIXED,
                                        .window = 1,
                                        .depth = 1,
                                        .depth_steps = 1,
                                        .budget_min = 1024,
                                        .budget_max = 1024,
                                        .wake_grain_us = 1000,
                                        .instant_steps_max = INSTANT_STEPS_MAX};
}

static int64_t knob(uint64_t seed, uint64_t which, int64_t lo, int64_t hi)
{
    return sf_sim_range(sf_sim_draw(seed, SF_SIM_DOMAIN_SCHED_KNOBS, which, 0), lo, hi);
}

struct sf_sim_sched_config sf_sim_sched_config_drawn(uint64_t seed)
{
    bool is_priority = knob(seed, 0, 0, 3) == 0;
    bool is_limited = knob(seed, 1, 0, 1) == 1;
    uint32_t budget_max = 1u << knob(seed, 2, 0, 10);
    return (struct sf_sim_sched_config){
        .choice = is_priority ? SF_SIM_CHOICE_PRIORITY : SF_SIM_CHOICE_RANDOM,
        .window = 1u << knob(seed, 3, 0, 6),
        .depth = (uint32_t)knob(seed, 4, 1, 5),
        .depth_steps = 1u << knob(seed, 5, 8, 14),
        .budget_min = knob(seed, 6, 0, 1) == 1 ? 1 : budget_max,
        .budget_max = budget_max,
        .limit_per_million = is_limited ? (uint32_t)knob(seed, 7, 10000, 500000) : 0,
        .limit_max = (uint32_t)knob(seed, 8, 0, 4),
        .step_ns = INT64_C(500) << knob(seed, 9, 0, 7),
        .unit_ns = INT64_C(100) << knob(seed, 10, 0, 7),
        .wake_grain_us = 1,
        .wake_late_us_max = knob(seed, 11, 0, 2000),
        .instant_steps_max = INSTANT_STEPS_MAX};
}
