#include "hostagent/task/parent.h"

#include "hostagent/task/child.h"
#include "hostagent/task/rights.h"
#include "lib/now.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
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
#include <unistd.h>

struct parent {
    const char *record;
    int cgroup_fd;
    int agent_fd, listen_fd, say_fd, error_fd, signal_fd;
    pid_t child;
    bool ended;
    uint64_t before_ns, after_ns;
    uint64_t kill_ns; /* end of the grace; 0: its end was not requested */
    struct attempt_tail tail;
    struct attempt_status status;
    uint32_t said_n;
    char *said[PARENT_SAID];
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Through the directory's descriptor: a path of its own may be longer than an address. */
static int bind_beside_record(const struct parent *parent)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", parent->record);
    int dir = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *name = strrchr(parent->record, '/');
    snprintf(address.sun_path, sizeof(address.sun_path),
             "/proc/self/fd/%d/%.64s" ATTEMPT_SOCKET_END, dir, name ? name + 1 : parent->record);
    mode_t old = umask(0077);
    int r = dir < 0 ? -1 : bind(parent->listen_fd, (void *)&address, sizeof(address));
    umask(old);
    close_fd(&dir);
    return r;
}

/* The next agent connects there. Without it that agent would take us for dead, and end the command.
 */
static void listen_for_agents(struct parent *parent)
{
    if (parent->listen_fd >= 0)
        return;
    parent->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (parent->listen_fd >= 0 &&
        (bind_beside_record(parent) < 0 || listen(parent->listen_fd, 4) < 0))
        close_fd(&parent->listen_fd);
}

static void stop_listening(struct parent *parent)
{
    char path[PATH_MAX];
    if (parent->listen_fd < 0)
        return;
    close_fd(&parent->listen_fd);
    snprintf(path, sizeof(path), "%s" ATTEMPT_SOCKET_END, parent->record);
    unlink(path);
}

static void drop_agent(struct parent *parent)
{
    close_fd(&parent->agent_fd);
    listen_for_agents(parent);
}

