/* Which interfaces of this network namespace are ports of ours (RTM_GETLINK, one dump).
 *
 * An interface is one when its name is wanted, or it is a port of the bridge. Where a bond or team
 * is, its own ports are, which come and go: packets wait there, each link at its own rate. Loopback
 * never is. A tunnel over one of them is told apart: packets wait at the port. A VLAN, macvlan, ipvlan or
 * bridge over one is none: its packets are the port's. Blocking, for an exchange with the kernel or two;
 * O(interfaces · (patterns + ports over others)). */
#pragma once

#include "hostagent/queues/queues.h"
#include "lib/mark_prefix.h"
#include "lib/port/port_names.h"

struct ports_wanted {
    const char *name, *bridge; /* "": none */
    const struct port_pattern *patterns;
    uint32_t patterns_n;
    const struct mark_prefix *members; /* for notes; none: everybody is one */
    uint32_t members_n;
};

#define TUNNEL_NOTES 8

/* Tunnels that go over ports, and what of tunnels does not work, in a sentence each. */
struct tunnels_found {
    struct ports_found ports;
    bool hides; /* one of them tells nobody which packet is around which: WireGuard */
    uint32_t notes_n;
    char notes[TUNNEL_NOTES][160];
};

/* −ENODEV: there is no such bridge; with `all` also: no name or pattern has a port. −EINVAL, with `all`:
 * what is named as a bridge is none. −E2BIG: more than
 * QUEUES_PORTS. −EAGAIN: interfaces change too quickly. `ret_found` is then as it was. */
int ports_find(const struct ports_wanted *wanted, bool all, struct ports_found *ret_found,
               struct tunnels_found *ret_tunnels, struct err *err);

/* Behind the others, which are fewer than QUEUES_PORTS. O(ports) in the worst
 * case, O(log ports) when their numbers grow, too. */
void ports_add(struct ports_found *found, int ifindex, const char *name);

/* Those alone for which `stays`. O(ports · log ports). */
void ports_keep(struct ports_found *found, bool (*stays)(const void *user, const char *port),
                const void *user);

/* The place of an interface among them; −1: it is none. O(log ports). */
int ports_place(const struct ports_found *found, int ifindex);
