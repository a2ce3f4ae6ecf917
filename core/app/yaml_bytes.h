/*
 * YAML bytes: whether bytes may be handed to the YAML parser at all: well-formed, without NUL and control characters.
 *
 * Threading: pure functions.
 */
#ifndef SF_CORE_APP_YAML_BYTES_H
#define SF_CORE_APP_YAML_BYTES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/topo/topology.h"

/* True where all is well; else the place of the first bad byte and what is wrong with it (a static text). Columns count
 * characters. A byte order mark is allowed at the very start only. */
bool sfi_yaml_bytes_check(const char *text, size_t length, struct sf_place *place_out, const char **why_out);

#endif
