#include "controller/engine/books/room.h"
#include "controller/engine/dump/dump.h"
#include "controller/engine/facts/rooms.h"

#include <errno.h>
#include <inttypes.h>

/* After its first report, before any job. */
struct moving_record {
    uint64_t application, reached;
    bool leaving, tells;
};
DUMP_FITS(struct moving_record);

static int load_moving(struct engine *engine, const void *object, struct err *err)
{
    const struct moving_record *record = object;
    struct application *application = room_application(engine, record->application);
    if (!application || application->of_moving.in || engine->jobs.n)
        return err_set(err, EINVAL,
                       "application %" PRIu64 " reports no rooms, or its jobs move already",
                       record->application);
    rooms_restore_moving(engine, application, record->leaving, record->reached);
    application->tells = record->tells;
    return 0;
}

#define F FIELD_OF

enum { MOVING };
const struct dump_kind room_kinds[] = {
    [MOVING] = {{"moving",
                 {F(moving_record, application, U64), F(moving_record, reached, U64),
                  F(moving_record, leaving, BOOL), F(moving_record, tells, BOOL)}},
                load_moving},
    {{0}, NULL},
};

static struct event told(uint64_t application, uint32_t host)
{
    struct event event = {.kind = EVENT_FRAMEWORK_ROOM};
    event.framework_room.application = application;
    event.framework_room.tells = 1;
    event.framework_room.host = host;
    return event;
}

void room_dump(struct dumper *d, const struct engine *engine)
{
    struct sorted_node *node;
    for (node = sorted_first(&engine->applications); node; node = sorted_next(node)) {
        const struct application *application = container_of(node, struct application, by_number);
        const struct moving_record moving = {application->number, application->reached,
                                             application->leaving, application->tells};
        struct event event = told(application->number, ENGINE_NONE);
        dump_event(d, &event);
        if (application->of_moving.in)
            dump_record(d, &room_kinds[MOVING].kind, &moving);
    }
    for (uint32_t i = 0; engine->rooms && i < engine->n_hosts; i++) {
        const struct host *host = engine->hosts[i];
        for (node = host ? sorted_first(&host->rooms) : NULL; node; node = sorted_next(node)) {
            struct event event = told(node->key.a, i);
            event.framework_room.resources =
                container_of(node, struct room, by_application)->unit.total;
            dump_event(d, &event);
        }
    }
}
