/* Notices what somebody else does to our ports, and repairs it or yields.
 *
 * The kernel tells of every change of links, queues, filters and, where marks are made by them, rules; 20 ms after one on a port of ours
 * it is compared with what should stand there (our own changes of queues are left out by who asked for them,
 * those of marks are found right and say nothing). A
 * difference is logged once and told (on_notice), then
 *   repair   it is put right: but on no port more than REPAIRS_MOST times in a minute (repairs.h), then we
 *            yield there, so that nobody fights us for ever
 *   yield    that port is left as it is, and not looked at again until guard_reset; all of them where it is
 *            no port's alone: rules of nftables, or rows and flows of a switch
 * What cannot be put right is told once, looked at again with each change, and its end is told, too.
 * A link that goes down or comes back is told, and needs no repair. When the kernel could not tell
 * all, everything is compared.
 *
 * Programs that somebody puts on a port by tcx are told of by nobody: where ours are there, they are
 * looked at every 2 s.
 *
 * Interfaces that come and go are told, too (on_links), within the same 20 ms; after a look that
 * took long the next one waits up to a quarter of a second.
 *
 * One thread, in the event loop; O(ports) exchanges with the kernel for each comparison. */
#pragma once

#include "hostagent/marks/marks.h"
#include "hostagent/stance.h"
#include "hostagent/switches/switches.h"

#define GUARD_TEXT 200

struct guard_config {
    struct switches *queues; /* NULL: not ours */
    struct marks *marks;
    const struct stance *stance;       /* what it allows should stand there */
    const struct ports_found *ports;   /* borrowed; may change in on_links */
    const struct ports_found *tunnels; /* so, too: with marks alone */
    bool repair;
    void (*on_notice)(void *user, const char *text);
    /* An interface came, went or changed. −EAGAIN: to be called again. */
    int (*on_links)(void *user);
    void (*on_looked)(void *user); /* after each look, whatever it found; may be NULL */
    void *user;
};

struct guard;

/* Looks at all once, soon: what somebody did since it was put there. */
int guard_open(const struct guard_config *config, sd_event *event, struct guard **ret_guard,
               struct err *err);
void guard_close(struct guard *guard); /* takes NULL */

/* Everything is looked at soon, though nobody told of a change. */
void guard_look(struct guard *guard);

/* Something else should stand there from now on, and does: it is looked at again. */
void guard_reset(struct guard *guard);
