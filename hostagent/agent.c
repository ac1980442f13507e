#include "hostagent/agent.h"

#include "hostagent/fence.h"
#include "hostagent/frameworks/frameworks_relay.h"
#include "hostagent/guard.h"
#include "hostagent/link_report.h"
#include "hostagent/links/links_nl.h"
#include "hostagent/marks/tc_bpf.h"
#include "hostagent/report.h"
#include "hostagent/stance.h"
#include "hostagent/switch_links.h"
#include "hostagent/uplink/uplink_zmq.h"
#include "lib/log.h"
#include "lib/loop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

/* Of what is done in samples. */
#define REPORT_MS   100
#define COUNTERS_MS 2000
#define SWITCH_MS   500 /* all its ports are looked at: not after each change */

struct agent_parts {
    const struct agent_settings *settings;
    struct settings_resolved *resolved;
    int lock_fd;
    bool marking;  /* marks were begun, so they can be taken back */
    bool succeeds; /* an agent before us left queues and marks, which go on if we cannot */
    sd_event *event;
    sd_event_source *sampler;
    struct measurements *measurements;
    struct switches *queues; /* NULL: they are not ours */
    struct marks *marks;
    struct mark_config marks_config;
    struct stance *stance;
    struct guard *guard;
    struct report report;    /* of a switch */
    bool looked;             /* the guard did, after the last report */
    char notice[GUARD_TEXT]; /* what somebody else changed last */
    char queues_words[sizeof(((duopoly_HostState *)0)->queues)], routes_words[100];
    struct tasks *tasks;
    struct links_nl *links_nl; /* of the ports; NULL: there are none */
    struct links links;        /* of a host */
    struct link_report *link_report;
    struct switch_links *switch_links; /* NULL: its driver does not count */
    struct uplink *uplink;
    struct frameworks_relay *frameworks; /* NULL: drivers are not served here */
    uint64_t samples;
    struct mark_stats stats;
};

static bool is_host(const struct agent_parts *agent)
{
    return agent->settings->role == duopoly_Role_ROLE_HOST;
}

static void on_state(void *user, const duopoly_AttemptState *state)
{
    struct agent_parts *agent = user;
    if (agent->uplink)
        uplink_tell_state(agent->uplink, state);
}

static void on_source(void *user, const duopoly_SourceState *source)
{
    struct agent_parts *agent = user;
    if (agent->uplink)
        uplink_tell_source(agent->uplink, source);
}

static void on_output_lost(void *user, const duopoly_OutputLost *lost)
{
    struct agent_parts *agent = user;
    if (agent->uplink)
        uplink_tell_output_lost(agent->uplink, lost);
}

static void on_room(void *user, const char *why_not)
{
    struct agent_parts *agent = user;
    if (*why_not)
        log_warning(LOG_FAULT_CONFIGURATION, "nothing is started: %s", why_not);
    else
        log_note("there is room for attempts again");
    if (agent->uplink)
        uplink_tell_room(agent->uplink, why_not);
}

static void on_bytes(void *user, uint64_t attempt, uint64_t bytes)
{
    struct agent_parts *agent = user;
    uplink_report_bytes(agent->uplink, attempt, bytes);
}

/* A host's load is looked at often, since it decides; each link's use now and then. */
static uint32_t sample_ms(const struct agent_parts *agent)
{
    return is_host(agent) ? LINKS_SAMPLE_MS : REPORT_MS;
}

static bool is_due(const struct agent_parts *agent, uint32_t every_ms)
{
    return agent->samples % (every_ms / sample_ms(agent)) == 0;
}

static void report_load(struct agent_parts *agent)
{
    const struct links_sample sample = links_nl_sum(agent->links_nl);
    struct links_use use = links_add(&agent->links, &sample);
    if (!use.crossed && !is_due(agent, REPORT_MS))
        return;
    const duopoly_Load load = {.uplink_permille = use.up_permille,
                               .downlink_permille = use.down_permille,
                               .uplink_users = agent->stats.senders,
                               .downlink_users = agent->stats.receivers};
    uplink_report_load(agent->uplink, &load);
}

