/*
 * Last words: an assertion that fails in the middle of a run is an internal error of the program, and the run that
 * led to it is the best report of it. The command that repeats it is set down before each run; whoever handles the
 * abort (driver/main.c) writes it.
 *
 *     sf_driver_last_words_set(io->last_words, "sfsim run a.yaml --seed 7");          before each run
 *     a.c:12: f: Assertion `x > 0' failed.
 *     sfsim: internal error, please report it with the line above
 *     REPRO: sfsim run a.yaml --seed 7                                                exit status 3
 *
 * Threading: one thread sets; a signal handler may read at any time.
 */
#ifndef SF_DRIVER_LAST_WORDS_H
#define SF_DRIVER_LAST_WORDS_H

#include <signal.h>

struct sf_driver_last_words {
    volatile sig_atomic_t length; /* 0: no run is under way */
    char line[1200];              /* with its line break */
};

/* Copied; what is too long for a line is left out. `words` NULL: nobody wants them; `repro` NULL: the run is over. */
void sf_driver_last_words_set(struct sf_driver_last_words *words, const char *repro);

#endif
