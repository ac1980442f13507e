#include "controller/engine/base/ground.h"
#include "controller/engine/books/at_most.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/commit/commit.h"
#include "controller/engine/commit/start.h"

#define REASON_CLAIMED ((enum reason)11)

static bool admits(const struct engine *engine, const struct claim *claim,
                   struct policy_why *ret_why)
{
    (void)engine;
    (void)claim;
    (void)ret_why;
    return true;
}

static const struct policy_reason reasons[] = {
    {DECISION_START, REASON_CLAIMED, "claimed", "the scheduler's number", NULL,
     "Runs on {host} because scheduler {left} claimed it there and it fitted. "},
    {0}};

const struct commit_policy commit_single = {.policy = {.name = "single", .reasons = reasons},
                                            .admits = admits};

/* The claim of item i, for the first way to run it that fits there; false when it has no such ready
 * task or unit, or may not commit. */
static bool claim_of_item(struct engine *engine, const struct event *event, uint32_t i,
                          struct claim *ret_claim)
{
    struct task *task = job_find_task(engine, event->claim.jobs.at[i], event->claim.stages.at[i],
                                      event->claim.tasks.at[i]);
    struct host *host = cluster_host(engine, event->claim.hosts.at[i]);
    uint32_t unit = event->claim.units.at[i];
    if (!task || task_state(task) != TASK_READY || !host || unit >= host->n_units)
        return false;
    struct policy_why why;
    struct stage *way;
    VARIANT_FOREACH (way, task->stage) {
        struct fit *fit = &host->shapes[way->bucket->shape->index]->fit[unit];
        *ret_claim = (struct claim){&way->tasks[task->index], fit, REASON_CLAIMED,
                                    event->claim.scheduler, 0};
        if (fit->times > 0 && at_most_room(way, host))
            return engine->commit->admits(engine, ret_claim, &why);
    }
    return false;
}

static void answer(struct engine *engine, const struct event *event, uint32_t i,
                   const struct attempt *attempt)
{
    struct decision *decision = engine_decide(engine, DECISION_CLAIM_RESULT, REASON_CLAIMED, 0, 0);
    decision->claim_result.request = event->request;
    decision->claim_result.item = i;
    decision->claim_result.outcome = attempt ? 0 : 2;
    decision->claim_result.token = attempt ? attempt->number : 0;
}

void commit_claim(struct engine *engine, const struct event *event)
{
    uint32_t n = event->claim.jobs.n;
    if (event->claim.stages.n != n || event->claim.tasks.n != n || event->claim.hosts.n != n ||
        event->claim.units.n != n || n == 0) {
        engine_reject(engine, event, REASON_BAD_VALUE, n, 0);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct claim claim;
        bool granted = claim_of_item(engine, event, i, &claim);
        if (granted && engine->division->charge)
            engine->division->charge(engine, &claim);
        answer(engine, event, i, granted ? attempt_start(engine, &claim) : NULL);
    }
}
