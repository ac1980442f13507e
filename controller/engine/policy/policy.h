/* Policies: who answers which question, and what they keep. Private to controller/engine.
 *
 * Each question has one table of policies (policies.c) and one that is in force. Every table of a
 * policy begins with its struct policy, which says what is common to all questions: the policy's
 * name, and what state of its own it keeps with the engine and with each active job, stage and
 * task, each host and each attempt. That of all others costs nothing: a thing holds one pointer
 * per question, and only the policy in force has memory behind it.
 *
 * State is made from facts (`init`), whenever a thing comes into being under the policy, when the
 * policy is put in force in the middle of a run, and after a dump was read. So it must be the same
 * whenever it is made, except for what only the policy's own past tells: that stands in `fields`,
 * which a dump keeps and load() reads after init.
 *
 * What happens is told to it as to any listener (listener.h).
 *
 * One object in several files: policy, parameters, needs, questions. */
#pragma once

#include "controller/engine/base/field.h"
#include "controller/engine/base/state.h"

enum policy_thing {
    POLICY_ENGINE,
    POLICY_JOB, /* active ones; stages and tasks too */
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
    size_t size; /* 0: it keeps nothing there, and nothing below counts */
    /* From facts; zeroed before. NULL: zeros are right, as they must be of tasks of a submitted
     * stage of which nothing has begun. An attempt has only its task, host and resources when it is
     * made. */
    policy_state_hook *init;
    policy_state_hook *done;    /* gives back what the state holds besides itself; NULL: nothing */
    const struct field *fields; /* what facts do not tell; NULL: nothing. Ends with FIELD_END */
    bool (*keeps)(const void *state); /* its fields are others than init made; NULL: perhaps */
    policy_state_hook *load;          /* the fields were read; NULL: that is all */
};

/* One reason of one kind of decision, as this policy gives it. In all tables that have it with the
 * same kind its two numbers are the same. Its own number and its word are no other reason's, and
 * stay what they are, since records have them; test_reasons says which number is free. */
struct policy_reason {
    enum decision_kind kind; /* START, HOLD, LEVEL or MODE */
    enum reason reason;
    const char
        *word; /* of records and for people; NULL: the engine's reason, or in another entry */
    const char *left, *right; /* what the decision's two numbers are; NULL: always 0 */
    /* For people; of MODE a clause; NULL: LEVEL, of which explain says more. Words in braces are
     * replaced: {host}, {left}, {right}, {left.1s}, {left.3s} and {right.1s} (ns as seconds),
     * {right.host} (a host's number), {transfer} (Coflow or Macroflow, by which the network serves
     * now), {first_job} (the first job's number), {uplinks} (which of them are busy: a sentence
     * without its dot). */
    const char *sentence;
};

/* Without one of these policies for another question it cannot work. */
struct policy_need {
    enum question question;    /* not its own */
    const char *const *one_of; /* names, at least one; ends with NULL */
    /* For people: a clause without its dot, behind "place NAME needs network OTHER, and network is
     * ANOTHER: " */
    const char *why;
};

/* Why, as a decision has it. */
struct policy_why {
    enum reason reason;
    int64_t left, right;
};

struct policy {
    const char *name; /* a word that fits the configuration, unlike all others of the question */
    struct policy_state state[POLICY_THINGS];
    const struct policy_reason *reasons; /* each that it gives; ends with REASON_NONE; NULL: none */
    const struct engine_parameter *const *parameters; /* ends with NULL; NULL: it has none */
    const struct policy_need *needs; /* ends with a NULL `one_of`; NULL: it works with all others */
    const char *by_mode; /* what it does otherwise in the other mode, in words; NULL: nothing */
    struct listener hears;
};

/* A question's word; the question behind a word, QUESTIONS: none. */
const char *policy_question_name(enum question question);
enum question policy_question(const char *word);
/* Names the policies of a default configuration. */
void policy_config_default(struct engine_config *config);
/* Puts those that the configuration names in force; −EINVAL with a sentence that names the choices,
 * or says which two do not work together. */
int policy_choose(struct engine *engine, struct err *err);

/* Whether they work together, one for each question: −EINVAL with a sentence that says who needs
 * what. */
int policy_check_needs(const struct policy *const policies[QUESTIONS], struct err *err);
/* The same of those in force with this one in the place of its question's. */
int policy_fits(const struct engine *engine, enum question q, const struct policy *policy,
                struct err *err);

/* A thing comes into being or is about to go: the states of the policies in force do too. */
void policy_begin_job(struct engine *engine, struct job *job);
void policy_end_job(struct engine *engine, struct job *job);
/* A stage more of an active job; room for `room` tasks of one, of which `n` have states: those of
 * others are zeros until they count (task_counts), which is what a policy that keeps state with
 * tasks makes it of. States are moved as bytes: they hold no nodes and nobody points to them. */
void policy_begin_stage(struct engine *engine, struct stage *stage);
void policy_grow_stage(struct engine *engine, struct stage *stage, uint32_t n, uint32_t room);
void policy_begin_host(struct engine *engine, struct host *host);
void policy_end_host(struct engine *engine, struct host *host);
void policy_begin_attempt(struct engine *engine, struct attempt *attempt);
void policy_end_attempt(struct engine *engine, struct attempt *attempt);

/* All states from facts: of a new engine, or after policy_suspend and what came since. */
void policy_begin(struct engine *engine);
/* No policy has any state or is told anything until policy_begin; whose turn it is, is undefined.
 * For load. */
void policy_suspend(struct engine *engine);
/* The engine's own states, the last to go. */
void policy_end(struct engine *engine);

/* A parameter of the policy in force; 0 where that has no such. O(its parameters). */
int64_t policy_value(const struct engine *engine, enum question q,
                     const struct engine_parameter *parameter);
bool policy_has(const struct policy *policy, const char *word);
/* Checks what the configuration says of parameters: −EINVAL with a sentence. */
int policy_check_values(const struct engine_config *config, struct err *err);
/* Reads the values of those in force from the configuration. */
void policy_take_values(struct engine *engine, enum question q);

/* A task's state: those of a stage lie in one array. */
static inline void *policy_of_task(const struct task *task, enum question question, size_t size)
{
    return (char *)task->stage->kept_tasks[question] + (size_t)task->index * size;
}

/* Each record that the policies in force keep in a dump, in order; returns what `put` does when
 * that is not 0, or −ENOSPC. `buffer` has RECORD_MAX bytes. */
int policy_dump(const struct engine *engine, char *buffer,
                int (*put)(void *context, const char *line, size_t length), void *context);
/* Is the line one of these? Then reads it into the state: after policy_begin. */
bool policy_is_record(const char *line);
int policy_load(struct engine *engine, const char *line, struct err *err);
/* A number that dumps of before kept for the engine: the policy in force takes it that keeps a
 * 64-bit field of that name with the engine. */
void policy_load_former(struct engine *engine, const char *name, uint64_t value);
/* Number `index` of the question, in the order in which people see them; NULL: they are fewer. */
const struct policy *policy_listed(enum question q, unsigned index);
/* Where an entry stands in the tables of reasons of all policies. */
struct policy_reason_at {
    enum question question;
    unsigned policy;
    const struct policy_reason *entry;
};
/* Goes on to the next entry, from {0} to the first; false: that was the last. */
bool policy_next_reason(struct policy_reason_at *at);
/* NULL: there is none of this name; the sentence names the choices. */
const struct policy *policy_find(enum question q, const char *name, struct err *err);
/* It is in force from now on, with its state made from facts. The caller brings the order of turns
 * up to date. */
void policy_put(struct engine *engine, enum question q, const struct policy *policy);
