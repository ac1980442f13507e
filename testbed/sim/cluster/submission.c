#include "testbed/sim/cluster/submission.h"

#include "lib/grow.h"
#include "lib/workload/workload_convert.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *array(struct submission *s, size_t n, size_t size)
{
    if (!array_grow(s->arrays, s->n_arrays, s->arrays_allocated, 16))
        return NULL;
    void *made = calloc(n ? n : 1, size);
    if (made)
        s->arrays[s->n_arrays++] = made;
    return made;
}

static struct event *event(struct submission *s, enum event_kind kind, uint64_t request)
{
    if (!array_grow(s->events, s->n, s->allocated, 8))
        return NULL;
    struct event *e = &s->events[s->n++];
    *e = (struct event){.kind = kind, .request = request};
    return e;
}

struct resources submission_demand(const struct workload_demand *d)
{
    return (struct resources){
        {d->slots, d->cpu_milli, d->mem_bytes, d->gpu_milli, d->gpu_mem_bytes, d->io_bytes_s}};
}

static int add_begin(struct submission *s, const struct workload_job *job)
{
    static const uint32_t kinds[] = {[WORKLOAD_BATCH] = JOB_BATCH,
                                     [WORKLOAD_STREAM] = JOB_STREAM,
                                     [WORKLOAD_UNKNOWN] = JOB_UNKNOWN};
    struct event *e = event(s, EVENT_JOB_BEGIN, job->id);
    if (!e)
        return -ENOMEM;
    e->job_begin.job = job->id;
    e->job_begin.name = job->name;
    e->job_begin.content = job->id;
    e->job_begin.user = job->user;
    e->job_begin.job_kind = kinds[job->kind];
    e->job_begin.priority = job->priority;
    e->job_begin.deadline_ns = (int64_t)job->deadline_ns;
    e->job_begin.estimate_bytes = job->estimate_bytes;
    e->job_begin.estimate_ns = -1;
    e->job_begin.at_most_host = job->at_most.host;
    e->job_begin.at_most_rack = job->at_most.rack;
    return 0;
}

/* The words of further ways to run it, one a line. */
static char *lines_of(struct submission *s, const struct workload_stage *stage,
                      const char *(*word)(const struct workload_stage *, uint32_t))
{
    size_t size = 1;
    for (uint32_t v = 1; v <= stage->n_variants; v++)
        size += strlen(word(stage, v)) + 1;
    char *text = array(s, size, 1);
    for (uint32_t v = 1; text && v <= stage->n_variants; v++) {
        strcat(text, v > 1 ? "\n" : "");
        strcat(text, word(stage, v));
    }
    return text;
}

static int add_variants(struct submission *s, const struct workload_stage *stage, struct event *e)
{
    uint64_t *demands = array(s, (size_t)stage->n_variants * ENGINE_RESOURCES, sizeof(*demands));
    e->job_stage.variant_commands = lines_of(s, stage, workload_command_of);
    e->job_stage.variant_constraints = lines_of(s, stage, workload_constraint_of);
    if (!demands || !e->job_stage.variant_commands || !e->job_stage.variant_constraints)
        return -ENOMEM;
    for (uint32_t v = 0; v < stage->n_variants; v++) {
        const struct resources demand = submission_demand(workload_demand_of(stage, v + 1));
        for (uint32_t r = 0; r < ENGINE_RESOURCES; r++)
            demands[v * ENGINE_RESOURCES + r] = (uint64_t)demand.amount[r];
    }
    e->job_stage.variant_demands = (struct u64s){demands, stage->n_variants * ENGINE_RESOURCES};
    return 0;
}

static void put_profile(const struct profile *profile, uint64_t *numbers)
{
    const uint64_t of[PROFILE_NUMBERS] = {profile->read_bytes, profile->read_bytes_s,
                                          profile->before, profile->compute_ns};
    memcpy(numbers, of, sizeof(of));
}

