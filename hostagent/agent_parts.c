#include "hostagent/agent_parts.h"

#include "hostagent/confinement.h"
#include "hostagent/frameworks/frameworks_relay.h"
#include "hostagent/guests/guest_socket.h"
#include "hostagent/guests/guests.h"
#include "hostagent/link_report.h"
#include "hostagent/own_address.h"
#include "hostagent/stance.h"
#include "hostagent/switch_links.h"
#include "hostagent/uplink/uplink_zmq.h"
#include "lib/address.h"
#include "lib/join.h"
#include "lib/log.h"
#include "lib/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

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

static void on_guests(void *user, const duopoly_GuestLevels *levels)
{
    const struct agent_parts *agent = user;
    for (pb_size_t i = 0; i < levels->levels_count; i++) {
        const duopoly_GuestLevel *one = &levels->levels[i];
        const struct guest_said said = {.name = one->name,
                                        .user = one->user,
                                        .level = one->level < MARK_LEVELS ? (uint8_t)one->level
                                                                          : MARK_UNMARKED,
                                        .vouched = one->vouched};
        guests_set_level(agent->guests, &said);
    }
}

static void on_guest_allows(void *user, const duopoly_GuestAllows *said)
{
    const struct agent_parts *agent = user;
    guests_allow(agent->guests, said);
}

/* Its inventory was sent. */
static void on_session(void *user)
{
    struct agent_parts *agent = user;
    link_report_forget(agent->link_report);
    disk_report_forget(&agent->disk_report);
    switch_links_forget(agent->switch_links);
    agent_tell_switch(agent);
}

static void on_looked(void *user)
{
    struct agent_parts *agent = user;
    agent->looked = true;
    agent_say_ports(agent);
}

int agent_open_lock(const char *state, int *ret_fd, struct err *err)
{
    char path[FILES_PATH];
    int r = files_make_dirs(state, 0755, err);
    if (r < 0)
        return r;
    files_path(path, AGENT_LOCK, state);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_sys(err, errno, "opening %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        close(fd);
        return err_set(err, EBUSY, "another duopoly-agent runs with the state directory %s", state);
    }
    *ret_fd = fd;
    return 0;
}

void agent_begun_path(const struct agent_parts *agent, char path[FILES_PATH])
{
    files_path(path, AGENT_BEGUN, agent->settings->state);
}

static int note_begun(struct agent_parts *agent, struct err *err)
{
    char path[FILES_PATH];
    agent_begun_path(agent, path);
    agent->succeeds = access(path, F_OK) == 0;
    return agent->succeeds ? 0 : files_write(path, "", 0, 0600, err);
}

struct tasks_config agent_tasks_config(const struct agent_parts *agent)
{
    const struct settings_resolved *resolved = agent->resolved;
    return (struct tasks_config){.state_dir = agent->settings->state,
                                 .starter = {.program = resolved->program,
                                             .file = resolved->file,
                                             .socket = agent->settings->tasks.starter},
                                 .cgroup = resolved->cgroup,
                                 .gid = resolved->gid,
                                 .units = resolved->units,
                                 .unit_names = resolved->unit_names,
                                 .unit_devices = resolved->unit_devices,
                                 .units_n = agent->settings->units_n,
                                 .devices = resolved->devices,
                                 .devices_n = agent->settings->devices_n,
                                 .commands = agent->settings->tasks.commands,
                                 .commands_n = agent->settings->tasks.commands_n,
                                 .marks = agent->marks,
                                 .measurements = agent->measurements,
                                 .counts_disk = agent->settings->disk_bytes_s > 0};
}

/* Only a host that receives has senders to nudge. */
static int open_marks(struct agent_parts *agent, struct err *err)
{
    const struct agent_settings *settings = agent->settings;
    const struct marks_nudging nudging = {.event = agent->event,
                                          .link_bps = agent->resolved->link_bps};
    agent->marking = true;
    agent->marks_config = agent->resolved->marks;
    agent->marks_config.reach = stance_reach(stance_kept(settings->state));
    if (!agent->switches)
        memset(agent->marks_config.class_of, 0, sizeof(agent->marks_config.class_of));
    return marks_open(&agent->marks_config,
                      settings->marks.nudge && agent_is_host(agent) ? &nudging : NULL,
                      &agent->marks, err);
}

static void join(char *text, size_t size, const char *between, const char *words)
{
    if (words[0])
        join_word(text, size, between, words);
}

