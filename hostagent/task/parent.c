#include "hostagent/task/parent.h"

#include "hostagent/task/child.h"
#include "lib/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>

struct parent {
    int directory_fd, cgroup_fd;
    int agent_fd, listen_fd, say_fd, error_fd;
    pid_t child;
    uint64_t start_ticks;
    sd_event *event;
    sd_event_source *agent_source, *grace_source;
    struct attempt_tail tail;
    struct attempt_status status;
    uint32_t said_n;
    char *said[PARENT_SAID];
};

/* ---- the agent ---- */

static void drop_agent(struct parent *parent)
{
    parent->agent_source = sd_event_source_disable_unref(parent->agent_source);
    if (parent->agent_fd >= 0)
        close(parent->agent_fd);
    parent->agent_fd = -1;
}

/* An agent that does not take it in loses its connection: it will connect again and hear all. */
static void tell_agent(struct parent *parent, const char *text)
{
    if (parent->agent_fd < 0)
        return;
    if (send(parent->agent_fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
        errno != EINTR)
        drop_agent(parent);
}

static void introduce(struct parent *parent)
{
    char text[ATTEMPT_MESSAGE];
    snprintf(text, sizeof(text), "parent %d %" PRIu64, (int)parent->child, parent->start_ticks);
    tell_agent(parent, text);
    for (uint32_t i = 0; i < parent->said_n; i++)
        tell_agent(parent, parent->said[i]);
}

static void kill_all(struct parent *parent)
{
    int fd = openat(parent->cgroup_fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "1", 1) != 1)
        kill(-parent->child, SIGKILL); /* Linux before 5.14 has no cgroup.kill */
    if (fd >= 0)
        close(fd);
}

static int on_grace_over(sd_event_source *source, uint64_t usec, void *arg)
{
    (void)source;
    (void)usec;
    kill_all(arg);
    return 0;
}

static void stop(struct parent *parent, uint32_t grace_ms)
{
    kill(-parent->child, SIGTERM);
    if (parent->grace_source)
        return;
    if (grace_ms == 0 ||
        sd_event_add_time_relative(parent->event, &parent->grace_source, CLOCK_MONOTONIC,
                                   grace_ms * 1000ull, 1000, on_grace_over, parent) < 0)
        kill_all(parent);
}

static int on_agent(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct parent *parent = arg;
    char text[ATTEMPT_MESSAGE];
    uint32_t grace_ms;
    (void)source;
    (void)events;
    ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        drop_agent(parent);
        return 0;
    }
    text[n] = 0;
    if (sscanf(text, "stop %" SCNu32, &grace_ms) == 1)
        stop(parent, grace_ms);
    return 0;
}

static void take_agent(struct parent *parent, int fd)
{
    drop_agent(parent);
    if (sd_event_add_io(parent->event, &parent->agent_source, fd, EPOLLIN, on_agent, parent) < 0) {
        close(fd);
        return;
    }
    parent->agent_fd = fd;
    introduce(parent);
}

static int on_connect(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    (void)source;
    (void)events;
    int agent = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (agent >= 0)
        take_agent(arg, agent);
    return 0;
}

/* ---- the command ---- */

static void keep(struct parent *parent, const char *text)
{
    for (uint32_t i = 0; i < parent->said_n; i++)
        if (strcmp(parent->said[i], text) == 0)
            return;
    if (parent->said_n < PARENT_SAID && (parent->said[parent->said_n] = strdup(text)))
        parent->said_n++;
}

static int on_said(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct parent *parent = arg;
    char text[ATTEMPT_MESSAGE] = "said ";
    (void)events;
    ssize_t n = recv(fd, text + 5, ATTEMPT_SAID, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        sd_event_source_set_enabled(source, SD_EVENT_OFF);
        return 0;
    }
    text[5 + n] = 0;
    keep(parent, text);
    tell_agent(parent, text);
    return 0;
}

static bool read_error(struct parent *parent)
{
    char bytes[4096];
    ssize_t n = read(parent->error_fd, bytes, sizeof(bytes));
    if (n > 0)
        attempt_tail_add(&parent->tail, bytes, (size_t)n);
    return n > 0 || (n < 0 && errno == EINTR);
}

static int on_error_output(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    (void)fd;
    (void)events;
    if (!read_error(arg) && errno != EAGAIN)
        sd_event_source_set_enabled(source, SD_EVENT_OFF);
    return 0;
}

static int on_end(sd_event_source *source, const siginfo_t *info, void *arg)
{
    struct parent *parent = arg;
    (void)source;
    parent->status.exit_status = info->si_code == CLD_EXITED ? info->si_status : -info->si_status;
    return sd_event_exit(parent->event, 0);
}

/* Processes that the command left to us: they are taken away as they end. */
static int on_child_signal(sd_event_source *source, const struct signalfd_siginfo *signal_info,
                           void *arg)
{
    const struct parent *parent = arg;
    siginfo_t info = {0};
    (void)source;
    (void)signal_info;
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid &&
           info.si_pid != parent->child) {
        waitpid(info.si_pid, NULL, WNOHANG);
        info.si_pid = 0;
    }
    return 0;
}

/* ---- the end ---- */

