#include "prod/client.h"

#include <stdlib.h>
#include <string.h>

const char *sf_prod_client_broker(const struct sf_prod_app_file *file, const char *option)
{
    if (option != NULL) return option;
    const char *of_file = sf_prod_app_file_bootstrap(file);
    if (of_file != NULL) return of_file;
    const char *of_environment = getenv("KAFKA_BOOTSTRAP");
    return of_environment != NULL && of_environment[0] != '\0' ? of_environment : NULL;
}

/* The setting that a refusal begins with: "kafka setting NAME: ...". */
static const struct sf_kafka_setting *blamed(const struct sf_topology *topology, const char *text)
{
    static const char start[] = "kafka setting ";
    if (strncmp(text, start, sizeof start - 1) != 0) return NULL;
    const char *name = text + sizeof start - 1;
    for (uint32_t i = 0; i < topology->kafka_count; i++) {
        size_t length = strlen(topology->kafka[i].name);
        if (strncmp(name, topology->kafka[i].name, length) == 0 && name[length] == ':') return &topology->kafka[i];
    }
    return NULL;
}

static void add_finding(struct sf_prod_app_file *file, const struct sf_error *error)
{
    const struct sf_kafka_setting *setting = blamed(file->topology, error->text);
    struct sf_place nowhere = {0};
    sf_findings_add(&file->findings, SF_FINDING_ERROR, "kafka", setting != NULL ? setting->place : nowhere,
                    (const char *const[]){error->text, NULL});
    sf_findings_sort(&file->findings);
}

bool sf_prod_client_new(struct sf_prod_app_file *file, const char *broker, struct sf_prod_kafka_news *news,
                        struct sf_prod_kafka **kafka_out)
{
    const struct sf_topology *topology = file->topology;
    struct sf_error error = {0};
    struct sf_prod_kafka_setting *settings = sf_calloc(file->alloc, topology->kafka_count + 1, sizeof *settings);
    uint32_t count = 0;
    for (uint32_t i = 0; i < topology->kafka_count; i++)
        settings[count++] =
            (struct sf_prod_kafka_setting){.name = topology->kafka[i].name, .value = topology->kafka[i].value};
    if (broker != NULL)
        settings[count++] = (struct sf_prod_kafka_setting){.name = "bootstrap.servers", .value = broker};
    const struct sf_prod_kafka_config config = {.settings = settings,
                                                .setting_count = count,
                                                .client_id = topology->application_id,
                                                .log = news != NULL ? sf_prod_kafka_news_take : NULL,
                                                .log_ctx = news};
    enum sf_status status = sf_prod_kafka_new(&config, kafka_out, &error);
    sf_cfree(file->alloc, settings, topology->kafka_count + 1, sizeof *settings);
    if (status != SF_OK) add_finding(file, &error);
    return status == SF_OK;
}
