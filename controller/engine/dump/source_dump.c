/* Pairs of hosts that cannot read, in a dump. WHY records of their own: so that older dumps can be
 * read, the former ones keep their form. */
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/dump/dump.h"
#include "controller/engine/watch/source.h"

#include <errno.h>
#include <inttypes.h>

struct reach_record {
    uint32_t host, strikes;
    bool suspect, mute, blind, reached, cut;
    int64_t suspect_since_ns;
};
struct blind_record {
    uint32_t reader, source;
    int64_t since_ns, due_ns;
    bool overdue;
};
struct stall_record {
    uint32_t reader, source;
    uint64_t attempt;
};
DUMP_FITS(struct reach_record);
DUMP_FITS(struct blind_record);
DUMP_FITS(struct stall_record);

static int load_reach(struct engine *engine, const void *object, struct err *err)
{
    const struct reach_record *record = object;
    struct host *host = cluster_host(engine, record->host);
    if (!host || host->reach.suspect || record->strikes > SOURCE_STRIKES_MAX)
        return err_set(err, EINVAL, "host %u is not there, or its reach comes twice", record->host);
    engine->struck += record->strikes > 0;
    host->reach.strikes = record->strikes;
    host->reach.mute = record->mute;
    host->reach.blind = record->blind;
    host->reach.reached = record->reached;
    host->reach.cut = record->cut;
    host->reach.suspect_since_ns = record->suspect_since_ns;
    if (record->suspect)
        cluster_set_suspect(engine, host, &host->reach.suspect, true);
    return 0;
}

static int load_blind(struct engine *engine, const void *object, struct err *err)
{
    const struct blind_record *record = object;
    struct host *reader = cluster_host(engine, record->reader),
                *source = cluster_host(engine, record->source);
    if (!reader || !source ||
        !source_restore(engine, reader, source, record->since_ns, record->due_ns, record->overdue))
        return err_set(err, EINVAL, "hosts %u and %u are not there, or come twice", record->reader,
                       record->source);
    return 0;
}

static int load_stall(struct engine *engine, const void *object, struct err *err)
{
    const struct stall_record *record = object;
    struct blind *blind = source_find(engine, record->reader, record->source);
    struct attempt *attempt = attempt_find(engine, record->attempt);
    if (!blind || !attempt || !attempt->task || attempt->host != blind->reader)
        return err_set(err, EINVAL, "attempt %" PRIu64 " waits for host %u without being there",
                       record->attempt, record->source);
    source_restore_stall(engine, blind, attempt);
    return 0;
}

#define F FIELD_OF

enum { REACH, BLIND, STALL };
const struct dump_kind source_kinds[] = {
    [REACH] = {{"reach",
                {F(reach_record, host, U32), F(reach_record, strikes, U32),
                 F(reach_record, suspect, BOOL), F(reach_record, mute, BOOL),
                 F(reach_record, blind, BOOL), F(reach_record, reached, BOOL),
                 F(reach_record, cut, BOOL), F(reach_record, suspect_since_ns, I64)}},
               load_reach},
    [BLIND] = {{"blind",
                {F(blind_record, reader, U32), F(blind_record, source, U32),
                 F(blind_record, since_ns, I64), F(blind_record, due_ns, I64),
                 F(blind_record, overdue, BOOL)}},
               load_blind},
    [STALL] = {{"stall",
                {F(stall_record, reader, U32), F(stall_record, source, U32),
                 F(stall_record, attempt, U64)}},
               load_stall},
    {{0}, NULL},
};

void source_dump_reach(struct dumper *d, const struct host *host)
{
    const struct reach *reach = &host->reach;
    const struct reach_record record = {
        .host = host->index,
        .strikes = reach->strikes,
        .suspect = reach->suspect,
        .mute = reach->mute,
        .blind = reach->blind,
        .reached = reach->reached,
        .cut = reach->cut,
        .suspect_since_ns = reach->suspect_since_ns,
    };
    if (reach->strikes || reach->suspect || reach->blind || reach->reached)
        dump_record(d, &source_kinds[REACH].kind, &record);
}

void source_dump_blind(struct dumper *d, const struct blind *blind)
{
    const struct blind_record record = {blind->reader->index, blind->source->index, blind->since_ns,
                                        blind->due_ns, blind->overdue};
    dump_record(d, &source_kinds[BLIND].kind, &record);
    const struct stall *stall;
    TAILQ_FOREACH (stall, &blind->stalls, of_blind) {
        const struct stall_record one = {blind->reader->index, blind->source->index,
                                         stall->attempt->number};
        dump_record(d, &source_kinds[STALL].kind, &one);
    }
}
