/* Sequence deployment: each step's free room is one offer (share/offer.h), of which each user has
 * its entries of the sequence; with `one_host` each host's room is one, as in the source, and the
 * next host is where a task of the user would start that is behind most. Users run tasks by right
 * in the order of their numbers; what is left is lent. Where the placement leaves slots free on
 * purpose, an offer is more than can be used, and whoever is asked first may get all of it. So
 * there the user is next that is behind most, by its entries among as many as were used, and by
 * what it is owed. Whatever starts without having been asked for here (a retry, a probe) is
 * charged to its user all the same, as an offer of its own. */
#include "controller/engine/base/ground.h"
#include "controller/engine/base/say.h"
#include "controller/engine/share/granule.h"
#include "controller/engine/users/division.h"
#include "controller/engine/users/force.h"
#include "controller/engine/users/turns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct engine_parameter parameter_repay = {
    "repay_permille",
    ENGINE_UNIT_COUNT,
    1,
    1000,
    500,
    "So many thousandths of its own part a user that owes pays back while it has work."};
static const struct engine_parameter parameter_largest = {
    "lend_largest",
    ENGINE_UNIT_YES,
    0,
    1,
    0,
    "What is left goes to the largest task; no: to who is owed most for its share."};
static const struct engine_parameter parameter_one_host = {
    "one_host",
    ENGINE_UNIT_YES,
    0,
    1,
    0,
    "What is divided at a time is one host's room, where the placement can be asked for it."};
static const struct engine_parameter *const parameters[] = {&parameter_even,
                                                            &parameter_one_host,
                                                            &parameter_repay,
                                                            &parameter_debt_max,
                                                            &parameter_force,
                                                            &parameter_largest,
                                                            DIVISION_GRANULE_PARAMETERS,
                                                            NULL};

#define NOT_ASKED UINT64_MAX /* turns.sizes: in this pick; else the size of the user's next task */

struct sequence_engine {
    int64_t begun_ns; /* what started before was not charged */
    struct resources granule;
    struct turns turns;
    uint32_t at; /* whose tasks run by right now; users: all have */
    bool open;
    struct host *host; /* of whose room the open offer is; NULL: of all */
    /* Of an open offer, by users, where the placement holds: */
    struct right {
        int64_t behind; /* its balance and its entries up to `entry`, less what it used */
        bool asked;     /* it has nothing to run by right */
    } * rights;
    uint32_t entry; /* the first that is not used yet */
    struct force force;
};
static const struct field fields[] = {FIELD_OF(sequence_engine, begun_ns, I64), {0}};

static int64_t value(const struct engine *engine, const struct engine_parameter *parameter)
{
    return policy_value(engine, QUESTION_USERS, parameter);
}

static void forget_budgets(struct sequence_engine *k)
{
    for (uint32_t i = 0; i < k->turns.offer.n; i++)
        k->force.budgets[i] = -1;
    k->force.used = false;
}

static void build(struct engine *engine, struct sequence_engine *k)
{
    turns_build(engine, &k->turns, (uint32_t)value(engine, &parameter_repay));
    k->turns.offer.largest = value(engine, &parameter_largest);
    free(k->rights);
    k->rights = NULL;
    k->rights = engine_allocate(engine, k->turns.offer.n, sizeof(*k->rights));
    free(k->force.budgets);
    k->force.budgets = NULL;
    k->force.budgets = engine_allocate(engine, k->turns.offer.n, sizeof(*k->force.budgets));
    forget_budgets(k);
}

static void init(struct engine *engine, union policy_of of, void *state)
{
    struct sequence_engine *k = state;
    (void)of;
    k->begun_ns = engine->now_ns;
    k->granule = division_granule(engine);
    build(engine, k);
}

static void done(struct engine *engine, union policy_of of, void *state)
{
    struct sequence_engine *k = state;
    (void)engine, (void)of;
    turns_done(&k->turns);
    free(k->rights);
    free(k->force.budgets);
}

/* So many more entries are used. */
static void advance(struct sequence_engine *k, uint64_t entries)
{
    struct sequence *sequence = k->turns.offer.sequence;
    uint32_t n = k->turns.offer.n, all = sequence_entries(sequence),
             position = sequence_position(sequence);
    int64_t *counts = k->turns.offer.parts;
    for (; entries && entries <= n; entries--) {
        k->entry = (k->entry + 1) % all;
        k->rights[sequence_at(sequence, k->entry)].behind++;
    }
    if (!entries)
        return;
    memset(counts, 0, n * sizeof(*counts));
    sequence_seek(sequence, (uint64_t)k->entry + 1);
    sequence_take(sequence, entries, counts);
    sequence_seek(sequence, position);
    k->entry = (uint32_t)((k->entry + entries) % all);
    for (uint32_t i = 0; i < n; i++)
        k->rights[i].behind += counts[i];
}

