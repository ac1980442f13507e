#include "controller/engine/watch/lapse.h"

#include "controller/engine/books/account.h"
#include "controller/engine/books/limit.h"
#include "controller/engine/books/room.h"
#include "controller/engine/watch/gate.h"
#include "controller/engine/watch/order.h"
#include "controller/engine/watch/refit.h"

/* A larger limit is none. */
enum { LIMIT_MAX = 1 << 16 };

/* NULL: the stage's allows are not counted. */
static struct account *counted(const struct engine *engine, const struct stage *stage)
{
    const struct job *job = stage->job;
    bool own = room_owner(engine, job) == job->number >> ENGINE_APPLICATION_SHIFT;
    return engine->config.lapses_spared && !own ? job->account : NULL;
}

static void use(const struct engine *engine, struct account *account)
{
    if (account->limit)
        limit_set(account, account->limit < LIMIT_MAX ? 2 * account->limit : 0);
    else if (account->spare < engine->config.lapses_spared)
        account->spare++;
}

static struct account *key_of(const struct engine *engine, const struct account *account)
{
    return engine->config.lapses_of_keys ? limit_key_of(account) : NULL;
}

void lapse_used(struct engine *engine, const struct stage *stage)
{
    struct account *account = counted(engine, stage);
    if (!account)
        return;
    use(engine, account);
    if (limit_user_of(account))
        use(engine, limit_user_of(account));
    if (key_of(engine, account))
        use(engine, key_of(engine, account));
}

/* False: a used allow makes up for this one. */
static bool halve(struct account *account)
{
    uint32_t most =
        account->limit && account->limit < account->allowed ? account->limit : account->allowed;
    account->lapsed++;
    if (!account->limit && account->spare) {
        account->spare--;
        return false;
    }
    limit_set(account, most > 1 ? most / 2 : 1);
    return true;
}

void lapse_unused(struct engine *engine, const struct stage *stage)
{
    struct account *account = counted(engine, stage);
    if (account && halve(account) && limit_user_of(account) && halve(limit_user_of(account)) &&
        key_of(engine, account))
        halve(key_of(engine, account));
}

static bool binds(const struct engine *engine, const struct job *job)
{
    return job->framework && limit_binds(job->account) &&
           (job->account->away || limit_of_shape(engine, job, true));
}

bool lapse_step_aside(struct engine *engine)
{
    struct job *job = order_first(engine);
    if (!job || !binds(engine, job) || job->framework->last || !limit_is_reached(job->account))
        return false;
    job->framework->last = true;
    engine->step_starts++;
    order_change(engine, job);
    return true;
}

bool lapse_set_apart(struct engine *engine, struct stage *stage)
{
    struct framework_stage *own = stage->framework;
    if (!own || own->apart || !binds(engine, stage->job) ||
        !limit_of_shape(engine, stage->job, true))
        return false;
    engine->step_starts += stage->n_ready;
    own->apart = true;
    refit_stage(engine, stage);
    if (!stage->bucket->shape->bound)
        gate_open(engine, stage, REASON_TABLE_FULL, 0);
    return true;
}
