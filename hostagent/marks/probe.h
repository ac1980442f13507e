/* Tests with our own packets whether the programs on our ports run.
 *
 * That a program is attached proves nothing: something that takes packets before it (another
 * program, a filter, XDP) leaves it attached. So every PROBE_S seconds we send a packet from each
 * port to a neighbour (echo.h), and the program there has to count it; if the neighbour answers, it
 * has to count the answer too. If PROBE_MISSES (probe_judge.h) in a row are not counted, that is
 * logged once and reported (on_change), and so is its end. If no neighbour is known or none
 * answers, that direction is not tested; this is logged once, and nothing is reported.
 *
 * While marks reach nothing (`observe`), or with a driver that counts no probes, nothing is sent.
 * One thread, in the event loop; some system calls for each port and round, and a dump of
 * neighbours for a port without one that answers. */
#pragma once

#include "hostagent/marks/marks.h"
#include "hostagent/queues/ports_nl.h"

#define PROBE_S    2
#define PROBE_TEXT 160

struct probe_config {
    struct marks *marks;
    const struct ports_found *ports; /* borrowed; may change */
    /* Where packets bypass our programs: a sentence that begins with the port; "": nowhere. */
    void (*on_change)(void *user, const char *text);
    void *user;
};

struct probe;

/* *ret_probe NULL: the driver counts no probes. */
int probe_open(const struct probe_config *config, sd_event *event, struct probe **ret_probe,
               struct err *err);
void probe_close(struct probe *probe); /* takes NULL */