void agent_say_host(struct agent_parts *agent)
{
    duopoly_HostState state = {.stance = stance_now(agent->stance)};
    join(state.text, sizeof(state.text), "; ", agent->probe_words);
    join(state.text, sizeof(state.text), "; ", agent->notice);
    if (state.stance == duopoly_Stance_STANCE_ENFORCE)
        join(state.text, sizeof(state.text), "; ", agent->troubles_words);
    join(state.text, sizeof(state.text), "; ", agent->devices_words);
    join(state.text, sizeof(state.text), "; ", agent->guests_words);
    join(state.text, sizeof(state.text), "; ", agent->tunnels_words);
    join(state.queues, sizeof(state.queues), ". ", agent->queues_words);
    join(state.queues, sizeof(state.queues), ". ", agent->routes_words);
    snprintf(state.marks, sizeof(state.marks), "%s%s", agent->probe_words[0] ? "passed by: " : "",
             marks_says(agent->marks));
    agent_say_units(agent, &state);
    if (agent->uplink)
        uplink_tell_host(agent->uplink, &state);
}

static void on_stance(void *user)
{
    struct agent_parts *agent = user;
    agent_set_routes(agent, stance_now(agent->stance) == duopoly_Stance_STANCE_ENFORCE);
    agent->notice[0] = 0;
    guard_reset(agent->guard);
    agent_say_ports(agent);
    guests_reach(agent->guests, stance_reach(stance_now(agent->stance)));
    agent_say_host(agent);
    agent_tell_switch(agent);
}

void agent_on_notice(void *user, const char *text)
{
    struct agent_parts *agent = user;
    snprintf(agent->notice, sizeof(agent->notice), "%s", text);
    agent_say_host(agent);
}

/* For connections beyond the kernel. */
static int open_fastpath(struct agent_parts *agent, struct err *err)
{
    struct mark_fastpath_config config = {
        .path = agent->settings->marks.dataplane, .on_notice = agent_on_notice, .user = agent};
    int r = config.path[0] ? marks_get_mode(agent->marks, &config.mode, err) : 0;
    if (r == 0 && config.path[0])
        r = mark_fastpath_open(&config, agent->event, &agent->fastpath, err);
    if (r == 0)
        marks_join(agent->marks, agent->fastpath);
    return r;
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
    const struct guard_config config = {.switches = agent->switches,
                                        .marks = agent->marks,
                                        .stance = agent->stance,
                                        .ports = &agent->resolved->ports,
                                        .tunnels = &agent->resolved->tunnels.ports,
                                        .repair = agent->settings->queues.on_change ==
                                                  SETTINGS_CHANGE_REPAIR,
                                        .on_notice = agent_on_notice,
                                        .on_links = agent_on_links,
                                        .on_looked = on_looked,
                                        .user = agent};
    return guard_open(&config, agent->event, &agent->guard, err);
}

static void on_probe(void *user, const char *text)
{
    struct agent_parts *agent = user;
    snprintf(agent->probe_words, sizeof(agent->probe_words), "%s", text);
    agent_say_host(agent);
}

static int open_probe(struct agent_parts *agent, struct err *err)
{
    const struct probe_config config = {.marks = agent->marks,
                                        .ports = &agent->resolved->ports,
                                        .on_change = on_probe,
                                        .user = agent};
    return probe_open(&config, agent->event, &agent->probe, err);
}

static int open_stance(struct agent_parts *agent, struct err *err)
{
    const struct stance_config config = {.state_dir = agent->settings->state,
                                         .switches = agent->switches,
                                         .marks = agent->marks,
                                         .on_change = on_stance,
                                         .user = agent};
    return stance_open(&config, agent->event, &agent->stance, err);
}

static int open_host(struct agent_parts *agent, struct err *err)
{
    const struct tasks_config config = agent_tasks_config(agent);
    const struct tasks_handler handler = {.on_state = on_state,
                                          .on_output_lost = on_output_lost,
                                          .on_source = on_source,
                                          .on_room = on_room,
                                          .user = agent};
    links_init(&agent->links, agent->resolved->link_bps);
    int r = tasks_open(&config, agent->event, &handler, &agent->tasks, err);
    if (r >= 0)
        tasks_set_devices(agent->tasks, &agent->devices_state);
    return r;
}

