/* What an agent tells of its ports' links (pure): a row each, by the port's place among its ports.
 *
 * Rows come one by one as they change, and may be lost; each is told again within half a minute
 * (schemas/duopoly.proto, Link). Who has more ports than are kept shows the first ones. */
#pragma once

#include "schemas/duopoly.pb.h"

#include <stddef.h>
#include <stdint.h>

#define AGENT_LINKS      4096 /* of a switch */
#define AGENT_HOST_LINKS 64

struct agent_link {
    duopoly_Link link;
    int64_t told_ns; /* 0: it was never told */
};

/* Zero to begin with. */
struct agent_links {
    uint32_t n; /* rows, of which some may not be told yet */
    struct agent_link *rows;
};

/* Of at most `most` ports. Without memory it stays as it is. O(rows of the part), and of all when
 * their number grows. */
void agent_links_take(struct agent_links *links, int64_t now_ns, uint32_t most,
                      const duopoly_LinksPart *part);
void agent_links_done(struct agent_links *links);
