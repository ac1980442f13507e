#include "hostagent/flow_report.h"

#include "hostagent/route_port_nl.h"
#include "hostagent/socket_nl.h"
#include "hostagent/tcp_list_nl.h"
#include "lib/now.h"
#include "lib/wire.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <netinet/tcp.h>
#include <string.h>

#define MOST (sizeof(((duopoly_AskedPart *)0)->flows) / sizeof(duopoly_Flow))

#define STATES (1u << TCP_ESTABLISHED | 1u << TCP_CLOSE_WAIT | 1u << TCP_FIN_WAIT1)

static int carried_take(const struct nlmsghdr *message, void *user)
{
    struct flow_carried carried;
    struct socket_seen seen;
    if (mnl_nlmsg_get_payload_len(message) < sizeof(struct inet_diag_msg))
        return MNL_CB_OK;
    socket_nl_read(message, &carried.key, &seen);
    carried.sent_bytes = seen.sent_bytes;
    carried.received_bytes = seen.received_bytes;
    if (seen.counted)
        flow_rates_add(user, &carried);
    return MNL_CB_OK;
}

int flow_report_look(struct flow_rates *rates, struct err *err)
{
    flow_rates_begin(rates, now_ns(CLOCK_BOOTTIME));
    int r = tcp_list(STATES, 1u << (INET_DIAG_INFO - 1), carried_take, rates, err);
    flow_rates_end(rates);
    return r;
}

struct owners {
    duopoly_AskedPart *part;
    uint64_t cgroups[MOST]; /* of the sockets of the part's connections; 0: unknown */
};

static int64_t age(uint64_t at_ns, uint64_t now)
{
    return !at_ns ? -1 : now > at_ns ? (int64_t)(now - at_ns) : 0;
}

static void flow_fill(const struct mark_connection *connection, uint64_t now, duopoly_Flow *flow)
{
    const struct mark_flow_key *key = &connection->key;
    memcpy(flow->local, key->local, sizeof(flow->local));
    memcpy(flow->peer, key->peer, sizeof(flow->peer));
    flow->local_port = ntohs(key->local_port);
    flow->peer_port = ntohs(key->peer_port);
    flow->accepted = connection->flow.role == MARK_ROLE_ACCEPTER;
    flow->has_wire_level = connection->flow.followed < MARK_LEVELS;
    flow->wire_level = flow->has_wire_level ? connection->flow.followed : 0;
    flow->sent_age_ns = age(connection->flow.sent_ns, now);
    flow->received_age_ns = age(connection->flow.received_ns, now);
}

static void rate_fill(const struct flow_rates *rates, const struct mark_flow_key *key,
                      duopoly_Flow *flow)
{
    const struct flow_carried carried = {*key, flow->sent_bytes, flow->received_bytes};
    const bool known =
        flow->has_sent_bytes && flow_rates_since(rates, &carried, now_ns(CLOCK_BOOTTIME),
                                                 &flow->sent_bps, &flow->received_bps);
    flow->has_sent_bps = flow->has_received_bps = known;
}

/* A connection whose socket is gone, or in another network namespace, is told without it. */
static void socket_fill(struct socket_nl *sockets, const struct flow_rates *rates,
                        const struct mark_flow_key *key, duopoly_Flow *flow, uint64_t *ret_cgroup)
{
    struct socket_seen seen;
    if (socket_nl_find(sockets, key, &seen) < 0)
        return;
    *ret_cgroup = seen.cgroup;
    flow->has_sent_bytes = flow->has_received_bytes = seen.counted;
    flow->sent_bytes = seen.sent_bytes;
    flow->received_bytes = seen.received_bytes;
    rate_fill(rates, key, flow);
}

static void ports_fill(const struct mark_connection *connections, duopoly_AskedPart *part,
                       struct err *err)
{
    struct route_port routes;
    char port[IF_NAMESIZE];
    if (route_port_open(&routes, err) < 0)
        return;
    for (pb_size_t i = 0; i < part->flows_count; i++)
        if (route_port_find(&routes, &connections[i].key, port) >= 0)
            wire_copy(part->flows[i].port, sizeof(part->flows[i].port), port);
    route_port_close(&routes);
}

static void on_task(void *user, uint64_t cgroup, uint64_t attempt)
{
    struct owners *owners = user;
    for (pb_size_t i = 0; i < owners->part->flows_count; i++)
        if (owners->cgroups[i] == cgroup)
            owners->part->flows[i].attempt = attempt;
}

static void on_guest(void *user, uint64_t cgroup, const char *application)
{
    struct owners *owners = user;
    for (pb_size_t i = 0; i < owners->part->flows_count; i++)
        if (owners->cgroups[i] == cgroup)
            wire_copy(owners->part->flows[i].name, sizeof(owners->part->flows[i].name),
                      application);
}

static void flows_fill(const struct flow_report_from *from,
                       const struct mark_connection *connections, uint32_t n,
                       duopoly_AskedPart *part, struct err *err)
{
    struct owners owners = {.part = part};
    struct socket_nl sockets;
    const uint64_t now = now_ns(CLOCK_BOOTTIME);
    bool open = socket_nl_open(&sockets, err) >= 0;
    for (uint32_t i = 0; i < n; i++) {
        duopoly_Flow *flow = &part->flows[part->flows_count++];
        flow_fill(&connections[i], now, flow);
        if (open)
            socket_fill(&sockets, from->rates, &connections[i].key, flow, &owners.cgroups[i]);
    }
    if (open)
        socket_nl_close(&sockets);
    ports_fill(connections, part, err);
    tasks_each_cgroup(from->tasks, on_task, &owners);
    guests_each_cgroup(from->guests, on_guest, &owners);
}

void flow_report(const struct flow_report_from *from, uint64_t cursor, duopoly_AskedPart *ret_part)
{
    struct mark_connection connections[MOST];
    struct err err = {0};
    uint32_t n = 0;
    int r = marks_connections(from->marks, &cursor, connections, MOST, &n, &err);
    if (r >= 0) {
        ret_part->cursor = cursor;
        flows_fill(from, connections, n, ret_part, &err);
    }
    wire_copy(ret_part->text, sizeof(ret_part->text), err.text);
}
