/* Names of policies. */
#include "controller/engine/engine.h"
#include "controller/engine/policy/policy.h"

const char *engine_policy_name(const char *word, unsigned index)
{
    enum question q = policy_question(word);
    const struct policy *policy = q < QUESTIONS ? policy_listed(q, index) : NULL;
    return policy ? policy->name : NULL;
}

const char *engine_policy(const struct engine *engine, const char *word)
{
    enum question q = policy_question(word);
    return q < QUESTIONS ? engine->policies[q]->name : NULL;
}
