/* A simulated framework: it places its own tasks and reports facts to the engine.
 *
 * It may do what the engine allows, and its manners (manners.h) say how it uses its allows. A
 * prompt framework starts each allowed task at once, as allowed, and its maps as advised: so it
 * carries out the plan that the engine would make for slots of its own, which tests check. All
 * others start tasks without network input wherever they have a slot, unless the engine has bound
 * their stage, and so does each with tasks that the engine left to it. It takes its jobs in the
 * engine's order, as the plug-in has Spark do (plugins/spark, "The gate").
 *
 * It never uses a slot twice, and knows no more than a real one: what it reported, what runs, what
 * it may start. Chance depends on the engine's seed. A step costs O(allows in force + hosts +
 * waiting tasks of live jobs). */
#include "lib/workload/workload_convert.h"
#include "testbed/sim/cluster/run_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_NUMBER (UINT64_C(1) << 63) /* of its attempts: no controller's epoch is that large */
#define COPY_NS      INT64_C(1000000000)
#define LATE_NS      INT64_C(7000000000)

uint64_t framework_draw(struct run *run, uint64_t n)
{
    return workload_random_below(&run->framework.stream, n);
}

bool framework_chance(struct run *run, uint32_t permille)
{
    return permille && framework_draw(run, 1000) < permille;
}

const struct workload_stage *framework_spec(const struct run *run, size_t job, uint32_t stage)
{
    return &run->jobs[job].stages[stage];
}

struct own_stage *framework_own_stage(struct run *run, size_t job, uint32_t stage)
{
    return &run->framework.jobs[job].stages[stage];
}

uint32_t framework_slots(const struct run *run, size_t job, uint32_t stage)
{
    int64_t slots = framework_spec(run, job, stage)->demand.slots;
    return slots > 0 ? (uint32_t)slots : 1;
}

static int open_job(struct run *run, size_t index)
{
    const struct workload_job *spec = &run->jobs[index];
    struct own_job *job = &run->framework.jobs[index];
    job->stages = calloc(spec->n_stages ? spec->n_stages : 1, sizeof(*job->stages));
    for (uint32_t s = 0; job->stages && s < spec->n_stages; s++) {
        struct own_stage *stage = &job->stages[s];
        *stage = (struct own_stage){.n_waiting = spec->stages[s].tasks, .waits_since_ns = -1};
        stage->tasks = calloc(stage->n_waiting ? stage->n_waiting : 1, sizeof(*stage->tasks));
        if (!stage->tasks)
            return -ENOMEM;
        job->left += stage->n_waiting;
    }
    return job->stages ? 0 : -ENOMEM;
}

int framework_open(struct run *run)
{
    struct run_framework *f = &run->framework;
    const uint32_t hosts = run->config->hosts;
    if (!run->config->framework)
        return 0;
    f->jobs = calloc(run->n_jobs ? run->n_jobs : 1, sizeof(*f->jobs));
    f->used = calloc(hosts, sizeof(*f->used));
    f->allowed = calloc(hosts, sizeof(*f->allowed));
    if (!f->jobs || !f->used || !f->allowed)
        return run_out_of_memory(run);
    for (size_t i = 0; i < run->n_jobs; i++)
        if (open_job(run, i) < 0)
            return run_out_of_memory(run);
    f->copies.item_bytes = sizeof(struct own_start);
    f->stream = run->config->engine.seed;
    framework_plan_loss(run);
    return 0;
}

void framework_close(struct run *run)
{
    struct run_framework *f = &run->framework;
    for (size_t i = 0; f->jobs && i < run->n_jobs; i++) {
        for (uint32_t s = 0; f->jobs[i].stages && s < run->jobs[i].n_stages; s++)
            free(f->jobs[i].stages[s].tasks);
        free(f->jobs[i].stages);
    }
    free(f->jobs);
    free(f->used);
    free(f->allowed);
    free(f->allows);
    free(f->starts);
    delay_line_done(&f->copies);
}

