/* Pieces of sfprod that need no broker: log lines, words of notes, settings, and what docs/operating.md says. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/app/schema_table.h"
#include "core/time/event_time.h"
#include "prod/kafka_news.h"
#include "prod/log.h"
#include "prod/note_words.h"
#include "prod/settings.h"
#include "tests/check.h"
#include "tests/prod/schema_doc.h"

#define MANUAL "docs/operating.md"

/* ------------------------------------------------------------------ log lines */

struct lines {
    int pipe[2];
    struct sf_prod_log log;
    char text[8192];
};

static void lines_open(struct lines *lines, bool is_json, enum sf_prod_level level)
{
    CHECK(pipe(lines->pipe) == 0);
    sf_prod_log_init(&lines->log, lines->pipe[1], is_json, level);
}

/* All that was written, without the time that each line begins with. */
static const char *lines_close(struct lines *lines)
{
    (void)close(lines->pipe[1]);
    ssize_t count = read(lines->pipe[0], lines->text, sizeof lines->text - 1);
    (void)close(lines->pipe[0]);
    lines->text[count > 0 ? count : 0] = '\0';
    sf_prod_log_deinit(&lines->log);
    return lines->text;
}

static void text_lines_are_flat_and_carry_their_fields(void **state)
{
    struct lines lines;
    const struct sf_prod_field fields[] = {{.name = "topic", .text = "a\nb"}, {.name = "lanes", .number = -2}};
    (void)state;
    lines_open(&lines, false, SF_PROD_INFO);
    sf_prod_log_say(&lines.log, SF_PROD_INFO, "start", "one\r\ntwo", fields, 2);
    sf_prod_log_say(&lines.log, SF_PROD_DEBUG, "hidden", "not at this level", NULL, 0);
    const char *text = strchr(lines_close(&lines), ' ');
    CHECK_STR(text, " info start: one  two topic=a b lanes=-2\n");
}

static void json_lines_are_one_object_each(void **state)
{
    struct lines lines;
    const struct sf_prod_field fields[] = {{.name = "topic", .text = "a\"b"}, {.name = "lanes", .number = 2}};
    (void)state;
    lines_open(&lines, true, SF_PROD_TRACE);
    sf_prod_log_say(&lines.log, SF_PROD_ERROR, "gave-up", "a \"quote\"\n", fields, 2);
    const char *text = strstr(lines_close(&lines), "\"level\"");
    CHECK(text != NULL && strncmp(lines.text, "{\"time\":\"2", 10) == 0);
    CHECK_STR(text, "\"level\":\"error\",\"event\":\"gave-up\",\"message\":\"a \\\"quote\\\"\\n\",\"topic\":\"a\\\"b\","
                    "\"lanes\":2}\n");
}

static void a_line_that_is_too_long_is_cut_and_still_a_line(void **state)
{
    struct lines lines;
    char *message = malloc(6000);
    (void)state;
    memset(message, 'x', 5999);
    message[5999] = '\0';
    lines_open(&lines, false, SF_PROD_INFO);
    sf_prod_log_say(&lines.log, SF_PROD_INFO, "start", message, NULL, 0);
    size_t length = strlen(lines_close(&lines));
    free(message);
    CHECK_EQ(length, SF_PROD_LOG_LINE_BYTES);
    CHECK(lines.text[length - 1] == '\n');
}

static void a_broker_that_is_away_is_told_once_and_once_when_it_is_back(void **state)
{
    struct lines lines;
    struct sf_prod_kafka_news news;
    (void)state;
    lines_open(&lines, false, SF_PROD_INFO);
    sf_prod_kafka_news_init(&news, &lines.log);
    sf_prod_kafka_news_answered(&news);
    sf_prod_kafka_news_take(&news, 3, "FAIL: refused");
    sf_prod_kafka_news_take(&news, 3, "FAIL: refused again");
    sf_prod_kafka_news_take(&news, 4, "x is a producer property and will be ignored by this consumer instance");
    sf_prod_kafka_news_take(&news, 4, "a#owner: SESSTMOUT: [thrd:main]: Consumer group session timed out");
    CHECK(sf_prod_kafka_news_take_silence(&news)); /* `restart` says so */
    CHECK(!sf_prod_kafka_news_take_silence(&news));
    sf_prod_kafka_news_take(&news, 4, "a#producer: GETPID: [thrd:main]: Coordinator load in progress: retrying");
    sf_prod_kafka_news_answered(&news);
    sf_prod_kafka_news_answered(&news);
    sf_prod_kafka_news_take(&news, 3, "ERROR: 1/1 brokers are down");
    lines_close(&lines);
    uint32_t count = 0;
    for (const char *at = lines.text; (at = strchr(at, '\n')) != NULL; at++) count++;
    CHECK_EQ(count, 3);
    const char *first = strstr(lines.text, "warn broker-away: FAIL: refused\n");
    const char *second = strstr(lines.text, "info broker-back: ");
    const char *third = strstr(lines.text, "warn broker-away: ERROR: 1/1 brokers are down\n");
    CHECK(first != NULL && second > first && third > second);
}

