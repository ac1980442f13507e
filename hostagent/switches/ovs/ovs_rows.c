#include "hostagent/switches/ovs/ovs_rows.h"
#include "lib/bit_rate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint32_t number(const struct port_queue *queue)
{
    return queue->first == TRAFFIC_UNMANAGED ? 0
           : queue->first == TRAFFIC_CONTROL
               ? OVS_QUEUES_FIRST + PORT_LEVELS
               : OVS_QUEUES_FIRST + (uint32_t)queue->first - TRAFFIC_LEVEL0;
}

uint32_t ovs_queue_number(const struct port *want, enum port_traffic traffic)
{
    return number(&want->queues[want->queue_of[traffic]]);
}

static bool takes_the_rest(const struct port_queue *queue)
{
    return queue->first == TRAFFIC_LEVEL0;
}

static uint64_t rate_of(const struct port *want, const struct port_queue *queue)
{
    uint64_t rest = want->link_bps;
    if (!takes_the_rest(queue))
        return queue->floor_bps ? queue->floor_bps : 1;
    for (uint32_t i = 0; i < want->queues_n; i++)
        if (!takes_the_rest(&want->queues[i]))
            rest -= rate_of(want, &want->queues[i]);
    return rest;
}

/* HTB's, of which there are eight. */
static uint32_t priority_of(const struct port_queue *queue)
{
    return queue->first == TRAFFIC_UNMANAGED ? 7
           : queue->first == TRAFFIC_CONTROL ? 0
                                             : (uint32_t)queue->first - TRAFFIC_LEVEL0;
}

static json_t *digits(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, value);
    return json_string(text);
}

static json_t *queue_config(const struct port *want, const struct port_queue *queue)
{
    return json_pack("{s:o, s:o, s:o}", "min-rate", digits(rate_of(want, queue)), "max-rate",
                     digits(want->link_bps), "priority", digits(priority_of(queue)));
}

static json_t *map_value(const json_t *object)
{
    json_t *pairs = json_array(), *value;
    const char *key;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
        json_array_append_new(pairs, json_pack("[s, O]", key, value));
    return json_pack("[s, o]", "map", pairs);
}

static json_t *where(const char *uuid)
{
    return json_pack("[[s, s, [s, s]]]", "_uuid", "==", "uuid", uuid);
}

static int add_op(json_t *operations, json_t *operation, struct err *err)
{
    return operation && json_array_append_new(operations, operation) == 0
               ? 0
               : err_sys(err, ENOMEM, "the changes of the switch");
}

/* The transaction fails if this column has changed since it was read. */
static int add_wait(json_t *operations, const char *table, const char *uuid, const char *column,
                    const json_t *value, struct err *err)
{
    return add_op(operations,
                  json_pack("{s:s, s:i, s:s, s:o, s:[s], s:s, s:[{s:O}]}", "op", "wait", "timeout",
                            0, "table", table, "where", where(uuid), "columns", column, "until",
                            "==", "rows", column, value),
                  err);
}

static int add_update(json_t *operations, const char *table, const char *uuid, json_t *row,
                      struct err *err)
{
    return add_op(operations,
                  json_pack("{s:s, s:s, s:o, s:o}", "op", "update", "table", table, "where",
                            where(uuid), "row", row),
                  err);
}

static int add_insert(json_t *operations, const char *table, const char *name, json_t *row,
                      struct err *err)
{
    return add_op(operations,
                  json_pack("{s:s, s:s, s:s, s:o}", "op", "insert", "table", table, "uuid-name",
                            name, "row", row),
                  err);
}

static int add_delete(json_t *operations, const char *table, const char *uuid, struct err *err)
{
    return add_op(
        operations,
        json_pack("{s:s, s:s, s:o}", "op", "delete", "table", table, "where", where(uuid)), err);
}

struct planning {
    const struct ovs_rows *rows;
    const struct switch_config *config;
    bool again;
    struct switch_plan *plan;
    json_t *operations;
    json_t *own;    /* UUIDs of QoS rows of ours by port */
    json_t *kept;   /* UUIDs of rows of ours that stay */
    uint32_t names; /* given to rows that are inserted */
    struct err *err;
};

static const char *id_of(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(json_object_get(row, "ids"), key));
}

