#include "hostagent/queues/queues_parts.h"
#include "lib/now.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int queues_open(const struct queues_config *config, const char (*ports)[PORT_NAME], uint32_t n,
                struct queues **ret_queues, struct err *err)
{
    if (n > QUEUES_PORTS)
        return err_set(err, E2BIG, "%u ports: an agent manages at most %d", n, QUEUES_PORTS);
    struct queues *queues = calloc(1, sizeof(*queues));
    if (!queues)
        return err_sys(err, ENOMEM, "queues");
    queues->config = *config;
    queues->n = n;
    snprintf(queues->state_dir, sizeof(queues->state_dir), "%s", config->state_dir);
    for (uint32_t i = 0; i < n; i++) {
        memcpy(queues->ports[i].name, ports[i], PORT_NAME);
        queues->ports[i].ifindex = (int)if_nametoindex(ports[i]);
    }
    int r = config->driver->open(&queues->qdisc, err);
    if (r < 0) {
        free(queues);
        return r;
    }
    const struct qdisc_site site = {.wish = &queues->config.wish, .nudge = config->nudge};
    if (config->driver->tell)
        config->driver->tell(queues->qdisc, &site);
    *ret_queues = queues;
    return 0;
}

void queues_close(struct queues *queues)
{
    if (!queues)
        return;
    queues->config.driver->close(queues->qdisc);
    free(queues->written);
    free(queues);
}

/* Another owner's qdisc stays, unless the configuration allows replacing it; another agent's always
 * stays. */
static int check_root(const struct queues *queues, const char *port, const struct qdisc_plan *plan,
                      struct err *err)
{
    if (plan->root == QDISC_OURS && !queues_has_record(queues, port))
        return err_set(
            err, EEXIST,
            "%s has the queues of another duopoly-agent, of which nothing is kept in "
            "%s: end that one and take back what it left (--restore), or remove them (tc "
            "qdisc delete dev %s root)",
            port, queues->state_dir, port);
    if (plan->root != QDISC_FOREIGN || queues->config.replace)
        return 0;
    return err_set(
        err, EBUSY,
        "%s already has a root qdisc of its own (%s): run with --replace to put ours in its "
        "place until we leave, or name another port",
        port, plan->kind);
}

/* No plan (0, NULL) for a link that is down and does not report its speed. */
static int look_at(struct queues *queues, const char *port, struct qdisc_plan **ret_plan,
                   struct err *err)
{
    const struct qdisc_driver *driver = queues->config.driver;
    struct port_facts facts;
    struct port want;
    int r = driver->facts(queues->qdisc, port, &facts, err);
    if (r >= 0)
        r = port_want(&queues->config.wish, &facts, &want, err);
    if (r == -ENETDOWN) {
        *ret_plan = NULL;
        return 0;
    }
    if (r == -EINVAL)
        err_prefix(err, "%s", port);
    return r < 0 ? r : driver->plan(queues->qdisc, port, &want, ret_plan, err);
}

static bool is_among(const int *ifindexes, uint32_t n, int ifindex)
{
    for (uint32_t i = 0; i < n; i++)
        if (ifindexes[i] == ifindex)
            return true;
    return false;
}

void queues_touch(struct queues *queues, const int *ifindexes, uint32_t n)
{
    queues->touched = ifindexes;
    queues->touched_n = n;
}

bool queues_is_touched(const struct queues *queues, uint32_t port)
{
    return !queues->touched ||
           is_among(queues->touched, queues->touched_n, queues->ports[port].ifindex);
}

struct qdisc_plan *queues_plan_port(struct queues *queues, uint32_t port, bool again)
{
    struct queues_port *of = &queues->ports[port];
    struct qdisc_plan *plan = NULL;
    struct err why = {0};
    bool left =
        queues->config.is_left && queues->config.is_left(queues->config.user, of->name, &why);
    int r = left ? -why.code : look_at(queues, of->name, &plan, &why);
    if (r >= 0 && plan && !(again && of->had) && !queues_was_putting(queues, port))
        r = check_root(queues, of->name, plan, &why);
    of->trouble = why;
    if (r >= 0)
        return plan;
    free(plan);
    return NULL;
}

const struct err *queues_trouble(const struct queues *queues, uint32_t port)
{
    const struct err *trouble = &queues->ports[port].trouble;
    return trouble->code ? trouble : NULL;
}

void queues_free_plans(struct queues_plans *plans)
{
    for (uint32_t i = 0; plans && i < plans->n; i++)
        free(plans->ports[i]);
    free(plans);
}

