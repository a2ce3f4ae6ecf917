/* Whether bytes may be handed to libfyaml at all: well-formed UTF-8 without NUL or control characters. */
#ifndef SF_CORE_APP_UTF8_H
#define SF_CORE_APP_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "core/topo/topology.h"

/* True where all is well; else the place of the first bad byte and what is wrong with it (a static text). Columns count
 * characters. A byte order mark is allowed at the very start only. */
bool sfi_utf8_check(const char *text, size_t length, struct sf_place *place_out, const char **why_out);

#endif
