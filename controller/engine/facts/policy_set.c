#include "controller/engine/facts/policy_set.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/users.h"
#include "controller/engine/policy/policy.h"
#include "controller/engine/watch/hold.h"
#include "controller/engine/watch/locality.h"
#include "controller/engine/watch/narrow.h"
#include "controller/engine/watch/order.h"
#include "controller/engine/watch/queues.h"
#include "controller/engine/watch/refusal.h"

#include <errno.h>

static void reorder(struct engine *engine, struct job *job)
{
    locality_reorder(engine, job);
    queues_reorder(engine, job);
    hold_reorder_job(engine, job);
}

/* All that is ordered is ordered anew. */
static void follow(struct engine *engine)
{
    cluster_follow_orders(engine);
    order_rebuild(engine);
    for (struct sorted_node *node = sorted_first(&engine->active); node; node = sorted_next(node))
        reorder(engine, container_of(node, struct job, by_turn));
}

/* Puts the policy in force, with what follows from it. The mode orders nothing. */
static void put(struct engine *engine, enum question q, const struct policy *policy)
{
    bool divided = users_divided(engine);
    if (q == QUESTION_PLACE)
        narrow_end_all(engine);
    policy_put(engine, q, policy);
    if (users_divided(engine) != divided)
        users_follow_division(engine);
    if (q != QUESTION_MODE)
        follow(engine);
    if (q == QUESTION_COMMIT)
        refusal_ask_all(engine);
    if (q == QUESTION_USERS)
        users_let_go(engine);
}

void policy_set(struct engine *engine, const struct event *event)
{
    enum question q = policy_question(event->policy_set.question);
    const struct policy *policy =
        q < QUESTIONS ? policy_find(q, event->policy_set.name, NULL) : NULL;
    if (!policy)
        engine_reject(engine, event, REASON_UNSUPPORTED, 0, 0);
    else if (policy_fits(engine, q, policy, NULL) < 0)
        engine_reject(engine, event, REASON_BAD_STATE, q, 0);
    else if (policy != engine->policies[q])
        put(engine, q, policy);
}

void policy_parameter(struct engine *engine, const struct event *event)
{
    const char *word = event->policy_parameter.word;
    int64_t value = event->policy_parameter.value, before = engine_value(engine, word);
    int r = engine_config_say(&engine->config, word, value, NULL);
    if (r < 0) {
        engine_reject(engine, event, r == -ERANGE ? REASON_BAD_VALUE : REASON_UNSUPPORTED, value,
                      0);
        return;
    }
    for (enum question q = 0; q < QUESTIONS && value != before; q++) {
        if (engine->suspended)
            policy_take_values(engine, q);
        else if (policy_has(engine->policies[q], word))
            put(engine, q, engine->policies[q]);
    }
}
