/* Ports that come and go. */
#include "hostagent/queues/queues_parts.h"

#include "hostagent/queues/ports_nl.h"

#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct follow {
    struct queues *queues;
    const struct ports_found *found;
    bool apply;
    void (*say)(void *user, const char *text);
    void *user;
};

static void say_failure(const struct follow *follow, const struct err *err)
{
    follow->say(follow->user, err->text);
}

/* Records go by names, the kernel's queues by numbers. */
static void follow_name(struct queues *queues, struct queues_port *port, const char now[PORT_NAME])
{
    char from[FILES_PATH], to[FILES_PATH];
    if (strcmp(now, port->name) == 0)
        return;
    queues_record_path(queues, port->name, from);
    queues_record_path(queues, now, to);
    if (rename(from, to) == 0)
        unlink(from);      /* of two names of one file none goes by renaming */
    free(queues->written); /* its place may be another port's now */
    queues->written = NULL;
    memcpy(port->name, now, PORT_NAME);
}

/* Moves ports that are no longer wanted, or gone, behind the others. */
static uint32_t put_last(struct queues *queues, const struct ports_found *found)
{
    uint32_t stay = 0;
    for (uint32_t i = 0; i < queues->n; i++) {
        struct queues_port port = queues->ports[i];
        int place = ports_place(found, port.ifindex);
        if (place < 0)
            continue;
        follow_name(queues, &port, found->names[place]);
        queues->ports[i] = queues->ports[stay];
        queues->ports[stay++] = port;
    }
    return stay;
}

/* Those that leave may have got another name, too. */
static void follow_leaving(struct queues *queues, uint32_t stay)
{
    char now[PORT_NAME];
    for (uint32_t i = stay; i < queues->n; i++)
        if (if_indextoname((unsigned)queues->ports[i].ifindex, now))
            follow_name(queues, &queues->ports[i], now);
}

static void leave_ports(const struct follow *follow, uint32_t stay)
{
    struct queues *queues = follow->queues;
    int (*const steps[])(struct queues *, const char *, struct err *) = {queues_restore_port,
                                                                         queues_check_restored};
    follow_leaving(queues, stay);
    for (int step = 0; step < 2 && stay < queues->n; step++) {
        struct err err = {0};
        if (queues_look(queues, &err) < 0)
            say_failure(follow, &err);
        for (uint32_t i = stay; !err.code && i < queues->n; i++)
            if (steps[step](queues, queues->ports[i].name, &err) < 0)
                say_failure(follow, &err);
        queues_look_away(queues);
    }
    queues->n = stay;
}

/* As far as it can have them, and its link lets. */
static void join(const struct follow *follow, uint32_t place)
{
    struct queues *queues = follow->queues;
    uint32_t number = queues->n++;
    struct queues_port *port = &queues->ports[number];
    *port = (struct queues_port){.ifindex = follow->found->ifindexes[place]};
    memcpy(port->name, follow->found->names[place], PORT_NAME);
    if (!follow->apply)
        return;
    struct err why = {0};
    struct qdisc_plan *plan = queues_plan_port(queues, number, false);
    if (queues_keep(queues, port->name, plan, &why) >= 0)
        queues_change_port(queues, number, plan);
    else
        port->trouble = why;
    free(plan);
}

/* Ports that wait for their links, or are in trouble without our queues, count as new. */
static void note_known(struct queues *queues, const struct follow *follow, bool known[QUEUES_PORTS])
{
    const struct ports_found *found = follow->found;
    uint32_t stay = 0;
    for (uint32_t i = 0; i < queues->n; i++) {
        struct queues_port port = queues->ports[i];
        if (follow->apply && (port.waits || (port.trouble.code && !port.had)))
            continue;
        known[ports_place(found, port.ifindex)] = true;
        queues->ports[stay++] = port;
    }
    queues->n = stay;
}

static void join_ports(const struct follow *follow)
{
    struct queues *queues = follow->queues;
    bool known[QUEUES_PORTS] = {0};
    struct err err = {0};
    note_known(queues, follow, known);
    if (follow->apply && queues_look(queues, &err) < 0)
        say_failure(follow, &err);
    for (uint32_t i = 0; i < follow->found->n && queues->n < QUEUES_PORTS; i++)
        if (!known[i])
            join(follow, i);
    queues_look_away(queues);
}

void queues_follow(struct queues *queues, const struct ports_found *found, bool apply,
                   void (*say)(void *user, const char *text), void *user)
{
    const struct follow follow = {queues, found, apply, say, user};
    leave_ports(&follow, put_last(queues, found));
    join_ports(&follow);
}
