/* Instants as people write them: a day, or a second of one or a part of it, in UTC (RFC 3339). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* "2026-01-31", "2026-01-31T12:00:00Z" or "2026-01-31T12:00:00.250Z" in ns since 1970; false: it is
 * none of these, or there is no such day. Before 1970 it is 0, after 2554 UINT64_MAX. */
bool instant_read(const char *text, uint64_t *ret_ns);

enum { INSTANT_WORDS = 48 };
/* As instant_read reads it, to the ns. Returns `words`. */
const char *instant_words(uint64_t ns, char words[INSTANT_WORDS]);
