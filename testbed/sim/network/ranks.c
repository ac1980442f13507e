#include "testbed/sim/network/ranks.h"

#include "testbed/sim/network/fluid.h"

#include <errno.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* A task moves its block, its shuffle or both; its stage's shuffle is the Coflow. */
static void add_stage(struct ranks *ranks, const struct workload_job *job, uint32_t stage)
{
    const struct workload_stage *s = &job->stages[stage];
    uint64_t coflow = 0;
    for (uint32_t t = 0; t < s->tasks; t++) {
        uint64_t block = s->input_bytes ? s->input_bytes[t] : 0;
        uint64_t shuffle = workload_task_shuffle_bytes(job, stage, t);
        coflow += shuffle;
        ranks->sizes[ranks->n++] = block;
        ranks->sizes[ranks->n++] = shuffle;
        ranks->sizes[ranks->n++] = block + shuffle;
    }
    ranks->sizes[ranks->n++] = coflow;
}

static size_t room_for(const struct workload_job *jobs, size_t n_jobs)
{
    size_t allocated = 1;
    for (size_t i = 0; i < n_jobs; i++)
        for (uint32_t s = 0; s < jobs[i].n_stages; s++)
            allocated += 3 * (size_t)jobs[i].stages[s].tasks + 1;
    return allocated;
}

int ranks_make(struct ranks *ret_ranks, const struct workload_job *jobs, size_t n_jobs,
               struct err *err)
{
    struct ranks all = {.sizes = calloc(room_for(jobs, n_jobs), sizeof(*all.sizes)), .n = 1};
    if (!all.sizes)
        return err_set(err, ENOMEM, "not enough memory for the sizes of %zu jobs", n_jobs);
    for (size_t i = 0; i < n_jobs; i++)
        for (uint32_t s = 0; s < jobs[i].n_stages; s++)
            add_stage(&all, &jobs[i], s);
    qsort(all.sizes, all.n, sizeof(*all.sizes), compare);
    size_t n = 1;
    for (size_t i = 1; i < all.n; i++)
        if (all.sizes[i] != all.sizes[n - 1])
            all.sizes[n++] = all.sizes[i];
    all.n = n;
    if (n > FLUID_LEVELS_MAX) {
        ranks_done(&all);
        return err_set(err, EINVAL,
                       "unlimited levels: %zu different sizes, at most %d are simulated", n,
                       FLUID_LEVELS_MAX);
    }
    *ret_ranks = all;
    return 0;
}

uint32_t ranks_level(const struct ranks *ranks, uint64_t size)
{
    size_t from = 0, to = ranks->n;
    if (!ranks->sizes)
        return (uint32_t)size;
    while (from < to) {
        size_t middle = (from + to) / 2;
        if (ranks->sizes[middle] < size)
            from = middle + 1;
        else
            to = middle;
    }
    return (uint32_t)(from < ranks->n ? from : ranks->n - 1);
}

void ranks_done(struct ranks *ranks)
{
    free(ranks->sizes);
    *ranks = (struct ranks){0};
}
