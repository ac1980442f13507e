/* OpenConfig (openconfig-qos 2.2, as JSON of RFC 7951, where 64-bit numbers are strings): a
 * scheduler for each queue, STRICT and in the order of their sequence; classifiers for both kinds
 * of IP on every port's input; ECN by a queue management profile whose thresholds are equal. The
 * model has no guarantee for a strict queue. The undo is a list of gNMI paths to delete. */
#include "controller/switch/render/render.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Takes what json_pack made; one failure fails the whole. */
static void add(json_t *list, json_t *item)
{
    json_array_append_new(list, item);
}

static void name_of(const char *what, uint32_t a, int b, char name[RENDER_NAME])
{
    if (b < 0)
        snprintf(name, RENDER_NAME, "duopoly-%s%u", what, a);
    else
        snprintf(name, RENDER_NAME, "duopoly-%s%u-%d", what, a, b);
}

static json_t *queues(const struct render_switch *sw)
{
    json_t *list = json_array();
    for (uint32_t q = 0; q < sw->queues_n; q++) {
        char name[RENDER_NAME];
        name_of("q", q, -1, name);
        if (!(sw->lossless >> q & 1))
            add(list, json_pack("{s:s, s:{s:s, s:i}}", "name", name, "config", "name", name,
                                "queue-id", (int)q));
    }
    return list;
}

static json_t *groups(const struct render_switch *sw)
{
    json_t *list = json_array();
    for (uint32_t q = 0; q < sw->queues_n; q++) {
        char name[RENDER_NAME];
        name_of("q", q, -1, name);
        if (!(sw->lossless >> q & 1))
            add(list, json_pack("{s:s, s:{s:s, s:s}}", "name", name, "config", "name", name,
                                "output-queue", name));
    }
    return list;
}

static json_t *code_points(const struct render_switch *sw, const struct port *want, uint32_t queue)
{
    json_t *list = json_array();
    for (uint32_t dscp = 0; dscp < PORT_CODE_POINTS; dscp++)
        if (render_queue_of(sw, want, dscp) == (int)queue)
            add(list, json_integer(dscp));
    return list;
}

static json_t *terms(const struct render_switch *sw, const struct port *want, const char *ip)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < want->queues_n; i++) {
        uint32_t q = render_number(sw, &want->queues[i]);
        char name[RENDER_NAME];
        name_of("q", q, -1, name);
        add(list, json_pack("{s:s, s:{s:s}, s:{s:{s:{s:o}}}, s:{s:{s:s}}}", "id", name, "config",
                            "id", name, "conditions", ip, "config", "dscp-set",
                            code_points(sw, want, q), "actions", "config", "target-group", name));
    }
    return list;
}

static void add_classifiers(const struct render_switch *sw, const struct port *want,
                            uint32_t profile, json_t *list)
{
    static const char *const types[] = {"IPV4", "IPV6"}, *const ips[] = {"ipv4", "ipv6"};
    for (uint32_t i = 0; i < 2; i++) {
        char name[RENDER_NAME];
        name_of(ips[i], profile, -1, name);
        add(list, json_pack("{s:s, s:{s:s, s:s}, s:{s:o}}", "name", name, "config", "name", name,
                            "type", types[i], "terms", "term", terms(sw, want, ips[i])));
    }
}

static json_t *scheduler(const struct render_switch *sw, const struct port_queue *queue,
                         uint32_t sequence)
{
    char name[RENDER_NAME];
    name_of("q", render_number(sw, queue), -1, name);
    return json_pack("{s:i, s:{s:i, s:s}, s:{s:[{s:s, s:{s:s, s:s, s:s}}]}, s:{s:{s:s}}}",
                     "sequence", (int)sequence, "config", "sequence", (int)sequence, "priority",
                     "STRICT", "inputs", "input", "id", name, "config", "id", name, "input-type",
                     "QUEUE", "queue", name, "output", "config", "output-type", "INTERFACE");
}

static void add_policy(const struct render_switch *sw, const struct port *want, uint32_t profile,
                       json_t *list)
{
    char name[RENDER_NAME];
    json_t *schedulers = json_array();
    name_of("", profile, -1, name);
    for (uint32_t i = 0; i < want->queues_n; i++)
        add(schedulers, scheduler(sw, &want->queues[i], i));
    add(list, json_pack("{s:s, s:{s:s}, s:{s:o}}", "name", name, "config", "name", name,
                        "schedulers", "scheduler", schedulers));
}

static void add_management(const struct render_switch *sw, const struct port *want,
                           uint32_t profile, json_t *list)
{
    for (uint32_t i = 0; i < want->queues_n; i++) {
        uint64_t bytes = render_ecn_bytes(want, &want->queues[i]);
        char name[RENDER_NAME], number[24];
        if (!bytes)
            continue;
        name_of("ecn", profile, (int)render_number(sw, &want->queues[i]), name);
        snprintf(number, sizeof(number), "%" PRIu64, bytes);
        add(list, json_pack("{s:s, s:{s:s}, s:{s:{s:{s:s, s:s, s:b, s:b, s:i}}}}", "name", name,
                            "config", "name", name, "wred", "uniform", "config", "min-threshold",
                            number, "max-threshold", number, "enable-ecn", 1, "drop", 0,
                            "max-drop-probability-percent", 100));
    }
}

static json_t *port_queues(const struct render_switch *sw, const struct port *want,
                           uint32_t profile)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < want->queues_n; i++) {
        char name[RENDER_NAME], management[RENDER_NAME];
        uint32_t q = render_number(sw, &want->queues[i]);
        name_of("q", q, -1, name);
        name_of("ecn", profile, (int)q, management);
        json_t *queue = json_pack("{s:s, s:{s:s}}", "name", name, "config", "name", name);
        if (want->queues[i].ecn_packets)
            json_object_set_new(json_object_get(queue, "config"), "queue-management-profile",
                                json_string(management));
        add(list, queue);
    }
    return list;
}

