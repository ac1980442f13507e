#include "controller/frameworks/application.h"
#include "controller/resource_bounds.h"
#include "controller/resources_wire.h"

#include "controller/engine/base/resources.h"
#include "lib/invariant.h"
#include "lib/log.h"

#include <errno.h>
#include <stdlib.h>

static void room_tell(const struct frameworks *frameworks, uint64_t application, uint32_t host,
                      const struct resources *resources, bool tells)
{
    struct event event = {.kind = EVENT_FRAMEWORK_ROOM};
    char text[96];
    event.framework_room.application = application;
    event.framework_room.tells = tells;
    event.framework_room.host = host;
    if (resources)
        event.framework_room.resources = *resources;
    /* Many executors may have more together than any one of them. */
    resource_bounds_cut(&event.framework_room.resources, frameworks->config.executor_slots_max,
                        text, sizeof(text));
    frameworks->hooks.event(frameworks->hooks.user, &event);
}

static struct executor_room *room_find(const struct frameworks *frameworks, uint64_t application,
                                       uint32_t host)
{
    struct executor_room key = {.key = {application, host}}, *room;
    HASH_FIND(hh, frameworks->rooms, &key.key, sizeof(key.key), room);
    return room;
}

static struct executor_room *room_make(struct frameworks *frameworks, uint64_t application,
                                       uint32_t host)
{
    struct executor_room *room = room_find(frameworks, application, host);
    if (room || !(room = calloc(1, sizeof(*room))))
        return room;
    room->key.application = application;
    room->key.host = host;
    HASH_ADD(hh, frameworks->rooms, key, sizeof(room->key), room);
    return room;
}

static void room_drop(struct frameworks *frameworks, struct executor_room *room)
{
    HASH_DEL(frameworks->rooms, room);
    free(room);
}

/* Shared room is reported while any application reports some. */
static uint64_t owner_of(const struct executor *executor, const struct application *application)
{
    return executor->shared ? ENGINE_EVERYBODY : application_number(application);
}

static void shared_count(struct frameworks *frameworks, const struct executor *executor, bool comes)
{
    if (!executor->shared)
        return;
    frameworks->shared += comes ? 1 : -1u;
    if (!frameworks->shared)
        room_tell(frameworks, ENGINE_EVERYBODY, ENGINE_NONE, NULL, false);
}

static uint64_t slots_of(const struct executor *executor)
{
    return (uint64_t)executor->resources.amount[RES_SLOTS];
}

static bool room_add(struct application *application, const struct executor *executor)
{
    struct frameworks *frameworks = application->frameworks;
    const uint64_t owner = owner_of(executor, application);
    struct executor_room *room = room_make(frameworks, owner, executor->host->host);
    if (!room)
        return false;
    room->executors++;
    application->executors.slots += slots_of(executor);
    resources_add(&room->sum, &executor->resources);
    shared_count(frameworks, executor, true);
    room_tell(frameworks, owner, executor->host->host, &room->sum, true);
    return true;
}

static void room_remove(struct application *application, const struct executor *executor)
{
    struct frameworks *frameworks = application->frameworks;
    const uint64_t owner = owner_of(executor, application);
    struct executor_room *room = room_find(frameworks, owner, executor->host->host);
    if (!room)
        return;
    assert(application->executors.slots >= slots_of(executor) && room->executors > 0);
    application->executors.slots -= slots_of(executor);
    resources_subtract(&room->sum, &executor->resources);
    room_tell(frameworks, owner, executor->host->host, &room->sum, true);
    shared_count(frameworks, executor, false);
    if (!--room->executors)
        room_drop(frameworks, room);
}

/* WHY not by removing and adding it: what is allowed there stays if it still fits. */
static void room_resize(struct application *application, struct executor *executor,
                        const struct resources *resources)
{
    const struct frameworks *frameworks = application->frameworks;
    const uint64_t owner = owner_of(executor, application);
    struct executor_room *room = room_find(frameworks, owner, executor->host->host);
    if (!room || resources_equal(&executor->resources, resources))
        return;
    assert(application->executors.slots >= slots_of(executor));
    application->executors.slots -= slots_of(executor);
    resources_subtract(&room->sum, &executor->resources);
    resources_add(&room->sum, resources);
    executor->resources = *resources;
    application->executors.slots += slots_of(executor);
    room_tell(frameworks, owner, executor->host->host, &room->sum, true);
}

static struct executor_host *host_find(const struct executors *executors, const char *name)
{
    struct executor_host *host;
    HASH_FIND(by_name, executors->hosts, name, strlen(name), host);
    return host;
}

