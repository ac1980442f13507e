/* Failures by host and task, in a dump. WHY records of their own: so that older dumps can be read,
 * the former ones keep their form. */
#include "controller/engine/base/ground.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/retry.h"
#include "controller/engine/dump/dump.h"
#include "controller/engine/watch/failing.h"

#include <errno.h>
#include <inttypes.h>

struct failing_record {
    uint32_t host, in_a_row, proofs, probes;
    bool suspect, due;
    uint64_t probe;
    int64_t since_ns, due_ns;
};
struct retry_record {
    uint64_t job;
    uint32_t stage, task;
    bool waits, anywhere;
};
struct tried_record {
    uint64_t job;
    uint32_t stage, task, host;
    bool proves;
};
DUMP_FITS(struct failing_record);
DUMP_FITS(struct retry_record);
DUMP_FITS(struct tried_record);

static int load_failing(struct engine *engine, const void *object, struct err *err)
{
    const struct failing_record *record = object;
    struct host *host = cluster_host(engine, record->host);
    if (!host || host->failing.in_a_row || !record->in_a_row ||
        record->probes > FAILING_DOUBLINGS || record->due_ns < 0)
        return err_set(err, EINVAL, "host %u is not there, or what failed there comes twice",
                       record->host);
    const struct failing failing = {.suspect = record->suspect,
                                    .in_a_row = record->in_a_row,
                                    .proofs = record->proofs,
                                    .probes = record->probes,
                                    .probe = record->probe,
                                    .since_ns = record->since_ns,
                                    .due_ns = record->due ? INT64_MAX : record->due_ns};
    failing_restore(engine, host, &failing);
    return 0;
}

static struct task *task_of(const struct engine *engine, uint64_t job, uint32_t stage,
                            uint32_t index)
{
    struct task *task = job_find_task(engine, job, stage, index);
    bool had = task && (task->failures || engine->config.hosts_count_once ||
                        engine_follows(engine, RULE_RERUNS_ONCE));
    return had && task->stage->job->state == JOB_ACTIVE ? task : NULL;
}

static int load_retry(struct engine *engine, const void *object, struct err *err)
{
    const struct retry_record *record = object;
    struct task *task = task_of(engine, record->job, record->stage, record->task);
    if (!task || task->retry || (record->waits && task_state(task) != TASK_BLOCKED))
        return err_set(err, EINVAL,
                       "task %" PRIu64 "/%u/%u has not failed, or waits twice for another host",
                       record->job, record->stage, record->task);
    retry_restore(engine, task, record->waits, record->anywhere);
    return 0;
}

static int load_tried(struct engine *engine, const void *object, struct err *err)
{
    const struct tried_record *record = object;
    struct task *task = task_of(engine, record->job, record->stage, record->task);
    struct host *host = cluster_host(engine, record->host);
    if (!task || !task->retry || !host)
        return err_set(err, EINVAL, "task %" PRIu64 "/%u/%u has not failed on host %u", record->job,
                       record->stage, record->task, record->host);
    retry_restore_tried(engine, task, host, record->proves);
    return 0;
}

#define F FIELD_OF

enum { FAILING, RETRY, TRIED };
const struct dump_kind failing_kinds[] = {
    [FAILING] = {{"failing",
                  {F(failing_record, host, U32), F(failing_record, suspect, BOOL),
                   F(failing_record, in_a_row, U32), F(failing_record, proofs, U32),
                   F(failing_record, probes, U32), F(failing_record, probe, U64),
                   F(failing_record, since_ns, I64), F(failing_record, due, BOOL),
                   F(failing_record, due_ns, I64)}},
                 load_failing},
    [RETRY] = {{"retry",
                {F(retry_record, job, U64), F(retry_record, stage, U32), F(retry_record, task, U32),
                 F(retry_record, waits, BOOL), F(retry_record, anywhere, BOOL)}},
               load_retry},
    [TRIED] = {{"tried",
                {F(tried_record, job, U64), F(tried_record, stage, U32), F(tried_record, task, U32),
                 F(tried_record, host, U32), F(tried_record, proves, BOOL)}},
               load_tried},
    {{0}, NULL},
};

void failing_dump_host(struct dumper *d, const struct host *host)
{
    const struct failing *failing = &host->failing;
    bool due = failing->due_ns == INT64_MAX;
    const struct failing_record record = {
        .host = host->index,
        .suspect = failing->suspect,
        .in_a_row = failing->in_a_row,
        .proofs = failing->proofs,
        .probes = failing->probes,
        .probe = failing->probe,
        .since_ns = failing->since_ns,
        .due = due,
        .due_ns = due ? 0 : failing->due_ns,
    };
    if (failing->in_a_row)
        dump_record(d, &failing_kinds[FAILING].kind, &record);
}

void failing_dump_task(struct dumper *d, const struct task *task)
{
    const struct retry *retry = task->retry;
    if (!retry)
        return;
    uint64_t job = task->stage->job->number;
    uint32_t stage = task->stage->index;
    const struct retry_record record = {job, stage, task->index, retry_waits(task),
                                        retry->anywhere};
    dump_record(d, &failing_kinds[RETRY].kind, &record);
    for (uint32_t i = 0; i < retry->n; i++) {
        const struct tried *tried = &retry->tried[i];
        const struct tried_record one = {job, stage, task->index, tried->host->index,
                                         tried->era == tried->host->failing.era};
        dump_record(d, &failing_kinds[TRIED].kind, &one);
    }
}
