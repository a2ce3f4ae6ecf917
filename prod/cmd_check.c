/* sfprod check: what an application is, and everything that is wrong with it. */
#include <errno.h>
#include <string.h>

#include "prod/ask.h"
#include "prod/client.h"
#include "prod/cmd.h"
#include "prod/outline.h"
#include "prod/width.h"

#define ANSWER_MS 15000

struct check {
    const struct sf_prod_options *options;
    struct sf_alloc alloc;
    struct sf_prod_app_file file;
    struct sf_prod_kafka *kafka;
    struct sf_prod_outline outline;
    int32_t *source_partitions;
    int32_t *target_partitions;
};

static void blame(struct check *check, enum sf_severity severity, struct sf_place place, const char *topic,
                  const char *text)
{
    sf_findings_add(&check->file.findings, severity, "K11", place,
                    (const char *const[]){"topic ", topic, " ", text, NULL});
}

/* ------------------------------------------------------------------ the broker's side (K11) */

static enum sf_status ask_sources(struct check *check, struct sf_prod_ask *ask)
{
    const struct sf_topology *topology = check->file.topology;
    for (uint32_t i = 0; i < topology->source_count; i++) {
        const struct sf_source_spec *source = &topology->sources[i];
        struct sf_prod_topic topic;
        enum sf_status status =
            sf_prod_ask_topic(ask, sf_kafka_topic(check->outline.kafka, source->topic), ANSWER_MS, &topic);
        if (status == SF_E_UNKNOWN_TOPIC)
            blame(check, SF_FINDING_ERROR, source->place, source->topic, "is not on the broker: create it");
        else if (status != SF_OK)
            return status;
        check->source_partitions[i] = topic.partition_count;
    }
    return SF_OK;
}

static void judge_internal(struct check *check, const char *name, const struct sf_prod_topic *topic, int32_t wanted,
                           bool may_be_narrower)
{
    char line[160];
    struct sf_text text;
    struct sf_place nowhere = {0};
    if (topic->cleanup_policy[0] != '\0' && strcmp(topic->cleanup_policy, "compact") != 0)
        blame(check, SF_FINDING_ERROR, nowhere, name,
              "has a cleanup.policy that is not `compact`, so state could be lost: set it, or delete the topic if it "
              "is not this application's");
    if (topic->partition_count == wanted || (may_be_narrower && topic->partition_count < wanted)) return;
    sf_text_init(&text, line, sizeof line);
    sf_text_add(&text, "has ");
    sf_text_add_int(&text, topic->partition_count);
    sf_text_add(&text, " partitions, ");
    sf_text_add_int(&text, wanted);
    sf_text_add(&text, " would be right: it is another application's, or the source was made anew");
    blame(check, SF_FINDING_ERROR, nowhere, name, line);
}

static enum sf_status ask_internal(struct check *check, struct sf_prod_ask *ask, uint32_t number, int32_t wanted,
                                   bool may_be_narrower, int32_t *count_out)
{
    struct sf_prod_topic topic;
    enum sf_status status = sf_prod_ask_topic(ask, number, ANSWER_MS, &topic);
    if (status == SF_E_UNKNOWN_TOPIC) return SF_OK; /* made at the first start */
    if (status != SF_OK) return status;
    *count_out = topic.partition_count;
    judge_internal(check, sf_kafka_topic_name(check->outline.kafka, number), &topic, wanted, may_be_narrower);
    return SF_OK;
}

static enum sf_status ask_targets(struct check *check, struct sf_prod_ask *ask)
{
    const struct sf_topology *topology = check->file.topology;
    const struct sf_targets *targets = &check->outline.targets;
    for (uint32_t i = 0; i < targets->sink_count; i++) {
        struct sf_prod_topic topic;
        enum sf_status status = sf_prod_ask_topic(ask, targets->items[i].topic, ANSWER_MS, &topic);
        if (status == SF_E_UNKNOWN_TOPIC)
            blame(check, SF_FINDING_ERROR, topology->sinks[i].place, topology->sinks[i].topic,
                  "is not on the broker: create it");
        else if (status != SF_OK)
            return status;
        check->target_partitions[i] = topic.partition_count;
    }
    for (uint32_t i = targets->sink_count; i < targets->count; i++) {
        uint32_t sub = check->file.plan->steps[targets->items[i].index].sub;
        int32_t wanted = sf_targets_changelog_partitions(check->file.plan, sub, check->source_partitions);
        enum sf_status status =
            ask_internal(check, ask, targets->items[i].topic, wanted, true, &check->target_partitions[i]);
        if (status != SF_OK) return status;
    }
    return ask_internal(check, ask, targets->watermark_topic, 1, false, &check->outline.watermark_partitions);
}