static bool is_owned(const json_t *row, const char *owner)
{
    const char *have = id_of(row, "duopoly");
    return have && strcmp(have, owner) == 0;
}

static void new_name(struct planning *planning, char name[24])
{
    snprintf(name, 24, "row%u", planning->names++);
}

static json_t *ids_value(const struct planning *planning)
{
    return json_pack("[s, [[s, s]]]", "map", "duopoly", planning->config->owner);
}

static int say_queue(struct planning *planning, enum switch_verb verb, const char *port, uint32_t n,
                     const json_t *config)
{
    return switch_step_add(planning->plan, verb, port, planning->err,
                           "queue %u: min-rate %s, priority %s", n, ovs_text(config, "min-rate"),
                           ovs_text(config, "priority"));
}

/* Appends [n, row] to `pairs`; what has to be inserted is. */
static int insert_queue(struct planning *planning, const char *port, uint32_t n, json_t *config,
                        json_t *pairs)
{
    char name[24];
    new_name(planning, name);
    int r = say_queue(planning, SWITCH_ADD, port, n, config);
    if (r >= 0)
        r = add_insert(planning->operations, "Queue", name,
                       json_pack("{s:o, s:o}", "other_config", map_value(config), "external_ids",
                                 ids_value(planning)),
                       planning->err);
    if (r >= 0)
        json_array_append_new(pairs, json_pack("[i, [s, s]]", (int)n, "named-uuid", name));
    return r;
}

static int change_queue(struct planning *planning, const char *port, uint32_t n, json_t *config,
                        const char *uuid, const json_t *row)
{
    const json_t *dscp = json_object_get(row, "dscp");
    json_object_set_new(planning->kept, uuid, json_true());
    if (json_equal(json_object_get(row, "config"), config) && !json_is_integer(dscp))
        return 0;
    int r = say_queue(planning, SWITCH_CHANGE, port, n, config);
    if (r >= 0)
        r = add_wait(planning->operations, "Queue", uuid, "other_config",
                     json_object_get(row, "other_config"), planning->err);
    if (r >= 0)
        r = add_update(
            planning->operations, "Queue", uuid,
            json_pack("{s:o, s:[s, []]}", "other_config", map_value(config), "dscp", "set"),
            planning->err);
    return r;
}

/* `have`: numbers to UUIDs. Sets *ret_moved when the numbers have to be written again, as
 * `pairs`. */
static int plan_queues(struct planning *planning, const struct ovs_port *port,
                       const struct port *want, const json_t *have, json_t *pairs, bool *ret_moved)
{
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < want->queues_n; i++) {
        char key[16];
        uint32_t n = number(&want->queues[i]);
        snprintf(key, sizeof(key), "%u", n);
        const char *uuid = json_string_value(json_object_get(have, key));
        const json_t *row = uuid ? json_object_get(planning->rows->queues, uuid) : NULL;
        json_t *config = queue_config(want, &want->queues[i]);
        if (row && is_owned(row, planning->config->owner)) {
            r = change_queue(planning, port->name, n, config, uuid, row);
            json_array_append_new(pairs, json_pack("[i, [s, s]]", (int)n, "uuid", uuid));
        } else {
            *ret_moved = true;
            r = insert_queue(planning, port->name, n, config, pairs);
        }
        json_decref(config);
    }
    *ret_moved |= json_object_size(have) != want->queues_n;
    return r;
}

static json_t *qos_ids(const struct planning *planning, const struct ovs_port *port,
                       const char *before)
{
    json_t *ids =
        json_pack("{s:s, s:s}", "duopoly", planning->config->owner, "duopoly-port", port->name);
    if (*before)
        json_object_set_new(ids, "duopoly-before", json_string(before));
    return ids;
}

static int point_at(struct planning *planning, const struct ovs_port *port, const char *tag,
                    const char *qos)
{
    int r =
        add_wait(planning->operations, "Port", port->uuid, "qos", port->qos_value, planning->err);
    return r < 0 ? r
                 : add_update(planning->operations, "Port", port->uuid,
                              json_pack("{s:[s, s]}", "qos", tag, qos), planning->err);
}