static void fill_hello(const struct agent_parts *agent, duopoly_Hello *hello)
{
    const struct agent_settings *settings = agent->settings;
    memcpy(hello->name, settings->name, sizeof(hello->name));
    memcpy(hello->rack, settings->rack, sizeof(hello->rack));
    memcpy(hello->address, settings->address, sizeof(hello->address));
    hello->role = (duopoly_Role)settings->role;
    hello->rack_bps = (uint64_t)settings->rack_uplink_bps;
    hello->disk_bytes_s = (uint64_t)settings->disk_bytes_s;
    hello->uplink_bps = hello->downlink_bps = agent->resolved->link_bps;
    agent_fill_units(agent, hello);
    for (uint32_t i = 0; i < settings->units_n; i++) {
        if (*settings->units[i].name)
            hello->unit_names_count = hello->units_count;
        memcpy(hello->unit_names[i], settings->units[i].name, sizeof(hello->unit_names[i]));
    }
    hello->labels_count = (pb_size_t)settings->labels_n;
    for (uint32_t i = 0; i < settings->labels_n; i++)
        memcpy(hello->labels[i], settings->labels[i].name, sizeof(hello->labels[i]));
}

static int on_own_address(void *user, const struct reach_address *controller,
                          uint8_t ret_address[16])
{
    const struct agent_parts *agent = user;
    return own_address_find(controller, agent->settings->link.uplink, &agent->resolved->ports,
                            ret_address);
}