static void sample_links(struct agent_parts *agent)
{
    bool all = is_due(agent, REPORT_MS);
    if (all)
        switch_links_sample(agent->switch_links, agent->uplink);
    if (!agent->links_nl || links_nl_read(agent->links_nl, NULL) < 0)
        return;
    if (is_host(agent))
        report_load(agent);
    if (all)
        link_report_add(agent->link_report, links_nl_at_ns(agent->links_nl),
                        links_nl_counters(agent->links_nl), agent->uplink);
}

static void report_counters(struct agent_parts *agent)
{
    struct uplink_counters wire;
    duopoly_AgentCounters counters = duopoly_AgentCounters_init_zero;
    struct nudge_counters nudges;
    struct switch_stats queues = {0};
    struct err err = {0};
    if (marks_stats(agent->marks, &agent->stats, &err) < 0)
        log_error(LOG_FAULT_US, "%s", err.text);
    if (agent->queues)
        switches_stats(agent->queues, &queues, NULL);
    uplink_count(agent->uplink, &wire);
    marks_count_nudges(agent->marks, &nudges);
    counters.marked_bytes_count = MARK_LEVELS;
    memcpy(counters.marked_bytes, agent->stats.marked_bytes, sizeof(agent->stats.marked_bytes));
    counters.queue_drops_count = PORT_TRAFFIC;
    for (int traffic = 0; traffic < PORT_TRAFFIC; traffic++)
        counters.queue_drops[traffic] = queues.traffic[traffic].drops;
    counters.unmarked_bytes = agent->stats.unmarked_bytes;
    counters.followed_flows = agent->stats.followed_flows;
    counters.evictions = agent->stats.evictions;
    counters.shared_connections = agent->stats.shared_connections;
    counters.lease_expiries = agent->stats.lease_expiries;
    counters.refused_messages = wire.refused_messages;
    counters.ignored_messages = wire.ignored_messages;
    counters.dropped_reports = wire.dropped_reports;
    counters.nudged_connections = nudges.connections;
    counters.nudge_acknowledgements = nudges.acknowledgements;
    counters.nudge_unreachables = nudges.unreachables;
    counters.nudge_left_out = nudges.left_out;
    counters.nudge_failures = nudges.failures;
    uplink_report_counters(agent->uplink, &counters);
}

static void tell_switch(void *user)
{
    struct agent_parts *agent = user;
    agent->looked = false;
    if (agent->uplink && agent->queues && !is_host(agent))
        report_tell(&agent->report, agent->queues, &agent->resolved->wish,
                    stance_trial_s(agent->stance), agent->uplink);
}

/* Its inventory is told. */
static void on_session(void *user)
{
    struct agent_parts *agent = user;
    link_report_forget(agent->link_report);
    switch_links_forget(agent->switch_links);
    tell_switch(agent);
}

static void on_looked(void *user)
{
    struct agent_parts *agent = user;
    agent->looked = true;
}

