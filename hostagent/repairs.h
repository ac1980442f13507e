/* How often what somebody changes is put right, each port by itself, so that nobody is fought for ever.
 *
 * One that was put right REPAIRS_MOST times within a minute is left from then on, whatever is done to the
 * others. O(1) amortized. One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define REPAIRS_MOST  5
#define REPAIRS_PORTS 8192 /* more at once are left at once */

struct repairs { /* zero to begin with */
    struct repairs_port *ports;
};

/* Counts one, and whether it may be: else the port is left from now on. `port` has at most 63 bytes;
 * `now_ns` never goes back. */
bool repairs_may(struct repairs *repairs, const char *port, uint64_t now_ns);

/* Leaves a port, however often it was put right. Where there is no memory it is not, and comes again. */
void repairs_leave(struct repairs *repairs, const char *port);
bool repairs_is_left(const struct repairs *repairs, const char *port);

void repairs_forget(struct repairs *repairs); /* all; also at the end */
