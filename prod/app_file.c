#include "prod/app_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/app/app.h"

/* The whole file; NULL and told why where it cannot be read. The caller frees with sf_free(capacity). */
static char *read_all(const char *path, struct sf_alloc alloc, size_t *length_out, FILE *errors)
{
    FILE *in = fopen(path, "rb");
    if (in == NULL) {
        fprintf(errors, "%s: error: %s\n", path, strerror(errno));
        return NULL;
    }
    char *text = sf_malloc(alloc, SF_PROD_FILE_BYTES_MAX);
    size_t length = fread(text, 1, SF_PROD_FILE_BYTES_MAX, in);
    const char *trouble = NULL;
    if (ferror(in) != 0)
        trouble = strerror(errno);
    else if (length == SF_PROD_FILE_BYTES_MAX)
        trouble = "larger than any application file";
    (void)fclose(in);
    *length_out = length;
    if (trouble == NULL) return text;
    fprintf(errors, "%s: error: %s\n", path, trouble);
    sf_free(alloc, text, SF_PROD_FILE_BYTES_MAX);
    return NULL;
}

bool sf_prod_app_file_load(struct sf_prod_app_file *file, const char *path, struct sf_alloc alloc, FILE *errors)
{
    size_t length = 0;
    *file = (struct sf_prod_app_file){.path = path, .alloc = alloc};
    sf_findings_init(&file->findings, alloc);
    char *text = read_all(path, alloc, &length, errors);
    if (text == NULL) return false;
    file->topology = sf_app_load(text, length, alloc, &file->findings);
    sf_free(alloc, text, SF_PROD_FILE_BYTES_MAX);
    if (file->topology != NULL) file->plan = sf_plan_new(file->topology);
    return file->topology != NULL;
}

void sf_prod_app_file_deinit(struct sf_prod_app_file *file)
{
    sf_topology_destroy(file->topology);
    file->topology = NULL;
    sf_findings_deinit(&file->findings);
}

void sf_prod_app_file_tell(const struct sf_prod_app_file *file, FILE *to)
{
    struct sf_text text;
    sf_text_init_growing(&text, file->alloc);
    sf_app_findings_write(&file->findings, file->path, &text);
    if (text.length > 0) (void)fwrite(text.data, 1, text.length, to);
    sf_text_deinit(&text);
}

const char *sf_prod_app_file_bootstrap(const struct sf_prod_app_file *file)
{
    const char *found = NULL;
    for (uint32_t i = 0; i < file->topology->kafka_count; i++) {
        const struct sf_kafka_setting *setting = &file->topology->kafka[i];
        if (strcmp(setting->name, "bootstrap.servers") == 0 || strcmp(setting->name, "metadata.broker.list") == 0)
            found = setting->value;
    }
    return found;
}
