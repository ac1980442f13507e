#include "testbed/sim/policy_value.h"

#include "lib/conf.h"
#include "lib/join.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int read_value(const struct engine_parameter *parameter, const char *text,
                      int64_t *ret_value, struct err *err)
{
    if (parameter->unit == ENGINE_UNIT_CHOICE)
        return engine_choice_find(parameter, text, ret_value, err);
    if (parameter->unit != ENGINE_UNIT_YES)
        return conf_number(parameter->unit == ENGINE_UNIT_NS ? CONF_DURATION : CONF_INT, text,
                           ret_value, err);
    *ret_value = strcmp(text, "yes") == 0;
    if (!*ret_value && strcmp(text, "no") != 0)
        return err_set(err, EINVAL, "'%s' is neither yes nor no", text);
    return 0;
}

static int refuse(const char *option, const char *text, const char *word, struct err *err)
{
    static const char *const questions[] = {"turn", "place", "commit", "network", "mode", "users"};
    const struct engine_parameter *parameter;
    char words[512] = "";
    for (size_t q = 0; q < sizeof(questions) / sizeof(questions[0]); q++)
        for (unsigned i = 0; (parameter = engine_question_parameter(questions[q], i)); i++)
            join_word(words, sizeof(words), ", ", parameter->word);
    return *word ? err_set(err, EINVAL, "--%s: no policy has '%s'; there are: %s", option, word,
                           words)
                 : err_set(err, EINVAL, "--%s takes WORD=VALUE, not '%s'; words are: %s", option,
                           text, words);
}

int policy_value_read(const char *option, const char *text, struct engine_value *ret_said,
                      struct err *err)
{
    struct engine_config config = {0};
    struct engine_value said = {0};
    const char *equals = strchr(text, '=');
    int length = equals && equals - text < ENGINE_WORD_MAX ? (int)(equals - text) : 0;
    snprintf(said.word, sizeof(said.word), "%.*s", length, text);
    const struct engine_parameter *parameter = engine_parameter(said.word);
    if (!parameter)
        return refuse(option, text, said.word, err);
    int r = read_value(parameter, equals + 1, &said.value, err);
    r = r < 0 ? r : engine_config_say(&config, said.word, said.value, err);
    if (r < 0)
        return err_prefix(err, "--%s %s", option, said.word);
    *ret_said = said;
    return 0;
}
