/*
 * Checks: everything V refuses that a topology shows by itself, all findings at once, each naming source or step,
 * rule and remedy. What only a file has (unknown keys, spelling) is the loader's.
 *
 *     sf_topology_check(topology, &findings)    false; findings.items[0]: V1, place 12:3, "the source `orders` …"
 *
 * Threading: a list of findings has one owner; the topology is only read.
 */
#ifndef SF_CORE_TOPO_CHECK_H
#define SF_CORE_TOPO_CHECK_H

#include "core/topo/topology.h"

enum sf_severity { SF_FINDING_ERROR, SF_FINDING_WARNING };

#define SF_FINDING_TEXT_BYTES 320
#define SF_FINDINGS_MAX 500u /* kept; errors beyond it are only counted */

/* One finding. `rule` is a rule number ("V1") or a warning's name ("idleness-off"). */
struct sf_finding {
    enum sf_severity severity;
    const char *rule;
    struct sf_place place;
    char text[SF_FINDING_TEXT_BYTES];
};

/* Grows; owned by whoever inits it. In the order found; sf_findings_sort puts them by place, stable. */
struct sf_findings {
    struct sf_alloc alloc;
    struct sf_finding *items;
    uint32_t count;
    uint32_t capacity;
    uint32_t error_count;
};

void sf_findings_init(struct sf_findings *findings, struct sf_alloc alloc);
void sf_findings_deinit(struct sf_findings *findings);
/* The parts are joined to the text, NULL ends them; too long is cut. */
void sf_findings_add(struct sf_findings *findings, enum sf_severity severity, const char *rule,
                     struct sf_place place, const char *const *parts);
void sf_findings_sort(struct sf_findings *findings);

/* True where no error was found. Warnings (I5 …) are added too. */
bool sf_topology_check(const struct sf_topology *topology, struct sf_findings *findings);

#endif
