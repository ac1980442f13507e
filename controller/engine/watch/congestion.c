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
    else if (!are_many(engine, engine->warm))
        engine->congested = false;
}

void congestion_report(struct engine *engine, struct host *host, uint32_t permille)
{
    const struct engine_config *config = &engine->config;
    engine->hot += (uint32_t)(permille > config->congested_permille) -
                   (uint32_t)(host->uplink_permille > config->congested_permille);
    engine->warm += (uint32_t)(permille >= config->cleared_permille) -
                    (uint32_t)(host->uplink_permille >= config->cleared_permille);
    host->uplink_permille = permille;
    congestion_follow_hosts(engine);
}
