#include "hostagent/queues/tunnel_kinds.h"

#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <linux/ip6_tunnel.h>
#include <stdint.h>
#include <string.h>

#define MOST    64 /* attributes of a kind */
#define INHERIT 1  /* as a TOS */

/* The attribute for each property; 0: none. */
static const struct tunnel_kind {
    const char *name;
    uint8_t below, tos, flags, remote, remote6, external;
} kinds[] = {
    {"vxlan", IFLA_VXLAN_LINK, IFLA_VXLAN_TOS, 0, IFLA_VXLAN_GROUP, IFLA_VXLAN_GROUP6,
     IFLA_VXLAN_COLLECT_METADATA},
    {"geneve", 0, IFLA_GENEVE_TOS, 0, IFLA_GENEVE_REMOTE, IFLA_GENEVE_REMOTE6,
     IFLA_GENEVE_COLLECT_METADATA},
    {"gre", IFLA_GRE_LINK, IFLA_GRE_TOS, 0, IFLA_GRE_REMOTE, 0, IFLA_GRE_COLLECT_METADATA},
    {"gretap", IFLA_GRE_LINK, IFLA_GRE_TOS, 0, IFLA_GRE_REMOTE, 0, IFLA_GRE_COLLECT_METADATA},
    {"erspan", IFLA_GRE_LINK, IFLA_GRE_TOS, 0, IFLA_GRE_REMOTE, 0, IFLA_GRE_COLLECT_METADATA},
    {"ip6gre", IFLA_GRE_LINK, 0, IFLA_GRE_FLAGS, IFLA_GRE_REMOTE, 0, IFLA_GRE_COLLECT_METADATA},
    {"ip6gretap", IFLA_GRE_LINK, 0, IFLA_GRE_FLAGS, IFLA_GRE_REMOTE, 0, IFLA_GRE_COLLECT_METADATA},
    {"ipip", IFLA_IPTUN_LINK, IFLA_IPTUN_TOS, 0, IFLA_IPTUN_REMOTE, 0, IFLA_IPTUN_COLLECT_METADATA},
    {"sit", IFLA_IPTUN_LINK, IFLA_IPTUN_TOS, 0, IFLA_IPTUN_REMOTE, 0, 0},
    {"ip6tnl", IFLA_IPTUN_LINK, 0, IFLA_IPTUN_FLAGS, IFLA_IPTUN_REMOTE, 0,
     IFLA_IPTUN_COLLECT_METADATA},
    {"wireguard", 0, 0, 0, 0, 0, 0},
};

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static uint32_t number(struct nlattr *const *attrs, uint8_t which)
{
    const struct nlattr *attr = which ? attrs[which] : NULL;
    return !attr                ? 0
           : nla_len(attr) >= 4 ? nla_get_u32(attr)
           : nla_len(attr)      ? nla_get_u8(attr)
                                : 0;
}

static void take_remote(const struct nlattr *attr, struct mark_prefix *remote)
{
    static const uint8_t none[16], mapped[12] = {[10] = 0xff, [11] = 0xff};
    int bytes = attr ? nla_len(attr) : 0;
    if ((bytes != 4 && bytes != 16) || memcmp(nla_data(attr), none, (size_t)bytes) == 0)
        return;
    memcpy(remote->address, mapped, sizeof(mapped));
    memcpy(remote->address + 16 - bytes, nla_data(attr), (size_t)bytes);
    remote->bits = 128;
}

static void take_tunnel(const struct tunnel_kind *tunnel, const struct nlattr *data,
                        struct link_kind *kind)
{
    struct nlattr *attrs[MOST + 1] = {0};
    if (data && nla_parse_nested(attrs, MOST, (struct nlattr *)data, NULL) < 0)
        return;
    bool inherits = tunnel->flags ? number(attrs, tunnel->flags) & IP6_TNL_F_USE_ORIG_TCLASS
                                  : number(attrs, tunnel->tos) == INHERIT;
    kind->outer = !tunnel->tos && !tunnel->flags ? TUNNEL_HIDES
                  : inherits                     ? TUNNEL_INHERITS
                                                 : TUNNEL_PLAIN;
    kind->below = (int)number(attrs, tunnel->below);
    take_remote(tunnel->remote ? attrs[tunnel->remote] : NULL, &kind->remote);
    if (tunnel->remote6 && !kind->remote.bits)
        take_remote(attrs[tunnel->remote6], &kind->remote);
    bool external = tunnel->external && attrs[tunnel->external];
    kind->multipoint = strcmp(tunnel->name, "gre") == 0 && !kind->remote.bits && !external;
}

void link_kind_take(const struct nlattr *info, struct link_kind *ret_kind)
{
    static const char *const bonds[] = {"bond", "team", NULL};
    static const char *const stacks[] = {"vlan",   "macvlan", "macvtap", "ipvlan",
                                         "ipvtap", "bridge",  NULL};
    struct nlattr *attrs[IFLA_INFO_MAX + 1];
    *ret_kind = (struct link_kind){.outer = TUNNEL_NONE};
    if (!info || nla_parse_nested(attrs, IFLA_INFO_MAX, (struct nlattr *)info, NULL) < 0 ||
        !attrs[IFLA_INFO_KIND])
        return;
    nla_strlcpy(ret_kind->name, attrs[IFLA_INFO_KIND], sizeof(ret_kind->name));
    ret_kind->bond = is_one_of(ret_kind->name, bonds);
    ret_kind->bridge = strcmp(ret_kind->name, "bridge") == 0;
    ret_kind->stacked = is_one_of(ret_kind->name, stacks);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, ret_kind->name) == 0)
            take_tunnel(&kinds[i], attrs[IFLA_INFO_DATA], ret_kind);
}
