#include "hostagent/guests/guests_parts.h"
#include "lib/invariant.h"
#include "lib/log.h"
#include "lib/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct guest_application *application_find(struct guests *guests, const char *name,
                                                  uid_t user)
{
    for (int i = 0; i < GUESTS_APPLICATIONS; i++) {
        struct guest_application *application = &guests->applications[i];
        if (application->guests_n && application->user == user &&
            strcmp(application->name, name) == 0)
            return application;
    }
    return NULL;
}

/* Whether another of `all` is left for who has `own` of them. WHY twice as many as are left, at
 * most: whatever one user starts, others' are found. */
static bool is_left(uint32_t own, uint32_t all, uint32_t most)
{
    return all < most && own < 2 * (most - all);
}

static bool application_is_left(const struct guests *guests, uid_t user)
{
    uint32_t own = 0, all = 0;
    for (int i = 0; i < GUESTS_APPLICATIONS; i++)
        if (guests->applications[i].guests_n) {
            own += guests->applications[i].user == user;
            all++;
        }
    return is_left(own, all, GUESTS_APPLICATIONS);
}

static bool guest_is_left(const struct guests *guests, uid_t user)
{
    uint32_t own = 0;
    for (const struct guest *guest = guests->table; guest; guest = guest->hh.next)
        own += guest->application->user == user;
    return is_left(own, HASH_COUNT(guests->table), GUESTS_MAX);
}

static bool is_user(const struct guests_config *config, uid_t user)
{
    for (uint32_t i = 0; i < config->users_n; i++)
        if (config->users[i] == user)
            return true;
    return false;
}

/* NULL: no place for another one. */
static struct guest_application *application_get(struct guests *guests, const char *name,
                                                 uid_t user)
{
    struct guest_application *application = application_find(guests, name, user);
    if (!application && !application_is_left(guests, user))
        return NULL;
    for (int i = 0; !application && i < GUESTS_APPLICATIONS; i++)
        if (!guests->applications[i].guests_n) {
            application = &guests->applications[i];
            *application = (struct guest_application){
                .user = user, .level = MARK_UNMARKED, .configured = is_user(&guests->config, user)};
            wire_copy(application->name, sizeof(application->name), name);
        }
    return application;
}

struct guest *guests_find(struct guests *guests, pid_t pid)
{
    struct guest *guest;
    HASH_FIND(hh, guests->table, &pid, sizeof(pid), guest);
    return guest;
}

static void guest_free(struct guest *guest)
{
    HASH_DEL(guest->guests->table, guest);
    assert(guest->application->guests_n > 0);
    guest->application->guests_n--;
    guest_close(guest);
    free(guest);
}

static void guest_drop(struct guest *guest)
{
    guest_leave(guest);
    guest_free(guest);
}

static int on_end(sd_event_source *source, int fd, uint32_t revents, void *user)
{
    struct guest *guest = user;
    (void)source, (void)fd, (void)revents;
    log_note("process %d, executor %s of %s, has ended", (int)guest->process.pid,
             guest->line.executor, guest->application->name);
    guest_drop(guest);
    return 0;
}

/* Opens a descriptor of this very process: its number may have been reused before that. */
static int guest_hold(struct guest *guest)
{
    guest->pidfd = (int)syscall(SYS_pidfd_open, guest->process.pid, 0);
    if (guest->pidfd < 0)
        return -errno;
    if (process_start(guest->process.pid) != guest->process.start)
        return -ESRCH;
    return sd_event_add_io(guest->guests->event, &guest->end, guest->pidfd, EPOLLIN, on_end, guest);
}

static struct guest *guest_add(struct guests *guests, const struct process *process,
                               const struct executor_line *line)
{
    struct guest_application *application =
        guest_is_left(guests, process->user)
            ? application_get(guests, line->application, process->user)
            : NULL;
    struct guest *guest = application ? calloc(1, sizeof(*guest)) : NULL;
    if (!guest)
        return NULL;
    guest->guests = guests;
    guest->application = application;
    guest->process = *process;
    guest->line = *line;
    guest->pidfd = guest->counter = -1;
    application->guests_n++;
    HASH_ADD(hh, guests->table, process.pid, sizeof(guest->process.pid), guest);
    return guest;
}

