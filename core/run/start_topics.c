/* Topics of a start: are the sources and sinks there, are the internal ones there and as they must be (K11, K13). */
#include "core/run/engine_impl.h"

#include "core/text.h"

static void list_topic(struct sf_engine *engine, uint32_t topic, bool is_internal)
{
    for (uint32_t i = 0; i < engine->topic_count; i++)
        if (engine->topics[i].topic == topic) return;
    engine->topics[engine->topic_count++] = (struct sfi_topic){.topic = topic, .is_internal = is_internal};
}

static struct sfi_topic *topic_at(struct sf_engine *engine, uint32_t topic)
{
    for (uint32_t i = 0; i < engine->topic_count; i++)
        if (engine->topics[i].topic == topic) return &engine->topics[i];
    assert(false);
    return NULL;
}

void sfi_topics_describe(struct sf_engine *engine)
{
    const struct sf_topology *topology = engine->config.topology;
    for (uint32_t i = 0; i < topology->source_count; i++)
        list_topic(engine, sf_kafka_topic(engine->config.kafka, topology->sources[i].topic), false);
    for (uint32_t i = 0; i < engine->targets.count; i++)
        list_topic(engine, engine->targets.items[i].topic, engine->targets.items[i].kind != SF_TARGET_SINK);
    list_topic(engine, engine->targets.watermark_topic, true);
    for (uint32_t i = 0; i < engine->topic_count; i++)
        sf_admin_describe(engine->admin, i, engine->topics[i].topic);
    engine->pending = engine->topic_count;
}

/* NULL: the world does not tell. */
static const char *setting(const struct sf_admin_event *event, const char *name)
{
    for (uint32_t i = 0; i < event->setting_count; i++)
        if (strcmp(event->settings[i].name, name) == 0) return event->settings[i].value;
    return NULL;
}

/* A number as a broker writes it; what is none, or is not told, is the default. */
static uint32_t bytes_of(const char *value)
{
    uint64_t bytes = 0;
    for (const char *at = value; at != NULL && *at >= '0' && *at <= '9'; at++) {
        bytes = bytes * 10 + (uint64_t)(*at - '0');
        if (bytes > INT32_MAX) return INT32_MAX;
    }
    return bytes > 0 ? (uint32_t)bytes : SF_MESSAGE_BYTES_DEFAULT;
}

static bool is_unlike(const struct sf_admin_event *event, const char *name, const char *right)
{
    const char *value = setting(event, name);
    return value != NULL && strcmp(value, right) != 0;
}

/* K11: what differs and loses nothing. */
static void warn_of_settings(const struct sf_step *step, const struct sfi_topic *topic,
                             const struct sf_admin_event *event)
{
    if (!topic->is_internal || !sf_notes_has_room(step->notes, 2)) return;
    if (is_unlike(event, "message.timestamp.type", "CreateTime"))
        sf_note(step->notes, SF_NOTE_TOPIC_STAMPS, SF_SUBJECT_NONE, topic->topic, 0, 0, 0);
    if (is_unlike(event, "retention.ms", "-1"))
        sf_note(step->notes, SF_NOTE_TOPIC_RETENTION, SF_SUBJECT_NONE, topic->topic, 0, 0, 0);
}

bool sfi_topics_described(struct sf_engine *engine, const struct sf_step *step, const struct sf_admin_event *event)
{
    struct sfi_topic *topic = &engine->topics[event->tag];
    engine->pending--;
    topic->is_answered = true;
    if (event->status == SF_E_UNKNOWN_TOPIC) {
        if (topic->is_internal) return true;
        sfi_start_fail(engine, step, event->status, "there is no topic", sfi_topic_name(engine, topic->topic),
             "create it, or correct its name in the application file");
        return false;
    }
    if (event->status != SF_OK) {
        sfi_start_fail(engine, step, event->status, "cannot describe topic", sfi_topic_name(engine, topic->topic),
             event->text != NULL ? event->text : sf_status_text(event->status));
        return false;
    }
    topic->partition_count = event->partition_count;
    topic->message_bytes_max = bytes_of(setting(event, "max.message.bytes"));
    topic->is_cleanup_compact = !is_unlike(event, "cleanup.policy", "compact");
    if (engine->start == SFI_START_DESCRIBE) warn_of_settings(step, topic, event);
    return true;
}

/* How wide an internal topic has to be. */
static int32_t partitions_wanted(struct sf_engine *engine, uint32_t topic)
{
    if (topic == engine->targets.watermark_topic) return 1;
    for (uint32_t i = 0; i < engine->targets.count; i++) {
        const struct sf_target *target = &engine->targets.items[i];
        if (target->topic != topic) continue;
        return sf_targets_changelog_partitions(engine->config.plan, engine->config.plan->steps[target->index].sub,
                                               engine->source_partitions);
    }
    return 1;
}

