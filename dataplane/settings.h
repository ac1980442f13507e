/* The configuration of duopoly-fastpath: schemas/duopoly-fastpath.yaml is its manual, lib/conf.h
 * its reader. Everything is inline: nothing to free. */
#pragma once

#include "dataplane/marking.h"
#include "dataplane/switching.h"
#include "lib/err.h"
#include "lib/port/port_message.h"

#include <stdbool.h>
#include <stdint.h>

#define FASTPATH_PORTS   PORT_MESSAGES
#define FASTPATH_WORKERS 8
#define FASTPATH_GROUP   "duopoly"
#define FASTPATH_READERS "duopoly-readers"

enum { ROLE_OF_HOST, ROLE_OF_SWITCH };
enum { SIDE_HOST, SIDE_NETWORK, SIDES }; /* of a host: the indexes of its ports */
enum { MARKS_HERE, MARKS_KERNEL };

struct fastpath_side {
    char name[PORT_LONG_NAME];
    char device[256]; /* DPDK's name, and after a comma its arguments */
    int64_t rate_bps; /* 0: the device's own speed */
};

struct fastpath_settings {
    char socket[108], group[64], readers[64];
    int64_t cpus[FASTPATH_WORKERS]; /* a worker each */
    uint32_t cpus_n;                /* at least 1 */
    int64_t mtu_bytes;
    int role;
    struct fastpath_side sides[SIDES]; /* of a host */
    struct fastpath_side ports[FASTPATH_PORTS];
    uint32_t ports_n; /* of a switch */
    struct fastpath_forwarding {
        int64_t macs, age_ns, flood_pps, moves, shut_ns;
    } forwarding;
    struct fastpath_queues {
        int64_t levels, leaf_packets, ecn_packets, red_packets, unmanaged_joins;
        bool ecn;
        int64_t floor_permille, unmanaged_permille, control_permille;
    } queues;
    struct fastpath_marks {
        int by;
        struct mark_prefix members[MARKING_MEMBERS];
        uint32_t members_n;
        int64_t dscp[PORT_LEVELS];
        uint32_t dscp_n;
        int64_t control_port, flows;
    } marks;
};

int fastpath_settings_read(const char *path, struct fastpath_settings *ret_settings,
                           struct err *err);

/* Checks what depends on this host: groups, processors, and the interfaces that devices name.
 * −EINVAL; −ENODEV: everything else is right, but there is no such interface (yet). */
int fastpath_settings_check(const struct fastpath_settings *settings, struct err *err);

/* Its ports, in either role. */
uint32_t fastpath_ports(const struct fastpath_settings *settings);
const struct fastpath_side *fastpath_side(const struct fastpath_settings *settings, uint32_t place);

/* The facts of a port whose device reports this speed (0: unknown). */
void fastpath_facts(const struct fastpath_settings *settings, uint32_t place, uint64_t device_bps,
                    struct port_facts *ret_facts);
/* The wanted egress of a port. −EINVAL as port_want. */
int fastpath_port(const struct fastpath_settings *settings, uint32_t place,
                  const struct port_facts *facts, struct port *ret_port, struct err *err);

/* Whether a process that runs with `now` can continue with `next`. −EINVAL, naming the key that
 * needs a restart. */
int fastpath_may_change(const struct fastpath_settings *now, const struct fastpath_settings *next,
                        struct err *err);

struct marking_settings fastpath_marking(const struct fastpath_settings *settings);
/* Of a switch. */
struct switching_settings fastpath_switching(const struct fastpath_settings *settings);