/* WHY: what an executor starts has the executor's command line for a moment; its starter may have
 * it for good. */
static bool is_below_another(struct guests *guests, const struct process *process,
                             const struct executor_line *line)
{
    const struct guest *above = guests_find(guests, process->parent);
    return above && strcmp(above->line.application, line->application) == 0 &&
           strcmp(above->line.executor, line->executor) == 0;
}

static bool is_below(const char *path, const char *top)
{
    size_t n = strlen(top);
    return strncmp(path, top, n) == 0 && (!path[n] || path[n] == '/');
}

void guests_take(struct guests *guests, const struct process *process,
                 const struct executor_line *line)
{
    char path[FILES_PATH];
    files_path(path, "%s%s", guests->root, process->cgroup);
    if (is_below(path, guests->config.cgroup) || is_below_another(guests, process, line))
        return;
    struct guest *guest = guest_add(guests, process, line);
    if (!guest) {
        guests->left_out++;
        return;
    }
    if (guest_hold(guest) < 0) {
        guest_free(guest);
        return;
    }
    guest_settle(guest);
    log_note("process %d is executor %s of %s, %s%s", (int)process->pid, line->executor,
             line->application, guest->marked ? "marked" : "observed: ", guest->why);
}

/* WHY: what starts it may have its command line too, until it changes user or executes another
 * program. */
static bool is_same(const struct guest *guest, const struct process *process,
                    const struct executor_line *line)
{
    return guest->process.start == process->start && guest->process.user == process->user &&
           guest->process.elsewhere == process->elsewhere &&
           strcmp(guest->line.application, line->application) == 0 &&
           strcmp(guest->line.executor, line->executor) == 0;
}

/* In the cgroup where we left it, and still alone there if it was. */
static bool is_in_place(const struct guest *guest, const struct process *process)
{
    if (!guest->cgroup[0])
        return strcmp(process->cgroup, guest->process.cgroup) == 0;
    return strcmp(process->cgroup, guest->cgroup + strlen(guest->guests->root)) == 0 &&
           guest_owns_cgroup(guest);
}

static bool is_known(struct guests *guests, const struct process *process,
                     const struct executor_line *line)
{
    struct guest *guest = guests_find(guests, process->pid);
    if (!guest)
        return false;
    if (is_same(guest, process, line) && (process->elsewhere || is_in_place(guest, process)))
        return true;
    guest_drop(guest);
    return false;
}

void guests_look_at(struct guests *guests, pid_t pid)
{
    struct executor_line line;
    struct process process;
    ssize_t n = process_line(pid, guests->buffer, EXECUTOR_LINE_MOST);
    int r = n <= 0 ? -ENOENT : executor_line_parse(guests->buffer, (size_t)n, &line);
    guests->malformed += r == -EINVAL;
    if (r >= 0 && process_look(pid, &process) >= 0 && !is_known(guests, &process, &line))
        guests_take(guests, &process, &line);
}

static void on_process(void *user, pid_t pid)
{
    guests_look_at(user, pid);
}

static bool is_used(const struct guests *guests, const char *path)
{
    for (const struct guest *guest = guests->table; guest; guest = guest->hh.next)
        if (strcmp(guest->cgroup, path) == 0)
            return true;
    return false;
}

/* Releases cgroups of processes that are gone. */
static void unused_leave(struct guests *guests)
{
    for (uint32_t i = guests->cgroups.n; i-- > 0;) {
        const struct guest_cgroup cgroup = guests->cgroups.all[i];
        if (is_used(guests, cgroup.path))
            continue;
        marks_forget_task(guests->config.marks, cgroup.id, NULL);
        guest_cgroup_leave(&guests->cgroups, cgroup.path, NULL);
    }
}

static void rescan(struct guests *guests)
{
    struct err err = {0};
    process_others_seen(&err);
    wire_copy(guests->hidden, sizeof(guests->hidden), err.text);
    process_each(on_process, guests);
    unused_leave(guests);
}

static void on_lost(void *user)
{
    rescan(user);
}

