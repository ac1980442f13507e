#include "lib/port/port.h"

#include "lib/port/port_names.h"

#include <errno.h>

#define LINK_LEAST_BPS 80000 /* a thousandth of it is a byte a second for each queue */
#define QUEUES_LEAST   2
#define PACKETS_MOST   (1u << 24)
#define GBPS           1000000000u
#define ECN_BASE       15 /* packets: 20 at 1 Gb/s and 65 at 10 Gb/s lie on one line */
#define ECN_PER_GBPS   5

const struct port_wish port_wish_preset = {.levels = PORT_LEVELS,
                                           .queue_packets = 100,
                                           .floor_permille = 10,
                                           .unmanaged_permille = 100,
                                           .control_permille = 10,
                                           .unmanaged_joins = PORT_LEVELS - 1,
                                           .ecn = true,
                                           .dscp_of_level = {3, 7, 11, 15, 19, 23, 27, 31}};

static uint64_t share(uint64_t bps, uint32_t permille)
{
    return bps / 1000 * permille + bps % 1000 * permille / 1000;
}

uint64_t port_rate(const struct port_wish *wish, const char *name)
{
    for (uint32_t i = 0; i < wish->rates_n; i++)
        if (port_pattern_matches(wish->rates[i].ports, name))
            return (uint64_t)wish->rates[i].rate_bps;
    return wish->link_bps;
}

/* A port with queues in hardware runs at its own speed. Software shaping to a rate that the port
 * says it does not have may shape to the wrong one. */
static uint64_t rate_of(const struct port_wish *wish, const struct port_facts *facts)
{
    uint64_t bps = port_rate(wish, facts->name);
    bool slower = facts->abilities.hardware && facts->link_bps && facts->link_bps < bps;
    return !bps || slower ? facts->link_bps : bps;
}

static int check_rate(const struct port_wish *wish, const struct port_facts *facts, struct err *err)
{
    uint64_t bps = rate_of(wish, facts);
    if (!bps && facts->down)
        return err_set(
            err, ENETDOWN,
            "the link is down and does not say how fast it is: it gets its queues when it is up");
    if (!bps)
        return err_set(err, EINVAL, "the link does not say how fast it is: give it a rate");
    if (bps < LINK_LEAST_BPS)
        return err_set(err, EINVAL, "a link of %llu bit/s is too slow to be divided",
                       (unsigned long long)bps);
    if (facts->link_bps && bps > facts->link_bps)
        return err_set(err, EINVAL, "a rate of %llu bit/s is above the link's own %llu bit/s",
                       (unsigned long long)bps, (unsigned long long)facts->link_bps);
    return 0;
}

static int check_shares(const struct port_wish *wish, struct err *err)
{
    uint64_t taken = (uint64_t)wish->control_permille + wish->unmanaged_permille +
                     (uint64_t)wish->floor_permille * (wish->levels - 1);
    if (taken + wish->floor_permille > 1000 || taken >= 1000)
        return err_set(err, EINVAL,
                       "control, unmanaged share and floors take %llu per mille of the link: "
                       "nothing is left to level 0",
                       (unsigned long long)taken);
    return 0;
}

static int check_code_points(const struct port_wish *wish, struct err *err)
{
    for (int level = 0; level < PORT_LEVELS; level++) {
        uint8_t dscp = wish->dscp_of_level[level];
        if (dscp == 0 || dscp >= PORT_CODE_POINTS || dscp == PORT_DSCP_CONTROL)
            return err_set(err, EINVAL,
                           "level %d cannot have DSCP %d: 1 to %d are possible, without %d, which "
                           "is control's",
                           level, dscp, PORT_CODE_POINTS - 1, PORT_DSCP_CONTROL);
        for (int other = 0; other < level; other++)
            if (wish->dscp_of_level[other] == dscp)
                return err_set(err, EINVAL, "two levels cannot share DSCP %d", dscp);
    }
    return 0;
}

