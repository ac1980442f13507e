#include "controller/frameworks/application.h"
#include "controller/frameworks/framework_numbers.h"
#include "controller/resources_wire.h"

#include "controller/engine/base/resources.h"

#include <errno.h>
#include <stdio.h>

/* WHY also while what was not named ends: what is new meanwhile does not end with it. */
static void name(struct application *application, uint64_t number)
{
    if (application->full || (!application->replaying && application->ending.what != ENDS_UNNAMED))
        return;
    if (application->named.n >= FRAMEWORK_NAMED_MAX || !number_set_add(&application->named, number))
        application->full = true;
}

static void emit(const struct application *application, const struct event *event)
{
    const struct frameworks *frameworks = application->frameworks;
    frameworks->hooks.event(frameworks->hooks.user, event);
}

/* Everything was reported: what was not named is over. */
static int replayed_fact(struct application *application, int64_t now_ns,
                         const duopoly_Envelope *envelope, struct err *err)
{
    (void)envelope, (void)err;
    if (!application->replaying)
        return 0;
    application->replaying = false;
    application_ends(application, now_ns, ENDS_UNNAMED);
    return 0;
}

static uint64_t job_named(struct application *application, uint32_t job)
{
    uint64_t number = framework_job_number(application->bits, job & FRAMEWORK_JOB_MAX);
    name(application, number);
    return number;
}

static uint32_t host_named(struct application *application, const char *text)
{
    struct frameworks *frameworks = application->frameworks;
    uint32_t host = executors_host(application, text);
    if (*text && host == ENGINE_NONE)
        host = frameworks->hooks.host(frameworks->hooks.user, text);
    if (*text && host == ENGINE_NONE)
        frameworks->counters.unknown_hosts++;
    return host;
}

static int job_take(struct application *application, const duopoly_FrameworkJob *job,
                    struct err *err)
{
    /* An application's own name does not include the names of its jobs. */
    char *text = application->frameworks->event.name;
    struct event event = {.kind = EVENT_FRAMEWORK_JOB};
    (void)err;
    snprintf(text, ENGINE_NAME_MAX, "%.31s/%.31s", application->name, job->name);
    event.framework_job.job = job_named(application, job->job);
    event.framework_job.name = text;
    event.framework_job.user = job->user;
    event.framework_job.priority = job->priority;
    emit(application, &event);
    return 0;
}

static int stage_take(struct application *application, const duopoly_FrameworkStage *stage,
                      struct err *err)
{
    uint32_t *parents = application->frameworks->event.parents;
    uint32_t *edges = application->frameworks->event.edges;
    struct event event = {.kind = EVENT_FRAMEWORK_STAGE};
    for (pb_size_t i = 0; i < stage->parents_count; i++) {
        if (stage->parents[i].parent >= stage->stage)
            return err_set(err, EINVAL, "stage %u has parent %u; parents have smaller numbers",
                           stage->stage, stage->parents[i].parent);
        parents[i] = stage->parents[i].parent;
        edges[i] = stage->parents[i].kind == duopoly_EdgeKind_EDGE_PIPELINED ? EDGE_PIPELINED
                                                                             : EDGE_BARRIER;
    }
    event.framework_stage.demand = resources_from_wire(&stage->demand);
    /* WHY: otherwise any number of tasks that occupy nothing would be allowed at once. */
    if (!stage->has_demand || resources_are_nothing(&event.framework_stage.demand))
        event.framework_stage.demand = (struct resources){{[RES_SLOTS] = 1}};
    for (int r = 0; r < ENGINE_RESOURCES; r++)
        if (event.framework_stage.demand.amount[r] < 0)
            return err_set(err, EINVAL, "stage %u demands less than nothing", stage->stage);
    event.framework_stage.job = job_named(application, stage->job);
    event.framework_stage.stage = stage->stage;
    event.framework_stage.tasks = stage->tasks;
    event.framework_stage.parents = (struct u32s){parents, stage->parents_count};
    event.framework_stage.edges = (struct u32s){edges, stage->parents_count};
    event.framework_stage.history = stage->history;
    event.framework_stage.phase =
        stage->phase == duopoly_FrameworkPhase_PHASE_OFFERED   ? FRAMEWORK_OFFERED
        : stage->phase == duopoly_FrameworkPhase_PHASE_SKIPPED ? FRAMEWORK_SKIPPED
                                                               : FRAMEWORK_KNOWN;
    event.framework_stage.ungated = stage->ungated;
    event.framework_stage.bindable = stage->bindable && !stage->parents_count;
    emit(application, &event);
    if (stage->name[0])
        stage_names_put(&application->names, event.framework_stage.job, stage->stage, stage->id,
                        stage->attempt, stage->name);
    return 0;
}

