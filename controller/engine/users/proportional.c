/* The plain way: of an offer of c granules each user has c·R/ΣR, rounded down; what rounding leaves
 * goes to the largest fractions, of equal ones to the larger share. With `remainders` what a user
 * had less or more than that is kept and counts in the next offer; without, every offer begins
 * anew, and where offers are single granules the largest user gets nearly all.
 *
 * What users do not take goes to the one with most left for its share. Remainders are kept in
 * 1/ΣR of a granule with the users; they sum to 0, and are 0 again when shares change. */
#include "controller/engine/base/ground.h"
#include "controller/engine/base/say.h"
#include "controller/engine/users/division.h"
#include "lib/plural.h"

#include <inttypes.h>
#include <stdlib.h>

__extension__ typedef __int128 wide;

static const struct engine_parameter parameter_remainders = {
    "remainders",
    ENGINE_UNIT_YES,
    0,
    1,
    1,
    "What rounding gave a user more or less counts in the next offer."};
static const struct engine_parameter *const parameters[] = {&parameter_remainders,
                                                            DIVISION_GRANULE_PARAMETERS, NULL};

enum { LARGEST_OFFER = 1 << 30 };

/* A user in the present offer. */
struct part {
    struct user *user;
    int64_t quota, used;
};
struct proportional_engine {
    struct resources granule;
    struct part *parts; /* while an offer is open, in order of numbers */
    uint32_t n, at;
    int64_t amount;
};

static void init(struct engine *engine, union policy_of of, void *state)
{
    struct proportional_engine *k = state;
    (void)of;
    k->granule = division_granule(engine);
}

/* WHY: what the remainders are parts of may change under another policy. */
static void forget_remainders(struct engine *engine)
{
    for (struct sorted_node *node = sorted_first(&engine->users); node; node = sorted_next(node))
        container_of(node, struct user, by_number)->remainder = 0;
}

static void done(struct engine *engine, union policy_of of, void *state)
{
    struct proportional_engine *k = state;
    (void)of;
    free(k->parts);
    forget_remainders(engine);
}

/* What it has left of its part, in 1/ΣR of a granule. */
static int64_t left(const struct engine *engine, const struct part *part, int64_t of)
{
    return part->user->remainder - of * (int64_t)engine->users_total;
}

static bool is_before(const struct engine *engine, const struct part *a, const struct part *b)
{
    int64_t x = left(engine, a, a->quota), y = left(engine, b, b->quota);
    return x != y ? x > y : a->user->share > b->user->share;
}

static void give_fractions(const struct engine *engine, struct proportional_engine *k, int64_t more)
{
    for (; more > 0; more--) {
        struct part *best = &k->parts[0];
        for (uint32_t i = 1; i < k->n; i++)
            if (is_before(engine, &k->parts[i], best))
                best = &k->parts[i];
        best->quota++;
    }
}

static void open_offer(struct engine *engine, struct proportional_engine *k)
{
    uint64_t amount = division_free(engine, &k->granule);
    int64_t total = (int64_t)engine->users_total, given = 0;
    k->amount = amount < LARGEST_OFFER ? (int64_t)amount : LARGEST_OFFER;
    k->parts = engine_allocate(engine, engine->users.n, sizeof(*k->parts));
    k->n = k->at = 0;
    for (struct sorted_node *node = sorted_first(&engine->users); node; node = sorted_next(node)) {
        struct part *part = &k->parts[k->n++];
        part->user = container_of(node, struct user, by_number);
        part->user->remainder += k->amount * (int64_t)part->user->share;
        part->quota = part->user->remainder > 0 ? part->user->remainder / total : 0;
        given += part->quota;
    }
    give_fractions(engine, k, k->amount - given);
}

static bool by_part(struct engine *engine, struct proportional_engine *k, struct claim *ret_claim)
{
    for (; k->at < k->n; k->at++) {
        const struct part *part = &k->parts[k->at];
        if (part->used < part->quota && division_ask(engine, part->user, NULL, ret_claim) &&
            (int64_t)division_claim_size(&k->granule, ret_claim) <= part->quota - part->used)
            return true;
    }
    return false;
}

/* Behind all that were asked before, which `asked` counts from 0; most left for its share first. */
static struct part *next_part(const struct engine *engine, const struct proportional_engine *k,
                              const bool *asked)
{
    struct part *best = NULL;
    for (uint32_t i = 0; i < k->n; i++) {
        struct part *part = &k->parts[i];
        if (asked[i] || !part->user->ready_here)
            continue;
        wide x = best ? (wide)left(engine, part, part->used) * best->user->share : 1,
             y = best ? (wide)left(engine, best, best->used) * part->user->share : 0;
        if (x > y)
            best = part;
    }
    return best;
}

static bool by_rest(struct engine *engine, struct proportional_engine *k, struct claim *ret_claim)
{
    bool *asked = engine_allocate(engine, k->n, sizeof(*asked)), found = false;
    struct part *part;
    while (!found && (part = next_part(engine, k, asked))) {
        asked[part - k->parts] = true;
        found = division_ask(engine, part->user, NULL, ret_claim);
    }
    free(asked);
    return found;
}

static bool pick(struct engine *engine, struct claim *ret_claim)
{
    struct proportional_engine *k = engine->kept[QUESTION_USERS];
    if (!division_has_room(engine))
        return false;
    if (!k->parts)
        open_offer(engine, k);
    return by_part(engine, k, ret_claim) || by_rest(engine, k, ret_claim);
}

static void charge(struct engine *engine, const struct claim *claim)
{
    struct proportional_engine *k = engine->kept[QUESTION_USERS];
    const struct user *user = claim->task->stage->job->tenant;
    (void)engine;
    for (uint32_t i = 0; k->parts && i < k->n; i++)
        if (k->parts[i].user == user)
            k->parts[i].used += (int64_t)division_claim_size(&k->granule, claim);
}

/* What was taken of the offer was the offer. */
static void over(struct engine *engine)
{
    struct proportional_engine *k = engine->kept[QUESTION_USERS];
    int64_t used = 0, total = (int64_t)engine->users_total;
    bool kept = policy_value(engine, QUESTION_USERS, &parameter_remainders);
    for (uint32_t i = 0; k->parts && i < k->n; i++)
        used += k->parts[i].used;
    for (uint32_t i = 0; k->parts && i < k->n; i++) {
        struct user *user = k->parts[i].user;
        user->remainder -= k->parts[i].used * total + (k->amount - used) * (int64_t)user->share;
        user->remainder = kept ? user->remainder : 0;
    }
    free(k->parts);
    k->parts = NULL;
}

static void explain(const struct engine *engine, const struct user *user,
                    struct engine_explanation *e)
{
    say(e, "has %u of %" PRIu64 " share%s, and had %.2f granules less than that", user->share,
        engine->users_total, plural(engine->users_total),
        (double)user->remainder / (double)engine->users_total);
}

const struct users_policy users_proportional = {
    .policy = {.name = "proportional",
               .state[POLICY_ENGINE] = {.size = sizeof(struct proportional_engine),
                                        .init = init,
                                        .done = done},
               .parameters = parameters,
               .hears.users_changed = forget_remainders},
    .pick = pick,
    .charge = charge,
    .over = over,
    .explain = explain,
};