static int check_wish(const struct port_wish *wish, struct err *err)
{
    if (wish->levels < 1 || wish->levels > PORT_LEVELS || wish->unmanaged_joins >= PORT_LEVELS)
        return err_set(err, EINVAL,
                       "%u levels, and unmanaged traffic with level %u: 1 to %d levels are "
                       "possible, 0 first",
                       wish->levels, wish->unmanaged_joins, PORT_LEVELS);
    if (wish->queue_packets < 2 || wish->queue_packets > PACKETS_MOST ||
        wish->ecn_packets >= wish->queue_packets)
        return err_set(err, EINVAL,
                       "a queue of %u packets that are marked from %u on: it has 2 to %u, and more "
                       "than its threshold",
                       wish->queue_packets, wish->ecn_packets, PACKETS_MOST);
    if (wish->red_packets &&
        (!wish->ecn || !wish->ecn_packets || wish->red_packets <= wish->ecn_packets ||
         wish->red_packets > wish->queue_packets || wish->red_packets > PORT_RED_MOST))
        return err_set(
            err, EINVAL,
            "marks at random from %u to %u packets (ecn_packets, red_packets): the first is "
            "1 at least, the second more, at most the queue's %u and %d, and ecn is on",
            wish->ecn_packets, wish->red_packets, wish->queue_packets, PORT_RED_MOST);
    int r = check_shares(wish, err);
    return r < 0 ? r : check_code_points(wish, err);
}

static uint32_t lossless_of(const struct port_facts *facts)
{
    uint64_t all = (UINT64_C(1) << facts->queues_n) - 1;
    return (uint32_t)__builtin_popcountll(facts->lossless & all);
}

static int check_facts(const struct port_facts *facts, struct err *err)
{
    if (!facts->mtu_bytes || facts->queues_n > PORT_QUEUES)
        return err_set(err, EINVAL, "a port of %u queues, and packets of %u bytes", facts->queues_n,
                       facts->mtu_bytes);
    if (!facts->abilities.strict)
        return err_set(err, EINVAL, "the port cannot serve its queues in strict priority");
    uint32_t left = facts->queues_n - lossless_of(facts);
    if (left < QUEUES_LEAST)
        return err_set(err, EINVAL,
                       "of the port's %u queues %u are lossless and left alone; %d are needed at "
                       "least",
                       facts->queues_n, lossless_of(facts), QUEUES_LEAST);
    return 0;
}

/* The places of the queues by kind: what a port of `queues` queues folds. */
static void place(const struct port_wish *wish, uint32_t queues, struct port *port)
{
    uint32_t levels = wish->levels < queues ? wish->levels : queues;
    uint32_t alone = queues > wish->levels + 1 ? 1 : 0; /* a queue for control alone, before level
                                                         * 0 */
    uint32_t each = wish->levels / levels, longer = wish->levels % levels;
    uint32_t level = 0;
    port->queue_of[TRAFFIC_CONTROL] = 0;
    for (uint32_t q = 0; q < levels; q++)
        for (uint32_t n = each + (q >= levels - longer); n; n--)
            port->queue_of[TRAFFIC_LEVEL0 + level++] = (uint8_t)(alone + q);
    for (; level < PORT_LEVELS; level++)
        port->queue_of[TRAFFIC_LEVEL0 + level] = (uint8_t)(alone + levels - 1);
    port->queue_of[TRAFFIC_UNMANAGED] =
        queues > wish->levels ? (uint8_t)(alone + levels)
                              : port->queue_of[TRAFFIC_LEVEL0 + wish->unmanaged_joins];
    port->queues_n = queues > wish->levels ? alone + levels + 1 : levels;
}

static uint32_t permille_of(const struct port_wish *wish, uint32_t traffic)
{
    if (traffic == TRAFFIC_CONTROL)
        return wish->control_permille;
    if (traffic == TRAFFIC_UNMANAGED)
        return wish->unmanaged_permille;
    return traffic == TRAFFIC_LEVEL0 ? 0 : wish->floor_permille;
}

