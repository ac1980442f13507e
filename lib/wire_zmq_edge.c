#include "lib/wire_zmq_edge.h"

#include <time.h>
#include <zmq.h>

static bool has_work(const struct wire_zmq_edge *edge)
{
    int events = 0;
    size_t size = sizeof(events);
    if (zmq_getsockopt(edge->socket, ZMQ_EVENTS, &events, &size) < 0)
        return false;
    return (events & ZMQ_POLLIN) ||
           ((events & ZMQ_POLLOUT) && edge->wants_to_send && edge->wants_to_send(edge->user));
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *user)
{
    const struct wire_zmq_edge *edge = user;
    (void)source, (void)fd, (void)revents;
    edge->drain(edge->user);
    return 0;
}

static int on_again(sd_event_source *source, uint64_t usec, void *user)
{
    const struct wire_zmq_edge *edge = user;
    (void)source, (void)usec;
    edge->drain(edge->user);
    return 0;
}

static int on_prepare(sd_event_source *source, void *user)
{
    const struct wire_zmq_edge *edge = user;
    (void)source;
    if (!has_work(edge))
        return 0;
    return sd_event_source_set_enabled(edge->again, SD_EVENT_ONESHOT);
}

int wire_zmq_edge_add(struct wire_zmq_edge *edge, sd_event *loop)
{
    int fd, r;
    size_t size = sizeof(fd);
    if (zmq_getsockopt(edge->socket, ZMQ_FD, &fd, &size) < 0)
        return -zmq_errno();
    /* WHY a timer that is long overdue: a defer source is always the one that has waited longest,
     * so among equals it would starve timers and other sockets, and at a lower priority a timer
     * that is always due would starve it. */
    if ((r = sd_event_add_io(loop, &edge->io, fd, EPOLLIN, on_io, edge)) < 0 ||
        (r = sd_event_source_set_prepare(edge->io, on_prepare)) < 0 ||
        (r = sd_event_add_time(loop, &edge->again, CLOCK_MONOTONIC, 0, 1, on_again, edge)) < 0)
        return r;
    return sd_event_source_set_enabled(edge->again, SD_EVENT_OFF);
}

void wire_zmq_edge_remove(struct wire_zmq_edge *edge)
{
    edge->io = sd_event_source_disable_unref(edge->io);
    edge->again = sd_event_source_disable_unref(edge->again);
    if (edge->socket)
        zmq_close(edge->socket);
    edge->socket = NULL;
}

bool wire_zmq_has_more(void *socket)
{
    int more = 0;
    size_t size = sizeof(more);
    return zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size) == 0 && more;
}

void wire_zmq_rest_drop(void *socket)
{
    while (wire_zmq_has_more(socket) && zmq_recv(socket, NULL, 0, ZMQ_DONTWAIT) >= 0)
        ;
}
