#include "lib/workload/workload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void stage_done(struct workload_stage *stage)
{
    for (uint32_t i = 0; stage->parents && i < stage->n_parents; i++) {
        free(stage->parents[i].sums);
        free(stage->parents[i].matrix);
    }
    free(stage->parents);
    for (uint32_t i = 0; stage->variants && i < stage->n_variants; i++)
        free(stage->variants[i].compute_ns);
    free(stage->variants);
    free(stage->input_bytes);
    free(stage->replicas);
    free(stage->compute_ns);
}

void workload_job_done(struct workload_job *job)
{
    if (!job)
        return;
    for (uint32_t i = 0; job->stages && i < job->n_stages; i++)
        stage_done(&job->stages[i]);
    free(job->stages);
    memset(job, 0, sizeof(*job));
}

const struct workload_demand *workload_demand_of(const struct workload_stage *stage,
                                                 uint32_t variant)
{
    return variant ? &stage->variants[variant - 1].demand : &stage->demand;
}

const char *workload_command_of(const struct workload_stage *stage, uint32_t variant)
{
    return variant ? stage->variants[variant - 1].command : stage->command;
}

const char *workload_constraint_of(const struct workload_stage *stage, uint32_t variant)
{
    return variant ? stage->variants[variant - 1].constraint : stage->constraint;
}

uint64_t workload_compute_ns(const struct workload_stage *stage, uint32_t variant, uint32_t task)
{
    const uint64_t *own = variant ? stage->variants[variant - 1].compute_ns : NULL;
    const uint64_t *compute_ns = own ? own : stage->compute_ns;
    return compute_ns ? compute_ns[task] : 0;
}

static bool is_profiled(const struct workload_stage *stage, uint32_t variant)
{
    return variant ? stage->variants[variant - 1].profiled : stage->profiled;
}

static struct profile profile_said(const struct workload_stage *stage, uint32_t variant)
{
    return variant ? stage->variants[variant - 1].profile : stage->profile;
}

struct profile workload_profile_of(const struct workload_stage *stage, uint32_t variant)
{
    struct profile profile = profile_said(stage, variant);
    unsigned __int128 sum_ns = 0;
    if (!is_profiled(stage, variant))
        return (struct profile){0};
    for (uint32_t t = 0; t < stage->tasks; t++)
        sum_ns += workload_compute_ns(stage, variant, t);
    profile.compute_ns = (uint64_t)(sum_ns / stage->tasks);
    return profile;
}

uint64_t workload_split_part(uint64_t whole, uint64_t parts, uint64_t part)
{
    return whole / parts + (part < whole % parts);
}

uint64_t workload_task_shuffle_bytes(const struct workload_job *job, uint32_t stage, uint32_t task)
{
    const struct workload_stage *s = &job->stages[stage];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < s->n_parents; i++) {
        const struct workload_edge *e = &s->parents[i];
        if (e->sums)
            bytes += e->sums[task];
        for (uint32_t source = 0; e->matrix && source < job->stages[e->parent].tasks; source++)
            bytes += e->matrix[(uint64_t)source * s->tasks + task];
    }
    return bytes;
}

uint64_t workload_job_shuffle_bytes(const struct workload_job *job)
{
    uint64_t bytes = 0;
    for (uint32_t stage = 0; stage < job->n_stages; stage++)
        for (uint32_t task = 0; job->stages[stage].n_parents && task < job->stages[stage].tasks;
             task++)
            bytes += workload_task_shuffle_bytes(job, stage, task);
    return bytes;
}

/* Saturating, so that no sum of a wrong file can wrap. */
static bool bytes_add(uint64_t *sum, const uint64_t *values, uint64_t n)
{
    for (uint64_t i = 0; values && i < n; i++) {
        if (values[i] > WORKLOAD_BYTES_MAX - *sum)
            return false;
        *sum += values[i];
    }
    return true;
}

