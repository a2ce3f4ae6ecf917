#include "prod/client.h"

#include <inttypes.h>
#include <stdio.h>
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

static void on_answered(void *ctx)
{
    sf_prod_kafka_news_answered(ctx);
}

/* Returns the setting that is to blame, NULL where the library names none. */
static const struct sf_kafka_setting *add_finding(struct sf_prod_app_file *file, struct sf_error *error)
{
    size_t length = strlen(error->text);
    while (length > 0 && error->text[length - 1] == '\n') error->text[--length] = '\0'; /* the library ends lines */
    const struct sf_kafka_setting *setting = blamed(file->topology, error->text);
    struct sf_place nowhere = {0};
    sf_findings_add(&file->findings, SF_FINDING_ERROR, "kafka", setting != NULL ? setting->place : nowhere,
                    (const char *const[]){error->text, NULL});
    sf_findings_sort(&file->findings);
    return setting;
}

#define SETTINGS_MORE 3u /* session, heartbeat, broker */

/* Texts of S6's session, as the library wants them. */
struct session {
    char timeout_ms[24];
    char heartbeat_ms[24];
};

static struct session session_of(const struct sf_settings *settings)
{
    struct session session;
    int64_t heartbeat_ms = settings->session_timeout_ms / 3;
    if (heartbeat_ms > 1000) heartbeat_ms = 1000;
    if (heartbeat_ms < 1) heartbeat_ms = 1;
    (void)snprintf(session.timeout_ms, sizeof session.timeout_ms, "%" PRId64, settings->session_timeout_ms);
    (void)snprintf(session.heartbeat_ms, sizeof session.heartbeat_ms, "%" PRId64, heartbeat_ms);
    return session;
}

static bool drop(struct sf_prod_kafka_setting *settings, uint32_t *count, const char *name)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++)
        if (strcmp(settings[i].name, name) != 0) settings[kept++] = settings[i];
    bool is_dropped = kept < *count;
    *count = kept;
    return is_dropped;
}

/* The library is told of all settings at once and names one that it does not take: that one is left out, and it is
 * asked again, so that the findings have them all. */
static bool try_settings(struct sf_prod_app_file *file, struct sf_prod_kafka_config *config,
                         struct sf_prod_kafka_setting *settings, struct sf_prod_kafka **kafka_out)
{
    bool is_good = true;
    for (;;) {
        struct sf_error error = {0};
        config->settings = settings;
        if (sf_prod_kafka_new(config, kafka_out, &error) == SF_OK) break;
        is_good = false;
        *kafka_out = NULL;
        const struct sf_kafka_setting *bad = add_finding(file, &error);
        if (bad == NULL || !drop(settings, &config->setting_count, bad->name)) return false;
    }
    if (is_good) return true;
    (void)sf_prod_kafka_destroy(*kafka_out);
    *kafka_out = NULL;
    return false;
}

bool sf_prod_client_new(struct sf_prod_app_file *file, const char *broker, struct sf_prod_kafka_news *news,
                        struct sf_prod_kafka **kafka_out)
{
    const struct sf_topology *topology = file->topology;
    struct session session = session_of(&topology->settings);
    uint32_t capacity = topology->kafka_count + SETTINGS_MORE;
    struct sf_prod_kafka_setting *settings = sf_calloc(file->alloc, capacity, sizeof *settings);
    uint32_t count = 0;
    /* the later one of two wins: the file's own goes before the session, the broker before the file */
    settings[count++] = (struct sf_prod_kafka_setting){.name = "session.timeout.ms", .value = session.timeout_ms};
    settings[count++] = (struct sf_prod_kafka_setting){.name = "heartbeat.interval.ms", .value = session.heartbeat_ms};
    for (uint32_t i = 0; i < topology->kafka_count; i++)
        settings[count++] =
            (struct sf_prod_kafka_setting){.name = topology->kafka[i].name, .value = topology->kafka[i].value};
    if (broker != NULL)
        settings[count++] = (struct sf_prod_kafka_setting){.name = "bootstrap.servers", .value = broker};
    struct sf_prod_kafka_config config = {.setting_count = count,
                                          .client_id = topology->application_id,
                                          .log = news != NULL ? sf_prod_kafka_news_take : NULL,
                                          .answered = news != NULL ? on_answered : NULL,
                                          .log_ctx = news};
    bool is_good = try_settings(file, &config, settings, kafka_out);
    sf_cfree(file->alloc, settings, capacity, sizeof *settings);
    return is_good;
}
