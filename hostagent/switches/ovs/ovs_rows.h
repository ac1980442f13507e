/* The rows of Open vSwitch's database that give ports their queues (ovs-vswitchd.conf.db(5)): read
 * at once, compared with what is wanted, and changed by one transaction.
 *
 * A port's queues are a row of table QoS, type linux-htb, and rows of table Queue, made for it
 * alone. Our rows have external_ids:duopoly = OWNER; the QoS row also has duopoly-port = PORT and
 * duopoly-before = the QoS row that it replaces: so the former configuration is recorded together
 * with what replaced it. We never write somebody else's row.
 *
 * Queue numbers: 0, the default, is unmanaged; level L is OVS_QUEUES_FIRST + L; control follows.
 * Flows set a number without knowing the port by which a packet leaves: the numbers are unlikely on
 * somebody's queues of a port that is left, and a number that a port lacks selects its default. HTB
 * serves guarantees before priorities, so all min-rates add up to the link: level 0 gets what the
 * others leave. Open vSwitch sets no lengths and no ECN. */
#pragma once

#include "hostagent/switches/ovs/ovsdb.h"
#include "hostagent/switches/switch.h"

#include <stdio.h>

#define OVS_QUEUES       PORT_TRAFFIC
#define OVS_QUEUES_FIRST 3341 /* below 61440, which is HTB's most in Open vSwitch */
#define OVS_UUID         37
#define OVS_INTERFACES   8 /* of one port, a bond */

/* The facts of a port that reports nothing. */
extern const struct port_facts ovs_facts;

struct ovs_port {
    char name[SWITCH_PORT_NAME];
    char uuid[OVS_UUID];
    char qos[OVS_UUID]; /* "": none */
    const json_t *qos_value;
    bool ours;                                   /* on our bridge, and selected */
    uint32_t numbers_n, numbers[OVS_INTERFACES]; /* OpenFlow's, of those that have one */
    struct port_facts facts;
    uint32_t interfaces_n, faults_n; /* interfaces; those that cannot be used */
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
