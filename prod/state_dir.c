#include "prod/state_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 1024u

bool sf_prod_state_dir_find(const struct sf_topology *topology, const char *option, char *path_out, size_t capacity)
{
    const char *id = topology->application_id;
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int length = 0;
    if (option == NULL) option = topology->settings.state_dir;
    if (option != NULL)
        length = snprintf(path_out, capacity, "%s", option);
    else if (state != NULL && state[0] == '/') /* others are to be ignored, says the XDG specification */
        length = snprintf(path_out, capacity, "%s/sf/%s", state, id);
    else if (home != NULL && home[0] != '\0')
        length = snprintf(path_out, capacity, "%s/.local/state/sf/%s", home, id);
    return length > 0 && (size_t)length < capacity;
}

void sf_prod_state_dir_make_parents(const char *path)
{
    char part[PATH_BYTES];
    size_t length = strlen(path);
    if (length >= sizeof part) return;
    memcpy(part, path, length + 1);
    for (size_t i = 1; i < length; i++) {
        if (part[i] != '/') continue;
        part[i] = '\0';
        (void)mkdir(part, 0700); /* what cannot be made is told by whoever opens the folder below */
        part[i] = '/';
    }
}
