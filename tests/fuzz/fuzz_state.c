/* Fuzz target of states for a what-if: what is read runs on to an end. */
#include "testbed/sim/whatif/whatif.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HOSTS_MAX = 64, TASKS_MAX = 1000 };

/* WHY not with reports: a transfer may last for years, and each is reported ten times a second. */
static bool is_short(const struct state *state, const struct present_jobs *present)
{
    const struct engine_config *config = engine_configuration(state->engine);
    uint64_t tasks = 0;
    for (size_t i = 0; i < present->n; i++)
        for (uint32_t s = 0; s < present->jobs[i].n_stages; s++)
            tasks += present->jobs[i].stages[s].tasks;
    return present->hosts <= HOSTS_MAX && tasks <= TASKS_MAX &&
           strcmp(config->network, "dclas") != 0 && strcmp(config->network, "scf") != 0 &&
           strncmp(config->place, "neat", 4) != 0;
}

static void go_on(const struct state *state)
{
    static const struct whatif_change nothing = {.host = ENGINE_NONE};
    struct present_jobs present;
    struct whatif_side side = {0};
    struct err err;
    if (present_jobs_make(state, &present, &err) == 0 && is_short(state, &present))
        whatif_run(state, &present, &nothing, 0, &side, &err);
    whatif_side_done(&side);
    present_jobs_done(&present);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct state state;
    struct err err;
    FILE *in = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
    if (!in)
        return 0;
    if (state_read(in, &state, &err) == 0)
        go_on(&state);
    state_done(&state);
    fclose(in);
    return 0;
}
