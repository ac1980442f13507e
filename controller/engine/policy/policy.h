/* Policies: which policy answers which question, and their states. Private to controller/engine.
 *
 * Each question has one table of policies (policies.c), of which one is in force. A policy's table
 * begins with its struct policy, which has what is common to all questions: the policy's name, and
 * what state it keeps with the engine, with each active job, stage and task, each host and each
 * attempt. Other policies cost nothing: a thing holds one pointer per question, and only the policy
 * in force has memory behind it.
 *
 * `init` makes a state from facts: when a thing is made under the policy, when the policy is put in
 * force in the middle of a run, and after a dump was read. So the state must not depend on when it
 * is made, except what only the policy's own past determines: that is in `fields`, which a dump
 * keeps and load() reads after init.
 *
 * A policy is a listener (listener.h).
 *
 * One object in several files: policy, parameters, needs, questions. */
#pragma once

#include "controller/engine/base/field.h"
#include "controller/engine/base/state.h"

enum policy_thing {
    POLICY_ENGINE,
    POLICY_JOB, /* active ones; so are stages and tasks */
    POLICY_STAGE,
    POLICY_TASK,
    POLICY_HOST, /* known ones, joined or not */
    POLICY_ATTEMPT,
    POLICY_THINGS
};

/* The thing that a state belongs to. */
union policy_of {
    struct engine *engine;
    struct job *job;
    struct stage *stage;
    struct task *task;
    struct host *host;
    struct attempt *attempt;
};

typedef void policy_state_hook(struct engine *engine, union policy_of of, void *state);

struct policy_state {
    size_t size; /* 0: no state here, and the rest is not used */
    /* Makes it from facts; zeroed before. NULL: zeros are right, as they must be for tasks of a
     * submitted stage that has not begun. A new attempt has only its task, host and resources. */
    policy_state_hook *init;
    policy_state_hook *done;          /* frees what the state owns; NULL: nothing */
    const struct field *fields;       /* beyond facts; NULL: nothing. Ends with FIELD_END */
    bool (*keeps)(const void *state); /* its fields differ from what init made; NULL: unknown */
    policy_state_hook *load;          /* the fields were read; NULL: nothing to do */
};

/* One reason of one kind of decision, as this policy gives it. All tables that have it with the
 * same kind give its two numbers the same meaning. Its number and its word are its own for ever,
 * since records have them; test_reasons says which number is free. */
struct policy_reason {
    enum decision_kind kind; /* START, STOP (of an eviction), HOLD, LEVEL or MODE */
    enum reason reason;
    const char
        *word; /* in records and for people; NULL: the engine's reason, or in another entry */
    const char *left, *right; /* meaning of the decision's two numbers; NULL: always 0 */
    /* For people; of MODE a clause; NULL: LEVEL, of which explain says more. Words in braces are
     * replaced: {host}, {left}, {right}, {left.1s}, {left.3s} and {right.1s} (ns as seconds),
     * {right.host} (a host's number), {transfer} (Coflow or Macroflow, by which the network serves
     * now), {first_job} (the first job's number), {uplinks} (which of them are busy: a sentence
     * without its full stop). */
    const char *sentence;
};

/* The policy cannot work without one of these policies for another question. */
struct policy_need {
    enum question question;    /* not its own */
    const char *const *one_of; /* names, at least one; ends with NULL */
    /* For people: a clause without its full stop, after "place NAME needs network OTHER, and
     * network is ANOTHER: " */
    const char *why;
};

/* A decision's reason and numbers. */
struct policy_why {
    enum reason reason;
    int64_t left, right;
};

struct policy {
    const char *name; /* a word for the configuration, unlike all others of the question */
    struct policy_state state[POLICY_THINGS];
    const struct policy_reason *reasons; /* each that it gives; ends with REASON_NONE; NULL: none */
    const struct engine_parameter *const *parameters; /* ends with NULL; NULL: it has none */
    const struct policy_need *needs; /* ends with a NULL `one_of`; NULL: it works with all others */
    const char *by_mode; /* what it does differently in the other mode, in words; NULL: nothing */
    /* Whether jobs' priorities count, by its parameters now; NULL: never. */
    bool (*uses_priority)(const struct engine *engine);
    struct listener hears;
};

