#include "lib/wire_zmq.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <zmq.h>

#define TOS_CS6      0xc0 /* RFC 2474: class selector 6, the control band */
#define BURST        256  /* messages handled before the loop's other sources have their turn */
#define PEER_BIT     (UINT64_C(1) << 32) /* so that no peer is 0 */
#define ADDRESS_SIZE 256

/* A message that waits for the DEALER's pipe. */
struct queued {
    TAILQ_ENTRY(queued) link;
    enum wire_class class;
    size_t length;
    uint8_t bytes[];
};
TAILQ_HEAD(queued_list, queued);

/* A ZeroMQ socket in the loop. ZMQ_FD is edge-triggered and also swallowed by our own sends:
 * whether something is to be done is asked again before each wait, and `again` makes the loop come
 * back without a wait. */
struct edge {
    void *socket;
    sd_event_source *io;
    sd_event_source *again;
    void (*drain)(struct wire_zmq *endpoint);
};

struct wire_zmq {
    sd_event *loop;
    struct wire_zmq_handler handler;
    struct wire_zmq_counters counters;
    void *context;
    int type; /* ZMQ_ROUTER or ZMQ_DEALER */
    struct edge data;
    struct edge monitor;        /* connection events; at a ROUTER for its door */
    unsigned generation;        /* of the socket, names its monitor */
    struct wire_zmq_door *door; /* ROUTER with limits */
    sd_event_source *tick;
    bool up;
    struct queued_list queue;
    size_t reports, results; /* in the queue */
    char address[ADDRESS_SIZE];
    duopoly_Envelope incoming;
    uint8_t outgoing[WIRE_MAX_BYTES];
};

static int zmq_fail(struct err *err, const char *what, const char *address)
{
    return err_set(err, zmq_errno(), "%s %s: %s", what, address, zmq_strerror(zmq_errno()));
}

static uint64_t now_usec(const struct wire_zmq *endpoint)
{
    uint64_t usec = 0;
    sd_event_now(endpoint->loop, CLOCK_MONOTONIC, &usec);
    return usec;
}

static int socket_events(void *socket)
{
    int events = 0;
    size_t size = sizeof(events);
    if (zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) < 0)
        return 0;
    return events;
}

static bool edge_has_work(const struct wire_zmq *endpoint, const struct edge *edge)
{
    int events = socket_events(edge->socket);
    return (events & ZMQ_POLLIN) ||
           (edge == &endpoint->data && (events & ZMQ_POLLOUT) && !TAILQ_EMPTY(&endpoint->queue));
}

static struct edge *edge_of(struct wire_zmq *endpoint, const sd_event_source *source)
{
    return source == endpoint->monitor.io || source == endpoint->monitor.again ? &endpoint->monitor
                                                                               : &endpoint->data;
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *user)
{
    (void)fd, (void)revents;
    edge_of(user, source)->drain(user);
    return 0;
}

static int on_again(sd_event_source *source, void *user)
{
    edge_of(user, source)->drain(user);
    return 0;
}

static int on_prepare(sd_event_source *source, void *user)
{
    struct edge *edge = edge_of(user, source);
    if (!edge_has_work(user, edge))
        return 0;
    return sd_event_source_set_enabled(edge->again, SD_EVENT_ONESHOT);
}

static void edge_remove(struct edge *edge)
{
    edge->io = sd_event_source_disable_unref(edge->io);
    edge->again = sd_event_source_disable_unref(edge->again);
    if (edge->socket)
        zmq_close(edge->socket);
    edge->socket = NULL;
}

static int edge_add(struct wire_zmq *endpoint, struct edge *edge)
{
    int fd, r;
    size_t size = sizeof(fd);
    if (zmq_getsockopt(edge->socket, ZMQ_FD, &fd, &size) < 0)
        return -zmq_errno();
    if ((r = sd_event_add_io(endpoint->loop, &edge->io, fd, EPOLLIN, on_io, endpoint)) < 0 ||
        (r = sd_event_source_set_prepare(edge->io, on_prepare)) < 0 ||
        (r = sd_event_add_defer(endpoint->loop, &edge->again, on_again, endpoint)) < 0)
        return r;
    /* A defer source is always the longest pending one: among equals it would starve timers and
     * other sockets. */
    return sd_event_source_set_priority(edge->again, SD_EVENT_PRIORITY_NORMAL + 1);
}

