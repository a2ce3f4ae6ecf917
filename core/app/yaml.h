/*
 * YAML: text in, a tree of nodes with their places out; what is wrong goes to the findings.
 *
 * libfyaml parses (its event interface); everything it is not to be trusted with happens here: the bytes are checked
 * first (UTF-8, no NUL, no control characters), size, depth, nodes, anchors and what aliases expand to are bounded,
 * keys are compared by hash, a second document, tags and an empty file are refused.
 *
 *     a: [1, "2"]      mapping 1:1
 *                        key "a" 1:1 -> sequence 1:4
 *                          scalar "1" 1:5, scalar "2" 1:8 (quoted)
 *
 * An alias is expanded: a copy of the anchored nodes with their own places. Merge keys (`<<`) are ordinary keys.
 * Scalars keep their text; what it means is up to the reader (is_quoted says whether it may be anything but text).
 *
 * A file with duplicate keys still gives a tree (its later entries are left out), so that further findings can be
 * collected; one that does not parse gives none.
 *
 * Threading: a tree does not change once parsed; any thread may read it.
 */
#ifndef SF_CORE_APP_YAML_H
#define SF_CORE_APP_YAML_H

#include "core/topo/check.h"

#define SF_YAML_BYTES_MAX (4u << 20)
#define SF_YAML_DEPTH_MAX 64u
#define SF_YAML_NODES_MAX 500000u /* after expansion */
#define SF_YAML_ANCHORS_MAX 256u

enum sf_yaml_kind { SF_YAML_SCALAR, SF_YAML_SEQUENCE, SF_YAML_MAPPING };

struct sf_yaml_node {
    enum sf_yaml_kind kind;
    bool is_quoted;             /* a scalar in quotes or a block scalar: always text */
    struct sf_place place;
    const char *text;           /* a scalar's, NUL-terminated, without inner NULs; "" otherwise */
    uint32_t text_length;
    uint32_t child_count;
    struct sf_yaml_node *first; /* items, or a mapping's values in the order of the file */
    struct sf_yaml_node *next;  /* in the parent; NULL ends */
    struct sf_yaml_node *key;   /* of a value in a mapping, always a scalar; else NULL */
};

struct sf_yaml_tree; /* owns its nodes */

/* `text` is borrowed until return. NULL where it does not parse (one finding says why). */
struct sf_yaml_tree *sf_yaml_parse(const char *text, size_t length, struct sf_alloc alloc,
                                   struct sf_findings *findings);
void sf_yaml_destroy(struct sf_yaml_tree *tree);
const struct sf_yaml_node *sf_yaml_root(const struct sf_yaml_tree *tree);

/* The value of a key; NULL where there is none or `map` is NULL or no mapping. O(entries). */
const struct sf_yaml_node *sf_yaml_get(const struct sf_yaml_node *map, const char *key);
/* Where a reader looks for a value: at its key where it has one. */
struct sf_place sf_yaml_place(const struct sf_yaml_node *node);
bool sf_yaml_is(const struct sf_yaml_node *node, const char *text);
/* A plain scalar that stands for nothing: empty, `~` or `null`. */
bool sf_yaml_is_null(const struct sf_yaml_node *node);

#endif
