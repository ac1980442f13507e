/* Whether the programs that stand on our ports run: probed by packets of our own.
 *
 * What stands is no proof: something that takes packets before our program (another program, a filter,
 * XDP) leaves it standing. So every PROBE_S seconds a packet of ours leaves each port for a neighbour
 * (echo.h), and has to be counted by the program there; when the neighbour answers, so has the answer.
 * Where PROBE_MISSES (probe_judge.h) are not, that is logged once and told (on_change), and so is its
 * end. Where no neighbour is known or none answers, that direction is not probed: that is logged once, and
 * nothing is said of it.
 *
 * While marks reach nothing (`observe`), or by a driver that counts no probes, nothing is sent. One
 * thread, in the event loop; some system calls for each port and round, and a dump of neighbours for a
 * port that has none that answers. */
#pragma once

#include "hostagent/marks/marks.h"
#include "hostagent/queues/ports_nl.h"

#define PROBE_S    2
#define PROBE_TEXT 160

struct probe_config {
    struct marks *marks;
    const struct ports_found *ports; /* borrowed; may change */
    /* Where packets pass our programs by, a sentence that begins with the port; "": nowhere. */
    void (*on_change)(void *user, const char *text);
    void *user;
};

struct probe;

/* *ret_probe NULL: the driver counts none. */
int probe_open(const struct probe_config *config, sd_event *event, struct probe **ret_probe,
               struct err *err);
void probe_close(struct probe *probe); /* takes NULL */
