#include "controller/engine/base/ground.h"
#include "controller/engine/place/place.h"
#include "controller/engine/watch/queues.h"

#define REASON_RANDOM ((enum reason)9)

struct random_engine {
    uint64_t draws;
};
static const struct field fields[] = {FIELD_OF(random_engine, draws, U64), {0}};

/* WHY that number: under this policy each start took one draw. */
static void init(struct engine *engine, union policy_of of, void *state)
{
    (void)of;
    struct random_engine *kept = state;
    kept->draws = engine->attempt_counter;
}

/* Each start draws the host a new random place, so the first one from a random point on is
 * random. */
static struct fit *random_fit(const struct engine *engine, struct shape *shape)
{
    const struct random_engine *kept = engine->kept[QUESTION_PLACE];
    if (engine->asked_host)
        return place_fit(engine, shape);
    struct sorted_key from = {engine_mix(engine->config.seed, ~kept->draws, 0), 0, 0};
    struct sorted_node *node = sorted_from(&shape->by_tie, from);
    return container_of(node ? node : sorted_first(&shape->by_tie), struct fit, by_tie);
}

static bool random_pick(struct engine *engine, struct claim *ret_claim)
{
    struct bucket *bucket = place_first_bucket(engine);
    if (!bucket)
        return false;
    struct task *map = bucket_first_map(bucket);
    struct task *task = map ? map : bucket_largest(engine, bucket);
    int64_t fitting = bucket->shape->fitting;
    *ret_claim = (struct claim){task, random_fit(engine, bucket->shape), REASON_RANDOM, 0, fitting};
    return true;
}

/* WHY only now: who divides asks several users, and how many is not the next draw's affair. */
static bool chosen(struct engine *engine, struct claim *claim)
{
    struct random_engine *kept = engine->kept[QUESTION_PLACE];
    (void)claim;
    kept->draws++;
    return true;
}

static const struct policy_reason reasons[] = {
    {DECISION_START, REASON_RANDOM, "random", NULL, "fitting units",
     "Runs on {host}, one of {right} fitting hosts at random. "},
    {0}};

const struct place_policy place_random = {
    .policy = {.name = "random",
               .state[POLICY_ENGINE] = {.size = sizeof(struct random_engine),
                                        .init = init,
                                        .fields = fields},
               .reasons = reasons},
    .pick = random_pick,
    .chosen = chosen,
    .one_host = true,
    .pure = true,
    .orders = HOSTS_BY_TIE,
};