static uint32_t stage_told(const struct event *event)
{
    return event->kind == EVENT_FRAMEWORK_STAGE   ? event->framework_stage.stage
           : event->kind == EVENT_FRAMEWORK_TASKS ? event->job_tasks.stage
           : event->kind == EVENT_FRAMEWORK_BYTES ? event->framework_bytes.stage
                                                  : ENGINE_NONE;
}

static bool has_blocks(const struct workload_stage *spec)
{
    for (uint32_t t = 0; spec->replicas && t < spec->tasks; t++)
        if (spec->replicas[t].n)
            return true;
    return false;
}

static void say_bindable(const struct run *run, size_t index, struct submission *submission)
{
    for (size_t i = 0; run->config->framework->bindable && i < submission->n; i++) {
        struct event *event = &submission->events[i];
        if (event->kind != EVENT_FRAMEWORK_STAGE)
            continue;
        const struct workload_stage *spec =
            framework_spec(run, index, event->framework_stage.stage);
        event->framework_stage.bindable = !spec->n_parents && !has_blocks(spec);
    }
}

/* Keeps the facts about a job that are due: of `stage`, or at its arrival (ENGINE_NONE). */
static void keep_due(struct run *run, size_t index, uint32_t stage, struct submission *submission)
{
    size_t n = 0;
    for (size_t i = 0; i < submission->n; i++) {
        uint32_t about = stage_told(&submission->events[i]);
        if (about == stage || (stage == ENGINE_NONE && about != ENGINE_NONE &&
                               framework_own_stage(run, index, about)->told))
            submission->events[n++] = submission->events[i];
    }
    submission->n = n;
}

int framework_arrive(struct run *run, size_t index, struct submission *submission)
{
    struct own_job *job = &run->framework.jobs[index];
    job->here = true;
    for (uint32_t s = 0; s < run->jobs[index].n_stages; s++)
        job->stages[s].told =
            !run->config->framework->growing || !framework_spec(run, index, s)->n_parents;
    int r = submission_as_facts(submission);
    say_bindable(run, index, submission);
    keep_due(run, index, ENGINE_NONE, submission);
    return r || !run->config->framework->late ? r : submission_hide(submission);
}

int framework_tell_arrival(struct run *run, const struct event *events, size_t n, size_t first)
{
    /* WHY: it starts nothing of what it has only announced. */
    run->framework.busy = first < n;
    int r = run_step(run, events, first);
    run->framework.busy = false;
    return r || first == n ? r : run_step(run, events + first, n - first);
}

/* All that was not told of the stage when its job came: of one whose tasks are known, bytes. */
static void keep_bytes(struct submission *submission)
{
    size_t n = 0;
    for (size_t i = 0; i < submission->n; i++)
        if (submission->events[i].kind == EVENT_FRAMEWORK_BYTES)
            submission->events[n++] = submission->events[i];
    submission->n = n;
}

static int tell_stage(struct run *run, size_t index, uint32_t stage)
{
    struct submission told = {0};
    struct own_stage *own = framework_own_stage(run, index, stage);
    const bool known = own->told;
    own->told = own->sized = true;
    int r = submission_make(&told, &run->jobs[index], run->config->hosts);
    if (!r && run->config->told)
        r = submission_tell(&told, run->config->told[index]);
    r = r ? r : submission_as_facts(&told);
    say_bindable(run, index, &told);
    keep_due(run, index, stage, &told);
    if (known)
        keep_bytes(&told);
    r = r ? run_out_of_memory(run) : run_step(run, told.events, told.n);
    submission_done(&told);
    return r;
}

/* When this task ends, all that the stage reads is done. */
static bool waits_for_it_alone(struct run *run, size_t job, uint32_t s, const struct run_attempt *a)
{
    const struct workload_stage *spec = framework_spec(run, job, s);
    bool reads = false;
    for (uint32_t e = 0; e < spec->n_parents; e++) {
        const uint32_t parent = spec->parents[e].parent;
        const bool own = parent == a->stage;
        if (framework_own_stage(run, job, parent)->n_done + own <
            framework_spec(run, job, parent)->tasks)
            return false;
        reads |= own;
    }
    return reads;
}