static json_t *port_classifiers(uint32_t profile)
{
    char ipv4[RENDER_NAME], ipv6[RENDER_NAME];
    name_of("ipv4", profile, -1, ipv4);
    name_of("ipv6", profile, -1, ipv6);
    return json_pack("[{s:s, s:{s:s, s:s}}, {s:s, s:{s:s, s:s}}]", "type", "IPV4", "config", "type",
                     "IPV4", "name", ipv4, "type", "IPV6", "config", "type", "IPV6", "name", ipv6);
}

static json_t *interface(const struct render_switch *sw, const struct render_port *port,
                         uint32_t profile)
{
    char policy[RENDER_NAME];
    name_of("", profile, -1, policy);
    return json_pack("{s:s, s:{s:s}, s:{s:{s:s}}, s:{s:{s:o}}, s:{s:{s:o}, s:{s:{s:s}}}}",
                     "interface-id", port->name, "config", "interface-id", port->name,
                     "interface-ref", "config", "interface", port->name, "input", "classifiers",
                     "classifier", port_classifiers(profile), "output", "queues", "queue",
                     port_queues(sw, port->want, profile), "scheduler-policy", "config", "name",
                     policy);
}

static int put(json_t *value, FILE *out, struct err *err)
{
    int r = value && json_dumpf(value, out, JSON_INDENT(2)) == 0 ? 0 : -ENOMEM;
    fputs("\n", out);
    json_decref(value);
    return r < 0 ? err_sys(err, ENOMEM, "OpenConfig") : 0;
}

static int openconfig_render(const struct render_switch *sw, FILE *out, struct err *err)
{
    uint32_t *profile_of, *port_of, n;
    int r = render_profiles(sw, &profile_of, &port_of, &n, err);
    if (r < 0)
        return r;
    json_t *classifiers = json_array(), *policies = json_array(), *management = json_array();
    json_t *interfaces = json_array();
    for (uint32_t p = 0; p < n; p++) {
        const struct port *want = sw->ports[port_of[p]].want;
        add_classifiers(sw, want, p, classifiers);
        add_policy(sw, want, p, policies);
        add_management(sw, want, p, management);
    }
    for (uint32_t i = 0; i < sw->ports_n; i++)
        add(interfaces, interface(sw, &sw->ports[i], profile_of[i]));
    json_t *qos =
        json_pack("{s:{s:{s:o}, s:{s:o}, s:{s:o}, s:{s:o}, s:{s:o}}}", "openconfig-qos:qos",
                  "queues", "queue", queues(sw), "forwarding-groups", "forwarding-group",
                  groups(sw), "classifiers", "classifier", classifiers, "scheduler-policies",
                  "scheduler-policy", policies, "interfaces", "interface", interfaces);
    json_t *top = json_object_get(qos, "openconfig-qos:qos");
    if (json_array_size(management))
        json_object_set_new(top, "queue-management-profiles",
                            json_pack("{s:o}", "queue-management-profile", management));
    else
        json_decref(management);
    free(profile_of);
    free(port_of);
    return put(qos, out, err);
}

static void add_path(json_t *paths, const char *list, const char *key, const char *name,
                     const char *rest)
{
    add(paths, json_sprintf("/qos/%s[%s=%s]%s", list, key, name, rest));
}

static void add_profile_paths(const struct render_switch *sw, const struct port *want,
                              uint32_t profile, json_t *paths)
{
    char name[RENDER_NAME];
    name_of("", profile, -1, name);
    add_path(paths, "scheduler-policies/scheduler-policy", "name", name, "");
    name_of("ipv4", profile, -1, name);
    add_path(paths, "classifiers/classifier", "name", name, "");
    name_of("ipv6", profile, -1, name);
    add_path(paths, "classifiers/classifier", "name", name, "");
    for (uint32_t i = 0; i < want->queues_n; i++) {
        name_of("ecn", profile, (int)render_number(sw, &want->queues[i]), name);
        if (want->queues[i].ecn_packets)
            add_path(paths, "queue-management-profiles/queue-management-profile", "name", name, "");
    }
}

/* Rows that refer to others go first. */
static int openconfig_undo(const struct render_switch *sw, FILE *out, struct err *err)
{
    uint32_t *profile_of, *port_of, n;
    int r = render_profiles(sw, &profile_of, &port_of, &n, err);
    if (r < 0)
        return r;
    json_t *paths = json_array();
    for (uint32_t i = 0; i < sw->ports_n; i++)
        add_path(paths, "interfaces/interface", "interface-id", sw->ports[i].name, "");
    for (uint32_t p = 0; p < n; p++)
        add_profile_paths(sw, sw->ports[port_of[p]].want, p, paths);
    for (uint32_t q = 0; q < sw->queues_n; q++) {
        char name[RENDER_NAME];
        name_of("q", q, -1, name);
        if (sw->lossless >> q & 1)
            continue;
        add_path(paths, "forwarding-groups/forwarding-group", "name", name, "");
        add_path(paths, "queues/queue", "name", name, "");
    }
    free(profile_of);
    free(port_of);
    return put(json_pack("{s:o}", "delete", paths), out, err);
}

const struct renderer render_openconfig = {
    .name = "openconfig",
    .what = "OpenConfig QoS as JSON; the undo as gNMI paths to delete",
    .abilities = {.strict = true, .ecn = true, .hardware = true},
    .render = openconfig_render,
    .undo = openconfig_undo};
