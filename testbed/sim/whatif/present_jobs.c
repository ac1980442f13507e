#include "testbed/sim/whatif/present_jobs.h"

#include "lib/grow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct making {
    const struct state *state;
    struct present_jobs *present;
};

static struct workload_demand demand_of(const struct resources *r)
{
    return (struct workload_demand){
        .slots = r->amount[RES_SLOTS],
        .cpu_milli = r->amount[RES_CPU_MILLI],
        .mem_bytes = r->amount[RES_MEM_BYTES],
        .gpu_milli = r->amount[RES_GPU_MILLI],
        .gpu_mem_bytes = r->amount[RES_GPU_MEM_BYTES],
        .io_bytes_s = r->amount[RES_IO_BYTES_S],
    };
}

/* The computing of each of its tasks, in an array that the stage owns; false: no memory. */
static bool put_compute(const struct engine *engine, const struct stage_view *view,
                        uint32_t variant, uint64_t **ret_compute_ns)
{
    struct variant_view way;
    uint64_t *compute_ns = calloc(view->tasks, sizeof(*compute_ns));
    bool known = false;
    *ret_compute_ns = compute_ns;
    for (uint32_t t = 0; compute_ns && t < view->tasks; t++) {
        compute_ns[t] = engine_compute_ns(engine, view->job, view->stage, t, variant);
        known |= compute_ns[t] > 0;
    }
    if (!compute_ns || known || engine_variant(engine, view->job, view->stage, variant, &way) < 0)
        return compute_ns != NULL;
    for (uint32_t t = 0; t < view->tasks; t++)
        compute_ns[t] = way.profile.compute_ns;
    return true;
}

static bool put_variants(const struct engine *engine, const struct stage_view *view,
                         struct workload_stage *stage)
{
    struct variant_view way;
    if (engine_variant(engine, view->job, view->stage, 0, &way) == 0)
        stage->demand = demand_of(&way.demand);
    if (view->variants < 2)
        return true;
    stage->variants = calloc(view->variants - 1, sizeof(*stage->variants));
    for (uint32_t v = 1; stage->variants && v < view->variants; v++) {
        struct workload_variant *variant = &stage->variants[stage->n_variants++];
        if (engine_variant(engine, view->job, view->stage, v, &way) == 0)
            variant->demand = demand_of(&way.demand);
        if (!put_compute(engine, view, v, &variant->compute_ns))
            return false;
    }
    return stage->variants != NULL;
}

static bool put_edges(const struct engine *engine, const struct stage_view *view,
                      struct workload_stage *stage)
{
    struct edge_view edge;
    uint32_t allocated = 0;
    while (engine_edge(engine, view->job, view->stage, stage->n_parents, &edge) == 0) {
        if (!array_grow(stage->parents, stage->n_parents, allocated, 4))
            return false;
        stage->parents[stage->n_parents++] =
            (struct workload_edge){.parent = edge.parent, .pipelined = edge.pipelined};
    }
    return true;
}

/* Blocks: from where an attempt reads on when a host fails. */
static bool put_blocks(const struct engine *engine, const struct stage_view *view,
                       struct workload_stage *stage)
{
    struct task_view task;
    stage->input_bytes = calloc(view->tasks, sizeof(*stage->input_bytes));
    stage->replicas = calloc(view->tasks, sizeof(*stage->replicas));
    for (uint32_t t = 0; stage->input_bytes && stage->replicas && t < view->tasks; t++) {
        if (engine_task(engine, view->job, view->stage, t, &task) == 0)
            stage->input_bytes[t] = task.input_bytes;
        stage->replicas[t].n = (uint8_t)engine_block_hosts(engine, view->job, view->stage, t,
                                                           stage->replicas[t].hosts);
    }
    return stage->input_bytes && stage->replicas;
}

struct longest {
    const struct state *state;
    int64_t ns;
};

static void look_at_attempt(void *context, const struct attempt_view *attempt)
{
    struct longest *longest = context;
    const struct run_received *received =
        run_received_find(longest->state->received, longest->state->n_received, attempt->attempt);
    int64_t since_ns = received ? received->at_ns : attempt->started_ns;
    bool computes = attempt->state == ATTEMPT_COMPUTING && !attempt->stopping;
    if (computes && since_ns >= 0 && longest->state->at_ns - since_ns > longest->ns)
        longest->ns = longest->state->at_ns - since_ns;
}