static int add_profiles(struct submission *s, const struct workload_stage *stage, struct event *e)
{
    uint32_t ways = 1 + stage->n_variants;
    uint64_t *numbers = array(s, (size_t)ways * PROFILE_NUMBERS, sizeof(*numbers));
    bool known = false;
    for (uint32_t v = 0; numbers && v < ways; v++) {
        const struct profile profile = workload_profile_of(stage, v);
        put_profile(&profile, numbers + (size_t)v * PROFILE_NUMBERS);
        known |= profile_is_known(&profile);
    }
    e->job_stage.profiles = (struct u64s){numbers, known ? ways * PROFILE_NUMBERS : 0};
    return numbers ? 0 : -ENOMEM;
}

static int add_wishes(struct submission *s, const struct workload_stage *stage, struct event *e)
{
    uint32_t *utilities = array(s, stage->n_wishes, sizeof(*utilities));
    char *lines = array(s, sizeof(stage->wishes), 1);
    if (!utilities || !lines)
        return -ENOMEM;
    for (uint32_t i = 0; i < stage->n_wishes; i++) {
        strcat(lines, i ? "\n" : "");
        strcat(lines, stage->wishes[i].constraint);
        utilities[i] = stage->wishes[i].utility;
    }
    e->job_stage.wishes = lines;
    e->job_stage.utilities = (struct u32s){utilities, stage->n_wishes};
    return 0;
}

static int add_stage(struct submission *s, const struct workload_job *job, uint32_t index)
{
    const struct workload_stage *stage = &job->stages[index];
    uint32_t *parents = array(s, stage->n_parents, sizeof(*parents));
    uint32_t *edges = array(s, stage->n_parents, sizeof(*edges));
    struct event *e = event(s, EVENT_JOB_STAGE, job->id);
    if (!parents || !edges || !e)
        return -ENOMEM;
    for (uint32_t i = 0; i < stage->n_parents; i++) {
        parents[i] = stage->parents[i].parent;
        edges[i] = stage->parents[i].pipelined ? EDGE_PIPELINED : EDGE_BARRIER;
    }
    e->job_stage.job = job->id;
    e->job_stage.stage = index;
    e->job_stage.tasks = stage->tasks;
    e->job_stage.demand = submission_demand(&stage->demand);
    e->job_stage.command = stage->command;
    e->job_stage.constraint = stage->constraint;
    e->job_stage.parents = (struct u32s){parents, stage->n_parents};
    e->job_stage.edges = (struct u32s){edges, stage->n_parents};
    e->job_stage.at_most_host = stage->at_most.host;
    e->job_stage.at_most_rack = stage->at_most.rack;
    int r = add_variants(s, stage, e);
    r = r < 0 ? r : add_profiles(s, stage, e);
    return r < 0 || !stage->n_wishes ? r : add_wishes(s, stage, e);
}

static uint32_t replicas_most(const struct workload_stage *stage)
{
    uint32_t most = 0;
    for (uint32_t i = 0; stage->replicas && i < stage->tasks; i++)
        most = stage->replicas[i].n > most ? stage->replicas[i].n : most;
    return most;
}

static const uint32_t *fold_replicas(struct submission *s, const struct workload_stage *stage,
                                     uint32_t per, uint32_t hosts)
{
    uint32_t *folded = array(s, (size_t)stage->tasks * per, sizeof(*folded));
    for (uint32_t i = 0; folded && i < stage->tasks; i++)
        for (uint32_t j = 0; j < per; j++)
            folded[(size_t)i * per + j] =
                j < stage->replicas[i].n ? stage->replicas[i].hosts[j] % hosts : ENGINE_NONE;
    return folded;
}

static int add_tasks(struct submission *s, const struct workload_job *job, uint32_t index,
                     uint32_t hosts)
{
    const struct workload_stage *stage = &job->stages[index];
    uint32_t per = replicas_most(stage);
    const uint64_t *zeros = array(s, stage->tasks, sizeof(*zeros));
    const uint32_t *replicas = fold_replicas(s, stage, per, hosts);
    struct event *e = event(s, EVENT_JOB_TASKS, job->id);
    if (!zeros || !replicas || !e)
        return -ENOMEM;
    e->job_tasks.job = job->id;
    e->job_tasks.stage = index;
    e->job_tasks.replicas_per_task = per;
    e->job_tasks.replicas = (struct u32s){replicas, stage->tasks * per};
    e->job_tasks.input_bytes =
        (struct u64s){stage->input_bytes ? stage->input_bytes : zeros, stage->tasks};
    e->job_tasks.compute_ns =
        (struct u64s){stage->compute_ns ? stage->compute_ns : zeros, stage->tasks};
    return 0;
}

