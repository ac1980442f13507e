#include "hostagent/devices/device_driver.h"
#include "hostagent/queues/link_speed.h"
#include "hostagent/settings.h"
#include "hostagent/tasks/cgroup.h"
#include "lib/number.h"
#include "lib/unix_listen.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux" /* what a nudge needs */

static bool is_linux(const struct agent_settings *settings)
{
    return switch_find(settings->switch_settings.driver) == &switch_linux;
}

/* No port of this machine, if the switch is another one. */
int settings_find_ports(const struct agent_settings *settings, bool all,
                        struct ports_found *ret_found, struct tunnels_found *ret_tunnels,
                        struct err *err)
{
    const struct settings_link *link = &settings->link;
    const struct ports_wanted wanted = {.name = link->uplink,
                                        .bridge = link->bridge,
                                        .patterns = link->ports,
                                        .patterns_n = link->ports_n,
                                        .members = settings->marks.members,
                                        .members_n = settings->marks.members_n};
    if (is_linux(settings))
        return ports_find(&wanted, all, ret_found, ret_tunnels, err);
    ret_found->n = ret_tunnels->ports.n = ret_tunnels->notes_n = 0;
    return 0;
}

static void resolve_wish(const struct agent_settings *settings, struct port_wish *wish)
{
    const struct settings_queues *queues = &settings->queues;
    *wish = port_wish_preset;
    wish->link_bps = (uint64_t)settings->link.rate_bps;
    memcpy(wish->rates, settings->link.rates, sizeof(wish->rates));
    wish->rates_n = settings->link.rates_n;
    wish->levels = (uint32_t)queues->levels;
    wish->queue_packets = (uint32_t)queues->leaf_packets;
    wish->ecn = queues->ecn;
    wish->ecn_packets = (uint32_t)queues->ecn_packets;
    wish->red_packets = (uint32_t)queues->red_packets;
    wish->unmanaged_joins = (uint32_t)queues->unmanaged_joins;
    wish->floor_permille = (uint32_t)queues->floor_permille;
    wish->unmanaged_permille = (uint32_t)queues->unmanaged_permille;
    wish->control_permille = (uint32_t)queues->control_permille;
    for (uint32_t level = 0; level < settings->marks.dscp_n; level++)
        wish->dscp_of_level[level] = (uint8_t)settings->marks.dscp[level];
}

uint64_t settings_port_bps(const struct settings_resolved *resolved, uint32_t port, int sock)
{
    uint64_t bps = port_rate(&resolved->wish, resolved->ports.names[port]);
    return bps ? bps : link_speed_bps(sock, resolved->ports.names[port]);
}

/* The sum of a host's links. One that is down may report its speed later; until then it counts as
 * 0. */
static int resolve_rate(const struct agent_settings *settings, struct settings_resolved *resolved,
                        struct err *err)
{
    resolved->link_bps = settings->role == duopoly_Role_ROLE_SWITCH ? resolved->wish.link_bps : 0;
    if (settings->role == duopoly_Role_ROLE_SWITCH)
        return 0;
    if (!resolved->ports.n)
        return err_set(err, ENODEV, "the host's uplink has no port: a bond of no links?");
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), r = 0;
    if (sock < 0)
        return err_sys(err, errno, "asking about the host's links");
    for (uint32_t i = 0; r >= 0 && i < resolved->ports.n; i++) {
        const char *name = resolved->ports.names[i];
        uint64_t bps = settings_port_bps(resolved, i, sock);
        resolved->link_bps += bps;
        if (!bps && link_is_up(sock, name))
            r = err_set(err, EINVAL, "%s does not say how fast it is: give it a rate (link.rate)",
                        name);
    }
    close(sock);
    if (r >= 0 && !resolved->link_bps)
        r = err_set(err, ENETDOWN,
                    "%s is down and does not say how fast it is: give it a rate (link.rate)",
                    resolved->ports.names[0]);
    return r;
}

/* Also by newgrp(1). */
static bool has_group(const struct passwd *user, gid_t group)
{
    gid_t groups[1024];
    int n = sizeof(groups) / sizeof(groups[0]);
    if (getgrouplist(user->pw_name, user->pw_gid, groups, &n) < 0)
        return true; /* of more than can be looked at */
    while (n > 0)
        if (groups[--n] == group)
            return true;
    return false;
}

