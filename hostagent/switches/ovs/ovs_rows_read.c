/* Reads ports from Open vSwitch's database. */
#include "hostagent/switches/ovs/ovs_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct port_facts ovs_facts = {
    .mtu_bytes = 1500, .queues_n = OVS_QUEUES, .abilities = {.strict = true, .floors = true}};

const char *ovs_text(const json_t *row, const char *column)
{
    const char *text = json_string_value(json_object_get(row, column));
    return text ? text : "";
}

/* Of a column that may be empty; 0 then. */
static uint64_t number_of(const json_t *row, const char *column)
{
    json_int_t value = json_integer_value(json_object_get(row, column));
    return value > 0 ? (uint64_t)value : 0;
}

static int bad(const char *what, struct err *err)
{
    return err_set(err, EBADMSG, "OVSDB: %s is not as Open vSwitch has it", what);
}

/* The rows of one table by UUID, each with its maps as objects beside it. */
static json_t *by_uuid(const json_t *rows)
{
    json_t *found = json_is_array(rows) ? json_object() : NULL, *row;
    size_t i;
    if (!found)
        return NULL;
    json_array_foreach(rows, i, row)
    {
        const char *uuid = ovsdb_uuid(json_object_get(row, "_uuid"));
        json_t *config = ovsdb_map(json_object_get(row, "other_config"));
        json_t *ids = ovsdb_map(json_object_get(row, "external_ids"));
        if (!uuid || json_object_set_new(row, "config", config) < 0 ||
            json_object_set_new(row, "ids", ids) < 0 || json_object_set(found, uuid, row) < 0) {
            json_decref(found);
            return NULL;
        }
    }
    return found;
}

static json_t *select_op(const char *table, const char *columns)
{
    return json_pack("{s:s, s:s, s:[], s:o}", "op", "select", "table", table, "where", "columns",
                     json_loads(columns, 0, NULL));
}

static json_t *select_all(void)
{
    return json_pack(
        "[o, o, o, o, o]", select_op("Bridge", "[\"name\",\"ports\"]"),
        select_op("Port", "[\"_uuid\",\"name\",\"interfaces\",\"qos\"]"),
        select_op("Interface", "[\"_uuid\",\"name\",\"type\",\"mtu\",\"link_speed\",\"ofport\","
                               "\"error\"]"),
        select_op("QoS", "[\"_uuid\",\"type\",\"queues\",\"other_config\",\"external_ids\"]"),
        select_op("Queue", "[\"_uuid\",\"dscp\",\"other_config\",\"external_ids\"]"));
}

/* Calls `each` for each UUID of a set, which may also be a single one. */
static int each_uuid(const json_t *set, int (*each)(void *user, const char *uuid), void *user)
{
    const json_t *items = json_array_get(set, 1), *item;
    const char *one = ovsdb_uuid(set), *tag = json_string_value(json_array_get(set, 0));
    size_t i;
    if (one)
        return *one ? each(user, one) : 0;
    if (!tag || strcmp(tag, "set") != 0 || !json_is_array(items))
        return -EBADMSG;
    json_array_foreach(items, i, item)
    {
        one = ovsdb_uuid(item);
        int r = one && *one ? each(user, one) : -EBADMSG;
        if (r < 0)
            return r;
    }
    return 0;
}

static int mark_port(void *user, const char *uuid)
{
    return json_object_set_new(user, uuid, json_true());
}

/* The UUIDs of the bridge's ports; NULL with `err`. */
static json_t *ports_of_bridge(const json_t *bridges, const char *name, struct err *err)
{
    const json_t *bridge;
    size_t i;
    json_array_foreach(bridges, i, bridge)
    {
        if (strcmp(ovs_text(bridge, "name"), name) != 0)
            continue;
        json_t *ports = json_object();
        if (each_uuid(json_object_get(bridge, "ports"), mark_port, ports) == 0)
            return ports;
        json_decref(ports);
        bad("the bridge", err);
        return NULL;
    }
    err_set(err, ENOENT, "Open vSwitch has no bridge %s (switch.bridge)", name);
    return NULL;
}

struct facing {
    const json_t *interfaces;
    struct ovs_port *port;
    bool outside; /* all are ports that frames leave the machine by */
};

/* HTB works on the kernel's interfaces; the bridge's own ports have no link. */
static bool leaves(const char *type)
{
    return !*type || strcmp(type, "system") == 0 || strcmp(type, "dummy") == 0 ||
           strcmp(type, "tap") == 0;
}

/* Open vSwitch lacks this interface: it was missing, or could not be opened. */
static void take_fault(const json_t *row, struct ovs_port *port)
{
    const char *error = ovs_text(row, "error");
    if (!*error && json_integer_value(json_object_get(row, "ofport")) != -1)
        return;
    if (!port->faults_n++)
        snprintf(port->fault, sizeof(port->fault), "Open vSwitch cannot use interface %s%s%s",
                 ovs_text(row, "name"), *error ? ": " : "", error);
}

