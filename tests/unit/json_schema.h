/* As much of JSON Schema as our own schemas use, over trees that core/app/yaml.h reads (JSON is YAML). */
#ifndef SF_TESTS_UNIT_JSON_SCHEMA_H
#define SF_TESTS_UNIT_JSON_SCHEMA_H

#include "core/app/yaml.h"

/* Whether `value` satisfies `schema`. A keyword that is not known fails the test. */
bool json_schema_accepts(const struct sf_yaml_node *schema, const struct sf_yaml_node *value);

#endif
