#include "hostagent/switches/switches_parts.h"

#include "lib/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APPLY_TRIES 3 /* somebody else changes the switch meanwhile */

static int by_name(const void *name, const void *port)
{
    return strcmp(name, ((const struct switch_port *)port)->name);
}

static bool had(const void *user, const char *port)
{
    const struct switches *switches = user;
    const struct switch_ports *known = switches->known;
    const struct switch_port *found =
        known && known->n ? bsearch(port, known->ports, known->n, sizeof(*found), by_name) : NULL;
    return found && !found->left;
}

static bool is_yielded(const void *user, const char *port)
{
    const struct switches *switches = user;
    for (uint32_t i = 0; i < switches->yielded_n; i++)
        if (strcmp(switches->yielded[i], port) == 0)
            return true;
    return false;
}

int switches_open(const struct switch_driver *driver, const struct switch_config *config,
                  struct switches **ret_switches, struct err *err)
{
    struct switches *switches = calloc(1, sizeof(*switches));
    if (!switches)
        return err_sys(err, ENOMEM, "the switch");
    switches->driver = driver;
    switches->settings = config->settings;
    switches->wish = config->wish;
    struct switch_config own = *config;
    own.had = had;
    own.yielded = is_yielded;
    own.user = switches;
    int r = driver->open(&own, &switches->sw, err);
    if (r < 0) {
        free(switches);
        return r;
    }
    *ret_switches = switches;
    return 0;
}

void switches_close(struct switches *switches)
{
    if (!switches)
        return;
    switches->driver->close(switches->sw);
    troubles_done(&switches->troubles);
    troubles_done(&switches->told);
    troubles_done(&switches->failed);
    troubles_done(&switches->differing);
    free(switches->yielded);
    free(switches->known);
    free(switches);
}

static void know(struct switches *switches, struct switch_ports *ports)
{
    free(switches->known);
    switches->known = ports;
}

static void note_left(const struct switches *switches, struct switch_ports *ports)
{
    for (uint32_t i = 0; i < ports->n; i++) {
        const struct switch_trouble *trouble =
            troubles_of(&switches->troubles, ports->ports[i].name);
        ports->ports[i].left =
            trouble && trouble->left && !is_yielded(switches, ports->ports[i].name);
    }
}

static bool has_step(const struct switch_plan *plan, const char *port)
{
    for (uint32_t i = 0; i < plan->steps_n; i++)
        if (strcmp(plan->steps[i].port, port) == 0)
            return true;
    return false;
}

/* A change that failed is planned again, but counts as impossible until it is tried again. */
static int add_failed(const struct switches *switches, struct switch_plan *plan, struct err *err)
{
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < switches->failed.n; i++) {
        const struct switch_trouble *trouble = &switches->failed.items[i];
        struct err why = {0};
        err_set(&why, trouble->code, "%s", trouble->text);
        if (has_step(plan, trouble->port) && !switch_trouble_of(plan, trouble->port))
            r = switch_trouble_add(plan, trouble->port, &why, true, err);
    }
    return r;
}

static int make_plan(struct switches *switches, bool again, struct switch_plan **ret_plan,
                     struct err *err)
{
    int r = switches->driver->plan(switches->sw, again, ret_plan, err);
    if (r < 0)
        return r;
    r = add_failed(switches, *ret_plan, err);
    if (r >= 0)
        r = troubles_take(&switches->troubles, *ret_plan, err);
    if (r < 0)
        switches->driver->free_plan(*ret_plan);
    return r;
}

static int note_troubles(struct switches *switches, struct switch_plan *plan, struct err *err)
{
    uint32_t failed = 0;
    int r = troubles_take(&switches->troubles, plan, err);
    for (uint32_t i = 0; i < plan->troubles_n; i++)
        if (plan->troubles[i].left && has_step(plan, plan->troubles[i].port))
            plan->troubles[failed++] = plan->troubles[i];
    plan->troubles_n = failed;
    return r < 0 ? r : troubles_take(&switches->failed, plan, err);
}

static void log_plan(const struct switches *switches, const struct switch_plan *plan)
{
    static const char *const verbs[] = {
        [SWITCH_ADD] = "add", [SWITCH_CHANGE] = "change", [SWITCH_REMOVE] = "remove"};
    if (!log_is_wanted(LOG_LEVEL_DEBUG))
        return;
    for (uint32_t i = 0; i < plan->steps_n; i++)
        log_debug("switch %s: %s %s: %s", switches->driver->name, verbs[plan->steps[i].verb],
                  plan->steps[i].port, plan->steps[i].text);
}

static int plan_and_apply(struct switches *switches, bool again, struct err *err)
{
    const struct switch_driver *driver = switches->driver;
    struct switch_ports *ports = NULL;
    int r = -EAGAIN;
    driver->ports(switches->sw, &ports, NULL);
    for (int i = 0; r == -EAGAIN && i < APPLY_TRIES; i++) {
        struct switch_plan *wanted = NULL;
        r = driver->plan(switches->sw, again, &wanted, err);
        if (r >= 0)
            log_plan(switches, wanted);
        if (r >= 0)
            r = driver->apply(switches->sw, wanted, err);
        if (r >= 0)
            log_debug("switch %s: %u steps are done, %u ports are in trouble", driver->name,
                      wanted->steps_n, wanted->troubles_n);
        if (r >= 0)
            r = note_troubles(switches, wanted, err);
        driver->free_plan(wanted);
    }
    if (r >= 0 && ports) {
        note_left(switches, ports);
        know(switches, ports);
    } else {
        free(ports);
    }
    return r;
}

