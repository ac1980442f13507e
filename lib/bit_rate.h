/* A rate in words, in the one unit that this project uses: "94.1 Mbit/s". */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define BIT_RATE_WORDS 32

/* Returns words. */
const char *bit_rate_words(uint64_t bps, char words[static BIT_RATE_WORDS]);

/* A number with its unit, scaled by thousands: "4.0 MB". `size` ≥ 32. */
void unit_words(uint64_t number, const char *unit, char *words, size_t size);
