#include "driver/command.h"

#include <inttypes.h>
#include <string.h>

#include "core/app/values.h"

static const struct sf_driver_command *const commands[] = {
    &sf_driver_command_run,
    &sf_driver_command_crashes,
    &sf_driver_command_check,
    &sf_driver_command_points,
    &sf_driver_command_schema,
};
#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

/* ---------------------------------------------------------------- help */

/* --help of one command. */
static void put_help(const struct sf_driver_command *command, FILE *out)
{
    (void)fprintf(out, "Usage: sfsim %s %s\n\n%s\n\n%s", command->word, command->usage, command->summary,
                  command->help);
}

static void help(FILE *out)
{
    (void)fputs("sfsim runs stream applications in a simulated world: a broker, a disk, clocks and crashes that a\n"
                "seed decides, so that every run can be had again to the last byte.\n\n"
                "Usage: sfsim COMMAND [OPTION…] [FILE…]\n\n",
                out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        (void)fprintf(out, "  %-9s %s\n", commands[i]->word, commands[i]->summary);
    (void)fputs("\n  --help     this text; `sfsim COMMAND --help` tells more of a command\n"
                "  --version  the version\n\n"
                "Exit status: 0 held, 1 a check failed, 2 bad input, 3 internal error, 4 not deterministic.\n"
                "Results go to stdout; all else goes to stderr.\n",
                out);
}

int sf_driver_command_misuse(const struct sf_driver_io *io, const struct sf_driver_command *command,
                             const char *text, const char *word)
{
    (void)fprintf(io->err, "sfsim %s: %s%s%s%s\n", command->word, text, word != NULL ? " `" : "",
                  word != NULL ? word : "", word != NULL ? "`" : "");
    (void)fprintf(io->err, "Usage: sfsim %s %s   (sfsim %s --help tells more)\n", command->word, command->usage,
                  command->word);
    return SF_DRIVER_BAD_INPUT;
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) return false;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
    }
    return false;
}

int sf_driver_main(const struct sf_driver_io *io, int argc, char **argv)
{
    if (argc < 2) {
        help(io->err);
        return SF_DRIVER_BAD_INPUT;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (strcmp(word, "help") == 0 && argc == 2)) {
        help(io->out);
        return SF_DRIVER_HELD;
    }
    if (strcmp(word, "--version") == 0) {
        (void)fputs("sfsim " SF_VERSION "\n", io->out);
        return SF_DRIVER_HELD;
    }
    bool is_help = strcmp(word, "help") == 0;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->word, is_help ? argv[2] : word) != 0) continue;
        if (is_help || wants_help(argc - 1, argv + 1)) {
            put_help(commands[i], io->out);
            return SF_DRIVER_HELD;
        }
        return commands[i]->run(io, argc - 1, argv + 1);
    }
    (void)fprintf(io->err, "sfsim: there is no command `%s`; there are", is_help ? argv[2] : word);
    for (size_t i = 0; i < COMMAND_COUNT; i++) (void)fprintf(io->err, "%s %s", i > 0 ? "," : "", commands[i]->word);
    (void)fputs("\n", io->err);
    return SF_DRIVER_BAD_INPUT;
}

int sf_driver_worse(int a, int b)
{
    static const int ranks[] = {[SF_DRIVER_HELD] = 0,
                                [SF_DRIVER_BROKEN] = 1,
                                [SF_DRIVER_BAD_INPUT] = 2,
                                [SF_DRIVER_NOT_DETERMINISTIC] = 3,
                                [SF_DRIVER_INTERNAL] = 4};
    return ranks[a] >= ranks[b] ? a : b;
}

/* ---------------------------------------------------------------- options */

static bool read_number(const char *text, uint64_t *out)
{
    int64_t number;
    if (!sf_value_int(text, &number) || number < 0) return false;
    *out = (uint64_t)number;
    return true;
}

static bool read_seeds(const char *text, struct sf_driver_seeds *seeds)
{
    char first[32];
    const char *dots = strstr(text, "..");
    size_t len = dots != NULL ? (size_t)(dots - text) : strlen(text);
    if (len >= sizeof first) return false;
    memcpy(first, text, len);
    first[len] = '\0';
    if (!read_number(first, &seeds->first)) return false;
    seeds->last = seeds->first;
    if (dots != NULL && !read_number(dots + 2, &seeds->last)) return false;
    seeds->is_given = true;
    return seeds->last >= seeds->first;
}