static int insert_qos(struct planning *planning, const struct ovs_port *port,
                      const struct port *want)
{
    char name[24], rate[BIT_RATE_WORDS];
    bool moved = false;
    json_t *pairs = json_array(), *ids = qos_ids(planning, port, port->qos);
    new_name(planning, name);
    int r = switch_step_add(planning->plan, SWITCH_ADD, port->name, planning->err,
                            "linux-htb at %s%s", bit_rate_words(want->link_bps, rate),
                            port->qos[0] ? " in the place of somebody's QoS" : "");
    if (r >= 0)
        r = plan_queues(planning, port, want, NULL, pairs, &moved);
    if (r >= 0)
        r = add_insert(planning->operations, "QoS", name,
                       json_pack("{s:s, s:[s, O], s:[s, [[s, o]]], s:o}", "type", "linux-htb",
                                 "queues", "map", pairs, "other_config", "map", "max-rate",
                                 digits(want->link_bps), "external_ids", map_value(ids)),
                       planning->err);
    if (r >= 0)
        r = point_at(planning, port, "named-uuid", name);
    json_decref(pairs);
    json_decref(ids);
    return r;
}

static bool had_ours(const struct planning *planning, const char *port)
{
    const struct switch_config *config = planning->config;
    return planning->again && (!config->had || config->had(config->user, port));
}

/* What the row records of the former configuration: what is there now, if our row replaces it for
 * the first time. */
static const char *before_of(const struct planning *planning, const struct ovs_port *port,
                             const char *uuid, const json_t *row)
{
    const char *kept = id_of(row, "duopoly-before");
    if (!had_ours(planning, port->name) && strcmp(port->qos, uuid) != 0)
        return port->qos;
    return kept ? kept : "";
}

static int change_qos(struct planning *planning, const struct ovs_port *port,
                      const struct port *want, const char *uuid, const json_t *row)
{
    bool moved = false;
    json_t *pairs = json_array(), *change = json_object();
    json_t *have = ovsdb_map(json_object_get(row, "queues"));
    json_t *ids = qos_ids(planning, port, before_of(planning, port, uuid, row));
    json_t *config = json_pack("{s:o}", "max-rate", digits(want->link_bps));
    int r = plan_queues(planning, port, want, have, pairs, &moved);
    json_object_set_new(planning->kept, uuid, json_true());
    if (moved)
        json_object_set_new(change, "queues", json_pack("[s, O]", "map", pairs));
    if (strcmp(ovs_text(row, "type"), "linux-htb") != 0)
        json_object_set_new(change, "type", json_string("linux-htb"));
    if (!json_equal(json_object_get(row, "config"), config))
        json_object_set_new(change, "other_config", map_value(config));
    if (!json_equal(json_object_get(row, "ids"), ids))
        json_object_set_new(change, "external_ids", map_value(ids));
    if (r >= 0 && json_object_size(change)) {
        char rate[BIT_RATE_WORDS];
        r = switch_step_add(planning->plan, SWITCH_CHANGE, port->name, planning->err,
                            "linux-htb at %s", bit_rate_words(want->link_bps, rate));
        if (r >= 0)
            r = add_wait(planning->operations, "QoS", uuid, "queues",
                         json_object_get(row, "queues"), planning->err);
        if (r >= 0)
            r = add_update(planning->operations, "QoS", uuid, json_incref(change), planning->err);
    }
    json_decref(pairs);
    json_decref(change);
    json_decref(have);
    json_decref(ids);
    json_decref(config);
    return r;
}

/* Our rows by the names of their ports. */
static json_t *own_rows(const struct ovs_rows *rows, const char *owner)
{
    json_t *own = json_object(), *row;
    const char *uuid;
    json_object_foreach(rows->qos, uuid, row)
    {
        const char *of = id_of(row, "duopoly-port");
        if (of && is_owned(row, owner))
            json_object_set_new(own, of, json_string(uuid));
    }
    return own;
}

/* Our row for this port, whether or not the port still points at it; NULL if there is none. */
static const char *own_qos(const struct planning *planning, const struct ovs_port *port)
{
    const json_t *row = json_object_get(planning->rows->qos, port->qos);
    const char *of = id_of(row, "duopoly-port");
    if (of && is_owned(row, planning->config->owner) && strcmp(of, port->name) == 0)
        return port->qos;
    return json_string_value(json_object_get(planning->own, port->name));
}

