/* Shortest remaining processing time: the SJF key (estimate.h) over what remains of a job
 * (remaining.h). Of a submitter's own estimates the same share is left.
 *
 * No job starves. A job's key includes a part of its submission time, so that of two jobs the one
 * submitted AGEING times the other's key later is behind it whatever its size. So a job with key K
 * is before all jobs that are submitted over AGEING · K after it; those before it were submitted
 * earlier, which is a bounded amount of work. (K grows when outputs are lost.) As a part of the key
 * and not of the waiting time, ageing moves no job by itself. */
#include "controller/engine/base/say.h"
#include "controller/engine/turn/turn.h"
#include "controller/engine/watch/estimate.h"

__extension__ typedef unsigned __int128 wide;

/* WHY 100: on the Facebook trace 10 costs 14 % of the mean, 30 nothing, 100 and 300 gain a
 * little. */
enum { AGEING = 100 };

/* The parts of a job's key. */
struct srpt_key {
    wide maps_ns, bytes_ns, age_ns;
};

static struct srpt_key key_of(const struct engine *engine, const struct job *job)
{
    bool ages = engine->turn == &turn_srpt;
    wide work_ns = job->estimate_ns >= 0 ? (wide)job->remaining.maps * (uint64_t)job->estimate_ns
                                         : job->remaining.work_ns;
    wide bytes = job->remaining.bytes;
    if (job->estimate_bytes >= 0 && job->shuffle_bytes)
        bytes = bytes * (uint64_t)job->estimate_bytes / job->shuffle_bytes;
    else if (job->estimate_bytes >= 0)
        bytes = (uint64_t)job->estimate_bytes;
    const struct keyed keyed = estimate_cluster(engine, job);
    return (struct srpt_key){
        .maps_ns = work_ns / keyed.slots,
        .bytes_ns = bytes * 8 * 1000000000u / keyed.bps,
        .age_ns = ages && job->submitted_ns > 0 ? (uint64_t)job->submitted_ns / AGEING : 0};
}

static uint64_t number(const struct engine *engine, const struct job *job)
{
    struct srpt_key key = key_of(engine, job);
    wide ns = key.maps_ns + key.bytes_ns + key.age_ns;
    return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

static void explain(const struct engine *engine, const struct job *job,
                    struct engine_explanation *e)
{
    struct srpt_key key = key_of(engine, job);
    say(e,
        "what is left of it is %.3f s of maps on all slots and %.3f s of transfers on all "
        "links, and %.3f s count for when it came",
        (double)key.maps_ns / 1e9, (double)key.bytes_ns / 1e9, (double)key.age_ns / 1e9);
}

#define SRPT(word)                                                                                 \
    {                                                                                              \
        .policy.name = (word), .number = number, .by_attempts = true, .explain = explain           \
    }
const struct turn_policy turn_srpt = SRPT("srpt");
const struct turn_policy turn_srpt_ageless = SRPT("srpt-ageless");
