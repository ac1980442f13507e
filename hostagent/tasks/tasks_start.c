/* How an attempt begins: accepted or refused, its inputs gathered, its slot taken or waited for;
 * then its cgroup, its record, its levels, and the order to duopoly-task.
 *
 * Whatever fails on this way is taken back in full and told as REFUSED. Two waits are bounded: for
 * the inputs, and for the process. */
#include "hostagent/tasks/cgroup.h"
#include "hostagent/tasks/tasks_attempt.h"
#include "lib/log.h"
#include "lib/now.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void attempt_refuse(struct agent_attempt *attempt, const char *why)
{
    struct tasks *tasks = attempt->tasks;
    bool held = attempt->holds_slot;
    if (attempt->phase == duopoly_AttemptPhase_PHASE_QUEUED)
        TAILQ_REMOVE(&tasks->queue, attempt, in_queue);
    attempt->phase =
        attempt->host_fault ? duopoly_AttemptPhase_PHASE_LOST : duopoly_AttemptPhase_PHASE_REFUSED;
    tasks->counters.refused++;
    attempt_tell(attempt, why);
    attempt_drop(attempt);
    if (held)
        tasks_run_queued(tasks);
}

static int order(struct agent_attempt *attempt, int parent_fd, int task_fd, struct err *err)
{
    struct tasks *tasks = attempt->tasks;
    char record[FILES_PATH], output[FILES_PATH];
    int socket = -1;
    attempt_store_path(&tasks->store, attempt->start.attempt, record);
    attempt_store_output_path(&tasks->store, &attempt->start, output);
    const struct attempt_order one = {
        .command = attempt->start.command, .record = record, .output = output};
    int r = starter_start(tasks->starter, &one, parent_fd, task_fd, &socket, err);
    return r < 0 ? r : attempt_watch(attempt, socket, err);
}

static int call_later(struct agent_attempt *attempt, uint64_t ms, sd_event_time_handler_t on_late)
{
    attempt->timer = sd_event_source_disable_unref(attempt->timer);
    return sd_event_add_time_relative(attempt->tasks->event, &attempt->timer, CLOCK_MONOTONIC,
                                      ms * 1000, 1000, on_late, attempt);
}

/* duopoly-task hangs. What else it had not come to ends with it, and is refused too. */
static int on_start_late(sd_event_source *source, uint64_t usec, void *arg)
{
    struct agent_attempt *attempt = arg;
    (void)source;
    (void)usec;
    starter_replace(attempt->tasks->starter);
    attempt_on_no_start(attempt, "duopoly-task did not come to this start in time");
    return 0;
}

/* What was made for it. */
static void take_back(struct agent_attempt *attempt)
{
    struct tasks *tasks = attempt->tasks;
    uint64_t id = attempt->start.attempt;
    marks_forget_task(tasks->config.marks, attempt->cgroup, NULL);
    cgroup_kill(tasks->cgroup, id);
    cgroup_remove(tasks->cgroup, id);
    attempt_store_settle_output(&tasks->store, &attempt->start, false);
    attempt_store_remove(&tasks->store, id);
}

/* If others removed our subtree, or replaced it, it is made again, and its bytes counted. */
static int find_subtree(struct tasks *tasks, struct err *err)
{
    if (cgroup_subtree_id(tasks->cgroup) == tasks->subtree)
        return 0;
    int r = files_make_dirs(tasks->cgroup, 0755, err);
    if (r >= 0)
        r = marks_count_cgroup(tasks->config.marks, err);
    if (r < 0)
        return r;
    log_warning(LOG_FAULT_CONFIGURATION, "somebody removed the cgroup %s; it is made again",
                tasks->cgroup);
    tasks->subtree = cgroup_subtree_id(tasks->cgroup);
    return 0;
}

