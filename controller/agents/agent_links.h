/* What an agent reports of its ports' links (pure): a row each, by the port's index among its
 * ports.
 *
 * Rows come one by one as they change, and may be lost; each is repeated within half a minute
 * (schemas/duopoly.proto, Link). Of an agent with more ports than are kept, the first ones are
 * shown. */
#pragma once

#include "schemas/duopoly.pb.h"

#include <stdint.h>

#define AGENT_LINKS      4096 /* of a switch */
#define AGENT_HOST_LINKS 64

struct agent_link {
    duopoly_Link link;
    int64_t told_ns; /* 0: never reported */
};

/* Zero it first. */
struct agent_links {
    uint32_t n; /* rows, some of which may not have been reported yet */
    struct agent_link *rows;
};

/* For at most `most` ports. Out of memory nothing changes. O(rows of the part), and of all rows
 * when their number grows. */
void agent_links_take(struct agent_links *links, int64_t now_ns, uint32_t most,
                      const duopoly_LinksPart *part);
void agent_links_done(struct agent_links *links);
