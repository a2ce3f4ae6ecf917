/*
 * Twin histories: one script (twin_script.c) in the simulated Kafka and against a real broker; the two histories must
 * agree line by line, except for the differences in the table below, each explained in docs/kafka-model.md.
 */
/* ctest: broker */
#include <stdio.h>
#include <stdlib.h>

#include "tests/broker/twin_script.h"
#include "tests/check.h"
#include "tests/conformance/kafka_broker.h"
#include "tests/conformance/kafka_sim.h"

/* A tolerated difference: `simulated` in one history where the other has `real`. NULL: no line there. */
static const struct {
    const char *simulated;
    const char *real;
    const char *heading; /* in docs/kafka-model.md, which a test below looks for */
} differences[] = {
    {"undeliverable: next commit: committed, ok, end sent",
     "undeliverable: next commit: not committed, abort, end never sent", "A hole in the sequence numbers"},
    {NULL, "undeliverable: next abort: SF_OK", "A hole in the sequence numbers"},
    {NULL, "undeliverable: commit after that: committed, ok, end sent", "A hole in the sequence numbers"},
};

static struct twin_history simulated, real;

static void history_of(int (*open)(void **), int (*close)(void **), const struct twin_section *section,
                       struct twin_history *history)
{
    void *state = NULL;
    history->used = 0;
    history->text[0] = '\0';
    CHECK_EQ(open(&state), 0);
    section->run(state, history);
    CHECK_EQ(close(&state), 0);
}

static bool take_line(const char **at, char *line, size_t bytes)
{
    const char *end = strchr(*at, '\n');
    if (end == NULL) return false;
    (void)snprintf(line, bytes, "%.*s", (int)(end - *at), *at);
    *at = end + 1;
    return true;
}

/* 0: not tolerated; else how many lines of the two histories the difference covers: 1 both, 2 real only. */
static int tolerated(const char *a, const char *b)
{
    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; i++) {
        if (strcmp(b, differences[i].real) != 0) continue;
        if (differences[i].simulated == NULL) return 2;
        if (strcmp(a, differences[i].simulated) == 0) return 1;
    }
    return 0;
}

static void compare(const struct twin_section *section)
{
    const char *a = simulated.text, *b = real.text;
    char a_line[512] = "", b_line[512] = "";
    bool has_a = take_line(&a, a_line, sizeof a_line), has_b = take_line(&b, b_line, sizeof b_line);
    while (has_a || has_b) {
        int covers = 1;
        bool is_equal = has_a && has_b && strcmp(a_line, b_line) == 0;
        if (!is_equal) covers = has_b ? tolerated(has_a ? a_line : "", b_line) : 0;
        if (covers == 0)
            fail_msg("section %s differs\nsimulated: %s\nreal:      %s\n--- simulated\n%s--- real\n%s", section->name,
                     has_a ? a_line : "(end)", has_b ? b_line : "(end)", simulated.text, real.text);
        if (covers == 1) has_a = take_line(&a, a_line, sizeof a_line);
        has_b = take_line(&b, b_line, sizeof b_line);
    }
}

static void histories_agree(void **state)
{
    const struct twin_section *section = *state;
    history_of(kafka_sim_open, kafka_sim_close, section, &simulated);
    history_of(kafka_broker_open, kafka_broker_close, section, &real);
    compare(section);
}

static void every_tolerated_difference_is_explained(void **state)
{
    (void)state;
    static char text[65536];
    FILE *file = fopen("docs/kafka-model.md", "r");
    CHECK(file != NULL);
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[bytes] = '\0';
    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; i++)
        if (strstr(text, differences[i].heading) == NULL) fail_msg("not in the document: %s", differences[i].heading);
}

int main(void)
{
    const char *reason = kafka_broker_missing();
    if (reason != NULL) {
        printf("skipped: %s\n", reason);
        return 77;
    }
    struct CMUnitTest tests[32];
    CHECK(twin_section_count < 32);
    for (uint32_t i = 0; i < twin_section_count; i++)
        tests[i] = (struct CMUnitTest){twin_sections[i].name, histories_agree, NULL, NULL,
                                       (void *)(uintptr_t)&twin_sections[i]};
    tests[twin_section_count] = (struct CMUnitTest){"every_tolerated_difference_is_explained",
                                                    every_tolerated_difference_is_explained, NULL, NULL, NULL};
    const char *only = getenv("KAFKA_CASE");
    if (only != NULL) cmocka_set_test_filter(only);
    return _cmocka_run_group_tests("twin histories", tests, twin_section_count + 1, NULL, NULL);
}
