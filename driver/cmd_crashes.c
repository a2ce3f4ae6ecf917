#include <inttypes.h>
#include <string.h>

#include "driver/last_words.h"
#include "driver/session.h"

#define COMMANDS_MAX (1u << 20)
#define REPRO_BYTES 1024u
#define FAILURES_SHOWN_MAX 10u
#define STAGE_COUNT 3u

static const char *const stage_words[STAGE_COUNT] = {
    [SF_SIM_CRASH_GIVEN] = "given", [SF_SIM_CRASH_SENT] = "sent", [SF_SIM_CRASH_APPLIED] = "applied"};

/* The commands of an undisturbed run, in the order in which they were given. */
struct command {
    uint64_t number;
    uint32_t process;
    uint8_t kind;
};

struct commands {
    struct sf_alloc alloc;
    struct command *items;
    uint64_t count;
    uint64_t capacity;
    bool is_cut; /* more than COMMANDS_MAX */
};

struct request {
    struct sf_driver_seeds seeds;
    int64_t restart_after_us;
    const char *at; /* NULL: everywhere */
    bool is_history;
    bool is_json;
};

struct tally {
    uint64_t runs[SF_SIM_COMMAND_COUNT][STAGE_COUNT];
    uint64_t missed[SF_SIM_COMMAND_COUNT]; /* crashes that never came */
    bool has_come;                         /* the last one did */
    uint64_t done, broken;
    int worst;
};

static void keep_command(void *ctx, uint32_t process, uint64_t number, enum sf_sim_command_kind kind)
{
    struct commands *commands = ctx;
    if (commands->count == COMMANDS_MAX) {
        commands->is_cut = true;
        return;
    }
    if (commands->count == commands->capacity) {
        uint64_t capacity = commands->capacity == 0 ? 256 : commands->capacity * 2;
        size_t item = sizeof *commands->items;
        commands->items = sf_regrow(commands->alloc, commands->items, commands->capacity * item,
                                    commands->count * item, capacity * item);
        commands->capacity = capacity;
    }
    commands->items[commands->count++] =
        (struct command){.number = number, .process = process, .kind = (uint8_t)kind};
}

/* ---------------------------------------------------------------- one crash */

static struct sf_driver_options options_of(const struct request *request)
{
    struct sf_driver_options options = sf_driver_options_default();
    options.has_seed = request->seeds.is_given;
    options.seed = request->seeds.first;
    options.crash.restart_after_ms = request->restart_after_us / 1000;
    return options;
}

/* The command that repeats this one run. */
static void repro_of(const struct sf_driver_session *session, const struct sf_driver_options *options,
                     char repro_out[REPRO_BYTES])
{
    struct sf_text text;
    sf_text_init(&text, repro_out, REPRO_BYTES);
    sf_text_add(&text, "sfsim crashes ");
    sf_text_add(&text, session->path);
    sf_text_add(&text, " --seed ");
    sf_text_add_uint(&text, options->has_seed ? options->seed : session->scenario->seed);
    if (options->crash.command != SF_SIM_COMMAND_NONE) {
        sf_text_add(&text, " --at ");
        if (options->crash.process > 1) {
            sf_text_add_uint(&text, options->crash.process);
            sf_text_add(&text, "/");
        }
        sf_text_add_uint(&text, options->crash.command);
        sf_text_add(&text, ":");
        sf_text_add(&text, stage_words[options->crash.stage]);
    }
    sf_text_add(&text, " --restart-after ");
    sf_text_add_duration(&text, options->crash.restart_after_ms);
}

static void write_verdict(const struct sf_driver_session *session, const struct request *request,
                          const struct sf_driver_options *options, const struct sf_driver_report *report)
{
    char repro[REPRO_BYTES];
    repro_of(session, options, repro);
    sf_driver_session_write(session, report, repro, request->is_json);
}

static int run_one(const struct sf_driver_session *session, const struct sf_driver_options *options,
                   struct sf_driver_report *report)
{
    char repro[REPRO_BYTES];
    repro_of(session, options, repro);
    sf_driver_last_words_set(session->io->last_words, repro);
    int status = (int)sf_driver_session_run(session, options, false, report);
    sf_driver_last_words_set(session->io->last_words, NULL);
    return status;
}

