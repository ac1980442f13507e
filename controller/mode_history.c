#include "controller/mode_history.h"

#include <stddef.h>

void mode_history_add(struct mode_history *history, const struct mode_change *change)
{
    history->at[history->n++ % MODE_HISTORY] = *change;
}

const struct mode_change *mode_history_last(const struct mode_history *history)
{
    return mode_history_before(history, 0);
}

/* The index of the newest kept change with a smaller sequence, plus 1; `first` if there is none. */
static uint64_t place_before(const struct mode_history *history, uint64_t first, uint64_t sequence)
{
    uint64_t end = history->n;
    while (sequence && first < end) {
        const uint64_t half = first + (end - first) / 2;
        if (history->at[half % MODE_HISTORY].sequence < sequence)
            first = half + 1;
        else
            end = half;
    }
    return end;
}

const struct mode_change *mode_history_before(const struct mode_history *history, uint64_t sequence)
{
    const uint64_t first = history->n > MODE_HISTORY ? history->n - MODE_HISTORY : 0;
    const uint64_t end = place_before(history, first, sequence);
    return end > first ? &history->at[(end - 1) % MODE_HISTORY] : NULL;
}
