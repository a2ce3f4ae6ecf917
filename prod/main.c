/*
 * sfprod: runs applications against Kafka.
 *
 * A failed assert is an internal error. Where core dumps are wanted (their limit is not 0) it ends as asserts do, by
 * SIGABRT, so that there is one; else with status 3.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "prod/cmd.h"

static void on_abort(int signal_number)
{
    static const char text[] = "sfprod: internal error, please report it with the line above\n";
    (void)signal_number;
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written;
    _exit(SF_PROD_EXIT_INTERNAL);
}

static void end_aborts_with_a_status(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur > 0) return;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_abort;
    (void)sigaction(SIGABRT, &action, NULL);
}

int main(int argc, char **argv)
{
    struct sf_prod_options options;
    end_aborts_with_a_status();
    if (!sf_prod_options_read(&options, argc, argv, stderr)) return SF_PROD_EXIT_BAD_INPUT;
    switch (options.command) {
    case SF_PROD_RUN: return (int)sf_prod_cmd_run(&options);
    case SF_PROD_CHECK: return (int)sf_prod_cmd_check(&options);
    case SF_PROD_HELP: sf_prod_options_help(stdout); return SF_PROD_EXIT_OK;
    case SF_PROD_VERSION: (void)puts("sfprod " SF_VERSION); return SF_PROD_EXIT_OK;
    }
    return SF_PROD_EXIT_INTERNAL;
}
