/* Which policies work together. */
#include "controller/engine/base/ground.h"
#include "controller/engine/policy/questions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_one_of(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

/* "network rank", "network rank or scf". */
static void say_wanted(const struct policy_need *need, char *text, size_t size)
{
    snprintf(text, size, "%s", policy_question_name(need->question));
    for (unsigned i = 0; need->one_of[i]; i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s %s", i ? " or" : "", need->one_of[i]);
    }
}

static int refuse(enum question q, const struct policy *policy, const struct policy_need *need,
                  const struct policy *there, struct err *err)
{
    char wanted[160];
    say_wanted(need, wanted, sizeof(wanted));
    return err_set(err, EINVAL, "%s %s needs %s, and %s is %s: %s", policy_question_name(q),
                   policy->name, wanted, policy_question_name(need->question), there->name,
                   need->why);
}

int policy_check_needs(const struct policy *const policies[QUESTIONS], struct err *err)
{
    for (enum question q = 0; q < QUESTIONS; q++) {
        const struct policy_need *need = policies[q]->needs;
        for (; need && need->one_of; need++)
            if (!is_one_of(need->one_of, policies[need->question]->name))
                return refuse(q, policies[q], need, policies[need->question], err);
    }
    return 0;
}

/* A placement that does not keep the bounds of jobs that are active. O(jobs) if so. */
static int check_bounds(const struct engine *engine, const struct place_policy *place,
                        struct err *err)
{
    struct sorted_node *node = sorted_first(&engine->active);
    if (place->at_most || !engine->bounded_jobs)
        return 0;
    while (node && !container_of(node, struct job, by_turn)->bounded)
        node = sorted_next(node);
    return err_set(err, EINVAL,
                   "place %s cannot keep at_most, which %" PRIu64
                   " active job(s) have, job %" PRIu64 " first: let them end, or cancel them",
                   place->policy.name, engine->bounded_jobs,
                   node ? container_of(node, struct job, by_turn)->number : 0);
}

int policy_fits(const struct engine *engine, enum question q, const struct policy *policy,
                struct err *err)
{
    int r = q == QUESTION_PLACE
                ? check_bounds(engine, container_of(policy, const struct place_policy, policy), err)
                : 0;
    if (r < 0)
        return r;
    const struct policy *policies[QUESTIONS];
    memcpy(policies, engine->policies, sizeof(policies));
    policies[q] = policy;
    return policy_check_needs(policies, err);
}

int engine_policy_fits(const struct engine *engine, const char *question, const char *name,
                       struct err *err)
{
    enum question q = policy_question(question);
    const struct policy *policy = q < QUESTIONS ? policy_find(q, name, NULL) : NULL;
    return policy ? policy_fits(engine, q, policy, err) : -ENOENT;
}

int engine_policies_fit(const struct engine *engine, const struct engine_combination *combination,
                        struct err *err)
{
    const char *const names[QUESTIONS] = {
        [QUESTION_TURN] = combination->turn,     [QUESTION_PLACE] = combination->place,
        [QUESTION_COMMIT] = combination->commit, [QUESTION_NETWORK] = combination->network,
        [QUESTION_MODE] = combination->mode,     [QUESTION_USERS] = combination->users,
    };
    const struct policy *policies[QUESTIONS];
    for (enum question q = 0; q < QUESTIONS; q++)
        if (!(policies[q] = policy_find(q, names[q], NULL)))
            return err_set(err, ENOENT, "%s has no policy '%s'", policy_question_name(q), names[q]);
    int r = check_bounds(
        engine, container_of(policies[QUESTION_PLACE], const struct place_policy, policy), err);
    return r < 0 ? r : policy_check_needs(policies, err);
}

static unsigned count(enum question q)
{
    unsigned n = 0;
    while (policy_listed(q, n))
        n++;
    return n;
}

int engine_combination(uint64_t index, struct engine_combination *ret_combination)
{
    const struct policy *policies[QUESTIONS];
    struct err err = {0};
    for (enum question q = QUESTIONS; q-- > 0; index /= count(q))
        policies[q] = policy_listed(q, (unsigned)(index % count(q)));
    if (index)
        return -ENOENT;
    *ret_combination = (struct engine_combination){
        .turn = policies[QUESTION_TURN]->name,
        .place = policies[QUESTION_PLACE]->name,
        .commit = policies[QUESTION_COMMIT]->name,
        .network = policies[QUESTION_NETWORK]->name,
        .mode = policies[QUESTION_MODE]->name,
        .users = policies[QUESTION_USERS]->name,
        .one_host =
            container_of(policies[QUESTION_PLACE], const struct place_policy, policy)->one_host &&
            container_of(policies[QUESTION_USERS], const struct users_policy, policy)->one_host,
    };
    if (policy_check_needs(policies, &err) < 0)
        engine_copy_word(ret_combination->refused, sizeof(ret_combination->refused), err.text);
    return 0;
}
