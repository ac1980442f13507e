/* Evicted tasks in a dump: for people, decisions do not depend on them. */
#include "controller/engine/books/eviction.h"
#include "controller/engine/books/job.h"
#include "controller/engine/dump/dump.h"

#include <errno.h>
#include <inttypes.h>

struct evicted_record {
    uint64_t job;
    uint32_t stage, task;
    struct evicted evicted;
};
/* Of the job, after them. */
struct evictions_record {
    uint64_t job, evictions;
    int64_t evicted_ns;
};
DUMP_FITS(struct evicted_record);
DUMP_FITS(struct evictions_record);

static int load_evicted(struct engine *engine, const void *object, struct err *err)
{
    const struct evicted_record *record = object;
    struct task *task = job_find_task(engine, record->job, record->stage, record->task);
    if (!task || eviction_of(task) || !record->evicted.times)
        return err_set(err, EINVAL,
                       "task %" PRIu64 "/%u/%u, which was evicted, is not there, or comes twice",
                       record->job, record->stage, record->task);
    eviction_restore(engine, task, &record->evicted);
    return 0;
}

static int load_evictions(struct engine *engine, const void *object, struct err *err)
{
    const struct evictions_record *record = object;
    struct job *job = job_find(engine, record->job);
    if (!job || job->evictions)
        return err_set(err, EINVAL,
                       "job %" PRIu64 ", whose tasks were evicted, is not there, or comes twice",
                       record->job);
    job->evictions = record->evictions;
    job->evicted_ns = record->evicted_ns;
    return 0;
}

#define F(name, kind) FIELD_OF(evicted_record, name, kind)

enum { EVICTED, EVICTIONS };
const struct dump_kind eviction_kinds[] = {
    [EVICTED] = {{"evicted",
                  {F(job, U64), F(stage, U32), F(task, U32), F(evicted.times, U32),
                   F(evicted.lost_ns, I64), F(evicted.at_ns, I64), F(evicted.host, U32),
                   F(evicted.reason, REASON), F(evicted.left, I64), F(evicted.right, I64),
                   F(evicted.by_job, U64), F(evicted.by_stage, U32), F(evicted.by_task, U32)}},
                 load_evicted},
    [EVICTIONS] = {{"evictions",
                    {FIELD_OF(evictions_record, job, U64),
                     FIELD_OF(evictions_record, evictions, U64),
                     FIELD_OF(evictions_record, evicted_ns, I64)}},
                   load_evictions},
    {{0}, NULL},
};

void eviction_dump_job(struct dumper *d, const struct job *job)
{
    struct sorted_node *node = sorted_first(&job->evicted);
    for (; node; node = sorted_next(node)) {
        const struct evicted_record record = {job->number, (uint32_t)node->key.a,
                                              (uint32_t)node->key.b,
                                              *container_of(node, struct evicted, of_job)};
        dump_record(d, &eviction_kinds[EVICTED].kind, &record);
    }
    const struct evictions_record record = {job->number, job->evictions, job->evicted_ns};
    if (record.evictions)
        dump_record(d, &eviction_kinds[EVICTIONS].kind, &record);
}
