#include "hostagent/report.h"

#include "lib/now.h"
#include "lib/wire.h"

#include <stdlib.h>

#define MOST(rows) ((uint32_t)(sizeof(rows) / sizeof((rows)[0])))

static void fill_port(struct switches *switches, const struct switch_port *port,
                      const struct switch_plan *plan, const struct port_wish *wish,
                      duopoly_SwitchPort *row)
{
    const struct switch_trouble *trouble = switch_trouble_of(plan, port->name);
    struct port want;
    char text[PORT_TEXT];
    wire_copy(row->name, sizeof(row->name), port->name);
    row->mtu_bytes = port->facts.mtu_bytes;
    row->lossless = port->facts.lossless != 0;
    wire_copy(row->text, sizeof(row->text),
              switches_port_lacks(switches, port, text, sizeof(text)));
    wire_copy(row->by, sizeof(row->by), switches_port_by(switches, port, text, sizeof(text)));
    if (port_want(wish, &port->facts, &want, NULL) < 0)
        return;
    row->rate_bps = want.link_bps;
    row->queues = trouble && trouble->left ? 0 : want.queues_n;
}

static void fill_wish(const struct port_wish *wish, duopoly_SwitchWish *said)
{
    *said = (duopoly_SwitchWish){.levels = wish->levels,
                                 .queue_packets = wish->queue_packets,
                                 .floor_permille = wish->floor_permille,
                                 .unmanaged_permille = wish->unmanaged_permille,
                                 .control_permille = wish->control_permille,
                                 .unmanaged_joins = wish->unmanaged_joins,
                                 .ecn = wish->ecn,
                                 .ecn_packets = wish->ecn_packets,
                                 .red_packets = wish->red_packets,
                                 .dscp_of_level_count = PORT_LEVELS};
    for (uint32_t level = 0; level < PORT_LEVELS; level++)
        said->dscp_of_level[level] = wish->dscp_of_level[level];
}

static void fill_step(const struct switch_step *step, duopoly_SwitchStep *row)
{
    static const char *const verbs[] = {
        [SWITCH_ADD] = "add", [SWITCH_CHANGE] = "change", [SWITCH_REMOVE] = "remove"};
    wire_copy(row->verb, sizeof(row->verb), verbs[step->verb]);
    wire_copy(row->port, sizeof(row->port), step->port);
    wire_copy(row->text, sizeof(row->text), step->text);
}

static void fill_rows(struct switches *switches, duopoly_SwitchPart *part,
                      const struct switch_ports *ports, const struct switch_plan *plan,
                      const struct port_wish *wish)
{
    uint32_t first = part->part * MOST(part->port_rows);
    part->port_rows_count = part->step_rows_count = 0;
    for (uint32_t i = first; i < ports->n && part->port_rows_count < MOST(part->port_rows); i++) {
        part->port_rows[part->port_rows_count] = (duopoly_SwitchPort){0};
        fill_port(switches, &ports->ports[i], plan, wish,
                  &part->port_rows[part->port_rows_count++]);
    }
    uint32_t steps = plan->steps_n < REPORT_STEPS ? plan->steps_n : REPORT_STEPS;
    first = part->part * MOST(part->step_rows);
    for (uint32_t i = first; i < steps && part->step_rows_count < MOST(part->step_rows); i++)
        fill_step(&plan->steps[i], &part->step_rows[part->step_rows_count++]);
}

/* Parts until no rows are left; one at least. */
static void tell_parts(struct switches *switches, duopoly_SwitchPart *part,
                       const struct switch_ports *ports, const struct switch_plan *plan,
                       const struct port_wish *wish, struct uplink *uplink)
{
    fill_wish(wish, &part->wish);
    do {
        part->has_wish = part->part == 0;
        fill_rows(switches, part, ports, plan, wish);
        if (part->part == 0 || part->port_rows_count || part->step_rows_count)
            uplink_tell_switch(uplink, part);
    } while (part->part++ == 0 || part->port_rows_count || part->step_rows_count);
}

void report_tell(struct report *report, struct switches *switches, const struct port_wish *wish,
                 uint32_t confirm_s, struct uplink *uplink)
{
    static const struct switch_ports no_ports;
    static const struct switch_plan no_plan;
    struct switch_ports *ports = NULL;
    struct switch_plan *plan = NULL;
    struct err err = {0};
    char text[sizeof(((duopoly_SwitchPart *)0)->text)];
    uint64_t now = now_ns(CLOCK_MONOTONIC);
    duopoly_SwitchPart part = duopoly_SwitchPart_init_zero;
    part.confirm_s = confirm_s;
    wire_copy(part.driver, sizeof(part.driver), switches_driver(switches));
    if (switches_look(switches, &ports, &plan, &err) < 0)
        wire_copy(part.text, sizeof(part.text), err.text);
    else if (switches_lack(switches, ports, text, sizeof(text)))
        wire_copy(part.text, sizeof(part.text), text);
    else
        wire_copy(part.text, sizeof(part.text), switches_troubles(switches, text, sizeof(text)));
    part.ports = ports ? ports->n : 0;
    part.steps = plan ? plan->steps_n : 0;
    report->differs_ns = !part.steps && plan ? 0 : report->differs_ns ? report->differs_ns : now;
    part.differs_ns = report->differs_ns ? (int64_t)(now - report->differs_ns) : -1;
    tell_parts(switches, &part, ports ? ports : &no_ports, plan ? plan : &no_plan, wish, uplink);
    free(ports);
    switches_free_plan(switches, plan);
}
