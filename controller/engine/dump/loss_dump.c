/* How often tasks were lost with their hosts, in a dump. WHY records of their own: so that older
 * dumps can be read, the former ones keep their form. */
#include "controller/engine/books/job.h"
#include "controller/engine/dump/dump.h"

#include <errno.h>
#include <inttypes.h>

struct loss_record {
    uint64_t job;
    uint32_t stage, task, losses;
};
DUMP_FITS(struct loss_record);

static int load_loss(struct engine *engine, const void *object, struct err *err)
{
    const struct loss_record *record = object;
    struct task *task = job_find_task(engine, record->job, record->stage, record->task);
    if (!task || task->losses || !record->losses || !engine->config.losses_max)
        return err_set(err, EINVAL,
                       "task %" PRIu64 "/%u/%u is not there, or its losses come twice, or are not "
                       "counted",
                       record->job, record->stage, record->task);
    task->losses = record->losses;
    return 0;
}

#define F FIELD_OF

enum { LOSS };
const struct dump_kind loss_kinds[] = {
    [LOSS] = {{"loss",
               {F(loss_record, job, U64), F(loss_record, stage, U32), F(loss_record, task, U32),
                F(loss_record, losses, U32)}},
              load_loss},
    {{0}, NULL},
};

void loss_dump_task(struct dumper *d, const struct task *task)
{
    const struct loss_record record = {task->stage->job->number, task->stage->index, task->index,
                                       task->losses};
    if (record.losses)
        dump_record(d, &loss_kinds[LOSS].kind, &record);
}
