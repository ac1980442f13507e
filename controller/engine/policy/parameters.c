/* Parameters of policies: configured values, and those of the policies in force. */
#include "controller/engine/policy/policy.h"
#include "lib/join.h"

#include <errno.h>
#include <string.h>

const struct engine_parameter *engine_policy_parameter(const char *question, const char *policy,
                                                       unsigned index)
{
    enum question q = policy_question(question);
    const struct policy *found = q < QUESTIONS ? policy_find(q, policy, NULL) : NULL;
    unsigned i = 0;
    if (!found || !found->parameters)
        return NULL;
    while (i < index && found->parameters[i])
        i++;
    return found->parameters[i];
}

static const struct engine_parameter *parameter_of(const struct policy *policy, const char *word)
{
    for (unsigned i = 0; policy->parameters && policy->parameters[i]; i++)
        if (strcmp(policy->parameters[i]->word, word) == 0)
            return policy->parameters[i];
    return NULL;
}

bool policy_has(const struct policy *policy, const char *word)
{
    return parameter_of(policy, word);
}

/* Whether a policy listed before number `before` has it. */
static bool listed_before(enum question q, unsigned before, const char *word)
{
    for (unsigned i = 0; i < before; i++)
        if (policy_has(policy_listed(q, i), word))
            return true;
    return false;
}

const struct engine_parameter *engine_question_parameter(const char *question, unsigned index)
{
    enum question q = policy_question(question);
    for (unsigned i = 0; q < QUESTIONS && policy_listed(q, i); i++) {
        const struct engine_parameter *const *at = policy_listed(q, i)->parameters;
        for (; at && *at; at++)
            if (!listed_before(q, i, (*at)->word) && index-- == 0)
                return *at;
    }
    return NULL;
}

const struct engine_parameter *engine_parameter(const char *word)
{
    const struct engine_parameter *found = NULL;
    for (enum question q = 0; q < QUESTIONS; q++)
        for (unsigned i = 0; policy_listed(q, i) && !found; i++)
            found = parameter_of(policy_listed(q, i), word);
    return found;
}

static const char *const *words_of(const struct engine_parameter *parameter)
{
    return container_of(parameter, const struct engine_choice, parameter)->words;
}

const char *engine_choice_word(const struct engine_parameter *parameter, int64_t value)
{
    return words_of(parameter)[value];
}

int engine_choice_find(const struct engine_parameter *parameter, const char *word,
                       int64_t *ret_value, struct err *err)
{
    const char *const *words = words_of(parameter);
    char all[160] = "";
    for (int64_t i = parameter->least; i <= parameter->most; i++) {
        if (strcmp(words[i], word) == 0) {
            *ret_value = i;
            return 0;
        }
        join_word(all, sizeof(all), ", ", words[i]);
    }
    return err_set(err, EINVAL, "'%s' is none of: %s", word, all);
}

static int check_value(const char *word, int64_t value, struct err *err)
{
    const struct engine_parameter *parameter = engine_parameter(word);
    if (!parameter)
        return err_set(err, ENOENT, "no policy has a parameter '%s'", word);
    if (value < parameter->least || value > parameter->most)
        return err_set(err, ERANGE, "%s is %lld, it must be %lld to %lld", word, (long long)value,
                       (long long)parameter->least, (long long)parameter->most);
    return 0;
}

static struct engine_value *value_of(const struct engine_config *config, const char *word)
{
    uint32_t i = 0;
    while (i < config->n_values && strcmp(config->values[i].word, word) != 0)
        i++;
    return i < config->n_values ? (struct engine_value *)&config->values[i] : NULL;
}

int engine_config_say(struct engine_config *config, const char *word, int64_t value,
                      struct err *err)
{
    struct engine_value *said = value_of(config, word);
    int r = check_value(word, value, err);
    if (r < 0)
        return r;
    if (!said && config->n_values == ENGINE_VALUES_MAX)
        return err_set(err, ENOSPC, "more than %d parameters are said", ENGINE_VALUES_MAX);
    if (!said) {
        said = &config->values[config->n_values++];
        strcpy(said->word, word);
    }
    said->value = value;
    return 0;
}

int64_t engine_config_value(const struct engine_config *config, const char *word)
{
    const struct engine_value *said = value_of(config, word);
    const struct engine_parameter *parameter = said ? NULL : engine_parameter(word);
    return said ? said->value : parameter ? parameter->preset : 0;
}

int64_t engine_value(const struct engine *engine, const char *word)
{
    return engine_config_value(&engine->config, word);
}

int policy_check_values(const struct engine_config *config, struct err *err)
{
    if (config->n_values > ENGINE_VALUES_MAX)
        return err_set(err, EINVAL, "more than %d parameters are said", ENGINE_VALUES_MAX);
    for (uint32_t i = 0; i < config->n_values; i++)
        if (check_value(config->values[i].word, config->values[i].value, err) < 0)
            return -EINVAL;
    return 0;
}

void policy_take_values(struct engine *engine, enum question q)
{
    const struct engine_parameter *const *parameters = engine->policies[q]->parameters;
    for (unsigned i = 0; parameters && parameters[i]; i++)
        engine->values[q][i] = engine_config_value(&engine->config, parameters[i]->word);
}

int64_t policy_value(const struct engine *engine, enum question q,
                     const struct engine_parameter *parameter)
{
    const struct engine_parameter *const *parameters = engine->policies[q]->parameters;
    for (unsigned i = 0; parameters && parameters[i]; i++)
        if (parameters[i] == parameter)
            return engine->values[q][i];
    return 0;
}
