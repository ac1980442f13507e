/* Guests that announce themselves (guest_socket.h), and the controller's allows for their tasks. */
#include "hostagent/guests/guests_parts.h"
#include "lib/now.h"
#include "lib/wire.h"

#include <errno.h>
#include <string.h>

static struct guest *guest_of(struct guests *guests, const struct guest_id *id)
{
    struct guest *guest = guests_find(guests, id->pid);
    return guest && guest->process.start == id->start ? guest : NULL;
}

/* Its command line counts first: other programs can verify that. */
static struct guest *guest_get(struct guests *guests, pid_t pid, const struct executor_line *line)
{
    struct process process;
    guests_look_at(guests, pid);
    if (!guests_find(guests, pid) && process_look(pid, &process) >= 0)
        guests_take(guests, &process, line);
    return guests_find(guests, pid);
}

int guests_announce(struct guests *guests, pid_t pid, const struct executor_line *line,
                    struct guest_id *ret_id, const char **ret_why_not, struct err *err)
{
    const struct guest *guest = guest_get(guests, pid, line);
    if (!guest)
        return err_set(err, ENOENT, "process %d can be no guest here", (int)pid);
    if (strcmp(guest->line.application, line->application) != 0)
        return err_set(err, EPERM, "process %d is an executor of %s, not of %s", (int)pid,
                       guest->line.application, line->application);
    *ret_id = (struct guest_id){.pid = pid, .start = guest->process.start};
    *ret_why_not = guest->why;
    return 0;
}

static void task_begin(struct guest *guest, const duopoly_GuestTask *task, duopoly_GuestMark *mark)
{
    struct guest_allows *allows = &guest->application->allows;
    struct guest_task_levels levels = {MARK_UNMARKED, MARK_UNMARKED};
    struct guest_allow allow = {0};
    const uint64_t now = now_ns(CLOCK_MONOTONIC);
    mark->known = guest_allows_use(allows, task, now, &allow);
    if (mark->known)
        levels = (struct guest_task_levels){allow.coflow, allow.macroflow};
    if (guest_allows_awaited(allows, task->attempt, now, &levels.coflow, &levels.macroflow))
        mark->known = true;
    if (guest_tasks_begin(&guest->tasks, task, allow.allow, levels, guest_bytes(guest)) < 0) {
        guest->application->tasks_unknown++; /* too many of its own: its application's level */
        mark->known = false;
    }
    mark->shared = guest->tasks.n > 1;
}

static void task_end(struct guest *guest, const duopoly_GuestTask *task, duopoly_GuestMark *mark)
{
    struct guest_running ended;
    uint64_t bytes = guest_bytes(guest);
    if (!guest_tasks_end(&guest->tasks, task->attempt, bytes, &ended))
        return;
    mark->known = ended.levels.coflow != MARK_UNMARKED;
    mark->received_bytes = bytes - ended.begin_bytes;
    mark->shared = ended.shared;
}

bool guests_task(struct guests *guests, const struct guest_id *id, const duopoly_GuestTask *task,
                 duopoly_GuestMark *ret_mark)
{
    struct guest *guest = guest_of(guests, id);
    if (!guest)
        return false;
    *ret_mark = (duopoly_GuestMark){.attempt = task->attempt};
    if (task->ended)
        task_end(guest, task, ret_mark);
    else
        task_begin(guest, task, ret_mark);
    guest_mark(guest);
    const struct guest_task_levels levels = guest_levels(guest);
    ret_mark->marked = guest->marked && levels.coflow < MARK_LEVELS;
    ret_mark->coflow_level = levels.coflow < MARK_LEVELS ? levels.coflow : 0;
    ret_mark->macroflow_level = levels.macroflow < MARK_LEVELS ? levels.macroflow : 0;
    wire_copy(ret_mark->text, sizeof(ret_mark->text),
              guest->why[0]                  ? guest->why
              : levels.coflow >= MARK_LEVELS ? "it has no level yet"
                                             : "");
    return true;
}

void guests_tasks_end(struct guests *guests, const struct guest_id *id)
{
    struct guest *guest = guest_of(guests, id);
    if (!guest || !guest->tasks.n)
        return;
    guest_tasks_clear(&guest->tasks, guest_bytes(guest));
    guest_mark(guest);
}

/* False: it does not run here, as far as is known. */
static bool relabel(struct guests *guests, const struct guest_application *application,
                    const duopoly_TaskLevels *one)
{
    const struct guest_task_levels levels = {(uint8_t)one->coflow_level,
                                             (uint8_t)one->macroflow_level};
    for (struct guest *guest = guests->table; guest; guest = guest->hh.next)
        if (guest->application == application &&
            guest_tasks_relabel(&guest->tasks, one->attempt, levels)) {
            guest_mark(guest);
            return true;
        }
    return false;
}

static bool is_allow(const duopoly_Allow *allow)
{
    return allow->allow && allow->coflow_level < MARK_LEVELS &&
           allow->macroflow_level < MARK_LEVELS;
}

/* Its task has begun already. */
static bool late_take(struct guests *guests, const struct guest_application *application,
                      const duopoly_Allow *allow)
{
    for (struct guest *guest = guests->table; guest; guest = guest->hh.next)
        if (guest->application == application && guest_tasks_allow(&guest->tasks, allow)) {
            guest_mark(guest);
            return true;
        }
    return false;
}

void guests_allow(struct guests *guests, const duopoly_GuestAllows *said)
{
    const uint64_t now = now_ns(CLOCK_MONOTONIC);
    for (int i = 0; guests && i < GUESTS_APPLICATIONS; i++) {
        struct guest_application *application = &guests->applications[i];
        if (!application->guests_n || strcmp(application->name, said->name) != 0 ||
            (said->has_user && said->user != application->user))
            continue;
        for (pb_size_t k = 0; k < said->allows_count; k++)
            if (is_allow(&said->allows[k]) && !late_take(guests, application, &said->allows[k]))
                guest_allows_add(&application->allows, &said->allows[k], now);
        for (pb_size_t k = 0; k < said->levels_count; k++)
            if (said->levels[k].coflow_level < MARK_LEVELS &&
                said->levels[k].macroflow_level < MARK_LEVELS &&
                !relabel(guests, application, &said->levels[k]))
                guest_allows_await(&application->allows, &said->levels[k], now);
    }
}
