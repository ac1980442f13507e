#include "lib/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* WHY here: argp ends the program after --help and --version, and does not look. */
static void output_end(int status, void *user)
{
    (void)user;
    if (status != EXIT_SUCCESS || (fflush(stdout) == 0 && !ferror(stdout)))
        return;
    fprintf(stderr, "%s: cannot write all of the output\n", program_invocation_short_name);
    _exit(EXIT_FAILURE);
}

void program_begin(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd)
            _exit(EXIT_FAILURE);
    if (on_exit(output_end, NULL) != 0)
        _exit(EXIT_FAILURE);
}
