/* What the fields of an aggregation compile to. Private to aggregate*.c. */
#ifndef SF_CORE_OPS_AGGREGATE_FIELDS_H
#define SF_CORE_OPS_AGGREGATE_FIELDS_H

#include "core/ops/aggregate.h"

struct sf_aggregate_field {
    enum sf_aggregate_kind kind;
    uint32_t root;       /* of the program; unless COUNT */
    uint32_t prefix_len;
    const char *prefix;  /* `,"name":` */
};

struct sf_aggregates {
    uint32_t count;
    struct sf_expression *expression; /* NULL: only counts */
    struct sf_aggregate_field fields[SF_AGGREGATES_MAX];
    struct sf_json_segment segments[SF_AGGREGATES_MAX]; /* the names, to read a row back */
    struct sf_json_path paths[SF_AGGREGATES_MAX];
    struct sf_alloc alloc;
    size_t bytes; /* of the block; prefixes and names follow the struct */
};

#endif
