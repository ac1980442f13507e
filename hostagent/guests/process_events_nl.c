#include "hostagent/guests/process_events_nl.h"

#include "hostagent/nl.h"

#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <netlink/msg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define RECEIVE_BYTES (1 << 20)

/* What Linux 6.6 accepts instead of the operation alone (struct proc_input). */
struct question {
    uint32_t operation, events;
};

struct process_events {
    struct process_events_handler handler;
    struct nl_sock *sock;
    sd_event_source *io;
    bool answered;
};

static void take_event(struct process_events *events, const struct proc_event *event)
{
    /* WHY: `what` is an enum of type whose name changed with Linux 6.6; its numbers did not. */
    uint32_t what;
    memcpy(&what, event, sizeof(what));
    if (what == 0 && event->event_data.ack.err == 0)
        events->answered = true;
    else if (what == 2)
        events->handler.on_exec(events->handler.user, event->event_data.exec.process_tgid);
}

static void take_message(struct process_events *events, struct nlmsghdr *header)
{
    const struct cn_msg *message = nlmsg_data(header);
    struct proc_event event = {0};
    if (nlmsg_datalen(header) < (int)sizeof(*message) || message->id.idx != CN_IDX_PROC ||
        message->id.val != CN_VAL_PROC ||
        nlmsg_datalen(header) - (int)sizeof(*message) < (int)message->len)
        return;
    memcpy(&event, message->data, message->len < sizeof(event) ? message->len : sizeof(event));
    take_event(events, &event);
}

/* All that has come; false: some did not. */
static bool take_all(struct process_events *events)
{
    char buffer[16384];
    struct sockaddr_nl from;
    bool whole = true;
    for (;;) {
        socklen_t size = sizeof(from);
        ssize_t n = recvfrom(nl_socket_get_fd(events->sock), buffer, sizeof(buffer), MSG_DONTWAIT,
                             (void *)&from, &size);
        if (n < 0 && errno == ENOBUFS)
            whole = false;
        else if (n <= 0)
            return whole;
        int left = n > 0 && from.nl_pid == 0 ? (int)n : 0; /* only the kernel is trusted */
        struct nlmsghdr *header = (void *)buffer;
        for (; nlmsg_ok(header, left); header = nlmsg_next(header, &left))
            take_message(events, header);
    }
}

static int on_readable(sd_event_source *source, int fd, uint32_t revents, void *user)
{
    struct process_events *events = user;
    (void)source, (void)fd, (void)revents;
    if (!take_all(events))
        events->handler.on_lost(events->handler.user);
    return 0;
}

static int ask(struct process_events *events, const struct question *question, uint16_t size)
{
    const struct cn_msg message = {.id = {CN_IDX_PROC, CN_VAL_PROC}, .len = size};
    uint8_t request[sizeof(message) + sizeof(*question)];
    memcpy(request, &message, sizeof(message));
    memcpy(request + sizeof(message), question, size);
    return nl_send_simple(events->sock, NLMSG_DONE, 0, request, sizeof(message) + size);
}

/* First as every kernel takes it, then as newer ones do: those before ignore that. */
static int listen_to(struct process_events *events)
{
    const struct question question = {.operation = PROC_CN_MCAST_LISTEN,
                                      .events = 2 /* PROC_EVENT_EXEC */};
    int r = ask(events, &question, sizeof(question.operation));
    return r < 0 ? r : ask(events, &question, sizeof(question));
}

static int connect_to(struct process_events *events, struct err *err)
{
    events->sock = nl_socket_alloc();
    int r = events->sock ? nl_connect(events->sock, NETLINK_CONNECTOR) : -NLE_NOMEM;
    if (r >= 0) {
        nl_socket_disable_auto_ack(events->sock);
        nl_socket_set_buffer_size(events->sock, RECEIVE_BYTES, 0);
        r = nl_socket_add_membership(events->sock, CN_IDX_PROC);
    }
    if (r >= 0)
        r = listen_to(events);
    if (r < 0)
        return netlink_err(err, r, "asking the kernel to tell of processes");
    take_all(events); /* the answer is there, or never comes */
    return events->answered
               ? 0
               : err_set(err, EOPNOTSUPP,
                         "the kernel does not tell of processes here (it does in its first "
                         "namespaces, to those with CAP_NET_ADMIN)");
}

int process_events_open(sd_event *event, const struct process_events_handler *handler,
                        struct process_events **ret_events, struct err *err)
{
    struct process_events *events = calloc(1, sizeof(*events));
    if (!events)
        return err_sys(err, ENOMEM, "hearing of processes");
    events->handler = *handler;
    int r = connect_to(events, err);
    if (r >= 0) {
        r = sd_event_add_io(event, &events->io, nl_socket_get_fd(events->sock), EPOLLIN,
                            on_readable, events);
        r = r < 0 ? err_sys(err, -r, "hearing of processes") : 0;
    }
    if (r < 0) {
        process_events_close(events);
        return r;
    }
    *ret_events = events;
    return 0;
}

void process_events_close(struct process_events *events)
{
    if (!events)
        return;
    sd_event_source_disable_unref(events->io);
    if (events->sock)
        nl_socket_free(events->sock);
    free(events);
}