/* Some commands have no such stage: what leaves a process that ends is never answered. */
static int crash_once(const struct sf_driver_session *session, const struct request *request,
                      const struct command *command, enum sf_sim_crash_stage stage, bool is_always_shown,
                      struct tally *tally)
{
    struct sf_driver_options options = options_of(request);
    struct sf_driver_report report;
    options.crash.process = command->process;
    options.crash.command = command->number;
    options.crash.stage = stage;
    if (request->is_history) options.history = SF_DRIVER_HISTORY_PLAIN;
    sf_driver_report_init(&report, sf_alloc_libc());
    int status = run_one(session, &options, &report);
    tally->has_come = report.has_crashed;
    if (status != SF_DRIVER_HELD) tally->broken++;
    if (is_always_shown || (status != SF_DRIVER_HELD && tally->broken <= FAILURES_SHOWN_MAX)) {
        sf_driver_progress_end(session->io);
        write_verdict(session, request, &options, &report);
    }
    sf_driver_report_deinit(&report);
    return status;
}

/* ---------------------------------------------------------------- everywhere */

static void crash_everywhere(const struct sf_driver_session *session, const struct request *request,
                             const struct commands *commands, struct tally *tally)
{
    uint64_t total = commands->count * STAGE_COUNT;
    for (uint64_t i = 0; i < commands->count; i++) {
        for (uint32_t stage = 0; stage < STAGE_COUNT; stage++) {
            sf_driver_progress(session->io, "crash", tally->done, total);
            const struct command *command = &commands->items[i];
            int status = crash_once(session, request, command, (enum sf_sim_crash_stage)stage, false, tally);
            tally->worst = sf_driver_worse(tally->worst, status);
            tally->done++;
            if (tally->has_come)
                tally->runs[command->kind][stage]++;
            else
                tally->missed[command->kind]++;
        }
    }
    sf_driver_progress_end(session->io);
}

static void write_tally(const struct sf_driver_session *session, const struct request *request,
                        const struct tally *tally)
{
    FILE *out = request->is_json ? session->io->err : session->io->out;
    (void)fprintf(out, "%-16s %8s %8s %8s %10s\n", "crashes at", stage_words[0], stage_words[1], stage_words[2],
                  "never came");
    for (uint32_t kind = 0; kind < SF_SIM_COMMAND_COUNT; kind++) {
        const uint64_t *runs = tally->runs[kind];
        if (runs[0] + runs[1] + runs[2] + tally->missed[kind] == 0) continue;
        (void)fprintf(out, "%-16s %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %10" PRIu64 "\n",
                      sf_sim_command_word((enum sf_sim_command_kind)kind), runs[0], runs[1], runs[2],
                      tally->missed[kind]);
    }
    (void)fprintf(out, "%s  %s  %" PRIu64 " crashes: %" PRIu64 " held, %" PRIu64 " did not\n",
                  tally->broken == 0 ? "ok    " : "FAIL  ", session->path, tally->done, tally->done - tally->broken,
                  tally->broken);
}

/* The run that the crashes fall into; it must hold by itself. */
static int run_undisturbed(const struct sf_driver_session *session, const struct request *request,
                           struct commands *commands)
{
    struct sf_driver_options options = options_of(request);
    struct sf_driver_report report;
    options.on_command = keep_command;
    options.ctx = commands;
    sf_driver_report_init(&report, sf_alloc_libc());
    int status = run_one(session, &options, &report);
    if (status != SF_DRIVER_HELD)
        write_verdict(session, request, &options, &report);
    sf_driver_report_deinit(&report);
    return status;
}

static int crash_all(const struct sf_driver_session *session, const struct request *request)
{
    struct commands commands = {.alloc = sf_alloc_libc()};
    struct tally tally = {.worst = SF_DRIVER_HELD};
    int status = run_undisturbed(session, request, &commands);
    if (status == SF_DRIVER_HELD && commands.is_cut)
        (void)fprintf(session->io->err, "sfsim crashes: only the first %u commands are tried\n", COMMANDS_MAX);
    if (status == SF_DRIVER_HELD) {
        crash_everywhere(session, request, &commands, &tally);
        write_tally(session, request, &tally);
        status = tally.worst;
    }
    sf_free(commands.alloc, commands.items, commands.capacity * sizeof *commands.items);
    return status;
}

/* Digits up to `end`, above 0. */
static bool read_number(const char *at, const char *end, uint64_t *number_out)
{
    *number_out = 0;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9' || *number_out > COMMANDS_MAX) return false;
        *number_out = *number_out * 10 + (uint64_t)(*at - '0');
    }
    return *number_out > 0;
}

