#include "hostagent/settings.h"

#include "hostagent/settings_units.h"
#include "lib/address.h"
#include "lib/conf_check.h"
#include "lib/conf_table.h"
#include "lib/disk_rate.h"
#include "lib/log.h"
#include "lib/unix_listen.h"
#include "lib/wire.h"
#include "schemas/duopoly.pb.h"

#include <errno.h>
#include <pwd.h>
#include <stddef.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

static int parse_prefix(const char *text, void *target, struct err *err)
{
    return mark_prefix_parse(text, target, err);
}

/* 0.0.0.0 and :: say where to listen: no address. */
static bool is_any(const uint8_t address[16])
{
    static const uint8_t any4[16] = {[10] = 0xff, [11] = 0xff}, any6[16];
    return memcmp(address, any4, sizeof(any4)) == 0 || memcmp(address, any6, sizeof(any6)) == 0;
}

static int parse_address(const char *text, void *target, struct err *err)
{
    uint8_t address[16] = {0};
    const char *why;
    if (*text && address_parse(text, address) < 0)
        return err_set(err, EINVAL, "\"%s\" is no address such as 10.0.0.1%s", text,
                       strchr(text, '/') ? ": a prefix is given, one address is wanted" : "");
    if (is_any(address)) {
        memset(target, 0, sizeof(address));
        return 0;
    }
    if ((why = address_useless(address)))
        return err_set(err, EINVAL,
                       "%s %s, and others fetch this host's map outputs there; without `address` "
                       "that of the route to the controller is taken",
                       text, why);
    memcpy(target, address, sizeof(address));
    return 0;
}

static int name_check(const char *text, struct err *err)
{
    return wire_name_valid(text)
               ? 0
               : err_set(err, EINVAL, "'%s' is not printable without spaces, slashes and quotes",
                         text);
}

static int user_check(const char *text, struct err *err)
{
    const struct passwd *user = getpwnam(text);
    if (!user)
        return err_set(err, EINVAL, "there is no user '%s' on this host", text);
    if (user->pw_uid == 0 || user->pw_gid == 0)
        return err_set(err, EINVAL,
                       "commands never run as root: name another user, such as nobody");
    return 0;
}

static int cgroup_check(const char *text, struct err *err)
{
    if (strchr(text, '/') || text[0] == '.')
        return err_set(err, EINVAL, "'%s' is not the name of one directory, without slashes", text);
    return 0;
}

static const struct conf_field ports_item = {
    .type = CONF_STRING, .size = PORT_PATTERN_BYTES, .check = port_pattern_check};
static const struct conf_field rate_fields[] = {
    CHECKED(port_rate, ports, NULL, port_pattern_check),
    RATE(port_rate, rate_bps, "rate", NULL, 0, INT64_C(1) << 50),
    END,
};
static const struct conf_section rate_section = {rate_fields, sizeof(struct port_rate), NULL};
static const struct conf_field rate_item = {.type = CONF_SECTION, .section = &rate_section};

static const struct conf_field link_fields[] = {
    CHECKED(settings_link, uplink, "", conf_check_interface),
    CHECKED(settings_link, bridge, "", conf_check_interface),
    LIST(settings_link, ports, ports_n, &ports_item),
    RATE(settings_link, rate_bps, "rate", "0 bps", 0, INT64_C(1) << 50),
    LIST(settings_link, rates, rates_n, &rate_item),
    END,
};
static const struct conf_section link_section = {link_fields, sizeof(struct settings_link), NULL};

static const struct conf_field pattern_item = {
    .type = CONF_STRING, .size = SWITCH_PORT_NAME, .check = port_pattern_check};
static const struct conf_field switch_fields[] = {
    STRING(switch_settings, driver, "linux"),
    STRING(switch_settings, at, ""),
    STRING(switch_settings, bridge, ""),
    STRING(switch_settings, openflow, ""),
    NUMBER(switch_settings, table, "table", "0", 0, 253),
    CHECKED(switch_settings, ca, "", conf_check_file),
    CHECKED(switch_settings, certificate, "", conf_check_file),
    CHECKED(switch_settings, private_key, "", conf_check_file),
    LIST(switch_settings, ports, ports_n, &pattern_item),
    END,
};
static int switch_check(const void *structure, struct err *err)
{
    const struct switch_settings *settings = structure;
    const struct switch_driver *driver = switch_find(settings->driver);
    return driver ? driver->check(settings, err)
                  : err_set(err, EINVAL,
                            "there is no switch driver \"%s\" (linux, ovs, sonic, fastpath)",
                            settings->driver);
}
static const struct conf_section switch_section = {switch_fields, sizeof(struct switch_settings),
                                                   switch_check};

