#include "hostagent/task/child.h"

#include "hostagent/task/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SAY_FD 3

_Noreturn static void give_up(const char *what)
{
    dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(errno));
    _exit(127);
}

static void place_descriptors(const struct child_config *config)
{
    int null = open("/dev/null", O_RDWR);
    /* Above every number that is wanted, so that no dup2 hits a source. */
    int say = fcntl(config->say_fd, F_DUPFD, 16), error = fcntl(config->error_fd, F_DUPFD, 16);
    if (null < 0 || say < 0 || error < 0 || dup2(error, STDERR_FILENO) < 0 ||
        dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(say, SAY_FD) < 0)
        _exit(127);
    close_range(SAY_FD + 1, ~0u, 0);
}

/* What the command finds in its environment, and nothing else. */
static void set_environment(const struct attempt_order *order)
{
    const char *path = getenv("PATH");
    char *kept = path ? strdup(path) : NULL;
    clearenv();
    setenv("PATH", kept ? kept : "/usr/bin:/bin", 1);
    setenv("LANG", "C.UTF-8", 1);
    setenv("HOME", "/", 1);
    setenv("DUOPOLY_TASK_INPUT", order->record, 1);
    setenv("DUOPOLY_TASK_OUTPUT", order->output, 1);
    setenv("DUOPOLY_TASK_SOCKET", "3", 1);
}

void child_be_ordinary(void)
{
    sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
    setpriority(PRIO_PROCESS, 0, 0);
}

_Noreturn static void become(const struct child_config *config)
{
    char *argv[ATTEMPT_ARGUMENTS + 1] = {NULL};
    sigset_t none;
    sigemptyset(&none);
    child_be_ordinary();
    place_descriptors(config);
    if (setpgid(0, 0) < 0 || chdir("/") < 0)
        give_up("setting up the command");
    if (rights_become(config->uid, config->gid) < 0)
        give_up("changing to the command's user");
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    set_environment(config->order);
    for (uint32_t i = 0; i < config->command->words_n; i++)
        argv[i] = (char *)(uintptr_t)config->command->words[i];
    execvp(argv[0], argv);
    give_up(argv[0]);
}

int child_start(const struct child_config *config, pid_t *ret_pid, struct err *err)
{
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (__u64)config->cgroup_fd};
    long pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid < 0)
        return err_sys(err, errno, "clone3 into the attempt's cgroup");
    if (pid == 0)
        become(config);
    *ret_pid = (pid_t)pid;
    return 0;
}
