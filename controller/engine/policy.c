#include "controller/engine/policies.h"

#include "controller/engine/job.h"
#include "controller/engine/mode.h"
#include "controller/engine/order.h"

#include <errno.h>
#include <string.h>

/* A question's word, its table and where the configuration names the one in force. */
static const struct {
    const char *word;
    const void *const *policies;
    size_t config;
} questions[QUESTIONS] = {
    [QUESTION_TURN] = {"turn", (const void *const *)turn_policies,
                       offsetof(struct engine_config, turn)},
    [QUESTION_PLACE] = {"place", (const void *const *)place_policies,
                        offsetof(struct engine_config, place)},
    [QUESTION_COMMIT] = {"commit", (const void *const *)commit_policies,
                         offsetof(struct engine_config, commit)},
    [QUESTION_NETWORK] = {"network", (const void *const *)network_policies,
                          offsetof(struct engine_config, network)},
};

static enum question question_of(const char *word)
{
    enum question q = 0;
    while (q < QUESTIONS && strcmp(questions[q].word, word) != 0)
        q++;
    return q;
}

/* NULL: it is the last. */
static const struct policy *policy_at(enum question q, unsigned index)
{
    return questions[q].policies[index];
}

static char *config_name(struct engine_config *config, enum question q)
{
    return (char *)config + questions[q].config;
}

void policy_config_default(struct engine_config *config)
{
    for (enum question q = 0; q < QUESTIONS; q++)
        strcpy(config_name(config, q), policy_defaults[q]);
}

const char *engine_policy_name(const char *word, unsigned index)
{
    if (strcmp(word, "mode") == 0)
        return mode_rule_name(index);
    enum question q = question_of(word);
    for (unsigned i = 0; q < QUESTIONS && policy_at(q, i); i++)
        if (i == index)
            return policy_at(q, i)->name;
    return NULL;
}

const char *engine_policy(const struct engine *engine, const char *word)
{
    if (strcmp(word, "mode") == 0)
        return mode_rule_name(engine->config.mode_rule);
    enum question q = question_of(word);
    return q < QUESTIONS ? engine->policies[q]->name : NULL;
}

static const struct policy *find_policy(enum question q, const char *name, struct err *err)
{
    char names[128] = "";
    for (unsigned i = 0; policy_at(q, i); i++) {
        const char *known = policy_at(q, i)->name;
        if (strcmp(known, name) == 0)
            return policy_at(q, i);
        strncat(names, i ? ", " : "", sizeof(names) - strlen(names) - 1);
        strncat(names, known, sizeof(names) - strlen(names) - 1);
    }
    err_set(err, EINVAL, "unknown %s policy \"%s\": choose one of %s", questions[q].word, name,
            names);
    return NULL;
}

int policy_choose(struct engine *engine, struct err *err)
{
    for (enum question q = 0; q < QUESTIONS; q++) {
        engine->policies[q] = find_policy(q, config_name(&engine->config, q), err);
        if (!engine->policies[q])
            return -EINVAL;
    }
    return 0;
}

void policy_set(struct engine *engine, const struct event *event)
{
    const char *name = event->policy_set.name;
    if (strcmp(event->policy_set.question, "mode") == 0 && mode_set_rule(engine, name))
        return;
    enum question q = question_of(event->policy_set.question);
    const struct policy *policy = q < QUESTIONS ? find_policy(q, name, NULL) : NULL;
    if (!policy) {
        engine_reject(engine, event, REASON_UNSUPPORTED, 0, 0);
        return;
    }
    strcpy(config_name(&engine->config, q), policy->name);
    engine->policies[q] = policy;
    order_rebuild(engine);
    for (struct sorted_node *node = sorted_first(&engine->active); node; node = sorted_next(node))
        job_reorder(engine, sorted_owner(node, struct job, by_turn));
}
