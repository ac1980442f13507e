/* Finds the interfaces of this network namespace that are our ports (RTM_GETLINK, one dump).
 *
 * An interface is a port if its name is wanted, or if it is a port of the bridge. Instead of a
 * bond or team, its own ports are used, which come and go: packets wait there, each link at its
 * own rate. Loopback never is a port. A tunnel over a port is listed separately: its packets wait
 * at the port. A VLAN, macvlan, ipvlan or bridge over a port is not one: its packets are the
 * port's. Blocking, for an exchange with the kernel or two; O(interfaces · (patterns + ports over
 * others)). */
#pragma once

#include "hostagent/queues/queues.h"
#include "lib/mark_prefix.h"
#include "lib/port/port_names.h"

struct ports_wanted {
    const char *name, *bridge; /* "": none */
    const struct port_pattern *patterns;
    uint32_t patterns_n;
    const struct mark_prefix *members; /* for notes; none: every address is a member */
    uint32_t members_n;
};

#define TUNNEL_NOTES 8

/* Tunnels that go over ports, and a sentence for each tunnel that will not work. */
struct tunnels_found {
    struct ports_found ports;
    bool hides; /* one of them (WireGuard) hides which packet is inside which */
    uint32_t notes_n;
    char notes[TUNNEL_NOTES][160];
};

/* −ENODEV: there is no such bridge; with `all` also: a name or pattern matches no port. −EINVAL,
 * with `all`: what is named as a bridge is not one. −E2BIG: more than QUEUES_PORTS. −EAGAIN:
 * interfaces change too quickly. `ret_found` is then unchanged. */
int ports_find(const struct ports_wanted *wanted, bool all, struct ports_found *ret_found,
               struct tunnels_found *ret_tunnels, struct err *err);

/* Appends a port; there are fewer than QUEUES_PORTS. O(ports) at worst, O(log ports) if ifindexes
 * grow too. */
void ports_add(struct ports_found *found, int ifindex, const char *name);

/* Keeps only those for which `stays` is true. O(ports · log ports). */
void ports_keep(struct ports_found *found, bool (*stays)(const void *user, const char *port),
                const void *user);

/* The place of an interface among them; −1: it is not there. O(log ports). */
int ports_place(const struct ports_found *found, int ifindex);
