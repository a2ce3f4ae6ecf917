/*
 * Schema JSON: the schema table (core/app/schema_table.h) as JSON Schema, draft 2020-12, so that editors complete and
 * check application and scenario files. What the table says is all there is: a key that the loader knows is a
 * property, one that is not yet supported is a property that nothing satisfies.
 *
 * The schema accepts every file that the loader accepts; what needs more than one value at a time (names that lead
 * nowhere, cycles, V's rules) only the loader refuses.
 *
 * Threading: pure functions over a constant table.
 */
#ifndef SF_CORE_APP_SCHEMA_JSON_H
#define SF_CORE_APP_SCHEMA_JSON_H

#include "core/text.h"

enum sf_app_schema_kind { SF_APP_SCHEMA_APPLICATION, SF_APP_SCHEMA_SCENARIO };

/* Adds the document and a line end to `text` (growing). */
void sf_app_schema_write(enum sf_app_schema_kind kind, struct sf_text *text);

#endif
