/*
 * Schema doc: the loader's own table (core/app/schema_table.h) as Markdown: one table per section of an application
 * file, in the order of the loader. docs/operating.md holds it; a test compares the two.
 */
#ifndef SF_TESTS_PROD_SCHEMA_DOC_H
#define SF_TESTS_PROD_SCHEMA_DOC_H

#include "core/app/schema_table.h"
#include "core/text.h"

void schema_doc_write(const struct sf_schema *root, struct sf_text *text);

#endif
