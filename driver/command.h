/*
 * Commands: what `sfsim WORD …` does, one file per word (cmd_*.c), and the reading of their options.
 *
 * stdout carries data, stderr is for people. A command returns sfsim's exit status:
 *
 *     0 held   1 a check failed   2 bad input   3 internal error   4 not deterministic
 *
 * Threading: one thread.
 */
#ifndef SF_DRIVER_COMMAND_H
#define SF_DRIVER_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "driver/run.h"

#define SF_DRIVER_FILES_MAX 4096u

struct sf_driver_io {
    FILE *out;
    FILE *err;
    bool is_terminal; /* err is one: progress is shown there */
    struct sf_driver_last_words *last_words; /* NULL: nobody wants them */
};

struct sf_driver_command {
    const char *word;
    const char *usage;   /* behind the word */
    const char *summary; /* one line */
    const char *help;    /* the rest of --help */
    int (*run)(const struct sf_driver_io *io, int argc, char **argv); /* argv[0] is the word */
};

extern const struct sf_driver_command sf_driver_command_run;
extern const struct sf_driver_command sf_driver_command_crashes;
extern const struct sf_driver_command sf_driver_command_points;
extern const struct sf_driver_command sf_driver_command_check;
extern const struct sf_driver_command sf_driver_command_schema;

/* The whole program. */
int sf_driver_main(const struct sf_driver_io *io, int argc, char **argv);

/* ---------------------------------------------------------------- options */

enum sf_driver_option_kind {
    SF_DRIVER_OPTION_FLAG,   /* bool */
    SF_DRIVER_OPTION_NUMBER, /* uint64_t */
    SF_DRIVER_OPTION_SEEDS,  /* struct sf_driver_seeds: N or A..B */
    SF_DRIVER_OPTION_SPAN,   /* int64_t, us since the first instant: +90s, 90s, 1500ms */
    SF_DRIVER_OPTION_TEXT    /* const char * */
};

struct sf_driver_seeds {
    bool is_given;
    uint64_t first, last;
};

struct sf_driver_option {
    const char *name; /* "--seed" */
    enum sf_driver_option_kind kind;
    void *value;      /* by kind; left alone where the option is not there */
    bool *is_given;   /* NULL: nobody asks */
};

/* Takes the options out of argv (from argv[1] on; `--name value` or `--name=value`; all behind `--` are words) and
 * leaves the other words in `words_out`. False: it has told io->err what is wrong. */
bool sf_driver_options_read(const struct sf_driver_io *io, const struct sf_driver_command *command, int argc,
                            char **argv, const struct sf_driver_option *options, uint32_t option_count,
                            const char **words_out, uint32_t *word_count_out);

/* Bad use of the command line: text and where help is, to io->err. Returns 2. */
int sf_driver_command_misuse(const struct sf_driver_io *io, const struct sf_driver_command *command,
                             const char *text, const char *word);

/* Of two exit statuses the one that says more: 3, then 4, 2, 1, 0. */
int sf_driver_worse(int a, int b);

/* ---------------------------------------------------------------- progress */

/* `done` of `total` (0: unknown) to a terminal, in place; nothing elsewhere. */
void sf_driver_progress(const struct sf_driver_io *io, const char *what, uint64_t done, uint64_t total);
/* Takes the line away. */
void sf_driver_progress_end(const struct sf_driver_io *io);

#endif
