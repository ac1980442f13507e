#include "controller/clients/policy_requests.h"

#include "controller/clients/refusal.h"
#include "controller/parameters.h"
#include "lib/join.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Names the question's policies, or the questions if there is no such question. */
static void policies_refuse(duopoly_Envelope *answer, const duopoly_SetPolicy *set)
{
    char names[160] = "";
    const char *name;
    for (unsigned i = 0; (name = engine_policy_name(set->question, i)); i++)
        join_word(names, sizeof(names), ", ", name);
    if (*names)
        refused_answer(answer, duopoly_Reason_REASON_UNSUPPORTED,
                       "%s has no policy '%s'; there are: %s", set->question, set->name, names);
    else
        refused_answer(answer, duopoly_Reason_REASON_UNSUPPORTED,
                       "there is no question '%s'; there are: turn, place, commit, network, "
                       "mode, users",
                       set->question);
}

const char *policy_of_config(const struct engine_config *config, const char *question)
{
    return strcmp(question, "turn") == 0      ? config->turn
           : strcmp(question, "place") == 0   ? config->place
           : strcmp(question, "commit") == 0  ? config->commit
           : strcmp(question, "network") == 0 ? config->network
           : strcmp(question, "mode") == 0    ? config->mode
           : strcmp(question, "users") == 0   ? config->users
                                              : NULL;
}

/* Names the policy's parameters. */
static void parameters_refuse(duopoly_Envelope *answer, const duopoly_SetPolicy *set,
                              const char *policy, const char *word)
{
    char words[160] = "";
    const struct engine_parameter *parameter;
    for (unsigned i = 0; (parameter = engine_policy_parameter(set->question, policy, i)); i++)
        join_word(words, sizeof(words), ", ", parameter->word);
    refused_answer(answer, duopoly_Reason_REASON_UNSUPPORTED,
                   "%s %s has no parameter '%s'; it has: %s", set->question, policy, word,
                   *words ? words : "none");
}

static bool policy_has_word(const char *question, const char *policy, const char *word)
{
    const struct engine_parameter *parameter;
    for (unsigned i = 0; (parameter = engine_policy_parameter(question, policy, i)); i++)
        if (strcmp(parameter->word, word) == 0)
            return true;
    return false;
}

/* Reads all values before any is changed. False: the answer says why. */
static bool values_read(const duopoly_SetPolicy *set, const char *policy, int64_t *ret_values,
                        duopoly_Envelope *answer)
{
    struct err err;
    for (pb_size_t i = 0; i < set->parameters_count; i++) {
        const duopoly_PolicyParameter *said = &set->parameters[i];
        if (!policy_has_word(set->question, policy, said->word)) {
            parameters_refuse(answer, set, policy, said->word);
            return false;
        }
        if (parameter_parse(engine_parameter(said->word), said->value, &ret_values[i], &err) < 0) {
            refused_answer(answer, duopoly_Reason_REASON_LIMIT, "%s: %s", said->word, err.text);
            return false;
        }
    }
    return true;
}

/* What changes in one step: values first, so that a policy never works with others than it is
 * given; `configured`: those that the store need not keep. */
struct change {
    struct event events[2 * ENGINE_VALUES_MAX];
    bool configured[2 * ENGINE_VALUES_MAX];
    size_t n;
};

static void value_add(struct change *change, const char *word, int64_t value, bool configured)
{
    struct event event = {.kind = EVENT_POLICY_PARAMETER};
    event.policy_parameter.word = word;
    event.policy_parameter.value = value;
    change->configured[change->n] = configured;
    change->events[change->n++] = event;
}

static void values_configured(struct change *change, const struct engine_config *config,
                              const char *question)
{
    const struct engine_parameter *parameter;
    for (unsigned i = 0; (parameter = engine_question_parameter(question, i)); i++)
        value_add(change, parameter->word, engine_config_value(config, parameter->word), true);
}

static void values_keep(struct conductor *conductor, const struct change *change)
{
    char text[24];
    for (size_t i = 0; i < change->n; i++) {
        const struct event *event = &change->events[i];
        if (event->kind != EVENT_POLICY_PARAMETER)
            continue;
        snprintf(text, sizeof(text), "%" PRId64, event->policy_parameter.value);
        conductor_set(conductor, "parameter", event->policy_parameter.word,
                      change->configured[i] ? NULL : text);
    }
}

