#include "hostagent/task/orders.h"

#include "hostagent/task/counter.h"
#include "hostagent/task/outputs.h"
#include "hostagent/task/parent.h"
#include "lib/log.h"
#include "lib/now.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct received {
    char text[ATTEMPT_ORDER];
    size_t n;
    int fds[ATTEMPT_ORDER_FDS];
    size_t fds_n;
};

/* Takes the descriptors that came, all of them or fewer. */
static void take_descriptors(struct msghdr *message, struct received *received)
{
    received->fds_n = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        received->fds_n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(received->fds, CMSG_DATA(c), received->fds_n * sizeof(int));
    }
}

/* The length of an order, 0 at the end of the connection, −errno. */
static ssize_t receive(int fd, struct received *received)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(received->fds))];
    } control;
    struct iovec vector = {.iov_base = received->text, .iov_len = sizeof(received->text)};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    if (n < 0)
        return -errno;
    take_descriptors(&message, received);
    received->n = (size_t)n;
    return n;
}

static void refuse(const struct received *received, const char *why)
{
    char text[ATTEMPT_MESSAGE];
    int n = snprintf(text, sizeof(text), "failed %s", why);
    if (received->fds_n > ATTEMPT_ORDER_SOCKET)
        send(received->fds[ATTEMPT_ORDER_SOCKET], text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

_Noreturn static void be_parent(int fd, const struct received *received,
                                struct parent_config *config)
{
    struct err err = {0};
    close(fd);
    close(received->fds[ATTEMPT_ORDER_PARENT_CGROUP]);
    int r = parent_run(config, &err);
    if (r < 0)
        log_error(LOG_FAULT_NONE, "%s", err.text);
    _exit(r < 0);
}

static void start(int fd, const struct received *received, const struct attempt_order *order,
                  const struct task_settings *settings)
{
    struct parent_config config = {.order = order, .uid = settings->uid, .gid = settings->gid};
    struct err err = {0};
    char byte;
    config.command = command_named(settings->commands, settings->commands_n, order->command);
    if (!config.command) {
        refuse(received, "no such command in duopoly-task's list");
        return;
    }
    config.agent_fd = received->fds[ATTEMPT_ORDER_SOCKET];
    config.cgroup_fd = received->fds[ATTEMPT_ORDER_TASK_CGROUP];
    config.before_ns = now_ns(CLOCK_MONOTONIC);
    if (recv(config.agent_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
        return; /* the agent is gone: nothing would know of the attempt */
    struct clone_args args = {.flags = CLONE_INTO_CGROUP,
                              .exit_signal = SIGCHLD,
                              .cgroup = (__u64)received->fds[ATTEMPT_ORDER_PARENT_CGROUP]};
    long pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0)
        be_parent(fd, received, &config);
    if (pid < 0) {
        err_sys(&err, errno, "clone3 into the attempt's cgroup");
        refuse(received, err.text);
    }
}

/* False: this process was the agent's counter, which is gone. */
static bool obey(int fd, const struct received *received, const struct task_settings *settings)
{
    struct attempt_order order;
    size_t wanted = ATTEMPT_ORDER_FDS;
    int r = attempt_parse_order(received->text, received->n, &order);
    if (r >= 0 && !order.command)
        wanted = 0;
    if (r < 0 || received->fds_n != wanted)
        refuse(received, "an order that duopoly-task does not understand");
    else if (order.counts)
        counter_serve(fd, settings->uid, settings->gid);
    else if (order.command)
        start(fd, received, &order, settings);
    else
        outputs_clear(order.output, settings);
    return r < 0 || !order.counts;
}

void orders_serve(int fd, const struct task_settings *settings)
{
    static struct received received;
    bool goes_on = true;
    signal(SIGCHLD, SIG_IGN); /* nobody waits for parents */
    while (goes_on) {
        outputs_await(fd, settings);
        ssize_t n = receive(fd, &received);
        if (n == -EINTR)
            continue;
        if (n <= 0)
            return;
        goes_on = obey(fd, &received, settings);
        for (size_t i = 0; i < received.fds_n; i++)
            close(received.fds[i]);
    }
}

static bool is_our_user(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

static void serve_one(int listening, int fd, const struct task_settings *settings)
{
    pid_t pid = is_our_user(fd) ? fork() : -1;
    if (pid != 0)
        return;
    close(listening);
    orders_serve(fd, settings);
    _exit(0);
}

void orders_accept(int fd, const struct task_settings *settings)
{
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        int one = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        if (one < 0 && errno != EINTR && errno != ECONNABORTED)
            return;
        if (one >= 0) {
            serve_one(fd, one, settings);
            close(one);
        }
    }
}
