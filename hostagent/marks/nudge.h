/* Wakes the senders of promoted tasks.
 *
 * A starved sender whose segments were lost waits in retransmission back-off, for seconds, and
 * learns of a promotion only when it sends again. So a change of levels or mode that makes a task
 * more urgent (promote.h) nudges each connection that the task opened, over which it can still
 * receive, and over which nothing with the new mark has come NUDGE_DELAY_US later. It sends one
 * acknowledgement, which brings the new mark, and NUDGE_UNREACHABLES messages "network
 * unreachable", each of which undoes one doubling of the back-off (nudge_packet.h). A sender that
 * is not in back-off ignores them. A recent packet proves nothing: thanks to its floor a starved
 * sender gets a packet through every few milliseconds, and is in back-off for others that were
 * lost.
 *
 * A nudge cannot shorten a first retransmission time-out; that of a starved sender, whose round
 * trip is long, takes a second. Senders wait for it when a segment that was sent again is lost
 * again. It does not shorten the wait of packets under the old mark while something more urgent is
 * sent: they leave at their level's floor (110 packets at 1 Mb/s: 1.3 s), and a sender whose whole
 * window is among them sends nothing new before. A segment sent again under the new mark overtakes
 * these; is_overtaken in mark.bpf.c then drops the old ones.
 *
 * Marks do not wait for this: nudge_levels and nudge_mode, called after the map write, only note
 * promotions. Sockets are listed NUDGE_DELAY_US later, so that the other hosts of a testbed on one
 * machine have their marks first; packets are sent when nothing more urgent waits in the event
 * loop. Bounds: NUDGE_CONNECTIONS of one pass (the rest is counted as left out), a quarter of the
 * link and NUDGE_BURST packets in a millisecond. What is promoted while packets of an earlier pass
 * are still to be sent is nudged after them, once.
 *
 * Packets leave by raw sockets with SO_PRIORITY MARK_NUDGE, by which the marking program recognizes
 * them (only privileged programs can set it) and leaves them the code point that we wrote. Has the
 * requirements of receivers_bpf.h. One thread, in the sd-event loop. All calls take a NULL nudge,
 * which does nothing. */
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
    uint64_t failures; /* packets that could not be sent, and passes that could not be made */
};

/* `marks`: of the open driver, borrowed until close; `mode` is the one in force. With IPv6 switched
 * off, nudges go over IPv4 only. */
int nudge_open(const struct mark_config *marks, uint64_t link_bps, uint32_t mode, sd_event *event,
               struct nudge **ret_nudge, struct err *err);
void nudge_close(struct nudge *nudge);

/* From now on the marks have these levels, this mode, or no levels for the cgroup. */
void nudge_levels(struct nudge *nudge, const struct mark_task_levels *levels);
void nudge_mode(struct nudge *nudge, uint32_t mode);
void nudge_forget(struct nudge *nudge, uint64_t cgroup);

/* While paused, promotions are noted and no sender is nudged. */
void nudge_pause(struct nudge *nudge, bool paused);

void nudge_count(const struct nudge *nudge, struct nudge_counters *ret_counters);