static bool has_more(void *socket)
{
    int more = 0;
    size_t size = sizeof(more);
    return zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size) == 0 && more;
}

static void rest_drop(void *socket)
{
    while (has_more(socket) && zmq_recv(socket, NULL, 0, ZMQ_DONTWAIT) >= 0)
        ;
}

/* The number in a routing id that ROUTER made (a zero byte and 32 bits); 0 for what a peer chose
 * for itself. */
static uint64_t peer_number(const zmq_msg_t *id)
{
    uint32_t number;
    const uint8_t *bytes = zmq_msg_data((zmq_msg_t *)id);
    if (zmq_msg_size(id) != 5 || bytes[0] != 0)
        return 0;
    memcpy(&number, bytes + 1, sizeof(number));
    return number | PEER_BIT;
}

static void message_hand_over(struct wire_zmq *endpoint, uint64_t peer, zmq_msg_t *message)
{
    struct err err;
    const char *identity = zmq_msg_gets(message, "User-Id");
    endpoint->counters.received++;
    if (wire_decode(zmq_msg_data(message), zmq_msg_size(message), &endpoint->incoming, &err) < 0) {
        endpoint->counters.malformed++;
        endpoint->handler.on_malformed(endpoint->handler.user, peer, &err);
        return;
    }
    if (endpoint->door)
        wire_zmq_door_heard(endpoint->door, zmq_msg_get(message, ZMQ_SRCFD), now_usec(endpoint));
    endpoint->handler.on_message(endpoint->handler.user, peer,
                                 identity && *identity ? identity : NULL, &endpoint->incoming);
}

/* Receives one message of one frame behind, at a ROUTER, the peer's. False if there was none. */
static bool message_receive(struct wire_zmq *endpoint)
{
    zmq_msg_t frame;
    uint64_t peer = 0;
    zmq_msg_init(&frame);
    bool came = zmq_msg_recv(&frame, endpoint->data.socket, ZMQ_DONTWAIT) >= 0;
    bool well = came;
    if (came && endpoint->type == ZMQ_ROUTER) {
        peer = peer_number(&frame);
        well = peer && has_more(endpoint->data.socket) &&
               zmq_msg_recv(&frame, endpoint->data.socket, ZMQ_DONTWAIT) >= 0;
    }
    if (came && (!well || has_more(endpoint->data.socket))) {
        well = false;
        endpoint->counters.malformed++;
        rest_drop(endpoint->data.socket);
    }
    if (well)
        message_hand_over(endpoint, peer, &frame);
    zmq_msg_close(&frame);
    return came;
}

static void queue_remove(struct wire_zmq *endpoint, struct queued *message)
{
    TAILQ_REMOVE(&endpoint->queue, message, link);
    *(message->class == WIRE_REPORT ? &endpoint->reports : &endpoint->results) -= 1;
    free(message);
}

static void queue_clear(struct wire_zmq *endpoint)
{
    struct queued *message;
    while ((message = TAILQ_FIRST(&endpoint->queue)))
        queue_remove(endpoint, message);
}

static void oldest_report_drop(struct wire_zmq *endpoint)
{
    struct queued *message;
    TAILQ_FOREACH (message, &endpoint->queue, link) {
        if (message->class != WIRE_REPORT)
            continue;
        endpoint->counters.dropped_reports++;
        queue_remove(endpoint, message);
        return;
    }
}

static int queue_append(struct wire_zmq *endpoint, enum wire_class class, const uint8_t *bytes,
                        size_t length)
{
    if (class == WIRE_RESULT && endpoint->results >= DEALER_RESULTS)
        return -ENOBUFS;
    if (class == WIRE_REPORT && endpoint->reports >= DEALER_REPORTS)
        oldest_report_drop(endpoint);
    struct queued *message = malloc(sizeof(*message) + length);
    if (!message)
        return -ENOBUFS;
    message->class = class;
    message->length = length;
    memcpy(message->bytes, bytes, length);
    TAILQ_INSERT_TAIL(&endpoint->queue, message, link);
    *(class == WIRE_REPORT ? &endpoint->reports : &endpoint->results) += 1;
    return 0;
}