int queues_plan(struct queues *queues, bool again, struct queues_plans **ret_plans, struct err *err)
{
    const struct qdisc_driver *driver = queues->config.driver;
    struct queues_plans *plans = calloc(1, sizeof(*plans) + queues->n * sizeof(plans->ports[0]));
    if (!plans)
        return err_sys(err, ENOMEM, "queues");
    plans->again = again;
    plans->n = queues->n;
    int r = driver->look(queues->qdisc, err);
    for (uint32_t i = 0; r >= 0 && i < queues->n; i++)
        if (queues_is_touched(queues, i))
            plans->ports[i] = queues_plan_port(queues, i, again);
    driver->look_away(queues->qdisc);
    if (r < 0) {
        queues_free_plans(plans);
        return r;
    }
    *ret_plans = plans;
    return 0;
}

/* Records all ports before any is changed: most ports of a machine have the same configuration. */
static int keep_all(struct queues *queues, struct queues_plans *plans, struct err *err)
{
    const struct qdisc_driver *driver = queues->config.driver;
    int r = driver->look(queues->qdisc, err);
    for (uint32_t i = 0; r >= 0 && i < plans->n; i++) {
        struct queues_port *port = &queues->ports[i];
        struct err why = {0};
        if ((plans->again && port->had) ||
            queues_keep(queues, port->name, plans->ports[i], &why) >= 0)
            continue;
        port->trouble = why;
        free(plans->ports[i]);
        plans->ports[i] = NULL;
    }
    driver->look_away(queues->qdisc);
    return r;
}

void queues_change_port(struct queues *queues, uint32_t port, const struct qdisc_plan *plan)
{
    struct queues_port *of = &queues->ports[port];
    struct err why = {0};
    of->waits = !plan && !of->trouble.code;
    if (!plan)
        return;
    if (queues->config.driver->apply(queues->qdisc, of->name, plan, &why) >= 0) {
        of->had = true;
        return;
    }
    of->trouble = why;
    if (of->had)
        return;
    queues_restore_port(queues, of->name, NULL);
    queues_check_restored(queues, of->name, NULL);
}

/* An earlier agent ended while it restored this port: that is finished first. */
static void finish_putting(struct queues *queues, struct queues_plans *plans, uint32_t port)
{
    struct err why = {0};
    const char *name = queues->ports[port].name;
    int r = queues_restore_port(queues, name, &why);
    if (r >= 0)
        r = queues_check_restored(queues, name, &why);
    free(plans->ports[port]);
    plans->ports[port] = r >= 0 ? queues_plan_port(queues, port, false) : NULL;
    if (r < 0)
        queues->ports[port].trouble = why;
}

int queues_carry_out(struct queues *queues, struct queues_plans *plans, struct err *err)
{
    if (plans->n != queues->n)
        return err_set(err, EAGAIN, "the ports have changed meanwhile");
    for (uint32_t i = 0; !plans->again && i < plans->n; i++)
        if (queues_was_putting(queues, i))
            finish_putting(queues, plans, i);
    int r = keep_all(queues, plans, err);
    for (uint32_t i = 0; r >= 0 && i < plans->n; i++)
        if (plans->ports[i] || !plans->again)
            queues_change_port(queues, i, plans->ports[i]);
    return r;
}

int queues_apply(struct queues *queues, struct err *err)
{
    struct queues_plans *plans = NULL;
    int r = queues_plan(queues, false, &plans, err);
    if (r >= 0)
        r = queues_carry_out(queues, plans, err);
    queues_free_plans(plans);
    return r;
}

uint32_t queues_count(const struct queues *queues)
{
    return queues->n;
}

const char *queues_port(const struct queues *queues, uint32_t port)
{
    return queues->ports[port].name;
}

static void add_stats(struct qdisc_queue_stats *sum, const struct qdisc_queue_stats *more)
{
    sum->bytes += more->bytes;
    sum->packets += more->packets;
    sum->drops += more->drops;
    sum->backlog_packets += more->backlog_packets;
}

static void keep_stats(struct queues_port *port, const struct qdisc_stats *now)
{
    port->before = port->stats;
    port->before_ns = port->stats_ns;
    port->stats = *now;
    port->stats_ns = now_ns(CLOCK_MONOTONIC);
}

