#include "lib/port/port_message.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define ALL_KINDS   ((1u << PORT_TRAFFIC) - 1)
#define PACKETS_MAX 65536u
#define RATE_MAX    1000000000000u

const struct port_abilities port_message_abilities = {
    .strict = true, .floors = true, .ecn = true, .red = true};

void port_message_write(const struct port *port, duopoly_DataplanePort *message)
{
    message->rate_bps = port->held ? port->link_bps : 0;
    message->queues_count = (pb_size_t)port->queues_n;
    for (uint32_t q = 0; q < port->queues_n; q++) {
        const struct port_queue *queue = &port->queues[q];
        message->queues[q] = (duopoly_DataplaneQueue){.floor_bps = queue->floor_bps,
                                                      .packets = queue->packets,
                                                      .ecn_packets = queue->ecn_packets,
                                                      .red_packets = queue->red_packets};
    }
    for (uint32_t kind = 0; kind < PORT_TRAFFIC; kind++)
        message->queues[port->queue_of[kind]].serves |= 1u << kind;
}

static int fail(const duopoly_DataplanePort *message, struct err *err, const char *what)
{
    return err_set(err, EINVAL, "%s: %s", message->port, what);
}

static int read_queue(const duopoly_DataplanePort *message, pb_size_t q, struct port *port,
                      struct err *err)
{
    const duopoly_DataplaneQueue *queue = &message->queues[q];
    if (queue->serves == 0 || queue->serves & ~ALL_KINDS)
        return fail(message, err, "a queue serves one of the ten kinds of traffic at least");
    if (queue->packets < 2 || queue->packets > PORT_TRAFFIC * PACKETS_MAX ||
        queue->ecn_packets >= queue->packets)
        return fail(message, err, "a queue takes 2 packets or more, and marks below its length");
    if (queue->red_packets &&
        (!queue->ecn_packets || queue->red_packets <= queue->ecn_packets ||
         queue->red_packets > queue->packets || queue->red_packets > PORT_RED_MOST))
        return fail(
            message, err,
            "a queue marks at random from 1 packet or more on, to more than that, its length "
            "at most, and 1023");
    if (queue->floor_bps > RATE_MAX)
        return fail(message, err, "a floor is at most 1 Tb/s");
    port->queues[q] = (struct port_queue){.first = (enum port_traffic)__builtin_ctz(queue->serves),
                                          .priority = q,
                                          .floor_bps = queue->floor_bps,
                                          .packets = queue->packets,
                                          .ecn_packets = queue->ecn_packets,
                                          .red_packets = queue->red_packets};
    for (uint32_t kind = 0; kind < PORT_TRAFFIC; kind++)
        if (queue->serves >> kind & 1)
            port->queue_of[kind] = (uint8_t)q;
    return 0;
}

static int check_kinds(const duopoly_DataplanePort *message, struct err *err)
{
    uint32_t served = 0;
    for (pb_size_t q = 0; q < message->queues_count; q++) {
        if (served & message->queues[q].serves)
            return fail(message, err, "two queues serve one kind of traffic");
        served |= message->queues[q].serves;
    }
    return served == ALL_KINDS ? 0 : fail(message, err, "a kind of traffic has no queue");
}

static int check_rate(const duopoly_DataplanePort *message, const struct port *port,
                      struct err *err)
{
    uint64_t floors_bps = 0;
    if (message->rate_bps > RATE_MAX)
        return fail(message, err, "a rate is at most 1 Tb/s");
    if (port->link_bps == 0)
        return fail(message, err, "its device does not say its speed: it needs a rate");
    for (uint32_t q = 0; q < port->queues_n; q++)
        floors_bps += port->queues[q].floor_bps;
    return floors_bps < port->link_bps ? 0 : fail(message, err, "its floors are all of its rate");
}

int port_message_read(const duopoly_DataplanePort *message, const struct port_facts *facts,
                      struct port *ret_port, struct err *err)
{
    *ret_port = (struct port){.link_bps = message->rate_bps ? message->rate_bps : facts->link_bps,
                              .held = message->rate_bps != 0,
                              .mtu_bytes = facts->mtu_bytes,
                              .levels = PORT_LEVELS,
                              .queues_n = message->queues_count};
    if (facts->link_bps && message->rate_bps > facts->link_bps)
        return err_set(err, EINVAL, "%s: %" PRIu64 " bit/s are more than its device's %" PRIu64,
                       message->port, message->rate_bps, facts->link_bps);
    for (pb_size_t q = 0; q < message->queues_count; q++) {
        int r = read_queue(message, q, ret_port, err);
        if (r < 0)
            return r;
    }
    int r = check_kinds(message, err);
    return r < 0 ? r : check_rate(message, ret_port, err);
}

static bool queue_equal(const duopoly_DataplaneQueue *a, const duopoly_DataplaneQueue *b)
{
    return a->serves == b->serves && a->floor_bps == b->floor_bps && a->packets == b->packets &&
           a->ecn_packets == b->ecn_packets && a->red_packets == b->red_packets;
}

bool port_message_equal(const duopoly_DataplanePort *a, const duopoly_DataplanePort *b)
{
    if (a->rate_bps != b->rate_bps || a->queues_count != b->queues_count)
        return false;
    for (pb_size_t q = 0; q < a->queues_count; q++)
        if (!queue_equal(&a->queues[q], &b->queues[q]))
            return false;
    return true;
}