static int check_replicas(const struct workload_header *header, const struct workload_stage *stage,
                          uint32_t index, struct err *err)
{
    for (uint32_t t = 0; stage->replicas && t < stage->tasks; t++) {
        const struct workload_replicas *r = &stage->replicas[t];
        if (r->n > WORKLOAD_REPLICAS_MAX)
            return err_set(err, EINVAL, "stages[%u].replicas[%u] has more than %d hosts", index, t,
                           WORKLOAD_REPLICAS_MAX);
        for (unsigned i = 0; i < r->n; i++) {
            if (r->hosts[i] >= header->hosts)
                return err_set(err, EINVAL, "stages[%u].replicas[%u] names host %u of %u", index, t,
                               r->hosts[i], header->hosts);
            for (unsigned j = 0; j < i; j++)
                if (r->hosts[j] == r->hosts[i])
                    return err_set(err, EINVAL, "stages[%u].replicas[%u] names host %u twice",
                                   index, t, r->hosts[i]);
        }
    }
    return 0;
}

static int check_edges(const struct workload_job *job, uint32_t index, uint64_t *shuffle,
                       uint64_t *cells, struct err *err)
{
    const struct workload_stage *stage = &job->stages[index];
    if (stage->n_parents > WORKLOAD_PARENTS_MAX)
        return err_set(err, EINVAL, "stages[%u] has %u parents, at most %d are taken", index,
                       stage->n_parents, WORKLOAD_PARENTS_MAX);
    for (uint32_t i = 0; i < stage->n_parents; i++) {
        const struct workload_edge *edge = &stage->parents[i];
        if (edge->parent >= index)
            return err_set(err, EINVAL,
                           "stages[%u].parents[%u] names stage %u, must be smaller than %u", index,
                           i, edge->parent, index);
        for (uint32_t j = 0; j < i; j++)
            if (stage->parents[j].parent == edge->parent)
                return err_set(err, EINVAL, "stages[%u].parents names stage %u twice", index,
                               edge->parent);
        if (edge->sums && edge->matrix)
            return err_set(err, EINVAL, "stages[%u].parents[%u] has both sums and matrix", index,
                           i);
        uint64_t n = (uint64_t)job->stages[edge->parent].tasks * stage->tasks;
        if (edge->matrix && n > WORKLOAD_CELLS_MAX - *cells)
            return err_set(err, EINVAL, "stages[%u].parents[%u].matrix: the job has over %d cells",
                           index, i, WORKLOAD_CELLS_MAX);
        *cells += edge->matrix ? n : 0;
        if (!bytes_add(shuffle, edge->sums, stage->tasks) || !bytes_add(shuffle, edge->matrix, n))
            return err_set(err, EINVAL,
                           "stages[%u].parents[%u]: the job moves more than 2^53 bytes", index, i);
    }
    return 0;
}

static bool demand_is_valid(const struct workload_demand *d)
{
    return d->slots >= 0 && d->cpu_milli >= 0 && d->mem_bytes >= 0 && d->gpu_milli >= 0 &&
           d->gpu_mem_bytes >= 0 && d->io_bytes_s >= 0;
}

static bool demand_is_nothing(const struct workload_demand *d)
{
    return !d->slots && !d->cpu_milli && !d->mem_bytes && !d->gpu_milli && !d->gpu_mem_bytes &&
           !d->io_bytes_s;
}

static bool says_the_same(const struct workload_stage *stage, uint32_t a, uint32_t b)
{
    return memcmp(workload_demand_of(stage, a), workload_demand_of(stage, b),
                  sizeof(struct workload_demand)) == 0 &&
           strcmp(workload_constraint_of(stage, a), workload_constraint_of(stage, b)) == 0;
}

