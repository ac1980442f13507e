#include "controller/engine/facts/rooms.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/resources.h"
#include "controller/engine/base/tell.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/room.h"
#include "controller/engine/watch/allow.h"
#include "controller/engine/watch/refit.h"

#include <stdlib.h>

static void ignored(struct engine *engine)
{
    engine->counters.ignored_facts++;
}

static void attempts_follow(struct engine *engine, struct host *host)
{
    struct attempt *attempt;
    TAILQ_FOREACH (attempt, &host->attempts, on_host) {
        engine->counters.visits++;
        room_enter(engine, attempt);
    }
}

static struct attempt *newest_allow(const struct host *host, const struct room *room)
{
    struct attempt *attempt, *newest = NULL;
    TAILQ_FOREACH (attempt, &host->attempts, on_host)
        if (attempt->room == room && attempt->allowed_until_ns && !attempt->stopping &&
            (!newest || attempt->number > newest->number))
            newest = attempt;
    return newest;
}

static bool is_over(const struct resources *free)
{
    for (int r = 0; r < ENGINE_RESOURCES; r++)
        if (free->amount[r] < 0)
            return true;
    return false;
}

/* A withdrawn allow holds its room until the events of this step are applied. */
static void allows_shrink(struct engine *engine, const struct host *host, const struct room *room)
{
    struct resources free = room->unit.free;
    const struct attempt *attempt;
    TAILQ_FOREACH (attempt, &host->attempts, on_host)
        if (attempt->room == room && attempt->allowed_until_ns && attempt->stopping)
            resources_add(&free, &attempt->resources);
    for (struct attempt *allow = newest_allow(host, room); allow && is_over(&free);
         allow = newest_allow(host, room)) {
        resources_add(&free, &allow->resources);
        allow_withdraw(engine, allow, REASON_ROOM_GONE);
    }
}

static struct room *room_make(struct engine *engine, struct application *application,
                              struct host *host)
{
    if (engine->rooms >= (uint64_t)engine->config.hosts_max * engine->config.units_per_host_max)
        return NULL;
    struct room *room = engine_allocate(engine, 1, sizeof(*room));
    struct sorted_key key = {application->number, 0, 0};
    room->application = application->number;
    room->host = host;
    sorted_insert(&host->rooms, &room->by_application, key, 0);
    TAILQ_INSERT_TAIL(&application->rooms, room, of_application);
    engine->rooms++;
    return room;
}

static void room_drop(struct engine *engine, struct application *application, struct room *room)
{
    struct host *host = room->host;
    sorted_remove(&host->rooms, &room->by_application);
    TAILQ_REMOVE(&application->rooms, room, of_application);
    engine->rooms--;
    attempts_follow(engine, host);
    free(room);
}

static void room_resize(struct engine *engine, struct application *application, struct room *room,
                        const struct resources *resources)
{
    struct host *host = room->host;
    bool goes = resources_are_nothing(resources);
    host_leave_sums(engine, host);
    room_give_back(host);
    resources_subtract(&host->taken, &room->unit.total);
    resources_subtract(&host->room_free, &room->unit.total);
    resources_subtract(&room->unit.free, &room->unit.total);
    room->unit.total = *resources;
    resources_add(&host->taken, resources);
    resources_add(&host->room_free, resources);
    resources_add(&room->unit.free, resources);
    attempts_follow(engine, host);
    allows_shrink(engine, host, room);
    if (goes)
        room_drop(engine, application, room);
    room_take(host);
    host_enter_sums(engine, host);
    host_touch(engine, host);
    tell_cluster_changed(engine);
}

static void host_told(struct engine *engine, struct application *application,
                      const struct event *event)
{
    struct resources resources = event->framework_room.resources;
    for (int r = 0; r < ENGINE_RESOURCES; r++)
        resources.amount[r] =
            resources.amount[r] > 0 ? cluster_amount(engine, resources.amount[r]) : 0;
    struct host *host = resources_are_nothing(&resources)
                            ? cluster_host(engine, event->framework_room.host)
                            : cluster_adopt(engine, event->framework_room.host);
    struct room *room = host ? room_find(host, application->number) : NULL;
    if (!host || (!room && resources_are_nothing(&resources)))
        return;
    if (!room && !(room = room_make(engine, application, host)))
        ignored(engine);
    else
        room_resize(engine, application, room, &resources);
}

/* Tasks of the application's jobs take other room from now on. */
static void jobs_move(struct engine *engine, uint64_t number)
{
    bool all = number == ENGINE_EVERYBODY;
    struct sorted_key first = {all ? 0 : number << ENGINE_APPLICATION_SHIFT, 0, 0};
    for (struct sorted_node *node = sorted_from(&engine->jobs, first); node;
         node = sorted_next(node)) {
        struct job *job = container_of(node, struct job, by_number);
        if (!all && job->number >> ENGINE_APPLICATION_SHIFT != number)
            return;
        if (job->framework)
            refit_job(engine, job);
    }
}

static struct application *application_make(struct engine *engine, uint64_t number)
{
    if (engine->applications.n >= engine->config.shapes_max)
        return NULL;
    struct application *application = engine_allocate(engine, 1, sizeof(*application));
    struct sorted_key key = {number, 0, 0};
    application->number = number;
    TAILQ_INIT(&application->rooms);
    sorted_insert(&engine->applications, &application->by_number, key, 0);
    jobs_move(engine, number);
    return application;
}

static void application_drop(struct engine *engine, struct application *application)
{
    static const struct resources nothing;
    uint64_t number = application->number;
    for (struct room *room = TAILQ_FIRST(&application->rooms); room;
         room = TAILQ_FIRST(&application->rooms))
        room_resize(engine, application, room, &nothing);
    sorted_remove(&engine->applications, &application->by_number);
    free(application);
    jobs_move(engine, number);
}

void room_told(struct engine *engine, const struct event *event)
{
    uint64_t number = event->framework_room.application;
    bool possible = number && engine->config.framework_jobs_max;
    struct application *application = possible ? room_application(engine, number) : NULL;
    if (possible && !application && event->framework_room.tells)
        application = application_make(engine, number);
    if (!application)
        ignored(engine);
    else if (!event->framework_room.tells)
        application_drop(engine, application);
    else if (event->framework_room.host != ENGINE_NONE)
        host_told(engine, application, event);
}
