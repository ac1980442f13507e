#include "testbed/sim/whatif/whatif.h"

#include "lib/grow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where no host says the rate of its links. */
#define LINK_BPS UINT64_C(1000000000)

static void take_news(void *context, const struct run_news *news)
{
    struct whatif_side *side = context;
    if (news->moment != RUN_STARTED || side->no_memory)
        return;
    side->starts_cut = side->n_starts == WHATIF_STARTS_MAX;
    if (side->starts_cut)
        return;
    side->no_memory = !array_grow(side->starts, side->n_starts, side->starts_allocated, 64);
    if (!side->no_memory)
        side->starts[side->n_starts++] =
            (struct whatif_start){news->now_ns, news->job, news->stage, news->task, news->host};
}

/* The rate of the most links of which one is known. WHY the largest: hosts that have not said
 * theirs are most often like the others. */
static uint64_t link_bps(const struct engine *engine, uint32_t hosts)
{
    struct host_view host;
    uint64_t most = 0;
    for (uint32_t h = 0; h < hosts; h++)
        if (engine_host(engine, h, &host) == 0 && host.downlink_bps > most)
            most = host.downlink_bps;
    return most >= 8 ? most : LINK_BPS;
}

static void put_name(struct engine_config *config, const char *question, const char *name)
{
    const struct {
        const char *question;
        char *name;
    } names[] = {{"turn", config->turn},       {"place", config->place}, {"commit", config->commit},
                 {"network", config->network}, {"mode", config->mode},   {"users", config->users}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(names[i].question, question) == 0)
            strcpy(names[i].name, name);
}

static struct run_config configure(const struct state *state, const struct present_jobs *present,
                                   const struct whatif_change *change, double headers)
{
    struct run_config config = {.engine = *engine_configuration(state->engine),
                                .hosts = present->hosts,
                                .slots = 1,
                                .link_bps = link_bps(state->engine, present->hosts),
                                .headers = headers,
                                .local_free = true};
    for (uint32_t i = 0; i < change->n_policies; i++)
        put_name(&config.engine, change->policies[i].question, change->policies[i].name);
    if (change->host != ENGINE_NONE) {
        config.faults.n_listed = 1;
        config.faults.listed[0] = (struct fault){change->host, 0, INT64_MAX};
    }
    return config;
}

struct changes {
    struct event events[WHATIF_POLICIES + WHATIF_VALUES];
    size_t n;
};

static void put_events(const struct whatif_change *change, struct changes *ret)
{
    ret->n = 0;
    for (uint32_t i = 0; i < change->n_policies; i++) {
        struct event *e = &ret->events[ret->n++];
        *e = (struct event){.kind = EVENT_POLICY_SET};
        e->policy_set.question = change->policies[i].question;
        e->policy_set.name = change->policies[i].name;
    }
    for (uint32_t i = 0; i < change->n_values; i++) {
        struct event *e = &ret->events[ret->n++];
        *e = (struct event){.kind = EVENT_POLICY_PARAMETER};
        e->policy_parameter.word = change->values[i].word;
        e->policy_parameter.value = change->values[i].value;
    }
}

/* Those of the state, and then those that the change brings; the copies own nothing. WHY other
 * names: one may ask about the jobs of a file that was submitted. NULL: no memory. */
static struct workload_job *all_jobs(const struct present_jobs *present,
                                     const struct whatif_change *change)
{
    size_t n = present->n + change->n_jobs;
    struct workload_job *jobs = calloc(n ? n : 1, sizeof(*jobs));
    if (!jobs)
        return NULL;
    if (present->n)
        memcpy(jobs, present->jobs, present->n * sizeof(*jobs));
    for (size_t i = 0; i < change->n_jobs; i++) {
        jobs[present->n + i] = change->jobs[i];
        struct workload_job *job = &jobs[present->n + i];
        job->id = present->next_job + i;
        snprintf(job->name, sizeof(job->name), "what-if-%" PRIu64, job->id);
    }
    return jobs;
}

static int open_side(struct whatif_side *side, size_t n_jobs)
{
    *side = (struct whatif_side){.n_jobs = n_jobs};
    side->left_s = calloc(n_jobs ? n_jobs : 1, sizeof(*side->left_s));
    side->ends = calloc(n_jobs ? n_jobs : 1, sizeof(*side->ends));
    side->result.jct_s = side->left_s;
    return side->left_s && side->ends ? 0 : -ENOMEM;
}

static int simulate(const struct state *state, const struct present_jobs *present,
                    const struct whatif_change *change, double headers,
                    const struct workload_job *jobs, struct whatif_side *side, struct err *err)
{
    struct changes changes;
    struct run_config config = configure(state, present, change, headers);
    put_events(change, &changes);
    struct run_resume resume = {.engine = state->engine,
                                .at_ns = state->at_ns,
                                .received = state->received,
                                .n_received = state->n_received,
                                .n_jobs = present->n,
                                .events = changes.events,
                                .n_events = changes.n,
                                .ends = side->ends,
                                .assumed = &side->assumed};
    config.resume = &resume;
    config.watch = take_news;
    config.watcher = side;
    int r = run_simulate(&config, jobs, side->n_jobs, &side->result, err);
    return r == 0 && side->no_memory ? -ENOMEM : r;
}

