#include "controller/parameters.h"

#include "lib/conf.h"

#include <stdbool.h>
#include <stdio.h>

static const enum conf_type types[] = {[ENGINE_UNIT_NS] = CONF_DURATION,
                                       [ENGINE_UNIT_COUNT] = CONF_INT,
                                       [ENGINE_UNIT_YES] = CONF_BOOL};

int parameter_parse(const struct engine_parameter *parameter, const char *text, int64_t *ret_value,
                    struct err *err)
{
    if (parameter->unit == ENGINE_UNIT_CHOICE)
        return engine_choice_find(parameter, text, ret_value, err);
    const struct conf_field field = {.name = parameter->word,
                                     .type = types[parameter->unit],
                                     .min = parameter->least,
                                     .max = parameter->most};
    bool yes;
    if (field.type != CONF_BOOL)
        return conf_scalar(&field, text, ret_value, err);
    int r = conf_scalar(&field, text, &yes, err);
    if (r == 0)
        *ret_value = yes;
    return r;
}

const char *parameter_words(const struct engine_parameter *parameter, int64_t value, char *words,
                            size_t size)
{
    if (parameter->unit < ENGINE_UNIT_YES)
        return conf_words(types[parameter->unit], value, words, size);
    snprintf(words, size, "%s",
             parameter->unit == ENGINE_UNIT_CHOICE ? engine_choice_word(parameter, value)
             : value                               ? "yes"
                                                   : "no");
    return words;
}
