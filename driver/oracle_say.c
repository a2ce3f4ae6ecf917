/* Violations in words. */
#include "driver/oracle_parts.h"

static void set(char *out, size_t cap, const char *words)
{
    struct sf_text text;
    sf_text_init(&text, out, cap);
    sf_text_add(&text, words != NULL ? words : "");
}

void sfi_oracle_say(struct sfi_oracle *oracle, const char *rule, const char *subject, const char *expected,
                    const char *actual)
{
    struct sf_driver_violation violation = {.at_us = sf_sim_world_elapsed_us(oracle->world.world)};
    if (oracle->is_broken) return;
    oracle->is_broken = true;
    set(violation.rule, sizeof violation.rule, rule);
    set(violation.subject, sizeof violation.subject, subject);
    set(violation.expected, sizeof violation.expected, expected);
    set(violation.actual, sizeof violation.actual, actual);
    oracle->world.report(oracle->world.report_ctx, &violation);
}

void sfi_oracle_add_time(struct sf_text *text, int64_t ts)
{
    if (ts == SF_TIME_UNSET)
        sf_text_add(text, "unset");
    else if (ts == SF_TIME_COMPLETE)
        sf_text_add(text, "complete");
    else
        sf_text_add_int(text, ts);
}

static void say_numbers(struct sfi_oracle *oracle, const char *rule, const char *subject, int64_t expected,
                        int64_t actual)
{
    char words[2][48];
    struct sf_text text;
    sf_text_init(&text, words[0], sizeof words[0]);
    sfi_oracle_add_time(&text, expected);
    sf_text_init(&text, words[1], sizeof words[1]);
    sfi_oracle_add_time(&text, actual);
    sfi_oracle_say(oracle, rule, subject, words[0], words[1]);
}

void sfi_oracle_say_partition(struct sfi_oracle *oracle, const char *rule, const struct sfi_oracle_partition *partition,
                              const char *what, int64_t expected, int64_t actual)
{
    char subject[SF_DRIVER_SUBJECT_BYTES];
    struct sf_text text;
    sf_text_init(&text, subject, sizeof subject);
    sf_text_add(&text, oracle->world.topology->sources[partition->source].topic);
    sf_text_add(&text, "/");
    sf_text_add_int(&text, partition->number);
    sf_text_add(&text, ": ");
    sf_text_add(&text, what);
    say_numbers(oracle, rule, subject, expected, actual);
}

void sfi_oracle_say_epoch(struct sfi_oracle *oracle, const char *rule, uint64_t epoch, const char *what,
                          int64_t expected, int64_t actual)
{
    char subject[SF_DRIVER_SUBJECT_BYTES];
    struct sf_text text;
    sf_text_init(&text, subject, sizeof subject);
    sf_text_add(&text, "epoch ");
    sf_text_add_uint(&text, epoch);
    sf_text_add(&text, ": ");
    sf_text_add(&text, what);
    say_numbers(oracle, rule, subject, expected, actual);
}
