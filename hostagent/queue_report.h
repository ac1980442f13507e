/* Reports the queues of this host's or switch's ports to a client that asks: what each has sent,
 * dropped and marked, and what waits in it. A call reads the ports that a message has room for. */
#pragma once

#include "hostagent/switches/switches.h"
#include "schemas/duopoly.pb.h"

/* Fills a part, but for its number: from port number `cursor` on. What cannot be read is said by
 * its text. `switches` NULL: the queues are not ours. */
void queue_report(struct switches *switches, uint64_t cursor, duopoly_AskedPart *ret_part);
