#include "lib/wire_unix.h"

#include "lib/invariant.h"
#include "lib/places.h"
#include "lib/unix_listen.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define GROUPS_MAX 1024
#define TICK_USEC  1000000u /* at most */

struct packet {
    STAILQ_ENTRY(packet) link;
    size_t length;
    uint8_t bytes[];
};

struct client {
    struct wire_unix *server;
    uint64_t id; /* generation · UNIX_CLIENTS + place */
    int fd;
    sd_event_source *io;
    STAILQ_HEAD(, packet) queue;
    size_t queued;
    bool ending; /* to be closed when the queue is empty */
    bool watching;
    bool held; /* not read */
    enum wire_unix_standing standing;
    uid_t uid;
    uint64_t moved_usec; /* when it last asked or took something */
};

struct wire_unix {
    sd_event *loop;
    struct wire_unix_handler handler;
    struct wire_unix_counters counters;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    uid_t owner;
    gid_t members, readers; /* (gid_t)-1: none */
    int fd;
    sd_event_source *io, *tick;
    uint64_t idle_usec, tick_usec;
    struct client *clients[UNIX_CLIENTS];
    struct places places;
    uint64_t generation;
    duopoly_Envelope incoming, refusal;
    uint8_t buffer[WIRE_MAX_BYTES + 1];
};

static struct client *client_find(const struct wire_unix *server, uint64_t id)
{
    struct client *client = server->clients[id % UNIX_CLIENTS];
    return client && client->id == id ? client : NULL;
}

static enum place_rank rank_of(enum wire_unix_standing standing)
{
    return standing == UNIX_ROOT     ? RANK_ADMINISTERS
           : standing == UNIX_MEMBER ? RANK_OPERATES
                                     : RANK_LOOKS;
}

static void client_free(struct client *client)
{
    struct packet *packet;
    while ((packet = STAILQ_FIRST(&client->queue))) {
        STAILQ_REMOVE_HEAD(&client->queue, link);
        free(packet);
    }
    sd_event_source_disable_unref(client->io);
    close(client->fd);
    client->server->clients[client->id % UNIX_CLIENTS] = NULL;
    assert(client->server->places.taken[rank_of(client->standing)] > 0);
    client->server->places.taken[rank_of(client->standing)]--;
    free(client);
}

static void client_end(struct client *client)
{
    struct wire_unix *server = client->server;
    uint64_t id = client->id;
    client_free(client);
    server->handler.on_close(server->handler.user, id);
}

static void client_moved(struct client *client)
{
    sd_event_now(client->server->loop, CLOCK_MONOTONIC, &client->moved_usec);
}

/* While answers wait, it waits only until they can be sent. */
static void client_rearm(struct client *client)
{
    sd_event_source_set_io_events(client->io, client->queued ? EPOLLOUT
                                              : client->held ? 0
                                                             : EPOLLIN);
}

