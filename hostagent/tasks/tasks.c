#include "hostagent/tasks/tasks.h"

#include "hostagent/tasks/cgroup.h"
#include "hostagent/tasks/tasks_attempt.h"
#include "lib/beneath.h"
#include "lib/invariant.h"
#include "lib/log.h"
#include "lib/now.h"
#include "lib/plural.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REMOVE_WAIT_MS 5000
#define REMOVE_STEPS   (1u << 24) /* entries; a minute */

static int attempt_compare(const struct agent_attempt *a, const struct agent_attempt *b)
{
    return a->start.attempt < b->start.attempt ? -1 : a->start.attempt > b->start.attempt;
}

RB_GENERATE(attempt_tree, agent_attempt, by_id, attempt_compare)

struct agent_attempt *tasks_find_attempt(struct tasks *tasks, uint64_t id)
{
    struct agent_attempt key = {.start.attempt = id};
    return RB_FIND(attempt_tree, &tasks->attempts, &key);
}

struct agent_attempt *attempt_add(struct tasks *tasks, const duopoly_Start *start)
{
    struct agent_attempt *attempt =
        tasks->attempts_n < TASKS_MAX ? calloc(1, sizeof(*attempt)) : NULL;
    if (!attempt)
        return NULL;
    attempt->tasks = tasks;
    attempt->start = *start;
    attempt->socket = -1;
    RB_INSERT(attempt_tree, &tasks->attempts, attempt);
    tasks->attempts_n++;
    return attempt;
}

void attempt_release(struct agent_attempt *attempt)
{
    attempt->socket_source = sd_event_source_disable_unref(attempt->socket_source);
    attempt->timer = sd_event_source_disable_unref(attempt->timer);
    if (attempt->socket >= 0)
        close(attempt->socket);
    attempt->socket = -1;
    free(attempt->inputs);
    attempt->inputs = NULL;
    attempt_free_words(attempt);
}

void attempt_drop(struct agent_attempt *attempt)
{
    struct tasks *tasks = attempt->tasks;
    if (attempt->phase == duopoly_AttemptPhase_PHASE_QUEUED)
        TAILQ_REMOVE(&tasks->queue, attempt, in_queue);
    if (attempt->holds_slot)
        slots_give(&tasks->slots, attempt->start.unit, &attempt->start.resources, attempt->devices);
    attempt_release(attempt);
    RB_REMOVE(attempt_tree, &tasks->attempts, attempt);
    assert(tasks->attempts_n > 0);
    tasks->attempts_n--;
    free(attempt);
}

static duopoly_AttemptState state_of(const struct agent_attempt *attempt)
{
    const duopoly_Start *start = &attempt->start;
    duopoly_AttemptState state = {.attempt = start->attempt,
                                  .phase = attempt->phase,
                                  .received_bytes = attempt->received_bytes,
                                  .exit_status = attempt->status.exit_status,
                                  .job = start->job,
                                  .stage = start->stage,
                                  .task = start->task,
                                  .unit = start->unit,
                                  .coflow_level = start->coflow_level,
                                  .macroflow_level = start->macroflow_level,
                                  .has_resources = true,
                                  .resources = start->resources,
                                  .proof = start->proof,
                                  .variant = start->variant};
    state.has_read = attempt_ended(attempt) && attempt->reading.counted;
    if (state.has_read)
        state.read = (duopoly_DiskRead){.bytes = attempt->reading.bytes,
                                        .bytes_s = attempt->reading.best_bytes_s,
                                        .reading_ns = attempt->reading.reading_ns};
    if (attempt->phase == duopoly_AttemptPhase_PHASE_FAILED ||
        attempt->phase == duopoly_AttemptPhase_PHASE_LOST)
        snprintf(state.text, sizeof(state.text), "%s", attempt->status.last_line);
    return state;
}

void attempt_tell(struct agent_attempt *attempt, const char *text)
{
    struct tasks *tasks = attempt->tasks;
    duopoly_AttemptState state = state_of(attempt);
    if (text)
        snprintf(state.text, sizeof(state.text), "%s", text);
    tasks->handler.on_state(tasks->handler.user, &state);
}

static struct mark_task_levels levels_of(const struct agent_attempt *attempt)
{
    uint32_t coflow = attempt->start.coflow_level, macroflow = attempt->start.macroflow_level;
    return (struct mark_task_levels){
        .cgroup = attempt->cgroup,
        .coflow = coflow < MARK_LEVELS ? (uint8_t)coflow : MARK_UNMARKED,
        .macroflow = macroflow < MARK_LEVELS ? (uint8_t)macroflow : MARK_UNMARKED};
}