static int on_sample(sd_event_source *source, uint64_t usec, void *arg)
{
    struct agent_parts *agent = arg;
    uint64_t now;
    agent->samples++;
    sample_links(agent);
    if (agent->tasks && is_due(agent, REPORT_MS)) {
        tasks_tick(agent->tasks, on_bytes, agent);
        uplink_flush(agent->uplink);
    }
    if (is_due(agent, COUNTERS_MS))
        report_counters(agent);
    if (agent->looked && is_due(agent, SWITCH_MS))
        tell_switch(agent);
    sd_event_now(agent->event, CLOCK_MONOTONIC, &now);
    uint64_t period = sample_ms(agent) * UINT64_C(1000), next = usec + period;
    sd_event_source_set_time(source, next > now ? next : now + period);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int open_lock(const char *state, int *ret_fd, struct err *err)
{
    char path[FILES_PATH];
    int r = files_make_dirs(state, 0755, err);
    if (r < 0)
        return r;
    files_path(path, AGENT_LOCK, state);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(err, errno, "opening %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        close(fd);
        return err_set(err, EBUSY, "another duopoly-agent runs with the state directory %s", state);
    }
    *ret_fd = fd;
    return 0;
}

static void begun_path(const struct agent_parts *agent, char path[FILES_PATH])
{
    files_path(path, AGENT_BEGUN, agent->settings->state);
}

static int note_begun(struct agent_parts *agent, struct err *err)
{
    char path[FILES_PATH];
    begun_path(agent, path);
    agent->succeeds = access(path, F_OK) == 0;
    return agent->succeeds ? 0 : files_write(path, "", 0, 0600, err);
}

static int open_queues(struct agent_parts *agent, bool replace, struct err *err)
{
    const struct switch_config config = settings_switch(agent->settings, agent->resolved, replace);
    return config.queues ? switches_open(switch_find(agent->settings->switch_settings.driver),
                                         &config, &agent->queues, err)
                         : 0;
}

static int open_loop(struct agent_parts *agent, struct err *err)
{
    int r = loop_open(&agent->event, err);
    if (r < 0)
        return r;
    r = sd_event_add_time_relative(agent->event, &agent->sampler, CLOCK_MONOTONIC,
                                   sample_ms(agent) * UINT64_C(1000), 1000, on_sample, agent);
    return r < 0 ? err_sys(err, -r, "the event loop") : 0;
}

static struct tasks_config tasks_config_of(const struct agent_parts *agent)
{
    const struct settings_resolved *resolved = agent->resolved;
    return (struct tasks_config){.state_dir = agent->settings->state,
                                 .starter = {.program = resolved->program,
                                             .file = resolved->file,
                                             .socket = agent->settings->tasks.starter},
                                 .cgroup = resolved->cgroup,
                                 .gid = resolved->gid,
                                 .units = resolved->units,
                                 .units_n = agent->settings->units_n,
                                 .commands = agent->settings->tasks.commands,
                                 .commands_n = agent->settings->tasks.commands_n,
                                 .marks = agent->marks,
                                 .measurements = agent->measurements};
}

/* Only who receives has somebody to nudge. */
static int open_marks(struct agent_parts *agent, struct err *err)
{
    const struct agent_settings *settings = agent->settings;
    const struct marks_nudging nudging = {.event = agent->event,
                                          .link_bps = agent->resolved->link_bps};
    agent->marking = true;
    agent->marks_config = agent->resolved->marks;
    agent->marks_config.reach = stance_reach(stance_kept(settings->state));
    if (!agent->queues)
        memset(agent->marks_config.class_of, 0, sizeof(agent->marks_config.class_of));
    return marks_open(&agent->marks_config,
                      settings->marks.nudge && is_host(agent) ? &nudging : NULL, &agent->marks,
                      err);
}

static void tell_host(struct agent_parts *agent)
{
    duopoly_HostState state = {.stance = stance_now(agent->stance)};
    memcpy(state.text, agent->notice, sizeof(agent->notice));
    memcpy(state.queues, agent->queues_words, sizeof(state.queues));
    size_t said = strlen(state.queues);
    if (agent->routes_words[0])
        snprintf(state.queues + said, sizeof(state.queues) - said, "%s%s", said ? ". " : "",
                 agent->routes_words);
    snprintf(state.marks, sizeof(state.marks), "%s", marks_says(agent->marks));
    if (agent->uplink)
        uplink_tell_host(agent->uplink, &state);
}

/* Failing costs what DCTCP is good for, and nothing else. */
static void set_routes(struct agent_parts *agent, bool enforce)
{
    const struct routes_config config = settings_routes(agent->settings, agent->resolved);
    struct err err = {0};
    uint32_t n = 0;
    bool wanted = config.members_n && enforce;
    int r = wanted ? routes_apply(&config, &n, &err) : routes_restore(config.state_dir, &err);
    agent->routes_words[0] = 0;
    if (r < 0) {
        log_warning(LOG_FAULT_CONFIGURATION, "%s", err.text);
        snprintf(agent->routes_words, sizeof(agent->routes_words), "no DCTCP: %.80s", err.text);
    } else if (wanted)
        snprintf(agent->routes_words, sizeof(agent->routes_words), "DCTCP by %u routes", n);
}

static void on_stance(void *user)
{
    struct agent_parts *agent = user;
    set_routes(agent, stance_now(agent->stance) == duopoly_Stance_STANCE_ENFORCE);
    agent->notice[0] = 0;
    guard_reset(agent->guard);
    tell_host(agent);
    tell_switch(agent);
}

static void on_notice(void *user, const char *text)
{
    struct agent_parts *agent = user;
    snprintf(agent->notice, sizeof(agent->notice), "%s", text);
    tell_host(agent);
}

static void on_refused_port(void *user, const char *text)
{
    log_warning(LOG_FAULT_CONFIGURATION, "%s", text);
    on_notice(user, text);
}

/* Marks of a port that is ours from now on, or not any more. */
static void set_marks(struct agent_parts *agent, const char *port, bool ours)
{
    struct err err = {0};
    if (marks_port(agent->marks, port, ours, &err) < 0)
        log_error(LOG_FAULT_US, "%s", err.text);
    log_note(ours ? "%s is a port of ours now" : "%s is no port of ours any more", port);
}

/* Of the ports that there are now. */
static int open_links(struct agent_parts *agent, struct err *err)
{
    const struct ports_found *ports = &agent->resolved->ports;
    link_report_close(agent->link_report);
    links_nl_close(agent->links_nl);
    agent->links_nl = NULL;
    int r = link_report_open_resolved(agent->resolved, &agent->link_report, err);
    return r < 0 || !ports->n ? r
                              : links_nl_open(ports->ifindexes, ports->n, &agent->links_nl, err);
}

static bool has_port(const struct ports_found *ports, const struct ports_found *others, uint32_t i)
{
    int place = ports_place(ports, others->ifindexes[i]);
    return place >= 0 && strcmp(ports->names[place], others->names[i]) == 0;
}

static void follow_names(const struct agent_parts *agent, const struct ports_found *found,
                         struct ports_found *ports)
{
    char now[IF_NAMESIZE];
    for (uint32_t i = 0; i < ports->n; i++) {
        int place = ports_place(found, ports->ifindexes[i]);
        if (place >= 0)
            memcpy(now, found->names[place], sizeof(now));
        else if (!if_indextoname((unsigned)ports->ifindexes[i], now))
            continue;
        if (strcmp(now, ports->names[i]) == 0)
            continue;
        tc_bpf_rename(agent->settings->state, ports->names[i], now);
        memcpy(ports->names[i], now, PORT_NAME);
    }
}

/* Something about an interface has changed: perhaps it is a port of ours now, or not any more. */
static int on_links(void *user)
{
    static struct ports_found before, now;
    struct agent_parts *agent = user;
    struct settings_resolved *resolved = agent->resolved;
    struct err err = {0};
    int r = settings_find_ports(agent->settings, false, &now, &err);
    if (r == -ENODEV)
        now.n = 0; /* the bridge is gone */
    else if (r < 0) {
        if (r != -EAGAIN)
            log_error(LOG_FAULT_US, "%s", err.text);
        return r;
    }
    before = resolved->ports;
    resolved->ports = now;
    resolved->marks.ports_n = agent->marks_config.ports_n = now.n;
    bool enforce = stance_now(agent->stance) == duopoly_Stance_STANCE_ENFORCE;
    if (agent->queues)
        switches_follow(agent->queues, &now, enforce, on_refused_port, agent);
    if (open_links(agent, &err) < 0)
        log_error(LOG_FAULT_US, "%s", err.text);
    follow_names(agent, &now, &before);
    for (uint32_t i = 0; i < before.n; i++)
        if (!has_port(&now, &before, i))
            set_marks(agent, before.names[i], false);
    for (uint32_t i = 0; i < now.n; i++)
        if (!has_port(&before, &now, i))
            set_marks(agent, now.names[i], true);
    set_routes(agent, enforce); /* the kernel makes new ones for an interface that is up again */
    return 0;
}

static void on_told(void *user, duopoly_Stance told)
{
    struct agent_parts *agent = user;
    stance_tell(agent->stance, told);
}

static void on_greeting(void *user, duopoly_Stance told)
{
    struct agent_parts *agent = user;
    stance_greet(agent->stance, told);
}

static void on_trial(void *user, duopoly_Stance tried, uint32_t confirm_s)
{
    struct agent_parts *agent = user;
    stance_try(agent->stance, tried, confirm_s);
}

static int open_guard(struct agent_parts *agent, struct err *err)
{
    const struct guard_config config = {.queues = agent->queues,
                                        .marks = agent->marks,
                                        .stance = agent->stance,
                                        .ports = &agent->resolved->ports,
                                        .repair = agent->settings->queues.on_change ==
                                                  SETTINGS_CHANGE_REPAIR,
                                        .on_notice = on_notice,
                                        .on_links = on_links,
                                        .on_looked = on_looked,
                                        .user = agent};
    return guard_open(&config, agent->event, &agent->guard, err);
}

static int open_stance(struct agent_parts *agent, struct err *err)
{
    const struct stance_config config = {.state_dir = agent->settings->state,
                                         .queues = agent->queues,
                                         .marks = agent->marks,
                                         .on_change = on_stance,
                                         .user = agent};
    return stance_open(&config, agent->event, &agent->stance, err);
}

/* What the stance leaves to us: an agent before us may have been allowed more. */
static int set_queues(struct agent_parts *agent, struct err *err)
{
    if (!agent->queues)
        return 0;
    int r = stance_kept(agent->settings->state) == duopoly_Stance_STANCE_ENFORCE
                ? switches_apply(agent->queues, err)
                : switches_restore(agent->queues, err);
    if (r < 0 && r != -ENOSYS)
        return r;
    switches_say(agent->queues, agent->queues_words, sizeof(agent->queues_words));
    log_note("queues: %s", agent->queues_words);
    if (r >= 0)
        return 0;
    switches_close(agent->queues); /* none are good for these ports: marks go on alone */
    agent->queues = NULL;
    return 0;
}

static int open_host(struct agent_parts *agent, struct err *err)
{
    const struct tasks_config config = tasks_config_of(agent);
    const struct tasks_handler handler = {.on_state = on_state,
                                          .on_output_lost = on_output_lost,
                                          .on_source = on_source,
                                          .on_room = on_room,
                                          .user = agent};
    links_init(&agent->links, agent->resolved->link_bps);
    return tasks_open(&config, agent->event, &handler, &agent->tasks, err);
}

static void fill_hello(const struct agent_parts *agent, duopoly_Hello *hello)
{
    const struct agent_settings *settings = agent->settings;
    memcpy(hello->name, settings->name, sizeof(hello->name));
    memcpy(hello->rack, settings->rack, sizeof(hello->rack));
    memcpy(hello->address, settings->address.address, sizeof(hello->address));
    hello->role = (duopoly_Role)settings->role;
    hello->uplink_bps = hello->downlink_bps = agent->resolved->link_bps;
    hello->units_count = (pb_size_t)settings->units_n;
    memcpy(hello->units, agent->resolved->units, settings->units_n * sizeof(hello->units[0]));
    hello->labels_count = (pb_size_t)settings->labels_n;
    for (uint32_t i = 0; i < settings->labels_n; i++)
        memcpy(hello->labels[i], settings->labels[i].name, sizeof(hello->labels[i]));
}

static int open_uplink(struct agent_parts *agent, struct err *err)
{
    struct uplink_config config = {.controller = agent->settings->controller,
                                   .key_path = agent->settings->key,
                                   .state_dir = agent->settings->state,
                                   .marks = agent->marks,
                                   .links = is_host(agent) ? &agent->links : NULL,
                                   .mark_lease_ns = (uint64_t)agent->settings->marks.lease_ns,
                                   .measurements = agent->measurements};
    config.on_stance = on_told;
    config.on_greeting = on_greeting;
    config.on_trial = on_trial;
    config.on_session = on_session;
    config.user = agent;
    fill_hello(agent, &config.hello);
    int r = uplink_open(&config, agent->event, &agent->uplink, err);
    if (r >= 0)
        uplink_set_tasks(agent->uplink, agent->tasks);
    if (r >= 0)
        tell_host(agent);
    return r;
}

static int open_frameworks(struct agent_parts *agent, struct err *err)
{
    const struct settings_frameworks *settings = &agent->settings->frameworks;
    const struct frameworks_relay_config config = {.socket = settings->socket,
                                                   .group = agent->resolved->frameworks_gid,
                                                   .controller = agent->settings->controller,
                                                   .key_path = settings->key};
    return settings->socket[0]
               ? frameworks_relay_open(&config, agent->event, &agent->frameworks, err)
               : 0;
}

static void cgroup_note(const struct agent_parts *agent, char path[FILES_PATH])
{
    files_path(path, AGENT_CGROUP, agent->settings->state);
}

static int make_cgroup(const struct agent_parts *agent, struct err *err)
{
    char note[FILES_PATH];
    cgroup_note(agent, note);
    int r = access(agent->resolved->cgroup, F_OK) == 0 ? 0 : files_write(note, "", 0, 0600, err);
    return r < 0 ? r : files_make_dirs(agent->resolved->cgroup, 0755, err);
}

/* Stays while attempts run, and where it was before us. */
static void remove_cgroup(const struct agent_parts *agent)
{
    char note[FILES_PATH];
    cgroup_note(agent, note);
    if (access(note, F_OK) == 0 && (rmdir(agent->resolved->cgroup) == 0 || errno == ENOENT))
        unlink(note);
}

/* Ports of which something is kept, by the names of its files, and that are none of ours now: an
 * agent before us had another configuration. */
static void add_former(const struct agent_parts *agent, const char *file, const char *name,
                       struct ports_found *ports)
{
    int ifindex = (int)if_nametoindex(name);
    char path[FILES_PATH];
    files_path(path, "%.250s/%.255s", agent->settings->state, file);
    if (!ifindex)
        unlink(path); /* it is gone, with all that was on it */
    if (!ifindex || ports->n == QUEUES_PORTS ||
        ports_place(&agent->resolved->ports, ifindex) >= 0 || ports_place(ports, ifindex) >= 0)
        return;
    ports_add(ports, ifindex, name);
}

static void find_former(const struct agent_parts *agent, struct ports_found *ret_ports)
{
    static const char *const words[] = {"queues-", "putting-", "clsact-"};
    DIR *dir = opendir(agent->settings->state);
    ret_ports->n = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            const char *name = entry->d_name + strlen(words[i]);
            if (strncmp(entry->d_name, words[i], strlen(words[i])) == 0)
                add_former(agent, entry->d_name, name, ret_ports);
        }
    if (dir)
        closedir(dir);
}