int whatif_run(const struct state *state, const struct present_jobs *present,
               const struct whatif_change *change, double headers, struct whatif_side *ret_side,
               struct err *err)
{
    struct workload_job *jobs = all_jobs(present, change);
    int r = open_side(ret_side, present->n + change->n_jobs);
    r = r < 0 || !jobs ? -ENOMEM : 0;
    if (r == 0 && !present->hosts)
        r = err_set(err, EINVAL, "this state has no hosts, so nothing can run on");
    if (r == 0)
        r = simulate(state, present, change, headers, jobs, ret_side, err);
    free(jobs);
    return r == -ENOMEM ? err_set(err, ENOMEM, "not enough memory to run this state on") : r;
}

void whatif_side_done(struct whatif_side *side)
{
    free(side->left_s);
    free(side->ends);
    free(side->starts);
    *side = (struct whatif_side){0};
}

static int compare_tasks(const struct whatif_start *a, const struct whatif_start *b)
{
    if (a->job != b->job)
        return a->job < b->job ? -1 : 1;
    if (a->stage != b->stage)
        return a->stage < b->stage ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

static int by_task(const void *left, const void *right)
{
    const struct whatif_start *a = left, *b = right;
    int order = compare_tasks(a, b);
    return order ? order : a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

static int64_t first_ns(const struct whatif_difference *d)
{
    return d->as_it_is.host == ENGINE_NONE        ? d->changed.at_ns
           : d->changed.host == ENGINE_NONE       ? d->as_it_is.at_ns
           : d->as_it_is.at_ns < d->changed.at_ns ? d->as_it_is.at_ns
                                                  : d->changed.at_ns;
}

static int by_time(const void *left, const void *right)
{
    const struct whatif_difference *a = left, *b = right;
    int64_t a_ns = first_ns(a), b_ns = first_ns(b);
    if (a_ns != b_ns)
        return a_ns < b_ns ? -1 : 1;
    return compare_tasks(a->as_it_is.host == ENGINE_NONE ? &a->changed : &a->as_it_is,
                         b->as_it_is.host == ENGINE_NONE ? &b->changed : &b->as_it_is);
}

struct comparing {
    struct whatif_side *as_it_is, *changed;
    struct whatif_difference *at;
    size_t n, allocated;
};

static const struct whatif_start nowhere = {.host = ENGINE_NONE};

/* A start that is in one run only is a difference where the other one's starts are all known. */
static bool add(struct comparing *c, const struct whatif_start *a, const struct whatif_start *b)
{
    const struct whatif_start *task = a ? a : b;
    bool unknown = (!a && c->as_it_is->starts_cut) || (!b && c->changed->starts_cut);
    if (unknown || (a && b && a->host == b->host && a->at_ns == b->at_ns))
        return true;
    if (!array_grow(c->at, c->n, c->allocated, 64))
        return false;
    c->at[c->n++] = (struct whatif_difference){task->job, task->stage, task->task, a ? *a : nowhere,
                                               b ? *b : nowhere};
    return true;
}

/* The next start of another task. */
static size_t pass(const struct whatif_side *side, size_t i)
{
    size_t next = i + 1;
    while (next < side->n_starts && !compare_tasks(&side->starts[i], &side->starts[next]))
        next++;
    return next;
}

static bool collect(struct comparing *c)
{
    const struct whatif_side *a = c->as_it_is, *b = c->changed;
    bool there = true;
    for (size_t i = 0, j = 0; there && (i < a->n_starts || j < b->n_starts);) {
        int order = i == a->n_starts   ? 1
                    : j == b->n_starts ? -1
                                       : compare_tasks(&a->starts[i], &b->starts[j]);
        there = add(c, order <= 0 ? &a->starts[i] : NULL, order >= 0 ? &b->starts[j] : NULL);
        size_t next_i = order <= 0 ? pass(a, i) : i, next_j = order >= 0 ? pass(b, j) : j;
        i = next_i;
        j = next_j;
    }
    return there;
}

static void sort(struct whatif_side *side)
{
    if (side->n_starts)
        qsort(side->starts, side->n_starts, sizeof(*side->starts), by_task);
}

long whatif_compare(struct whatif_side *as_it_is, struct whatif_side *changed,
                    struct whatif_difference *ret, size_t most)
{
    struct comparing c = {.as_it_is = as_it_is, .changed = changed};
    sort(as_it_is);
    sort(changed);
    bool there = collect(&c);
    if (there && c.n)
        qsort(c.at, c.n, sizeof(*c.at), by_time);
    if (there && c.n)
        memcpy(ret, c.at, (c.n < most ? c.n : most) * sizeof(*ret));
    free(c.at);
    return there ? (long)c.n : -ENOMEM;
}