int attempt_mark(struct agent_attempt *attempt, struct err *err)
{
    const struct mark_task_levels levels = levels_of(attempt);
    return marks_set_levels(attempt->tasks->config.marks, &levels, 1, err);
}

static void on_found(void *user, uint64_t id)
{
    attempt_take_over(user, id);
}

/* A cgroup of an attempt that nothing on disk knows: it cannot be reported, so it may not run. */
static void on_found_cgroup(void *user, uint64_t id)
{
    struct tasks *tasks = user;
    if (tasks_find_attempt(tasks, id))
        return;
    cgroup_kill(tasks->cgroup, id);
    marks_forget_task(tasks->config.marks, cgroup_id(tasks->cgroup, id), NULL);
    cgroup_remove(tasks->cgroup, id);
}

static void clear_outputs(void *user, const char *folder)
{
    struct tasks *tasks = user;
    struct err err = {0};
    if (starter_clear(tasks->starter, folder, &err) < 0)
        log_error(LOG_FAULT_US, "outputs stay where they are until the next: %s", err.text);
}

int tasks_open(const struct tasks_config *config, sd_event *event,
               const struct tasks_handler *handler, struct tasks **ret_tasks, struct err *err)
{
    struct tasks *tasks = calloc(1, sizeof(*tasks));
    if (!tasks)
        return err_sys(err, ENOMEM, "tasks");
    tasks->config = *config;
    tasks->handler = *handler;
    tasks->event = sd_event_ref(event);
    files_path(tasks->cgroup, "%s", config->cgroup);
    tasks->subtree = cgroup_subtree_id(tasks->cgroup);
    RB_INIT(&tasks->attempts);
    TAILQ_INIT(&tasks->queue);
    tasks->tell_share = 1;
    slots_init(&tasks->slots, config->units, config->unit_devices, config->units_n);
    const struct attempt_store_owner owner = {config->gid, clear_outputs, tasks};
    int r = attempt_store_init(&tasks->store, config->state_dir, &owner, err);
    if (r >= 0)
        r = starter_open(&config->starter, event, &tasks->starter, err);
    if (r >= 0 && config->counts_disk && config->starter.socket[0])
        r = counting_open(&config->starter, event, tasks_take_count, tasks, &tasks->counting, err);
    if (r >= 0)
        r = attempt_store_list(&tasks->store, on_found, tasks, err);
    if (r >= 0)
        r = cgroup_list(tasks->cgroup, on_found_cgroup, tasks, err);
    if (r >= 0)
        attempt_store_clear(&tasks->store);
    if (r < 0) {
        tasks_close(tasks);
        return r;
    }
    *ret_tasks = tasks;
    return 0;
}

int tasks_plan(const struct tasks_config *config, struct changes *changes, struct err *err)
{
    return attempt_store_plan(config->state_dir, changes, err);
}

void tasks_close(struct tasks *tasks)
{
    struct agent_attempt *attempt, *next;
    if (!tasks)
        return;
    RB_FOREACH_SAFE (attempt, attempt_tree, &tasks->attempts, next)
        attempt_drop(attempt);
    starter_close(tasks->starter);
    counting_close(tasks->counting);
    sd_event_unref(tasks->event);
    free(tasks);
}

struct removal {
    const char *cgroup;
    uint32_t left;
};

static void kill_one(void *user, uint64_t id)
{
    cgroup_kill(((struct removal *)user)->cgroup, id);
}

static void remove_one(void *user, uint64_t id)
{
    struct removal *removal = user;
    removal->left += !cgroup_remove(removal->cgroup, id);
}

/* WHY what cannot be removed is no error: a task can leave such things (a mount, a process that
 * keeps writing), and the host must return to its former state. */
static int remove_state(const char *state, struct err *err)
{
    static const char *const names[] = {"attempts", ATTEMPT_LISTED, "outputs"};
    int fd = beneath_root(state, err);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct err why = {0};
        int r = beneath_remove(fd, names[i], REMOVE_STEPS, &why);
        if (r)
            log_warning(LOG_FAULT_PEER, "%s/%s stays, remove it yourself: %s", state, names[i],
                        r < 0 ? why.text : "there is too much, or somebody goes on writing there");
    }
    close(fd);
    return 0;
}

