#include "hostagent/spawn.h"

#include "hostagent/files.h"
#include "hostagent/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AGENT_FD  3
#define CGROUP_FD 4

struct prepared { /* before clone3, since little may be done after it */
    char uid[16], gid[16];
    char input[FILES_PATH + 32], output[FILES_PATH + 32], path[1024];
    const char *argv[SPAWN_ARGUMENTS + 5];
    const char *envp[8];
};

static int prepare(const struct spawn_config *config, struct prepared *prepared)
{
    const char *path = getenv("PATH");
    snprintf(prepared->uid, sizeof(prepared->uid), "%u", config->uid);
    snprintf(prepared->gid, sizeof(prepared->gid), "%u", config->gid);
    snprintf(prepared->input, sizeof(prepared->input), "DUOPOLY_TASK_INPUT=%s", config->input);
    snprintf(prepared->output, sizeof(prepared->output), "DUOPOLY_TASK_OUTPUT=%s", config->output);
    snprintf(prepared->path, sizeof(prepared->path), "PATH=%s", path ? path : "/usr/bin:/bin");
    const char *env[] = {prepared->path, prepared->input, prepared->output,
                         "LANG=C.UTF-8", "HOME=/",        NULL};
    memcpy(prepared->envp, env, sizeof(env));
    size_t n = 0;
    prepared->argv[n++] = config->program;
    prepared->argv[n++] = config->directory;
    prepared->argv[n++] = prepared->uid;
    prepared->argv[n++] = prepared->gid;
    for (size_t i = 0; config->argv[i]; i++) {
        if (i == SPAWN_ARGUMENTS)
            return -E2BIG;
        prepared->argv[n++] = config->argv[i];
    }
    prepared->argv[n] = NULL;
    return 0;
}

_Noreturn static void become(const struct spawn_config *config, const struct prepared *prepared,
                             int socket_fd)
{
    sigset_t none;
    sigemptyset(&none);
    /* Above every number that is wanted, so that no dup2 hits a source. */
    int agent = fcntl(socket_fd, F_DUPFD, 16), cgroup = fcntl(config->task_cgroup_fd, F_DUPFD, 16);
    int null = open("/dev/null", O_RDWR);
    if (agent < 0 || cgroup < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(null, STDOUT_FILENO) < 0 || dup2(agent, AGENT_FD) < 0 || dup2(cgroup, CGROUP_FD) < 0)
        _exit(127);
    close_range(CGROUP_FD + 1, ~0u, 0);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* However urgent the agent is, its attempts are not. */
    sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
    setpriority(PRIO_PROCESS, 0, 0);
    execve(config->program, (char *const *)(uintptr_t)prepared->argv,
           (char *const *)(uintptr_t)prepared->envp);
    _exit(127);
}

int spawn_task(const struct spawn_config *config, struct spawned *ret_spawned, struct err *err)
{
    struct prepared prepared;
    int sockets[2], pidfd = -1;
    if (prepare(config, &prepared) < 0)
        return err_set(err, E2BIG, "a command of more than %d words", SPAWN_ARGUMENTS);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) < 0)
        return err_sys(err, errno, "a socket for duopoly-task");
    struct clone_args args = {.flags = CLONE_INTO_CGROUP | CLONE_PIDFD,
                              .pidfd = (__u64)(uintptr_t)&pidfd,
                              .exit_signal = SIGCHLD,
                              .cgroup = (__u64)config->parent_cgroup_fd};
    uint64_t before_ns = journal_now_ns();
    long pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0)
        become(config, &prepared, sockets[1]);
    int code = errno;
    uint64_t after_ns = journal_now_ns();
    close(sockets[1]);
    if (pid < 0) {
        close(sockets[0]);
        return err_sys(err, code, "clone3 into the attempt's cgroup");
    }
    *ret_spawned = (struct spawned){.pid = (int)pid,
                                    .pidfd = pidfd,
                                    .socket = sockets[0],
                                    .before_ns = before_ns,
                                    .after_ns = after_ns};
    return 0;
}
