#include "controller/engine/books/account.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/limit.h"
#include "lib/invariant.h"

#include <stdlib.h>

/* An owner of this kind may hold this many times what its pool has left. */
static const uint64_t shares[] = {
    [ACCOUNT_APPLICATION] = 1,
    [ACCOUNT_USER] = 2,
    [ACCOUNT_KEY] = 4,
    [ACCOUNT_SUBMITTER] = 8,
};

static struct sorted_key key_of(enum account_level level, uint64_t id)
{
    return (struct sorted_key){level, id, 0};
}

static struct account *account_find(const struct engine *engine, enum account_level level,
                                    uint64_t id)
{
    struct sorted_node *node = sorted_find(&engine->accounts, key_of(level, id));
    return node ? container_of(node, struct account, by_id) : NULL;
}

static struct account *account_make(struct engine *engine, enum account_level level, uint64_t id)
{
    struct account *account = account_find(engine, level, id);
    if (account)
        return account;
    account = engine_allocate(engine, 1, sizeof(*account));
    account->level = level;
    account->id = id;
    sorted_insert(&engine->accounts, &account->by_id, key_of(level, id), 0);
    return account;
}

static void let_go(struct engine *engine, struct account *account)
{
    if (!account || --account->held)
        return;
    sorted_remove(&engine->accounts, &account->by_id);
    for (int i = 0; i < 2; i++)
        let_go(engine, account->above[i]);
    free(account);
}

void account_done(struct engine *engine)
{
    struct sorted_node *node;
    while ((node = sorted_first(&engine->accounts))) {
        sorted_remove(&engine->accounts, node);
        free(container_of(node, struct account, by_id));
    }
}

/* An owner and the owners above it, at most three. */
struct owners {
    struct account *at[3];
    int n;
};

static struct owners owners_of(struct account *account)
{
    struct owners owners = {.n = 0};
    if (account)
        owners.at[owners.n++] = account;
    for (int i = 0; account && i < 2; i++)
        if (account->above[i])
            owners.at[owners.n++] = account->above[i];
    return owners;
}

static struct account_pool *pool_of(struct engine *engine, const struct account *account)
{
    return &engine->pools[account->level == ACCOUNT_SUBMITTER ? POOL_SUBMITTED : POOL_FRAMEWORKS];
}

/* WHY no product: with the largest amounts it would wrap around. */
static bool is_share(uint64_t own, uint64_t more, uint64_t used, uint64_t most, uint64_t share)
{
    uint64_t left = most > used ? most - used : 0;
    return more <= left && (own + more + share - 1) / share <= left;
}

enum amount { BYTES, JOBS, SHAPES, WAYS };

static uint64_t *amount_of(struct account *account, enum amount what)
{
    return what == BYTES    ? &account->bytes
           : what == JOBS   ? &account->jobs
           : what == SHAPES ? &account->shapes
                            : &account->ways;
}

static uint64_t most_of(const struct engine *engine, const struct account *account,
                        enum amount what)
{
    const struct engine_config *config = &engine->config;
    bool submitted = account->level == ACCOUNT_SUBMITTER;
    switch (what) {
    case BYTES:
        return submitted ? config->memory_max : config->framework_memory_max;
    case JOBS:
        return submitted ? config->jobs_max : config->framework_jobs_max;
    default:
        return submitted ? config->shapes_max : config->shapes_max / 2;
    }
}

static bool admits(struct engine *engine, struct account *account, enum amount what, uint64_t more)
{
    const struct owners owners = owners_of(account);
    bool fits = true;
    /* WHY not while a dump is loaded: what it holds was admitted before. */
    for (int i = 0; !engine->suspended && i < owners.n; i++) {
        struct account *owner = owners.at[i];
        fits =
            fits && is_share(*amount_of(owner, what), more, pool_of(engine, account)->amount[what],
                             most_of(engine, account, what), shares[owner->level]);
    }
    return fits;
}

