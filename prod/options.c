#include "prod/options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "prod/sched.h"

void sf_prod_options_help(FILE *to)
{
    (void)fputs("usage: sfprod run APP.yaml [options]      runs the application until it is told to stop\n"
                "       sfprod check APP.yaml [options]    says what it is and everything that is wrong with it\n"
                "       sfprod --version | --help\n"
                "\n"
                "run:\n"
                "  --bootstrap HOST:PORT   the broker; else the file's kafka: bootstrap.servers, else\n"
                "                          $KAFKA_BOOTSTRAP\n"
                "  --until-end             stops when every source partition is where it ended at the start; the\n"
                "                          last line is {\"first\": SECONDS, \"done\": SECONDS}\n"
                "  --print                 committed results on standard output: key, tab, value\n"
                "  --workers N             threads that run tasks; one on up to two processors, else all but one\n"
                "  --state-dir DIR         where the local store lies; else the file's stoatflow.state.dir, else\n"
                "                          $XDG_STATE_HOME/sf or ~/.local/state/sf, and the application's id\n"
                "  --log text|json         how log lines on standard error look; text\n"
                "  --log-level LEVEL       error, warn, info, debug or trace; info\n"
                "check:\n"
                "  --json                  the answer as JSON\n"
                "  --broker                looks at the topics on the broker too\n"
                "  --bootstrap HOST:PORT   as above\n"
                "\n"
                "SIGTERM and SIGINT ask for a graceful stop; a second one ends the process at once.\n"
                "exit status: 0 stopped as asked, 1 gave up on something outside, 2 bad input, 3 internal error,\n"
                "             10 fenced, 11 did not stop in time\n",
                to);
}

static bool refuse(FILE *errors, const char *what, const char *which)
{
    (void)fprintf(errors, "sfprod: %s%s%s; sfprod --help lists the options\n", what, which != NULL ? " " : "",
                  which != NULL ? which : "");
    return false;
}

struct reader {
    struct sf_prod_options *options;
    int argc;
    char *const *argv;
    int at;
    FILE *errors;
};

/* The value of the option at hand: `--name value` or `--name=value`. NULL: it is another option, or has none. */
static const char *value_of(struct reader *reader, const char *name, bool *is_it)
{
    const char *arg = reader->argv[reader->at];
    size_t length = strlen(name);
    *is_it = strncmp(arg, name, length) == 0 && (arg[length] == '\0' || arg[length] == '=');
    if (!*is_it) return NULL;
    if (arg[length] == '=') return arg + length + 1;
    if (reader->at + 1 >= reader->argc) return NULL;
    reader->at++;
    return reader->argv[reader->at];
}

static_assert(SF_PROD_WORKER_COUNT_MAX == 64, "what the refusal says");

static bool set_workers(struct sf_prod_options *options, const char *value)
{
    char *end = NULL;
    unsigned long count = strtoul(value, &end, 10);
    if (end == value || *end != '\0' || value[0] == '-' || count < 1 || count > SF_PROD_WORKER_COUNT_MAX) return false;
    options->workers = (uint32_t)count;
    return true;
}

static bool set_log(struct sf_prod_options *options, const char *value)
{
    options->is_json = strcmp(value, "json") == 0;
    return options->is_json || strcmp(value, "text") == 0;
}

/* 1: taken; 0: none of those with a value; -1: refused. */
static int read_valued(struct reader *reader)
{
    struct sf_prod_options *options = reader->options;
    static const char *const names[] = {"--bootstrap", "--state-dir", "--workers", "--log", "--log-level"};
    static const char *const takes[] = {"HOST:PORT,...", "a folder", "a number from 1 to 64",
                                        "text or json", "error, warn, info, debug or trace"};
    uint32_t count = options->command == SF_PROD_RUN ? sizeof names / sizeof names[0] : 1;
    for (uint32_t i = 0; i < count; i++) {
        bool is_it = false;
        bool is_good = true;
        const char *value = value_of(reader, names[i], &is_it);
        if (!is_it) continue;
        if (value == NULL || value[0] == '\0') {
            (void)refuse(reader->errors, "no value for", names[i]);
            return -1;
        }
        if (i == 0) options->bootstrap = value;
        if (i == 1) options->state_dir = value;
        if (i == 2) is_good = set_workers(options, value);
        if (i == 3) is_good = set_log(options, value);
        if (i == 4) is_good = sf_prod_level_of(value, &options->level);
        if (is_good) return 1;
        (void)fprintf(reader->errors, "sfprod: %s cannot be %s: it takes %s\n", names[i], value, takes[i]);
        return -1;
    }
    return 0;
}

static bool *flag_of(struct sf_prod_options *options, const char *arg)
{
    if (options->command == SF_PROD_RUN) {
        if (strcmp(arg, "--until-end") == 0) return &options->is_until_end;
        if (strcmp(arg, "--print") == 0) return &options->is_print;
        return NULL;
    }
    if (strcmp(arg, "--json") == 0) return &options->is_json;
    if (strcmp(arg, "--broker") == 0) return &options->is_broker_asked;
    return NULL;
}

static bool read_rest(struct reader *reader)
{
    struct sf_prod_options *options = reader->options;
    for (reader->at = 2; reader->at < reader->argc; reader->at++) {
        const char *arg = reader->argv[reader->at];
        bool *flag = flag_of(options, arg);
        if (flag != NULL) {
            *flag = true;
            continue;
        }
        int taken = read_valued(reader);
        if (taken < 0) return false;
        if (taken > 0) continue;
        if (strcmp(arg, "--help") == 0) {
            options->command = SF_PROD_HELP;
            return true;
        }
        if (arg[0] == '-' && arg[1] != '\0') return refuse(reader->errors, "there is no option", arg);
        if (options->path != NULL) return refuse(reader->errors, "one application file, not also", arg);
        options->path = arg;
    }
    if (options->path == NULL) return refuse(reader->errors, "which application file?", NULL);
    return true;
}

bool sf_prod_options_read(struct sf_prod_options *options, int argc, char *const *argv, FILE *errors)
{
    struct reader reader = {.options = options, .argc = argc, .argv = argv, .errors = errors};
    *options = (struct sf_prod_options){.level = SF_PROD_INFO};
    if (argc < 2) return refuse(errors, "run, or check, which application file?", NULL);
    const char *command = argv[1];
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0 || strcmp(command, "help") == 0) {
        options->command = SF_PROD_HELP;
        return true;
    }
    if (strcmp(command, "--version") == 0) {
        options->command = SF_PROD_VERSION;
        return true;
    }
    if (strcmp(command, "run") == 0)
        options->command = SF_PROD_RUN;
    else if (strcmp(command, "check") == 0)
        options->command = SF_PROD_CHECK;
    else
        return refuse(errors, "there is no command", command);
    return read_rest(&reader);
}
