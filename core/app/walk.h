/*
 * Walk: checks a tree against the schema table and reports all that is wrong with it, each with its place:
 *
 *     3:5: unknown key `toppic` in sources.orders; did you mean `topic`? [V8]
 *
 * unknown keys, missing ones, wrong types, words and values out of range, and what is not yet supported. What needs
 * more than one value at a time is left to the loaders.
 *
 * Threading: one tree, one thread; the table is constant.
 */
#ifndef SF_CORE_APP_WALK_H
#define SF_CORE_APP_WALK_H

#include "core/app/schema_table.h"
#include "core/app/yaml.h"

/* `where` names the node in texts, "" for a file's root. True where nothing was found. */
bool sf_walk(const struct sf_yaml_node *node, const struct sf_schema *schema, const char *where,
             struct sf_findings *findings);

/* The value of an engine key such as `watermark.idleness-timeout-ms`, however it is spelt: nested under `stoatflow:`,
 * dotted there, or dotted beside it. NULL where it is not set. */
const struct sf_yaml_node *sf_walk_engine_value(const struct sf_yaml_node *root, const char *key);

#endif
