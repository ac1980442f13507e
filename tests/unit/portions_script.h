/* What tests of large jobs share, which are done in portions. */
#pragma once

#include "tests/model/script.h"
#include "tests/unit/draws.h"

/* Twenty portions. */
enum { MANY = DRAWS(20000, 5000), AT_ONCE = MANY / 20 };

static inline bool is_due(const struct script *s)
{
    return engine_deadline_ns(s->engine) <= s->now_ns;
}

/* All of a stage's sums. */
static inline void bytes(struct script *s, uint64_t job, uint32_t n)
{
    uint64_t sums[MANY];
    struct event event = {.kind = EVENT_JOB_BYTES, .request = job};
    for (uint32_t i = 0; i < n; i++)
        sums[i] = 1000003 + i;
    event.job_bytes.job = job;
    event.job_bytes.stage = 1;
    event.job_bytes.bytes = (struct u64s){sums, n};
    script_event(s, event);
    assert_int_equal(script_rejection(s), REASON_NONE);
}

/* One stage of them; `next`: reduce tasks that read from it. */
static inline void parts(struct script *s, uint64_t job, uint32_t tasks, uint32_t next)
{
    script_job_begin(s, job);
    script_stage(s, job, 0, tasks, ENGINE_NONE, EDGE_BARRIER);
    if (!next)
        return;
    script_stage(s, job, 1, next, 0, EDGE_BARRIER);
    bytes(s, job, next);
}

static inline void drain(struct script *s, uint32_t host, bool undo)
{
    struct event event = {.kind = EVENT_HOST_DRAIN};
    event.host_drain.host = host;
    event.host_drain.undo = undo;
    script_event(s, event);
}
