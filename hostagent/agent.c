#include "hostagent/agent.h"

#include "hostagent/agent_parts.h"
#include "hostagent/guests/guests.h"
#include "hostagent/stance.h"
#include "lib/log.h"
#include "lib/plural.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

/* Removes marks and queues in the reverse order of their installation: the kernel finds the last
 * ones at once among the filter blocks of all ports (flow_indr_dev_setup_offload), all others only
 * after a long search. Returns the first failure, after doing the rest. */
static int take_back(struct agent_parts *agent, struct err *err)
{
    int r = agent->marking ? marks_remove(&agent->resolved->marks, err) : 0;
    int other = agent->switches ? switches_restore(agent->switches, r < 0 ? NULL : err) : 0;
    int routes = routes_restore(agent->settings->state, r < 0 || other < 0 ? NULL : err);
    r = r < 0 ? r : routes;
    int guests = guests_restore(agent->settings->state, r < 0 || other < 0 ? NULL : err);
    r = r < 0 ? r : guests;
    char path[FILES_PATH];
    if (agent_is_host(agent))
        agent_remove_cgroup(agent);
    agent_begun_path(agent, path);
    if (r >= 0 && other >= 0)
        unlink(path);
    return r < 0 ? r : other;
}

static void say_begin(const struct agent_parts *agent)
{
    const struct agent_settings *settings = agent->settings;
    char ports[320];
    snprintf(ports, sizeof(ports), "%u port%s", agent->resolved->ports.n,
             plural(agent->resolved->ports.n));
    if (agent->switches)
        switches_names(agent->switches, ports, sizeof(ports));
    log_note("%s manages %s; controller %s", settings->name, ports, settings->controller);
}

int agent_run(const struct agent_settings *settings, struct settings_resolved *resolved,
              bool replace, struct err *err)
{
    struct agent_parts agent = {
        .settings = settings, .resolved = resolved, .lock_fd = -1, .replace = replace};
    int r = agent_open_parts(&agent, err);
    bool failed = r < 0, locked = agent.lock_fd >= 0;
    if (!failed) {
        say_begin(&agent);
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
    agent_close_parts(&agent);
    return r < 0 ? r : 0;
}

/* Removes what a former agent left: its marks, then its queues. */
static int lower(struct agent_parts *agent, duopoly_Stance stance, struct err *err)
{
    char begun[FILES_PATH];
    agent_begun_path(agent, begun);
    if (access(begun, F_OK) < 0 || stance == duopoly_Stance_STANCE_ENFORCE)
        return 0;
    agent->marks_config = agent->resolved->marks;
    agent->marks_config.reach = stance_reach(stance);
    int r = agent_is_host(agent) ? agent_make_cgroup(agent, err) : 0;
    if (r >= 0)
        r = marks_open(&agent->marks_config, NULL, &agent->marks, err);
    if (r >= 0)
        r = agent_open_queues(agent, true, err);
    if (r >= 0 && agent->switches)
        r = switches_restore(agent->switches, err);
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
    r = agent_open_lock(settings->state, &agent.lock_fd, err);
    r = r == -EBUSY ? stance_wait(settings->state, stance, err)
        : r < 0     ? r
                    : lower(&agent, stance, err);
    agent_close_parts(&agent);
    return r;
}

/* Unfinished files of files_write, after an agent was killed. */
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
    int r = agent_open_lock(settings->state, &agent.lock_fd, err);
    if (r >= 0)
        r = agent_leave_former(&agent, err);
    if (r >= 0)
        r = agent_open_queues(&agent, true, err);
    if (r >= 0)
        r = take_back(&agent, err);
    if (r >= 0 && agent_is_host(&agent)) {
        const struct tasks_config config = agent_tasks_config(&agent);
        r = tasks_remove(&config, err);
        agent_remove_cgroup(&agent);
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
    agent_close_parts(&agent);
    return r;
}