/* `17:sent`, of the first process; `2/17:sent`, of the second. */
static bool read_at(const char *text, struct command *command_out, enum sf_sim_crash_stage *stage_out)
{
    const char *slash = strchr(text, '/'), *colon = strchr(text, ':');
    uint64_t process = 1;
    if (colon == NULL || (slash != NULL && (slash > colon || !read_number(text, slash, &process)))) return false;
    if (!read_number(slash != NULL ? slash + 1 : text, colon, &command_out->number)) return false;
    command_out->process = (uint32_t)process;
    for (uint32_t stage = 0; stage < STAGE_COUNT; stage++) {
        if (strcmp(colon + 1, stage_words[stage]) != 0) continue;
        *stage_out = (enum sf_sim_crash_stage)stage;
        return true;
    }
    return false;
}

static int crash_at(const struct sf_driver_session *session, const struct request *request)
{
    struct command command = {0};
    struct tally tally = {0};
    enum sf_sim_crash_stage stage;
    if (!read_at(request->at, &command, &stage))
        return sf_driver_command_misuse(session->io, &sf_driver_command_crashes,
                                        "--at wants the number of a command and how far it gets, such as 17:sent, not",
                                        request->at);
    int status = crash_once(session, request, &command, stage, true, &tally);
    if (tally.has_come) return status;
    (void)fprintf(session->io->err, "sfsim crashes: the crash at %s never came: the run has no such point\n",
                  request->at);
    return status == SF_DRIVER_HELD ? SF_DRIVER_BAD_INPUT : status;
}

static int crashes(const struct sf_driver_io *io, int argc, char **argv)
{
    const struct sf_driver_command *command = &sf_driver_command_crashes;
    struct request request = {.restart_after_us = 1000000};
    const struct sf_driver_option table[] = {
        {"--seed", SF_DRIVER_OPTION_SEEDS, &request.seeds, NULL},
        {"--at", SF_DRIVER_OPTION_TEXT, &request.at, NULL},
        {"--restart-after", SF_DRIVER_OPTION_SPAN, &request.restart_after_us, NULL},
        {"--history", SF_DRIVER_OPTION_FLAG, &request.is_history, NULL},
        {"--json", SF_DRIVER_OPTION_FLAG, &request.is_json, NULL},
    };
    const char *files[SF_DRIVER_FILES_MAX];
    uint32_t count;
    if (!sf_driver_options_read(io, command, argc, argv, table, sizeof table / sizeof table[0], files, &count))
        return SF_DRIVER_BAD_INPUT;
    if (count == 0) return sf_driver_command_misuse(io, command, "which scenario?", NULL);
    if (request.is_history && request.at == NULL)
        return sf_driver_command_misuse(io, command, "--history tells of one crash: name it with --at", NULL);
    int worst = SF_DRIVER_HELD;
    for (uint32_t i = 0; i < count; i++) {
        struct sf_driver_session session;
        if (!sf_driver_session_open(&session, io, files[i])) {
            worst = sf_driver_worse(worst, SF_DRIVER_BAD_INPUT);
            continue;
        }
        int status = request.at != NULL ? crash_at(&session, &request) : crash_all(&session, &request);
        worst = sf_driver_worse(worst, status);
        sf_driver_session_close(&session);
    }
    return worst;
}

const struct sf_driver_command sf_driver_command_crashes = {
    .word = "crashes",
    .usage = "[OPTION…] FILE…",
    .summary = "Crash a scenario's application at every point where a crash can make a difference, one run each.",
    .help =
        "All that the application does to the outside is a numbered command: a write, a commit, a batch to the local\n"
        "store. The scenario runs once as it is; then, for each command of each of its processes, once with a crash\n"
        "  given    before the command left the process\n"
        "  sent     while it is on the wire\n"
        "  applied  after it took effect and before the answer was read\n"
        "and the application starts again. What the scenario expects of the output and all invariants must hold each\n"
        "time; what it says of instants and of its own faults is left aside, since a crash moves them. At the end\n"
        "stands how many crashes fell where. A process starts where the one before it left off, so what a scenario\n"
        "crashes, stops or hands over by itself is crashed once more.\n"
        "\n"
        "  --seed N             instead of the scenario's own seed\n"
        "  --at [P/]K:STAGE     this one crash alone, such as 17:sent, or 2/17:sent of the second process\n"
        "  --restart-after T    when the application starts again (1s)\n"
        "  --history            with --at: what happened, line by line\n"
        "  --json               one JSON object per failure instead of text\n",
    .run = crashes,
};
