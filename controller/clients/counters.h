/* Every counter of the controller, of each agent and of whoever asks, with a sentence that says
 * what it counts. One list for all that show counters: `duopolyctl counters` (listing_counters.h)
 * and the scrape (controller/metrics), which leaves out who asks. Every number is read where it is
 * counted. */
#pragma once

#include "controller/clients/listing.h"

struct counter {
    const char *name;  /* "engine.steps"; of several, what they have in common */
    const char *label; /* what tells several apart: "kind", "level", "queue"; NULL: it is one */
    const char *part;  /* which of them */
    const char *whose; /* whose messages: two have the name `refused`; NULL: of all others */
    const char *what;  /* what it counts, without a full stop */
    bool now;          /* how many there are now: it can fall */
    bool rare;         /* of many, most of which are always 0: to be left out while it is */
    uint64_t value;
};

/* The counter is borrowed for the call; its texts are constant. One of an agent's has the very same
 * ones, by their addresses, each time. */
typedef void counter_told(void *user, const struct counter *counter);

/* Always the same counters in the same order while the program runs. O(counters). */
void counters_of_controller(const struct listing_sources *sources, counter_told *told, void *user);
/* Of a user or key whose clients have asked. */
void counters_of_owner(const struct loop_owner *owner, counter_told *told, void *user);
/* Of its guests only while it has some. */
void counters_of_agent(const struct agent_view *agent, counter_told *told, void *user);