static int packet_send(struct client *client, const uint8_t *bytes, size_t length)
{
    if (send(client->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return -errno;
    client->server->counters.sent++;
    return 0;
}

static int packet_queue(struct client *client, const uint8_t *bytes, size_t length)
{
    struct packet *packet = NULL;
    if (client->queued < UNIX_QUEUE)
        packet = malloc(sizeof(*packet) + length);
    if (!packet)
        return -ENOBUFS;
    packet->length = length;
    memcpy(packet->bytes, bytes, length);
    STAILQ_INSERT_TAIL(&client->queue, packet, link);
    client->queued++;
    client_rearm(client);
    return 0;
}

/* Shutting down makes the loop see the end: nothing is freed under a caller's feet. */
static void client_break(struct client *client)
{
    client->ending = true;
    shutdown(client->fd, SHUT_RDWR);
}

int wire_unix_peer(const struct wire_unix *server, uint64_t id, struct wire_unix_peer *ret_peer)
{
    const struct client *client = client_find(server, id);
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (!client || getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return -EHOSTUNREACH;
    *ret_peer = (struct wire_unix_peer){peer.uid, peer.pid, client->standing};
    return 0;
}

int wire_unix_send(struct wire_unix *server, uint64_t id, const duopoly_Envelope *envelope)
{
    struct client *client = client_find(server, id);
    size_t length;
    if (!client || client->ending)
        return -EHOSTUNREACH;
    int r = wire_encode(envelope, server->buffer, sizeof(server->buffer), &length, NULL);
    if (r < 0)
        return r;
    r = client->queued ? -EAGAIN : packet_send(client, server->buffer, length);
    if (r == -EAGAIN)
        r = packet_queue(client, server->buffer, length);
    if (r == -ENOBUFS)
        server->counters.slow_clients++;
    if (r < 0)
        client_break(client);
    return r;
}

void wire_unix_watch(struct wire_unix *server, uint64_t id)
{
    struct client *client = client_find(server, id);
    if (client)
        client->watching = true;
}

bool wire_unix_has_room(const struct wire_unix *server, uint64_t id)
{
    const struct client *client = client_find(server, id);
    return client && !client->queued && !client->ending;
}

void wire_unix_hold(struct wire_unix *server, uint64_t id, bool hold)
{
    struct client *client = client_find(server, id);
    if (!client)
        return;
    client->held = hold;
    client_moved(client);
    client_rearm(client);
}

void wire_unix_disconnect(struct wire_unix *server, uint64_t id)
{
    struct client *client = client_find(server, id);
    if (!client)
        return;
    client->ending = true;
    if (!client->queued)
        client_break(client);
}

static void client_refuse(struct client *client, duopoly_Reason reason, const char *text)
{
    duopoly_Envelope *answer = wire_begin(&client->server->refusal, duopoly_Envelope_refused_tag);
    answer->body.refused.reason = reason;
    wire_copy(answer->body.refused.text, sizeof(answer->body.refused.text), text);
    wire_unix_send(client->server, client->id, answer);
    wire_unix_disconnect(client->server, client->id);
}

static void client_flush(struct client *client)
{
    struct packet *packet;
    while ((packet = STAILQ_FIRST(&client->queue))) {
        int r = packet_send(client, packet->bytes, packet->length);
        if (r == -EAGAIN)
            return;
        if (r < 0) {
            client_break(client);
            return;
        }
        STAILQ_REMOVE_HEAD(&client->queue, link);
        client->queued--;
        client_moved(client);
        free(packet);
    }
    client_rearm(client);
    if (client->ending)
        client_break(client);
    else if (client->server->handler.on_room)
        client->server->handler.on_room(client->server->handler.user, client->id);
}

/* False: the client is at its end. */
static bool client_read(struct client *client)
{
    struct wire_unix *server = client->server;
    const struct wire_unix_handler *handler = &server->handler;
    struct err err;
    if (handler->on_ready && !handler->on_ready(handler->user, client->id))
        return true;
    ssize_t length = recv(client->fd, server->buffer, sizeof(server->buffer), MSG_DONTWAIT);
    if (length <= 0)
        return length < 0 && (errno == EAGAIN || errno == EINTR);
    server->counters.received++;
    client_moved(client);
    if (wire_decode(server->buffer, (size_t)length, &server->incoming, &err) < 0) {
        server->counters.malformed++;
        client_refuse(client, duopoly_Reason_REASON_MALFORMED, err.text);
        return true;
    }
    handler->on_message(handler->user, client->id, &server->incoming);
    return true;
}

void wire_unix_take(struct wire_unix *server, uint64_t id)
{
    struct client *client = client_find(server, id);
    if (client && !client->held && !client->queued && !client->ending)
        client_read(client); /* an end is left to the loop */
}

static int on_client(sd_event_source *source, int fd, uint32_t revents, void *user)
{
    struct client *client = user;
    (void)source, (void)fd;
    if ((client->ending || client->held) && (revents & EPOLLHUP))
        client_end(client);
    else if (revents & EPOLLOUT)
        client_flush(client);
    else if ((revents & (EPOLLIN | EPOLLHUP | EPOLLERR)) && !client_read(client))
        client_end(client);
    return 0;
}

static bool in_group(int fd, gid_t primary, gid_t group)
{
    gid_t groups[GROUPS_MAX];
    socklen_t size = sizeof(groups);
    if (group == (gid_t)-1 || primary == group)
        return group != (gid_t)-1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
        return false;
    for (size_t i = 0; i < size / sizeof(gid_t); i++)
        if (groups[i] == group)
            return true;
    return false;
}

static enum wire_unix_standing standing_of(const struct wire_unix *server, int fd, uid_t *ret_uid)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    *ret_uid = (uid_t)-1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return UNIX_STRANGER;
    *ret_uid = peer.uid;
    if (peer.uid == 0 || peer.uid == server->owner)
        return UNIX_ROOT;
    return in_group(fd, peer.gid, server->members)   ? UNIX_MEMBER
           : in_group(fd, peer.gid, server->readers) ? UNIX_READER
                                                     : UNIX_STRANGER;
}

static int free_place(const struct wire_unix *server)
{
    int place = 0;
    while (server->clients[place])
        place++;
    return place;
}

/* Sent directly: there is no client to queue for. The socket's buffer takes one packet. */
static void stranger_refuse(struct wire_unix *server, int fd, duopoly_Reason reason,
                            const char *text)
{
    size_t length;
    duopoly_Envelope *answer = wire_begin(&server->refusal, duopoly_Envelope_refused_tag);
    answer->body.refused.reason = reason;
    wire_copy(answer->body.refused.text, sizeof(answer->body.refused.text), text);
    server->counters.refused_clients++;
    if (wire_encode(answer, server->buffer, sizeof(server->buffer), &length, NULL) == 0)
        send(fd, server->buffer, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    close(fd);
}

/* Why there is no place for one more of this user; NULL: there is. */
static const char *place_fault(const struct wire_unix *server, enum wire_unix_standing standing,
                               uid_t uid)
{
    uint32_t same = 0;
    for (int i = 0; i < UNIX_CLIENTS; i++)
        same += server->clients[i] && server->clients[i]->uid == uid;
    if (!places_left(&server->places, rank_of(standing)))
        return "too many clients are connected; try again when one has gone";
    return standing != UNIX_ROOT && same >= places_of_one(&server->places)
               ? "this user has too many connections already; try again when one has ended"
               : NULL;
}

static void client_add(struct wire_unix *server, int fd, enum wire_unix_standing standing,
                       uid_t uid)
{
    struct client *client = calloc(1, sizeof(*client));
    if (!client) {
        close(fd);
        return;
    }
    client->server = server;
    client->id = ++server->generation * UNIX_CLIENTS + (uint64_t)free_place(server);
    client->fd = fd;
    client->standing = standing;
    client->uid = uid;
    STAILQ_INIT(&client->queue);
    client_moved(client);
    server->clients[client->id % UNIX_CLIENTS] = client;
    server->places.taken[rank_of(standing)]++;
    if (sd_event_add_io(server->loop, &client->io, fd, EPOLLIN, on_client, client) < 0)
        client_free(client);
}

/* Without a pause, a listener without descriptors would use a whole processor. */
static void listening_pause(struct wire_unix *server, int code)
{
    if (code != EMFILE && code != ENFILE && code != ENOBUFS && code != ENOMEM)
        return;
    server->counters.pauses++;
    sd_event_source_set_enabled(server->io, SD_EVENT_OFF);
}

static int on_connection(sd_event_source *source, int listener, uint32_t revents, void *user)
{
    struct wire_unix *server = user;
    (void)source, (void)revents;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        listening_pause(server, errno);
        return 0;
    }
    uid_t uid;
    const char *fault;
    enum wire_unix_standing standing = standing_of(server, fd, &uid);
    if (standing == UNIX_STRANGER)
        stranger_refuse(server, fd, duopoly_Reason_REASON_PERMISSION,
                        "only root and members of the socket's groups may talk to this program");
    else if ((fault = place_fault(server, standing, uid)))
        stranger_refuse(server, fd, duopoly_Reason_REASON_LIMIT, fault);
    else
        client_add(server, fd, standing, uid);
    return 0;
}

static void idle_end(struct client *client, uint64_t now_usec)
{
    struct wire_unix *server = client->server;
    if (client->ending || client->held || (client->watching && !client->queued) ||
        now_usec - client->moved_usec < server->idle_usec)
        return;
    server->counters.idle_clients++;
    client_break(client);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *user)
{
    struct wire_unix *server = user;
    uint64_t now_usec;
    (void)usec;
    sd_event_now(server->loop, CLOCK_MONOTONIC, &now_usec);
    sd_event_source_set_enabled(server->io, SD_EVENT_ON);
    for (int i = 0; i < UNIX_CLIENTS; i++)
        if (server->clients[i])
            idle_end(server->clients[i], now_usec);
    return sd_event_source_set_time_relative(source, server->tick_usec);
}

static int loop_join(struct wire_unix *server)
{
    int r = sd_event_add_io(server->loop, &server->io, server->fd, EPOLLIN, on_connection, server);
    if (r >= 0)
        r = sd_event_add_time_relative(server->loop, &server->tick, CLOCK_MONOTONIC,
                                       server->tick_usec, 0, on_tick, server);
    return r < 0 ? r : sd_event_source_set_enabled(server->tick, SD_EVENT_ON);
}

void wire_unix_take_idle(struct wire_unix *server, uint64_t idle_ns)
{
    server->idle_usec = idle_ns / 1000;
    server->tick_usec = server->idle_usec / 4 < TICK_USEC ? server->idle_usec / 4 : TICK_USEC;
}

int wire_unix_listen(sd_event *loop, const char *path, const struct wire_unix_groups *groups,
                     uint64_t idle_ns, const struct wire_unix_handler *handler,
                     struct wire_unix **ret_server, struct err *err)
{
    struct wire_unix *server = calloc(1, sizeof(*server));
    if (!server)
        return err_sys(err, ENOMEM, "%s", path);
    server->loop = sd_event_ref(loop);
    server->handler = *handler;
    server->owner = geteuid();
    server->places.most = UNIX_CLIENTS;
    server->members = unix_group(groups->members);
    server->readers = unix_group(groups->readers);
    wire_unix_take_idle(server, idle_ns);
    server->fd = -1;
    const mode_t mode = server->readers != (gid_t)-1   ? 0666
                        : server->members != (gid_t)-1 ? 0660
                                                       : 0600;
    int r = unix_listen(path, SOCK_SEQPACKET, server->members, mode, &server->fd, err);
    if (r < 0)
        goto fail;
    strcpy(server->path, path);
    r = loop_join(server);
    if (r < 0) {
        err_sys(err, -r, "cannot listen on %s", path);
        goto fail;
    }
    *ret_server = server;
    return 0;
fail:
    wire_unix_close(server);
    return r;
}

const struct wire_unix_counters *wire_unix_counters(const struct wire_unix *server)
{
    return &server->counters;
}

void wire_unix_close(struct wire_unix *server)
{
    if (!server)
        return;
    for (int i = 0; i < UNIX_CLIENTS; i++)
        if (server->clients[i])
            client_free(server->clients[i]);
    sd_event_source_disable_unref(server->io);
    sd_event_source_disable_unref(server->tick);
    if (server->fd >= 0) {
        close(server->fd);
        unlink(server->path);
    }
    sd_event_unref(server->loop);
    free(server);
}
