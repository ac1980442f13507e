#include "hostagent/queues/ports_nl.h"

#include "hostagent/nl.h"
#include "hostagent/queues/tunnels.h"
#include "lib/join.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINKS_MOST 65536
#define TRIES      5 /* a dump may be cut by what changes meanwhile */
#define BONDS_DEEP 4

static int make_room(struct links_told *told)
{
    uint32_t allocated = told->allocated ? 2 * told->allocated : 64;
    if (told->n < told->allocated)
        return 0;
    if (told->n == LINKS_MOST)
        return -E2BIG;
    struct link *links = realloc(told->links, allocated * sizeof(*links));
    if (!links)
        return -ENOMEM;
    told->links = links;
    told->allocated = allocated;
    return 0;
}

static int keep_link(struct nl_msg *msg, void *arg)
{
    struct links_told *told = arg;
    struct nlmsghdr *header = nlmsg_hdr(msg);
    struct ifinfomsg *info = nlmsg_data(header);
    struct nlattr *attrs[IFLA_MAX + 1];
    if (header->nlmsg_type != RTM_NEWLINK ||
        nlmsg_parse(header, sizeof(*info), attrs, IFLA_MAX, NULL) < 0 || !attrs[IFLA_IFNAME])
        return NL_OK;
    told->error = make_room(told);
    if (told->error < 0)
        return NL_STOP;
    struct link *link = &told->links[told->n++];
    *link = (struct link){.ifindex = info->ifi_index,
                          .loopback = (info->ifi_flags & IFF_LOOPBACK) != 0,
                          .up = (info->ifi_flags & IFF_UP) != 0};
    link_kind_take(attrs[IFLA_LINKINFO], &link->kind);
    if (attrs[IFLA_LINK] && nla_len(attrs[IFLA_LINK]) >= 4 && !attrs[IFLA_LINK_NETNSID])
        link->below = (int)nla_get_u32(attrs[IFLA_LINK]);
    if (attrs[IFLA_MASTER] && nla_len(attrs[IFLA_MASTER]) >= 4)
        link->master = (int)nla_get_u32(attrs[IFLA_MASTER]);
    nla_strlcpy(link->name, attrs[IFLA_IFNAME], sizeof(link->name));
    return NL_OK;
}

static int tell(struct links_told *told, struct err *err)
{
    struct {
        struct ifinfomsg about;
        struct nlattr mask;
        uint32_t wanted; /* names and masters, no counters */
    } request = {
        .about = {.ifi_family = AF_UNSPEC},
        .mask = {.nla_len = (uint16_t)nla_attr_size(sizeof(uint32_t)), .nla_type = IFLA_EXT_MASK},
        .wanted = RTEXT_FILTER_SKIP_STATS};
    struct nl_sock *sock;
    int r = netlink_open(&sock, err);
    if (r < 0)
        return r;
    r = -NLE_DUMP_INTR;
    for (int i = 0; r == -NLE_DUMP_INTR && i < TRIES; i++) {
        told->n = 0;
        r = netlink_dump(sock, RTM_GETLINK, &request, sizeof(request), keep_link, told);
    }
    nl_socket_free(sock);
    if (told->error < 0)
        return err_sys(err, -told->error, "listing interfaces");
    return r < 0 ? netlink_err(err, r, "listing interfaces") : 0;
}

static const struct link *link_of(const struct links_told *told, int ifindex)
{
    for (uint32_t i = 0; ifindex && i < told->n; i++)
        if (told->links[i].ifindex == ifindex)
            return &told->links[i];
    return NULL;
}

static bool is_wanted(const struct ports_wanted *wanted, const struct link *link, int bridge)
{
    if ((bridge && link->master == bridge) || strcmp(wanted->name, link->name) == 0)
        return true;
    for (uint32_t i = 0; i < wanted->patterns_n; i++)
        if (port_pattern_matches(wanted->patterns[i].text, link->name))
            return true;
    return false;
}

/* By itself, or as a port of a bond that is. */
static bool is_port(const struct ports_wanted *wanted, const struct links_told *told,
                    const struct link *link, int bridge)
{
    if (link->kind.bond)
        return false;
    for (int deep = 0; link && deep < BONDS_DEEP; deep++) {
        if (is_wanted(wanted, link, bridge))
            return true;
        link = link_of(told, link->master);
        link = link && link->kind.bond ? link : NULL;
    }
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct link *)a)->name, ((const struct link *)b)->name);
}

static int find_bridge(const struct ports_wanted *wanted, const struct links_told *told,
                       struct err *err)
{
    for (uint32_t i = 0; wanted->bridge[0] && i < told->n; i++)
        if (strcmp(told->links[i].name, wanted->bridge) == 0)
            return told->links[i].ifindex;
    return wanted->bridge[0]
               ? err_set(err, ENODEV, "there is no bridge %s in this network namespace",
                         wanted->bridge)
               : 0;
}