static int on_rescan(sd_event_source *source, uint64_t usec, void *user)
{
    struct guests *guests = user;
    (void)usec;
    rescan(guests);
    uint64_t period_ns = guests->events ? GUESTS_RESCAN_NS : guests->config.rescan_ns;
    sd_event_source_set_time_relative(source, period_ns / 1000);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int finding_begin(struct guests *guests, struct err *err)
{
    const struct process_events_handler handler = {on_process, on_lost, guests};
    struct err why = {0};
    if (process_events_open(guests->event, &handler, &guests->events, &why) < 0)
        log_note("guests are looked for every %.1f s: %s", (double)guests->config.rescan_ns / 1e9,
                 why.text);
    int r = sd_event_add_time_relative(guests->event, &guests->rescan, CLOCK_MONOTONIC, 0, 1000,
                                       on_rescan, guests);
    return r < 0 ? err_sys(err, -r, "looking for guests") : 0;
}

/* Guests that a former agent was allowed to mark. */
static int marked_leave(const struct guests_config *config, struct err *err)
{
    static struct guest_cgroups before;
    int r = guest_cgroups_read(config->state_dir, &before, err);
    for (uint32_t i = 0; r >= 0 && i < before.n; i++)
        r = marks_forget_task(config->marks, before.all[i].id, err);
    return r < 0 ? r : guests_restore(config->state_dir, err);
}

int guests_open(const struct guests_config *config, sd_event *event, struct guests **ret_guests,
                struct err *err)
{
    *ret_guests = NULL;
    int r = config->rung != GUESTS_MARK ? marked_leave(config, err) : 0;
    if (r < 0 || config->rung == GUESTS_OFF)
        return r;
    if (!config->root[0])
        return err_set(err, ENOENT,
                       "guests.rung needs cgroups of version 2, which are mounted nowhere");
    struct guests *guests = calloc(1, sizeof(*guests));
    if (!guests)
        return err_sys(err, ENOMEM, "guests");
    guests->config = *config;
    guests->event = event;
    guests->reach = MARK_REACH_QUEUES;
    files_path(guests->root, "%s", config->root);
    guests->buffer = malloc(EXECUTOR_LINE_MOST);
    r = guests->buffer ? guest_cgroups_read(config->state_dir, &guests->cgroups, err)
                       : err_sys(err, ENOMEM, "guests");
    if (r >= 0)
        r = finding_begin(guests, err);
    if (r < 0) {
        guests_close(guests);
        return r;
    }
    *ret_guests = guests;
    return 0;
}

void guests_close(struct guests *guests)
{
    struct guest *guest, *next;
    if (!guests)
        return;
    process_events_close(guests->events);
    sd_event_source_disable_unref(guests->rescan);
    HASH_ITER (hh, guests->table, guest, next)
        guest_free(guest);
    free(guests->buffer);
    free(guests);
}

const char *guests_hidden(const struct guests *guests)
{
    return guests->hidden;
}

int guests_restore(const char *state_dir, struct err *err)
{
    return guest_cgroups_leave(state_dir, err);
}

int guests_plan(const struct guests_config *config, struct changes *changes, struct err *err)
{
    static struct guest_cgroups cgroups;
    int r = guest_cgroups_read(config->state_dir, &cgroups, err);
    for (uint32_t i = 0; r >= 0 && config->rung != GUESTS_MARK && i < cgroups.n; i++)
        if (cgroups.all[i].made)
            r = changes_tell(changes, CHANGE_REMOVE, "cgroup", cgroups.all[i].path, err,
                             "a guest goes back to where it was");
    return r;
}

void guests_reach(struct guests *guests, enum mark_reach reach)
{
    if (!guests)
        return;
    guests->reach = reach;
    for (struct guest *guest = guests->table; guest; guest = guest->hh.next)
        guest_settle(guest);
}

void guests_set_level(struct guests *guests, const struct guest_said *said)
{
    struct guest_application *application =
        guests ? application_find(guests, said->name, said->user) : NULL;
    if (!application ||
        (application->level == said->level && application->vouched == said->vouched))
        return;
    application->level = said->level;
    application->vouched = said->vouched;
    for (struct guest *guest = guests->table; guest; guest = guest->hh.next)
        if (guest->application == application)
            guest_settle(guest);
}