static bool queue_flush_one(struct wire_zmq *endpoint)
{
    struct queued *message = TAILQ_FIRST(&endpoint->queue);
    if (!message ||
        zmq_send(endpoint->data.socket, message->bytes, message->length, ZMQ_DONTWAIT) < 0)
        return false;
    endpoint->counters.sent++;
    queue_remove(endpoint, message);
    return true;
}

static void data_drain(struct wire_zmq *endpoint)
{
    for (int i = 0; i < BURST; i++) {
        bool flushed = queue_flush_one(endpoint);
        if (!message_receive(endpoint) && !flushed)
            return;
    }
}

static int send_refused(struct wire_zmq *endpoint)
{
    endpoint->counters.unreachable++;
    return zmq_errno() == EAGAIN ? -ENOBUFS : -EHOSTUNREACH;
}

static int router_send(struct wire_zmq *endpoint, uint64_t peer, size_t length)
{
    uint8_t id[5] = {0};
    uint32_t number = (uint32_t)peer;
    memcpy(id + 1, &number, sizeof(number));
    if (zmq_send(endpoint->data.socket, id, sizeof(id), ZMQ_DONTWAIT | ZMQ_SNDMORE) < 0 ||
        zmq_send(endpoint->data.socket, endpoint->outgoing, length, ZMQ_DONTWAIT) < 0)
        return send_refused(endpoint);
    endpoint->counters.sent++;
    return 0;
}

static int dealer_send(struct wire_zmq *endpoint, enum wire_class class, size_t length)
{
    if (!endpoint->up)
        return -ENOTCONN;
    /* What waits already goes first: the order of a session is kept. */
    if (!TAILQ_EMPTY(&endpoint->queue) ||
        zmq_send(endpoint->data.socket, endpoint->outgoing, length, ZMQ_DONTWAIT) < 0)
        return queue_append(endpoint, class, endpoint->outgoing, length);
    endpoint->counters.sent++;
    return 0;
}

int wire_zmq_send(struct wire_zmq *endpoint, uint64_t peer, enum wire_class class,
                  const duopoly_Envelope *envelope)
{
    size_t length;
    int r = wire_encode(envelope, endpoint->outgoing, sizeof(endpoint->outgoing), &length, NULL);
    if (r < 0)
        return r;
    return endpoint->type == ZMQ_ROUTER ? router_send(endpoint, peer, length)
                                        : dealer_send(endpoint, class, length);
}

/* Reads one event: a frame with its number and value, a frame with the address. 0 if there was
 * none. */
static int monitor_event(void *socket, int32_t *ret_value)
{
    zmq_msg_t frame;
    uint16_t event = 0;
    zmq_msg_init(&frame);
    if (zmq_msg_recv(&frame, socket, ZMQ_DONTWAIT) >= (int)(sizeof(event) + sizeof(*ret_value))) {
        memcpy(&event, zmq_msg_data(&frame), sizeof(event));
        memcpy(ret_value, (char *)zmq_msg_data(&frame) + sizeof(event), sizeof(*ret_value));
    }
    zmq_msg_close(&frame);
    rest_drop(socket);
    return event;
}

static void door_drain(struct wire_zmq *endpoint)
{
    int event;
    int32_t value;
    while ((event = monitor_event(endpoint->monitor.socket, &value)))
        wire_zmq_door_event(endpoint->door, event, value, now_usec(endpoint));
}

static void monitor_drain(struct wire_zmq *endpoint)
{
    int event;
    int32_t value;
    while ((event = monitor_event(endpoint->monitor.socket, &value))) {
        bool up = event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
        if (up == endpoint->up)
            continue;
        endpoint->up = up;
        queue_clear(endpoint);
        if (up)
            endpoint->handler.on_up(endpoint->handler.user);
        else
            endpoint->handler.on_down(endpoint->handler.user);
    }
}

