#include "hostagent/guests/guests_parts.h"
#include "lib/log.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LATE_S 5 /* older than this, it may have connections already */

__attribute__((format(printf, 2, 3))) static void not_marked(struct guest *guest,
                                                             const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(guest->why, sizeof(guest->why), format, arguments);
    va_end(arguments);
}

static void not_marked_either(struct guest *guest, const char *why)
{
    size_t said = strlen(guest->why);
    snprintf(guest->why + said, sizeof(guest->why) - said, "; %s", why);
}

/* Whether it may be marked; if not, why. */
static bool is_allowed(struct guest *guest)
{
    const struct guests *guests = guest->guests;
    const struct passwd *user;
    if (guest->process.elsewhere)
        not_marked(guest, "it has a network of its own");
    else if (guests->config.rung != GUESTS_MARK)
        not_marked(guest, "guests.rung is observe");
    else if (!guest->application->configured && !guest->application->vouched)
        not_marked(guest, "its user %s is not in guests.users, and runs no driver of it",
                   (user = getpwuid(guest->process.user)) ? user->pw_name : "without a name");
    else if (guests->reach == MARK_REACH_NOTHING)
        not_marked(guest, "the host's stance is observe");
    else
        guest->why[0] = 0;
    return !guest->why[0];
}

static void own_cgroup_make(struct guest *guest, const char *shared)
{
    struct guests *guests = guest->guests;
    struct err err = {0};
    double age_s = process_age_s(&guest->process);
    if (guest_cgroup_make(&guests->cgroups, shared, &guest->process, guest->cgroup, &err) < 0) {
        not_marked(guest, "%.150s", err.text);
        return;
    }
    log_note("process %d of %s shared its cgroup, and has one of its own now: %s",
             (int)guest->process.pid, guest->application->name, guest->cgroup);
    if (age_s > LATE_S)
        log_warning(LOG_FAULT_CONFIGURATION,
                    "process %d of %s was found %.0f s after its start: connections that it has "
                    "by now stay unmarked",
                    (int)guest->process.pid, guest->application->name, age_s);
}

static bool owns(const struct guest *guest, const char *path)
{
    const struct guests *guests = guest->guests;
    return guest_cgroup_is_made(&guests->cgroups, path) ||
           (!guest_cgroup_was_shared(&guests->cgroups, path) &&
            guest_cgroup_is_own(guests->root, path, guest->process.pid));
}

bool guest_owns_cgroup(const struct guest *guest)
{
    return owns(guest, guest->cgroup);
}

static void own_cgroup_find(struct guest *guest, bool may_make)
{
    struct guests *guests = guest->guests;
    char path[FILES_PATH];
    struct err err = {0};
    files_path(path, "%s%s", guests->root,
               strcmp(guest->process.cgroup, "/") == 0 ? "" : guest->process.cgroup);
    guest->inherited = guest_cgroup_is_used(&guests->cgroups, path);
    if (owns(guest, path))
        memcpy(guest->cgroup, path, sizeof(path));
    else if (may_make)
        own_cgroup_make(guest, path);
    if (!guest->cgroup[0])
        return;
    if (guest_cgroup_keep(&guests->cgroups, guest->cgroup, &err) >= 0)
        guest->cgroup_id = guest_cgroup_id(guest->cgroup);
    else
        not_marked(guest, "%.150s", err.text);
}

struct guest_task_levels guest_levels(const struct guest *guest)
{
    const uint8_t level = guest->application->level;
    const struct guest_task_levels levels = guest_tasks_levels(&guest->tasks);
    return levels.coflow == MARK_UNMARKED ? (struct guest_task_levels){level, level} : levels;
}

/* Until the controller sets its level, the one that an earlier agent was given counts. */
static bool is_told_later(const struct guest *guest)
{
    return guest->marked && guest->inherited && guest_levels(guest).coflow == MARK_UNMARKED;
}

void guest_mark(struct guest *guest)
{
    const struct guest_task_levels wanted =
        guest->marked ? guest_levels(guest)
                      : (struct guest_task_levels){MARK_UNMARKED, MARK_UNMARKED};
    const struct mark_task_levels levels = {
        .cgroup = guest->cgroup_id, .coflow = wanted.coflow, .macroflow = wanted.macroflow};
    struct err err = {0};
    if (guest->counter < 0 || is_told_later(guest) ||
        marks_set_levels(guest->guests->config.marks, &levels, 1, &err) >= 0)
        return;
    guest->marked = false;
    not_marked(guest, "%.150s", err.text);
}

uint64_t guest_bytes(struct guest *guest)
{
    uint64_t bytes;
    if (guest->counter >= 0 &&
        marks_received(guest->guests->config.marks, guest->cgroup_id, &bytes, NULL) >= 0)
        guest->bytes = guest->before_bytes + bytes;
    return guest->bytes;
}

static void counting_begin(struct guest *guest)
{
    struct err err = {0};
    guest->before_bytes = guest->bytes;
    if (marks_count_other(guest->guests->config.marks, guest->cgroup, &guest->counter, &err) < 0)
        not_marked(guest, "%.150s", err.text);
}

void guest_settle(struct guest *guest)
{
    bool allowed = is_allowed(guest);
    if (guest->process.elsewhere)
        return;
    if (!guest->cgroup_id)
        own_cgroup_find(guest, allowed);
    if (!guest->cgroup[0] && guest->process.closed)
        not_marked_either(guest, "it shares its cgroup, and only root may look at its sockets: "
                                 "no bytes are counted");
    else if (!guest->cgroup[0] && !allowed)
        not_marked_either(
            guest, "it shares its cgroup, so its bytes are read of its sockets now and then");
    if (guest->cgroup_id && guest->counter < 0)
        counting_begin(guest);
    guest->marked = allowed && guest->counter >= 0;
    guest_mark(guest);
}

void guest_close(struct guest *guest)
{
    guest_tasks_done(&guest->tasks);
    guest_sockets_done(&guest->sockets);
    guest->end = sd_event_source_disable_unref(guest->end);
    if (guest->counter >= 0)
        close(guest->counter);
    if (guest->pidfd >= 0)
        close(guest->pidfd);
    guest->counter = guest->pidfd = -1;
}

void guest_leave(struct guest *guest)
{
    struct guests *guests = guest->guests;
    struct err err = {0};
    if (guest->cgroup_id) {
        guest_bytes(guest);
        marks_forget_task(guests->config.marks, guest->cgroup_id, NULL);
    }
    guest_tasks_clear(&guest->tasks, guest->bytes);
    guest->application->gone_bytes += guest->bytes;
    guest->application->tasks += guest->tasks.begun;
    guest->application->tasks_unknown += guest->tasks.unknown;
    guest->application->shared_bytes += guest->tasks.shared_bytes;
    guest_close(guest);
    if (guest->cgroup[0] && guest_cgroup_leave(&guests->cgroups, guest->cgroup, &err) < 0)
        log_error(LOG_FAULT_US, "%s", err.text);
}
