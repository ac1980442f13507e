/* What the agent's files share: its parts, and who opens, watches and closes them. For agent.c,
 * agent_parts.c, agent_ports.c and agent_samples.c alone. */
#pragma once

#include "hostagent/agent.h"
#include "hostagent/files.h"
#include "hostagent/guard.h"
#include "hostagent/guests/guests.h"
#include "hostagent/links/links_nl.h"
#include "hostagent/marks/probe.h"
#include "hostagent/report.h"
#include "hostagent/tasks/tasks.h"

struct agent_parts {
    const struct agent_settings *settings;
    struct settings_resolved *resolved;
    int lock_fd;
    bool marking;  /* marks were begun, so they can be taken back */
    bool replace;  /* what somebody else put on our ports */
    bool succeeds; /* an agent before us left queues and marks, which go on if we cannot */
    sd_event *event;
    sd_event_source *sampler;
    struct measurements *measurements;
    struct switches *queues; /* NULL: they are not ours */
    struct marks *marks;
    struct mark_config marks_config;
    struct mark_plane *plane; /* NULL: there is none */
    struct stance *stance;
    struct guard *guard;
    struct report report;    /* of a switch */
    bool looked;             /* the guard did, after the last report */
    char notice[GUARD_TEXT]; /* what somebody else changed last */
    char queues_words[sizeof(((duopoly_HostState *)0)->queues)], routes_words[100];
    char tunnels_words[200];          /* what of tunnels does not work */
    char guests_words[GUESTS_HIDDEN]; /* why others' executors are not found */
    struct probe *probe;              /* NULL: the mark driver counts none */
    char probe_words[PROBE_TEXT];     /* where packets pass our programs by */
    char troubles_words[200];         /* which ports have not what is wished, and why */
    char lacks[128];                  /* as it was logged last */
    struct tasks *tasks;
    struct links_nl *links_nl; /* of the ports; NULL: there are none */
    struct links links;        /* of a host */
    struct link_report *link_report;
    struct switch_links *switch_links; /* NULL: its driver does not count */
    struct uplink *uplink;
    struct frameworks_relay *frameworks; /* NULL: drivers are not served here */
    struct guests *guests;               /* NULL: they are not looked for */
    struct guest_socket *guest_socket;   /* NULL: they do not speak for themselves */
    uint64_t samples;
    struct mark_stats stats;
};

static inline bool agent_is_host(const struct agent_parts *agent)
{
    return agent->settings->role == duopoly_Role_ROLE_HOST;
}

/* ---- all parts (agent_parts.c) ---- */

/* In the order in which they need each other. On failure close_parts puts away what is open. */
int agent_open_parts(struct agent_parts *agent, struct err *err);
/* The other way round; takes some that are not open. */
void agent_close_parts(struct agent_parts *agent);

/* −EBUSY: another agent runs with that directory. */
int agent_open_lock(const char *state, int *ret_fd, struct err *err);
/* Where it stands that something of the host is changed. */
void agent_begun_path(const struct agent_parts *agent, char path[FILES_PATH]);
struct tasks_config agent_tasks_config(const struct agent_parts *agent);
/* Of attempts; it stays while some run, and where it was before us. */
int agent_make_cgroup(const struct agent_parts *agent, struct err *err);
void agent_remove_cgroup(const struct agent_parts *agent);
/* Tells the controller in one sentence what somebody else changed, or what could not be done. */
void agent_on_notice(void *user, const char *text);
void agent_say_host(struct agent_parts *agent); /* its state, once there is an uplink */

/* ---- its ports, their queues, marks and routes (agent_ports.c) ---- */

/* They come and go while it runs: to be called after each change of an interface. 0; −EAGAIN: look again later. */
int agent_on_links(void *user);
/* Logs and tells which of the ports have not got what is wished, when that is something else. */
void agent_say_ports(struct agent_parts *agent);
/* Tells what of the tunnels that there are now does not work, when that is something else. */
void agent_say_tunnels(struct agent_parts *agent);
/* Counters of the ports that there are now. */
int agent_open_links(struct agent_parts *agent, struct err *err);
int agent_open_queues(struct agent_parts *agent, bool replace, struct err *err);
/* What the stance leaves to us: an agent before us may have been allowed more. */
int agent_set_queues(struct agent_parts *agent, struct err *err);
/* Failing costs what DCTCP is good for, and nothing else. */
void agent_set_routes(struct agent_parts *agent, bool enforce);
/* Takes back what an agent before us left on ports that are not ours. */
int agent_leave_former(struct agent_parts *agent, struct err *err);

/* ---- what is measured and told again and again (agent_samples.c) ---- */

/* Begins with the event loop. */
int agent_open_sampler(struct agent_parts *agent, struct err *err);
/* A switch's ports, as they are now. */
void agent_tell_switch(void *user);
