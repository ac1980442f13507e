#include "testbed/verify/counters_fastpath.h"

#include <errno.h>
#include <string.h>

#include "lib/client.h"
#include "lib/port/port.h"

#define LEVELS (((1u << HOPS_LEVELS) - 1) << TRAFFIC_LEVEL0) /* bits of DataplaneQueue.serves */

static void take_port(const duopoly_DataplanePort *port, struct hops_counters *counters)
{
    for (pb_size_t q = 0; q < port->queues_count; q++) {
        const duopoly_DataplaneQueue *queue = &port->queues[q];
        if (!(queue->serves & LEVELS))
            continue;
        int level = __builtin_ctz(queue->serves & LEVELS) - TRAFFIC_LEVEL0;
        counters->served[level] = true;
        counters->packets[level] = queue->out_packets;
        counters->drops[level] = queue->dropped_packets;
        counters->waiting += queue->waiting;
    }
}

int counters_fastpath_read(const char *socket, const char *port, struct hops_counters *ret_counters,
                           struct err *err)
{
    struct client *client;
    const duopoly_Envelope *answer;
    int r = client_open(socket, &client, err);
    if (r < 0)
        return r;
    client_request(client, duopoly_Envelope_get_dataplane_ports_tag);
    r = client_call(client, duopoly_Envelope_dataplane_ports_tag, &answer, err);
    const duopoly_DataplanePorts *ports = r < 0 ? NULL : &answer->body.dataplane_ports;
    memset(ret_counters, 0, sizeof(*ret_counters));
    for (pb_size_t i = 0; ports && i < ports->ports_count; i++)
        if (strcmp(ports->ports[i].port, port) == 0)
            take_port(&ports->ports[i], ret_counters);
    if (r == 0 && !ret_counters->served[0])
        r = err_set(err, ENODATA, "the data plane at %s has no port %s", socket, port);
    client_close(client);
    return r;
}
