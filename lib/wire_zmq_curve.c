#include "lib/wire_zmq_curve.h"
#include "lib/address.h"
#include "lib/wire_zmq_edge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define NUMBER  "X-Handshake"
#define ADDRESS "inproc://zeromq.zap.01"

/* Of libzmq 4.3.4, where it is declared for drafts only. */
#define ZAP_ENFORCE_DOMAIN 93

/* The frames of a request, RFC 27. */
enum { VERSION, REQUEST_ID, DOMAIN_, PEER, ROUTING_ID, MECHANISM, CREDENTIALS, FRAMES };

struct frame {
    char bytes[256];
    size_t length;
};

struct wire_zmq_zap {
    struct wire_zmq_edge edge;
    const struct wire_zmq_guard *guard;
    uint64_t (*number)(void *user);
    void *user;
    struct frame frames[FRAMES];
};

static bool is_text(const struct frame *frame, const char *text)
{
    return frame->length == strlen(text) && memcmp(frame->bytes, text, frame->length) == 0;
}

/* All frames of one request; false: there was none, or it is none. */
static bool request_receive(struct wire_zmq_zap *zap, bool *ret_came)
{
    int n = 0;
    *ret_came = false;
    do {
        struct frame *frame = &zap->frames[n];
        int length =
            zmq_recv(zap->edge.socket, frame->bytes, sizeof(frame->bytes) - 1, ZMQ_DONTWAIT);
        if (length < 0)
            return false;
        *ret_came = true;
        if ((size_t)length >= sizeof(frame->bytes))
            break;
        frame->length = (size_t)length;
        frame->bytes[length] = '\0';
        n++;
    } while (n < FRAMES && wire_zmq_has_more(zap->edge.socket));
    bool well = n == FRAMES && !wire_zmq_has_more(zap->edge.socket);
    wire_zmq_rest_drop(zap->edge.socket);
    return well;
}

/* One property, as ZMTP writes it (RFC 23): its name behind one byte of length, its value behind
 * four. */
static size_t number_write(uint64_t number, char text[64])
{
    size_t name = strlen(NUMBER), at = 1 + name + 4;
    int digits = snprintf(text + at, 64 - at, "%" PRIu64, number);
    const char length[] = {0, 0, 0, (char)digits};
    text[0] = (char)name;
    memcpy(text + 1, NUMBER, name);
    memcpy(text + 1 + name, length, sizeof(length));
    return at + (size_t)digits;
}

uint64_t wire_zmq_handshake_of(void *message)
{
    const char *number = zmq_msg_gets(message, NUMBER);
    return number ? strtoull(number, NULL, 10) : 0;
}

static void answer(const struct wire_zmq_zap *zap, bool well, const char *user_id)
{
    char number[64];
    size_t length = *user_id ? number_write(zap->number(zap->user), number) : 0;
    void *socket = zap->edge.socket;
    const struct frame *id = &zap->frames[REQUEST_ID];
    const char *status = *user_id ? "200" : "400";
    zmq_send(socket, "1.0", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(socket, id->bytes, well ? id->length : 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(socket, status, 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(socket, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(socket, user_id, strlen(user_id), ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(socket, number, length, ZMQ_DONTWAIT);
}

/* As people write it: a socket of both families sees IPv4 addresses as mapped ones. */
static const char *peer_address(const struct wire_zmq_zap *zap, char text[INET6_ADDRSTRLEN])
{
    uint8_t address[16];
    const char *said = zap->frames[PEER].bytes;
    if (address_parse(said, address) < 0)
        return said;
    address_print(address, text);
    return text;
}

static void judge(struct wire_zmq_zap *zap, bool well, char user_id[WIRE_USER_ID])
{
    const struct wire_zmq_guard *guard = zap->guard;
    const struct frame *credentials = &zap->frames[CREDENTIALS];
    char public[KEY_TEXT], text[INET6_ADDRSTRLEN];
    *user_id = '\0';
    if (!well || !is_text(&zap->frames[DOMAIN_], WIRE_ZAP_DOMAIN) ||
        !is_text(&zap->frames[MECHANISM], "CURVE") || credentials->length != 32)
        guard->refused(guard->user, "", "it does not show a key");
    else if (zmq_z85_encode(public, (const uint8_t *)credentials->bytes, 32))
        guard->admit(guard->user, public, peer_address(zap, text), user_id);
}

static void on_request(void *user)
{
    struct wire_zmq_zap *zap = user;
    char user_id[WIRE_USER_ID];
    for (;;) {
        bool came, well = request_receive(zap, &came);
        if (!came)
            return;
        judge(zap, well, user_id);
        answer(zap, well, user_id);
    }
}

int wire_zmq_zap_open(sd_event *loop, void *context, const struct wire_zmq_guard *guard,
                      uint64_t (*number)(void *user), void *user, struct wire_zmq_zap **ret_zap)
{
    const int none = 0;
    struct wire_zmq_zap *zap = calloc(1, sizeof(*zap));
    if (!zap)
        return -ENOMEM;
    zap->guard = guard;
    zap->number = number;
    zap->user = user;
    zap->edge.drain = on_request;
    zap->edge.user = zap;
    zap->edge.socket = zmq_socket(context, ZMQ_REP);
    int r = 0;
    if (!zap->edge.socket ||
        zmq_setsockopt(zap->edge.socket, ZMQ_LINGER, &none, sizeof(none)) < 0 ||
        zmq_bind(zap->edge.socket, ADDRESS) < 0)
        r = -zmq_errno();
    if (r == 0)
        r = wire_zmq_edge_add(&zap->edge, loop);
    if (r < 0) {
        wire_zmq_zap_close(zap);
        return r;
    }
    *ret_zap = zap;
    return 0;
}

void wire_zmq_zap_close(struct wire_zmq_zap *zap)
{
    if (!zap)
        return;
    wire_zmq_edge_remove(&zap->edge);
    free(zap);
}

static int text_set(void *socket, int option, const char *text)
{
    return zmq_setsockopt(socket, option, text, strlen(text));
}

int wire_zmq_curve_show(void *socket, const struct key_pair *own, const char *controller)
{
    if (text_set(socket, ZMQ_CURVE_SERVERKEY, controller) < 0 ||
        text_set(socket, ZMQ_CURVE_PUBLICKEY, own->public) < 0)
        return -1;
    return text_set(socket, ZMQ_CURVE_SECRETKEY, own->secret);
}

/* WHY: the domain is read back: without it libzmq lets unknown keys in when it cannot ask. */
int wire_zmq_curve_serve(void *socket, const struct key_pair *own)
{
    const int yes = 1;
    int enforced = 0;
    size_t size = sizeof(enforced);
    if (zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &yes, sizeof(yes)) < 0 ||
        text_set(socket, ZMQ_CURVE_SECRETKEY, own->secret) < 0 ||
        text_set(socket, ZMQ_ZAP_DOMAIN, WIRE_ZAP_DOMAIN) < 0 ||
        zmq_setsockopt(socket, ZAP_ENFORCE_DOMAIN, &yes, sizeof(yes)) < 0 ||
        zmq_getsockopt(socket, ZAP_ENFORCE_DOMAIN, &enforced, &size) < 0)
        return -1;
    errno = EPROTONOSUPPORT;
    return enforced == 1 ? 0 : -1;
}

const char *wire_zmq_refusal_words(int event, int32_t value)
{
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
        return "it went without showing a key, as a plain-text peer does";
    return value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH
               ? "it speaks plain text"
               : "it does not speak as the holder of a key does, or not to this controller's key";
}
