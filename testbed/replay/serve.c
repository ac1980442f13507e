#include "testbed/replay/serve.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "testbed/replay/exchange.h"
#include "testbed/replay/registry.h"

/* Content made per system call, and how much of it may wait unsent in a socket. */
enum { CHUNK_SIZE = 64 << 10, UNSENT_MAX = 128 << 10 };

struct peer {
    TAILQ_ENTRY(peer) entry;
    struct serve *serve;
    int fd;
    sd_event_source *io;
    uint8_t request[EXCHANGE_REQUEST_SIZE];
    size_t request_have;
    bool answering; /* `answer`, then the stream's rest, have to leave before the next request is
                       read */
    uint8_t answer[EXCHANGE_ANSWER_SIZE];
    size_t answer_sent;
    uint64_t seed, offset, end;
};
TAILQ_HEAD(peers, peer);

struct serve {
    sd_event *event;
    const char *registry;
    int fd;
    sd_event_source *io;
    uint16_t port;
    unsigned n_peers;
    struct peers peers;
    uint8_t chunk[CHUNK_SIZE];
};

static void peer_destroy(struct peer *peer)
{
    TAILQ_REMOVE(&peer->serve->peers, peer, entry);
    peer->serve->n_peers--;
    sd_event_source_disable_unref(peer->io);
    close(peer->fd);
    free(peer);
}

static struct exchange_answer decide_answer(const struct serve *serve,
                                            const struct exchange_request *request)
{
    const struct registry_output output = {request->key.job, request->key.stage, request->key.task,
                                           request->attempt};
    bool block =
        request->key.reader_stage == STREAM_BLOCK && request->key.reader_task == STREAM_BLOCK;
    if (!block && !registry_has(serve->registry, &output))
        return (struct exchange_answer){.status = EXCHANGE_MISSING};
    bool probe = request->kind == EXCHANGE_PROBE;
    return (struct exchange_answer){EXCHANGE_HERE, probe ? 0 : request->bytes - request->offset};
}

static void peer_answer(struct peer *peer)
{
    struct exchange_request request;
    struct exchange_answer answer = {.status = EXCHANGE_MALFORMED};
    if (exchange_decode_request(peer->request, &request)) {
        answer = decide_answer(peer->serve, &request);
        peer->seed = stream_seed(&request.key);
        peer->offset = request.offset;
    }
    peer->end = peer->offset + answer.bytes;
    exchange_encode_answer(&answer, peer->answer);
    peer->answer_sent = 0;
    peer->request_have = 0;
    peer->answering = true;
}

/* 1 when a request has arrived and is being answered, 0 when there is none yet, −errno when the
 * peer is gone. */
static int peer_read(struct peer *peer)
{
    ssize_t n = recv(peer->fd, peer->request + peer->request_have,
                     EXCHANGE_REQUEST_SIZE - peer->request_have, 0);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    if (n == 0)
        return -EPIPE;
    peer->request_have += (size_t)n;
    if (peer->request_have < EXCHANGE_REQUEST_SIZE)
        return 0;
    peer_answer(peer);
    return 1;
}

/* One call's worth of the answer: 1 when all of it has left, 0 when the socket takes no more for
 * now, −errno. */
static int peer_write(struct peer *peer)
{
    const uint8_t *bytes = peer->answer + peer->answer_sent;
    size_t size = EXCHANGE_ANSWER_SIZE - peer->answer_sent;
    int more = peer->end > peer->offset ? MSG_MORE : 0;
    if (size == 0) {
        uint64_t left = peer->end - peer->offset;
        size = left < CHUNK_SIZE ? (size_t)left : CHUNK_SIZE;
        stream_fill(peer->seed, peer->offset, peer->serve->chunk, size);
        bytes = peer->serve->chunk;
        more = 0;
    }
    ssize_t n = send(peer->fd, bytes, size, MSG_NOSIGNAL | more);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    if (peer->answer_sent < EXCHANGE_ANSWER_SIZE)
        peer->answer_sent += (size_t)n;
    else
        peer->offset += (uint64_t)n;
    peer->answering = peer->answer_sent < EXCHANGE_ANSWER_SIZE || peer->offset < peer->end;
    return (size_t)n == size;
}