static const char *const changes[] = {"repair", "yield", NULL};
static const struct conf_field queues_fields[] = {
    CHOICE(settings_queues, on_change, changes, "repair"),
    STRING(settings_queues, driver, "auto"),
    NUMBER(settings_queues, levels, "levels", "8", 1, 8),
    NUMBER(settings_queues, leaf_packets, "leaf_packets", "100", 2, 1000000),
    YES_NO(settings_queues, ecn, "ecn", "yes"),
    NUMBER(settings_queues, ecn_packets, "ecn_packets", "0", 0, 1000000),
    NUMBER(settings_queues, red_packets, "red_packets", "0", 0, PORT_RED_MOST),
    YES_NO(settings_queues, dctcp, "dctcp", "no"),
    NUMBER(settings_queues, unmanaged_joins, "unmanaged_joins", "7", 0, 7),
    SHARE(settings_queues, floor_permille, "floor", "1 %", 1, 100),
    SHARE(settings_queues, unmanaged_permille, "unmanaged", "10 %", 1, 900),
    SHARE(settings_queues, control_permille, "control", "1 %", 1, 500),
    END,
};
static int queues_check(const void *structure, struct err *err)
{
    const struct settings_queues *queues = structure;
    if (strcmp(queues->driver, "none") != 0 && !qdisc_find(queues->driver))
        return err_set(err, EINVAL,
                       "there is no queue driver \"%s\" (auto, htb, prio, ets, mqprio, none)",
                       queues->driver);
    if (queues->dctcp && !queues->ecn)
        return err_set(err, EINVAL, "dctcp needs queues that mark: leave ecn at yes");
    return 0;
}
static const struct conf_section queues_section = {queues_fields, sizeof(struct settings_queues),
                                                   queues_check};

static const struct conf_field member_item = {.type = CONF_PARSED, .parse = parse_prefix};
static const struct conf_field dscp_item = {.type = CONF_INT, .min = 1, .max = 63};
static const struct conf_field marks_fields[] = {
    STRING(settings_marks, driver, "auto"),
    LIST(settings_marks, members, members_n, &member_item),
    LIST(settings_marks, dscp, dscp_n, &dscp_item),
    DURATION(settings_marks, lease_ns, "lease", "5 s", SECOND / 2, 600 * SECOND),
    NUMBER(settings_marks, flows, "flows", "16384", 64, 10000000),
    CHECKED(settings_marks, bpffs, "", conf_check_path),
    CHECKED(settings_marks, dataplane, "", conf_check_path),
    YES_NO(settings_marks, nudge, "nudge", "yes"),
    END,
};
static int marks_check(const void *structure, struct err *err)
{
    const struct settings_marks *marks = structure;
    if (!marks_has_driver(marks->driver))
        return err_set(err, EINVAL,
                       "there is no mark driver \"%s\" (auto, ebpf, nftables, recorder)",
                       marks->driver);
    if (marks->dscp_n != 0 && marks->dscp_n != MARK_LEVELS)
        return err_set(err, EINVAL, "dscp has one number for each of the %d levels", MARK_LEVELS);
    for (uint32_t i = 0; i < marks->dscp_n; i++)
        for (uint32_t j = 0; j < i; j++)
            if (marks->dscp[i] == marks->dscp[j])
                return err_set(err, EINVAL, "two levels cannot share DSCP %d", (int)marks->dscp[i]);
    return 0;
}
static const struct conf_section marks_section = {marks_fields, sizeof(struct settings_marks),
                                                  marks_check};

static int command_check(const void *structure, struct err *err)
{
    const struct command *command = structure;
    if (!wire_name_valid(command->name))
        return err_set(err, EINVAL,
                       "a command's name is printable, without spaces, slashes and quotes");
    return 0;
}
static const struct conf_section command_section = {command_fields, sizeof(struct command),
                                                    command_check};
static const struct conf_field command_item = {.type = CONF_SECTION, .section = &command_section};
static const struct conf_field tasks_fields[] = {
    CHECKED(settings_tasks, user, "nobody", user_check),
    CHECKED(settings_tasks, program, "", conf_check_program),
    CHECKED(settings_tasks, starter, "", conf_check_path),
    CHECKED(settings_tasks, cgroup_root, "", conf_check_folder),
    CHECKED(settings_tasks, cgroup, "duopoly-agent", cgroup_check),
    LIST(settings_tasks, commands, commands_n, &command_item),
    END,
};
static const struct conf_section tasks_section = {tasks_fields, sizeof(struct settings_tasks),
                                                  NULL};

static int group_check(const char *text, struct err *err)
{
    return !*text || unix_group(text) != (gid_t)-1
               ? 0
               : err_set(err, EINVAL, "there is no group '%s' on this host", text);
}
static const struct conf_field frameworks_fields[] = {
    CHECKED(settings_frameworks, socket, "", conf_check_file),
    CHECKED(settings_frameworks, group, "", group_check),
    CHECKED(settings_frameworks, key, "", conf_check_file),
    END,
};
static const struct conf_section frameworks_section = {frameworks_fields,
                                                       sizeof(struct settings_frameworks), NULL};

static int guests_user_check(const char *text, struct err *err)
{
    return getpwnam(text) ? 0 : err_set(err, EINVAL, "there is no user '%s' on this host", text);
}
static const char *const rungs[] = {"off", "observe", "mark", NULL};
static const struct conf_field guests_user_item = {
    .type = CONF_STRING, .size = sizeof(struct settings_user), .check = guests_user_check};