static int check_place(const struct planning *planning, const struct ovs_port *port,
                       struct err *why)
{
    const json_t *row = json_object_get(planning->rows->qos, port->qos);
    const char *owner = id_of(row, "duopoly");
    if (owner && strcmp(owner, planning->config->owner) != 0)
        return err_set(why, EBUSY,
                       "%s has queues of another agent, %s: end that one first "
                       "(duopoly-agent --restore)",
                       port->name, owner);
    if (port->qos[0] && !owner && !planning->config->replace && !had_ours(planning, port->name))
        return err_set(why, EBUSY,
                       "%s has a QoS of its own (%s): run with --replace to put ours in its "
                       "place until we leave, or leave the port out (switch.ports)",
                       port->name, ovs_text(row, "type"));
    return 0;
}

/* Our row on a port that is left, from when it was not in trouble, or to be restored at our end: it
 * stays as it is. */
static void keep_as_is(struct planning *planning, const char *qos)
{
    const json_t *row = json_object_get(planning->rows->qos, qos);
    json_t *queues = row && is_owned(row, planning->config->owner)
                         ? ovsdb_map(json_object_get(row, "queues"))
                         : NULL;
    const char *number;
    json_t *uuid;
    if (!queues)
        return;
    json_object_set_new(planning->kept, qos, json_true());
    json_object_foreach(queues, number, uuid)
    {
        json_object_set_new(planning->kept, json_string_value(uuid), json_true());
    }
    json_decref(queues);
}

/* 1: it gets our queues; 0: it is left. */
static int want_port(struct planning *planning, const struct ovs_port *port, struct port *ret_want)
{
    struct err why = {0};
    int r = switch_is_yielded(planning->config, port->name, &why)
                ? -EBUSY
                : check_place(planning, port, &why);
    if (r >= 0 && port->faults_n && port->faults_n == port->interfaces_n)
        r = err_set(&why, ENODEV, "%s", port->fault);
    if (r < 0)
        return switch_trouble_add(planning->plan, port->name, &why, true, planning->err);
    r = switch_want(&planning->config->wish, port->name, &port->facts, planning->plan, ret_want,
                    planning->err);
    if (r <= 0 || !port->faults_n)
        return r;
    err_set(&why, ENODEV, "%s", port->fault);
    r = switch_trouble_add(planning->plan, port->name, &why, false, planning->err);
    return r < 0 ? r : 1;
}

static int plan_port(struct planning *planning, const struct ovs_port *port)
{
    struct port want;
    struct err why;
    const char *own = own_qos(planning, port);
    bool yielded = switch_is_yielded(planning->config, port->name, &why);
    int r = want_port(planning, port, &want);
    if (r == 0)
        keep_as_is(planning, yielded && own ? own : port->qos);
    if (r <= 0)
        return r;
    if (!own)
        return insert_qos(planning, port, &want);
    r = change_qos(planning, port, &want, own, json_object_get(planning->rows->qos, own));
    if (r >= 0 && strcmp(own, port->qos) != 0) {
        r = switch_step_add(planning->plan, SWITCH_CHANGE, port->name, planning->err,
                            "back to our linux-htb");
        if (r >= 0)
            r = point_at(planning, port, "uuid", own);
    }
    return r;
}

/* Restores what our `row` replaced on a port; a row that was deleted since cannot be restored. */
static int leave_port(const struct ovs_rows *rows, const struct ovs_port *port, const json_t *row,
                      json_t *operations, struct err *err)
{
    const char *before = id_of(row, "duopoly-before"), *of = id_of(row, "duopoly-port");
    bool back = before && of && strcmp(of, port->name) == 0 && json_object_get(rows->qos, before);
    int r = add_wait(operations, "Port", port->uuid, "qos", port->qos_value, err);
    return r < 0 ? r
                 : add_update(operations, "Port", port->uuid,
                              back ? json_pack("{s:[s, s]}", "qos", "uuid", before)
                                   : json_pack("{s:[s, []]}", "qos", "set"),
                              err);
}

static int leave_ports(struct planning *planning)
{
    const struct ovs_rows *rows = planning->rows;
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < rows->n; i++) {
        const struct ovs_port *port = &rows->ports[i];
        const json_t *row = json_object_get(rows->qos, port->qos);
        if (port->ours || !row || !is_owned(row, planning->config->owner))
            continue;
        r = switch_step_add(planning->plan, SWITCH_REMOVE, port->name, planning->err,
                            "our linux-htb");
        if (r >= 0)
            r = leave_port(rows, port, row, planning->operations, planning->err);
    }
    return r;
}

