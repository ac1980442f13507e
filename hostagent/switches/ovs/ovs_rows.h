/* The rows of Open vSwitch's database that give ports their queues (ovs-vswitchd.conf.db(5)): read at
 * once, compared with what is wanted, and changed by one transaction.
 *
 * A port's queues are a row of table QoS, type linux-htb, and rows of table Queue, made for it alone.
 * Ours bear external_ids:duopoly = OWNER, the QoS row also duopoly-port = PORT and duopoly-before =
 * the QoS row that it stands in the place of: so what stood there is kept where it cannot get lost
 * apart from what replaced it. A row that is somebody's is never written.
 *
 * Queue numbers: 0, which packets get that nobody gave one, is unmanaged; level L is OVS_QUEUES_FIRST + L;
 * control comes behind. Flows give numbers without knowing by which port a packet leaves: nobody's own queues
 * on a port that is left have such numbers, and a number that a port has not is its default. HTB serves guarantees before priorities, so all min-rates add up to the link: level 0
 * has what the others leave. Lengths and ECN are not Open vSwitch's to give. */
#pragma once

#include "hostagent/switches/ovs/ovsdb.h"
#include "hostagent/switches/switch.h"

#include <stdio.h>

#define OVS_QUEUES       PORT_TRAFFIC
#define OVS_QUEUES_FIRST 3341 /* below 61440, which is HTB's most in Open vSwitch */
#define OVS_UUID         37
#define OVS_INTERFACES   8 /* of one port, a bond */

/* Of a port that says nothing of itself. */
extern const struct port_facts ovs_facts;

struct ovs_port {
    char name[SWITCH_PORT_NAME];
    char uuid[OVS_UUID];
    char qos[OVS_UUID]; /* "": none */
    const json_t *qos_value;
    bool ours;                                   /* of our bridge, and selected */
    uint32_t numbers_n, numbers[OVS_INTERFACES]; /* OpenFlow's, of those that have one */
    struct port_facts facts;
    uint32_t interfaces_n, faults_n; /* of those, so many cannot be used */
    char fault[256];                 /* why the first cannot */
};

struct ovs_rows {
    json_t *results;      /* owns all of it */
    json_t *qos, *queues; /* by UUID */
    uint32_t n;
    struct ovs_port *ports; /* all of the switch, in order of their names */
};

/* −ENOENT: there is no such bridge. */
int ovs_rows_read(struct ovsdb *db, const struct switch_settings *settings,
                  struct ovs_rows *ret_rows, struct err *err);
void ovs_rows_free(struct ovs_rows *rows);

/* A column of text, "" where it is empty. */
const char *ovs_text(const json_t *row, const char *column);

/* The number of the queue for this traffic. */
uint32_t ovs_queue_number(const struct port *want, enum port_traffic traffic);

/* Adds steps to `plan` and operations to `operations` (an array). */
int ovs_rows_plan(const struct ovs_rows *rows, const struct switch_config *config, bool again,
                  struct switch_plan *plan, json_t *operations, struct err *err);

/* The operations that take ours back. */
int ovs_rows_restore(const struct ovs_rows *rows, const char *owner, json_t *operations,
                     struct err *err);

/* Lines of what is not ours, and of what stood in the place of ours. */
int ovs_rows_say(const struct ovs_rows *rows, const char *owner, FILE *out, struct err *err);
