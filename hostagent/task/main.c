/* duopoly-task: starts attempts, and is the parent of each.
 *
 * duopoly-agent starts it with a socket as descriptor 3 and orders attempts there (lib/attempt.h).
 * For each it forks; the fork is the attempt's parent: it runs the command as another user in its
 * cgroup, passes on what the command says, keeps the last line of its standard error, stops it when
 * told, and at its end writes its status into the attempt's record and goes. It needs no agent: one
 * may die, and another connect later. Whatever of the attempt is still there when the command has
 * ended is killed, so a slot is free when it is said to be. The first process goes with its agent.
 *
 * Linked statically, without more libraries than the C library. */
#include "hostagent/task/orders.h"
#include "lib/attempt.h"
#include "lib/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
    int type = 0;
    socklen_t size = sizeof(type);
    program_begin();
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("duopoly-task " DUOPOLY_VERSION);
        return 0;
    }
    if (argc != 1 || getsockopt(ATTEMPT_ORDERS_FD, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
        type != SOCK_SEQPACKET) {
        fprintf(stderr,
                "duopoly-task: duopoly-agent starts this program, with a socket as descriptor %d "
                "and no arguments\n",
                ATTEMPT_ORDERS_FD);
        return 2;
    }
    fcntl(ATTEMPT_ORDERS_FD, F_SETFD, FD_CLOEXEC);
    orders_serve(ATTEMPT_ORDERS_FD);
    return 0;
}
