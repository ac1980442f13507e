/* What others may make the engine hold and begin, in a dump. WHY a record of its own: logs of before have
 * none, and are without these bounds. */
#include "controller/engine/dump.h"
#include "controller/engine/job.h"

#include <errno.h>
#include <inttypes.h>

struct begun_record {
    uint32_t host_attempts_max, host_starts_max, step_starts_max;
};
/* A step that ended at its bound; job 0: it was for no stage that is late. */
struct cut_record {
    uint64_t job;
    uint32_t stage;
};
DUMP_FITS(struct begun_record);
DUMP_FITS(struct cut_record);

static int load_begun(struct engine *engine, const void *object, struct err *err)
{
    const struct begun_record *record = object;
    (void)err;
    engine->config.host_attempts_max = record->host_attempts_max;
    engine->config.host_starts_max = record->host_starts_max;
    engine->config.step_starts_max = record->step_starts_max;
    return 0;
}

static int load_cut(struct engine *engine, const void *object, struct err *err)
{
    const struct cut_record *record = object;
    const struct job *job = record->job ? job_find(engine, record->job) : NULL;
    struct stage *late = job ? job_stage_at(job, record->stage) : NULL;
    if (record->job && !late)
        return err_set(err, EINVAL, "stage %" PRIu64 "/%u, which is late, is not there",
                       record->job, record->stage);
    engine->cut_short = true;
    engine->late = late;
    return 0;
}

#define F FIELD_OF

enum { BEGUN, CUT };
const struct dump_kind account_kinds[] = {
    [BEGUN] = {{"begun",
                {F(begun_record, host_attempts_max, U32), F(begun_record, host_starts_max, U32),
                 F(begun_record, step_starts_max, U32)}},
               load_begun},
    [CUT] = {{"cut", {F(cut_record, job, U64), F(cut_record, stage, U32)}}, load_cut},
    {{0}, NULL},
};

void account_dump_config(struct dumper *d, const struct engine *engine)
{
    const struct engine_config *config = &engine->config;
    const struct begun_record begun = {config->host_attempts_max, config->host_starts_max,
                                       config->step_starts_max};
    if (begun.host_attempts_max || begun.host_starts_max || begun.step_starts_max)
        dump_record(d, &account_kinds[BEGUN].kind, &begun);
}

void account_dump_cut(struct dumper *d, const struct engine *engine)
{
    const struct stage *late = engine->late;
    const struct cut_record cut = {late ? late->job->number : 0, late ? late->index : 0};
    if (engine->cut_short)
        dump_record(d, &account_kinds[CUT].kind, &cut);
}
