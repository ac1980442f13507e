/* A controller that goes away while somebody looks on (duopolyctl watch, top). Pure. */
#pragma once

#include <stdbool.h>

/* Between two tries to reach it again: the first pause, and the longest. */
#define AWAY_FIRST_MS 100
#define AWAY_LAST_MS  1000

/* Whether a call failed with `r` because the controller is gone, or hangs. */
bool away_is(int r);
/* Whether another try to reach it, which failed with `r`, may work later; a key that is not taken
 * is for good. */
bool away_may_end(int r);
/* The pause after one of `ms`. */
unsigned away_pause_ms(unsigned ms);
