#include "controller/engine/turn/turn.h"

#include "controller/engine/base/say.h"

#include <inttypes.h>

static uint64_t fifo_number(const struct engine *engine, const struct job *job)
{
    (void)engine;
    return (uint64_t)job->submitted_ns;
}

static void fifo_explain(const struct engine *engine, const struct job *job,
                         struct engine_explanation *e)
{
    say(e, "it was submitted %.1f s ago", (double)(engine->now_ns - job->submitted_ns) / 1e9);
}

static uint64_t sjf_number(const struct engine *engine, const struct job *job)
{
    (void)engine;
    return job->estimate_key;
}

static void sjf_explain(const struct engine *engine, const struct job *job,
                        struct engine_explanation *e)
{
    (void)engine;
    say(e, "alone it would take the whole cluster %.3f s by its estimate",
        (double)job->estimate_key / 1e9);
}

static uint64_t fair_number(const struct engine *engine, const struct job *job)
{
    (void)engine;
    return job->n_running;
}

static void fair_explain(const struct engine *engine, const struct job *job,
                         struct engine_explanation *e)
{
    (void)engine;
    say(e, "%" PRIu64 " of its tasks run%s", job->n_running, job->n_running == 1 ? "s" : "");
}

static uint64_t priority_number(const struct engine *engine, const struct job *job)
{
    (void)engine;
    return (uint64_t)INT64_MAX - (uint64_t)job->priority;
}

static void priority_explain(const struct engine *engine, const struct job *job,
                             struct engine_explanation *e)
{
    (void)engine;
    say(e, "its priority is %" PRId64, job->priority);
}

static bool always(const struct engine *engine)
{
    (void)engine;
    return true;
}

const struct turn_policy turn_fifo = {
    .policy = {.name = "fifo"}, .number = fifo_number, .explain = fifo_explain};
const struct turn_policy turn_sjf = {
    .policy = {.name = "sjf"}, .number = sjf_number, .explain = sjf_explain};
const struct turn_policy turn_fair = {
    .policy = {.name = "fair"}, .number = fair_number, .explain = fair_explain};
const struct turn_policy turn_priority = {
    .policy = {.name = "by-priority", .uses_priority = always},
    .number = priority_number,
    .explain = priority_explain};
