/* Sequence deployment by amount × time, the source's last word on fairness: what users hold is
 * charged as time passes. Each tenth of a second of all that runs is an offer, of which each user
 * has its entries, and has used what it held meanwhile; so what it is owed is granules × time, in
 * tenths of granule-seconds. What is free goes to the user that is owed most for its share, where
 * what it holds counts as if it were held for AHEAD tenths more: else slots that come together
 * would all go to one.
 *
 * A user that was idle is first until it is paid back; nobody keeps a part of its own meanwhile. */
#include "controller/engine/base/say.h"
#include "controller/engine/share/granule.h"
#include "controller/engine/users/division.h"
#include "controller/engine/users/turns.h"
#include "lib/plural.h"

#include <inttypes.h>
#include <string.h>

__extension__ typedef __int128 wide;

#define TENTH_NS INT64_C(100000000)

enum { AHEAD = 100, PORTION = 1 << 16 /* tenths that are charged at once */ };

static const struct engine_parameter *const parameters[] = {&parameter_even, &parameter_debt_max,
                                                            DIVISION_GRANULE_PARAMETERS, NULL};

struct timed_engine {
    int64_t counted_ns; /* until then all is charged; INT64_MIN: nothing yet */
    struct resources granule;
    struct turns turns;
};
static const struct field fields[] = {FIELD_OF(timed_engine, counted_ns, I64), {0}};

static void build(struct engine *engine, struct timed_engine *k)
{
    turns_build(engine, &k->turns, 1000);
}

static void init(struct engine *engine, union policy_of of, void *state)
{
    struct timed_engine *k = state;
    (void)of;
    k->counted_ns = engine->now_ns;
    k->granule = division_granule(engine);
    build(engine, k);
}

static void done(struct engine *engine, union policy_of of, void *state)
{
    struct timed_engine *k = state;
    (void)engine, (void)of;
    turns_done(&k->turns);
}

static uint64_t held(const struct timed_engine *k, const struct user *user)
{
    bool some = false;
    for (int r = 0; r < ENGINE_RESOURCES; r++)
        some |= k->granule.amount[r] > 0 && user->held.amount[r] > 0;
    return some ? granule_task(k->granule.amount, user->held.amount, ENGINE_RESOURCES) : 0;
}

static void count(struct engine *engine, struct timed_engine *k, uint64_t tenths)
{
    struct offer *offer = &k->turns.offer;
    uint64_t total = 0;
    for (uint32_t i = 0; i < offer->n; i++) {
        k->turns.sizes[i] = held(k, k->turns.who[i]) * tenths;
        total += k->turns.sizes[i];
    }
    if (!total || total > OFFER_DEBT_MAX)
        return;
    offer_open(offer, total);
    for (uint32_t i = 0; i < offer->n; i++)
        offer_lend(offer, i, k->turns.sizes[i]);
    offer_close(offer);
    turns_settle(engine, &k->turns);
}

static void pass(struct engine *engine, int64_t now_ns)
{
    struct timed_engine *k = engine->kept[QUESTION_USERS];
    if (k->counted_ns == INT64_MIN)
        k->counted_ns = now_ns;
    int64_t tenths = (now_ns - k->counted_ns) / TENTH_NS;
    k->counted_ns += tenths * TENTH_NS;
    for (; tenths > 0; tenths -= PORTION)
        count(engine, k, (uint64_t)(tenths < PORTION ? tenths : PORTION));
}

static int64_t standing(const struct timed_engine *k, uint32_t i)
{
    return k->turns.offer.users[i].balance - AHEAD * (int64_t)held(k, k->turns.who[i]);
}

/* Of those that were not asked yet; n: nobody has something ready. */
static uint32_t next_user(const struct timed_engine *k)
{
    uint32_t n = k->turns.offer.n, best = n;
    for (uint32_t i = 0; i < n; i++) {
        const struct user *user = k->turns.who[i];
        if (!user->ready_here || k->turns.sizes[i])
            continue;
        if (best == n || (wide)standing(k, i) * k->turns.who[best]->share >
                             (wide)standing(k, best) * user->share)
            best = i;
    }
    return best;
}

static bool pick(struct engine *engine, struct claim *ret_claim)
{
    struct timed_engine *k = engine->kept[QUESTION_USERS];
    uint32_t n = k->turns.offer.n, user;
    bool found = false;
    if (!division_has_room(engine))
        return false;
    memset(k->turns.sizes, 0, n * sizeof(*k->turns.sizes));
    while (!found && (user = next_user(k)) < n) {
        k->turns.sizes[user] = 1;
        found = division_ask(engine, k->turns.who[user], NULL, ret_claim);
    }
    return found;
}

static void changed(struct engine *engine)
{
    build(engine, engine->kept[QUESTION_USERS]);
}

/* Whether it would be asked first, with something ready. */
static bool is_asked_before(const struct timed_engine *k, uint32_t i, uint32_t user)
{
    wide left = (wide)standing(k, i) * k->turns.who[user]->share,
         right = (wide)standing(k, user) * k->turns.who[i]->share;
    return k->turns.who[i]->ready_here && (left > right || (left == right && i < user));
}

static void explain(const struct engine *engine, const struct user *user,
                    struct engine_explanation *e)
{
    const struct timed_engine *k = engine->kept[QUESTION_USERS];
    double owed = (double)debts_position(engine->debts, user->number) / 10;
    say(e,
        "has %u of %" PRIu64 " share%s, holds %" PRIu64 " granule%s, and %s %.1f granule-seconds",
        user->share, engine->users_total, plural(engine->users_total), held(k, user),
        plural(held(k, user)), owed < 0 ? "owes" : "is owed", owed < 0 ? -owed : owed);
    struct division_queue queue = {.e = e};
    uint32_t index = turns_index(&k->turns, user);
    for (uint32_t i = 0; i < k->turns.offer.n; i++)
        if (i != index && is_asked_before(k, i, index))
            division_queue_add(&queue, k->turns.who[i], 0);
    say(e, "; it is ");
    division_queue_say(&queue);
    say_fact(e, "user_balance", "%.1f granule-seconds", owed);
}

const struct users_policy users_sequence_time = {
    .policy = {.name = "sequence-time",
               .state[POLICY_ENGINE] = {.size = sizeof(struct timed_engine),
                                        .init = init,
                                        .done = done,
                                        .fields = fields},
               .parameters = parameters,
               .hears.users_changed = changed},
    .pick = pick,
    .pass = pass,
    .explain = explain,
};
