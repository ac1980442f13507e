#include "controller/engine/books/users.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/table.h"
#include "controller/engine/base/tell.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/policy/questions.h"
#include "controller/engine/share/sequence.h"
#include "lib/invariant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct user *user_of(struct sorted_node *node)
{
    return node ? container_of(node, struct user, by_number) : NULL;
}

struct user_use users_use(const struct user *user, int64_t at_ns)
{
    struct user_use use = user->use;
    int64_t slots = user->held.amount[RES_SLOTS], bytes = user->held.amount[RES_MEM_BYTES];
    use.user = user->number;
    use.share = user->share;
    /* WHY: before its first step the engine has no time. */
    if (at_ns <= user->used_until_ns || user->used_until_ns == INT64_MIN)
        return use;
    int64_t passed = at_ns - user->used_until_ns;
    use.slot_ns += (engine_wide)(slots > 0 ? slots : 0) * (engine_wide)passed;
    use.mem_byte_ns += (engine_wide)(bytes > 0 ? bytes : 0) * (engine_wide)passed;
    use.wanted_ns += user->ready_here ? passed : 0;
    return use;
}

/* Before what it holds, or whether something of it is ready, changes. */
static void count_use(const struct engine *engine, struct user *user)
{
    user->use = users_use(user, engine->now_ns);
    user->used_until_ns = engine->now_ns;
}

static void put(struct engine *engine, struct user *user, uint32_t number)
{
    user->number = number;
    user->used_until_ns = engine->now_ns;
    sorted_insert(&engine->users, &user->by_number, (struct sorted_key){number, 0, 0}, 0);
    users_share(engine, user, 1);
}

int users_begin(struct engine *engine)
{
    struct user *user = calloc(1, sizeof(*user));
    engine->debts = debts_create();
    TAILQ_INIT(&engine->ready_users);
    TAILQ_INIT(&engine->no_queues.moved);
    if (!user || !engine->debts) {
        free(user);
        return -ENOMEM;
    }
    strcpy(user->name, "everybody");
    put(engine, user, 0);
    return 0;
}

static void queues_free(struct queues *queues)
{
    if (!queues)
        return;
    table_done(&queues->hosts);
    free(queues);
}

static void destroy(struct engine *engine, struct user *user)
{
    sorted_remove(&engine->users, &user->by_number);
    for (uint32_t i = 0; i < user->n_queues; i++)
        queues_free(user->queues[i]);
    free(user->queues);
    free(user);
}

void users_done(struct engine *engine)
{
    struct user *user;
    while ((user = user_of(sorted_first(&engine->users))))
        destroy(engine, user);
    debts_destroy(engine->debts);
}

void users_share(struct engine *engine, struct user *user, uint32_t share)
{
    uint64_t position = engine->users_position;
    if (user->share)
        position = sequence_left(position, engine->users_total, user->share);
    engine->users_total -= user->share;
    if (share)
        position = sequence_joined(position, engine->users_total, share);
    engine->users_total += share;
    engine->users_changes++;
    engine->users_position = engine->users_total ? position % engine->users_total : 0;
    user->share = share;
}

/* Its claims go to the others by their shares; where nobody divides, its debts are no more. */
static void inherit(struct engine *engine, const struct user *user)
{
    struct debt debt;
    uint32_t n = 0;
    while (debts_from(engine->debts, user->number, 0, &debt) && debt.borrower == user->number)
        debts_repay(engine->debts, debt.borrower, debt.lender, debt.amount);
    struct debts_heir *heirs = engine_allocate(engine, engine->users.n, sizeof(*heirs));
    for (struct sorted_node *node = sorted_first(&engine->users); node; node = sorted_next(node))
        if (user_of(node) != user)
            heirs[n++] = (struct debts_heir){user_of(node)->number, user_of(node)->share};
    int r = debts_leave(engine->debts, user->number, heirs, n);
    free(heirs);
    if (r < 0)
        longjmp(engine->no_memory, 1);
}

static void forget(struct engine *engine, struct user *user)
{
    inherit(engine, user);
    engine->users_changes++;
    users_share(engine, user, 0);
    destroy(engine, user);
    tell_users_changed(engine);
}

static bool may_go(const struct engine *engine, const struct user *user)
{
    return user->leaves && !user->jobs &&
           (!users_divided(engine) || debts_position(engine->debts, user->number) >= 0);
}

void users_let_go(struct engine *engine)
{
    struct sorted_node *node = sorted_first(&engine->users), *next;
    for (; node; node = next) {
        next = sorted_next(node);
        if (may_go(engine, user_of(node)))
            forget(engine, user_of(node));
    }
}

