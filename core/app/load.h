/*
 * Load: the parts of the application loader. Private to core/app.
 *
 * They read a tree that was walked already, and go on where the walk found something: what is missing or wrong is
 * replaced by something harmless, so that one mistake does not hide or cause another. They report only what the walk
 * cannot see.
 *
 * Threading: one loader, one thread.
 */
#ifndef SF_CORE_APP_LOAD_H
#define SF_CORE_APP_LOAD_H

#include "core/app/yaml.h"
#include "core/topo/topology.h"

struct sfi_loader {
    struct sf_topology *topology;
    struct sf_findings *findings;
};

#define SFI_REFUSE(l, rule, place, ...)                                                                                \
    sf_findings_add((l)->findings, SF_FINDING_ERROR, (rule), (place), (const char *const[]){__VA_ARGS__, NULL})

struct sfi_word {
    const char *name;
    int value;
};

extern const struct sfi_word sfi_error_words[]; /* M5 */

/* The value of a word, its first one where there is none of the name. `words` ends with a NULL name. */
int sfi_read_word(const struct sf_yaml_node *node, const struct sfi_word *words);
int64_t sfi_read_span(const struct sf_yaml_node *node, int64_t fallback_ms);
bool sfi_read_bool(const struct sf_yaml_node *node, bool fallback);
/* Copied into the topology; `fallback` (also copied) where there is no scalar of at least one byte. */
const char *sfi_read_text(struct sfi_loader *l, const struct sf_yaml_node *node, const char *fallback);
/* The same for a name; NULL where it is none that the walk takes. */
const char *sfi_read_name(struct sfi_loader *l, const struct sf_yaml_node *node);
/* "<what>-<number>": a name for what has none, so that loading can go on. */
const char *sfi_placeholder(struct sfi_loader *l, const char *what, uint32_t number);

void sfi_load_settings(struct sfi_loader *l, const struct sf_yaml_node *root);
void sfi_load_sources(struct sfi_loader *l, const struct sf_yaml_node *sources);
void sfi_load_streams(struct sfi_loader *l, const struct sf_yaml_node *streams);
/* After the sources and streams. */
void sfi_load_sinks(struct sfi_loader *l, const struct sf_yaml_node *sinks);

/* Gives findings without a place that begin with a setting's name its place in the file. */
void sfi_place_settings(const struct sf_yaml_node *root, struct sf_findings *findings, uint32_t from);

#endif
