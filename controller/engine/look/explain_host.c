/* Explains what a host's slots are used for, and why free ones are free. */
#include "controller/engine/base/resources.h"
#include "controller/engine/base/say.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/at_most.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/limit.h"
#include "controller/engine/look/clauses.h"
#include "controller/engine/look/reason.h"
#include "controller/engine/policy/questions.h"
#include "controller/engine/watch/order.h"
#include "controller/engine/watch/queues.h"
#include "controller/engine/watch/refusal.h"
#include "lib/plural.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* WHY these bounds: a query must not cost what a cluster of 10⁵ waiting jobs has. */
enum { JOBS_LOOKED = 64, BUCKETS_LOOKED = 256, WAITING_TOLD = 3 };

struct look {
    const struct engine *engine;
    const struct host *host;
    struct engine_explanation *e;
    uint32_t jobs, buckets, told;
};

/* Why a stage's ready tasks do not start there: a word for programs. NULL: they may. */
static const char *is_unfit(const struct look *look, const struct stage *stage)
{
    const struct shape *shape = stage->bucket->shape;
    const struct host_shape *here = look->host->shapes[shape->index];
    bool possible = false;
    const uint32_t n = shape->application ? 1 : look->host->n_units;
    for (uint32_t i = 0; i < n; i++)
        possible |= here->fit[i].possible;
    if (!here->meets)
        return "constraint";
    if (shape->application && !host_unit(look->host, shape, 0))
        return "no-executor";
    if (!possible)
        return "never-fits";
    if (!here->fitting)
        return "no-room";
    return at_most_room(stage->first, look->host) ? NULL : "at-most";
}

/* The most of each resource that is free in one unit. */
static void most_free(const struct host *host, struct resources *ret_most)
{
    *ret_most = (struct resources){0};
    for (uint32_t u = 0; u < host->n_units; u++)
        for (int r = 0; r < ENGINE_RESOURCES; r++)
            if (host->units[u].free.amount[r] > ret_most->amount[r])
                ret_most->amount[r] = host->units[u].free.amount[r];
}

static void say_unfit(const struct look *look, const struct stage *stage, const char *why)
{
    const struct shape *shape = stage->bucket->shape;
    char needs[160], has[160];
    struct resources most;
    most_free(look->host, &most);
    say_resources(&shape->demand, &shape->demand, needs, sizeof(needs));
    say_resources(&shape->demand, &most, has, sizeof(has));
    if (strcmp(why, "constraint") == 0)
        say(look->e, "None may run here: this host does not meet '%s'.", shape->constraint);
    else if (strcmp(why, "no-executor") == 0)
        say(look->e, "None may run here, where their application has no executor.");
    else if (strcmp(why, "never-fits") == 0)
        say(look->e, "Each needs %s in one unit, more than any has here.", needs);
    else if (strcmp(why, "no-room") == 0)
        say(look->e, "Each needs %s in one unit, and the most that is free in one here is %s.",
            needs, has);
    else
        say(look->e, "As many of them run here, or on its rack, as may at once.");
}

static const char *say_refusal(const struct look *look, const struct refusal *refusal)
{
    const struct policy_why *why = &refusal->why;
    const struct policy_reason *entry = policy_reason(look->engine, DECISION_HOLD, why->reason);
    say(look->e, "Held back, since they may not commit: ");
    if (entry)
        say_sentence(look->engine, look->e, entry->sentence, NULL, why->left, why->right);
    return reason_name(why->reason);
}

/* Says why, and returns a word for programs. `task` is the first of them. */
static const char *say_why(const struct look *look, const struct task *task)
{
    const struct engine *engine = look->engine;
    const struct stage *stage = task->stage;
    const struct account *account = stage->job->account;
    const char *unfit = is_unfit(look, stage);
    if (unfit) {
        say_unfit(look, stage, unfit);
        return unfit;
    }
    if (stage->first->refusal)
        return say_refusal(look, stage->first->refusal);
    if (limit_is_reached(account) && limit_of_shape(engine, stage->job, true)) {
        say(look->e, "Their application may have no more allows now than the %u that it has.",
            account->allowed);
        return "allows";
    }
    if (engine->place->full && engine->place->full(engine)) {
        say(look->e,
            "The last of the cluster's free slots, %" PRId64 " of %" PRId64
            ", are left to what needs one for a moment.",
            engine->free.amount[RES_SLOTS], engine->total.amount[RES_SLOTS]);
        return "last-slots";
    }
    if (stage->held || stage->bucket->homed) {
        say_hold(engine, look->e, task);
        return stage->held ? reason_name(stage->hold_reason) : "home";
    }
    say(look->e, "They are placed at the next decision.");
    return "next";
}

static void waiting_say(struct look *look, const struct task *task)
{
    const struct stage *stage = task->stage;
    const struct job *job = stage->job;
    const uint64_t place = engine_job_place(look->engine, job->number);
    char name[32];
    say(look->e,
        " Stage %u of job %" PRIu64 " (%s), %" PRIu64 " of %zu in turn, has %u ready task%s. ",
        stage->index, job->number, job->name, place, look->engine->active.n, stage->n_ready,
        plural(stage->n_ready));
    const char *why = say_why(look, task);
    snprintf(name, sizeof(name), "waiting_%u", ++look->told);
    say_fact(look->e, name, "%" PRIu64 "/%u, %u ready, place %" PRIu64 ": %s", job->number,
             stage->index, stage->n_ready, place, why);
    if (look->told == 1)
        say_user(look->engine, look->e, job->tenant);
}

