#include "hostagent/switches/switches.h"

#include "lib/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APPLY_TRIES 3 /* somebody else changes the switch meanwhile */
#define SENTENCE    (PORT_TEXT + 256)

struct switches {
    const struct switch_driver *driver;
    struct switch_state *sw;
    const struct switch_settings *settings;
    struct port_wish wish;
    struct switch_ports *known; /* what they were when theirs was made; NULL: it was not */
};

int switches_open(const struct switch_driver *driver, const struct switch_config *config,
                  struct switches **ret_switches, struct err *err)
{
    struct switches *switches = calloc(1, sizeof(*switches));
    if (!switches)
        return err_sys(err, ENOMEM, "the switch");
    switches->driver = driver;
    switches->settings = config->settings;
    switches->wish = config->wish;
    int r = driver->open(config, &switches->sw, err);
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
    free(switches->known);
    free(switches);
}

static void know(struct switches *switches, struct switch_ports *ports)
{
    free(switches->known);
    switches->known = ports;
}

static int plan_and_apply(struct switches *switches, bool again, struct err *err)
{
    const struct switch_driver *driver = switches->driver;
    struct switch_ports *ports = NULL;
    int r = -EAGAIN;
    driver->ports(switches->sw, &ports, NULL);
    for (int i = 0; r == -EAGAIN && i < APPLY_TRIES; i++) {
        struct switch_plan *plan = NULL;
        r = driver->plan(switches->sw, again, &plan, err);
        if (r >= 0)
            r = driver->apply(switches->sw, plan, err);
        driver->free_plan(plan);
    }
    if (r >= 0 && ports)
        know(switches, ports);
    else
        free(ports);
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
    return switches->driver->plan(switches->sw, false, ret_plan, err);
}

void switches_free_plan(const struct switches *switches, struct switch_plan *plan)
{
    switches->driver->free_plan(plan);
}

int switches_restore(struct switches *switches, struct err *err)
{
    return switches->driver->restore(switches->sw, err);
}

static void say_difference(const struct switch_plan *plan, char *what, size_t size)
{
    const struct switch_step *step = &plan->steps[0];
    int n = snprintf(what, size, "%s%ssomebody changed our queues (%s", step->port,
                     step->port[0] ? ": " : "", step->text);
    if (n >= 0 && (size_t)n < size && plan->steps_n > 1)
        n += snprintf(what + n, size - (size_t)n, ", and %u more", plan->steps_n - 1);
    if (n >= 0 && (size_t)n < size)
        snprintf(what + n, size - (size_t)n, ")");
}

/* NULL: there is none of this name. They are looked through from `hint` on, which is then behind it. */
static const struct switch_port *port_of(const struct switch_ports *ports, const char *name,
                                         uint32_t *hint)
{
    for (uint32_t i = 0; i < ports->n; i++) {
        const struct switch_port *port = &ports->ports[(*hint + i) % ports->n];
        if (strcmp(port->name, name) != 0)
            continue;
        *hint = (uint32_t)(port - ports->ports) + 1;
        return port;
    }
    return NULL;
}

/* A port came or went, or is not any more what its queues were made for. */
static bool is_another(const struct switch_port *was, const struct switch_port *is)
{
    if (!was || !is)
        return was != is;
    return was->facts.mtu_bytes != is->facts.mtu_bytes ||
           was->facts.link_bps != is->facts.link_bps || was->facts.lossless != is->facts.lossless;
}

/* Nobody's deed: each port that has to be changed is another now, and what no port has alone is
 * only added to. */
static bool follows_ports(const struct switches *switches, const struct switch_plan *plan,
                          const struct switch_ports *now)
{
    const char *last = "";
    uint32_t was_hint = 0, is_hint = 0;
    for (uint32_t i = 0; i < plan->steps_n; i++) {
        const struct switch_step *step = &plan->steps[i];
        if (!step->port[0] && step->verb != SWITCH_ADD)
            return false;
        if (strcmp(step->port, last) == 0)
            continue;
        last = step->port;
        if (last[0] &&
            !is_another(port_of(switches->known, last, &was_hint), port_of(now, last, &is_hint)))
            return false;
    }
    return last[0] != '\0';
}

static void say_ports(const struct switch_plan *plan, char *what, size_t size)
{
    uint32_t i = 0;
    while (!plan->steps[i].port[0])
        i++;
    snprintf(what, size, "%s came, went or is another now: queues follow", plan->steps[i].port);
}

