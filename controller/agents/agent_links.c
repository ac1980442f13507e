#include "controller/agents/agent_links.h"

#include <stdlib.h>
#include <string.h>

static void resize(struct agent_links *links, uint32_t n)
{
    if (n > links->n) {
        struct agent_link *grown = reallocarray(links->rows, n, sizeof(*grown));
        if (!grown)
            return;
        memset(grown + links->n, 0, (n - links->n) * sizeof(*grown));
        links->rows = grown;
    }
    links->n = n;
}

void agent_links_take(struct agent_links *links, int64_t now_ns, uint32_t most,
                      const duopoly_LinksPart *part)
{
    resize(links, part->ports < most ? part->ports : most);
    for (pb_size_t i = 0; i < part->links_count; i++)
        if (part->links[i].place < links->n)
            links->rows[part->links[i].place] = (struct agent_link){part->links[i], now_ns};
}

void agent_links_done(struct agent_links *links)
{
    free(links->rows);
    *links = (struct agent_links){0};
}