struct user *users_find(const struct engine *engine, uint32_t number)
{
    return user_of(sorted_find(&engine->users, (struct sorted_key){number, 0, 0}));
}

struct user *users_from(const struct engine *engine, uint64_t number)
{
    return user_of(sorted_from(&engine->users, (struct sorted_key){number, 0, 0}));
}

struct user *users_named(const struct engine *engine, const char *name)
{
    for (struct sorted_node *node = sorted_first(&engine->users); node; node = sorted_next(node))
        if (strcmp(user_of(node)->name, name) == 0)
            return user_of(node);
    return NULL;
}

/* All users, in order of their numbers, with room for one more; freed by the caller. NULL: no
 * memory. */
static struct sequence_user *shares_of(const struct engine *engine)
{
    struct sequence_user *users = calloc(engine->users.n + 1, sizeof(*users));
    struct sorted_node *node = users ? sorted_first(&engine->users) : NULL;
    for (uint32_t n = 0; node; node = sorted_next(node))
        users[n++] = (struct sequence_user){user_of(node)->number, user_of(node)->share};
    return users;
}

int users_fit(const struct engine *engine, uint32_t number, uint32_t share, struct err *err)
{
    struct sequence_user *users = shares_of(engine);
    uint32_t at = 0, n = (uint32_t)engine->users.n;
    if (!users)
        return err_set(err, ENOMEM, "no memory for %zu users", engine->users.n);
    while (at < n && users[at].number != number)
        at++;
    /* WHY first: a sentence may not have room for all. */
    users[at] = users[0];
    users[0] = (struct sequence_user){number, share};
    int r = sequence_check(users, n + (at == n), err);
    free(users);
    return r;
}

static int drift_of(const struct sequence_user *users, uint32_t n, enum sequence_order order,
                    uint32_t *ret_entries, struct sequence_drift *ret_drift)
{
    struct sequence *sequence;
    int r = sequence_create(users, n, order, &sequence, NULL);
    if (r < 0)
        return r;
    *ret_entries = sequence_entries(sequence);
    *ret_drift = sequence_drift(sequence);
    sequence_destroy(sequence);
    return 0;
}

int users_drift(const struct engine *engine, struct users_drift *ret_drift)
{
    struct sequence_user *users = shares_of(engine);
    uint32_t entries = 0, n = (uint32_t)engine->users.n;
    struct sequence_drift literal, even;
    int r = users ? drift_of(users, n, SEQUENCE_LITERAL, &entries, &literal) : -ENOMEM;
    r = r < 0 ? r : drift_of(users, n, SEQUENCE_EVEN, &entries, &even);
    free(users);
    if (r == 0)
        *ret_drift =
            (struct users_drift){entries, literal.ahead, literal.behind, even.ahead, even.behind};
    return r;
}

bool users_admit(const struct engine *engine, uint32_t number)
{
    const struct user *user = users_find(engine, number);
    if (engine->suspended)
        return true;
    if (user)
        return !user->leaves;
    return !engine->config.refuse_unknown_users || engine->users.n == 1;
}

static struct queues *known_queues(const struct user *user, const struct shape *shape)
{
    return shape->index < user->n_queues ? user->queues[shape->index] : NULL;
}

static struct queues *own_queues(struct engine *engine, struct user *user,
                                 const struct shape *shape)
{
    struct queues *queues = known_queues(user, shape);
    if (queues)
        return queues;
    if (shape->index >= user->n_queues) {
        uint32_t n = shape->index + 8;
        struct queues **all = engine_allocate(engine, n, sizeof(struct queues *));
        if (user->queues)
            memcpy(all, user->queues, user->n_queues * sizeof(struct queues *));
        free(user->queues);
        user->queues = all;
        user->n_queues = n;
    }
    queues = user->queues[shape->index] = engine_allocate(engine, 1, sizeof(*queues));
    queues->user = user;
    TAILQ_INIT(&queues->moved);
    return queues;
}

struct queues *users_queues(struct engine *engine, struct user *user, struct shape *shape)
{
    return users_divided(engine) ? own_queues(engine, user, shape) : &shape->all;
}

struct queues *users_asked(struct engine *engine, struct shape *shape)
{
    if (!engine->asked)
        return &shape->all;
    struct queues *queues = known_queues(engine->asked, shape);
    return queues ? queues : &engine->no_queues;
}

const struct queues *users_ready(const struct user *user, const struct shape *shape)
{
    const struct queues *queues = known_queues(user, shape);
    return queues && (queues->maps.n || queues->reduces.n) ? queues : NULL;
}

