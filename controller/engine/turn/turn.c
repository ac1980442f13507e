#include "controller/engine/turn/turn.h"

static uint64_t fifo_number(const struct job *job)
{
    return (uint64_t)job->submitted_ns;
}

static uint64_t sjf_number(const struct job *job)
{
    return job->estimate_key;
}

static uint64_t fair_number(const struct job *job)
{
    return job->n_running;
}

const struct turn_policy turn_fifo = {"fifo", fifo_number};
const struct turn_policy turn_sjf = {"sjf", sjf_number};
const struct turn_policy turn_fair = {"fair", fair_number};
const struct turn_policy *const turn_policies[] = {&turn_fifo, &turn_sjf, &turn_fair, NULL};
