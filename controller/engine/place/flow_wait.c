#include "controller/engine/place/flow_wait.h"

#include "controller/engine/books/job.h"
#include "lib/container_of.h"

static int64_t due_ns(const struct flow_wait *wait)
{
    return wait->since_ns + (FLOW_WAIT_FIRST_NS << wait->octave);
}

static void place(struct flow_waits *waits, const struct job *job, struct flow_wait *wait)
{
    struct sorted_key key = {(uint64_t)due_ns(wait), job->number, 0};
    if (wait->octave < FLOW_WAIT_OCTAVES)
        sorted_place(&waits->due, &wait->of_due, key, 0);
    else
        sorted_remove(&waits->due, &wait->of_due);
}

void flow_wait_begin(struct flow_waits *waits, const struct job *job, struct flow_wait *wait,
                     int64_t now_ns)
{
    wait->since_ns = now_ns;
    wait->octave = 0;
    wait->waits = true;
    place(waits, job, wait);
}

void flow_wait_end(struct flow_waits *waits, struct flow_wait *wait)
{
    sorted_remove(&waits->due, &wait->of_due);
    *wait = (struct flow_wait){0};
}

void flow_wait_load(struct flow_waits *waits, const struct job *job, struct flow_wait *wait)
{
    if (wait->waits)
        place(waits, job, wait);
}

struct job *flow_wait_next(struct engine *engine, struct flow_waits *waits,
                           struct flow_wait *(*wait_of)(const struct job *))
{
    struct sorted_node *first = sorted_first(&waits->due);
    if (!first || first->key.a > (uint64_t)engine->now_ns)
        return NULL;
    struct job *job = job_find(engine, first->key.b);
    struct flow_wait *wait = wait_of(job);
    while (wait->octave < FLOW_WAIT_OCTAVES && due_ns(wait) <= engine->now_ns)
        wait->octave++;
    place(waits, job, wait);
    return job;
}
