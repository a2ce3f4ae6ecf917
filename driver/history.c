#include "driver/history.h"

#include <stdio.h>
#include <string.h>

#include "driver/time_text.h"

#define TIME_COLUMNS 13u
#define WHO_COLUMNS 10u

static void pad(struct sf_text *text, size_t from, size_t columns)
{
    do
        sf_text_add(text, " ");
    while (text->length - from < columns);
}

void sf_driver_history_begin(const struct sf_driver_history *history, uint32_t instance_id, const char *who)
{
    size_t from = history->text->length;
    sf_driver_text_elapsed(history->text, sf_sim_world_elapsed_us(history->world));
    pad(history->text, from, TIME_COLUMNS);
    from = history->text->length;
    if (instance_id > 1) {
        sf_text_add_uint(history->text, instance_id);
        sf_text_add(history->text, ":");
    }
    sf_text_add(history->text, who);
    pad(history->text, from, WHO_COLUMNS);
}

void sf_driver_history_line(const struct sf_driver_history *history, const char *who, const char *words)
{
    if (!sf_driver_history_is_on(history)) return;
    sf_driver_history_begin(history, 0, who);
    sf_text_add(history->text, words);
    sf_text_add(history->text, "\n");
}

/* ---------------------------------------------------------------- bytes */

static bool is_printable(const uint8_t *data, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        if (data[i] < 0x20 || data[i] == 0x7F) return false;
    }
    /* Beyond ASCII only whole UTF-8 sequences are shown as they are. */
    for (uint32_t i = 0; i < len;) {
        uint32_t more = data[i] < 0x80 ? 0 : data[i] >= 0xF0 ? 3 : data[i] >= 0xE0 ? 2 : data[i] >= 0xC2 ? 1 : 4;
        if (more > 3 || i + more >= len) return false;
        for (uint32_t j = 1; j <= more; j++) {
            if ((data[i + j] & 0xC0) != 0x80) return false;
        }
        i += more + 1;
    }
    return true;
}

void sf_driver_bytes_text(struct sf_text *text, const uint8_t *data, uint32_t len)
{
    if (data == NULL) {
        sf_text_add(text, "null");
    } else if (len > 0 && is_printable(data, len)) {
        sf_text_add_bytes(text, (const char *)data, len);
    } else if (len == 0) {
        sf_text_add(text, "\"\"");
    } else {
        sf_text_add(text, "0x");
        for (uint32_t i = 0; i < len; i++) {
            char hex[3];
            (void)snprintf(hex, sizeof hex, "%02x", (unsigned)data[i]);
            sf_text_add(text, hex);
        }
    }
}

/* ---------------------------------------------------------------- notes */

void sf_driver_partition_text(struct sf_text *text, const struct sf_driver_instance *instance, uint32_t index)
{
    const struct sf_ingest *ingest = instance->engine != NULL ? sf_engine_ingest(instance->engine) : NULL;
    if (index == SF_SUBJECT_NONE) {
        sf_text_add(text, "nobody");
        return;
    }
    if (ingest != NULL) {
        struct sf_wall_ts wall = {sf_sim_world_wall_ms(instance->process->world)};
        struct sf_watermark_view view;
        sf_ingest_view(ingest, wall, &view);
        if (index < view.partition_count) {
            struct sf_partition_view partition;
            sf_ingest_partition_view(ingest, index, wall, &partition);
            sf_text_add(text, sf_kafka_topic_name(instance->kafka, partition.tp.topic));
            sf_text_add(text, "/");
            sf_text_add_int(text, partition.tp.partition);
            return;
        }
    }
    sf_text_add(text, "partition ");
    sf_text_add_uint(text, index);
}

/* What stands in one pair of braces. */
static void add_argument(struct sf_text *text, const struct sf_driver_instance *instance, const struct sf_note *note,
                         const char *name)
{
    bool is_time = name[0] == 't', is_name = name[0] == 'n';
    char digit = name[is_time || is_name ? 1 : 0];
    if (name[0] == 'p') {
        sf_driver_partition_text(text, instance, note->subject);
    } else if (name[0] == 's') {
        sf_text_add_uint(text, note->subject);
    } else if (digit >= '0' && digit <= '3') {
        int64_t value = note->args[digit - '0'];
        if (is_time)
            sf_driver_text_time(text, value);
        else if (is_name)
            sf_text_add(text, sf_kafka_topic_name(instance->kafka, (uint32_t)value));
        else
            sf_text_add_int(text, value);
    }
}

void sf_driver_note_text(struct sf_text *text, const struct sf_driver_instance *instance, const struct sf_note *note)
{
    const char *at = sf_note_words(note->code)->words;
    while (*at != '\0') {
        size_t literal = strcspn(at, "{");
        sf_text_add_bytes(text, at, literal);
        at += literal;
        if (*at == '\0') break;
        add_argument(text, instance, note, at + 1);
        at = strchr(at, '}') + 1;
    }
}

/* Steps of the protocol that say nothing to whoever follows time, windows and commits. */
static bool is_plain(const struct sf_note *note)
{
    switch (note->code) {
    case SF_NOTE_BARRIER_DUE:
    case SF_NOTE_BARRIER_ENQUEUED:
    case SF_NOTE_LANE_CROSSED:
    case SF_NOTE_TXN_BEGUN:
    case SF_NOTE_TXN_OFFSETS_SENT:
    case SF_NOTE_TXN_END_SENT:
    case SF_NOTE_PAUSED:
    case SF_NOTE_RESUMED:
        return false;
    case SF_NOTE_LANE_EMITTED:
        return note->args[3] > 0;
    default:
        return true;
    }
}

/* Who did it stands in its column: words that begin with the same do not say it again. */
static const char *without_who(const char *words, const char *who)
{
    size_t length = strlen(who);
    return strncmp(words, who, length) == 0 && words[length] == ' ' ? words + length + 1 : words;
}

void sf_driver_history_note(const struct sf_driver_history *history, const struct sf_driver_instance *instance,
                            const char *task, const struct sf_note *note)
{
    if (!sf_driver_history_is_on(history)) return;
    if (history->level == SF_DRIVER_HISTORY_PLAIN && !is_plain(note)) return;
    struct sf_text words;
    sf_text_init_growing(&words, sf_alloc_libc());
    sf_driver_note_text(&words, instance, note);
    sf_driver_history_begin(history, instance->process->id, task);
    sf_text_add(history->text, without_who(words.data, task));
    sf_text_add(history->text, "\n");
    sf_text_deinit(&words);
}

void sf_driver_history_record(const struct sf_driver_history *history, const char *who, const char *topic,
                              int32_t partition, const struct sf_record *record, bool has_value)
{
    if (!sf_driver_history_is_on(history)) return;
    struct sf_text *text = history->text;
    sf_driver_history_begin(history, 0, who);
    sf_text_add(text, topic);
    sf_text_add(text, "/");
    sf_text_add_int(text, partition);
    sf_text_add(text, "@");
    sf_text_add_int(text, record->offset);
    sf_text_add(text, " key ");
    sf_driver_bytes_text(text, record->key.data, record->key.len);
    if (has_value) {
        sf_text_add(text, " ");
        sf_driver_bytes_text(text, record->value.data, record->value.len);
    }
    if (record->ts_kind != SF_TS_NONE) {
        sf_text_add(text, " at ");
        sf_driver_text_time(text, record->ts_ms);
    }
    sf_text_add(text, "\n");
}
