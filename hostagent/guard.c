#include "hostagent/guard.h"

#include "hostagent/nl.h"
#include "hostagent/queues/ports_nl.h"
#include "hostagent/repairs.h"
#include "lib/log.h"
#include "lib/now.h"
#include "lib/plural.h"

#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_US     20000
#define REST         4 /* times what the last look took */
#define REST_MOST_US 250000
#define UNTOLD_US    2000000

struct guard {
    struct guard_config config;
    struct nl_sock *sock, *netfilter; /* NULL: nothing there is ours */
    sd_event_source *io, *switch_io, *netfilter_io, *check, *untold;
    char failing[sizeof(((struct err *)0)->text)]; /* what cannot be repaired, as reported; "" */
    bool yielded;                                  /* all that is no port's */
    bool back;                 /* the switch is back, and may have forgotten everything: no change
                                  by others */
    bool links;                /* one has changed */
    bool queues;               /* too, not marks alone */
    bool all;                  /* may be changed: else those that are touched */
    int touched[QUEUES_PORTS]; /* interfaces, by number */
    uint32_t touched_n;
    uint64_t rest_us;       /* before anything is looked at again */
    int down[QUEUES_PORTS]; /* interfaces, by number */
    uint32_t down_n;
    struct repairs repairs;
};

static void tell(struct guard *guard, const char *text)
{
    log_warning(LOG_FAULT_CONFIGURATION, "%s", text);
    guard->config.on_notice(guard->config.user, text);
}

/* Once, until it is another or all is right again. */
static void tell_failure(struct guard *guard, const char *text)
{
    if (strcmp(guard->failing, text) == 0)
        return;
    snprintf(guard->failing, sizeof(guard->failing), "%s", text);
    tell(guard, text);
}

static void end_failure(struct guard *guard)
{
    if (!guard->failing[0])
        return;
    guard->failing[0] = 0;
    log_note("the ports are as they should be again");
    guard->config.on_notice(guard->config.user, "");
}

static bool is_touched(const struct guard *guard, int ifindex)
{
    for (uint32_t i = 0; !guard->all && i < guard->touched_n; i++)
        if (guard->touched[i] == ifindex)
            return true;
    return guard->all;
}

static void touch(struct guard *guard, int ifindex)
{
    if (is_touched(guard, ifindex))
        return;
    guard->all = guard->touched_n == QUEUES_PORTS;
    if (!guard->all)
        guard->touched[guard->touched_n++] = ifindex;
}

/* Nobody's port: the switch as a whole, or rules that are for all ports. */
#define WHOLE ""

/* Whether to repair a change by others on a port; if not, the port is left from now on. What a
 * switch forgot while it was away is no change by others. */
static bool may_repair(struct guard *guard, const char *port)
{
    if (guard->back)
        return true;
    if (guard->config.repair && repairs_may(&guard->repairs, port, now_ns(CLOCK_MONOTONIC)))
        return true;
    repairs_leave(&guard->repairs, port);
    guard->yielded = guard->yielded || !port[0];
    return false;
}

static void tell_left(struct guard *guard, const char *what)
{
    char text[4 * GUARD_TEXT];
    snprintf(text, sizeof(text), "%.320s: left as it is%s, until a stance is set or we start again",
             what, guard->config.repair ? " after 5 repairs in a minute" : "");
    tell(guard, text);
}

static void tell_repair(struct guard *guard, const char *what, uint32_t others, int r,
                        const struct err *err)
{
    char text[4 * GUARD_TEXT], more[48] = "";
    if (others)
        snprintf(more, sizeof(more), " (and %u more port%s)", others, plural(others));
    snprintf(text, sizeof(text), "%.320s%s: %.400s", what, more, r < 0 ? err->text : "repaired");
    tell(guard, text);
}

/* Which of the ports that differ are put right. */
static uint32_t choose_queues(struct guard *guard, const struct switch_trouble **ret_first)
{
    struct switches *switches = guard->config.switches;
    const struct switch_trouble *deed;
    uint32_t n = 0;
    for (uint32_t i = 0; (deed = switches_differing(switches, i)); i++) {
        struct err err;
        if (may_repair(guard, deed->port)) {
            *ret_first = n++ ? *ret_first : deed;
            continue;
        }
        if (deed->port[0] && switches_yield(switches, deed->port, &err) < 0)
            tell(guard, err.text);
        tell_left(guard, deed->text);
    }
    return guard->yielded ? 0 : n;
}

static void repair_queues(struct guard *guard)
{
    const struct switch_trouble *first = NULL;
    uint32_t n = choose_queues(guard, &first);
    char what[SWITCH_TROUBLE_TEXT];
    struct err err = {0};
    if (!n)
        return;
    snprintf(what, sizeof(what), "%s", first->text);
    int r = switches_repair(guard->config.switches, &err);
    tell_repair(guard, what, n - 1, r, &err);
}

