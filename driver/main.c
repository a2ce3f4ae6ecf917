/*
 * sfsim: see driver/command.h.
 *
 * A failed assert is an internal error. Where core dumps are wanted (their limit is not 0) it ends as asserts do, by
 * SIGABRT, so that there is one; else with status 3. Either way the command that repeats the run is told first.
 */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "driver/command.h"
#include "driver/last_words.h"

static struct sf_driver_last_words last_words;

static void say(const char *text, size_t length)
{
    ssize_t written = write(STDERR_FILENO, text, length);
    (void)written;
}

static void on_abort(int signal_number)
{
    static const char text[] = "sfsim: internal error, please report it with the line above\n";
    struct rlimit limit;
    say(text, sizeof text - 1);
    say(last_words.line, (size_t)last_words.length);
    if (getrlimit(RLIMIT_CORE, &limit) != 0 || limit.rlim_cur == 0) _exit(SF_DRIVER_INTERNAL);
    (void)signal(signal_number, SIG_DFL); /* and abort goes on */
}

int main(int argc, char **argv)
{
    struct sf_driver_io io = {stdout, stderr, isatty(STDERR_FILENO) == 1, &last_words};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_abort;
    (void)sigaction(SIGABRT, &action, NULL);
    (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* no message on stderr cuts a line in two where both are one file */
    int status = sf_driver_main(&io, argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        (void)fputs("sfsim: the results could not be written\n", stderr);
        return SF_DRIVER_INTERNAL;
    }
    return status;
}