static int check_variant(const struct workload_stage *stage, uint32_t index, uint32_t variant,
                         struct err *err)
{
    const struct workload_variant *v = &stage->variants[variant - 1];
    if (!demand_is_valid(&v->demand) || demand_is_nothing(&v->demand))
        return err_set(err, EINVAL, "stages[%u].variants[%u].demand %s", index, variant - 1,
                       demand_is_valid(&v->demand) ? "is nothing; let a task take at least one slot"
                                                   : "has a negative member");
    if (strchr(v->command, '\n'))
        return err_set(err, EINVAL, "stages[%u].variants[%u].command has a line end", index,
                       variant - 1);
    for (uint32_t t = 0; v->compute_ns && t < stage->tasks; t++)
        if (v->compute_ns[t] > WORKLOAD_TIME_MAX)
            return err_set(err, EINVAL, "stages[%u].variants[%u].compute_ms is over 146 years",
                           index, variant - 1);
    for (uint32_t before = 0; before < variant; before++)
        if (says_the_same(stage, variant, before))
            return err_set(err, EINVAL,
                           "stages[%u].variants[%u] has the demand and the constraint of %s, so it "
                           "would never be chosen; give it others",
                           index, variant - 1, before ? "one before it" : "the stage");
    return 0;
}

/* WHY by the task that computes least: it must have the time to read, too. */
static int check_profile(const struct workload_stage *stage, uint32_t index, uint32_t variant,
                         struct err *err)
{
    struct profile profile = profile_said(stage, variant);
    if (!is_profiled(stage, variant))
        return 0;
    profile.compute_ns = workload_compute_ns(stage, variant, 0);
    for (uint32_t t = 1; t < stage->tasks; t++)
        if (workload_compute_ns(stage, variant, t) < profile.compute_ns)
            profile.compute_ns = workload_compute_ns(stage, variant, t);
    if (profile_check(&profile, err) == 0)
        return 0;
    return variant ? err_prefix(err, "stages[%u].variants[%u].profile", index, variant - 1)
                   : err_prefix(err, "stages[%u].profile", index);
}

static int check_variants(const struct workload_stage *stage, uint32_t index, struct err *err)
{
    int r = 0;
    if (stage->n_variants >= WORKLOAD_VARIANTS_MAX)
        return err_set(err, EINVAL,
                       "stages[%u].variants has %u ways to run it; with the first, %d at most are "
                       "taken",
                       index, stage->n_variants, WORKLOAD_VARIANTS_MAX);
    for (uint32_t v = 1; r == 0 && v <= stage->n_variants; v++)
        r = check_variant(stage, index, v, err);
    for (uint32_t v = 0; r == 0 && v <= stage->n_variants; v++)
        r = check_profile(stage, index, v, err);
    return r;
}

static int check_wishes(const struct workload_stage *stage, uint32_t index, struct err *err)
{
    if (stage->n_wishes > WORKLOAD_WISHES_MAX)
        return err_set(err, EINVAL, "stages[%u].prefer has %u wishes, at most %d are taken", index,
                       stage->n_wishes, WORKLOAD_WISHES_MAX);
    for (uint32_t i = 0; i < stage->n_wishes; i++) {
        const struct workload_wish *wish = &stage->wishes[i];
        if (!wish->constraint[0])
            return err_set(err, EINVAL,
                           "stages[%u].prefer[%u].constraint is missing: what should a host meet?",
                           index, i);
        if (wish->utility < 1 || wish->utility > WORKLOAD_UTILITY_MAX)
            return err_set(err, EINVAL, "stages[%u].prefer[%u].utility must be 1…%d", index, i,
                           WORKLOAD_UTILITY_MAX);
        if (wish->speed < 1 || wish->speed > WORKLOAD_SPEED_MAX)
            return err_set(err, EINVAL, "stages[%u].prefer[%u].speed must be 1…%d", index, i,
                           WORKLOAD_SPEED_MAX);
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(wish->constraint, stage->wishes[j].constraint) == 0)
                return err_set(err, EINVAL,
                               "stages[%u].prefer[%u] wishes for what prefer[%u] does; add their "
                               "utilities",
                               index, i, j);
    }
    return 0;
}

static bool exceeds(uint32_t inner, uint32_t outer)
{
    return inner && outer && inner > outer;
}

/* The bound that another one leaves without effect is a mistake in one of them. */
static int check_bound(uint32_t inner, const char *of_inner, uint32_t outer, const char *of_outer,
                       struct err *err)
{
    return exceeds(inner, outer)
               ? err_set(err, EINVAL,
                         "%s is %u, above %s, which is %u: there can never be as many; lower one "
                         "of them",
                         of_inner, inner, of_outer, outer)
               : 0;
}