static uint32_t replica(struct application *application, const duopoly_FrameworkTasks *tasks,
                        pb_size_t task, uint32_t n)
{
    const duopoly_FrameworkTaskInput *input = &tasks->tasks[task];
    if (n >= input->replicas_count || input->replicas[n] >= tasks->hosts_count)
        return ENGINE_NONE;
    return host_named(application, tasks->hosts[input->replicas[n]]);
}

static int tasks_take(struct application *application, const duopoly_FrameworkTasks *tasks,
                      struct err *err)
{
    uint32_t *replicas = application->frameworks->event.hosts;
    uint64_t *input_bytes = application->frameworks->event.input_bytes;
    uint64_t *compute_ns = application->frameworks->event.compute_ns;
    struct event event = {.kind = EVENT_FRAMEWORK_TASKS};
    const uint32_t n = tasks->tasks_count;
    (void)err;
    for (pb_size_t t = 0; t < n; t++) {
        input_bytes[t] = tasks->tasks[t].input_bytes;
        compute_ns[t] = tasks->tasks[t].compute_ns;
        for (uint32_t r = 0; r < ENGINE_REPLICAS_MAX; r++)
            replicas[t * ENGINE_REPLICAS_MAX + r] = replica(application, tasks, t, r);
    }
    event.job_tasks.job = job_named(application, tasks->job);
    event.job_tasks.stage = tasks->stage;
    event.job_tasks.first = tasks->first;
    event.job_tasks.replicas_per_task = ENGINE_REPLICAS_MAX;
    event.job_tasks.replicas = (struct u32s){replicas, n * ENGINE_REPLICAS_MAX};
    event.job_tasks.input_bytes = (struct u64s){input_bytes, n};
    event.job_tasks.compute_ns = (struct u64s){compute_ns, n};
    emit(application, &event);
    return 0;
}

static int places_find(struct application *application, const duopoly_FrameworkBytes *bytes,
                       struct u32s *ret_at, struct err *err)
{
    const bool hosts = bytes->form == duopoly_BytesForm_FORM_HOSTS;
    const bool cells = bytes->form == duopoly_BytesForm_FORM_CELLS;
    if (bytes->hosts_count != (hosts ? bytes->bytes_count : 0) ||
        bytes->at_count != (cells ? bytes->bytes_count : 0))
        return err_set(err, EINVAL, "stage %u: bytes of %u places, %u are named", bytes->stage,
                       (unsigned)bytes->bytes_count,
                       (unsigned)(hosts ? bytes->hosts_count : bytes->at_count));
    for (pb_size_t i = 0; i < bytes->hosts_count; i++)
        application->frameworks->event.hosts[i] = host_named(application, bytes->hosts[i]);
    *ret_at = hosts ? (struct u32s){application->frameworks->event.hosts, bytes->hosts_count}
                    : (struct u32s){bytes->at, bytes->at_count};
    return 0;
}

static int bytes_take(struct application *application, const duopoly_FrameworkBytes *bytes,
                      struct err *err)
{
    static const enum framework_form forms[] = {[duopoly_BytesForm_FORM_SUMS] = BYTES_SUMS,
                                                [duopoly_BytesForm_FORM_ROW] = BYTES_ROW,
                                                [duopoly_BytesForm_FORM_CELLS] = BYTES_CELLS,
                                                [duopoly_BytesForm_FORM_HOSTS] = BYTES_HOSTS};
    struct event event = {.kind = EVENT_FRAMEWORK_BYTES};
    if ((unsigned)bytes->form >= sizeof(forms) / sizeof(forms[0]))
        return err_set(err, EINVAL, "stage %u: bytes in unknown form %u", bytes->stage,
                       (unsigned)bytes->form);
    if (bytes->parent >= bytes->stage)
        return err_set(err, EINVAL, "stage %u has parent %u; parents have smaller numbers",
                       bytes->stage, bytes->parent);
    int r = places_find(application, bytes, &event.framework_bytes.at, err);
    if (r < 0)
        return r;
    event.framework_bytes.job = job_named(application, bytes->job);
    event.framework_bytes.stage = bytes->stage;
    event.framework_bytes.parent = bytes->parent;
    event.framework_bytes.form = forms[bytes->form];
    event.framework_bytes.first = bytes->first;
    event.framework_bytes.bytes = (struct u64s){bytes->bytes, bytes->bytes_count};
    emit(application, &event);
    return 0;
}

/* Started, or done and where its output is. */
static void task_tell(struct application *application, const duopoly_FrameworkTask *task,
                      enum event_kind kind)
{
    struct event event = {.kind = kind};
    event.framework_task.attempt = framework_attempt_number(application->bits, task->attempt);
    event.framework_task.allow = task->allow;
    event.framework_task.job = job_named(application, task->job);
    event.framework_task.stage = task->stage;
    event.framework_task.task = task->task;
    event.framework_task.host = host_named(application, task->host);
    event.framework_task.phase = ATTEMPT_STARTED;
    event.framework_task.resources.amount[RES_SLOTS] = 1;
    event.framework_task.received_bytes = task->received_bytes;
    if (kind == EVENT_FRAMEWORK_STARTED) {
        name(application, event.framework_task.attempt);
        application->begun = event.framework_task.attempt;
    }
    if (kind == EVENT_FRAMEWORK_DONE || event.framework_task.host != ENGINE_NONE)
        emit(application, &event);
}