static int resolve_frameworks_group(const struct agent_settings *settings,
                                    struct settings_resolved *resolved, const struct passwd *tasks,
                                    struct err *err)
{
    const char *name = settings->frameworks.group;
    const bool listens = settings->frameworks.socket[0] || settings->guests.socket[0];
    const gid_t group = unix_group(*name ? name : SETTINGS_FRAMEWORKS_GROUP);
    resolved->frameworks_gid = group == (gid_t)-1 ? getegid() : group;
    if (listens && has_group(tasks, resolved->frameworks_gid))
        return err_set(err, EINVAL,
                       "%s (tasks.user) is in the group with the number %u (frameworks.group): "
                       "whatever runs as a task could speak for frameworks; name a group that "
                       "it is not in",
                       tasks->pw_name, resolved->frameworks_gid);
    return 0;
}

static int resolve_user(const struct agent_settings *settings, struct settings_resolved *resolved,
                        struct err *err)
{
    const struct passwd *user = getpwnam(settings->tasks.user);
    if (!user)
        return err_set(err, ENOENT, "there is no user %s (tasks.user)", settings->tasks.user);
    resolved->gid = user->pw_gid;
    return resolve_frameworks_group(settings, resolved, user, err);
}

/* Beside our own program where the configuration names none. */
static int resolve_program(const struct agent_settings *settings,
                           struct settings_resolved *resolved, struct err *err)
{
    char self[FILES_PATH];
    if (settings->tasks.starter[0])
        return 0; /* another process has started it */
    files_path(resolved->program, "%s", settings->tasks.program);
    if (!settings->tasks.program[0]) {
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
        if (n == sizeof(self) - 1)
            return err_set(err, ENAMETOOLONG,
                           "the path of this program is too long: name "
                           "duopoly-task (tasks.program)");
        self[n > 0 ? n : 0] = 0;
        char *slash = strrchr(self, '/');
        if (slash)
            *slash = 0;
        files_path(resolved->program, "%s/duopoly-task", self);
    }
    if (access(resolved->program, X_OK) < 0)
        return err_sys(err, errno, "%s (tasks.program)", resolved->program);
    return 0;
}

static int resolve_cgroup(const struct agent_settings *settings, struct settings_resolved *resolved,
                          struct err *err)
{
    char root[FILES_PATH];
    files_path(root, "%s", settings->tasks.cgroup_root);
    int r = cgroup_find_root(resolved->cgroup_mount, root[0] ? NULL : err);
    if (root[0])
        r = 0;
    else
        files_path(root, "%s", resolved->cgroup_mount);
    if (r >= 0)
        files_path(resolved->cgroup, "%s/%s", root, settings->tasks.cgroup);
    return r;
}

static void resolve_devices(const struct agent_settings *settings,
                            struct settings_resolved *resolved)
{
    for (uint32_t d = 0; d < settings->devices_n; d++) {
        const struct settings_device *from = &settings->devices[d];
        struct device *device = &resolved->devices[d];
        memcpy(device->name, from->name, sizeof(device->name));
        memcpy(device->at, from->at, sizeof(device->at));
        device->mem_bytes = from->mem_bytes;
        device->driver = device_driver_find(from->kind);
    }
}

/* What the unit does not say of its devices, they do. */
static void resolve_unit_devices(const struct agent_settings *settings, uint32_t i,
                                 struct settings_resolved *resolved)
{
    const struct settings_unit *unit = &settings->units[i];
    duopoly_Resources *total = &resolved->units[i];
    resolved->unit_devices[i] = 0;
    for (uint32_t d = 0; d < unit->devices.n; d++)
        resolved->unit_devices[i] |=
            1u << (settings_find_device(settings, unit->devices.at[d].name) - settings->devices);
    total->gpu_milli = unit_devices_milli(&unit->devices, unit->gpu_milli);
    if (unit->devices.n == 1 && !total->gpu_mem_bytes)
        total->gpu_mem_bytes =
            resolved->devices[__builtin_ctz(resolved->unit_devices[i])].mem_bytes;
}

void settings_resolve_units(const struct agent_settings *settings,
                            struct settings_resolved *resolved)
{
    for (uint32_t i = 0; i < settings->units_n; i++) {
        const struct settings_unit *unit = &settings->units[i];
        resolved->unit_names[i] = unit->name;
        resolved->units[i] = (duopoly_Resources){.slots = unit->slots,
                                                 .cpu_milli = unit->cpu_milli,
                                                 .mem_bytes = unit->mem_bytes,
                                                 .gpu_milli = unit->gpu_milli,
                                                 .gpu_mem_bytes = unit->gpu_mem_bytes,
                                                 .io_bytes_s = unit->io_bytes_s};
        resolve_unit_devices(settings, i, resolved);
    }
}

