#include "dataplane/settings.h"

#include "lib/conf_check.h"
#include "lib/conf_table.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const side_names[SIDES] = {[SIDE_HOST] = "host", [SIDE_NETWORK] = "network"};
static const char *const roles[] = {"host", "switch", NULL};
static const char *const bys[] = {"here", "kernel", NULL};

static size_t name_length(const char *device)
{
    return strcspn(device, ",");
}

static int device_check(const char *device, struct err *err)
{
    const size_t length = name_length(device);
    if (length == 0) /* a side of a switch, which has none: check_role */
        return 0;
    if (strncmp(device, "net_", 4) != 0 || length < 6 || length > 31)
        return err_set(err, EINVAL,
                       "\"%s\" is no virtual device of DPDK, such as net_af_packet0,iface=eth0",
                       device);
    return 0;
}

static int parse_prefix(const char *text, void *target, struct err *err)
{
    return mark_prefix_parse(text, target, err);
}

/* A port's name is a word in commands and messages. */
static int name_check(const char *name, struct err *err)
{
    for (const char *c = name; *c; c++)
        if (!(*c >= 'a' && *c <= 'z') && !(*c >= 'A' && *c <= 'Z') && !(*c >= '0' && *c <= '9') &&
            !strchr("._-", *c))
            return err_set(err, EINVAL,
                           "\"%s\" is no port's name: letters, digits, '.', '_' and '-'", name);
    return 0;
}

static const struct conf_field side_fields[] = {
    CHECKED(fastpath_side, device, "", device_check),
    RATE(fastpath_side, rate_bps, "rate", "0 bps", 0, INT64_C(1000000000000)),
    END,
};
static const struct conf_section side_section = {side_fields, sizeof(struct fastpath_side), NULL};

static const struct conf_field port_fields[] = {
    CHECKED(fastpath_side, name, NULL, name_check),
    CHECKED(fastpath_side, device, NULL, device_check),
    RATE(fastpath_side, rate_bps, "rate", "0 bps", 0, INT64_C(1000000000000)),
    END,
};
static const struct conf_section port_section = {port_fields, sizeof(struct fastpath_side), NULL};
static const struct conf_field port_item = {.type = CONF_SECTION, .section = &port_section};

static const struct conf_field forwarding_fields[] = {
    NUMBER(fastpath_forwarding, macs, "macs", "4096", 64, 65536),
    DURATION(fastpath_forwarding, age_ns, "age", "300 s", 1000000000, INT64_C(86400000000000)),
    NUMBER(fastpath_forwarding, flood_pps, "flood", "1000", 1, 1000000),
    NUMBER(fastpath_forwarding, moves, "moves", "5", 1, 1000),
    DURATION(fastpath_forwarding, shut_ns, "shut", "10 s", 1000000000, INT64_C(86400000000000)),
    END,
};
static const struct conf_section forwarding_section = {forwarding_fields,
                                                       sizeof(struct fastpath_forwarding), NULL};

static const struct conf_field queues_fields[] = {
    NUMBER(fastpath_queues, levels, "levels", "8", 1, PORT_LEVELS),
    NUMBER(fastpath_queues, leaf_packets, "leaf_packets", "100", 2, 65536),
    YES_NO(fastpath_queues, ecn, "ecn", "yes"),
    NUMBER(fastpath_queues, ecn_packets, "ecn_packets", "0", 0, 65535),
    NUMBER(fastpath_queues, red_packets, "red_packets", "0", 0, PORT_RED_MOST),
    NUMBER(fastpath_queues, unmanaged_joins, "unmanaged_joins", "7", 0, 7),
    SHARE(fastpath_queues, floor_permille, "floor", "1 %", 1, 100),
    SHARE(fastpath_queues, unmanaged_permille, "unmanaged", "10 %", 1, 900),
    SHARE(fastpath_queues, control_permille, "control", "1 %", 1, 500),
    END,
};
static const struct conf_section queues_section = {queues_fields, sizeof(struct fastpath_queues),
                                                   NULL};

