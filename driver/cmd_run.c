#include <inttypes.h>
#include <string.h>

#include "driver/last_words.h"
#include "driver/session.h"

#define FAILURES_SHOWN_MAX 10u /* of one file, with --seeds */

struct request {
    struct sf_driver_seeds seeds;
    bool has_seed;
    bool is_json;
    bool is_history;
    bool is_history_all;
    bool is_doublechecked;
    uint64_t step_budget;
    struct sf_driver_options options;
};

/* The command that repeats this one run. */
static void repro_of(const struct request *request, const char *path, uint64_t seed, struct sf_text *text)
{
    sf_text_add(text, "sfsim run ");
    sf_text_add(text, path);
    sf_text_add(text, " --seed ");
    sf_text_add_uint(text, seed);
    if (request->is_doublechecked) sf_text_add(text, " --doublecheck");
    if (request->options.budget != SF_DRIVER_BUDGET_DEFAULT) {
        sf_text_add(text, " --budget ");
        sf_text_add_uint(text, request->options.budget);
    }
    if (request->options.step_budget != 0) {
        sf_text_add(text, " --step-budget ");
        sf_text_add_uint(text, request->options.step_budget);
    }
    if (request->options.until_us != INT64_MAX) {
        sf_text_add(text, " --until ");
        sf_text_add_duration(text, request->options.until_us / 1000);
    }
}

static void write_verdict(const struct sf_driver_session *session, const struct request *request,
                          const struct sf_driver_report *report)
{
    char repro[1024];
    struct sf_text text;
    sf_text_init(&text, repro, sizeof repro);
    repro_of(request, session->path, report->seed, &text);
    sf_driver_session_write(session, report, repro, request->is_json);
}

static int run_one(const struct sf_driver_session *session, const struct request *request, uint64_t seed,
                   struct sf_driver_report *report)
{
    char repro[1024];
    struct sf_text text;
    struct sf_driver_options options = request->options;
    options.has_seed = true;
    options.seed = seed;
    sf_text_init(&text, repro, sizeof repro);
    repro_of(request, session->path, seed, &text);
    sf_driver_last_words_set(session->io->last_words, repro);
    int status = (int)sf_driver_session_run(session, &options, request->is_doublechecked, report);
    sf_driver_last_words_set(session->io->last_words, NULL);
    return status;
}

static int run_once(const struct sf_driver_session *session, const struct request *request)
{
    struct sf_driver_report report;
    sf_driver_report_init(&report, sf_alloc_libc());
    int status = run_one(session, request, request->has_seed ? request->seeds.first : session->scenario->seed, &report);
    write_verdict(session, request, &report);
    sf_driver_report_deinit(&report);
    return status;
}

struct tally {
    uint64_t held, broken;
    int worst;
};

static void run_seed(const struct sf_driver_session *session, const struct request *request, uint64_t seed,
                     struct tally *tally)
{
    struct sf_driver_report report;
    sf_driver_report_init(&report, sf_alloc_libc());
    int status = run_one(session, request, seed, &report);
    tally->worst = sf_driver_worse(tally->worst, status);
    if (status == SF_DRIVER_HELD) tally->held++;
    if (status != SF_DRIVER_HELD && tally->broken++ < FAILURES_SHOWN_MAX) {
        sf_driver_progress_end(session->io);
        write_verdict(session, request, &report);
    }
    sf_driver_report_deinit(&report);
}

static int run_range(const struct sf_driver_session *session, const struct request *request)
{
    const struct sf_driver_seeds *seeds = &request->seeds;
    struct tally tally = {0};
    uint64_t total = seeds->last - seeds->first + 1;
    for (uint64_t i = 0; i < total; i++) {
        sf_driver_progress(session->io, session->path, i, total);
        run_seed(session, request, seeds->first + i, &tally);
        if (tally.worst == SF_DRIVER_BAD_INPUT) break;
    }
    sf_driver_progress_end(session->io);
    FILE *out = request->is_json ? session->io->err : session->io->out;
    (void)fprintf(out, "%s  %s  seeds %" PRIu64 "..%" PRIu64 ": %" PRIu64 " held, %" PRIu64 " did not\n",
                  tally.broken == 0 ? "ok    " : "FAIL  ", session->path, seeds->first, seeds->last, tally.held,
                  tally.broken);
    return tally.worst;
}