/* The first map, and the first reduce task, of tasks that need the same. */
static void bucket_look(struct look *look, const struct bucket *bucket)
{
    const struct task *map = bucket_first_map(bucket);
    const struct stage *reduces = TAILQ_FIRST(&bucket->reduce_stages);
    struct sorted_node *reduce = reduces ? sorted_first(&reduces->ready_reduces) : NULL;
    look->buckets++;
    if (map && look->told < WAITING_TOLD)
        waiting_say(look, map);
    if (reduce && look->told < WAITING_TOLD)
        waiting_say(look, container_of(reduce, struct task, ready));
}

/* The first in turn that wait. */
static void jobs_look(struct look *look)
{
    struct sorted_node *node = sorted_first(&look->engine->active);
    for (; node && look->jobs < JOBS_LOOKED && look->told < WAITING_TOLD;
         node = sorted_next(node)) {
        const struct job *job = container_of(node, struct job, by_turn);
        look->jobs++;
        for (uint32_t b = 0; job->n_ready && b < job->n_buckets && look->buckets < BUCKETS_LOOKED;
             b++)
            bucket_look(look, job->buckets[b]);
    }
}

static void nobody_say(const struct look *look)
{
    const struct engine *engine = look->engine;
    if (!engine->n_ready)
        say(look->e, " No task is ready: they are used when one is that may run here.");
    else
        say(look->e, " The first %u of %zu jobs in turn have no ready task.", look->jobs,
            engine->active.n);
}

static void free_say(struct look *look)
{
    jobs_look(look);
    say_fact(look->e, "tasks_ready", "%" PRIu64, look->engine->n_ready);
    say_fact(look->e, "jobs_looked_at", "%u of %zu", look->jobs, look->engine->active.n);
    if (!look->told)
        nobody_say(look);
}

/* The first in turn of those that run there. */
static void first_say(const struct engine *engine, const struct host *host,
                      struct engine_explanation *e)
{
    const struct attempt *attempt;
    const struct job *first = NULL;
    TAILQ_FOREACH (attempt, &host->attempts, on_host) {
        const struct job *job = attempt->task ? attempt->task->stage->job : NULL;
        if (job && job->by_turn.in &&
            (!first || sorted_compare(job->by_turn.key, first->by_turn.key) < 0))
            first = job;
    }
    if (!first)
        return;
    const uint64_t place = engine_job_place(engine, first->number);
    say(e, " First in turn of those that run there is job %" PRIu64 " (%s), %" PRIu64 " of %zu.",
        first->number, first->name, place, engine->active.n);
    say_fact(e, "first_job", "%" PRIu64, first->number);
    say_fact(e, "first_job_place", "%" PRIu64 " of %zu", place, engine->active.n);
}

/* Its attempts, or its messages with starts, are as many as may be. */
static void bound_say(const struct engine *engine, const struct host *host,
                      struct engine_explanation *e)
{
    const struct engine_config *config = &engine->config;
    if (config->host_attempts_max && host->running >= config->host_attempts_max)
        say(e, " It gets no more: %u attempts are the most for one host.", host->running);
    else
        say(e,
            " It gets no more until it has answered some of %u messages with starts; at most %u "
            "may be unanswered.",
            host->sent, config->host_starts_max);
}

static void slots_say(struct look *look, const struct host_view *view)
{
    const int64_t total = view->total.amount[RES_SLOTS], free = view->free.amount[RES_SLOTS];
    struct engine_explanation *e = look->e;
    if (!total)
        say(e, " It has no slots.");
    else if (free <= 0)
        say(e,
            " No slot of its %" PRId64
            " is free: one is when an attempt there ends, of which there "
            "%s %u.",
            total, view->running == 1 ? "is" : "are", view->running);
    else
        say(e, " %" PRId64 " of its %" PRId64 " slot%s %s free.", free, total,
            plural((uint64_t)total), free == 1 ? "is" : "are");
    first_say(look->engine, look->host, e);
    if (total && free > 0 && !host_takes(look->engine, look->host))
        bound_say(look->engine, look->host, e);
    else if (total && free > 0)
        free_say(look);
}

int engine_explain_host(const struct engine *engine, uint32_t index,
                        struct engine_explanation *ret_explanation)
{
    struct engine_explanation *e = ret_explanation;
    struct look look = {.engine = engine, .host = cluster_host(engine, index), .e = e};
    struct host_view view;
    if (!look.host || engine_host(engine, index, &view) < 0)
        return -ENOENT;
    memset(e, 0, sizeof(*e));
    say_fact(e, "slots", "%" PRId64, view.total.amount[RES_SLOTS]);
    say_fact(e, "slots_free", "%" PRId64, view.free.amount[RES_SLOTS]);
    say_fact(e, "attempts", "%u", view.running);
    if (engine->config.host_attempts_max)
        say_fact(e, "attempts_at_most", "%u", engine->config.host_attempts_max);
    if (host_up(look.host))
        slots_say(&look, &view);
    return 0;
}
