/*
 * File: files as a whole, for the driver: the simulator itself touches none.
 *
 * Threading: none of its own.
 */
#ifndef SF_DRIVER_FILE_H
#define SF_DRIVER_FILE_H

#include "core/text.h"

/* Adds the file's bytes to `text` (growing). False where it cannot be read or holds more than bytes_max; *why_out is
 * then a static text or the system's. */
bool sf_driver_file_read(const char *path, size_t bytes_max, struct sf_text *text, const char **why_out);

#endif