static void count_rights(struct sequence_engine *k)
{
    k->entry = sequence_position(k->turns.offer.sequence);
    for (uint32_t i = 0; i < k->turns.offer.n; i++)
        k->rights[i] = (struct right){k->turns.offer.users[i].balance, false};
    k->rights[sequence_at(k->turns.offer.sequence, k->entry)].behind++;
}

/* The size of the user's next task; 0: nothing of it starts. Whatever its entries are, whether they
 * are lent follows from the last answer. */
static uint64_t ask(struct engine *engine, struct sequence_engine *k, uint32_t i,
                    struct claim *ret_claim)
{
    bool found = division_ask(engine, k->turns.who[i], k->host, ret_claim);
    k->turns.offer.users[i].held = !found && division_is_held(engine, k->turns.who[i], k->host);
    k->turns.sizes[i] = found ? division_claim_size(&k->granule, ret_claim) : 0;
    return k->turns.sizes[i];
}

static bool runs_by_right(struct engine *engine, struct sequence_engine *k, uint32_t i,
                          struct claim *ret_claim)
{
    int64_t room = offer_room(&k->turns.offer, i);
    uint64_t size = room > 0 ? ask(engine, k, i, ret_claim) : 0;
    return size && size <= (uint64_t)room;
}

/* Not asked yet, and of an open offer with something left by right; of equals the one that has the
 * next entry, then the first. The number of users: none. */
static uint32_t most_behind(const struct sequence_engine *k)
{
    uint32_t n = k->turns.offer.n, best = n, next = sequence_at(k->turns.offer.sequence, k->entry);
    for (uint32_t i = 0; i < n; i++) {
        if (k->rights[i].asked || !k->turns.who[i]->ready_here ||
            (k->open && offer_room(&k->turns.offer, i) <= 0))
            continue;
        if (best == n || k->rights[i].behind > k->rights[best].behind ||
            (k->rights[i].behind == k->rights[best].behind && i == next))
            best = i;
    }
    return best;
}

/* Where a task of the user that is behind most would start; NULL: nothing starts. */
static struct host *next_host(struct engine *engine, struct sequence_engine *k)
{
    struct claim claim;
    uint32_t i;
    count_rights(k);
    while ((i = most_behind(k)) < k->turns.offer.n) {
        if (ask(engine, k, i, &claim))
            return claim.fit->host;
        k->rights[i].asked = true;
    }
    return NULL;
}

/* False: there is none, as nothing starts on any host. */
static bool open_offer(struct engine *engine, struct sequence_engine *k)
{
    bool one_host = engine->place->one_host && value(engine, &parameter_one_host);
    for (uint32_t i = 0; i < k->turns.offer.n; i++) {
        k->turns.offer.users[i].idle = !k->turns.who[i]->ready_here;
        k->turns.offer.users[i].held = false;
    }
    k->host = NULL;
    if (one_host && !(k->host = next_host(engine, k)))
        return false;
    if (engine->place->held)
        count_rights(k);
    uint64_t free =
        one_host ? division_free_on(k->host, &k->granule) : division_free(engine, &k->granule);
    offer_open(&k->turns.offer, free < OFFER_DEBT_MAX ? free : OFFER_DEBT_MAX);
    k->at = 0;
    k->open = true;
    return true;
}

static void close_offer(struct engine *engine, struct sequence_engine *k)
{
    k->open = false;
    turns_close(&k->turns);
    turns_settle(engine, &k->turns);
}

static bool by_right(struct engine *engine, struct sequence_engine *k, struct claim *ret_claim)
{
    for (; k->at < k->turns.offer.n; k->at++)
        if (runs_by_right(engine, k, k->at, ret_claim))
            return true;
    return false;
}

static bool by_right_in_turn(struct engine *engine, struct sequence_engine *k,
                             struct claim *ret_claim)
{
    uint32_t i;
    while ((i = most_behind(k)) < k->turns.offer.n) {
        if (runs_by_right(engine, k, i, ret_claim))
            return true;
        k->rights[i].asked = true;
    }
    return false;
}

/* Of tasks that are larger than what is left, though there is room for them, the smallest: rounding
 * to granules is to leave nothing idle. */
static uint32_t smallest(const struct sequence_engine *k)
{
    uint32_t best = k->turns.offer.n;
    for (uint32_t i = 0; i < k->turns.offer.n; i++)
        if (k->turns.sizes[i] &&
            (best == k->turns.offer.n || k->turns.sizes[i] < k->turns.sizes[best]))
            best = i;
    return best;
}

enum { TRIES = 4 };

/* WHY not all are asked, save where sizes decide, or where several in turn start nothing: asking is
 * what costs. The next task of each that has one is taken to fit until it is asked. */
