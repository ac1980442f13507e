/* Holds every renderer to the contract of controller/switch/render/render.h over all that the port
 * function makes of wishes and ports: a reader of each text finds the wanted state in it, and
 * nothing after the text and its undo. */
#include "tests/unit/draws.h"
#include "tests/unit/sonic_site.h"
#include "tests/unit/test.h"

#include "controller/switch/render/render.h"
#include "lib/sonic/sonic_want.h"

#include <errno.h>
#include <inttypes.h>

#define PORTS    2
#define QUEUES   8
#define PROFILES 4

static const char *const names[PORTS] = {"Ethernet0", "Ethernet4"};

/* What a reader found on a switch. */
struct reading {
    struct read_port {
        int queue_of_dscp[PORT_CODE_POINTS]; /* −1: not told */
        struct read_queue {
            bool strict, weighted;
            uint64_t floor_bps, ecn_bytes;
        } queue[QUEUES];
    } port[PORTS];
    uint32_t leftovers; /* of ours that no port has */
};

static void no_code_points(int queue_of_dscp[PORT_CODE_POINTS])
{
    for (int dscp = 0; dscp < PORT_CODE_POINTS; dscp++)
        queue_of_dscp[dscp] = -1;
}

static int port_of_name(const char *name)
{
    for (int i = 0; i < PORTS; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    fail_msg("port %s", name);
    return -1;
}

/* ---- EOS ------------------------------------------------------------------------------------- */

struct eos {
    int queue_of_dscp[PORT_CODE_POINTS];
    struct {
        bool is;
        struct read_queue queue[QUEUES];
    } profile[PROFILES];
    int profile_of[PORTS]; /* −1: none */
    struct read_queue *queue;
    int now_profile, now_port;
};

/* "… 3 7 to traffic-class 6", or all that follow when none is given. */
static void eos_code_points(struct eos *eos, char *list, bool no)
{
    char *to = strstr(list, " to traffic-class "), *save = NULL;
    int queue = to ? atoi(to + strlen(" to traffic-class ")) : -1;
    assert_true(no == !to);
    if (to)
        *to = '\0';
    for (char *at = strtok_r(list, " ", &save); at; at = strtok_r(NULL, " ", &save))
        eos->queue_of_dscp[atoi(at)] = queue;
}

static void eos_line(struct eos *eos, char *line)
{
    unsigned n;
    uint64_t low, high;
    char name[64];
    if (strncmp(line, "qos map dscp ", 13) == 0) {
        eos_code_points(eos, line + 13, false);
    } else if (strncmp(line, "no qos map dscp ", 16) == 0) {
        eos_code_points(eos, line + 16, true);
    } else if (sscanf(line, "qos profile duopoly-%u", &n) == 1) {
        eos->now_profile = (int)n;
        eos->profile[n].is = true;
    } else if (sscanf(line, "no qos profile duopoly-%u", &n) == 1) {
        assert_true(eos->profile[n].is);
        memset(&eos->profile[n], 0, sizeof(eos->profile[n]));
    } else if (sscanf(line, "interface %63s", name) == 1) {
        eos->now_port = port_of_name(name);
    } else if (sscanf(line, " service-profile duopoly-%u", &n) == 1) {
        assert_true(eos->profile[n].is);
        eos->profile_of[eos->now_port] = (int)n;
    } else if (sscanf(line, " no service-profile duopoly-%u", &n) == 1) {
        assert_int_equal(eos->profile_of[eos->now_port], n);
        eos->profile_of[eos->now_port] = -1;
    } else if (sscanf(line, " uc-tx-queue %u", &n) == 1) {
        eos->queue = &eos->profile[eos->now_profile].queue[n];
    } else if (strcmp(line, "      priority strict") == 0) {
        eos->queue->strict = true;
    } else if (sscanf(line, " bandwidth guaranteed %" SCNu64, &low) == 1) {
        eos->queue->floor_bps = low * 1000;
    } else if (sscanf(line,
                      " random-detect ecn minimum-threshold %" SCNu64
                      " bytes maximum-threshold %" SCNu64
                      " bytes max-mark-probability 100 weight 0",
                      &low, &high) == 2) {
        assert_true(low == high);
        eos->queue->ecn_bytes = low;
    } else if (line[strspn(line, " ")] != '!' && strcmp(line, "   qos trust dscp") != 0) {
        fail_msg("EOS says %s", line);
    }
}

static void each_line(char *text, void (*take)(void *context, char *line), void *context)
{
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        take(context, line);
}

static void eos_take(void *context, char *line)
{
    eos_line(context, line);
}

static void eos_read(const struct render_switch *sw, char *const texts[], uint32_t n,
                     struct reading *reading)
{
    struct eos eos = {.profile_of = {-1, -1}};
    (void)sw;
    no_code_points(eos.queue_of_dscp);
    for (uint32_t i = 0; i < n; i++)
        each_line(texts[i], eos_take, &eos);
    for (int i = 0; i < PORTS; i++) {
        memcpy(reading->port[i].queue_of_dscp, eos.queue_of_dscp, sizeof(eos.queue_of_dscp));
        if (eos.profile_of[i] >= 0)
            memcpy(reading->port[i].queue, eos.profile[eos.profile_of[i]].queue,
                   sizeof(reading->port[i].queue));
    }
    for (int i = 0; i < PROFILES; i++)
        reading->leftovers += eos.profile[i].is && eos.profile_of[0] != i && eos.profile_of[1] != i;
}

/* ---- NVUE ------------------------------------------------------------------------------------ */

enum { NVUE_MAPPING, NVUE_SCHEDULER, NVUE_CONGESTION, NVUE_KINDS };
static const char *const nvue_kinds[] = {"mapping", "egress-scheduler", "congestion-control"};

struct nvue {
    struct {
        bool is[NVUE_KINDS];
        bool trusts;
        int queue_of_dscp[PORT_CODE_POINTS];
        struct read_queue queue[QUEUES];
        uint64_t low[QUEUES], high[QUEUES];
        uint32_t ecn[QUEUES]; /* words said of it */
    } profile[PROFILES];
    int profile_of[PORTS][NVUE_KINDS];
    bool applied;
};

static int nvue_kind(const char *name)
{
    for (int i = 0; i < NVUE_KINDS; i++)
        if (strcmp(nvue_kinds[i], name) == 0)
            return i;
    fail_msg("%s", name);
    return -1;
}

static bool nvue_port(struct nvue *nvue, const char *line)
{
    char name[64], kind[64];
    unsigned profile;
    if (sscanf(line, "nv set interface %63s qos %63s profile duopoly-%u", name, kind, &profile) ==
        3) {
        assert_true(nvue->profile[profile].is[nvue_kind(kind)]);
        nvue->profile_of[port_of_name(name)][nvue_kind(kind)] = (int)profile;
        return true;
    }
    if (sscanf(line, "nv unset interface %63s qos %63s profile", name, kind) == 2) {
        assert_true(nvue->profile_of[port_of_name(name)][nvue_kind(kind)] >= 0);
        nvue->profile_of[port_of_name(name)][nvue_kind(kind)] = -1;
        return true;
    }
    return false;
}

static void nvue_congestion(struct nvue *nvue, uint32_t profile, uint32_t queue, const char *what,
                            const char *value)
{
    uint64_t number = strtoull(value, NULL, 10);
    nvue->profile[profile].is[NVUE_CONGESTION] = true;
    nvue->profile[profile].ecn[queue]++;
    if (strcmp(what, "min-threshold") == 0)
        nvue->profile[profile].low[queue] = number;
    else if (strcmp(what, "max-threshold") == 0)
        nvue->profile[profile].high[queue] = number;
    else if (strcmp(what, "probability") == 0)
        assert_int_equal(number, 100);
    else if (strcmp(what, "ecn") == 0)
        assert_string_equal(value, "enable");
    else
        assert_true(strcmp(what, "red") == 0 && strcmp(value, "disable") == 0);
}

static void nvue_line(void *context, char *line)
{
    struct nvue *nvue = context;
    char what[64], value[64];
    unsigned p, n, q;
    if (line[0] == '#' || nvue_port(nvue, line))
        return;
    if (strcmp(line, "nv config apply") == 0) {
        nvue->applied = true;
    } else if (sscanf(line, "nv set qos mapping duopoly-%u trust %63s", &p, what) == 2) {
        assert_string_equal(what, "l3");
        no_code_points(nvue->profile[p].queue_of_dscp);
        nvue->profile[p].is[NVUE_MAPPING] = true;
    } else if (sscanf(line, "nv set qos mapping duopoly-%u dscp %u switch-priority %u", &p, &n,
                      &q) == 3) {
        nvue->profile[p].queue_of_dscp[n] = (int)q;
    } else if (sscanf(line,
                      "nv set qos egress-scheduler duopoly-%u traffic-class %u "
                      "mode %63s",
                      &p, &q, what) == 3) {
        nvue->profile[p].is[NVUE_SCHEDULER] = true;
        nvue->profile[p].queue[q].strict = strcmp(what, "strict") == 0;
        nvue->profile[p].queue[q].weighted = strcmp(what, "dwrr") == 0;
    } else if (sscanf(line,
                      "nv set qos egress-scheduler duopoly-%u traffic-class %u "
                      "bw-percent %u",
                      &p, &q, &n) == 3) {
        assert_true(nvue->profile[p].queue[q].weighted && n > 0 && n <= 100);
    } else if (sscanf(line,
                      "nv set qos congestion-control duopoly-%u traffic-class %u "
                      "%63s %63s",
                      &p, &q, what, value) == 4) {
        nvue_congestion(nvue, p, q, what, value);
    } else if (sscanf(line, "nv unset qos %63s duopoly-%u", what, &p) == 2) {
        assert_true(nvue->profile[p].is[nvue_kind(what)]);
        nvue->profile[p].is[nvue_kind(what)] = false;
    } else {
        fail_msg("NVUE says %s", line);
    }
}

static void nvue_read_port(const struct nvue *nvue, int port, struct read_port *to)
{
    const int *profile_of = nvue->profile_of[port];
    no_code_points(to->queue_of_dscp);
    if (profile_of[NVUE_MAPPING] >= 0)
        memcpy(to->queue_of_dscp, nvue->profile[profile_of[NVUE_MAPPING]].queue_of_dscp,
               sizeof(to->queue_of_dscp));
    if (profile_of[NVUE_SCHEDULER] >= 0)
        memcpy(to->queue, nvue->profile[profile_of[NVUE_SCHEDULER]].queue, sizeof(to->queue));
    for (int q = 0; q < QUEUES && profile_of[NVUE_CONGESTION] >= 0; q++) {
        int p = profile_of[NVUE_CONGESTION];
        assert_true(nvue->profile[p].ecn[q] == 0 || nvue->profile[p].ecn[q] == 5);
        assert_true(nvue->profile[p].low[q] == nvue->profile[p].high[q]);
        to->queue[q].ecn_bytes = nvue->profile[p].low[q];
    }
}

static void nvue_read(const struct render_switch *sw, char *const texts[], uint32_t n,
                      struct reading *reading)
{
    static struct nvue nvue;
    (void)sw;
    memset(&nvue, 0, sizeof(nvue));
    memset(nvue.profile_of, 0xff, sizeof(nvue.profile_of));
    for (uint32_t i = 0; i < n; i++) {
        nvue.applied = false;
        each_line(texts[i], nvue_line, &nvue);
        assert_true(nvue.applied);
    }
    for (int i = 0; i < PORTS; i++)
        nvue_read_port(&nvue, i, &reading->port[i]);
    for (int p = 0; p < PROFILES; p++)
        for (int kind = 0; kind < NVUE_KINDS; kind++)
            reading->leftovers += nvue.profile[p].is[kind] && nvue.profile_of[0][kind] != p &&
                                  nvue.profile_of[1][kind] != p;
}

/* ---- OpenConfig ------------------------------------------------------------------------------ */

static json_t *at_path(json_t *value, const char *path)
{
    char copy[128], *save = NULL;
    snprintf(copy, sizeof(copy), "%s", path);
    for (char *part = strtok_r(copy, "/", &save); part && value; part = strtok_r(NULL, "/", &save))
        value = json_object_get(value, part);
    return value;
}

static const char *text_at(json_t *value, const char *path)
{
    const char *text = json_string_value(at_path(value, path));
    assert_non_null(text);
    return text;
}

/* The entry of a keyed list, which is there. */
static json_t *entry(json_t *qos, const char *list, const char *key, const char *value)
{
    json_t *item;
    size_t i;
    json_array_foreach(at_path(qos, list), i, item)
    {
        if (strcmp(text_at(item, key), value) == 0)
            return item;
    }
    fail_msg("%s[%s=%s] is not there", list, key, value);
    return NULL;
}

static uint32_t openconfig_number(json_t *qos, const char *queue)
{
    return (uint32_t)json_integer_value(
        at_path(entry(qos, "queues/queue", "name", queue), "config/queue-id"));
}

static void openconfig_code_points(json_t *qos, json_t *interface, struct read_port *to)
{
    static const char *const types[] = {"IPV4", "IPV6"}, *const ips[] = {"ipv4", "ipv6"};
    for (int i = 0; i < 2; i++) {
        json_t *used = entry(interface, "input/classifiers/classifier", "type", types[i]), *term;
        json_t *classifier =
            entry(qos, "classifiers/classifier", "name", text_at(used, "config/name"));
        size_t t;
        assert_string_equal(text_at(classifier, "config/type"), types[i]);
        json_array_foreach(at_path(classifier, "terms/term"), t, term)
        {
            const char *group = text_at(term, "actions/config/target-group");
            json_t *dscp,
                *forward = entry(qos, "forwarding-groups/forwarding-group", "name", group);
            char path[64];
            size_t d;
            snprintf(path, sizeof(path), "conditions/%s/config/dscp-set", ips[i]);
            json_array_foreach(at_path(term, path), d, dscp)
            {
                int queue = (int)openconfig_number(qos, text_at(forward, "config/output-queue"));
                int *known = &to->queue_of_dscp[json_integer_value(dscp)];
                assert_true(i == 0 ? *known == -1 : *known == queue);
                *known = queue;
            }
        }
    }
}

static void openconfig_queues(json_t *qos, json_t *interface, struct read_port *to)
{
    json_t *policy = entry(qos, "scheduler-policies/scheduler-policy", "name",
                           text_at(interface, "output/scheduler-policy/config/name"));
    json_t *scheduler, *queue;
    size_t i;
    uint32_t last = QUEUES;
    json_array_foreach(at_path(policy, "schedulers/scheduler"), i, scheduler)
    {
        json_t *input = json_array_get(at_path(scheduler, "inputs/input"), 0);
        uint32_t number = openconfig_number(qos, text_at(input, "config/queue"));
        assert_int_equal(json_integer_value(at_path(scheduler, "config/sequence")), i);
        assert_string_equal(text_at(scheduler, "config/priority"), "STRICT");
        assert_true(number < last);
        last = number;
        to->queue[number].strict = true;
    }
    json_array_foreach(at_path(interface, "output/queues/queue"), i, queue)
    {
        json_t *name = at_path(queue, "config/queue-management-profile");
        if (!name)
            continue;
        json_t *profile = at_path(entry(qos, "queue-management-profiles/queue-management-profile",
                                        "name", json_string_value(name)),
                                  "wred/uniform/config");
        assert_true(json_is_true(json_object_get(profile, "enable-ecn")));
        assert_string_equal(text_at(profile, "min-threshold"), text_at(profile, "max-threshold"));
        to->queue[openconfig_number(qos, text_at(queue, "config/name"))].ecn_bytes =
            strtoull(text_at(profile, "min-threshold"), NULL, 10);
    }
}

/* "/qos/LIST[KEY=VALUE]": gone, and it was there. */
static void openconfig_delete(json_t *qos, const char *path)
{
    char list[128], key[64], value[64];
    assert_int_equal(sscanf(path, "/qos/%127[^[][%63[^=]=%63[^]]]", list, key, value), 3);
    json_t *items = at_path(qos, list), *item;
    size_t i;
    json_array_foreach(items, i, item)
    {
        if (strcmp(text_at(item, key), value) == 0) {
            json_array_remove(items, i);
            return;
        }
    }
    fail_msg("%s is not there", path);
}

static uint32_t openconfig_leftovers(json_t *qos)
{
    const char *name;
    json_t *container;
    uint32_t n = 0;
    json_object_foreach(qos, name, container)
    {
        const char *list;
        json_t *items;
        json_object_foreach(container, list, items)
        {
            n += (uint32_t)json_array_size(items);
        }
    }
    return n;
}

static void openconfig_read(const struct render_switch *sw, char *const texts[], uint32_t n,
                            struct reading *reading)
{
    json_t *top = json_loads(texts[0], JSON_REJECT_DUPLICATES, NULL), *path, *interface;
    json_t *qos = json_object_get(top, "openconfig-qos:qos");
    size_t i;
    (void)sw;
    assert_non_null(qos);
    if (n == 2) {
        json_t *undo = json_loads(texts[1], JSON_REJECT_DUPLICATES, NULL);
        json_array_foreach(json_object_get(undo, "delete"), i, path)
        {
            openconfig_delete(qos, json_string_value(path));
        }
        json_decref(undo);
        reading->leftovers = openconfig_leftovers(qos);
    }
    for (int port = 0; port < PORTS; port++)
        no_code_points(reading->port[port].queue_of_dscp);
    json_array_foreach(at_path(qos, "interfaces/interface"), i, interface)
    {
        int port = port_of_name(text_at(interface, "interface-id"));
        assert_string_equal(text_at(interface, "interface-ref/config/interface"), names[port]);
        openconfig_code_points(qos, interface, &reading->port[port]);
        openconfig_queues(qos, interface, &reading->port[port]);
    }
    json_decref(top);
}

/* ---- SONiC: RFC 6902 ------------------------------------------------------------------------- */

/* The last part of a path and what it is in. */
static json_t *patch_parent(json_t *db, const char *path, char last[256])
{
    json_t *parent = db;
    while (*path == '/') {
        size_t n = 0;
        for (path++; *path && *path != '/'; path++) {
            if (*path == '~')
                last[n++] = *++path == '0' ? '~' : '/';
            else
                last[n++] = *path;
        }
        last[n] = '\0';
        if (*path == '/')
            parent = json_object_get(parent, last);
        assert_non_null(parent);
    }
    return parent;
}

static void patch_apply(json_t *db, const char *text)
{
    json_t *patch = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *operation;
    size_t i;
    assert_true(json_is_array(patch));
    json_array_foreach(patch, i, operation)
    {
        char last[256];
        const char *op = text_at(operation, "op");
        json_t *parent = patch_parent(db, text_at(operation, "path"), last);
        json_t *value = json_object_get(operation, "value");
        bool there = json_object_get(parent, last) != NULL;
        if (strcmp(op, "remove") == 0) {
            assert_int_equal(json_object_del(parent, last), 0);
            continue;
        }
        assert_true(strcmp(op, "add") == 0 ? !there : strcmp(op, "replace") == 0 && there);
        json_object_set_new(parent, last, json_deep_copy(value));
    }
    const char *table;
    json_t *rows;
    json_object_foreach(db, table, rows)
    {
        assert_true(json_object_size(rows) > 0);
    }
    json_decref(patch);
}

static void sonic_read_port(const json_t *db, const struct render_switch *sw, int port,
                            struct read_port *to)
{
    for (uint32_t dscp = 0; dscp < PORT_CODE_POINTS; dscp++)
        to->queue_of_dscp[dscp] =
            sw->kept_dscp >> dscp & 1 ? -1 : site_queue_of(db, names[port], dscp);
    for (uint32_t q = 0; q < QUEUES; q++) {
        char value[SONIC_NAME];
        site_cell(db, names[port], q, "scheduler", value);
        const char *type = sonic_field(db, "SCHEDULER", value, "type");
        const char *cir = sonic_field(db, "SCHEDULER", value, "cir");
        to->queue[q].strict = type && strcmp(type, "STRICT") == 0;
        to->queue[q].weighted = type && strcmp(type, "DWRR") == 0;
        to->queue[q].floor_bps = cir ? strtoull(cir, NULL, 10) * 8 : 0;
        site_cell(db, names[port], q, "wred_profile", value);
        const char *low = sonic_field(db, "WRED_PROFILE", value, "green_min_threshold");
        to->queue[q].ecn_bytes = low ? strtoull(low, NULL, 10) : 0;
    }
}

static void sonic_patch_read(const struct render_switch *sw, char *const texts[], uint32_t n,
                             struct reading *reading)
{
    json_t *db = json_deep_copy(sw->site);
    for (uint32_t i = 0; i < n; i++)
        patch_apply(db, texts[i]);
    if (n == 2 && !json_equal(db, sw->site))
        reading->leftovers = 1;
    for (int i = 0; i < PORTS; i++) {
        if (n == 1)
            sonic_read_port(db, sw, i, &reading->port[i]);
        else
            no_code_points(reading->port[i].queue_of_dscp);
    }
    json_decref(db);
}

/* ---- the contract ---------------------------------------------------------------------------- */

static const struct reader {
    const char *name;
    void (*read)(const struct render_switch *sw, char *const texts[], uint32_t n,
                 struct reading *reading);
} readers[] = {{"eos", eos_read},
               {"nvue", nvue_read},
               {"openconfig", openconfig_read},
               {"sonic-patch", sonic_patch_read}};

static char *text_of(int (*render)(const struct render_switch *, FILE *, struct err *),
                     const struct render_switch *sw)
{
    char *text = NULL;
    size_t size = 0;
    struct err err = {0};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    if (render(sw, out, &err) < 0)
        fail_msg("%s", err.text);
    fclose(out);
    return text;
}

static uint64_t up_to(uint64_t bps, uint64_t step)
{
    return (bps + step - 1) / step * step;
}

static void check_port(const struct renderer *renderer, const struct render_switch *sw,
                       const struct port *want, const struct read_port *port)
{
    bool ours[QUEUES] = {0};
    for (uint32_t dscp = 0; dscp < PORT_CODE_POINTS; dscp++)
        assert_int_equal(
            port->queue_of_dscp[dscp],
            sw->kept_dscp >> dscp & 1
                ? -1
                : (int)(sw->queues_n - 1 - want->queues[want->queue_of_dscp[dscp]].priority));
    for (uint32_t i = 0; i < want->queues_n; i++) {
        uint32_t q = sw->queues_n - 1 - want->queues[i].priority;
        uint64_t floor_bps = renderer->abilities.floors ? want->queues[i].floor_bps : 0;
        ours[q] = true;
        assert_false(sw->lossless >> q & 1);
        assert_true(port->queue[q].strict);
        assert_true(port->queue[q].floor_bps == up_to(floor_bps, 1000) ||
                    port->queue[q].floor_bps == up_to(floor_bps, 8));
        assert_int_equal(port->queue[q].ecn_bytes, want->queues[i].ecn_packets * want->mtu_bytes);
    }
    for (uint32_t q = 0; q < QUEUES; q++)
        assert_true(ours[q] || (!port->queue[q].strict && !port->queue[q].ecn_bytes));
}

static void check(const struct renderer *renderer, const struct reader *reader,
                  const struct render_switch *sw)
{
    char *texts[] = {text_of(renderer->render, sw), text_of(renderer->undo, sw)};
    char *again[] = {strdup(texts[0]), strdup(texts[1])};
    struct reading reading = {0}, after = {0};
    reader->read(sw, texts, 1, &reading);
    assert_int_equal(reading.leftovers, 0);
    for (uint32_t i = 0; i < PORTS; i++)
        check_port(renderer, sw, sw->ports[i].want, &reading.port[i]);
    reader->read(sw, again, 2, &after);
    assert_int_equal(after.leftovers, 0);
    for (uint32_t i = 0; i < PORTS; i++)
        for (uint32_t dscp = 0; dscp < PORT_CODE_POINTS; dscp++)
            assert_int_equal(after.port[i].queue_of_dscp[dscp], -1);
    for (int i = 0; i < 2; i++) {
        free(texts[i]);
        free(again[i]);
    }
}

/* A site with these queues lossless, and the code points 26 and 34 in two of
 * them. */
static json_t *site_of(uint32_t lossless)
{
    json_t *site = site_bare(PORTS);
    char pfc[32] = "", range[12];
    for (uint32_t q = 0; q < QUEUES; q++)
        if (lossless >> q & 1)
            snprintf(pfc + strlen(pfc), sizeof(pfc) - strlen(pfc), "%s%u", pfc[0] ? "," : "", q);
    if (lossless % 3 == 0)
        return site; /* nothing is set */
    site_objects(site);
    for (uint32_t q = 0; q < QUEUES; q++) {
        snprintf(range, sizeof(range), "%u", q);
        if (lossless >> q & 1)
            site_queue(site, "Ethernet0,Ethernet4", range, "scheduler.1", NULL);
    }
    site_maps(site, "Ethernet0", "AZURE", pfc);
    site_maps(site, "Ethernet4", "AZURE", pfc);
    return site;
}

static uint64_t lossless_code_points(const json_t *site, uint32_t lossless)
{
    uint64_t kept = 0;
    for (uint32_t dscp = 0; dscp < PORT_CODE_POINTS; dscp++) {
        bool ours = dscp == PORT_DSCP_CONTROL;
        for (int level = 0; level < PORT_LEVELS; level++)
            ours = ours || port_wish_preset.dscp_of_level[level] == dscp;
        if (!ours && lossless >> site_queue_of(site, names[0], dscp) & 1)
            kept |= UINT64_C(1) << dscp;
    }
    return kept;
}

/* False: there is no such port. */
static bool want_both(const struct port_wish *wish, const struct renderer *renderer,
                      uint32_t queues_n, uint32_t lossless, struct port want[PORTS])
{
    struct port_facts facts = {.link_bps = 100000000000,
                               .mtu_bytes = 9100,
                               .queues_n = queues_n,
                               .abilities = renderer->abilities};
    struct err err = {0};
    for (uint32_t q = 0; q < queues_n; q++)
        facts.lossless |= (lossless >> q & 1) << (queues_n - 1 - q);
    int r = port_want(wish, &facts, &want[0], &err);
    assert_true(r >= 0 || err.text[0]);
    facts.link_bps = 40000000000; /* another profile */
    return r >= 0 && port_want(wish, &facts, &want[1], &err) >= 0;
}

static uint32_t check_combination(const struct renderer *renderer, const struct reader *reader,
                                  const struct port_wish *wish, uint32_t queues_n,
                                  uint32_t lossless)
{
    struct port want[PORTS];
    const struct render_port ports[PORTS] = {{names[0], &want[0]}, {names[1], &want[1]}};
    if (!want_both(wish, renderer, queues_n, lossless, want))
        return 0;
    json_t *site = renderer->needs_site ? site_of(lossless) : NULL;
    /* Where nothing is set nothing is lossless. */
    if (site && lossless && !sonic_row(site, "PORT_QOS_MAP", names[0])) {
        json_decref(site);
        return 0;
    }
    const struct render_switch sw = {
        .name = "leaf1",
        .queues_n = queues_n,
        .lossless = lossless,
        .kept_dscp = site ? lossless_code_points(site, lossless)
                          : (lossless ? UINT64_C(1) << 26 | UINT64_C(1) << 34 : 0),
        .dscp_of_level = wish->dscp_of_level,
        .ports = ports,
        .ports_n = PORTS,
        .site = site};
    check(renderer, reader, &sw);
    json_decref(site);
    return 1;
}

static uint32_t check_wishes(const struct renderer *renderer, const struct reader *reader,
                             uint32_t queues_n, uint32_t lossless)
{
    struct port_wish wish = port_wish_preset;
    uint32_t n = 0;
    for (wish.levels = 1; wish.levels <= PORT_LEVELS; wish.levels++)
        for (int last = 0; last < 2; last++) {
            /* What unmanaged traffic joins and ECN are told in different words: half of the
             * pairs. */
            wish.unmanaged_joins = last ? PORT_LEVELS - 1 : 0;
            wish.ecn = (wish.levels + (uint32_t)__builtin_popcount(lossless) + (uint32_t)last) % 2;
            n += check_combination(renderer, reader, &wish, queues_n, lossless);
        }
    return n;
}

static void test_every_text_says_what_is_wanted(void **state)
{
    (void)state;
    for (size_t i = 0; render_all[i]; i++) {
        const struct renderer *renderer = render_all[i];
        uint32_t n = 0;
        assert_ptr_equal(render_find(renderer->name), renderer);
        assert_string_equal(renderer->name, readers[i].name);
        for (uint32_t queues_n = renderer->needs_site ? 8 : 2; queues_n <= 8; queues_n *= 2)
            for (uint32_t lossless = 0; lossless < 1u << queues_n; lossless += DRAWS(1, 5))
                n += check_wishes(renderer, &readers[i], queues_n, lossless);
        fprintf(stderr, "# %s: %u combinations\n", renderer->name, n);
        assert_true(n > DRAWS(1000, 200));
    }
    assert_null(render_find("ios"));
}

static void test_eos_has_one_map_for_all_ports(void **state)
{
    (void)state;
    struct port_wish wish = port_wish_preset;
    struct port want[PORTS], other[PORTS];
    const struct render_port ports[PORTS] = {{names[0], &want[0]}, {names[1], &other[1]}};
    const struct render_switch sw = {
        .name = "leaf1", .queues_n = 8, .ports = ports, .ports_n = PORTS};
    struct err err = {0};
    FILE *out = fopen("/dev/null", "w");
    assert_true(want_both(&wish, &render_eos, 8, 0, want));
    wish.levels = 2;
    assert_true(want_both(&wish, &render_eos, 8, 0, other));
    assert_int_equal(render_eos.render(&sw, out, &err), -EINVAL);
    assert_non_null(strstr(err.text, "Ethernet4"));
    fclose(out);
}

static char left[1024];

static void note_left(void *user, const char *port, const struct err *why)
{
    (void)user;
    snprintf(left, sizeof(left), "%s: %s", port, why->text);
}

static void test_a_patch_of_what_is_no_sonic_is_refused(void **state)
{
    (void)state;
    struct port want[PORTS];
    const struct render_port ports[PORTS] = {{names[0], &want[0]}, {names[1], &want[1]}};
    json_t *site = json_object();
    struct render_switch sw = {.name = "leaf1",
                               .queues_n = 8,
                               .dscp_of_level = port_wish_preset.dscp_of_level,
                               .ports = ports,
                               .ports_n = PORTS,
                               .site = site};
    struct err err = {0};
    FILE *out = fopen("/dev/null", "w");
    assert_true(want_both(&port_wish_preset, &render_sonic_patch, 8, 0, want));
    assert_int_equal(render_sonic_patch.render(&sw, out, &err), -EPROTO);
    json_decref(site);
    site = site_bare(1);
    sw.site = site;
    sw.left = note_left;
    left[0] = 0;
    assert_int_equal(render_sonic_patch.undo(&sw, out, &err), 0);
    assert_string_equal(left, "Ethernet4: PORT|Ethernet4: there is no such port");
    sw.ports = ports + 1;
    sw.ports_n = 1;
    assert_int_equal(render_sonic_patch.render(&sw, out, &err), -ENODEV);
    json_decref(site);
    fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_text_says_what_is_wanted),
        cmocka_unit_test(test_eos_has_one_map_for_all_ports),
        cmocka_unit_test(test_a_patch_of_what_is_no_sonic_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
