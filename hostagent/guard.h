/* Notices others' changes on our ports, and repairs them or yields.
 *
 * The kernel reports every change of links, queues, filters and, if marks use them, rules. 20 ms
 * after a change on a port of ours, the port is compared with what should be there. (Our own
 * changes of queues are skipped by who requested them; our own changes of marks compare equal.) A
 * difference is logged once and reported (on_notice), then
 *   repair   repairs it; on a port at most REPAIRS_MOST times in a minute (repairs.h), after that
 *            it yields there, so that no fight lasts for ever
 *   yield    leaves that port as it is, and does not check it again until guard_reset; all ports if
 *            it concerns more than one: rules of nftables, or rows and flows of a switch
 * What cannot be repaired is reported once and checked again with each change; its end is reported
 * too. A link that goes down or comes back is reported and needs no repair. If kernel messages were
 * lost, everything is compared.
 *
 * The kernel does not report programs that others attach to a port by tcx: where ours are attached
 * that way, they are checked every 2 s.
 *
 * Interfaces that come and go are reported too (on_links), within the same 20 ms; after a slow
 * check the next one waits up to a quarter of a second.
 *
 * One thread, in the event loop; O(ports) exchanges with the kernel for each comparison. */
#pragma once

#include "hostagent/marks/marks.h"
#include "hostagent/stance.h"
#include "hostagent/switches/switches.h"

#define GUARD_TEXT 200

struct guard_config {
    struct switches *switches; /* NULL: not ours */
    struct marks *marks;
    const struct stance *stance;       /* what it allows is what should be there */
    const struct ports_found *ports;   /* borrowed; may change in on_links */
    const struct ports_found *tunnels; /* the same; with marks alone */
    bool repair;
    void (*on_notice)(void *user, const char *text);
    /* An interface came, went or changed. −EAGAIN: call it again. */
    int (*on_links)(void *user);
    void (*on_looked)(void *user); /* after each check, whatever it found; may be NULL */
    void *user;
};

struct guard;

/* Soon checks everything once: changes by others since it was installed. */
int guard_open(const struct guard_config *config, sd_event *event, struct guard **ret_guard,
               struct err *err);
void guard_close(struct guard *guard); /* takes NULL */

/* Everything is checked soon, although no change was reported. */
void guard_look(struct guard *guard);

/* What should be there has changed, and is there: yielded ports are checked again. */
void guard_reset(struct guard *guard);
