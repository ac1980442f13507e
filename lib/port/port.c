#include "lib/port/port.h"

#include <errno.h>

#define LINK_LEAST_BPS 80000 /* a thousandth of it is a byte a second for each queue */

static uint64_t share(uint64_t bps, uint32_t permille)
{
    return bps / 1000 * permille + bps % 1000 * permille / 1000;
}

static int check_wish(const struct port_wish *wish, const struct port_facts *facts, struct err *err)
{
    if (wish->link_bps < LINK_LEAST_BPS)
        return err_set(err, EINVAL, "a link of %llu bit/s is too slow to be divided",
                       (unsigned long long)wish->link_bps);
    if (wish->levels < 1 || wish->levels > PORT_LEVELS)
        return err_set(err, EINVAL, "%u levels: 1 to %d are possible", wish->levels, PORT_LEVELS);
    if (!wish->queue_packets || !facts->mtu_bytes)
        return err_set(err, EINVAL, "a queue of no packets, or packets of no bytes");
    uint64_t taken = (uint64_t)wish->control_permille + wish->unmanaged_permille +
                     (uint64_t)wish->floor_permille * (wish->levels - 1);
    if (taken + wish->floor_permille > 1000 || taken >= 1000)
        return err_set(err, EINVAL,
                       "control, unmanaged share and floors take %llu per mille of the link: "
                       "nothing is left to level 0",
                       (unsigned long long)taken);
    return 0;
}

static void add_queue(struct port *port, enum port_queue_kind kind, uint32_t level,
                      uint64_t floor_bps, uint32_t packets)
{
    uint32_t i = port->queues_n++;
    port->queues[i] = (struct port_queue){
        .kind = kind, .level = level, .priority = i, .floor_bps = floor_bps, .packets = packets};
}

static void add_levels(struct port *port, const struct port_wish *wish)
{
    uint64_t floor_bps = share(wish->link_bps, wish->floor_permille);
    uint32_t packets = wish->queue_packets * (wish->levels == 1 ? PORT_LEVELS : 1);
    for (uint32_t level = 0; level < wish->levels; level++)
        add_queue(port, QUEUE_LEVEL, level, level ? floor_bps : 0, packets);
    for (uint32_t level = 0; level < PORT_LEVELS; level++)
        port->queue_of[TRAFFIC_LEVEL0 + level] =
            (uint8_t)(1 + (level < wish->levels ? level : wish->levels - 1));
}

int port_want(const struct port_wish *wish, const struct port_facts *facts, struct port *ret_port,
              struct err *err)
{
    int r = check_wish(wish, facts, err);
    if (r < 0)
        return r;
    struct port port = {.link_bps = wish->link_bps, .mtu_bytes = facts->mtu_bytes};
    add_queue(&port, QUEUE_CONTROL, 0, share(wish->link_bps, wish->control_permille),
              wish->queue_packets);
    add_levels(&port, wish);
    port.queue_of[TRAFFIC_UNMANAGED] = (uint8_t)port.queues_n;
    add_queue(&port, QUEUE_UNMANAGED, 0, share(wish->link_bps, wish->unmanaged_permille),
              wish->queue_packets);
    *ret_port = port;
    return 0;
}
