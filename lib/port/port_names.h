/* Patterns for the names of ports (pure).
 *
 *     eth*            any characters
 *     swp?            one character
 *     swp[1-32]s[0-3] a number of that range, as in the names of keys and hosts (w[1-100]); with a
 *                     leading zero, of that many digits: port[01-48]
 *
 * O(length²) for each name. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>

#define PORT_PATTERN_BYTES 64 /* with its NUL */
#define PORT_PATTERNS      32

struct port_pattern {
    char text[PORT_PATTERN_BYTES];
};

/* The empty word passes. −EINVAL: brackets without a range. */
int port_pattern_check(const char *pattern, struct err *err);

bool port_pattern_matches(const char *pattern, const char *name);
