#include "lib/bit_rate.h"

#include <inttypes.h>
#include <stdio.h>

void unit_words(uint64_t number, const char *unit, char *words, size_t size)
{
    static const char prefixes[] = "kMGTPE";
    double value = (double)number / 1e3;
    size_t prefix = 0;
    if (number < 1000) {
        snprintf(words, size, "%" PRIu64 " %s", number, unit);
        return;
    }
    for (; value >= 999.95 && prefix + 1 < sizeof(prefixes) - 1; prefix++)
        value /= 1e3;
    snprintf(words, size, "%.1f %c%s", value, prefixes[prefix], unit);
}

const char *bit_rate_words(uint64_t bps, char words[static BIT_RATE_WORDS])
{
    unit_words(bps, "bit/s", words, BIT_RATE_WORDS);
    return words;
}
