/* Numbers in text as people and files write them: decimal digits, with no sign, blank or prefix
 * before them. One reader for all programs, since strtoul takes " +7" and makes a large number of
 * "-1". Pure; O(length of the text). */
#pragma once

#include <stdint.h>

/* The digits that `text` begins with. Returns what follows them; NULL when there are none or they
 * say more than `most`. */
const char *number_take(const char *text, uint64_t most, uint64_t *ret_number);

/* All of `text` is a whole number from `least` to `most`; else −EINVAL. */
int number_read(const char *text, uint64_t least, uint64_t most, uint64_t *ret_number);

/* All of `text` is a number from `least` to `most`, also 0.5 or 1e9; else −EINVAL. */
int number_read_real(const char *text, double least, double most, double *ret_number);
