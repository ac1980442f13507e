#include "controller/engine/facts/job_orders.h"

#include "controller/engine/base/tell.h"
#include "controller/engine/books/eviction.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/watch/order.h"

#include <stdlib.h>

/* *ret_job is set if nothing is in the way. */
static struct obstacle obstacle_of(const struct engine *engine, uint64_t number,
                                   const struct job **ret_job)
{
    const struct job *job = job_find(engine, number);
    *ret_job = job;
    if (!job)
        return (struct obstacle){REASON_UNKNOWN_JOB, clamp_i64(number), 0};
    if (job->framework)
        return (struct obstacle){REASON_UNSUPPORTED, clamp_i64(number), 0};
    return (struct obstacle){job->state == JOB_ACTIVE ? REASON_NONE : REASON_BAD_STATE,
                             clamp_i64(number), 0};
}

static struct obstacle holding_obstacle(const struct engine *engine, uint64_t number, bool held)
{
    const struct job *job;
    struct obstacle obstacle = obstacle_of(engine, number, &job);
    if (obstacle.reason == REASON_NONE && !job->holder == held)
        obstacle.reason = REASON_BAD_STATE;
    return obstacle;
}

struct obstacle job_hold_obstacle(const struct engine *engine, const struct event *event)
{
    return holding_obstacle(engine, event->job_hold.job, false);
}

void job_hold(struct engine *engine, const struct event *event)
{
    struct job *job = job_find(engine, event->job_hold.job);
    const int64_t since_ns = event->job_hold.since_ns;
    job->holder = engine_allocate(engine, 1, sizeof(*job->holder));
    job->holder->since_ns = since_ns ? since_ns : engine->now_ns;
    engine_copy_word(job->holder->by, sizeof(job->holder->by), event->job_hold.by);
    tell_job_leaves(engine, job);
    for (uint32_t s = 0; s < job->n_stages; s++)
        stage_close(engine, job->stages[s]);
    order_change(engine, job);
}

struct obstacle job_release_obstacle(const struct engine *engine, const struct event *event)
{
    return holding_obstacle(engine, event->job_release.job, true);
}

void job_release(struct engine *engine, const struct event *event)
{
    struct job *job = job_find(engine, event->job_release.job);
    free(job->holder);
    job->holder = NULL;
    order_change(engine, job);
    for (uint32_t s = 0; s < job->n_stages; s++)
        stage_open_if_due(engine, job->stages[s]);
}

struct obstacle job_requeue_obstacle(const struct engine *engine, const struct event *event)
{
    const struct job *job;
    return obstacle_of(engine, event->job_requeue.job, &job);
}

static void stage_requeue(struct engine *engine, struct stage *stage, int64_t ran)
{
    struct attempt *attempt, *next;
    TAILQ_FOREACH_SAFE (attempt, &stage->attempts, of_stage, next)
        if (eviction_may(attempt))
            eviction_do(engine, &(struct eviction){
                                    .attempt = attempt, .reason = REASON_REQUEUED, .left = ran});
}

/* WHY the last stage first: what runs reads from earlier ones, and is in the way of their
 * eviction. */
void job_requeue(struct engine *engine, const struct event *event)
{
    struct job *job = job_find(engine, event->job_requeue.job);
    const int64_t ran = clamp_i64(job->n_running);
    for (uint32_t s = job->n_stages; s > 0; s--)
        stage_requeue(engine, job->stages[s - 1], ran);
}