static void add(struct engine *engine, struct account *account, enum amount what, uint64_t by)
{
    const struct owners owners = owners_of(account);
    for (int i = 0; i < owners.n; i++)
        *amount_of(owners.at[i], what) += by;
    if (account)
        pool_of(engine, account)->amount[what] += by;
}

static void refuse(struct engine *engine, struct account *account)
{
    account->refused++;
    engine->over_share = true;
}

static bool take(struct engine *engine, struct account *account, enum amount what, uint64_t more)
{
    if (!admits(engine, account, what, more)) {
        refuse(engine, account);
        return false;
    }
    add(engine, account, what, more);
    return true;
}

void account_submitter(struct engine *engine, const struct event *event)
{
    engine->submitter = event->job_submitter.submitter;
}

struct account *account_of_submitter(struct engine *engine, uint64_t submitter)
{
    return engine->config.memory_max ? account_make(engine, ACCOUNT_SUBMITTER, submitter) : NULL;
}

struct account *account_of_application(struct engine *engine, uint64_t application)
{
    return engine->config.memory_max ? account_make(engine, ACCOUNT_APPLICATION, application)
                                     : NULL;
}

const struct account *account_known(const struct engine *engine, uint64_t application)
{
    return account_find(engine, ACCOUNT_APPLICATION, application);
}

struct account *account_loaded(struct engine *engine, uint32_t level, uint64_t id)
{
    return level <= ACCOUNT_KEY ? account_find(engine, (enum account_level)level, id) : NULL;
}

struct account *account_restore(struct engine *engine, uint32_t level, uint64_t id)
{
    return engine->config.memory_max && level <= ACCOUNT_SUBMITTER
               ? account_make(engine, (enum account_level)level, id)
               : NULL;
}

static void drop_unheld(struct engine *engine, struct account *account)
{
    account->held++;
    let_go(engine, account);
}

bool account_admits_job(struct engine *engine, struct account *account)
{
    bool may = !account ||
               (admits(engine, account, JOBS, 1) && admits(engine, account, BYTES, ACCOUNT_JOB));
    if (!may) {
        refuse(engine, account);
        drop_unheld(engine, account);
    }
    return may;
}

void account_join(struct engine *engine, struct job *job, struct account *account)
{
    if (!account)
        return;
    account->held++;
    job->account = account;
    add(engine, account, JOBS, 1);
    add(engine, account, BYTES, ACCOUNT_JOB);
    job->counted = ACCOUNT_JOB;
}

void account_leave(struct engine *engine, struct job *job)
{
    if (!job->account)
        return;
    add(engine, job->account, BYTES, -job->counted);
    add(engine, job->account, JOBS, (uint64_t)-1);
    let_go(engine, job->account);
    job->account = NULL;
}

bool account_admits(struct engine *engine, const struct job *job, uint64_t bytes)
{
    bool may = !job->account || admits(engine, job->account, BYTES, bytes);
    if (!may)
        refuse(engine, job->account);
    return may;
}

bool account_take(struct engine *engine, struct job *job, uint64_t bytes)
{
    if (job->account && !take(engine, job->account, BYTES, bytes))
        return false;
    job->counted += bytes;
    return true;
}

void account_add(struct engine *engine, struct job *job, uint64_t bytes)
{
    add(engine, job->account, BYTES, bytes);
    job->counted += bytes;
}

bool account_admits_attempt(struct engine *engine, uint64_t job)
{
    struct account *account = account_of_application(engine, job >> ENGINE_APPLICATION_SHIFT);
    bool may = !account || admits(engine, account, BYTES, ACCOUNT_ATTEMPT);
    if (!may)
        refuse(engine, account);
    if (account)
        drop_unheld(engine, account);
    return may;
}

void account_join_attempt(struct engine *engine, struct attempt *attempt)
{
    struct account *account =
        account_of_application(engine, attempt->job_number >> ENGINE_APPLICATION_SHIFT);
    if (!account || attempt->account)
        return;
    add(engine, account, BYTES, ACCOUNT_ATTEMPT);
    account->held++;
    attempt->account = account;
}

