#include "controller/engine/users/force.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/eviction.h"
#include "controller/engine/share/granule.h"
#include "controller/engine/watch/queues.h"

const struct engine_parameter parameter_force = {
    "force_priority",
    ENGINE_UNIT_COUNT,
    0,
    INT64_C(1) << 31,
    0,
    "For tasks of at least this priority what others owe is taken back by force; 0: never."};

const struct field force_attempt_fields[] = {FIELD_OF(force_attempt, stopped, BOOL),
                                             FIELD_OF(force_attempt, lender, U32),
                                             FIELD_OF(force_attempt, size, U64),
                                             {0}};

bool force_attempt_keeps(const void *state)
{
    const struct force_attempt *kept = state;
    return kept->stopped;
}

void force_attempt_load(struct engine *engine, union policy_of of, void *state)
{
    const struct force_attempt *kept = state;
    struct user *lender = users_find(engine, kept->lender);
    (void)of;
    if (kept->stopped && lender)
        lender->coming += kept->size;
}

void force_attempt_done(struct engine *engine, union policy_of of, void *state)
{
    const struct force_attempt *kept = state;
    struct user *lender = kept->stopped ? users_find(engine, kept->lender) : NULL;
    (void)of;
    if (lender)
        lender->coming -= kept->size < lender->coming ? kept->size : lender->coming;
}

/* What a user has ready that is urgent and finds no room. */
struct want {
    const struct bucket *bucket; /* the first by turn; NULL: nothing */
    const struct task *task;     /* its next one */
    uint64_t granules;           /* of all that were looked at */
};

static const struct task *next_task(const struct bucket *bucket)
{
    const struct stage *stage = TAILQ_FIRST(&bucket->reduce_stages);
    const struct task *map = bucket_first_map(bucket);
    return map || !stage ? map
                         : container_of(sorted_last(&stage->ready_reduces), struct task, ready);
}

static uint64_t ready_tasks(struct engine *engine, const struct bucket *bucket)
{
    uint64_t n = bucket->n_maps;
    const struct stage *stage;
    TAILQ_FOREACH (stage, &bucket->reduce_stages, of_bucket) {
        engine->counters.visits++;
        n += stage->ready_reduces.n;
    }
    return n;
}

static void add_job(struct engine *engine, const struct job *job, const struct resources *granule,
                    struct want *want)
{
    for (uint32_t i = 0; i < job->n_buckets; i++) {
        const struct bucket *bucket = job->buckets[i];
        const struct task *task = next_task(bucket);
        if (!task || task->stage->held || shape_times(engine, bucket->shape) > 0)
            continue;
        uint64_t size =
            granule_task(granule->amount, bucket->shape->demand.amount, ENGINE_RESOURCES);
        want->granules += size * ready_tasks(engine, bucket);
        if (want->bucket)
            continue;
        want->bucket = bucket;
        want->task = task;
    }
}

static bool is_urgent(const struct engine *engine, const struct job *job)
{
    return job->priority >= policy_value(engine, QUESTION_USERS, &parameter_force);
}

static struct want want_of(struct engine *engine, const struct user *user,
                           const struct resources *granule)
{
    struct want want = {0};
    uint32_t looks = 0;
    for (struct sorted_node *node = sorted_first(&user->active); node && looks < FORCE_LOOKS;
         node = sorted_next(node), looks++) {
        const struct job *job = container_of(node, struct job, by_turn_of_user);
        engine->counters.visits++;
        if (is_urgent(engine, job))
            add_job(engine, job, granule, &want);
    }
    return want;
}

static struct attempt *newest_of(struct engine *engine, const struct user *user,
                                 const struct bucket *bucket)
{
    struct attempt *attempt, *newest = NULL;
    for (struct sorted_node *node = sorted_first(&user->active); node; node = sorted_next(node)) {
        const struct job *job = container_of(node, struct job, by_turn_of_user);
        for (uint32_t s = 0; !is_urgent(engine, job) && s < job->n_stages; s++)
            TAILQ_FOREACH (attempt, &job->stages[s]->attempts, of_stage) {
                engine->counters.visits++;
                if ((!newest || attempt->number > newest->number) && eviction_may(attempt) &&
                    eviction_leaves_room(attempt, bucket->shape))
                    newest = attempt;
            }
    }
    return newest;
}

static int64_t budget_of(const struct turns *turns, struct force *force, uint32_t debtor,
                         uint64_t owed, const struct resources *granule)
{
    struct offer_user *user = &turns->offer.users[debtor];
    const struct resources *held = &turns->who[debtor]->held;
    uint64_t holds = granule_offer(granule->amount, held->amount, ENGINE_RESOURCES);
    if (force->budgets[debtor] < 0)
        force->budgets[debtor] =
            (int64_t)debts_due(owed, holds, true, turns->offer.permille, &user->carry);
    turns->who[debtor]->carry = user->carry;
    force->used = true;
    return force->budgets[debtor];
}

/* Not asked yet, of those that owe the lender; the number of users: none. */
static uint32_t largest_debtor(struct engine *engine, const struct turns *turns,
                               const struct user *lender, uint64_t below, uint64_t *ret_owed)
{
    uint32_t best = turns->offer.n;
    *ret_owed = 0;
    for (uint32_t i = 0; i < turns->offer.n; i++) {
        uint64_t owed = turns->offer.users[i].balance < 0
                            ? debts_between(engine->debts, turns->who[i]->number, lender->number)
                            : 0;
        if (owed <= *ret_owed || owed >= below)
            continue;
        best = i;
        *ret_owed = owed;
    }
    return best;
}

static void mark(struct user *lender, struct attempt *attempt, uint64_t size)
{
    struct force_attempt *kept = attempt->kept[QUESTION_USERS];
    *kept = (struct force_attempt){true, lender->number, size};
    lender->coming += size;
}

static bool take_back(struct engine *engine, struct turns *turns, const struct resources *granule,
                      struct force *force, struct user *lender, struct eviction *ret_eviction)
{
    struct want want = want_of(engine, lender, granule);
    uint64_t owed, below = UINT64_MAX;
    if (!want.bucket || lender->coming >= want.granules)
        return false;
    for (uint32_t debtor;
         (debtor = largest_debtor(engine, turns, lender, below, &owed)) < turns->offer.n;
         below = owed) {
        struct attempt *attempt = newest_of(engine, turns->who[debtor], want.bucket);
        uint64_t size =
            attempt ? granule_task(granule->amount, attempt->resources.amount, ENGINE_RESOURCES)
                    : 0;
        if (!attempt || (int64_t)size > budget_of(turns, force, debtor, owed, granule))
            continue;
        force->budgets[debtor] -= (int64_t)size;
        mark(lender, attempt, size);
        *ret_eviction = (struct eviction){attempt, want.task, REASON_TAKEN_BACK, clamp_i64(owed),
                                          lender->number};
        return true;
    }
    return false;
}

bool force_next(struct engine *engine, struct turns *turns, const struct resources *granule,
                struct force *force, struct eviction *ret_eviction)
{
    if (!policy_value(engine, QUESTION_USERS, &parameter_force))
        return false;
    for (uint32_t i = 0; i < turns->offer.n; i++)
        if (turns->offer.users[i].balance > 0 && turns->who[i]->ready_here &&
            take_back(engine, turns, granule, force, turns->who[i], ret_eviction))
            return true;
    return false;
}
