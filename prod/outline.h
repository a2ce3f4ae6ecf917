/*
 * Outline: what `sfprod check` says of an application: sources, sub-topologies with their steps, sinks, internal
 * topics, settings that differ from their defaults, findings; as text for people or as JSON.
 *
 * With a broker the topics there are looked at first; then partition counts are known.
 *
 * Threading: one thread.
 */
#ifndef SF_PROD_OUTLINE_H
#define SF_PROD_OUTLINE_H

#include "core/run/target.h"
#include "core/text.h"
#include "prod/app_file.h"

struct sf_prod_outline {
    const struct sf_prod_app_file *file; /* loaded, or with findings alone */
    struct sf_kafka kafka;               /* names of topics; ops NULL where the file does not load */
    struct sf_targets targets;
    const int32_t *source_partitions;    /* by source; NULL: the broker was not asked */
    const int32_t *target_partitions;    /* by target, as found; 0: not there; NULL as above */
    int32_t watermark_partitions;
    uint32_t lanes;
};

void sf_prod_outline_text(const struct sf_prod_outline *outline, struct sf_text *text);
void sf_prod_outline_json(const struct sf_prod_outline *outline, struct sf_text *text);

#endif