/* Open vSwitch's bridges are none of the kernel's: their ports are not reported as theirs. */
static int check_bridge(const struct links_told *told, int bridge, struct err *err)
{
    const struct link *link = link_of(told, bridge);
    for (uint32_t i = 0; i < told->n; i++)
        if (!link || link->kind.bridge || told->links[i].master == bridge)
            return 0;
    return err_set(err, EINVAL,
                   "%s is no bridge of the kernel's, and has no ports there: name them as "
                   "link.ports, or all of Open vSwitch's by link.bridge ovs-system",
                   link->name);
}

static bool has_one(const struct links_told *told, const char *pattern)
{
    for (uint32_t i = 0; i < told->n; i++)
        if (!told->links[i].loopback && port_pattern_matches(pattern, told->links[i].name))
            return true;
    return false;
}

static void note_lacks(const struct ports_wanted *wanted, const struct links_told *told,
                       struct ports_found *found)
{
    found->lacks[0] = 0;
    for (uint32_t i = 0; i < wanted->patterns_n; i++)
        if (!has_one(told, wanted->patterns[i].text))
            join_word(found->lacks, sizeof(found->lacks), ", ", wanted->patterns[i].text);
}

static void add_found(const struct links_told *told, const enum link_place *places,
                      enum link_place which, struct ports_found *found)
{
    found->n = 0;
    for (uint32_t i = 0; i < told->n; i++)
        if (places[i] == which)
            ports_add(found, told->links[i].ifindex, told->links[i].name);
}

static int choose(const struct ports_wanted *wanted, struct links_told *told, bool all,
                  struct ports_found *found, struct tunnels_found *tunnels, struct err *err)
{
    int bridge = find_bridge(wanted, told, err), r = bridge;
    if (r >= 0 && all)
        r = check_bridge(told, bridge, err);
    if (r < 0)
        return r;
    uint32_t n = 0;
    enum link_place *places = calloc(told->n + 1, sizeof(*places));
    if (!places)
        return err_sys(err, ENOMEM, "ports");
    if (told->n)
        qsort(told->links, told->n, sizeof(told->links[0]), by_name);
    for (uint32_t i = 0; i < told->n; i++) {
        bool ours = is_port(wanted, told, &told->links[i], bridge);
        places[i] = ours ? LINK_PORT : LINK_OTHERS;
        n += ours;
    }
    if (n > QUEUES_PORTS) {
        r = err_set(err, E2BIG, "%u ports: an agent manages at most %d", n, QUEUES_PORTS);
    } else {
        tunnels_place(told, places);
        add_found(told, places, LINK_PORT, found);
        note_lacks(wanted, told, found);
        if (all && !found->n && found->lacks[0])
            r = err_set(err, ENODEV,
                        "there is no interface %s in this network namespace (link.ports)",
                        found->lacks);
        add_found(told, places, LINK_TUNNEL, &tunnels->ports);
        tunnels_note(wanted, told, places, tunnels);
    }
    free(places);
    return r < 0 ? r : 0;
}

int ports_find(const struct ports_wanted *wanted, bool all, struct ports_found *ret_found,
               struct tunnels_found *ret_tunnels, struct err *err)
{
    struct links_told told = {0};
    int r = tell(&told, err);
    if (r >= 0)
        r = choose(wanted, &told, all, ret_found, ret_tunnels, err);
    free(told.links);
    return r;
}

/* Where in by_number a port of this number is, or belongs. */
static uint32_t rank(const struct ports_found *found, int ifindex)
{
    uint32_t low = 0, high = found->n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (found->ifindexes[found->by_number[middle]] < ifindex)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void ports_add(struct ports_found *found, int ifindex, const char *name)
{
    uint32_t at = rank(found, ifindex);
    memmove(&found->by_number[at + 1], &found->by_number[at],
            (found->n - at) * sizeof(found->by_number[0]));
    found->by_number[at] = (uint16_t)found->n;
    found->ifindexes[found->n] = ifindex;
    snprintf(found->names[found->n++], PORT_NAME, "%s", name);
}

void ports_keep(struct ports_found *found, bool (*stays)(const void *user, const char *port),
                const void *user)
{
    uint32_t n = found->n;
    found->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        char name[PORT_NAME];
        memcpy(name, found->names[i], sizeof(name));
        if (stays(user, name))
            ports_add(found, found->ifindexes[i], name);
    }
}

int ports_place(const struct ports_found *found, int ifindex)
{
    uint32_t at = rank(found, ifindex);
    return at < found->n && found->ifindexes[found->by_number[at]] == ifindex ? found->by_number[at]
                                                                              : -1;
}
