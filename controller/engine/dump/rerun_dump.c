/* Whose output was lost how often, in a dump. WHY records of their own: those of before keep their form,
 * so that dumps of before are read. */
#include "controller/engine/books/job.h"
#include "controller/engine/dump/dump.h"

#include <errno.h>
#include <inttypes.h>

struct reruns_record {
    uint32_t reruns_max;
};
struct rerun_record {
    uint64_t job;
    uint32_t stage, task, reruns;
};
DUMP_FITS(struct reruns_record);
DUMP_FITS(struct rerun_record);

static int load_reruns(struct engine *engine, const void *object, struct err *err)
{
    const struct reruns_record *record = object;
    (void)err;
    engine->config.reruns_max = record->reruns_max;
    return 0;
}

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
    task->reruns = record->reruns;
    return 0;
}

#define F FIELD_OF

enum { RERUNS, RERUN };
const struct dump_kind rerun_kinds[] = {
    [RERUNS] = {{"reruns", {F(reruns_record, reruns_max, U32)}}, load_reruns},
    [RERUN] = {{"rerun",
                {F(rerun_record, job, U64), F(rerun_record, stage, U32), F(rerun_record, task, U32),
                 F(rerun_record, reruns, U32)}},
               load_rerun},
    {{0}, NULL},
};

void rerun_dump_config(struct dumper *d, const struct engine *engine)
{
    const struct reruns_record reruns = {engine->config.reruns_max};
    if (reruns.reruns_max)
        dump_record(d, &rerun_kinds[RERUNS].kind, &reruns);
}

void rerun_dump_task(struct dumper *d, const struct task *task)
{
    const struct rerun_record record = {task->stage->job->number, task->stage->index, task->index,
                                        task->reruns};
    if (record.reruns)
        dump_record(d, &rerun_kinds[RERUN].kind, &record);
}
