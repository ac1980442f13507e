#include "controller/engine/facts/rooms.h"

#include "controller/engine/base/backlog.h"
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

static uint64_t first_job(const struct application *application)
{
    return application->number == ENGINE_EVERYBODY
               ? 0
               : application->number << ENGINE_APPLICATION_SHIFT;
}

/* Its next job, from `reached` on; NULL: none is left. */
static struct job *next_job(const struct engine *engine, const struct application *application)
{
    const struct sorted_key from = {application->reached, 0, 0};
    const struct sorted_node *node = sorted_from(&engine->jobs, from);
    struct job *job = node ? container_of(node, struct job, by_number) : NULL;
    return job && (application->number == ENGINE_EVERYBODY ||
                   job->number >> ENGINE_APPLICATION_SHIFT == application->number)
               ? job
               : NULL;
}

static bool may_move(const struct engine *engine)
{
    return !engine_follows(engine, RULE_ROOMS_WAIT) || engine_may_look(engine);
}

static void begin(struct engine *engine, struct application *application, bool leaving)
{
    const struct sorted_key key = {application->number << ENGINE_APPLICATION_SHIFT,
                                   application->number, 0};
    application->leaving = leaving;
    application->reached = first_job(application);
    sorted_place(&engine->moving, &application->of_moving, key, 0);
}

/* All its jobs have entered, or left. */
static void moved(struct engine *engine, struct application *application)
{
    application->reached = UINT64_MAX;
    sorted_remove(&engine->moving, &application->of_moving);
    if (application->tells == application->leaving) {
        begin(engine, application, !application->leaving);
    } else if (application->leaving) {
        sorted_remove(&engine->applications, &application->by_number);
        free(application);
    }
}

/* The next of its jobs takes the other room from now on. */
static void move_one(struct engine *engine, struct application *application)
{
    struct job *job = next_job(engine, application);
    if (!job) {
        moved(engine, application);
        return;
    }
    application->reached = job->number + 1;
    engine->step_looks += LOOKS_OF_CHANGE;
    for (uint32_t s = 0; job->framework && s < job->n_stages; s++) {
        engine->step_looks += 2 * LOOKS_OF_CHANGE + job->stages[s]->n_ready;
        refit_stage(engine, job->stages[s]);
    }
}

void rooms_go_on(struct engine *engine)
{
    struct sorted_node *node;
    while ((node = backlog_first(engine, &engine->moving)) && may_move(engine))
        move_one(engine, container_of(node, struct application, of_moving));
}

/* Older recordings were made by a controller that moved all jobs at once. */
static void jobs_move(struct engine *engine, struct application *application, bool leaving)
{
    if (!application->of_moving.in)
        begin(engine, application, leaving);
    if (!engine_follows(engine, RULE_ROOMS_WAIT))
        rooms_go_on(engine);
}

void rooms_restore_moving(struct engine *engine, struct application *application, bool leaving,
                          uint64_t reached)
{
    begin(engine, application, leaving);
    application->reached = reached;
}

static struct application *application_make(struct engine *engine, uint64_t number)
{
    if (engine->applications.n >= engine->config.shapes_max)
        return NULL;
    struct application *application = engine_allocate(engine, 1, sizeof(*application));
    struct sorted_key key = {number, 0, 0};
    application->number = number;
    TAILQ_INIT(&application->rooms);
    application->tells = true;
    application->reached = UINT64_MAX;
    sorted_insert(&engine->applications, &application->by_number, key, 0);
    if (engine->jobs.n)
        jobs_move(engine, application, false);
    return application;
}

static void application_drop(struct engine *engine, struct application *application)
{
    static const struct resources nothing;
    for (struct room *room = TAILQ_FIRST(&application->rooms); room;
         room = TAILQ_FIRST(&application->rooms))
        room_resize(engine, application, room, &nothing);
    application->tells = false;
    jobs_move(engine, application, true);
}

/* It reports rooms, again while its jobs leave them, and perhaps one of them. */
static void application_told(struct engine *engine, struct application *application,
                             const struct event *event)
{
    application->tells = true;
    if (event->framework_room.host != ENGINE_NONE)
        host_told(engine, application, event);
}

void room_told(struct engine *engine, const struct event *event)
{
    uint64_t number = event->framework_room.application;
    bool possible = number && engine->config.framework_jobs_max;
    struct application *application = possible ? room_application(engine, number) : NULL;
    if (possible && !application && event->framework_room.tells)
        application = application_make(engine, number);
    if (!application || !(application->tells || event->framework_room.tells))
        ignored(engine);
    else if (!event->framework_room.tells)
        application_drop(engine, application);
    else
        application_told(engine, application, event);
}