int tasks_remove(const struct tasks_config *config, struct err *err)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    struct removal removal = {.cgroup = config->cgroup};
    int r = cgroup_list(config->cgroup, kill_one, &removal, err);
    for (int waited_ms = 0; r >= 0 && waited_ms < REMOVE_WAIT_MS; waited_ms += 2) {
        removal.left = 0;
        r = cgroup_list(config->cgroup, remove_one, &removal, err);
        if (removal.left == 0)
            break;
        nanosleep(&pause, NULL);
    }
    if (r >= 0 && removal.left)
        r = err_set(err, EBUSY, "below %s %u attempt%s cannot be killed", config->cgroup,
                    removal.left, plural(removal.left));
    if (r < 0)
        return r;
    return remove_state(config->state_dir, err);
}

void tasks_ask(struct tasks *tasks, uint64_t id)
{
    struct agent_attempt *attempt = tasks_find_attempt(tasks, id);
    if (attempt) {
        attempt_tell(attempt, NULL);
        return;
    }
    const duopoly_AttemptState lost = {.attempt = id, .phase = duopoly_AttemptPhase_PHASE_LOST};
    tasks->handler.on_state(tasks->handler.user, &lost);
}

static void stop_running(struct agent_attempt *attempt, uint32_t grace_ms)
{
    char text[64];
    attempt->stopped = true;
    attempt_store_set_stopped(&attempt->tasks->store, attempt->start.attempt, ATTEMPT_STOPPED);
    int n = snprintf(text, sizeof(text), "stop %u", grace_ms);
    if (attempt->socket < 0 ||
        send(attempt->socket, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        cgroup_kill(attempt->tasks->cgroup,
                    attempt->start.attempt); /* its parent does not listen */
}

void tasks_stop(struct tasks *tasks, uint64_t id, uint32_t grace_ms)
{
    struct agent_attempt *attempt = tasks_find_attempt(tasks, id);
    if (!attempt || attempt_ended(attempt)) {
        tasks_ask(tasks, id);
        return;
    }
    if (attempt->begun) {
        stop_running(attempt, grace_ms);
        return;
    }
    /* Not begun: nothing is on disk, and nobody waits for an acknowledgement of it. */
    duopoly_AttemptState state = state_of(attempt);
    state.phase = duopoly_AttemptPhase_PHASE_KILLED;
    attempt_drop(attempt);
    tasks->handler.on_state(tasks->handler.user, &state);
    tasks_run_queued(tasks);
}

int tasks_set_levels(struct tasks *tasks, const duopoly_Levels *levels, struct err *err)
{
    struct mark_task_levels marks[sizeof(levels->levels) / sizeof(levels->levels[0])];
    uint32_t n = 0;
    for (pb_size_t i = 0; i < levels->levels_count; i++) {
        const duopoly_AttemptLevels *one = &levels->levels[i];
        struct agent_attempt *attempt = tasks_find_attempt(tasks, one->attempt);
        if (!attempt || attempt_ended(attempt))
            continue;
        attempt->start.coflow_level = one->coflow_level;
        attempt->start.macroflow_level = one->macroflow_level;
        if (!attempt->cgroup)
            continue;
        marks[n++] = levels_of(attempt);
    }
    int r = marks_set_levels(tasks->config.marks, marks, n, err);
    uint64_t now = now_ns(CLOCK_MONOTONIC);
    for (pb_size_t i = 0; r >= 0 && i < levels->levels_count; i++) {
        struct agent_attempt *attempt = tasks_find_attempt(tasks, levels->levels[i].attempt);
        if (!attempt || !attempt->begun || attempt_ended(attempt))
            continue;
        measurements_line(tasks->config.measurements, "levels %llu %u %u %llu",
                          (unsigned long long)attempt->start.attempt, attempt->start.coflow_level,
                          attempt->start.macroflow_level, (unsigned long long)now);
        attempt_store_write_levels(&tasks->store, &attempt->start, NULL);
    }
    return r;
}

static void let_record_go(struct agent_attempt *attempt)
{
    struct attempt_store *store = &attempt->tasks->store;
    struct err err = {0};
    bool kept = attempt->holds_output && attempt_store_keep(store, &attempt->start, &err) >= 0;
    if (attempt->holds_output && !kept)
        log_error(LOG_FAULT_US, "an output goes, since it cannot be listed: %s", err.text);
    if (!kept)
        attempt_store_remove(store, attempt->start.attempt);
    log_debug("attempt %016" PRIx64 ": the controller has its end, its record %s",
              attempt->start.attempt, kept ? "stays for its output" : "goes");
}

void attempt_forget(struct agent_attempt *attempt)
{
    struct tasks *tasks = attempt->tasks;
    uint64_t id = attempt->start.attempt;
    /* The record first: a cgroup without one is nobody's to a new agent. */
    if (!attempt->acknowledged)
        let_record_go(attempt);
    attempt->acknowledged = true;
    if (!cgroup_remove(tasks->cgroup, id)) {
        cgroup_kill(tasks->cgroup, id);
        return;
    }
    if (attempt->cgroup)
        marks_forget_task(tasks->config.marks, attempt->cgroup, NULL);
    attempt_drop(attempt);
}

void tasks_acknowledge(struct tasks *tasks, uint64_t id)
{
    struct agent_attempt *attempt = tasks_find_attempt(tasks, id);
    if (attempt && attempt_ended(attempt))
        attempt_forget(attempt);
}

int tasks_forget_job(struct tasks *tasks, uint64_t job, struct err *err)
{
    struct agent_attempt *attempt, *next;
    RB_FOREACH_SAFE (attempt, attempt_tree, &tasks->attempts, next) {
        if (attempt->start.job == job && attempt_ended(attempt))
            attempt_forget(attempt);
    }
    return attempt_store_forget_job(&tasks->store, job, err);
}

static void read_bytes(struct agent_attempt *attempt,
                       void (*each)(void *user, uint64_t attempt, uint64_t bytes), void *user)
{
    uint64_t bytes;
    if (marks_received(attempt->tasks->config.marks, attempt->cgroup, &bytes, NULL) < 0 ||
        bytes == attempt->received_bytes)
        return;
    attempt->received_bytes = bytes;
    each(user, attempt->start.attempt, bytes);
}

bool tasks_find_room(struct tasks *tasks)
{
    struct err err = {0};
    bool had = !tasks->no_room[0], has = attempt_store_room(&tasks->store, &err) >= 0;
    if (has && tasks->unsure)
        has = attempt_store_try(&tasks->store, &err) >= 0;
    tasks->unsure = tasks->unsure && !has;
    if (has == had)
        return has;
    snprintf(tasks->no_room, sizeof(tasks->no_room), "%.255s", has ? "" : err.text);
    tasks->handler.on_room(tasks->handler.user, tasks->no_room);
    return has;
}

const char *tasks_no_room(const struct tasks *tasks)
{
    return tasks->no_room;
}

void tasks_tick(struct tasks *tasks, void (*each)(void *user, uint64_t attempt, uint64_t bytes),
                void *user)
{
    struct agent_attempt *attempt, *next;
    tasks_find_room(tasks);
    tasks_tell_words(tasks);
    RB_FOREACH_SAFE (attempt, attempt_tree, &tasks->attempts, next) {
        if (attempt_runs(attempt))
            read_bytes(attempt, each, user);
        if (attempt->acknowledged)
            attempt_forget(attempt);
    }
}

void tasks_each(struct tasks *tasks, void (*each)(void *user, const duopoly_AttemptState *state),
                void *user)
{
    struct agent_attempt *attempt;
    RB_FOREACH (attempt, attempt_tree, &tasks->attempts) {
        duopoly_AttemptState state = state_of(attempt);
        each(user, &state);
    }
}

void tasks_each_cgroup(struct tasks *tasks,
                       void (*each)(void *user, uint64_t cgroup, uint64_t attempt), void *user)
{
    struct agent_attempt *attempt;
    RB_FOREACH (attempt, attempt_tree, &tasks->attempts)
        if (attempt->cgroup && attempt_runs(attempt))
            each(user, attempt->cgroup, attempt->start.attempt);
}

int tasks_each_output(struct tasks *tasks,
                      void (*each)(void *user, const duopoly_OutputHeld *output), void *user,
                      struct err *err)
{
    struct agent_attempt *attempt;
    RB_FOREACH (attempt, attempt_tree, &tasks->attempts) {
        const duopoly_OutputHeld output = {.job = attempt->start.job,
                                           .stage = attempt->start.stage,
                                           .task = attempt->start.task,
                                           .attempt = attempt->start.attempt};
        if (attempt->holds_output && !attempt->acknowledged)
            each(user, &output);
    }
    return attempt_store_list_outputs(&tasks->store, each, user, err);
}

void tasks_count(const struct tasks *tasks, struct tasks_counters *ret_counters)
{
    struct tasks_counters counters = tasks->counters;
    struct agent_attempt *attempt;
    RB_FOREACH (attempt, attempt_tree, (struct attempt_tree *)(uintptr_t)&tasks->attempts) {
        counters.running += attempt_runs(attempt);
        counters.queued += attempt->phase == duopoly_AttemptPhase_PHASE_QUEUED;
        counters.unacknowledged += attempt_ended(attempt);
    }
    *ret_counters = counters;
}
