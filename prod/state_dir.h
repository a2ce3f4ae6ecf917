/*
 * State dir: where the local store lies, and the folders above it.
 *
 *     --state-dir, else the file's stoatflow.state.dir, else
 *     $XDG_STATE_HOME/sf/<application.id>, else ~/.local/state/sf/<application.id>
 *
 * Threading: any; asks the environment.
 */
#ifndef SF_PROD_STATE_DIR_H
#define SF_PROD_STATE_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "core/topo/topology.h"

/* `option` may be NULL. False: there is no home, or the path does not fit. */
bool sf_prod_state_dir_find(const struct sf_topology *topology, const char *option, char *path_out, size_t capacity);
/* Makes every folder above `path` that is missing, readable by its owner alone. */
void sf_prod_state_dir_make_parents(const char *path);

#endif
