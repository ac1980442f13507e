#include "controller/engine/turn/turn.h"

static uint64_t fifo_number(const struct engine *engine, const struct job *job)
{
    (void)engine;
    return (uint64_t)job->submitted_ns;
}

static uint64_t sjf_number(const struct engine *engine, const struct job *job)
{
    (void)engine;
    return job->estimate_key;
}

static uint64_t fair_number(const struct engine *engine, const struct job *job)
{
    (void)engine;
    return job->n_running;
}

const struct turn_policy turn_fifo = {.policy = {.name = "fifo"}, .number = fifo_number};
const struct turn_policy turn_sjf = {.policy = {.name = "sjf"}, .number = sjf_number};
const struct turn_policy turn_fair = {.policy = {.name = "fair"}, .number = fair_number};
