#include "hostagent/cgroup.h"
#include "hostagent/tasks_attempt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct tasks_command *find_command(const struct tasks *tasks, const char *name)
{
    for (uint32_t i = 0; i < tasks->config.commands_n; i++)
        if (strcmp(tasks->config.commands[i].name, name) == 0)
            return &tasks->config.commands[i];
    return NULL;
}

void attempt_refuse(struct attempt *attempt, const char *why)
{
    struct tasks *tasks = attempt->tasks;
    bool held = attempt->holds_slot;
    if (attempt->phase == duopoly_AttemptPhase_PHASE_QUEUED)
        TAILQ_REMOVE(&tasks->queue, attempt, in_queue);
    attempt->phase = duopoly_AttemptPhase_PHASE_REFUSED;
    tasks->counters.refused++;
    attempt_tell(attempt, why);
    attempt_drop(attempt);
    if (held)
        tasks_run_queued(tasks);
}

static int spawn(struct attempt *attempt, const struct tasks_command *command, int parent_fd,
                 int task_fd, struct err *err)
{
    struct tasks *tasks = attempt->tasks;
    char directory[FILES_PATH], input[FILES_PATH], output[FILES_PATH];
    char *argv[SPAWN_ARGUMENTS + 1];
    size_t n = 0;
    attempt_store_path(&tasks->store, attempt->start.attempt, "", directory);
    attempt_store_path(&tasks->store, attempt->start.attempt, "input", input);
    attempt_store_output_path(&tasks->store, &attempt->start, output);
    for (; n < SPAWN_ARGUMENTS && command->words[n][0]; n++)
        argv[n] = (char *)(uintptr_t)command->words[n];
    argv[n] = NULL;
    const struct spawn_config config = {.program = tasks->program,
                                        .directory = directory,
                                        .uid = tasks->config.uid,
                                        .gid = tasks->config.gid,
                                        .argv = argv,
                                        .input = input,
                                        .output = output,
                                        .parent_cgroup_fd = parent_fd,
                                        .task_cgroup_fd = task_fd};
    struct spawned spawned;
    int r = spawn_task(&config, &spawned, err);
    if (r < 0)
        return r;
    journal_line(tasks->config.journal, "begin %llu %llu %llu %llu",
                 (unsigned long long)attempt->start.attempt,
                 (unsigned long long)attempt->request_ns, (unsigned long long)spawned.before_ns,
                 (unsigned long long)spawned.after_ns);
    return attempt_watch(attempt, spawned.pidfd, spawned.socket, err);
}

static int run(struct attempt *attempt, struct err *err)
{
    struct tasks *tasks = attempt->tasks;
    const struct tasks_command *command = find_command(tasks, attempt->start.command);
    int parent_fd = -1, task_fd = -1;
    int r = cgroup_make(tasks->cgroup, attempt->start.attempt, &parent_fd, &task_fd,
                        &attempt->cgroup, err);
    if (r < 0)
        return r;
    r = attempt_store_make(&tasks->store, &attempt->start, attempt->inputs, attempt->inputs_n, err);
    if (r >= 0)
        r = attempt_mark(attempt, err); /* before the process exists: its first packet is marked */
    if (r >= 0)
        r = spawn(attempt, command, parent_fd, task_fd, err);
    close(parent_fd);
    close(task_fd);
    if (r < 0) {
        tasks->config.mark_driver->task_forget(tasks->config.mark, attempt->cgroup, NULL);
        nudge_forget(tasks->config.nudge, attempt->cgroup);
        cgroup_kill(tasks->cgroup, attempt->start.attempt);
        cgroup_remove(tasks->cgroup, attempt->start.attempt);
        attempt_store_settle_output(&tasks->store, &attempt->start, false);
        attempt_store_remove(&tasks->store, attempt->start.attempt);
    }
    return r;
}

/* The slot is taken and the inputs are there. */
static void begin(struct attempt *attempt)
{
    struct err err = {0};
    attempt->inputs_timer = sd_event_source_disable_unref(attempt->inputs_timer);
    if (run(attempt, &err) < 0) {
        attempt_refuse(attempt, err.text);
        return;
    }
    free(attempt->inputs);
    attempt->inputs = NULL;
    attempt->phase = duopoly_AttemptPhase_PHASE_STARTED;
    attempt->tasks->counters.started++;
    attempt_tell(attempt, NULL);
}

static void take_slot(struct attempt *attempt)
{
    slots_take(&attempt->tasks->slots, attempt->start.unit, &attempt->start.resources);
    attempt->holds_slot = true;
}

/* Everything is there: begin, wait in the queue, or be refused. */
static void place(struct attempt *attempt)
{
    struct tasks *tasks = attempt->tasks;
    if (attempt->holds_slot) {
        begin(attempt);
    } else if (!attempt->start.queue) {
        attempt_refuse(attempt, "no room in the unit");
    } else {
        attempt->inputs_timer = sd_event_source_disable_unref(attempt->inputs_timer);
        attempt->phase = duopoly_AttemptPhase_PHASE_QUEUED;
        TAILQ_INSERT_TAIL(&tasks->queue, attempt, in_queue);
        attempt_tell(attempt, NULL);
        tasks_run_queued(tasks);
    }
}

/* Units have queues of their own: who waits for one does not wait behind another's. */
static struct attempt *next_queued(struct tasks *tasks)
{
    struct attempt *attempt;
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
    struct attempt *attempt;
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
static const char *why_not(const struct tasks *tasks, const duopoly_Start *start)
{
    if (!find_command(tasks, start->command))
        return "no such command in this agent's list";
    if (!slots_possible(&tasks->slots, start->unit, &start->resources))
        return "more than the unit has, or no such unit";
    if (start->inputs > TASKS_INPUTS)
        return "too many inputs";
    return NULL;
}

static int await_inputs(struct attempt *attempt)
{
    attempt->inputs = calloc(attempt->start.inputs, sizeof(attempt->inputs[0]));
    if (!attempt->inputs)
        return -ENOMEM;
    return sd_event_add_time_relative(attempt->tasks->event, &attempt->inputs_timer,
                                      CLOCK_MONOTONIC, TASKS_INPUTS_WAIT_MS * 1000ull, 1000,
                                      on_inputs_late, attempt);
}

void tasks_start(struct tasks *tasks, const duopoly_Start *start)
{
    struct attempt *attempt = tasks_find_attempt(tasks, start->attempt);
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
    attempt->request_ns = journal_now_ns();
    attempt->phase = duopoly_AttemptPhase_PHASE_SENT;
    const char *why = why_not(tasks, start);
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
    struct attempt *attempt = tasks_find_attempt(tasks, part->attempt);
    if (!attempt || attempt->phase != duopoly_AttemptPhase_PHASE_SENT)
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