/* Every client of ours says it. */
static void what_is_odd_about_settings_is_told_once_whoever_says_it(void **state)
{
    struct lines lines;
    struct sf_prod_kafka_news news;
    (void)state;
    lines_open(&lines, false, SF_PROD_INFO);
    sf_prod_kafka_news_init(&news, &lines.log);
    sf_prod_kafka_news_take(&news, 4, "a#consumer-1: CONFWARN: [thrd:app]: `sasl.mechanism` is set in vain");
    sf_prod_kafka_news_take(&news, 4, "a#producer-2: CONFWARN: [thrd:app]: `sasl.mechanism` is set in vain");
    sf_prod_kafka_news_take(&news, 4, "a#producer-2: CONFWARN: [thrd:app]: and so is another");
    sf_prod_kafka_news_take(&news, 4, "a#producer-2: CONFWARN: [thrd:app]: `x` is a consumer property and will be "
                                      "ignored by this producer instance");
    lines_close(&lines);
    uint32_t count = 0;
    for (const char *at = lines.text; (at = strchr(at, '\n')) != NULL; at++) count++;
    CHECK_EQ(count, 2);
    CHECK(strstr(lines.text, "warn kafka-setting: `sasl.mechanism` is set in vain\n") != NULL);
    CHECK(strstr(lines.text, "warn kafka-setting: and so is another\n") != NULL);
}

/* ------------------------------------------------------------------ words */

static bool partition_of(void *ctx, uint32_t subject, struct sf_tp *tp_out)
{
    (void)ctx;
    *tp_out = (struct sf_tp){.topic = 7, .partition = (int32_t)subject};
    return subject < 10;
}

static const char *topic_of(void *ctx, uint32_t topic)
{
    (void)ctx;
    return topic == 7 ? "orders" : "other";
}

static const char *filled(struct sf_note note, char *buf, size_t bytes)
{
    const struct sf_prod_note_names names = {.partition = partition_of, .topic = topic_of};
    struct sf_text text;
    sf_text_init(&text, buf, bytes);
    sf_prod_note_fill(&note, &names, &text);
    return buf;
}

static void notes_read_with_names_and_times(void **state)
{
    char buf[512];
    (void)state;
    CHECK_STR(filled((struct sf_note){.code = SF_NOTE_FUTURE_HEAD, .subject = 2, .args = {41, 1790071200123, 90000}},
                     buf, sizeof buf),
              "orders/2 offset 41: stamped 2026-09-22T10:00:00.123Z, 90000 ms ahead of now");
    CHECK_STR(filled((struct sf_note){.code = SF_NOTE_STARTED, .args = {1, SF_TIME_UNSET}}, buf, sizeof buf),
              "running from epoch 1, watermark unset");
    CHECK_STR(filled((struct sf_note){.code = SF_NOTE_IDLE, .subject = 99}, buf, sizeof buf), "no partition is idle");
}

static void events_are_names_without_what_counts_them(void **state)
{
    char buf[SF_PROD_EVENT_BYTES];
    (void)state;
    CHECK_STR(sf_prod_note_event(SF_NOTE_TXN_COMMITTED, buf), "txn.committed");
    CHECK_STR(sf_prod_note_event(SF_NOTE_LANE_CROSSED, buf), "lane.crossed");
    CHECK_STR(sf_prod_note_event(SF_NOTE_OWNER, buf), "owner");
    CHECK_EQ(sf_prod_note_level(SF_NOTE_TXN_COMMITTED), SF_PROD_DEBUG);
    CHECK_EQ(sf_prod_note_level(SF_NOTE_TXN_BEGUN), SF_PROD_TRACE);
    CHECK_EQ(sf_prod_note_level(SF_NOTE_FUTURE_HEAD), SF_PROD_WARN);
}

/* ------------------------------------------------------------------ settings and the manual */

static const struct sf_schema *engine_keys(void)
{
    return sf_schema_application.engine->type;
}

static void settings_are_the_loaders_keys_in_its_order(void **state)
{
    const struct sf_schema *engine = engine_keys();
    uint32_t at = 0;
    (void)state;
    for (uint32_t i = 0; i < engine->key_count; i++) {
        if ((engine->keys[i].flags & SF_KEY_LATER) != 0) continue;
        CHECK(at < sf_prod_settings_count());
        CHECK_STR(sf_prod_settings_name(at++), engine->keys[i].name);
    }
    CHECK_EQ(at, sf_prod_settings_count());
}

static void fresh_settings_are_all_at_their_defaults(void **state)
{
    struct sf_topology *topology = sf_topology_new(sf_alloc_libc());
    char value[SF_PROD_SETTING_BYTES], usual[SF_PROD_SETTING_BYTES];
    (void)state;
    for (uint32_t i = 0; i < sf_prod_settings_count(); i++)
        CHECK_STR(sf_prod_settings_text(&topology->settings, i, value),
                  sf_prod_settings_default(&topology->settings, i, usual));
    sf_topology_destroy(topology);
}

