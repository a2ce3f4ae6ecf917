/*
 * Scenario load: the parts of the scenario loader. Private to driver.
 *
 * They read a tree that was walked against the schema table already (core/app/walk.h), go on where something is wrong,
 * and report what the walk cannot see: names that lead nowhere, and what does not go together.
 */
#ifndef SF_DRIVER_SCENARIO_LOAD_H
#define SF_DRIVER_SCENARIO_LOAD_H

#include "core/app/yaml.h"
#include "driver/scenario.h"

struct sfi_scenario_load {
    struct sf_scenario *scenario;
    struct sf_findings *findings;
};

#define SFI_REFUSE(l, place, ...)                                                                                      \
    sf_findings_add((l)->findings, SF_FINDING_ERROR, "V8", (place), (const char *const[]){__VA_ARGS__, NULL})

/* ---- pieces (driver/scenario_parts.c) ---- */

void *sfi_scenario_take(struct sfi_scenario_load *l, size_t count, size_t bytes);
const char *sfi_scenario_text(struct sfi_scenario_load *l, const struct sf_yaml_node *node, const char *fallback);
/* In ms; 0 where it cannot be read. */
int64_t sfi_scenario_duration(const struct sf_yaml_node *node);
/* A moment in ms from the start, not before it; 0 where it cannot be read. */
int64_t sfi_scenario_offset(struct sfi_scenario_load *l, const struct sf_yaml_node *node);
/* A moment, or any integer, in epoch ms. */
int64_t sfi_scenario_instant(struct sfi_scenario_load *l, const struct sf_yaml_node *node);
struct sf_scenario_bounds sfi_scenario_bounds(struct sfi_scenario_load *l, const struct sf_yaml_node *node);
/* A span or {uniform: [a, b]}, {exponential: mean}. */
struct sf_scenario_draw sfi_scenario_span_draw(struct sfi_scenario_load *l, const struct sf_yaml_node *node);
/* The index of a topic; false (and a finding with the nearest spelling) where there is none of the name. */
bool sfi_scenario_find_topic(struct sfi_scenario_load *l, const char *name, size_t length, struct sf_place place,
                             uint32_t *index_out);
/* `topic/partition`, or where has_default a topic alone (SF_SCENARIO_ANY). False after a finding. */
bool sfi_scenario_split(struct sfi_scenario_load *l, const char *text, struct sf_place place, bool has_default,
                        uint32_t *topic_out, int64_t *partition_out);

/* The same of a partition that may be an internal topic's. */
bool sfi_scenario_split_any(struct sfi_scenario_load *l, const char *text, struct sf_place place, uint32_t *topic_out,
                            int64_t *partition_out);

/* ---- values (driver/scenario_value.c) ---- */

/* A key's text with draws. */
struct sf_scenario_template sfi_scenario_key(struct sfi_scenario_load *l, const struct sf_yaml_node *node);
/* A value as JSON with draws; without them where has_draws is false (then at most one piece). */
struct sf_scenario_template sfi_scenario_value(struct sfi_scenario_load *l, const struct sf_yaml_node *node,
                                               bool has_draws);

/* ---- sections ---- */

void sfi_scenario_load_input(struct sfi_scenario_load *l, const struct sf_yaml_node *input);
void sfi_scenario_load_faults(struct sfi_scenario_load *l, const struct sf_yaml_node *faults);
void sfi_scenario_load_expect(struct sfi_scenario_load *l, const struct sf_yaml_node *expect);
bool sfi_scenario_load_point(struct sfi_scenario_load *l, const struct sf_yaml_node *when,
                             struct sf_scenario_point *point_out);
/* The index of a step; false after a finding. Without an application (it is refused) every name is step 0. */
bool sfi_scenario_find_step(struct sfi_scenario_load *l, const char *name, size_t length, struct sf_place place,
                            uint32_t *index_out);

#endif