/* Without a high-water mark: at one, ZeroMQ's own thread would wait for us. */
static int monitor_open(struct wire_zmq *endpoint, int events,
                        void (*drain)(struct wire_zmq *endpoint))
{
    const int unlimited = 0;
    char name[64];
    snprintf(name, sizeof(name), "inproc://connection-%u", endpoint->generation++);
    endpoint->monitor.drain = drain;
    endpoint->monitor.socket = zmq_socket(endpoint->context, ZMQ_PAIR);
    if (!endpoint->monitor.socket ||
        zmq_setsockopt(endpoint->monitor.socket, ZMQ_RCVHWM, &unlimited, sizeof(unlimited)) < 0 ||
        zmq_socket_monitor(endpoint->data.socket, name, events) < 0 ||
        zmq_connect(endpoint->monitor.socket, name) < 0)
        return -zmq_errno();
    return edge_add(endpoint, &endpoint->monitor);
}

static const struct option {
    int type; /* 0: both */
    int name;
    int value;
} options[] = {
    {0, ZMQ_LINGER, 0},
    {0, ZMQ_IMMEDIATE, 1},
    {0, ZMQ_TOS, TOS_CS6},
    {0, ZMQ_BACKLOG, 1024},
    {ZMQ_ROUTER, ZMQ_ROUTER_MANDATORY, 1},
    {ZMQ_ROUTER, ZMQ_SNDHWM, ROUTER_QUEUE},
    {ZMQ_ROUTER, ZMQ_RCVHWM, ROUTER_QUEUE},
    {ZMQ_DEALER, ZMQ_SNDHWM, DEALER_PIPE},
    {ZMQ_DEALER, ZMQ_RCVHWM, ROUTER_QUEUE},
    {ZMQ_DEALER, ZMQ_RECONNECT_IVL, 100},
    {ZMQ_DEALER, ZMQ_RECONNECT_IVL_MAX, 2000},
    {ZMQ_DEALER, ZMQ_CONNECT_TIMEOUT, 5000},
};