static bool knows_none(const uint64_t *compute_ns, uint32_t tasks)
{
    for (uint32_t t = 0; t < tasks; t++)
        if (compute_ns[t])
            return false;
    return true;
}

/* Of a stage of whose computing nothing is known. */
static void guess(struct making *m, const struct stage_view *view, struct workload_stage *stage)
{
    struct longest longest = {.state = m->state};
    if (view->done == view->tasks || !knows_none(stage->compute_ns, view->tasks))
        return;
    engine_stage_attempts(m->state->engine, view->job, view->stage, look_at_attempt, &longest);
    *(longest.ns ? &m->present->stages_guessed : &m->present->stages_unknown) += 1;
    for (uint32_t t = 0; t < view->tasks; t++)
        stage->compute_ns[t] = 2 * (uint64_t)longest.ns;
}

static bool put_stage(struct making *m, uint64_t job, uint32_t index, struct workload_stage *stage)
{
    const struct engine *engine = m->state->engine;
    struct stage_view view;
    if (engine_stage(engine, job, index, &view) < 0)
        return true;
    stage->tasks = view.tasks;
    if (!put_compute(engine, &view, 0, &stage->compute_ns) || !put_variants(engine, &view, stage) ||
        !put_edges(engine, &view, stage) || !put_blocks(engine, &view, stage))
        return false;
    guess(m, &view, stage);
    return true;
}

static bool put_job(struct making *m, const struct job_view *view)
{
    struct present_jobs *present = m->present;
    struct workload_job *job = &present->jobs[present->n];
    *job = (struct workload_job){.id = view->job, .user = view->user, .estimate_bytes = -1};
    snprintf(job->name, sizeof(job->name), "%s", view->name);
    present->submitted_ns[present->n++] = view->submitted_ns;
    job->stages = calloc(view->stages ? view->stages : 1, sizeof(*job->stages));
    for (uint32_t s = 0; job->stages && s < view->stages; s++, job->n_stages++)
        if (!put_stage(m, view->job, s, &job->stages[s]))
            return false;
    return job->stages != NULL;
}

static size_t count(struct making *m)
{
    struct job_view job = {0};
    size_t n = 0;
    while (engine_job_after(m->state->engine, job.job, &job) == 0)
        n++;
    return n;
}

static bool put_jobs(struct making *m)
{
    struct present_jobs *present = m->present;
    struct job_view job = {0};
    size_t n = count(m);
    present->jobs = calloc(n ? n : 1, sizeof(*present->jobs));
    present->submitted_ns = calloc(n ? n : 1, sizeof(*present->submitted_ns));
    while (present->jobs && present->submitted_ns &&
           engine_job_after(m->state->engine, job.job, &job) == 0) {
        if (job.framework)
            continue;
        present->next_job = job.job + 1;
        present->arriving += job.state != JOB_ACTIVE;
        if (job.state == JOB_ACTIVE && !put_job(m, &job))
            return false;
    }
    return present->jobs && present->submitted_ns;
}

/* Numbers of jobs that have ended are taken, too. */
static void pass_finished(struct making *m)
{
    struct job_view job = {0};
    struct present_jobs *present = m->present;
    while (engine_finished_after(m->state->engine, job.job, &job) == 0)
        if (job.job >= present->next_job && job.job >> ENGINE_APPLICATION_SHIFT == 0)
            present->next_job = job.job + 1;
}

static uint32_t hosts_of(const struct engine *engine)
{
    struct host_view host;
    uint32_t most = engine_configuration(engine)->hosts_max, hosts = 0;
    for (uint32_t h = 0; h < most; h++)
        if (engine_host(engine, h, &host) == 0)
            hosts = h + 1;
    return hosts;
}

int present_jobs_make(const struct state *state, struct present_jobs *ret_present, struct err *err)
{
    struct making m = {.state = state, .present = ret_present};
    *ret_present = (struct present_jobs){.next_job = 1, .hosts = hosts_of(state->engine)};
    if (!put_jobs(&m))
        return err_set(err, ENOMEM, "not enough memory for the jobs of this state");
    pass_finished(&m);
    return 0;
}

void present_jobs_done(struct present_jobs *present)
{
    for (size_t i = 0; i < present->n; i++)
        workload_job_done(&present->jobs[i]);
    free(present->jobs);
    free(present->submitted_ns);
    *present = (struct present_jobs){0};
}
