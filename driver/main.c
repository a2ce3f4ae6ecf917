/* sfsim: see driver/command.h. */
#include <unistd.h>

#include "driver/command.h"

int main(int argc, char **argv)
{
    struct sf_driver_io io = {stdout, stderr, isatty(STDERR_FILENO) == 1};
    int status = sf_driver_main(&io, argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        (void)fputs("sfsim: the results could not be written\n", stderr);
        return SF_DRIVER_INTERNAL;
    }
    return status;
}
