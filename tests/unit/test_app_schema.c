/* The JSON Schemas accept every file of scenarios/ and refuse broken ones. */
#include "tests/check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/app/schema_json.h"
#include "tests/unit/app_help.h"
#include "tests/unit/json_schema.h"

struct document {
    struct sf_text text;
    struct sf_yaml_tree *tree;
};

static struct document schemas[2];

static void parse(struct document *document)
{
    struct sf_findings findings;
    sf_findings_init(&findings, sf_alloc_libc());
    document->tree = sf_yaml_parse(document->text.data, document->text.length, sf_alloc_libc(), &findings);
    CHECK_EQ(findings.count, 0);
    CHECK(document->tree != NULL);
    sf_findings_deinit(&findings);
}

static void end(struct document *document)
{
    sf_yaml_destroy(document->tree);
    sf_text_deinit(&document->text);
}

static int write_schemas(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        sf_text_init_growing(&schemas[kind].text, sf_alloc_libc());
        sf_app_schema_write((enum sf_app_schema_kind)kind, &schemas[kind].text);
        parse(&schemas[kind]);
    }
    return 0;
}

static int end_schemas(void **state)
{
    (void)state;
    end(&schemas[0]);
    end(&schemas[1]);
    return 0;
}

static bool is_accepted(const char *yaml)
{
    struct document document;
    sf_text_init_growing(&document.text, sf_alloc_libc());
    sf_text_add(&document.text, yaml);
    parse(&document);
    const struct sf_yaml_node *root = sf_yaml_root(document.tree);
    bool is_scenario = sf_yaml_get(root, "scenario") != NULL;
    const struct sf_yaml_tree *schema = schemas[is_scenario ? SF_APP_SCHEMA_SCENARIO : SF_APP_SCHEMA_APPLICATION].tree;
    bool is_good = json_schema_accepts(sf_yaml_root(schema), root);
    end(&document);
    return is_good;
}

static unsigned check_folder(const char *folder, unsigned depth)
{
    unsigned count = 0;
    DIR *dir = opendir(folder);
    CHECK(dir != NULL && depth < 8);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[512];
        size_t length = strlen(entry->d_name);
        if (entry->d_name[0] == '.') continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strchr(entry->d_name, '.') == NULL) {
            count += check_folder(path, depth + 1);
        } else if (length > 5 && strcmp(entry->d_name + length - 5, ".yaml") == 0) {
            char *text = app_help_read(path);
            CHECK(text != NULL);
            /* an application that must be refused may be for what the schema says too */
            bool is_free = strstr(text, "\n  refused: [") != NULL;
            if (!is_free && !is_accepted(text)) fail_msg("%s is not accepted", path);
            free(text);
            count++;
        }
    }
    (void)closedir(dir);
    return count;
}

static void every_file_of_scenarios_is_accepted(void **state)
{
    (void)state;
    CHECK(check_folder("scenarios", 0) >= 3);
    CHECK(check_folder("tests/data", 0) >= 1);
}

#define APP(rest) "application: {id: a}\nsources: {s: {topic: t}}\n" rest
#define SCENARIO(rest) "scenario: x\napp: a.yaml\n" rest

static void engine_keys_are_accepted_in_each_spelling(void **state)
{
    (void)state;
    CHECK(is_accepted(APP("stoatflow: {watermark: {idleness-timeout-ms: 7}}\n")));
    CHECK(is_accepted(APP("stoatflow: {watermark.idleness-timeout-ms: 7}\n")));
    CHECK(is_accepted(APP("stoatflow: {stoatflow.watermark.idleness-timeout-ms: 7}\n")));
    CHECK(is_accepted(APP("stoatflow.watermark.idleness-timeout-ms: 7\n")));
    CHECK(is_accepted(APP("stoatflow: {commit-barrier: {interval-factor: 1.5}, instance: i}\n")));
}

static void broken_files_are_refused(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "application: {id: a}\n",
        "sources: {s: {topic: t}}\n",
        "application: {id: a b}\nsources: {s: {topic: t}}\n",
        "application: {id: a}\nsources: {s: {}}\n",
        "application: {id: a}\nsources: [s]\n",
        "application: {id: a}\nsources: {s: {topic: t, start: newest}}\n",
        "application: {id: a}\nsources: {s: {topic: t, validate: \"true\"}}\n",
        "application: {id: a}\nsources: {s: {topic: t, max-future-skew: 5}}\n",
        "application: {id: a}\nsources: {s: {topic: t, tier: background}}\n",
        "application: {id: a}\nsources: {s: {topic: t, watermark: {timestamp: a}}}\n",
        "application: {id: a}\nsources: {s: {topic: t, watermark: {percentile: {p: 0.9}}}}\n",
        APP("colour: red\n"),
        APP("stoatflow: {watermark: {idleness-timeout: 7}}\n"),
        APP("stoatflow: {processing.lanes: 129}\n"),
        APP("stoatflow: {processing.background-share-percent: 5}\n"),
        APP("stoatflow: {changelog: {format: paked}}\n"),
        APP("stoatflow.processing.lane: 1\n"),
        APP("kafka: {bootstrap.servers: [a]}\n"),
        APP("streams: [{name: w, from: s, window: {hopping: {size: 5m, advance: 1m}}}]\n"),
        APP("streams: [{name: w, from: s, window: {tumbling: -5m}}]\n"),
        APP("streams: [{name: w, from: s, window: {tumbling: 5m}, aggregate: {n: cuont}}]\n"),
        APP("streams: [{name: w, from: s, join: {}}]\n"),
        APP("sinks: [{from: s}]\n"),
        "scenario: x\n",
        SCENARIO("start: noon\n"),
        SCENARIO("stop: 20m\n"),
        SCENARIO("topics: {t: {partitions: 0}}\n"),
        SCENARIO("input: [{at: +1s}]\n"),
        SCENARIO("input: [{at: +1s, to: t, ts: {behind: {normal: 2s}}}]\n"),
        SCENARIO("input: [{at: +1s, to: t, key: {uniform: [1]}}]\n"),
        SCENARIO("faults: [{at: +1s, crash: {}}]\n"),
        SCENARIO("faults: [{at: +1s, partition: {t/0: gone}}]\n"),
        SCENARIO("world: {exact: perhaps}\n"),
        SCENARIO("expect: {partitions: [{at: +1s, t/0: {idel: true}}]}\n"),
        SCENARIO("expect: {partitions: [{at: +1s, t: {idle: true}}]}\n"),
        SCENARIO("expect: {watermark: [{at: +1s, global: soon}]}\n"),
        "scenario: x\napp: {application: {id: a}}\n",
    };
    CHECK(is_accepted(APP("")));
    CHECK(is_accepted(SCENARIO("")));
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        if (is_accepted(broken[i])) fail_msg("accepted: %s", broken[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_of_scenarios_is_accepted),
        cmocka_unit_test(engine_keys_are_accepted_in_each_spelling),
        cmocka_unit_test(broken_files_are_refused),
    };
    return cmocka_run_group_tests(tests, write_schemas, end_schemas);
}