static int judge(struct switches *switches, const struct switch_plan *plan, char *what, size_t size)
{
    struct switch_ports *now = NULL;
    if (!plan->steps_n)
        return SWITCHES_RIGHT;
    bool follows = switches->known && switches->driver->ports(switches->sw, &now, NULL) >= 0 &&
                   follows_ports(switches, plan, now);
    free(now);
    if (follows)
        say_ports(plan, what, size);
    else
        say_difference(plan, what, size);
    return follows ? SWITCHES_FOLLOW : SWITCHES_DIFFERS;
}

int switches_compare(struct switches *switches, char *what, size_t size, struct err *err)
{
    struct switch_plan *plan = NULL;
    int r = switches->driver->plan(switches->sw, true, &plan, err);
    if (r < 0)
        return r;
    r = judge(switches, plan, what, size);
    switches->driver->free_plan(plan);
    return r;
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

int switches_look(struct switches *switches, struct switch_ports **ret_ports,
                  struct switch_plan **ret_plan, struct err *err)
{
    struct switch_ports *ports;
    int r = switches->driver->ports(switches->sw, &ports, err);
    if (r < 0)
        return r;
    r = switches->driver->plan(switches->sw, false, ret_plan, err);
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

static bool has_port(const struct switch_ports *ports, const char *glob)
{
    for (uint32_t i = 0; i < ports->n; i++)
        if (port_pattern_matches(glob, ports->ports[i].name))
            return true;
    return false;
}

bool switches_lack(struct switches *switches, const struct switch_ports *ports, char *text,
                   size_t size)
{
    const struct switch_settings *settings = switches->settings;
    size_t n = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < settings->ports_n && n < size; i++)
        if (!has_port(ports, settings->ports[i].glob))
            n += (size_t)snprintf(text + n, size - n, "%s%s",
                                  n ? ", " : "the switch has no port yet that switch.ports calls ",
                                  settings->ports[i].glob);
    return n > 0;
}

static void say_port(struct switches *switches, const struct switch_port *port, char text[SENTENCE])
{
    struct port want;
    struct err err = {0};
    char what[PORT_TEXT];
    snprintf(text, SENTENCE, "%s", switches->driver->name);
    if (switches->driver->why)
        switches->driver->why(switches->sw, port->name, text, SENTENCE);
    size_t used = strlen(text);
    const char *less = port_want(&switches->wish, &port->facts, &want, &err) < 0
                           ? err.text
                           : port_compromises(&want, what, sizeof(what));
    if (less[0])
        snprintf(text + used, SENTENCE - used, "; %s", less);
}

const char *switches_say(struct switches *switches, char *text, size_t size)
{
    char sentence[SENTENCE], last[SENTENCE] = "";
    struct switch_ports *ports = NULL;
    struct err err = {0};
    size_t used = 0;
    text[0] = 0;
    if (switches->driver->ports(switches->sw, &ports, &err) < 0)
        snprintf(text, size, "%s", err.text);
    if (ports && switches_lack(switches, ports, sentence, sizeof(sentence)))
        log_warning(LOG_FAULT_CONFIGURATION, "%s", sentence);
    for (uint32_t i = 0; ports && i < ports->n && used < size - 1; i++) {
        say_port(switches, &ports->ports[i], sentence);
        if (strcmp(sentence, last) != 0)
            snprintf(text + used, size - used, "%s%s: %s", i ? ". " : "", ports->ports[i].name,
                     sentence);
        used = strlen(text);
        memcpy(last, sentence, sizeof(last));
    }
    free(ports);
    return text;
}

/* Those that came have just got what they should have. */
static void know_others(struct switches *switches)
{
    struct switch_ports *now = NULL;
    uint32_t hint = 0;
    if (!switches->known || switches->driver->ports(switches->sw, &now, NULL) < 0)
        return;
    for (uint32_t i = 0; i < now->n; i++) {
        const struct switch_port *was = port_of(switches->known, now->ports[i].name, &hint);
        if (was)
            now->ports[i].facts = was->facts;
    }
    know(switches, now);
}

void switches_follow(struct switches *switches, const struct ports_found *found, bool apply,
                     void (*say)(void *user, const char *text), void *user)
{
    if (!switches->driver->follow)
        return;
    switches->driver->follow(switches->sw, found, apply, say, user);
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
