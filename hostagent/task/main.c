/* duopoly-task: starts attempts, and is the parent of each.
 *
 * duopoly-agent orders attempts on a socket, descriptor 3 (lib/attempt.h): its own, if it started
 * this program; or it connects to a listening one, if a service manager with more rights did
 * (systemd: packaging/duopoly-starter.socket). What may be run, and as whom, this program reads
 * itself. For each it forks; the fork is the attempt's parent: it runs the command as another user
 * in its cgroup, passes on what the command says, keeps the last line of its standard error, stops
 * it when told, and at its end writes its status into the attempt's record and goes. It needs no
 * agent: one may die, and another connect later. Whatever of the attempt is still there when the
 * command has ended is killed, so a slot is free when it is said to be. The first process goes with
 * its agent.
 *
 * Linked statically: every attempt is a fork of it. */
#include "hostagent/task/orders.h"
#include "lib/attempt.h"
#include "lib/log.h"
#include "lib/program.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

const char *argp_program_version = "duopoly-task " DUOPOLY_VERSION;

enum { EXIT_ARGUMENTS = 2 };

static const struct argp_option options[] = {
    {"config", 'c', "FILE", 0,
     "the agent's configuration (default /etc/duopoly/duopoly-agent.yaml)", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    const char **config = state->input;
    if (key != 'c')
        return ARGP_ERR_UNKNOWN;
    *config = arg;
    return 0;
}

/* −1: no socket to take orders from. */
static int socket_option(int option)
{
    int value = 0;
    socklen_t size = sizeof(value);
    return getsockopt(ATTEMPT_ORDERS_FD, SOL_SOCKET, option, &value, &size) < 0 ? -1 : value;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Starts attempts for duopoly-agent, which orders them on descriptor 3."};
    static struct task_settings settings;
    const char *config = "/etc/duopoly/duopoly-agent.yaml";
    struct err err = {0};
    program_begin();
    argp_err_exit_status = EXIT_ARGUMENTS;
    argp_parse(&argp, argc, argv, 0, NULL, &config);
    log_open("duopoly-task", LOG_LEVEL_NOTE);
    log_with_times();
    if (socket_option(SO_TYPE) != SOCK_SEQPACKET) {
        log_error(LOG_FAULT_CONFIGURATION,
                  "descriptor %d is not the socket that duopoly-agent, or systemd, starts this "
                  "program with",
                  ATTEMPT_ORDERS_FD);
        return EXIT_ARGUMENTS;
    }
    if (task_settings_read(config, &settings, &err) < 0) {
        log_error(LOG_FAULT_CONFIGURATION, "%s", err.text);
        return EXIT_FAILURE;
    }
    fcntl(ATTEMPT_ORDERS_FD, F_SETFD, FD_CLOEXEC);
    if (socket_option(SO_ACCEPTCONN) == 0) {
        orders_serve(ATTEMPT_ORDERS_FD, &settings);
        return EXIT_SUCCESS;
    }
    orders_accept(ATTEMPT_ORDERS_FD, &settings);
    log_error(LOG_FAULT_US, "taking connections: %s", strerror(errno));
    return EXIT_FAILURE;
}
