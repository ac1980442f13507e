#include "controller/engine/books/at_most.h"

#include "controller/engine/base/ground.h"
#include "lib/fnv1a.h"
#include "lib/invariant.h"

#include <stdlib.h>
#include <string.h>

/* What runs of one scope in one place. */
struct crowd {
    struct sorted_node of_job;
    uint32_t n;
};

static bool is_any(struct at_most at_most)
{
    return !at_most.host && !at_most.rack;
}

static bool exceeds(uint32_t inner, uint32_t outer)
{
    return inner && outer && inner > outer;
}

bool at_most_is_valid(struct at_most outer, struct at_most inner)
{
    return !exceeds(outer.host, outer.rack) && !exceeds(inner.host, inner.rack) &&
           !exceeds(inner.host, outer.host) && !exceeds(inner.rack, outer.rack) &&
           !exceeds(inner.host, outer.rack);
}

uint32_t at_most_first(const struct job *job)
{
    uint32_t s = 0;
    while (is_any(job->at_most) && s < job->n_stages && is_any(job->stages[s]->at_most))
        s++;
    return is_any(job->at_most) ? s : ENGINE_NONE;
}

void at_most_begin(struct job *job)
{
    job->bounded = at_most_first(job) != job->n_stages;
}

/* Keys are (scope, kind of place, place): scope 0 is the job, 1 + s its stage s. WHY a digest of a
 * rack's name: nobody gains by two racks with one digest, which would share a bound. */
static struct sorted_key host_key(uint64_t scope, const struct host *host)
{
    return (struct sorted_key){scope, 0, host->index};
}

static struct sorted_key rack_key(uint64_t scope, const struct host *host)
{
    return (struct sorted_key){scope, 1, fnv1a(FNV1A_NOTHING, host->rack, strlen(host->rack))};
}

static uint64_t scope_of(const struct stage *stage)
{
    return stage ? 1 + (uint64_t)stage->index : 0;
}

static void count(struct engine *engine, struct job *job, struct sorted_key key, int by)
{
    struct sorted_node *node = sorted_find(&job->crowds, key);
    struct crowd *crowd = node ? container_of(node, struct crowd, of_job) : NULL;
    checked(crowd || by > 0);
    if (!crowd) {
        crowd = engine_allocate(engine, 1, sizeof(*crowd));
        sorted_insert(&job->crowds, &crowd->of_job, key, 0);
    }
    crowd->n += (uint32_t)by;
    if (crowd->n)
        return;
    sorted_remove(&job->crowds, &crowd->of_job);
    free(crowd);
}

static void count_scope(struct engine *engine, struct job *job, const struct stage *stage,
                        const struct host *host, int by)
{
    const struct at_most at_most = stage ? stage->at_most : job->at_most;
    if (at_most.host)
        count(engine, job, host_key(scope_of(stage), host), by);
    if (at_most.rack)
        count(engine, job, rack_key(scope_of(stage), host), by);
}

void at_most_count(struct engine *engine, struct attempt *attempt, int by)
{
    const struct stage *stage = attempt->task->stage;
    if (!stage->job->bounded)
        return;
    count_scope(engine, stage->job, NULL, attempt->host, by);
    count_scope(engine, stage->job, stage, attempt->host, by);
}

void at_most_recount(struct engine *engine, struct host *host, int by)
{
    struct attempt *attempt;
    if (!engine->bounded_jobs)
        return;
    TAILQ_FOREACH (attempt, &host->attempts, on_host)
        if (attempt->task)
            at_most_count(engine, attempt, by);
}

static uint32_t counted(const struct job *job, struct sorted_key key)
{
    const struct sorted_node *node = sorted_find(&job->crowds, key);
    return node ? container_of(node, const struct crowd, of_job)->n : 0;
}

uint32_t at_most_on_host(const struct job *job, const struct stage *stage, const struct host *host)
{
    return counted(job, host_key(scope_of(stage), host));
}

uint32_t at_most_on_rack(const struct job *job, const struct stage *stage, const struct host *host)
{
    return counted(job, rack_key(scope_of(stage), host));
}

static void bound(uint32_t most, uint32_t now, uint32_t *room)
{
    uint32_t left = most > now ? most - now : 0;
    *room = most && left < *room ? left : *room;
}

uint32_t at_most_room(const struct stage *of, const struct host *host)
{
    const struct stage *stage = of->first;
    const struct job *job = stage->job;
    uint32_t room = UINT32_MAX;
    if (!job->bounded)
        return room;
    bound(job->at_most.host, at_most_on_host(job, NULL, host), &room);
    bound(job->at_most.rack, at_most_on_rack(job, NULL, host), &room);
    bound(stage->at_most.host, at_most_on_host(job, stage, host), &room);
    bound(stage->at_most.rack, at_most_on_rack(job, stage, host), &room);
    return room;
}
