#include "hostagent/tasks/starter.h"

#include "lib/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

struct starter {
    struct starter_config config;
    sd_event *event;
    int socket; /* −1: none runs */
    pid_t pid;  /* 0: not started by us */
    sd_event_source *end;
};

/* It is gone, or ends now with its orders. */
static void part(struct starter *starter)
{
    starter->end = sd_event_source_disable_unref(starter->end);
    if (starter->socket < 0)
        return;
    close(starter->socket);
    starter->socket = -1;
    if (!starter->pid)
        return;
    kill(starter->pid, SIGKILL); /* also of one that was stopped we need not wait for the end */
    while (waitpid(starter->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    starter->pid = 0;
}

static int on_end(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    (void)source;
    (void)fd;
    (void)events;
    log_warning(LOG_FAULT_US, "duopoly-task, which starts attempts, has ended; it is started again "
                              "with the next");
    part(arg);
    return 0;
}

void starter_replace(struct starter *starter)
{
    if (starter->socket >= 0)
        log_warning(LOG_FAULT_US, "duopoly-task, which starts attempts, hangs; the next attempt "
                                  "goes to a new one");
    part(starter);
}

/* `socket` becomes its only descriptor but the standard ones. */
static int spawn(struct starter *starter, int socket)
{
    char *const argv[] = {(char *)(uintptr_t) "duopoly-task", (char *)(uintptr_t) "--config",
                          (char *)(uintptr_t)starter->config.file, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, socket, ATTEMPT_ORDERS_FD);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(&actions, ATTEMPT_ORDERS_FD + 1);
    if (r == 0)
        r = posix_spawn(&starter->pid, starter->config.program, &actions, &attributes, argv,
                        environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return -r;
}

static int begin_own(struct starter *starter, struct err *err)
{
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return err_sys(err, errno, "a socket for duopoly-task");
    int r = spawn(starter, sockets[1]);
    close(sockets[1]);
    if (r < 0) {
        close(sockets[0]);
        return err_sys(err, -r, "starting %s", starter->config.program);
    }
    starter->socket = sockets[0];
    return 0;
}

int starter_connect(const struct starter_config *config, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", config->socket);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (void *)&address, sizeof(address)) < 0) {
        int code = errno;
        if (fd >= 0)
            close(fd);
        return err_sys(err, code, "duopoly-task, which starts attempts, at %s (tasks.starter)",
                       config->socket);
    }
    return fd;
}

static int begin_theirs(struct starter *starter, struct err *err)
{
    int fd = starter_connect(&starter->config, err);
    if (fd < 0)
        return fd;
    starter->socket = fd;
    return 0;
}

static int begin(struct starter *starter, struct err *err)
{
    const int room = STARTER_WAITING;
    int r = starter->config.socket[0] ? begin_theirs(starter, err) : begin_own(starter, err);
    if (r < 0)
        return r;
    setsockopt(starter->socket, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
    sd_event_add_io(starter->event, &starter->end, starter->socket, 0, on_end, starter);
    return 0;
}

/* −errno: not sent, and nothing was reported. Without descriptors if `fds` is NULL. */
static int send_order(int socket, const char *text, size_t n, const int fds[ATTEMPT_ORDER_FDS])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(ATTEMPT_ORDER_FDS * sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec vector = {.iov_base = (void *)(uintptr_t)text, .iov_len = n};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    if (fds) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(ATTEMPT_ORDER_FDS * sizeof(int));
        memcpy(CMSG_DATA(&control.header), fds, ATTEMPT_ORDER_FDS * sizeof(int));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* To the running one; if it died a moment ago, to a new one. */
static int give(struct starter *starter, const char *text, size_t n,
                const int fds[ATTEMPT_ORDER_FDS], struct err *err)
{
    int r = -EPIPE;
    if (starter->socket >= 0)
        r = send_order(starter->socket, text, n, fds);
    if (r == -EPIPE || r == -ECONNRESET) {
        part(starter);
        r = begin(starter, err);
        if (r < 0)
            return r;
        r = send_order(starter->socket, text, n, fds);
    }
    if (r == -EAGAIN)
        return err_set(err, EAGAIN, "duopoly-task has more orders waiting than it can take");
    return r < 0 ? err_sys(err, -r, "an order to duopoly-task") : 0;
}

int starter_start(struct starter *starter, const struct attempt_order *order, int parent_cgroup_fd,
                  int task_cgroup_fd, int *ret_socket, struct err *err)
{
    char text[ATTEMPT_ORDER];
    int sockets[2], n = attempt_format_order(order, text);
    if (n < 0)
        return err_set(err, E2BIG, "an order of more than %d bytes", ATTEMPT_ORDER);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) < 0)
        return err_sys(err, errno, "a socket for the attempt");
    const int fds[ATTEMPT_ORDER_FDS] = {[ATTEMPT_ORDER_SOCKET] = sockets[1],
                                        [ATTEMPT_ORDER_PARENT_CGROUP] = parent_cgroup_fd,
                                        [ATTEMPT_ORDER_TASK_CGROUP] = task_cgroup_fd};
    int r = give(starter, text, (size_t)n, fds, err);
    close(sockets[1]);
    if (r < 0)
        close(sockets[0]);
    else
        *ret_socket = sockets[0];
    return r;
}

int starter_clear(struct starter *starter, const char *folder, struct err *err)
{
    char text[ATTEMPT_ORDER];
    int n = attempt_format_order(&(struct attempt_order){.output = folder}, text);
    return n < 0 ? err_set(err, E2BIG, "an order of more than %d bytes", ATTEMPT_ORDER)
                 : give(starter, text, (size_t)n, NULL, err);
}

int starter_open(const struct starter_config *config, sd_event *event, struct starter **ret_starter,
                 struct err *err)
{
    struct starter *starter = calloc(1, sizeof(*starter));
    if (!starter)
        return err_sys(err, ENOMEM, "the starter of attempts");
    *starter = (struct starter){.config = *config, .event = sd_event_ref(event), .socket = -1};
    *ret_starter = starter;
    return 0;
}

void starter_close(struct starter *starter)
{
    if (!starter)
        return;
    part(starter);
    sd_event_unref(starter->event);
    free(starter);
}
