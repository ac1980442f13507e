#include "controller/engine/users/division.h"

#include "controller/engine/base/resources.h"
#include "controller/engine/base/say.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/users.h"
#include "controller/engine/share/granule.h"
#include "lib/invariant.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct engine_parameter parameter_granule_slots = {
    "granule_slots",
    ENGINE_UNIT_COUNT,
    0,
    1000000,
    1,
    "Slots of a granule, in which shares are counted; 0: slots do not count."};
const struct engine_parameter parameter_granule_cpu = {
    "granule_cpu_milli",
    ENGINE_UNIT_COUNT,
    0,
    INT64_C(1) << 40,
    0,
    "Thousandths of a processor of a granule; 0: they do not count."};
const struct engine_parameter parameter_granule_memory = {
    "granule_mem_bytes",
    ENGINE_UNIT_COUNT,
    0,
    INT64_C(1) << 50,
    0,
    "Bytes of memory of a granule; 0: they do not count."};

struct resources division_granule(const struct engine *engine)
{
    struct resources granule = {0};
    granule.amount[RES_SLOTS] = policy_value(engine, QUESTION_USERS, &parameter_granule_slots);
    granule.amount[RES_CPU_MILLI] = policy_value(engine, QUESTION_USERS, &parameter_granule_cpu);
    granule.amount[RES_MEM_BYTES] = policy_value(engine, QUESTION_USERS, &parameter_granule_memory);
    /* WHY: a granule of nothing would make any offer endless. */
    if (!granule.amount[RES_CPU_MILLI] && !granule.amount[RES_MEM_BYTES] &&
        !granule.amount[RES_SLOTS])
        granule.amount[RES_SLOTS] = 1;
    return granule;
}

uint64_t division_free(const struct engine *engine, const struct resources *granule)
{
    return granule_offer(granule->amount, engine->free.amount, ENGINE_RESOURCES);
}

uint64_t division_free_on(const struct host *host, const struct resources *granule)
{
    struct resources free = host->room_free;
    for (uint32_t i = 0; i < host->n_units; i++)
        resources_add(&free, &host->units[i].free);
    return granule_offer(granule->amount, free.amount, ENGINE_RESOURCES);
}

uint64_t division_claim_size(const struct resources *granule, const struct claim *claim)
{
    const struct resources *demand = &claim->task->stage->bucket->shape->demand;
    return granule_task(granule->amount, demand->amount, ENGINE_RESOURCES);
}

bool division_has_room(const struct engine *engine)
{
    for (uint32_t i = 0; i < engine->n_shapes; i++)
        if (engine->shapes[i]->ready_of_users && shape_times(engine, engine->shapes[i]) > 0)
            return true;
    return false;
}

static bool ask(struct engine *engine, struct user *user, struct host *host,
                struct claim *ret_claim)
{
    engine->asked = user;
    engine->asked_host = host;
    bool found = engine->place->pick(engine, ret_claim);
    engine->asked = NULL;
    engine->asked_host = NULL;
    return found;
}

bool division_ask(struct engine *engine, struct user *user, struct host *host,
                  struct claim *ret_claim)
{
    const struct place_policy *place = engine->place;
    if (!user->ready_here)
        return false;
    if (!host && place->in_vain && place->in_vain(engine, user)) {
        checked(!ask(engine, user, host, ret_claim));
        return false;
    }
    return ask(engine, user, host, ret_claim);
}

static bool has_room(const struct engine *engine, const struct user *user, const struct host *host)
{
    for (uint32_t i = 0; user->ready_here && i < engine->n_shapes; i++)
        if (shape_times(engine, engine->shapes[i]) > 0 && (!host || host->shapes[i]->fitting) &&
            users_ready(user, engine->shapes[i]))
            return true;
    return false;
}

bool division_is_held(const struct engine *engine, const struct user *user, const struct host *host)
{
    return engine->place->held && !(engine->place->full && engine->place->full(engine)) &&
           has_room(engine, user, host);
}

enum { NAMED = 4 };

void division_queue_add(struct division_queue *queue, const struct user *user, uint64_t amount)
{
    char name[ENGINE_NAME_MAX + 24];
    int n = snprintf(name, sizeof(name), "%s%s", queue->n ? ", " : "", user->name);
    if (amount)
        snprintf(name + n, sizeof(name) - (size_t)n, " %" PRIu64, amount);
    queue->n++;
    if (queue->n <= NAMED && strlen(queue->names) + strlen(name) < sizeof(queue->names))
        strcat(queue->names, name);
}

void division_queue_say(struct division_queue *queue)
{
    say(queue->e, queue->n ? "behind %s" : "behind nobody", queue->names);
    if (queue->n > NAMED)
        say(queue->e, " and %" PRIu32 " more", queue->n - NAMED);
    say_fact(queue->e, "user_waits_behind", "%s", queue->n ? queue->names : "nobody");
}
