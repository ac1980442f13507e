/* What an interface is by its kind (IFLA_LINKINFO): a tunnel, or one whose packets are those of the
 * interface below it (pure). */
#pragma once

#include "lib/mark_prefix.h"

#include <netlink/attr.h>
#include <stdbool.h>

/* What a tunnel puts around a packet, as far as marks are concerned. */
enum tunnel_outer {
    TUNNEL_NONE, /* it is none */
    TUNNEL_PLAIN,
    TUNNEL_INHERITS, /* the packet's own code point */
    TUNNEL_HIDES,    /* and can do no other */
};

struct link_kind {
    char name[16];
    bool bond, bridge, stacked; /* stacked: VLAN, macvlan, ipvlan, and a bridge */
    enum tunnel_outer outer;
    bool multipoint; /* GRE to whom the neighbour table says: its header stands before the packet */
    int below;       /* 0: not told */
    struct mark_prefix remote; /* 0 bits: not told */
};

/* `info` NULL: none of a kind. */
void link_kind_take(const struct nlattr *info, struct link_kind *ret_kind);