/* A bounded number of steps, so that one fast peer does not keep the others waiting. */
static int peer_step(struct peer *peer)
{
    int r = 1;
    for (int steps = 0; r > 0 && steps < 16; steps++)
        r = peer->answering ? peer_write(peer) : peer_read(peer);
    if (r < 0)
        return r;
    return sd_event_source_set_io_events(peer->io, peer->answering ? EPOLLOUT : EPOLLIN);
}

static int on_peer(sd_event_source *s, int fd, uint32_t events, void *context)
{
    struct peer *peer = context;
    (void)s;
    (void)fd;
    (void)events;
    if (peer_step(peer) < 0)
        peer_destroy(peer);
    return 0;
}

static int peer_create(struct serve *serve, int fd)
{
    const int unsent = UNSENT_MAX;
    struct peer *peer = calloc(1, sizeof(*peer));
    if (!peer)
        return -ENOMEM;
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
    *peer = (struct peer){.serve = serve, .fd = fd};
    TAILQ_INSERT_TAIL(&serve->peers, peer, entry);
    serve->n_peers++;
    return sd_event_add_io(serve->event, &peer->io, fd, EPOLLIN, on_peer, peer);
}

static int on_listen(sd_event_source *s, int fd, uint32_t events, void *context)
{
    struct serve *serve = context;
    (void)s;
    (void)events;
    int peer = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (peer < 0)
        return 0;
    if (serve->n_peers == SERVE_CONNECTIONS_MAX || peer_create(serve, peer) == -ENOMEM)
        close(peer);
    return 0;
}

/* IPv6's any-address takes IPv4 too; a kernel without IPv6 has the other one only. */
static socklen_t make_any(int family, uint16_t port, struct sockaddr_storage *ret_address)
{
    struct sockaddr_in6 *v6 = (void *)ret_address;
    struct sockaddr_in *v4 = (void *)ret_address;
    memset(ret_address, 0, sizeof(*ret_address));
    ret_address->ss_family = (sa_family_t)family;
    if (family == AF_INET6)
        v6->sin6_port = htons(port);
    else
        v4->sin_port = htons(port);
    return family == AF_INET6 ? sizeof(*v6) : sizeof(*v4);
}

static int serve_listen(struct serve *serve, uint16_t port)
{
    struct sockaddr_storage address;
    const int on = 1, off = 0;
    int family = AF_INET6;
    serve->fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (serve->fd < 0 && errno == EAFNOSUPPORT) {
        family = AF_INET;
        serve->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    }
    socklen_t size = make_any(family, port, &address);
    if (serve->fd < 0 || setsockopt(serve->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
        return -errno;
    if (family == AF_INET6 &&
        setsockopt(serve->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0)
        return -errno;
    if (bind(serve->fd, (struct sockaddr *)&address, size) < 0 || listen(serve->fd, 4096) < 0 ||
        getsockname(serve->fd, (struct sockaddr *)&address, &size) < 0)
        return -errno;
    /* Both families have the port at the same place. */
    serve->port = ntohs(((struct sockaddr_in *)&address)->sin_port);
    return sd_event_add_io(serve->event, &serve->io, serve->fd, EPOLLIN, on_listen, serve);
}

int serve_create(sd_event *event, uint16_t port, const char *registry, struct serve **ret_serve,
                 struct err *err)
{
    struct serve *serve = calloc(1, sizeof(*serve));
    if (!serve)
        return err_sys(err, ENOMEM, "cannot start the replay server");
    *serve = (struct serve){.event = sd_event_ref(event), .registry = registry, .fd = -1};
    TAILQ_INIT(&serve->peers);
    int r = serve_listen(serve, port);
    if (r < 0) {
        serve_destroy(serve);
        return err_sys(err, -r, "cannot listen on port %u", port);
    }
    *ret_serve = serve;
    return 0;
}

uint16_t serve_port(const struct serve *serve)
{
    return serve->port;
}

void serve_destroy(struct serve *serve)
{
    if (!serve)
        return;
    while (!TAILQ_EMPTY(&serve->peers))
        peer_destroy(TAILQ_FIRST(&serve->peers));
    sd_event_source_disable_unref(serve->io);
    if (serve->fd >= 0)
        close(serve->fd);
    sd_event_unref(serve->event);
    free(serve);
}
