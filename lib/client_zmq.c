/* A client over TCP: a ZeroMQ DEALER that shows a key and accepts one of the controller's keys that
 * its file names.
 *
 * When the connection breaks, the client ends, as on a Unix socket: ZeroMQ must not connect again,
 * since requests over the old connection are not answered over the new one. A client that waits
 * sends a sign of life every few seconds, since the controller ends silent connections. */
#include "lib/client_transport.h"
#include "lib/keys.h"
#include "lib/reach.h"
#include "lib/wire.h"
#include "lib/wire_zmq_curve.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define ALIVE_MS   5000
#define QUEUE      1024
#define CONNECT_MS 3000 /* for one of several addresses; then the next one is tried */
#define WHY_MS     1000
/* Longer than any client waits. With −1, "never", zmq_ctx_term() of libzmq 4.3.4 may hang if a
 * connection ends while it is being closed. */
#define RECONNECT_MS 3600000

struct wire {
    void *context, *data, *monitor;
    int tries;  /* name their monitors: ZeroMQ gives a name free later */
    bool ended; /* the connection, and for good */
    int64_t spoke_ms;
    size_t alive_length;
    uint8_t alive[64]; /* an Acknowledge */
};

static int event_take(const struct wire *wire)
{
    zmq_msg_t frame;
    uint16_t event = 0;
    zmq_msg_init(&frame);
    if (zmq_msg_recv(&frame, wire->monitor, ZMQ_DONTWAIT) >= (int)sizeof(event))
        memcpy(&event, zmq_msg_data(&frame), sizeof(event));
    zmq_msg_close(&frame);
    while (event && zmq_recv(wire->monitor, NULL, 0, ZMQ_DONTWAIT) < 0 && zmq_errno() == EINTR)
        ;
    return event;
}

static int again_or_ended(struct wire *wire)
{
    wire->ended |= event_take(wire) != 0;
    return wire->ended ? -ECONNRESET : -EAGAIN;
}

static int zmq_wire_send(void *user, const uint8_t *bytes, size_t length)
{
    struct wire *wire = user;
    if (zmq_send(wire->data, bytes, length, ZMQ_DONTWAIT) < 0)
        return zmq_errno() == EAGAIN  ? again_or_ended(wire)
               : zmq_errno() == EINTR ? -EAGAIN
                                      : -zmq_errno();
    wire->spoke_ms = client_monotonic_ms();
    return 0;
}

static ssize_t zmq_wire_receive(void *user, uint8_t *buffer, size_t size)
{
    struct wire *wire = user;
    int length = zmq_recv(wire->data, buffer, size, ZMQ_DONTWAIT);
    if (length >= 0)
        return (size_t)length <= size ? length : -EMSGSIZE;
    if (zmq_errno() != EAGAIN && zmq_errno() != EINTR)
        return -zmq_errno();
    /* Messages that came before the end have been read above. */
    return again_or_ended(wire);
}

static int zmq_wire_wait(void *user, short events, int64_t deadline_ms)
{
    struct wire *wire = user;
    zmq_pollitem_t items[] = {
        {.socket = wire->data, .events = events & POLLOUT ? ZMQ_POLLOUT : ZMQ_POLLIN},
        {.socket = wire->monitor, .events = ZMQ_POLLIN}};
    int64_t alive_ms = wire->spoke_ms + ALIVE_MS;
    bool to_deadline = deadline_ms >= 0 && deadline_ms <= alive_ms;
    int n = zmq_poll(items, 2, client_left_ms(to_deadline ? deadline_ms : alive_ms));
    if (n < 0)
        return zmq_errno() == EINTR ? 0 : -zmq_errno();
    if (n == 0 && to_deadline)
        return -ETIMEDOUT;
    if (n == 0)
        zmq_wire_send(wire, wire->alive, wire->alive_length);
    return 0;
}

