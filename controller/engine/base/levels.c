#include "controller/engine/engine.h"

void level_table_exponential(struct level_table *ret_table, uint64_t first_bytes, uint64_t factor,
                             uint32_t levels)
{
    *ret_table = (struct level_table){.levels = levels};
    uint64_t threshold = first_bytes;
    for (uint32_t i = 0; i + 1 < levels; i++) {
        ret_table->threshold_bytes[i] = threshold;
        if (__builtin_mul_overflow(threshold, factor, &threshold))
            threshold = UINT64_MAX;
    }
}

uint64_t level_table_level(const struct level_table *table, uint64_t bytes)
{
    if (!table->levels)
        return bytes;
    uint32_t level = 0;
    while (level + 1 < table->levels && bytes >= table->threshold_bytes[level])
        level++;
    return level;
}