static int run(struct agent_attempt *attempt, struct err *err)
{
    struct tasks *tasks = attempt->tasks;
    struct attempt_place place;
    int parent_fd = -1, task_fd = -1;
    int r = find_subtree(tasks, err);
    if (r >= 0)
        r = cgroup_make(tasks->cgroup, attempt->start.attempt, &parent_fd, &task_fd,
                        &attempt->cgroup, err);
    if (r < 0)
        return r;
    attempt_place(attempt, &place);
    r = attempt_store_make(&tasks->store, &attempt->start, &place, attempt->inputs,
                           attempt->inputs_n, err);
    log_debug("attempt %016" PRIx64 " of job %" PRIu64 ": %s", attempt->start.attempt,
              attempt->start.job, r < 0 ? "no record of it can be made" : "is recorded");
    tasks->unsure = tasks->unsure || r == -EDQUOT || r == -EIO || r == -EROFS || r == -ENOSPC;
    if (r >= 0)
        r = attempt_mark(attempt, err); /* before the process exists: its first packet is marked */
    if (r >= 0)
        r = order(attempt, parent_fd, task_fd, err);
    if (r >= 0 && call_later(attempt, TASKS_START_WAIT_MS, on_start_late) < 0)
        r = err_sys(err, ENOMEM, "a timer for the attempt");
    close(parent_fd);
    close(task_fd);
    if (r < 0)
        take_back(attempt);
    return r;
}

/* The slot is taken and the inputs are there. */
static void begin(struct agent_attempt *attempt)
{
    struct err err = {0};
    attempt->timer = sd_event_source_disable_unref(attempt->timer);
    if (run(attempt, &err) < 0) {
        tasks_find_room(attempt->tasks); /* said first: it is no fault of the attempt's */
        attempt_refuse(attempt, err.text);
        return;
    }
    attempt->begun = true;
    free(attempt->inputs);
    attempt->inputs = NULL;
}

void attempt_on_start(struct agent_attempt *attempt, uint64_t before_ns, uint64_t after_ns)
{
    measurements_line(attempt->tasks->config.measurements,
                      "begin %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, attempt->start.attempt,
                      attempt->request_ns, before_ns, after_ns);
    attempt->timer = sd_event_source_disable_unref(attempt->timer);
    attempt->phase = duopoly_AttemptPhase_PHASE_STARTED;
    attempt_begin_reading(attempt, false);
    attempt->tasks->counters.started++;
    attempt_tell(attempt, NULL);
}

void attempt_on_no_start(struct agent_attempt *attempt, const char *why)
{
    take_back(attempt);
    attempt_refuse(attempt, why);
}

static void take_slot(struct agent_attempt *attempt)
{
    attempt->devices =
        slots_take(&attempt->tasks->slots, attempt->start.unit, &attempt->start.resources);
    attempt->holds_slot = true;
}

/* Everything is there: begin, wait in the queue, or be refused. */
static void place(struct agent_attempt *attempt)
{
    struct tasks *tasks = attempt->tasks;
    if (attempt->holds_slot) {
        begin(attempt);
    } else if (!attempt->start.queue) {
        attempt_refuse(attempt, "no room in the unit");
    } else {
        attempt->timer = sd_event_source_disable_unref(attempt->timer);
        attempt->phase = duopoly_AttemptPhase_PHASE_QUEUED;
        TAILQ_INSERT_TAIL(&tasks->queue, attempt, in_queue);
        attempt_tell(attempt, NULL);
        tasks_run_queued(tasks);
    }
}

/* Units have queues of their own: who waits for one does not wait behind another's. */
static struct agent_attempt *next_queued(struct tasks *tasks)
{
    struct agent_attempt *attempt;
    bool blocked[SLOTS_UNITS] = {false};
    TAILQ_FOREACH (attempt, &tasks->queue, in_queue) {
        uint32_t unit = attempt->start.unit;
        if (blocked[unit])
            continue;
        if (slots_fit(&tasks->slots, unit, &attempt->start.resources))
            return attempt;
        blocked[unit] = true;
    }
    return NULL;
}

