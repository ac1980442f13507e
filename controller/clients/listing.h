/* Pages of the controller's lists, made from the engine's and the agents' views: jobs, tasks,
 * hosts, counters.
 *
 * A cursor says where the next page begins (0: the end); a page holds what schemas/duopoly.options
 * bounds, and looks at no more than LISTING_LOOKS things, so that one request never holds up the
 * controller: a page may then be short, or empty with a cursor. Rows come in order of their
 * identities, or of names (listing_place.h), so none stands twice and none that was there all the time is missed; `changed` tells
 * that the state moved on since the first page. A list of jobs tells no places in turn, but the key
 * that turns go by. */
#pragma once

#include "controller/agents_zmq.h"
#include "controller/conductor.h"
#include "lib/wire_unix.h"

#define LISTING_LOOKS 4096

/* What counters are taken from besides the conductor. Borrowed. */
struct listing_sources {
    const struct conductor_parts *parts;
    const struct agents_zmq *door;
    const struct wire_unix_counters *clients;
    const uint64_t *refused_requests; /* by kind, WIRE_KINDS of them */
};

/* Whether what the agent said last of itself says nothing of now: it is silent or lost. Then `text`
 * (if not NULL) says so, and since when. */
bool listing_gone(const struct agent_view *agent, int64_t now_ns, char *text, size_t size);

/* Fills `answer` with a Page, or Refused. */
void listing_page(const struct listing_sources *sources, const duopoly_List *list,
                  duopoly_Envelope *answer);
