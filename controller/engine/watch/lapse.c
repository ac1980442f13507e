#include "controller/engine/watch/lapse.h"

#include "controller/engine/books/order.h"
#include "controller/engine/books/room.h"
#include "controller/engine/facts/framework.h"
#include "controller/engine/watch/gate.h"

/* More than that is no bound. */
enum { LIMIT_MAX = 1 << 16 };

static struct account *user_of(const struct account *account)
{
    return account->above[0];
}

void lapse_set_limit(struct account *account, uint32_t limit)
{
    struct account *user = user_of(account);
    bool was = account->limit, is = limit;
    account->limit = limit;
    if (user && was != is)
        user->allowed += is ? account->allowed : -account->allowed;
}

void lapse_begin(struct account *account)
{
    const struct account *user = user_of(account);
    if (!account->limit && user->limit)
        lapse_set_limit(account, user->limit);
}

void lapse_count(struct engine *engine, const struct job *job, int by)
{
    struct account *account = job->account;
    (void)engine;
    if (!account)
        return;
    account->allowed += (uint32_t)by;
    if (account->limit && user_of(account))
        user_of(account)->allowed += (uint32_t)by;
}

/* NULL: nothing is counted there. */
static struct account *counted(const struct engine *engine, const struct stage *stage)
{
    const struct job *job = stage->job;
    bool own = room_owner(engine, job) == job->number >> ENGINE_APPLICATION_SHIFT;
    return engine->config.lapses_spared && !own ? job->account : NULL;
}

static void use(const struct engine *engine, struct account *account)
{
    if (account->limit)
        lapse_set_limit(account, account->limit < LIMIT_MAX ? 2 * account->limit : 0);
    else if (account->spare < engine->config.lapses_spared)
        account->spare++;
}

void lapse_used(struct engine *engine, const struct stage *stage)
{
    struct account *account = counted(engine, stage);
    if (!account)
        return;
    use(engine, account);
    if (user_of(account))
        use(engine, user_of(account));
}

/* False: others that were used make up for it. */
static bool halve(struct account *account)
{
    uint32_t most =
        account->limit && account->limit < account->allowed ? account->limit : account->allowed;
    account->lapsed++;
    if (!account->limit && account->spare) {
        account->spare--;
        return false;
    }
    lapse_set_limit(account, most > 1 ? most / 2 : 1);
    return true;
}

void lapse_unused(struct engine *engine, const struct stage *stage)
{
    struct account *account = counted(engine, stage);
    if (account && halve(account) && user_of(account))
        halve(user_of(account));
}

bool lapse_is_bounded(const struct account *account)
{
    return account && (account->away || account->limit);
}

bool lapse_is_full(const struct account *account)
{
    const struct account *user = account ? user_of(account) : NULL;
    if (!lapse_is_bounded(account))
        return false;
    return account->away || account->allowed >= account->limit ||
           (user && user->limit && user->allowed >= user->limit);
}

uint64_t lapse_bound(const struct engine *engine, const struct job *job, bool apart)
{
    uint64_t application = job->number >> ENGINE_APPLICATION_SHIFT;
    return apart && room_owner(engine, job) != application ? application : 0;
}

static bool binds(const struct engine *engine, const struct job *job)
{
    return job->framework && lapse_is_bounded(job->account) &&
           (job->account->away || lapse_bound(engine, job, true));
}

void lapse_step_aside(struct engine *engine)
{
    struct job *job = order_first(engine);
    while (job && binds(engine, job) && !job->framework->last && lapse_is_full(job->account)) {
        job->framework->last = true;
        engine->step_starts++;
        order_change(engine, job);
        job = order_first(engine);
    }
}

void lapse_come_back(struct job *job)
{
    job->framework->last = job->framework->last && lapse_is_bounded(job->account);
}

bool lapse_set_apart(struct engine *engine, struct stage *stage)
{
    struct framework_stage *own = stage->framework;
    if (!own || own->apart || !binds(engine, stage->job) || !lapse_bound(engine, stage->job, true))
        return false;
    engine->step_starts += stage->n_ready;
    own->apart = true;
    framework_refit(engine, stage);
    if (!stage->bucket->shape->bound)
        gate_open(engine, stage, REASON_TABLE_FULL, 0);
    return true;
}
