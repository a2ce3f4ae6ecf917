/*
 * Names of the metrics that a scenario can expect (M3): whoever loads a scenario turns a name into its index here,
 * whoever judges one looks its value up by that index, so that a misspelt name is refused with its line.
 *
 *     sf_driver_metric_find("stoatflow.dropped.records.total{reason=null_key}", &index)
 *
 * Threading: constant.
 */
#ifndef SF_DRIVER_METRIC_H
#define SF_DRIVER_METRIC_H

#include <stdbool.h>
#include <stdint.h>

/* With or without the prefix `stoatflow.`. */
bool sf_driver_metric_find(const char *name, uint32_t *index_out);
/* Without the prefix; NULL behind the last. */
const char *sf_driver_metric_name(uint32_t index);

#endif