static int open_uplink(struct agent_parts *agent, struct err *err)
{
    struct uplink_config config = {.controller = agent->settings->controller,
                                   .key_path = agent->settings->key,
                                   .state_dir = agent->settings->state,
                                   .marks = agent->marks,
                                   .links = agent_is_host(agent) ? &agent->links : NULL,
                                   .mark_lease_ns = (uint64_t)agent->settings->marks.lease_ns,
                                   .measurements = agent->measurements};
    config.on_stance = on_told;
    config.on_greeting = on_greeting;
    config.on_trial = on_trial;
    config.on_session = on_session;
    config.on_guests = on_guests;
    config.on_guest_allows = on_guest_allows;
    config.on_ask = agent_answer;
    config.hello.asks = agent_asks(agent);
    config.user = agent;
    fill_hello(agent, &config.hello);
    if (agent_is_host(agent) && address_useless(config.hello.address))
        config.own_address = on_own_address;
    int r = uplink_open(&config, agent->event, &agent->uplink, err);
    if (r >= 0)
        uplink_set_tasks(agent->uplink, agent->tasks);
    if (r >= 0)
        agent_say_host(agent);
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

static int open_guests(struct agent_parts *agent, struct err *err)
{
    struct guests_config config = settings_guests(agent->settings, agent->resolved);
    config.marks = agent->marks;
    int r = guests_open(&config, agent->event, &agent->guests, err);
    if (r < 0 || !agent->guests)
        return r;
    guests_reach(agent->guests, stance_reach(stance_now(agent->stance)));
    return agent->settings->guests.socket[0]
               ? guest_socket_open(agent->settings->guests.socket, agent->resolved->frameworks_gid,
                                   agent->guests, agent->event, &agent->guest_socket, err)
               : 0;
}

static void cgroup_note(const struct agent_parts *agent, char path[FILES_PATH])
{
    files_path(path, AGENT_CGROUP, agent->settings->state);
}

int agent_make_cgroup(const struct agent_parts *agent, struct err *err)
{
    char note[FILES_PATH];
    cgroup_note(agent, note);
    int r = access(agent->resolved->cgroup, F_OK) == 0 ? 0 : files_write(note, "", 0, 0600, err);
    return r < 0 ? r : files_make_dirs(agent->resolved->cgroup, 0755, err);
}

void agent_remove_cgroup(const struct agent_parts *agent)
{
    char note[FILES_PATH];
    cgroup_note(agent, note);
    if (access(note, F_OK) == 0 && (rmdir(agent->resolved->cgroup) == 0 || errno == ENOENT))
        unlink(note);
}

#define RELOAD                                                                                     \
    "`duopoly-agent --check` looks at it, `systemctl restart duopoly-agent` takes it (attempts "   \
    "run "                                                                                         \
    "on)"

static int open_lock(struct agent_parts *agent, struct err *err)
{
    return agent_open_lock(agent->settings->state, &agent->lock_fd, err);
}

static void close_lock(struct agent_parts *agent)
{
    if (agent->lock_fd >= 0)
        close(agent->lock_fd);
}

static int open_measurements(struct agent_parts *agent, struct err *err)
{
    return measurements_open(agent->settings->measurements, &agent->measurements, err);
}

static void close_measurements(struct agent_parts *agent)
{
    measurements_close(agent->measurements);
}

static int open_loop(struct agent_parts *agent, struct err *err)
{
    int r = loop_open(&agent->event, err);
    return r < 0 ? r : loop_say_reload(agent->event, RELOAD, err);
}

static void close_loop(struct agent_parts *agent)
{
    sd_event_unref(agent->event);
}

static void close_sampler(struct agent_parts *agent)
{
    sd_event_source_disable_unref(agent->sampler);
}

static int open_queues(struct agent_parts *agent, struct err *err)
{
    int r = agent_leave_former(agent, err);
    if (r >= 0)
        r = agent_open_queues(agent, agent->replace, err);
    if (r >= 0)
        r = note_begun(agent, err);
    return r < 0 ? r : agent_set_queues(agent, err);
}

static void close_queues(struct agent_parts *agent)
{
    switches_close(agent->switches);
}

static int open_routes(struct agent_parts *agent, struct err *err)
{
    (void)err;
    agent_set_routes(agent, stance_kept(agent->settings->state) == duopoly_Stance_STANCE_ENFORCE);
    return 0;
}

static int open_cgroup(struct agent_parts *agent, struct err *err)
{
    return agent_make_cgroup(agent, err);
}

static void close_marks(struct agent_parts *agent)
{
    marks_close(agent->marks);
    mark_fastpath_close(agent->fastpath); /* WHY after them: they borrow it */
}

/* libbpf opens / for a map that it takes over: not before the marks. */
static int limit_files(struct agent_parts *agent, struct err *err)
{
    return confinement_limit_agent_files(agent->settings, agent->resolved, err);
}

static void close_stance(struct agent_parts *agent)
{
    stance_close(agent->stance);
}

static void close_guard(struct agent_parts *agent)
{
    guard_close(agent->guard);
}

static void close_probe(struct agent_parts *agent)
{
    probe_close(agent->probe);
}

static int open_links(struct agent_parts *agent, struct err *err)
{
    int r = agent_open_links(agent, err);
    if (r < 0)
        return r;
    agent_say_tunnels(agent);
    return agent->switches ? switch_links_open(agent->switches, &agent->switch_links, err) : 0;
}

static void close_links(struct agent_parts *agent)
{
    link_report_close(agent->link_report);
    switch_links_close(agent->switch_links);
    links_nl_close(agent->links_nl);
}

static void close_host(struct agent_parts *agent)
{
    tasks_close(agent->tasks);
}

static void close_devices(struct agent_parts *agent)
{
    device_watch_close(agent->devices);
}

static void close_uplink(struct agent_parts *agent)
{
    agent_close_asked(agent);
    uplink_close(agent->uplink);
}

static void close_frameworks(struct agent_parts *agent)
{
    frameworks_relay_close(agent->frameworks);
}

static void close_guests(struct agent_parts *agent)
{
    guest_socket_close(agent->guest_socket);
    guests_close(agent->guests);
}

static int limit_calls(struct agent_parts *agent, struct err *err)
{
    (void)agent;
    return confinement_limit_agent_calls(err);
}

enum whose { OF_ALL, OF_HOSTS };

/* In the order in which they need each other. `close` also takes a part that was not opened; NULL:
 * the part outlives us, or there is nothing to close. */
static const struct part {
    enum whose whose;
    int (*open)(struct agent_parts *agent, struct err *err);
    void (*close)(struct agent_parts *agent);
} parts[] = {
    {OF_ALL, open_lock, close_lock},
    {OF_ALL, open_measurements, close_measurements},
    {OF_ALL, open_loop, close_loop},
    {OF_ALL, agent_open_sampler, close_sampler},
    {OF_ALL, open_queues, close_queues},
    {OF_ALL, open_routes, NULL},
    {OF_HOSTS, open_cgroup, NULL},
    {OF_ALL, open_marks, close_marks},
    {OF_ALL, open_fastpath, NULL},
    {OF_HOSTS, agent_open_devices, close_devices}, /* forks: not confined, and without threads */
    {OF_HOSTS, agent_open_disk, agent_close_disk},
    {OF_ALL, limit_files, NULL},
    {OF_ALL, open_stance, close_stance},
    {OF_ALL, open_guard, close_guard},
    {OF_ALL, open_probe, close_probe},
    {OF_ALL, open_links, close_links},
    {OF_HOSTS, open_host, close_host},
    {OF_ALL, open_uplink, close_uplink},
    {OF_ALL, open_frameworks, close_frameworks},
    {OF_HOSTS, open_guests, close_guests},
    {OF_ALL, limit_calls, NULL},
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

int agent_open_parts(struct agent_parts *agent, struct err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < PARTS; i++)
        if (parts[i].whose == OF_ALL || agent_is_host(agent))
            r = parts[i].open(agent, err);
    return r;
}

void agent_close_parts(struct agent_parts *agent)
{
    for (size_t i = PARTS; i-- > 0;)
        if (parts[i].close)
            parts[i].close(agent);
}
