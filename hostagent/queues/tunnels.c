#include "hostagent/queues/tunnels.h"

#include "hostagent/nl.h"
#include "lib/address.h"

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <string.h>

#define DEEP 4

static const struct link *link_of(const struct links_told *told, int ifindex)
{
    for (uint32_t i = 0; ifindex && i < told->n; i++)
        if (told->links[i].ifindex == ifindex)
            return &told->links[i];
    return NULL;
}

static int below(const struct link *link)
{
    return link->kind.below ? link->kind.below : link->below;
}

/* Whether what this interface sends passes a port of ours: itself, the interface below it, or a
 * part of it. */
static bool is_over_port(const struct links_told *told, const enum link_place *places, int ifindex,
                         int deep)
{
    for (uint32_t i = 0; ifindex && deep && i < told->n; i++) {
        const struct link *link = &told->links[i];
        if (link->ifindex == ifindex &&
            (places[i] != LINK_OTHERS ||
             (link->kind.stacked && is_over_port(told, places, below(link), deep - 1))))
            return true;
        if (link->master == ifindex && is_over_port(told, places, link->ifindex, deep - 1))
            return true;
    }
    return false;
}

static bool has_plain_port(const struct links_told *told, const enum link_place *places)
{
    for (uint32_t i = 0; i < told->n; i++)
        if (places[i] == LINK_PORT && told->links[i].kind.outer == TUNNEL_NONE)
            return true;
    return false;
}

/* A tunnel that does not report its lower interface goes over those ports that are no tunnels. */
static bool tunnel_is_over_port(const struct links_told *told, const enum link_place *places,
                                const struct link *link)
{
    return below(link) ? is_over_port(told, places, below(link), DEEP)
                       : has_plain_port(told, places);
}

/* A bridge's ports have it as their master. */
static bool has_port_below(const struct links_told *told, const enum link_place *places,
                           const struct link *link)
{
    bool found = is_over_port(told, places, below(link), DEEP);
    for (uint32_t i = 0; link->kind.bridge && !found && i < told->n; i++)
        found = told->links[i].master == link->ifindex &&
                is_over_port(told, places, told->links[i].ifindex, DEEP);
    return found;
}

void tunnels_place(const struct links_told *told, enum link_place *places)
{
    for (uint32_t i = 0; i < told->n; i++) {
        const struct link *link = &told->links[i];
        if (places[i] != LINK_PORT)
            continue;
        if (link->kind.stacked && has_port_below(told, places, link))
            places[i] = LINK_ABOVE;
        else if (link->kind.outer != TUNNEL_NONE && tunnel_is_over_port(told, places, link))
            places[i] = LINK_TUNNEL;
    }
}

struct asked {
    const struct ports_wanted *wanted;
    struct links_told *told;
};

static bool is_member(const struct ports_wanted *wanted, const uint8_t address[16])
{
    for (uint32_t i = 0; i < wanted->members_n; i++)
        if (mark_prefix_has(&wanted->members[i], address, 128))
            return true;
    return !wanted->members_n;
}

static int keep_address(struct nl_msg *msg, void *arg)
{
    const struct asked *asked = arg;
    struct nlmsghdr *header = nlmsg_hdr(msg);
    struct nlattr *attrs[IFA_MAX + 1];
    struct ifaddrmsg *about = nlmsg_data(header);
    if (header->nlmsg_type != RTM_NEWADDR ||
        nlmsg_parse(header, sizeof(*about), attrs, IFA_MAX, NULL) < 0 ||
        about->ifa_scope >= RT_SCOPE_LINK)
        return NL_OK;
    const struct nlattr *attr = attrs[IFA_LOCAL] ? attrs[IFA_LOCAL] : attrs[IFA_ADDRESS];
    uint8_t address[16] = {[10] = 0xff, [11] = 0xff};
    int bytes = attr ? nla_len(attr) : 0;
    if (bytes != 4 && bytes != 16)
        return NL_OK;
    memcpy(address + 16 - bytes, nla_data(attr), (size_t)bytes);
    for (uint32_t i = 0; i < asked->told->n; i++)
        if (asked->told->links[i].ifindex == (int)about->ifa_index)
            asked->told->links[i].member |= is_member(asked->wanted, address);
    return NL_OK;
}

static void ask_addresses(const struct ports_wanted *wanted, struct links_told *told)
{
    struct ifaddrmsg request = {.ifa_family = AF_UNSPEC};
    struct asked asked = {wanted, told};
    struct nl_sock *sock;
    if (netlink_open(&sock, NULL) < 0)
        return;
    netlink_dump(sock, RTM_GETADDR, &request, sizeof(request), keep_address, &asked);
    nl_socket_free(sock);
}

static bool has_member(const struct links_told *told, const struct link *link)
{
    const struct link *master = link_of(told, link->master);
    return link->member || (master && master->member);
}

__attribute__((format(printf, 2, 3))) static void note(struct tunnels_found *found,
                                                       const char *format, ...)
{
    va_list ap;
    if (found->notes_n == TUNNEL_NOTES)
        return;
    va_start(ap, format);
    vsnprintf(found->notes[found->notes_n++], sizeof(found->notes[0]), format, ap);
    va_end(ap);
}

static void note_ours(const struct ports_wanted *wanted, const struct link *link,
                      enum link_place place, struct tunnels_found *found)
{
    const struct link_kind *kind = &link->kind;
    char remote[INET6_ADDRSTRLEN], mend[80] = "";
    if (kind->outer == TUNNEL_PLAIN)
        snprintf(mend, sizeof(mend), "ip link set %s type %s tos inherit, or ", link->name,
                 kind->name);
    if (kind->multipoint)
        note(found, "%s is a GRE tunnel without a remote: what it carries is not marked",
             link->name);
    else if (place == LINK_PORT && kind->outer != TUNNEL_INHERITS)
        note(found,
             "%s hides marks from the network: %sname the interface below it in link.ports, "
             "too",
             link->name, mend);
    if (place != LINK_TUNNEL || !kind->remote.bits || is_member(wanted, kind->remote.address))
        return;
    address_print(kind->remote.address, remote);
    note(found, "%s: its other end %s is none of marks.members, so what it carries leaves unmarked",
         link->name, remote);
}

void tunnels_note(const struct ports_wanted *wanted, struct links_told *told,
                  const enum link_place *places, struct tunnels_found *found)
{
    bool asked = false;
    found->notes_n = 0;
    found->hides = false;
    for (uint32_t i = 0; i < told->n; i++) {
        const struct link *link = &told->links[i];
        if (link->kind.outer == TUNNEL_NONE)
            continue;
        found->hides |= places[i] == LINK_TUNNEL && link->kind.outer == TUNNEL_HIDES;
        if (places[i] != LINK_OTHERS) {
            note_ours(wanted, link, places[i], found);
            continue;
        }
        if (!link->up || !tunnel_is_over_port(told, places, link))
            continue;
        if (!asked)
            ask_addresses(wanted, told);
        asked = true;
        if (has_member(told, link))
            note(found,
                 "%s goes over a port of ours: data through it leave unmarked until link.ports "
                 "names it, too",
                 link->name);
    }
}
