#include "hostagent/switches/ovs/ovs_flows.h"

#include "hostagent/switches/ovs/ovs_rows.h"
#include "lib/fnv1a.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PRIORITY 32000
#define DUOP     UINT64_C(0x64756f70)
#define CS6      48
#define TCP      6
#define ICMP6    58

enum { ETH_IP = 0x0800, ETH_ARP = 0x0806, ETH_IP6 = 0x86dd };
enum { NEIGHBOUR_SOLICITATION = 135, NEIGHBOUR_ADVERTISEMENT = 136 };

uint64_t ovs_cookie(const char *owner)
{
    return DUOP << 32 | (uint32_t)fnv1a(FNV1A_NOTHING, owner, strlen(owner));
}

static bool is_duopolys(const struct of_flow *flow)
{
    return flow->cookie >> 32 == DUOP;
}

struct flow_set {
    struct of_flow base; /* the action of all of them */
    const struct port *want;
    uint32_t n;
    struct of_flow flows[OVS_FLOWS_MOST];
};

static void add(struct flow_set *set, struct of_match match, enum port_traffic traffic)
{
    struct of_flow *flow = &set->flows[set->n++];
    *flow = set->base;
    flow->match = match;
    flow->queue = (int32_t)ovs_queue_number(set->want, traffic);
}

/* As marks classify it on a Linux port: CS6 to or from the controllers' port, ARP, ND. */
static void add_control(struct flow_set *set, uint16_t family, uint16_t port)
{
    struct of_match match = {.eth_type = family, .has_dscp = true, .dscp = CS6, .proto = TCP};
    if (!port)
        return;
    match.tcp_src = port;
    add(set, match, TRAFFIC_CONTROL);
    match.tcp_src = 0;
    match.tcp_dst = port;
    add(set, match, TRAFFIC_CONTROL);
}

static void add_neighbours(struct flow_set *set, uint8_t type)
{
    add(set, (struct of_match){.eth_type = ETH_IP6, .proto = ICMP6, .icmp6_type = type},
        TRAFFIC_CONTROL);
}

static void want_flows(struct flow_set *set, const struct switch_config *config)
{
    static const uint16_t families[] = {ETH_IP, ETH_IP6};
    for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
        for (int level = 0; level < PORT_LEVELS; level++)
            add(set,
                (struct of_match){.eth_type = families[f],
                                  .has_dscp = true,
                                  .dscp = config->wish.dscp_of_level[level]},
                (enum port_traffic)(TRAFFIC_LEVEL0 + level));
        add_control(set, families[f], config->control_port);
    }
    add(set, (struct of_match){.eth_type = ETH_ARP}, TRAFFIC_CONTROL);
    add_neighbours(set, NEIGHBOUR_SOLICITATION);
    add_neighbours(set, NEIGHBOUR_ADVERTISEMENT);
}

static bool jumps_to(const struct openflow_table *have, uint8_t table)
{
    return have->jumps[table / 8] >> table % 8 & 1;
}

static bool is_way_on(const struct of_flow *flow, uint8_t table)
{
    return of_matches_all(&flow->match) && flow->queue == OF_NO_QUEUE &&
           flow->priority < PRIORITY &&
           (flow->then == OF_NORMAL || (flow->then == OF_GOTO && table != 0));
}

