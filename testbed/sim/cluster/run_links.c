/* Use of the downlinks between two instants, for run_config.links. */
#include "testbed/sim/cluster/run_state.h"

int run_links_note(struct run *run, int64_t until_ns)
{
    struct run_links links = {.from_ns = run->now_ns, .to_ns = until_ns};
    struct engine_status status;
    double all = 0, carried = 0, awaited = 0;
    if (!run->config->links || until_ns == run->now_ns)
        return 0;
    if (fluid_downlinks_used(run->fluid, run->downlinks))
        return run_out_of_memory(run);
    for (uint32_t h = 0; h < run->config->hosts; h++) {
        double rate = topology_link_bytes_s(&run->topology, run_ports(run->config) + h);
        all += rate;
        carried += run->downlinks[h];
        awaited += run->receiving[h] ? rate - run->downlinks[h] : 0;
    }
    engine_status(run->engine, &status);
    double idle = all - carried - awaited;
    links.carried = carried / all;
    links.awaited = awaited / all;
    *(status.tasks_ready ? &links.held : &links.nothing) = idle > 0 ? idle / all : 0;
    run->config->links(run->config->links_listener, &links);
    return 0;
}
