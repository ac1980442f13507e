/* Hosts and shapes in a dump: a host as the event that made it, then what changed since. */
#include "controller/engine/books/account.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/dump/dump.h"
#include "controller/engine/facts/hosts.h"

#include <errno.h>
#include <string.h>

struct shape_record {
    struct resources demand;
    char constraint[CONSTRAINT_MAX];
    uint64_t application, bound;
    uint32_t owner_level; /* 1 + the level of the account that it counts for; 0: for none */
    uint64_t owner;
};
struct host_record {
    uint32_t host;
    bool joined, silent, lost, draining;
    uint32_t uplink_permille, downlink_permille, foreign_permille;
    uint32_t disk_permille, disk_readers;
    bool downlink_ours, disk_hangs;
    uint64_t tie_draws;
};
DUMP_FITS(struct shape_record);
DUMP_FITS(struct host_record);

static int load_shape(struct engine *engine, const void *object, struct err *err)
{
    const struct shape_record *record = object;
    struct shape *shape =
        cluster_shape_create(engine, &record->demand, record->constraint,
                             &(struct shape_of){record->application, record->bound});
    if (!shape)
        return err_set(err, EINVAL, "more than %u shapes", engine->config.shapes_max);
    if (!record->owner_level)
        return 0;
    struct account *owner = account_restore(engine, record->owner_level - 1, record->owner);
    if (!owner)
        return err_set(err, EINVAL, "a shape counts for an owner of level %u, which none has",
                       record->owner_level);
    account_take_shape(engine, shape, owner);
    return 0;
}

static int load_host(struct engine *engine, const void *object, struct err *err)
{
    const struct host_record *record = object;
    struct host *host = cluster_adopt(engine, record->host);
    if (!host || host->joined != record->joined)
        return err_set(err, EINVAL, "host %u joined without its record, or is beyond the bound",
                       record->host);
    cluster_restore(engine, host, record->silent, record->lost, record->draining,
                    record->uplink_permille);
    host->downlink_permille = record->downlink_permille;
    host->foreign_permille = record->foreign_permille;
    host->downlink_ours = record->downlink_ours;
    host->disk_permille = record->disk_permille;
    host->disk_readers = record->disk_readers;
    host->disk_hangs = record->disk_hangs;
    host->tie_draws = record->tie_draws - 1;
    host_draw_tie(engine, host);
    host_touch(engine, host);
    return 0;
}

#define F FIELD_OF

/* WHY a kind of its own: older dumps fix the form of the other one. */
enum { SHAPE, ROOM_SHAPE, HOST };
const struct dump_kind cluster_kinds[] = {
    [SHAPE] = {{"shape",
                {F(shape_record, demand, RESOURCES), F(shape_record, constraint, CHARS),
                 FIELD_LEAN(shape_record, owner_level, U32), FIELD_LEAN(shape_record, owner, U64)}},
               load_shape},
    [ROOM_SHAPE] = {{"room_shape",
                     {F(shape_record, application, U64), F(shape_record, demand, RESOURCES),
                      F(shape_record, constraint, CHARS), FIELD_ADDED(shape_record, bound, U64),
                      FIELD_LEAN(shape_record, owner_level, U32),
                      FIELD_LEAN(shape_record, owner, U64)}},
                    load_shape},
    [HOST] = {{"host",
               {F(host_record, host, U32), F(host_record, joined, BOOL),
                F(host_record, silent, BOOL), F(host_record, lost, BOOL),
                F(host_record, draining, BOOL), F(host_record, uplink_permille, U32),
                F(host_record, downlink_permille, U32), F(host_record, tie_draws, U64),
                FIELD_ADDED(host_record, foreign_permille, U32),
                FIELD_ADDED(host_record, downlink_ours, BOOL),
                FIELD_LEAN(host_record, disk_permille, U32),
                FIELD_LEAN(host_record, disk_readers, U32),
                FIELD_LEAN(host_record, disk_hangs, BOOL)}},
              load_host},
    {{0}, NULL},
};

void cluster_dump_shape(struct dumper *d, const struct shape *shape)
{
    struct shape_record record = {
        .demand = shape->demand, .application = shape->application, .bound = shape->bound};
    bool own = shape->application || shape->bound;
    if (shape->account) {
        record.owner_level = 1 + shape->account->level;
        record.owner = shape->account->id;
    }
    strcpy(record.constraint, shape->constraint);
    dump_record(d, &cluster_kinds[own ? ROOM_SHAPE : SHAPE].kind, &record);
}

void cluster_dump_host(struct dumper *d, const struct host *host)
{
    if (host->joined) {
        uint64_t *units = d->lists;
        for (uint32_t i = 0; i < host->n_units * ENGINE_RESOURCES; i++)
            units[i] =
                (uint64_t)host->units[i / ENGINE_RESOURCES].total.amount[i % ENGINE_RESOURCES];
        struct event join = {.kind = EVENT_HOST_JOIN};
        join.host_join.host = host->index;
        join.host_join.generation = host->generation;
        join.host_join.name = host->name;
        join.host_join.rack = host->rack;
        join.host_join.labels = host->labels;
        join.host_join.uplink_bps = host->uplink_bps;
        join.host_join.downlink_bps = host->downlink_bps;
        join.host_join.rack_bps = host->rack_bps;
        join.host_join.disk_bytes_s = host->disk_bytes_s;
        join.host_join.units = (struct u64s){units, host->n_units * ENGINE_RESOURCES};
        join.host_join.unit_names = host->unit_names;
        dump_event(d, &join);
    }
    struct host_record record = {
        .host = host->index,
        .joined = host->joined,
        .silent = host->silent,
        .lost = host->lost,
        .draining = host->draining,
        .uplink_permille = host->uplink_permille,
        .downlink_permille = host->downlink_permille,
        .tie_draws = host->tie_draws,
        .foreign_permille = host->foreign_permille,
        .downlink_ours = host->downlink_ours,
        .disk_permille = host->disk_permille,
        .disk_readers = host->disk_readers,
        .disk_hangs = host->disk_hangs,
    };
    dump_record(d, &cluster_kinds[HOST].kind, &record);
    source_dump_reach(d, host);
    failing_dump_host(d, host);
}
