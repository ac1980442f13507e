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

/* NULL: there is no such question or policy. */
static const struct policy *asked(const struct event *event, enum question *ret_question)
{
    *ret_question = policy_question(event->policy_set.question);
    return *ret_question < QUESTIONS ? policy_find(*ret_question, event->policy_set.name, NULL)
                                     : NULL;
}

struct obstacle policy_set_obstacle(const struct engine *engine, const struct event *event)
{
    enum question q;
    const struct policy *policy = asked(event, &q);
    if (!policy)
        return (struct obstacle){REASON_UNSUPPORTED, 0, 0};
    if (policy_fits(engine, q, policy, NULL) < 0)
        return (struct obstacle){REASON_BAD_STATE, q, 0};
    return (struct obstacle){REASON_NONE, 0, 0};
}

void policy_set(struct engine *engine, const struct event *event)
{
    enum question q;
    const struct policy *policy = asked(event, &q);
    if (policy != engine->policies[q])
        put(engine, q, policy);
}

struct obstacle policy_parameter_obstacle(const struct engine *engine, const struct event *event)
{
    struct engine_config config = engine->config;
    const int64_t value = event->policy_parameter.value;
    int r = engine_config_say(&config, event->policy_parameter.word, value, NULL);
    if (r == 0)
        return (struct obstacle){REASON_NONE, 0, 0};
    return (struct obstacle){r == -ERANGE ? REASON_BAD_VALUE : REASON_UNSUPPORTED, value, 0};
}

void policy_parameter(struct engine *engine, const struct event *event)
{
    const char *word = event->policy_parameter.word;
    int64_t value = event->policy_parameter.value, before = engine_value(engine, word);
    engine_config_say(&engine->config, word, value, NULL);
    for (enum question q = 0; q < QUESTIONS && value != before; q++) {
        if (engine->suspended)
            policy_take_values(engine, q);
        else if (policy_has(engine->policies[q], word))
            put(engine, q, engine->policies[q]);
    }
}