static int task_take(struct application *application, const duopoly_FrameworkTask *task,
                     struct err *err)
{
    struct event event = {.kind = EVENT_ATTEMPT_FAILED};
    event.attempt.attempt = framework_attempt_number(application->bits, task->attempt);
    switch (task->state) {
    case duopoly_FrameworkTaskState_TASK_STARTED:
        task_tell(application, task, EVENT_FRAMEWORK_STARTED);
        return 0;
    case duopoly_FrameworkTaskState_TASK_DONE:
        task_tell(application, task, EVENT_FRAMEWORK_DONE);
        return 0;
    case duopoly_FrameworkTaskState_TASK_KILLED:
        event.kind = EVENT_ATTEMPT_KILLED;
        break;
    case duopoly_FrameworkTaskState_TASK_FAILED:
        break;
    case duopoly_FrameworkTaskState_TASK_OUTPUT_LOST:
        event = (struct event){.kind = EVENT_OUTPUT_LOST};
        event.output_lost.job = job_named(application, task->job);
        event.output_lost.stage = task->stage;
        event.output_lost.task = task->task;
        event.output_lost.attempt = framework_attempt_number(application->bits, task->attempt);
        break;
    default:
        return err_set(err, EINVAL, "task attempt %u is in unknown state %u", task->attempt,
                       (unsigned)task->state);
    }
    emit(application, &event);
    return 0;
}

static int end_take(struct application *application, const duopoly_FrameworkEnd *end,
                    struct err *err)
{
    struct event event = {.kind = EVENT_FRAMEWORK_END};
    (void)err;
    event.framework_end.job = job_named(application, end->job);
    event.framework_end.outcome = end->outcome == duopoly_JobOutcome_OUTCOME_DONE ? JOB_DONE
                                  : end->outcome == duopoly_JobOutcome_OUTCOME_FAILED
                                      ? JOB_FAILED
                                      : JOB_CANCELLED;
    stage_names_forget(&application->names, event.framework_end.job);
    emit(application, &event);
    return 0;
}

static int job_check(uint32_t job, struct err *err)
{
    return job <= FRAMEWORK_JOB_MAX ? 0
                                    : err_set(err, EINVAL, "job %u: numbers of jobs are at most %d",
                                              job, FRAMEWORK_JOB_MAX);
}

#define FACT(kind)                                                                                 \
    static int kind##_fact(struct application *application, int64_t now_ns,                        \
                           const duopoly_Envelope *envelope, struct err *err)                      \
    {                                                                                              \
        int r = job_check(envelope->body.framework_##kind.job, err);                               \
        (void)now_ns;                                                                              \
        return r < 0 ? r : kind##_take(application, &envelope->body.framework_##kind, err);        \
    }
FACT(job)
FACT(stage)
FACT(tasks)
FACT(bytes)
FACT(task)
FACT(end)

/* Acknowledges, or is of a later version. */
static int no_fact(struct application *application, int64_t now_ns,
                   const duopoly_Envelope *envelope, struct err *err)
{
    (void)application, (void)now_ns, (void)envelope, (void)err;
    return 0;
}

/* NULL: not a framework's. */
static int (*const facts[WIRE_KINDS])(struct application *application, int64_t now_ns,
                                      const duopoly_Envelope *envelope, struct err *err) = {
    [0] = no_fact,
    [WIRE_KIND(acknowledge)] = no_fact,
    [WIRE_KIND(framework_bytes)] = bytes_fact,
    [WIRE_KIND(framework_end)] = end_fact,
    [WIRE_KIND(framework_executor)] = executors_take,
    [WIRE_KIND(framework_hello)] = no_fact, /* begins a session: frameworks.c */
    [WIRE_KIND(framework_job)] = job_fact,
    [WIRE_KIND(framework_replayed)] = replayed_fact,
    [WIRE_KIND(framework_stage)] = stage_fact,
    [WIRE_KIND(framework_task)] = task_fact,
    [WIRE_KIND(framework_tasks)] = tasks_fact,
};

bool frameworks_take(pb_size_t kind)
{
    return facts[kind] != NULL;
}

int application_fact(struct application *application, int64_t now_ns,
                     const duopoly_Envelope *envelope, struct err *err)
{
    return frameworks_take(envelope->which_body)
               ? facts[envelope->which_body](application, now_ns, envelope, err)
               : 0;
}
