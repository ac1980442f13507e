#include "controller/engine/books/spread.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/table.h"

#include <stdlib.h>

struct job_host *spread_find(const struct job *job, const struct host *host)
{
    return table_find(&job->spread, host->index);
}

uint32_t spread_outputs(const struct job *job, const struct host *host)
{
    const struct job_host *here = spread_find(job, host);
    return here ? here->outputs : 0;
}

static struct job_host *get(struct engine *engine, struct job *job, struct host *host)
{
    struct job_host *here = spread_find(job, host);
    if (here)
        return here;
    here = engine_allocate(engine, 1, sizeof(*here));
    here->job = job;
    here->host = host;
    table_put(engine, &job->spread, host->index, here);
    return here;
}

void spread_join(struct engine *engine, struct attempt *attempt)
{
    attempt->spread = get(engine, attempt->task->stage->job, attempt->host);
    attempt->spread->attempts++;
}

void spread_leave(struct attempt *attempt)
{
    attempt->spread->attempts--;
    attempt->spread = NULL;
}

static void order(struct job_host *here)
{
    struct sorted_key key = {here->host->index, 0, 0};
    sorted_place(&here->job->outputs, &here->by_host, key, UINT64_MAX - here->outputs);
}

const struct sorted *spread_ordered(const struct job *of)
{
    struct job *job = (struct job *)(uintptr_t)of;
    struct job_host *here;
    for (uint32_t at = 0; !job->outputs_ordered && (here = table_next(&job->spread, &at));)
        if (here->outputs)
            order(here);
    job->outputs_ordered = true;
    return &job->outputs;
}

static void leave_outputs(struct job_host *here)
{
    sorted_remove(&here->job->outputs, &here->by_host);
    TAILQ_REMOVE(&here->host->outputs, here, of_host);
    here->host->n_outputs--;
    here->job->output_hosts--;
}

void spread_output(struct engine *engine, struct job *job, struct host *host, bool more)
{
    struct job_host *here = get(engine, job, host);
    if (more && !here->outputs) {
        TAILQ_INSERT_TAIL(&host->outputs, here, of_host);
        host->n_outputs++;
        job->output_hosts++;
    }
    here->outputs += more ? 1 : -1u;
    job->n_outputs += more ? 1 : (uint64_t)-1;
    if (!here->outputs)
        leave_outputs(here);
    else if (job->outputs_ordered)
        order(here);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

uint64_t *spread_jobs(struct engine *engine, const struct host *host, uint32_t *ret_n)
{
    uint64_t *numbers = engine_allocate(engine, host->n_outputs, sizeof(*numbers));
    const struct job_host *here;
    *ret_n = 0;
    TAILQ_FOREACH (here, &host->outputs, of_host)
        numbers[(*ret_n)++] = here->job->number;
    qsort(numbers, *ret_n, sizeof(*numbers), by_number);
    return numbers;
}

void spread_done(struct job *job)
{
    struct job_host *here;
    for (uint32_t at = 0; (here = table_next(&job->spread, &at));) {
        if (here->outputs)
            leave_outputs(here);
        free(here);
    }
    table_done(&job->spread);
}
