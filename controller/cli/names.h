/* Expands lists of names: w1,w2 or w[1-1000] or rack[01-12],s. Pure except for memory. */
#pragma once

#include "lib/err.h"

#include <stddef.h>

#define NAMES_MAX 10000

struct names {
    char (*at)[64];
    size_t n;
};

/* The names in order; a number with a leading zero is padded to its length. −EINVAL with a
 * sentence: a word is not a name, a range is invalid, or there are more than NAMES_MAX. The caller
 * calls names_free. */
int names_expand(const char *text, struct names *ret_names, struct err *err);
void names_free(struct names *names);