static enum sf_prod_exit ask_broker(struct check *check, const char *broker)
{
    struct sf_prod_ask ask;
    struct sf_error error = {0};
    if (broker == NULL) {
        (void)fprintf(stderr, "%s: error: which broker? Say it with --bootstrap, the file's kafka: bootstrap.servers, "
                              "or $KAFKA_BOOTSTRAP\n", check->file.path);
        return SF_PROD_EXIT_BAD_INPUT;
    }
    check->source_partitions =
        sf_calloc(check->alloc, check->file.topology->source_count, sizeof *check->source_partitions);
    check->target_partitions = sf_calloc(check->alloc, check->outline.targets.count, sizeof *check->target_partitions);
    enum sf_status status = sf_prod_ask_open(&ask, check->outline.kafka, &error);
    if (status == SF_OK) {
        status = ask_sources(check, &ask);
        if (status == SF_OK) status = ask_targets(check, &ask);
        sf_prod_ask_close(&ask);
    }
    if (status != SF_OK) {
        (void)fprintf(stderr, "sfprod: cannot look at the topics on %s: %s\n", broker,
                      error.text[0] != '\0' ? error.text : sf_status_text(status));
        return SF_PROD_EXIT_GAVE_UP;
    }
    check->outline.source_partitions = check->source_partitions;
    check->outline.target_partitions = check->target_partitions;
    sf_findings_sort(&check->file.findings);
    return SF_PROD_EXIT_OK;
}

/* ------------------------------------------------------------------ all of it */

static enum sf_prod_exit look(struct check *check)
{
    const char *broker = NULL;
    check->outline.file = &check->file;
    if (!sf_prod_app_file_load(&check->file, check->options->path, check->alloc, stderr))
        return SF_PROD_EXIT_BAD_INPUT;
    broker = sf_prod_client_broker(&check->file, check->options->bootstrap);
    check->outline.lanes = sf_prod_width_lanes(check->file.topology);
    if (!sf_prod_client_new(&check->file, broker, NULL, &check->kafka)) return SF_PROD_EXIT_BAD_INPUT;
    check->outline.kafka = sf_prod_kafka_handle(check->kafka);
    sf_targets_init(&check->outline.targets, check->alloc, check->file.plan, check->outline.kafka);
    return check->options->is_broker_asked ? ask_broker(check, broker) : SF_PROD_EXIT_OK;
}

/* False, and said so, where standard output cannot be written. */
static bool tell(struct check *check)
{
    struct sf_text text;
    sf_text_init_growing(&text, check->alloc);
    if (check->options->is_json)
        sf_prod_outline_json(&check->outline, &text);
    else
        sf_prod_outline_text(&check->outline, &text);
    bool is_written = fwrite(text.data, 1, text.length, stdout) == text.length && fflush(stdout) == 0;
    if (!is_written) (void)fprintf(stderr, "sfprod: the answer could not be written: %s\n", strerror(errno));
    sf_text_deinit(&text);
    return is_written;
}

static void unmake(struct check *check)
{
    if (check->source_partitions != NULL)
        sf_cfree(check->alloc, check->source_partitions, check->file.topology->source_count,
                 sizeof *check->source_partitions);
    if (check->target_partitions != NULL)
        sf_cfree(check->alloc, check->target_partitions, check->outline.targets.count,
                 sizeof *check->target_partitions);
    if (check->kafka != NULL) {
        sf_targets_deinit(&check->outline.targets);
        (void)sf_prod_kafka_destroy(check->kafka);
    }
    sf_prod_app_file_deinit(&check->file);
}

enum sf_prod_exit sf_prod_cmd_check(const struct sf_prod_options *options)
{
    struct check check = {.options = options, .alloc = sf_alloc_libc()};
    enum sf_prod_exit status = look(&check);
    /* Where the settings of the client are not right there are no names of topics: the findings are all there is. */
    if (check.kafka == NULL) {
        sf_topology_destroy(check.file.topology);
        check.file.topology = NULL;
    }
    bool is_unread = check.file.topology == NULL && check.file.findings.count == 0; /* and has been told so */
    if (status != SF_PROD_EXIT_GAVE_UP && !is_unread && !tell(&check)) status = SF_PROD_EXIT_GAVE_UP;
    if (status == SF_PROD_EXIT_OK && check.file.findings.error_count > 0) status = SF_PROD_EXIT_BAD_INPUT;
    unmake(&check);
    return status;
}
