/*
 * Outline words: sources and steps in a few words, as a file would say them. Shared by both forms of the outline;
 * private to it.
 *
 *     orders      string/json, bounded-out-of-orderness 10s on $.event_time, idle after 2m, from earliest
 *     totals      window tumbling 1m grace 10s: n count, total sum($.amount); on-window-close; store totals, persistent
 */
#ifndef SF_PROD_OUTLINE_WORDS_H
#define SF_PROD_OUTLINE_WORDS_H

#include "core/text.h"
#include "core/topo/plan.h"

const char *sfi_outline_serde(enum sf_serde serde);
const char *sfi_outline_input(const struct sf_topology *topology, struct sf_input input);
void sfi_outline_source(const struct sf_topology *topology, uint32_t source, struct sf_text *text);
void sfi_outline_step(const struct sf_step_spec *step, struct sf_text *text);
/* Every source whose records reach the sub-topology, directly or not; by source index. */
void sfi_outline_feeders(const struct sf_plan *plan, uint32_t sub, bool *is_feeder);

#endif