/* A question's word; the question with a word, QUESTIONS: none. */
const char *policy_question_name(enum question question);
enum question policy_question(const char *word);
/* Names the policies of a default configuration. */
void policy_config_default(struct engine_config *config);
/* Puts the configured policies in force; −EINVAL with a sentence that names the choices, or says
 * which two do not work together. */
int policy_choose(struct engine *engine, struct err *err);

/* Whether these policies, one for each question, work together: −EINVAL with a sentence that says
 * which needs what. */
int policy_check_needs(const struct policy *const policies[QUESTIONS], struct err *err);
/* The same for the policies in force with this one in place of its question's. */
int policy_fits(const struct engine *engine, enum question q, const struct policy *policy,
                struct err *err);

/* Call when a thing was made or is about to be freed: begins or ends its states. */
void policy_begin_job(struct engine *engine, struct job *job);
void policy_end_job(struct engine *engine, struct job *job);
/* An active job has one more stage; memory for `room` tasks of one, of which `n` have states. The
 * others are zeros until they count (task_counts), where a policy with states of tasks makes them.
 * States are moved as bytes: they hold no nodes, and nothing points to them. */
void policy_begin_stage(struct engine *engine, struct stage *stage);
void policy_grow_stage(struct engine *engine, struct stage *stage, uint32_t n, uint32_t room);
void policy_begin_host(struct engine *engine, struct host *host);
void policy_end_host(struct engine *engine, struct host *host);
void policy_begin_attempt(struct engine *engine, struct attempt *attempt);
void policy_end_attempt(struct engine *engine, struct attempt *attempt);

/* Makes all states from facts: for a new engine, or after policy_suspend. */
void policy_begin(struct engine *engine);
/* Until policy_begin no policy has state or is called; the order of turns is undefined. For
 * load. */
void policy_suspend(struct engine *engine);
/* Ends the engine's own states, after all others. */
void policy_end(struct engine *engine);

/* A parameter of the policy in force; 0 if it has no such parameter. O(its parameters). */
int64_t policy_value(const struct engine *engine, enum question q,
                     const struct engine_parameter *parameter);
bool policy_has(const struct policy *policy, const char *word);
/* Checks the configured parameters: −EINVAL with a sentence. */
int policy_check_values(const struct engine_config *config, struct err *err);
/* Reads the parameters of the policy in force from the configuration. */
void policy_take_values(struct engine *engine, enum question q);

/* A task's state; a stage's states are one array. */
static inline void *policy_of_task(const struct task *task, enum question question, size_t size)
{
    return (char *)task->stage->kept_tasks[question] + (size_t)task->index * size;
}

/* Each record that the policies in force keep in a dump, in order; returns what `put` does when
 * that is not 0, or −ENOSPC. `buffer` has RECORD_MAX bytes. */
int policy_dump(const struct engine *engine, char *buffer,
                int (*put)(void *context, const char *line, size_t length), void *context);
/* Whether the line is one of these; reads it into the state, after policy_begin. */
bool policy_is_record(const char *line);
int policy_load(struct engine *engine, const char *line, struct err *err);
/* A number that older dumps kept for the engine, for the policy in force that keeps a 64-bit field
 * of that name with the engine. */
void policy_load_former(struct engine *engine, const char *name, uint64_t value);
/* Number `index` of the question, in the order of listings; NULL: no more. */
const struct policy *policy_listed(enum question q, unsigned index);
/* A place in the tables of reasons of all policies. */
struct policy_reason_at {
    enum question question;
    unsigned policy;
    const struct policy_reason *entry;
};
/* Moves to the next entry, from {0} to the first; false: no more. */
bool policy_next_reason(struct policy_reason_at *at);
/* NULL: no policy has this name; the sentence names the choices. */
const struct policy *policy_find(enum question q, const char *name, struct err *err);
/* Puts it in force, with its state made from facts. The caller updates the order of turns. */
void policy_put(struct engine *engine, enum question q, const struct policy *policy);