/* Takes back what an agent before us left on ports that are not ours. */
static int leave_former(struct agent_parts *agent, struct err *err)
{
    static struct ports_found former;
    struct settings_resolved *resolved = agent->resolved;
    struct agent_parts other = {.settings = agent->settings, .resolved = resolved};
    find_former(agent, &former);
    if (!former.n)
        return 0;
    const struct ports_found ours = resolved->ports;
    resolved->ports = former;
    resolved->marks.ports_n = former.n;
    int r = open_queues(&other, false, err);
    if (r >= 0 && other.queues)
        r = switches_restore(other.queues, err);
    switches_close(other.queues);
    for (uint32_t i = 0; i < former.n; i++) {
        int detached = tc_bpf_detach(agent->settings->state, former.names[i], r < 0 ? NULL : err);
        r = r < 0 ? r : detached;
    }
    resolved->ports = ours;
    resolved->marks.ports_n = ours.n;
    return r;
}

static int open_parts(struct agent_parts *agent, bool replace, struct err *err)
{
    int r = open_lock(agent->settings->state, &agent->lock_fd, err);
    if (r >= 0)
        r = measurements_open(agent->settings->measurements, &agent->measurements, err);
    if (r >= 0)
        r = open_loop(agent, err);
    if (r >= 0)
        r = leave_former(agent, err);
    if (r >= 0)
        r = open_queues(agent, replace, err);
    if (r >= 0)
        r = note_begun(agent, err);
    if (r >= 0)
        r = set_queues(agent, err);
    if (r >= 0)
        set_routes(agent, stance_kept(agent->settings->state) == duopoly_Stance_STANCE_ENFORCE);
    if (r >= 0 && is_host(agent))
        r = make_cgroup(agent, err);
    if (r >= 0)
        r = open_marks(agent, err);
    if (r >= 0) /* libbpf opens / for a map that it takes over */
        r = fence_agent_files(agent->settings, agent->resolved, err);
    if (r >= 0)
        r = open_stance(agent, err);
    if (r >= 0)
        r = open_guard(agent, err);
    if (r >= 0)
        r = open_links(agent, err);
    if (r >= 0 && agent->queues)
        r = switch_links_open(agent->queues, &agent->switch_links, err);
    if (r >= 0 && is_host(agent))
        r = open_host(agent, err);
    if (r >= 0)
        r = open_uplink(agent, err);
    if (r >= 0)
        r = open_frameworks(agent, err);
    return r < 0 ? r : fence_agent_calls(err);
}