/* In the count of the user whose queues it stands in. */
static void count_ready(struct engine *engine, struct bucket *bucket, bool ready)
{
    struct user *user = bucket->queues->user;
    if (bucket->counted == ready)
        return;
    bucket->counted = ready;
    count_use(engine, user);
    user->ready_here += ready ? 1 : -UINT64_C(1);
    bucket->shape->ready_of_users += ready ? 1 : -UINT64_C(1);
    if (user->ready_here != ready)
        return;
    if (ready)
        TAILQ_INSERT_TAIL(&engine->ready_users, user, of_ready);
    else
        TAILQ_REMOVE(&engine->ready_users, user, of_ready);
    tell_user_ready(engine, user);
}

static void count_reduces(struct engine *engine, struct bucket *bucket, bool reduces)
{
    struct user *user = bucket->queues->user;
    if (bucket->counted_reduces == reduces)
        return;
    bucket->counted_reduces = reduces;
    user->reduces_here += reduces ? 1 : -UINT64_C(1);
    if (user->reduces_here != reduces)
        return;
    if (reduces)
        sorted_insert(&engine->reducing_users, &user->reducing,
                      (struct sorted_key){user->number, 0, 0}, 0);
    else
        sorted_remove(&engine->reducing_users, &user->reducing);
}

void users_count(struct engine *engine, struct bucket *bucket, bool maps, bool reduces)
{
    if (!bucket->queues->user)
        return;
    count_ready(engine, bucket, maps || reduces);
    count_reduces(engine, bucket, reduces);
}

void users_drop_shape(struct engine *engine, uint32_t index)
{
    for (struct sorted_node *node = sorted_first(&engine->users); node; node = sorted_next(node)) {
        struct user *user = user_of(node);
        if (index >= user->n_queues)
            continue;
        queues_free(user->queues[index]);
        uint32_t after = user->n_queues - 1 - index;
        memmove(&user->queues[index], &user->queues[index + 1], after * sizeof(struct queues *));
        user->queues[user->n_queues - 1] = NULL;
    }
}

static void hold(const struct engine *engine, struct user *user, const struct attempt *attempt,
                 int64_t sign)
{
    count_use(engine, user);
    for (int r = 0; r < ENGINE_RESOURCES; r++)
        user->held.amount[r] += sign * attempt->resources.amount[r];
}

void users_hold(const struct engine *engine, const struct attempt *attempt, bool holds)
{
    hold(engine, attempt->task->stage->job->tenant, attempt, holds ? 1 : -1);
}

static void move_attempts(const struct engine *engine, const struct job *job, struct user *before,
                          struct user *user)
{
    const struct attempt *attempt;
    for (uint32_t s = 0; s < job->n_stages; s++)
        TAILQ_FOREACH (attempt, &job->stages[s]->attempts, of_stage) {
            hold(engine, before, attempt, -1);
            hold(engine, user, attempt, 1);
        }
}

static void join(struct engine *engine, struct job *job, struct user *user)
{
    struct user *before = job->tenant;
    job->tenant = user;
    user->jobs++;
    if (!before)
        return;
    move_attempts(engine, job, before, user);
    tell_job_changes_queues(engine, job, before);
    before->jobs--;
    if (may_go(engine, before))
        forget(engine, before);
}

void users_join(struct engine *engine, struct job *job, uint32_t number)
{
    struct user *known = users_find(engine, number), *user = known ? known : users_find(engine, 0);
    job->user = number;
    if (job->tenant != user)
        join(engine, job, user);
}

void users_part(struct engine *engine, struct job *job)
{
    struct user *user = job->tenant;
    if (!user)
        return;
    for (uint32_t i = 0; i < job->n_buckets; i++)
        users_count(engine, job->buckets[i], false, false);
    job->tenant = NULL;
    checked(user->jobs > 0);
    user->jobs--;
    if (may_go(engine, user))
        forget(engine, user);
}

bool users_divided(const struct engine *engine)
{
    return engine->division->pick;
}

void users_follow_division(struct engine *engine)
{
    for (struct sorted_node *node = sorted_first(&engine->jobs); node; node = sorted_next(node)) {
        struct job *job = container_of(node, struct job, by_number);
        tell_job_changes_queues(engine, job, job->tenant);
    }
}

struct user *users_add(struct engine *engine, uint32_t number)
{
    struct user *user = engine_allocate(engine, 1, sizeof(*user));
    put(engine, user, number);
    for (struct sorted_node *node = sorted_first(&engine->jobs); node; node = sorted_next(node)) {
        struct job *job = container_of(node, struct job, by_number);
        if (job->user == number && job->tenant)
            join(engine, job, user);
    }
    return user;
}

void users_leave(struct engine *engine, struct user *user)
{
    user->leaves = true;
    if (may_go(engine, user))
        forget(engine, user);
}
