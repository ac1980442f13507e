/* The agent's configuration: schemas/duopoly-agent.yaml is its manual, lib/conf.h its reader.
 *
 * A configuration is accepted whole or refused with FILE:LINE:COLUMN, also if this host lacks an
 * interface, a user or a program that it names. settings_resolve finds numbers and whole paths.
 * Everything is inline: nothing to free. */
#pragma once

#include "hostagent/devices/device.h"
#include "hostagent/files.h"
#include "hostagent/guests/guests.h"
#include "hostagent/marks/marks.h"
#include "hostagent/queues/ports_nl.h"
#include "hostagent/routes/routes.h"
#include "hostagent/switches/switches.h"
#include "hostagent/tasks/tasks.h"
#include "lib/conf.h"
#include "lib/err.h"
#include "lib/unit_devices.h"

#include <stdbool.h>
#include <stdint.h>

struct settings_link {
    char uplink[PORT_NAME]; /* role host */
    char bridge[PORT_NAME]; /* role switch: all its ports */
    struct port_pattern ports[PORT_PATTERNS];
    uint32_t ports_n;
    int64_t rate_bps; /* 0: the link's own speed */
    struct port_rate rates[PORT_RATES];
    uint32_t rates_n;
};

struct settings_queues {
    int on_change;   /* when others change them */
    char driver[32]; /* "none": the queues are not ours */
    int64_t levels, leaf_packets, ecn_packets, red_packets, unmanaged_joins;
    bool ecn, dctcp;
    int64_t floor_permille, unmanaged_permille, control_permille;
};

struct settings_marks {
    char driver[32];
    struct mark_prefix members[MARK_MEMBERS];
    uint32_t members_n;
    int64_t dscp[MARK_LEVELS];
    uint32_t dscp_n;
    int64_t lease_ns, flows;
    bool nudge;
    char bpffs[256];     /* "": STATE/bpf */
    char dataplane[108]; /* its control socket; "": none */
};

struct settings_tasks {
    char user[64], program[256], starter[108], cgroup_root[256], cgroup[128];
    struct command commands[COMMANDS_MAX];
    uint32_t commands_n;
};

/* The group whose members may speak for frameworks if frameworks.group is empty; if there is no
 * such group, the agent's. */
#define SETTINGS_FRAMEWORKS_GROUP "duopoly-frameworks"
struct settings_frameworks {
    char socket[108], group[64], key[256];
};

struct settings_guests {
    int rung; /* enum guests_rung */
    struct settings_user {
        char name[64];
    } users[GUESTS_USERS];
    uint32_t users_n;
    int64_t rescan_ns;
    char socket[108];
};

struct settings_device {
    char name[32], kind[16], at[64];
    int64_t mem_bytes; /* 0: what its driver says, if it knows */
};

struct settings_unit {
    char name[32]; /* "": none */
    int64_t slots, cpu_milli, mem_bytes, gpu_milli, gpu_mem_bytes, io_bytes_s;
    struct unit_devices devices;
    struct conf_place place;
};

struct agent_settings {
    char name[64], controller[256], key[256], rack[32], state[256], measurements[256];
    int64_t rack_uplink_bps; /* 0: not said */
    int64_t disk_bytes_s;    /* 0: not said */
    char disk_folder[256];   /* on that disk; "": what the disk does is not watched */
    int role;                /* duopoly_Role */
    int log_level;           /* enum log_level */
    int on_exit;
    uint8_t address[16]; /* all 0: the local address of the route to the controller */
    struct settings_label {
        char name[32];
    } labels[8];
    uint32_t labels_n;
    struct settings_device devices[DEVICES_MAX];
    uint32_t devices_n;
    struct settings_unit units[SLOTS_UNITS];
    uint32_t units_n;
    struct settings_link link;
    struct switch_settings switch_settings; /* section `switch` */
    struct settings_queues queues;
    struct settings_marks marks;
    struct settings_tasks tasks;
    struct settings_frameworks frameworks;
    struct settings_guests guests;
};

enum { SETTINGS_CHANGE_REPAIR, SETTINGS_CHANGE_YIELD };
enum { SETTINGS_EXIT_RESTORE, SETTINGS_EXIT_KEEP };

/* The table itself, for tests. */
extern const struct conf_section agent_settings_section;

int agent_settings_read(const char *path, struct agent_settings *ret_settings, struct err *err);

/* Of that name; NULL: there is none. */
const struct settings_device *settings_find_device(const struct agent_settings *settings,
                                                   const char *name);

/* The settings combined with what this machine has. */
struct settings_resolved {
    const char *file;         /* the configuration itself: duopoly-task reads its part of it */
    struct ports_found ports; /* now */
    struct tunnels_found tunnels;
    uint64_t link_bps;       /* sum over a host's uplinks; 0: a switch, at its links' speeds */
    uint32_t gid;            /* of the commands' user */
    uint32_t frameworks_gid; /* of the group that may use the frameworks' socket */
    char cgroup[FILES_PATH], bpffs[FILES_PATH], program[FILES_PATH];
    char cgroup_mount[FILES_PATH]; /* of version 2; "": it is not mounted */
    uint16_t control_port;
    struct port_wish wish;
    struct mark_config marks; /* borrows ports, cgroup, bpffs here; driver and state of settings */
    duopoly_Resources units[SLOTS_UNITS];
    const char *unit_names[SLOTS_UNITS]; /* borrowed from the settings; "": none */
    uint32_t unit_devices[SLOTS_UNITS];  /* masks of `devices` */
    struct device devices[DEVICES_MAX];  /* in the order of the settings */
};

/* Finds the present ports. `all`: each name and pattern must match one. */
int settings_find_ports(const struct agent_settings *settings, bool all,
                        struct ports_found *ret_found, struct tunnels_found *ret_tunnels,
                        struct err *err);

/* The speed of a port's link, from the configuration or from the link; 0: unknown. `sock` as in
 * hostagent/queues/link_speed.h. */
uint64_t settings_port_bps(const struct settings_resolved *resolved, uint32_t port, int sock);

/* Finds ports, user, cgroup root and program; changes nothing. `settings`, `ret_resolved` and
 * `file` (the settings' path) must not move while marks are open. */
int settings_resolve(const struct agent_settings *settings, const char *file,
                     struct settings_resolved *ret_resolved, struct err *err);

/* The units by what `resolved->devices` say now: settings_resolve does it, and whoever has found
 * more of them. */
void settings_resolve_units(const struct agent_settings *settings,
                            struct settings_resolved *resolved);

/* The switch configuration for these settings; borrows both. Without `queues`: nothing of ours. */
struct switch_config settings_switch(const struct agent_settings *settings,
                                     const struct settings_resolved *resolved, bool replace);

/* Which processes are guests and what is done with them; borrows both. Without marks. */
struct guests_config settings_guests(const struct agent_settings *settings,
                                     const struct settings_resolved *resolved);

/* The routes that should use DCTCP; borrows both. Without members: none. */
struct routes_config settings_routes(const struct agent_settings *settings,
                                     const struct settings_resolved *resolved);