static void close_parts(struct agent_parts *agent)
{
    frameworks_relay_close(agent->frameworks);
    uplink_close(agent->uplink);
    tasks_close(agent->tasks);
    guard_close(agent->guard);
    stance_close(agent->stance);
    link_report_close(agent->link_report);
    switch_links_close(agent->switch_links);
    links_nl_close(agent->links_nl);
    marks_close(agent->marks);
    switches_close(agent->queues);
    sd_event_source_disable_unref(agent->sampler);
    sd_event_unref(agent->event);
    measurements_close(agent->measurements);
    if (agent->lock_fd >= 0)
        close(agent->lock_fd);
}

/* Marks and queues as they were, the other way round than they came: the kernel finds what came last at once among the
 * filter blocks of all ports (flow_indr_dev_setup_offload), and all others after a long search. The first failure is
 * told, the rest done all the same. */
static int take_back(struct agent_parts *agent, struct err *err)
{
    int r = agent->marking ? marks_remove(&agent->resolved->marks, err) : 0;
    int other = agent->queues ? switches_restore(agent->queues, r < 0 ? NULL : err) : 0;
    int routes = routes_restore(agent->settings->state, r < 0 || other < 0 ? NULL : err);
    r = r < 0 ? r : routes;
    char path[FILES_PATH];
    if (is_host(agent))
        remove_cgroup(agent);
    begun_path(agent, path);
    if (r >= 0 && other >= 0)
        unlink(path);
    return r < 0 ? r : other;
}

