#include "controller/agents_zmq.h"

#include <errno.h>
#include <stdlib.h>

struct agents_zmq {
    struct wire_zmq *endpoint;
    struct conductor *conductor;
};

static void on_message(void *user, uint64_t peer, const char *identity,
                       const duopoly_Envelope *envelope)
{
    const struct agents_zmq *door = user;
    conductor_message(door->conductor, peer, identity, envelope);
}

static void on_malformed(void *user, uint64_t peer, const struct err *err)
{
    const struct agents_zmq *door = user;
    conductor_malformed(door->conductor, peer, err->text);
}

int agents_zmq_open(sd_event *loop, const char *address, const struct wire_zmq_limits *limits,
                    struct agents_zmq **ret_door, struct err *err)
{
    struct agents_zmq *door = calloc(1, sizeof(*door));
    if (!door)
        return err_sys(err, ENOMEM, "%s", address);
    const struct wire_zmq_handler handler = {
        .on_message = on_message, .on_malformed = on_malformed, .user = door};
    int r = wire_zmq_listen(loop, address, limits, NULL, &handler, &door->endpoint, err);
    if (r < 0) {
        free(door);
        return r;
    }
    *ret_door = door;
    return 0;
}

void agents_zmq_attach(struct agents_zmq *door, struct conductor *conductor)
{
    door->conductor = conductor;
}

int agents_zmq_send(void *user, uint64_t peer, const duopoly_Envelope *envelope)
{
    const struct agents_zmq *door = user;
    return wire_zmq_send(door->endpoint, peer, WIRE_RESULT, envelope);
}

const char *agents_zmq_address(const struct agents_zmq *door)
{
    return wire_zmq_address(door->endpoint);
}

const struct wire_zmq_counters *agents_zmq_counters(const struct agents_zmq *door)
{
    return wire_zmq_counters(door->endpoint);
}

const struct wire_zmq_door_counters *agents_zmq_connections(const struct agents_zmq *door)
{
    return wire_zmq_connections(door->endpoint);
}

void agents_zmq_close(struct agents_zmq *door)
{
    if (!door)
        return;
    wire_zmq_close(door->endpoint);
    free(door);
}
