#include "controller/engine/watch/order.h"

#include "controller/engine/base/tell.h"
#include "controller/engine/books/users.h"
#include "controller/engine/policy/policy.h"
#include "controller/engine/policy/questions.h"

static struct sorted_key key_of(const struct engine *engine, const struct job *job)
{
    /* WHY one that is held: slots must not wait for what does not start. */
    bool last = job->holder || (job->framework && job->framework->last);
    uint64_t number = engine->suspended ? 0 : last ? UINT64_MAX : engine->turn->number(engine, job);
    return (struct sorted_key){number, job->number, 0};
}

static void place_by_user(const struct engine *engine, struct job *job)
{
    if (users_divided(engine))
        sorted_place(&job->tenant->active, &job->by_turn_of_user, job->turn, 0);
}

static void add(struct engine *engine, struct job *job)
{
    job->turn = key_of(engine, job);
    sorted_insert(&engine->active, &job->by_turn, job->turn, 0);
    place_by_user(engine, job);
}

static void remove_job(struct engine *engine, struct job *job)
{
    sorted_remove(&engine->active, &job->by_turn);
    sorted_remove(&job->tenant->active, &job->by_turn_of_user);
}

static void job_changes_queues(struct engine *engine, struct job *job, struct user *before)
{
    sorted_remove(&before->active, &job->by_turn_of_user);
    if (job->by_turn.in)
        place_by_user(engine, job);
}

/* Whether it leaves its place between its neighbours. */
static bool passes(const struct sorted_node *node, struct sorted_key key)
{
    const struct sorted_node *before = sorted_previous(node), *after = sorted_next(node);
    return (before && sorted_compare(key, before->key) < 0) ||
           (after && sorted_compare(after->key, key) < 0);
}

void order_change(struct engine *engine, struct job *job)
{
    if (!job->by_turn.in)
        return;
    struct sorted_key key = key_of(engine, job);
    if (sorted_compare(key, job->turn) == 0)
        return;
    bool passed = passes(&job->by_turn, key);
    job->turn = key;
    sorted_place(&engine->active, &job->by_turn, key, 0);
    place_by_user(engine, job);
    tell_turn_moved(engine, job, passed);
}

void order_rebuild(struct engine *engine)
{
    for (struct sorted_node *node = sorted_first(&engine->jobs); node; node = sorted_next(node))
        order_change(engine, container_of(node, struct job, by_number));
}

struct job *order_first(const struct engine *engine)
{
    struct sorted_node *first = sorted_first(&engine->active);
    return first ? container_of(first, struct job, by_turn) : NULL;
}

static struct job *first_of_user(const struct user *user)
{
    const struct sorted_node *first = sorted_first(&user->active);
    return first ? container_of(first, struct job, by_turn_of_user) : NULL;
}

struct job *order_first_asked(const struct engine *engine)
{
    return engine->asked ? first_of_user(engine->asked) : order_first(engine);
}

struct job *order_first_beside(const struct engine *engine, const struct job *job)
{
    return users_divided(engine) ? first_of_user(job->tenant) : order_first(engine);
}

static void task_moved(struct engine *engine, struct task *task, enum task_state before)
{
    (void)before;
    order_change(engine, task->stage->job);
}

static void attempt_moved(struct engine *engine, struct task *task, struct attempt *attempt)
{
    (void)attempt;
    if (engine->turn->by_attempts || engine->turn->policy.hears.attempt_moved)
        order_change(engine, task->stage->job);
}

static void received(struct engine *engine, struct attempt *attempt, uint64_t more_bytes)
{
    (void)more_bytes;
    if (engine->turn->policy.hears.received)
        order_change(engine, attempt->task->stage->job);
}

const struct listener order_hears = {.job_active = add,
                                     .job_withdrawn = remove_job,
                                     .job_changes_queues = job_changes_queues,
                                     .task_moved = task_moved,
                                     .attempt_moved = attempt_moved,
                                     .received = received};
