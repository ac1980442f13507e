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
#include "controller/engine/users/rights.h"
#include "controller/engine/users/turns.h"
#include "lib/plural.h"

#include <inttypes.h>
#include <stdlib.h>

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

struct answer {
    uint64_t pick; /* in which a user was asked; an earlier one: it was not */
    uint64_t size; /* of its next task; 0: nothing of it starts */
};

struct sequence_engine {
    int64_t begun_ns; /* what started before was not charged */
    struct resources granule;
    struct turns turns;
    bool open;
    struct host *host; /* of whose room the open offer is; NULL: of all */
    struct rights rights;
    struct answer *answers; /* by users */
    uint64_t picks;
    /* Users with something ready, by what each would be owed for its share, and by their balances;
     * marked: whose changed since they were asked. */
    struct standings spare, owed;
    uint32_t *ready; /* while all are asked */
    bool too_large;  /* in this pick: somebody's next task is larger than what is left */
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

static void mark(struct sequence_engine *k, uint32_t i)
{
    standings_mark(&k->spare, i);
    standings_mark(&k->owed, i);
}

static void release(struct sequence_engine *k)
{
    turns_done(&k->turns);
    rights_done(&k->rights);
    standings_done(&k->spare);
    standings_done(&k->owed);
    free(k->answers);
    free(k->ready);
    free(k->force.budgets);
    k->answers = NULL;
    k->ready = NULL;
    k->force.budgets = NULL;
}

static void build(struct engine *engine, struct sequence_engine *k)
{
    release(k);
    turns_build(engine, &k->turns, (uint32_t)value(engine, &parameter_repay));
    uint32_t n = k->turns.offer.n;
    k->turns.offer.largest = value(engine, &parameter_largest);
    k->answers = engine_allocate(engine, n, sizeof(*k->answers));
    k->ready = engine_allocate(engine, n, sizeof(*k->ready));
    k->force.budgets = engine_allocate(engine, n, sizeof(*k->force.budgets));
    if (rights_init(&k->rights, n) < 0 || standings_init(&k->spare, n, true) < 0 ||
        standings_init(&k->owed, n, false) < 0)
        longjmp(engine->no_memory, 1);
    for (uint32_t i = 0; i < n; i++) {
        offer_idle(&k->turns.offer, i, !k->turns.who[i]->ready_here);
        mark(k, i);
    }
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
    (void)engine, (void)of;
    release(state);
}

/* The size of the user's next task; 0: nothing of it starts. Whatever its entries are, whether they
 * are lent follows from the last answer. */
static uint64_t ask(struct engine *engine, struct sequence_engine *k, uint32_t i,
                    struct claim *ret_claim)
{
    bool found = division_ask(engine, k->turns.who[i], k->host, ret_claim);
    offer_hold(&k->turns.offer, i, !found && division_is_held(engine, k->turns.who[i], k->host));
    uint64_t size = found ? division_claim_size(&k->granule, ret_claim) : 0;
    k->answers[i] = (struct answer){k->picks, size};
    k->too_large |= size > (uint64_t)k->turns.offer.left;
    return size;
}

/* Of its next task, which is taken to fit until it is asked. */
static uint64_t size_of(const struct sequence_engine *k, uint32_t i)
{
    return k->answers[i].pick == k->picks ? k->answers[i].size : k->turns.who[i]->ready_here > 0;
}

static bool runs_by_right(struct engine *engine, struct sequence_engine *k, uint32_t i,
                          struct claim *ret_claim)
{
    int64_t room = offer_room(&k->turns.offer, i);
    uint64_t size = room > 0 ? ask(engine, k, i, ret_claim) : 0;
    return size && size <= (uint64_t)room;
}

/* Places whose place may have changed. */
static void place_spare(struct sequence_engine *k)
{
    uint32_t i;
    while ((i = standings_take_marked(&k->spare)) < k->spare.n)
        if (k->turns.who[i]->ready_here)
            standings_place(&k->spare, i, offer_standing(&k->turns.offer, i),
                            sequence_share(k->turns.offer.sequence, i));
        else
            standings_remove(&k->spare, i);
}

static void place_owed(struct sequence_engine *k)
{
    uint32_t i;
    while ((i = standings_take_marked(&k->owed)) < k->owed.n)
        if (k->turns.who[i]->ready_here)
            standings_place(&k->owed, i, k->turns.offer.users[i].balance, 1);
        else
            standings_remove(&k->owed, i);
}

/* Where a task of the user would start that is behind most; NULL: nothing starts. Who has the next
 * entry is behind by that one too, and comes before its equals. */
static struct host *next_host(struct engine *engine, struct sequence_engine *k)
{
    const struct offer *offer = &k->turns.offer;
    struct claim claim;
    place_owed(k);
    uint32_t next = sequence_next(offer->sequence), i = standings_first(&k->owed);
    int64_t behind = offer->users[next].balance + 1;
    bool waits = k->turns.who[next]->ready_here;
    for (;;) {
        if (i == next)
            i = standings_after(&k->owed, i);
        if (i == offer->n && !waits)
            return NULL;
        bool now = waits && (i == offer->n || behind >= offer->users[i].balance);
        if (ask(engine, k, now ? next : i, &claim))
            return claim.fit->host;
        waits = waits && !now;
        i = now ? i : standings_after(&k->owed, i);
    }
}

/* Whose places the offer changed. */
static void place_touched(struct sequence_engine *k)
{
    const struct offer *offer = &k->turns.offer;
    for (uint32_t t = 0; t < offer->n_touched; t++) {
        mark(k, offer->touched[t]);
        rights_place(&k->rights, &k->turns, offer->touched[t]);
    }
}

/* False: there is none, as nothing starts on any host. */
static bool open_offer(struct engine *engine, struct sequence_engine *k)
{
    bool one_host = engine->place->one_host && value(engine, &parameter_one_host);
    offer_hold_nobody(&k->turns.offer);
    k->host = NULL;
    if (one_host && !(k->host = next_host(engine, k)))
        return false;
    rights_open(&k->rights, &k->turns, engine->place->held != NULL);
    uint64_t free =
        one_host ? division_free_on(k->host, &k->granule) : division_free(engine, &k->granule);
    offer_open(&k->turns.offer, free < OFFER_DEBT_MAX ? free : OFFER_DEBT_MAX);
    k->open = true;
    place_touched(k);
    return true;
}

static void close_offer(struct engine *engine, struct sequence_engine *k)
{
    k->open = false;
    rights_close(&k->rights);
    turns_close(&k->turns);
    place_touched(k);
    turns_settle(engine, &k->turns);
}

static bool by_right(struct engine *engine, struct sequence_engine *k, struct claim *ret_claim)
{
    uint32_t i;
    while ((i = rights_next(&k->rights, &k->turns)) < k->turns.offer.n) {
        if (runs_by_right(engine, k, i, ret_claim))
            return true;
        rights_pass(&k->rights, &k->turns, i);
    }
    return false;
}

/* The first of the spare order, from this one on, whose next task may fit what is left. */
static uint32_t may_fit(struct engine *engine, const struct sequence_engine *k, uint32_t i)
{
    for (; i < k->spare.n; i = standings_after(&k->spare, i)) {
        uint64_t size = size_of(k, i);
        engine->counters.visits++;
        if (size && size <= (uint64_t)k->turns.offer.left)
            break;
    }
    return i;
}

/* In order of their numbers, into k->ready; how many. */
static uint32_t list_ready(struct engine *engine, struct sequence_engine *k)
{
    const struct user *user;
    uint32_t n = 0;
    TAILQ_FOREACH (user, &engine->ready_users, of_ready) {
        engine->counters.visits++;
        k->ready[n++] = turns_index(&k->turns, user);
    }
    offer_order(k->ready, n);
    return n;
}

/* Of tasks that are larger than what is left, though there is room for them, the smallest: rounding
 * to granules is to leave nothing idle. The place in the list; n: there is none. */
static uint32_t smallest(const uint64_t *sizes, uint32_t n)
{
    uint32_t best = n;
    for (uint32_t i = 0; i < n; i++)
        if (sizes[i] && (best == n || sizes[i] < sizes[best]))
            best = i;
    return best;
}

/* Asks all whose next task may fit. */
static bool by_loan_of_all(struct engine *engine, struct sequence_engine *k,
                           struct claim *ret_claim)
{
    uint64_t *sizes = k->turns.sizes;
    uint32_t n = list_ready(engine, k), best;
    for (uint32_t i = 0; i < n; i++)
        sizes[i] = size_of(k, k->ready[i]) ? ask(engine, k, k->ready[i], ret_claim) : 0;
    best = offer_spare(&k->turns.offer, k->ready, n, sizes);
    best = best < n ? best : smallest(sizes, n);
    return best < n && ask(engine, k, k->ready[best], ret_claim);
}

/* What is lent by who holds follows from its last answer (ask). WHY only these: who has nothing
 * left lends nothing. */
static void ask_who_may_lend(struct engine *engine, struct sequence_engine *k)
{
    const struct offer *offer = &k->turns.offer;
    struct claim claim;
    for (uint32_t t = 0; engine->place->held && t < offer->n_touched; t++) {
        uint32_t i = offer->touched[t];
        bool asked = k->answers[i].pick == k->picks;
        if (offer->users[i].quota > offer->users[i].used && !asked && size_of(k, i))
            ask(engine, k, i, &claim);
    }
}

/* Those of whom the placement may remember that they were asked. */
static void ask_who_is_remembered(struct engine *engine, struct sequence_engine *k)
{
    struct claim claim;
    struct sorted_node *node = engine->place->pure ? NULL : sorted_first(&engine->reducing_users);
    for (; node; node = sorted_next(node)) {
        const struct user *user = container_of(node, struct user, reducing);
        uint32_t i = turns_index(&k->turns, user);
        if (size_of(k, i))
            ask(engine, k, i, &claim);
    }
}

enum { TRIES = 4 };

/* WHY not more, save where the placement does not mind: it may be that of several in turn none
 * starts something, and then all are asked, since it may remember who was. */
static bool may_try(const struct engine *engine, const struct offer *offer, uint32_t tries)
{
    const struct place_policy *place = engine->place;
    return !offer->largest && (tries <= TRIES || place->pure || place->pure_without_reduces);
}

/* Asks in the order in which what is left is lent, until one starts something that fits. WHY not
 * all, save where sizes decide: asking is what costs. */
static bool by_loan(struct engine *engine, struct sequence_engine *k, struct claim *ret_claim)
{
    const struct offer *offer = &k->turns.offer;
    place_spare(k);
    uint32_t i = standings_first(&k->spare);
    for (uint32_t tries = 1; may_try(engine, offer, tries); tries++) {
        if (tries == TRIES + 1)
            ask_who_is_remembered(engine, k);
        i = may_fit(engine, k, i);
        if (i == offer->n && offer->left > 0 && !k->too_large)
            return false;
        if (i == offer->n)
            break;
        uint64_t size = ask(engine, k, i, ret_claim);
        if (size && size <= (uint64_t)offer->left && tries <= TRIES)
            return true;
        if (size && size <= (uint64_t)offer->left) {
            ask_who_may_lend(engine, k);
            return ask(engine, k, i, ret_claim);
        }
        i = standings_after(&k->spare, i);
    }
    return by_loan_of_all(engine, k, ret_claim);
}

static bool pick(struct engine *engine, struct claim *ret_claim)
{
    struct sequence_engine *k = engine->kept[QUESTION_USERS];
    if (!division_has_room(engine))
        return false;
    while (k->open || open_offer(engine, k)) {
        k->picks++;
        k->too_large = false;
        if (by_right(engine, k, ret_claim) || by_loan(engine, k, ret_claim))
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
    uint32_t user = turns_index(&k->turns, claim->task->stage->job->tenant);
    bool alone = !k->open;
    if (alone)
        offer_open(&k->turns.offer, 0);
    if (size > (uint64_t)k->turns.offer.left) {
        offer_more(&k->turns.offer, size - (uint64_t)k->turns.offer.left);
        place_touched(k);
    }
    offer_lend(&k->turns.offer, user, size);
    mark(k, user);
    if (!alone) {
        rights_use(&k->rights, &k->turns, user, size);
        return;
    }
    turns_close(&k->turns);
    place_touched(k);
    turns_settle(engine, &k->turns);
}

static void returned(struct engine *engine, struct attempt *attempt)
{
    struct sequence_engine *k = engine->kept[QUESTION_USERS];
    bool charged = attempt->number >> 32 == engine->config.epoch &&
                   attempt->started_ns >= k->begun_ns && attempt->task;
    if (!charged)
        return;
    turns_return(&k->turns, turns_index(&k->turns, attempt->task->stage->job->tenant),
                 granule_task(k->granule.amount, attempt->resources.amount, ENGINE_RESOURCES));
    place_touched(k);
    turns_settle(engine, &k->turns);
}

static void ready(struct engine *engine, struct user *user)
{
    struct sequence_engine *k = engine->kept[QUESTION_USERS];
    if (!k || !turns_knows(&k->turns, user))
        return;
    offer_idle(&k->turns.offer, user->turns_index, !user->ready_here);
    mark(k, user->turns_index);
    rights_place(&k->rights, &k->turns, user->turns_index);
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
    say(e, "has %u of %u place%s of a turn, of which %u %s used, and ",
        sequence_share(sequence, turns_index(&k->turns, user)), sequence_entries(sequence),
        plural(sequence_entries(sequence)), sequence_position(sequence),
        sequence_position(sequence) == 1 ? "is" : "are");
    if (owed < 0)
        say(e, "owes %" PRId64 " granule%s, of which it pays back %lld of 1000 of its places",
            -owed, plural((uint64_t)-owed), (long long)value(engine, &parameter_repay));
    else
        say(e, "is owed %" PRId64 " granule%s", owed, plural((uint64_t)owed));
    turns_explain(&k->turns, user, e);
}

static const struct policy_reason reasons[] = {FORCE_REASON, {0}};

static bool uses_priority(const struct engine *engine)
{
    return policy_value(engine, QUESTION_USERS, &parameter_force) > 0;
}

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
               .uses_priority = uses_priority,
               .hears.users_changed = changed,
               .hears.user_ready = ready,
               .hears.attempt_returned = returned},
    .pick = pick,
    .one_host = true,
    .evict = evict,
    .charge = charge,
    .over = over,
    .explain = explain,
};
