/* Names of enumeration values. */
#include "controller/engine/engine.h"

static const char *const modes[] = {"slot-rich", "slot-starved"};
static const char *const job_states[] = {"arriving", "active", "done", "failed", "cancelled"};
static const char *const task_states[] = {"blocked", "ready", "running", "done"};
static const char *const attempt_states[] = {"sent", "queued", "started", "receiving", "computing",
                                             "done", "failed", "killed",  "lost"};

#define NAME(table, value)                                                                         \
    ((unsigned)(value) < sizeof(table) / sizeof((table)[0]) ? (table)[value] : "?")

const char *mode_name(enum mode mode)
{
    return NAME(modes, mode);
}

const char *job_state_name(enum job_state state)
{
    return NAME(job_states, state);
}

const char *task_state_name(enum task_state state)
{
    return NAME(task_states, state);
}

const char *attempt_state_name(enum attempt_state state)
{
    return NAME(attempt_states, state);
}
