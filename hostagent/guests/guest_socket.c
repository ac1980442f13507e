#include "hostagent/guests/guest_socket.h"

#include "hostagent/guests/executor_line.h"
#include "lib/log.h"
#include "lib/now.h"
#include "lib/unix_accept.h"
#include "lib/wire_stream.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif
#define SECOND_NS UINT64_C(1000000000)

struct connection {
    struct guest_socket *socket;
    struct ucred peer;
    int pidfd; /* of the peer; −1: this kernel gives none */
    struct wire_stream *stream;
    struct guest_id guest; /* pid 0: no HELLO yet */
    uint64_t since_ns;     /* start of a second with this many messages: */
    uint32_t messages;
};

struct guest_socket {
    struct guests *guests;
    sd_event *event;
    struct unix_accept *listener;
    struct connection *connections[GUEST_CONNECTIONS];
    duopoly_Envelope out;
};

static void connection_free(struct connection *connection)
{
    struct guest_socket *socket = connection->socket;
    for (int i = 0; i < GUEST_CONNECTIONS; i++)
        if (socket->connections[i] == connection)
            socket->connections[i] = NULL;
    guests_tasks_end(socket->guests, &connection->guest);
    wire_stream_close(connection->stream);
    if (connection->pidfd >= 0)
        close(connection->pidfd);
    free(connection);
}

static void on_connection_end(void *user, const char *why)
{
    const struct connection *connection = user;
    if (*why)
        log_warning(LOG_FAULT_PEER, "the guest of user %u, process %d, is cut: %s",
                    connection->peer.uid, connection->peer.pid, why);
    connection_free(user);
}

static void refuse(struct connection *connection, duopoly_Reason reason, const char *text)
{
    duopoly_Envelope *out = &connection->socket->out;
    duopoly_Refused *refused = &wire_begin(out, duopoly_Envelope_refused_tag)->body.refused;
    refused->reason = reason;
    wire_copy(refused->text, sizeof(refused->text), text);
    wire_stream_send(connection->stream, out);
}

/* Its number is no other's as long as it has not ended. */
static bool lives(const struct connection *connection)
{
    struct pollfd end = {.fd = connection->pidfd, .events = POLLIN};
    return connection->pidfd < 0 || poll(&end, 1, 0) == 0;
}

static void hello_take(struct connection *connection, const duopoly_GuestHello *hello)
{
    struct executor_line line = {.cores = hello->cores};
    struct guest_id guest = {0};
    const char *why_not = "";
    struct err err = {0};
    wire_copy(line.application, sizeof(line.application), hello->name);
    wire_copy(line.executor, sizeof(line.executor), hello->executor);
    if (!wire_name_valid(hello->name) || !wire_name_valid(hello->executor) || !hello->cores ||
        hello->cores > EXECUTOR_CORES) {
        refuse(connection, duopoly_Reason_REASON_MALFORMED,
               "a guest says its application, its executor's name and its cores");
        return;
    }
    int r = guests_announce(connection->socket->guests, connection->peer.pid, &line, &guest,
                            &why_not, &err);
    if (r >= 0 && !lives(connection))
        r = err_set(&err, ESRCH, "process %d has ended", connection->peer.pid);
    if (r < 0) {
        refuse(connection, duopoly_Reason_REASON_PERMISSION, err.text);
        return;
    }
    connection->guest = guest;
    duopoly_Envelope *out = &connection->socket->out;
    wire_copy(wire_begin(out, duopoly_Envelope_accepted_tag)->body.accepted.text,
              sizeof(out->body.accepted.text), why_not);
    wire_stream_send(connection->stream, out);
}

static void task_take(struct connection *connection, const duopoly_GuestTask *task)
{
    duopoly_Envelope *out = &connection->socket->out;
    duopoly_GuestMark *mark = &wire_begin(out, duopoly_Envelope_guest_mark_tag)->body.guest_mark;
    if (guests_task(connection->socket->guests, &connection->guest, task, mark))
        wire_stream_send(connection->stream, out);
    else
        refuse(connection, duopoly_Reason_REASON_STATE, "a guest begins with HELLO");
}

static bool is_flood(struct connection *connection)
{
    const uint64_t now = now_ns(CLOCK_MONOTONIC);
    if (now - connection->since_ns >= SECOND_NS) {
        connection->since_ns = now;
        connection->messages = 0;
    }
    return ++connection->messages > GUEST_MESSAGES;
}

static void on_message(void *user, duopoly_Envelope *envelope)
{
    struct connection *connection = user;
    if (is_flood(connection)) {
        wire_stream_end(connection->stream, "it says too much in a second");
        return;
    }
    switch (envelope->which_body) {
    case duopoly_Envelope_guest_hello_tag:
        hello_take(connection, &envelope->body.guest_hello);
        break;
    case duopoly_Envelope_guest_task_tag:
        task_take(connection, &envelope->body.guest_task);
        break;
    case 0:
        break; /* of a later version */
    default:
        refuse(connection, duopoly_Reason_REASON_UNSUPPORTED,
               "guests do not send messages of this kind");
    }
}

static struct connection **place_find(struct guest_socket *socket, uid_t uid)
{
    struct connection **place = NULL;
    int others = 0;
    for (int i = 0; i < GUEST_CONNECTIONS; i++)
        if (!socket->connections[i])
            place = &socket->connections[i];
        else
            others += socket->connections[i]->peer.uid == uid;
    if (place && others < GUEST_CONNECTIONS_OF_USER)
        return place;
    log_warning(LOG_FAULT_PEER,
                "another guest of user %u is turned away: %d are served, of all %d at most", uid,
                others, GUEST_CONNECTIONS);
    return NULL;
}

static int peer_pidfd(int fd)
{
    int pidfd = -1;
    socklen_t size = sizeof(pidfd);
    return getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) < 0 ? -1 : pidfd;
}

static void on_connection(void *user, int fd)
{
    struct guest_socket *socket = user;
    struct ucred peer;
    socklen_t size = sizeof(peer);
    struct err err = {0};
    struct connection **place = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0
                                    ? place_find(socket, peer.uid)
                                    : NULL;
    struct connection *connection = place ? calloc(1, sizeof(*connection)) : NULL;
    if (!connection) {
        close(fd);
        return;
    }
    const struct wire_stream_handler handler = {on_message, on_connection_end, connection};
    connection->socket = socket;
    connection->peer = peer;
    connection->pidfd = peer_pidfd(fd);
    *place = connection;
    if (wire_stream_open(socket->event, fd, &handler, &connection->stream, &err) >= 0) {
        wire_stream_hold(connection->stream, false);
        return;
    }
    log_error(LOG_FAULT_US, "a guest cannot be served: %s", err.text);
    connection_free(connection);
}

int guest_socket_open(const char *path, gid_t group, struct guests *guests, sd_event *event,
                      struct guest_socket **ret_socket, struct err *err)
{
    struct guest_socket *socket = calloc(1, sizeof(*socket));
    if (!socket)
        return err_sys(err, ENOMEM, "the guests' socket");
    socket->guests = guests;
    socket->event = event;
    int r = unix_accept_open(event, path, group, on_connection, socket, &socket->listener, err);
    if (r < 0) {
        guest_socket_close(socket);
        return r;
    }
    *ret_socket = socket;
    return 0;
}

void guest_socket_close(struct guest_socket *socket)
{
    if (!socket)
        return;
    for (int i = 0; i < GUEST_CONNECTIONS; i++)
        if (socket->connections[i])
            connection_free(socket->connections[i]);
    unix_accept_close(socket->listener);
    free(socket);
}
