#include "driver/verdict.h"

#include <stdio.h>

#include "driver/time_text.h"

static const char *word_of(enum sf_driver_verdict verdict)
{
    static const char *const words[] = {
        [SF_DRIVER_HELD] = "held",
        [SF_DRIVER_BROKEN] = "broken",
        [SF_DRIVER_BAD_INPUT] = "bad input",
        [SF_DRIVER_INTERNAL] = "internal error",
        [SF_DRIVER_NOT_DETERMINISTIC] = "not deterministic",
    };
    return words[verdict];
}

static const char *label_of(enum sf_driver_verdict verdict)
{
    static const char *const labels[] = {
        [SF_DRIVER_HELD] = "ok    ",
        [SF_DRIVER_BROKEN] = "FAIL  ",
        [SF_DRIVER_BAD_INPUT] = "BAD   ",
        [SF_DRIVER_INTERNAL] = "ERROR ",
        [SF_DRIVER_NOT_DETERMINISTIC] = "DIFFER",
    };
    return labels[verdict];
}

static void put_digest(const struct sf_sim_digest *digest, struct sf_text *text)
{
    for (size_t i = 0; i < sizeof digest->bytes; i++) {
        char hex[3];
        (void)snprintf(hex, sizeof hex, "%02x", (unsigned)digest->bytes[i]);
        sf_text_add(text, hex);
    }
}

static bool has_run(const struct sf_driver_report *report)
{
    return report->verdict != SF_DRIVER_BAD_INPUT;
}

static void add_summary(const struct sf_driver_report *report, struct sf_text *text)
{
    char elapsed[SF_DRIVER_TIME_BYTES];
    sf_text_add(text, "  seed ");
    sf_text_add_uint(text, report->seed);
    sf_text_add(text, "  ");
    sf_text_add(text, sf_driver_elapsed_of(elapsed, report->elapsed_us) + 1);
    sf_text_add(text, " virtual, ");
    sf_text_add_uint(text, report->step_count);
    sf_text_add(text, " steps, ");
    sf_text_add_uint(text, report->input_count);
    sf_text_add(text, " records in, ");
    sf_text_add_uint(text, report->output_count);
    sf_text_add(text, " out, hash ");
    put_digest(&report->digest, text);
    if (report->is_cut) sf_text_add(text, ", not run to its end");
}

static void add_violation(const struct sf_driver_violation *violation, struct sf_text *text)
{
    char elapsed[SF_DRIVER_TIME_BYTES];
    sf_text_add(text, "        ");
    sf_text_add(text, violation->rule);
    sf_text_add(text, " at ");
    sf_text_add(text, sf_driver_elapsed_of(elapsed, violation->at_us));
    if (violation->subject[0] != '\0') {
        sf_text_add(text, ": ");
        sf_text_add(text, violation->subject);
    }
    sf_text_add(text, "\n");
    if (violation->expected[0] != '\0') {
        sf_text_add(text, "          expected  ");
        sf_text_add(text, violation->expected);
        sf_text_add(text, "\n");
    }
    if (violation->actual[0] != '\0') {
        sf_text_add(text, violation->expected[0] != '\0' ? "          actual    " : "          ");
        sf_text_add(text, violation->actual);
        sf_text_add(text, "\n");
    }
}

static uint32_t kept(const struct sf_driver_report *report)
{
    return report->violation_count < SF_DRIVER_VIOLATIONS_MAX ? report->violation_count : SF_DRIVER_VIOLATIONS_MAX;
}

void sf_driver_verdict_text(const struct sf_driver_report *report, const struct sf_driver_verdict_context *context,
                            struct sf_text *text)
{
    sf_text_add(text, label_of(report->verdict));
    sf_text_add(text, "  ");
    sf_text_add(text, context->path);
    if (has_run(report)) add_summary(report, text);
    sf_text_add(text, "\n");
    for (uint32_t i = 0; i < kept(report); i++) add_violation(&report->violations[i], text);
    if (report->violation_count > SF_DRIVER_VIOLATIONS_MAX) {
        sf_text_add(text, "        and ");
        sf_text_add_uint(text, report->violation_count - SF_DRIVER_VIOLATIONS_MAX);
        sf_text_add(text, " more\n");
    }
    if (report->verdict == SF_DRIVER_HELD || !has_run(report)) return;
    sf_text_add(text, "REPRO: ");
    sf_text_add(text, context->repro);
    sf_text_add(text, "\n");
}

/* ---------------------------------------------------------------- JSON */

static void add_string(struct sf_text *text, const char *name, const char *value)
{
    sf_text_add(text, ",\"");
    sf_text_add(text, name);
    sf_text_add(text, "\":");
    sf_text_add_json(text, value, strlen(value));
}

static void add_number(struct sf_text *text, const char *name, uint64_t value)
{
    sf_text_add(text, ",\"");
    sf_text_add(text, name);
    sf_text_add(text, "\":");
    sf_text_add_uint(text, value);
}

static void add_violation_json(const struct sf_driver_violation *violation, struct sf_text *text)
{
    sf_text_add(text, "{\"rule\":");
    sf_text_add_json(text, violation->rule, strlen(violation->rule));
    add_number(text, "atUs", (uint64_t)violation->at_us);
    add_string(text, "subject", violation->subject);
    add_string(text, "expected", violation->expected);
    add_string(text, "actual", violation->actual);
    sf_text_add(text, "}");
}

void sf_driver_verdict_json(const struct sf_driver_report *report, const struct sf_driver_verdict_context *context,
                            struct sf_text *text)
{
    char hash[2 * sizeof report->digest.bytes + 1];
    struct sf_text hash_text;
    sf_text_init(&hash_text, hash, sizeof hash);
    put_digest(&report->digest, &hash_text);
    sf_text_add(text, "{\"scenario\":");
    sf_text_add_json(text, context->path, strlen(context->path));
    add_string(text, "verdict", word_of(report->verdict));
    add_number(text, "seed", report->seed);
    if (has_run(report)) {
        add_number(text, "virtualUs", (uint64_t)report->elapsed_us);
        add_number(text, "steps", report->step_count);
        add_number(text, "recordsIn", report->input_count);
        add_number(text, "recordsOut", report->output_count);
        add_number(text, "epoch", report->epoch);
        add_number(text, "processes", report->instance_count);
        add_string(text, "hash", hash);
        sf_text_add(text, report->is_cut ? ",\"cut\":true" : ",\"cut\":false");
    }
    add_number(text, "violationCount", report->violation_count);
    sf_text_add(text, ",\"violations\":[");
    for (uint32_t i = 0; i < kept(report); i++) {
        if (i > 0) sf_text_add(text, ",");
        add_violation_json(&report->violations[i], text);
    }
    sf_text_add(text, "]");
    if (report->verdict != SF_DRIVER_HELD) add_string(text, "repro", context->repro);
    sf_text_add(text, "}\n");
}