/* The one flow of somebody else's in this table; NULL with `err`. */
static const struct of_flow *find_base(const struct openflow_table *have,
                                       const struct switch_config *config, int *ret_r,
                                       struct err *err)
{
    const char *bridge = config->settings->bridge;
    uint8_t table = (uint8_t)config->settings->table;
    uint64_t cookie = ovs_cookie(config->owner);
    const struct of_flow *base = NULL;
    uint32_t others = have->more;
    for (uint32_t i = 0; i < have->n; i++) {
        const struct of_flow *flow = &have->flows[i];
        if (is_duopolys(flow) && flow->cookie != cookie) {
            *ret_r = err_set(err, EBUSY,
                             "table %u of bridge %s has flows of another agent (cookie %#" PRIx64
                             "): end that one first (duopoly-agent --restore)",
                             table, bridge, flow->cookie);
            return NULL;
        }
        others += !is_duopolys(flow);
        base = is_duopolys(flow) ? base : flow;
    }
    if (others == 0 && table == 0)
        *ret_r = err_set(err, EAGAIN,
                         "bridge %s has no flows: it only begins, or its table 0 "
                         "drops everything",
                         bridge);
    else if (others != 1 || !is_way_on(base, table))
        *ret_r = err_set(err, EBUSY,
                         "table %u of bridge %s is not one plain rule (%s): name a table that "
                         "your rules jump to and that only goes on (switch.table)",
                         table, bridge, table ? "NORMAL or goto_table for all" : "NORMAL");
    else if (table && !jumps_to(have, table))
        *ret_r = err_set(err, EBUSY,
                         "no rule of bridge %s jumps to table %u: packets would not come there",
                         bridge, table);
    else
        return base;
    return NULL;
}

static bool is_same(const struct of_flow *a, const struct of_flow *b)
{
    return a->cookie == b->cookie && a->flags == b->flags && a->queue == b->queue &&
           a->then == b->then && (a->then != OF_GOTO || a->next == b->next);
}

static const struct of_flow *find(const struct of_flow *flows, uint32_t n,
                                  const struct of_flow *like)
{
    for (uint32_t i = 0; i < n; i++)
        if (flows[i].priority == like->priority && of_same_match(&flows[i].match, &like->match))
            return &flows[i];
    return NULL;
}

static int add_change(enum switch_verb verb, const struct of_flow *flow, struct switch_plan *plan,
                      struct openflow_change *changes, uint32_t *n, struct err *err)
{
    char match[64];
    of_say_match(&flow->match, match, sizeof(match));
    changes[(*n)++] = (struct openflow_change){
        .command = verb == SWITCH_REMOVE ? OF_DELETE_STRICT : OF_ADD, .flow = *flow};
    return switch_step_add(plan, verb, "", err, "table %u: %s to queue %" PRId32, flow->table,
                           match, flow->queue);
}

int ovs_flows_plan(const struct openflow_table *have, const struct switch_config *config,
                   const struct port *want, struct switch_plan *plan,
                   struct openflow_change *changes, uint32_t *ret_n, struct err *err)
{
    uint64_t cookie = ovs_cookie(config->owner);
    int r = 0;
    const struct of_flow *base = find_base(have, config, &r, err);
    if (!base)
        return r;
    struct flow_set set = {.base = *base, .want = want};
    set.base.priority = PRIORITY;
    set.base.flags = OF_SEND_REMOVED;
    set.base.cookie = cookie;
    want_flows(&set, config);
    *ret_n = 0;
    for (uint32_t i = 0; r >= 0 && i < have->n; i++)
        if (have->flows[i].cookie == cookie && !find(set.flows, set.n, &have->flows[i]))
            r = add_change(SWITCH_REMOVE, &have->flows[i], plan, changes, ret_n, err);
    for (uint32_t i = 0; r >= 0 && i < set.n; i++) {
        const struct of_flow *old = find(have->flows, have->n, &set.flows[i]);
        if (!old || !is_same(old, &set.flows[i]))
            r = add_change(old ? SWITCH_CHANGE : SWITCH_ADD, &set.flows[i], plan, changes, ret_n,
                           err);
    }
    return r;
}

void ovs_flows_say(const struct openflow_table *have, const char *owner, FILE *out)
{
    uint64_t cookie = ovs_cookie(owner);
    for (uint32_t i = 0; i < have->n; i++) {
        const struct of_flow *flow = &have->flows[i];
        char match[64];
        if (flow->cookie == cookie)
            continue;
        of_say_match(&flow->match, match, sizeof(match));
        fprintf(out,
                "flow table %u priority %u cookie %#" PRIx64 " %s%s queue %" PRId32 " then %d\n",
                flow->table, flow->priority, flow->cookie, match,
                flow->match.other ? " and more" : "", flow->queue, flow->then);
    }
}