static void drain(struct parent *parent)
{
    char text[ATTEMPT_MESSAGE] = "said ";
    ssize_t n;
    while (read_error(parent))
        ;
    while ((n = recv(parent->say_fd, text + 5, ATTEMPT_SAID, MSG_DONTWAIT)) > 0) {
        text[5 + n] = 0;
        tell_agent(parent, text);
    }
}

/* Everything that the command left behind; it is our child since we are the subreaper. */
static void bury(struct parent *parent)
{
    kill_all(parent);
    while (waitpid(-1, NULL, 0) >= 0 || errno == EINTR)
        ;
}

static int write_status(struct parent *parent, struct err *err)
{
    char text[1024];
    snprintf(parent->status.last_line, ATTEMPT_LINE, "%s", parent->tail.line);
    size_t n = attempt_format_status(&parent->status, text, sizeof(text));
    int fd = openat(parent->directory_fd, ATTEMPT_STATUS_FILE ".new",
                    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(err, errno, "writing the status");
    ssize_t done = write(fd, text, n);
    close(fd);
    if (done != (ssize_t)n || renameat(parent->directory_fd, ATTEMPT_STATUS_FILE ".new",
                                       parent->directory_fd, ATTEMPT_STATUS_FILE) < 0)
        return err_sys(err, errno ? errno : ENOSPC, "writing the status");
    return 0;
}

/* ---- the beginning ---- */

static int listen_here(struct parent *parent, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    /* Through the descriptor: a path of its own may be longer than an address. */
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
             parent->directory_fd, ATTEMPT_SOCKET_FILE);
    parent->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t old = umask(0077);
    int r = parent->listen_fd < 0 ? -1 : bind(parent->listen_fd, (void *)&address, sizeof(address));
    umask(old);
    if (r < 0 || listen(parent->listen_fd, 4) < 0)
        return err_sys(err, errno, "listening in the attempt's directory");
    return 0;
}

static int start_command(struct parent *parent, const struct parent_config *config, struct err *err)
{
    int say[2] = {-1, -1}, error[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, say) < 0)
        return err_sys(err, errno, "a socket for the command");
    if (pipe2(error, O_CLOEXEC) < 0) {
        close(say[0]);
        close(say[1]);
        return err_sys(err, errno, "a pipe for the command");
    }
    fcntl(error[0], F_SETFL, O_NONBLOCK);
    parent->say_fd = say[0];
    parent->error_fd = error[0];
    struct child_config child = {.uid = config->uid,
                                 .gid = config->gid,
                                 .argv = config->argv,
                                 .cgroup_fd = parent->cgroup_fd,
                                 .say_fd = say[1],
                                 .error_fd = error[1]};
    int r = child_start(&child, &parent->child, err);
    close(say[1]);
    close(error[1]);
    if (r >= 0)
        parent->start_ticks = attempt_start_ticks(parent->child);
    return r;
}

static int add_sources(struct parent *parent, struct err *err)
{
    int r = sd_event_add_child(parent->event, NULL, parent->child, WEXITED, on_end, parent);
    if (r >= 0)
        r = sd_event_add_signal(parent->event, NULL, SIGCHLD, on_child_signal, parent);
    if (r >= 0)
        r = sd_event_add_io(parent->event, NULL, parent->listen_fd, EPOLLIN, on_connect, parent);
    if (r >= 0)
        r = sd_event_add_io(parent->event, NULL, parent->say_fd, EPOLLIN, on_said, parent);
    if (r >= 0)
        r = sd_event_add_io(parent->event, NULL, parent->error_fd, EPOLLIN, on_error_output,
                            parent);
    return r < 0 ? err_sys(err, -r, "watching the command") : 0;
}

static int set_up(struct parent *parent, const struct parent_config *config, struct err *err)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGPIPE, SIG_IGN);
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    fcntl(config->agent_fd, F_SETFD, FD_CLOEXEC);
    fcntl(config->cgroup_fd, F_SETFD, FD_CLOEXEC);
    parent->directory_fd = open(config->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent->directory_fd < 0)
        return err_sys(err, errno, "opening %s", config->directory);
    int r = sd_event_new(&parent->event);
    if (r < 0)
        return err_sys(err, -r, "an event loop");
    r = listen_here(parent, err);
    if (r >= 0)
        r = start_command(parent, config, err);
    return r >= 0 ? add_sources(parent, err) : r;
}

static void clean_up(struct parent *parent)
{
    drop_agent(parent);
    sd_event_source_disable_unref(parent->grace_source);
    sd_event_unref(parent->event);
    const int fds[] = {parent->directory_fd, parent->cgroup_fd, parent->listen_fd, parent->say_fd,
                       parent->error_fd};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    for (uint32_t i = 0; i < parent->said_n; i++)
        free(parent->said[i]);
}

int parent_run(const struct parent_config *config, struct err *err)
{
    struct parent parent = {.directory_fd = -1,
                            .cgroup_fd = config->cgroup_fd,
                            .agent_fd = -1,
                            .listen_fd = -1,
                            .say_fd = -1,
                            .error_fd = -1};
    int r = set_up(&parent, config, err);
    if (r >= 0) {
        if (config->agent_fd >= 0)
            take_agent(&parent, config->agent_fd);
        r = sd_event_loop(parent.event);
        if (r < 0)
            err_sys(err, -r, "the event loop");
    }
    if (parent.child > 0) {
        bury(&parent);
        drain(&parent);
        r = write_status(&parent, err);
    }
    clean_up(&parent);
    return r;
}
