/* Expressions in files: whether the engine would take them (core/ops/expression.h). Private to core/app. */
#ifndef SF_CORE_APP_EXPRESSIONS_H
#define SF_CORE_APP_EXPRESSIONS_H

#include <stddef.h>

#include "core/topo/topology.h"

enum sf_expressions_verdict { SF_EXPRESSIONS_GOOD, SF_EXPRESSIONS_BAD, SF_EXPRESSIONS_LATER };

/* Where it is not good: `why` says what is wrong, cut to its bytes. */
enum sf_expressions_verdict sf_expressions_check(const char *text, char *why, size_t why_bytes);

/* `count`, `sum(...)`, `min(...)` or `max(...)`. */
enum sf_expressions_verdict sf_expressions_check_aggregate(const char *text, char *why, size_t why_bytes);

/* Of a text that passed the check: its kind, and its expression inside the text (NULL for count). */
void sf_expressions_split_aggregate(const char *text, enum sf_aggregate_kind *kind_out, const char **expression_out,
                                    size_t *length_out);

#endif
