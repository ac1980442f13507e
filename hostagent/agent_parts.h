/* What the agent's files share: its parts, and the functions that open, watch and close them. For
 * agent.c, agent_parts.c, agent_asked.c, agent_devices.c, agent_disk.c, agent_ports.c and
 * agent_samples.c only. */
#pragma once

#include "hostagent/agent.h"
#include "hostagent/devices/device_watch.h"
#include "hostagent/disk/disk_watch.h"
#include "hostagent/files.h"
#include "hostagent/flow_rates.h"
#include "hostagent/guard.h"
#include "hostagent/guests/guests.h"
#include "hostagent/links/links_nl.h"
#include "hostagent/marks/probe.h"
#include "hostagent/report.h"
#include "hostagent/tasks/tasks.h"

#define AGENT_ASKED 16 /* at most: others are answered without a rate */

/* Questions whose answers wait for a rate. */
struct agent_asked {
    sd_event_source *ripe; /* owned; NULL: none ever waited */
    struct flow_rates rates;
    uint32_t n;
    duopoly_Ask asks[AGENT_ASKED];
};

struct agent_parts {
    const struct agent_settings *settings;
    struct settings_resolved *resolved;
    int lock_fd;
    bool marking;  /* marks were begun, so they can be undone */
    bool replace;  /* replace what others put on our ports */
    bool succeeds; /* an earlier agent left queues and marks, which stay if we fail */
    sd_event *event;
    sd_event_source *sampler;
    struct measurements *measurements;
    struct switches *switches; /* NULL: the queues are not ours */
    struct marks *marks;
    struct mark_config marks_config;
    struct mark_fastpath *fastpath; /* NULL: there is none */
    struct stance *stance;
    struct guard *guard;
    struct report report;    /* of a switch */
    bool looked;             /* the guard has looked since the last report */
    char notice[GUARD_TEXT]; /* the last change by others */
    char queues_words[sizeof(((duopoly_HostState *)0)->queues)], routes_words[100];
    char tunnels_words[200];          /* which tunnels do not work */
    char guests_words[GUESTS_HIDDEN]; /* why others' executors are not found */
    struct probe *probe;              /* NULL: the mark driver counts no packets */
    char probe_words[PROBE_TEXT];     /* where packets bypass our programs */
    char troubles_words[200];         /* which ports lack what is wished, and why */
    char lacks[128];                  /* as last logged */
    struct device_watch *devices;     /* of a host */
    struct devices_state devices_state;
    char devices_words[DEVICE_WHY]; /* which are not there, and why */
    struct disk_watch *disk_watch;  /* NULL: nobody looks at what the disk does */
    struct disk_report disk_report; /* disk_bytes_s 0: the disk is not told of */
    struct tasks *tasks;
    struct links_nl *links_nl; /* of the ports; NULL: there are none */
    struct links links;        /* of a host */
    struct link_report *link_report;
    struct switch_links *switch_links; /* NULL: the driver does not count */
    struct uplink *uplink;
    struct frameworks_relay *frameworks; /* NULL: drivers are not served here */
    struct guests *guests;               /* NULL: guests are not managed */
    struct guest_socket *guest_socket;   /* NULL: guests do not register themselves */
    uint64_t samples;
    struct mark_stats stats;
    struct agent_asked asked;
};

static inline bool agent_is_host(const struct agent_parts *agent)
{
    return agent->settings->role == duopoly_Role_ROLE_HOST;
}

/* ---- all parts (agent_parts.c) ---- */

/* In the order in which they need each other. On failure close_parts closes what is open. */
int agent_open_parts(struct agent_parts *agent, struct err *err);
/* In reverse order; skips parts that are not open. */
void agent_close_parts(struct agent_parts *agent);

/* −EBUSY: another agent runs with that directory. */
int agent_open_lock(const char *state, int *ret_fd, struct err *err);
/* The file that marks the host as changed. */
void agent_begun_path(const struct agent_parts *agent, char path[FILES_PATH]);
struct tasks_config agent_tasks_config(const struct agent_parts *agent);
/* The cgroup of attempts; it stays while some run, or if it was there before us. */
int agent_make_cgroup(const struct agent_parts *agent, struct err *err);
void agent_remove_cgroup(const struct agent_parts *agent);
/* Reports to the controller, in one sentence, others' changes or what could not be done. */
void agent_on_notice(void *user, const char *text);
void agent_say_host(struct agent_parts *agent); /* reports the host's state, once there is an
                                                 * uplink */

/* ---- its ports, their queues, marks and routes (agent_ports.c) ---- */

/* Ports come and go while the agent runs: call this after each change of an interface. 0; −EAGAIN:
 * look again later. */
int agent_on_links(void *user);
/* Logs and reports which ports lack what is wished, if that has changed. */
void agent_say_ports(struct agent_parts *agent);
/* Reports which tunnels do not work, if that has changed. */
void agent_say_tunnels(struct agent_parts *agent);
/* Opens the counters of the present ports. */
int agent_open_links(struct agent_parts *agent, struct err *err);
int agent_open_queues(struct agent_parts *agent, bool replace, struct err *err);
/* Sets the queues that the stance allows: an earlier agent may have been allowed more. */
int agent_set_queues(struct agent_parts *agent, struct err *err);
/* A failure only means that DCTCP is not used. */
void agent_set_routes(struct agent_parts *agent, bool enforce);
/* Undoes what an earlier agent left on ports that are not ours. */
int agent_leave_former(struct agent_parts *agent, struct err *err);

/* ---- a host's devices (agent_devices.c) ---- */

int agent_open_devices(struct agent_parts *agent, struct err *err);
/* What the units have now: nothing where a device is not usable. */
void agent_fill_units(const struct agent_parts *agent, duopoly_Hello *hello);
/* How units hand out which devices, for people. */
void agent_say_units(const struct agent_parts *agent, duopoly_HostState *state);

/* ---- a host's disk (agent_disk.c) ---- */

int agent_open_disk(struct agent_parts *agent, struct err *err);
void agent_close_disk(struct agent_parts *agent);
/* `due`: with the usual report; else only after a task began or ended. True: what is asked of the
 * disk, or whether it hangs, is to be told at once. */
bool agent_look_at_disk(struct agent_parts *agent, bool due);
/* Adds to a report what is news of the disk. */
void agent_tell_disk(struct agent_parts *agent, duopoly_Load *load);

/* ---- what is told when it is asked (agent_asked.c) ---- */

/* The questions that it answers: a bit for each AskOf. */
uint32_t agent_asks(const struct agent_parts *agent);
void agent_answer(void *user, const duopoly_Ask *ask);
/* Those that wait are not answered. */
void agent_close_asked(struct agent_parts *agent);

/* ---- periodic samples and reports (agent_samples.c) ---- */

/* It starts with the event loop. */
int agent_open_sampler(struct agent_parts *agent, struct err *err);
/* Reports a switch's ports as they are now. */
void agent_tell_switch(void *user);
