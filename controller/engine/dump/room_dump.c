#include "controller/engine/dump/dump.h"

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
        struct event event = told(node->key.a, ENGINE_NONE);
        dump_event(d, &event);
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