int framework_tell_sizes(struct run *run, const struct run_attempt *a)
{
    if (!run->config->framework || !run->config->framework->late)
        return 0;
    const size_t job = run_job_index(run, a->job);
    int r = 0;
    /* WHY: it starts nothing before all ends of this instant are told. */
    run->framework.busy = true;
    for (uint32_t s = a->stage + 1; !r && s < run->jobs[job].n_stages; s++)
        if (!framework_own_stage(run, job, s)->sized && waits_for_it_alone(run, job, s, a))
            r = tell_stage(run, job, s);
    run->framework.busy = false;
    return r;
}

static bool is_ready(struct run *run, size_t index, uint32_t stage)
{
    const struct workload_stage *spec = framework_spec(run, index, stage);
    for (uint32_t e = 0; e < spec->n_parents; e++) {
        const uint32_t parent = spec->parents[e].parent;
        const struct own_stage *from = framework_own_stage(run, index, parent);
        if (spec->parents[e].pipelined ? from->n_waiting
                                       : from->n_done < framework_spec(run, index, parent)->tasks)
            return false;
    }
    return true;
}

uint32_t framework_free_host(struct run *run, uint32_t slots)
{
    const uint32_t n = run->config->hosts, from = (uint32_t)framework_draw(run, n);
    for (uint32_t i = 0; i < n; i++)
        if (run->framework.used[(from + i) % n] + slots <= run->config->slots)
            return (from + i) % n;
    return ENGINE_NONE;
}

/* A waiting task; there must be one. */
static uint32_t waiting_task(struct run *run, size_t job, uint32_t stage)
{
    const uint32_t n = framework_spec(run, job, stage)->tasks,
                   from = (uint32_t)framework_draw(run, n);
    uint32_t i = 0;
    while (framework_own_stage(run, job, stage)->tasks[(from + i) % n].state != OWN_WAITS)
        i++;
    return (from + i) % n;
}

int framework_push(struct run *run, struct own_start start)
{
    struct run_framework *f = &run->framework;
    struct own_stage *stage = framework_own_stage(run, start.job, start.stage);
    struct own_task *task = &stage->tasks[start.task];
    if (run_grow((void **)&f->starts, &f->starts_room, f->n_starts + 1, sizeof(*f->starts)))
        return run_out_of_memory(run);
    f->starts[f->n_starts++] = start;
    f->used[start.host] += framework_slots(run, start.job, start.stage);
    stage->n_waiting -= task->state == OWN_WAITS;
    task->state = OWN_RUNS;
    task->attempts++;
    return 0;
}

/* Starts some waiting task of the stage, wherever there is a slot; *ret_room: there was one. */
static int start_anywhere(struct run *run, size_t job, uint32_t stage, bool *ret_room)
{
    uint32_t host = framework_free_host(run, framework_slots(run, job, stage));
    *ret_room = host != ENGINE_NONE;
    return *ret_room ? framework_push(run, (struct own_start){0, job, stage,
                                                              waiting_task(run, job, stage), host})
                     : 0;
}

int framework_allow(struct run *run, const struct decision *d)
{
    struct run_framework *f = &run->framework;
    const struct manners *m = run->config->framework;
    if (run_grow((void **)&f->allows, &f->allows_room, f->n_allows + 1, sizeof(*f->allows)))
        return run_out_of_memory(run);
    size_t job = run_job_index(run, d->allow.job);
    struct own_allow allow = {
        .start = {d->allow.allow, job, d->allow.stage, d->allow.task, d->allow.host},
        .number = d->allow.allow,
        .from_ns = run->now_ns,
        .used = framework_chance(run, m->forgetful),
        .elsewhere = framework_chance(run, m->disobedient),
        .other = framework_chance(run, m->disobedient),
        .more = framework_chance(run, m->disobedient / 20)};
    if (framework_chance(run, m->slow))
        allow.from_ns += (int64_t)framework_draw(run, (uint64_t)LATE_NS);
    if (framework_chance(run, m->disobedient))
        allow.start.allow = 0;
    f->allows[f->n_allows++] = allow;
    f->allowed[d->allow.host] += framework_slots(run, job, d->allow.stage);
    return 0;
}