static int run_file(const struct sf_driver_io *io, const struct request *request, const char *path)
{
    struct sf_driver_session session;
    if (!sf_driver_session_open(&session, io, path)) {
        struct sf_driver_report report;
        sf_driver_report_init(&report, sf_alloc_libc());
        report.verdict = SF_DRIVER_BAD_INPUT;
        write_verdict(&session, request, &report);
        sf_driver_report_deinit(&report);
        return SF_DRIVER_BAD_INPUT;
    }
    bool is_range = request->seeds.is_given && request->seeds.last > request->seeds.first;
    int status = is_range ? run_range(&session, request) : run_once(&session, request);
    sf_driver_session_close(&session);
    return status;
}

static int run(const struct sf_driver_io *io, int argc, char **argv)
{
    const struct sf_driver_command *command = &sf_driver_command_run;
    struct request request = {.options = sf_driver_options_default()};
    struct sf_driver_options *options = &request.options;
    const struct sf_driver_option table[] = {
        {"--seed", SF_DRIVER_OPTION_SEEDS, &request.seeds, NULL},
        {"--seeds", SF_DRIVER_OPTION_SEEDS, &request.seeds, NULL},
        {"--history", SF_DRIVER_OPTION_FLAG, &request.is_history, NULL},
        {"--history-all", SF_DRIVER_OPTION_FLAG, &request.is_history_all, NULL},
        {"--json", SF_DRIVER_OPTION_FLAG, &request.is_json, NULL},
        {"--doublecheck", SF_DRIVER_OPTION_FLAG, &request.is_doublechecked, NULL},
        {"--until", SF_DRIVER_OPTION_SPAN, &options->until_us, NULL},
        {"--watermarks-at", SF_DRIVER_OPTION_SPAN, &options->watermarks_at_us, NULL},
        {"--budget", SF_DRIVER_OPTION_NUMBER, &options->budget, NULL},
        {"--step-budget", SF_DRIVER_OPTION_NUMBER, &request.step_budget, NULL},
    };
    const char *files[SF_DRIVER_FILES_MAX];
    uint32_t count;
    if (!sf_driver_options_read(io, command, argc, argv, table, sizeof table / sizeof table[0], files, &count))
        return SF_DRIVER_BAD_INPUT;
    if (count == 0) return sf_driver_command_misuse(io, command, "which scenario?", NULL);
    bool is_told = request.is_history || request.is_history_all || options->watermarks_at_us >= 0;
    bool is_range = request.seeds.is_given && request.seeds.last > request.seeds.first;
    if (is_told && (request.is_json || is_range))
        return sf_driver_command_misuse(io, command, "a history is told of one run at a time, and not with --json",
                                        NULL);
    if (options->budget == 0) return sf_driver_command_misuse(io, command, "--budget wants at least 1", NULL);
    if (request.step_budget > SF_STEP_BUDGET_MAX)
        return sf_driver_command_misuse(io, command, "--step-budget wants at most 65536", NULL);
    options->step_budget = (uint32_t)request.step_budget;
    request.has_seed = request.seeds.is_given;
    options->history = request.is_history_all ? SF_DRIVER_HISTORY_ALL
                       : request.is_history   ? SF_DRIVER_HISTORY_PLAIN
                                              : SF_DRIVER_HISTORY_NONE;
    int worst = SF_DRIVER_HELD;
    for (uint32_t i = 0; i < count; i++) worst = sf_driver_worse(worst, run_file(io, &request, files[i]));
    return worst;
}

const struct sf_driver_command sf_driver_command_run = {
    .word = "run",
    .usage = "[OPTION…] FILE…",
    .summary = "Run scenarios and judge them: one line each, and what did not hold with the command that repeats it.",
    .help =
        "  --seed N            instead of the scenario's own seed\n"
        "  --seeds A..B        once with each of these seeds: the failures, then how many held\n"
        "  --history           before the verdict, what happened, line by line in virtual time: records in and out,\n"
        "                      who holds the watermark, idle partitions, barriers, commits, faults\n"
        "  --history-all       the same with every step of the protocol\n"
        "  --watermarks-at T   before the verdict, as JSON, all watermarks T after the start, such as +90s, and who\n"
        "                      holds the global one\n"
        "  --until T           go no further than T after the start; what only the end shows is not judged\n"
        "  --doublecheck       run it twice; the two must agree to the last byte, else exit status 4 and the first\n"
        "                      step that differs\n"
        "  --budget N          fail a run that takes more than N steps (200000000)\n"
        "  --step-budget N     let every step do at most N units of work, such as 1, instead of what the world gives\n"
        "  --json              one JSON object per run instead of text; with --seeds one per run that did not hold\n"
        "\n"
        "Examples:\n"
        "  sfsim run scenarios/thread/idle-partition.yaml --history\n"
        "  sfsim run my.yaml --seeds 1..1000\n",
    .run = run,
};