static int options_set(const struct wire_zmq *endpoint)
{
    int64_t most = WIRE_MAX_BYTES;
    int ipv6 = strchr(endpoint->address, '[') != NULL;
    if (zmq_setsockopt(endpoint->data.socket, ZMQ_MAXMSGSIZE, &most, sizeof(most)) < 0 ||
        zmq_setsockopt(endpoint->data.socket, ZMQ_IPV6, &ipv6, sizeof(ipv6)) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if ((!options[i].type || options[i].type == endpoint->type) &&
            zmq_setsockopt(endpoint->data.socket, options[i].name, &options[i].value, sizeof(int)) <
                0)
            return -1;
    return 0;
}

static int data_open(struct wire_zmq *endpoint)
{
    endpoint->data.drain = data_drain;
    endpoint->data.socket = zmq_socket(endpoint->context, endpoint->type);
    if (!endpoint->data.socket || options_set(endpoint) < 0)
        return -zmq_errno();
    return edge_add(endpoint, &endpoint->data);
}

static int endpoint_create(sd_event *loop, int type, const char *address,
                           const struct wire_zmq_handler *handler, struct wire_zmq **ret_endpoint,
                           struct err *err)
{
    if (strlen(address) >= ADDRESS_SIZE)
        return err_set(err, EINVAL, "the address '%s' is too long", address);
    struct wire_zmq *endpoint = calloc(1, sizeof(*endpoint));
    if (!endpoint)
        return err_sys(err, ENOMEM, "%s", address);
    endpoint->loop = sd_event_ref(loop);
    endpoint->handler = *handler;
    endpoint->type = type;
    strcpy(endpoint->address, address);
    TAILQ_INIT(&endpoint->queue);
    endpoint->context = zmq_ctx_new();
    int r = endpoint->context ? data_open(endpoint) : -zmq_errno();
    if (r < 0) {
        wire_zmq_close(endpoint);
        return err_sys(err, -r, "no socket for %s", address);
    }
    *ret_endpoint = endpoint;
    return 0;
}

static int on_tick(sd_event_source *source, uint64_t usec, void *user)
{
    const struct wire_zmq *endpoint = user;
    (void)usec;
    wire_zmq_door_tick(endpoint->door, now_usec(endpoint));
    return sd_event_source_set_time_relative(source, DOOR_TICK_USEC);
}

static int door_open(struct wire_zmq *endpoint, const struct wire_zmq_limits *limits)
{
    endpoint->door = wire_zmq_door_open(limits);
    int r = endpoint->door ? 0 : -ENOMEM;
    if (r == 0)
        r = monitor_open(endpoint,
                         ZMQ_EVENT_LISTENING | ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED,
                         door_drain);
    if (r >= 0)
        r = sd_event_add_time_relative(endpoint->loop, &endpoint->tick, CLOCK_MONOTONIC,
                                       DOOR_TICK_USEC, 0, on_tick, endpoint);
    return r < 0 ? r : sd_event_source_set_enabled(endpoint->tick, SD_EVENT_ON);
}

int wire_zmq_listen(sd_event *loop, const char *address, const struct wire_zmq_limits *limits,
                    const struct wire_zmq_handler *handler, struct wire_zmq **ret_endpoint,
                    struct err *err)
{
    struct wire_zmq *endpoint;
    size_t size = ADDRESS_SIZE;
    int r = endpoint_create(loop, ZMQ_ROUTER, address, handler, &endpoint, err);
    if (r < 0)
        return r;
    if (limits && (r = door_open(endpoint, limits)) < 0) {
        wire_zmq_close(endpoint);
        return err_sys(err, -r, "cannot watch the connections of %s", address);
    }
    if (zmq_bind(endpoint->data.socket, address) < 0 ||
        zmq_getsockopt(endpoint->data.socket, ZMQ_LAST_ENDPOINT, endpoint->address, &size) < 0) {
        r = zmq_fail(err, "cannot listen on", address);
        wire_zmq_close(endpoint);
        return r;
    }
    *ret_endpoint = endpoint;
    return 0;
}

static int dealer_connect(struct wire_zmq *endpoint, struct err *err)
{
    int r = monitor_open(endpoint, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED,
                         monitor_drain);
    if (r < 0)
        return err_sys(err, -r, "cannot watch the connection to %s", endpoint->address);
    if (zmq_connect(endpoint->data.socket, endpoint->address) < 0)
        return zmq_fail(err, "cannot connect to", endpoint->address);
    return 0;
}

int wire_zmq_connect(sd_event *loop, const char *address, const struct wire_zmq_handler *handler,
                     struct wire_zmq **ret_endpoint, struct err *err)
{
    struct wire_zmq *endpoint;
    int r = endpoint_create(loop, ZMQ_DEALER, address, handler, &endpoint, err);
    if (r < 0)
        return r;
    if ((r = dealer_connect(endpoint, err)) < 0) {
        wire_zmq_close(endpoint);
        return r;
    }
    *ret_endpoint = endpoint;
    return 0;
}

static void sockets_close(struct wire_zmq *endpoint)
{
    if (endpoint->monitor.socket)
        zmq_socket_monitor(endpoint->data.socket, NULL, 0);
    edge_remove(&endpoint->monitor);
    edge_remove(&endpoint->data);
    queue_clear(endpoint);
    endpoint->up = false;
}

int wire_zmq_reconnect(struct wire_zmq *endpoint, struct err *err)
{
    sockets_close(endpoint);
    int r = data_open(endpoint);
    if (r < 0)
        return err_sys(err, -r, "no socket for %s", endpoint->address);
    return dealer_connect(endpoint, err);
}

const char *wire_zmq_address(const struct wire_zmq *endpoint)
{
    return endpoint->address;
}

const struct wire_zmq_counters *wire_zmq_counters(const struct wire_zmq *endpoint)
{
    return &endpoint->counters;
}

const struct wire_zmq_door_counters *wire_zmq_connections(const struct wire_zmq *endpoint)
{
    return wire_zmq_door_counters(endpoint->door);
}

void wire_zmq_close(struct wire_zmq *endpoint)
{
    if (!endpoint)
        return;
    sd_event_source_disable_unref(endpoint->tick);
    sockets_close(endpoint);
    wire_zmq_door_close(endpoint->door);
    if (endpoint->context)
        zmq_ctx_term(endpoint->context);
    sd_event_unref(endpoint->loop);
    free(endpoint);
}