static void tell_agent(const struct parent *parent, const char *text)
{
    if (parent->agent_fd >= 0)
        send(parent->agent_fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void introduce(const struct parent *parent)
{
    char text[ATTEMPT_MESSAGE];
    snprintf(text, sizeof(text), "parent %" PRIu64 " %" PRIu64, parent->before_ns,
             parent->after_ns);
    tell_agent(parent, text);
    for (uint32_t i = 0; i < parent->said_n; i++)
        tell_agent(parent, parent->said[i]);
}

static void kill_all(const struct parent *parent)
{
    int fd = openat(parent->cgroup_fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "1", 1) != 1)
        kill(-parent->child, SIGKILL); /* Linux before 5.14 has no cgroup.kill */
    if (fd >= 0)
        close(fd);
}

static void stop(struct parent *parent, uint32_t grace_ms)
{
    kill(-parent->child, SIGTERM);
    if (!parent->kill_ns)
        parent->kill_ns = now_ns(CLOCK_MONOTONIC) + grace_ms * UINT64_C(1000000);
}

static void hear_agent(struct parent *parent)
{
    char text[ATTEMPT_MESSAGE];
    uint32_t grace_ms;
    ssize_t n = recv(parent->agent_fd, text, sizeof(text) - 1, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        drop_agent(parent);
        return;
    }
    text[n] = 0;
    if (sscanf(text, "stop %" SCNu32, &grace_ms) == 1)
        stop(parent, grace_ms);
}

static void take_agent(struct parent *parent)
{
    int agent = accept4(parent->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (agent < 0)
        return;
    close_fd(&parent->agent_fd);
    parent->agent_fd = agent;
    introduce(parent);
}

/* Reports on a source change, and are repeated while they last. */
static bool is_passing(const char *text)
{
    return strncmp(text, "said stalled ", 13) == 0 || strncmp(text, "said flows ", 11) == 0;
}

static void keep(struct parent *parent, const char *text)
{
    if (is_passing(text))
        return;
    for (uint32_t i = 0; i < parent->said_n; i++)
        if (strcmp(parent->said[i], text) == 0)
            return;
    if (parent->said_n < PARENT_SAID && (parent->said[parent->said_n] = strdup(text)))
        parent->said_n++;
}

/* One message; false when there is none now. */
static bool hear_command(struct parent *parent)
{
    char text[ATTEMPT_MESSAGE] = "said ";
    ssize_t n = recv(parent->say_fd, text + 5, ATTEMPT_SAID, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        close_fd(&parent->say_fd);
        return false;
    }
    text[5 + n] = 0;
    keep(parent, text);
    tell_agent(parent, text);
    return true;
}

static bool hear_error(struct parent *parent)
{
    char bytes[4096];
    ssize_t n = read(parent->error_fd, bytes, sizeof(bytes));
    if (n > 0)
        attempt_tail_add(&parent->tail, bytes, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close_fd(&parent->error_fd);
    return n > 0;
}

/* Reaps the command, or what it left to us: we are the subreaper. */
static void reap(struct parent *parent)
{
    struct signalfd_siginfo signals;
    siginfo_t info = {0};
    if (read(parent->signal_fd, &signals, sizeof(signals)) < 0 && errno != EAGAIN)
        return;
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0 && info.si_pid) {
        if (info.si_pid == parent->child) {
            parent->status.exit_status =
                info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
            parent->ended = true;
        }
        info.si_pid = 0;
    }
}

static int wait_ms(const struct parent *parent)
{
    if (!parent->kill_ns)
        return -1;
    uint64_t now = now_ns(CLOCK_MONOTONIC);
    return now >= parent->kill_ns ? 0 : (int)((parent->kill_ns - now) / 1000000 % INT_MAX) + 1;
}

static void serve(struct parent *parent)
{
    enum { AGENT, LISTEN, SAY, ERROR, SIGNAL, N };
    while (!parent->ended) {
        struct pollfd fds[N] = {[AGENT] = {.fd = parent->agent_fd, .events = POLLIN},
                                [LISTEN] = {.fd = parent->listen_fd, .events = POLLIN},
                                [SAY] = {.fd = parent->say_fd, .events = POLLIN},
                                [ERROR] = {.fd = parent->error_fd, .events = POLLIN},
                                [SIGNAL] = {.fd = parent->signal_fd, .events = POLLIN}};
        poll(fds, N, wait_ms(parent));
        if (fds[AGENT].revents)
            hear_agent(parent);
        if (fds[LISTEN].revents)
            take_agent(parent);
        if (fds[SAY].revents)
            hear_command(parent);
        if (fds[ERROR].revents)
            hear_error(parent);
        if (fds[SIGNAL].revents)
            reap(parent);
        if (parent->kill_ns && now_ns(CLOCK_MONOTONIC) >= parent->kill_ns) {
            kill_all(parent);
            parent->kill_ns = UINT64_MAX;
        }
    }
}

/* Everything that the command left behind. */
static void bury(const struct parent *parent)
{
    kill_all(parent);
    while (waitpid(-1, NULL, 0) >= 0 || errno == EINTR)
        ;
}

static void drain(struct parent *parent)
{
    while (parent->error_fd >= 0 && hear_error(parent))
        ;
    while (parent->say_fd >= 0 && hear_command(parent))
        ;
}

static int write_status(struct parent *parent, struct err *err)
{
    char text[ATTEMPT_STATUS_SIZE + 1];
    snprintf(parent->status.last_line, ATTEMPT_LINE, "%s", parent->tail.line);
    attempt_format_status(&parent->status, text);
    int fd = open(parent->record, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || pwrite(fd, text, ATTEMPT_STATUS_SIZE, ATTEMPT_STATUS_AT) != ATTEMPT_STATUS_SIZE)
        return err_sys(err, errno, "writing the status into %s", parent->record);
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
    const struct child_config child = {.order = config->order,
                                       .command = config->command,
                                       .uid = config->uid,
                                       .gid = config->gid,
                                       .cgroup_fd = parent->cgroup_fd,
                                       .say_fd = say[1],
                                       .error_fd = error[1]};
    int r = child_start(&child, &parent->child, err);
    close(say[1]);
    close(error[1]);
    parent->after_ns = now_ns(CLOCK_MONOTONIC);
    child_be_ordinary(); /* not before: a slot waits for the command */
    rights_keep_kill();
    return r;
}

static int set_up(struct parent *parent, const struct parent_config *config, struct err *err)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    parent->signal_fd = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    return parent->signal_fd < 0 ? err_sys(err, errno, "a descriptor for signals")
                                 : start_command(parent, config, err);
}

static void clean_up(struct parent *parent)
{
    stop_listening(parent);
    int *const fds[] = {&parent->cgroup_fd, &parent->agent_fd, &parent->say_fd, &parent->error_fd,
                        &parent->signal_fd};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        close_fd(fds[i]);
    for (uint32_t i = 0; i < parent->said_n; i++)
        free(parent->said[i]);
}

int parent_run(const struct parent_config *config, struct err *err)
{
    struct parent parent = {.record = config->order->record,
                            .cgroup_fd = config->cgroup_fd,
                            .agent_fd = config->agent_fd,
                            .before_ns = config->before_ns,
                            .listen_fd = -1,
                            .say_fd = -1,
                            .error_fd = -1,
                            .signal_fd = -1};
    char text[ATTEMPT_MESSAGE];
    int r = set_up(&parent, config, err);
    if (r >= 0) {
        introduce(&parent);
        serve(&parent);
        bury(&parent);
        drain(&parent);
        r = write_status(&parent, err);
    } else {
        snprintf(text, sizeof(text), "failed %s", err->text);
        tell_agent(&parent, text);
    }
    clean_up(&parent);
    return r;
}
