#include "hostagent/switches/sonic/sonic_ports.h"

#include "lib/sonic/sonic_want.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int port_facts_of(const json_t *db, const char *port, struct port_facts *ret_facts,
                         struct err *err)
{
    struct sonic_facts facts;
    int r = sonic_facts(db, port, &facts, err);
    if (r < 0)
        return r;
    *ret_facts = (struct port_facts){
        .mtu_bytes = facts.mtu_bytes,
        .link_bps = facts.link_bps,
        .queues_n = SONIC_QUEUES,
        .abilities = {.strict = true, .floors = true, .ecn = true, .hardware = true}};
    snprintf(ret_facts->name, sizeof(ret_facts->name), "%s", port);
    for (uint32_t q = 0; q < SONIC_QUEUES; q++)
        ret_facts->lossless |= (uint32_t)(facts.lossless >> q & 1) << (SONIC_QUEUES - 1 - q);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct switch_port *)a)->name, ((const struct switch_port *)b)->name);
}

int sonic_ports_list(const struct switch_settings *settings, const char *at, const json_t *db,
                     struct switch_plan *plan, struct switch_ports **ret_ports, struct err *err)
{
    json_t *rows = json_object_get(db, "PORT"), *row;
    const char *name;
    struct switch_ports *ports =
        calloc(1, sizeof(*ports) + json_object_size(rows) * sizeof(ports->ports[0]));
    int r = ports ? 0 : err_sys(err, ENOMEM, "the ports of %s", at);
    json_object_foreach(rows, name, row)
    {
        if (r < 0 || !switch_selects(settings, name))
            continue;
        if (ports->n == SWITCH_PORTS || strlen(name) >= SWITCH_PORT_NAME)
            r = err_set(err, E2BIG, "%s has more than %d ports, or one with a long name", at,
                        SWITCH_PORTS);
        if (r < 0)
            break;
        struct switch_port *port = &ports->ports[ports->n++];
        struct err why = {0};
        snprintf(port->name, SWITCH_PORT_NAME, "%s", name);
        if (port_facts_of(db, name, &port->facts, &why) < 0 && plan)
            r = switch_trouble_add(plan, name, &why, true, err);
    }
    if (r < 0) {
        free(ports);
        return r;
    }
    qsort(ports->ports, ports->n, sizeof(ports->ports[0]), by_name);
    *ret_ports = ports;
    return 0;
}
