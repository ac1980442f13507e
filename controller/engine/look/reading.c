/* What each host reads now: the engine's part in judging hosts' reports about others. */
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/watch/source.h"

struct search {
    uint32_t host;
    bool found;
};

static void compare_host(void *context, const struct engine_input *input)
{
    struct search *search = context;
    search->found |= input->host == search->host;
}

/* WHY replicas: which one an attempt that was found running reads is unknown. */
static bool has_replica(const struct task *task, uint32_t host)
{
    const uint32_t *replicas = task_replicas(task);
    for (uint32_t i = 0; i < task_n_replicas(task); i++)
        if (replicas[i] == host)
            return true;
    return false;
}

/* WHY a stopped one, too: it misses many outputs at once, and is stopped at the first that it
 * reports. */
static const struct task *reader_of(const struct engine *engine, const struct attempt *attempt)
{
    if (attempt->state == ATTEMPT_COMPUTING || attempt->foreign)
        return NULL;
    return attempt->task || !attempt->stopping
               ? attempt->task
               : job_find_task(engine, attempt->job_number, attempt->stage_index,
                               attempt->task_index);
}

enum engine_reading engine_reads_from(const struct engine *engine, uint64_t number, uint32_t host)
{
    const struct attempt *attempt = attempt_find(engine, number);
    struct search search = {host, false};
    if (!attempt || !attempt->task || attempt->state == ATTEMPT_COMPUTING)
        return READING_OVER;
    const struct host *source = cluster_host(engine, host);
    if ((source && source_is_waited_for(attempt, source)) || has_replica(attempt->task, host))
        return READING_NOW;
    engine_inputs(engine, number, compare_host, &search);
    return search.found ? READING_NOW : READING_NOT;
}

enum engine_reading engine_reads_output(const struct engine *engine, uint32_t index, uint64_t job,
                                        uint32_t stage, uint32_t map, uint64_t number)
{
    const struct host *host = cluster_host(engine, index);
    const struct task *of = job_find_task(engine, job, stage, map);
    enum engine_reading reading = READING_NOT;
    const struct attempt *attempt;
    if (!of || task_state(of) != TASK_DONE || of->done_attempt != number || of->stage->framework)
        return READING_OVER;
    if (of->done_host == index)
        return READING_NOW;
    if (!host)
        return READING_NOT;
    TAILQ_FOREACH (attempt, &host->attempts, on_host) {
        if (attempt->job_number != job)
            continue;
        const struct task *reader = reader_of(engine, attempt);
        if (reader && task_reads_output(reader, stage, map))
            return READING_NOW;
        reading = READING_OVER;
    }
    return reading;
}
