#include "driver/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool sf_driver_file_read(const char *path, size_t bytes_max, struct sf_text *text, const char **why_out)
{
    char block[16384];
    size_t total = 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        *why_out = strerror(errno);
        return false;
    }
    *why_out = NULL;
    for (size_t got = 1; got > 0 && *why_out == NULL;) {
        got = fread(block, 1, sizeof block, file);
        total += got;
        if (total > bytes_max)
            *why_out = "the file is too large";
        else
            sf_text_add_bytes(text, block, got);
    }
    if (ferror(file)) *why_out = strerror(errno); /* a directory opens, and cannot be read */
    (void)fclose(file);
    return *why_out == NULL;
}