static void resolve_network(const struct agent_settings *settings,
                            struct settings_resolved *resolved)
{
    const struct settings_marks *marks = &settings->marks;
    if (marks->bpffs[0])
        files_path(resolved->bpffs, "%s", marks->bpffs);
    else
        files_path(resolved->bpffs, "%s/bpf", settings->state);
    resolved->marks =
        (struct mark_config){.driver = is_linux(settings) ? marks->driver : "recorder",
                             .reach = MARK_REACH_QUEUES,
                             .is_switch = settings->role == duopoly_Role_ROLE_SWITCH,
                             .bpffs = resolved->bpffs,
                             .state_dir = settings->state,
                             .cgroup = resolved->cgroup,
                             .ports = (const char(*)[PORT_NAME])resolved->ports.names,
                             .ports_n = resolved->ports.n,
                             .tunnels = (const char(*)[PORT_NAME])resolved->tunnels.ports.names,
                             .tunnels_n = resolved->tunnels.ports.n,
                             .members_n = marks->members_n,
                             .control_port = resolved->control_port,
                             .flows_max = (uint32_t)marks->flows};
    memcpy(resolved->marks.members, marks->members, sizeof(marks->members));
    memcpy(resolved->marks.dscp_of_level, resolved->wish.dscp_of_level, PORT_LEVELS);
}

int settings_resolve(const struct agent_settings *settings, const char *file,
                     struct settings_resolved *ret_resolved, struct err *err)
{
    *ret_resolved = (struct settings_resolved){.file = file};
    uint64_t port = 0;
    number_take(strrchr(settings->controller, ':') + 1, UINT16_MAX, &port);
    ret_resolved->control_port = (uint16_t)port;
    int r = settings_find_ports(settings, false, &ret_resolved->ports, &ret_resolved->tunnels, err);
    resolve_wish(settings, &ret_resolved->wish);
    if (r >= 0)
        r = resolve_rate(settings, ret_resolved, err);
    if (r >= 0 && settings->role == duopoly_Role_ROLE_HOST) {
        r = resolve_user(settings, ret_resolved, err);
        if (r >= 0)
            r = resolve_program(settings, ret_resolved, err);
        if (r >= 0)
            r = resolve_cgroup(settings, ret_resolved, err);
    }
    if (r < 0)
        return r;
    resolve_devices(settings, ret_resolved);
    settings_resolve_units(settings, ret_resolved);
    resolve_network(settings, ret_resolved);
    return qdisc_classes(qdisc_find(settings->queues.driver), &ret_resolved->wish,
                         ret_resolved->marks.class_of, err);
}

struct switch_config settings_switch(const struct agent_settings *settings,
                                     const struct settings_resolved *resolved, bool replace)
{
    struct switch_config config = {.settings = &settings->switch_settings,
                                   .owner = settings->name,
                                   .state_dir = settings->state,
                                   .wish = resolved->wish,
                                   .nudge =
                                       settings->marks.nudge && access(KERNEL_TYPES, R_OK) == 0,
                                   .control_port = resolved->control_port,
                                   .replace = replace,
                                   .queues = qdisc_find(settings->queues.driver),
                                   .interfaces = (const char(*)[PORT_NAME])resolved->ports.names,
                                   .interfaces_n = resolved->ports.n};
    memcpy(config.dscp_of_level, resolved->marks.dscp_of_level, sizeof(config.dscp_of_level));
    return config;
}

struct routes_config settings_routes(const struct agent_settings *settings,
                                     const struct settings_resolved *resolved)
{
    bool wanted = settings->queues.dctcp && settings->role == duopoly_Role_ROLE_HOST;
    return (struct routes_config){.state_dir = settings->state,
                                  .members = resolved->marks.members,
                                  .members_n = wanted ? resolved->marks.members_n : 0};
}

struct guests_config settings_guests(const struct agent_settings *settings,
                                     const struct settings_resolved *resolved)
{
    struct guests_config config = {.state_dir = settings->state,
                                   .cgroup = resolved->cgroup,
                                   .root = resolved->cgroup_mount,
                                   .rung = (enum guests_rung)settings->guests.rung,
                                   .rescan_ns = (uint64_t)settings->guests.rescan_ns};
    for (uint32_t i = 0; i < settings->guests.users_n; i++) {
        const struct passwd *user = getpwnam(settings->guests.users[i].name);
        if (user)
            config.users[config.users_n++] = user->pw_uid;
    }
    return config;
}
