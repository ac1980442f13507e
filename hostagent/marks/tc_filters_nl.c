#include "hostagent/marks/tc_filters_nl.h"

#include "hostagent/nl.h"

#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <stdio.h>

struct search {
    bool (*wanted)(const struct tc_filter *filter, void *user);
    void *user;
    struct tc_filter *found;
    bool is_found;
};

static uint32_t program_of(struct nlattr *options)
{
    struct nlattr *id = options ? nla_find(nla_data(options), nla_len(options), TCA_BPF_ID) : NULL;
    return id ? nla_get_u32(id) : 0;
}

/* A classifier itself is reported without a handle, before its filters. */
static int on_filter(struct nl_msg *msg, void *arg)
{
    struct search *search = arg;
    struct nlmsghdr *header = nlmsg_hdr(msg);
    const struct tcmsg *tc = nlmsg_data(header);
    struct nlattr *kind = nlmsg_find_attr(header, sizeof(*tc), TCA_KIND),
                  *chain = nlmsg_find_attr(header, sizeof(*tc), TCA_CHAIN);
    struct tc_filter filter = {.preference = TC_H_MAJ(tc->tcm_info) >> 16,
                               .handle = tc->tcm_handle};
    if (search->is_found || !kind || (chain && nla_get_u32(chain) != 0))
        return NL_OK;
    snprintf(filter.kind, sizeof(filter.kind), "%s", nla_get_string(kind));
    filter.program = program_of(nlmsg_find_attr(header, sizeof(*tc), TCA_OPTIONS));
    search->is_found = filter.handle && search->wanted(&filter, search->user);
    if (search->is_found)
        *search->found = filter;
    return NL_OK;
}

int tc_filters_find(int ifindex, uint32_t parent,
                    bool (*wanted)(const struct tc_filter *filter, void *user), void *user,
                    struct tc_filter *ret_filter, struct err *err)
{
    struct tcmsg request = {.tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex, .tcm_parent = parent};
    struct search search = {.wanted = wanted, .user = user, .found = ret_filter};
    struct nl_sock *sock;
    int r = netlink_open(&sock, err);
    if (r < 0)
        return r;
    r = netlink_dump(sock, RTM_GETTFILTER, &request, sizeof(request), on_filter, &search);
    nl_socket_free(sock);
    if (r < 0 && r != -NLE_INVAL && r != -NLE_OBJ_NOTFOUND)
        return netlink_err(err, r, "reading filters");
    return search.is_found;
}
