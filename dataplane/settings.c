#include "dataplane/settings.h"

#include "lib/conf.h"
#include "lib/conf_check.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define WORD(s, member, preset_, check_)                                                           \
    {                                                                                              \
        .name = #member, .type = CONF_STRING, .offset = offsetof(struct s, member),                \
        .size = sizeof(((struct s *)0)->member), .preset = (preset_), .check = (check_)            \
    }
#define VALUE(s, member, name_, type_, preset_, min_, max_)                                        \
    {                                                                                              \
        .name = (name_), .type = (type_), .offset = offsetof(struct s, member), .min = (min_),     \
        .max = (max_), .preset = (preset_)                                                         \
    }
#define SECTION(s, member, section_)                                                               \
    {                                                                                              \
        .name = #member, .type = CONF_SECTION, .offset = offsetof(struct s, member),               \
        .section = (section_)                                                                      \
    }
#define LIST(s, member, count, item_)                                                              \
    {                                                                                              \
        .name = #member, .type = CONF_LIST, .offset = offsetof(struct s, member),                  \
        .size = sizeof(((struct s *)0)->member[0]),                                                \
        .max = sizeof(((struct s *)0)->member) / sizeof(((struct s *)0)->member[0]),               \
        .item = (item_), .count_offset = offsetof(struct s, count)                                 \
    }
#define END                                                                                        \
    {                                                                                              \
        .name = NULL                                                                               \
    }

const char *const fastpath_side_names[SIDES] = {[SIDE_HOST] = "host", [SIDE_NETWORK] = "network"};

static const char *const bys[] = {"here", "kernel", NULL};

static size_t name_length(const char *device)
{
    return strcspn(device, ",");
}

static int device_check(const char *device, struct err *err)
{
    const size_t length = name_length(device);
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

static const struct conf_field side_fields[] = {
    WORD(fastpath_side, device, NULL, device_check),
    VALUE(fastpath_side, rate_bps, "rate", CONF_RATE, "0 bps", 0, INT64_C(1000000000000)),
    END,
};
static const struct conf_section side_section = {side_fields, sizeof(struct fastpath_side), NULL};

static const struct conf_field queues_fields[] = {
    VALUE(fastpath_queues, levels, "levels", CONF_INT, "8", 1, PORT_LEVELS),
    VALUE(fastpath_queues, leaf_packets, "leaf_packets", CONF_INT, "100", 2, 65536),
    VALUE(fastpath_queues, ecn, "ecn", CONF_BOOL, "yes", 0, 0),
    VALUE(fastpath_queues, ecn_packets, "ecn_packets", CONF_INT, "0", 0, 65535),
    VALUE(fastpath_queues, unmanaged_joins, "unmanaged_joins", CONF_INT, "7", 0, 7),
    VALUE(fastpath_queues, floor_permille, "floor", CONF_SHARE, "1 %", 1, 100),
    VALUE(fastpath_queues, unmanaged_permille, "unmanaged", CONF_SHARE, "10 %", 1, 900),
    VALUE(fastpath_queues, control_permille, "control", CONF_SHARE, "1 %", 1, 500),
    END,
};
static const struct conf_section queues_section = {queues_fields, sizeof(struct fastpath_queues),
                                                   NULL};

static const struct conf_field member_item = {.type = CONF_PARSED, .parse = parse_prefix};
static const struct conf_field dscp_item = {.type = CONF_INT, .min = 1, .max = 63};
static const struct conf_field marks_fields[] = {
    {.name = "by",
     .type = CONF_CHOICE,
     .offset = offsetof(struct fastpath_marks, by),
     .choices = bys,
     .preset = "here"},
    LIST(fastpath_marks, members, members_n, &member_item),
    LIST(fastpath_marks, dscp, dscp_n, &dscp_item),
    VALUE(fastpath_marks, control_port, "control_port", CONF_INT, "7600", 0, 65535),
    VALUE(fastpath_marks, flows, "flows", CONF_INT, "65536", 64, 10000000),
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

static const struct conf_field fields[] = {
    WORD(fastpath_settings, socket, "/run/duopoly-fastpath/fastpath.sock", conf_check_path),
    WORD(fastpath_settings, group, "duopoly", NULL),
    WORD(fastpath_settings, readers, "duopoly-readers", NULL),
    VALUE(fastpath_settings, cpu, "cpu", CONF_INT, "0", 0, CPU_SETSIZE - 1),
    VALUE(fastpath_settings, mtu_bytes, "mtu", CONF_INT, "1500", 576, 9600),
    SECTION(fastpath_settings, host, &side_section),
    SECTION(fastpath_settings, network, &side_section),
    SECTION(fastpath_settings, queues, &queues_section),
    SECTION(fastpath_settings, marks, &marks_section),
    END,
};

const struct fastpath_side *fastpath_side(const struct fastpath_settings *settings, int side)
{
    return side == SIDE_HOST ? &settings->host : &settings->network;
}

void fastpath_facts(const struct fastpath_settings *settings, int side, uint64_t device_bps,
                    struct port_facts *ret_facts)
{
    *ret_facts = (struct port_facts){.link_bps = device_bps,
                                     .mtu_bytes = (uint32_t)settings->mtu_bytes,
                                     .queues_n = PORT_TRAFFIC,
                                     .abilities = {.strict = true, .floors = true, .ecn = true}};
    snprintf(ret_facts->name, sizeof(ret_facts->name), "%s", fastpath_side_names[side]);
}

int fastpath_port(const struct fastpath_settings *settings, int side,
                  const struct port_facts *facts, struct port *ret_port, struct err *err)
{
    const struct fastpath_queues *queues = &settings->queues;
    struct port_wish wish = port_wish_preset;
    wish.link_bps = (uint64_t)fastpath_side(settings, side)->rate_bps;
    wish.levels = (uint32_t)queues->levels;
    wish.queue_packets = (uint32_t)queues->leaf_packets;
    wish.floor_permille = (uint32_t)queues->floor_permille;
    wish.unmanaged_permille = (uint32_t)queues->unmanaged_permille;
    wish.control_permille = (uint32_t)queues->control_permille;
    wish.unmanaged_joins = (uint32_t)queues->unmanaged_joins;
    wish.ecn = queues->ecn;
    wish.ecn_packets = (uint32_t)queues->ecn_packets;
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

/* What its keys say one by one can still be no port: shares that leave nothing, two equal code
 * points. A device may say its speed later; here it has any. */
static int check(const void *structure, struct err *err)
{
    const struct fastpath_settings *settings = structure;
    struct port_facts facts;
    struct port port;
    const size_t length = name_length(settings->host.device);
    if (length == name_length(settings->network.device) &&
        strncmp(settings->host.device, settings->network.device, length) == 0)
        return err_set(err, EINVAL, "%.*s is the device of both sides", (int)length,
                       settings->host.device);
    for (int side = 0; side < SIDES; side++) {
        const int64_t rate = fastpath_side(settings, side)->rate_bps;
        fastpath_facts(settings, side, rate ? (uint64_t)rate : 1000000000, &facts);
        int r = fastpath_port(settings, side, &facts, &port, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static const struct conf_section section = {fields, sizeof(struct fastpath_settings), check};

int fastpath_settings_read(const char *path, struct fastpath_settings *ret_settings,
                           struct err *err)
{
    return conf_read(path, &section, ret_settings, err);
}
