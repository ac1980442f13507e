/* Pages of the controller's lists, from the engine's and the agents' views: jobs, tasks, hosts,
 * counters.
 *
 * A cursor says where the next page begins (0: the end). A page has at most the rows that
 * schemas/duopoly.options allows, and examines no more than its bounds say (listing_sieve.h), so
 * that no request delays the controller: a page may be short, or empty with a cursor. Rows are
 * sorted by identity,
 * or by name (listing_place.h), so none is listed twice and none that was there all the time is
 * missed; `changed` says that the state has changed since the first page. A list of all
 * jobs has no places in turn, only the key by which turns are sorted. */
#pragma once

#include "controller/agents_zmq.h"
#include "controller/clients/listing_sieve.h"
#include "controller/conductor.h"
#include "controller/loop_shares.h"
#include "lib/wire_unix.h"

#define LISTING_LOOKS 4096 /* steps of a page at most, where its bounds do not say less */

/* Further sources of counters, besides the conductor. Borrowed. */
struct listing_sources {
    const struct conductor_parts *parts;
    const struct agents_zmq *door;
    const struct wire_unix_counters *clients;
    const uint64_t *refused_requests; /* by kind, WIRE_KINDS of them */
    const struct loop_shares *shares; /* of clients */
};

/* Whether the agent's last report is out of date, since it is silent or lost. Then `text` (if not
 * NULL) says so, and since when. */
bool listing_gone(const struct agent_view *agent, int64_t now_ns, char *text, size_t size);

/* A word for how an agent is; `host` as the engine has it, NULL: it does not know it. */
const char *listing_state(const struct agent_view *agent, const struct host_view *host);

/* Fills `answer` with a Page, or Refused. */
void listing_page(const struct listing_sources *sources, const duopoly_List *list,
                  const struct sieve_bounds *bounds, duopoly_Envelope *answer);