static const struct conf_field member_item = {.type = CONF_PARSED, .parse = parse_prefix};
static const struct conf_field dscp_item = {.type = CONF_INT, .min = 1, .max = 63};
static const struct conf_field marks_fields[] = {
    CHOICE(fastpath_marks, by, bys, "here"),
    LIST(fastpath_marks, members, members_n, &member_item),
    LIST(fastpath_marks, dscp, dscp_n, &dscp_item),
    NUMBER(fastpath_marks, control_port, "control_port", "7600", 0, 65535),
    NUMBER(fastpath_marks, flows, "flows", "65536", 64, 10000000),
    END,
};
static int marks_check(const void *structure, struct err *err)
{
    const struct fastpath_marks *marks = structure;
    if (marks->dscp_n != 0 && marks->dscp_n != PORT_LEVELS)
        return err_set(err, EINVAL, "dscp has one number for each of the %d levels", PORT_LEVELS);
    return 0;
}
static const struct conf_section marks_section = {marks_fields, sizeof(struct fastpath_marks),
                                                  marks_check};

static const struct conf_field cpu_item = {.type = CONF_INT, .min = 0, .max = CPU_SETSIZE - 1};
static const struct conf_field fields[] = {
    CHECKED(fastpath_settings, socket, "/run/duopoly-fastpath/fastpath.sock", conf_check_path),
    CHECKED(fastpath_settings, group, FASTPATH_GROUP, NULL),
    CHECKED(fastpath_settings, readers, FASTPATH_READERS, NULL),
    LIST(fastpath_settings, cpus, cpus_n, &cpu_item),
    NUMBER(fastpath_settings, mtu_bytes, "mtu", "1500", 576, 9600),
    CHOICE(fastpath_settings, role, roles, "host"),
    {.name = "host",
     .type = CONF_SECTION,
     .offset = offsetof(struct fastpath_settings, sides[SIDE_HOST]),
     .section = &side_section},
    {.name = "network",
     .type = CONF_SECTION,
     .offset = offsetof(struct fastpath_settings, sides[SIDE_NETWORK]),
     .section = &side_section},
    LIST(fastpath_settings, ports, ports_n, &port_item),
    SECTION(fastpath_settings, forwarding, &forwarding_section),
    SECTION(fastpath_settings, queues, &queues_section),
    SECTION(fastpath_settings, marks, &marks_section),
    END,
};

uint32_t fastpath_ports(const struct fastpath_settings *settings)
{
    return settings->role == ROLE_OF_SWITCH ? settings->ports_n : SIDES;
}

const struct fastpath_side *fastpath_side(const struct fastpath_settings *settings, uint32_t place)
{
    return settings->role == ROLE_OF_SWITCH ? &settings->ports[place] : &settings->sides[place];
}

void fastpath_facts(const struct fastpath_settings *settings, uint32_t place, uint64_t device_bps,
                    struct port_facts *ret_facts)
{
    *ret_facts = (struct port_facts){.link_bps = device_bps,
                                     .mtu_bytes = (uint32_t)settings->mtu_bytes,
                                     .queues_n = PORT_TRAFFIC,
                                     .abilities = port_message_abilities};
    snprintf(ret_facts->name, sizeof(ret_facts->name), "%s", fastpath_side(settings, place)->name);
}

int fastpath_port(const struct fastpath_settings *settings, uint32_t place,
                  const struct port_facts *facts, struct port *ret_port, struct err *err)
{
    const struct fastpath_queues *queues = &settings->queues;
    struct port_wish wish = port_wish_preset;
    wish.link_bps = (uint64_t)fastpath_side(settings, place)->rate_bps;
    wish.levels = (uint32_t)queues->levels;
    wish.queue_packets = (uint32_t)queues->leaf_packets;
    wish.floor_permille = (uint32_t)queues->floor_permille;
    wish.unmanaged_permille = (uint32_t)queues->unmanaged_permille;
    wish.control_permille = (uint32_t)queues->control_permille;
    wish.unmanaged_joins = (uint32_t)queues->unmanaged_joins;
    wish.ecn = queues->ecn;
    wish.ecn_packets = (uint32_t)queues->ecn_packets;
    wish.red_packets = (uint32_t)queues->red_packets;
    for (uint32_t level = 0; level < settings->marks.dscp_n; level++)
        wish.dscp_of_level[level] = (uint8_t)settings->marks.dscp[level];
    return port_want(&wish, facts, ret_port, err);
}