static void follow_queues(struct guard *guard, const char *what)
{
    struct err err = {0};
    if (what[0])
        log_note("%s", what);
    if (switches_repair(guard->config.switches, &err) < 0)
        tell(guard, err.text);
}

/* −EAGAIN: the switch is not ready; 0: all is right, or was repaired or left; else the failure is
 * in `err`. */
static int look_at_queues(struct guard *guard, bool *ret_right, struct err *err)
{
    const struct guard_config *config = &guard->config;
    char what[SWITCH_TROUBLE_TEXT] = "";
    if (!config->switches || !(guard->all || guard->queues) ||
        stance_now(config->stance) != duopoly_Stance_STANCE_ENFORCE)
        return 0;
    int r = switches_compare(config->switches, what, sizeof(what), err);
    if (r == SWITCHES_FOLLOW)
        follow_queues(guard, what);
    else if (r == SWITCHES_DIFFERS)
        repair_queues(guard);
    *ret_right = *ret_right && r == SWITCHES_RIGHT;
    return r < 0 ? r : 0;
}

/* Rules of nftables are for all ports. */
static void repair_marks(struct guard *guard, const char *port, const char *what)
{
    const struct guard_config *config = &guard->config;
    bool whole = marks_told_by(config->marks) != 0;
    struct err err = {0};
    if (!may_repair(guard, whole ? WHOLE : port)) {
        tell_left(guard, what);
        return;
    }
    int r = whole ? marks_reach(config->marks, stance_reach(stance_now(config->stance)), &err)
                  : marks_port(config->marks, port, true, &err);
    tell_repair(guard, what, 0, r, &err);
}

/* A port that is gone meanwhile is reported by the next check. */
static int look_at_marks(struct guard *guard, const struct ports_found *ports, bool *ret_right,
                         struct err *err)
{
    char what[GUARD_TEXT];
    int r = 0;
    for (uint32_t i = 0; r >= 0 && !guard->yielded && i < ports->n; i++) {
        const char *port = ports->names[i];
        if (!is_touched(guard, ports->ifindexes[i]) || repairs_is_left(&guard->repairs, port))
            continue;
        r = marks_compare(guard->config.marks, port, what, sizeof(what), err);
        r = r == -ENODEV ? 0 : r;
        *ret_right = *ret_right && r == 0;
        if (r > 0)
            repair_marks(guard, port, what);
    }
    return r < 0 ? r : 0;
}

static int look_at_ports(struct guard *guard, bool *ret_right, struct err *err)
{
    const struct guard_config *config = &guard->config;
    int r = look_at_queues(guard, ret_right, err);
    bool marks = stance_now(config->stance) != duopoly_Stance_STANCE_OBSERVE;
    if (r >= 0 && marks)
        r = look_at_marks(guard, config->ports, ret_right, err);
    if (r >= 0 && marks)
        r = look_at_marks(guard, config->tunnels, ret_right, err);
    return r;
}

static void look_at_all(struct guard *guard)
{
    struct err err = {0};
    bool right = !guard->yielded;
    int r = guard->yielded ? 0 : look_at_ports(guard, &right, &err);
    guard->back = guard->back && r == -EAGAIN;
    if (r < 0 && r != -EAGAIN)
        tell_failure(guard, err.text);
    else if (r == 0 && right)
        end_failure(guard);
}

static void look(struct guard *guard)
{
    struct switches *switches = guard->config.switches;
    if (!guard->all && !guard->touched_n)
        return;
    if (switches)
        switches_touch(switches, guard->all ? NULL : guard->touched, guard->touched_n);
    look_at_all(guard);
    if (switches)
        switches_touch(switches, NULL, 0);
    guard->all = guard->queues = false;
    guard->touched_n = 0;
}

static void check_soon(struct guard *guard)
{
    int enabled = SD_EVENT_OFF;
    sd_event_source_get_enabled(guard->check, &enabled);
    if (enabled != SD_EVENT_OFF)
        return;
    sd_event_source_set_time_relative(guard->check, guard->rest_us);
    sd_event_source_set_enabled(guard->check, SD_EVENT_ONESHOT);
}

static int on_check(sd_event_source *source, uint64_t usec, void *arg)
{
    struct guard *guard = arg;
    uint64_t begin = now_ns(CLOCK_MONOTONIC);
    (void)source;
    (void)usec;
    guard->links = guard->links && guard->config.on_links(guard->config.user) == -EAGAIN;
    look(guard);
    if (guard->config.on_looked)
        guard->config.on_looked(guard->config.user);
    uint64_t took_us = (now_ns(CLOCK_MONOTONIC) - begin) / 1000;
    uint64_t rest_us = took_us * REST < REST_MOST_US ? took_us * REST : REST_MOST_US;
    guard->rest_us = rest_us > CHECK_US ? rest_us : CHECK_US;
    if (guard->links)
        check_soon(guard);
    return 0;
}

