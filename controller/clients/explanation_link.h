/* Explains a link, which is a host's uplink or downlink as the engine sees it, or a port as `links`
 * lists it: what it carries, by which report; whether an uplink counts as full, since when, and
 * whether the network is congested; which transfers use it, at which levels, and whose is first in
 * turn. */
#pragma once

#include "controller/conductor.h"

/* Fills `answer` with an Explanation, or Refused. `agent` is a view of parts->agents. `port`:
 * "uplink", "downlink" (which no port's name overrides), or a port's name; a host's port stands for
 * both. O(attempts there); of what reads from a host, 64 jobs with outputs there, 1024 attempts and
 * 16384 of their inputs are looked at. */
void explanation_link(const struct conductor_parts *parts, const struct agent_view *agent,
                      const char *port, duopoly_Envelope *answer);