void tasks_run_queued(struct tasks *tasks)
{
    struct agent_attempt *attempt;
    while ((attempt = next_queued(tasks))) {
        TAILQ_REMOVE(&tasks->queue, attempt, in_queue);
        attempt->phase = duopoly_AttemptPhase_PHASE_SENT;
        take_slot(attempt);
        begin(attempt);
    }
}

static int on_inputs_late(sd_event_source *source, uint64_t usec, void *arg)
{
    (void)source;
    (void)usec;
    attempt_refuse(arg, "its inputs did not come in time");
    return 0;
}

/* NULL when the attempt may go on; else why not. */
static const char *why_not(struct tasks *tasks, const duopoly_Start *start)
{
    if (!command_named(tasks->config.commands, tasks->config.commands_n, start->command))
        return "no such command in this agent's list";
    if (!slots_possible(&tasks->slots, start->unit, &start->resources))
        return "more than the unit has, or no such unit";
    if (start->inputs > TASKS_INPUTS)
        return "too many inputs";
    return tasks_find_room(tasks) ? NULL : tasks->no_room;
}

static int await_inputs(struct agent_attempt *attempt)
{
    attempt->inputs = calloc(attempt->start.inputs, sizeof(attempt->inputs[0]));
    if (!attempt->inputs)
        return -ENOMEM;
    return call_later(attempt, TASKS_INPUTS_WAIT_MS, on_inputs_late);
}

void tasks_start(struct tasks *tasks, const duopoly_Start *start)
{
    struct agent_attempt *attempt = tasks_find_attempt(tasks, start->attempt);
    if (attempt) {
        attempt_tell(attempt, NULL);
        return;
    }
    attempt = attempt_add(tasks, start);
    if (!attempt) {
        const duopoly_AttemptState full = {.attempt = start->attempt,
                                           .phase = duopoly_AttemptPhase_PHASE_REFUSED,
                                           .job = start->job,
                                           .stage = start->stage,
                                           .task = start->task,
                                           .text = "this agent's table of attempts is full"};
        tasks->counters.refused++;
        tasks->handler.on_state(tasks->handler.user, &full);
        return;
    }
    attempt->request_ns = now_ns(CLOCK_MONOTONIC);
    attempt->phase = duopoly_AttemptPhase_PHASE_SENT;
    const char *closed = tasks_unit_closed(tasks, start->unit);
    const char *why = why_not(tasks, start);
    if (closed) {
        attempt_lose(attempt, closed);
        return;
    }
    if (why) {
        attempt_refuse(attempt, why);
        return;
    }
    if (slots_fit(&tasks->slots, start->unit, &start->resources) && TAILQ_EMPTY(&tasks->queue))
        take_slot(attempt);
    else if (!start->queue && slots_fit(&tasks->slots, start->unit, &start->resources))
        take_slot(attempt); /* the controller knows of those that wait, and wants this one now */
    if (start->inputs == 0)
        place(attempt);
    else if (!attempt->holds_slot && !start->queue)
        attempt_refuse(attempt, "no room in the unit");
    else if (await_inputs(attempt) < 0)
        attempt_refuse(attempt, "no memory for its inputs");
}

void tasks_add_inputs(struct tasks *tasks, const duopoly_StartInputs *part)
{
    struct agent_attempt *attempt = tasks_find_attempt(tasks, part->attempt);
    if (!attempt || attempt->phase != duopoly_AttemptPhase_PHASE_SENT || attempt->begun)
        return; /* refused meanwhile, or said twice */
    if (part->inputs_count > attempt->start.inputs - attempt->inputs_n) {
        attempt_refuse(attempt, "more inputs than it was said to have");
        return;
    }
    memcpy(attempt->inputs + attempt->inputs_n, part->inputs,
           part->inputs_count * sizeof(part->inputs[0]));
    attempt->inputs_n += part->inputs_count;
    if (attempt->inputs_n == attempt->start.inputs)
        place(attempt);
}