static struct executor_host *host_claim(struct application *application, const char *name,
                                        const uint8_t *address)
{
    static const uint8_t unknown[16];
    struct executors *executors = &application->executors;
    const struct frameworks *frameworks = application->frameworks;
    struct executor_host *host = host_find(executors, name);
    if (host || !(host = calloc(1, sizeof(*host))))
        return host;
    const bool known = memcmp(address, unknown, sizeof(unknown)) != 0;
    host->host = frameworks->hooks.claim(frameworks->hooks.user, name, known ? address : NULL);
    if (host->host == ENGINE_NONE) {
        free(host);
        return NULL;
    }
    wire_copy(host->name, sizeof(host->name), name);
    HASH_ADD(by_name, executors->hosts, name, strlen(host->name), host);
    HASH_ADD(by_host, executors->hosts_by_index, host, sizeof(host->host), host);
    return host;
}

static void host_release(struct application *application, int64_t now_ns,
                         struct executor_host *host)
{
    struct executors *executors = &application->executors;
    const struct frameworks *frameworks = application->frameworks;
    HASH_DELETE(by_name, executors->hosts, host);
    HASH_DELETE(by_host, executors->hosts_by_index, host);
    frameworks->hooks.release(frameworks->hooks.user, now_ns, host->host);
    free(host);
}

uint32_t executors_host(const struct application *application, const char *name)
{
    const struct executor_host *host = host_find(&application->executors, name);
    return host ? host->host : ENGINE_NONE;
}

const char *executors_host_name(const struct application *application, uint32_t index)
{
    struct executor_host *host;
    HASH_FIND(by_host, application->executors.hosts_by_index, &index, sizeof(index), host);
    return host ? host->name : NULL;
}

static struct executor *executor_find(const struct executors *executors, const char *name)
{
    struct executor *executor;
    HASH_FIND(by_name, executors->by_name, name, strlen(name), executor);
    return executor;
}

static void executor_go(struct application *application, int64_t now_ns, struct executor *executor)
{
    struct executors *executors = &application->executors;
    if (executors->at == executor)
        executors->at = executor->by_name.next;
    HASH_DELETE(by_name, executors->by_name, executor);
    room_remove(application, executor);
    if (!--executor->host->executors)
        host_release(application, now_ns, executor->host);
    free(executor);
}

static void tell(struct application *application, bool tells)
{
    struct executors *executors = &application->executors;
    if (executors->is_known == tells)
        return;
    executors->is_known = tells;
    room_tell(application->frameworks, application_number(application), ENGINE_NONE, NULL, tells);
}

static int told_check(const duopoly_FrameworkExecutor *told, struct err *err)
{
    struct resources resources = resources_from_wire(&told->resources);
    if (!wire_name_valid(told->executor))
        return err_set(err, EINVAL,
                       "an executor's name is 1 to 63 printable characters without "
                       "spaces, slashes and quotes");
    if (!told->gone && !wire_name_valid(told->host))
        return err_set(err, EINVAL, "executor %s: its host has no name", told->executor);
    for (int r = 0; r < ENGINE_RESOURCES; r++)
        if (resources.amount[r] < 0)
            return err_set(err, EINVAL, "executor %s has less than nothing", told->executor);
    return 0;
}

/* The reported resources, cut to what is possible and to its share; a cut is logged once for an
 * application. `before`: what it has; NULL: it is new. */
static struct resources resources_told(struct application *application,
                                       const duopoly_FrameworkExecutor *told,
                                       const struct executor *before)
{
    struct resources resources = resources_from_wire(&told->resources);
    char text[96];
    if (resource_bounds_cut(&resources, application->frameworks->config.executor_slots_max, text,
                            sizeof(text)) &&
        !application->executors.cut) {
        application->executors.cut = true;
        log_warning(LOG_FAULT_PEER, "application %s: executor %s %s", application->name,
                    told->executor, text);
    }
    if (executors_cut_slots(application, before ? slots_of(before) : 0,
                            &resources.amount[RES_SLOTS]))
        application_over(application);
    return resources;
}

static bool stays(const struct executor *executor, const duopoly_FrameworkExecutor *told)
{
    return !told->gone && strcmp(executor->host->name, told->host) == 0 &&
           executor->shared == told->shared;
}

