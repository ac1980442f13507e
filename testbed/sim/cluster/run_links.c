/* What the downlinks do between two instants, for whoever listens (run_config.links). */
#include "testbed/sim/cluster/run_state.h"

#include <stdlib.h>

static bool *receiving_hosts(const struct run *run)
{
    bool *receives = calloc(run->config->hosts, sizeof(*receives));
    for (const struct run_attempt *a = run->live; receives && a; a = a->hh.next)
        receives[a->host] |= a->phase == PHASE_RECEIVING && a->n_open;
    return receives;
}

int run_links_note(struct run *run, int64_t until_ns)
{
    struct run_links links = {.from_ns = run->now_ns, .to_ns = until_ns};
    struct engine_status status;
    if (!run->config->links || until_ns == run->now_ns)
        return 0;
    bool *receives = receiving_hosts(run);
    int r = receives ? 0 : -1;
    double all = 0, carried = 0, awaited = 0;
    for (uint32_t h = 0; !r && h < run->config->hosts; h++) {
        uint32_t link = run->config->hosts + h;
        double rate = topology_link_bytes_s(&run->topology, link), used;
        r = fluid_link_used(run->fluid, link, &used);
        all += rate;
        carried += used;
        awaited += receives[h] ? rate - used : 0;
    }
    free(receives);
    if (r)
        return run_out_of_memory(run);
    engine_status(run->engine, &status);
    double idle = all - carried - awaited;
    links.carried = carried / all;
    links.awaited = awaited / all;
    *(status.tasks_ready ? &links.held : &links.nothing) = idle > 0 ? idle / all : 0;
    run->config->links(run->config->links_listener, &links);
    return 0;
}
