/* Lowest use first: of the users with something ready the one that holds least for its share, as
 * capacity schedulers do. `capacity` counts slots; `drf` counts the resource of which a user holds
 * most (dominant resource fairness: Ghodsi and others, NSDI 2011, 4.3, with weights). Nobody is
 * owed anything: who had nothing to run has lost that. */
#include "controller/engine/base/say.h"
#include "controller/engine/books/users.h"
#include "controller/engine/users/division.h"
#include "lib/plural.h"

__extension__ typedef unsigned __int128 wide;

enum { USE_BITS = 32 };

/* In units of 2^-32 of the whole; 0: the cluster has none. */
static uint64_t part(const struct engine *engine, const struct user *user, enum resource resource)
{
    int64_t held = user->held.amount[resource], whole = engine->total.amount[resource];
    return held > 0 && whole > 0 ? (uint64_t)(((wide)held << USE_BITS) / (uint64_t)whole) : 0;
}

static uint64_t of_slots(const struct engine *engine, const struct user *user)
{
    return part(engine, user, RES_SLOTS);
}

static uint64_t of_the_largest(const struct engine *engine, const struct user *user)
{
    uint64_t most = 0;
    for (int r = 0; r < ENGINE_RESOURCES; r++) {
        uint64_t use = part(engine, user, (enum resource)r);
        most = use > most ? use : most;
    }
    return most;
}

typedef uint64_t use_of(const struct engine *engine, const struct user *user);

/* Ties go to the smaller number. */
static bool is_before(const struct engine *engine, use_of *use, const struct user *a,
                      const struct user *b)
{
    wide left = (wide)use(engine, a) * b->share, right = (wide)use(engine, b) * a->share;
    return left != right ? left < right : a->number < b->number;
}

/* The first behind `after` (NULL: of all) with something ready. */
static struct user *next_user(const struct engine *engine, use_of *use, const struct user *after)
{
    struct user *best = NULL;
    for (struct sorted_node *node = sorted_first(&engine->users); node; node = sorted_next(node)) {
        struct user *user = container_of(node, struct user, by_number);
        if (user->ready_here && (!after || is_before(engine, use, after, user)) &&
            (!best || is_before(engine, use, user, best)))
            best = user;
    }
    return best;
}

static bool pick_by(struct engine *engine, use_of *use, struct claim *ret_claim)
{
    bool found = false;
    for (struct user *user = NULL; !found && (user = next_user(engine, use, user));)
        found = division_ask(engine, user, NULL, ret_claim);
    return found;
}

static bool capacity_pick(struct engine *engine, struct claim *ret_claim)
{
    return pick_by(engine, of_slots, ret_claim);
}

static bool drf_pick(struct engine *engine, struct claim *ret_claim)
{
    return pick_by(engine, of_the_largest, ret_claim);
}

static void say_use(const struct engine *engine, const struct user *user, use_of *use,
                    const char *of, struct engine_explanation *e)
{
    struct division_queue queue = {.e = e};
    double percent = (double)use(engine, user) * 100 / (double)(UINT64_C(1) << USE_BITS);
    say(e,
        "holds %.1f %% of %s for %u of %llu share%s; who holds less for its share is first: it is ",
        percent, of, user->share, (unsigned long long)engine->users_total,
        plural(engine->users_total));
    for (struct sorted_node *node = sorted_first(&engine->users); node; node = sorted_next(node)) {
        const struct user *other = container_of(node, struct user, by_number);
        if (other->ready_here && is_before(engine, use, other, user))
            division_queue_add(&queue, other, 0);
    }
    division_queue_say(&queue);
    say_fact(e, "user_holds", "%.1f %%", percent);
}

static void capacity_explain(const struct engine *engine, const struct user *user,
                             struct engine_explanation *e)
{
    say_use(engine, user, of_slots, "all slots", e);
}

static void drf_explain(const struct engine *engine, const struct user *user,
                        struct engine_explanation *e)
{
    say_use(engine, user, of_the_largest, "what it holds most of", e);
}

const struct users_policy users_capacity = {
    .policy = {.name = "capacity"}, .pick = capacity_pick, .explain = capacity_explain};
const struct users_policy users_drf = {
    .policy = {.name = "drf"}, .pick = drf_pick, .explain = drf_explain};
