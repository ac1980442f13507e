/* Lost outputs by task, in a dump. WHY records of their own: so that older dumps can be read, the
 * former ones keep their form. */
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/losing.h"
#include "controller/engine/books/rerun.h"
#include "controller/engine/dump/dump.h"

#include <errno.h>
#include <inttypes.h>

struct rerun_record {
    uint64_t job;
    uint32_t stage, task, reruns;
};
/* After it: a host on which an output was lost. */
struct unread_record {
    uint64_t job;
    uint32_t stage, task, host;
};
/* Outputs on the host that are not lost yet. */
struct losing_record {
    uint64_t job;
    uint32_t host, stages, task;
    bool is_there;
    uint64_t last;
};
DUMP_FITS(struct losing_record);
DUMP_FITS(struct rerun_record);
DUMP_FITS(struct unread_record);

static int load_rerun(struct engine *engine, const void *object, struct err *err)
{
    const struct rerun_record *record = object;
    struct task *task = job_find_task(engine, record->job, record->stage, record->task);
    if (!task || task->reruns || !record->reruns || record->reruns >= engine->config.reruns_max)
        return err_set(
            err, EINVAL,
            "task %" PRIu64 "/%u/%u is not there, or its lost outputs come twice, or are "
            "%u of %u",
            record->job, record->stage, record->task, record->reruns, engine->config.reruns_max);
    rerun_restore(engine, task, record->reruns);
    return 0;
}

static int load_unread(struct engine *engine, const void *object, struct err *err)
{
    const struct unread_record *record = object;
    const struct task *task = job_find_task(engine, record->job, record->stage, record->task);
    struct host *host = cluster_host(engine, record->host);
    if (!task || !host || !rerun_restore_host(engine, task, host))
        return err_set(err, EINVAL,
                       "task %" PRIu64 "/%u/%u or host %u, where its output was lost, is not "
                       "there, or such hosts are too many",
                       record->job, record->stage, record->task, record->host);
    return 0;
}

static int load_losing(struct engine *engine, const void *object, struct err *err)
{
    const struct losing_record *record = object;
    const struct job *job = job_find(engine, record->job);
    struct host *host = cluster_host(engine, record->host);
    if (!job || !host || record->stages > job->n_stages)
        return err_set(err, EINVAL,
                       "job %" PRIu64 " or host %u, where it loses outputs, is not there",
                       record->job, record->host);
    losing_restore(engine, &(struct losing){.job = record->job,
                                            .host = host,
                                            .is_there = record->is_there,
                                            .last = record->last,
                                            .stages = record->stages,
                                            .task = record->task});
    return 0;
}

#define F FIELD_OF

enum { RERUN, LOSING, UNREAD };
const struct dump_kind rerun_kinds[] = {
    [RERUN] = {{"rerun",
                {F(rerun_record, job, U64), F(rerun_record, stage, U32), F(rerun_record, task, U32),
                 F(rerun_record, reruns, U32)}},
               load_rerun},
    [LOSING] = {{"losing",
                 {F(losing_record, job, U64), F(losing_record, host, U32),
                  F(losing_record, stages, U32), F(losing_record, task, U32),
                  F(losing_record, is_there, BOOL), FIELD_ADDED(losing_record, last, U64)}},
                load_losing},
    [UNREAD] = {{"unread",
                 {F(unread_record, job, U64), F(unread_record, stage, U32),
                  F(unread_record, task, U32), F(unread_record, host, U32)}},
                load_unread},
    {{0}, NULL},
};

void rerun_dump_task(struct dumper *d, const struct task *task)
{
    const struct reruns *reruns = task->reruns;
    uint64_t job = task->stage->job->number;
    uint32_t stage = task->stage->index;
    if (!reruns)
        return;
    const struct rerun_record record = {job, stage, task->index, reruns->counted};
    dump_record(d, &rerun_kinds[RERUN].kind, &record);
    for (uint32_t i = 0; i < reruns->n; i++) {
        const struct unread_record one = {job, stage, task->index, reruns->hosts[i]->index};
        dump_record(d, &rerun_kinds[UNREAD].kind, &one);
    }
}

void rerun_dump_losing(struct dumper *d, const struct engine *engine)
{
    struct sorted_node *node = sorted_first(&engine->losing);
    for (; node; node = sorted_next(node)) {
        const struct losing *losing = container_of(node, struct losing, of_losing);
        const struct losing_record record = {losing->job,  losing->host->index, losing->stages,
                                             losing->task, losing->is_there,    losing->last};
        dump_record(d, &rerun_kinds[LOSING].kind, &record);
    }
}