/* With fewer levels, a site's last ones have no queue of their own. */
static bool is_served(const struct port_wish *wish, uint32_t traffic)
{
    return traffic == TRAFFIC_UNMANAGED || traffic <= wish->levels;
}

static void fill_queues(const struct port_wish *wish, struct port *port)
{
    uint32_t packets_of_level = wish->queue_packets * (wish->levels == 1 ? PORT_LEVELS : 1);
    for (uint32_t traffic = PORT_TRAFFIC; traffic-- > 0;) {
        struct port_queue *queue = &port->queues[port->queue_of[traffic]];
        if (!is_served(wish, traffic))
            continue;
        bool is_level = traffic != TRAFFIC_CONTROL && traffic != TRAFFIC_UNMANAGED;
        queue->first = (enum port_traffic)traffic;
        queue->packets += is_level ? packets_of_level : wish->queue_packets;
        queue->floor_bps += share(port->link_bps, permille_of(wish, traffic));
    }
    port->queues[port->queue_of[TRAFFIC_LEVEL0]].floor_bps = 0;
}

/* The port's queues that are not lossless, most urgent first. */
static void number_queues(const struct port_facts *facts, struct port *port)
{
    uint32_t priority = 0;
    for (uint32_t i = 0; i < port->queues_n; i++) {
        while (facts->lossless >> priority & 1)
            priority++;
        port->queues[i].priority = priority++;
    }
}

static uint32_t ecn_packets(const struct port_wish *wish, uint64_t link_bps, uint32_t packets)
{
    if (wish->ecn_packets)
        return wish->ecn_packets;
    uint64_t line = ECN_BASE + link_bps / (GBPS / ECN_PER_GBPS);
    return line < packets / 2 ? (uint32_t)line : packets / 2;
}

static void leave_out(const struct port_wish *wish, const struct port_facts *facts,
                      struct port *port)
{
    for (uint32_t i = 0; i < port->queues_n; i++) {
        struct port_queue *queue = &port->queues[i];
        port->lacks_floors |= queue->floor_bps && !facts->abilities.floors;
        if (!facts->abilities.floors)
            queue->floor_bps = 0;
        if (wish->ecn && facts->abilities.ecn)
            queue->ecn_packets = ecn_packets(wish, port->link_bps, queue->packets);
        if (queue->ecn_packets && facts->abilities.red)
            queue->red_packets = wish->red_packets;
    }
    port->lacks_ecn = wish->ecn && !facts->abilities.ecn;
    port->lacks_red = wish->red_packets && !facts->abilities.red;
}

static void place_code_points(const struct port_wish *wish, struct port *port)
{
    for (int dscp = 0; dscp < PORT_CODE_POINTS; dscp++)
        port->queue_of_dscp[dscp] = port->queue_of[TRAFFIC_UNMANAGED];
    port->queue_of_dscp[PORT_DSCP_CONTROL] = port->queue_of[TRAFFIC_CONTROL];
    for (int level = 0; level < PORT_LEVELS; level++)
        port->queue_of_dscp[wish->dscp_of_level[level]] = port->queue_of[TRAFFIC_LEVEL0 + level];
}

int port_want(const struct port_wish *wish, const struct port_facts *facts, struct port *ret_port,
              struct err *err)
{
    int r = check_wish(wish, err);
    if (r >= 0)
        r = check_facts(facts, err);
    if (r >= 0)
        r = check_rate(wish, facts, err);
    if (r < 0)
        return r;
    uint64_t bps = rate_of(wish, facts);
    uint64_t wished_bps = port_rate(wish, facts->name);
    struct port port = {.link_bps = bps,
                        .lacks_bps = wished_bps > bps ? wished_bps - bps : 0,
                        .held = bps != facts->link_bps,
                        .mtu_bytes = facts->mtu_bytes,
                        .levels = wish->levels,
                        .lossless_n = lossless_of(facts)};
    place(wish, facts->queues_n - port.lossless_n, &port);
    fill_queues(wish, &port);
    number_queues(facts, &port);
    leave_out(wish, facts, &port);
    place_code_points(wish, &port);
    *ret_port = port;
    return 0;
}
