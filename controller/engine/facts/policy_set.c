#include "controller/engine/facts/policy_set.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/policy/policy.h"
#include "controller/engine/watch/hold.h"
#include "controller/engine/watch/locality.h"
#include "controller/engine/watch/order.h"
#include "controller/engine/watch/queues.h"

static void reorder(struct engine *engine, struct job *job)
{
    locality_reorder(engine, job);
    queues_reorder(engine, job);
    hold_reorder_job(engine, job);
}

void policy_set(struct engine *engine, const struct event *event)
{
    enum question q = policy_question(event->policy_set.question);
    const struct policy *policy =
        q < QUESTIONS ? policy_find(q, event->policy_set.name, NULL) : NULL;
    if (!policy) {
        engine_reject(engine, event, REASON_UNSUPPORTED, 0, 0);
        return;
    }
    if (policy == engine->policies[q])
        return;
    policy_put(engine, q, policy);
    if (q == QUESTION_PLACE)
        cluster_follow_orders(engine);
    order_rebuild(engine);
    for (struct sorted_node *node = sorted_first(&engine->active); node; node = sorted_next(node))
        reorder(engine, container_of(node, struct job, by_turn));
}
