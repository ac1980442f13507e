#include "hostagent/queues/queues_parts.h"

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

/* What is somebody's stays, unless the configuration gives it away; another agent's in any case. */
static int check_root(const struct queues *queues, const char *port, const struct qdisc_plan *plan,
                      struct err *err)
{
    if (plan->root == QDISC_OURS && !queues_has_record(queues, port))
        return err_set(
            err, EBUSY,
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

/* No plan (0, NULL) for a link that is down and does not say how fast it will be. */
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

int queues_plan_port(struct queues *queues, uint32_t port, bool again, struct qdisc_plan **ret_plan,
                     struct err *err)
{
    struct qdisc_plan *plan = NULL;
    const char *name = queues->ports[port].name;
    int r = look_at(queues, name, &plan, err);
    if (r >= 0 && plan && !again && !queues_was_putting(queues, port))
        r = check_root(queues, name, plan, err);
    if (r < 0) {
        free(plan);
        return r;
    }
    *ret_plan = plan;
    return 0;
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
            r = queues_plan_port(queues, i, again, &plans->ports[i], err);
    driver->look_away(queues->qdisc);
    if (r < 0) {
        queues_free_plans(plans);
        return r;
    }
    *ret_plans = plans;
    return 0;
}

static int keep_all(struct queues *queues, const struct queues_plans *plans, struct err *err)
{
    const struct qdisc_driver *driver = queues->config.driver;
    int r = driver->look(queues->qdisc, err);
    for (uint32_t i = 0; r >= 0 && i < plans->n; i++)
        r = queues_keep(queues, queues->ports[i].name, plans->ports[i], err);
    driver->look_away(queues->qdisc);
    return r;
}

static int change_all(struct queues *queues, const struct queues_plans *plans, struct err *err)
{
    const struct qdisc_driver *driver = queues->config.driver;
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < plans->n; i++) {
        if (!plans->again)
            queues->ports[i].waits = !plans->ports[i];
        if (plans->ports[i])
            r = driver->apply(queues->qdisc, queues->ports[i].name, plans->ports[i], err);
    }
    if (r < 0 && !plans->again)
        queues_restore(queues, NULL);
    return r;
}

int queues_carry_out(struct queues *queues, const struct queues_plans *plans, struct err *err)
{
    bool putting = false;
    if (plans->n != queues->n)
        return err_set(err, EAGAIN, "the ports have changed meanwhile");
    for (uint32_t i = 0; !plans->again && !putting && i < queues->n; i++)
        putting = queues_was_putting(queues, i);
    if (putting) {
        int r = queues_restore(queues, err);
        return r < 0 ? r : queues_apply(queues, err);
    }
    int r = plans->again ? 0 : keep_all(queues, plans, err);
    return r < 0 ? r : change_all(queues, plans, err);
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

int queues_stats(struct queues *queues, struct qdisc_stats *ret_stats, struct err *err)
{
    struct qdisc_stats sum = {0};
    for (uint32_t i = 0; i < queues->n && i < QUEUES_STATS_PORTS; i++) {
        struct queues_port *port = &queues->ports[queues->stats_next++ % queues->n];
        int r = queues->config.driver->stats(queues->qdisc, port->name, &port->stats, err);
        if (r < 0)
            return r;
    }
    for (uint32_t i = 0; i < queues->n; i++)
        for (int traffic = 0; traffic < PORT_TRAFFIC; traffic++)
            add_stats(&sum.queues[traffic], &queues->ports[i].stats.queues[traffic]);
    *ret_stats = sum;
    return 0;
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
