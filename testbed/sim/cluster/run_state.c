/* What all files of a run use: memory, and finding what belongs to an attempt. */
#include "testbed/sim/cluster/run_state.h"

#include <errno.h>
#include <stdlib.h>

int run_out_of_memory(struct run *run)
{
    return err_set(run->err, ENOMEM, "not enough memory for this simulation");
}

int run_grow(void **array, size_t *room, size_t n, size_t size)
{
    if (n <= *room)
        return 0;
    size_t more = *room ? 2 * *room : 64;
    more = more < n ? n : more;
    void *grown = realloc(*array, more * size);
    if (!grown)
        return -ENOMEM;
    *array = grown;
    *room = more;
    return 0;
}

size_t run_job_index(const struct run *run, uint64_t job)
{
    struct arrival *arrival;
    HASH_FIND(hh, run->arrivals, &job, sizeof(job), arrival);
    return arrival->index;
}

bool run_has_job(const struct run *run, uint64_t job)
{
    struct arrival *arrival;
    HASH_FIND(hh, run->arrivals, &job, sizeof(job), arrival);
    return arrival != NULL;
}

int64_t run_deadline_ns(const struct run *run)
{
    int64_t due_ns = engine_deadline_ns(run->engine);
    return due_ns == INT64_MAX ? due_ns : due_ns - run->from_ns;
}

struct run_coflow *run_coflow(struct run *run, const struct run_attempt *a)
{
    return &run->coflows[run->first_coflow[run_job_index(run, a->job)] + a->stage];
}

void run_notify(struct run *run, enum run_moment moment, const struct run_attempt *a, uint32_t host)
{
    struct run_news news = {
        .moment = moment, .now_ns = run->now_ns, .host = host, .mode = run->mode};
    if (!run->config->watch)
        return;
    if (a) {
        news.job = a->job;
        news.attempt = a->number;
        news.stage = a->stage;
        news.task = a->task;
        news.variant = a->variant;
        news.reason = a->reason;
        news.left = a->left;
    }
    run->config->watch(run->config->watcher, &news);
}
