#include "controller/engine/watch/congestion.h"

/* WHY a share: among hundreds of uplinks one is nearly always full. */
static bool are_many(const struct engine *engine, uint32_t uplinks)
{
    return (uint64_t)uplinks * 1000 >
           (uint64_t)engine->joined * engine->config.congested_share_permille;
}

void congestion_follow_hosts(struct engine *engine)
{
    if (are_many(engine, engine->hot))
        engine->congested = true;
    else if (!are_many(engine, (uint32_t)engine->warm.n))
        engine->congested = false;
}

static void warm_follow(struct engine *engine, struct host *host, uint32_t permille)
{
    const uint32_t cleared = engine->config.cleared_permille;
    const bool was = host->uplink_permille >= cleared, is = permille >= cleared;
    if (is && !was)
        sorted_insert(&engine->warm, &host->warm, (struct sorted_key){host->index, 0, 0}, 0);
    else if (was && !is)
        sorted_remove(&engine->warm, &host->warm);
}

void congestion_report(struct engine *engine, struct host *host, uint32_t permille)
{
    const uint32_t congested = engine->config.congested_permille;
    engine->hot += (uint32_t)(permille > congested) - (uint32_t)(host->uplink_permille > congested);
    warm_follow(engine, host, permille);
    host->uplink_permille = permille;
    congestion_follow_hosts(engine);
}