/* Rows of ours that nothing needs. */
static int remove_rows(struct planning *planning, const char *table, json_t *rows)
{
    const char *uuid;
    json_t *row;
    json_object_foreach(rows, uuid, row)
    {
        if (!is_owned(row, planning->config->owner) || json_object_get(planning->kept, uuid))
            continue;
        int r =
            switch_step_add(planning->plan, SWITCH_REMOVE, "", planning->err, "%s %s", table, uuid);
        if (r >= 0)
            r = add_delete(planning->operations, table, uuid, planning->err);
        if (r < 0)
            return r;
    }
    return 0;
}

int ovs_rows_plan(const struct ovs_rows *rows, const struct switch_config *config, bool again,
                  struct switch_plan *plan, json_t *operations, struct err *err)
{
    struct err own = {0};
    struct planning planning = {.rows = rows,
                                .config = config,
                                .again = again,
                                .plan = plan,
                                .operations = operations,
                                .own = own_rows(rows, config->owner),
                                .kept = json_object(),
                                .err = err ? err : &own};
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < rows->n; i++)
        if (rows->ports[i].ours)
            r = plan_port(&planning, &rows->ports[i]);
    if (r >= 0)
        r = leave_ports(&planning);
    if (r >= 0)
        r = remove_rows(&planning, "QoS", rows->qos);
    if (r >= 0)
        r = remove_rows(&planning, "Queue", rows->queues);
    json_decref(planning.own);
    json_decref(planning.kept);
    return r;
}

static int delete_owned(json_t *rows, const char *table, const char *owner, json_t *operations,
                        struct err *err)
{
    const char *uuid;
    json_t *row;
    int r = 0;
    json_object_foreach(rows, uuid, row)
    {
        if (r >= 0 && is_owned(row, owner))
            r = add_delete(operations, table, uuid, err);
    }
    return r;
}

int ovs_rows_restore(const struct ovs_rows *rows, const char *owner, json_t *operations,
                     struct err *err)
{
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < rows->n; i++) {
        const json_t *row = json_object_get(rows->qos, rows->ports[i].qos);
        if (row && is_owned(row, owner))
            r = leave_port(rows, &rows->ports[i], row, operations, err);
    }
    if (r >= 0)
        r = delete_owned(rows->qos, "QoS", owner, operations, err);
    return r < 0 ? r : delete_owned(rows->queues, "Queue", owner, operations, err);
}

static void say_port(const struct ovs_rows *rows, const struct ovs_port *port, const char *owner,
                     FILE *out)
{
    const json_t *row = json_object_get(rows->qos, port->qos);
    const char *before = port->qos;
    if (row && is_owned(row, owner)) {
        before = id_of(row, "duopoly-before");
        before = before && json_object_get(rows->qos, before) ? before : "";
    }
    fprintf(out, "port %s qos %s\n", port->name, *before ? before : "none");
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* In order of their UUIDs, as the switch says them. */
static int say_rows(json_t *rows, const char *table, const char *owner, FILE *out)
{
    const char **uuids = calloc(json_object_size(rows) + 1, sizeof(*uuids)), *uuid;
    size_t n = 0;
    json_t *row;
    if (!uuids)
        return -ENOMEM;
    json_object_foreach(rows, uuid, row)
    {
        if (!is_owned(row, owner))
            uuids[n++] = uuid;
    }
    qsort(uuids, n, sizeof(*uuids), by_text);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "%s ", table);
        json_dumpf(json_object_get(rows, uuids[i]), out, JSON_COMPACT | JSON_SORT_KEYS);
        fputc('\n', out);
    }
    free(uuids);
    return 0;
}

int ovs_rows_say(const struct ovs_rows *rows, const char *owner, FILE *out, struct err *err)
{
    for (uint32_t i = 0; i < rows->n; i++)
        say_port(rows, &rows->ports[i], owner, out);
    int r = say_rows(rows->qos, "QoS", owner, out);
    if (r >= 0)
        r = say_rows(rows->queues, "Queue", owner, out);
    return r < 0 ? err_sys(err, -r, "the rows of the switch") : 0;
}
