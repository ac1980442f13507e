#include "controller/engine/books/racks.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/job.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* WHY bounded: as a host's uplink in sums (cluster.c). */
static const uint64_t MOST_BPS = UINT64_C(1) << 43;

static struct rack *find(const struct engine *engine, const char *name, struct sorted_key *ret_free)
{
    struct sorted_key key = {job_name_hash(name), 0, 0};
    struct sorted_node *node = sorted_from(&engine->racks, key);
    for (; node && node->key.a == key.a; node = sorted_next(node), key.b++) {
        struct rack *rack = container_of(node, struct rack, by_name);
        if (strcmp(rack->name, name) == 0)
            return rack;
        if (node->key.b != key.b)
            break;
    }
    *ret_free = key;
    return NULL;
}

static struct rack *take(struct engine *engine, const char *name)
{
    struct sorted_key key;
    struct rack *rack = find(engine, name, &key);
    if (rack)
        return rack;
    rack = engine_allocate(engine, 1, sizeof(*rack));
    strcpy(rack->name, name);
    sorted_insert(&engine->racks, &rack->by_name, key, 0);
    return rack;
}

uint64_t rack_uplink_bps(const struct rack *rack)
{
    uint64_t told_bps = rack->told ? rack->told_bps / rack->told : rack->links_bps;
    return told_bps < rack->links_bps ? told_bps : rack->links_bps;
}

static void count(struct engine *engine, struct rack *rack, const struct host *host, int by,
                  uint64_t link_bps)
{
    uint64_t told_bps = host->rack_bps < MOST_BPS ? host->rack_bps : MOST_BPS;
    engine->racks_bps -= rack_uplink_bps(rack);
    rack->up += (uint32_t)by;
    rack->told += host->rack_bps ? (uint32_t)by : 0;
    rack->told_bps += by > 0 ? told_bps : -told_bps;
    rack->links_bps += by > 0 ? link_bps : -link_bps;
    engine->racks_bps += rack_uplink_bps(rack);
    engine->racks_told += host->rack_bps ? (uint32_t)by : 0;
}

void racks_enter(struct engine *engine, const struct host *host, uint64_t link_bps)
{
    count(engine, take(engine, host->rack), host, 1, link_bps);
}

void racks_leave(struct engine *engine, const struct host *host, uint64_t link_bps)
{
    struct sorted_key key;
    struct rack *rack = find(engine, host->rack, &key);
    assert(rack);
    count(engine, rack, host, -1, link_bps);
    if (rack->up)
        return;
    sorted_remove(&engine->racks, &rack->by_name);
    free(rack);
}

const struct rack *racks_of(const struct engine *engine, const struct host *host)
{
    struct sorted_key key;
    return find(engine, host->rack, &key);
}

void racks_done(struct engine *engine)
{
    struct sorted_node *node;
    while ((node = sorted_first(&engine->racks))) {
        sorted_remove(&engine->racks, node);
        free(container_of(node, struct rack, by_name));
    }
}