static int zmq_wire_fd(void *user)
{
    const struct wire *wire = user;
    int fd = -1;
    size_t size = sizeof(fd);
    zmq_getsockopt(wire->data, ZMQ_FD, &fd, &size);
    return fd;
}

static void sockets_close(struct wire *wire)
{
    if (wire->monitor)
        zmq_close(wire->monitor);
    if (wire->data)
        zmq_close(wire->data);
    wire->monitor = wire->data = NULL;
}

static void zmq_wire_close(void *user)
{
    struct wire *wire = user;
    sockets_close(wire);
    if (wire->context)
        zmq_ctx_term(wire->context);
    free(wire);
}

static bool options_set(const struct wire *wire, bool is_v6)
{
    static const struct {
        int name, value;
    } options[] = {{ZMQ_LINGER, 0},
                   {ZMQ_IMMEDIATE, 1},
                   {ZMQ_SNDHWM, QUEUE},
                   {ZMQ_RCVHWM, QUEUE},
                   {ZMQ_RECONNECT_IVL, RECONNECT_MS}};
    const int64_t most = WIRE_MAX_BYTES;
    const int ipv6 = is_v6;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (zmq_setsockopt(wire->data, options[i].name, &options[i].value, sizeof(int)) < 0)
            return false;
    return zmq_setsockopt(wire->data, ZMQ_MAXMSGSIZE, &most, sizeof(most)) == 0 &&
           zmq_setsockopt(wire->data, ZMQ_IPV6, &ipv6, sizeof(ipv6)) == 0;
}

/* Connects to the holder of that key and waits for the outcome: 0, or the event with which it
 * failed, or −errno. */
static int connection_try(struct wire *wire, const struct reach_address *address,
                          const struct key_file *keys, const char *controller, int64_t deadline_ms)
{
    const int events = WIRE_ZMQ_REFUSALS | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED |
                       ZMQ_EVENT_CLOSED;
    char name[64], where[REACH_TEXT];
    reach_print(address, where);
    snprintf(name, sizeof(name), "inproc://connection-%d", wire->tries++);
    sockets_close(wire);
    wire->data = zmq_socket(wire->context, ZMQ_DEALER);
    wire->monitor = zmq_socket(wire->context, ZMQ_PAIR);
    if (!wire->data || !wire->monitor || !options_set(wire, reach_is_v6(address)) ||
        wire_zmq_curve_show(wire->data, &keys->pair, controller) < 0 ||
        zmq_socket_monitor(wire->data, name, events) < 0 || zmq_connect(wire->monitor, name) < 0 ||
        zmq_connect(wire->data, where) < 0)
        return -zmq_errno();
    zmq_pollitem_t item = {.socket = wire->monitor, .events = ZMQ_POLLIN};
    for (;;) {
        int event = event_take(wire);
        if (event)
            return event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED ? 0 : event;
        int n = zmq_poll(&item, 1, client_left_ms(deadline_ms));
        if (n == 0)
            return -ETIMEDOUT;
        if (n < 0 && zmq_errno() != EINTR)
            return -zmq_errno();
    }
}

/* With each of the controller's keys that the file names. */
static int address_try(struct wire *wire, const struct reach_address *address,
                       const struct key_file *keys, int64_t deadline_ms)
{
    int r = 0;
    for (int i = 0; i < KEY_CONTROLLERS && *keys->controllers[i]; i++) {
        r = connection_try(wire, address, keys, keys->controllers[i], deadline_ms);
        if (!(r > 0 && (r & WIRE_ZMQ_UNASKED)))
            break;
    }
    return r;
}

/* ZeroMQ does not say why a connection failed: a connection of our own does. */
static void why_add(const struct reach_address *address, int r, char *met, size_t size)
{
    if (r > 0)
        r = reach_wait(address, WHY_MS);
    reach_say(address, r < 0 ? -r : ECONNRESET, met, size);
}