static bool check_internal(struct sf_engine *engine, const struct sf_step *step, const struct sfi_topic *topic)
{
    char needs[160];
    struct sf_text text;
    int32_t wanted = partitions_wanted(engine, topic->topic);
    if (!topic->is_cleanup_compact) {
        sfi_start_fail(engine, step, SF_E_EXISTS, "internal topic", sfi_topic_name(engine, topic->topic),
             "its cleanup.policy is not `compact`, so state could be lost; set it, or delete the topic if it is not "
             "this application's");
        return false;
    }
    /* a source that has grown since leaves its changelog as it was (K13) */
    if (topic->partition_count == wanted || (topic->topic != engine->targets.watermark_topic &&
                                             topic->partition_count < wanted))
        return true;
    sf_text_init(&text, needs, sizeof needs);
    sf_text_add(&text, "it has ");
    sf_text_add_int(&text, topic->partition_count);
    sf_text_add(&text, " partitions, ");
    sf_text_add_int(&text, wanted);
    sf_text_add(&text, " would be right; it is another application's, or the source was made anew");
    sfi_start_fail(engine, step, SF_E_EXISTS, "internal topic", sfi_topic_name(engine, topic->topic), needs);
    return false;
}

void sfi_topics_describe_again(struct sf_engine *engine)
{
    for (uint32_t i = 0; i < engine->topic_count; i++) {
        sf_admin_describe(engine->admin, i, engine->topics[i].topic);
        engine->pending++;
    }
}

void sfi_topics_take_widths(struct sf_engine *engine)
{
    const struct sf_topology *topology = engine->config.topology;
    for (uint32_t i = 0; i < topology->source_count; i++)
        engine->source_partitions[i] =
            topic_at(engine, sf_kafka_topic(engine->config.kafka, topology->sources[i].topic))->partition_count;
}

void sfi_topics_take_limits(struct sf_engine *engine)
{
    for (uint32_t i = 0; i < engine->targets.count; i++) {
        struct sf_target *target = &engine->targets.items[i];
        uint32_t bytes = topic_at(engine, target->topic)->message_bytes_max;
        target->record_bytes_max = bytes > SF_RECORD_FRAME_BYTES ? bytes - SF_RECORD_FRAME_BYTES : 0;
    }
}

/* How wide to make one: a frontier's is as wide as its store's changelog, which the source may have outgrown (K2). */
static int32_t partitions_to_make(struct sf_engine *engine, uint32_t topic)
{
    for (uint32_t i = 0; i < engine->targets.count; i++) {
        const struct sf_target *target = &engine->targets.items[i];
        if (target->topic != topic || target->kind != SF_TARGET_FRONTIER) continue;
        return topic_at(engine, engine->targets.items[engine->targets.changelog_of_step[target->index]].topic)
            ->partition_count;
    }
    return partitions_wanted(engine, topic);
}

/* In the order of targets: a changelog comes before its frontier. */
void sfi_topics_create(struct sf_engine *engine, const struct sf_step *step)
{
    static const struct sf_topic_setting settings[] = {{"cleanup.policy", "compact"},
                                                       {"message.timestamp.type", "CreateTime"},
                                                       {"retention.ms", "-1"}};
    sfi_topics_take_widths(engine);
    for (uint32_t i = 0; i < engine->topic_count; i++) {
        struct sfi_topic *topic = &engine->topics[i];
        if (!topic->is_internal) continue;
        if (topic->partition_count > 0) {
            if (!check_internal(engine, step, topic)) return;
            continue;
        }
        struct sf_topic_spec spec = {.topic = topic->topic,
                                     .partition_count = partitions_to_make(engine, topic->topic),
                                     .replication = engine->config.is_internal_replicated ? -1 : 1,
                                     .settings = settings,
                                     .setting_count = sizeof settings / sizeof settings[0]};
        topic->partition_count = spec.partition_count;
        sf_admin_create(engine->admin, i, &spec);
        engine->pending++;
    }
}

bool sfi_topics_created(struct sf_engine *engine, const struct sf_step *step, const struct sf_admin_event *event)
{
    engine->pending--;
    if (event->status == SF_OK) return true;
    sfi_start_fail(engine, step, event->status, "cannot create internal topic",
                   sfi_topic_name(engine, engine->topics[event->tag].topic),
         event->text != NULL ? event->text : sf_status_text(event->status));
    return false;
}

void sfi_topics_resolve(struct sf_engine *engine)
{
    uint32_t position = 0;
    for (uint32_t i = 0; i < engine->targets.count; i++) {
        struct sf_target *target = &engine->targets.items[i];
        target->partition_count = topic_at(engine, target->topic)->partition_count;
        target->first_position = position;
        if (target->kind == SF_TARGET_CHANGELOG) position += (uint32_t)target->partition_count;
    }
}
