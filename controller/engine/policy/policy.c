/* Policies by name, and the life of their states. */
#include "controller/engine/base/ground.h"
#include "controller/engine/base/numbered.h"
#include "controller/engine/policy/questions.h"
#include "lib/join.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A question's word, its table, and where the configuration names its policy. */
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
    [QUESTION_MODE] = {"mode", (const void *const *)mode_policies,
                       offsetof(struct engine_config, mode)},
    [QUESTION_USERS] = {"users", (const void *const *)users_policies,
                        offsetof(struct engine_config, users)},
};

const char *policy_question_name(enum question question)
{
    return questions[question].word;
}

enum question policy_question(const char *word)
{
    enum question q = 0;
    while (q < QUESTIONS && strcmp(questions[q].word, word) != 0)
        q++;
    return q;
}

/* NULL: no more. */
const struct policy *policy_listed(enum question q, unsigned index)
{
    unsigned i = 0;
    while (i < index && questions[q].policies[i])
        i++;
    return questions[q].policies[i];
}

bool policy_next_reason(struct policy_reason_at *at)
{
    if (at->entry)
        at->entry++;
    while (at->question < QUESTIONS && (!at->entry || !at->entry->reason)) {
        const struct policy *policy = questions[at->question].policies[at->policy];
        at->entry = policy ? policy->reasons : NULL;
        at->policy = policy ? at->policy + 1 : 0;
        at->question += policy ? 0 : 1;
    }
    return at->entry;
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

const struct policy *policy_find(enum question q, const char *name, struct err *err)
{
    char names[128] = "";
    for (unsigned i = 0; policy_listed(q, i); i++) {
        const char *known = policy_listed(q, i)->name;
        if (strcmp(known, name) == 0)
            return policy_listed(q, i);
        join_word(names, sizeof(names), ", ", known);
    }
    err_set(err, EINVAL, "unknown %s policy \"%s\": choose one of %s", questions[q].word, name,
            names);
    return NULL;
}

int policy_choose(struct engine *engine, struct err *err)
{
    for (enum question q = 0; q < QUESTIONS; q++) {
        engine->policies[q] = policy_find(q, config_name(&engine->config, q), err);
        if (!engine->policies[q])
            return -EINVAL;
        policy_take_values(engine, q);
    }
    return policy_check_needs(engine->policies, err);
}

static void **kept_with(enum policy_thing thing, union policy_of of)
{
    switch (thing) {
    case POLICY_ENGINE:
        return of.engine->kept;
    case POLICY_JOB:
        return of.job->kept;
    case POLICY_STAGE:
        return of.stage->kept;
    case POLICY_HOST:
        return of.host->kept;
    default:
        return of.attempt->kept;
    }
}

static void begin_one(struct engine *engine, enum question q, enum policy_thing thing,
                      union policy_of of)
{
    const struct policy_state *state = &engine->policies[q]->state[thing];
    if (!state->size || engine->suspended)
        return;
    void *kept = kept_with(thing, of)[q] = engine_allocate(engine, 1, state->size);
    if (state->init)
        state->init(engine, of, kept);
}

static void end_one(struct engine *engine, enum question q, enum policy_thing thing,
                    union policy_of of)
{
    const struct policy *policy = engine->policies[q];
    void **kept = &kept_with(thing, of)[q];
    if (*kept && policy->state[thing].done)
        policy->state[thing].done(engine, of, *kept);
    free(*kept);
    *kept = NULL;
}

static void begin_tasks(struct engine *engine, enum question q, struct stage *stage)
{
    const struct policy_state *state = &engine->policies[q]->state[POLICY_TASK];
    if (!state->size || engine->suspended)
        return;
    uint32_t room = stage->framework ? stage->framework->room : stage->n_tasks;
    stage->kept_tasks[q] = engine_allocate(engine, room, state->size);
    /* WHY: zeros are right for what has not begun (policy.h), and a job may begin with 10⁶
     * tasks. */
    bool begun = stage->framework || stage->n_started || !TAILQ_EMPTY(&stage->attempts);
    for (uint32_t t = 0; begun && state->init && t < stage->n_tasks; t++, engine->counters.visits++)
        state->init(engine, (union policy_of){.task = &stage->tasks[t]},
                    policy_of_task(&stage->tasks[t], q, state->size));
}

static void end_tasks(struct engine *engine, enum question q, struct stage *stage)
{
    const struct policy_state *state = &engine->policies[q]->state[POLICY_TASK];
    for (uint32_t t = 0; stage->kept_tasks[q] && state->done && t < stage->n_tasks; t++)
        state->done(engine, (union policy_of){.task = &stage->tasks[t]},
                    policy_of_task(&stage->tasks[t], q, state->size));
    free(stage->kept_tasks[q]);
    stage->kept_tasks[q] = NULL;
}

static void begin_stage(struct engine *engine, enum question q, struct stage *stage)
{
    begin_one(engine, q, POLICY_STAGE, (union policy_of){.stage = stage});
    begin_tasks(engine, q, stage);
}

static void end_stage(struct engine *engine, enum question q, struct stage *stage)
{
    end_tasks(engine, q, stage);
    end_one(engine, q, POLICY_STAGE, (union policy_of){.stage = stage});
}

/* What a placement keeps of a stage is about its queues, of which each variant has its own; all
 * others ask for the stage as one. */
static uint32_t ways_kept(enum question q, const struct stage *stage)
{
    return q == QUESTION_PLACE ? stage->n_others : 0;
}

static void begin_job(struct engine *engine, enum question q, struct job *job)
{
    begin_one(engine, q, POLICY_JOB, (union policy_of){.job = job});
    for (uint32_t s = 0; s < job->n_stages; s++) {
        begin_stage(engine, q, job->stages[s]);
        for (uint32_t i = 0; i < ways_kept(q, job->stages[s]); i++)
            begin_stage(engine, q, job->stages[s]->others[i]);
    }
}

static void end_job(struct engine *engine, enum question q, struct job *job)
{
    for (uint32_t s = 0; s < job->n_stages; s++) {
        end_stage(engine, q, job->stages[s]);
        for (uint32_t i = 0; i < ways_kept(q, job->stages[s]); i++)
            end_stage(engine, q, job->stages[s]->others[i]);
    }
    end_one(engine, q, POLICY_JOB, (union policy_of){.job = job});
}

void policy_begin_job(struct engine *engine, struct job *job)
{
    for (enum question q = 0; q < QUESTIONS; q++)
        begin_job(engine, q, job);
}

void policy_begin_stage(struct engine *engine, struct stage *stage)
{
    for (enum question q = 0; q < QUESTIONS; q++)
        begin_stage(engine, q, stage);
}

static void grow_tasks(struct engine *engine, enum question q, struct stage *stage, uint32_t n,
                       uint32_t room)
{
    const struct policy_state *state = &engine->policies[q]->state[POLICY_TASK];
    if (!state->size || engine->suspended)
        return;
    char *kept = engine_allocate(engine, room, state->size);
    memcpy(kept, stage->kept_tasks[q], n * state->size);
    free(stage->kept_tasks[q]);
    stage->kept_tasks[q] = kept;
}

void policy_grow_stage(struct engine *engine, struct stage *stage, uint32_t n, uint32_t room)
{
    for (enum question q = 0; q < QUESTIONS; q++)
        grow_tasks(engine, q, stage, n, room);
}

void policy_end_job(struct engine *engine, struct job *job)
{
    for (enum question q = 0; q < QUESTIONS; q++)
        end_job(engine, q, job);
}

void policy_begin_host(struct engine *engine, struct host *host)
{
    for (enum question q = 0; q < QUESTIONS; q++)
        begin_one(engine, q, POLICY_HOST, (union policy_of){.host = host});
}

void policy_end_host(struct engine *engine, struct host *host)
{
    for (enum question q = 0; q < QUESTIONS; q++)
        end_one(engine, q, POLICY_HOST, (union policy_of){.host = host});
}

void policy_begin_attempt(struct engine *engine, struct attempt *attempt)
{
    for (enum question q = 0; q < QUESTIONS; q++)
        begin_one(engine, q, POLICY_ATTEMPT, (union policy_of){.attempt = attempt});
}

void policy_end_attempt(struct engine *engine, struct attempt *attempt)
{
    for (enum question q = 0; q < QUESTIONS; q++)
        end_one(engine, q, POLICY_ATTEMPT, (union policy_of){.attempt = attempt});
}

static bool keeps(const struct policy *policy, enum policy_thing thing)
{
    return policy->state[thing].size;
}

static bool keeps_of_jobs(const struct policy *policy)
{
    return keeps(policy, POLICY_JOB) || keeps(policy, POLICY_STAGE) || keeps(policy, POLICY_TASK);
}

/* Begins, or ends, all states of a question's policy. WHY only where it keeps some: most keep
 * little, and there may be 10⁵ jobs. */
static void begin_policy(struct engine *engine, enum question q)
{
    const struct policy *policy = engine->policies[q];
    struct sorted_node *node;
    begin_one(engine, q, POLICY_ENGINE, (union policy_of){.engine = engine});
    for (uint32_t i = 0; keeps(policy, POLICY_HOST) && i < engine->n_hosts; i++)
        if (engine->hosts[i])
            begin_one(engine, q, POLICY_HOST, (union policy_of){.host = engine->hosts[i]});
    node = keeps_of_jobs(policy) ? sorted_first(&engine->jobs) : NULL;
    for (; node; node = sorted_next(node)) {
        struct job *job = container_of(node, struct job, by_number);
        if (job->state == JOB_ACTIVE)
            begin_job(engine, q, job);
    }
    struct attempt *attempt =
        keeps(policy, POLICY_ATTEMPT) ? numbered_after(&engine->attempts, 0) : NULL;
    for (; attempt; attempt = numbered_after(&engine->attempts, attempt->number))
        begin_one(engine, q, POLICY_ATTEMPT, (union policy_of){.attempt = attempt});
}

static void end_policy(struct engine *engine, enum question q)
{
    const struct policy *policy = engine->policies[q];
    struct sorted_node *node;
    struct attempt *attempt =
        keeps(policy, POLICY_ATTEMPT) ? numbered_after(&engine->attempts, 0) : NULL;
    for (; attempt; attempt = numbered_after(&engine->attempts, attempt->number))
        end_one(engine, q, POLICY_ATTEMPT, (union policy_of){.attempt = attempt});
    node = keeps_of_jobs(policy) ? sorted_first(&engine->jobs) : NULL;
    for (; node; node = sorted_next(node))
        end_job(engine, q, container_of(node, struct job, by_number));
    for (uint32_t i = 0; keeps(policy, POLICY_HOST) && i < engine->n_hosts; i++)
        if (engine->hosts[i])
            end_one(engine, q, POLICY_HOST, (union policy_of){.host = engine->hosts[i]});
    end_one(engine, q, POLICY_ENGINE, (union policy_of){.engine = engine});
}

static void hear(struct told *told, const struct listener *listener)
{
#define HEAR(name, parameters, arguments)                                                          \
    if (listener->name) {                                                                          \
        int name##_at = 0;                                                                         \
        while (told->name[name##_at])                                                              \
            name##_at++;                                                                           \
        assert(name##_at < LISTENERS_MAX);                                                         \
        told->name[name##_at] = listener->name;                                                    \
    }
    ANNOUNCEMENTS(HEAR)
#undef HEAR
}

static void list_told(struct engine *engine)
{
    engine->told = (struct told){0};
    for (int i = 0; engine_listeners[i]; i++) {
        hear(&engine->told, engine_listeners[i]);
        for (enum question q = 0; engine_listeners[i] == &listener_policies && q < QUESTIONS; q++)
            if (!engine->suspended)
                hear(&engine->told, &engine->policies[q]->hears);
    }
}

void policy_begin(struct engine *engine)
{
    engine->suspended = false;
    list_told(engine);
    for (enum question q = 0; q < QUESTIONS; q++)
        begin_policy(engine, q);
}

void policy_suspend(struct engine *engine)
{
    for (enum question q = 0; q < QUESTIONS; q++)
        end_policy(engine, q);
    engine->suspended = true;
    list_told(engine);
}

void policy_end(struct engine *engine)
{
    for (enum question q = 0; q < QUESTIONS; q++)
        end_one(engine, q, POLICY_ENGINE, (union policy_of){.engine = engine});
}

void policy_put(struct engine *engine, enum question q, const struct policy *policy)
{
    end_policy(engine, q);
    strcpy(config_name(&engine->config, q), policy->name);
    engine->policies[q] = policy;
    policy_take_values(engine, q);
    list_told(engine);
    begin_policy(engine, q);
}
