/*
 * Map: what `map-values` makes of a record's value: the JSON text of one expression, or of an object of expressions
 * with its fields in declared order.
 *
 *     map-values: $.user                                   {"user":"ann","n":1}  ->  "ann"
 *     map-values: {who: $.user, twice: $.n * 2, x: $.none}                       ->  {"who":"ann","twice":2,"x":null}
 *
 * A missing field is written as null: fields do not come and go. The value is never the Kafka null.
 *
 * Threading: what is compiled does not change.
 */
#ifndef SF_CORE_OPS_MAP_H
#define SF_CORE_OPS_MAP_H

#include "core/mem.h"
#include "core/ops/expression.h"
#include "core/topo/topology.h"

#define SF_MAP_FIELDS_MAX SF_EXPRESSION_ROOTS_MAX

struct sf_map;

/* One expression. NUL-terminated, copied. False: error_out, nothing to destroy. */
bool sf_map_compile(const char *expression, struct sf_alloc alloc, struct sf_map **map_out,
                    struct sf_expression_error *error_out) SF_MUST_USE;
/* 1 … SF_MAP_FIELDS_MAX fields, copied; error_out->root is the field. */
bool sf_map_compile_fields(const struct sf_map_field *fields, uint32_t count, struct sf_alloc alloc,
                           struct sf_map **map_out, struct sf_expression_error *error_out) SF_MUST_USE;
/* NULL is fine. */
void sf_map_destroy(struct sf_map *map);

/* Appends the new value. False: a fault, and what was appended is meaningless. The input's bytes are borrowed until
 * return and must not be the writer's. */
bool sf_map_write(const struct sf_map *map, const struct sf_input_value *input, struct sf_json_writer *writer,
                  struct sf_fault *fault_out) SF_MUST_USE;

#endif