void framework_allow_ended(struct run *run, const struct decision *d)
{
    struct run_framework *f = &run->framework;
    size_t i = 0;
    while (i < f->n_allows && f->allows[i].number != d->allow_end.allow)
        i++;
    if (i == f->n_allows)
        return;
    const struct own_start *start = &f->allows[i].start;
    f->allowed[start->host] -= framework_slots(run, start->job, start->stage);
    memmove(&f->allows[i], &f->allows[i + 1], (--f->n_allows - i) * sizeof(*f->allows));
}

void framework_opened(struct run *run, const struct decision *d)
{
    framework_own_stage(run, run_job_index(run, d->open.job), d->open.stage)->open = true;
}

void framework_bound(struct run *run, const struct decision *d)
{
    framework_own_stage(run, run_job_index(run, d->bind.job), d->bind.stage)->bound = true;
}

static int use_allow(struct run *run, struct own_allow *allow)
{
    struct own_start start = allow->start;
    const struct own_stage *stage = framework_own_stage(run, start.job, start.stage);
    const uint32_t slots = framework_slots(run, start.job, start.stage);
    bool room = true;
    if (!stage->n_waiting)
        return 0;
    if (allow->other)
        start.task = waiting_task(run, start.job, start.stage);
    if (allow->elsewhere)
        start.host = framework_free_host(run, slots);
    if (stage->tasks[start.task].state != OWN_WAITS || start.host == ENGINE_NONE ||
        run->framework.used[start.host] + slots > run->config->slots)
        return 0;
    allow->used = true;
    int r = framework_push(run, start);
    return r || !allow->more || !stage->n_waiting
               ? r
               : start_anywhere(run, start.job, start.stage, &room);
}

static int tell_if_ready(struct run *run, size_t job, uint32_t s)
{
    const struct own_stage *stage = framework_own_stage(run, job, s);
    return !stage->told && stage->n_waiting && is_ready(run, job, s) ? tell_stage(run, job, s) : 0;
}

static int look_at_stage(struct run *run, size_t job, uint32_t s, bool *room)
{
    struct own_stage *stage = framework_own_stage(run, job, s);
    const bool held =
        framework_spec(run, job, s)->n_parents || run->config->framework->advised || stage->bound;
    int r = 0;
    if (!stage->n_waiting || !is_ready(run, job, s))
        return 0;
    while (!r && stage->n_waiting && *room && (stage->open || !held))
        r = start_anywhere(run, job, s, room);
    return r;
}

/* What it may start without an allow. */
static int start_in_turn(struct run *run)
{
    struct job_view job = {0};
    bool room = true;
    int r = 0;
    while (!r && room && engine_job_in_turn(run->engine, job.job, &job) == 0) {
        const size_t j = run_job_index(run, job.job);
        for (uint32_t s = 0; !r && run->framework.jobs[j].left && s < run->jobs[j].n_stages; s++)
            r = look_at_stage(run, j, s, &room);
    }
    return r;
}

static int look(struct run *run)
{
    struct run_framework *f = &run->framework;
    int r = 0;
    for (size_t i = 0; !r && i < f->n_allows; i++)
        if (!f->allows[i].used && f->allows[i].from_ns <= run->now_ns)
            r = use_allow(run, &f->allows[i]);
    while (f->first_live < run->arrived && !f->jobs[f->first_live].left)
        f->first_live++;
    for (size_t j = f->first_live; !r && j < run->n_jobs && f->jobs[j].here; j++)
        for (uint32_t s = 0; !r && f->jobs[j].left && s < run->jobs[j].n_stages; s++)
            r = tell_if_ready(run, j, s);
    return r ? r : start_in_turn(run);
}

static struct event started(const struct run *run, const struct own_start *start, uint64_t number)
{
    struct event e = {.kind = EVENT_FRAMEWORK_STARTED};
    e.framework_task.attempt = number;
    e.framework_task.allow = start->allow;
    e.framework_task.job = run->jobs[start->job].id;
    e.framework_task.stage = start->stage;
    e.framework_task.task = start->task;
    e.framework_task.host = start->host;
    e.framework_task.phase = ATTEMPT_STARTED;
    e.framework_task.resources =
        submission_demand(&framework_spec(run, start->job, start->stage)->demand);
    return e;
}