static int add_work(struct submission *s, const struct workload_job *job, uint32_t index)
{
    const struct workload_stage *stage = &job->stages[index];
    for (uint32_t v = 0; v < stage->n_variants; v++) {
        if (!stage->variants[v].compute_ns)
            continue;
        struct event *e = event(s, EVENT_JOB_TASKS, job->id);
        if (!e)
            return -ENOMEM;
        e->job_tasks.job = job->id;
        e->job_tasks.stage = index;
        e->job_tasks.compute_ns = (struct u64s){stage->variants[v].compute_ns, stage->tasks};
        e->job_tasks.variant = v + 1;
    }
    return 0;
}

static int add_bytes(struct submission *s, const struct workload_job *job, uint32_t index)
{
    const struct workload_stage *stage = &job->stages[index];
    for (uint32_t i = 0; i < stage->n_parents; i++) {
        const struct workload_edge *edge = &stage->parents[i];
        if (!edge->sums && !edge->matrix)
            continue;
        struct event *e = event(s, EVENT_JOB_BYTES, job->id);
        if (!e)
            return -ENOMEM;
        e->job_bytes.job = job->id;
        e->job_bytes.stage = index;
        e->job_bytes.parent = edge->parent;
        e->job_bytes.matrix = edge->matrix != NULL;
        e->job_bytes.bytes =
            edge->matrix
                ? (struct u64s){edge->matrix, stage->tasks * job->stages[edge->parent].tasks}
                : (struct u64s){edge->sums, stage->tasks};
    }
    return 0;
}

int submission_make(struct submission *s, const struct workload_job *job, uint32_t hosts)
{
    s->n = 0;
    if (add_begin(s, job))
        return -ENOMEM;
    for (uint32_t i = 0; i < job->n_stages; i++)
        if (add_stage(s, job, i) || add_tasks(s, job, i, hosts) || add_work(s, job, i) ||
            add_bytes(s, job, i))
            return -ENOMEM;
    struct event *e = event(s, EVENT_JOB_END, job->id);
    if (!e)
        return -ENOMEM;
    e->job_end.job = job->id;
    return 0;
}

int submission_tell(struct submission *s, double factor)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->events[i].kind != EVENT_JOB_BYTES)
            continue;
        struct u64s *bytes = &s->events[i].job_bytes.bytes;
        uint64_t *told = array(s, bytes->n, sizeof(*told));
        if (!told)
            return -ENOMEM;
        for (uint32_t b = 0; b < bytes->n; b++)
            told[b] = (uint64_t)ceil((double)bytes->at[b] * factor);
        bytes->at = told;
    }
    return 0;
}

double submission_error(double sigma, uint64_t *state)
{
    double u = ((double)(workload_random(state) >> 11) + 1) * 0x1p-53;
    double v = (double)(workload_random(state) >> 11) * 0x1p-53;
    return exp(sigma * sqrt(-2 * log(u)) * cos(2 * M_PI * v));
}

/* It reads no longer than it lasts. */
static struct profile misjudged(struct profile profile, double sigma, uint64_t *state)
{
    uint64_t *const numbers[] = {&profile.read_bytes, &profile.read_bytes_s, &profile.compute_ns};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        double number = ceil((double)*numbers[i] * submission_error(sigma, state));
        *numbers[i] = (uint64_t)fmin(number, 0x1p53);
    }
    uint64_t least_ns = profile.before ? 0 : profile_read_ns(&profile);
    if (profile.compute_ns < least_ns)
        profile.compute_ns = least_ns;
    return profile;
}

int submission_misjudge(struct submission *s, double sigma, uint64_t seed)
{
    for (size_t i = 0; i < s->n; i++) {
        struct event *e = &s->events[i];
        if (e->kind != EVENT_JOB_STAGE)
            continue;
        struct u64s *told = &e->job_stage.profiles;
        uint64_t state = seed ^ (e->job_stage.job * 0x9e3779b97f4a7c15u + e->job_stage.stage);
        uint64_t *numbers = array(s, told->n, sizeof(*numbers));
        if (!numbers)
            return -ENOMEM;
        for (uint32_t at = 0; at < told->n; at += PROFILE_NUMBERS) {
            const uint64_t *of = told->at + at;
            const struct profile wrong =
                misjudged((struct profile){of[0], of[1], of[2], of[3]}, sigma, &state);
            put_profile(&wrong, numbers + at);
        }
        told->at = numbers;
    }
    return 0;
}