/* Marks alone: links, queues and filters have messages of their own. */
static int on_untold(sd_event_source *source, uint64_t usec, void *arg)
{
    struct guard *guard = arg;
    const struct ports_found *const all[] = {guard->config.ports, guard->config.tunnels};
    (void)usec;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        for (uint32_t port = 0; port < all[i]->n; port++)
            touch(guard, all[i]->ifindexes[port]);
    check_soon(guard);
    sd_event_source_set_time_relative(source, UNTOLD_US);
    sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    return 0;
}

/* Whether it was down before; keeps what it is now. */
static bool set_down(struct guard *guard, int ifindex, bool down)
{
    for (uint32_t i = 0; i < guard->down_n; i++)
        if (guard->down[i] == ifindex) {
            if (!down)
                guard->down[i] = guard->down[--guard->down_n];
            return true;
        }
    if (down && guard->down_n < QUEUES_PORTS)
        guard->down[guard->down_n++] = ifindex;
    return false;
}

static void on_link(struct guard *guard, int port, unsigned flags)
{
    const struct ports_found *ports = guard->config.ports;
    bool down = !(flags & IFF_UP) || !(flags & IFF_RUNNING);
    char text[GUARD_TEXT];
    if (set_down(guard, ports->ifindexes[port], down) == down)
        return;
    snprintf(text, sizeof(text), "%s %s", ports->names[port],
             down ? "went down" : "was down and is up again");
    tell(guard, text);
}

/* Filters, and what they stand on. */
static bool is_marks_alone(const struct nlmsghdr *header)
{
    const struct tcmsg *tc = nlmsg_data(header);
    bool filter = header->nlmsg_type == RTM_NEWTFILTER || header->nlmsg_type == RTM_DELTFILTER;
    bool qdisc = header->nlmsg_type == RTM_NEWQDISC || header->nlmsg_type == RTM_DELQDISC;
    return filter || (qdisc && tc->tcm_parent == TC_H_CLSACT);
}

static int on_change(struct nl_msg *msg, void *arg)
{
    struct guard *guard = arg;
    const struct nlmsghdr *header = nlmsg_hdr(msg);
    const struct switches *switches = guard->config.switches;
    if (switches && switches_is_own(switches, header->nlmsg_pid))
        return NL_OK;
    bool link = header->nlmsg_type == RTM_NEWLINK || header->nlmsg_type == RTM_DELLINK;
    int ifindex = link ? ((const struct ifinfomsg *)nlmsg_data(header))->ifi_index
                       : ((const struct tcmsg *)nlmsg_data(header))->tcm_ifindex;
    int port = ports_place(guard->config.ports, ifindex);
    if (port >= 0 && header->nlmsg_type == RTM_NEWLINK)
        on_link(guard, port, ((const struct ifinfomsg *)nlmsg_data(header))->ifi_flags);
    if (header->nlmsg_type == RTM_DELLINK)
        set_down(guard, ifindex, false);
    guard->links = guard->links || link;
    bool ours = port >= 0 || ports_place(guard->config.tunnels, ifindex) >= 0;
    if (ours)
        touch(guard, ifindex);
    guard->queues = guard->queues || (port >= 0 && (link || !is_marks_alone(header)));
    if (ours || link)
        check_soon(guard);
    return NL_OK;
}

/* Elements of sets come and go with tasks and leases; tables, chains and rules do not. */
static int on_netfilter(struct nl_msg *msg, void *arg)
{
    int type = NFNL_MSG_TYPE(nlmsg_hdr(msg)->nlmsg_type);
    struct guard *guard = arg;
    if (type == NFT_MSG_NEWTABLE || type == NFT_MSG_DELTABLE || type == NFT_MSG_NEWCHAIN ||
        type == NFT_MSG_DELCHAIN || type == NFT_MSG_NEWRULE || type == NFT_MSG_DELRULE) {
        guard->all = true; /* its tables are no port's */
        check_soon(guard);
    }
    return NL_OK;
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct guard *guard = arg;
    (void)fd;
    (void)events;
    if (nl_recvmsgs_default(source == guard->io ? guard->sock : guard->netfilter) < 0) {
        guard->links = guard->all = true; /* lost kernel messages are not sent again */
        check_soon(guard);
    }
    return 0;
}

