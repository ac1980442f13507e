/* Limits how often other programs' changes to a port are repaired, for each port, so that the agent
 * does not fight anybody for ever.
 *
 * A port that was repaired REPAIRS_MOST times within a minute is left from then on; other ports are
 * not affected. O(1) amortized. One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define REPAIRS_MOST  5
#define REPAIRS_PORTS 8192 /* more at once are left at once */

struct repairs { /* zero it first */
    struct repairs_port *ports;
};

/* Counts a repair and returns whether it may be made; if not, the port is left from now on. `port`
 * has at most 63 bytes; `now_ns` never goes back. */
bool repairs_may(struct repairs *repairs, const char *port, uint64_t now_ns);

/* Leaves a port, however often it was repaired. Out of memory it is not left, and the next call
 * tries again. */
void repairs_leave(struct repairs *repairs, const char *port);
bool repairs_is_left(const struct repairs *repairs, const char *port);

void repairs_forget(struct repairs *repairs); /* all; also at the end */