struct marking_settings fastpath_marking(const struct fastpath_settings *settings)
{
    struct marking_settings marking = {.members_n = settings->marks.members_n,
                                       .control_port = (uint16_t)settings->marks.control_port};
    memcpy(marking.members, settings->marks.members, sizeof(marking.members));
    for (uint32_t level = 0; level < PORT_LEVELS; level++)
        marking.dscp_of_level[level] = settings->marks.dscp_n
                                           ? (uint8_t)settings->marks.dscp[level]
                                           : port_wish_preset.dscp_of_level[level];
    return marking;
}

struct switching_settings fastpath_switching(const struct fastpath_settings *settings)
{
    const struct fastpath_forwarding *wanted = &settings->forwarding;
    return (struct switching_settings){.ports = settings->ports_n,
                                       .macs = (uint32_t)wanted->macs,
                                       .age_ns = (uint64_t)wanted->age_ns,
                                       .moves = (uint32_t)wanted->moves,
                                       .shut_ns = (uint64_t)wanted->shut_ns,
                                       .flood_pps = (uint32_t)wanted->flood_pps};
}

static int check_role(const struct fastpath_settings *settings, struct err *err)
{
    const bool sides =
                   settings->sides[SIDE_HOST].device[0] && settings->sides[SIDE_NETWORK].device[0],
               side =
                   settings->sides[SIDE_HOST].device[0] || settings->sides[SIDE_NETWORK].device[0];
    if (settings->role == ROLE_OF_HOST && (!sides || settings->ports_n))
        return err_set(err, EINVAL,
                       "a host (role) has the sides host and network, a device each, and no ports");
    if (settings->role == ROLE_OF_SWITCH && (side || settings->ports_n < 2))
        return err_set(err, EINVAL,
                       "a switch (role) has two ports at least, and no sides host and network");
    return 0;
}

static bool same_device(const char *a, const char *b)
{
    return name_length(a) == name_length(b) && strncmp(a, b, name_length(a)) == 0;
}

static int check_twice(const struct fastpath_settings *settings, struct err *err)
{
    for (uint32_t i = 1; i < fastpath_ports(settings); i++)
        for (uint32_t j = 0; j < i; j++) {
            const struct fastpath_side *a = fastpath_side(settings, i),
                                       *b = fastpath_side(settings, j);
            if (same_device(a->device, b->device))
                return err_set(err, EINVAL, "%.*s is the device of two ports",
                               (int)name_length(a->device), a->device);
            if (strcmp(a->name, b->name) == 0 && a->name[0])
                return err_set(err, EINVAL, "two ports are called %s", a->name);
        }
    return 0;
}

static int check_cpus(const struct fastpath_settings *settings, struct err *err)
{
    for (uint32_t i = 1; i < settings->cpus_n; i++)
        for (uint32_t j = 0; j < i; j++)
            if (settings->cpus[i] == settings->cpus[j])
                return err_set(err, EINVAL, "cpus: processor %lld is there twice",
                               (long long)settings->cpus[i]);
    return 0;
}

/* Valid keys can still make an invalid port: shares that leave nothing, two equal code points. A
 * device may report its speed later; here any speed is assumed. */
static int check(const void *structure, struct err *err)
{
    const struct fastpath_settings *settings = structure;
    struct port_facts facts;
    struct port port;
    int r = check_role(settings, err);
    if (r == 0)
        r = check_cpus(settings, err);
    if (r == 0)
        r = check_twice(settings, err);
    for (uint32_t i = 0; i < fastpath_ports(settings) && r == 0; i++) {
        const int64_t rate = fastpath_side(settings, i)->rate_bps;
        fastpath_facts(settings, i, rate ? (uint64_t)rate : 1000000000, &facts);
        r = fastpath_port(settings, i, &facts, &port, err);
    }
    return r;
}

static const struct conf_section section = {fields, sizeof(struct fastpath_settings), check};

int fastpath_settings_read(const char *path, struct fastpath_settings *ret_settings,
                           struct err *err)
{
    int r = conf_read(path, &section, ret_settings, err);
    for (int i = 0; i < SIDES && r == 0; i++)
        strcpy(ret_settings->sides[i].name, side_names[i]);
    if (r == 0 && ret_settings->cpus_n == 0)
        ret_settings->cpus_n = 1; /* processor 0 */
    return r;
}