static int come(struct application *application, int64_t now_ns,
                const duopoly_FrameworkExecutor *told, struct err *err)
{
    struct executors *executors = &application->executors;
    if (HASH_CNT(by_name, executors->by_name) >= EXECUTORS_MAX)
        return err_set(err, EINVAL, "executor %s is one too many: %d are known", told->executor,
                       EXECUTORS_MAX);
    if (!executors_have_place(application)) {
        application_over(application);
        return 0;
    }
    struct executor_host *host = host_claim(application, told->host, told->address);
    struct executor *executor = host ? calloc(1, sizeof(*executor)) : NULL;
    if (!host) {
        application->frameworks->counters.unknown_hosts++;
        return err_set(err, EINVAL, "executor %s: as many hosts as are allowed are known",
                       told->executor);
    }
    if (executor) {
        wire_copy(executor->name, sizeof(executor->name), told->executor);
        executor->host = host;
        executor->resources = resources_told(application, told, NULL);
        executor->shared = told->shared;
        executor->session = executors->session;
    }
    if (!executor || !room_add(application, executor)) {
        free(executor);
        if (!host->executors)
            host_release(application, now_ns, host);
        return err_set(err, EINVAL, "executor %s: the controller is out of memory", told->executor);
    }
    host->executors++;
    HASH_ADD(by_name, executors->by_name, name, strlen(executor->name), executor);
    return 0;
}

int executors_take(struct application *application, int64_t now_ns,
                   const duopoly_Envelope *envelope, struct err *err)
{
    const duopoly_FrameworkExecutor *told = &envelope->body.framework_executor;
    struct executors *executors = &application->executors;
    int r = told_check(told, err);
    if (r < 0)
        return r;
    struct executor *executor = executor_find(executors, told->executor);
    if (!told->shared) {
        executors->tells = true;
        tell(application, true);
    }
    if (executor && stays(executor, told)) {
        const struct resources resources = resources_told(application, told, executor);
        executor->session = executors->session;
        room_resize(application, executor, &resources);
        return 0;
    }
    if (executor)
        executor_go(application, now_ns, executor);
    return told->gone ? 0 : come(application, now_ns, told, err);
}

void executors_begin(struct application *application, bool tells)
{
    application->executors.session++;
    application->executors.tells = tells;
    if (tells)
        tell(application, true);
}

void executors_end_begin(struct executors *executors, bool named)
{
    executors->session += !named;
    executors->at = executors->by_name;
}

bool executors_end_go_on(struct application *application, int64_t now_ns, int *left)
{
    struct executors *executors = &application->executors;
    for (; executors->at && *left > 0; --*left) {
        struct executor *executor = executors->at;
        executors->at = executor->by_name.next;
        if (executor->session == executors->session)
            continue;
        executor_go(application, now_ns, executor);
        *left -= EXECUTORS_LOOKS_OF_END;
    }
    return !executors->at;
}

void executors_replayed(struct application *application)
{
    if (!application->executors.tells)
        tell(application, false);
}

void executors_forget(struct application *application)
{
    tell(application, false);
}

void executors_done(struct application *application)
{
    struct executors *executors = &application->executors;
    struct executor *executor, *next;
    struct executor_host *host, *next_host;
    HASH_CLEAR(by_host, executors->hosts_by_index);
    HASH_ITER (by_name, executors->by_name, executor, next) {
        HASH_DELETE(by_name, executors->by_name, executor);
        free(executor);
    }
    HASH_ITER (by_name, executors->hosts, host, next_host) {
        HASH_DELETE(by_name, executors->hosts, host);
        free(host);
    }
}

void executors_rooms_done(struct frameworks *frameworks)
{
    struct executor_room *room, *next;
    HASH_ITER (hh, frameworks->rooms, room, next)
        room_drop(frameworks, room);
}

static void host_move(struct application *application, struct executor_host *host, uint32_t to)
{
    struct executors *executors = &application->executors;
    struct executor *executor, *next;
    HASH_ITER (by_name, executors->by_name, executor, next)
        if (executor->host == host)
            room_remove(application, executor);
    HASH_DELETE(by_host, executors->hosts_by_index, host);
    host->host = to;
    HASH_ADD(by_host, executors->hosts_by_index, host, sizeof(host->host), host);
    HASH_ITER (by_name, executors->by_name, executor, next)
        if (executor->host == host)
            room_add(application, executor);
}

void executors_move(struct frameworks *frameworks, uint32_t from, uint32_t to)
{
    for (int i = 0; i < FRAMEWORKS_MAX; i++) {
        struct application *application = frameworks->applications[i];
        struct executor_host *host, *next;
        if (!application)
            continue;
        HASH_ITER (by_name, application->executors.hosts, host, next)
            if (host->host == from)
                host_move(application, host, to);
    }
}