static bool read_span(const char *text, int64_t *us_out)
{
    int64_t ms;
    if (!sf_value_duration(text, &ms) || ms < 0 || ms > INT64_MAX / 1000) return false;
    *us_out = ms * 1000;
    return true;
}

static const char *const wants[] = {
    [SF_DRIVER_OPTION_FLAG] = "takes no value",
    [SF_DRIVER_OPTION_NUMBER] = "wants a number, not",
    [SF_DRIVER_OPTION_SEEDS] = "wants a seed or a range A..B, not",
    [SF_DRIVER_OPTION_SPAN] = "wants a time such as +90s, not",
    [SF_DRIVER_OPTION_TEXT] = "wants a value",
};

static bool set_option(const struct sf_driver_option *option, const char *value)
{
    switch (option->kind) {
    case SF_DRIVER_OPTION_FLAG:
        *(bool *)option->value = true;
        return value == NULL;
    case SF_DRIVER_OPTION_NUMBER:
        return read_number(value, option->value);
    case SF_DRIVER_OPTION_SEEDS:
        return read_seeds(value, option->value);
    case SF_DRIVER_OPTION_SPAN:
        return read_span(value, option->value);
    case SF_DRIVER_OPTION_TEXT:
        *(const char **)option->value = value;
        break;
    }
    return true;
}

static const struct sf_driver_option *find_option(const struct sf_driver_option *options, uint32_t count,
                                                  const char *word, size_t len)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strlen(options[i].name) == len && strncmp(options[i].name, word, len) == 0) return &options[i];
    }
    return NULL;
}

static bool refuse_value(const struct sf_driver_io *io, const struct sf_driver_command *command,
                         const struct sf_driver_option *option, const char *value)
{
    char text[96];
    (void)snprintf(text, sizeof text, "%s %s", option->name, value != NULL ? wants[option->kind] : "wants a value");
    (void)sf_driver_command_misuse(io, command, text, value);
    return false;
}

bool sf_driver_options_read(const struct sf_driver_io *io, const struct sf_driver_command *command, int argc,
                            char **argv, const struct sf_driver_option *options, uint32_t option_count,
                            const char **words_out, uint32_t *word_count_out)
{
    bool is_over = false;
    *word_count_out = 0;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (!is_over && strcmp(word, "--") == 0) {
            is_over = true;
            continue;
        }
        if (is_over || word[0] != '-' || word[1] == '\0') {
            if (*word_count_out == SF_DRIVER_FILES_MAX) {
                (void)sf_driver_command_misuse(io, command, "too many files; the first too many is", word);
                return false;
            }
            words_out[(*word_count_out)++] = word;
            continue;
        }
        const char *equals = strchr(word, '=');
        size_t len = equals != NULL ? (size_t)(equals - word) : strlen(word);
        const struct sf_driver_option *option = find_option(options, option_count, word, len);
        if (option == NULL) {
            (void)sf_driver_command_misuse(io, command, "there is no option", word);
            return false;
        }
        const char *value = equals != NULL ? equals + 1 : NULL;
        if (option->kind != SF_DRIVER_OPTION_FLAG && value == NULL) {
            if (i + 1 == argc) return refuse_value(io, command, option, NULL);
            value = argv[++i];
        }
        if (!set_option(option, value)) return refuse_value(io, command, option, value);
        if (option->is_given != NULL) *option->is_given = true;
    }
    return true;
}

/* ---------------------------------------------------------------- progress */

void sf_driver_progress(const struct sf_driver_io *io, const char *what, uint64_t done, uint64_t total)
{
    if (!io->is_terminal) return;
    if (total > 0)
        (void)fprintf(io->err, "\r\033[K%s %" PRIu64 " of %" PRIu64, what, done, total);
    else
        (void)fprintf(io->err, "\r\033[K%s %" PRIu64, what, done);
    (void)fflush(io->err);
}

void sf_driver_progress_end(const struct sf_driver_io *io)
{
    if (!io->is_terminal) return;
    (void)fputs("\r\033[K", io->err);
    (void)fflush(io->err);
}
