#include "core/app/schema_parts.h"

const struct sf_schema sfi_schema_any = {.type = SF_SCHEMA_ANY};
const struct sf_schema sfi_schema_bool = {.type = SF_SCHEMA_BOOL};
const struct sf_schema sfi_schema_expression = {.type = SF_SCHEMA_EXPRESSION};
const struct sf_schema sfi_schema_name = {.type = SF_SCHEMA_NAME};
const struct sf_schema sfi_schema_path = {.type = SF_SCHEMA_PATH};
const struct sf_schema sfi_schema_span = {.type = SF_SCHEMA_DURATION, .min = 0, .max = SFI_MS_MAX};
const struct sf_schema sfi_schema_text = {.type = SF_SCHEMA_TEXT};