int agent_run(const struct agent_settings *settings, struct settings_resolved *resolved,
              bool replace, struct err *err)
{
    struct agent_parts agent = {.settings = settings, .resolved = resolved, .lock_fd = -1};
    int r = open_parts(&agent, replace, err);
    bool failed = r < 0, locked = agent.lock_fd >= 0;
    if (!failed) {
        log_note("%s manages %u ports; controller %s", settings->name, resolved->ports.n,
                 settings->controller);
        sd_notify(0, "READY=1");
        r = sd_event_loop(agent.event);
        if (r < 0)
            err_sys(err, -r, "the event loop");
        sd_notify(0, "STOPPING=1");
    }
    if (locked && (failed ? !agent.succeeds : settings->on_exit == SETTINGS_EXIT_RESTORE)) {
        int other = take_back(&agent, failed ? NULL : err);
        r = r < 0 ? r : other;
    }
    close_parts(&agent);
    return r < 0 ? r : 0;
}

/* What an agent left that is gone: its marks, then its queues. */
static int lower(struct agent_parts *agent, duopoly_Stance stance, struct err *err)
{
    char begun[FILES_PATH];
    begun_path(agent, begun);
    if (access(begun, F_OK) < 0 || stance == duopoly_Stance_STANCE_ENFORCE)
        return 0;
    agent->marks_config = agent->resolved->marks;
    agent->marks_config.reach = stance_reach(stance);
    int r = is_host(agent) ? make_cgroup(agent, err) : 0;
    if (r >= 0)
        r = marks_open(&agent->marks_config, NULL, &agent->marks, err);
    if (r >= 0)
        r = open_queues(agent, true, err);
    if (r >= 0 && agent->queues)
        r = switches_restore(agent->queues, err);
    return r < 0 ? r : routes_restore(agent->settings->state, err);
}