static int rows_of(struct submission *s, const struct event *told, uint32_t reduces)
{
    uint32_t maps = reduces ? told->job_bytes.bytes.n / reduces : 0;
    for (uint32_t m = 0; m < (told->job_bytes.matrix ? maps : 1); m++) {
        struct event *e = event(s, EVENT_FRAMEWORK_BYTES, 0);
        if (!e)
            return -ENOMEM;
        e->framework_bytes.job = told->job_bytes.job;
        e->framework_bytes.stage = told->job_bytes.stage;
        e->framework_bytes.parent = told->job_bytes.parent;
        e->framework_bytes.form = told->job_bytes.matrix ? BYTES_ROW : BYTES_SUMS;
        e->framework_bytes.first = m;
        e->framework_bytes.bytes =
            (struct u64s){told->job_bytes.bytes.at + (size_t)m * reduces, reduces};
    }
    return 0;
}

static int as_fact(struct submission *s, const struct event *told, uint32_t *reduces)
{
    if (told->kind == EVENT_JOB_END || (told->kind == EVENT_JOB_TASKS && told->job_tasks.variant))
        return 0;
    if (told->kind == EVENT_JOB_BYTES)
        return rows_of(s, told, *reduces);
    struct event *e = event(s, told->kind, 0);
    if (!e)
        return -ENOMEM;
    *e = *told;
    e->request = 0;
    if (told->kind == EVENT_JOB_BEGIN) {
        *e = (struct event){.kind = EVENT_FRAMEWORK_JOB};
        e->framework_job.job = told->job_begin.job;
        e->framework_job.name = told->job_begin.name;
        e->framework_job.user = told->job_begin.user;
        e->framework_job.priority = told->job_begin.priority;
    } else if (told->kind == EVENT_JOB_STAGE) {
        *reduces = told->job_stage.tasks;
        *e = (struct event){.kind = EVENT_FRAMEWORK_STAGE};
        e->framework_stage.job = told->job_stage.job;
        e->framework_stage.stage = told->job_stage.stage;
        e->framework_stage.tasks = told->job_stage.tasks;
        e->framework_stage.demand = told->job_stage.demand;
        e->framework_stage.parents = told->job_stage.parents;
        e->framework_stage.edges = told->job_stage.edges;
    } else if (told->kind == EVENT_JOB_TASKS) {
        e->kind = EVENT_FRAMEWORK_TASKS;
    }
    return 0;
}

int submission_as_facts(struct submission *s)
{
    struct submission told = *s;
    uint32_t reduces = 0;
    int r = 0;
    s->events = NULL;
    s->n = s->allocated = 0;
    for (size_t i = 0; !r && i < told.n; i++)
        r = as_fact(s, &told.events[i], &reduces);
    free(told.events);
    return r;
}

int submission_hide(struct submission *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct event *e = &s->events[i];
        if (e->kind == EVENT_FRAMEWORK_BYTES)
            continue;
        if (e->kind == EVENT_FRAMEWORK_TASKS) {
            e->job_tasks.compute_ns.at = array(s, e->job_tasks.compute_ns.n, sizeof(uint64_t));
            if (!e->job_tasks.compute_ns.at)
                return -ENOMEM;
        }
        s->events[n++] = *e;
    }
    s->n = n;
    return 0;
}

size_t submission_tasks_last(struct submission *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct event e = s->events[i];
        if (e.kind == EVENT_FRAMEWORK_TASKS)
            continue;
        memmove(&s->events[n + 1], &s->events[n], (i - n) * sizeof(e));
        s->events[n++] = e;
    }
    return n;
}

void submission_done(struct submission *s)
{
    for (size_t i = 0; i < s->n_arrays; i++)
        free(s->arrays[i]);
    free(s->arrays);
    free(s->events);
    *s = (struct submission){0};
}
