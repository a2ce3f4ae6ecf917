#include "tests/unit/app_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *app_help_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    char *text = NULL;
    long length = -1;
    if (fseek(file, 0, SEEK_END) == 0) length = ftell(file);
    if (length >= 0 && fseek(file, 0, SEEK_SET) == 0) text = calloc((size_t)length + 1, 1);
    if (text != NULL && fread(text, 1, (size_t)length, file) != (size_t)length) {
        free(text);
        text = NULL;
    }
    (void)fclose(file);
    return text;
}

void app_help_load(struct app_help *help, const char *yaml)
{
    sf_findings_init(&help->findings, sf_alloc_libc());
    sf_text_init_growing(&help->text, sf_alloc_libc());
    help->topology = sf_app_load(yaml, strlen(yaml), sf_alloc_libc(), &help->findings);
    sf_app_findings_write(&help->findings, "f", &help->text);
}

void app_help_load_file(struct app_help *help, const char *path)
{
    char *text = app_help_read(path);
    app_help_load(help, text != NULL ? text : "");
    free(text);
}

void app_help_end(struct app_help *help)
{
    sf_topology_destroy(help->topology);
    sf_findings_deinit(&help->findings);
    sf_text_deinit(&help->text);
}