static int check_job_bounds(const struct workload_at_most *job, struct err *err)
{
    return check_bound(job->host, "at_most.host", job->rack, "at_most.rack", err);
}

static int check_stage_bounds(const struct workload_job *job, uint32_t index, struct err *err)
{
    const struct workload_at_most *stage = &job->stages[index].at_most, *of = &job->at_most;
    char host[48], rack[48];
    int r;
    snprintf(host, sizeof(host), "stages[%u].at_most.host", index);
    snprintf(rack, sizeof(rack), "stages[%u].at_most.rack", index);
    if ((r = check_bound(stage->host, host, stage->rack, rack, err)) < 0 ||
        (r = check_bound(stage->host, host, of->host, "the job's at_most.host", err)) < 0 ||
        (r = check_bound(stage->rack, rack, of->rack, "the job's at_most.rack", err)) < 0)
        return r;
    return check_bound(stage->host, host, of->rack, "the job's at_most.rack", err);
}

static int check_stage(const struct workload_header *header, const struct workload_job *job,
                       uint32_t index, uint64_t *input, struct err *err)
{
    const struct workload_stage *stage = &job->stages[index];
    if (stage->tasks < 1 || stage->tasks > WORKLOAD_TASKS_MAX)
        return err_set(err, EINVAL, "stages[%u].tasks is %u, must be 1…%d", index, stage->tasks,
                       WORKLOAD_TASKS_MAX);
    if (!demand_is_valid(&stage->demand))
        return err_set(err, EINVAL, "stages[%u].demand has a negative member", index);
    if (demand_is_nothing(&stage->demand))
        return err_set(err, EINVAL,
                       "stages[%u].demand is nothing, so any number of its tasks would start at "
                       "once; let a task take at least one slot",
                       index);
    for (uint32_t t = 0; stage->compute_ns && t < stage->tasks; t++)
        if (stage->compute_ns[t] > WORKLOAD_TIME_MAX)
            return err_set(err, EINVAL, "stages[%u].compute_ms is over 146 years", index);
    if (!bytes_add(input, stage->input_bytes, stage->tasks))
        return err_set(err, EINVAL, "stages[%u].input_bytes: the job reads more than 2^53 bytes",
                       index);
    int r = check_variants(stage, index, err);
    r = r < 0 ? r : check_wishes(stage, index, err);
    r = r < 0 ? r : check_stage_bounds(job, index, err);
    return r < 0 ? r : check_replicas(header, stage, index, err);
}

int workload_job_check(const struct workload_header *header, const struct workload_job *job,
                       struct err *err)
{
    uint64_t input = 0, shuffle = 0, cells = 0;
    if (job->id < 1 || job->id > WORKLOAD_ID_MAX)
        return err_set(err, EINVAL, "id must be 1…2^53");
    if (!job->name[0])
        return err_set(err, EINVAL, "name is empty");
    if (job->arrival_ns > WORKLOAD_TIME_MAX || job->deadline_ns > WORKLOAD_TIME_MAX)
        return err_set(err, EINVAL, "arrival_ms or deadline_ms is over 146 years");
    if (job->estimate_bytes < -1 || job->estimate_bytes > (int64_t)WORKLOAD_BYTES_MAX)
        return err_set(err, EINVAL, "estimate_bytes must be -1…2^53");
    if (job->n_stages < 1 || job->n_stages > WORKLOAD_STAGES_MAX)
        return err_set(err, EINVAL, "a job has 1…%d stages", WORKLOAD_STAGES_MAX);
    if (check_job_bounds(&job->at_most, err) < 0)
        return -EINVAL;
    for (uint32_t i = 0; i < job->n_stages; i++) {
        int r = check_stage(header, job, i, &input, err);
        if (r == 0)
            r = check_edges(job, i, &shuffle, &cells, err);
        if (r < 0)
            return r;
    }
    return 0;
}
