/* Parameters of policies as users write them. */
#pragma once

#include "controller/engine/engine.h"

/* A value in words ("200 ms", "yes", a choice's). −EINVAL with a sentence that names the range. */
int parameter_parse(const struct engine_parameter *parameter, const char *text, int64_t *ret_value,
                    struct err *err);
/* The reverse. Returns `words`. */
const char *parameter_words(const struct engine_parameter *parameter, int64_t value, char *words,
                            size_t size);