static void a_key_that_tells_its_default_tells_the_right_one(void **state)
{
    struct sf_topology *topology = sf_topology_new(sf_alloc_libc());
    const struct sf_schema *engine = engine_keys();
    char value[SF_PROD_SETTING_BYTES];
    uint32_t at = 0, told = 0;
    (void)state;
    for (uint32_t i = 0; i < engine->key_count; i++) {
        if ((engine->keys[i].flags & SF_KEY_LATER) != 0) continue;
        const char *is = sf_prod_settings_text(&topology->settings, at++, value);
        const char *semicolon = strrchr(engine->keys[i].doc, ';');
        if (semicolon == NULL || semicolon[2] < '0' || semicolon[2] > '9') continue;
        told++;
        if (strncmp(semicolon + 2, is, strlen(is)) != 0)
            fail_msg("%s: its text says `%s`, its default is %s", engine->keys[i].name, engine->keys[i].doc, is);
    }
    CHECK(told >= 15);
    sf_topology_destroy(topology);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = malloc(1 << 20);
    if (file == NULL) fail_msg("cannot open %s", path);
    size_t length = fread(text, 1, (1 << 20) - 1, file);
    text[length] = '\0';
    (void)fclose(file);
    return text;
}

/* Puts the tables into the manual; `after` begins with the end marker. */
static void rewrite(const char *manual, size_t before, const char *tables, const char *after)
{
    FILE *file = fopen(MANUAL, "wb");
    CHECK(file != NULL);
    (void)fwrite(manual, 1, before, file);
    (void)fprintf(file, "%s%s", tables, after);
    CHECK(fclose(file) == 0);
}

/* After a change of the loader's table: SF_WRITE_MANUAL=1 build/dev/tests/test_sfprod_parts */
static void the_manuals_tables_are_the_loaders(void **state)
{
    static const char begin[] = "<!-- keys: begin -->\n";
    static const char end[] = "<!-- keys: end -->\n";
    struct sf_text wanted;
    (void)state;
    char *manual = read_file(MANUAL);
    char *from = strstr(manual, begin);
    char *to = strstr(manual, end);
    CHECK(from != NULL && to != NULL && to > from);
    from += strlen(begin);
    sf_text_init_growing(&wanted, sf_alloc_libc());
    schema_doc_write(&sf_schema_application, &wanted);
    sf_text_add(&wanted, "\n");
    bool is_same = strlen(wanted.data) == (size_t)(to - from) && memcmp(from, wanted.data, (size_t)(to - from)) == 0;
    if (!is_same && getenv("SF_WRITE_MANUAL") != NULL) rewrite(manual, (size_t)(from - manual), wanted.data, to);
    sf_text_deinit(&wanted);
    free(manual);
    CHECK(is_same && "docs/operating.md differs from the loader's table; SF_WRITE_MANUAL=1 corrects it");
}

/* Every warning can be looked up by its event. */
static void the_manual_explains_every_warning(void **state)
{
    char event[SF_PROD_EVENT_BYTES];
    char row[SF_PROD_EVENT_BYTES + 16];
    (void)state;
    char *manual = read_file(MANUAL);
    for (uint16_t code = 0; code < SF_NOTE_COUNT; code++) {
        if (sf_prod_note_level(code) != SF_PROD_WARN || code == SF_NOTE_FAILED) continue;
        (void)snprintf(row, sizeof row, "| `%s` |", sf_prod_note_event(code, event));
        if (strstr(manual, row) == NULL) fail_msg("%s has no row for %s", MANUAL, event);
    }
    /* and those that sfprod itself says */
    static const char *const own[] = {"broker-away",  "kafka",           "kafka-setting", "print-failed",
                                      "store-failed", "stopped-at-once", "loop",          "unread"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        (void)snprintf(row, sizeof row, "| `%s` |", own[i]);
        if (strstr(manual, row) == NULL) fail_msg("%s has no row for %s", MANUAL, own[i]);
    }
    free(manual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_lines_are_flat_and_carry_their_fields),
        cmocka_unit_test(json_lines_are_one_object_each),
        cmocka_unit_test(a_line_that_is_too_long_is_cut_and_still_a_line),
        cmocka_unit_test(a_broker_that_is_away_is_told_once_and_once_when_it_is_back),
        cmocka_unit_test(what_is_odd_about_settings_is_told_once_whoever_says_it),
        cmocka_unit_test(notes_read_with_names_and_times),
        cmocka_unit_test(events_are_names_without_what_counts_them),
        cmocka_unit_test(settings_are_the_loaders_keys_in_its_order),
        cmocka_unit_test(fresh_settings_are_all_at_their_defaults),
        cmocka_unit_test(a_key_that_tells_its_default_tells_the_right_one),
        cmocka_unit_test(the_manuals_tables_are_the_loaders),
        cmocka_unit_test(the_manual_explains_every_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
