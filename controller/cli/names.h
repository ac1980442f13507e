/* Names as a person writes many of them: w1,w2 or w[1-1000] or rack[01-12],s. Pure but for
 * memory. */
#pragma once

#include "lib/err.h"

#include <stddef.h>

#define NAMES_MAX 10000

struct names {
    char (*at)[64];
    size_t n;
};

/* The names in order; what begins with a zero is padded to its length. −EINVAL with a sentence: a
 * word is no name, a range is none, or there are more than NAMES_MAX. names_free is the caller's. */
int names_expand(const char *text, struct names *ret_names, struct err *err);
void names_free(struct names *names);
