/* Decides why a switch is not as it should be: its ports have changed, or somebody changed it. */
#include "hostagent/switches/switches_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct switch_port *switches_port_of(const struct switch_ports *ports, const char *name,
                                           uint32_t *hint)
{
    for (uint32_t i = 0; ports && i < ports->n; i++) {
        const struct switch_port *port = &ports->ports[(*hint + i) % ports->n];
        if (strcmp(port->name, name) != 0)
            continue;
        *hint = (uint32_t)(port - ports->ports) + 1;
        return port;
    }
    return NULL;
}

/* A port came or went, differs from what its queues were made for, or had none. */
static bool is_another(const struct switch_port *was, const struct switch_port *is)
{
    if (!was || !is)
        return was != is;
    return was->left || was->facts.mtu_bytes != is->facts.mtu_bytes ||
           was->facts.link_bps != is->facts.link_bps || was->facts.lossless != is->facts.lossless;
}

/* The steps of one port. */
struct change {
    const struct switch_step *first;
    uint32_t steps;
    bool takes; /* not only adds */
};

static int by_port(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    int order = strcmp(x->first->port, y->first->port);
    return order ? order : (x->first > y->first) - (x->first < y->first);
}

/* One a port, in order of their names. */
static uint32_t join_changes(struct change *changes, uint32_t n)
{
    uint32_t ports = 0;
    qsort(changes, n, sizeof(*changes), by_port);
    for (uint32_t i = 0; i < n; i++) {
        struct change *last = ports ? &changes[ports - 1] : NULL;
        if (last && strcmp(last->first->port, changes[i].first->port) == 0) {
            last->steps++;
            last->takes |= changes[i].takes;
        } else {
            changes[ports++] = changes[i];
        }
    }
    return ports;
}

/* One a port that has to be changed, for the caller to free. NULL: there is no memory. */
static struct change *changes_of(const struct switch_plan *plan, uint32_t *ret_n)
{
    struct change *changes = calloc(plan->steps_n, sizeof(*changes));
    if (!changes)
        return NULL;
    for (uint32_t i = 0; i < plan->steps_n; i++)
        changes[i] = (struct change){
            .first = &plan->steps[i], .steps = 1, .takes = plan->steps[i].verb != SWITCH_ADD};
    *ret_n = join_changes(changes, plan->steps_n);
    return changes;
}

static void say_deed(const struct change *change, struct switch_trouble *deed)
{
    const struct switch_step *step = change->first;
    char more[32] = "";
    *deed = (struct switch_trouble){.code = EBUSY};
    memcpy(deed->port, step->port, sizeof(deed->port));
    if (change->steps > 1)
        snprintf(more, sizeof(more), ", and %u more", change->steps - 1);
    snprintf(deed->text, sizeof(deed->text), "%s%ssomebody changed our queues (%s%s)", step->port,
             step->port[0] ? ": " : "", step->text, more);
}

/* A change that a changed port needs is nobody's deed; nor is an addition to something shared, for
 * such a port. */
static uint32_t list_deeds(const struct switches *switches, const struct change *changes,
                           uint32_t n, struct switch_trouble *deeds)
{
    struct switch_ports *now = NULL;
    uint32_t deeds_n = 0, was_hint = 0, is_hint = 0;
    bool known = switches->known && switches->driver->ports(switches->sw, &now, NULL) >= 0;
    bool ports = n && changes[n - 1].first->port[0];
    for (uint32_t i = 0; i < n; i++) {
        const char *port = changes[i].first->port;
        bool follows = port[0] ? is_another(switches_port_of(switches->known, port, &was_hint),
                                            switches_port_of(now, port, &is_hint))
                               : ports && !changes[i].takes;
        if (!known || !follows)
            say_deed(&changes[i], &deeds[deeds_n++]);
    }
    free(now);
    return deeds_n;
}

static int find_deeds(struct switches *switches, const struct switch_plan *plan, struct err *err)
{
    uint32_t n = 0;
    struct change *changes = changes_of(plan, &n);
    struct switch_trouble *deeds = calloc(n + 1, sizeof(*deeds));
    int r = changes && deeds ? 0 : err_sys(err, ENOMEM, "%u steps", plan->steps_n);
    if (r >= 0)
        r = troubles_set(&switches->differing, deeds, list_deeds(switches, changes, n, deeds), err);
    free(changes);
    free(deeds);
    return r;
}

/* "" if nothing is new: all of it was tried, and failed. */
static void say_ports(const struct switches *switches, const struct switch_plan *plan, char *what,
                      size_t size)
{
    uint32_t i = 0;
    what[0] = 0;
    while (i < plan->steps_n &&
           (!plan->steps[i].port[0] || troubles_of(&switches->failed, plan->steps[i].port)))
        i++;
    if (i < plan->steps_n)
        snprintf(what, size, "%s came, went or is another now: queues follow", plan->steps[i].port);
}

int switches_judge(struct switches *switches, const struct switch_plan *plan, char *what,
                   size_t size, struct err *err)
{
    troubles_done(&switches->differing);
    if (!plan->steps_n)
        return SWITCHES_RIGHT;
    int r = find_deeds(switches, plan, err);
    if (r < 0)
        return r;
    if (switches->differing.n)
        snprintf(what, size, "%s", switches->differing.items[0].text);
    else
        say_ports(switches, plan, what, size);
    return switches->differing.n ? SWITCHES_DIFFERS : SWITCHES_FOLLOW;
}
