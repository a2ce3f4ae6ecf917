/*
 * Faults of a run, planned: when each begins (faults.c) and what it then does (fault_kinds.c). Private to driver.
 *
 *     at, from    begin_us, mono                        when    point, in the middle of a step
 *     until       end_us, for those that have an end
 *
 * A fault has fired when the world was changed by it. What is left with the broker for a request to meet has fired when
 * one did; a transaction that shall be given up, when it was.
 */
#ifndef SF_DRIVER_FAULT_PARTS_H
#define SF_DRIVER_FAULT_PARTS_H

#include "driver/run_parts.h"

#define SFI_NO_SWARM UINT32_MAX

struct sfi_fault {
    struct sfi_run *run;
    const struct sf_scenario_fault *spec;
    uint32_t swarm;   /* the fault of the scenario that it was drawn for; SFI_NO_SWARM: it is one */
    struct sf_driver_point point;
    int64_t begin_us; /* mono; INT64_MAX: at a point, or begun */
    int64_t end_us;   /* mono; INT64_MAX: not under way, or without end */
    bool is_begun;    /* not to be tried again */
    bool is_left;     /* with the broker */
    bool is_timed_out;
    uint32_t met;     /* requests that met it */
};

struct sfi_faults {
    struct sfi_run *run;
    struct sfi_fault *items;
    uint32_t count;
    uint32_t capacity;
    struct sf_scenario_fault *drawn; /* of swarms */
    uint32_t drawn_max;
    uint32_t lane_total;
    struct sf_sim_disk **lost; /* disks that are gone, kept until the run is over */
    uint32_t lost_count;
};

/* Lets it happen; `process`: whose doing a point is, or the owner. False: there is nothing that it could happen to. */
bool sfi_fault_begin(struct sfi_faults *faults, struct sfi_fault *fault, struct sfi_process *process);
/* Of those that last: it is over. */
void sfi_fault_end(struct sfi_faults *faults, const struct sfi_fault *fault);
bool sfi_fault_has_end(const struct sf_scenario_fault *spec);
bool sfi_fault_has_fired(const struct sfi_fault *fault);

#endif