static int64_t sooner(int64_t a_ms, int64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

/* Tries each address in turn until one answers, whatever the answer. `met` collects the other
 * outcomes. */
static int addresses_try(struct wire *wire, const struct reach_found *found,
                         const struct key_file *keys, int64_t deadline_ms, char *met, size_t size)
{
    int r = -ETIMEDOUT;
    for (uint32_t i = 0; i < found->n; i++) {
        bool is_last = i + 1 == found->n;
        int64_t until_ms = client_monotonic_ms() + CONNECT_MS;
        r = address_try(wire, &found->addresses[i], keys,
                        is_last ? deadline_ms : sooner(until_ms, deadline_ms));
        if (r == 0 || (r > 0 && !(r & ZMQ_EVENT_CLOSED)))
            break;
        why_add(&found->addresses[i], r, met, size);
    }
    return r;
}

static int failure_say(int r, const char *address, const char *key_path,
                       const struct key_file *keys, const char *met, struct err *err)
{
    if (r < 0)
        return err_set(err, -r, "no controller can be reached at %s: %s", address, met);
    if (r & ZMQ_EVENT_CLOSED)
        return err_set(err, ECONNREFUSED, "no controller can be reached at %s: %s", address, met);
    if (r & ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
        return err_set(err, EACCES,
                       "%s does not take the key of %s: it is revoked, over, or was never made",
                       address, keys->name);
    return err_set(
        err, EPROTO,
        "the listener on %s ends the handshake: it does not hold the controller's key that "
        "%s believes, or takes no more connections from here now",
        address, key_path);
}

static int reach_and_show(struct wire *wire, const char *address, const char *key_path,
                          const struct key_file *keys, int64_t deadline_ms, struct err *err)
{
    struct reach_found found;
    char met[400] = "";
    if (!*keys->controllers[0])
        return err_set(err, EINVAL, "%s names no controller to trust", key_path);
    int r = reach_find(address, &found, err);
    if (r < 0)
        return r == -EADDRNOTAVAIL ? err_prefix(err, "no controller can be reached at %s", address)
                                   : r;
    r = addresses_try(wire, &found, keys, deadline_ms, met, sizeof(met));
    return r ? failure_say(r, address, key_path, keys, met, err) : 0;
}

static int wire_open(struct wire *wire, const char *address, const char *key_path,
                     int64_t deadline_ms, struct err *err)
{
    struct key_file keys;
    duopoly_Envelope *alive = NULL;
    int r = key_file_read(key_path, &keys, err);
    if (r < 0)
        return r;
    r = reach_and_show(wire, address, key_path, &keys, deadline_ms, err);
    key_file_wipe(&keys);
    if (r == 0 && !(alive = calloc(1, sizeof(*alive))))
        r = err_sys(err, ENOMEM, "%s", address);
    if (r == 0)
        r = wire_encode(wire_begin(alive, duopoly_Envelope_acknowledge_tag), wire->alive,
                        sizeof(wire->alive), &wire->alive_length, err);
    free(alive);
    wire->spoke_ms = client_monotonic_ms();
    return r;
}

int client_zmq_open(const char *address, const char *key_path, int64_t deadline_ms,
                    struct client_transport *ret_transport, struct err *err)
{
    struct wire *wire = calloc(1, sizeof(*wire));
    if (!wire || !(wire->context = zmq_ctx_new())) {
        free(wire);
        return err_sys(err, ENOMEM, "%s", address);
    }
    int r = wire_open(wire, address, key_path, deadline_ms, err);
    if (r < 0) {
        zmq_wire_close(wire);
        return r;
    }
    *ret_transport = (struct client_transport){.wire = wire,
                                               .send = zmq_wire_send,
                                               .receive = zmq_wire_receive,
                                               .wait = zmq_wire_wait,
                                               .fd = zmq_wire_fd,
                                               .close = zmq_wire_close};
    snprintf(ret_transport->name, sizeof(ret_transport->name), "%s", address);
    return 0;
}
