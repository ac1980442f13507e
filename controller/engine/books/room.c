#include "controller/engine/books/room.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/resources.h"
#include "controller/engine/books/cluster.h"

#include <stdlib.h>

struct room *room_find(const struct host *host, uint64_t application)
{
    struct sorted_key key = {application, 0, 0};
    struct sorted_node *node = sorted_find(&host->rooms, key);
    return node ? container_of(node, struct room, by_application) : NULL;
}

struct application *room_application(const struct engine *engine, uint64_t number)
{
    struct sorted_key key = {number, 0, 0};
    struct sorted_node *node = sorted_find(&engine->applications, key);
    return node ? container_of(node, struct application, by_number) : NULL;
}

static bool is_in_rooms_of(const struct engine *engine, const struct job *job, uint64_t number)
{
    const struct application *application = room_application(engine, number);
    return application && (job->number < application->reached) != application->leaving;
}

uint64_t room_owner(const struct engine *engine, const struct job *job)
{
    uint64_t number = job->number >> ENGINE_APPLICATION_SHIFT;
    if (!job->framework || !engine->applications.n)
        return 0;
    return is_in_rooms_of(engine, job, number)             ? number
           : is_in_rooms_of(engine, job, ENGINE_EVERYBODY) ? ENGINE_EVERYBODY
                                                           : 0;
}

/* From the first units first. */
static struct resources units_count(struct host *host,
                                    void (*count)(struct resources *, const struct resources *))
{
    struct resources left = host->taken;
    for (uint32_t i = 0; i < host->n_units; i++) {
        struct resources part = left;
        for (int r = 0; r < ENGINE_RESOURCES; r++)
            if (part.amount[r] > host->units[i].total.amount[r])
                part.amount[r] = host->units[i].total.amount[r];
        count(&host->units[i].free, &part);
        resources_subtract(&left, &part);
    }
    return left;
}

void room_take(struct host *host)
{
    host->beyond = units_count(host, resources_subtract);
}

void room_give_back(struct host *host)
{
    units_count(host, resources_add);
}

static struct room *room_of(const struct attempt *attempt)
{
    const struct host *host = attempt->host;
    struct room *room =
        attempt->foreign ? room_find(host, attempt->job_number >> ENGINE_APPLICATION_SHIFT) : NULL;
    return room || !attempt->foreign ? room : room_find(host, ENGINE_EVERYBODY);
}

void room_enter(struct engine *engine, struct attempt *attempt)
{
    struct room *room = room_of(attempt);
    if (room == attempt->room)
        return;
    host_occupy(engine, attempt, false);
    attempt->room = room;
    host_occupy(engine, attempt, true);
}

void room_done(struct host *host)
{
    for (struct sorted_node *node = sorted_first(&host->rooms); node;
         node = sorted_first(&host->rooms)) {
        sorted_remove(&host->rooms, node);
        free(container_of(node, struct room, by_application));
    }
}

void room_applications_done(struct engine *engine)
{
    for (struct sorted_node *node = sorted_first(&engine->applications); node;
         node = sorted_first(&engine->applications)) {
        sorted_remove(&engine->applications, node);
        free(container_of(node, struct application, by_number));
    }
}
