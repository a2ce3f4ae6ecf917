/*
 * App: an application file becomes a topology, or a list of all that is wrong with it.
 *
 *     text -> tree (core/app/yaml.h) -> walked against the table (core/app/schema_table.h)
 *          -> topology -> checked (core/topo/check.h)
 *
 * All findings of all stages come from one run, sorted by place. Whatever the formats describe and this version does
 * not do is refused as "not yet supported".
 *
 * Threading: none is shared; the topology may be read by any thread.
 */
#ifndef SF_CORE_APP_APP_H
#define SF_CORE_APP_APP_H

#include "core/app/yaml.h"
#include "core/text.h"
#include "core/topo/topology.h"

/* Reads a whole file's text. NULL where there is an error among the findings (there may be warnings otherwise). The
 * topology is the caller's (sf_topology_destroy) and keeps nothing of `text`. The findings are sorted. */
struct sf_topology *sf_app_load(const char *text, size_t length, struct sf_alloc alloc, struct sf_findings *findings);

/* The same for an application that stands inside another file, at `node`; `where` names it in texts ("app"), "" for a
 * file's root. */
struct sf_topology *sf_app_load_node(const struct sf_yaml_node *node, const char *where, struct sf_alloc alloc,
                                     struct sf_findings *findings);

/* One line per finding: `path:line:column: error: text [rule]`; without line and column where a finding has none. */
void sf_app_findings_write(const struct sf_findings *findings, const char *path, struct sf_text *text);

#endif
