/* The address prefixes of a domain: they say which addresses are members (pure). */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

struct mark_prefix {
    uint8_t address[16]; /* IPv4 as v4-mapped; 0 beyond the bits */
    uint32_t bits;       /* of the 128 */
};

/* "10.0.0.0/8", "fd00::/16", a bare address: a prefix of v4-mapped addresses. −EINVAL with a
 * sentence. */
int mark_prefix_parse(const char *text, struct mark_prefix *ret_prefix, struct err *err);

/* Whether the prefix contains every address that begins with the first `bits` of this one (128:
 * this address alone). */
bool mark_prefix_has(const struct mark_prefix *prefix, const uint8_t *address, uint32_t bits);
