/* Bounds of what others make the engine hold and begin, in a dump. WHY records of their own: older
 * logs have none, and run without these bounds. */
#include "controller/engine/base/job_stages.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/limit.h"
#include "controller/engine/dump/dump.h"
#include "controller/engine/facts/backlog_turns.h"

#include <errno.h>
#include <inttypes.h>

/* Of an application, a user or a key. */
struct lapses_record {
    uint32_t level, limit, spare;
    uint64_t id, lapsed;
};
/* A step that ended at its bound; job 0: not for a stage that is late. */
struct cut_record {
    uint64_t job;
    uint32_t stage;
};
/* From which application on the next step begins with what is left: of looks, and of tasks that
 * become ready. None where both begin with the first. */
struct turns_record {
    uint64_t looks, ready;
};
/* Ways that count for another owner than the job's. */
struct ways_record {
    uint64_t job, owner;
    uint32_t stage, level;
};
DUMP_FITS(struct lapses_record);
DUMP_FITS(struct ways_record);
DUMP_FITS(struct cut_record);
DUMP_FITS(struct turns_record);

static int load_lapses(struct engine *engine, const void *object, struct err *err)
{
    const struct lapses_record *record = object;
    struct account *account = account_loaded(engine, record->level, record->id);
    if (!account)
        return err_set(err, EINVAL, "nobody has the account %u/%" PRIu64, record->level,
                       record->id);
    limit_set(account, record->limit);
    account->spare = record->spare;
    account->lapsed = record->lapsed;
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

static int load_turns(struct engine *engine, const void *object, struct err *err)
{
    const struct turns_record *record = object;
    if (backlog_restore_turns(engine, record->looks, record->ready))
        return 0;
    return err_set(err, EINVAL, "no application has the number %" PRIu64 " or %" PRIu64,
                   record->looks, record->ready);
}

static int load_ways(struct engine *engine, const void *object, struct err *err)
{
    const struct ways_record *record = object;
    const struct job *job = job_find(engine, record->job);
    const struct stage *stage = job ? job_stage_at(job, record->stage) : NULL;
    if (!stage || !stage->choice)
        return err_set(err, EINVAL, "stage %" PRIu64 "/%u, which has several ways, is not there",
                       record->job, record->stage);
    struct account *owner = account_restore(engine, record->level, record->owner);
    if (!owner)
        return err_set(err, EINVAL, "ways count for an owner of level %u, which none has",
                       record->level);
    account_move_ways(engine, stage->choice->ways, owner);
    return 0;
}

#define F FIELD_OF

enum { LAPSES, CUT, WAYS, TURNS };
const struct dump_kind account_kinds[] = {
    [LAPSES] = {{"lapses",
                 {F(lapses_record, level, U32), F(lapses_record, id, U64),
                  F(lapses_record, limit, U32), F(lapses_record, spare, U32),
                  F(lapses_record, lapsed, U64)}},
                load_lapses},
    [CUT] = {{"cut", {F(cut_record, job, U64), F(cut_record, stage, U32)}}, load_cut},
    [WAYS] = {{"ways",
               {F(ways_record, job, U64), F(ways_record, stage, U32), F(ways_record, level, U32),
                F(ways_record, owner, U64)}},
              load_ways},
    [TURNS] = {{"turns", {F(turns_record, looks, U64), F(turns_record, ready, U64)}}, load_turns},
    {{0}, NULL},
};

void account_dump_owners(struct dumper *d, const struct engine *engine)
{
    struct sorted_node *node = sorted_first(&engine->accounts);
    for (; node && node->key.a == ACCOUNT_APPLICATION; node = sorted_next(node)) {
        const struct account *account = container_of(node, struct account, by_id);
        struct event event = {.kind = EVENT_FRAMEWORK_OWNER};
        if (!account->above[0])
            continue;
        event.framework_owner.application = account->id;
        event.framework_owner.user = account->above[0]->id;
        event.framework_owner.key = account->above[1]->id;
        event.framework_owner.tells = account->away ? OWNER_AWAY : OWNER_THERE;
        dump_event(d, &event);
    }
}

static void dump_lapses(struct dumper *d, const struct engine *engine)
{
    struct sorted_node *node = sorted_first(&engine->accounts);
    for (; node && node->key.a <= ACCOUNT_KEY; node = sorted_next(node)) {
        const struct account *account = container_of(node, struct account, by_id);
        const struct lapses_record lapses = {account->level, account->limit, account->spare,
                                             account->id, account->lapsed};
        if (account->limit || account->spare || account->lapsed)
            dump_record(d, &account_kinds[LAPSES].kind, &lapses);
    }
}

void account_dump_submitter(struct dumper *d, uint64_t submitter)
{
    struct event event = {.kind = EVENT_JOB_SUBMITTER};
    event.job_submitter.submitter = submitter;
    if (submitter)
        dump_event(d, &event);
}

/* WHY with jobs, and not in the ways' own order: that is the one in which they were made, and a
 * loaded engine has made them in the order of jobs. */
void account_dump_ways(struct dumper *d, const struct job *job)
{
    for (uint32_t s = 0; s < job->n_stages; s++) {
        const struct choice *choice = job->stages[s]->choice;
        const struct account *account = choice ? choice->ways->account : NULL;
        if (!account || account == job->account)
            continue;
        const struct ways_record ways = {job->number, account->id, s, account->level};
        dump_record(d, &account_kinds[WAYS].kind, &ways);
    }
}

void account_dump_cut(struct dumper *d, const struct engine *engine)
{
    const struct stage *late = engine->late;
    const struct cut_record cut = {late ? late->job->number : 0, late ? late->index : 0};
    const struct turns_record turns = {engine->backlog.turns[BACKLOG_LOOKS],
                                       engine->backlog.turns[BACKLOG_READY]};
    account_dump_submitter(d, engine->submitter);
    dump_lapses(d, engine);
    if (turns.looks || turns.ready)
        dump_record(d, &account_kinds[TURNS].kind, &turns);
    if (engine->cut_short)
        dump_record(d, &account_kinds[CUT].kind, &cut);
}