static const struct conf_field guests_fields[] = {
    CHOICE(settings_guests, rung, rungs, "off"),
    LIST(settings_guests, users, users_n, &guests_user_item),
    CHECKED(settings_guests, socket, "", conf_check_file),
    DURATION(settings_guests, rescan_ns, "rescan", "1 s", SECOND / 10, 60 * SECOND),
    END,
};
static int guests_check(const void *structure, struct err *err)
{
    const struct settings_guests *guests = structure;
    return guests->rung != GUESTS_OFF || !guests->socket[0]
               ? 0
               : err_set(err, EINVAL, "guests.socket needs a guests.rung: observe or mark");
}
static const struct conf_section guests_section = {guests_fields, sizeof(struct settings_guests),
                                                   guests_check};

static const char *const roles[] = {"host", "switch", NULL};
static const char *const exits[] = {"restore", "keep", NULL};
static const struct conf_field label_item = {.type = CONF_STRING, .size = 32};
static const struct conf_field settings_fields[] = {
    CHECKED(agent_settings, name, NULL, name_check),
    CHOICE(agent_settings, role, roles, "host"),
    CHECKED(agent_settings, controller, "tcp://127.0.0.1:7600", conf_check_connect),
    CHECKED(agent_settings, key, "", conf_check_file),
    PARSED(agent_settings, address, "address", parse_address, ""),
    STRING(agent_settings, rack, ""),
    RATE(agent_settings, rack_uplink_bps, "rack_uplink", "0 bps", 0, INT64_C(1) << 50),
    PARSED(agent_settings, disk_bytes_s, "disk", disk_rate_parse, "none"),
    CHECKED(agent_settings, disk_folder, "", conf_check_path),
    LIST(agent_settings, labels, labels_n, &label_item),
    LIST_CHECKED(agent_settings, devices, devices_n, &settings_device_item, settings_device_beside,
                 NULL),
    LIST_CHECKED(agent_settings, units, units_n, &settings_unit_item, settings_unit_beside,
                 settings_unit_among),
    CHECKED(agent_settings, state, "/run/duopoly-agent", conf_check_path),
    CHECKED(agent_settings, measurements, "", conf_check_file),
    CHOICE(agent_settings, log_level, log_levels, "note"),
    CHOICE(agent_settings, on_exit, exits, "restore"),
    SECTION(agent_settings, link, &link_section),
    SECTION_CALLED(agent_settings, switch_settings, "switch", &switch_section),
    SECTION(agent_settings, queues, &queues_section),
    SECTION(agent_settings, marks, &marks_section),
    SECTION(agent_settings, tasks, &tasks_section),
    SECTION(agent_settings, frameworks, &frameworks_section),
    SECTION(agent_settings, guests, &guests_section),
    END,
};

static int role_switch_check(const struct agent_settings *settings, struct err *err)
{
    bool is_linux = switch_find(settings->switch_settings.driver) == &switch_linux;
    if (settings->link.uplink[0] || settings->units_n || settings->devices_n)
        return err_set(err, EINVAL, "a switch has neither link.uplink nor units nor devices");
    if (settings->frameworks.socket[0])
        return err_set(err, EINVAL, "a switch runs no framework: frameworks.socket is for hosts");
    if (settings->guests.rung != GUESTS_OFF)
        return err_set(err, EINVAL, "a switch has no guests: guests.rung is for hosts");
    if (settings->queues.dctcp)
        return err_set(err, EINVAL, "a switch has no connections: queues.dctcp is for hosts");
    if (is_linux != (settings->link.bridge[0] || settings->link.ports_n))
        return err_set(err, EINVAL,
                       "a switch names its link.bridge or link.ports where the switch's driver is "
                       "linux, and only there");
    return 0;
}

static int role_host_check(const struct agent_settings *settings, struct err *err)
{
    if (!settings->link.uplink[0] == !settings->link.ports_n || settings->link.bridge[0])
        return err_set(
            err, EINVAL,
            "a host names its link.uplink, or several in link.ports, and no link.bridge");
    if (!settings->units_n)
        return err_set(err, EINVAL, "a host has units: at least one, such as {slots: 4}");
    if (switch_find(settings->switch_settings.driver) != &switch_linux)
        return err_set(err, EINVAL, "a host has no section switch");
    if (settings->disk_folder[0] && !settings->disk_bytes_s)
        return err_set(err, EINVAL,
                       "disk_folder is of use with the disk's rate: say it, too (disk: 128 MB)");
    if (settings->queues.dctcp && !settings->marks.members_n)
        return err_set(err, EINVAL, "queues.dctcp needs marks.members: the routes' destinations");
    return 0;
}

static int settings_check(const void *structure, struct err *err)
{
    const struct agent_settings *settings = structure;
    return settings->role == duopoly_Role_ROLE_SWITCH ? role_switch_check(settings, err)
                                                      : role_host_check(settings, err);
}
const struct conf_section agent_settings_section = {settings_fields, sizeof(struct agent_settings),
                                                    settings_check};

int agent_settings_read(const char *path, struct agent_settings *ret_settings, struct err *err)
{
    return conf_read(path, &agent_settings_section, ret_settings, err);
}
