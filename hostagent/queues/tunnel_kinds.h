/* The kind of an interface (IFLA_LINKINFO): a tunnel, or one whose packets are those of the
 * interface below it (pure). */
#pragma once

#include "lib/mark_prefix.h"

#include <netlink/attr.h>
#include <stdbool.h>

/* How a tunnel's outer header relates to the packet's code point. */
enum tunnel_outer {
    TUNNEL_NONE, /* not a tunnel */
    TUNNEL_PLAIN,
    TUNNEL_INHERITS, /* it gets the packet's own code point */
    TUNNEL_HIDES,    /* it cannot carry it */
};

struct link_kind {
    char name[16];
    bool bond, bridge, stacked; /* stacked: VLAN, macvlan, ipvlan, and a bridge */
    enum tunnel_outer outer;
    bool multipoint; /* GRE to destinations from the neighbour table: its header precedes the
                      * packet */
    int below;       /* 0: not reported */
    struct mark_prefix remote; /* 0 bits: not reported */
};

/* `info` NULL: no kind. */
void link_kind_take(const struct nlattr *info, struct link_kind *ret_kind);