/* It runs, at its present levels in the engine. */
static int begin(struct run *run, uint64_t number)
{
    struct attempt_view view;
    struct run_attempt *a = run_attempt_find(run, number);
    if (!a || engine_attempt(run->engine, number, &view))
        return 0;
    run_attempt_set_levels(run, a, view.coflow_level, view.macroflow_level);
    int r = run_attempt_gather(run, a);
    return r ? r : run_attempt_begin(run, a);
}

static bool is_allowed(const struct run_framework *f, const struct own_start *start)
{
    for (size_t i = 0; i < f->n_allows; i++)
        if (f->allows[i].start.job == start->job && f->allows[i].start.stage == start->stage &&
            f->allows[i].start.task == start->task && f->allows[i].start.host == start->host)
            return true;
    return false;
}

static int copy_later(struct run *run, const struct own_start *start)
{
    struct own_start copy = *start;
    copy.allow = 0;
    return framework_chance(run, run->config->framework->copies) &&
                   delay_line_push(&run->framework.copies, run->now_ns + COPY_NS, &copy)
               ? run_out_of_memory(run)
               : 0;
}

/* Starts all of them in one step. */
static int start_all(struct run *run)
{
    struct run_framework *f = &run->framework;
    size_t n = f->n_starts;
    uint64_t first = FIRST_NUMBER + f->started;
    struct event *events = calloc(n, sizeof(*events));
    int r = events ? 0 : run_out_of_memory(run);
    for (size_t i = 0; !r && i < n; i++) {
        const struct own_start *start = &f->starts[i];
        events[i] = started(run, start, first + i);
        struct run_attempt *a = run_attempt_make(run, first + i, events[i].framework_task.job,
                                                 start->stage, start->task, start->host);
        r = a ? copy_later(run, start) : run_out_of_memory(run);
        if (a)
            a->unasked = !is_allowed(f, start);
    }
    f->n_starts = 0;
    f->started += n;
    r = r ? r : run_step(run, events, n);
    for (size_t i = 0; !r && i < n; i++)
        r = begin(run, first + i);
    free(events);
    return r;
}

static bool has_spare_slot(const struct run *run)
{
    const struct run_framework *f = &run->framework;
    for (uint32_t h = 0; h < run->config->hosts; h++)
        if (f->used[h] + f->allowed[h] < run->config->slots)
            return true;
    return false;
}

static void measure_stage(struct run *run, size_t job, uint32_t s, bool spare)
{
    struct own_stage *stage = framework_own_stage(run, job, s);
    const bool waits = (framework_spec(run, job, s)->n_parents || stage->bound) && stage->told &&
                       !stage->open && stage->n_waiting && is_ready(run, job, s);
    if (stage->waits_since_ns >= 0) {
        double s_long = (double)(run->now_ns - stage->waits_since_ns) * 1e-9;
        if (s_long > run->result->framework_wait_s)
            run->result->framework_wait_s = s_long;
    }
    if (!waits)
        stage->waits_since_ns = -1;
    else if (stage->waits_since_ns < 0 && spare)
        stage->waits_since_ns = run->now_ns;
}

static void measure(struct run *run)
{
    const struct run_framework *f = &run->framework;
    const bool spare = has_spare_slot(run);
    for (size_t j = f->first_live; j < run->n_jobs && f->jobs[j].here; j++)
        for (uint32_t s = 0; s < run->jobs[j].n_stages; s++)
            measure_stage(run, j, s, spare);
}

int framework_start(struct run *run)
{
    struct run_framework *f = &run->framework;
    if (!f->jobs || f->busy)
        return 0;
    f->busy = true;
    int r = look(run);
    while (!r && f->n_starts) {
        r = start_all(run);
        r = r ? r : look(run);
    }
    measure(run);
    f->busy = false;
    return r;
}