static int listen_to_kernel(struct guard *guard, sd_event *event, struct err *err)
{
    int r = netlink_open(&guard->sock, err);
    if (r < 0)
        return r;
    nl_socket_disable_seq_check(guard->sock);
    nl_socket_modify_cb(guard->sock, NL_CB_VALID, NL_CB_CUSTOM, on_change, guard);
    r = nl_socket_add_memberships(guard->sock, RTNLGRP_TC, RTNLGRP_LINK, 0);
    if (r >= 0)
        r = nl_socket_set_nonblocking(guard->sock);
    if (r < 0)
        return netlink_err(err, r, "listening to changes of the ports");
    r = sd_event_add_io(event, &guard->io, nl_socket_get_fd(guard->sock), EPOLLIN, on_readable,
                        guard);
    if (r >= 0)
        r = sd_event_add_time(event, &guard->check, CLOCK_MONOTONIC, 0, 1000, on_check, guard);
    if (r >= 0)
        r = sd_event_source_set_enabled(guard->check, SD_EVENT_OFF);
    return r < 0 ? err_sys(err, -r, "the event loop") : 0;
}

static int on_switch(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct guard *guard = arg;
    struct err err = {0};
    (void)source;
    (void)fd;
    (void)events;
    int r = switches_notice(guard->config.switches, &err);
    if (r < 0)
        tell(guard, err.text);
    guard->back |= r == SWITCH_BACK;
    guard->all = guard->all || r > 0;
    if (r > 0)
        check_soon(guard);
    return 0;
}

static int listen_to_switch(struct guard *guard, sd_event *event, struct err *err)
{
    int fd = guard->config.switches ? switches_fd(guard->config.switches) : -1;
    if (fd < 0)
        return 0;
    int r = sd_event_add_io(event, &guard->switch_io, fd, EPOLLIN, on_switch, guard);
    return r < 0 ? err_sys(err, -r, "listening to the switch") : 0;
}

static int listen_to_netfilter(struct guard *guard, sd_event *event, struct err *err)
{
    uint32_t group = marks_told_by(guard->config.marks);
    if (!group)
        return 0;
    guard->netfilter = nl_socket_alloc();
    int r = guard->netfilter ? nl_connect(guard->netfilter, NETLINK_NETFILTER) : -NLE_NOMEM;
    if (r >= 0) {
        nl_socket_disable_seq_check(guard->netfilter);
        nl_socket_modify_cb(guard->netfilter, NL_CB_VALID, NL_CB_CUSTOM, on_netfilter, guard);
        r = nl_socket_add_memberships(guard->netfilter, (int)group, 0);
    }
    if (r >= 0)
        r = nl_socket_set_nonblocking(guard->netfilter);
    if (r < 0)
        return netlink_err(err, r, "listening to changes of nftables");
    r = sd_event_add_io(event, &guard->netfilter_io, nl_socket_get_fd(guard->netfilter), EPOLLIN,
                        on_readable, guard);
    return r < 0 ? err_sys(err, -r, "the event loop") : 0;
}

static int look_at_untold(struct guard *guard, sd_event *event, struct err *err)
{
    int r = sd_event_add_time_relative(event, &guard->untold, CLOCK_MONOTONIC, UNTOLD_US, 0,
                                       on_untold, guard);
    return r < 0 ? err_sys(err, -r, "the event loop") : 0;
}

int guard_open(const struct guard_config *config, sd_event *event, struct guard **ret_guard,
               struct err *err)
{
    struct guard *guard = calloc(1, sizeof(*guard));
    if (!guard)
        return err_sys(err, ENOMEM, "the guard of the ports");
    guard->config = *config;
    guard->rest_us = CHECK_US;
    int r = listen_to_kernel(guard, event, err);
    if (r >= 0 && marks_change_untold(config->marks))
        r = look_at_untold(guard, event, err);
    if (r >= 0)
        r = listen_to_switch(guard, event, err);
    if (r >= 0)
        r = listen_to_netfilter(guard, event, err);
    if (r < 0) {
        guard_close(guard);
        return r;
    }
    guard->all = true; /* changes between then and now were not reported */
    check_soon(guard);
    *ret_guard = guard;
    return 0;
}

void guard_close(struct guard *guard)
{
    if (!guard)
        return;
    sd_event_source_disable_unref(guard->io);
    sd_event_source_disable_unref(guard->switch_io);
    sd_event_source_disable_unref(guard->netfilter_io);
    sd_event_source_disable_unref(guard->check);
    sd_event_source_disable_unref(guard->untold);
    nl_socket_free(guard->sock);
    nl_socket_free(guard->netfilter);
    repairs_forget(&guard->repairs);
    free(guard);
}

void guard_look(struct guard *guard)
{
    guard->all = true;
    check_soon(guard);
}

void guard_reset(struct guard *guard)
{
    guard->yielded = false;
    guard->failing[0] = 0;
    guard->all = true;
    repairs_forget(&guard->repairs);
    if (guard->config.switches)
        switches_yield_none(guard->config.switches);
}
