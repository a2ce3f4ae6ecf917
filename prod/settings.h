/*
 * Settings: the engine keys of a file, one by one, with their values as texts: what `sfprod check` and
 * docs/operating.md list. The keys are those of core/app/schema_table.h, in its order; a test compares the two.
 *
 * Threading: pure functions.
 */
#ifndef SF_PROD_SETTINGS_H
#define SF_PROD_SETTINGS_H

#include "core/topo/topology.h"

#define SF_PROD_SETTING_BYTES 64u

uint32_t sf_prod_settings_count(void);
/* Without `stoatflow.` in front. */
const char *sf_prod_settings_name(uint32_t index);
/* As it would be written in a file; "" where it is not set. Returns the text, which is in `buf` or in the settings. */
const char *sf_prod_settings_text(const struct sf_settings *settings, uint32_t index, char buf[SF_PROD_SETTING_BYTES]);
/* What it would be had the file not said it. */
const char *sf_prod_settings_default(const struct sf_settings *settings, uint32_t index,
                                     char buf[SF_PROD_SETTING_BYTES]);

#endif