static int face(void *user, const char *uuid)
{
    struct facing *facing = user;
    struct ovs_port *port = facing->port;
    const json_t *row = json_object_get(facing->interfaces, uuid);
    uint64_t mtu = number_of(row, "mtu"), number = number_of(row, "ofport");
    uint64_t speed = number_of(row, "link_speed");
    facing->outside &= row && leaves(ovs_text(row, "type"));
    port->interfaces_n++;
    take_fault(row, port);
    if (mtu && mtu <= 65535)
        port->facts.mtu_bytes = (uint32_t)mtu;
    if (speed && (!port->facts.link_bps || speed < port->facts.link_bps))
        port->facts.link_bps = speed;
    if (number && number <= UINT32_MAX && port->numbers_n < OVS_INTERFACES)
        port->numbers[port->numbers_n++] = (uint32_t)number;
    return 0;
}

static int take_port(const json_t *row, const json_t *of_bridge, const json_t *interfaces,
                     const struct switch_settings *settings, struct ovs_port *port)
{
    const char *uuid = ovsdb_uuid(json_object_get(row, "_uuid"));
    const char *name = ovs_text(row, "name");
    *port = (struct ovs_port){.qos_value = json_object_get(row, "qos"), .facts = ovs_facts};
    const char *qos = ovsdb_uuid(port->qos_value);
    struct facing facing = {.interfaces = interfaces, .port = port, .outside = true};
    if (!uuid || !qos || !*name || strlen(name) >= sizeof(port->name) ||
        each_uuid(json_object_get(row, "interfaces"), face, &facing) < 0)
        return -EBADMSG;
    snprintf(port->name, sizeof(port->name), "%s", name);
    snprintf(port->facts.name, sizeof(port->facts.name), "%s", name);
    snprintf(port->uuid, sizeof(port->uuid), "%s", uuid);
    snprintf(port->qos, sizeof(port->qos), "%s", qos);
    port->ours = json_object_get(of_bridge, uuid) && facing.outside &&
                 strcmp(name, settings->bridge) != 0 && switch_selects(settings, name);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct ovs_port *)a)->name, ((const struct ovs_port *)b)->name);
}

static json_t *interfaces_of(const json_t *rows)
{
    json_t *found = json_object(), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        const char *uuid = ovsdb_uuid(json_object_get(row, "_uuid"));
        if (uuid)
            json_object_set(found, uuid, row);
    }
    return found;
}

static int take_ports(struct ovs_rows *rows, const struct switch_settings *settings,
                      struct err *err)
{
    const json_t *ports = json_array_get(rows->results, 1);
    const json_t *table = json_object_get(ports, "rows"), *row;
    size_t n = json_array_size(table), i;
    if (n > SWITCH_PORTS)
        return err_set(err, E2BIG, "the switch has %zu ports: an agent manages at most %d", n,
                       SWITCH_PORTS);
    json_t *of_bridge = ports_of_bridge(json_object_get(json_array_get(rows->results, 0), "rows"),
                                        settings->bridge, err);
    if (!of_bridge)
        return err ? -err->code : -ENOENT;
    json_t *interfaces = interfaces_of(json_object_get(json_array_get(rows->results, 2), "rows"));
    rows->ports = calloc(n + 1, sizeof(*rows->ports));
    int r = rows->ports ? 0 : -ENOMEM;
    json_array_foreach(table, i, row)
    {
        if (r >= 0)
            r = take_port(row, of_bridge, interfaces, settings, &rows->ports[rows->n++]);
    }
    json_decref(of_bridge);
    json_decref(interfaces);
    if (r >= 0)
        qsort(rows->ports, rows->n, sizeof(*rows->ports), by_name);
    return r == -ENOMEM ? err_sys(err, ENOMEM, "the ports of the switch")
           : r < 0      ? bad("a port", err)
                        : 0;
}

int ovs_rows_read(struct ovsdb *db, const struct switch_settings *settings,
                  struct ovs_rows *ret_rows, struct err *err)
{
    struct ovs_rows rows = {0};
    json_t *operations = select_all();
    int r = ovsdb_transact(db, operations, &rows.results, err);
    json_decref(operations);
    if (r < 0)
        return r;
    rows.qos = by_uuid(json_object_get(json_array_get(rows.results, 3), "rows"));
    rows.queues = by_uuid(json_object_get(json_array_get(rows.results, 4), "rows"));
    r = rows.qos && rows.queues ? take_ports(&rows, settings, err) : bad("a queue", err);
    if (r < 0) {
        ovs_rows_free(&rows);
        return r;
    }
    *ret_rows = rows;
    return 0;
}

void ovs_rows_free(struct ovs_rows *rows)
{
    json_decref(rows->qos);
    json_decref(rows->queues);
    json_decref(rows->results);
    free(rows->ports);
    *rows = (struct ovs_rows){0};
}