int switches_apply(struct switches *switches, struct err *err)
{
    return plan_and_apply(switches, false, err);
}

int switches_repair(struct switches *switches, struct err *err)
{
    return plan_and_apply(switches, true, err);
}

int switches_plan(struct switches *switches, struct switch_plan **ret_plan, struct err *err)
{
    return make_plan(switches, false, ret_plan, err);
}

void switches_free_plan(const struct switches *switches, struct switch_plan *plan)
{
    switches->driver->free_plan(plan);
}

int switches_restore(struct switches *switches, struct err *err)
{
    return switches->driver->restore(switches->sw, err);
}

int switches_compare(struct switches *switches, char *what, size_t size, struct err *err)
{
    struct switch_plan *wanted = NULL;
    int r = make_plan(switches, true, &wanted, err);
    if (r < 0)
        return r;
    r = switches_judge(switches, wanted, what, size, err);
    if (r != SWITCHES_RIGHT)
        log_debug("switch %s: %s", switches->driver->name, r < 0 ? "cannot be judged" : what);
    switches->driver->free_plan(wanted);
    return r;
}

const struct switch_trouble *switches_differing(const struct switches *switches, uint32_t i)
{
    return i < switches->differing.n ? &switches->differing.items[i] : NULL;
}

int switches_yield(struct switches *switches, const char *port, struct err *err)
{
    if (is_yielded(switches, port))
        return 0;
    void *grown =
        reallocarray(switches->yielded, switches->yielded_n + 1, sizeof(switches->yielded[0]));
    if (!grown)
        return err_sys(err, ENOMEM, "%s", port);
    switches->yielded = grown;
    snprintf(switches->yielded[switches->yielded_n++], SWITCH_PORT_NAME, "%s", port);
    return 0;
}

void switches_yield_none(struct switches *switches)
{
    switches->yielded_n = 0;
}

bool switches_counts(const struct switches *switches)
{
    return switches->driver->counters != NULL;
}

int switches_counters(struct switches *switches, struct switch_counters **ret_counters,
                      struct err *err)
{
    return switches->driver->counters(switches->sw, ret_counters, err);
}

int switches_stats(struct switches *switches, struct switch_stats *ret_stats, struct err *err)
{
    return switches->driver->stats(switches->sw, ret_stats, err);
}

int switches_queues(struct switches *switches, uint32_t first, struct queues_counted *ret,
                    uint32_t most, uint32_t *ret_n, struct err *err)
{
    const struct switch_driver *driver = switches->driver;
    return driver->queues
               ? driver->queues(switches->sw, first, ret, most, ret_n, err)
               : err_set(err, EOPNOTSUPP, "%s does not count by port and queue", driver->name);
}

int switches_look(struct switches *switches, struct switch_ports **ret_ports,
                  struct switch_plan **ret_plan, struct err *err)
{
    struct switch_ports *ports;
    int r = switches->driver->ports(switches->sw, &ports, err);
    if (r < 0)
        return r;
    r = make_plan(switches, false, ret_plan, err);
    if (r < 0)
        free(ports);
    else
        *ret_ports = ports;
    return r;
}

const char *switches_driver(const struct switches *switches)
{
    return switches->driver->name;
}

int switches_fd(const struct switches *switches)
{
    return switches->driver->fd(switches->sw);
}

int switches_notice(struct switches *switches, struct err *err)
{
    return switches->driver->notice(switches->sw, err);
}

/* Of all ports, without looking at any. */
static void take_troubles(struct switches *switches)
{
    struct switch_plan *wanted = NULL;
    int none = 0;
    switches_touch(switches, &none, 0);
    if (make_plan(switches, true, &wanted, NULL) >= 0)
        switches->driver->free_plan(wanted);
    switches_touch(switches, NULL, 0);
}

/* New ports have just got their queues, if possible. */
static void know_others(struct switches *switches)
{
    struct switch_ports *now = NULL;
    uint32_t hint = 0;
    if (!switches->known || switches->driver->ports(switches->sw, &now, NULL) < 0)
        return;
    note_left(switches, now);
    for (uint32_t i = 0; i < now->n; i++) {
        const struct switch_port *was =
            switches_port_of(switches->known, now->ports[i].name, &hint);
        if (was && was->left == now->ports[i].left)
            now->ports[i] = *was;
    }
    know(switches, now);
}

void switches_follow(struct switches *switches, const struct ports_found *found, bool apply,
                     void (*say)(void *user, const char *text), void *user)
{
    if (!switches->driver->follow)
        return;
    switches->driver->follow(switches->sw, found, apply, say, user);
    if (apply)
        take_troubles(switches);
    know_others(switches);
}

void switches_touch(struct switches *switches, const int *ifindexes, uint32_t n)
{
    if (switches->driver->touch)
        switches->driver->touch(switches->sw, ifindexes, n);
}

bool switches_is_own(const struct switches *switches, uint32_t port_id)
{
    return switches->driver->is_own && switches->driver->is_own(switches->sw, port_id);
}