int queues_stats(struct queues *queues, struct qdisc_stats *ret_stats, struct err *err)
{
    struct qdisc_stats sum = {0};
    for (uint32_t i = 0; i < queues->n && i < QUEUES_STATS_PORTS; i++) {
        struct queues_port *port = &queues->ports[queues->stats_next++ % queues->n];
        struct qdisc_stats now = {0};
        int r = port->trouble.code
                    ? -ENODEV
                    : queues->config.driver->stats(queues->qdisc, port->name, &now, err);
        if (r >= 0)
            keep_stats(port, &now);
    }
    for (uint32_t i = 0; i < queues->n; i++)
        for (int traffic = 0; traffic < PORT_TRAFFIC; traffic++)
            add_stats(&sum.queues[traffic], &queues->ports[i].stats.queues[traffic]);
    *ret_stats = sum;
    return 0;
}

/* Since a reading that is not too young; −1: there is none, or the queue was made again since. */
static int64_t rate_of(const struct queues_port *port, int traffic, uint64_t bytes, uint64_t now)
{
    const bool young = now - port->stats_ns < QUEUES_RATE_NS;
    const struct qdisc_queue_stats *since =
        young ? &port->before.queues[traffic] : &port->stats.queues[traffic];
    const uint64_t since_ns = young ? port->before_ns : port->stats_ns;
    if (!since_ns || !since->there || bytes < since->bytes || now <= since_ns)
        return -1;
    return (int64_t)((unsigned __int128)(bytes - since->bytes) * 8 * 1000000000 / (now - since_ns));
}

static void count(const struct queues *queues, const struct queues_port *port,
                  const struct qdisc_stats *stats, struct queues_counted *ret)
{
    const uint64_t now = now_ns(CLOCK_MONOTONIC);
    for (int traffic = 0; traffic < PORT_TRAFFIC; traffic++) {
        const struct qdisc_queue_stats *queue = &stats->queues[traffic];
        if (queue->there)
            ret->queues[ret->n++] =
                (struct queues_count){.traffic = (enum port_traffic)traffic,
                                      .bytes = queue->bytes,
                                      .packets = queue->packets,
                                      .drops = queue->drops,
                                      .backlog_packets = queue->backlog_packets,
                                      .backlog_bytes = (int64_t)queue->backlog_bytes,
                                      .marked = queues->config.driver->marks ? queue->marked : -1,
                                      .rate_bps = rate_of(port, traffic, queue->bytes, now)};
    }
}

static void read_port(struct queues *queues, const struct queues_port *port,
                      struct queues_counted *ret)
{
    const struct qdisc_driver *driver = queues->config.driver;
    struct qdisc_stats stats = {0};
    *ret = (struct queues_counted){.n = 0};
    snprintf(ret->port, sizeof(ret->port), "%s", port->name);
    if (!port->trouble.code && driver->stats(queues->qdisc, port->name, &stats, NULL) >= 0 &&
        (!driver->marks || driver->marks(queues->qdisc, port->name, &stats, NULL) >= 0))
        count(queues, port, &stats, ret);
}

int queues_read(struct queues *queues, uint32_t first, struct queues_counted *ret, uint32_t most,
                uint32_t *ret_n, struct err *err)
{
    uint32_t n = 0;
    int r = queues_look(queues, err);
    for (; r >= 0 && n < most && first + n < queues->n; n++)
        read_port(queues, &queues->ports[first + n], &ret[n]);
    queues_look_away(queues);
    *ret_n = n;
    return r;
}

int queues_facts(struct queues *queues, uint32_t port, struct port_facts *ret_facts,
                 struct err *err)
{
    return queues->config.driver->facts(queues->qdisc, queues->ports[port].name, ret_facts, err);
}

int queues_look(struct queues *queues, struct err *err)
{
    return queues->config.driver->look(queues->qdisc, err);
}

void queues_look_away(struct queues *queues)
{
    queues->config.driver->look_away(queues->qdisc);
}

int queues_record(struct queues *queues, uint32_t port, char **ret_text, struct err *err)
{
    return queues->config.driver->record(queues->qdisc, queues->ports[port].name, ret_text, err);
}

bool queues_is_own(const struct queues *queues, uint32_t port_id)
{
    const struct qdisc_driver *driver = queues->config.driver;
    return driver->is_own && driver->is_own(queues->qdisc, port_id);
}

void queues_why(struct queues *queues, const char *port, char *text, size_t size)
{
    const struct qdisc_driver *driver = queues->config.driver;
    if (driver->why)
        driver->why(queues->qdisc, port, text, size);
    else
        snprintf(text, size, "%s", driver->name);
}