static bool by_loan(struct engine *engine, struct sequence_engine *k, struct claim *ret_claim)
{
    struct offer *offer = &k->turns.offer;
    uint64_t *sizes = k->turns.sizes;
    uint32_t best;
    for (uint32_t i = 0; i < offer->n; i++)
        sizes[i] = sizes[i] == NOT_ASKED ? k->turns.who[i]->ready_here > 0 : sizes[i];
    for (int tries = offer->largest ? 0 : TRIES;
         tries && (best = offer_spare(offer, sizes)) < offer->n; tries--) {
        uint64_t size = ask(engine, k, best, ret_claim);
        if (size && size <= (uint64_t)offer->left)
            return true;
    }
    for (uint32_t i = 0; i < offer->n; i++)
        if (sizes[i])
            ask(engine, k, i, ret_claim);
    best = offer_spare(offer, sizes);
    best = best < offer->n ? best : smallest(k);
    return best < offer->n && ask(engine, k, best, ret_claim);
}

static void forget_answers(struct sequence_engine *k)
{
    for (uint32_t i = 0; i < k->turns.offer.n; i++)
        k->turns.sizes[i] = NOT_ASKED;
}

static bool pick(struct engine *engine, struct claim *ret_claim)
{
    struct sequence_engine *k = engine->kept[QUESTION_USERS];
    if (!division_has_room(engine))
        return false;
    while (k->open || open_offer(engine, k)) {
        forget_answers(k);
        bool right = engine->place->held ? by_right_in_turn(engine, k, ret_claim)
                                         : by_right(engine, k, ret_claim);
        if (right || by_loan(engine, k, ret_claim))
            return true;
        if (!k->host || k->turns.offer.left == k->turns.offer.amount)
            return false;
        close_offer(engine, k);
    }
    return false;
}

static bool evict(struct engine *engine, struct eviction *ret_eviction)
{
    struct sequence_engine *k = engine->kept[QUESTION_USERS];
    return force_next(engine, &k->turns, &k->granule, &k->force, ret_eviction);
}

static void over(struct engine *engine)
{
    struct sequence_engine *k = engine->kept[QUESTION_USERS];
    if (k->force.used)
        forget_budgets(k);
    if (k->open)
        close_offer(engine, k);
}

static void charge(struct engine *engine, const struct claim *claim)
{
    struct sequence_engine *k = engine->kept[QUESTION_USERS];
    uint64_t size = division_claim_size(&k->granule, claim);
    bool alone = !k->open;
    if (alone)
        offer_open(&k->turns.offer, 0);
    if (size > (uint64_t)k->turns.offer.left)
        offer_more(&k->turns.offer, size - (uint64_t)k->turns.offer.left);
    uint32_t user = turns_index(&k->turns, claim->task->stage->job->tenant);
    offer_lend(&k->turns.offer, user, size);
    if (!alone && engine->place->held) {
        k->rights[user].behind -= (int64_t)size;
        advance(k, size);
    }
    if (!alone)
        return;
    turns_close(&k->turns);
    turns_settle(engine, &k->turns);
}

static void returned(struct engine *engine, struct attempt *attempt)
{
    struct sequence_engine *k = engine->kept[QUESTION_USERS];
    bool charged = attempt->number >> 32 == engine->config.epoch &&
                   attempt->started_ns >= k->begun_ns && attempt->task;
    if (!charged)
        return;
    offer_return(&k->turns.offer, turns_index(&k->turns, attempt->task->stage->job->tenant),
                 granule_task(k->granule.amount, attempt->resources.amount, ENGINE_RESOURCES));
    turns_settle(engine, &k->turns);
}

static void changed(struct engine *engine)
{
    build(engine, engine->kept[QUESTION_USERS]);
}

static void explain(const struct engine *engine, const struct user *user,
                    struct engine_explanation *e)
{
    const struct sequence_engine *k = engine->kept[QUESTION_USERS];
    const struct sequence *sequence = k->turns.offer.sequence;
    int64_t owed = debts_position(engine->debts, user->number);
    say(e, "has %u of %u places of a turn, of which %u are used, and ",
        sequence_share(sequence, turns_index(&k->turns, user)), sequence_entries(sequence),
        sequence_position(sequence));
    if (owed < 0)
        say(e, "owes %" PRId64 " granules, of which it pays back %lld of 1000 of its places", -owed,
            (long long)value(engine, &parameter_repay));
    else
        say(e, "is owed %" PRId64 " granules", owed);
    turns_explain(&k->turns, user, e);
}

static const struct policy_reason reasons[] = {FORCE_REASON, {0}};

const struct users_policy users_sequence = {
    .policy = {.name = "sequence",
               .state[POLICY_ENGINE] = {.size = sizeof(struct sequence_engine),
                                        .init = init,
                                        .done = done,
                                        .fields = fields},
               .state[POLICY_ATTEMPT] = {.size = sizeof(struct force_attempt),
                                         .done = force_attempt_done,
                                         .fields = force_attempt_fields,
                                         .keeps = force_attempt_keeps,
                                         .load = force_attempt_load},
               .reasons = reasons,
               .parameters = parameters,
               .hears.users_changed = changed,
               .hears.attempt_returned = returned},
    .pick = pick,
    .one_host = true,
    .evict = evict,
    .charge = charge,
    .over = over,
    .explain = explain,
};