int agent_take_stance(const struct agent_settings *settings, struct settings_resolved *resolved,
                      const char *word, struct err *err)
{
    struct agent_parts agent = {.settings = settings, .resolved = resolved, .lock_fd = -1};
    duopoly_Stance stance;
    int r = stance_say(settings->state, word, &stance, err);
    if (r < 0)
        return r;
    r = open_lock(settings->state, &agent.lock_fd, err);
    r = r == -EBUSY ? stance_wait(settings->state, stance, err)
        : r < 0     ? r
                    : lower(&agent, stance, err);
    close_parts(&agent);
    return r;
}

/* What files_write had not finished when an agent was killed. */
static void remove_halves(const char *state)
{
    DIR *dir = opendir(state);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        const char *dot = strrchr(entry->d_name, '.');
        char path[FILES_PATH];
        files_path(path, "%.250s/%.255s", state, entry->d_name);
        if (dot && strcmp(dot, ".new") == 0)
            unlink(path);
    }
    closedir(dir);
}

int agent_restore(const struct agent_settings *settings, struct settings_resolved *resolved,
                  struct err *err)
{
    struct agent_parts agent = {
        .settings = settings, .resolved = resolved, .lock_fd = -1, .marking = true};
    char path[FILES_PATH];
    int r = open_lock(settings->state, &agent.lock_fd, err);
    if (r >= 0)
        r = leave_former(&agent, err);
    if (r >= 0)
        r = open_queues(&agent, true, err);
    if (r >= 0)
        r = take_back(&agent, err);
    if (r >= 0 && is_host(&agent)) {
        const struct tasks_config config = tasks_config_of(&agent);
        r = tasks_remove(&config, err);
        remove_cgroup(&agent);
    }
    if (r >= 0) {
        remove_halves(settings->state);
        static const char *const kept[] = {"epoch", "stance", "stance-told", "stance-now"};
        for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
            files_path(path, "%s/%s", settings->state, kept[i]);
            unlink(path);
        }
        files_path(path, AGENT_LOCK, settings->state);
        unlink(path);
        rmdir(settings->state);
    }
    close_parts(&agent);
    return r;
}
