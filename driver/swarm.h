/*
 * Swarm: the faults that `swarm: default` stands for, drawn from the seed.
 *
 *     swarm: default, seed 7   ->   +1.204s crash, back after 310ms; +2.870s orders/1 has no leader for 2.1s; ...
 *
 * Between SF_DRIVER_SWARM_LEAST and SF_DRIVER_SWARM_MOST things go wrong, each at an instant of its own between the
 * first and the last that the scenario lists; the first of them is a crash, so that every swarm has something to bite
 * into. What is drawn lasts seconds, less than any time-out that would end the process.
 *
 * Threading: plain data.
 */
#ifndef SF_DRIVER_SWARM_H
#define SF_DRIVER_SWARM_H

#include "driver/scenario.h"

#define SF_DRIVER_SWARM_LEAST 3u
#define SF_DRIVER_SWARM_MOST 10u
#define SF_DRIVER_SWARM_FAULTS (2u * SF_DRIVER_SWARM_MOST) /* some need two */

/* Faults of the scenario's `index`-th fault, a swarm, under this seed, at instants and without points. How many.
 * `lanes` per sub-topology. */
uint32_t sf_driver_swarm_draw(const struct sf_scenario *scenario, uint32_t index, uint64_t seed, uint32_t lanes,
                              struct sf_scenario_fault faults_out[SF_DRIVER_SWARM_FAULTS]);

#endif
