/* Bounds of what others make the engine hold and begin, in a dump. WHY records of their own: older
 * logs have none, and run without these bounds. */
#include "controller/engine/books/account.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/limit.h"
#include "controller/engine/dump/dump.h"

#include <errno.h>
#include <inttypes.h>

struct shares_record {
    uint64_t memory_max, framework_memory_max;
    uint32_t stage_tasks_max;
};
struct begun_record {
    uint32_t host_attempts_max, host_starts_max, step_starts_max, step_ready_max;
};
struct looked_record {
    uint32_t step_tasks_max;
};
struct spared_record {
    uint32_t lapses_spared;
    bool lapses_of_keys;
};
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
DUMP_FITS(struct shares_record);
DUMP_FITS(struct begun_record);
DUMP_FITS(struct looked_record);
DUMP_FITS(struct spared_record);
DUMP_FITS(struct lapses_record);
DUMP_FITS(struct cut_record);

static int load_begun(struct engine *engine, const void *object, struct err *err)
{
    const struct begun_record *record = object;
    (void)err;
    engine->config.host_attempts_max = record->host_attempts_max;
    engine->config.host_starts_max = record->host_starts_max;
    engine->config.step_starts_max = record->step_starts_max;
    engine->config.step_ready_max = record->step_ready_max;
    return 0;
}

static int load_shares(struct engine *engine, const void *object, struct err *err)
{
    const struct shares_record *record = object;
    (void)err;
    engine->config.memory_max = record->memory_max;
    engine->config.framework_memory_max = record->framework_memory_max;
    engine->config.stage_tasks_max = record->stage_tasks_max;
    return 0;
}

static int load_looked(struct engine *engine, const void *object, struct err *err)
{
    const struct looked_record *record = object;
    (void)err;
    engine->config.step_tasks_max = record->step_tasks_max;
    return 0;
}

static int load_spared(struct engine *engine, const void *object, struct err *err)
{
    const struct spared_record *record = object;
    (void)err;
    engine->config.lapses_spared = record->lapses_spared;
    engine->config.lapses_of_keys = record->lapses_of_keys;
    return 0;
}

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

#define F FIELD_OF

enum { SHARES, BEGUN, LOOKED, SPARED, LAPSES, CUT };
const struct dump_kind account_kinds[] = {
    [SHARES] = {{"shares",
                 {F(shares_record, memory_max, U64), F(shares_record, framework_memory_max, U64),
                  F(shares_record, stage_tasks_max, U32)}},
                load_shares},
    [BEGUN] = {{"begun",
                {F(begun_record, host_attempts_max, U32), F(begun_record, host_starts_max, U32),
                 F(begun_record, step_starts_max, U32),
                 FIELD_ADDED(begun_record, step_ready_max, U32)}},
               load_begun},
    [LOOKED] = {{"looked", {F(looked_record, step_tasks_max, U32)}}, load_looked},
    [SPARED] = {{"spared",
                 {F(spared_record, lapses_spared, U32),
                  FIELD_ADDED(spared_record, lapses_of_keys, BOOL)}},
                load_spared},
    [LAPSES] = {{"lapses",
                 {F(lapses_record, level, U32), F(lapses_record, id, U64),
                  F(lapses_record, limit, U32), F(lapses_record, spare, U32),
                  F(lapses_record, lapsed, U64)}},
                load_lapses},
    [CUT] = {{"cut", {F(cut_record, job, U64), F(cut_record, stage, U32)}}, load_cut},
    {{0}, NULL},
};

static void dump_owners(struct dumper *d, const struct engine *engine)
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

void account_dump_config(struct dumper *d, const struct engine *engine)
{
    const struct engine_config *config = &engine->config;
    const struct begun_record begun = {config->host_attempts_max, config->host_starts_max,
                                       config->step_starts_max, config->step_ready_max};
    if (begun.host_attempts_max || begun.host_starts_max || begun.step_starts_max ||
        begun.step_ready_max)
        dump_record(d, &account_kinds[BEGUN].kind, &begun);
    const struct shares_record shares = {config->memory_max, config->framework_memory_max,
                                         config->stage_tasks_max};
    if (shares.memory_max || shares.stage_tasks_max)
        dump_record(d, &account_kinds[SHARES].kind, &shares);
    const struct looked_record looked = {config->step_tasks_max};
    if (looked.step_tasks_max)
        dump_record(d, &account_kinds[LOOKED].kind, &looked);
    const struct spared_record spared = {config->lapses_spared, config->lapses_of_keys};
    if (spared.lapses_spared)
        dump_record(d, &account_kinds[SPARED].kind, &spared);
    dump_owners(d, engine);
}

/* WHY not an account without jobs and facts: it exists for a shape, and is freed with it. */
static void dump_lapses(struct dumper *d, const struct engine *engine)
{
    struct sorted_node *node = sorted_first(&engine->accounts);
    for (; node && node->key.a <= ACCOUNT_KEY; node = sorted_next(node)) {
        const struct account *account = container_of(node, struct account, by_id);
        const struct lapses_record lapses = {account->level, account->limit, account->spare,
                                             account->id, account->lapsed};
        bool told = account->level != ACCOUNT_APPLICATION || account->above[0] || account->jobs;
        if (told && (account->limit || account->spare || account->lapsed))
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

void account_dump_cut(struct dumper *d, const struct engine *engine)
{
    const struct stage *late = engine->late;
    const struct cut_record cut = {late ? late->job->number : 0, late ? late->index : 0};
    account_dump_submitter(d, engine->submitter);
    dump_lapses(d, engine);
    if (engine->cut_short)
        dump_record(d, &account_kinds[CUT].kind, &cut);
}
