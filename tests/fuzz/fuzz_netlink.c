/* Fuzz target of what is read by netlink: queues and their classes, counters, interfaces, ports of
 * a bridge. The first byte chooses what is asked; then each step of the script is one datagram in
 * answer, and the end of the dump follows. libnl itself runs, on a socket that goes nowhere. */
#include "hostagent/links/links_nl.h"
#include "hostagent/nl.h"
#include "hostagent/queues/dcb_nl.h"
#include "hostagent/queues/foreign.h"
#include "hostagent/queues/kernel_nl.h"
#include "hostagent/queues/ports_nl.h"
#include "hostagent/queues/queues.h"
#include "tests/fuzz/script.h"

#include <linux/netlink.h>
#include <net/if.h>
#include <netlink/handlers.h>
#include <netlink/netlink.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libnl 3.7 itself loses a link (rtnl_link_get_kernel) when something wrong follows it in the same
 * answer; the sanitizer sees no further down libnl's stack than this. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:nl_object_alloc\nleak:nl_addr_alloc";
}

static struct script script;

unsigned if_nametoindex(const char *name)
{
    return strcmp(name, "eth0") == 0 ? 2 : 0;
}

static int on_receive(struct nl_sock *sock, struct sockaddr_nl *from, unsigned char **ret_bytes,
                      struct ucred **ret_credentials)
{
    static const struct nlmsghdr done = {.nlmsg_len = sizeof(done), .nlmsg_type = NLMSG_DONE};
    struct script_step step;
    (void)sock, (void)ret_credentials;
    if (!script_next(&script, &step) || !step.length)
        step = (struct script_step){0, (const uint8_t *)&done, sizeof(done)};
    memset(from, 0, sizeof(*from));
    *ret_bytes = malloc(step.length);
    if (!*ret_bytes)
        return -NLE_NOMEM;
    memcpy(*ret_bytes, step.bytes, step.length);
    return (int)step.length;
}

static int on_send(struct nl_sock *sock, struct nl_msg *message)
{
    (void)sock, (void)message;
    return 1;
}

/* In the place of libnl's (the linker's --wrap). */
int __wrap_nl_connect(struct nl_sock *sock, int protocol);
int __wrap_nl_connect(struct nl_sock *sock, int protocol)
{
    struct nl_cb *cb = nl_socket_get_cb(sock);
    (void)protocol;
    nl_cb_overwrite_recv(cb, on_receive);
    nl_cb_overwrite_send(cb, on_send);
    nl_cb_put(cb);
    nl_socket_disable_seq_check(sock);
    return 0;
}

/* What is recorded is read as it was written. */
static void record_try(const char *text)
{
    struct foreign foreign = {0};
    char *again;
    if (foreign_read(text, &foreign, NULL) < 0 || foreign_write(&foreign, &again, NULL) < 0 ||
        strcmp(text, again) != 0)
        abort();
    foreign_done(&foreign);
    free(again);
}

static void queues_try(uint8_t what)
{
    struct port_facts facts = {.link_bps = 100000000,
                               .mtu_bytes = 1500,
                               .queues_n = PORT_TRAFFIC,
                               .abilities = qdisc_htb.abilities};
    char *text = NULL;
    struct qdisc_plan *plan = NULL;
    struct qdisc_stats stats;
    struct qdisc *qdisc;
    struct port port;
    if (port_want(&port_wish_preset, &facts, &port, NULL) < 0 || qdisc_htb.open(&qdisc, NULL) < 0)
        abort();
    if (what == 0 && qdisc_htb.record(qdisc, "eth0", &text, NULL) == 0)
        record_try(text);
    if (what == 1 && qdisc_htb.plan(qdisc, "eth0", &port, &plan, NULL) == 0 &&
        (plan->root > QDISC_FOREIGN || !memchr(plan->kind, 0, sizeof(plan->kind))))
        abort();
    if (what == 2)
        qdisc_htb.stats(qdisc, "eth0", &stats, NULL);
    if (what == 3)
        qdisc_htb.facts(qdisc, "eth0", &facts, NULL);
    free(plan);
    free(text);
    qdisc_htb.close(qdisc);
}

static void links_try(void)
{
    struct links_nl *links;
    const int ifindexes[] = {2, 3};
    if (links_nl_open(ifindexes, 2, &links, NULL) < 0)
        abort();
    links_nl_read(links, NULL);
    links_nl_close(links);
}

static void ports_try(void)
{
    static struct ports_found found;
    static struct tunnels_found tunnels;
    const struct port_pattern patterns[] = {{"eth*"}, {"swp[1-32]"}};
    const struct ports_wanted wanted = {
        .name = "bond0", .bridge = "br0", .patterns = patterns, .patterns_n = 2};
    if (ports_find(&wanted, true, &found, &tunnels, NULL) == 0 &&
        found.n + tunnels.ports.n > QUEUES_PORTS)
        abort();
    for (uint32_t i = 0; i < found.n; i++)
        if (!memchr(found.names[i], 0, PORT_NAME))
            abort();
}

static void entries_try(void)
{
    struct dcb_table table;
    struct qdisc *qdisc;
    if (kernel_open(&qdisc, NULL) < 0)
        abort();
    if (dcb_read(qdisc->raw.sock, "eth0", &table, NULL) == 0)
        for (int dscp = 0; dscp < DCB_CODE_POINTS; dscp++)
            if (table.priority_of[dscp] >= DCB_PRIORITIES && table.priority_of[dscp] != DCB_NONE)
                abort();
    kernel_close(qdisc);
}

/* What stands on the port is read, in a kernel that takes everything. */
static void bands_try(const struct qdisc_driver *driver)
{
    struct port_facts facts = {.link_bps = 1000000000,
                               .mtu_bytes = 1500,
                               .queues_n = 8,
                               .abilities = {.strict = true, .ecn = true}};
    struct port_wish wish = port_wish_preset;
    struct qdisc_plan *plan = NULL;
    struct qdisc *qdisc;
    struct port port;
    char text[256];
    wish.link_bps = driver == &qdisc_mqprio ? 0 : 100000000;
    if (port_want(&wish, &facts, &port, NULL) < 0 || driver->open(&qdisc, NULL) < 0)
        abort();
    qdisc->tried = true;
    qdisc->can = UINT32_MAX;
    if (driver->plan(qdisc, "eth0", &port, &plan, NULL) == 0)
        for (uint32_t i = 0; i < plan->steps; i++)
            driver->say(plan, i, text, sizeof(text));
    free(plan);
    driver->close(qdisc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    script = (struct script){data + 1, size - 1};
    switch (*data % 10) {
    case 4:
        links_try();
        break;
    case 5:
        ports_try();
        break;
    case 6:
        entries_try();
        break;
    case 7:
        bands_try(&qdisc_prio);
        break;
    case 8:
        bands_try(&qdisc_ets);
        break;
    case 9:
        bands_try(&qdisc_mqprio);
        break;
    default:
        queues_try(*data % 10);
    }
    return 0;
}
