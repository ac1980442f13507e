#include "lib/wire_zmq.h"
#include "lib/fnv1a.h"
#include "lib/wire_zmq_curve.h"
#include "lib/wire_zmq_dial.h"
#include "lib/wire_zmq_edge.h"
#include "lib/wire_zmq_queue.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#define TOS_CS6      0xc0    /* RFC 2474: class selector 6, the control band */
#define BURST        256     /* messages handled before the loop's other sources have their turn, */
#define BURST_NS     1000000 /* or this long, where messages take long */
#define EVENTS       16      /* of connections, handled before the next message has its turn */
#define PEER_BIT     (UINT64_C(1) << 32) /* so that no peer is 0 */
#define ADDRESS_SIZE 256

#define UNBIND_MS 1000
#define STRANGERS 4 /* failed handshakes that count as one failure */

struct wire_zmq {
    sd_event *loop;
    struct wire_zmq_handler handler;
    struct wire_zmq_counters counters;
    void *context;
    int type; /* ZMQ_ROUTER or ZMQ_DEALER */
    struct wire_zmq_edge data;
    struct wire_zmq_edge monitor; /* connection events; at a ROUTER for its door */
    unsigned generation;          /* of the socket, names its monitor */
    struct wire_zmq_door *door;   /* ROUTER with limits */
    struct wire_zmq_guard guard;  /* ROUTER; own NULL: all may enter */
    struct wire_zmq_zap *zap;
    struct key_file keys;       /* DEALER; without a name: none */
    int believed;               /* which of the controller's keys is tried */
    unsigned strangers;         /* in a row: handshakes that failed before we were refused */
    sd_event_source *tick;      /* of the door */
    struct wire_zmq_dial *dial; /* DEALER */
    bool up;                    /* DEALER */
    bool listening;             /* ROUTER with limits */
    uint64_t dropped; /* ROUTER: the peer whose message of several parts is being dropped */
    struct wire_zmq_queue queue;
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

static uint64_t hash_of(const char *user_id)
{
    return fnv1a(FNV1A_NOTHING, user_id, strlen(user_id));
}

static struct wire_zmq_origin message_origin(zmq_msg_t *message)
{
    return (struct wire_zmq_origin){.fd = zmq_msg_get(message, ZMQ_SRCFD),
                                    .handshake = wire_zmq_handshake_of(message)};
}

/* Notes over which connection it came. False: the sender is unknown, or has too many
 * connections. */
static bool message_sender_is_known(struct wire_zmq *endpoint, uint64_t peer, zmq_msg_t *message,
                                    const char *identity)
{
    const struct wire_zmq_origin origin = message_origin(message);
    if (endpoint->guard.own && !identity) {
        endpoint->counters.nameless++;
        wire_zmq_door_break(endpoint->door, origin);
        return false;
    }
    bool first = identity && wire_zmq_door_is_new(endpoint->door, origin);
    uint32_t most =
        first && endpoint->guard.most ? endpoint->guard.most(endpoint->guard.user, identity) : 0;
    return wire_zmq_door_heard(endpoint->door, origin, peer, identity ? hash_of(identity) : 0, most,
                               now_usec(endpoint));
}

static void message_hand_over(struct wire_zmq *endpoint, uint64_t peer, zmq_msg_t *message)
{
    struct err err;
    const char *identity = zmq_msg_gets(message, "User-Id");
    if (identity && !*identity)
        identity = NULL;
    endpoint->counters.received++;
    bool well =
        wire_decode(zmq_msg_data(message), zmq_msg_size(message), &endpoint->incoming, &err) == 0;
    if (endpoint->door && (well || endpoint->guard.own) &&
        !message_sender_is_known(endpoint, peer, message, identity))
        return;
    if (well) {
        endpoint->handler.on_message(endpoint->handler.user, peer, identity, &endpoint->incoming);
        return;
    }
    endpoint->counters.malformed++;
    endpoint->handler.on_malformed(endpoint->handler.user, peer, &err);
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
    wire_zmq_rest_drop(socket);
    return event;
}

/* Takes one event of a connection; false: there is none. */
static bool door_take(struct wire_zmq *endpoint)
{
    int32_t value;
    int event = monitor_event(endpoint->monitor.socket, &value);
    if (!event)
        return false;
    if ((event & WIRE_ZMQ_REFUSALS)) {
        endpoint->guard.refused(endpoint->guard.user, "", wire_zmq_refusal_words(event, value));
        return true;
    }
    if (event == ZMQ_EVENT_LISTENING || event == ZMQ_EVENT_CLOSED)
        endpoint->listening = event == ZMQ_EVENT_LISTENING;
    uint64_t gone = wire_zmq_door_event(endpoint->door, event, value, now_usec(endpoint));
    if (gone && endpoint->handler.on_gone)
        endpoint->handler.on_gone(endpoint->handler.user, gone, false);
    return true;
}

/* Handles some: peers that come and go in crowds must not delay messages. */
static void door_drain(void *user)
{
    for (int i = 0; i < EVENTS && door_take(user); i++)
        ;
}

/* A message comes after the event of its connection: its descriptor is known by then. */
static void door_catch_up(struct wire_zmq *endpoint, zmq_msg_t *message)
{
    int fd = zmq_msg_get(message, ZMQ_SRCFD);
    while (!wire_zmq_door_knows(endpoint->door, fd) && door_take(endpoint))
        ;
}

/* Whether its connection brings more than it may. */
static bool message_is_flood(struct wire_zmq *endpoint, uint64_t peer, zmq_msg_t *frame)
{
    if (!endpoint->door)
        return false;
    door_catch_up(endpoint, frame);
    enum wire_zmq_verdict verdict =
        wire_zmq_door_judge(endpoint->door, message_origin(frame), now_usec(endpoint));
    if (verdict == DOOR_FLOOD && endpoint->handler.on_flood)
        endpoint->handler.on_flood(endpoint->handler.user, peer);
    return verdict != DOOR_TAKE;
}

/* Our programs never send messages of several parts. Each part counts as a message, and others get
 * their turn in between. */
static bool part_drop(struct wire_zmq *endpoint)
{
    zmq_msg_t part;
    zmq_msg_init(&part);
    bool came = zmq_msg_recv(&part, endpoint->data.socket, ZMQ_DONTWAIT) >= 0;
    if (came)
        message_is_flood(endpoint, endpoint->dropped, &part);
    zmq_msg_close(&part);
    return came;
}

/* Receives one message of one frame behind, at a ROUTER, the peer's, or a part of one that is
 * dropped. False if there was none. */
static bool message_receive(struct wire_zmq *endpoint)
{
    if (wire_zmq_has_more(endpoint->data.socket))
        return part_drop(endpoint);
    zmq_msg_t frame;
    uint64_t peer = 0;
    zmq_msg_init(&frame);
    bool came = zmq_msg_recv(&frame, endpoint->data.socket, ZMQ_DONTWAIT) >= 0;
    bool well = came;
    if (came && endpoint->type == ZMQ_ROUTER) {
        peer = peer_number(&frame);
        well = peer && wire_zmq_has_more(endpoint->data.socket) &&
               zmq_msg_recv(&frame, endpoint->data.socket, ZMQ_DONTWAIT) >= 0;
    }
    if (came && message_is_flood(endpoint, peer, &frame)) {
        well = false;
    } else if (came && (!well || wire_zmq_has_more(endpoint->data.socket))) {
        well = false;
        endpoint->counters.malformed++;
    }
    endpoint->dropped = peer;
    if (well)
        message_hand_over(endpoint, peer, &frame);
    zmq_msg_close(&frame);
    return came;
}

static bool queue_flush_one(struct wire_zmq *endpoint)
{
    struct wire_zmq_queued *message = wire_zmq_queue_first(&endpoint->queue);
    if (!message ||
        zmq_send(endpoint->data.socket, message->bytes, message->length, ZMQ_DONTWAIT) < 0)
        return false;
    endpoint->counters.sent++;
    wire_zmq_queue_remove(&endpoint->queue, message);
    return true;
}

static bool waits_to_send(const void *user)
{
    const struct wire_zmq *endpoint = user;
    return wire_zmq_queue_first(&endpoint->queue) != NULL;
}

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void data_drain(void *user)
{
    struct wire_zmq *endpoint = user;
    const int64_t until_ns = monotonic_ns() + BURST_NS;
    for (int i = 0; i < BURST && (i == 0 || monotonic_ns() < until_ns); i++) {
        if (endpoint->door)
            door_drain(endpoint);
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
    if (wire_zmq_queue_first(&endpoint->queue) ||
        zmq_send(endpoint->data.socket, endpoint->outgoing, length, ZMQ_DONTWAIT) < 0)
        return wire_zmq_queue_append(&endpoint->queue, class, endpoint->outgoing, length,
                                     &endpoint->counters.dropped_reports);
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

static void sockets_close(struct wire_zmq *endpoint)
{
    if (endpoint->monitor.socket)
        zmq_socket_monitor(endpoint->data.socket, NULL, 0);
    wire_zmq_edge_remove(&endpoint->monitor);
    wire_zmq_edge_remove(&endpoint->data);
    wire_zmq_queue_clear(&endpoint->queue);
    endpoint->up = false;
}

/* Whether the next try may succeed: with the controller's other key, or since the controller was
 * just starting or ending. */
static bool handshake_is_tried_again(struct wire_zmq *endpoint)
{
    if (*endpoint->keys.controllers[1])
        endpoint->believed = !endpoint->believed;
    if (++endpoint->strangers < STRANGERS)
        return true;
    endpoint->strangers = 0;
    return false;
}

static const char *stranger_words(const struct wire_zmq *endpoint)
{
    return *endpoint->keys.name
               ? "the listener there ends the handshake: it does not hold the controller's key "
                 "that "
                 "is believed here, takes no more connections from here now, or is no duopolyd"
               : "the listener there ends the handshake: it asks for a key and none is configured, "
                 "or is no duopolyd";
}

/* libzmq would retry ten times a second with the same key, or never. */
static void handshake_refused(struct wire_zmq *endpoint, int event)
{
    bool known = event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    sockets_close(endpoint);
    if (known && endpoint->handler.on_refused)
        endpoint->handler.on_refused(endpoint->handler.user);
    if (known || handshake_is_tried_again(endpoint))
        wire_zmq_dial_again(endpoint->dial);
    else
        wire_zmq_dial_failed(endpoint->dial, stranger_words(endpoint));
}

static void connection_stands(struct wire_zmq *endpoint)
{
    endpoint->up = true;
    endpoint->strangers = 0;
    wire_zmq_dial_stands(endpoint->dial);
    wire_zmq_queue_clear(&endpoint->queue);
    endpoint->handler.on_up(endpoint->handler.user);
}

/* We make another one: libzmq would not try the name's other addresses. */
static void connection_over(struct wire_zmq *endpoint)
{
    bool stood = endpoint->up;
    if (stood)
        data_drain(endpoint); /* what came before the end */
    sockets_close(endpoint);
    if (!stood) {
        wire_zmq_dial_failed(endpoint->dial, NULL);
        return;
    }
    wire_zmq_dial_again(endpoint->dial);
    endpoint->handler.on_down(endpoint->handler.user);
}

static void monitor_drain(void *user)
{
    struct wire_zmq *endpoint = user;
    int event;
    int32_t value;
    while (endpoint->monitor.socket && (event = monitor_event(endpoint->monitor.socket, &value))) {
        if ((event & WIRE_ZMQ_REFUSALS))
            handshake_refused(endpoint, event);
        else if (event != ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
            connection_over(endpoint);
        else if (!endpoint->up)
            connection_stands(endpoint);
    }
}

/* Without a high-water mark: at one, ZeroMQ's own thread would wait for us. */
static int monitor_open(struct wire_zmq *endpoint, int events, void (*drain)(void *user))
{
    const int unlimited = 0;
    char name[64];
    snprintf(name, sizeof(name), "inproc://connection-%u", endpoint->generation++);
    endpoint->monitor.drain = drain;
    endpoint->monitor.user = endpoint;
    endpoint->monitor.socket = zmq_socket(endpoint->context, ZMQ_PAIR);
    if (!endpoint->monitor.socket ||
        zmq_setsockopt(endpoint->monitor.socket, ZMQ_RCVHWM, &unlimited, sizeof(unlimited)) < 0 ||
        zmq_socket_monitor(endpoint->data.socket, name, events) < 0 ||
        zmq_connect(endpoint->monitor.socket, name) < 0)
        return -zmq_errno();
    return wire_zmq_edge_add(&endpoint->monitor, endpoint->loop);
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
    {ZMQ_ROUTER, ZMQ_RCVHWM, WIRE_RECEIVE},
    {ZMQ_ROUTER, ZMQ_TCP_MAXRT, ROUTER_STUCK_MS},
    {ZMQ_DEALER, ZMQ_SNDHWM, DEALER_PIPE},
    {ZMQ_DEALER, ZMQ_RCVHWM, ROUTER_QUEUE},
    {ZMQ_DEALER, ZMQ_RECONNECT_IVL, 2 * DIAL_CONNECT_MS}, /* told, never done: wire_zmq_dial.h */
    {ZMQ_DEALER, ZMQ_CONNECT_TIMEOUT, DIAL_CONNECT_MS},
};

static int options_set(const struct wire_zmq *endpoint)
{
    int64_t most = WIRE_MAX_BYTES;
    if (zmq_setsockopt(endpoint->data.socket, ZMQ_MAXMSGSIZE, &most, sizeof(most)) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if ((!options[i].type || options[i].type == endpoint->type) &&
            zmq_setsockopt(endpoint->data.socket, options[i].name, &options[i].value, sizeof(int)) <
                0)
            return -1;
    return 0;
}

static int keys_show(const struct wire_zmq *endpoint)
{
    const struct key_file *keys = &endpoint->keys;
    if (!*keys->name)
        return 0;
    return wire_zmq_curve_show(endpoint->data.socket, &keys->pair,
                               keys->controllers[endpoint->believed]);
}

static int data_open(struct wire_zmq *endpoint)
{
    endpoint->data.drain = data_drain;
    endpoint->data.wants_to_send = waits_to_send;
    endpoint->data.user = endpoint;
    endpoint->data.socket = zmq_socket(endpoint->context, endpoint->type);
    if (!endpoint->data.socket || options_set(endpoint) < 0 || keys_show(endpoint) < 0)
        return -zmq_errno();
    return wire_zmq_edge_add(&endpoint->data, endpoint->loop);
}

static int endpoint_create(sd_event *loop, int type, const char *address,
                           const struct key_file *keys, const struct wire_zmq_handler *handler,
                           struct wire_zmq **ret_endpoint, struct err *err)
{
    if (strlen(address) >= ADDRESS_SIZE)
        return err_set(err, EINVAL, "the address '%s' is too long", address);
    struct wire_zmq *endpoint = calloc(1, sizeof(*endpoint));
    if (!endpoint)
        return err_sys(err, ENOMEM, "%s", address);
    endpoint->loop = sd_event_ref(loop);
    endpoint->handler = *handler;
    endpoint->type = type;
    if (keys)
        endpoint->keys = *keys;
    strcpy(endpoint->address, address);
    wire_zmq_queue_init(&endpoint->queue);
    endpoint->context = zmq_ctx_new();
    int r = endpoint->context ? 0 : -zmq_errno();
    if (r == 0 && type == ZMQ_ROUTER)
        r = data_open(endpoint);
    if (r < 0) {
        wire_zmq_close(endpoint);
        return err_sys(err, -r, "no socket for %s", address);
    }
    *ret_endpoint = endpoint;
    return 0;
}

static void on_cut(void *user, enum wire_zmq_fault why, const struct sockaddr_in6 *address)
{
    const struct wire_zmq *endpoint = user;
    char text[INET6_ADDRSTRLEN] = "";
    const void *bytes = address->sin6_family == AF_INET
                            ? (const void *)&((const struct sockaddr_in *)address)->sin_addr
                            : (const void *)&address->sin6_addr;
    inet_ntop(address->sin6_family, bytes, text, sizeof(text));
    if (endpoint->handler.on_cut)
        endpoint->handler.on_cut(endpoint->handler.user, why, text);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *user)
{
    struct wire_zmq *endpoint = user;
    (void)usec;
    wire_zmq_door_tick(endpoint->door, now_usec(endpoint), on_cut, endpoint);
    return sd_event_source_set_time_relative(source, DOOR_TICK_USEC);
}

static int door_open(struct wire_zmq *endpoint, const struct wire_zmq_limits *limits)
{
    endpoint->door = wire_zmq_door_open(limits);
    int r = endpoint->door ? 0 : -ENOMEM;
    if (r == 0)
        r = monitor_open(endpoint,
                         ZMQ_EVENT_LISTENING | ZMQ_EVENT_CLOSED | ZMQ_EVENT_ACCEPTED |
                             ZMQ_EVENT_DISCONNECTED | (endpoint->guard.own ? WIRE_ZMQ_UNASKED : 0),
                         door_drain);
    if (r >= 0)
        r = sd_event_add_time_relative(endpoint->loop, &endpoint->tick, CLOCK_MONOTONIC,
                                       DOOR_TICK_USEC, 0, on_tick, endpoint);
    return r < 0 ? r : sd_event_source_set_enabled(endpoint->tick, SD_EVENT_ON);
}

/* ZeroMQ tells of a connection before it asks about its key. */
static uint64_t handshake_number(void *user)
{
    struct wire_zmq *endpoint = user;
    while (endpoint->door && door_take(endpoint))
        ;
    return endpoint->door ? wire_zmq_door_handshake(endpoint->door) : 0;
}

static int guard_open(struct wire_zmq *endpoint, const struct wire_zmq_guard *guard)
{
    endpoint->guard = *guard;
    int r = wire_zmq_zap_open(endpoint->loop, endpoint->context, &endpoint->guard, handshake_number,
                              endpoint, &endpoint->zap);
    return r < 0                                                                  ? r
           : wire_zmq_curve_serve(endpoint->data.socket, endpoint->guard.own) < 0 ? -errno
                                                                                  : 0;
}

static int bind_as(const struct wire_zmq *endpoint, bool with_ipv6)
{
    const int ipv6 = with_ipv6;
    return zmq_setsockopt(endpoint->data.socket, ZMQ_IPV6, &ipv6, sizeof(ipv6)) < 0
               ? -1
               : zmq_bind(endpoint->data.socket, endpoint->address);
}

/* Without IPv6 if possible: with it an IPv4 address is shown as a mapped one, and of an interface's
 * addresses libzmq takes the IPv6 one. Only `*` means both. */
static int router_bind(struct wire_zmq *endpoint, struct err *err)
{
    size_t size = ADDRESS_SIZE;
    bool needs_ipv6 = strstr(endpoint->address, "://*:") || strchr(endpoint->address, '[');
    int r = needs_ipv6 ? -1 : bind_as(endpoint, false);
    if (r < 0 && (needs_ipv6 || zmq_errno() == ENODEV))
        r = bind_as(endpoint, true);
    if (r < 0 || zmq_getsockopt(endpoint->data.socket, ZMQ_LAST_ENDPOINT, endpoint->address, &size))
        return zmq_fail(err, "cannot listen on", endpoint->address);
    if (endpoint->door)
        door_drain(endpoint); /* it knows the listener before any client comes */
    return 0;
}

int wire_zmq_listen(sd_event *loop, const char *address, const struct wire_zmq_limits *limits,
                    const struct wire_zmq_guard *guard, const struct wire_zmq_handler *handler,
                    struct wire_zmq **ret_endpoint, struct err *err)
{
    struct wire_zmq *endpoint;
    int r = endpoint_create(loop, ZMQ_ROUTER, address, NULL, handler, &endpoint, err);
    if (r < 0)
        return r;
    if (guard && (r = guard_open(endpoint, guard)) < 0)
        err_sys(err, -r, "ZeroMQ cannot ask for keys on %s", address);
    else if (limits && (r = door_open(endpoint, limits)) < 0)
        err_sys(err, -r, "cannot watch the connections of %s", address);
    else
        r = router_bind(endpoint, err);
    if (r < 0)
        wire_zmq_close(endpoint);
    else
        *ret_endpoint = endpoint;
    return r;
}

/* WHY: the address is free when ZeroMQ's own thread has closed the listener, and only then may it
 * be bound again; it takes well under a millisecond. */
static int listener_wait_closed(struct wire_zmq *endpoint)
{
    zmq_pollitem_t item = {.socket = endpoint->monitor.socket, .events = ZMQ_POLLIN};
    while (endpoint->listening) {
        int n = zmq_poll(&item, 1, UNBIND_MS);
        if (n <= 0)
            return n < 0 ? -zmq_errno() : -ETIMEDOUT;
        door_take(endpoint);
    }
    return 0;
}

int wire_zmq_listen_anew(struct wire_zmq *endpoint, struct err *err)
{
    int r = zmq_unbind(endpoint->data.socket, endpoint->address) < 0
                ? -zmq_errno()
                : listener_wait_closed(endpoint);
    if (r == 0 && wire_zmq_curve_serve(endpoint->data.socket, endpoint->guard.own) < 0)
        r = -errno;
    if (r < 0)
        return err_sys(err, -r, "%s cannot be left for a new key", endpoint->address);
    return router_bind(endpoint, err);
}

static void peer_cut(void *user, uint64_t peer)
{
    const struct wire_zmq *endpoint = user;
    endpoint->handler.on_gone(endpoint->handler.user, peer, true);
}

void wire_zmq_cut(struct wire_zmq *endpoint, const char *identity)
{
    wire_zmq_door_cut(endpoint->door, hash_of(identity), peer_cut, endpoint);
}

void wire_zmq_cut_peer(struct wire_zmq *endpoint, uint64_t peer)
{
    wire_zmq_door_cut_peer(endpoint->door, peer);
}

bool wire_zmq_comes_from(const struct wire_zmq *endpoint, uint64_t peer, const uint8_t address[16])
{
    return wire_zmq_door_comes_from(endpoint->door, peer, address);
}

static int dealer_connect(void *user, const char *address, bool is_v6)
{
    struct wire_zmq *endpoint = user;
    const int ipv6 = is_v6;
    int r = data_open(endpoint);
    if (r >= 0)
        r = monitor_open(endpoint,
                         ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED |
                             ZMQ_EVENT_CONNECT_RETRIED | WIRE_ZMQ_REFUSALS,
                         monitor_drain);
    if (r >= 0 && (zmq_setsockopt(endpoint->data.socket, ZMQ_IPV6, &ipv6, sizeof(ipv6)) < 0 ||
                   zmq_connect(endpoint->data.socket, address) < 0))
        r = -zmq_errno();
    if (r < 0)
        sockets_close(endpoint);
    return r;
}

static void dealer_unreached(void *user, const struct err *why)
{
    const struct wire_zmq *endpoint = user;
    if (endpoint->handler.on_unreached)
        endpoint->handler.on_unreached(endpoint->handler.user, why);
}

int wire_zmq_connect(sd_event *loop, const char *address, const struct key_file *keys,
                     const struct wire_zmq_handler *handler, struct wire_zmq **ret_endpoint,
                     struct err *err)
{
    struct wire_zmq *endpoint;
    int r = endpoint_create(loop, ZMQ_DEALER, address, keys, handler, &endpoint, err);
    if (r < 0)
        return r;
    const struct wire_zmq_dial_hooks hooks = {dealer_connect, dealer_unreached, endpoint};
    r = wire_zmq_dial_open(loop, address, &hooks, &endpoint->dial, err);
    if (r < 0) {
        wire_zmq_close(endpoint);
        return r;
    }
    wire_zmq_dial_begin(endpoint->dial);
    *ret_endpoint = endpoint;
    return 0;
}

void wire_zmq_reconnect(struct wire_zmq *endpoint)
{
    sockets_close(endpoint);
    wire_zmq_dial_begin(endpoint->dial);
}

void wire_zmq_set_keys(struct wire_zmq *endpoint, const struct key_file *keys)
{
    endpoint->keys = *keys;
    endpoint->believed = 0;
}

size_t wire_zmq_waiting(const struct wire_zmq *endpoint)
{
    return endpoint->queue.reports + endpoint->queue.results;
}

const char *wire_zmq_address(const struct wire_zmq *endpoint)
{
    return endpoint->address;
}

const struct reach_address *wire_zmq_reached(const struct wire_zmq *endpoint)
{
    return wire_zmq_dial_address(endpoint->dial);
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
    wire_zmq_dial_close(endpoint->dial);
    sockets_close(endpoint);
    wire_zmq_door_close(endpoint->door);
    wire_zmq_zap_close(endpoint->zap);
    key_file_wipe(&endpoint->keys);
    if (endpoint->context)
        zmq_ctx_term(endpoint->context);
    sd_event_unref(endpoint->loop);
    free(endpoint);
}
