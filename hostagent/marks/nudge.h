/* Wakes the senders of what was promoted.
 *
 * A starved sender whose segments were lost waits in retransmission back-off, for seconds, and
 * hears of a promotion only when it sends again. So when a change of levels or mode makes a task
 * more urgent (promote.h), each connection that the task opened and over which it can still
 * receive, but NUDGE_DELAY_US later nothing has come yet with the new mark, is nudged: one
 * acknowledgement, which brings the new mark, and NUDGE_UNREACHABLES messages "network
 * unreachable", each of which takes back one doubling of the back-off (nudge_packet.h). A sender
 * that is not in back-off takes no notice. That something came just now means nothing: by its
 * floor a starved sender gets a packet through every few milliseconds, and is in back-off for what
 * was lost beside it.
 *
 * What a nudge cannot shorten is a first retransmission time-out that has not passed; that of a
 * starved sender, whose round trip is long, takes a second. Senders wait for it when a segment that
 * was sent again is lost again. Nor what waits at a port under the old mark while something more
 * urgent goes on: it leaves at its level's floor (110 packets at 1 Mb/s: 1.3 s), and a sender whose
 * whole window is among it sends nothing new before. That one sent again under the new mark overtakes those which wait
 * under the old does not make them wait so: is_overtaken in mark.bpf.c sees to it.
 *
 * Off the way of marks: nudge_levels and nudge_mode, called after the map write, only note what is
 * promoted. Sockets are looked for NUDGE_DELAY_US later, so that the other hosts of a machine that
 * is a testbed have their marks first, and packets sent when nothing more urgent waits in the event
 * loop. Bounds: NUDGE_CONNECTIONS of one pass (the rest is counted as left out), a quarter
 * of the link and NUDGE_BURST packets in a millisecond. What is promoted while packets of an
 * earlier pass are still to be sent is nudged after them, once.
 *
 * Packets leave by raw sockets with SO_PRIORITY MARK_NUDGE, by which the marking program knows them
 * (only the privileged can set it) and leaves them the code point that we wrote. Needs what
 * receivers_bpf.h needs. One thread, in the sd-event loop. All calls take a NULL nudge: none is
 * wanted. */
#pragma once

#include "hostagent/marks/mark.h"
#include "lib/err.h"

#include <stdint.h>
#include <systemd/sd-event.h>

#define NUDGE_CONNECTIONS  1024
#define NUDGE_UNREACHABLES 12 /* 200 ms doubled so often are 13 minutes: more than TCP waits */
#define NUDGE_BURST        64
#define NUDGE_DELAY_US     5000

struct nudge;

struct nudge_counters {   /* since open */
    uint64_t connections; /* nudged */
    uint64_t acknowledgements, unreachables;
    uint64_t left_out; /* connections beyond the bound, promotions beyond MARK_TASKS */
    uint64_t failures; /* packets that could not be sent, passes that could not be made */
};

/* `marks`: of the open driver, borrowed until close; `mode` is the one in force. Whoever has IPv6
 * switched off is nudged over IPv4 only. */
int nudge_open(const struct mark_config *marks, uint64_t link_bps, uint32_t mode, sd_event *event,
               struct nudge **ret_nudge, struct err *err);
void nudge_close(struct nudge *nudge);

/* The marks have these levels, this mode, or no levels for the cgroup, from now on. */
void nudge_levels(struct nudge *nudge, const struct mark_task_levels *levels);
void nudge_mode(struct nudge *nudge, uint32_t mode);
void nudge_forget(struct nudge *nudge, uint64_t cgroup);

/* While paused promotions are taken note of and nobody is nudged. */
void nudge_pause(struct nudge *nudge, bool paused);

void nudge_count(const struct nudge *nudge, struct nudge_counters *ret_counters);