/* " with even_wait=1 s, start_wait=2 s": the values that were set; "" for none. */
static void values_words(const duopoly_SetPolicy *set, char *words, size_t size)
{
    size_t used = 0;
    *words = '\0';
    for (pb_size_t i = 0; i < set->parameters_count && used < size; i++)
        used += (size_t)snprintf(words + used, size - used, "%s%s=%s", i ? ", " : " with ",
                                 set->parameters[i].word, set->parameters[i].value);
}

/* Changes nothing unless all can be: then true, and it stands in engine and store, if it is not
 * only judged. */
static bool policy_change(struct conductor *conductor, const duopoly_SetPolicy *set,
                          const char *name, const int64_t *values, const struct engine_config *back)
{
    struct event event = {.kind = EVENT_POLICY_SET};
    struct change change = {.n = 0};
    struct decision rejection;
    event.policy_set.question = set->question;
    event.policy_set.name = name;
    if (back)
        values_configured(&change, back, set->question);
    for (pb_size_t i = 0; i < set->parameters_count; i++)
        value_add(&change, set->parameters[i].word, values[i], false);
    change.events[change.n++] = event;
    if (conductor_requests(conductor, change.events, change.n, &rejection) < 0)
        return false;
    conductor_set(conductor, "policy", set->question, back ? NULL : set->name);
    values_keep(conductor, &change);
    return true;
}

void policy_set_answer(struct conductor *conductor, const duopoly_SetPolicy *set,
                       duopoly_Envelope *answer)
{
    struct engine_config config;
    int64_t values[sizeof(set->parameters) / sizeof(set->parameters[0])];
    char words[320];
    struct err err;
    settings_engine(conductor_parts(conductor)->settings, 1, &config);
    const char *configured = policy_of_config(&config, set->question);
    values_words(set, words, sizeof(words));
    bool back = configured && strcmp(set->name, "configured") == 0;
    const char *name = back ? configured : set->name;
    if (set->parameters_count && !values_read(set, name, values, answer))
        return;
    int r = engine_policy_fits(conductor_parts(conductor)->engine, set->question, name, &err);
    if (r == -EINVAL)
        refused_answer(answer, duopoly_Reason_REASON_UNSUPPORTED, "%s", err.text);
    else if (r < 0 || !policy_change(conductor, set, name, values, back ? &config : NULL))
        policies_refuse(answer, set);
    else if (back)
        accepted_answer(answer, "%s is %s again, as the configuration says%s", set->question,
                        configured, words);
    else
        accepted_answer(answer,
                        "%s is %s%s from now on, after a restart too, until it is told otherwise",
                        set->question, set->name, words);
}

static void row_add(const struct engine *engine, const char *question,
                    const struct engine_parameter *parameter, duopoly_Status *out)
{
    if (out->policies_count == sizeof(out->policies) / sizeof(out->policies[0]))
        return;
    duopoly_PolicyRow *row = &out->policies[out->policies_count++];
    char words[40];
    wire_copy(row->question, sizeof(row->question), question);
    wire_copy(row->policy, sizeof(row->policy), engine_policy(engine, question));
    if (!parameter)
        return;
    wire_copy(row->word, sizeof(row->word), parameter->word);
    wire_copy(row->what, sizeof(row->what), parameter->what);
    wire_copy(
        row->value, sizeof(row->value),
        parameter_words(parameter, engine_value(engine, parameter->word), words, sizeof(words)));
}

void policies_fill(const struct engine *engine, duopoly_Status *out)
{
    static const char *const questions[] = {"turn", "place", "commit", "network", "mode", "users"};
    for (size_t q = 0; q < sizeof(questions) / sizeof(questions[0]); q++) {
        const char *policy = engine_policy(engine, questions[q]);
        const struct engine_parameter *parameter;
        unsigned i = 0;
        while ((parameter = engine_policy_parameter(questions[q], policy, i))) {
            row_add(engine, questions[q], parameter, out);
            i++;
        }
        if (!i)
            row_add(engine, questions[q], NULL, out);
    }
}