void account_leave_attempt(struct engine *engine, struct attempt *attempt)
{
    if (!attempt->account)
        return;
    add(engine, attempt->account, BYTES, -(uint64_t)ACCOUNT_ATTEMPT);
    let_go(engine, attempt->account);
    attempt->account = NULL;
}

bool account_admits_tasks(const struct engine *engine, const struct job *job, uint64_t more)
{
    const struct engine_config *config = &engine->config;
    uint64_t of_frameworks = engine->framework_tasks, all = engine->n_tasks;
    if (!config->memory_max)
        return all + more <= config->tasks_max;
    return job->framework ? of_frameworks + more <= config->tasks_max / 2
                          : all - of_frameworks + more <= config->tasks_max;
}

bool account_take_shape(struct engine *engine, struct shape *shape, struct account *account)
{
    if (!account)
        return true;
    if (!take(engine, account, SHAPES, 1))
        return false;
    account->held++;
    shape->account = account;
    return true;
}

void account_give_shape(struct engine *engine, struct shape *shape)
{
    if (!shape->account)
        return;
    add(engine, shape->account, SHAPES, (uint64_t)-1);
    let_go(engine, shape->account);
}

bool account_admits_ways(struct engine *engine, struct account *account)
{
    bool may = !account || admits(engine, account, WAYS, 1);
    if (!may)
        refuse(engine, account);
    return may;
}

void account_join_ways(struct engine *engine, struct ways *ways, struct account *account)
{
    if (!account)
        return;
    add(engine, account, WAYS, 1);
    account->held++;
    ways->account = account;
}

void account_leave_ways(struct engine *engine, struct ways *ways)
{
    if (!ways->account)
        return;
    add(engine, ways->account, WAYS, (uint64_t)-1);
    let_go(engine, ways->account);
}

void account_move_ways(struct engine *engine, struct ways *ways, struct account *account)
{
    struct account *before = ways->account;
    account_join_ways(engine, ways, account);
    if (!before)
        return;
    add(engine, before, WAYS, (uint64_t)-1);
    let_go(engine, before);
}

static struct account *hold(struct engine *engine, enum account_level level, uint64_t id)
{
    struct account *account = account_make(engine, level, id);
    account->held++;
    return account;
}

/* Moves what the account has from the owners that were above it before. */
static void put_above(struct engine *engine, struct account *account, struct account *user,
                      struct account *key)
{
    struct account *above[] = {user, key};
    const uint32_t limit = account->limit;
    limit_set(account, 0);
    for (int i = 0; i < 2; i++) {
        struct account *before = account->above[i];
        for (enum amount what = BYTES; what <= WAYS; what++) {
            uint64_t own = *amount_of(account, what);
            assert(!before || *amount_of(before, what) >= own);
            if (before)
                *amount_of(before, what) -= own;
            if (above[i])
                *amount_of(above[i], what) += own;
        }
        account->above[i] = above[i];
        let_go(engine, before);
    }
    limit_set(account, limit);
}

void account_owner(struct engine *engine, const struct event *event)
{
    uint64_t application = event->framework_owner.application;
    struct account *account = account_of_application(engine, application);
    if (!account || !application) {
        engine->counters.ignored_facts++;
        return;
    }
    bool told = account->above[0], tells = event->framework_owner.tells != OWNER_GONE;
    account->held++; /* so that it is not freed meanwhile */
    put_above(engine, account,
              tells ? hold(engine, ACCOUNT_USER, event->framework_owner.user) : NULL,
              tells ? hold(engine, ACCOUNT_KEY, event->framework_owner.key) : NULL);
    account->held += tells;
    assert(account->held >= told);
    account->held -= told;
    account->away = event->framework_owner.tells == OWNER_AWAY;
    if (tells && !told)
        limit_begin(account);
    let_go(engine, account);
}
